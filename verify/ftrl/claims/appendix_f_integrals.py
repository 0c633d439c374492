"""Appendix F.4 and F.5: complete elliptic integrals, and the integrals over the circle that reduce to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import sympy

from verify.checks import Identity, Inequality, Symbolic
from verify.claims import Claim, Correction
from verify.domains import Real, Whole

COMPLEMENT = {"complement": Real(1e-150, 1.0, "log")}
UNIT = Real(1e-9, 1.0 - 1e-9, "logit")


def at_both_levels(**fields: Any) -> tuple[Identity, Identity]:
    """An identity at 25 random points and, at level full, at 150: a quadrature to 50 digits takes its time."""
    check = Identity(**fields, random_points=25)
    return check, replace(check, random_points=150, level="full", impostors={})


def _quarter(m, integrand) -> Any:
    """int_0^{pi/2} f(sin^2) from the quadrature over the circle."""
    return m.integral(integrand) / 4


def _distance(m, a, s):
    """|1 - a - e^{i omega}| as a function of s = sin^2(omega / 2)."""
    return m.sqrt(a**2 + 4 * (1 - a) * s)


# --- Properties F.8 and F.9 ---


def _first_kind(m, ratio):
    return _quarter(m, lambda s: 1 / m.sqrt(1 + ratio * s))


def _first_kind_printed(m, ratio):
    return m.elliptic_k(m.sqrt(ratio / (1 + ratio))) / m.sqrt(1 + ratio)


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


# --- Properties F.10 and F.11: k' = sqrt(1 - k^2), l = log(4 / k') ---


def first_kind(m, complement):
    """K as a function of k'."""
    q = complement * complement
    return m.integral_inverse(q / (1 + m.sqrt(1 - q))) / 4


def _logarithm(m, complement):
    return m.log(4 / complement)


def lower_certificate(m, complement):
    """K - l, up to k' = 0.7 divided by k'^2: the first terms of K = sum_n c_n^2 k'^{2n} (l - d_n) (DLMF 19.12.1), all
    positive since d_n < log 4 <= l.
    """
    if not complement < 0.7:
        return first_kind(m, complement) - _logarithm(m, complement)
    head, _ = _series(m, complement)
    return (_logarithm(m, complement) - 1) / 4 + head


def upper_certificate(m, complement):
    """(1 + k'^2 / 4) l - K, up to k' = 0.7 divided by k'^2: there l/4 less the term (l - 1)/4 is 1/4 exactly, and the
    rest of the series is at most its first terms plus a geometric tail.
    """
    if not complement < 0.7:
        return _factor(m, complement) * _logarithm(m, complement) - first_kind(m, complement)
    head, tail = _series(m, complement)
    return m.number("1/4") - head - tail


def _factor(m, complement):
    return 1 + complement * complement / 4


def _series(m, complement, terms: int = 8) -> tuple[Any, Any]:
    """Terms n = 2 ... 8 of the series over k'^2, and a bound for the others: c_n and l - d_n decrease."""
    q, power, total, tail = complement * complement, 1, 0, 0
    central, harmonic = Fraction(1, 4), Fraction(1)
    for n in range(2, terms + 1):
        central *= Fraction(2 * n - 1, 2 * n) ** 2
        harmonic += Fraction(2, (2 * n - 1) * (2 * n))
        power = power * q
        term = m.number(central) * power * (_logarithm(m, complement) - m.number(harmonic))
        total, tail = total + term, term * q / (1 - q)
    return total, tail


K_UPPER = Inequality(
    smaller=first_kind,
    larger=lambda m, complement: _factor(m, complement) * _logarithm(m, complement),
    box=COMPLEMENT,
    certificate=upper_certificate,
    impostors={
        "1/8 in place of 1/4": {"larger": lambda m, complement: (1 + complement**2 / 8) * _logarithm(m, complement)}
    },
)


