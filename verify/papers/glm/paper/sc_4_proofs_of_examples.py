"""Appendices C.4 and C.5: the steps behind Theorems 19 and 20."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import mpmath
import numpy as np
import sympy
from scipy.special import ndtr

from dpbounds.glm import LINKS
from verify.checks import Agreement, Fact, Inequality, Symbolic, Times, Within
from verify.checks.domains import Real
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

_diff: Any = sympy.diff

# Typed as a number or a tuple.
_quad: Any = mpmath.quad

_Z = sympy.Symbol("z", real=True)
_LOGISTIC, _BOOSTING = sympy.log(1 + sympy.exp(_Z)), _Z / 2 + sympy.sqrt(1 + _Z**2 / 4)
# Where the tangents touch, and the margins that the proofs print: sup |Phi''''| z^2 / 400 at z = 6.
TANGENT = {"logistic": sympy.Rational(5, 2), "boosting": sympy.Integer(2)}
FOURTH = {"logistic": 1 / 8, "boosting": 3 / 16}
PHI = {"logistic": _LOGISTIC, "boosting": _BOOSTING}


def _logistic_derivatives(*, middle: int = 4) -> Iterator[tuple[Any, ...]]:
    e = sympy.exp(_Z)
    printed = {2: e / (1 + e) ** 2, 3: (e - e**2) / (1 + e) ** 3, 4: e * (1 - middle * e + e**2) / (1 + e) ** 4}
    for order, value in printed.items():
        yield f"derivative {order}", _diff(_LOGISTIC, _Z, order), value
    for order in (2, 4):
        yield f"derivative {order} is even", printed[order], printed[order].subs(_Z, -_Z)


def _shipped_logistic(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact]:
    z = np.array([-2.5, -0.3, 0.0, 1.7])
    link = LINKS["logistic"]
    for order, shown in enumerate((link.mean(z), link.slope(z), link.curvature(z), link.third(z)), start=1):
        true = [float(_diff(_LOGISTIC, _Z, order).subs(_Z, point)) for point in z]
        yield Fact(f"shipped derivative {order}", factor * shown, true, 1e-13)


C4_DERIV = Claim(
    id="glm/c4-deriv",
    where="C.4",
    kind="identity",
    statement=(
        (
            r"Logistic: $Phi'' = e^z\/(1 + e^z)^2$, $Phi''' = (e^z - e^(2 z))\/(1 + e^z)^3$, $Phi'''' = e^z (1 - 4 e^z "
            r"+ e^(2 z))\/(1 + e^z)^4$;"
        ),
        "$Phi''$ and $Phi''''$ are even.",
    ),
    equation="C.4",
    checks=(
        Symbolic(
            decides="ab", residuals=_logistic_derivatives, impostors={"3 in place of 4": {"residuals": {"middle": 3}}}
        ),
        Agreement(
            decides="a",
            facts=_shipped_logistic,
            impostors={"1 % off": {"facts": {"factor": 1.01}}},
            role="control",
        ),
    ),
    derivation=Derivation(
        text="All are identities in $z$: the derivatives of $log(1 + e^z)$, and what $-z$ for $z$ gives."
    ),
)


def tangent(link: str) -> tuple[float, float]:
    """(a, b) with a - b z the tangent of Phi'' at the point of the proof."""
    at = TANGENT[link]
    second, third = (_diff(PHI[link], _Z, order).subs(_Z, at) for order in (2, 3))
    return float(second - at * third), float(-third)


ROUNDED = {"logistic": (0.22, 0.06), "boosting": (0.22, 0.066)}
# Half a unit of the last digit printed.
HALF_UNITS = {"logistic": ("0.005", "0.005"), "boosting": ("0.005", "0.0005")}


def _exact_tangent(m: Any, link: str) -> tuple[Any, Any]:
    """a and b in any arithmetic."""
    at = m.number(str(TANGENT[link]))
    second, third = (LINKS[link].derivative(m, at, order) for order in (1, 2))
    return second - at * third, -third


def _rounds(link: str) -> Inequality:
    """How far a and b are from the numbers printed, in half units, at most 1."""

    def smaller(m: Any, z: Any, times: int = 1) -> Any:
        shown = zip(_exact_tangent(m, link), ROUNDED[link], HALF_UNITS[link], strict=True)
        return times * m.maximum(*(m.absolute(v - m.number(str(r))) / m.number(h) for v, r, h in shown)) + 0 * z

    return Inequality(
        smaller=smaller,
        larger=lambda m, z: m.number(1),
        box={"z": Real(0.0, 1.0)},
        impostors={"a twentieth of a unit": {"smaller": {"times": 10}}},
    )


def _in_e_to_z(middle: int = 4) -> Iterator[tuple[Any, ...]]:
    """Logistic, y = e^z: the second derivative of Phi'' = y / (1 + y)^2, and where it changes sign."""
    y = sympy.Symbol("y", positive=True)
    fourth = y * (1 - middle * y + y**2) / (1 + y) ** 4
    first = y * sympy.diff(y / (1 + y) ** 2, y)
    yield "Phi''''", y * sympy.diff(first, y), fourth
    yield "its sign", fourth, y * ((y - 2) ** 2 - 3) / (1 + y) ** 4


def _within_an_eighth(share: int = 8) -> Iterator[tuple[Any, ...]]:
    """1/8 -+ it, times (1 + y)^4, y = v^2."""
    y = sympy.Symbol("v", real=True) ** 2
    fourth = y * (1 - 4 * y + y**2)
    yield "1/8 + Phi''''", (1 + y) ** 4 / share + fourth, (1 - y) ** 2 * (1 + 14 * y + y**2) / 8
    yield "1/8 - Phi''''", (1 + y) ** 4 / share - fourth, ((1 - 2 * y) ** 2 + y**2 * (y - 2) ** 2 + 30 * y**2) / 8


def _in_half_angle(power: int = 7) -> Iterator[tuple[Any, ...]]:
    """Boosting, z = 4 q / (1 - q^2), sqrt(1 + z^2/4) = r = (1 + q^2)/(1 - q^2): the second derivative of r^-3 / 4."""
    q = sympy.Symbol("q")
    z, r = 4 * q / (1 - q**2), (1 + q**2) / (1 - q**2)
    first = sympy.diff(r**-3 / 4, q) / sympy.diff(z, q)
    yield "Phi''''", sympy.diff(first, q) / sympy.diff(z, q), sympy.Rational(3, 16) * (z**2 - 1) * r**-power


def _within_three_sixteenths(constant: int = 5) -> Iterator[tuple[Any, ...]]:
    """u^2 - (z^2 - 1), u = 1 + z^2/4."""
    u = sympy.Symbol("u", real=True)
    yield "u^2 - (4 u - 5)", u**2 - 4 * u + constant, (u - 2) ** 2 + 1


FOURTHS = {
    "logistic": Symbolic(
        residuals=_in_e_to_z, squares=_within_an_eighth, impostors={"3 in place of 4": {"residuals": {"middle": 3}}}
    ),
    "boosting": Symbolic(
        residuals=_in_half_angle,
        squares=_within_three_sixteenths,
        impostors={"u^-3": {"residuals": {"power": 6}}},
    ),
}
SIGNS = {
    "logistic": (
        "With $y = e^z$, $Phi'''' = y ((y - 2)^2 - 3)\\/(1 + y)^4$, negative up to $y = 2 + sqrt(3)$, which is before "
        "$z = 2.5$, and positive beyond; $abs(Phi'''') <= 1\\/8$, the difference being a sum of squares (for $y > 0$). "
    ),
    "boosting": (
        "With $u = 1 + z^2\\/4$, $Phi'''' = 3\\/16 (z^2 - 1) u^(-7\\/2)$, negative up to $z = 1$, which is before 2, "
        "and positive beyond; $abs(z^2 - 1) <= u^2 <= u^(7\\/2)$, as $4 u - 5 <= u^2$ and $5 - 4 u <= 1$, so "
        "$abs(Phi'''') <= 3\\/16$. "
    ),
}
TOUCHES = (
    "Where $Phi''$ is convex it lies above its tangent; where it is concave, between 0 and the inflection, above its "
    "chord, whose ends lie above the tangent: $Phi''(0) = 1\\/4 > a$ as $a <= 0.225$. "
)


def _below(link: str) -> Inequality:
    """The tangent against Phi'' on [0, 4 z_0]; beyond, it is negative. Divided by the double root at z_0."""
    a, b = tangent(link)
    at = float(TANGENT[link])

    def gap(m: Any, z: Any) -> Any:
        return LINKS[link].derivative(m, z, 1)

    return Inequality(
        smaller=lambda m, z: (a - 1e-12) - b * z,
        larger=gap,
        box={"z": Real(0.0, 4.0 * at)},
        certify=False,
        evaluations=20_000,
        impostors={"a 1 % larger": {"smaller": lambda m, z: 1.01 * a - b * z}},
        role="control",
    )


def _tangents(rng: np.random.Generator, *, link: str, factor: float = 1.0) -> Iterator[Fact | Within]:
    a, b = tangent(link)
    shown = ROUNDED[link]
    yield Fact("a, rounded", factor * a, shown[0], 1e-2)
    yield Fact("b, rounded", factor * b, shown[1], 1e-2)
    # Phi'' is concave up to the zero of Phi'''' and convex after it; the tangent point lies in the convex part.
    inflection = {"logistic": math.log(2 + math.sqrt(3)), "boosting": 1.0}[link]
    fourth = _diff(PHI[link], _Z, 4)
    yield Fact("inflection", float(fourth.subs(_Z, inflection)), 0.0, 1e-12, numbers={"inflection": inflection})
    yield Within("the tangent point over the inflection", float(TANGENT[link]) / inflection, 1.0)
    yield Within("Phi''(0) over the tangent there", float(_diff(PHI[link], _Z, 2).subs(_Z, 0)) / a, 1.0)


C4_TANGENT = Claim(
    id="glm/c4-tangent",
    where="C.4",
    kind="inequality",
    statement="$Phi''(z) >= a - b z$ for all $z >= 0$, tangent at $2.5$: $a approx 0.22$, $b approx 0.06$.",
    equation="C.4",
    remark=(
        "Called local convexity: $Phi''$ is concave up to ${inflection}$; there it lies above its chord, which lies "
        "above "
        "the tangent."
    ),
    checks=(
        FOURTHS["logistic"],
        _rounds("logistic"),
        _below("logistic"),
        Agreement(
            facts=partial(_tangents, link="logistic"),
            impostors={"2 % off": {"facts": {"factor": 1.02}}},
            role="control",
        ),
    ),
    derivation=Derivation(text=SIGNS["logistic"] + TOUCHES, lemmas=("concavity",)),
)


def lower_bound(a: float, b: float, scale: float) -> float:
    """B(z) of the proofs, s = z / 20: 2 (a Psi(a / (b s)) - a / 2 - b s (1 - e^{-a^2 / (2 b^2 s^2)}) / sqrt(2 pi))."""
    reach = a / (b * scale)
    tail = b * scale / math.sqrt(2 * math.pi) * -math.expm1(-reach * reach / 2)
    return 2 * (a * float(ndtr(reach)) - a / 2 - tail)


def _line_integral(a: float, b: float, scale: float) -> float:
    """2 int_0^{a / (b s)} (a - b s w) phi(w) dw by quadrature."""
    with mpmath.workdps(25):
        return float(2 * _quad(lambda w: (a - b * scale * w) * mpmath.npdf(w), [0, 1, 3, 6, a / (b * scale)]))


def _expected(link: str, scale: float) -> float:
    """E Phi''(s W)."""
    second = sympy.lambdify(_Z, _diff(PHI[link], _Z, 2), "mpmath")
    with mpmath.workdps(25):
        return float(2 * _quad(lambda w: second(scale * w) * mpmath.npdf(w), [0, 1, 3, 6, 14]))


def _chain(rng: np.random.Generator, *, link: str, factor: float = 1.0) -> Iterator[Fact | Within]:
    """The integral of the tangent, the chain, and f(6) > 1.22, with a and b exact and rounded."""
    for name, (a, b) in (("exact", tangent(link)), ("rounded", ROUNDED[link])):
        for scale in (0.3, 0.25, 1.0):
            yield Fact(
                f"integral at s = {scale}", factor * lower_bound(a, b, scale), _line_integral(a, b, scale), 1e-12
            )
        bound = 6 * lower_bound(a, b, 0.3)
        yield Within("6 B(6)", bound, 1.22, numbers={name: bound})
    exact = tangent(link)
    for scale in (0.05, 0.3):
        yield Within(
            f"B over E Phi''(s W) at s = {scale}", lower_bound(*exact, scale) / _expected(link, scale), 0.0, 1.0
        )


def _scale_chain(rng: np.random.Generator, *, link: str, factor: float = 1.0) -> Iterator[Fact | Within]:
    """E Phi''(W / 4) >= the bound > 1 / 6."""
    for a, b in (tangent(link), ROUNDED[link]):
        yield Fact("integral", factor * lower_bound(a, b, 0.25), _line_integral(a, b, 0.25), 1e-12)
        yield Within("the bound of E Phi''(W / 4)", lower_bound(a, b, 0.25), 1 / 6)
    yield Within("the bound over E Phi''(W / 4)", lower_bound(*tangent(link), 0.25) / _expected(link, 0.25), 0.0, 1.0)


def _slope_chain(rng: np.random.Generator, *, link: str, least: float, factor: float = 1.0) -> Iterator[Fact | Within]:
    """f' = E Phi''(s W) + s^2 E Phi''''(s W), s = z / 20, >= B - 36 sup |Phi''''| / 400 > least on (0, 6]."""
    a, b = tangent(link)
    fourth = sympy.lambdify(_Z, _diff(PHI[link], _Z, 4), "mpmath")
    tilted = sympy.lambdify(_Z, _diff(PHI[link], _Z, 2), "mpmath")
    for z in (1.0, 3.0, 6.0):
        s = z / 20
        with mpmath.workdps(25):
            pieces = [0, 1, 3, 6, 14]
            stein = 2 * _quad(lambda w, s=s: fourth(s * w) * mpmath.npdf(w), pieces) * s * s
            direct = 2 * _quad(lambda w, s=s: w * w * tilted(s * w) * mpmath.npdf(w), pieces)
        yield Fact(f"Stein at z = {z:g}", factor * (_expected(link, s) + float(stein)), float(direct), 1e-12)
    grid = np.linspace(-12.0, 12.0, 24_001)
    values = np.abs(np.array(sympy.lambdify(_Z, _diff(PHI[link], _Z, 4), "numpy")(grid)))
    yield Fact("sup |Phi''''|", factor * float(values.max()), FOURTH[link], 1e-6)
    worst = min(lower_bound(a, b, z / 20) for z in np.linspace(0.01, 6.0, 600)) - 36 / 400 * FOURTH[link]
    yield Within("least of the bound on (0, 6]", worst, least, numbers={"worst": worst})


