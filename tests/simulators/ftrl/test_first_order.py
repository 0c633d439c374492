"""Methods on losses: against recursions by hand, exact quadratics, and the simulator of gradient descent."""

from __future__ import annotations

import numpy as np
import pytest

from dpbounds.errors import DomainError
from dpbounds.ftrl.correlations import from_coefficients, independent
from dpbounds.ftrl.methods import bound_method, gradient_descent, heavy_ball, nesterov
from dpbounds.ftrl.strongly_convex import Noise
from simulators.engine import Experiment, Streams
from simulators.ftrl import (
    Huber,
    MethodOnLoss,
    Quadratic,
    Settings,
    first_order,
    kinked_quadratic,
    method_settings,
)


def runs(problem, correlation, blocks=1, trials=5, **options):
    settings = method_settings(problem, correlation, rho=0.5, **options)
    experiment = Experiment(algorithm=first_order, problem=problem, settings=settings, block_trials=trials)
    return experiment.run(blocks, seed=3), settings


def draws(seed):
    """Streams that can be had again."""
    noise, data, initial = (np.random.default_rng((seed, k)) for k in range(3))
    return Streams(noise=noise, data=data, initial=initial)


def test_nesterov_by_hand():
    """theta' = y - eta (grad F(y) + w), y = theta + b (theta - theta_), F at theta, on a Huber loss in the plane."""
    loss, eta, b = Huber(mu=0.2, L=1.0, dimension=2, scale=0.5), 0.5, 0.4
    problem = MethodOnLoss(loss=loss, method=nesterov(eta=eta, momentum=b))
    settings = method_settings(problem, from_coefficients([1.0, -0.5]), rho=0.5)
    found = first_order(problem, settings, draws(1), 4)
    noise = np.concatenate(list(settings.noise((4, 2), draws(1).noise)))
    theta = before = np.zeros((4, 2))
    kept = []
    for t, w in enumerate(noise):
        if t >= settings.burn_in:
            kept.append(theta)
        y = theta + b * (theta - before)
        theta, before = y - eta * (loss.gradient(y) + w), theta
    assert found["x"] == pytest.approx(theta)
    assert found["mean_f"] == pytest.approx(np.mean([loss.suboptimality(x) for x in kept], axis=0))
    assert found["mean_distance"] == pytest.approx(np.mean([(x**2).sum(1) for x in kept], axis=0))
    assert found["mean_gradient"] == pytest.approx(np.mean([(loss.gradient(x) ** 2).sum(1) for x in kept], axis=0))


def test_averages_by_hand():
    loss, decay = kinked_quadratic(mu=0.2, L=1.0), 0.8
    problem = MethodOnLoss(loss=loss, method=gradient_descent(eta=0.5).averaged(decay=decay))
    settings = method_settings(problem, independent(), rho=0.5)
    found = first_order(problem, settings, draws(2), 3)
    theta = average = np.zeros((3, 1))
    for w in np.concatenate(list(settings.noise((3, 1), draws(2).noise))):
        average = decay * average + (1 - decay) * theta
        theta = theta - 0.5 * (loss.gradient(theta) + w)
    assert found["x"] == pytest.approx(decay * average + (1 - decay) * theta)


def test_quadratics_have_their_exact_error():
    """2000 means, each over 12 forgettings: beyond 4.5 standard errors a false alarm has probability 7e-6, and 10 % off
    is 8 standard errors at least.
    """
    for method, weights in ((heavy_ball(eta=0.1, momentum=0.9), [1.0]), (nesterov(eta=1.0, momentum=0.5), [1.0, -0.7])):
        problem = MethodOnLoss(loss=Quadratic(eigenvalues=(1.0,)), method=method, sigma_sgd=0.5)
        correlation = from_coefficients(weights)
        found, _ = runs(problem, correlation, blocks=2, trials=1000)
        noise = Noise(correlation=correlation, rho=0.5, sigma_sgd=0.5)
        bound = bound_method(noise, method, mu=0.999, L=1.0)
        mean, error = found["mean_f"].mean(), found["mean_f"].std() / np.sqrt(len(found["mean_f"]))
        assert error < 0.012 * mean and abs(mean - bound.lower) < 4.5 * error


def test_same_seed_same_numbers():
    problem = MethodOnLoss(loss=kinked_quadratic(mu=0.5, L=1.0), method=heavy_ball(eta=0.2, momentum=0.3))
    first, _ = runs(problem, independent())
    again, _ = runs(problem, independent())
    assert np.array_equal(first["x"], again["x"])


def test_refusals():
    loss = kinked_quadratic(mu=0.5, L=1.0)
    problem = MethodOnLoss(loss=loss, method=heavy_ball(eta=0.2, momentum=0.3))
    clipped = Settings(correlation=independent(), eta=0.2, rho=0.5, steps=10)
    with pytest.raises(DomainError, match="clipping = True"):
        first_order(problem, clipped, draws(0), 2)
    with pytest.raises(DomainError, match="sigma_sgd = -1"):
        MethodOnLoss(loss=loss, method=problem.method, sigma_sgd=-1.0)
    with pytest.raises(DomainError, match="method = gradient descent"):
        method_settings(MethodOnLoss(loss=loss, method=gradient_descent(eta=2.5)), independent(), rho=0.5)
    with pytest.raises(DomainError, match="forgotten = 0"):
        method_settings(problem, independent(), rho=0.5, forgotten=0.0)
