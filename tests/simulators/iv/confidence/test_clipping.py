"""The release of clipped residuals: raw records, both codings of the instrument, refusals."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpbounds import DomainError
from simulators.engine import Streams
from simulators.iv.confidence import (
    ClippedDesign,
    OneInstrument,
    clipped_releases,
    release_clipped,
    without_clipping,
)
from simulators.sources import GaussianSource

DESIGN = ClippedDesign(mu=500.0, outcome_bound=2.0, regressor_bound=4.0, regressor_centre=1.0, adjacency="zero-out")


def records(n: int = 4_000, **given: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    sample = OneInstrument(n=n, first_stage=2.0, **given).draw(np.random.default_rng(3), 1)
    return sample.instruments[0, 0], sample.regressors[0, 0], sample.outcome[0]


def quiet() -> GaussianSource:
    return GaussianSource(np.random.default_rng(0))


@pytest.mark.parametrize("probability", [None, 0.5])
def test_with_hardly_any_noise(probability: float | None) -> None:
    """Counts are those of clipped raw residuals, the set holds the slope, t is that of clipped residuals."""
    z, x, y = records(errors="lognormal")
    found = release_clipped(z, x, y, replace(DESIGN, probability=probability), quiet())
    residual = y - found.slope * (x - 1.0)
    counts = found.counts.table.sum()
    assert 20 < counts < 0.1 * len(z)
    assert found.counts.rho(0.95).least > 0.85 and found.counts.rho(0.95).most <= 1
    assert 0.7 in found.confidence_set()
    # The intercept is not shown: recovered from the share that is clipped.
    centres = np.linspace(-2, 2, 4_001)
    shares = np.array([np.sum(np.abs(residual - m) >= found.clip) for m in centres])
    assert np.min(np.abs(shares - counts)) < 3


def test_natural_records_lose_nothing() -> None:
    """Without noise and clipping both codings give the estimate of the arms' means."""
    z, x, y = records(errors="normal")
    bare = without_clipping(z, x, y, "zero-out")
    slope = (y[z == 1].mean() - y[z == 0].mean()) / (x[z == 1].mean() - x[z == 0].mean())
    assert bare.first[0] / bare.first[1] == pytest.approx(slope, rel=1e-9)


def test_trials_are_fresh_and_repeat() -> None:
    problem = OneInstrument(n=300, first_stage=1.0, probability=0.3)

    def run() -> list[float]:
        streams = Streams(**{name: np.random.default_rng(0) for name in ("noise", "data", "initial")})
        return [found.slope for found in clipped_releases(problem, DESIGN, streams, 3)]

    assert run() == run() and len(set(run())) == 3


@pytest.mark.parametrize("effects", ["constant", "mixed", "related"])
@pytest.mark.parametrize("errors", ["normal", "t3", "exponential", "lognormal", "negative lognormal"])
def test_errors_are_centred(effects: Any, errors: Any) -> None:
    """Errors have mean 0 given z, and the first stage has its mean, whatever it depends on."""
    problem = OneInstrument(n=200_000, first_stage=1.0, errors=errors, effects=effects, probability=0.3)
    sample = problem.draw(np.random.default_rng(0), 1)
    z, x = sample.instruments[0, 0], sample.regressors[0, 0]
    error = sample.outcome[0] - 0.7 * x
    assert abs(error[z == 1].mean() - error[z == 0].mean()) < 0.03 and abs(error.mean()) < 0.03
    assert x[z == 1].mean() - x[z == 0].mean() == pytest.approx(1.0, abs=0.03)
    low, high = problem.outcome_range(0.1, 2)
    assert np.mean((sample.outcome < low) | (sample.outcome > high)) == pytest.approx(0.1, abs=0.01)


def test_refusals() -> None:
    z, x, y = records(200)
    with pytest.raises(DomainError, match="0 or 1"):
        release_clipped(2 * z, x, y, DESIGN, quiet())
    with pytest.raises(DomainError, match="in each arm"):
        release_clipped(z, x, y, replace(DESIGN, mu=0.01), quiet())
    for wrong in ({"mu": 0.0}, {"probability": 1.0}, {"heterogeneity": 0.5}, {"adjacency": "add-remove"}):
        with pytest.raises(DomainError, match=next(iter(wrong))):
            replace(DESIGN, **wrong)
    with pytest.raises(DomainError, match="probability"):
        OneInstrument(n=10, first_stage=1.0, probability=0.0)