def _three(link: str, least: float) -> tuple[Agreement, ...]:
    off = {"1 % off": {"facts": {"factor": 1.01}}}
    return (
        Agreement(facts=partial(_chain, link=link), impostors=off, role="control"),
        Agreement(facts=partial(_scale_chain, link=link), impostors=off, role="control"),
        Agreement(facts=partial(_slope_chain, link=link, least=least), impostors=off, role="control"),
    )


def _at_six(link: str) -> Inequality:
    """6 B(6), exceeding 1.22; the box is the point z = 6."""

    def larger(m: Any, z: Any) -> Any:
        a, b = _exact_tangent(m, link)
        scale = z / 20
        reach = a / (b * scale)
        lost = b * scale / m.sqrt(2 * m.pi) * (1 - m.exp(-reach * reach / 2))
        return 2 * z * (a * m.ndtr(reach) - a / 2 - lost)

    return Inequality(
        smaller=lambda m, z: m.number("1.22") + 0 * z,
        larger=larger,
        box={"z": Real(6.0, 6.0)},
        impostors={"1.3": {"smaller": Times("130/122")}},
    )


_CHAINS = {"logistic": _three("logistic", 0.19), "boosting": _three("boosting", 0.1)}
CHAINS = (
    "$Phi''$ is even, positive, and at least $a - b z$ for $z >= 0$, so with $s = z\\/20$, $W$ normal, $bb(E) Phi''(s "
    "W) >= 2 integral (a - b s w)_+ phi.alt(w) dif w = B(z)$, the derivative of $B$'s terms in the upper end $a\\/(b "
    "s)$ being the integrand; it falls in $z$, and $6 B(6) > 1.22$ (certified), so $B > 0.2033$ on $[0, 6]$. "
)
STEIN = (
    "$f' = bb(E) Phi''(s W) + s bb(E) W Phi'''(s W)$, where $bb(E) W Phi'''(s W) = s bb(E) Phi''''(s W)$: $f' >= B(z) "
    "- 36\\/400 "
)

