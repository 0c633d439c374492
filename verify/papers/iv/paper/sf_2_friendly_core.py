"""Appendix F.2: private second moments by FriendlyCore averaging, then 2SLS; its dimension, diameter and error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import sympy
from scipy.special import chdtri, gammaln

from dpbounds.iv.friendly_core import average_error, distinct_moments, moment_dimension, printed_moment_dimension
from simulators.engine import Experiment
from simulators.iv import FriendlyCore, friendly_core, synthetic_model
from verify.checks import Agreement, Case, Fact, Means, Rate, Search, Slopes, Symbolic, Times, Unbounded, Within
from verify.checks.domains import Real
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

SHAPES = ((5, 5), (1, 4), (5, 20), (5, 100))  # p, q

# --- FC-Avg ---


def _stacked(Z: np.ndarray, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """s_i = (svec z_i z_i', vec z_i x_i', z_i y_i), record by record: off-diagonal products times sqrt 2."""
    i, j = np.triu_indices(Z.shape[1])
    scale = np.where(i == j, 1.0, math.sqrt(2.0))
    rows = [
        np.concatenate([scale * z[i] * z[j], np.outer(z, x).ravel(), z * y]) for z, x, y in zip(Z, X, Y, strict=True)
    ]
    return np.array(rows)


def _parts(s: np.ndarray, p: int, q: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, G and b of a vector of moments."""
    i, j = np.triu_indices(q)
    A = np.zeros((q, q))
    A[i, j] = A[j, i] = s[: len(i)] / np.where(i == j, 1.0, math.sqrt(2.0))
    return A, s[len(i) : len(i) + q * p].reshape(q, p), s[len(i) + q * p :]


def _two_stage_of(s: np.ndarray, p: int, q: int) -> np.ndarray:
    """2SLS from a vector of moments."""
    A, G, b = _parts(s, p, q)
    theta = np.linalg.solve(A, G)
    return np.linalg.solve(theta.T @ G, theta.T @ b)


def _surrogate(rng: np.random.Generator, *, share: float = 0.9) -> Iterator[Fact | Within]:
    """The simulator's core, noise and estimate against stacked vectors, without noise and by its standard deviation."""
    p, q, n = 2, 3, 80
    problem = synthetic_model(n=n, p=p, q=q, r=1, parameter_seed=0).fixed(data_seed=4)
    s = _stacked(problem.instruments, problem.regressors, problem.outcome)
    distances = np.linalg.norm(s - np.median(s, axis=0), axis=1)
    diameter = 2 * float(np.quantile(distances, 0.9))
    core = s[distances <= diameter / 2]
    exact = _run(problem, FriendlyCore(rho=math.inf, diameter=diameter))
    parts = np.column_stack([problem.instruments, problem.regressors, problem.outcome])
    product = np.linalg.norm(problem.instruments, axis=1) * np.linalg.norm(parts, axis=1)
    yield Fact("|s_i| = |z_i| |(z_i, x_i, y_i)|", np.linalg.norm(s, axis=1), product, 1e-12)
    yield Fact("share of records in the core", exact["core"][0], len(core) / n, 1e-12)
    yield Fact("2SLS from the core's mean", exact["beta"][0], _two_stage_of(core.mean(axis=0), p, q), 1e-9)
    moved = np.linalg.norm(core.mean(axis=0) - s.mean(axis=0))
    yield Fact("distance of the core's mean from that of all", exact["moment_error"][0], moved, 1e-9)
    measured = _run(problem, FriendlyCore(rho=0.7, coverage=0.9))
    yield Fact("effective diameter at coverage 0.9", measured["diameter"][0], diameter, 1e-9)
    stated = 2 * diameter / (n * math.sqrt(2 * share * 0.7))
    yield Fact("standard deviation of the noise at rho = 0.7", measured["noise"][0], stated, 1e-9)
    empty = _run(problem, FriendlyCore(rho=0.7, diameter=1e-6))
    yield Fact("nothing in the core", [*empty["beta"][0], empty["error_hat"][0]], [0.0, 0.0, math.inf], 0)
    raised = _run(problem, FriendlyCore(rho=math.inf, diameter=diameter, least_eigenvalue=50.0))
    A, G, b = _parts(core.mean(axis=0), p, q)
    theta = G / 50.0  # every eigenvalue of A is below
    yield Fact("eigenvalues raised to 50", raised["beta"][0], np.linalg.solve(theta.T @ G, theta.T @ b), 1e-9)
    yield Within("largest eigenvalue, below 50", float(np.linalg.eigvalsh(A)[-1]), most=50.0)


