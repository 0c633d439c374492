"""Beyond the paper: the Anderson-Rubin test of a private release, its correction, and the set that it leaves."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import chi2

from dpbounds.iv.confidence import (
    BlockRelease,
    MomentRelease,
    Release,
    anderson_rubin,
    anderson_rubin_curve,
    confidence_set,
    first_stage,
    point_estimate,
)
from dpbounds.iv.confidence.certified import pieces_of
from verify.checks import Agreement, Fact, Holds, Times, Within
from verify.papers.iv.beyond.confidence_sets_parts import parts
from verify.papers.iv.tools.confidence_releases import (
    APART,
    SHAPES,
    exact_excess,
    random_release,
    release_with,
    scaled_release,
    statistic_of,
)
from verify.statements.claims import Claim

# --- the test ---


def _test_facts(rng: np.random.Generator, noise: float = 1.0, projected: bool = True) -> Iterator[Fact | Holds]:
    """Against sums over coordinates in the units of y and z, the covariance written out from T2 and s1."""
    for q, p, seed in ((1, 1, 1), (2, 1, 2), (3, 2, 3), (4, 1, 4)):
        release = random_release(seed, q=q, p=p)
        beta = np.array([0.7, -1.3])[:p]
        for level in (0.9, 0.95):
            statistic, critical, tau = anderson_rubin(release, beta, level)
            expected = statistic_of(release, beta, noise=noise, projected=projected)
            quantile = float(chi2.ppf(level, q))
            label = f"q = {q}, p = {p}, level {level}"
            yield Fact(f"AR, {label}", statistic, expected[0], 1e-9)
            yield Fact(f"tau, {label}", tau, expected[1], 1e-9)
            stated = quantile * (1 + expected[1] ** 2 * (q + quantile) / 4)
            yield Fact(f"c', {label}", critical, stated, 1e-9)
            plain = anderson_rubin(release, beta, level, correct=False)
            yield Fact(f"c, {label}", plain.critical, quantile, 1e-9)
        points = rng.standard_normal((4, p))
        curve = anderson_rubin_curve(release, points)
        apart = [anderson_rubin(release, point) for point in points]
        yield Fact(f"many points, q = {q}", np.array(curve), np.array(apart).T, 1e-12)
        for j in range(p):
            far = np.zeros(p)
            far[j] = 1e9
            strength = first_stage(release, j)
            at = anderson_rubin(release, far)
            yield Fact(f"first stage, q = {q}", [*strength[:3]], [at.statistic, at.statistic / q, at.critical], 1e-6)
            yield Holds(f"bounded if and only if it rejects, q = {q}", strength.bounded == (at.statistic > at.critical))


def _block_facts(rng: np.random.Generator) -> Iterator[Fact]:
    """H: the quadratic form of V'V times Z'Z over n, plus the noise of Z'V; no correction."""
    for q, p in ((2, 1), (3, 2)):
        Z, V = rng.uniform(-0.5, 0.5, (300, q)), rng.uniform(-0.5, 0.5, (300, p + 1))
        release = BlockRelease(
            instruments=Z.T @ Z,
            cross=Z.T @ V,
            variables=V.T @ V,
            instrument_scale=3.0,
            cross_scale=1.7,
            variable_scale=3.0,
            outcome_weight=2.0,
            regressor_weights=np.array([3.0, 0.5])[:p],
            n=300,
            adjacency="replace-one",
        )
        beta = np.array([0.4, -2.0])[:p]
        e = 2.0 * V[:, 0] - V[:, 1:] * release.regressor_weights @ beta
        length = 2.0**2 + np.sum((release.regressor_weights * beta) ** 2)
        covariance = (e @ e) / 300 * (Z.T @ Z) + 1.7**2 * length * np.eye(q)
        found = anderson_rubin(release, beta)
        yield Fact(f"H, q = {q}", found.statistic, (Z.T @ e) @ np.linalg.solve(covariance, Z.T @ e), 1e-9)
        yield Fact(f"H, q = {q}, critical", [found.critical, found.tau], [float(chi2.ppf(0.95, q)), 0.0], 1e-9)


