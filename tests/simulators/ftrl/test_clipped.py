"""Simulated clipped least squares against itself record by record, and its three kinds of batches."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.ftrl.design import Blt, LogisticTraining
from simulators.engine import Experiment
from simulators.ftrl import (
    ClippedTraining,
    LeastSquaresData,
    LogisticData,
    clipped_least_squares,
    clipped_logistic_regression,
    logistic_regression,
)
from simulators.ftrl.clipped import _batches, _thinned


def data(rows=11):
    rng = np.random.default_rng(2)
    features = rng.standard_normal((rows, 3))
    features[4] = 0.0  # a record without features has no gradient
    return LeastSquaresData(features=features, residuals=rng.standard_normal(rows), initial=np.array([1.0, -2.0, 0.5]))


def settings(**options):
    given = {
        "correlation": Blt((0.9,), (0.3,)),
        "schedule": np.linspace(0.5, 0.1, 8),
        "clip_norm": 0.9,
        "noise_multiplier": 0.7,
        "batch_size": 3,
    }
    return ClippedTraining(**{**given, **options})


@pytest.mark.parametrize(("order", "momentum"), [("fixed", 0.0), ("poisson", 0.0), ("fresh", 0.0), ("fixed", 0.7)])
def test_every_trial_is_the_algorithm(order, momentum):
    """Replayed from the same streams: gradients as vectors, clipped by their length."""
    problem, training, trials = data(), settings(order=order, momentum=momentum), 3
    experiment = Experiment(algorithm=clipped_least_squares, problem=problem, settings=training, block_trials=trials)
    found = experiment.run(1, seed=4)
    streams = experiment.streams(0, seed=4)
    batches = list(itertools.islice(_batches(training, 11, trials, streams.data), 8))
    draws = streams.noise.standard_normal((8, trials, 3))
    noise = 0.7 * 0.9 / 3 * np.tensordot(training.correlation.matrix(8), draws, axes=1)
    for trial in range(trials):
        error, velocity, clipped, taken = problem.initial.copy(), np.zeros(3), 0, 0
        for t, (run, row) in enumerate(batches):
            total = np.zeros(3)
            for record in row[run == trial]:
                x = problem.features[record]
                gradient = (x @ error - problem.residuals[record]) * x
                length = np.linalg.norm(gradient)
                clipped, taken = clipped + (length > 0.9), taken + 1
                total += gradient * min(1.0, 0.9 / length) if length else gradient
            velocity = momentum * velocity + total / 3 + noise[t, trial]
            error = error - training.schedule[t] * velocity
        loss = 0.5 * np.mean((problem.features @ error) ** 2)
        np.testing.assert_allclose(found["loss"][trial], loss, rtol=1e-12)
        np.testing.assert_allclose(found["clipped"][trial], clipped / taken)


def test_logistic_runs_are_those_of_the_other_simulator():
    """Which knows one order of the batches, and no momentum; record by record it is tested by itself."""
    problem = LogisticData(features=data().features, labels=(np.arange(11) % 2).astype(float))
    training = LogisticTraining(
        correlation=Blt((0.9,), (0.3,)), steps=8, rows=11, batch_size=3, rho=2.0, eta=0.5, clip_norm=0.4
    )
    multiplier = training.noise_deviation * 3 / 0.4
    own = settings(schedule=training.learning_rates, clip_norm=0.4, noise_multiplier=multiplier)
    experiment = Experiment(algorithm=logistic_regression, problem=problem, settings=training, block_trials=5)
    one, two = (
        algorithm(problem, given, experiment.streams(0, seed=3), 5)
        for algorithm, given in ((logistic_regression, training), (clipped_logistic_regression, own))
    )
    np.testing.assert_allclose(two["loss"], one["loss"], rtol=1e-12)
    np.testing.assert_allclose(two["clipped"], one["clipped"], rtol=1e-12)


def test_one_order_again_and_again():
    batches = list(itertools.islice(_batches(settings(), 11, 2, np.random.default_rng(0)), 6))
    for first, again in zip(batches[:3], batches[3:], strict=True):
        np.testing.assert_array_equal(first[1], again[1])
    for trial in range(2):
        rows = np.concatenate([row[run == trial] for run, row in batches[:3]])
        assert len(set(rows.tolist())) == 9  # two of eleven are left out


@pytest.mark.parametrize("share", [0.02, 0.5, 1.0])
def test_thinning_takes_each_place_by_itself(share):
    rng, places, draws = np.random.default_rng(1), 50, 4000
    counts = np.zeros(places)
    pairs = 0
    for _ in range(draws):
        taken = _thinned(share, places, rng)
        counts[taken] += 1
        pairs += {0, 1} <= set(taken.tolist())
    spread = 6 * np.sqrt(max(share * (1 - share), 1e-12) / draws)
    assert np.abs(counts / draws - share).max() <= spread + 1e-12
    assert abs(pairs / draws - share**2) <= spread + 1e-12


def test_what_does_not_fit_is_refused():
    with pytest.raises(DomainError, match="residuals"):
        LeastSquaresData(features=np.ones((3, 1)), residuals=np.ones(2), initial=np.ones(1))
    with pytest.raises(DomainError, match="features"):
        LeastSquaresData(features=np.full((3, 1), np.nan), residuals=np.ones(3), initial=np.ones(1))
    with pytest.raises(DomainError, match="order"):
        settings(order="epoch")
    with pytest.raises(DomainError, match="momentum"):
        settings(momentum=1.0)
    big = Experiment(algorithm=clipped_least_squares, problem=data(), settings=settings(batch_size=12), block_trials=1)
    with pytest.raises(DomainError, match="batch_size"):
        big.run(1, seed=0)
