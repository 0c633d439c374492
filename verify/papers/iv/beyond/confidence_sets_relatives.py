"""Beyond the paper: the confidence set for one of two regressors, and the relatives of the Anderson-Rubin test."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.stats import chi2

from dpbounds.iv.confidence import (
    MomentRelease,
    Release,
    anderson_rubin,
    anderson_rubin_curve,
    cell_form,
    cell_variance,
    conditional_qlr,
    projection,
)
from dpbounds.iv.confidence.conditional import least_statistic
from verify.checks import Agreement, Fact, Holds, Times
from verify.papers.iv.tools.confidence_releases import (
    random_release,
    two_regressors,
)
from verify.statements.claims import Claim

# --- one of two regressors ---


def _projection_facts(rng: np.random.Generator, slip: float = 0.0) -> Iterator[Holds]:
    """Next to the ends and on a grid: the least statistic over the other coefficient, by finer and finer grids."""
    for q, strength, regressor in (
        (2, 60.0, 0), (2, 60.0, 1), (2, 9.0, 0), (3, 60.0, 1), (2, 7.0, 0), (2, 3.0, 1),
    ):  # fmt: skip
        release = two_regressors(q, strength)
        found = projection(release, regressor)
        ends = [end + slip for piece in found.pieces for end in piece if math.isfinite(end)]
        looked = [*np.tan(np.linspace(-1.4, 1.4, 9)), *(end + sign * 1e-4 for end in ends for sign in (-1, 1))]
        inside = [any(low + slip <= point <= high + slip for low, high in found.pieces) for point in looked]
        least = [_least_over_the_other(release, point, regressor) for point in looked]
        kept = [value <= float(chi2.ppf(0.95, q)) for value in least]
        label = f"q = {q}, strength {strength}, regressor {regressor}"
        yield Holds(f"{label}: points are as the least statistic has them", inside == kept)


def _least_over_the_other(release: MomentRelease, coefficient: float, regressor: int) -> float:
    centre, width, least = 0.0, math.pi / 2, math.inf
    for _ in range(4):
        angles = centre + width * np.linspace(-1, 1, 301)
        others = np.tan(np.clip(angles, -math.pi / 2 + 1e-9, math.pi / 2 - 1e-9))
        pairs = np.column_stack([np.full(301, coefficient), others])[:, [regressor, 1 - regressor]]
        statistics = anderson_rubin_curve(release, pairs, correct=False).statistic
        best = int(np.argmin(statistics))
        centre, width, least = angles[best], width / 75, min(least, float(statistics[best]))
    return least


PROJECTION = Claim(
    id="iv/beyond-confidence-projection",
    where="private confidence sets, two regressors",
    kind="number",
    statement=(
        (
            "The projection of the joint set of two regressors (with $c_q$) on one of them changes only at real roots "
            "of a discriminant of degree at most $2 q (2 q - 1)$;"
        ),
        (
            "between them the number of real roots at one rational point decides: so the projected set is certified by "
            "exact arithmetic."
        ),
    ),
    checks=(
        Agreement(
            decides="ab", facts=_projection_facts, impostors={"ends a thousandth off": {"facts": {"slip": 1e-3}}}
        ),
    ),
)

# --- relatives of the test ---


def _qlr_facts(rng: np.random.Generator) -> Iterator[Fact]:
    """For Sigma = I QLR has a closed form (Moreira 2003), and so have its draws from the same generator."""
    for q, theta, seed in ((2, 0.6, 3), (4, -1.5, 5), (1, 0.6, 7)):
        T1 = np.random.default_rng(seed).standard_normal(2 * q) * 2
        release = MomentRelease(
            first=T1,
            second=0.75 * np.eye(2 * q),
            first_scale=0.5,
            second_scale=0.1,
            outcome_weight=2.0,
            regressor_weights=np.full(1, 2.0),
            n=50,
            adjacency="replace-one",
        )
        found = conditional_qlr(release, theta, rng=np.random.default_rng(seed), draws=400)
        draws = np.random.default_rng(seed).standard_normal((400, q))
        y, x = release.moments
        length = math.sqrt(1 + theta**2)
        T = (theta * y + x) / length
        statistic = _moreira((y - theta * x)[None] / length, T)[0]
        law = np.sort(_moreira(draws, T))
        yield Fact(f"QLR, q = {q}", found.statistic, statistic, 1e-7)
        yield Fact(f"critical value, q = {q}", found.critical, law[math.ceil(0.95 * 399)], 1e-6)
        yield Fact(f"p-value, q = {q}", found.p_value, (1 + int(np.sum(law >= statistic))) / 401, 1e-12)
    skew = random_release(31, q=3)
    found = conditional_qlr(skew, 1.1, rng=np.random.default_rng(1), draws=20)
    grid = np.tan(np.linspace(-math.pi / 2, math.pi / 2, 20_001)[1:-1])
    least = float(anderson_rubin_curve(skew, grid).statistic.min())
    at = anderson_rubin(skew, [1.1]).statistic
    yield Fact("QLR, any Sigma", [found.statistic, found.anderson_rubin], [at - least, at], 1e-4)
    for seed, q in ((31, 3), (32, 2)):
        skew = random_release(seed, q=q)
        theta = 1.1 * skew.regressor_weights[0] / skew.outcome_weight
        found = conditional_qlr(skew, 1.1, rng=np.random.default_rng(seed), draws=24, level=0.9)
        law = np.sort(_conditional_law(skew, theta, np.random.default_rng(seed).standard_normal((24, q))))
        yield Fact(f"critical value, any Sigma, q = {q}", found.critical, law[math.ceil(0.9 * 23)], 1e-5)
        exceeded = 1 + int(np.sum(law >= found.statistic))
        yield Fact(f"p-value, any Sigma, q = {q}", found.p_value, exceeded / 25, 1e-12)

    skew = random_release(31, q=3)
    own = least_statistic(skew.covariance, skew.moments[None])
    for y, x in ((1e20, 1e-20), (1e-20, 1e20)):
        units = np.repeat([y, x], 3)
        found = least_statistic(skew.covariance * np.outer(units, units), skew.moments[None] * [[y], [x]])
        yield Fact(f"least statistic, y in units of {y:g} and x of {x:g}", found, own, 1e-9)


def _conditional_law(release: Release, theta: float, draws: np.ndarray) -> np.ndarray:
    """QLR of g* = V^(1/2) z at the moments of the regressor that they imply given D, least AR on a grid of angles."""
    q, sigma, (y, x) = release.q, release.covariance, release.moments
    S = {(i, j): sigma[i * q : (i + 1) * q, j * q : (j + 1) * q] for i in (0, 1) for j in (0, 1)}
    V = S[0, 0] - theta * (S[0, 1] + S[1, 0]) + theta**2 * S[1, 1]
    slope = (S[1, 0] - theta * S[1, 1]) @ np.linalg.inv(V)  # Cov(x, g) V^-1
    ratios = []
    scale = math.sqrt(np.trace(S[0, 0]) / np.trace(S[1, 1]))
    angles = np.linspace(-math.pi / 2, math.pi / 2, 4_001)
    for z in draws:
        g = np.linalg.cholesky(V) @ z
        at_null = float(g @ np.linalg.solve(V, g))
        regressor = x - slope @ (y - theta * x) + slope @ g
        b0, b1 = np.cos(angles), -scale * np.sin(angles)
        moments = np.outer(b0, g + theta * regressor) + np.outer(b1, regressor)
        covariance = sum(
            (one * other)[:, None, None] * S[i, j] for i, one in ((0, b0), (1, b1)) for j, other in ((0, b0), (1, b1))
        )
        statistics = np.sum(moments * np.linalg.solve(covariance, moments[..., None])[..., 0], axis=1)
        ratios.append(max(at_null - float(statistics.min()), 0.0))
    return np.array(ratios)


def _moreira(S: np.ndarray, T: np.ndarray) -> np.ndarray:
    """(S'S - T'T + sqrt((S'S + T'T)² - 4 (S'S T'T - (S'T)²))) / 2."""
    ss, tt, st = np.sum(S**2, axis=1), float(T @ T), S @ T
    return (ss - tt + np.sqrt((ss + tt) ** 2 - 4 * (ss * tt - st**2))) / 2


def _cell_facts(rng: np.random.Generator) -> Iterator[Fact]:
    """n² E(error of z-bar)² E(error of e-bar)² of noisy means, by quadrature over the noise of the counts."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    beta, s0, counts = 0.7, 2.0, np.array([4_000.0, 9_000.0])
    z, x, y = np.array([0.4, -0.6]), np.array([0.3, 0.8]), np.array([-0.5, 0.9])
    e, size = y - beta * x, math.hypot(1, beta)
    inverse = 1 / (counts[:, None] + s0 * nodes)
    drift = -s0 * nodes * inverse
    first = (s0 * inverse) ** 2 @ weights + z**2 * (drift**2 @ weights)
    second = (s0 * size * inverse) ** 2 @ weights + e**2 * (drift**2 @ weights)
    expected = float(np.sum(counts**2 * first * second))
    found = cell_variance(counts, z, x, y, scale=s0, coefficients=beta)
    yield Fact("extra variance", float(found), expected, 1e-4)
    for centre in (0.0, 0.4):
        b = np.array([1.0, -(beta - centre)])
        form = cell_form(counts, z, x, y, scale=s0, centre=centre)
        yield Fact(f"as a form, centre {centre}", float(b @ form @ b), float(found), 1e-12)
    common = drift**2 @ weights * z * e
    yield Fact("bias with one common count", common, z * e * s0**2 / counts**2, 1e-4)


RELATIVES = Claim(
    id="iv/beyond-confidence-relatives",
    where="private confidence sets, QLR, controls",
    kind="number",
    statement=(
        (
            "QLR, the statistic less its least value, is compared with draws of its law given $D = c - C V^(-1) g$, "
            "$C$ the covariance of $c$ and $g$;"
        ),
        (
            "centring in cells adds $sum_c s_0^4 (1 + overline(z)_c^2) (1 + beta^2 + (overline(y)_c - beta "
            r"overline(x)_c)^2) \/ n_c^2$ to the variance, without bias if both counts have noise of their own, with "
            r"bias $overline(z)_c overline(e)_c s_0^2 \/ n_c^2$ if they share it."
        ),
    ),
    checks=(
        Agreement(decides="a", facts=_qlr_facts, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(decides="b", facts=_cell_facts, impostors={"1 % off": {"facts": Times(1.01)}}),
    ),
)