TEST = Claim(
    id="iv/beyond-confidence-test",
    where="private confidence sets, test",
    kind="number",
    statement=(
        (
            "With $b = (a_y, -beta_j a_j)$ and $g = (b' times.o I) T_1$ the statistic is $g' V^(-1) g$, $V = (b' "
            "times.o I) T_2^+ (b times.o I) + s_1^2 abs(b)^2 I$, $T_2^+$ the positive part, compared with $c' = c_q (1 "
            r"+ tau^2 (q + c_q) \/ 4)$, $tau = s_2 abs(b)^2 tr(V^(-1)) \/ q$;"
        ),
        r"for blocks $V = (b' Q^+ b \/ n) A^+ + s_C^2 abs(b)^2 I$ and $c_q$ itself.",
        "At infinity it is the private first stage.",
    ),
    checks=(
        Agreement(
            decides="ac",
            facts=_test_facts,
            impostors={
                "s1² dropped": {"facts": {"noise": 0.0}},
                "no positive part": {"facts": {"projected": False}},
                "1 % off": {"facts": Times(1.01)},
            },
        ),
        Agreement(decides="b", facts=_block_facts, impostors={"1 % off": {"facts": Times(1.01)}}),
    ),
)

# --- the correction for the noise of T2 ---

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(9)


