"""Remark 3.7: where the terms of (7) meet, and the number of iterations that makes it least."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy
from scipy.optimize import minimize_scalar, root_scalar

from dpbounds.iv import Constants, Design, error_bound, optimal_steps, regimes, stationary_steps
from verify.checks import Agreement, Fact, Inequality, Symbolic
from verify.claims import Claim, Correction
from verify.domains import Real


def _crossings(exponent: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """kappa^{T/2} at T_a and sqrt(p) Q³ sqrt(T) / (n sqrt(rho)) at T_b against sqrt(pq) Lambda / sqrt(n)."""
    n, p, q, L, Q, rho, kappa = sympy.symbols("n p q Lambda Q rho kappa", positive=True)
    floor = sympy.sqrt(p * q) * L / sympy.sqrt(n)
    T_a = sympy.log(n / (p * q * L**exponent)) / sympy.log(1 / kappa)
    T_b = n * rho * q * L**exponent / Q**6
    yield "log at T_a", sympy.expand_log(T_a / 2 * sympy.log(kappa) - sympy.log(floor), force=True)
    yield "at T_b", sympy.sqrt(p) * Q**3 * sympy.sqrt(T_b) / (n * sympy.sqrt(rho)) - floor


def _privacy_term(m, log10_n, a, x):
    """At T = x T_a; p = q = 1, tau = 5, kappa = 1/2, rho_min = n^{-a}."""
    n, T = 10**log10_n, _first_crossing(m, log10_n) * x
    return (1 + m.sqrt(m.number(5))) ** 3 * m.sqrt(T) / n ** (1 - a / 2)


def _optimisation_term(m, log10_n, a, x):
    """kappa^{T / 2} there."""
    return m.exp(-_first_crossing(m, log10_n) * x * m.log(m.number(2)) / 2)


def _first_crossing(m, log10_n):
    """T_a."""
    return (log10_n * m.log(m.number(10)) - m.log(m.number(25))) / m.log(m.number(2))


def _allowed(log10_n, a, x):
    """(6) with c_1 = 1, and T >= 1."""
    enough = 10.0 ** (log10_n * (2 - a)) >= (1 + math.sqrt(5)) ** 6
    return enough & (np.log2(10.0**log10_n / 25) * x >= 1)


def _beyond_second_crossing(log10_n, a, x):
    """(6), and T > T_b."""
    T = np.log2(10.0**log10_n / 25) * x
    T_b = 10.0 ** (log10_n * (1 - a)) * 25 / (1 + math.sqrt(5)) ** 6
    return _allowed(log10_n, a, x) & (T_b <= T)


def _ordered(orderly: bool) -> Iterator[tuple[str, sympy.Expr]]:
    """With terms a^{-T}, f, c sqrt(T) and T_a <= T_b, log a = u: below T_a the first is largest, above T_b the last, f
    between. T = T_a - s: a^{-T} / f = e^{u s}; T_b = T_a + w, T = T_b + v: (c sqrt(T) / f)² = T / T_b.
    """
    s, u, v, w, T_a = sympy.symbols("s u v w T_a", positive=True)
    T_b = T_a + w if orderly else T_a / (1 + w)
    yield "log(first / second) below T_a", u * s
    yield "1 - (third / second)² below T_a, T = T_a / (1 + s)", 1 - T_a / (1 + s) / T_b
    yield "(third / second)² - 1 above T_b", (T_b + v) / T_b - 1
    yield "log(second / first) above T_b", u * (T_b + v - T_a)


def _without_plateau(later: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """T_a = T_b + w: the first term is above the second at T_b, the third at T_a, so that the second is never the
    largest and the others meet between.
    """
    u, w, T_b = sympy.symbols("u w T_b", positive=True)
    T_a = T_b + later * w
    yield "log(first / second) at T_b", u * (T_a - T_b)
    yield "(third / second)² - 1 at T_a", T_a / T_b - 1


# n, p, q, rho_min, kappa; three ranges, two ranges, and the paper's n = 1000, p = q = 5.
MEETINGS = ((10**9, 5, 5, 1.0, 0.9), (10**4, 1, 1, 0.01, 0.9), (1000, 5, 5, 1.0, 0.9))


def _meeting_points(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """Where two terms of (7) are equal, by bisection on their logarithms, against the closed forms."""
    for setting in MEETINGS:
        n, p, q, rho, kappa = setting
        found = regimes(Design(n=n, p=p, q=q, theta_norm=1.0, theta_least=1.0), rho1=rho, rho2=rho, kappa=kappa)
        label = f"n = {n:g}, p = q = {p}, rho = {rho:g}, kappa = {kappa:g}"
        names = ("kappa^(T/2) and statistical term", "statistical and sqrt(T) term", "kappa^(T/2) and sqrt(T) term")
        stated = (found.statistical_from, found.privacy_from, found.crossing)
        for name, root, value in zip(names, _roots(*setting), stated, strict=True):
            yield Fact(f"{name} meet, {label}", root, factor * value, 1e-9)


def _roots(n: int, p: int, q: int, rho: float, kappa: float) -> tuple[float, float, float]:
    """Of the differences of the logarithms of two terms; T_a is negative where the statistical term exceeds 1."""
    rate = -math.log(kappa) / 2
    floor = math.log(math.sqrt(p * q / n) * (5 + math.log(p * q)))
    unit = math.log(math.sqrt(p / rho) * (math.sqrt(q) + math.sqrt(5)) ** 3 / n)
    return (
        root_scalar(lambda T: -rate * T - floor, bracket=(-1e6, 1e6), xtol=1e-12, rtol=1e-12).root,
        _root(lambda T: unit + math.log(T) / 2 - floor),
        _root(lambda T: unit + math.log(T) / 2 + rate * T),
    )


def _root(difference: Callable[[float], float]) -> float:
    return root_scalar(difference, bracket=(1e-12, 1e15), xtol=1e-12, rtol=1e-12).root


def _limit_of_optimum(rng: np.random.Generator, *, logarithmic: bool) -> Iterator[Fact]:
    """Stationarity of e^{-l T / 2} + (s / n) sqrt(T): n = s e^{l T / 2} / (l sqrt(T)), l = log(1 / kappa)."""
    T, rate, s = sympy.symbols("T l s", positive=True)
    log_n = sympy.log(s / rate) + rate * T / 2 - sympy.log(T) / 2
    limit = sympy.limit(T / log_n, T, sympy.oo)
    yield Fact("limit of T* / log n, l = log(1 / kappa)", limit, 2 / rate if logarithmic else sympy.oo, 0)
    yield Fact(
        "limit of T* / n", sympy.limit(T * rate * sympy.sqrt(T) * sympy.exp(-rate * T / 2) / s, T, sympy.oo), 0, 0
    )


def _optimum(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """Lambert's W against a minimiser of the curve, p = q = tau = 5, rho = 1."""
    for kappa in (0.5, 0.9):
        for exponent in (4, 8, 12, 16):
            design = Design(n=10**exponent, p=5, q=5, theta_norm=1.0, theta_least=1.0)
            growth = float(error_bound(design, steps=1, rho1=1.0, rho2=1.0, kappa=kappa).privacy)
            rate = -0.5 * math.log(kappa)
            stated = factor * (stationary_steps(1.0, rate, growth) or 0.0)
            yield Fact(f"T*, kappa = {kappa}, n = 10^{exponent}", _minimised(rate, growth), stated, 1e-6)