def _run(problem: Any, settings: FriendlyCore) -> dict[str, np.ndarray]:
    return Experiment(algorithm=friendly_core, problem=problem, settings=settings, block_trials=1).run_block(0, seed=0)


ALG_FCAVG = Claim(
    id="iv/alg-fcavg",
    where="App. F.2",
    page=35,
    kind="algorithm",
    statement=(
        "FC-Avg (Tsfadia et al. 2022) on the records' moment vectors $s_i$, its budget split into $0.1 rho$ for "
        "the core and $0.9 rho$ for the average, then 2SLS from the private moments."
    ),
    remark=(
        "The paper has no pseudo-code. What is checked is a surrogate for its utility: the private choice of the core "
        "is replaced, no privacy is claimed, and whether pure or approximate zCDP is meant stays open."
    ),
    setting=(
        "Core: records within $r\\/2$ of the coordinatewise median; noise $2 r \\/ (n sqrt(1.8 rho))$ on each entry, "
        "off-diagonal products times $sqrt(2)$."
    ),
    checks=(Agreement(facts=_surrogate, impostors={"all of the budget to the average": {"facts": {"share": 1.0}}}),),
)


# --- dimension ---


def _products(p: int, q: int, *, distinct: bool) -> int:
    """Products z_i z_j, z_i x_j, z_i y, all of them or up to order."""
    z, x = [f"z{i}" for i in range(q)], [f"x{j}" for j in range(p)]
    pairs = [(a, b) for a in z for b in (*z, *x, "y")]
    return len({tuple(sorted(pair)) for pair in pairs}) if distinct else len(pairs)


def _stacked_length(rng: np.random.Generator) -> Iterator[Fact]:
    for p, q in SHAPES:
        numbers = {
            "printed": printed_moment_dimension(p, q),
            "entries": _products(p, q, distinct=False),
            "distinct": moment_dimension(p, q),
        }
        label = f"entries of the moments at p = {p}, q = {q}"
        yield Fact(label, numbers["entries"], numbers["printed"], 0, numbers)


def _distinct(rng: np.random.Generator) -> Iterator[Fact]:
    """Distinct products, and the rank of stacked random records."""
    for p, q in SHAPES:
        dimension = moment_dimension(p, q)
        yield Fact(f"distinct entries at p = {p}, q = {q}", _products(p, q, distinct=True), dimension, 0)
        if dimension < 100:
            s = _stacked(*(rng.standard_normal(size) for size in ((200, q), (200, p), 200)))
            found = int(np.linalg.matrix_rank(s))
            yield Fact(f"rank of random stacked records at p = {p}, q = {q}", found, dimension, 0)
    yield Fact("all entries at p = q = 7", _products(7, 7, distinct=False), printed_moment_dimension(7, 7), 0)


def _counted(first: int = 0) -> Iterator[tuple[str, sympy.Expr]]:
    """Pairs i <= j, row by row, with pq + q more."""
    p, q = sympy.symbols("p q", positive=True, integer=True)
    i = sympy.Symbol("i", integer=True)
    pairs = sympy.summation(q - i + 1 - first, (i, 1, q))
    yield "distinct entries", pairs + p * q + q - distinct_moments(p, q)