def _coverage(q: int, tau: float, *, correct: bool) -> float:
    """P(AR <= critical) for g ~ N(0, I) and T2 = I + tau W, W with independent entries N(0, 1) and N(0, 1/2): Gauss
    and Hermite over W, q = 1 by the normal law, q = 2 by the angle of g.
    """
    total, angles = 0.0, (np.arange(24) + 0.5) * math.pi / 24
    for index in itertools.product(range(len(NODES)), repeat=q * (q + 1) // 2):
        x, weight = NODES[list(index)], float(np.prod(WEIGHTS[list(index)])) / (2 * math.pi) ** (len(index) / 2)
        W = np.array([[x[0]]]) if q == 1 else np.array([[x[0], x[1] / math.sqrt(2)], [x[1] / math.sqrt(2), x[2]]])
        directions = np.ones((1, 1)) if q == 1 else np.stack([np.cos(angles), np.sin(angles)], axis=1)
        inverse = np.linalg.inv(np.eye(q) + tau * W)
        critical = float(chi2.ppf(0.95, q))
        if correct:
            critical = _critical(np.eye(q) + tau * W, tau)
        stretched = np.einsum("mi,ij,mj->m", directions, inverse, directions)
        total += weight * float(np.mean(chi2.cdf(critical / stretched, q)))
    return total


def _critical(second: np.ndarray, tau: float) -> float:
    """c' as shipped, at beta = 0: the block of y is the matrix, that of x does not enter."""
    q = len(second)
    T2 = np.block([[second, np.zeros((q, q))], [np.zeros((q, q)), np.eye(q)]])
    release = MomentRelease(
        first=np.ones(2 * q),
        second=T2,
        first_scale=0.0,
        second_scale=tau,
        outcome_weight=1.0,
        regressor_weights=np.ones(1),
        n=10,
        adjacency="zero-out",
    )
    return anderson_rubin(release, [0.0]).critical


def _correction_facts(rng: np.random.Generator) -> Iterator[Fact]:
    """The loss without the correction over tau², its limit, and what is left with it."""
    for q in (1, 2):
        c = float(chi2.ppf(0.95, q))
        limit = float(chi2.pdf(c, q)) * c * (q + c) / 4
        plain = (0.95 - _coverage(q, 0.05, correct=False)) / 0.05**2
        yield Fact(f"coverage lost by c_q over tau², q = {q}", plain, limit, 0.02)
        left = (0.95 - _coverage(q, 0.05, correct=True)) / 0.05**2 / limit
        yield Fact(f"share of it left with c', q = {q}", left + 1, 1.0, 0.06)


CORRECTION = Claim(
    id="iv/beyond-confidence-correction",
    where="private confidence sets, correction",
    kind="number",
    statement=(
        (
            "Noise of relative size $tau$ in $T_2$ costs the quantile $c_q$ coverage $f_q (c_q) c_q (q + c_q) tau^2 "
            r"\/ "
            "4 + O(tau^3)$, $f_q$ being the density: $0.139 tau^2$ at $q = 1$;"
        ),
        "with $c'$ nothing of that order.",
    ),
    setting="$q = 1, 2$, quadrature over the noise of $T_2$ at $tau = 0.05$.",
    checks=(Agreement(decides="ab", facts=_correction_facts, impostors={"10 % off": {"facts": Times(1.1)}}),),
)

# --- the set ---


def _pieces_of(release: Release, correct: bool, certify: bool) -> list[tuple[float, float]]:
    pieces, _ = confidence_set(release, correct=correct, certify=certify)
    return [(float(low), float(high)) for low, high in pieces]


def _set_facts(rng: np.random.Generator, slip: float = 0.0) -> Iterator[Fact | Holds]:
    """Exact rational arithmetic says at which points of a grid, and next to each end, the test rejects."""
    for name, release in SHAPES().items():
        for correct in (True, False):
            certified = _pieces_of(release, correct, certify=True)
            label = f"{name}{'' if correct else ', no correction'}"
            fast = _pieces_of(release, correct, certify=False)
            yield Fact(f"both ways agree, {label}", np.arctan(fast), np.arctan(certified), 1e-6)
            grid = [Fraction(round(1000 * math.tan(angle)), 1000) for angle in np.linspace(-1.5, 1.5, 41)]
            inside = [any(low <= point <= high for low, high in certified) for point in grid]
            excess = [exact_excess(release, point, correct) for point in grid]
            yield Holds(f"points of a grid are as the exact test has them, {label}", inside == [e <= 0 for e in excess])
            ends = [end for piece in certified for end in piece if math.isfinite(end)]
            for end in ends:
                step, at = Fraction(max(abs(end), 1e-3)) / 10**9, Fraction(end * (1 + slip))
                sides = [exact_excess(release, at + sign * step, correct) <= 0 for sign in (-1, 1)]
                yield Fact(f"the verdict changes at {end:.4g}, {label}", len(set(sides)), 2, 0)
        found, shape = confidence_set(release, certify=True)
        if not name.startswith("hostile"):
            yield Holds(f"shape of {name}", shape == name.split(",")[0])
        moved = confidence_set(release).shifted(2.0).pieces
        centred = [(low + 2.0, high + 2.0) for low, high in _pieces_of(release, True, certify=False)]
        yield Fact(f"recentred, {name}", np.arctan(moved), np.arctan(centred), 1e-12)
        strength = first_stage(release)
        bounded = confidence_set(release).bounded
        yield Holds(f"bounded if and only if the first stage rejects, {name}", bounded == strength.bounded)
        scaled = scaled_release(release, 1e-7, 1e6)
        back = [(1e13 * low, 1e13 * high) for low, high in _pieces_of(scaled, True, certify=False)]
        yield Fact(f"in other units, {name}", np.arctan(back), np.arctan([tuple(piece) for piece in found]), 1e-6)


def _root_facts(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Polynomials made of their roots, each as often as it is named: pieces by hand, in units of 3/2."""
    from flint import fmpq, fmpq_poly

    inf = math.inf
    for sign, roots, pieces in (
        (0, (), ((-inf, inf),)), (1, (), ((-inf, inf),)), (-1, (), ()), (1, (-3,), ((-3, inf),)),
        (-1, (5,), ((-inf, 5),)), (-1, (2, 7), ((2, 7),)), (1, (2, 7), ((-inf, 2), (7, inf))),
        (1, (-4, -1, 2), ((-4, -1), (2, inf))),
        (-1, (-4, -1, 2, 9), ((-4, -1), (2, 9))), (1, (-4, -1, 2, 9), ((-inf, -4), (-1, 2), (9, inf))),
        (-1, (3, 3), ((3, 3),)), (1, (3, 3), ((-inf, inf),)), (-1, (-4, -1, 3, 3), ((-4, -1), (3, 3))),
        (-1, (-5, -5, -2, 6), ((-5, -5), (-2, 6))), (1, (-4, -1, -1, 3), ((-inf, -4), (-1, -1), (3, inf))),
        (-1, (-4, -1, -1, 3), ((-4, 3),)), (1, (-8, -6, -6, -6), ((-inf, -8), (-6, inf))),
    ):  # fmt: skip
        polynomial = fmpq_poly([sign])
        for root in roots:
            polynomial *= fmpq_poly([-root, 1])
        found: Any = pieces_of(polynomial, fmpq(3, 2))
        label = f"sign {sign}, roots {roots}"
        yield Fact(f"number of pieces, {label}", len(found), len(pieces), 0)
        for piece, stated in zip(found, pieces, strict=False):
            yield Fact(f"a piece, {label}", np.arctan(np.array(piece)), np.arctan(1.5 * np.array(stated)), 1e-15)
            held = [end.enclosure[0] <= 1.5 * at <= end.enclosure[1] for end, at in zip(piece, stated, strict=True)]
            yield Holds(f"its enclosures hold it, {label}", all(held))


def _narrow_facts(rng: np.random.Generator) -> Iterator[Fact]:
    """At levels next to a least or a largest statistic a piece, or a gap, is narrow: both ways find it. With a
    correction the statistic is the c for which c' is AR.
    """
    angles = np.linspace(-1.57, 1.57, 20_001)
    for s2, correct in ((0.0, True), (0.3, False), (0.3, True)):
        release = release_with([1.6, -1.9, 8.7, 11.8], np.array(APART), 0.5, s2)
        AR, _, tau = anderson_rubin_curve(release, np.tan(angles))
        a, b = tau**2 / 4 if correct else 0 * tau, 1 + tau**2 / 2 if correct else 1 + 0 * tau
        c = 2 * AR / (b + np.sqrt(b**2 + 4 * a * AR))
        least, largest = (side[1:-1][(side[1:-1] < side[:-2]) & (side[1:-1] < side[2:])] for side in (c, -c))
        for critical in (max(least) * (1 + 1e-5), -max(largest) * (1 - 1e-5), -min(largest) * (1 - 1e-5)):
            level = float(chi2.cdf(critical, 2))
            certified, fast = (
                confidence_set(release, level, correct=correct, certify=certify).pieces for certify in (True, False)
            )
            label = f"level {level:.5f}, s2 = {s2}{'' if correct else ', no correction'}"
            runs = int(np.sum(np.diff(np.concatenate([[False], c <= critical]).astype(int)) == 1))
            yield Fact(f"pieces, {label}", len(certified), runs, 0)
            yield Fact(f"both ways agree, {label}", np.arctan(fast), np.arctan(certified), 1e-6)


def _estimate_facts(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """The least statistic is at the point estimate: against a fine grid and parabolas; the ratio for q = 1."""
    for q, seed in itertools.product((1, 2, 4), range(4)):
        release = random_release(20 + 10 * seed + q, q=q)
        estimate = point_estimate(release)
        near = estimate + (abs(estimate) + 0.1) * np.array([-1e-4, 0.0, 1e-4])
        values = anderson_rubin_curve(release, near).statistic
        yield Fact(f"no neighbour is lower, q = {q}", int(np.argmin(values)), 1, 0)
        grid = np.tan(np.linspace(-1.57, 1.57, 4001))
        lowest = float(anderson_rubin_curve(release, grid).statistic.min())
        yield Within(f"statistic there less the least on a grid, q = {q}", float(values[1]) - lowest, most=1e-9)
        curvature = values[0] - 2 * values[1] + values[2]
        off = 0.5 * abs(float(values[0] - values[2])) / float(curvature)
        yield Within(f"distance of the parabola's vertex in parts of 10^4, q = {q}", off, most=0.01)
        if q == 1:
            y, x = release.moments[:, 0] * [release.outcome_weight, release.regressor_weights[0]]
            yield Fact("ratio", estimate, y / x, 1e-9)
    grid = np.tan(np.linspace(-1.57, 1.57, 4001))
    for name, release in SHAPES().items():
        at = float(anderson_rubin_curve(release, np.array([point_estimate(release)])).statistic[0])
        least = float(anderson_rubin_curve(release, grid).statistic.min())
        yield Within(
            f"statistic at the estimate over the least on a grid, {name}",
            at / max(least, at * 1e-9, 1e-300),
            most=1 + 1e-9,
        )


SET = Claim(
    id="iv/beyond-confidence-set",
    where="private confidence sets, shape",
    kind="number",
    statement=(
        (
            "The set where the test of one regressor does not reject is where a polynomial of degree $4 q$ is not "
            "negative ($2 q$ without correction): an interval, the complement of one, the line, empty or, for $q >= "
            "2$, several pieces, bounded if and only if the first stage rejects;"
        ),
        "its ends, isolated over the rationals, are where exact arithmetic on the released floats changes its verdict.",
    ),
    checks=(
        Agreement(
            decides="ab",
            facts=_set_facts,
            impostors={"ends a millionth off": {"facts": {"slip": 1e-6}}, "1 % off": {"facts": Times(1.01)}},
        ),
        Agreement(decides="b", facts=_root_facts, impostors={"1e-6 off": {"facts": Times(1.000001)}}),
        Agreement(decides="ab", facts=parts, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(decides="ab", facts=_narrow_facts, impostors={"1e-4 off": {"facts": Times(1.0001)}}),
        Agreement(decides="a", facts=_estimate_facts, impostors={"1 % off": {"facts": Times(1.01)}}),
    ),
)
