"""Private mean estimation: stationary variances against impulse responses and mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbounds import DomainError
from dpbounds.ftrl import correlations, mean_estimation

FINITE = [(1.0,), (1.0, -0.8), (1.0, -0.5, 0.2, 0.1), (3.0, 1.0)]


def by_impulse_response(weights, eta: float, noise: float, sigma: float) -> float:
    """Sum of squares of what single inputs leave in delta: delta_{t+1} = (1 - eta) delta_t + eta (sigma u_t - w~_t)."""
    response = np.convolve((1 - eta) ** np.arange(round(60 / eta)), weights)
    own = np.sum((1 - eta) ** (2 * np.arange(round(60 / eta))))
    return eta**2 * (noise * np.sum(response**2) + sigma**2 * own)


@pytest.mark.parametrize("weights", FINITE)
@pytest.mark.parametrize("eta", [0.01, 0.4, 1.0])
def test_stationary_variance_is_that_of_the_impulse_response(weights, eta):
    correlation = correlations.from_coefficients(weights)
    noise = 4.0 * float(np.sum(correlation.inverse_coefficients(3000) ** 2)) / 0.6
    value = mean_estimation.stationary_variance(correlation, eta, 0.3, clip_norm=2.0, sigma_sgd=0.7)
    assert value == pytest.approx(by_impulse_response(weights, eta, noise, 0.7), rel=1e-10)
    assert (value.kind, value.convention) == ("exact", "lim E (theta_t - E z)^2, no factor 1/2")


@pytest.mark.parametrize("nu", [0.05, 0.4])
def test_stationary_variance_of_an_infinite_sequence(nu):
    correlation = correlations.nu(nu)
    noise = float(np.sum(correlation.inverse_coefficients(3000) ** 2))
    expected = by_impulse_response(correlation.coefficients(3000), 0.2, noise, 0.0)
    assert mean_estimation.stationary_variance(correlation, 0.2, 0.5) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("eta", [1e-9, 1e-3, 0.3, 0.99, 1.0])
def test_optimum_by_mpmath(eta):
    with mpmath.workdps(40):
        step = mpmath.mpf(eta)
        points = [0, *(mpmath.mpf(10) ** k for k in range(-12, 1)), mpmath.pi]
        integral = mpmath.quad(
            lambda omega: 1 / mpmath.sqrt(step**2 + 4 * (1 - step) * mpmath.sin(omega / 2) ** 2), points
        )
        privacy = float((step * integral / mpmath.pi) ** 2)
    optimum = mean_estimation.optimal_variance(eta, 0.25, clip_norm=3.0, sigma_sgd=0.5)
    assert optimum == pytest.approx(18 * privacy + 0.25 * eta / (2 - eta), rel=1e-12)
    at_best = mean_estimation.stationary_variance(
        mean_estimation.optimal_correlation(eta), eta, 0.25, clip_norm=3.0, sigma_sgd=0.5
    )
    assert at_best == pytest.approx(float(optimum), rel=1e-12)
    assert mean_estimation.optimal_ratio(eta) == pytest.approx(privacy * (2 - eta) / eta, rel=1e-12)


@given(st.lists(st.floats(-0.95, 0.95), max_size=4), st.floats(1e-3, 1.0))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_no_other_sequence_is_better(reflection, eta):
    weights = np.array([1.0])
    for k in reflection:
        weights = np.append(weights, 0.0) + k * np.append(0.0, weights[::-1])
    value = mean_estimation.stationary_variance(correlations.from_coefficients(weights), eta, 0.5)
    assert value >= mean_estimation.optimal_variance(eta, 0.5) * (1 - 1e-12)


def test_neither_twice_nor_half_the_best_nu_is_as_good():
    optimum = mean_estimation.optimal_variance(0.1, 0.5)
    for nu in (0.05, 0.2):
        assert mean_estimation.stationary_variance(correlations.nu(nu), 0.1, 0.5) > 1.01 * optimum


def test_independent_noise():
    for eta in (1e-6, 0.3, 1.0):
        value = mean_estimation.independent_variance(eta, 0.2, clip_norm=2.0, sigma_sgd=0.5)
        assert value == pytest.approx(eta / (2 - eta) * (10 + 0.25), rel=1e-13)
        same = mean_estimation.stationary_variance(correlations.independent(), eta, 0.2, clip_norm=2.0, sigma_sgd=0.5)
        assert same == pytest.approx(float(value), rel=1e-13)


def test_ratio_rises_from_zero_to_one():
    ratios = [mean_estimation.optimal_ratio(eta) for eta in (1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.9, 1.0)]
    assert np.all(np.diff(ratios) > 0)
    assert ratios[0] < 1e-9
    assert ratios[-1] == pytest.approx(1.0)


def test_a_diverging_sensitivity_gives_an_infinite_variance():
    assert mean_estimation.stationary_variance(correlations.anti_pgd(), 0.3, 1.0) == np.inf
    assert mean_estimation.stationary_variance(correlations.optimal_counting(), 0.3, 1.0, sigma_sgd=1.0) == np.inf


@pytest.mark.parametrize("eta", [0.0, -0.1, 1.5, np.nan])
def test_step_sizes_outside_the_theory_are_refused(eta):
    for function in (mean_estimation.independent_variance, mean_estimation.optimal_variance):
        with pytest.raises(DomainError, match=r"^eta = "):
            function(eta, 1.0)
    with pytest.raises(DomainError, match=r"^eta = "):
        mean_estimation.optimal_ratio(eta)


def test_other_arguments_outside_the_theory_are_refused():
    with pytest.raises(DomainError, match=r"^rho = "):
        mean_estimation.optimal_variance(0.1, 0.0)
    with pytest.raises(DomainError, match=r"^clip_norm = "):
        mean_estimation.stationary_variance(correlations.independent(), 0.1, 1.0, clip_norm=-1.0)
    with pytest.raises(DomainError, match=r"^sigma_sgd = "):
        mean_estimation.independent_variance(0.1, 1.0, sigma_sgd=-0.1)


@pytest.mark.parametrize("eta", [1e-200, 1e-9, 0.01, 0.5, 1.0])
@pytest.mark.parametrize("sigma", [0.0, 0.7])
def test_optimum_lies_between_its_bounds_and_reaches_them_at_the_ends(eta, sigma):
    options = {"clip_norm": 3.0, "sigma_sgd": sigma}
    low, high = mean_estimation.optimal_variance_bounds(eta, 0.25, **options)
    value = mean_estimation.optimal_variance(eta, 0.25, **options)
    assert low <= value * (1 + 1e-13) and value <= high * (1 + 1e-13)
    assert (low.kind, high.kind) == ("lower", "upper")
    if eta == 1:
        assert high == pytest.approx(float(value), rel=1e-14)


def test_bounds_of_the_optimum_refuse_what_the_optimum_refuses():
    with pytest.raises(DomainError, match="eta"):
        mean_estimation.optimal_variance_bounds(1.5, 0.25)
