"""Beyond the paper: the two-stage release of `dpbounds solve iv --confidence`, and where its noise comes from."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from importlib.util import find_spec
from typing import cast

import numpy as np
from scipy import stats

from dpbounds.iv.confidence import ADJACENCIES, confidence_set
from simulators.iv.confidence.staged import (
    CellMeans,
    CellRecords,
    StagedDesign,
    boxes_of,
    extra_variance,
    release_staged,
    stage_zero,
    without_noise,
)
from simulators.sources import GaussianSource, OpenDPSource
from verify.checks import Agreement, Fact, Holds, Within
from verify.checks.replayed import Replayed, shifts
from verify.statements.claims import Claim

# --- the two stages ---


def _spent(design: StagedDesign, records: CellRecords, other: CellRecords, rng: np.random.Generator) -> np.ndarray:
    """Squared distance of two data sets in units of the noise, for each of the four vectors that are released."""
    pair = (records, other)
    moved = shifts(lambda k, source: release_staged(pair[k], design, source), rng)
    return np.array([float(np.sum(shift**2)) / scale**2 for shift, scale in moved])


def _stage_one(design: StagedDesign, records: CellRecords, rng: np.random.Generator) -> Iterator[Fact | Within]:
    """What its noise costs over all pairs of vectors of norm 1, by brute force over their angle, and the norms."""
    source = Replayed(rng)
    staged = release_staged(records, design, source)
    (_, s1), (_, s2) = source.seen[2:]
    cosine = np.linspace(-1, 1, 20_001)
    pairs = 2 * (1 - cosine) / s1**2 + 2 * (1 - cosine**2) / s2**2
    cost = 1 / s1**2 + 1 / s2**2 if design.adjacency == "zero-out" else float(pairs.max())
    yield Fact(f"{design.adjacency}: cost of stage 1", cost, (1 - design.share) * design.mu**2, 1e-7)
    stated = [staged.release.first_scale, staged.release.second_scale]
    yield Fact(f"{design.adjacency}: noise that the test knows of", stated, [s1, s2], 1e-12)
    rows, columns = np.triu_indices(4)
    noisy = source.answers[3] / np.where(rows == columns, 1.0, np.sqrt(2.0))
    added = staged.release.second[rows, columns] - noisy
    extra = extra_variance(staged.means, staged.slope, staged.boxes, source.seen[0][1])[rows, columns]
    yield Fact(f"{design.adjacency}: what is added to the second moments", added, extra.tolist(), 1e-6)
    z, x, y = staged.means.z[staged.means.kept], staged.means.x, staged.means.y
    corners = [np.array(signs) for signs in itertools.product((-1.0, 1.0), repeat=2)]
    reach = max(float(np.linalg.norm(corner / np.sqrt(2) - mean)) for corner in corners for mean in z)
    v = [
        (
            (b - y[c] - staged.slope * (a - x[c])) / staged.boxes.outcome_weight,
            (a - x[c]) / staged.boxes.regressor_weight,
        )
        for c in range(len(x))
        for a, b in corners
    ]
    longest = reach / staged.boxes.instruments * max(float(np.linalg.norm(pair)) for pair in v)
    yield Within(f"{design.adjacency}: norm of the longest vector", longest, 0.5, 1 + 1e-12)


def _with(records: CellRecords, z: tuple[float, ...], x: float, y: float, cell: int) -> CellRecords:
    """One record more."""
    return CellRecords(
        Z=np.vstack([records.Z, z]),
        x=np.append(records.x, x),
        y=np.append(records.y, y),
        cells=np.append(records.cells, cell),
        K=records.K,
    )


def _costs(rng: np.random.Generator, noise: float = 1.0) -> Iterator[Fact | Within]:
    """Records at corners of the ranges or beyond them, put into two data sets that are the same else."""
    n, K, q, mu = 60, 2, 2, 30.0
    base = CellRecords(
        Z=rng.uniform(-1, 1, (n, q)),
        x=rng.uniform(-1, 1, n),
        y=rng.uniform(-1, 1, n),
        cells=np.arange(n) % K,
        K=K,
    )
    for adjacency in ADJACENCIES:
        design = StagedDesign(mu=mu, instrument_bound=np.sqrt(q), adjacency=adjacency)
        worst_first, worst = 0.0, 0.0
        for trial in range(40):
            corner = ((1.0, 1.0), 1.0, 1.0, 0) if trial == 0 else _corner(rng)
            one = _with(base, *corner)
            two = (
                base
                if adjacency == "zero-out"
                else _with(base, *(((1.0, -1.0), 1.0, -1.0, 1) if trial == 0 else _corner(rng)))
            )
            cells, totals, *later = _spent(design, one, two, rng) / noise**2
            worst_first = max(worst_first, float(cells + totals))
            worst = max(worst, float(cells + totals + sum(later)))
        yield from _stage_one(design, base, rng)
        stated = design.share * mu**2
        yield Fact(f"{adjacency}: worst cost of stage 0", worst_first, stated, 1e-9)
        yield Within(f"{adjacency}: worst cost of both stages over mu²", worst / mu**2, most=1 + 1e-9)


def _corner(rng: np.random.Generator) -> tuple[tuple[float, ...], float, float, int]:
    z = cast("tuple[float, ...]", tuple(rng.choice([-1.0, 1.0], 2).tolist()))
    x, y = rng.choice([-9.0, -1.0, 0.0, 1.0, 9.0], 2).tolist()
    return z, x, y, int(rng.integers(2))


def _centring(rng: np.random.Generator, second: int = 1) -> Iterator[Fact | Holds]:
    """The means against the noisy sums they come from; with hardly any noise, plain least squares within cells."""
    n, K = 400, 14
    cells = np.repeat(np.arange(K), [110, 110, *[15] * 12])  # small ones about as large as cells must be
    u = rng.uniform(-1, 1, n)
    records = CellRecords(
        Z=rng.uniform(-0.5, 0.5, (n, 2)), x=0.5 * u + 0.03 * cells, y=0.3 * u - 0.02 * cells, cells=cells, K=K
    )
    for mu in (2.0, 1e5):
        design = StagedDesign(mu=mu, instrument_bound=np.sqrt(2), adjacency="replace-one")
        source = Replayed(rng)
        means, slope = stage_zero(records, design, source)
        sums, kept = source.answers[0], means.kept
        large = sums[:, :2].min(axis=1) > 4 * np.sqrt(14) / (0.5 * mu)
        yield Holds(f"mu = {mu:g}: large cells are kept", kept.tolist() == large.tolist())
        yield Fact(f"mu = {mu:g}: counts", means.counts, sums[:, :2].tolist(), 1e-12)
        stated = sums[kept, 2:4] / sums[kept, :1]
        stated /= np.maximum(np.linalg.norm(stated, axis=1), 1.0)[:, None]
        yield Fact(f"mu = {mu:g}: z over the first count", means.z[kept], stated, 1e-12)
        stated = np.clip(sums[kept, 4:] / sums[kept, second][:, None], -1.0, 1.0)
        yield Fact(f"mu = {mu:g}: x and y over the second", np.stack([means.x, means.y], axis=1)[kept], stated, 1e-12)
        if mu > 1e3:
            x, y = (part - (np.bincount(cells, part) / np.bincount(cells))[cells] for part in (records.x, records.y))
            yield Fact("slope within cells", slope, float(x @ y / (x @ x)), 1e-3)
    yield from _slopes(rng)


def _slopes(rng: np.random.Generator) -> Iterator[Fact]:
    """Outcomes `rise` times +-1 over regressors `run` times +-1 in one cell, whose means are 0: the slope follows from
    the noisy totals, sum xx at least two deviations of their noise, and is at most 4 either way.
    """
    signs = np.where(np.arange(400) % 2, 1.0, -1.0)
    design = StagedDesign(mu=1e5, instrument_bound=1.0)
    for run, rise in ((0.5, 0.3), (1e-5, 0.08), (0.1, 0.9), (0.1, -0.9)):
        records = CellRecords(Z=signs[:, None], x=run * signs, y=rise * signs, cells=np.zeros(400, dtype=int), K=1)
        source = Replayed(rng)
        _, slope = stage_zero(records, design, source)
        (xx, xy, _), noise = source.answers[1], source.seen[1][1]
        stated = min(max(xy / max(xx, 2 * noise), -4.0), 4.0)
        yield Fact(f"slope of {rise} over {run}", slope, stated, 1e-4)


def _ranges(rng: np.random.Generator, bound: float = 0.8) -> Iterator[Fact]:
    """Records beyond their ranges, by a loop: the sums noised in stage 0, and noisy means that would leave them."""
    n, K = 240, 12
    wide = CellRecords(
        Z=rng.uniform(-2, 2, (n, 2)), x=rng.uniform(-2, 2, n), y=rng.uniform(-2, 2, n), cells=np.arange(n) % K, K=K
    )
    design = StagedDesign(mu=30.0, instrument_bound=0.8, adjacency="replace-one")
    source = Replayed(rng)
    release_staged(wide, design, source)
    cells, totals = np.zeros((K, 6)), np.zeros(3)
    for i in range(n):
        z, x, y = (np.clip(part[i], -1, 1) for part in (wide.Z, wide.x, wide.y))
        cells[i % K] += [1, 1, *(z / max(bound, float(np.hypot(*z)))), x, y]
        totals += [x * x, x * y, y * y]
    yield Fact("sums in cells", source.seen[0][0], cells.tolist(), 1e-9)
    yield Fact("totals", source.seen[1][0], totals.tolist(), 1e-9)
    # A record alone in its cell is its own mean: it adds nothing.
    base = CellRecords(Z=np.abs(wide.Z), x=np.abs(wide.x), y=np.abs(wide.y), cells=np.zeros(n, dtype=int), K=2)
    alone, without = (without_noise(part, design) for part in (_with(base, (0.1, 0.1), 0.1, 0.1, 1), base))
    yield Fact(
        "a record alone in its cell", [*alone.first, *alone.second[0]], [*without.first, *without.second[0]], 1e-9
    )
    edge = CellRecords(Z=np.full((n, 2), 9.0), x=np.full(n, 9.0), y=np.full(n, -9.0), cells=wide.cells, K=K)
    source = Replayed(rng)
    means = release_staged(edge, design, source).means
    sums = source.answers[0]
    z = [row / max(1.0, float(np.hypot(*row))) for row in sums[:, 2:4] / sums[:, :1]]
    yield Fact("means of z in the unit disc", means.z, z, 1e-12)
    x, y = (sums[:, 4:] / sums[:, 1:2]).T
    yield Fact("means of x and y in [-1, 1]", [*means.x, *means.y], [*np.minimum(x, 1), *np.maximum(y, -1)], 1e-12)


def _extra(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """Cell by cell: s0^4 (I + zbar zbar') (1 + beta² + (ybar - beta xbar)²) / N², for three instruments."""
    K, q, slope, scale = 4, 3, 0.4, 7.0
    counts = np.repeat(rng.uniform(50, 500, (K, 1)), 2, axis=1)
    z, (x, y) = rng.uniform(-0.5, 0.5, (K, q)), rng.uniform(-0.8, 0.8, (2, K))
    means = CellMeans(counts, z, x, y, np.array([True, True, False, True]))
    boxes = boxes_of(means, slope, 0.5)
    found = extra_variance(means, slope, boxes, scale).reshape(2, q, 2, q)
    for beta in (-1.3, 0.2):
        b = np.array([boxes.outcome_weight, -(beta - slope) * boxes.regressor_weight])
        observed = boxes.instruments**2 * np.einsum("i,iajb,j->ab", b, found, b)
        stated = np.zeros((q, q))
        for c in (0, 1, 3):
            size = 1 + beta**2 + (y[c] - beta * x[c]) ** 2
            stated += scale**4 * (np.eye(q) + np.outer(z[c], z[c])) * size / counts[c, 0] ** 2
        yield Fact(f"extra covariance at beta = {beta}", observed, (factor * stated).tolist(), 1e-9)


def _coverage(rng: np.random.Generator, level: float = 0.95) -> Iterator[Within]:
    """Two 0/1 instruments whose chances vary with 20 cells, confounded x and y, uniform errors: sets hold the truth."""
    n, K, beta, runs, held = 1000, 10, -0.4, 100, 0
    for _ in range(runs):
        cells = rng.integers(0, K, n)
        Z = 2.0 * (rng.random((n, 2)) < np.stack([0.2 + 0.6 * cells / K, np.full(n, 0.4)], axis=1)) - 1
        u = rng.uniform(-1, 1, n)
        x = 0.25 * Z[:, 0] + 0.15 * Z[:, 1] + 0.3 * u + 0.2 * cells / K
        y = beta * x + 0.4 * u + 0.2 * cells / K
        design = StagedDesign(mu=0.8, instrument_bound=1.0, adjacency="replace-one")
        staged = release_staged(CellRecords(Z=Z, x=x, y=y, cells=cells, K=K), design, GaussianSource(rng))
        held += (beta - staged.slope) in confidence_set(staged.release, level=level)
    # Binomial(100, .94) is below 77 with probability 1e-8.
    yield Within(f"sets that hold the coefficient, of {runs}", held, least=77)


STAGES = Claim(
    id="iv/beyond-confidence-stages",
    where="beyond Section 3",
    kind="privacy",
    statement=(
        (
            "The release in two stages (means within cells, then first and second moments of what they leave) is "
            "$mu$-GDP: one record moves the sums of stage 0 by at most $sqrt(8)$ (`zero-out`) or $sqrt(14)$ "
            "(`replace-one`, whatever its cell), which is attained, and the vectors of stage 1 have norm at most 1."
        ),
        (
            "Errors in the means add $sum_c s_0^4 (I + overline(z)_c overline(z)'_c) (1 + beta^2 + (overline(y)_c - "
            r"beta overline(x)_c)^2) \/ N_c^2$ to the covariance of the moments of $q$ instruments."
        ),
    ),
    hypotheses="$abs(z) <= 1$ in Euclidean norm, $x$ and $y$ in $[-1, 1]$; $n$ and the list of cells public.",
    checks=(
        Agreement(decides="a", facts=_costs, impostors={"5 % less noise": {"facts": {"noise": 0.95}}}),
        Agreement(decides="ab", facts=_centring, impostors={"one common count": {"facts": {"second": 0}}}),
        Agreement(decides="a", facts=_ranges, impostors={"|z| bounded at 1": {"facts": {"bound": 1.0}}}),
        Agreement(decides="b", facts=_extra, impostors={"1 % off": {"facts": {"factor": 1.01}}}),
        Agreement(decides="ab", facts=_coverage, alpha=1e-9, impostors={"level .6": {"facts": {"level": 0.6}}}),
    ),
)

# --- noise through OpenDP ---


def _no_opendp() -> str:
    """Why OpenDP is not at hand, or nothing."""
    return "" if find_spec("opendp") else "needs OpenDP, an extra: `pip install 'dpbounds[opendp]'`"


def _same_law(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Within]:
    """Kolmogorov-Smirnov at 1e-9 on 6000 draws, and their sum of squares, which sees 12 % in the scale."""
    scale, values = 3.7, np.tile([0.0, 2.5, -1e5], 10)
    for name, source in (("numpy", GaussianSource(rng)), ("OpenDP", OpenDPSource())):
        draws = np.ravel([source.vector(values, scale) - values for _ in range(200)]) / (factor * scale)
        yield Within(f"{name}: p-value of the law", float(stats.kstest(draws, "norm").pvalue), least=1e-9)
        place = float(stats.chi2.cdf(float(draws @ draws), len(draws)))
        yield Within(f"{name}: place of the sum of squares in its law", place, 1e-9, 1 - 1e-9)


OPENDP = Claim(
    id="iv/beyond-confidence-opendp",
    where="beyond Section 3",
    kind="algorithm",
    statement=(
        "Noise drawn through OpenDP's measurement has the law of numpy's, $N(0, s^2)$ in each entry, and its privacy "
        "map gives $rho = 1 \\/ (2 s^2)$ for values that move by 1."
    ),
    missing=_no_opendp,
    checks=(Agreement(facts=_same_law, alpha=5e-9, impostors={"12 % more noise": {"facts": {"factor": 1 / 1.12}}}),),
)
