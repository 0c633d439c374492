"""The two-stage release with public controls: noisy cell means first, then release U on what they leave.

Stage 0 spends part of mu^2 on sums per cell: two independently noised counts N1, N2 and sums of z, x, y, beside totals
of x^2, xy, y^2; z, x, y lie in [-1, 1]. Stage 1 is release U of z - zbar_c and (y - ybar_c) - b0 (x - xbar_c),
x - xbar_c, all means and b0 from stage 0. zbar uses N1, xbar and ybar use N2: the errors of zbar and of
ybar - beta xbar are then independent, and the moment stays unbiased; its extra variance (`cell_form`) is added to the
second moments.

>>> from simulators.iv.confidence import CellModel
>>> rng = np.random.default_rng(0)
>>> streams = Streams(noise=rng, data=rng, initial=rng)
>>> arrays = release_controlled(CellModel(n=400, cells=4), TwoStageDesign(mu=3.0), streams, 6)
>>> arrays["first"].shape, arrays["second"].shape
((6, 2), (6, 2, 2))
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, get_args

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import choice, in_floats, moderate, moderate_or_zero, within
from dpbounds.iv.confidence import ADJACENCIES, Adjacency, MomentRelease, box_weights, noise_scales
from dpbounds.iv.confidence.budget import CENTRING_SHARE
from dpbounds.iv.confidence.cells import cell_form, cell_sensitivity
from dpbounds.iv.confidence.plan import DEFAULT_RATIO
from simulators.engine import Arrays, Streams, trial_count
from simulators.iv.confidence.models import CellSample
from simulators.iv.confidence.noise import symmetric_noise
from simulators.iv.samples import block_sizes

Ranges = Literal["range", "scale"]
# |z - zbar| for z and zbar in [-1, 1]; likewise |x - xbar|, and |y - ybar|.
WIDEST = 2.0


class CellProblem(Protocol):
    """What the release asks of its data."""

    @property
    def n(self) -> int:
        """Records in a data set."""
        ...

    @property
    def cells(self) -> int:
        """Cells of controls."""
        ...

    def draw_cells(self, generator: np.random.Generator, trials: int) -> CellSample:
        """The records of `trials` data sets; z, x, y in [-1, 1]."""
        ...


@typed
@dataclass(frozen=True, kw_only=True)
class TwoStageDesign:
    """Public constants of the release, which is `mu`-GDP.

    - `share`: the part of mu^2 for stage 0.
    - `ranges`: bounds of the residuals of y and x in stage 1: `range`, the widest possible, or `scale`, `multiple`
      times an upper estimate of their deviation, sqrt(v + `allowance` deviations of its noise) with v from stage 0.
    - `dropped`: cells whose noisy counts are not above this many deviations of their noise are left out.
    - `slope_limit`: b0 is clamped to +-this.
    """

    mu: float
    share: float = CENTRING_SHARE
    ranges: Ranges = "range"
    multiple: float = 4.0
    allowance: float = 2.0
    dropped: float = 4.0
    slope_limit: float = 4.0
    ratio: float = DEFAULT_RATIO
    adjacency: Adjacency = "zero-out"

    def __post_init__(self) -> None:
        for name in ("mu", "multiple", "dropped", "slope_limit", "ratio"):
            moderate(name, getattr(self, name))
        moderate_or_zero("allowance", self.allowance)
        within("share", self.share, "(0, 1)")
        choice("ranges", self.ranges, get_args(Ranges))
        choice("adjacency", self.adjacency, ADJACENCIES)
        in_floats(self, "mu", "share", "multiple", "allowance", "dropped", "slope_limit", "ratio")

    @property
    def budgets(self) -> tuple[float, float]:
        """mu of the stages; their squares add to mu^2."""
        return self.mu * math.sqrt(self.share), self.mu * math.sqrt(1.0 - self.share)

    @property
    def cell_scale(self) -> float:
        """s0, the standard deviation of the noise in stage 0."""
        return float(cell_sensitivity(self.adjacency)) / self.budgets[0]

    @property
    def scales(self) -> tuple[float, float]:
        """s1 and s2 of stage 1."""
        first, second = noise_scales(self.budgets[1], adjacency=self.adjacency)
        return float(first), float(second)


class StageZero(NamedTuple):
    """What stage 0 releases: per cell (trials, K, 5) N1, N2 and the sums of z, x, y; totals (trials, 3)."""

    cells: np.ndarray
    totals: np.ndarray


@typed
def release_controlled(problem: CellProblem, settings: TwoStageDesign, streams: Streams, trials: int) -> Arrays:
    """`trials` releases: `first` (trials, 2) and `second` (trials, 2, 2) of stage 1, the extra variance added;
    `extra` (trials, 2, 2), that variance; `outcome_weight`, `regressor_weight` and `centre`, the b0 that is to be added
    to its coefficient, (trials,); `kept` (trials,), the share of records in cells not dropped, which is not private.
    """
    trials = trial_count(trials)
    parts = []
    for size in block_sizes(12 * (problem.n + problem.cells), trials):
        sample = problem.draw_cells(streams.data, size)
        released = stage_zero(sample, problem.cells, settings, streams.noise)
        parts.append(stage_one(sample, released, settings, streams.noise))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def stage_zero(sample: CellSample, cells: int, settings: TwoStageDesign, generator: np.random.Generator) -> StageZero:
    """Sums per cell and totals, with noise."""
    z, x, y = (np.clip(part, -1.0, 1.0) for part in (sample.instruments, sample.regressors, sample.outcome))
    trials = len(z)
    index = (sample.cells + cells * np.arange(trials)[:, None]).ravel()
    columns = [np.bincount(index, weights, minlength=trials * cells) for weights in (None, *map(np.ravel, (z, x, y)))]
    sums = np.stack([columns[0], *columns], axis=1).reshape(trials, cells, 5).astype(float)
    totals = np.stack([np.einsum("tn,tn->t", *pair) for pair in ((x, x), (x, y), (y, y))], axis=1)
    noise = settings.cell_scale
    return StageZero(
        sums + noise * generator.standard_normal(sums.shape), totals + noise * generator.standard_normal(totals.shape)
    )


def cell_means(released: StageZero, settings: TwoStageDesign) -> tuple[np.ndarray, np.ndarray]:
    """Means of z, x, y per cell (trials, K, 3), in [-1, 1], 0 in cells that are dropped; which are kept (trials, K)."""
    counts = released.cells[..., :2]
    kept = counts.min(axis=-1) > settings.dropped * settings.cell_scale
    divisors = np.where(kept[..., None], counts[..., [0, 1, 1]], 1.0)
    means = np.where(kept[..., None], released.cells[..., 2:] / divisors, 0.0)
    return np.clip(means, -1.0, 1.0), kept


def residual_moments(released: StageZero, means: np.ndarray, kept: np.ndarray, scale: float) -> np.ndarray:
    """Sums of squares and products within cells: Sxx, Sxy, Syy, (trials, 3).

    Products of noisy means are too large by their covariance, scale^2 (1 + xbar^2) / N for xx, scale^2 xbar ybar / N
    for xy: that is taken off.
    """
    counts = np.where(kept, released.cells[..., 1], 0.0)
    x, y = means[..., 1], means[..., 2]
    inverse = 1.0 / np.where(kept, released.cells[..., 1], np.inf)
    between = [
        (counts * left * right - scale**2 * inverse * (same + left * right)).sum(axis=1)
        for left, right, same in ((x, x, 1.0), (x, y, 0.0), (y, y, 1.0))
    ]
    return released.totals - np.stack(between, axis=1)


def stage_one(
    sample: CellSample, released: StageZero, settings: TwoStageDesign, generator: np.random.Generator
) -> Arrays:
    """Release U of what the means of stage 0 leave: the arrays of `release_controlled`."""
    means, kept = cell_means(released, settings)
    trials, scale = len(means), settings.cell_scale
    squares = residual_moments(released, means, kept, scale)
    centre = squares[:, 1] / np.maximum(squares[:, 0], 2.0 * scale)
    centre = np.clip(centre, -settings.slope_limit, settings.slope_limit)
    outcome_bound, regressor_bound = _bounds(squares, centre, sample.outcome.shape[1], settings)
    unit_outcome, unit_regressor = box_weights(1.0, (1.0,), settings.ratio)
    outcome_weight, regressor_weight = unit_outcome * outcome_bound, float(unit_regressor[0]) * regressor_bound

    own = np.take_along_axis(means, sample.cells[..., None], axis=1)
    inside = np.take_along_axis(kept, sample.cells, axis=1)
    z = inside * (np.clip(sample.instruments, -1.0, 1.0) - own[..., 0]) / WIDEST
    x = np.clip(sample.regressors, -1.0, 1.0) - own[..., 1]
    y = np.clip(sample.outcome, -1.0, 1.0) - own[..., 2] - centre[:, None] * x
    x = np.clip(x, -regressor_bound[:, None], regressor_bound[:, None]) / regressor_weight[:, None]
    y = np.clip(y, -outcome_bound[:, None], outcome_bound[:, None]) / outcome_weight[:, None]
    u = np.stack([y * z, x * z], axis=1)

    first_scale, second_scale = settings.scales
    first = np.add.reduce(u, axis=2) + first_scale * generator.standard_normal((trials, 2))
    second = u @ np.swapaxes(u, 1, 2) + symmetric_noise(generator, trials, 2, second_scale)
    weights = np.stack([outcome_weight, regressor_weight], axis=1)
    extra = extra_variance(released, means, kept, centre, scale)
    extra /= WIDEST**2 * weights[:, :, None] * weights[:, None, :]
    named = {"outcome_weight": outcome_weight, "regressor_weight": regressor_weight, "centre": centre, "extra": extra}
    return {"first": first, "second": second + extra, **named, "kept": inside.mean(axis=1)}


def extra_variance(
    released: StageZero, means: np.ndarray, kept: np.ndarray, centre: np.ndarray, scale: float
) -> np.ndarray:
    """The form of the extra variance, (trials, 2, 2), over the cells that are kept: `cell_form` around b0."""
    forms = np.zeros((len(means), 2, 2))
    for trial, use in enumerate(kept):
        if use.any():
            columns = released.cells[trial, use, 0], *means[trial, use].T
            forms[trial] = cell_form(*columns, scale=scale, centre=float(centre[trial]))
    return forms


def _bounds(squares: np.ndarray, centre: np.ndarray, n: int, settings: TwoStageDesign) -> tuple[np.ndarray, np.ndarray]:
    """Half-widths of the boxes of the residuals of y and x, (trials,) each."""
    outcome = WIDEST * (1.0 + np.abs(centre))
    regressor = np.full_like(outcome, WIDEST)
    if settings.ranges == "range":
        return outcome, regressor
    noise = settings.cell_scale / n
    form = np.stack([centre**2, -2.0 * centre, np.ones_like(centre)], axis=1)
    pairs = []
    for variance, loadings, widest in (
        (np.einsum("tk,tk->t", form, squares) / n, np.linalg.norm(form, axis=1), outcome),
        (squares[:, 0] / n, np.ones_like(centre), regressor),
    ):
        upper = np.maximum(variance, 0.0) + settings.allowance * noise * loadings
        pairs.append(np.clip(settings.multiple * np.sqrt(upper), 1e-3, widest))
    return pairs[0], pairs[1]


@typed
def controlled_releases(
    arrays: Mapping[str, np.ndarray], design: TwoStageDesign, n: int
) -> Iterator[tuple[MomentRelease, float]]:
    """The releases of stage 1 of all trials, each with the b0 that is to be added to its coefficients."""
    first_scale, second_scale = design.scales
    names = ("first", "second", "outcome_weight", "regressor_weight", "centre")
    for first, second, outcome_weight, regressor_weight, centre in zip(*(arrays[name] for name in names), strict=True):
        release = MomentRelease(
            first=first,
            second=second,
            first_scale=first_scale,
            second_scale=second_scale,
            outcome_weight=float(outcome_weight),
            regressor_weights=np.array([regressor_weight]),
            n=n,
            adjacency=design.adjacency,
        )
        yield release, float(centre)