C4_F = Claim(
    id="glm/c4-f",
    where="C.4",
    kind="inequality",
    statement=(
        '$norm(w^"ols") = sqrt(p)\\/20$: $f(z) >= z B(z)$, $B(z) = 2 (a Psi(20 a\\/(b z)) - a\\/2 - b z\\/(20 '
        "sqrt(2 pi)) (1 - e^(-200 a^2\\/(b^2 z^2))))$, hence $f(6) > 1.22$."
    ),
    equation="C.4",
    remark="$6 B(6) = {exact}$ with $a$, $b$ exact, ${rounded}$ with them rounded.",
    checks=(FOURTHS["logistic"], _rounds("logistic"), _at_six("logistic"), *_CHAINS["logistic"][:1]),
    derivation=Derivation(
        text=SIGNS["logistic"] + TOUCHES + CHAINS + "$f(z) = z bb(E) Phi''(s W)$.", lemmas=("concavity", "monotony")
    ),
)

C4_C = Claim(
    id="glm/c4-c",
    where="C.4",
    kind="inequality",
    statement="$bb(E) Phi''(W\\/4) >= 2 (a Psi(4 a\\/b) - a\\/2 - b\\/(4 sqrt(2 pi)) (1 - e^(-8 a^2\\/b^2))) > 1\\/6$.",
    equation="C.4",
    checks=(FOURTHS["logistic"], _rounds("logistic"), _at_six("logistic"), *_CHAINS["logistic"][1:2]),
    derivation=Derivation(
        text=SIGNS["logistic"] + TOUCHES + CHAINS + "The bound is $B(5) > 1\\/6$.", lemmas=("concavity", "monotony")
    ),
)

