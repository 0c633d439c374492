"""Beyond the paper: private releases in two stages, written out from the same draws, record by record."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpbounds.iv.confidence import ADJACENCIES, Adjacency, arms_release, noise_scales
from simulators.engine import Streams
from simulators.iv.confidence import (
    CellModel,
    ClippedDesign,
    TwoStageDesign,
    clipped_releases,
    release_clipped,
    release_controlled,
    without_clipping,
)
from simulators.iv.confidence.controls import StageZero, stage_one, stage_zero
from simulators.iv.confidence.models import CellSample
from simulators.sources import GaussianSource
from verify.checks import Agreement, Fact, Holds, Times, refused, taken
from verify.papers.iv.tools.coverage import FixedRecords, records_of
from verify.statements.claims import Claim

_OFF = {"1e-6 off": {"facts": Times(1.000001)}}
SEED = 7


def _generator() -> np.random.Generator:
    """The one that a release draws from, again."""
    return np.random.default_rng(SEED)


def _cut(value: float, bound: float = 1.0) -> float:
    return min(max(value, -bound), bound)


def _box(outcome: float, regressor: float, ratio: float) -> tuple[float, float]:
    """a_y and a_x: a_y² = Y W and a_x² = X W / |beta| where |beta| X = ratio Y and W = (1 + ratio) Y."""
    return outcome * math.sqrt(1 + ratio), regressor * math.sqrt((1 + ratio) / ratio)


def _symmetric(normals: np.ndarray, scale: float) -> np.ndarray:
    return scale * (normals + normals.swapaxes(-1, -2)) / 2


# --- cells of controls ---

# N1, N2 and the sums of z, x and y: an ordinary cell; one whose second count is small; one with a mean of z below -1.
CELLS = ((9.5, 12.0, 2.0, -3.0, 4.0), (30.0, 7.9, 5.0, 20.0, -6.0), (20.0, 25.0, -30.0, 4.0, 9.0))
# Totals of x², xy and y²: a slope, one beyond each limit, hardly any x², and less than the noise takes off.
TOTALS = ((40.0, -12.0, 31.0), (21.0, 25.0, 44.0), (19.0, -23.0, 52.0), (3.1, 1.7, 8.0), (-15.0, 4.0, -20.0))
N, CELL_MU, SHARE = 23, 3.0, 0.3
SETTINGS: dict[str, Any] = {"multiple": 2.5, "dropped": 4.0, "slope_limit": 0.8, "ratio": 0.7, "share": SHARE}


def _cell_sample(rng: np.random.Generator, trials: int) -> CellSample:
    """One value in three is beyond [-1, 1]."""
    z, x, y = rng.standard_normal((3, trials, N))
    return CellSample(cells=rng.integers(0, 3, (trials, N)), instruments=z, regressors=x, outcome=y)


def _stage_zero(rng: np.random.Generator) -> Iterator[Fact]:
    """Counts, sums and totals of clamped values, record by record, and their noise."""
    sample = _cell_sample(rng, 2)
    for adjacency, length in (("zero-out", math.sqrt(8)), ("replace-one", math.sqrt(14))):
        design = TwoStageDesign(mu=CELL_MU, adjacency=adjacency, **SETTINGS)  # pyright: ignore[reportArgumentType]
        found, own = stage_zero(sample, 3, design, _generator()), _generator()
        scale = length / (CELL_MU * math.sqrt(SHARE))
        cells, totals = scale * own.standard_normal((2, 3, 5)), scale * own.standard_normal((2, 3))
        for trial, i in itertools.product(range(2), range(N)):
            z, x, y = (_cut(part[trial, i]) for part in (sample.instruments, sample.regressors, sample.outcome))
            cells[trial, sample.cells[trial, i]] += [1, 1, z, x, y]
            totals[trial] += [x * x, x * y, y * y]
        yield Fact(f"stage 0, {adjacency}: cells", found.cells, cells)
        yield Fact(f"stage 0, {adjacency}: totals", found.totals, totals)
    # With one record or so in a cell all cells are dropped, and nothing but noise is left.
    problem, design = CellModel(n=5, cells=5), TwoStageDesign(mu=CELL_MU, **SETTINGS)
    arrays = release_controlled(problem, design, Streams(noise=_generator(), data=_generator(), initial=rng), 3)
    yield Fact(
        "as many cells as records: kept, and extra variance", [*arrays["kept"], arrays["extra"].max()], [0.0] * 4
    )


def _stage_one(rng: np.random.Generator) -> Iterator[Fact]:
    """From the same sums of stage 0: a cell that is dropped, slopes between and beyond their limits, boxes that are as
    small and as wide as they may be.
    """
    trials = len(TOTALS)
    sample = _cell_sample(rng, trials)
    released = StageZero(np.tile(np.array(CELLS), (trials, 1, 1)), np.array(TOTALS))
    cases: tuple[tuple[str, Adjacency, float, float], ...] = (
        ("scale", "replace-one", 1.5, math.sqrt(14)),
        ("scale", "zero-out", 0.0, math.sqrt(8)),
        ("range", "zero-out", 0.0, math.sqrt(8)),
    )
    for ranges, adjacency, allowance, length in cases:
        kind: Any = ranges
        design = TwoStageDesign(mu=CELL_MU, ranges=kind, adjacency=adjacency, allowance=allowance, **SETTINGS)
        s0, own = length / (CELL_MU * math.sqrt(SHARE)), _generator()
        s1, s2 = map(float, noise_scales(CELL_MU * math.sqrt(1 - SHARE), adjacency=adjacency))
        noise = s1 * own.standard_normal((trials, 2)), _symmetric(own.standard_normal((trials, 2, 2)), s2)
        found = stage_one(sample, released, design, _generator())
        for trial in range(trials):
            stated = _by_records(sample, trial, s0, ranges, allowance)
            stated["first"], stated["second"] = stated["first"] + noise[0][trial], stated["second"] + noise[1][trial]
            for name, value in stated.items():
                yield Fact(f"{name} of trial {trial}, {ranges}, {adjacency}", found[name][trial], value, 1e-11)


def _by_records(sample: CellSample, trial: int, s0: float, ranges: str, allowance: float) -> dict[str, Any]:
    """Release U of what the means of the cells leave, without its noise."""
    kept = {c: cell for c, cell in enumerate(CELLS) if min(cell[:2]) > SETTINGS["dropped"] * s0}
    means = {c: (_cut(z / n1), _cut(x / n2), _cut(y / n2)) for c, (n1, n2, z, x, y) in kept.items()}
    xx, xy, yy = TOTALS[trial]
    for c, (_, x, y) in means.items():
        n2 = CELLS[c][1]
        xx, xy, yy = (
            total - n2 * product + s0**2 * (same + product) / n2
            for total, product, same in ((xx, x * x, 1), (xy, x * y, 0), (yy, y * y, 1))
        )
    b0 = _cut(xy / max(xx, 2 * s0), 0.8)
    boxes = [2 * (1 + abs(b0)), 2.0]
    if ranges == "scale":
        left = yy - 2 * b0 * xy + b0**2 * xx
        for side, (variance, loading) in enumerate(((left, math.sqrt(1 + 4 * b0**2 + b0**4)), (xx, 1.0))):
            upper = max(variance, 0.0) / N + allowance * s0 / N * loading
            boxes[side] = min(max(2.5 * math.sqrt(upper), 0.001), boxes[side])
    a_y, a_x = _box(boxes[0], boxes[1], 0.7)
    first, second, inside = np.zeros(2), np.zeros((2, 2)), 0
    for i in range(N):
        c = int(sample.cells[trial, i])
        z, x, y = (_cut(part[trial, i]) for part in (sample.instruments, sample.regressors, sample.outcome))
        if c in means:
            inside += 1
            z, x, y = (value - mean for value, mean in zip((z, x, y), means[c], strict=True))
            u = z / 2 * np.array([_cut(y - b0 * x, boxes[0]) / a_y, _cut(x, boxes[1]) / a_x])
            first, second = first + u, second + np.outer(u, u)
    # Along (1, -t) the form is the sum of w (1 + beta² + (ybar - beta xbar)²) with beta = b0 + t.
    form = np.zeros((2, 2))
    for c, (z, x, y) in means.items():
        weight, e = s0**4 * (1 + z * z) / CELLS[c][0] ** 2, y - b0 * x
        form += weight * np.array([[1 + b0**2 + e * e, x * e - b0], [x * e - b0, 1 + x * x]])
    extra = form / 4 / np.outer([a_y, a_x], [a_y, a_x])
    return {
        "outcome_weight": a_y,
        "regressor_weight": a_x,
        "centre": b0,
        "kept": inside / N,
        "extra": extra,
        "first": first,
        "second": second + extra,
    }


# --- clipped residuals ---

CLIPPED: dict[str, Any] = {
    "mu": 5.0,
    "outcome_bound": 3.0,
    "regressor_bound": 2.0,
    "outcome_centre": 0.7,
    "regressor_centre": -0.4,
    "heterogeneity": 1.3,
    "ratio": 0.6,
}


def _clipped(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Both stages by loops over records, some beyond their ranges: arms known or not, one table of counts or two."""
    n = 70
    z = (rng.random(n) < 0.4).astype(float)
    x = 1.5 * z + 1.3 * rng.standard_normal(n)
    x[:4] = -0.4 + 2 * np.array([1.03, -1.03, 0.97, -0.97])  # just beyond its range and just inside
    y = 0.8 * x + 2.5 * rng.standard_normal(n)
    for adjacency, pi, counted in itertools.product(ADJACENCIES, (None, 0.3, 0.6), (False, True)):
        design = ClippedDesign(probability=pi, regressor_clamped=counted, adjacency=adjacency, **CLIPPED)
        found = release_clipped(z, x, y, design, GaussianSource(_generator()))
        label, own = f"{adjacency}, P = {pi}, {1 + counted} of counts", _generator()
        unit_x, unit_y = (x + 0.4) / 2, (y - 0.7) / 3
        s0 = (3 if adjacency == "replace-one" else math.sqrt(6)) / 2.5
        sums = s0 * own.standard_normal(6)
        for arm, a, b in zip(z, unit_x, unit_y, strict=True):
            a, b = _cut(a), _cut(b)
            sums += [arm, a, b, a * a, a * b, b * b]
        mean_x, mean_y, xx, xy, yy = sums[1:] / n
        xx, xy, yy = xx - mean_x**2, xy - mean_x * mean_y, yy - mean_y**2
        b0 = xy / xx
        C = 3 * math.sqrt(yy - 2 * b0 * xy + b0**2 * xx + 2 * s0 / n)
        yield Fact(f"b0 and C, {label}", [found.slope, found.clip], [b0 * 1.5, C * 3], 1e-11)
        residual = unit_y - mean_y - b0 * (unit_x - mean_x)
        yield from _counts(found, z, residual / C, unit_x if counted else None, own, label)
        sizes = (n - sums[0], sums[0]) if pi is None else (n * (1 - pi), n * pi)
        yield Fact(f"arms, {label}", found.counts.per_arm, sizes)
        noise = [found.counts.arm_scale, found.counts.heterogeneity]
        yield Fact(f"noise of the arms and H, {label}", noise, [s0 if pi is None else 0.0, 1.3])
        a_y, a_x = _box(C, 1.0, 0.6)
        s1, s2 = map(float, noise_scales(5 * math.sqrt(0.72), adjacency=adjacency))
        size = 4 if pi is None else 2
        first, second = np.zeros(size), np.zeros((size, size))
        for arm, a, e in zip(z, unit_x, residual, strict=True):
            arms = [arm, 1 - arm] if pi is None else [(arm - pi) / (0.7 if pi == 0.3 else 0.6)]
            u = np.kron([_cut(e, C) / a_y, _cut(a) / a_x], arms)
            first, second = first + u, second + np.outer(u, u)
        first += s1 * own.standard_normal(size)
        rows, columns = np.triu_indices(size)
        entries = np.zeros((size, size))
        entries[rows, columns] = own.standard_normal(len(rows)) * np.where(rows == columns, 1.0, math.sqrt(0.5))
        second += s2 * (entries + np.triu(entries, 1).T)
        made = found.release
        if pi is None:
            stated = arms_release(
                first.reshape(2, 2), second, scales=(s1, s2), per_arm=sizes, arm_scale=s0, outcome_weight=a_y,
                regressor_weight=a_x, n=n, adjacency=adjacency,
            )  # fmt: skip
            first, second, s1, s2 = stated.first, stated.second, stated.first_scale, stated.second_scale
        yield Fact(f"first moments, {label}", made.first, first, 1e-11)
        yield Fact(f"second moments, {label}", made.second, second, 1e-11)
        yield Fact(f"noise, {label}", [made.first_scale, made.second_scale, made.n], [s1, s2, n], 1e-11)
        weights = [made.outcome_weight, float(made.regressor_weights[0])]
        yield Fact(f"weights, {label}", weights, [a_y * 3, a_x * 2], 1e-11)
        yield Holds(f"adjacency, {label}", made.adjacency == adjacency)
    yield from _one_by_one(z, x, y)


