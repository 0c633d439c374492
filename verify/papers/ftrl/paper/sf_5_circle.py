"""Appendix F.5: integrals over the circle, of rational functions and those that reduce to elliptic ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy

from dpbounds import elliptic
from dpbounds.circle import quadrature
from verify.checks import Agreement, Fact, Identity, Symbolic, Within
from verify.checks.domains import Real, Whole
from verify.checks.impostors import Times
from verify.papers.ftrl.paper.sc_1_operators import KERNEL
from verify.papers.ftrl.tools.first_kind import as_controls, at_both_levels, turned
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

UNIT = Real(1e-9, 1.0 - 1e-9, "logit")

# --- Lemmas F.12 to F.14 ---


def _cosine_integral(m, ratio, lag):
    """The integral of Lemma F.12 at a = 1, b = ratio: 800 equidistant nodes, exact up to |b|^{800 - |l|}."""
    cosines = [m.cos(2 * m.pi * k / 800) for k in range(800)]
    order = round(float(lag))
    terms = (cosines[k * order % 800] / (1 + ratio**2 - 2 * ratio * cosines[k]) for k in range(800))
    return 2 * m.pi / 800 * sum(terms, start=m.number(0))


def _cosine_closed(m, ratio, lag, offset: int = 0):
    return 2 * m.pi / (1 - ratio * ratio) * m.power(ratio, abs(round(float(lag))) + offset)


LEM_F_12 = Claim(
    id="ftrl/lem-f.12",
    where="Lemma F.12",
    page=57,
    kind="identity",
    statement=(
        "$integral (cos(l omega) dif omega) / (a^2 + b^2 - 2 a b cos omega) = (2 pi) / (a^2 - b^2) (b\\/a)^abs(l)$."
    ),
    hypotheses="$0 < abs(b) < a$, $l$ an integer.",
    setting="The control: $a = 1$, $abs(b) <= 0.85$, $abs(l) <= 9$.",
    checks=(
        KERNEL,
        Identity(
            left=_cosine_integral,
            right=_cosine_closed,
            box={"ratio": Real(-0.85, 0.85), "lag": Whole(-9, 9)},
            where=lambda ratio, lag: abs(ratio) > 0.01,
            impostors={"exponent l + 1": {"right": {"offset": 1}}},
            role="control",
        ),
    ),
    derivation=Derivation(
        text=(
            "With $q = b\\/a$ the integrand is $cos(l omega) \\/ (a^2 - b^2)$ times $(1 - q^2) \\/ abs(1 - q e^(i "
            "omega))^2 = sum_k q^abs(k) e^(i k omega)$ (first check), and the mean of $cos(l omega) e^(i k omega)$ "
            "over the circle is $1\\/2$ at $k = plus.minus l != 0$, 1 at $k = l = 0$ and else 0."
        ),
        lemmas=("geometric series",),
    ),
)


def _rational_integral(m, a):
    return m.integral(lambda s: 1 / (1 + a * (1 - 2 * s)))


def _printed_rational(rng: np.random.Generator) -> Iterator[Within]:
    """a = 4/5: 1 / (1 + a cos omega) grows on [0, pi]: its right ends in 64 cells give more than the integral."""
    a, cells = 0.8, 64
    above = 2 * np.pi / cells * sum(1 / (1 + a * np.cos(np.pi * k / cells)) for k in range(1, cells + 1))
    yield Within("the printed integral over an upper sum, a = 4/5", 2 * np.pi / (1 - a**2) / above, most=1.0)


def _diverges(antiderivative: sympy.Expr, integrand: sympy.Expr, omega: sympy.Symbol) -> Iterator[tuple[str, Any]]:
    """Derivative right, and unbounded towards 0."""
    yield "derivative", sympy.diff(antiderivative, omega) - integrand
    yield "1 / limit of the antiderivative at 0+", 1 / sympy.limit(antiderivative, omega, 0, "+")


def _at_one(shift: int = 0) -> Iterator[tuple[str, Any]]:
    """a = -1, and a = 1 shifted by pi: 1 / (1 - cos w) has the antiderivative -cot(w/2)."""
    omega = sympy.Symbol("omega", positive=True)
    yield from _diverges(-sympy.cot(omega / 2 + shift), 1 / (1 - sympy.cos(omega)), omega)


def _half_angle(power: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """1 - a^2 at a = -2 q / (1 + q^2), and the integrand there."""
    q, cosine = sympy.symbols("q c")
    a, root = -2 * q / (1 + q**2), (1 - q**2) / (1 + q**2)
    yield "1 - a^2", 1 - a**2 - root**power
    yield "1 / (1 + a cos omega)", 1 / (1 + a * cosine) - (1 + q**2) / (1 + q**2 - 2 * q * cosine)


LEM_F_13 = Claim(
    id="ftrl/lem-f.13",
    where="Lemma F.13",
    page=57,
    kind="identity",
    statement=(
        "$integral (dif omega) / (1 + a cos omega) = (2 pi) / (1 - a^2)$ for $abs(a) < 1$, and $+oo$ for $abs(a) = 1$."
    ),
    checks=(
        Identity(left=_rational_integral, right=lambda m, a: 2 * m.pi / (1 - a**2), box={"a": Real(-0.999, 0.999)}),
        Agreement(facts=_printed_rational, closed=True),
    ),
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            "Lemma F.13 prints $(2 pi)/(1 - a^2)$ for an integral that is $(2 pi)/sqrt(1 - a^2)$: at $a = {a}$ it is "
            "${left}$, not ${right}$."
        ),
        consequence="Nothing falls with it: the paper uses the lemma nowhere.",
    ),
    correction=Correction(
        statement=(
            "$integral (dif omega) / (1 + a cos omega) = (2 pi) / sqrt(1 - a^2)$ for $abs(a) < 1$, and $+oo$ for "
            "$abs(a) = 1$."
        ),
        ground=(
            "The classical integral, compared to within ${resolution}$; at $abs(a) = 1$ an antiderivative is unbounded."
        ),
        checks=(
            *(
                check.as_control()
                for check in at_both_levels(
                    left=_rational_integral,
                    right=lambda m, a: 2 * m.pi / m.sqrt(1 - a**2),
                    box={"a": Real(-0.999, 0.999)},
                    impostors={"as printed": {"right": lambda m, a: 2 * m.pi / (1 - a**2)}},
                )
            ),
            KERNEL,
            Symbolic(residuals=_half_angle, impostors={"as printed": {"residuals": {"power": 1}}}),
            Symbolic(residuals=_at_one, impostors={"cot(w/2 + 1)": {"residuals": {"shift": 1}}}),
        ),
        derivation=Derivation(
            text=(
                "With $a = -2 q\\/(1 + q^2)$, $abs(q) < 1$, the integrand is $(1 + q^2)\\/(1 - q^2)$ times $(1 - q^2) "
                "\\/ abs(1 - q e^(i omega))^2 = sum_k q^abs(k) e^(i k omega)$, whose mean is 1, and $(1 - q^2)\\/(1 + "
                "q^2) = sqrt(1 - a^2)$. At $abs(a) = 1$ an antiderivative is unbounded towards an end."
            ),
            lemmas=("geometric series",),
        ),
    ),
)


def _root(shift: int = 0) -> Iterator[tuple[Any, ...]]:
    """With 1 - cos w = 2 sin^2(w/2) the integrand is 1 / (sqrt 2 sin(w/2)) on (0, pi)."""
    omega = sympy.Symbol("omega", positive=True)
    yield "1 - cos w", 1 - sympy.cos(omega), 2 * sympy.sin(omega / 2) ** 2
    antiderivative = sympy.sqrt(2) * sympy.log(sympy.tan(omega / 4) + shift)
    yield from _diverges(antiderivative, 1 / (sympy.sqrt(2) * sympy.sin(omega / 2)), omega)


LEM_F_14 = Claim(
    id="ftrl/lem-f.14",
    where="Lemma F.14",
    page=57,
    kind="identity",
    statement="$integral (dif omega) / sqrt(1 - cos omega) = +oo$.",
    checks=(Symbolic(residuals=_root, impostors={"log(tan + 1)": {"residuals": {"shift": 1}}}),),
)

# --- Lemmas F.15 and F.16 ---


def _inverse_distance(m, a):
    square, rest = a**2, 4 * (1 - a)
    return m.integral(lambda s: 1 / m.sqrt(square + rest * s))


def _inverse_printed(m, a):
    return 4 / (2 - a) * m.elliptic_k(m.sqrt(1 - a) / (1 - a / 2))


def _floats(rng: np.random.Generator) -> Iterator[Fact]:
    """The rule on the circle in floating point, at widths from 1 to 1e-12, and how it is spread over the circle."""
    for a in (0.5, 1e-3, 1e-8, 1e-12):

        def inverse(omega: np.ndarray, a: float = a) -> np.ndarray:
            return 1.0 / np.sqrt(a**2 + 4.0 * (1.0 - a) * np.sin(omega / 2.0) ** 2)

        closed = float(elliptic.integral_inverse(a))
        yield Fact(f"the integral at a = {a:g}", float(quadrature.even_integral(inverse)), closed, 1e-11)
    omega, weights = quadrature.circle_nodes()
    yield Fact("weights of the rule", float(weights.sum()), 2.0 * np.pi, 1e-12)
    yield Fact("first moment of |omega|", float(weights @ omega), np.pi**2, 1e-12)


def _distance_turned(power: int = 1) -> Iterator[tuple[Any, ...]]:
    """|1 - a - e^{i omega}|^2 and the squared derivative at tan(omega / 2) = a / (2 - a) tan psi."""
    a, p = sympy.symbols("a p", positive=True)
    sine, slope = turned((a / (2 - a)) ** 2, p)
    rest = 1 - (1 - a) ** power / (1 - a / 2) ** 2 * p
    yield "$abs(1 - a - e^(i omega))^2$", a**2 + 4 * (1 - a) * sine, a**2 / rest
    yield "$(dif omega\\/(2 dif psi))^2$", slope, (a / (2 - a) / rest) ** 2


def _distances_turned(sign: int = 1) -> Iterator[tuple[Any, ...]]:
    """|1 - b - e^{i omega}|^2 there, with alpha^2 as printed."""
    a, b, p = sympy.symbols("a b p", positive=True)
    sine, _ = turned((a / (2 - a)) ** 2, p)
    rest = 1 - (1 - a) / (1 - a / 2) ** 2 * p
    printed = 1 - sign * (b**2 * (1 - a) - a**2 * (1 - b)) / (b**2 * (1 - a / 2) ** 2) * p
    yield "$abs(1 - b - e^(i omega))^2$", b**2 + 4 * (1 - b) * sine, b**2 * printed / rest


DISTANCE_TURNED = Symbolic(residuals=_distance_turned, impostors={"(1 - a)^2 in k": {"residuals": {"power": 2}}})
TURNED = (
    "Let $tan(omega\\/2) = a\\/(2 - a) tan psi$, $p = sin^2 psi$: $psi$ runs through a quarter as $omega$ goes from 0 "
    "to $pi$, the integrals are twice those, $E_a^2 = abs(1 - a - e^(i omega))^2 = a^2 + 4 (1 - a) sin^2(omega\\/2) = "
    "a^2\\/(1 - k^2 p)$ and $dif omega = 2 a\\/(2 - a) dif psi\\/(1 - k^2 p)$. "
)

LEM_F_15 = Claim(
    id="ftrl/lem-f.15",
    where="Lemma F.15",
    page=57,
    kind="identity",
    statement=(
        "$integral (dif omega) / abs(1 - a - e^(i omega)) = 4/(2 - a) K(sqrt(1 - a) / (1 - a\\/2))$ for $0 < a < 1$."
    ),
    setting="$10^(-12) <= a <= 1 - 10^(-9)$.",
    checks=(
        DISTANCE_TURNED,
        *as_controls(
            at_both_levels(
                left=_inverse_distance,
                right=_inverse_printed,
                box={"a": Real(1e-12, 1.0 - 1e-9, "logit")},
                digits=70,
                lost=25,
                impostors={"modulus 1 - a": {"right": lambda m, a: 4 / (2 - a) * m.elliptic_k(1 - a)}},
            )
        ),
        Agreement(facts=_floats, impostors={"1e-9 off": {"facts": Times(1.0 + 1e-9)}}, role="control"),
    ),
    derivation=Derivation(
        text=TURNED + "So $dif omega\\/E_a = 2\\/(2 - a) dif psi\\/sqrt(1 - k^2 sin^2 psi)$.",
        lemmas=("substitution",),
    ),
)


def _ratio_integral(m, a, b):
    (first, first_rest), (second, second_rest) = ((x**2, 4 * (1 - x)) for x in (a, b))
    return m.integral(lambda s: m.sqrt(first + first_rest * s) / (second + second_rest * s))


def _ratio_printed(m, a, b):
    characteristic = (b**2 * (1 - a) - a**2 * (1 - b)) / (b**2 * (1 - a / 2) ** 2)
    third = m.elliptic_pi(characteristic, m.sqrt(1 - a) / (1 - a / 2))
    return 2 * a**2 / (b**2 * (1 - a / 2)) * third


def _decomposition(sign: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """(101) under the integral sign, times E_a E_b^2."""
    a, b, cosine = sympy.symbols("a b c")
    squared = {x: 1 + (1 - x) ** 2 - 2 * (1 - x) * cosine for x in (a, b)}
    weight = (1 - a) / (1 - b)
    first = 1 + (1 - a) ** 2 - weight * (1 + (1 - b) ** 2)
    yield "(101)", squared[a] - first - sign * weight * squared[b]


LEM_F_16 = Claim(
    id="ftrl/lem-f.16",
    where="Lemma F.16, (100), (101)",
    page=57,
    equation="(100)",
    kind="identity",
    statement=(
        (
            r"$I(a, b) = (2 a^2) / (b^2 (1 - a\/2)) Pi(alpha^2, k)$ with $alpha^2 = (b^2 (1 - a) - a^2 (1 - b)) / (b^2 "
            r"(1 - a\/2)^2)$, $k = sqrt(1 - a) / (1 - a\/2)$;"
        ),
        "and the decomposition (101).",
    ),
    hypotheses="$0 < a, b < 1$.",
    setting="On both sides of $a = b$.",
    checks=(
        DISTANCE_TURNED.deciding("a"),
        Symbolic(decides="a", residuals=_distances_turned, impostors={"sign of alpha^2": {"residuals": {"sign": -1}}}),
        *as_controls(
            at_both_levels(
                decides="a",
                left=_ratio_integral,
                right=_ratio_printed,
                box={"a": UNIT, "b": UNIT},
                impostors={"1 + 1e-20": {"right": Times("1.00000000000000000001")}},
            )
        ),
        Symbolic(decides="b", residuals=_decomposition, impostors={"sign": {"residuals": {"sign": -1}}}),
    ),
    derivation=Derivation(
        text="(a) "
        + TURNED
        + (
            "Likewise $E_b^2 = b^2 (1 - alpha^2 p)\\/(1 - k^2 p)$, so $E_a\\/E_b^2 dif omega = 2 a^2\\/(b^2 (2 - a)) "
            "dif psi\\/((1 - alpha^2 sin^2 psi) sqrt(1 - k^2 sin^2 psi))$, twice. (b) $E_a\\/E_b^2 = E_a^2\\/(E_a "
            "E_b^2)$, and (101) splits $E_a^2$."
        ),
        lemmas=("substitution",),
    ),
)
