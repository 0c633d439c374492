"""Runs of DP-FTRL: paths replayed by hand, clipping, exact expectations, and streams that depend on content alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.ftrl import correlations
from dpbounds.ftrl import linear_regression as regression_theory
from dpbounds.ftrl import mean_estimation as mean_theory
from dpbounds.ftrl.linear_regression import Regression
from simulators.engine import Experiment, describe
from simulators.ftrl import (
    LinearRegression,
    MeanEstimation,
    NoiseProbe,
    Settings,
    linear_regression,
    mean_estimation,
    noise_probe,
)
from simulators.ftrl.settings import clip

MECHANISMS = [
    correlations.independent(),
    correlations.nu(0.2),
    correlations.optimal_counting(),
    correlations.damped_anti_pgd(0.3),
    correlations.tree_aggregation(12),
    correlations.full_honaker(12),
]
# Largest number of standard errors between a simulated mean and its expectation.
SIGMAS = 5.0


def named(correlation) -> str:
    return correlation.name


def experiment(algorithm, problem, settings, trials: int = 4) -> Experiment:
    return Experiment(algorithm=algorithm, problem=problem, settings=settings, block_trials=trials)


def regression(settings: Settings, trials: int = 4, **problem) -> Experiment:
    return experiment(linear_regression, LinearRegression(eigenvalues=(1.0, 0.4), **problem), settings, trials)


def expect(samples: np.ndarray, mean: float) -> None:
    error = samples.std(ddof=1) / np.sqrt(len(samples))
    assert abs(samples.mean() - mean) < SIGMAS * error
    assert abs(samples.mean() - 1.2 * mean) > SIGMAS * error, "too few samples to see 20 %"


# --- paths ---


@pytest.mark.parametrize("correlation", MECHANISMS, ids=named)
@pytest.mark.parametrize("clipping", [True, False])
def test_regression_is_algorithm_1(correlation, clipping):
    """Every step by hand from the streams' own draws, gradients projected on the ball of radius 0.3."""
    settings = Settings(
        correlation=correlation, eta=0.2, rho=2.0, steps=12, clip_norm=0.3, clipping=clipping, average_from=7
    )
    run = regression(settings, trials=3, sigma_sgd=0.5, initial=(1.0, -2.0))
    found, streams = run.run_block(2, seed=9), run.streams(2, seed=9)
    theta, losses, largest, clipped = np.tile([1.0, -2.0], (3, 1)), [], np.zeros(3), np.zeros(3)
    for noise in settings.noise((3, 2), streams.noise):
        inputs = run.problem.draw(streams.data, (len(noise), 3))
        residuals = 0.5 * streams.data.standard_normal((len(noise), 3))
        for w, x, xi in zip(noise, inputs, residuals, strict=True):
            for trial in range(3):
                gradient = x[trial] * (x[trial] @ theta[trial] - xi[trial])
                norm = np.linalg.norm(gradient)
                largest[trial] = max(largest[trial], norm)
                if clipping and norm > 0.3:
                    gradient, clipped[trial] = 0.3 * gradient / norm, clipped[trial] + 1
                theta[trial] -= 0.2 * (gradient + w[trial])
            losses.append(0.5 * theta**2 @ np.array([1.0, 0.4]))
    assert found["theta"] == pytest.approx(theta, abs=1e-12)
    assert found["loss"] == pytest.approx(losses[-1])
    assert found["mean_loss"] == pytest.approx(np.mean(losses[7:], axis=0))
    assert found["largest_gradient"] == pytest.approx(largest)
    assert found["clipped"].tolist() == clipped.tolist()
    assert clipped.any() == clipping


@pytest.mark.parametrize("correlation", MECHANISMS, ids=named)
def test_mean_estimation_is_algorithm_1(correlation):
    """The gradient -z is clipped, that of the regulariser is not: clip_norm 1/2 halves the mean that is estimated."""
    settings = Settings(correlation=correlation, eta=0.4, rho=0.7, steps=12, clip_norm=0.5, average_from=0)
    run = experiment(mean_estimation, MeanEstimation(mean=0.6, sigma_sgd=0.4, initial=2.0), settings, 3)
    found, streams = run.run_block(0, seed=1), run.streams(0, seed=1)
    noise = np.concatenate(list(settings.noise((3, 1), streams.noise)))[:, :, 0]
    z = 0.6 + 0.4 * (2.0 * streams.data.integers(0, 2, size=(12, 3)) - 1.0)
    theta, squares = np.full(3, 2.0), []
    for step in range(12):
        theta = theta - 0.4 * (theta - np.clip(z[step], -0.5, 0.5) + noise[step])
        squares.append((theta - 0.6) ** 2)
    assert found["deviation"] == pytest.approx(theta - 0.6)
    assert found["mean_square"] == pytest.approx(np.mean(squares, axis=0))
    assert found["clipped"].tolist() == np.sum(np.abs(z) > 0.5, axis=0).tolist()


