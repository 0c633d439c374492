"""The spectrum and the forecast from data: oracles that are not the claims', and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from dpbounds import DomainError
from dpbounds.ftrl import correlations
from dpbounds.ftrl.design import Blt, Objective, unit_columns
from dpbounds.ftrl.design.from_data import (
    WARNING,
    JointMoments,
    LogisticTraining,
    predict_logistic,
    spectrum_of,
)
from dpbounds.ftrl.design.logistic import ClippedLogistic
from dpbounds.ftrl.design.streams import state_space

BLT = Blt((0.95, 0.7), (0.2, 0.1))


def table(rows=20, columns=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns))
    return X, (rng.random(rows) < special.expit(X @ np.linspace(2.0, -1.0, columns))).astype(float)


def training(**options):
    settings = {"correlation": BLT, "steps": 9, "rows": 20, "batch_size": 4, "rho": 0.5, "eta": 1.0, "clip_norm": 0.7}
    return LogisticTraining(**{**settings, **options})


def test_spectrum_feeds_an_objective_and_leaves_out_what_is_0():
    X, _ = table()
    doubled = np.column_stack([X, X[:, 0]])
    spectrum = spectrum_of(doubled)
    assert len(spectrum) == 3
    assert spectrum.sum() == pytest.approx(np.trace(doubled.T @ doubled) / 20)
    np.testing.assert_allclose(spectrum_of(doubled, loss="logistic"), spectrum / 4)
    assert Objective(spectrum, 8, 0.1).steps == 8


@pytest.mark.parametrize("deviation", [0.01, 0.5, 3.0])
def test_one_linearised_step_is_the_mean_over_a_gaussian(deviation):
    """By adaptive quadrature over the margin of one clipped record, with its kinks as break points."""
    x, theta, clip_norm = np.array([0.8, -0.6]), np.array([1.0, 0.3]), 0.55
    model = ClippedLogistic(x[None], np.array([1.0]), clip_norm)
    found = model.means(theta, deviation**2 * np.eye(2), np.array([0]))
    gradient, hessian, clipped = found.gradient, found.slope, found.share
    margin = float(x @ theta)
    kink = float(special.logit(1.0 - clip_norm))

    def mean(function):
        ends = sorted([margin - 12 * deviation, min(max(kink, margin - 12 * deviation), margin + 12 * deviation)])
        pieces = [(ends[0], ends[1]), (ends[1], margin + 12 * deviation)]
        density = stats.norm(margin, deviation).pdf
        return sum(integrate.quad(lambda z: function(z) * density(z), *piece)[0] for piece in pieces)

    def residual(z):
        return max(special.expit(z) - 1.0, -clip_norm)

    slope = mean(lambda z: special.expit(z) * special.expit(-z) * (z > kink))
    # 15 nodes across a kink: 2 % of the residual's range.
    np.testing.assert_allclose(gradient, mean(residual) * x, atol=0.012)
    np.testing.assert_allclose(hessian, slope * np.outer(x, x), atol=0.012)
    assert clipped == pytest.approx(float(stats.norm(margin, deviation).cdf(kink)), abs=0.12)


def test_joint_moments_against_the_covariance_of_all_draws():
    """theta and the noise as one linear map of all draws, matrices that do not commute."""
    T, d, c, mechanism = 6, 2, 0.3, unit_columns(BLT, 6)
    rng = np.random.default_rng(3)
    steps = [np.eye(d) - 0.3 * (A @ A.T) for A in rng.standard_normal((T, d, d)) / 2]
    rates = np.linspace(1.0, 0.4, T)
    joint = JointMoments(state_space(mechanism, T), (d, d), c)
    response, decoder = np.zeros((d, T, d)), mechanism.matrix(T)
    for t in range(T):
        found = joint.advance(t, steps[t], -rates[t] * np.eye(d))
        response = np.einsum("ij,jkl->ikl", steps[t], response)
        response -= rates[t] * c * np.einsum("k,il->ikl", decoder[t], np.eye(d))
        np.testing.assert_allclose(found, np.einsum("ikl,jkl->ij", response, response), atol=1e-14)


@pytest.mark.parametrize("linearise", ["law", "path"])
def test_buffers_and_all_draws_give_the_same_forecast(linearise):
    """A BLT by its buffers, and the same decoder as a matrix without structure."""
    X, y = table()
    matrix = correlations.from_matrix(unit_columns(BLT, 9).matrix(9))
    settings = {"batch_size": 2, "steps": 9}
    (one,) = predict_logistic(X, y, training(correlation=unit_columns(BLT, 9), **settings), linearise=linearise)
    (two,) = predict_logistic(X, y, training(correlation=matrix, **settings), linearise=linearise)
    assert float(one.loss) == pytest.approx(float(two.loss), rel=1e-12)
    np.testing.assert_allclose(one.covariance, two.covariance, atol=1e-14)


def test_small_noise_costs_half_the_trace_of_hessian_times_covariance():
    """Second order about the noiseless end, where the drift of the mean is left out (`path`)."""
    X, y = table()
    (found,) = predict_logistic(X, y, training(rho=1e6), linearise="path")
    p = special.expit(X @ found.mean)
    hessian = (X.T * (p * (1 - p))) @ X / 20
    assert found.cost_of_noise == pytest.approx(0.5 * np.trace(hessian @ found.covariance), rel=1e-3)


def test_without_noise_and_with_every_budget():
    X, y = table()
    (still,) = predict_logistic(X, y, training(rho=math.inf))
    assert still.cost_of_noise == pytest.approx(0.0, abs=1e-9)
    assert not still.covariance.any()
    losses = [float(predict_logistic(X, y, training(rho=rho))[0].loss) for rho in (10.0, 1.0, 0.1, 0.01)]
    assert losses == sorted(losses)


def test_orders_and_what_a_forecast_says():
    X, y = table()
    turned = np.roll(np.arange(20), 7)
    first, second = predict_logistic(X, y, training(), orders=[np.arange(20), turned])
    (same,) = predict_logistic(X[turned], y[turned], training())
    assert float(second.loss) == pytest.approx(float(same.loss), rel=1e-12)
    assert float(first.loss) != float(second.loss)
    assert first.loss.kind == "estimate"
    assert first.warning == WARNING
    assert "not the private records" in first.warning


def test_proxy_data_may_be_fewer_or_more_than_the_private_records():
    """Batches of the private run's size, drawn around the proxy data again where these end."""
    X, y = table(rows=7)
    repeated = np.resize(np.arange(7), 20)
    (few,) = predict_logistic(X, y, training())
    (explicit,) = predict_logistic(X, y, training(), orders=[repeated])
    assert float(few.loss) == float(explicit.loss)
    many, labels = table(rows=50)
    assert predict_logistic(many, labels, training())[0].noiseless > 0


