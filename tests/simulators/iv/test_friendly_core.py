"""The surrogate for private moments: stacked records, core and noise by brute force, and its limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpbounds import DomainError
from simulators.engine import Experiment
from simulators.iv import FriendlyCore, friendly_core, synthetic_model
from simulators.iv.friendly_core import distances_to_median

ALPHA = 1e-9
MODEL = synthetic_model(n=60, p=2, q=3, r=1, parameter_seed=0)


def stacked(Z: np.ndarray, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """s_i record by record, (n, d)."""
    upper = np.triu_indices(Z.shape[1])
    scale = np.where(upper[0] == upper[1], 1.0, math.sqrt(2.0))
    rows = [
        np.concatenate([scale * np.outer(z, z)[upper], np.outer(z, x).ravel(), z * y])
        for z, x, y in zip(Z, X, Y, strict=True)
    ]
    return np.array(rows)


def run(settings: FriendlyCore, problem=MODEL, trials: int = 5, seed: int = 3):
    return Experiment(algorithm=friendly_core, problem=problem, settings=settings, block_trials=trials).run_block(
        0, seed=seed
    )


def fixed():
    problem = MODEL.fixed(data_seed=4)
    return problem, stacked(problem.instruments, problem.regressors, problem.outcome)


def test_distances_are_those_of_the_stacked_records():
    problem, s = fixed()
    assert s.shape == (60, 6 + 6 + 3)
    expected = np.linalg.norm(s - np.median(s, axis=0), axis=1)
    assert distances_to_median(problem.sample)[0] == pytest.approx(expected, rel=1e-12)


def test_every_trial_has_its_own_distances():
    records = MODEL.records(np.random.default_rng(1), 4)
    for trial in range(4):
        s = stacked(records.instruments[trial].T, records.regressors[trial].T, records.outcome[trial])
        expected = np.linalg.norm(s - np.median(s, axis=0), axis=1)
        assert distances_to_median(records)[trial] == pytest.approx(expected, rel=1e-12)


def test_without_noise_the_core_s_moments_give_the_estimate():
    problem, s = fixed()
    distances = np.linalg.norm(s - np.median(s, axis=0), axis=1)
    found = run(FriendlyCore(rho=math.inf, coverage=0.8), problem)
    radius = np.quantile(distances, 0.8)
    core = distances <= radius
    Z, X, Y = problem.instruments[core], problem.regressors[core], problem.outcome[core]
    fitted = Z @ np.linalg.lstsq(Z, X, rcond=None)[0]
    assert found["diameter"] == pytest.approx(np.full(5, 2 * radius))
    assert found["core"] == pytest.approx(np.full(5, core.mean()))
    assert core.mean() == pytest.approx(0.8, abs=0.02)
    assert found["moment_error"] == pytest.approx(np.full(5, np.linalg.norm(s[core].mean(axis=0) - s.mean(axis=0))))
    assert found["beta"][0] == pytest.approx(np.linalg.lstsq(fitted, Y, rcond=None)[0], rel=1e-9)
    assert found["error_true"][0] == pytest.approx(np.linalg.norm(found["beta"][0] - MODEL.beta))
    assert not found["noise"].any()


def test_the_whole_data_without_noise_give_2sls():
    found = run(FriendlyCore(rho=math.inf))
    assert found["core"] == pytest.approx(np.ones(5))
    assert found["error_hat"] == pytest.approx(np.zeros(5), abs=1e-10)
    assert found["moment_error"] == pytest.approx(np.zeros(5), abs=1e-12)
    assert len(np.unique(found["beta_hat"][:, 0])) == 5
    assert found["error_true"] == pytest.approx(found["two_stage_error"])


def test_noise_is_white_on_the_stacked_moments():
    """2r / (n sqrt(1.8 rho)) per coordinate: squared errors over its square are chi-squared with d = 15 degrees."""
    problem, s = fixed()
    distances = np.linalg.norm(s - np.median(s, axis=0), axis=1)
    found = run(FriendlyCore(rho=0.7, diameter=2.1 * distances.max()), problem, trials=3000)
    scale = 2 * 2.1 * distances.max() / (60 * math.sqrt(1.8 * 0.7))
    assert found["noise"] == pytest.approx(np.full(3000, scale))
    squares = (found["moment_error"] / scale) ** 2
    low, high = stats.chi2.ppf([ALPHA / 4, 1 - ALPHA / 4], 15 * 3000)
    assert low <= squares.sum() <= high
    assert not low <= squares.sum() * 1.1 <= high, "10 % of the variance must be seen"
    distance = np.abs(np.arange(1, 3001) / 3000 - stats.chi2.cdf(np.sort(squares), 15)).max()
    assert distance <= math.sqrt(math.log(4 / ALPHA) / 6000) + 1 / 3000


def test_more_budget_gives_a_better_estimate():
    errors = [np.median(run(FriendlyCore(rho=rho), trials=200)["error_hat"]) for rho in (1e-4, 1e2, 1e8)]
    assert errors[0] > 3 * errors[1] > 100 * errors[2]


def test_an_empty_core_has_infinite_errors():
    found = run(FriendlyCore(rho=1.0, diameter=1e-6))
    assert not found["core"].any()
    assert np.isposinf(found["error_hat"]).all()
    assert np.isposinf(found["error_true"]).all()
    assert np.isposinf(found["moment_error"]).all()
    assert not found["beta"].any()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rho": 0.0}, "^rho = "),
        ({"diameter": 0.0}, "^diameter = "),
        ({"coverage": 0.0}, "^coverage = "),
        ({"coverage": 1.5}, "^coverage = "),
        ({"least_eigenvalue": 0.0}, "^least_eigenvalue = "),
    ],
)
def test_settings_outside_their_ranges_are_refused(changed, message):
    with pytest.raises(DomainError, match=message):
        FriendlyCore(**{"rho": 1.0, **changed})
