"""The release of clipped residuals in two stages, of one data set with noise from a source, or of many trials.

One instrument of two values, 0 and 1, and one regressor; x and y come as they are, **not** clamped: what is clipped is
the residual of the raw record.

>>> rng = np.random.default_rng(0)
>>> z = rng.integers(0, 2, 4000).astype(float)
>>> x = z + rng.uniform(-1, 1, 4000)
>>> design = ClippedDesign(mu=5.0, outcome_bound=2.0, regressor_bound=2.0)
>>> found = release_clipped(z, x, 0.5 * x + rng.exponential(1.0, 4000) - 1, design, GaussianSource(rng))
>>> found.release.q, 0.5 in found.confidence_set(), found.counts.rho(0.95).least > 0.8
(1, True, True)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, moderate, real, vector, within
from dpbounds.iv.confidence import (
    ADJACENCIES,
    Adjacency,
    ClippedCounts,
    ConfidenceSet,
    MomentRelease,
    StretchShares,
    arms_release,
    box_weights,
    count_sensitivity,
    noise_scales,
    start_sensitivity,
    starting_line,
    stretch_shares,
    stretched_set,
)
from dpbounds.iv.confidence.stretched import CLIPPED_RATIO
from simulators.engine import Streams, trial_count
from simulators.iv.problems import RecordProblem
from simulators.sources import GaussianSource


@typed
@dataclass(frozen=True, kw_only=True)
class ClippedDesign:
    """Public constants of the release, which is `mu`-GDP.

    - `outcome_bound`, `regressor_bound`: half-widths of the ranges around `outcome_centre` and `regressor_centre`, to
      which values are clamped in stage 0, and the regressor in stage 1 too: `regressor_clamped` counts how often,
      otherwise its range must hold for every record.
    - `probability`: P(z = 1) where it is public, None spends budget on the arms' counts.
    - `heterogeneity`: a bound on a record's first stage over the mean.
    - `ratio`: the guess |beta - b0| X / C that the weights are made for.
    """

    mu: float
    outcome_bound: float
    regressor_bound: float
    outcome_centre: float = 0.0
    regressor_centre: float = 0.0
    probability: float | None = None
    regressor_clamped: bool = False
    heterogeneity: float = 1.0
    ratio: float = CLIPPED_RATIO
    adjacency: Adjacency = "replace-one"

    def __post_init__(self) -> None:
        for name in ("mu", "outcome_bound", "regressor_bound", "ratio"):
            moderate(name, getattr(self, name))
        for name in ("outcome_centre", "regressor_centre"):
            real(name, getattr(self, name))
        if self.probability is not None:
            within("probability", self.probability, "(0, 1)")
        within("heterogeneity", self.heterogeneity, "[1, 1e12]")
        choice("adjacency", self.adjacency, ADJACENCIES)

    @property
    def shares(self) -> StretchShares:
        """mu of the parts."""
        return stretch_shares(self.mu)

    @property
    def start_scale(self) -> float:
        """s0, the standard deviation of the noise of stage 0."""
        return float(start_sensitivity(self.adjacency)) / self.shares.start

    @property
    def tables(self) -> int:
        """Of counts: residuals, and where it is clamped the regressor."""
        return 1 + self.regressor_clamped

    @property
    def count_scale(self) -> float:
        """The standard deviation of the noise of the counts of clipped records."""
        return float(count_sensitivity(self.adjacency, self.tables)) / self.shares.counts

    @property
    def moment_scales(self) -> tuple[float, float]:
        """s1 and s2, in units of records of norm at most 1."""
        first, second = noise_scales(self.shares.moments, adjacency=self.adjacency)
        return float(first), float(second)


class ClippedRelease(NamedTuple):
    """The release of stage 1 in the units of x and y; `slope` is b0, `clip` is C, `counts` what limits rho."""

    release: MomentRelease
    slope: float
    clip: float
    counts: ClippedCounts

    def confidence_set(self, level: float = 0.95) -> ConfidenceSet:
        """The stretched set."""
        return stretched_set(self.release, self.counts, self.slope, level)


@typed
def release_clipped(
    z: Float[np.ndarray, " n"],
    x: Float[np.ndarray, " n"],
    y: Float[np.ndarray, " n"],
    design: ClippedDesign,
    source: GaussianSource,
) -> ClippedRelease:
    """Both stages. Raises `DomainError` for instruments other than 0 and 1, and for an arm whose noisy count is small:
    the budget of stage 0 is spent then.
    """
    if not np.isin(z, (0.0, 1.0)).all():
        raise DomainError("z", "other values", "0 or 1")
    n = len(z)
    unit_x = (x - design.regressor_centre) / design.regressor_bound
    unit_y = (y - design.outcome_centre) / design.outcome_bound
    within_x, within_y = np.clip(unit_x, -1.0, 1.0), np.clip(unit_y, -1.0, 1.0)
    rows = np.stack([z, within_x, within_y, within_x**2, within_x * within_y, within_y**2])
    sums = source.vector(source.sums(rows), design.start_scale)
    start = starting_line(sums[1:], n, design.start_scale)
    residual = unit_y - start.intercept - start.slope * unit_x
    beyond = _cells(residual >= start.clip, residual <= -start.clip, z)
    if design.regressor_clamped:
        beyond = np.concatenate([beyond, _cells(unit_x > 1.0, unit_x < -1.0, z)])
    table = source.vector(source.sums(beyond), design.count_scale)
    pi = design.probability
    per_arm = (n - sums[0], sums[0]) if pi is None else (n * (1 - pi), n * pi)
    counts = ClippedCounts(
        table.reshape((2, 2, 2) if design.regressor_clamped else (2, 2)),
        design.count_scale,
        (float(per_arm[0]), float(per_arm[1])),
        design.start_scale if pi is None else 0.0,
        design.heterogeneity,
    )
    a_y, (a_x,) = box_weights(start.clip, (1.0,), design.ratio)
    v = np.stack([np.clip(residual, -start.clip, start.clip) / a_y, within_x / a_x])
    weights = float(a_y) * design.outcome_bound, float(a_x) * design.regressor_bound
    release = _moments(v, z, design, source, counts, weights)
    unit = design.outcome_bound / design.regressor_bound
    return ClippedRelease(release, start.slope * unit, start.clip * design.outcome_bound, counts)


@typed
def without_clipping(
    z: Float[np.ndarray, " n"], x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], adjacency: Adjacency
) -> MomentRelease:
    """The difference of the arms' means of the records as they are, without noise: not private."""
    z, x, y = (vector(name, values) for name, values in (("z", z), ("x", x), ("y", y)))
    if not len(z) == len(x) == len(y):
        raise DomainError("y", f"{len(y)} numbers", f"as many as z and x have, {len(z)} and {len(x)}")
    arms = np.stack([z, 1.0 - z])
    u = (np.stack([y, x])[:, None] * arms).reshape(4, -1)
    return arms_release(
        u.sum(axis=1).reshape(2, 2),
        u @ u.T,
        scales=(0.0, 0.0),
        per_arm=(len(z) - z.sum(), z.sum()),
        arm_scale=0.0,
        outcome_weight=1.0,
        regressor_weight=1.0,
        n=len(z),
        adjacency=adjacency,
    )