def _dimension_ratio(m, s):
    """Distinct entries over pq + p^2 + p at p = 5, q = s."""
    return distinct_moments(5, s) / (5 * s + 30)


def _dimension_ratio_reduced(m, x):
    """The quotient times x: q (q + 1) / 2 + 6q and 5q + 30 at q = 1 / x."""
    return ((1 + x) / 2 + 6 * x) / (5 + 30 * x)


FC_DIM = Claim(
    id="iv/fc-dim",
    where="App. F.2",
    page=35,
    kind="number",
    statement="The moments $1/n (Z^T Z, Z^T X, Z^T Y)$ live in $RR^d$ with $d approx p q + p^2 + p$.",
    checks=(
        Agreement(facts=_stacked_length, closed=True),
        Unbounded(quotient=_dimension_ratio, reduced=_dimension_ratio_reduced),
    ),
    fault=Fault(
        severity="hypothesis",
        touches="text",
        finding=(
            "$p$ and $q$ are exchanged in $d approx p q + p^2 + p$: at $p = 1$, $q = 4$ the moments have ${entries}$ "
            "entries, ${distinct}$ of them distinct, not ${printed}$."
        ),
        consequence="The added term of App. F.2 grows with $q^2$; for $p = q$ the printed count is right.",
    ),
    correction=Correction(
        statement=(
            "The moments $1/n (Z^T Z, Z^T X, Z^T Y)$ have $p q + q^2 + q$ entries, $d = q (q + 1) \\/ 2 + p q + q$ of "
            "them distinct."
        ),
        ground="$Z^T Z$ is a symmetric $q times q$ matrix.",
        checks=(
            Symbolic(residuals=_counted, impostors={"the diagonal left out": {"residuals": {"first": 1}}}),
            Agreement(facts=_distinct, role="control", impostors={"one per cent more": {"facts": Times(1.01)}}),
        ),
        derivation=Derivation(
            text=(
                "The matrices are $q times q$, $q times p$ and $q times 1$. $Z^T Z$ has an entry for each pair $i <= "
                "j$, whose number is proved to be $q (q + 1)\\/2$; these and the entries of the other two are "
                "different polynomials in the data."
            ),
        ),
    ),
)


# --- diameter and error ---


def _all_records(decades: float) -> Iterator[tuple[str, float]]:
    """A lower bound on r over sqrt(d), p = q = 1: every z^2 lies within r / 2 of their median; exact median of the
    largest of n.
    """
    n = 10.0 ** (1 + decades)
    largest, middle = chdtri(1, -math.expm1(-math.log(2) / n)), chdtri(1, 0.5)
    yield "p = q = 1, n -> oo", 2 * float(largest - middle) / math.sqrt(3)


@cache
def _trimmed_bias(radius: float) -> float:
    """E (z^2 | core) - 1 for p = q = 1, Theta = beta = 1 and normal errors, core the ball around the medians: the limit
    of the core's average of z^2 less that of all records, by summation over a grid.
    """
    u = np.linspace(-6, 6, 81)
    z, e, f = np.meshgrid(u, u, u, indexing="ij", sparse=True)
    weight = np.exp(-(z**2 + e**2 + f**2) / 2)
    x = z + e
    s = (z**2 + 0 * weight, z * x + 0 * weight, z * (x + f) + 0 * weight)
    distance = np.sqrt(sum((part - _weighted_median(part, weight)) ** 2 for part in s))
    inside = weight * (distance <= radius)
    return float(np.sum(inside * z**2) / np.sum(inside) - 1.0)


def _weighted_median(values: np.ndarray, weight: np.ndarray) -> float:
    order = np.argsort(values, axis=None)
    mass = np.cumsum(weight.ravel()[order])
    return float(values.ravel()[order][np.searchsorted(mass, mass[-1] / 2)])


