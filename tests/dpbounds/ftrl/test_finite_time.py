from __future__ import annotations

from dataclasses import replace
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbounds import DomainError
from dpbounds.ftrl import correlations
from dpbounds.ftrl.finite_time import (
    Horizon,
    at_learning_rate,
    clip_norm,
    expected_bound,
    finite_time_rate,
    gradient_bound,
    half_expo_decay_constant,
    iterate_bound,
    largest_learning_rate,
    tuned,
)
from dpbounds.ftrl.linear_regression import Regression, gaussian_r_squared, suboptimality, trajectory

SPECTRUM = np.array([2.0, 0.5, 0.1])
HORIZON: dict[str, Any] = {"steps": 1000, "failure": 0.01}
UNKNOWN: Any = "tree aggregation"
FAST = settings(derandomize=True, deadline=None, max_examples=40)


def definition(weights, decay, tau):
    """(70) divided by (1 - decay)^(tau / 2), with 30 digits."""
    with mp.workdps(30):
        kept = 1 - mp.mpf(decay)
        left = mp.fsum(abs(mp.mpf(float(b))) * kept ** (mp.mpf(tau - k) / 2) for k, b in enumerate(weights[: tau + 1]))
        return float(left / kept ** (mp.mpf(tau) / 2))


# --- half-expo decay ---


@pytest.mark.parametrize("nu", [0.003, 0.05, 0.4, 0.9, 1.0])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_half_expo_constant_of_nu_is_the_supremum_of_the_definition(nu, share):
    decay = share * min(nu, 0.99)
    correlation = correlations.nu(nu)
    constant = half_expo_decay_constant(correlation, decay)
    sums = [definition(correlation.coefficients(1 + tau), decay, tau) for tau in (0, 1, 5, 40)]
    assert sums == sorted(sums)
    assert sums[-1] <= constant * (1 + 1e-14)
    terms = round(100 / nu)
    log_weights = np.log(np.maximum(np.abs(correlation.coefficients(terms)), 1e-300))
    series = np.sum(np.exp(log_weights - 0.5 * np.arange(terms) * np.log1p(-decay)))
    assert constant == pytest.approx(series, rel=1e-10)
    assert constant.kind == "exact"


def test_half_expo_decay_of_nu_ends_at_nu_times_two_minus_nu():
    for nu in (1e-9, 0.01, 0.3, 0.7):
        assert half_expo_decay_constant(correlations.nu(nu), nu * (2 - nu)) == pytest.approx(2.0, abs=1e-6)
        assert half_expo_decay_constant(correlations.nu(nu), nu * (2 - nu) * (1 + 1e-6)) == np.inf
        assert half_expo_decay_constant(correlations.nu(nu), nu) < 2
        assert half_expo_decay_constant(correlations.nu(nu), 0.0) == pytest.approx(2 - np.sqrt(nu), rel=1e-14)


@FAST
@given(st.lists(st.floats(-2.0, 2.0), min_size=0, max_size=4), st.floats(0.0, 0.95))
def test_half_expo_constant_of_finitely_many_weights(later, decay):
    beta = [1.0, *later]
    correlation = correlations.from_coefficients(beta, allow_unstable_inverse=True)
    expected = definition(np.array(beta), decay, len(beta) - 1)
    assert half_expo_decay_constant(correlation, decay) == pytest.approx(expected, rel=1e-12)


def test_half_expo_constant_of_damped_anti_pgd_and_refusals():
    damped = half_expo_decay_constant(correlations.damped_anti_pgd(0.2), 0.36)
    assert damped == pytest.approx(definition(np.array([1.0, -0.8]), 0.36, 1), rel=1e-14)
    with pytest.raises(DomainError, match="decay"):
        half_expo_decay_constant(correlations.nu(0.1), 1.0)
    spectral = correlations.from_power_spectrum(lambda omega: 1.25 + np.cos(omega))
    with pytest.raises(DomainError, match="correlation"):
        half_expo_decay_constant(spectral, 0.1)


# --- Theorem D.11 ---


