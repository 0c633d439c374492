"""Beyond the paper: stacked private releases against each by itself and against loops over records."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpbounds.iv.confidence import Adjacency, anderson_rubin
from simulators.engine import Streams
from simulators.iv.confidence import (
    MomentDesign,
    OneShot,
    SignDesign,
    WeakInstruments,
    block_releases,
    block_variation,
    clamping_variation,
    moment_releases,
    one_shot,
    release_blocks,
    release_moments,
)
from simulators.iv.samples import RecordSample
from verify.checks import Agreement, Fact, Times
from verify.papers.iv.tools.coverage import FixedRecords, block_test, boxed, moment_test, records_of
from verify.statements.claims import Claim

MU = 0.5


def _stacked(rng: np.random.Generator) -> Iterator[Fact]:
    """A test of each release by itself against the stacked arrays; how far laws may differ by normal tails."""
    streams = Streams(noise=rng, data=rng, initial=rng)
    problem = WeakInstruments(n=60, q=3, strength=20.0, endogeneity=0.5)
    design = boxed(problem, 3.0)
    arrays = release_moments(problem, design, streams, 5)
    test = moment_test(arrays, design, [0.7])
    for trial, release in enumerate(moment_releases(arrays, design, problem.n)):
        found = anderson_rubin(release, [0.7])
        yield Fact(f"U, release {trial}", [part[trial] for part in test], list(found), 1e-9)
    arrays = release_blocks(problem, design, streams, 5)
    test = block_test(arrays, design, problem.n, [0.7])
    for trial, release in enumerate(block_releases(arrays, design, problem.n)):
        found = anderson_rubin(release, [0.7])
        yield Fact(f"H, release {trial}", [part[trial] for part in test], list(found), 1e-9)
    yield from _by_loops(rng)
    yield from _one_shot(rng)
    signs = WeakInstruments(n=1000, q=1, strength=11.0, endogeneity=0.5, instruments="sign")
    wide = boxed(signs, 1.0, multiple=5.0)
    # Given z = +-1: x ~ N(+-1/10, 1), y ~ N(+-1/10, 3); means and bounds in units of their deviations.
    tails = 0.0
    for deviation, bound in ((1.0, 5 * math.sqrt(1.01)), (math.sqrt(3.0), 5 * math.sqrt(3.01))):
        tails += sum(math.erfc((bound - mean) / deviation / math.sqrt(2)) / 2 for mean in (-0.1, 0.1))
    yield Fact("clamped records, signs", clamping_variation(signs, wide), 1000 * tails, 1e-9)
    gaussian = WeakInstruments(n=1000, q=2, strength=11.0, endogeneity=0.5)
    outcome, regressor = gaussian.deviations
    yield Fact("deviations", [outcome**2, regressor**2], [3.02, 1.02], 1e-12)
    stated = 1000 * (2 * math.erfc(5 / math.sqrt(2)) + math.exp(-25 / 2))
    yield Fact("clipped rows, Gaussian", block_variation(gaussian, boxed(gaussian, 1.0, instrument=5.0)), stated, 1e-9)


def _by_loops(rng: np.random.Generator) -> Iterator[Fact]:
    """The vectors u of release U, and the curve of release S, record by record."""
    sample = records_of(2 * rng.standard_normal((30, 2)), 3 * rng.standard_normal((30, 1)), 4 * rng.standard_normal(30))
    centres: dict[str, Any] = {"outcome_centre": 0.5, "regressor_centres": (-1.0,)}
    design = MomentDesign(mu=MU, instrument_bound=1.5, outcome_bound=3.0, regressor_bounds=(2.0,), ratio=0.7, **centres)
    # a_y^2 = Y W and a_x^2 = X W / |beta| with |beta| X = .7 Y, W = 1.7 Y.
    weights = np.array([3.0 * math.sqrt(1.7), 2.0 * math.sqrt(1.7 / 0.7)])
    found = design.vectors(sample)[0]
    signs = SignDesign(mu=MU, low=-1.0, high=2.0, size=7, pi=0.3, outcome_centre=0.5, regressor_centre=-1.0)
    curve = np.zeros(7)
    for i in range(30):
        z, x, y = sample.instruments[0, :, i], sample.regressors[0, 0, i] + 1.0, sample.outcome[0, i] - 0.5
        clipped = z / max(1.5, math.hypot(*z))
        v = np.array([min(max(y, -3.0), 3.0), min(max(x, -2.0), 2.0)]) / weights
        yield Fact(f"u, record {i}", found[:, i], np.kron(v, clipped), 1e-12)
        curve += [(float(z[0] > 0) - 0.3) * math.copysign(1.0, y - beta * x) for beta in np.linspace(-1.0, 2.0, 7)]
    first = RecordSample(instruments=sample.instruments[:, :1], regressors=sample.regressors, outcome=sample.outcome)
    yield Fact("curve of signs", signs.curves(first)[0], curve, 1e-12)


def _one_shot(rng: np.random.Generator) -> Iterator[Fact]:
    """Both rounds again by least squares, from the same normals; with and without eigenvalues that noise drowns."""
    z, w = rng.standard_normal((80, 2)), rng.standard_normal(80)
    x = z @ [1.0, 0.6] + w
    y = 0.7 * x + w + rng.standard_normal(80)
    problem = FixedRecords(sample=records_of(2 * z, x[:, None], y))
    bounded = 2 * z / np.maximum(1.5, np.linalg.norm(2 * z, axis=1))[:, None]
    rows = np.column_stack([y, x]) / np.maximum(2.5, np.hypot(x, y))[:, None]
    bounds: dict[str, Any] = {"instrument_bound": 1.5, "row_bound": 2.5, "residual_bound": 0.9}
    cases: tuple[tuple[float, Adjacency, float], ...] = (
        (200.0, "zero-out", 1.5),
        (0.02, "zero-out", 1.5),
        (200.0, "replace-one", 4.0),
    )
    for rho, adjacency, cost in cases:
        settings = OneShot(rho=rho, share=0.3, adjacency=adjacency, **bounds)
        streams = Streams(noise=np.random.default_rng(11), data=rng, initial=rng)
        found, noise = one_shot(problem, settings, streams, 1), np.random.default_rng(11)
        # Z'V costs 1 and Z'Z half of its squared distance: 3/2 together, 4 for two opposite records.
        scale = math.sqrt(cost / (2 * rho * 0.3))
        cross = bounded.T @ rows + scale * noise.standard_normal((2, 2))
        entries = math.sqrt(2) * scale * noise.standard_normal((2, 2))
        values, vectors = np.linalg.eigh(bounded.T @ bounded + (entries + entries.T) / 2)
        root = vectors.T / np.sqrt(np.maximum(values, 2 * math.sqrt(2) * scale))[:, None]
        (first,) = np.linalg.lstsq(root @ cross[:, 1:], root @ cross[:, 0])[0]
        clipped = np.clip(y - first * x, -0.9, 0.9)
        opposite = 1.0 if adjacency == "zero-out" else 2.0
        noisy = bounded.T @ clipped + 0.9 * opposite / math.sqrt(2 * rho * 0.7) * noise.standard_normal(2)
        (step,) = np.linalg.lstsq(2.5 * root @ cross[:, 1:], root @ noisy)[0]
        label = f"rho = {rho:g}, {adjacency}"
        yield Fact(f"one-shot, {label}", [found["first_beta"][0, 0], found["beta"][0, 0]], [first, first + step], 1e-9)
        hat = np.linalg.lstsq((2 * z) @ np.linalg.lstsq(2 * z, x)[0][:, None], y)[0][0]
        yield Fact(f"distance to 2SLS, {label}", found["error_hat"][0], abs(first + step - hat), 1e-9)


STACKED = Claim(
    id="iv/beyond-confidence-stacked",
    where="beyond the paper: stacked releases",
    kind="number",
    statement=(
        "The test of many stacked releases is that of each by itself;",
        (
            "laws drawn from sufficient statistics differ from those of records by no more than the chance that a "
            "record is clipped."
        ),
    ),
    setting="Releases U and H, $q = 3$, $n = 60$.",
    checks=(Agreement(decides="ab", facts=_stacked, impostors={"a millionth more": {"facts": Times(1.000001)}}),),
)
