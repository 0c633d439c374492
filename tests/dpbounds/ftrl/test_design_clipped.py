"""Clipped runs: the means of one record by quadrature, reference values, exact small cases, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpbounds import DomainError
from dpbounds.errors import AccuracyError
from dpbounds.ftrl.correlations import from_matrix, independent, optimal_counting
from dpbounds.ftrl.design import Bands, Objective, learning_rates, unit_columns
from dpbounds.ftrl.design.clipped import by_direction, forecast, moments
from dpbounds.ftrl.design.clipped.results import refreshed

COUNTING = optimal_counting()
PREFIX = unit_columns(COUNTING, 32)
BANDED = unit_columns(Bands(tuple(COUNTING.inverse_coefficients(4))), 32)


def toy():
    """256 records in 4 dimensions with residuals that are far from Gaussian; features, residuals, theta*."""
    i, j = np.arange(1, 257)[:, None], np.arange(1, 5)
    X = np.cos(j * i) / np.sqrt(j)
    y = X @ np.array([1.0, -1.0, 1.0, -1.0]) + 1.5 * np.cos(7.3 * i[:, 0]) ** 3
    theta = np.linalg.lstsq(X, y, rcond=None)[0]
    return X, y - X @ theta, theta


def settings(**options: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "correlation": independent(),
        "schedule": learning_rates("linear", 0.6, 32),
        "clip_norm": 0.8,
        "noise_multiplier": 4.0,
        "batch_size": 64,
        "order": "poisson",
    }
    return given | options


def of_toy(**options):
    X, residuals, theta = toy()
    return forecast(X, residuals, **settings(**{"initial": -theta, **options}))


@pytest.mark.parametrize(
    ("mean", "sd", "threshold", "expected"),
    [
        (0.3, 0.8, 1.0, (0.23343182, 0.75713177, 0.45297579)),
        (-1.0, 0.5, 0.7, (-0.61570696, 0.27391619, 0.41512022)),
        (0.3, 0.8, math.inf, (0.3, 1.0, 0.73)),
        (0.3, 0.0, 0.2, (0.2, 0.0, 0.04)),
        (-0.1, 0.0, 0.2, (-0.1, 1.0, 0.01)),
        (0.3, 0.8, 0.0, (0.0, 0.0, 0.0)),
        (1e9, 1.0, 2.0, (2.0, 0.0, 4.0)),
        (3.0, 1e-200, 2.0, (2.0, 0.0, 4.0)),
        (1e40, 1e40, math.inf, (1e40, 1.0, 2e80)),
    ],
)
def test_moments_of_one_clipped_residual(mean, sd, threshold, expected):
    assert tuple(moments(mean, sd, threshold)) == pytest.approx(expected, rel=1e-7, abs=1e-15)


def test_moments_of_arrays_by_quadrature_and_near_the_guards():
    rng = np.random.default_rng(0)
    mean, sd, threshold = rng.normal(size=40) * 3, rng.exponential(size=40), rng.exponential(size=40) * 2
    found = moments(mean, sd, threshold)
    for i in range(40):
        a, s, k = mean[i], sd[i], threshold[i]
        kinks = [p for p in (-k, k) if abs(p - a) < 12 * s]
        expected = [
            stats.norm(a, s).expect(f, lb=a - 12 * s, ub=a + 12 * s, points=kinks)
            for f in (
                lambda r, k=k: np.clip(r, -k, k),
                lambda r, k=k: float(abs(r) < k),
                lambda r, k=k: np.clip(r, -k, k) ** 2,
            )
        ]
        np.testing.assert_allclose(np.array([each[i] for each in found]), np.array(expected), atol=1e-8)
    steps = moments(np.full(2, 1.0), np.full(2, 1e-3), np.array([1.0 + 0.0399, 1.0 + 0.0401]))
    np.testing.assert_allclose(steps.first[0], steps.first[1], rtol=1e-14)


@pytest.mark.parametrize(
    ("options", "deviation", "expected"),
    [
        ({}, 0.05, (0.05240302, 0.00121316, 0.05410364)),
        ({"clip_norm": 1e6}, 0.05, (0.008699857, 0.0006222503, 0.009847671)),
        ({"correlation": PREFIX, "order": "fixed"}, 0.1, (0.05238992, 0.0004866015, 0.05288248)),
        ({"correlation": PREFIX, "order": "fixed", "clip_norm": 1e6}, 0.1, (0.008699857, 0.0002728013, 0.008979409)),
        ({"correlation": BANDED, "order": "fixed"}, 0.3, (0.05405369, 0.01434677, 0.06841716)),
    ],
)
def test_reference_values_on_the_toy_set(options, deviation, expected):
    """Computed once by another program, to its digits."""
    clip_norm = options.get("clip_norm", 0.8)
    found = of_toy(**options, noise_multiplier=deviation * 64 / clip_norm)
    assert (found.bias, found.privacy, float(found.loss)) == pytest.approx(expected, rel=3e-7)
    assert found.loss.kind == "estimate"


@pytest.mark.parametrize(("correlation", "deviation", "total"), [(0, 0.02, 0.02204939), (1, 0.05, 0.02103535)])
def test_reference_values_by_direction(correlation, deviation, total):
    spectrum = 1.0 / np.arange(1, 17)
    found = by_direction(
        spectrum / spectrum.sum(),
        correlation=unit_columns(COUNTING, 64) if correlation else independent(),
        schedule=learning_rates("linear", 2.0, 64),
        clip_norm=0.5,
        noise_multiplier=deviation * 64 / 0.5,
        batch_size=64,
        order="fresh",
        initial=1.0,
        sigma_sgd=0.5,
    )
    assert float(found.loss) == pytest.approx(total, rel=3e-7)


def test_noise_by_bands_and_as_a_matrix():
    """The same decoder, once as a recursion of three outputs and once without structure."""
    one = of_toy(correlation=BANDED, order="fixed")
    two = of_toy(correlation=from_matrix(BANDED.matrix(32)), order="fixed")
    np.testing.assert_allclose(one.privacies, two.privacies, rtol=1e-12)
    assert float(one.loss) == pytest.approx(float(two.loss), rel=1e-13)


def test_means_computed_now_and_then_are_near_those_of_every_step():
    X, residuals, theta = toy()
    rates = learning_rates("linear", 0.1, 700)
    few = forecast(X, residuals, **settings(schedule=rates), initial=-theta)
    every = forecast(X, residuals, **settings(schedule=rates[:200]), initial=-theta)
    np.testing.assert_allclose(few.biases[:200], every.biases, rtol=3e-3)
    looks = refreshed(700, 200)
    assert 150 <= looks.sum() <= 200
    assert looks[:8].all()


def test_without_clipping_and_with_large_batches_directions_are_the_objective():
    spectrum, rates = np.array([1.0, 0.3, 0.05]), learning_rates("cosine", 0.4, 24)
    mechanism = unit_columns(COUNTING, 24)
    exact = Objective(
        spectrum, 24, schedule=rates, weights="final", batch_size=10**9, initial=np.array([1.0, 2.0, 0.5])
    )
    found = by_direction(
        spectrum,
        correlation=mechanism,
        schedule=rates,
        clip_norm=1e6,
        noise_multiplier=2.0,
        batch_size=10**9,
        order="fresh",
        initial=np.array([1.0, 2.0, 0.5]),
    )
    assert found.bias == pytest.approx(exact.bias, rel=1e-7)
    assert found.privacy == pytest.approx((2e6 / 1e9) ** 2 * exact.noise_power(mechanism), rel=1e-7)
    assert found.share_clipped.max() == 0.0
    assert found.weighted(exact.omega) == pytest.approx(float(found.loss), rel=1e-12)
    assert found.excursion == found.privacies.max() > found.privacy


def test_without_clipping_and_with_large_batches_momentum_is_the_objective_too():
    spectrum, rates, start = np.array([1.0, 0.3, 0.05]), learning_rates("cosine", 0.4, 24), np.array([1.0, 2.0, 0.5])
    mechanism = unit_columns(COUNTING, 24)
    exact = Objective(spectrum, 24, schedule=rates, weights="final", noiseless=True, momentum=0.9, initial=start)
    settings = {"correlation": mechanism, "schedule": rates, "clip_norm": 1e6, "noise_multiplier": 2.0}
    found = by_direction(spectrum, **settings, batch_size=10**9, order="fresh", initial=start, momentum=0.9)
    assert found.bias == pytest.approx(exact.bias, rel=1e-7)
    assert found.privacy == pytest.approx((2e6 / 1e9) ** 2 * exact.noise_power(mechanism), rel=1e-7)


@pytest.mark.parametrize("order", ["fixed", "poisson", "fresh"])
def test_the_state_with_velocity_and_the_one_without_agree(order):
    """With next to no momentum, which is carried all the same; on records and by direction."""
    for correlation in (independent(), BANDED):
        one, two = (of_toy(order=order, correlation=correlation, momentum=momentum) for momentum in (0.0, 1e-13))
        for name in ("biases", "privacies", "samplings", "share_clipped"):
            np.testing.assert_allclose(getattr(two, name), getattr(one, name), rtol=1e-9)
        given = settings(order=order, correlation=correlation) | {"initial": 1.0, "sigma_sgd": 0.5, "n": 256}
        one, two = (by_direction(np.array([1.0, 0.2]), **given, momentum=momentum) for momentum in (0.0, 1e-13))
        np.testing.assert_allclose(two.samplings, one.samplings, rtol=1e-9)
        np.testing.assert_allclose(two.privacies, one.privacies, rtol=1e-9)


def test_momentum_by_direction_is_that_on_records_where_inputs_are_alike():
    """One dimension, features of one length: what is clipped is the same Gaussian residual, up to its tails."""
    rng = np.random.default_rng(0)
    given = settings(order="fresh", momentum=0.8, correlation=BANDED, schedule=np.full(32, 0.1), clip_norm=1e3)
    quantiles = stats.norm.ppf((np.arange(4096) + 0.5) / 4096) * 0.5
    signs = rng.permutation(np.repeat([1.0, -1.0], 2048))
    on_records = forecast(signs[:, None], quantiles * signs, initial=np.ones(1), **given)
    alike = by_direction(np.ones(1), initial=1.0, sigma_sgd=0.5, **given)
    np.testing.assert_allclose(on_records.privacies, alike.privacies, rtol=1e-12)
    np.testing.assert_allclose(on_records.biases, alike.biases, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("order", ["fixed", "poisson"])
def test_several_passes_end_above_the_minimum_of_the_population(order):
    """sigma^2 d / 2n where the start is forgotten and nothing is clipped."""
    found = by_direction(
        np.ones(4),
        correlation=independent(),
        schedule=learning_rates("linear", 0.5, 400),
        clip_norm=1e6,
        noise_multiplier=0.0,
        batch_size=100,
        order=order,
        initial=1.0,
        sigma_sgd=0.5,
        n=100,
    )
    assert float(found.loss) == pytest.approx(0.25 * 4 / 200, rel=1e-3)


def test_a_record_of_zeros_is_never_clipped():
    X, residuals, theta = toy()
    X[5] = 0.0
    found = forecast(X, residuals, **settings(clip_norm=1e-3), initial=-theta)
    assert math.isfinite(found.loss)
    assert found.share_clipped.max() < 1.0


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"order": "shuffled"}, "order"),
        ({"order": None}, "order"),
        ({"batch_size": 257}, "batch_size"),
        ({"batch_size": 0}, "batch_size"),
        ({"clip_norm": 0.0}, "clip_norm"),
        ({"clip_norm": math.inf}, "clip_norm"),
        ({"noise_multiplier": -1.0}, "noise_multiplier"),
        ({"noise_multiplier": math.nan}, "noise_multiplier"),
        ({"momentum": 1.0}, "momentum"),
        ({"momentum": -0.1}, "momentum"),
        ({"momentum": math.nan}, "momentum"),
        ({"schedule": np.array([0.1, 0.0])}, "schedule"),
        ({"schedule": np.zeros(0)}, "schedule"),
        ({"initial": np.ones(1)}, "initial"),
        ({"correlation": "independent"}, "correlation"),
        ({"correlation": PREFIX, "schedule": np.array([0.1])}, "steps"),
    ],
)
def test_what_does_not_describe_a_run_is_refused(options, parameter):
    with pytest.raises(DomainError, match=parameter):
        of_toy(**options)


@pytest.mark.parametrize(
    "bad", [{"features": np.full((256, 2), np.nan)}, {"features": np.zeros((0, 2))}, {"residuals": np.ones(1)}]
)
def test_tables_that_do_not_fit_are_refused(bad):
    X, residuals, _ = toy()
    with pytest.raises(DomainError, match=next(iter(bad))):
        forecast(**({"features": X, "residuals": residuals} | bad), **settings())


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ((math.inf, 1.0, 1.0), "mean"),
        ((0.0, -1.0, 1.0), "sd"),
        ((0.0, 1.0, -1.0), "threshold"),
        ((0.0, 1.0, math.nan), "threshold"),
        ((np.zeros(2), np.ones(3), 1.0), "threshold"),
        (("a", 1.0, 1.0), "mean"),
    ],
)
def test_moments_refuse(arguments, parameter):
    with pytest.raises(DomainError, match=parameter):
        moments(*arguments)


def test_directions_need_the_number_of_records_and_squared_distances():
    with pytest.raises(DomainError, match="n = None"):
        by_direction(np.ones(1), **settings(order="fixed"))
    with pytest.raises(DomainError, match="initial"):
        by_direction(np.ones(1), **settings(order="fresh"), initial=-1.0)


def test_losses_beyond_floats_are_told():
    X, residuals, _ = toy()
    wild = settings(schedule=np.full(3, 1e50), clip_norm=1e50, noise_multiplier=1e50, batch_size=1)
    with pytest.raises(AccuracyError, match="overflows in step 1"):
        forecast(1e30 * X, residuals, **wild)
