"""TAP and averaged descent simulated: by hand, in any split of trials, in any units, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.ols import tail_averaged as tap
from dpbounds.ols.tail_averaged import Shares, TailAveraged
from simulators.engine import Experiment
from simulators.ols import (
    AveragedDescent,
    LeastSquares,
    TailDraws,
    averaged_descent,
    tail_averaging,
    tail_runs,
)
from verify.papers.ols.tools.clipped_by_hand import TailNoise, descents, tail


def records(n: int = 60, d: int = 3, bound: float = 1.0) -> LeastSquares:
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1).max()
    y = np.clip(X @ np.ones(d) + 0.1 * rng.standard_normal(n), -1, 1)
    return LeastSquares(regressors=bound * X, outcome=y, row_bound=bound)


@pytest.mark.parametrize(("mu", "steps"), [(0.3, 20), (4.0, 3), (1.0, 1)])
def test_tap_by_hand_in_any_split(mu, steps, monkeypatch):
    data = records(bound=2.0)
    draws = TailDraws.fresh(np.random.default_rng(1), 5, data.d, steps)
    found = tail_runs(data, TailAveraged(mu=mu, steps=steps), draws)["theta"]
    for trial in range(5):
        noise = TailNoise(*(values[trial] for values in vars(draws).values()))
        stated = tail(data.regressors / 2, data.outcome, mu, noise) / 2
        np.testing.assert_allclose(found[trial], stated, rtol=1e-9, atol=1e-12)
    monkeypatch.setattr(tail_averaging, "MOST_NUMBERS", 2 * data.n)
    np.testing.assert_allclose(tail_runs(data, TailAveraged(mu=mu, steps=steps), draws)["theta"], found, rtol=1e-9)


def test_averaged_descent_by_hand():
    data, options = records(), {"mu": 2.0, "rate": 0.7, "clip": 0.05, "average": 0.5, "momentum": 0.3}
    run = Experiment(
        algorithm=averaged_descent,
        problem=data,
        settings=AveragedDescent(steps=9, **options),
        block_trials=4,
    )
    draws = run.streams(0, seed=3).noise.standard_normal((4, 9, data.d))
    stated = descents(data.regressors, data.outcome, np.swapaxes(draws, 0, 1), **options)
    np.testing.assert_allclose(run.run_block(0, seed=3)["theta"], stated, rtol=1e-9)


@pytest.mark.parametrize("adjacency", ["zero-out", "replace-one"])
def test_noise_spends_the_budget(adjacency):
    settings = TailAveraged(mu=0.7, adjacency=adjacency)
    assert tap.privacy(tap.noise_scales(settings), 128, adjacency=adjacency) == pytest.approx(0.7, rel=1e-12)
    assert math.sqrt(tap.replacement_cost()) == pytest.approx(1.9, rel=1e-12)


@pytest.mark.parametrize("changed", [{"mu": math.nan}, {"mu": 0.0}, {"steps": 0}, {"steps": 10**6}, {"adjacency": "x"}])
def test_settings_out_of_range_are_refused(changed):
    with pytest.raises(DomainError, match=next(iter(changed))):
        TailAveraged(**{"mu": 1.0, **changed})


def test_shares_sum_to_one():
    with pytest.raises(DomainError, match="sum to 1"):
        Shares(hessian=0.5)
