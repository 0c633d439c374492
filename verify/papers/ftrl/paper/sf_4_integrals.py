"""Appendix F.4: complete elliptic integrals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from verify.checks import Inequality, Symbolic
from verify.checks.domains import Real
from verify.papers.ftrl.tools.first_kind import (
    as_controls,
    at_both_levels,
    certificate_factor,
    factor,
    first_kind,
    logarithm,
    lower_certificate,
    turned,
    upper_certificate,
)
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

COMPLEMENT = {"complement": Real(1e-150, 1.0, "log")}


def _quarter(m, integrand) -> Any:
    """int_0^{pi/2} f(sin^2) from the quadrature over the circle."""
    return m.integral(integrand) / 4


# --- Properties F.8 and F.9 ---


def _root_turned(power: int = 1) -> Iterator[tuple[Any, ...]]:
    """1 + m sin^2 omega and the squared derivative at tan omega = tan(psi) / sqrt(1 + m)."""
    ratio, p = sympy.symbols("m p", positive=True)
    rest = 1 - (ratio / (1 + ratio)) ** power * p
    sine, slope = turned(1 / (1 + ratio), p)
    yield "$1 + m sin^2 omega$", 1 + ratio * sine, 1 / rest
    yield "$(dif omega\\/dif psi)^2$", slope, 1 / ((1 + ratio) * rest**2)


def _fractions_turned(sign: int = 1) -> Iterator[tuple[Any, ...]]:
    """1 / (1 - alpha^2 sin^2 omega) there, in partial fractions."""
    ratio, c, p = sympy.symbols("m c p", positive=True)
    n = ratio + c
    stated = ratio / n + sign * c / n / (1 - n / (1 + ratio) * p)
    yield "$1\\/(1 - alpha^2 sin^2 omega)$", 1 / (1 - c * turned(1 / (1 + ratio), p)[0]), stated


ROOT_TURNED = Symbolic(residuals=_root_turned, impostors={"modulus k^2": {"residuals": {"power": 2}}})
TURNED = (
    "Let $tan omega = tan psi\\/sqrt(1 + m)$, $p = sin^2 psi$, $k^2 = m\\/(1 + m)$: $psi$ runs through the same "
    "quarter, $1 + m sin^2 omega = 1\\/(1 - k^2 p)$ and $dif omega = dif psi\\/(sqrt(1 + m) (1 - k^2 p))$, so $dif "
    "omega\\/sqrt(1 + m sin^2 omega) = dif psi\\/(sqrt(1 + m) sqrt(1 - k^2 sin^2 psi))$, for every $m > 0$. "
)


def _first_kind(m, ratio):
    return _quarter(m, lambda s: 1 / m.sqrt(1 + ratio * s))


def _first_kind_printed(m, ratio):
    return m.elliptic_k(m.sqrt(ratio / (1 + ratio))) / m.sqrt(1 + ratio)


PROP_F_8 = Claim(
    id="ftrl/prop-f.8",
    where="Property F.8",
    page=56,
    kind="identity",
    statement=(
        "$integral_0^(pi\\/2) (dif omega) / sqrt(1 + m sin^2 omega) = 1/sqrt(1 + m) K(k)$ with $k = sqrt(m\\/(1 + "
        "m))$, $0 < m < 1$."
    ),
    setting="$10^(-9) <= m <= 10^12$: the paper uses it for all $m > 0$.",
    remark="True for all $m > 0$, as it is used.",
    checks=(
        ROOT_TURNED,
        *as_controls(
            at_both_levels(
                left=_first_kind,
                right=_first_kind_printed,
                box={"ratio": Real(1e-9, 1e12, "log")},
                impostors={
                    "modulus k^2": {"right": lambda m, ratio: m.elliptic_k(ratio / (1 + ratio)) / m.sqrt(1 + ratio)},
                },
            )
        ),
    ),
    derivation=Derivation(text=TURNED, lemmas=("substitution",)),
)


def _third_kind(m, ratio, characteristic):
    """Left side of (98) for a characteristic below 1."""
    return _quarter(m, lambda s: 1 / ((1 - characteristic * s) * m.sqrt(1 + ratio * s)))


def _third_kind_printed(m, ratio, characteristic, sign: int = 1):
    n, k = ratio + characteristic, m.sqrt(ratio / (1 + ratio))
    first, third = m.elliptic_k(k), m.elliptic_pi(n / (1 + ratio), k)
    return (ratio * first + sign * characteristic * third) / (n * m.sqrt(1 + ratio))


def _principal_value(m, ratio, characteristic):
    """Left side of (98) for a characteristic above 1: int dw / (1 - alpha^2 sin^2 w) has principal value 0, so the root
    may be replaced by its difference from the value at the pole, which cancels it.
    """
    at_pole = m.sqrt(1 + ratio / characteristic)

    def regular(s):
        root = m.sqrt(1 + ratio * s)
        return ratio / (characteristic * root * at_pole * (root + at_pole))

    return _quarter(m, regular)


def _principal_value_printed(m, ratio, characteristic):
    """Right side of (98), with the principal value Pi(n, k) = K(k) - Pi(k^2 / n, k) for n > 1 (DLMF 19.6.5)."""
    k_squared = ratio / (1 + ratio)
    n, k = (ratio + characteristic) / (1 + ratio), m.sqrt(k_squared)
    first = m.elliptic_k(k)
    third = first - m.elliptic_pi(k_squared / n, k)
    return (ratio * first + characteristic * third) / ((ratio + characteristic) * m.sqrt(1 + ratio))


PROP_F_9 = Claim(
    id="ftrl/prop-f.9",
    where="Property F.9",
    page=56,
    equation="(98)",
    kind="identity",
    statement=(
        "$integral_0^(pi\\/2) (dif omega) / ((1 - alpha^2 sin^2 omega) sqrt(1 + m sin^2 omega)) = (m K(k) + "
        "alpha^2 Pi(n\\/(1 + m), k)) / (n sqrt(1 + m))$ with $n = m + alpha^2$."
    ),
    hypotheses="$0 < m < 1$, $alpha^2 in RR without {plus.minus 1}$, $n != 0$.",
    setting="$m <= 10^6$, as it is used.",
    remark="For $alpha^2 > 1$ both sides are Cauchy principal values, without which neither exists.",
    checks=(
        ROOT_TURNED,
        Symbolic(residuals=_fractions_turned, impostors={"sign": {"residuals": {"sign": -1}}}),
        *as_controls(
            at_both_levels(
                left=_third_kind,
                right=_third_kind_printed,
                box={"ratio": Real(1e-6, 1e6, "log"), "characteristic": Real(-20.0, 0.999)},
                where=lambda ratio, characteristic: abs(ratio + characteristic) > 1e-3,
                impostors={"sign": {"right": {"sign": -1}}},
            )
        ),
        *as_controls(
            at_both_levels(
                left=_principal_value,
                right=_principal_value_printed,
                box={"ratio": Real(1e-3, 1e3, "log"), "characteristic": Real(1.001, 100.0, "log")},
                impostors={"no principal value": {"right": lambda m, ratio, characteristic: _first_kind(m, ratio)}},
            )
        ),
    ),
    derivation=Derivation(
        text=TURNED
        + (
            "There $1\\/(1 - alpha^2 sin^2 omega) = m\\/n + (alpha^2\\/n)\\/(1 - n\\/(1 + m) p)$, so the integral "
            "is $1\\/sqrt(1 + m)$ times $m\\/n K(k) + alpha^2\\/n Pi(n\\/(1 + m), k)$; the pole of $alpha^2 > 1$ goes "
            "over into that of $Pi$, and the principal value with it."
        ),
        lemmas=("substitution", "linearity"),
    ),
)

# --- Properties F.10 and F.11 ---

K_UPPER = Inequality(
    smaller=first_kind,
    larger=lambda m, complement: factor(m, complement) * logarithm(m, complement),
    box=COMPLEMENT,
    certificate=upper_certificate,
    factor=certificate_factor,
    impostors={
        "1/8 in place of 1/4": {"larger": lambda m, complement: (1 + complement**2 / 8) * logarithm(m, complement)}
    },
)

PROP_F_10 = Claim(
    id="ftrl/prop-f.10",
    where="Property F.10",
    page=56,
    kind="inequality",
    statement="$l <= K(k) <= (1 + k'^2\\/4) l <= 5/4 l$ with $k' = sqrt(1 - k^2)$ and $l = log(4\\/k')$, $0 < k < 1$.",
    setting="$k' >= 10^(-150)$; the third relation is $k' <= 1$.",
    checks=(
        Inequality(
            smaller=logarithm,
            larger=first_kind,
            box=COMPLEMENT,
            certificate=lower_certificate,
            factor=certificate_factor,
            impostors={
                "log(5/k')": {"smaller": lambda m, complement: m.log(5 / complement)},
                "1 + k'^2/4 on the left": {
                    "smaller": lambda m, complement: factor(m, complement) * logarithm(m, complement)
                },
            },
        ),
        K_UPPER,
    ),
)


def _below_first_kind(sign: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """(1 - alpha^2) times the integrand of Pi is at most that of K: alpha^2 = 1/(1 + t), sin^2 = p/(p + q)."""
    t, p, q = sympy.symbols("t p q", positive=True)
    characteristic, sine_squared = 1 / (1 + t), p / (p + q)
    part = (1 - characteristic) / (1 - sign * characteristic * sine_squared)
    yield "1 - (1 - alpha^2)/(1 - alpha^2 sin^2)", sign * (1 - part)


PROP_F_11 = Claim(
    id="ftrl/prop-f.11",
    where="Property F.11",
    page=56,
    kind="inequality",
    statement="$Pi(alpha^2, k) <= 1/(1 - alpha^2) l (1 + O(k'))$ for $0 < alpha^2, k < 1$.",
    remark="Uniformly, with $k'^2\\/4$ for $O(k')$: $(1 - alpha^2) Pi(alpha^2, k) <= K(k)$, then Property F.10.",
    checks=(
        Symbolic(nonnegative=_below_first_kind, impostors={"other sign": {"nonnegative": {"sign": -1}}}),
        K_UPPER,
    ),
)