C4_FPRIME = Claim(
    id="glm/c4-fprime",
    where="C.4",
    kind="inequality",
    statement=(
        r"$f'(z) = bb(E) Phi''(W z\/20) + z^2\/400 bb(E) Phi''''(W z\/20) >= B(z) - 9\/800 > 0.1$ on $[0, 6]$, "
        "and $M = 0.19$."
    ),
    equation="C.4",
    remark="The bound is ${worst}$ at its least on a fine grid, so $M = 0.19$ is proved as well.",
    checks=(FOURTHS["logistic"], _rounds("logistic"), _at_six("logistic"), *_CHAINS["logistic"][2:]),
    derivation=Derivation(
        text=SIGNS["logistic"] + TOUCHES + CHAINS + STEIN + "dot 1\\/8 > 0.2033 - 0.0113 > 0.19$.",
        lemmas=("concavity", "monotony", "Stein"),
    ),
)

C5_ALL = Claim(
    id="glm/c5-all",
    where="C.5",
    kind="inequality",
    statement=(
        "Boosting: tangent at 2, $a approx 0.22$, $b approx 0.066$;",
        r"the same three chains give $f(6) > 1.22$, $bb(E) Phi''(W\/4) > 1\/6$ and $f' >= ... - 27\/1600 > 0.1$.",
    ),
    equation="C.5",
    remark="With the true fourth derivative in place of the printed one: both have the same supremum.",
    checks=(
        FOURTHS["boosting"].deciding("ab"),
        _rounds("boosting").deciding("ab"),
        _at_six("boosting").deciding("b"),
        _below("boosting").deciding("a"),
        Agreement(
            decides="a",
            facts=partial(_tangents, link="boosting"),
            impostors={"2 % off": {"facts": {"factor": 1.02}}},
            role="control",
        ),
        *(check.deciding("b") for check in _CHAINS["boosting"]),
    ),
    derivation=Derivation(
        text="(a) "
        + SIGNS["boosting"]
        + TOUCHES
        + "(b) "
        + CHAINS
        + "$f(z) = z bb(E) Phi''(s W)$, and $B(5) > 1\\/6$. "
        + STEIN
        + "dot 3\\/16 > 0.2033 - 0.0169 > 0.1$.",
        lemmas=("concavity", "monotony", "Stein"),
    ),
)
