"""Beyond the paper: stacked private releases against each by itself and against loops over records."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpbounds.iv.confidence import anderson_rubin
from simulators.engine import Streams
from simulators.iv.confidence import (
    MomentDesign,
    SignDesign,
    WeakInstruments,
    block_releases,
    block_variation,
    clamping_variation,
    moment_releases,
    release_blocks,
    release_moments,
)
from simulators.iv.samples import RecordSample
from verify.checks import Agreement, Fact, Times
from verify.claims import Claim
from verify.iv.tools.coverage import block_test, boxed, moment_test

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
    sample = _sample(2 * rng.standard_normal((30, 2)), 3 * rng.standard_normal((30, 1)), 4 * rng.standard_normal(30))
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


STACKED = Claim(
    id="iv/beyond-confidence-stacked",
    where="beyond the paper",
    kind="number",
    statement=(
        "The test of many stacked releases is that of each by itself; laws drawn from sufficient statistics differ "
        "from those of records by no more than the chance that a record is clipped."
    ),
    setting="Releases U and H, $q = 3$, $n = 60$.",
    checks=(Agreement(facts=_stacked, impostors={"a millionth more": {"facts": Times(1.000001)}}),),
)