def test_without_noise_and_residuals_regression_contracts_as_it_must():
    """Inputs +-1 in one dimension: theta_T = (1 - eta)^T theta_0 exactly."""
    settings = Settings(correlation=correlations.nu(0.1), eta=0.25, rho=np.inf, steps=10, clipping=False)
    problem = LinearRegression(eigenvalues=(1.0,), inputs="sign", initial=(3.0,))
    run = experiment(linear_regression, problem, settings).run_block(0, seed=0)
    assert run["theta"] == pytest.approx(np.full((4, 1), 3.0 * 0.75**10))
    assert run["largest_gradient"] == pytest.approx(np.full(4, 3.0))


def test_clip_projects_on_the_ball():
    gradients = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0], [0.6, 0.8]])
    clipped, outside = clip(gradients, 1.0)
    assert clipped == pytest.approx(np.array([[0.6, 0.8], [0.3, 0.4], [0.0, 0.0], [0.6, 0.8]]))
    assert outside.tolist() == [True, False, False, False]


# --- expectations ---


@pytest.mark.parametrize("inputs", ["gaussian", "sign", "skewed"])
def test_inputs_have_the_stated_moments(inputs):
    problem = LinearRegression(eigenvalues=(4.0, 0.25), inputs=inputs)
    x = problem.draw(np.random.default_rng(5), (200_000,))
    assert x.shape == (200_000, 2)
    z = x / np.array([2.0, 0.5])
    tolerance = SIGMAS * np.sqrt(np.mean(z**8) / len(z))
    assert z.mean(axis=0) == pytest.approx([0.0, 0.0], abs=SIGMAS / np.sqrt(len(z)))
    assert np.mean(z**2, axis=0) == pytest.approx([1.0, 1.0], abs=tolerance)
    assert np.mean(z**4, axis=0) == pytest.approx([problem.kurtosis] * 2, abs=tolerance)
    assert np.mean(z[:, 0] * z[:, 1]) == pytest.approx(0.0, abs=SIGMAS / np.sqrt(len(z)))


@pytest.mark.parametrize("correlation", MECHANISMS, ids=named)
def test_regression_error_is_the_exact_one(correlation):
    settings = Settings(correlation=correlation, eta=0.2, rho=1.0, steps=12, clipping=False)
    run = regression(settings, trials=20_000, sigma_sgd=0.5, initial=(1.0, 0.0)).run_block(0, seed=3)
    problem = Regression(eigenvalues=np.array([1.0, 0.4]), eta=0.2, rho=1.0, sigma_sgd=0.5)
    values = regression_theory.trajectory(correlation, problem, steps=12, initial=np.array([1.0, 0.0]))
    expect(run["loss"], values[-1])
    expect(run["mean_loss"], values[7:].mean())


@pytest.mark.parametrize("correlation", MECHANISMS[:4], ids=named)
def test_mean_estimation_error_is_the_exact_one(correlation):
    settings = Settings(correlation=correlation, eta=0.4, rho=1.0, steps=60, sensitivity=1.3)
    problem = MeanEstimation(mean=-0.2, sigma_sgd=0.8)
    run = experiment(mean_estimation, problem, settings, 20_000).run_block(0, seed=4)
    noise = 1.3**2 / 2
    c = correlation.filtered_power(np.array([0.4]))[0]
    expect(run["deviation"] ** 2, 0.4 / 1.6 * (noise * c + 0.64))
    if correlation is MECHANISMS[1]:
        scaled = mean_theory.stationary_variance(correlation, 0.4, 1.0, sigma_sgd=0.8)
        limiting = replace(settings, sensitivity="limiting")
        expect(experiment(mean_estimation, problem, limiting, 20_000).run_block(0, seed=4)["deviation"] ** 2, scaled)


def test_noise_probe_sees_weights_and_spectrum():
    beta = (1.0, -0.6, 0.3)
    settings = Settings(correlation=correlations.from_coefficients(beta), eta=0.1, rho=1.0, steps=200)
    problem = NoiseProbe(frequencies=(0.0, 1.0), lags=(0, 1, 2))
    run = experiment(noise_probe, problem, settings, 5000).run_block(0, seed=2)
    for k, weight in enumerate(beta):
        expect(run[f"covariance {k}"], weight)
    partial = np.cumsum(np.pad(beta, (0, 197))[:, None] * np.exp(1j * np.outer(np.arange(200), [0.0, 1.0])), axis=0)
    for k, power in enumerate(np.mean(np.abs(partial) ** 2, axis=0)):
        expect(run[f"periodogram {k}"], power)


# --- settings ---


