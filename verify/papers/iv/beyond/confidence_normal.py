"""Beyond the paper: the noise of privacy makes sums normal at every n, and what that gives for an honest set."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from dpbounds.iv.confidence import (
    MomentRelease,
    bennett_radius,
    confidence_set,
    kolmogorov_bound,
    uniform_kolmogorov_bound,
)
from verify.checks import Agreement, Fact, Holds, Search, Times, Within
from verify.checks.domains import Real, Whole
from verify.statements.claims import Claim

# --- sums of bounded terms plus Gaussian noise ---


def _distance(n: int, p: float, mu: float) -> tuple[float, float]:
    """sup_t |P(S <= t sqrt(Var S)) - Phi(t)| for n terms on two points, 1 with probability p <= 1/2 (the other is -p /
    (1 - p)), B = 1 and noise 1 / mu: the exact binomial mixture; and N.
    """
    low = -p / (1 - p)
    k = np.arange(int(binom.ppf(1e-18, n, p)), int(binom.ppf(1 - 1e-16, n, p)) + 1)
    sums, weights = low * n + k * (1 - low), binom.pmf(k, n, p)
    N = n * p / (1 - p)
    deviation = math.sqrt(N + mu**-2)

    def gap(t: np.ndarray) -> np.ndarray:
        exact = ndtr((t[:, None] * deviation - sums) * mu) @ weights
        return np.abs(exact - ndtr(t))

    t = np.linspace(-4, 4, 161)
    best = t[int(np.argmax(gap(t)))]
    return float(gap(best + np.linspace(-0.05, 0.05, 41)).max()), N


def _two_points(n: float, p: float, mu: float) -> tuple[float, float]:
    distance, N = _distance(round(n), p, mu)
    return distance, float(kolmogorov_bound(N, mu)) + 1e-13


def _integral_facts(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """The integral with another quadrature, the classical form, and the supremum over N by a fine grid."""
    for N, mu in ((0.3, 0.3), (5.0, 0.2), (1_000.0, 0.3), (40.0, 0.9), (1e-3, 0.05)):
        stated = float(kolmogorov_bound(N, mu))
        yield Fact(f"N = {N}, mu = {mu}", stated, min(_by_quad(N, mu), 0.56 * N / (N + mu**-2) ** 1.5), 1e-8)
    for N, mu in ((7.0, 3.0), (1e6, 0.5)):
        yield Fact(f"classical, N = {N}", float(kolmogorov_bound(N, mu)), 0.56 * N / (N + mu**-2) ** 1.5, 1e-12)
    for mu, printed in ((0.05, 0.00133), (0.3, 0.0105)):
        largest = max(float(kolmogorov_bound(N, mu)) for N in mu**-2 * np.geomspace(0.05, 50, 120))
        for_all = float(uniform_kolmogorov_bound(mu))
        yield Fact(f"for all N, mu = {mu}", for_all, largest, 6e-3)
        yield Within(f"bound for all N over the largest, mu = {mu}", for_all / largest, least=1.0)
        yield Fact(f"in print, mu = {mu}", for_all, printed, 1e-2)
    yield Fact("for all N, mu = 2", float(uniform_kolmogorov_bound(2.0)), 0.56 * 2 / 3**1.5 * 2, 1e-3)


def _by_quad(N: float, mu: float) -> float:
    r = min(1.0, N)

    def integrand(t: float) -> float:
        decay = max(t**2 * (1 - t**2 / 3) / 2, 2 * t**2 / math.pi**2 if t <= math.pi / 2 else 0.0, 0.0)
        return (N * t**2 / 6 + N * r * t**3 / 8) * math.exp(-(t**2) / (2 * mu**2) - (N - r) * decay)

    width = 1 / math.sqrt(mu**-2 + 0.4 * (N - r))
    ends = sorted({0.0, 1.3354, math.pi / 2, math.sqrt(3), 12 * mu + 2, *(width * k for k in range(1, 9))})
    parts = [quad(integrand, a, b, epsabs=1e-15, epsrel=1e-11)[0] for a, b in pairwise(ends)]
    return sum(parts) / math.pi


NORMAL = Claim(
    id="iv/beyond-confidence-normal",
    where="private confidence sets, normal approximation",
    kind="inequality",
    statement=(
        "For a sum $S$ of independent terms of mean 0 in $[-B, B]$ plus $N(0, s^2)$, with $mu = B \\/ s$, $N$ the sum "
        "of variances over $B^2$ and $r = min(1, N)$: $sup_t abs(P(S <= t sqrt(V)) - Phi(t)) <= 1/pi integral_0^oo (N "
        "t^2 \\/ 6 + N r t^3 \\/ 8) exp(-t^2 \\/ (2 mu^2) - (N - r) E(t)) dif t$ and $<= 0.56 N \\/ (N + mu^(-2))^(3 "
        "\\/ 2)$, so for all $n$ and all laws together at most 0.00133 at $mu = 0.05$ and 0.0105 at $mu = 0.3$."
    ),
    hypotheses="$E(t) = max(t^2 (1 - t^2 \\/ 3) \\/ 2, 2 t^2 \\/ pi^2, 0)$, the second only for $t <= pi \\/ 2$.",
    setting="Laws on two points, whose exact distribution functions are binomial mixtures.",
    checks=(
        Search(
            sides=_two_points,
            box={"n": Real(1, 300, "log"), "p": Real(1e-3, 0.5, "log"), "mu": Real(0.05, 2.0, "log")},
            extremal=lambda: [{"n": n, "p": 0.001, "mu": mu} for n in (1, 30) for mu in (0.05, 0.2)],
            evaluations={"quick": 250, "full": 10_000},
            impostors={"10 % less": {"sides": Times(1, 0.9)}},
        ),
        Agreement(facts=_integral_facts, impostors={"1 % less": {"facts": Times(0.99)}}),
    ),
)

# --- what is certain without it ---


def _tail(variance: float, deviation: float, alpha: float) -> tuple[float, float]:
    """P(|S| >= radius) for terms on two points with V = `variance` and B = 1 (the rarer point at 1), and alpha."""
    n = max(1, round(4 * variance))
    p = variance / (n + variance)
    low = -p / (1 - p)
    k = np.arange(n + 1)
    sums, weights = low * n + k * (1 - low), binom.pmf(k, n, p)
    radius = float(bennett_radius(n * p / (1 - p), 1.0, deviation, alpha))
    return float(weights @ (ndtr((sums - radius) / deviation) + ndtr((-sums - radius) / deviation))), alpha


def _radius_facts(rng: np.random.Generator) -> Iterator[Fact]:
    """The infimum over l by a fine grid."""
    for V, B, s, alpha in (
        (100.0, 1.0, 5.0, 0.05),
        (3.0, 2.0, 0.0, 0.01),
        (0.2, 0.5, 4.0, 1e-6),
        (0.0, 1.0, 5.0, 0.05),
    ):
        l = np.geomspace(1e-4, 50, 40_001) / B
        exponent = l**2 * s**2 / 2 + V * (np.expm1(l * B) - l * B) / B**2
        least = float(np.min((math.log(2 / alpha) + exponent) / l))
        yield Fact(f"V = {V}, B = {B}, s = {s}", float(bennett_radius(V, B, s, alpha)), least, 1e-6)


BENNETT = Claim(
    id="iv/beyond-confidence-bennett",
    where="private confidence sets, without normal approximation",
    kind="inequality",
    statement=(
        "$abs(S)$ is beyond the radius $inf_l (log(2 \\/ alpha) + l^2 s^2 \\/ 2 + V (e^(l B) - 1 - l B) \\/ B^2) \\/ "
        "l$ with probability at most $alpha$."
    ),
    checks=(
        Search(
            sides=_tail,
            box={
                "variance": Real(0.3, 50.0, "log"),
                "deviation": Real(0.1, 10.0, "log"),
                "alpha": Real(1e-4, 0.2, "log"),
            },
            evaluations={"quick": 250, "full": 10_000},
            impostors={"a tenth of alpha": {"sides": Times(1, 0.1)}},
        ),
        Agreement(facts=_radius_facts, impostors={"1e-4 less": {"facts": Times(1 - 1e-4)}}),
    ),
)

# --- the honest set ---


def _honest_release(first: float, second: float, mu: float, n: int) -> MomentRelease:
    """One instrument, one regressor, weights 1: u = (u_y, u_x) with T1 = (first, 0.3 n), T2 = diag(second, 0.2 n)."""
    scale = 2 / mu
    return MomentRelease(
        first=np.array([first, 0.3 * n]),
        second=np.diag([second, 0.2 * n]),
        first_scale=scale,
        second_scale=math.sqrt(2) * scale,
        outcome_weight=1.0,
        regressor_weights=np.ones(1),
        n=n,
        adjacency="replace-one",
    )


def _radius(second: float, mu: float, level: float = 0.95) -> float:
    """The |T1| at which beta = 0 leaves the set, half of mu for replace-one."""
    return _spread_radius(second, 2 / mu, math.sqrt(2) * 2 / mu, 1 - level)


def _spread_radius(second: float, s1: float, s2: float, alpha: float) -> float:
    """The |g| at which a direction of length 1 leaves the set: the formula written out."""
    part = 0.05 * alpha
    left = alpha - 2 * float(uniform_kolmogorov_bound(1 / s1)) - 2 * part
    L, z = -math.log(part), float(ndtri(1 - part))
    spread = math.sqrt(second + s2 * z + L / 2) + math.sqrt(L / 2)
    return float(ndtri(1 - left / 2)) * math.sqrt(spread**2 + s1**2)


def _edge_facts(rng: np.random.Generator, stretched: float = 1.0) -> Iterator[Holds | Within]:
    """beta = 0 is in the set just inside the radius, and not just outside; the line where nothing is left of alpha."""
    for second, mu, n in ((900.0, 0.24, 4_000), (30.0, 0.5, 2_000), (0.0, 0.1, 5_000)):
        radius = stretched * _radius(second, mu)
        inside, outside = (
            0.0 in confidence_set(_honest_release(factor * radius, second, mu, n), honest=True)
            for factor in (1 - 1e-6, 1 + 1e-6)
        )
        yield Holds(f"T2 = {second}, mu = {mu}: just inside the radius 0 is in the set", inside)
        yield Holds(f"T2 = {second}, mu = {mu}: just outside it is not", not outside)
    beyond = confidence_set(_honest_release(50.0, 30.0, 8.0, 90), honest=True)
    yield Holds("mu = 8: the set is the line", beyond.shape == "line")
    honest = confidence_set(_honest_release(0.0, 900.0, 0.24, 4_000), honest=True)
    plain = confidence_set(_honest_release(0.0, 900.0, 0.24, 4_000))
    yield Within("its length over that of the asymptotic set", honest.length / plain.length, least=1.1)


def _member_facts(rng: np.random.Generator) -> Iterator[Fact]:
    """At 400 directions around the circle: g² against z² V written out. Strong and weak moments of all signs; of some
    with equal variances all but a narrow gap around their own direction is in the set.
    """
    linked, equal = np.array([[900.0, 40.0], [40.0, 400.0]]), 400.0 * np.eye(2)
    gap = 1.005 * _spread_radius(400.0, 9.0, 13.0, 0.1)
    cases = [
        (np.array(T1), linked) for T1 in ((300.0, 500.0), (-700.0, 60.0), (40.0, -150.0), (160.0, 25.0), (9.0, 4.0))
    ]
    cases += [(gap * np.array([math.cos(at), math.sin(at)]), equal) for at in (-1.19, -0.6, 0.2, 1.19)]
    angles = np.linspace(-math.pi / 2, math.pi / 2, 400, endpoint=False) + 1e-3
    for T1, second in cases:
        release = MomentRelease(
            first=T1, second=second, first_scale=9.0, second_scale=13.0, outcome_weight=3.0,
            regressor_weights=np.array([0.7]), n=4_000, adjacency="replace-one",
        )  # fmt: skip
        found = confidence_set(release, level=0.9, honest=True)
        shown = [beta in found for beta in 3.0 / 0.7 * np.tan(angles)]
        directions = np.column_stack([np.cos(angles), -np.sin(angles)])
        kept = [abs(b @ T1) <= _spread_radius(float(b @ second @ b), 9.0, 13.0, 0.1) for b in directions]
        label = f"T1 = ({T1[0]:.3g}, {T1[1]:.3g})"
        yield Fact(f"directions in the set, {label}", np.flatnonzero(shown) + 1.0, np.flatnonzero(kept) + 1.0, 0)


BUDGETS = (0.1, 0.24, 0.5)


def _missed(n: float, p: float, budget: float, level: float = 0.95) -> tuple[float, float]:
    """P(beta = 0 is outside) for n terms on two points with mean 0, exactly: T2 is determined by T1, its noise by
    Gauss and Hermite; and 1 - level.
    """
    n, mu = round(n), BUDGETS[round(budget)]
    s, low = 2 / mu, -p / (1 - p)
    k = np.arange(n + 1)
    sums, squares, weights = k + low * (n - k), k + low**2 * (n - k), binom.pmf(k, n, p)
    nodes, noise = np.polynomial.hermite_e.hermegauss(24)
    total = 0.0
    for node, part in zip(nodes, noise / noise.sum(), strict=True):
        seen = np.maximum(squares + math.sqrt(2) * s * node, 0.0)
        radii = np.array([_radius(float(second), mu, level) for second in seen])
        total += part * float(weights @ (ndtr((sums - radii) / s) + ndtr((-sums - radii) / s)))
    return total, 1 - level


HONEST = Claim(
    id="iv/beyond-confidence-honest",
    where="private confidence sets, honest set",
    kind="inequality",
    statement=(
        "For one instrument the set ${g^2 <= z^2 overline(V)}$ with $overline(V) = (sqrt(T_2 (b) + s_2 abs(b)^2 z_(1 - "
        "alpha_1) + abs(b)^2 L \\/ 2) + abs(b) sqrt(L \\/ 2))^2 + s_1^2 abs(b)^2$ and $z$ at the level $alpha - 2 D - "
        "alpha_1 - e^(-L)$, $D$ the bound for all $n$, misses the truth with probability at most $alpha$ at every $n$ "
        "and for every law of bounded records with mean moment 0."
    ),
    checks=(
        Agreement(facts=_edge_facts, impostors={"1e-4 longer": {"facts": {"stretched": 1.0001}}}),
        Agreement(facts=_member_facts, impostors={"one direction further": {"facts": Times(1.01)}}),
        Search(
            sides=_missed,
            box={"n": Real(1, 40, "log"), "p": Real(0.01, 0.5), "budget": Whole(0, len(BUDGETS) - 1)},
            evaluations={"quick": 60, "full": 1_000},
            impostors={"a hundredth of alpha": {"sides": Times(1, 0.01)}},
        ),
    ),
)