@typed
def clipped_releases(
    problem: RecordProblem, design: ClippedDesign, streams: Streams, trials: int
) -> Iterator[ClippedRelease]:
    """`trials` releases one by one, of a problem whose instrument takes two values: the larger counts as 1."""
    for _ in range(trial_count(trials)):
        sample = problem.draw(streams.data, 1, records=True)
        z = (sample.instruments[0, 0] > 0).astype(float)
        yield release_clipped(z, sample.regressors[0, 0], sample.outcome[0], design, GaussianSource(streams.noise))


def _moments(
    v: np.ndarray,
    z: np.ndarray,
    design: ClippedDesign,
    source: GaussianSource,
    counts: ClippedCounts,
    weights: tuple[float, float],
) -> MomentRelease:
    """T1 and T2 of v ⊗ z̃, as a release of one instrument."""
    (s1, s2), n, pi = design.moment_scales, len(z), design.probability
    arms = np.stack([z, 1.0 - z]) if pi is None else (z - pi)[None] / max(pi, 1 - pi)
    u = (v[:, None] * arms).reshape(-1, n)
    first, second = source.vector(source.sums(u), s1), source.symmetric(source.gram(u), s2)
    if pi is None:
        return arms_release(
            first.reshape(2, 2),
            second,
            scales=(s1, s2),
            per_arm=counts.per_arm,
            arm_scale=counts.arm_scale,
            outcome_weight=weights[0],
            regressor_weight=weights[1],
            n=n,
            adjacency=design.adjacency,
        )
    return MomentRelease(
        first=first,
        second=second,
        first_scale=s1,
        second_scale=s2,
        outcome_weight=weights[0],
        regressor_weights=np.array([weights[1]]),
        n=n,
        adjacency=design.adjacency,
    )


def _cells(above: np.ndarray, below: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Whether a record is on a side and in an arm: (4, n), sides first."""
    return np.stack([side & (z == arm) for side in (above, below) for arm in (0.0, 1.0)]).astype(float)