def _below_first_kind() -> Iterator[tuple[str, sympy.Expr]]:
    """(1 - alpha^2) times the integrand of Pi is at most that of K: alpha^2 = 1/(1 + t), sin^2 = p/(p + q)."""
    t, p, q = sympy.symbols("t p q", positive=True)
    characteristic, sine_squared = 1 / (1 + t), p / (p + q)
    yield "1 - (1 - alpha^2)/(1 - alpha^2 sin^2)", 1 - (1 - characteristic) / (1 - characteristic * sine_squared)


# --- Lemmas F.12 to F.14 ---


def _cosine_integral(m, ratio, lag):
    """The integral of Lemma F.12 at a = 1, b = ratio: 800 equidistant nodes, exact up to |b|^{800 - |l|}."""
    cosines = [m.cos(2 * m.pi * k / 800) for k in range(800)]
    order = round(float(lag))
    terms = (cosines[k * order % 800] / (1 + ratio**2 - 2 * ratio * cosines[k]) for k in range(800))
    return 2 * m.pi / 800 * sum(terms, start=m.number(0))


def _cosine_closed(m, ratio, lag, offset: int = 0):
    return 2 * m.pi / (1 - ratio * ratio) * m.power(ratio, abs(round(float(lag))) + offset)


def _rational_integral(m, a):
    return m.integral(lambda s: 1 / (1 + a * (1 - 2 * s)))


def _diverges(antiderivative: sympy.Expr, integrand: sympy.Expr, omega: sympy.Symbol) -> Iterator[tuple[str, Any]]:
    """Derivative right, and unbounded towards 0."""
    yield "derivative", sympy.diff(antiderivative, omega) - integrand
    yield "1 / limit of the antiderivative at 0+", 1 / sympy.limit(antiderivative, omega, 0, "+")


def _at_one() -> Iterator[tuple[str, Any]]:
    """a = -1, and a = 1 shifted by pi: 1 / (1 - cos w) has the antiderivative -cot(w/2)."""
    omega = sympy.Symbol("omega", positive=True)
    yield from _diverges(-sympy.cot(omega / 2), 1 / (1 - sympy.cos(omega)), omega)


def _root(shift: int = 0) -> Iterator[tuple[str, Any]]:
    """With 1 - cos w = 2 sin^2(w/2) the integrand is 1 / (sqrt 2 sin(w/2)) on (0, pi)."""
    omega = sympy.Symbol("omega", positive=True)
    yield "1 - cos w", 1 - sympy.cos(omega) - 2 * sympy.sin(omega / 2) ** 2
    antiderivative = sympy.sqrt(2) * sympy.log(sympy.tan(omega / 4) + shift)
    yield from _diverges(antiderivative, 1 / (sympy.sqrt(2) * sympy.sin(omega / 2)), omega)


# --- Lemmas F.15 and F.16 ---


def _inverse_printed(m, a):
    return 4 / (2 - a) * m.elliptic_k(m.sqrt(1 - a) / (1 - a / 2))


def _ratio_integral(m, a, b):
    return m.integral(lambda s: _distance(m, a, s) / _distance(m, b, s) ** 2)


def _ratio_printed(m, a, b, weight: Any = 2):
    characteristic = (b**2 * (1 - a) - a**2 * (1 - b)) / (b**2 * (1 - a / 2) ** 2)
    third = m.elliptic_pi(characteristic, m.sqrt(1 - a) / (1 - a / 2))
    return weight * a**2 / (b**2 * (1 - a / 2)) * third


