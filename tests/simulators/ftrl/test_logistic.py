"""Simulated private logistic regression against itself record by record, and its streams."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.ftrl import correlations
from dpbounds.ftrl.design import Blt
from dpbounds.ftrl.design.from_data import LogisticTraining
from simulators.engine import Experiment
from simulators.ftrl import LogisticData, logistic_regression


def data(rows=11):
    rng = np.random.default_rng(2)
    features = np.column_stack([rng.standard_normal((rows, 2)), np.ones(rows)])
    features[4] = 0.0  # a record without features has no gradient
    return LogisticData(features=features, labels=(rng.random(rows) < 0.5).astype(float))


def settings(**options):
    given = {
        "correlation": Blt((0.9,), (0.3,)),
        "steps": 8,
        "rows": 11,
        "batch_size": 3,
        "rho": 0.7,
        "schedule": np.linspace(2.0, 1.0, 8),
        "clip_norm": 0.6,
    }
    return LogisticTraining(**{**given, **options})


def test_every_trial_is_the_algorithm():
    """Replayed from the same streams: gradients as vectors, clipped by their length, in the trial's order."""
    problem, training, trials = data(), settings(), 3
    experiment = Experiment(algorithm=logistic_regression, problem=problem, settings=training, block_trials=trials)
    found = experiment.run(1, seed=4)
    streams = experiment.streams(0, seed=4)
    orders = streams.data.permuted(np.tile(np.arange(11), (trials, 1)), axis=1)
    draws = streams.noise.standard_normal((8, trials, 3))
    # Rows take part every third step, three times; the encoder has no negative entries.
    encoder = np.linalg.inv(training.correlation.matrix(8))
    largest = max(np.linalg.norm(encoder[:, first::3].sum(axis=1)) for first in range(3))
    noise = largest * 0.6 / math.sqrt(1.4) / 3 * np.tensordot(training.correlation.matrix(8), draws, axes=1)
    for trial in range(trials):
        theta, clipped = np.zeros(3), 0
        for t in range(8):
            total = np.zeros(3)
            for row in orders[trial, (t % 3) * 3 : (t % 3) * 3 + 3]:
                gradient = (1 / (1 + np.exp(-problem.features[row] @ theta)) - problem.labels[row]) * problem.features[
                    row
                ]
                length = np.linalg.norm(gradient)
                clipped += length > 0.6
                total += gradient * min(1.0, 0.6 / length) if length else gradient
            theta = theta - training.learning_rates[t] * (total / 3 + noise[t, trial])
        margins = problem.features @ theta
        loss = np.mean(np.log1p(np.exp(margins)) - problem.labels * margins)
        assert found["loss"][trial] == pytest.approx(loss, rel=1e-12)
        assert found["clipped"][trial] == pytest.approx(clipped / 24, rel=1e-12)


def test_without_noise_the_loss_is_the_noiseless_one():
    experiment = Experiment(
        algorithm=logistic_regression, problem=data(), settings=settings(rho=math.inf), block_trials=4
    )
    found = experiment.run(1, seed=0)
    np.testing.assert_array_equal(found["loss"], found["noiseless_loss"])


def test_other_records_other_streams():
    """The records are part of what a block is seeded by."""
    other = data().features.copy()
    other[0, 0] += 1.0
    problems = [data(), LogisticData(features=other, labels=data().labels)]
    assert problems[0].digest != problems[1].digest
    experiments = [
        Experiment(algorithm=logistic_regression, problem=problem, settings=settings(), block_trials=1)
        for problem in problems
    ]
    first, second = (experiment.streams(0, seed=0).noise.random() for experiment in experiments)
    assert first != second
    assert experiments[0].run(2, seed=1)["loss"].tolist() == experiments[0].run(2, seed=1)["loss"].tolist()


def test_bad_data_are_refused():
    X, y = data().features, data().labels
    for features, labels, parameter in (
        (X, y[:-1], "labels"),
        (X, y + 1.0, "labels"),
        (X[:0], y, "features"),
        (np.where(X == 1.0, np.inf, X), y, "features"),
    ):
        with pytest.raises(DomainError, match=parameter):
            LogisticData(features=features, labels=labels)
    with pytest.raises(DomainError, match="rows"):
        Experiment(algorithm=logistic_regression, problem=data(), settings=settings(rows=12), block_trials=1).run_block(
            0, seed=0
        )


def test_correlations_with_more_draws_than_steps_are_simulated():
    training = settings(correlation=correlations.tree_aggregation(8), rows=11, batch_size=1, schedule=None, eta=1.0)
    found = Experiment(algorithm=logistic_regression, problem=data(), settings=training, block_trials=2).run(1, seed=0)
    assert np.isfinite(found["loss"]).all()