def _counts(
    found: Any, z: np.ndarray, shares: np.ndarray, x: np.ndarray | None, own: np.random.Generator, label: str
) -> Iterator[Fact]:
    """Records by side and arm, of the residual in units of C and of the regressor in units of its range."""
    sides = [shares] if x is None else [shares, x]
    table = np.zeros((len(sides), 2, 2))
    for place, values in enumerate(sides):
        for arm, value in zip(z, values, strict=True):
            if abs(value) > 1:
                table[place, int(value < 0), int(arm)] += 1
    cells = (1 if "zero-out" in label else 2) * len(sides)
    scale = math.sqrt(cells) / (5 * math.sqrt(0.03))
    table += scale * own.standard_normal(table.shape)
    yield Fact(f"counts, {label}", found.counts.table, table if x is not None else table[0], 1e-11)
    yield Fact(f"noise of counts, {label}", found.counts.scale, scale)


def _one_by_one(z: np.ndarray, x: np.ndarray, y: np.ndarray) -> Iterator[Fact | Holds]:
    """Releases of a problem, whose larger instrument counts as 1; instruments and arms that are refused."""
    design = ClippedDesign(**CLIPPED)
    problem: Any = FixedRecords(sample=records_of(2 * z[:, None] - 1, x[:, None], y))
    streams, source = Streams(noise=_generator(), data=_generator(), initial=_generator()), GaussianSource(_generator())
    for number, made in enumerate(clipped_releases(problem, design, streams, 2)):
        again = release_clipped(z, x, y, design, source)
        yield Fact(f"release {number} of a problem", made.release.first, again.release.first, 0.0)
    yield from _bare(z, x, y)
    yield refused("an instrument of 2", "z", lambda: release_clipped(2 * z, x, y, design, source))
    for sizes, fits in (((8.1, 61.9), True), ((7.9, 62.1), False), ((61.9, 8.1), True), ((62.1, 7.9), False)):

        def call(sizes: tuple[float, float] = sizes) -> Any:
            weights: dict[str, Any] = {"outcome_weight": 1.5, "regressor_weight": 0.6, "adjacency": "zero-out"}
            first, second = np.ones((2, 2)), 9 * np.eye(4)
            return arms_release(first, second, scales=(0.3, 0.4), per_arm=sizes, arm_scale=2.0, n=70, **weights)

        label = f"arms of {sizes[0]} and {sizes[1]} records with noise of 2"
        yield taken(label, call) if fits else refused(label, "instruments", call)


