"""Remark 3.7: where the terms of (7) meet, and the ranges of T in which each is the largest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import sympy
from scipy.optimize import root_scalar

from dpbounds.iv import (
    Constants,
    Design,
    ErrorBound,
    TwoStageBudget,
    error_bound,
    regimes,
)
from verify.checks import Agreement, Fact, Holds, Search, Symbolic
from verify.checks.domains import Real, Whole
from verify.papers.iv.tools.samples import isotropic_design
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

# --- the ranges of T ---

KAPPA = 0.5


def _terms(n: float, rho: float, steps: float) -> tuple[ErrorBound, float, float] | None:
    """The terms of (7), T_a and T_b at p = q = 1, tau = 5, kappa = 1/2, rho_1 = rho_2; None outside (6), c_1 = 1."""
    design = isotropic_design(round(n))
    if design.n < max(design.Lambda**2, design.Q**3 / math.sqrt(rho)):
        return None
    found = regimes(design, TwoStageBudget.equal(rho), kappa=KAPPA)
    bound = error_bound(design, TwoStageBudget.equal(rho), steps=round(steps), kappa=KAPPA)
    return bound, float(found.statistical_from), float(found.privacy_from)


def _before(n: float, rho: float, steps: float) -> tuple[float, float]:
    """The largest of the other terms and kappa^{T/2}, for T <= T_a."""
    found = _terms(n, rho, steps)
    if found is None or steps > found[1]:
        return 0.0, 1.0
    return max(found[0].privacy, found[0].statistical), found[0].optimisation


def _after(n: float, rho: float, steps: float) -> tuple[float, float]:
    """The largest of the other terms and the sqrt(T) term, for T > T_b."""
    found = _terms(n, rho, steps)
    if found is None or steps <= found[2]:
        return 0.0, 1.0
    return max(found[0].optimisation, found[0].statistical), found[0].privacy


RANGES = {"n": Whole(10**3, 10**9, "log"), "rho": Real(1e-4, 10.0, "log"), "steps": Whole(1, 60, "log")}


# Where the ranges are in the wrong order, and their ends there.
SHORT_N, SHORT_RHO = 10_000, 0.01
SHORT_ENDS = regimes(isotropic_design(SHORT_N), TwoStageBudget.equal(SHORT_RHO), kappa=KAPPA)


def _short(steps: int) -> Callable[[], Iterator[Mapping[str, Any]]]:
    """Between T_b and T_a, the first of which is less than the second."""
    return lambda: iter([{"n": SHORT_N, "rho": SHORT_RHO, "steps": steps}])


def _crossings(exponent: int = 2) -> Iterator[tuple[Any, ...]]:
    """kappa^{T/2} at T_a and sqrt(p) Q³ sqrt(T) / (n sqrt(rho)) at T_b against sqrt(pq) Lambda / sqrt(n)."""
    n, p, q, L, Q, rho, kappa = sympy.symbols("n p q Lambda Q rho kappa", positive=True)
    floor = sympy.sqrt(p * q) * L / sympy.sqrt(n)
    T_a = sympy.log(n / (p * q * L**exponent)) / sympy.log(1 / kappa)
    T_b = n * rho * q * L**exponent / Q**6
    yield "log at T_a", sympy.expand_log(T_a / 2 * sympy.log(kappa) - sympy.log(floor), force=True)
    yield "at T_b", sympy.sqrt(p) * Q**3 * sympy.sqrt(T_b) / (n * sympy.sqrt(rho)), floor


def _ordered(orderly: bool = True) -> Iterator[tuple[str, sympy.Expr]]:
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


PAPER_RECORDS = 1000
# n, p, q, rho_min, kappa; three ranges, two ranges, the paper's n = 1000, p = q = 5, and p < q.
MEETINGS = ((10**9, 5, 5, 1.0, 0.9), (10**4, 1, 1, 0.01, 0.9), (1000, 5, 5, 1.0, 0.9), (10**6, 2, 7, 3.0, 0.6))
# Constants of the three terms of (7).
SCALES = (2.0, 3.0, 0.5)


def _meeting_points(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """Where two terms of (7) are equal, by bisection on their logarithms, against the closed forms."""
    for setting in MEETINGS:
        n, p, q, rho, kappa = setting
        design = Design(n=n, p=p, q=q, theta_norm=1.0, theta_least=1.0)
        label = f"n = {n:g}, p = {p}, q = {q}, rho = {rho:g}, kappa = {kappa:g}"
        names = ("kappa^(T/2) and statistical term", "statistical and sqrt(T) term", "kappa^(T/2) and sqrt(T) term")
        for scales in ((1.0, 1.0, 1.0), SCALES):
            first, second, third = scales
            constants = Constants(optimisation=first, privacy=second, statistical=third)
            found = regimes(design, TwoStageBudget(rho1=2 * rho, rho2=rho), kappa=kappa, constants=constants)
            stated = (found.statistical_from, found.privacy_from, found.crossing)
            for name, root, value in zip(names, _roots(*setting, *scales), stated, strict=True):
                yield Fact(f"{name} meet, {label}, constants {scales}", root, factor * value, 1e-9)


def _roots(
    n: int, p: int, q: int, rho: float, kappa: float, first: float, second: float, third: float
) -> tuple[float, float, float]:
    """Of the differences of the logarithms of two terms; T_a is negative where the statistical term exceeds 1."""
    rate, start = -math.log(kappa) / 2, math.log(first)
    floor = math.log(third * math.sqrt(p * q / n) * (5 + math.log(p * q)))
    unit = math.log(second * math.sqrt(p / rho) * (math.sqrt(q) + math.sqrt(5)) ** 3 / n)
    return (
        root_scalar(lambda T: start - rate * T - floor, bracket=(-1e6, 1e6), xtol=1e-12, rtol=1e-12).root,
        _root(lambda T: unit + math.log(T) / 2 - floor),
        _root(lambda T: unit + math.log(T) / 2 + rate * T - start),
    )


def _root(difference: Callable[[float], float]) -> float:
    return root_scalar(difference, bracket=(1e-12, 1e15), xtol=1e-12, rtol=1e-12).root


def _dominant(rng: np.random.Generator, order: str = "optimisation privacy statistical") -> Iterator[Holds]:
    """The largest of the three terms on either side of the meeting points, with a plateau and without."""
    optimisation, privacy, statistical = order.split()
    for n, p, q, rho, kappa in MEETINGS[:2]:
        design = Design(n=n, p=p, q=q, theta_norm=1.0, theta_least=1.0)
        found = regimes(design, TwoStageBudget(rho1=rho, rho2=4 * rho), kappa=kappa)
        label = f"n = {n:g}, p = q = {p}"
        yield Holds(f"a plateau if and only if p > 1, {label}", found.has_plateau == (p > 1))
        ends = [found.statistical_from, found.privacy_from] if found.has_plateau else [found.crossing]
        at = [max(1, math.floor(ends[0])), *(math.ceil(end) for end in ends)]
        stated = [optimisation, statistical, privacy] if found.has_plateau else [optimisation, privacy]
        for steps, name in zip(at, stated, strict=True):
            bound = error_bound(design, TwoStageBudget(rho1=rho, rho2=4 * rho), steps=steps, kappa=kappa)
            yield Holds(f"the {name} term is the largest at T = {steps}, {label}", bound.dominant == name)


PLATEAU = Symbolic(nonnegative=_ordered, impostors={"T_b below T_a": {"nonnegative": {"orderly": False}}})
NO_PLATEAU = Symbolic(nonnegative=_without_plateau, impostors={"T_a below T_b": {"nonnegative": {"later": -1}}})

REM_3_7A = Claim(
    id="iv/rem-3.7a",
    where="Remark 3.7",
    page=8,
    kind="identity",
    statement="$kappa^(T\\/2)$ dominates (7) for $T <= T_a = log(n/(p q (tau + log(p q))^2)) \\/ log(1\\/kappa)$.",
    setting=(
        "Constants 1; at $p = q = 1$, $tau = 5$, $kappa = 1\\/2$, $rho_1 = rho_2 = rho$, inside (6) with $c_1 = 1$."
    ),
    checks=(Search(sides=_before, box=RANGES, extremal=_short(8), evaluations=200, closed=True),),
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            "Remark 3.7 lets $kappa^(T\\/2)$ dominate up to $T_a$; where the $sqrt(T)$ term meets the third one "
            "before, it does not: at $p = q = 1$, $tau = 5$, $kappa = 1\\/2$, $n = {n}$, $rho_1 = rho_2 = {rho}$, $T "
            "= {steps} < T_a = {T_a:2}$ it is ${larger:3}$ and the $sqrt(T)$ term ${smaller:3}$."
        ),
        consequence="The three ranges of the remark need $T_a <= T_b$; without, there is no plateau.",
    ),
    given={"T_a": float(SHORT_ENDS.statistical_from)},
    correction=Correction(
        statement=(
            r"$kappa^(T\/2)$ dominates (7) for $T <= T_a$ if $T_a <= T_b = n rho_min q Lambda^2 \/ Q^6$.",
            (
                r"Else there is no plateau, and the privacy term takes over where it meets $kappa^(T\/2)$, between "
                "$T_b$ and $T_a$."
            ),
        ),
        ground="The first term falls and the privacy term grows in $T$; both meet the third at $T_a$ and $T_b$.",
        checks=(
            Symbolic(
                decides="a", residuals=_crossings, impostors={"Lambda for its square": {"residuals": {"exponent": 1}}}
            ),
            PLATEAU.deciding("ab"),
            NO_PLATEAU.deciding("ab"),
            Agreement(
                decides="ab",
                role="control",
                facts=_meeting_points,
                impostors={"1 % late": {"facts": {"factor": 1.01}}},
            ),
            Agreement(
                decides="ab",
                role="control",
                facts=_dominant,
                impostors={"plateau last": {"facts": {"order": "optimisation statistical privacy"}}},
            ),
        ),
        derivation=Derivation(
            text=(
                "The first and the third term are proved to meet the second at $T_a$ and $T_b$, the first falls and "
                "the third grows in $T$. For $T_a <= T_b$ the quotients of the three in the three ranges are proved to "
                "be at least 1 as stated; for $T_b < T_a$ the first is above the second at $T_b$ and before, the third "
                "at $T_a$ and after, so that one of them is above the second everywhere between, and the two meet "
                "there."
            ),
            lemmas=("monotony",),
        ),
    ),
)

REM_3_7B = Claim(
    id="iv/rem-3.7b",
    where="Remark 3.7",
    page=8,
    kind="identity",
    statement=(
        "$sqrt(p q) Lambda \\/ sqrt(n)$ dominates (7) for $T_a < T <= T_b = n rho_min q Lambda^2 \\/ Q^6$, the "
        "$sqrt(T)$ term beyond."
    ),
    setting=REM_3_7A.setting,
    checks=(Search(sides=_after, box=RANGES, extremal=_short(3), evaluations=200, closed=True),),
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            "Remark 3.7 lets the $sqrt(T)$ term dominate beyond $T_b$; if $T_b < T_a$ it does not yet: at $p = q = 1$, "
            "$tau = 5$, $kappa = 1\\/2$, $n = {n}$, $rho_1 = rho_2 = {rho}$, $T = {steps} > T_b = {T_b:2}$ it is "
            "${larger:3}$ and $kappa^(T\\/2)$ is ${smaller:3}$."
        ),
        consequence="As for $T_a$: the ranges need $T_a <= T_b$.",
        root="iv/rem-3.7a",
    ),
    given={"T_b": float(SHORT_ENDS.privacy_from)},
    correction=Correction(
        statement=(
            (
                r"$sqrt(p q) Lambda \/ sqrt(n)$ dominates (7) for $T_a < T <= T_b$, and the $sqrt(T)$ term beyond "
                "$max{{T_a, T_b}}$;"
            ),
            r"for $T_b < T_a$ it does so already beyond the point between them where it meets $kappa^(T\/2)$.",
        ),
        ground="As for $T_a$.",
        checks=(
            Symbolic(
                decides="ab", residuals=_crossings, impostors={"Lambda for its square": {"residuals": {"exponent": 1}}}
            ),
            PLATEAU.deciding("a"),
            NO_PLATEAU.deciding("b"),
        ),
    ),
)

# --- the third range ---


def _range_ends(exponent: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """End of (5) over T_b = n^{1 - eps} rho_1 / (pq Lambda² rho_min)."""
    n, p, q, L, Q, rho1, least, eps = sympy.symbols("n p q Lambda Q rho_1 rho_min epsilon", positive=True)
    end, T_b = rho1 * n ** (2 - eps) / (p * Q**6), n * least * q * L**2 / Q**6
    yield "ratio", sympy.powsimp(end / T_b - n ** (exponent - eps) * rho1 / (p * q * L**2 * least), force=True)


def _paper_range(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """The ends of the third range at the n, p and q of the experiments and constants 1, eps = 0, over rho: n q Lambda²
    / Q^6 and n² / (p Q^6), Q = 2 sqrt(5).
    """
    n, size, Lambda = PAPER_RECORDS, 5, 5 + math.log(25)
    design = Design(n=n, p=size, q=size, theta_norm=1.0, theta_least=1.0)
    found = regimes(design, TwoStageBudget.equal(1.0), kappa=KAPPA, constants=Constants(epsilon=0.0))
    stated = {"begin": factor * n * size * Lambda**2 / 20**3, "end": factor * n**2 / (size * 20**3)}
    yield Fact("T_b over rho, n = 1000, p = q = 5", float(found.privacy_from), stated["begin"], 1e-9, stated)
    yield Fact("end of (5) over rho, n = 1000, p = q = 5", float(found.valid_until), stated["end"], 1e-9)


def _range_exists(rng: np.random.Generator, exponent: float = 0.1) -> Iterator[Fact | Holds]:
    """At fixed p, q, tau and budgets T_c / T_b is n^{1 - eps} rho_1 / (pq Lambda² rho_min), above 1 from some n on."""
    for p, q, rho1, rho2 in ((1, 1, 1.0, 1.0), (5, 5, 1.0, 9.0), (2, 8, 9.0, 1.0), (50, 50, 0.1, 0.1)):
        for n in (10**4, 10**8, 10**12):
            design = Design(n=n, p=p, q=q, theta_norm=1.0, theta_least=1.0)
            found = regimes(design, TwoStageBudget(rho1=rho1, rho2=rho2), kappa=KAPPA, constants=Constants(epsilon=0.1))
            level = 5 + math.log(p * q)
            stated = n ** (1 - exponent) * rho1 / (p * q * level**2 * min(rho1, rho2))
            label = f"p = {p}, q = {q}, rho = ({rho1:g}, {rho2:g}), n = {n:g}"
            yield Fact(f"end of (5) over T_b, {label}", found.valid_until / found.privacy_from, stated, 1e-9)
            stated_range = stated > 1 and found.crossing < found.valid_until
            yield Holds(f"a third range where it is stated, {label}", found.has_privacy_regime == stated_range)
            if n == 10**12:
                yield Holds(f"a third range from some n on, {label}", found.has_privacy_regime)


REM_3_7D = Claim(
    id="iv/rem-3.7d",
    where="Remark 3.7",
    page=8,
    kind="inequality",
    statement="There is a third range, $T_b < T lt.tilde rho_1 n^(2 - epsilon) \\/ (p Q^6)$.",
    remark=(
        "For $n^(1 - epsilon) > C p q Lambda^2 rho_min \\/ rho_1$, $C$ from the constants of (5) and (7): from some "
        "$n$ on at fixed $p$, $q$, $tau$ and budgets, but (6) alone gives it only up to the power $epsilon$. At the "
        "paper's $n = {n}$, $p = q = 5$ and constants 1, $epsilon = 0$, it would begin at ${begin:2} rho$ and end at "
        "${end:2} rho$, so that there is none."
    ),
    given={"n": PAPER_RECORDS},
    checks=(
        Symbolic(residuals=_range_ends, impostors={"n²": {"residuals": {"exponent": 2}}}),
        Agreement(facts=_range_exists, role="control", impostors={"epsilon = 0": {"facts": {"exponent": 0.0}}}),
        Agreement(facts=_paper_range, role="control", impostors={"1 % more": {"facts": {"factor": 1.01}}}),
    ),
    derivation=Derivation(
        text=(
            "The end of (5) over $T_b$ is proved to be $n^(1 - epsilon) rho_1 \\/ (p q Lambda^2 rho_min)$ times a "
            "constant; with $epsilon < 1$ it exceeds any bound from some $n$ on, all else fixed."
        ),
    ),
)