# r over sqrt(d); the noise of FC-Avg has 0.9 of the budget, so that its variance is (2 r / n)^2 over SHARE rho.
DIAMETERS, SHARE = (12, 24), 1.8


def _fixed_diameter(decades: float) -> Iterator[tuple[str, float]]:
    """Error of the core's average over d / (n sqrt(rho)), rho = 1, p = q = 1: trimming leaves a bias that does not fall
    with n.
    """
    n = round(10.0 ** (2 + decades))
    for factor in DIAMETERS:
        bias = abs(_trimmed_bias(factor * math.sqrt(3) / 2))
        yield f"r = {factor} sqrt(d)", bias / average_error(3, n, 1.0)


def _least_bias(m):
    """At most |E (z^2 | core) - 1| there for r = 24 sqrt(3), positive: by 2 K phi(K) - P(|e| > 10) - P(|e + f| > 10).

    Outside the core, further than r / 2 = 12 sqrt(3) from the medians, lie all z^2 > K^2 = 1 + r / 2, on which z^2 - 1
    has the integral 2 K phi(K), and with |z| < 1, where z^2 - 1 >= -1, only what has |e| or |e + f| above 10: the
    medians of z x and z y are at most 3 in size (their mean is 1, a standard deviation sqrt(3) and 2 at most away), and
    1 + 14^2 + 14^2 < 432.
    """
    K = m.sqrt(1 + 12 * m.sqrt(m.number(3)))
    tails = 2 * (m.ndtr(m.number(-10)) + m.ndtr(-10 / m.sqrt(m.number(2))))
    return 2 * K * m.exp(-K * K / 2) / m.sqrt(2 * m.pi) - tails


def _bias_over_rate(m, s):
    """What trimming leaves for n -> oo over d / (n sqrt(rho)), d = 3, rho = 1, n = s."""
    return _least_bias(m) * s / 3


def _bias_over_rate_reduced(m, x):
    """The quotient is proportional to n."""
    return _least_bias(m) / 3


def _largest_instruments(n, q, least: float = 0.2, *, logarithm: bool = True):
    """Exact median of max_i |z_i|^2 between `least` times (sqrt(q) + sqrt(2 log n))^2 and once that: the larger of the
    two quotients against 1.
    """
    rate = (np.sqrt(q) + np.sqrt(2 * np.log(n))) ** 2 if logarithm else 4 * q
    median = chdtri(q, -np.expm1(-np.log(2) / n))
    return np.maximum(least * rate / median, median / rate), np.ones_like(median)


def _noise_error(n: int, rho: float, dimension: int, diameter: float) -> float:
    """Mean norm of d normals of standard deviation 2r / (n sqrt(SHARE rho))."""
    mean = math.sqrt(2) * math.exp(gammaln((dimension + 1) / 2) - gammaln(dimension / 2))
    return 2 * diameter / (n * math.sqrt(SHARE * rho)) * float(mean)


def _noise_ratio(decades: float) -> Iterator[tuple[str, float]]:
    """The mean norm of the noise over `average_error`, in n, rho and d, r of order sqrt(d) or given."""
    far = 10.0**decades
    for label, n, rho, d in (("n", 10 * far, 1.0, 9), ("1 / rho", 10.0, 1 / far, 9), ("d", 10.0, 1.0, 3 * far)):
        d = round(d)
        error = average_error(d, round(n), rho)
        yield f"{label} -> oo", _noise_error(round(n), rho, d, math.sqrt(d)) / error
        yield f"{label} -> oo, r = 7", _noise_error(round(n), rho, d, 7.0) / average_error(d, round(n), rho, radius=7.0)