@pytest.mark.parametrize("correlation", [correlations.independent(), correlations.damped_anti_pgd(0.3)])
@pytest.mark.parametrize("share", [0.05, 0.6, 0.999])
def test_expected_bound_holds_for_the_exact_trajectory_and_half_of_it_does_not(correlation, share):
    eta = share / gaussian_r_squared(SPECTRUM)
    start = np.array([0.3, -1.0, 2.0])
    problem = Regression(eigenvalues=SPECTRUM, eta=eta, rho=0.5, clip_norm=0.7, sigma_sgd=0.4)
    gaps = trajectory(correlation, problem, steps=4000, initial=start, sensitivity="limiting")
    limit = suboptimality(correlation, problem)
    broken = False
    for t in (0, 1, 5, 30, 300, 4000):
        gap = {"initial_gap": gaps[0], "stationary_gap": float(limit), "steps": t}
        paper = expected_bound(SPECTRUM, eta, **gap)
        summed = expected_bound(SPECTRUM, eta, form="sum", **gap)
        assert gaps[t] <= summed * (1 + 1e-12) <= paper * (1 + 1e-9)
        broken |= gaps[t] > paper / 2
        forgotten = SPECTRUM.max() / SPECTRUM.min() * np.exp(-eta * SPECTRUM.min() * t) * gaps[0]
        assert paper == pytest.approx((np.sqrt(forgotten) + np.sqrt(limit)) ** 2, rel=1e-12)
    assert broken or share == 0.05
    assert paper.kind == "upper"


def test_expected_bound_is_exact_at_the_start_of_an_isotropic_problem_and_refuses_large_steps():
    flat = np.ones(3)
    assert expected_bound(flat, 0.1, steps=0, initial_gap=2.0, stationary_gap=0.0) == pytest.approx(2.0)
    with pytest.raises(DomainError, match="eta"):
        expected_bound(flat, 0.2, steps=3, initial_gap=1.0, stationary_gap=0.0)  # R^2 = 5
    assert expected_bound(flat, 0.2, steps=3, initial_gap=1.0, stationary_gap=0.0, R_squared=3.0) > 0
    with pytest.raises(DomainError, match="R_squared"):
        expected_bound(flat, 0.1, steps=3, initial_gap=1.0, stationary_gap=0.0, R_squared=2.0)


# --- Theorem D.4 with constants ---


def admissible(steps, p, spectrum=SPECTRUM):
    return 1 / (4 * gaussian_r_squared(spectrum) * np.log(6 * steps / p))


@FAST
@given(st.integers(2, 10**6), st.floats(1e-9, 0.9), st.floats(0.01, 1.0), st.booleans())
def test_iterate_bound_is_below_the_theorem_with_constant_38(steps, p, share, correlated):
    eta, log_term = share * admissible(steps, p), np.log(6 * steps / p)
    nu = eta * SPECTRUM.min()
    correlation = correlations.nu(nu) if correlated else correlations.independent()
    absolute = 2 - np.sqrt(nu) if correlated else 1.0
    r_squared, mu = gaussian_r_squared(SPECTRUM), SPECTRUM.min()
    N = 4.0 + eta * r_squared * 0.25 / mu + eta**2 * 3.0 * 3 * absolute**2 / nu
    horizon = Horizon(eigenvalues=SPECTRUM, steps=steps, failure=p, initial_distance=2.0, sigma_sgd=0.5)
    iterate = iterate_bound(correlation, horizon, eta, noise_variance=3.0)
    assert iterate <= 38 * N * log_term**2
    gradient = gradient_bound(correlation, horizon, eta, noise_variance=3.0)
    assert gradient**2 <= 1216 * r_squared**2 * (N + 0.25 / r_squared) * log_term**4


def test_iterate_bound_by_parts():
    steps, p = 50, 0.1
    eta = admissible(steps, p)
    log_term, nu = np.log(6 * steps / p), eta * SPECTRUM.min()
    white, start = correlations.independent(), Horizon(eigenvalues=SPECTRUM, steps=steps, failure=p)
    quiet = iterate_bound(white, replace(start, initial_distance=3.0), eta, noise_variance=0)
    assert quiet == pytest.approx(9.0)
    residual = iterate_bound(white, replace(start, sigma_sgd=2.0), eta, noise_variance=0)
    assert residual == pytest.approx(4 * eta * 4.0 * 3 * log_term)
    noise = iterate_bound(correlations.nu(nu), start, eta, noise_variance=5.0)
    early = 4 * eta**2 * 5.0 * 3 * (2 - np.sqrt(nu)) ** 2 * log_term * steps
    assert noise == pytest.approx(early)  # T is below the memory of the noise
    with pytest.raises(DomainError, match="eta"):
        iterate_bound(white, start, 2 * eta, noise_variance=0)
    with pytest.raises(DomainError, match="decay"):
        iterate_bound(white, start, eta, noise_variance=0, decay=2 * nu)
    with pytest.raises(DomainError, match="half-expo"):
        iterate_bound(correlations.nu(nu / 4), start, eta, noise_variance=1.0)