def test_noise_multiplier_is_the_sensitivity_over_the_root_of_two_rho():
    correlation = correlations.nu(0.1)
    for sensitivity, gamma in (
        ("horizon", correlation.sensitivity(30)),
        ("limiting", float(correlation.limiting_sensitivity())),
        (2.5, 2.5),
    ):
        settings = Settings(correlation=correlation, eta=0.1, rho=0.125, steps=30, sensitivity=cast(Any, sensitivity))
        assert settings.noise_multiplier == pytest.approx(2 * gamma)
    assert Settings(correlation=correlation, eta=0.1, rho=np.inf, steps=30).noise_multiplier == 0.0
    settings = Settings(correlation=correlation, eta=0.1, rho=0.5, steps=30, clip_norm=3.0, sensitivity=2.0)
    drawn = np.concatenate(list(settings.noise((1,), np.random.default_rng(0))))[:, 0]
    unit = correlation.matrix(30) @ np.random.default_rng(0).standard_normal(30)
    assert drawn == pytest.approx(6.0 * unit)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"eta": 0.0}, "^eta = "),
        ({"rho": -1.0}, r"^rho = .*inf adds no noise"),
        ({"rho": None}, "^rho = "),
        ({"rho": "1"}, "^rho = "),
        ({"rho": [1.0]}, "^rho = "),
        ({"clip_norm": 0.0}, "^clip_norm = "),
        ({"steps": 0}, "^steps = "),
        ({"average_from": 20}, r"^average_from = .*\[0, 20\)"),
        ({"average_from": -1}, "^average_from = "),
        ({"average_from": 1.5}, "^average_from = "),
        ({"correlation": correlations.anti_pgd(), "sensitivity": "limiting"}, r"^sensitivity = .*horizon"),
        ({"correlation": correlations.tree_aggregation(20), "sensitivity": "limiting"}, r"^sensitivity = .*horizon"),
    ],
)
def test_settings_outside_their_ranges_are_refused(changed, message):
    with pytest.raises(DomainError, match=message):
        Settings(**{"correlation": correlations.nu(0.1), "eta": 0.1, "rho": 1.0, "steps": 20, **changed})


def test_problems_outside_their_ranges_are_refused():
    with pytest.raises(DomainError, match="eigenvalues"):
        LinearRegression(eigenvalues=(1.0, 0.0))
    with pytest.raises(DomainError, match="initial"):
        LinearRegression(eigenvalues=(1.0, 0.5), initial=(1.0,))
    with pytest.raises(DomainError, match="inputs"):
        LinearRegression(eigenvalues=(1.0,), inputs=cast(Any, "uniform"))
    with pytest.raises(DomainError, match=r"\|mean\| \+ sigma_sgd"):
        MeanEstimation(mean=0.5, sigma_sgd=0.6)
    with pytest.raises(DomainError, match="lags"):
        NoiseProbe(lags=(-1,))


# --- streams ---

SETTINGS = Settings(correlation=correlations.nu(0.2), eta=0.2, rho=1.0, steps=60)


def test_same_seed_same_numbers_and_other_seed_other_numbers():
    first, again, other = (regression(SETTINGS).run_block(0, seed=seed)["theta"] for seed in (5, 5, 6))
    assert np.array_equal(first, again)
    assert not np.any(first == other)


def test_blocks_are_independent_of_each_other_and_extend_a_run():
    run = regression(SETTINGS, trials=500)
    joined = run.run(3, seed=5)
    blocks = [run.run_block(block, seed=5) for block in (2, 0, 1)]
    for name, values in joined.items():
        assert np.array_equal(values, np.concatenate([blocks[k][name] for k in (1, 2, 0)]))
    losses = joined["loss"].reshape(3, 500)
    correlation = np.corrcoef(losses)
    assert np.abs(correlation[np.triu_indices(3, 1)]).max() < SIGMAS / np.sqrt(500)


def test_every_change_of_content_changes_the_numbers():
    def first(run: Experiment) -> float:
        return float(run.run_block(0, seed=5)["theta"].flat[0])

    numbers = [
        first(regression(SETTINGS)),
        first(regression(SETTINGS, trials=5)),
        first(regression(replace(SETTINGS, rho=np.nextafter(1.0, 2.0)))),
        first(regression(replace(SETTINGS, correlation=correlations.damped_anti_pgd(0.2)))),
        first(regression(SETTINGS, inputs="sign")),
        first(regression(SETTINGS, initial=(0.0, 0.0))),
    ]
    assert len(set(numbers)) == len(numbers)


def test_streams_for_noise_and_data_share_nothing():
    streams = regression(SETTINGS).streams(0, seed=5)
    draws = np.array([generator.standard_normal(2000) for generator in (streams.noise, streams.data, streams.initial)])
    products = draws @ draws.T / 2000
    assert np.abs(products - np.eye(3)).max() < SIGMAS * np.sqrt(2 / 2000)


def test_what_cannot_be_described_is_refused():
    assert describe({"a": (1, np.array([2.0]), None)}) == {"a": [1, [2.0], None]}
    assert describe(np.array([1 + 2j])) == [{"real": 1.0, "imaginary": 2.0}]
    with pytest.raises(DomainError, match="thing"):
        describe(object())
