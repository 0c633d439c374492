"""The objective of noise design: against brute force, reference values, and bad input."""

from __future__ import annotations

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.ftrl.correlations import from_matrix, independent, nu
from dpbounds.ftrl.design import Objective, Participation
from dpbounds.ftrl.design.objective import largest_stable_rate

HARMONIC = 1 / np.arange(1, 129)


def run_of(eigenvalues, steps, eta=None, **settings):
    """An Objective from lists."""
    return Objective(np.asarray(eigenvalues), steps, eta, **settings)


def brute_gram(eigenvalues, rates, omega, momentum=0.0):
    """A^T diag(omega) A / 2 from the response of each iterate to each step's noise, by running the recursion."""
    T, total = len(rates), np.zeros((len(rates), len(rates)))
    for one in eigenvalues:
        theta, velocity = np.zeros(T), np.zeros(T)
        for t in range(T):
            velocity = momentum * velocity + one * theta + np.eye(T)[t]
            theta = theta - rates[t] * velocity
            total = total + 0.5 * omega[t] * one * np.outer(theta, theta)
    return total


@pytest.mark.parametrize("momentum", [0.0, 0.7])
@pytest.mark.parametrize("weights", ["mean", "final", "tail"])
@pytest.mark.parametrize("T", [1, 2, 33, 71])
def test_noiseless_gram_is_that_of_the_responses(T, weights, momentum):
    rates = np.linspace(0.9, 0.1, T)
    objective = run_of([1.0, 0.2, 1.4], T, schedule=rates, weights=weights, momentum=momentum)
    brute = brute_gram([1.0, 0.2, 1.4], rates, objective.omega, momentum)
    np.testing.assert_allclose(objective.gram(), brute, atol=1e-13 * brute.max())
    np.testing.assert_allclose(objective.diagonal(), np.diag(brute), rtol=1e-12)
    vectors = np.random.default_rng(0).standard_normal((T, 3))
    np.testing.assert_allclose(objective.apply(vectors), brute @ vectors, atol=1e-12 * brute.max())
    np.testing.assert_allclose(objective.apply(vectors[:, 0]), brute @ vectors[:, 0], atol=1e-12 * brute.max())


def test_sampled_gradients_by_monte_carlo():
    """d = 2, m = 2, three steps: 200,000 runs, 6 standard errors (false alarms below 1e-8), blind below 1.5 %."""
    rng = np.random.default_rng(1)
    eigenvalues, rates, runs, decoder = np.array([1.0, 0.4]), [0.4, 0.3, 0.2], 200_000, np.tril(np.ones((3, 3)))
    objective = run_of(
        eigenvalues, 3, schedule=rates, weights=[0.2, 0.3, 0.5], batch_size=2, initial=[1.0, 2.0], sigma_sgd=0.5
    )
    theta, total = np.tile(np.sqrt([1.0, 2.0]), (runs, 1)), np.zeros(runs)
    draws = rng.standard_normal((3, runs, 2))
    for t in range(3):
        inputs = rng.standard_normal((2, runs, 2)) * np.sqrt(eigenvalues)
        residual = np.sum(inputs * theta, axis=2) + 0.5 * rng.standard_normal((2, runs))
        noise = 0.3 * np.tensordot(decoder[t], draws, 1)
        theta = theta - rates[t] * (np.mean(residual[:, :, None] * inputs, axis=0) + noise)
        total += objective.omega[t] * 0.5 * (theta**2 @ eigenvalues)
    expected = objective.bias + objective.sgd_noise + 0.09 * objective.noise_power(from_matrix(decoder))
    assert abs(total.mean() - expected) < 6 * total.std() / np.sqrt(runs)
    assert 6 * total.std() / np.sqrt(runs) < 0.015 * expected


def test_reference_values():
    """Computed independently with other code."""
    mean = run_of(HARMONIC, 256, eta=0.05)
    assert np.trace(mean.gram()) == pytest.approx(0.4125878491, rel=1e-9)
    schedule = 0.1 * (1 - np.arange(256) / 256)
    final = run_of(HARMONIC, 256, schedule=schedule, weights="final", batch_size=32)
    assert np.trace(final.gram()) == pytest.approx(0.7812025455, rel=1e-9)
    small = run_of([1, 0.3, 0.05], 40, eta=0.2, batch_size=1, weights="final")
    assert float(small.value(nu(0.1))) == pytest.approx(0.0714814345, rel=1e-8)