def _bare(z: np.ndarray, x: np.ndarray, y: np.ndarray) -> Iterator[Fact | Holds]:
    """Records as they are: h times the difference of means; its variance, by which means of arms vary."""
    bare, n, one = without_clipping(z, x, y, "zero-out"), len(z), z == 1
    h = one.sum() * (~one).sum() / n
    arms = [np.stack([y[arm], x[arm]]) for arm in (one, ~one)]
    means = [rows.mean(axis=1) for rows in arms]
    own = [np.cov(rows, bias=True) / rows.shape[1] for rows in arms]
    yield Fact("without clipping: first moments", bare.first, h * (means[0] - means[1]))
    yield Fact("without clipping: second moments", bare.second, h**2 * (own[0] + own[1]))
    rest = [bare.first_scale, bare.second_scale, bare.outcome_weight, bare.regressor_weights[0], bare.n]
    yield Fact("without clipping: noise, weights and n", rest, [0, 0, 1, 1, n], 0.0)
    yield Holds("without clipping: adjacency", bare.adjacency == "zero-out")
    yield refused("one outcome too few", "y", lambda: without_clipping(z, x, y[1:], "zero-out"))
    yield refused("one regressor too few", "y", lambda: without_clipping(z, x[1:], y, "zero-out"))


DRAWS = Claim(
    id="iv/beyond-confidence-draws",
    where="private releases, draw by draw",
    kind="algorithm",
    statement=(
        (
            "With public controls stage 0 gives counts, sums and totals of clamped values, and stage 1 the moments of "
            "what the means of the cells that are kept leave of them, clipped to its boxes, draw by draw;"
        ),
        (
            "the release of clipped residuals gives the sums, the counts and the moments of its documentation, and is "
            "refused where an arm has no more than 4 deviations of the noise of its count."
        ),
    ),
    checks=(
        Agreement(decides="a", facts=_stage_zero, impostors=_OFF),
        Agreement(decides="a", facts=_stage_one, impostors=_OFF),
        Agreement(decides="b", facts=_clipped, impostors=_OFF),
    ),
)