def test_bounds_hold_in_simulated_runs_and_a_fiftieth_does_not():
    steps, p, trials = 40, 0.05, 400
    eta, rng = admissible(steps, p), np.random.default_rng(0)
    correlation = correlations.from_coefficients([1.0, -0.5])
    horizon = Horizon(eigenvalues=SPECTRUM, steps=steps, failure=p, initial_distance=1.0, sigma_sgd=0.5)
    theta, previous = np.tile([0.0, 0.6, 0.8], (trials, 1)), np.zeros((trials, 3))
    iterate, gradient = np.zeros(trials), np.zeros(trials)
    for _ in range(steps):
        x, w = rng.standard_normal((trials, 3)) * np.sqrt(SPECTRUM), rng.standard_normal((trials, 3))
        g = (np.sum(x * theta, axis=1) - 0.5 * rng.standard_normal(trials))[:, None] * x
        iterate = np.maximum(iterate, np.sum(theta**2, axis=1))
        gradient = np.maximum(gradient, np.linalg.norm(g, axis=1))
        theta, previous = theta - eta * (g + w - 0.5 * previous), w
    for seen, bound in ((iterate, iterate_bound), (gradient, gradient_bound)):
        largest = bound(correlation, horizon, eta, noise_variance=1.0)
        assert np.mean(seen <= largest) == 1.0
        assert np.mean(seen <= largest / 50) < 0.5


# --- Theorem D.13 ---


def test_clip_norm_takes_the_largest_of_three_scales():
    r_squared, power = gaussian_r_squared(SPECTRUM), np.log(1e5) ** 2.5
    far = clip_norm(Horizon(eigenvalues=SPECTRUM, initial_distance=7.0, sigma_sgd=0.1, **HORIZON), 1e-9, c=3.0)
    assert far == pytest.approx(3 * r_squared * 7.0 * power)
    residuals = Horizon(eigenvalues=SPECTRUM, sigma_sgd=2.0, **HORIZON)
    noisy = clip_norm(residuals, 1e-9)
    assert noisy == pytest.approx(np.sqrt(r_squared) * 2.0 * power)
    wandering = clip_norm(residuals, 0.1)
    assert wandering == pytest.approx(r_squared * np.sqrt(0.1 * r_squared / 0.1) * 2.0 * power)
    assert far.kind == "asymptotic"
    for a in (0.1, 30.0):  # inputs a x, residuals a xi, learning rate eta / a^2: gradients scale with a^2
        scaled = clip_norm(Horizon(eigenvalues=a**2 * SPECTRUM, sigma_sgd=2.0 * a, **HORIZON), 0.1 / a**2)
        assert scaled == pytest.approx(a**2 * wandering)


@pytest.mark.parametrize("rho", [1e-6, 1.0, 1e12])
@pytest.mark.parametrize("C", [1.0, 5.0])
def test_largest_learning_rate_solves_the_condition_of_the_theorem(rho, C):
    r_squared, mu, log_term = gaussian_r_squared(SPECTRUM), 0.1, np.log(1e5)
    limit = mu * rho / (8 * C**2 * r_squared**2 * 3 * log_term**5)
    cap = 1 / (C * r_squared * log_term)
    white = largest_learning_rate("independent", Horizon(eigenvalues=SPECTRUM, **HORIZON), rho, C=C)
    assert white == pytest.approx(min(cap, limit))
    eta = float(largest_learning_rate("nu", Horizon(eigenvalues=SPECTRUM, **HORIZON), rho, C=C))
    with mp.workdps(30):
        gamma_squared = 2 / mp.pi * mp.ellipk((1 - mp.mpf(eta) * mu) ** 2)
    condition = eta * 4 * float(gamma_squared)
    assert eta == pytest.approx(cap) if condition < limit * (1 - 1e-9) else condition == pytest.approx(limit)
    assert eta <= cap * (1 + 1e-12)