def test_value_and_loss_by_hand():
    """T = 1: theta_1 = theta_0 - eta (x x^T theta_0 + w)."""
    objective = run_of([2.0], 1, eta=0.1, batch_size=1, initial=3.0, sigma_sgd=0.5)
    loss = objective.loss(independent(), 0.7, clip_norm=2.0)
    assert loss.bias == pytest.approx((1 - 2 * 0.2 + 3 * 0.04) * 3.0)
    assert loss.sgd_noise == pytest.approx(0.01 * 0.25 * 2.0)
    assert loss.privacy_noise == pytest.approx(0.01 * 4.0 / (2 * 0.7))
    assert loss.total == pytest.approx(loss.bias + loss.sgd_noise + loss.privacy_noise)
    twice = run_of([2.0], 1, eta=0.1, batch_size=2, noiseless=True)
    assert twice.loss(independent(), 0.7, clip_norm=2.0).privacy_noise == pytest.approx(loss.privacy_noise / 4)


def test_equal_eigenvalues_count_each():
    one, three = run_of([0.5], 9, eta=0.3), run_of([0.5] * 3, 9, eta=0.3)
    np.testing.assert_allclose(three.gram(), 3 * one.gram(), rtol=1e-13)


def test_stable_rates():
    assert largest_stable_rate(np.array([1.0]), 1.0) == pytest.approx(2 / 3)
    assert largest_stable_rate(np.array([1.0]), 0.25) == pytest.approx(8 / 6)
    assert largest_stable_rate(np.array([1.0, 0.5]), 1e-30) == pytest.approx(2.0)
    run_of([1.0], 5, eta=0.66, batch_size=1)
    run_of([1.0], 5, eta=1.99)
    run_of([1.0], 5, eta=3.7, momentum=0.9)


@pytest.mark.parametrize(
    ("parameter", "settings"),
    [
        ("eigenvalues[1]", {"eigenvalues": [1.0, 0.0]}),
        ("eigenvalues[0]", {"eigenvalues": [-1.0, 0.5]}),
        ("eigenvalues[0]", {"eigenvalues": [float("nan")]}),
        ("steps", {"steps": 0}),
        ("steps", {"steps": 2.5}),
        ("steps", {"steps": 10**8}),
        ("eta", {"eta": None}),
        ("eta", {"eta": 0.1, "schedule": np.full(4, 0.1)}),
        ("eta", {"eta": 2.0}),
        ("eta", {"eta": 0.67, "batch_size": 1}),
        ("eta", {"eta": -0.1}),
        ("eta", {"eta": float("nan")}),
        ("eta", {"eta": 3.9, "momentum": 0.9}),
        ("schedule", {"eta": None, "schedule": [0.1, 0.1]}),
        ("schedule", {"eta": None, "schedule": [0.1, 0.1, 2.1, 0.1]}),
        ("schedule[2]", {"eta": None, "schedule": [0.1, 0.1, 0.0, 0.1]}),
        ("weights", {"weights": "last"}),
        ("weights", {"weights": [1.0, 1.0]}),
        ("weights", {"weights": [0.0] * 4}),
        ("weights", {"weights": [1.0, -1.0, 1.0, 1.0]}),
        ("batch_size", {"batch_size": 0}),
        ("momentum", {"momentum": 1.0}),
        ("momentum", {"momentum": 0.5, "batch_size": 2}),
        ("initial", {"initial": [1.0, 2.0, 3.0]}),
        ("initial", {"initial": -1.0}),
        ("sigma_sgd", {"sigma_sgd": -1.0}),
        ("sigma_sgd", {"sigma_sgd": 1.0}),
    ],
)
def test_bad_input_names_the_parameter(parameter, settings):
    with pytest.raises(DomainError) as error:
        run_of(**({"eigenvalues": [1.0, 0.5], "steps": 4, "eta": 0.1} | settings))
    assert error.value.parameter == parameter


def test_other_refusals():
    long = run_of([1.0], 5000, eta=0.1)
    for attempt in (long.gram, lambda: long.noise_power(nu(0.5)), lambda: long.apply(np.ones(3))):
        with pytest.raises(DomainError):
            attempt()
    assert long.noise_power(independent()) == long.diagonal().sum()
    short = run_of([1.0], 5, eta=0.1)
    for rho in (0.0, -1.0, float("inf")):
        with pytest.raises(DomainError):
            short.loss(independent(), rho)
    with pytest.raises(DomainError):
        short.value(independent(), Participation.min_separation(3, 3))
    with pytest.raises(DomainError):
        short.value(np.eye(5))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError):
        short.gram()[0, 0] = 1.0
