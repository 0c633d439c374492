"""The two-stage release of one data set, for any number of instruments, with noise from a given source.

Stage 0 takes `share` of mu²: per cell of controls two counts with noise of their own and the sums of z, x, y, beside
totals of x², xy, y², where |z| <= 1 (Euclidean) and x, y lie in [-1, 1]; a record that is replaced may change its cell.
zbar divides by the first count, xbar and ybar by the second: their errors are then independent, the moment stays
unbiased, and its extra variance (`cell_form`) is known. Stage 1 is release U of z - zbar and of (y - ybar) - b0 (x -
xbar), x - xbar, in boxes that follow from stage 0: nothing is clamped there. Without controls all records are one cell,
which stands for the intercept. `controls` has the same for many trials and one instrument.

>>> z = np.where(np.arange(900) % 2, 0.5, -0.5)
>>> records = CellRecords(Z=z[:, None], x=z, y=0.5 * z, cells=np.zeros(900, dtype=int), K=1)
>>> design = StagedDesign(mu=20.0, instrument_bound=1.0)
>>> staged = release_staged(records, design, GaussianSource(np.random.default_rng(0)))
>>> staged.release.q, bool(staged.means.kept.all()), abs(staged.slope - 0.5) < 0.1
(1, True, True)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, moderate, within
from dpbounds.iv.confidence import (
    ADJACENCIES,
    Adjacency,
    MomentRelease,
    box_weights,
    cell_form,
    cell_sensitivity,
    noise_scales,
)
from dpbounds.iv.confidence.budget import CENTRING_SHARE
from dpbounds.iv.confidence.plan import DEFAULT_RATIO
from simulators.iv.confidence.controls import StageZero, residual_moments
from simulators.sources import GaussianSource

# Cells whose noisy counts are not above this many standard deviations of their noise are left out.
SMALLEST = 4.0
# The recentring slope in units of the ranges, at most.
STEEPEST = 4.0


@dataclass(frozen=True, kw_only=True, eq=False)
class CellRecords:
    """Z (n, q), x and y (n,) in units of public ranges, so in [-1, 1] each; cells (n,) are numbers below `K`."""

    Z: np.ndarray
    x: np.ndarray
    y: np.ndarray
    cells: np.ndarray
    K: int


@typed
@dataclass(frozen=True, kw_only=True)
class StagedDesign:
    """Public constants of the release, which is `mu`-GDP.

    `instrument_bound`: z is divided by its norm or by this, whichever is larger, before it is centred, so that |z| <= 1
    (harmless for any value: a function of z alone); `ratio`: the guess |beta| X / Y that the weights are made for.
    """

    mu: float
    instrument_bound: float
    ratio: float = DEFAULT_RATIO
    share: float = CENTRING_SHARE
    adjacency: Adjacency = "replace-one"

    def __post_init__(self) -> None:
        for name in ("mu", "instrument_bound", "ratio"):
            moderate(name, getattr(self, name))
        within("share", self.share, "(0, 1)")
        choice("adjacency", self.adjacency, ADJACENCIES)

    @property
    def budgets(self) -> tuple[float, float]:
        """mu of the stages; their squares add to mu²."""
        return self.mu * math.sqrt(self.share), self.mu * math.sqrt(1 - self.share)

    @property
    def sensitivity(self) -> float:
        """How far one record moves all sums of stage 0 together."""
        return float(cell_sensitivity(self.adjacency))

    @property
    def cell_scale(self) -> float:
        """s0, the standard deviation of the noise of stage 0."""
        return self.sensitivity / self.budgets[0]


class CellMeans(NamedTuple):
    """What stage 0 releases, per cell: counts (K, 2), means of z (K, q), x and y (K,), which cells are kept (K,)."""

    counts: np.ndarray
    z: np.ndarray
    x: np.ndarray
    y: np.ndarray
    kept: np.ndarray


class Boxes(NamedTuple):
    """Bounds of stage 1: of |z - zbar|, of the residuals of y and x, and their weights."""

    instruments: float
    outcome_weight: float
    regressor_weight: float


class Staged(NamedTuple):
    """The release of stage 1 in units of the ranges; `slope` is b0, to be added to its coefficient."""

    release: MomentRelease
    slope: float
    means: CellMeans
    boxes: Boxes


@typed
def release_staged(records: CellRecords, design: StagedDesign, source: GaussianSource) -> Staged:
    """Both stages. Raises `DomainError` where no cell is large enough; what it says follows from stage 0 alone."""
    unit = _bounded(records, design)
    means, slope = stage_zero(unit, design, source)
    boxes = boxes_of(means, slope, design.ratio)
    u = vectors(unit, means, slope, boxes)
    s1, s2 = noise_scales(design.budgets[1], adjacency=design.adjacency)
    first = source.vector(source.sums(u), s1)
    second = source.symmetric(source.gram(u), s2) + extra_variance(means, slope, boxes, design.cell_scale)
    return Staged(_release(first, second, (s1, s2), boxes, len(records.x), design), slope, means, boxes)


@typed
def without_noise(records: CellRecords, design: StagedDesign, slope: float = 0.0) -> MomentRelease:
    """Stage 1 around exact means, without noise: not private. `slope` is b0."""
    unit = _bounded(records, design)
    counts = np.bincount(unit.cells, minlength=unit.K).astype(float)
    sums = [np.bincount(unit.cells, row, minlength=unit.K) for row in (*unit.Z.T, unit.x, unit.y)]
    *z, x, y = np.array(sums) / np.maximum(counts, 1)
    means = CellMeans(np.stack([counts, counts], axis=1), np.stack(z, axis=1), x, y, counts > 0)
    boxes = boxes_of(means, slope, design.ratio)
    u = vectors(unit, means, slope, boxes)
    return _release(u.sum(axis=1), u @ u.T, (0.0, 0.0), boxes, len(records.x), design)


def stage_zero(unit: CellRecords, design: StagedDesign, source: GaussianSource) -> tuple[CellMeans, float]:
    """Means in cells, 0 in cells that are left out, and the least squares slope of y on x within cells."""
    scale, q = design.cell_scale, unit.Z.shape[1]
    rows = np.column_stack([np.ones(len(unit.x)), unit.Z, unit.x, unit.y]).T
    order = np.argsort(unit.cells, kind="stable")
    ends = np.cumsum(np.bincount(unit.cells, minlength=unit.K))[:-1]
    sums = np.stack([source.sums(part) for part in np.split(rows[:, order], ends, axis=1)])
    cells = source.vector(np.column_stack([sums[:, 0], sums]), scale)
    totals = source.vector(source.sums(np.stack([unit.x**2, unit.x * unit.y, unit.y**2])), scale)
    counts = cells[:, :2]
    kept = counts.min(axis=1) > SMALLEST * scale
    if not kept.any():
        name, found = ("controls", f"{unit.K} cells") if unit.K > 1 else ("n", f"{len(unit.x)} records")
        allowed = f"of more than {SMALLEST * scale:.0f} records in some cell at this budget"
        remedy = "the noise in their counts is as large: more epsilon, or fewer cells; this stage's budget is spent"
        raise DomainError(name, found, allowed, remedy)
    divisors = np.where(kept[:, None], counts, 1.0)[:, [0] * q + [1, 1]]
    means = np.where(kept[:, None], cells[:, 2:] / divisors, 0.0)
    z = means[:, :q] / np.maximum(np.linalg.norm(means[:, :q], axis=1), 1.0)[:, None]
    x, y = np.clip(means[:, q:], -1.0, 1.0).T
    # The sums of z have no part in the slope.
    stage = StageZero(np.column_stack([counts, counts[:, 0], cells[:, -2:]])[None], totals[None])
    columns = np.stack([np.zeros(unit.K), x, y], axis=1)[None]
    xx, xy, _ = residual_moments(stage, columns, kept[None], scale)[0]
    return CellMeans(counts, z, x, y, kept), float(np.clip(xy / max(xx, 2 * scale), -STEEPEST, STEEPEST))


def boxes_of(means: CellMeans, slope: float, ratio: float) -> Boxes:
    """As wide as a record can lie from the released means: nothing is clamped."""
    kept = means.kept
    furthest = 1.0 + float(np.linalg.norm(means.z[kept], axis=1).max())
    x, y = (1.0 + float(np.abs(part[kept]).max()) for part in (means.x, means.y))
    outcome_weight, regressor_weights = box_weights(y + abs(slope) * x, (x,), ratio)
    return Boxes(furthest, float(outcome_weight), float(regressor_weights[0]))


def vectors(unit: CellRecords, means: CellMeans, slope: float, boxes: Boxes) -> np.ndarray:
    """u (2 q, n), of norm at most 1; 0 for records in cells that are left out."""
    own = unit.cells
    Z = (unit.Z - means.z[own]).T / boxes.instruments
    x = unit.x - means.x[own]
    y = unit.y - means.y[own] - slope * x
    v = np.stack([y / boxes.outcome_weight, x / boxes.regressor_weight]) * means.kept[own]
    return (v[:, None] * Z[None]).reshape(-1, len(own))


def extra_variance(means: CellMeans, slope: float, boxes: Boxes, scale: float) -> np.ndarray:
    """Covariance (2 q, 2 q) that errors in the means add to the moments, in units of u.

    In each cell it is a quadratic form in (1, -beta) times (I + zbar zbar'); both are read off `cell_form`, which is
    that of one instrument.
    """
    q, kept = means.z.shape[1], means.kept
    counts, x, y, Z = (part[kept] for part in (means.counts[:, 0], means.x, means.y, means.z))

    def form(z: np.ndarray) -> np.ndarray:
        return cell_form(counts.tolist(), z.tolist(), x.tolist(), y.tolist(), scale=scale, centre=slope)

    bare = form(np.zeros(len(counts)))
    own = [form(column) - bare for column in Z.T]
    total = np.zeros((2, q, 2, q))
    for k in range(q):
        total[:, k, :, k] = bare + own[k]
        for m in range(k):
            total[:, k, :, m] = total[:, m, :, k] = (form(Z[:, k] + Z[:, m]) - bare - own[k] - own[m]) / 2
    units = np.repeat([1 / boxes.outcome_weight, 1 / boxes.regressor_weight], q) / boxes.instruments
    return total.reshape(2 * q, 2 * q) * units[:, None] * units


def _bounded(records: CellRecords, design: StagedDesign) -> CellRecords:
    Z, x, y = (np.clip(part, -1.0, 1.0) for part in (records.Z, records.x, records.y))
    length = np.maximum(np.linalg.norm(Z, axis=1), design.instrument_bound)
    return CellRecords(Z=Z / length[:, None], x=x, y=y, cells=records.cells, K=records.K)


def _release(
    first: np.ndarray,
    second: np.ndarray,
    scales: tuple[float, float],
    boxes: Boxes,
    n: int,
    design: StagedDesign,
) -> MomentRelease:
    return MomentRelease(
        first=first,
        second=second,
        first_scale=scales[0],
        second_scale=scales[1],
        outcome_weight=boxes.outcome_weight,
        regressor_weights=np.array([boxes.regressor_weight]),
        n=n,
        adjacency=design.adjacency,
    )