def _error_cases() -> list[Case]:
    """The surrogate with r = 1000 sqrt(d), which keeps every record: one of n, rho, d moves at a time."""
    grid: list[tuple[str, int, float, int, int]] = [("n", n, 1.0, 2, 3) for n in (50, 200, 800)]
    grid += [("rho", 50, rho, 2, 3) for rho in (0.1, 1.0, 10.0)]
    grid += [("d", 50, 1.0, p, q) for p, q in ((1, 2), (3, 3), (2, 8))]
    cases = []
    for group, n, rho, p, q in grid:
        dimension = moment_dimension(p, q)
        diameter = 1000 * math.sqrt(dimension)
        run = Experiment(
            algorithm=friendly_core,
            problem=synthetic_model(n=n, p=p, q=q, r=1, parameter_seed=0),
            settings=FriendlyCore(rho=rho, diameter=diameter),
            block_trials=100,
        )
        value = _noise_error(n, rho, dimension, diameter)
        x = float({"n": n, "rho": rho, "d": dimension}[group])
        case = Case(
            label=f"{group} = {x:g}",
            experiment=run,
            output="moment_error",
            predicted=lambda value=value: value,
            relative_std=0.4,
            x=x,
            group=group,
        )
        cases.append(case)
    return cases


FC_ERR = Claim(
    id="iv/fc-err",
    where="App. F.2",
    page=35,
    kind="mc-rate",
    statement=(
        "With high probability the moment vectors have effective diameter $r = Theta(sqrt(d))$, and FC-Avg has "
        "error $O(r/n sqrt(d\\/rho)) = O(d \\/ (n sqrt(rho)))$."
    ),
    setting="$d$ of iv/fc-dim as corrected; $p = q = 1$, normal data, exact medians and means.",
    checks=(
        Rate(ratios=_fixed_diameter, relation="upper"),
        Unbounded(quotient=_bias_over_rate, reduced=_bias_over_rate_reduced),
        Rate(ratios=_all_records, relation="upper"),
    ),
    fault=Fault(
        severity="slip",
        touches="text",
        finding=(
            "A diameter $r$ of order $sqrt(d)$ trims a fixed share of the records and leaves a bias that does not fall "
            "with $n$: for $p = q = 1$, $rho = 1$ and $r = {diameter} sqrt(d)$ the error over $d \\/ (n sqrt(rho))$ "
            "grows from ${first:3}$ to ${last:3}$ over ${decades}$ decades of $n$."
        ),
        consequence=(
            "With $r$ of order $(sqrt(q) + sqrt(log n))^2$ all records are kept and the rate holds up to $log n$."
        ),
    ),
    correction=Correction(
        statement=(
            "To keep all $n$ records $r$ must be at least of order $(sqrt(q) + sqrt(log n))^2$, for $z z^T$ alone.",
            (
                r"With all records kept the error of FC-Avg is the noise, of mean norm $2 r \/ (n sqrt({share} rho)) "
                r"EE chi_d$, of order $r/n sqrt(d\/rho)$."
            ),
        ),
        ground="$norm(z z^T)_F = norm(z)^2$, and the largest of $n$ grows with $log n$.",
        checks=(
            Search(
                decides="a",
                sides=_largest_instruments,
                box={"n": Real(2.0, 1e12, "log"), "q": Real(1.0, 1e6, "log")},
                vectorised=True,
                impostors={
                    "a quarter of the rate": {"sides": {"least": 0.25}},
                    "no logarithm": {"sides": {"logarithm": False}},
                },
            ),
            Rate(
                decides="b",
                ratios=_noise_ratio,
                relation="theta",
                impostors={"r = sqrt(d)": {"ratios": _fixed_diameter}},
            ),
            Slopes(
                decides="b",
                means=Means(
                    cases=_error_cases,
                    trials={"quick": 200, "full": 2000},
                    axes=("$n$, $rho$ or $d$", "norm of the noise in the moments"),
                ),
                printed={"n": -1.0, "rho": -0.5, "d": 1.0},
                impostors={"slopes doubled": {"scale": 2.0}},
            ),
        ),
    ),
    given={"diameter": DIAMETERS[0], "share": SHARE},
)
