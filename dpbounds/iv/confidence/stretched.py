"""The release of clipped residuals in two stages: what it costs, where it clips, and one test for two unknown arms.

Stage 0 (`START_SHARE` of mu²) releases n_1, the records with z = 1, and the sums of x, y, x², xy, y² of values clamped
to public ranges and scaled to [-1, 1]: b0, m0 and C follow. They may be biased; nothing but the set's length depends
on them. Stage 1 releases counts of clipped records (`COUNT_SHARE` of the rest), and first and second moments of
(r / a_y, x / a_x) ⊗ z̃, r = clip(y - m0 - b0 x, +-C): z̃ = z - P(z = 1) where that is known, else (z, 1 - z).

>>> shares = stretch_shares(1.0)
>>> round(shares.start**2 + shares.counts**2 + shares.moments**2, 12)
1.0
>>> start = starting_line([0.0, 0.0, 500.0, 250.0, 250.0], 1000, 5.0)
>>> round(start.slope, 3), start.intercept, round(start.clip, 3)
(0.5, 0.0, 1.102)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, moderate, moderate_or_zero, real, real_array, vector, within
from dpbounds.iv.clamped import RhoLimits, limits, stretch
from dpbounds.iv.confidence.anderson_rubin import Curve, anderson_rubin_curve
from dpbounds.iv.confidence.pieces import ConfidenceSet, shape_of
from dpbounds.iv.confidence.release import MomentRelease, positive_part
from dpbounds.iv.confidence.sensitivity import Adjacency, known_adjacency
from dpbounds.iv.confidence.sets import confidence_set, point_estimate
from dpbounds.values import Value

START_SHARE, COUNT_SHARE = 0.25, 0.04
# Of 1 - level: for the limits of rho; the rest is for the test.
LIMITS_SHARE = 0.1
# C in standard deviations of the residual of stage 0, and deviations of noise that its variance allows for.
CLIP, ALLOWANCE = 3.0, 2.0
# |beta - b0| X / C, for the weights: little of the coefficient is left after recentring.
CLIPPED_RATIO = 0.25
# In place of an infinite limit of rho.
_LARGEST = 1e12
# b0 in units of the ranges, at most; arms need this many deviations of the noise of their count.
STEEPEST, SMALLEST = 4.0, 4.0


class StretchShares(NamedTuple):
    """mu of the parts; their squares add up."""

    start: float
    counts: float
    moments: float


class Start(NamedTuple):
    """b0, m0 and C, in units of the ranges."""

    slope: float
    intercept: float
    clip: float


def stretch_shares(mu: float) -> StretchShares:
    """How mu is shared among stage 0, counts and moments. Raises `DomainError` unless mu > 0."""
    mu = moderate("mu", mu, "a budget is above 0")
    rest = mu * math.sqrt(1 - START_SHARE)
    return StretchShares(mu * math.sqrt(START_SHARE), rest * math.sqrt(COUNT_SHARE), rest * math.sqrt(1 - COUNT_SHARE))


def start_sensitivity(adjacency: Adjacency) -> Value:
    """How far a record (z, x, y), z in {0, 1}, x and y in [-1, 1], moves (z, x, y, x², xy, y²): sqrt 6, or replaced 3.

    Replaced: 1 of z and 8 of the others, attained by (1, 1) and (-1, -1).
    """
    squared = 6.0 if known_adjacency(adjacency) == "zero-out" else 9.0
    return Value(math.sqrt(squared), kind="exact", source="dpbounds", convention=adjacency)


def count_sensitivity(adjacency: Adjacency, tables: int = 1) -> Value:
    """How far a record moves the counts by side and arm, one table or two (a clamped regressor): it is in at most one
    cell of each.
    """
    moved = count("tables", tables, most=2) * (1.0 if known_adjacency(adjacency) == "zero-out" else 2.0)
    return Value(math.sqrt(moved), kind="exact", source="dpbounds", convention=adjacency)


def starting_line(sums: Sequence[float] | Float[np.ndarray, " 5"], n: int, scale: float) -> Start:
    """b0, m0 and C from the sums of x, y, x², xy, y² with noise N(0, `scale`²): the least squares line of y on x.

    C = 3 sqrt(v + 2 scale / n), v the variance of what the line leaves: an upper estimate, since noise alone may make
    v too small. Raises `DomainError` for other than five finite numbers, n < 1 and a scale that is not positive.
    """
    given, n, scale = vector("sums", sums), count("n", n), moderate("scale", scale)
    if len(given) != 5:
        raise DomainError("sums", f"{len(given)} numbers", "the sums of x, y, x², xy, y²")
    x, y, xx, xy, yy = (given / n).tolist()
    xx, xy, yy = xx - x * x, xy - x * y, yy - y * y
    slope = min(max(xy / max(xx, ALLOWANCE * scale / n), -STEEPEST), STEEPEST)
    left = max(yy - 2 * slope * xy + slope**2 * xx, 0.0)
    return Start(slope, y - slope * x, CLIP * math.sqrt(left + ALLOWANCE * scale / n))


@typed
def arms_release(
    first: Float[np.ndarray, "blocks arms"],
    second: Float[np.ndarray, "d d"],
    *,
    scales: Sequence[float],
    per_arm: Sequence[float],
    arm_scale: float,
    outcome_weight: float,
    regressor_weight: float,
    n: int,
    adjacency: Adjacency,
) -> MomentRelease:
    """The difference of the arms' means, as a release of one instrument, where P(z = 1) is not known.

    `first` has rows r and x, columns z = 1 and z = 0: sums over the arms, with noise s1; `second` the moments of the
    four, blocks r and x, with noise s2; `scales` = (s1, s2). `per_arm`: n_0 and n_1, which add to n, with one noise
    N(0, `arm_scale`²) of opposite signs. With m_a = T1_a / n_a the moment is h (m_1 - m_0), h = n_0 n_1 / n, and its
    variance h² sum_a (T2_a - n_a m_a m_a')⁺ / n_a², beside h² s_n² (m_1 / n_1 + m_0 / n_0)² and the noise, to first
    order in 1 / n_a. Raises `DomainError` for an arm whose count is not above 4 deviations of its noise.
    """
    s1, s2 = (moderate_or_zero("scales", scale) for scale in _shaped("scales", scales, (2,)))
    s_n, n = moderate_or_zero("arm_scale", arm_scale), count("n", n)
    n0, n1 = _shaped("per_arm", per_arm, (2,)).tolist()
    first, second = _shaped("first", first, (2, 2)), _shaped("second", second, (4, 4))
    if not min(n0, n1) > SMALLEST * s_n:
        remedy = "more epsilon or records, or a public mean of the instrument; the budget of this release is spent"
        found = f"{n0:.4g} records with z = 0, {n1:.4g} with z = 1 by their noisy count"
        raise DomainError("instruments", found, f"more than {SMALLEST * s_n:.3g} in each arm", remedy)
    weights = np.array([n0, n1]) / n
    T2 = np.reshape(second, (2, 2, 2, 2))
    means = [first[:, 0] / n1, first[:, 1] / n0]
    own = [
        weight**2 * positive_part(T2[:, arm, :, arm] - size * np.outer(mean, mean))
        for arm, (weight, size, mean) in enumerate(zip(weights, (n1, n0), means, strict=True))
    ]
    h, drift = n0 * n1 / n, means[0] / n1 + means[1] / n0
    return MomentRelease(
        first=h * (means[0] - means[1]),
        second=own[0] + own[1] + (h * s_n) ** 2 * np.outer(drift, drift),
        first_scale=s1 * float(np.hypot(*weights)),
        second_scale=s2 * float(np.hypot(*weights**2)),
        outcome_weight=outcome_weight,
        regressor_weights=np.array([regressor_weight]),
        n=n,
        adjacency=adjacency,
    )


class Levels(NamedTuple):
    """Level of the test of t, and what the limits of rho may miss: together they leave the level of the set."""

    test: float
    limits: float


def split_level(level: float) -> Levels:
    """.955 and .005 at level .95. Raises `DomainError` for a level outside (0, 1)."""
    level = within("level", level, "(0, 1)")
    missed = LIMITS_SHARE * (1 - level)
    return Levels(level + missed, missed)


class ClippedCounts(NamedTuple):
    """Released counts of clipped residuals (and of clamped regressors), `table` as for `limits`, records by arm, the
    deviations of their noise, and the public bound on a first stage over its mean.
    """

    table: Float[np.ndarray, "*tables sides arms"]
    scale: float
    per_arm: tuple[float, float]
    arm_scale: float
    heterogeneity: float

    def rho(self, level: float) -> RhoLimits:
        """The limits that a set of this level takes."""
        alpha = split_level(level).limits
        return limits(
            self.table,
            self.per_arm,
            self.scale,
            alpha,
            heterogeneity=self.heterogeneity,
            arm_scale=self.arm_scale,
        )


@typed
def stretched_set(release: MomentRelease, counts: ClippedCounts, start: float, level: float = 0.95) -> ConfidenceSet:
    """The set of beta: that of t at `split_level`, stretched away from b0 = `start` by what the counts leave open.

    Coverage is that of the test, for every law of errors and regressor that z is independent of. Raises
    `DomainError` as `confidence_set`.
    """
    found = confidence_set(release, split_level(level).test)
    rho = counts.rho(level)
    pieces = tuple((_estimate(low), _estimate(high)) for low, high in stretch(found.pieces, rho.least, rho.most, start))
    coverage = Value(level, kind="asymptotic", source="dpbounds", convention="coverage")
    return ConfidenceSet(pieces=pieces, shape=shape_of(pieces), coverage=coverage)


@typed
def stretched_curve(
    release: MomentRelease,
    rho: RhoLimits,
    start: float,
    coefficients: Sequence[float] | Float[np.ndarray, " m"],
    level: float = 0.95,
) -> Curve:
    """The test of every coefficient of (m,): that of t = rho (beta - b0) at the admissible rho where it is least.

    With one instrument the statistic is 0 at the point estimate of t and falls towards it from either side: it is least
    there or at an end of the limits. A coefficient is in `stretched_set` where it is not rejected.
    """
    delta = vector("coefficients", coefficients) - real("start", start)
    ends = np.sort([delta * rho.least, delta * min(rho.most, _LARGEST)], axis=0)
    tests = [
        anderson_rubin_curve(release, t, split_level(level).test)
        for t in (*ends, np.clip(point_estimate(release), *ends))
    ]
    best = np.argmin([test.statistic - test.critical for test in tests], axis=0)
    return Curve(*(np.choose(best, parts) for parts in zip(*tests, strict=True)))


@typed
def stretched_point(release: MomentRelease, rho: RhoLimits, start: float) -> float:
    """b0 + t / rho at the middle of the limits, or where the upper one is inf at the lower one or 1."""
    middle = (rho.least + rho.most) / 2 if math.isfinite(rho.most) else max(rho.least, 1.0)
    return real("start", start) + point_estimate(release) / middle


def _shaped(name: str, given: object, shape: tuple[int, ...]) -> np.ndarray:
    array = real_array(name, given)
    if array.shape != shape or not np.isfinite(array).all():
        raise DomainError(name, f"an array of shape {array.shape}", f"finite numbers of shape {shape}")
    return array


def _estimate(end: float) -> Value:
    return Value(float(end), kind="estimate" if math.isfinite(end) else "exact", source="dpbounds")