def _minimised(rate: float, growth: float) -> float:
    """The minimum of e^{-rate T} + growth sqrt(T) beyond the local maximum near 0."""
    found: Any = minimize_scalar(
        lambda T: math.exp(-rate * T) + growth * math.sqrt(T),
        bounds=(0.5 / rate, 60 / rate),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return float(found.x)


def _best(design: Design, kappa: float) -> int:
    return optimal_steps(design, rho1=1.0, rho2=1.0, kappa=kappa).steps


def _picture() -> dict[str, Any]:
    """T* / log n and T* / n against n."""
    series = []
    for kappa in (0.5, 0.9):
        n = [10**k for k in range(6, 101, 2)]
        steps = [_best(Design(n=size, p=5, q=5, theta_norm=1.0, theta_least=1.0), kappa) for size in n]
        y = [T / math.log(size) for T, size in zip(steps, n, strict=True)]
        x = [float(size) for size in n]
        series.append({"label": f"kappa = {kappa}", "role": "theory", "x": x, "y": y})
        limit = -2 / math.log(kappa)
        label = f"kappa = {kappa} limit 2 / log(1 / kappa)"
        series.append({"label": label, "role": "bound", "x": [x[0], x[-1]], "y": [limit, limit]})
    return {"x": "n", "y": "optimal T of (7) over log n, p = q = 5, rho = 1", "log": ["x"], "series": series}


def _empty_range(rng: np.random.Generator, exponent: float = 0.1) -> Iterator[Fact]:
    """n = c_1 pq Lambda², the least that (6) allows, epsilon = 0.1, rho_1 = rho_2 = 1: empty once pq is large."""
    for least, size in ((1, 10), (100, 10**12), (10**6, 10**30)):
        n = math.ceil(least * size**2 * (5 + 2 * math.log(size)) ** 2)
        design = Design(n=n, p=size, q=size, theta_norm=1.0, theta_least=1.0)
        found = regimes(design, rho1=1.0, rho2=1.0, kappa=0.5, constants=Constants(epsilon=exponent))
        met = n >= least * (2 * math.sqrt(size)) ** 3
        yield Fact(f"(6) with c_1 = {least:g} at p = q = {size:g}, n = {float(n):.3g}", met, True, 0)
        ends = f"T_b = {float(found.privacy_from):.3g}, other end {float(found.valid_until):.3g}"
        yield Fact(f"empty: {ends}", bool(found.valid_until < found.privacy_from), True, 0)


def _range_ends(exponent: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """End of (5) over T_b = n^{1 - eps} rho_1 / (pq Lambda² rho_min)."""
    n, p, q, L, Q, rho1, least, eps = sympy.symbols("n p q Lambda Q rho_1 rho_min epsilon", positive=True)
    end, T_b = rho1 * n ** (2 - eps) / (p * Q**6), n * least * q * L**2 / Q**6
    yield "ratio", sympy.powsimp(end / T_b - n ** (exponent - eps) * rho1 / (p * q * L**2 * least), force=True)


CROSSING_BOX = {"log10_n": Real(2.0, 30.0), "a": Real(0.01, 1.9), "x": Real(0.1, 1.0)}

CLAIMS = (
    Claim(
        id="iv/rem-3.7a",
        where="Remark 3.7",
        kind="identity",
        statement=(
            "$kappa^(T\\/2)$ dominates (7) for $T <= T_a = log(n/(p q (tau + log(p q))^2)) \\/ log(1\\/kappa)$."
        ),
        hypotheses=(
            "Constants 1; at $p = q = 1$, $tau = 5$, $kappa = 1\\/2$, $rho_min = n^(-a)$, $T = x T_a >= 1$, inside (6) "
            "with $c_1 = 1$. At $n = 1000$, $p = q = 5$ the range is empty: $p q Lambda^2 = 1689$."
        ),
        checks=(
            Inequality(
                smaller=_privacy_term, larger=_optimisation_term, box=CROSSING_BOX, where=_allowed, certify=False
            ),
        ),
        correction=Correction(
            statement=(
                "if $T_a <= T_b = n rho_min q Lambda^2 \\/ Q^6$. Else there is no plateau, and the privacy term takes "
                "over where it meets $kappa^(T\\/2)$, between $T_b$ and $T_a$."
            ),
            checks=(
                Symbolic(
                    residuals=_crossings,
                    nonnegative=lambda: _ordered(True),
                    impostors={
                        "Lambda for its square": {"residuals": lambda: _crossings(1)},
                        "T_b below T_a": {"nonnegative": lambda: _ordered(False)},
                    },
                ),
                Symbolic(
                    nonnegative=_without_plateau,
                    impostors={"T_a below T_b": {"nonnegative": lambda: _without_plateau(-1)}},
                ),
                Agreement(
                    facts=_meeting_points,
                    impostors={"1 % late": {"facts": lambda rng: _meeting_points(rng, 1.01)}},
                ),
            ),
        ),
    ),
    Claim(
        id="iv/rem-3.7b",
        where="Remark 3.7",
        kind="identity",
        statement=(
            "$sqrt(p q) Lambda \\/ sqrt(n)$ dominates (7) for $T_a < T <= T_b = n rho_min q Lambda^2 \\/ Q^6$, the "
            "$sqrt(T)$ term beyond."
        ),
        hypotheses="$T = x T_a$ and the rest as for $T_a$.",
        checks=(
            Inequality(
                smaller=_optimisation_term,
                larger=_privacy_term,
                box=CROSSING_BOX,
                where=_beyond_second_crossing,
                certify=False,
            ),
        ),
        correction=Correction(
            statement=(
                "the $sqrt(T)$ term dominates beyond $max{T_a, T_b}$; for $T_b < T_a$ already beyond the point between "
                "them where it meets $kappa^(T\\/2)$."
            ),
            checks=(
                Symbolic(
                    residuals=_crossings,
                    nonnegative=lambda: _ordered(True),
                    impostors={"Lambda for its square": {"residuals": lambda: _crossings(1)}},
                ),
                Symbolic(
                    nonnegative=_without_plateau,
                    impostors={"T_a below T_b": {"nonnegative": lambda: _without_plateau(-1)}},
                ),
            ),
        ),
    ),
    Claim(
        id="iv/rem-3.7c",
        where="Remark 3.7, Conclusion",
        kind="number",
        statement="The best number of iterations is sub-linear but super-logarithmic in $n$.",
        hypotheses="(7) minimised over $T$, all else fixed; super-logarithmic: $T^star \\/ log n -> oo$.",
        checks=(Agreement(facts=lambda rng: _limit_of_optimum(rng, logarithmic=False), picture=_picture),),
        correction=Correction(
            statement=(
                "it is logarithmic: $T^star = -W_(-1)(-u) \\/ l$ with $l = log(1\\/kappa)$, $u = c^2\\/l$ and $c$ the "
                "coefficient of $sqrt(T)$, so $T^star \\/ log n -> 2\\/l$."
            ),
            checks=(
                Agreement(
                    facts=lambda rng: _limit_of_optimum(rng, logarithmic=True),
                    picture=_picture,
                    impostors={"no limit": {"facts": lambda rng: _limit_of_optimum(rng, logarithmic=False)}},
                ),
                Agreement(facts=_optimum, impostors={"0.1 % off": {"facts": lambda rng: _optimum(rng, 1.001)}}),
            ),
        ),
    ),
    Claim(
        id="iv/rem-3.7d",
        where="Remark 3.7",
        kind="inequality",
        statement="There is a third range, $T_b < T lt.tilde rho_1 n^(2 - epsilon) \\/ (p Q^6)$.",
        hypotheses=(
            "Constants 1; at $p = q = 1$, $tau = 5$, $rho_1 = rho_min$ inside (6) with $c_1 = 1$. The paper's $n = "
            "1000$, $p = q = 5$ has $T_b = 42 rho$ and $25 rho$ for the other end."
        ),
        checks=(
            Inequality(
                smaller=lambda m, n, epsilon: m.number(25) * n,
                larger=lambda m, n, epsilon: m.exp((2 - epsilon) * m.log(n)),
                box={"n": Real(34.0, 1e6, "log"), "epsilon": Real(0.01, 0.1)},
                certify=False,
            ),
        ),
        correction=Correction(
            statement=(
                "if and only if $n^(1 - epsilon) > p q Lambda^2 rho_min \\/ rho_1$. (6) implies that for no $c_1$: at "
                "its least $n$ and equal budgets the condition is $c_1^(1 - epsilon) > (p q Lambda^2)^epsilon$, which "
                "fails as $p q$ grows."
            ),
            checks=(
                Symbolic(residuals=_range_ends, impostors={"n²": {"residuals": lambda: _range_ends(2)}}),
                Agreement(facts=_empty_range, impostors={"epsilon = 0": {"facts": lambda rng: _empty_range(rng, 0.0)}}),
            ),
        ),
    ),
)