def test_largest_learning_rate_stays_below_one_over_r_squared():
    eta = largest_learning_rate(
        "independent", Horizon(eigenvalues=np.ones(1), steps=2, failure=0.9, R_squared=1.0), 1e9
    )
    assert 0.999 < eta < 1
    with pytest.raises(DomainError, match="mechanism"):
        largest_learning_rate(UNKNOWN, Horizon(eigenvalues=SPECTRUM, **HORIZON), 1.0)
    with pytest.raises(DomainError, match="failure"):
        Horizon(eigenvalues=SPECTRUM, steps=10, failure=1.0)


@pytest.mark.parametrize("mechanism", ["independent", "nu"])
def test_tuned_parameters_are_the_best_on_a_grid_and_consistent(mechanism):
    spectrum, start = np.array([1.0, 0.2]), np.array([1.0, 2.0])
    horizon = Horizon(eigenvalues=spectrum, steps=10**9, failure=0.01, sigma_sgd=0.3)
    best = tuned(mechanism, horizon, 10.0, initial=start)
    largest = largest_learning_rate(mechanism, horizon, 10.0)
    assert best.learning_rate <= largest * (1 + 1e-12)
    etas = float(largest) * np.geomspace(1e-4, 1, 80)
    grid = [at_learning_rate(mechanism, horizon, eta, 10.0, initial=start) for eta in etas.tolist()]
    assert best.bound <= min(float(other.bound) for other in grid) * (1 + 1e-9)
    gamma = float(best.correlation.limiting_sensitivity())
    assert best.noise_multiplier == pytest.approx(gamma / np.sqrt(20.0))
    limit = suboptimality(
        best.correlation,
        Regression(eigenvalues=spectrum, eta=best.learning_rate, rho=10.0, clip_norm=best.clip_norm, sigma_sgd=0.3),
    )
    forgotten = 5 * np.exp(-best.learning_rate * 0.2 * 10**9) * 0.5 * (1.0 + 0.2 * 4.0)
    assert best.bound == pytest.approx(2 * forgotten + 2 * limit)
    assert best.bound.kind == "upper"


def test_correlated_noise_wins_in_long_runs():
    horizon, start = Horizon(eigenvalues=np.array([1.0, 0.2]), steps=10**16, failure=0.01), np.ones(2)
    bounds = [float(tuned(name, horizon, 1.0, initial=start).bound) for name in ("independent", "nu")]
    assert bounds[1] < 1e-3 * bounds[0]


# --- Corollaries D.14, D.15 ---


def test_finite_time_rates_are_the_printed_ones():
    spectrum, kappa, effective, d, trace = np.array([4.0, 1.0, 1.0]), 4.0, 1.5, 3, 6.0
    horizon = Horizon(eigenvalues=spectrum, steps=100, failure=0.1, initial_distance=2.0, sigma_sgd=3.0)
    J, log_term = kappa**2 * effective**2 * d / 5.0, np.log(1000.0)
    tail = kappa * effective * (d * trace * 4 / 500 + d * 9 / 500 + 9 / 100)
    white = finite_time_rate("independent", horizon, 5.0, c=2.0, log_factor=7.0)
    assert white == pytest.approx(kappa * np.exp(-100 / (2 * J * log_term**5)) + 7 * tail)
    tail = kappa * effective * (kappa * effective * trace * 4 / 5e4 + kappa * effective * 9 / 5e4 + 9 / 100)
    correlated = finite_time_rate("nu", horizon, 5.0, c=2.0, log_factor=7.0)
    assert correlated == pytest.approx(kappa * np.exp(-100 / (2 * J * log_term**7 * np.log(J))) + 7 * tail)
    section = finite_time_rate("nu", horizon, 5.0, form="section")
    assert section == pytest.approx(tail)
    assert white.kind == section.kind == "asymptotic"
    with pytest.raises(DomainError, match="mechanism"):
        finite_time_rate(UNKNOWN, horizon, 5.0)
