"""Designed noise as a stream, and runs with it, against matrices and exact losses."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.ftrl import correlations, design
from simulators.engine import Experiment, Streams
from simulators.ftrl import DesignedTraining, LinearRegression, designed_noise, designed_training

BLT = design.Blt((0.97, 0.4), (0.05, 0.2))
STEPS = 150
OBJECTIVE = design.Objective(np.array([1.0, 0.3]), STEPS, 0.2)
ROWS = np.exp(np.sin(np.arange(STEPS)))
MECHANISMS = [
    BLT,
    design.Bands((2.0, 0.5, -0.3)),
    design.unit_columns(BLT, STEPS),
    design.ScaledBlt(BLT, STEPS, ROWS),
    design.ScaledToeplitz(design.Bands((1.0, 0.5)), STEPS, ROWS),
    design.unit_columns(design.spectral(OBJECTIVE), STEPS),
    correlations.nu(0.1),
    correlations.from_matrix(np.eye(STEPS) + 0.1 * np.tri(STEPS)),
]
# Two-sided, one comparison: 1e-9.
SIGMAS = 6.2


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)
def test_stream_is_the_decoder_on_the_draws(mechanism):
    draws = np.random.default_rng(3).standard_normal((STEPS, 2, 3))
    stream = np.array(list(designed_noise(mechanism, STEPS, (2, 3), np.random.default_rng(3))))
    assert stream == pytest.approx(np.tensordot(mechanism.matrix(STEPS), draws, axes=1), abs=1e-9)


def test_stream_refuses():
    generator = np.random.default_rng(0)
    with pytest.raises(DomainError, match="horizon"):
        designed_noise(design.unit_columns(BLT, 5), 6, 2, generator)
    with pytest.raises(DomainError, match="row_scale"):
        designed_noise(design.ScaledToeplitz(correlations.nu(0.1), STEPS, ROWS), STEPS, 2, generator)
    with pytest.raises(DomainError, match="shape"):
        designed_noise(BLT, 5, 0, generator)


def test_memory_does_not_grow_with_the_steps():
    def peak(steps: int) -> int:
        tracemalloc.start()
        for _ in designed_noise(BLT, steps, 2000, np.random.default_rng(0)):
            pass
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(1200) < peak(300) + 20_000


def runs(objective, mechanism, seed=1, trials=3000, **settings):
    problem = LinearRegression(
        eigenvalues=tuple(objective.eigenvalues),
        sigma_sgd=objective.sigma_sgd,
        initial=tuple(np.sqrt(objective.initial)),
    )
    made = DesignedTraining(objective=objective, mechanism=mechanism, **settings)
    return Experiment(algorithm=designed_training, problem=problem, settings=made, block_trials=trials).run(
        1, seed=seed
    )


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 3, "sigma_sgd": 0.7, "weights": "final"},
        {"batch_size": 1, "sigma_sgd": 0.4},
        {"noiseless": True, "batch_size": 5, "momentum": 0.6, "weights": "tail"},
    ],
)
def test_loss_is_the_predicted_one(options):
    objective = design.Objective(
        np.array([1.0, 0.5, 0.1]), 23, schedule=0.2 * (1 - np.arange(23) / 30), initial=0.3, **options
    )
    mechanism = design.unit_columns(BLT, 23)
    loss = runs(objective, mechanism, rho=0.1, clip_norm=0.6)["weighted_loss"]
    predicted = objective.loss(mechanism, 0.1, clip_norm=0.6).total
    error = loss.std() / np.sqrt(len(loss))
    assert error < 0.05 * predicted
    assert abs(loss.mean() - predicted) < SIGMAS * error


def test_averages_from_their_law_and_example_by_example():
    """Loss and squared first coordinate after four steps; with a clip norm that nothing reaches, the long way."""
    objective = design.Objective(np.array([1.0, 0.2]), 4, 0.4, batch_size=3, sigma_sgd=1.0, initial=0.5)
    options = {"rho": 1e12, "clip_norm": 1e3, "trials": 20_000}
    short, long = (
        runs(objective, design.unit_columns(BLT, 4), clipping=clipping, seed=int(clipping), **options)
        for clipping in (False, True)
    )
    assert not long["clipped"].any()
    for function in (lambda r: r["loss"], lambda r: r["theta"][:, 0], lambda r: np.minimum(r["loss"], 0.2) ** 2):
        a, b = function(short), function(long)
        assert abs(a.mean() - b.mean()) < SIGMAS * np.hypot(a.std(), b.std()) / np.sqrt(len(a))


def test_from_the_optimum_and_without_residuals_nothing_moves():
    objective = design.Objective(np.array([1.0, 0.2]), 5, 0.4, batch_size=3)
    found = runs(objective, design.unit_columns(BLT, 5), rho=1e12, trials=4)
    assert np.all(found["loss"] < 1e-11)


def test_clipping_counts_and_bounds_the_step():
    objective = design.Objective(np.array([1.0, 0.2]), 1, 0.4, batch_size=2, initial=100.0)
    found = runs(objective, design.unit_columns(BLT, 1), rho=1e12, clip_norm=0.01, clipping=True, trials=50)
    assert found["clipped"].mean() > 0.9
    moved = np.linalg.norm(found["theta"] - 10.0, axis=1)
    assert moved.max() <= 0.4 * 0.01 * (1 + 1e-3)


def test_settings_refuse_and_repeat():
    objective = design.Objective(np.array([1.0]), 3, 0.4, noiseless=True)
    with pytest.raises(DomainError, match="clipping"):
        DesignedTraining(objective=objective, mechanism=design.unit_columns(BLT, 3), rho=1.0, clipping=True)
    with pytest.raises(DomainError, match="rho"):
        DesignedTraining(objective=objective, mechanism=design.unit_columns(BLT, 3), rho=0.0)
    first, second = (runs(objective, design.unit_columns(BLT, 3), rho=1.0, trials=5)["theta"] for _ in range(2))
    assert np.array_equal(first, second)
    assert isinstance(Streams, type)


def test_noise_of_several_participations():
    objective = design.Objective(np.array([1.0]), 6, 0.4, noiseless=True, batch_size=2)
    bands = design.unit_columns(design.Bands((1.0, 0.3)), 6)
    made = DesignedTraining(
        objective=objective,
        mechanism=bands,
        rho=2.0,
        clip_norm=3.0,
        participation=design.Participation.min_separation(3, 2),
    )
    assert made.noise_deviation == pytest.approx(np.sqrt(3.0) * 3.0 / (2 * 2.0), rel=1e-12)
