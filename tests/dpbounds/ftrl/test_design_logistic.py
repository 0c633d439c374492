"""Clipped logistic regression: its minimum, its forecast against the one for a given order, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from dpbounds import DomainError
from dpbounds.ftrl.correlations import independent, optimal_counting
from dpbounds.ftrl.design import Bands, learning_rates, unit_columns
from dpbounds.ftrl.design.clipped import forecast_logistic
from dpbounds.ftrl.design.from_data import LogisticTraining, predict_logistic
from dpbounds.ftrl.design.logistic import ClippedLogistic, logistic_minimum


def records(rows=200, columns=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_t(4, (rows, columns))
    return X, (rng.random(rows) < special.expit(X @ np.linspace(1.0, -1.0, columns))).astype(float)


def settings(**options):
    given = {"correlation": independent(), "schedule": learning_rates("linear", 1.0, 20), "clip_norm": 0.7}
    return given | {"noise_multiplier": 1.0, "batch_size": 20} | options


def loss_at(X, y, theta):
    margins = X @ theta
    return float(np.mean(np.logaddexp(0.0, margins) - y * margins))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_the_minimum_has_no_gradient(scale):
    X, y = records()
    X = scale * np.column_stack([X, X[:, 0], np.zeros(len(X))])  # directions twice and not at all
    theta = logistic_minimum(X, y)
    assert np.abs(X.T @ (special.expit(X @ theta) - y)).max() / len(y) < 1e-7 * scale
    assert theta[3] == pytest.approx(theta[0]) and theta[4] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("rows", [slice(None), slice(0, 3)])
def test_labels_that_features_tell_apart_are_refused(rows):
    """However far their margins are, and where a record is 0."""
    X, _ = records()
    X[1] = 0.0
    with pytest.raises(DomainError, match="labels"):
        logistic_minimum(X[rows], (X[rows] @ np.array([1.0, -2.0, 0.5]) > 0).astype(float))


def test_all_records_in_every_step_is_the_forecast_for_their_order():
    """Nothing is sampled then: the same closure, written for one order."""
    X, y = records()
    bands = unit_columns(Bands(tuple(optimal_counting().inverse_coefficients(4))), 20)
    training = LogisticTraining(
        correlation=bands, steps=20, rows=200, batch_size=200, rho=0.01, schedule=learning_rates("linear", 1.0, 20)
    )
    (other,) = predict_logistic(X, y, training)
    multiplier = training.noise_deviation * 200
    found = forecast_logistic(
        X, y, **settings(correlation=bands, noise_multiplier=multiplier, batch_size=200, clip_norm=1.0)
    )
    least = loss_at(X, y, logistic_minimum(X, y))
    assert found.sampling == pytest.approx(0.0, abs=1e-12)
    assert float(found.loss) + least == pytest.approx(float(other.loss), rel=1e-9)
    assert found.share_clipped.mean() == pytest.approx(other.clipped, rel=1e-9)


@pytest.mark.parametrize("order", ["fixed", "poisson", "fresh"])
def test_parts_and_momentum(order):
    X, y = records()
    one = forecast_logistic(X, y, **settings(order=order))
    two = forecast_logistic(X, y, **settings(order=order, momentum=1e-13))
    np.testing.assert_allclose(one.biases + one.privacies + one.samplings, two.biases + two.privacies + two.samplings)
    assert one.bias > 0 and one.privacy > 0 and one.sampling > 0
    clipped = forecast_logistic(X, y, **settings(order=order, clip_norm=0.2, noise_multiplier=3.5))
    assert clipped.share_clipped.mean() > one.share_clipped.mean() and clipped.bias > one.bias


def test_long_runs_are_interpolated_and_end_where_they_end():
    X, y = records(60)
    few = forecast_logistic(X, y, **settings(schedule=np.full(500, 0.2)))
    every = forecast_logistic(X, y, **settings(schedule=np.full(200, 0.2)))
    np.testing.assert_allclose(few.biases[:200], every.biases, rtol=0.03, atol=1e-6)
    assert math.isfinite(few.loss) and few.privacies.min() >= 0


def test_without_clipping_small_gradients_are_all_kept():
    X, y = records()
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert forecast_logistic(X, y, **settings(clip_norm=1.0)).share_clipped.max() == 0.0
    assert ClippedLogistic(X, y, 1.0).means(np.zeros(3), np.eye(3)).share == 0.0


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"labels": np.full(200, 0.5)}, "labels"),
        ({"labels": np.ones(3)}, "labels"),
        ({"features": np.full((200, 3), np.nan)}, "features"),
        ({"start": np.zeros(2)}, "start"),
        ({"batch_size": 201}, "batch_size"),
        ({"clip_norm": 0.0}, "clip_norm"),
        ({"order": "shuffled"}, "order"),
        ({"momentum": 1.0}, "momentum"),
    ],
)
def test_what_does_not_describe_a_run_is_refused(options, parameter):
    X, y = records()
    with pytest.raises(DomainError) as raised:
        forecast_logistic(**({"features": X, "labels": y} | settings() | options))
    assert raised.value.parameter.endswith(parameter)
