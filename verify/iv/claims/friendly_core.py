"""Appendix F.2: private second moments by FriendlyCore averaging, then 2SLS; its dimension, diameter and error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import sympy
from scipy.special import chdtri, gammaln

from simulators.engine import Experiment
from simulators.iv import FriendlyCore, friendly_core, synthetic_model
from verify.checks import Agreement, Case, Fact, Means, Rate, Search, Slopes, Symbolic
from verify.claims import Claim, Correction
from verify.domains import Real, Whole

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


def _two_stage_of(s: np.ndarray, p: int, q: int) -> np.ndarray:
    """2SLS from a vector of moments."""
    i, j = np.triu_indices(q)
    A = np.zeros((q, q))
    A[i, j] = A[j, i] = s[: len(i)] / np.where(i == j, 1.0, math.sqrt(2.0))
    G, b = s[len(i) : len(i) + q * p].reshape(q, p), s[len(i) + q * p :]
    theta = np.linalg.solve(A, G)
    return np.linalg.solve(theta.T @ G, theta.T @ b)


def _surrogate(rng: np.random.Generator, *, share: float = 0.9) -> Iterator[Fact]:
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
    noisy = _run(problem, FriendlyCore(rho=0.7, diameter=diameter))
    stated = 2 * diameter / (n * math.sqrt(2 * share * 0.7))
    yield Fact("standard deviation of the noise at rho = 0.7", noisy["noise"][0], stated, 1e-12)


def _run(problem: Any, settings: FriendlyCore) -> dict[str, np.ndarray]:
    return Experiment(algorithm=friendly_core, problem=problem, settings=settings, block_trials=1).run_block(0, seed=0)


# --- dimension ---


def _products(p: int, q: int, *, distinct: bool) -> int:
    """Products z_i z_j, z_i x_j, z_i y, all of them or up to order."""
    z, x = [f"z{i}" for i in range(q)], [f"x{j}" for j in range(p)]
    pairs = [(a, b) for a in z for b in (*z, *x, "y")]
    return len({tuple(sorted(pair)) for pair in pairs}) if distinct else len(pairs)


def _stacked_length(rng: np.random.Generator) -> Iterator[Fact]:
    for p, q in SHAPES:
        yield Fact(f"entries of the moments at p = {p}, q = {q}", _products(p, q, distinct=False), p * q + p**2 + p, 0)


def _distinct(rng: np.random.Generator, shift: int = 1) -> Iterator[Fact]:
    """Distinct products, and the rank of stacked random records."""
    for p, q in SHAPES:
        dimension = q * (q + shift) // 2 + p * q + q
        yield Fact(f"distinct entries at p = {p}, q = {q}", _products(p, q, distinct=True), dimension, 0)
        if dimension < 100:
            n = 2 * dimension
            s = _stacked(rng.standard_normal((n, q)), rng.standard_normal((n, p)), rng.standard_normal(n))
            found = int(np.linalg.matrix_rank(s))
            yield Fact(f"rank of random stacked records at p = {p}, q = {q}", found, dimension, 0)


def _dimension_ratio(decades: float) -> Iterator[tuple[str, float]]:
    """Distinct entries over pq + p^2 + p as q grows."""
    q = 5 * 10.0**decades
    yield "p = 5, q -> oo", (q * (q + 1) / 2 + 5 * q + q) / (5 * q + 30)


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


def _fixed_diameter(decades: float) -> Iterator[tuple[str, float]]:
    """Error of the core's average over d / (n sqrt(rho)), rho = 1, for r = 6 sqrt(d) and 12 sqrt(d): trimming leaves a
    bias that does not fall with n.
    """
    for factor in (6, 12):
        yield f"r = {factor} sqrt(d)", abs(_trimmed_bias(factor * math.sqrt(3) / 2)) * 10.0 ** (2 + decades) / 3


def _largest_instruments(n, q, least: float = 0.2, *, logarithm: bool = True):
    """Exact median of max_i |z_i|^2 between `least` times (sqrt(q) + sqrt(2 log n))^2 and once that: the larger of the
    two quotients against 1.
    """
    rate = (np.sqrt(q) + np.sqrt(2 * np.log(n))) ** 2 if logarithm else 4 * q
    median = chdtri(q, -np.expm1(-np.log(2) / n))
    return np.maximum(least * rate / median, median / rate), np.ones_like(median)


def _noise_error(n: int, rho: float, dimension: int, diameter: float) -> float:
    """Mean norm of d normals of standard deviation 2r / (n sqrt(1.8 rho))."""
    mean = math.sqrt(2) * math.exp(gammaln((dimension + 1) / 2) - gammaln(dimension / 2))
    return 2 * diameter / (n * math.sqrt(1.8 * rho)) * float(mean)


def _error_cases() -> list[Case]:
    """The surrogate with r = 1000 sqrt(d), which keeps every record: one of n, rho, d moves at a time."""
    grid = [("n", n, n, 1.0, 2, 3) for n in (50, 200, 800)]
    grid += [("rho", rho, 50, rho, 2, 3) for rho in (0.1, 1.0, 10.0)]
    grid += [("d", q * (q + 1) // 2 + p * q + q, 50, 1.0, p, q) for p, q in ((1, 2), (3, 3), (2, 8))]
    cases = []
    for group, x, n, rho, p, q in grid:
        dimension = q * (q + 1) // 2 + p * q + q
        diameter = 1000 * math.sqrt(dimension)
        run = Experiment(
            algorithm=friendly_core,
            problem=synthetic_model(n=n, p=p, q=q, r=1, parameter_seed=0),
            settings=FriendlyCore(rho=rho, diameter=diameter),
            block_trials=100,
        )
        value = _noise_error(n, rho, dimension, diameter)
        case = Case(
            label=f"{group} = {x:g}",
            experiment=run,
            output="moment_error",
            predicted=lambda value=value: value,
            relative_std=0.4,
            x=float(x),
            group=group,
        )
        cases.append(case)
    return cases


# --- comparison with Theorem 3.1 ---


def _bounds(p, q, n, rho, T, tau, *, printed_term: bool):
    """2SLS plus the added term, and (7) without its first term; constants 1, one budget rho for both."""
    dimension = p * q if printed_term else q * (q + 1) / 2 + p * q + q
    own = np.sqrt(q / n) * (tau + np.log(q)) + dimension / (n * np.sqrt(rho))
    statistical = np.sqrt(p * q / n) * (tau + np.log(p * q))
    return own, np.sqrt(p) * (np.sqrt(q) + np.sqrt(tau)) ** 3 * np.sqrt(T / rho) / n + statistical


def _better_where_small(p, share, excess, rho, T, tau):
    """Wherever pq <= n and (6) with c_1 = 1."""
    q = np.rint(p * share)
    least = np.maximum(p * q * (tau + np.log(p * q)) ** 2, (np.sqrt(q) + np.sqrt(tau)) ** 3 / np.sqrt(rho))
    return _bounds(p, q, np.maximum(p * q, least) * excess, rho, T, tau, printed_term=False)


def _term_ratio(decades: float) -> Iterator[tuple[str, float]]:
    """r sqrt(d) of the moments over pq, r = sqrt(d), as q grows."""
    q = 5 * 10.0**decades
    yield "p = 5, q -> oo", (q * (q + 1) / 2 + 5 * q + q) / (5 * q)


def _below_privacy_term(constant: int = 3) -> Iterator[tuple[str, sympy.Expr]]:
    """q (q + 1) / 2 + pq + q <= 3 sqrt(p) q^{3/2} sqrt(T) for p <= q <= pT: p = a^2, q = (ab)^2, T = (bc)^2, all >= 1;
    a larger tau helps.
    """
    r, s, t = sympy.symbols("r s t", positive=True)
    a, b, c = 1 + r, 1 + s, 1 + t
    p, q, root = a**2, (a * b) ** 2, b * c
    yield "3 sqrt(p T) q^(3/2) - d", sympy.expand(constant * a * (a * b) ** 3 * root - q * (q + 1) / 2 - p * q - q)


def _term_picture() -> dict[str, Any]:
    """Both bounds against q at p = 5, T = 20, tau = 5, rho = 0.1, n = 10^5: pq = n at q = 20 000."""
    q = np.geomspace(5, 1e5, 40)
    arguments = (5.0, q, 1e5, 0.1, 20.0, 5.0)
    own, other = _bounds(*arguments, printed_term=False)
    printed, _ = _bounds(*arguments, printed_term=True)
    curves = (("with d distinct moments", "theory", own), ("with pq", "printed", printed), ("(7)", "bound", other))
    series = [{"label": label, "role": role, "x": q.tolist(), "y": y.tolist()} for label, role, y in curves]
    return {"x": "q", "y": "bound, constants 1", "log": ["x", "y"], "series": series}


def _tabulated(rng: np.random.Generator, constant: float = 3.0) -> Iterator[Fact]:
    """On both sides of pq = n the added term is below 3 times the privacy term where q <= pT, and can be above where
    not.
    """
    for p, q, T, n in ((1, 1, 1, 10), (5, 5, 20, 1000), (5, 100, 20, 100), (5, 100, 20, 10**6), (2, 40, 20, 50)):
        term = (q * (q + 1) / 2 + p * q + q) / n
        privacy = math.sqrt(p * T) * q**1.5 / n
        yield Fact(f"p = {p}, q = {q}, T = {T}, n = {n}: below", term <= constant * privacy * (1 + 1e-12), True, 0)
    yield Fact("p = 1, q = 1000, T = 20: above", 3 * math.sqrt(20) * 1000**1.5 < 1000 * 1001 / 2 + 2000, True, 0)


CLAIMS = (
    Claim(
        id="iv/alg-fcavg",
        where="App. F.2",
        kind="algorithm",
        statement=(
            "FC-Avg (Tsfadia et al. 2022) on the records' moment vectors $s_i$, its budget split into $0.1 rho$ for "
            "the core and $0.9 rho$ for the average, then 2SLS from the private moments."
        ),
        hypotheses=(
            "The paper has no pseudo-code. Read as: core = records within $r\\/2$ of the coordinatewise median, noise "
            "$2 r \\/ (n sqrt(1.8 rho))$ on each entry, off-diagonal products times $sqrt(2)$. A surrogate for its "
            "utility: the private choice of the core is replaced, no privacy is claimed, and whether pure or "
            "approximate zCDP is meant stays open."
        ),
        checks=(
            Agreement(
                facts=_surrogate,
                impostors={"all of the budget to the average": {"facts": lambda rng: _surrogate(rng, share=1.0)}},
            ),
        ),
    ),
    Claim(
        id="iv/fc-dim",
        where="App. F.2",
        kind="number",
        statement="The moments $1/n (Z^T Z, Z^T X, Z^T Y)$ live in $RR^d$ with $d approx p q + p^2 + p$.",
        checks=(Agreement(facts=_stacked_length), Rate(ratios=_dimension_ratio, relation="upper")),
        correction=Correction(
            statement=(
                "$d = q (q + 1) \\/ 2 + p q + q$: $p$ and $q$ are exchanged in what is printed, which is right for $q "
                "= p$ only (all $q^2 + p q + q$ entries)."
            ),
            checks=(
                Agreement(facts=_distinct, impostors={"q (q - 1) / 2": {"facts": lambda rng: _distinct(rng, -1)}}),
            ),
        ),
    ),
    Claim(
        id="iv/fc-err",
        where="App. F.2",
        kind="mc-rate",
        statement=(
            "With high probability the moment vectors have effective diameter $r = Theta(sqrt(d))$, and FC-Avg has "
            "error $O(r/n sqrt(d\\/rho)) = O(d \\/ (n sqrt(rho)))$."
        ),
        hypotheses=(
            "$d$ of iv/fc-dim as corrected; tried for $p = q = 1$, normal data, $r$ kept in turn large enough for all "
            "records and at $6 sqrt(d)$, $12 sqrt(d)$."
        ),
        checks=(
            Rate(ratios=_all_records, relation="upper"),
            Rate(ratios=_fixed_diameter, relation="upper"),
        ),
        correction=Correction(
            statement=(
                "to keep all $n$ records $r$ must be at least of order $(sqrt(q) + sqrt(log n))^2$, for $z z^T$ "
                "alone; with $r$ of order $sqrt(d)$ the average of those kept has a bias that does not fall with $n$. "
                "With all records kept the error is the noise, of mean norm $2 r \\/ (n sqrt(1.8 rho)) EE chi_d$, of "
                "order $r/n sqrt(d\\/rho)$."
            ),
            checks=(
                Search(
                    sides=_largest_instruments,
                    box={"n": Real(2.0, 1e12, "log"), "q": Real(1.0, 1e6, "log")},
                    vectorised=True,
                    impostors={
                        "a quarter of the rate": {"sides": lambda n, q: _largest_instruments(n, q, 0.25)},
                        "no logarithm": {"sides": lambda n, q: _largest_instruments(n, q, logarithm=False)},
                    },
                ),
                Slopes(
                    means=Means(
                        cases=_error_cases,
                        trials={"quick": 200, "full": 2000},
                        axes=("n, rho or d", "norm of the noise in the moments"),
                    ),
                    printed={"n": -1.0, "rho": -0.5, "d": 1.0},
                    impostors={"slopes doubled": {"scale": 2.0}},
                ),
            ),
        ),
    ),
    Claim(
        id="iv/fc-term",
        where="App. F.2",
        kind="number",
        statement=(
            "FC-Avg adds a term of order $(p q)/n 1/sqrt(rho)$; hence for $p q <= n$ its bound is better than that of "
            "Theorem 3.1."
        ),
        hypotheses=(
            "The term is $r/n sqrt(d\\/rho)$ with $r = sqrt(d)$ and $d$ of iv/fc-dim as corrected; constants 1, the "
            "same $rho$ in both, (6) with $c_1 = 1$."
        ),
        checks=(
            Rate(ratios=_term_ratio, relation="upper"),
            Search(
                sides=_better_where_small,
                box={
                    "p": Whole(1, 10),
                    "share": Real(1.0, 1e4, "log"),
                    "excess": Real(1.0, 100.0, "log"),
                    "rho": Real(1e-3, 10.0, "log"),
                    "T": Whole(5, 100),
                    "tau": Real(1.0, 10.0),
                },
                extremal=lambda: [{"p": 1.0, "share": 1000.0, "excess": 1.0, "rho": 0.01, "T": 20.0, "tau": 5.0}],
                vectorised=True,
            ),
        ),
        correction=Correction(
            statement=(
                "the term is of order $(q^2 + p q)/n 1/sqrt(rho)$. It is below 3 times the second term of (7) "
                "wherever $q <= p T$, whatever $n$, and above where $q >> p T$ and $tau << q$; $p q <= n$ has no part "
                "in it."
            ),
            checks=(
                Symbolic(
                    nonnegative=_below_privacy_term,
                    impostors={"constant 2": {"nonnegative": lambda: _below_privacy_term(2)}},
                ),
                Agreement(
                    facts=_tabulated,
                    picture=_term_picture,
                    impostors={"constant 1/2": {"facts": lambda rng: _tabulated(rng, 0.5)}},
                ),
            ),
        ),
    ),
)