def _decomposition(sign: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """(101) under the integral sign, times E_a E_b^2."""
    a, b, cosine = sympy.symbols("a b c")
    squared = {x: 1 + (1 - x) ** 2 - 2 * (1 - x) * cosine for x in (a, b)}
    weight = (1 - a) / (1 - b)
    first = 1 + (1 - a) ** 2 - weight * (1 + (1 - b) ** 2)
    yield "(101)", squared[a] - first - sign * weight * squared[b]


CLAIMS = (
    Claim(
        id="ftrl/prop-f.8",
        where="Property F.8",
        kind="identity",
        statement=(
            "$integral_0^(pi\\/2) (dif omega) / sqrt(1 + m sin^2 omega) = 1/sqrt(1 + m) K(k)$ with $k = sqrt(m\\/(1 + "
            "m))$."
        ),
        hypotheses="Stated for $0 < m < 1$, used for all $m > 0$ and true there: checked for $m <= 10^12$.",
        checks=(
            *at_both_levels(
                left=_first_kind,
                right=_first_kind_printed,
                box={"ratio": Real(1e-9, 1e12, "log")},
                impostors={
                    "modulus k^2": {
                        "right": lambda m, ratio: m.elliptic_k(ratio / (1 + ratio)) / m.sqrt(1 + ratio),
                    }
                },
            ),
        ),
    ),
    Claim(
        id="ftrl/prop-f.9",
        where="Property F.9",
        kind="identity",
        statement=(
            "$integral_0^(pi\\/2) (dif omega) / ((1 - alpha^2 sin^2 omega) sqrt(1 + m sin^2 omega)) = (m K(k) + "
            "alpha^2 Pi(n\\/(1 + m), k)) / (n sqrt(1 + m))$ with $n = m + alpha^2$."
        ),
        hypotheses=(
            "$alpha^2 in RR without {plus.minus 1}$, $n != 0$; for $alpha^2 > 1$ both sides are read as Cauchy "
            "principal values, without which neither exists. $0 < m < 1$ as stated and $m > 1$ as used; $alpha^2 = "
            "-1$ is no exception."
        ),
        checks=(
            *at_both_levels(
                left=_third_kind,
                right=_third_kind_printed,
                box={"ratio": Real(1e-6, 1e6, "log"), "characteristic": Real(-20.0, 0.999)},
                where=lambda ratio, characteristic: abs(ratio + characteristic) > 1e-3,
                impostors={
                    "sign": {
                        "right": lambda m, ratio, characteristic: _third_kind_printed(m, ratio, characteristic, -1)
                    }
                },
            ),
            *at_both_levels(
                left=_principal_value,
                right=_principal_value_printed,
                box={"ratio": Real(1e-3, 1e3, "log"), "characteristic": Real(1.001, 100.0, "log")},
                impostors={"no principal value": {"right": lambda m, ratio, characteristic: _first_kind(m, ratio)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/prop-f.10",
        where="Property F.10",
        kind="inequality",
        statement="$l <= K(k) <= (1 + k'^2\\/4) l <= 5/4 l$ with $k' = sqrt(1 - k^2)$ and $l = log(4\\/k')$.",
        hypotheses="$0 < k < 1$, $k' >= 10^(-150)$; the third relation is $k' <= 1$.",
        checks=(
            Inequality(
                smaller=_logarithm,
                larger=first_kind,
                box=COMPLEMENT,
                certificate=lower_certificate,
                impostors={
                    "log(5/k')": {"smaller": lambda m, complement: m.log(5 / complement)},
                    "1 + k'^2/4 on the left": {
                        "smaller": lambda m, complement: _factor(m, complement) * _logarithm(m, complement)
                    },
                },
            ),
            K_UPPER,
        ),
    ),
    Claim(
        id="ftrl/prop-f.11",
        where="Property F.11",
        kind="inequality",
        statement="$Pi(alpha^2, k) <= 1/(1 - alpha^2) l (1 + O(k'))$.",
        hypotheses=(
            "$0 < alpha^2, k < 1$, uniformly: $(1 - alpha^2) Pi(alpha^2, k) <= K(k)$ under the integral sign, then "
            "Property F.10, which gives $1 + k'^2\\/4$ for $1 + O(k')$."
        ),
        checks=(
            Symbolic(
                nonnegative=_below_first_kind,
                impostors={"other sign": {"nonnegative": lambda: [(k, -v) for k, v in _below_first_kind()]}},
            ),
            K_UPPER,
        ),
    ),
    Claim(
        id="ftrl/lem-f.12",
        where="Lemma F.12",
        kind="identity",
        statement=(
            "$integral (cos(l omega) dif omega) / (a^2 + b^2 - 2 a b cos omega) = (2 pi) / (a^2 - b^2) (b\\/a)^abs(l)$."
        ),
        hypotheses="$0 < abs(b) < a$ (by scaling $a = 1$), $l$ an integer.",
        checks=(
            Identity(
                left=_cosine_integral,
                right=_cosine_closed,
                box={"ratio": Real(-0.85, 0.85), "lag": Whole(-9, 9)},
                where=lambda ratio, lag: abs(ratio) > 0.01,
                impostors={"exponent l + 1": {"right": lambda m, ratio, lag: _cosine_closed(m, ratio, lag, 1)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/lem-f.13",
        where="Lemma F.13",
        kind="identity",
        statement=(
            "$integral (dif omega) / (1 + a cos omega) = (2 pi) / (1 - a^2)$ for $abs(a) < 1$, and $+oo$ for $abs(a) = "
            "1$."
        ),
        checks=(
            Identity(
                left=_rational_integral,
                right=lambda m, a: 2 * m.pi / (1 - a**2),
                box={"a": Real(-0.999, 0.999)},
            ),
        ),
        correction=Correction(
            statement="$sqrt(1 - a^2)$ stands in place of $1 - a^2$.",
            checks=(
                *at_both_levels(
                    left=_rational_integral,
                    right=lambda m, a: 2 * m.pi / m.sqrt(1 - a**2),
                    box={"a": Real(-0.999, 0.999)},
                    impostors={"as printed": {"right": lambda m, a: 2 * m.pi / (1 - a**2)}},
                ),
                Symbolic(residuals=_at_one),
            ),
        ),
    ),
    Claim(
        id="ftrl/lem-f.14",
        where="Lemma F.14",
        kind="identity",
        statement="$integral (dif omega) / sqrt(1 - cos omega) = +oo$.",
        checks=(Symbolic(residuals=_root, impostors={"log(tan + 1)": {"residuals": lambda: _root(1)}}),),
    ),
    Claim(
        id="ftrl/lem-f.15",
        where="Lemma F.15",
        kind="identity",
        statement=(
            "$integral (dif omega) / abs(1 - a - e^(i omega)) = 4/(2 - a) K(sqrt(1 - a) / (1 - a\\/2))$ for $0 < a < "
            "1$."
        ),
        checks=(
            *at_both_levels(
                left=lambda m, a: m.integral(lambda s: 1 / _distance(m, a, s)),
                right=_inverse_printed,
                box={"a": Real(1e-12, 1.0 - 1e-9, "logit")},
                digits=70,
                lost=25,
                impostors={"modulus 1 - a": {"right": lambda m, a: 4 / (2 - a) * m.elliptic_k(1 - a)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/lem-f.16",
        where="Lemma F.16, (100), (101)",
        kind="identity",
        statement=(
            "$I(a, b) = (2 a^2) / (b^2 (1 - a\\/2)) Pi(alpha^2, k)$ with $alpha^2 = (b^2 (1 - a) - a^2 (1 - b)) / (b^2 "
            "(1 - a\\/2)^2)$, $k = sqrt(1 - a) / (1 - a\\/2)$; and the decomposition (101)."
        ),
        hypotheses="$0 < a, b < 1$, on both sides of $a = b$.",
        checks=(
            *at_both_levels(
                left=_ratio_integral,
                right=_ratio_printed,
                box={"a": UNIT, "b": UNIT},
                impostors={"5 %": {"right": lambda m, a, b: _ratio_printed(m, a, b, m.number("2.1"))}},
            ),
            Symbolic(residuals=_decomposition, impostors={"sign": {"residuals": lambda: _decomposition(-1)}}),
        ),
    ),
)