def test_participation_and_sensitivity_follow_from_rows_and_batches():
    assert training(steps=5).participation.times == 1
    several = training()
    assert (several.participation.kind, several.participation.times, several.epoch) == ("cyclic", 2, 5)
    encoder = BLT.encoder(9)
    largest = max(np.linalg.norm(encoder[:, first::5].sum(axis=1)) for first in range(5))
    assert several.noise_deviation == pytest.approx(largest * 0.7 / (math.sqrt(2 * 0.5) * 4), rel=1e-12)


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"batch_size": 21}, "batch_size"),
        ({"batch_size": 0}, "batch_size"),
        ({"steps": 0}, "steps"),
        ({"rho": 0.0}, "rho"),
        ({"rho": math.nan}, "rho"),
        ({"eta": None}, "eta"),
        ({"eta": -1.0}, "eta"),
        ({"schedule": np.ones(9)}, "eta"),
        ({"eta": None, "schedule": np.ones(8)}, "schedule"),
        ({"eta": None, "schedule": np.zeros(9)}, "schedule"),
        ({"clip_norm": 0.0}, "clip_norm"),
        ({"correlation": "BLT"}, "correlation"),
    ],
)
def test_bad_training_is_refused(options, parameter):
    with pytest.raises(DomainError, match=parameter):
        training(**options)


def test_bad_data_are_refused():
    X, y = table()
    holed = X.copy()
    holed[3, 1] = np.nan
    for features, labels, options, parameter in (
        (holed, y, {}, "features"),
        (X[:0], y, {}, "features"),
        (X, y[:-1], {}, "labels"),
        (X, 2 * y - 1, {}, "labels"),
        (X, y, {"orders": [np.array([0, 20])]}, "orders"),
        (X, y, {"orders": [np.array([0.5])]}, "orders"),
        (X, y, {"linearise": "both"}, "linearise"),
        (np.ones((2, 1001)), np.array([0.0, 1.0]), {}, "features"),
    ):
        with pytest.raises(DomainError, match=parameter):
            predict_logistic(features, labels, training(), **options)
    with pytest.raises(DomainError, match="features"):
        spectrum_of(np.zeros((3, 2)))
    with pytest.raises(DomainError, match="loss"):
        spectrum_of(X, loss="hinge")
    with pytest.raises(DomainError, match="one draw per step"):
        predict_logistic(X, y, training(correlation=correlations.tree_aggregation(9), steps=9, batch_size=2))
