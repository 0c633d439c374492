"""Linear regression: exact errors against brute force, enumeration and mpmath; bounds against what they bound."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbounds import DomainError, elliptic
from dpbounds.ftrl import correlations, linear_regression
from dpbounds.ftrl.linear_regression import Regression, exact, suboptimality, trajectory
from dpbounds.ftrl.linear_regression.bounds import Form
from verify.papers.ftrl.tools import input_laws, second_moments

LAWS = {"gaussian": (input_laws.gaussian, 3.0), "signs": (input_laws.signs, 1.0), "skewed": (input_laws.skewed, 3.25)}
FINITE = [(1.0,), (1.0, -0.7), (1.0, -0.5, 0.2, 0.1), (2.0, 0.5)]
PAIR = np.array([1.0, 0.3])


def rotated(law, spectrum: np.ndarray, seed: int = 0) -> input_laws.Laws:
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(spectrum),) * 2))[0]
    return law(basis * spectrum @ basis.T)


def limiting_noise(weights) -> float:
    return float(correlations.from_coefficients(weights).limiting_sensitivity()) ** 2


# --- the limit ---


@pytest.mark.parametrize("weights", FINITE)
@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("spectrum", [[0.8], [1.0, 0.2], [1.0, 0.5, 0.1]])
def test_limit_is_that_of_full_second_moments(name, weights, spectrum):
    law, kurtosis = LAWS[name]
    eigenvalues = np.array(spectrum)
    eta = 0.8 * min(linear_regression.stability_limit(eigenvalues, kurtosis=kurtosis), 1.0)
    inputs = rotated(law, eigenvalues)
    brute = second_moments.stationary(inputs, eta, weights, 4.0 * limiting_noise(weights) / 1.4, 0.25)
    value = suboptimality(
        correlations.from_coefficients(weights),
        Regression(eigenvalues=eigenvalues, eta=eta, rho=0.7, clip_norm=2.0, sigma_sgd=0.5, kurtosis=kurtosis),
    )
    assert value == pytest.approx(second_moments.suboptimality(inputs, brute), rel=1e-11)
    assert (value.kind, value.convention) == ("exact", "F - F* = 1/2 ||theta - theta*||_H^2")


@pytest.mark.parametrize("nu", [1e-9, 0.01, 0.3, 1.0])
def test_limit_of_an_infinite_sequence_by_mpmath(nu):
    """Quadrature in frequency and a linear solve in place of elliptic functions and the rank-one formula."""
    with mpmath.workdps(30):
        a, eta = mpmath.mpf(nu), mpmath.mpf("0.3")
        points = [0, *(mpmath.mpf(10) ** k for k in range(-12, 1)), mpmath.pi]

        def distance(rate, omega):
            return mpmath.sqrt(rate**2 + 4 * (1 - rate) * mpmath.sin(omega / 2) ** 2)

        def mean(f):
            return mpmath.quad(f, points) / mpmath.pi

        gamma_squared = mean(lambda w: 1 / distance(a, w))
        spectrum = [mpmath.mpf(1), mpmath.mpf("0.3")]
        x = [eta * value for value in spectrum]
        powers = [rate * (2 - rate) * mean(lambda w, rate=rate: distance(a, w) / distance(rate, w) ** 2) for rate in x]
        system = mpmath.matrix(2, 2)
        for i, j in itertools.product(range(2), repeat=2):
            system[i, j] = (2 * x[i] - 2 * x[i] ** 2) * (i == j) - x[i] * x[j]
        right = mpmath.matrix([eta**2 * (value + gamma_squared * c) for value, c in zip(spectrum, powers, strict=True)])
        s = mpmath.lu_solve(system, right)
        expected = float(sum(value * s[k] for k, value in enumerate(spectrum)) / 2)
    assert suboptimality(
        correlations.nu(nu), Regression(eigenvalues=PAIR, eta=0.3, rho=0.5, sigma_sgd=1.0)
    ) == pytest.approx(expected, rel=1e-12)


def test_a_diverging_sensitivity_gives_an_infinite_error():
    for correlation in (correlations.optimal_counting(), correlations.anti_pgd()):
        assert suboptimality(correlation, Regression(eigenvalues=PAIR, eta=0.1, rho=1.0)) == np.inf


@given(st.floats(0.01, 100), st.floats(0.01, 100), st.floats(0.1, 10))
@settings(derandomize=True, deadline=None, max_examples=25)
def test_scaling_of_inputs_budget_and_residuals(scale, rho, sigma):
    """H -> a H with eta -> eta / a divides the privacy part by a and leaves the residual part."""
    correlation, eta = correlations.nu(0.02), 0.2
    privacy = suboptimality(correlation, Regression(eigenvalues=PAIR, eta=eta, rho=0.5))
    residual = suboptimality(correlation, Regression(eigenvalues=PAIR, eta=eta, rho=0.5, sigma_sgd=1.0)) - privacy
    scaled = suboptimality(
        correlation, Regression(eigenvalues=scale * PAIR, eta=eta / scale, rho=rho, clip_norm=3.0, sigma_sgd=sigma)
    )
    assert scaled == pytest.approx(9 * privacy / (2 * rho * scale) + sigma**2 * residual, rel=1e-12)


def test_wrong_constants_would_be_caught():
    """What the brute force excludes: no feedback, F without 1/2, Gaussian kurtosis for signs."""
    law = input_laws.signs(PAIR)
    truth = second_moments.suboptimality(law, second_moments.stationary(law, 0.4, (1.0,), 1.0, 0.0))
    right = suboptimality(correlations.independent(), Regression(eigenvalues=PAIR, eta=0.4, rho=0.5, kurtosis=1.0))
    gaussian = suboptimality(correlations.independent(), Regression(eigenvalues=PAIR, eta=0.4, rho=0.5))
    no_feedback = right * (1 - 0.4 * PAIR.sum() / 2)
    assert right == pytest.approx(truth, rel=1e-12)
    for wrong in (gaussian, no_feedback, 2 * right):
        assert abs(wrong / truth - 1) > 0.05


# --- every step ---


@pytest.mark.parametrize("weights", FINITE)
@pytest.mark.parametrize("name", LAWS)
def test_trajectory_is_that_of_full_second_moments(name, weights):
    law, kurtosis = LAWS[name]
    spectrum, start = np.array([1.0, 0.4, 0.05]), np.array([1.0, -2.0, 0.5])
    basis = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    inputs = law(basis * spectrum @ basis.T)
    history = second_moments.trajectory(inputs, 0.3, weights, 1.5**2, 0.25, 30, basis @ start)
    expected = [second_moments.suboptimality(inputs, S) for S in history]
    found = trajectory(
        correlations.from_coefficients(weights),
        Regression(eigenvalues=spectrum, eta=0.3, rho=0.5, sigma_sgd=0.5, kurtosis=kurtosis),
        steps=30,
        initial=start,
        sensitivity=1.5,
    )
    assert found == pytest.approx(expected, rel=1e-11)


def enumerated(decoder: np.ndarray, spectrum: np.ndarray, eta: float, start: np.ndarray) -> float:
    """E F(theta_T) - F* for inputs with entries +-1 and unit draws: every input sequence, covariances exact."""
    T, d = len(decoder), len(spectrum)
    patterns = [np.array(signs) * np.sqrt(spectrum) for signs in itertools.product((-1.0, 1.0), repeat=d)]
    total = 0.0
    for inputs in itertools.product(patterns, repeat=T):
        mean, response = start.copy(), np.zeros((d, decoder.shape[1], d))
        for x, row in zip(inputs, decoder, strict=True):
            step = np.eye(d) - eta * np.outer(x, x)
            mean = step @ mean
            response = np.einsum("ij,jkl->ikl", step, response) - eta * np.einsum("k,il->ikl", row, np.eye(d))
        variance = np.einsum("ikl,ikl->i", response, response)
        total += 0.5 * float(spectrum @ (mean**2 + variance))
    return total / len(patterns) ** T


@pytest.mark.parametrize(
    "correlation",
    [
        correlations.nu(0.1),
        correlations.tree_aggregation(4),
        correlations.tree_aggregation(4, decoder="honaker"),
        correlations.full_honaker(4),
        correlations.fft_mechanism(4),
    ],
    ids=lambda correlation: correlation.name,
)
def test_trajectory_of_every_kind_of_matrix_by_enumeration(correlation):
    start = np.array([0.3, -1.0])
    found = trajectory(
        correlation,
        Regression(eigenvalues=PAIR, eta=0.4, rho=0.5, kurtosis=1.0),
        steps=4,
        initial=start,
        sensitivity=1.0,
    )
    assert found[-1] == pytest.approx(enumerated(correlation.matrix(4), PAIR, 0.4, start), rel=1e-12)
    assert len(found) == 5
    assert found[0] == pytest.approx(0.5 * PAIR @ start**2)


def test_trajectory_ends_at_the_limit_and_scales_its_noise():
    correlation = correlations.nu(0.03)
    problem = Regression(eigenvalues=PAIR, eta=0.2, rho=0.5, sigma_sgd=0.3)
    limit = suboptimality(correlation, problem)
    assert trajectory(correlation, problem, steps=600, sensitivity="limiting")[-1] == pytest.approx(limit)
    horizon, own = (
        trajectory(correlation, problem, steps=600, sensitivity=choice)
        for choice in ("horizon", correlation.sensitivity(600))
    )
    assert np.array_equal(horizon, own)


LONG_RUNS = {
    "nu": (correlations.nu(0.01), 0.3, 3.0, 1e6),
    "optimal counting, signs": (correlations.optimal_counting(), 0.9, 1.0, 0.0),
    "anti-PGD": (correlations.anti_pgd(), 0.9, 3.0, 1e8),
    "alternating": (correlations.damped_anti_pgd(0.1), 1.6, 1.0, 1.0),
    "barely stable": (correlations.from_coefficients([1.0, -0.5, 0.2]), 0.74, 3.0, 1.0),
    "diverging": (correlations.independent(), 0.76, 3.0, 1.0),
    "beyond floats": (correlations.independent(), 40.0, 3.0, 1.0),
}


@pytest.mark.parametrize("name", LONG_RUNS)
def test_long_trajectories_by_directions_are_those_by_steps(name, monkeypatch):
    """Every value to 1e-12, from a start that is forgotten by many orders of magnitude, up to the largest float."""
    correlation, eta, kurtosis, start = LONG_RUNS[name]
    spectrum = np.array([1.0, 0.3, 0.01])
    problem = Regression(eigenvalues=spectrum, eta=eta, rho=0.5, sigma_sgd=0.3, kurtosis=kurtosis)
    run = {"steps": 1111, "initial": start * np.ones(3)}
    with np.errstate(all="ignore"):
        found = trajectory(correlation, problem, **run)
        monkeypatch.setattr(exact._Run, "by_directions", lambda self, beta: np.full(len(beta) + 1, np.nan))
        steps = trajectory(correlation, problem, **run)
    finite = np.isfinite(steps)
    assert finite.all() != (name == "beyond floats")
    assert found[finite] == pytest.approx(steps[finite], rel=1e-12)


def test_arguments_of_the_trajectory():
    with pytest.raises(DomainError, match=r"initial\[1\]"):
        trajectory(
            correlations.independent(),
            Regression(eigenvalues=PAIR, eta=0.1, rho=1.0),
            steps=3,
            initial=np.array([1.0, np.nan]),
        )
    with pytest.raises(DomainError, match="horizon"):
        trajectory(
            correlations.tree_aggregation(4),
            Regression(eigenvalues=PAIR, eta=0.1, rho=1.0),
            steps=4,
            sensitivity="limiting",
        )
    with pytest.raises(DomainError, match=r"horizon.*infinite for anti-PGD"):
        trajectory(
            correlations.anti_pgd(), Regression(eigenvalues=PAIR, eta=0.1, rho=1.0), steps=4, sensitivity="limiting"
        )


# --- stability ---


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("spectrum", [[0.8], [1.0, 0.2], [1.0, 0.5, 0.1]])
def test_stability_limit_is_where_the_spectral_radius_is_one(name, spectrum):
    law, kurtosis = LAWS[name]
    limit = linear_regression.stability_limit(np.array(spectrum), kurtosis=kurtosis)
    for step, above in ((-1e-6, False), (1e-6, True)):
        radius = second_moments.spectral_radius(law(np.array(spectrum)), limit * (1 + step))
        assert (radius > 1) == above


def test_stability_limit_in_closed_form():
    assert linear_regression.stability_limit(np.array([2.0])) == pytest.approx(1 / 3, rel=1e-12)
    for d in (1, 4, 1000):
        assert linear_regression.stability_limit(np.ones(d)) == pytest.approx(2 / (d + 2), rel=1e-12)
    spectrum = linear_regression.power_law(50, 1.0)
    assert linear_regression.stability_limit(spectrum, kurtosis=1.0) == pytest.approx(2 / spectrum.sum(), rel=1e-12)
    assert linear_regression.stability_limit(1e-200 * spectrum) == pytest.approx(
        1e200 * linear_regression.stability_limit(spectrum)
    )


def test_unstable_step_sizes_and_impossible_kurtosis_are_refused():
    limit = linear_regression.stability_limit(PAIR)
    suboptimality(correlations.independent(), Regression(eigenvalues=PAIR, eta=limit * (1 - 1e-9), rho=1.0))
    with pytest.raises(DomainError, match=f"stability limit {limit:.6g}"):
        suboptimality(correlations.independent(), Regression(eigenvalues=PAIR, eta=limit * (1 + 1e-9), rho=1.0))
    with pytest.raises(DomainError, match="kurtosis"):
        suboptimality(correlations.independent(), Regression(eigenvalues=PAIR, eta=0.1, rho=1.0, kurtosis=0.9))
    with pytest.raises(DomainError, match=r"eigenvalues\[1\]"):
        suboptimality(correlations.independent(), Regression(eigenvalues=np.array([1.0, 0.0]), eta=0.1, rho=1.0))


# --- bounds ---


def filtered(weights, x: float) -> float:
    """<beta, T_j beta> by the double sum of ftrl eq. (32)."""
    return sum(b * c * (1 - x) ** abs(t - s) for t, b in enumerate(weights) for s, c in enumerate(weights))


@pytest.mark.parametrize("weights", FINITE)
def test_printed_bounds_by_hand(weights):
    eta, rho, G, sigma, R_squared, C = 0.15, 0.8, 2.0, 0.5, 1.9, 2.5
    noise, x = G**2 * limiting_noise(weights) / (2 * rho), eta * PAIR
    power = sum(filtered(weights, rate) for rate in x)
    spectral = sum(2 * filtered(weights, rate) / (2 - rate) for rate in x)
    k0 = (1 - (eta * R_squared) ** 0.5) ** -2
    residual = (1 + k0) * eta * R_squared * sigma**2
    correlation = correlations.from_coefficients(weights)
    problem = Regression(eigenvalues=PAIR, eta=eta, rho=rho, clip_norm=G, sigma_sgd=sigma)
    upper = {"R_squared": R_squared, "kurtosis_constant": C}
    totals: dict[Form, float] = {"time": power, "frequency": spectral}
    for form, total in totals.items():
        bound = linear_regression.paper_upper_bound(correlation, problem, form=form, **upper)
        assert bound == pytest.approx(residual + (1 + C * k0) * eta * noise * total, rel=1e-12)
        assert bound.kind == "upper"
        lower = linear_regression.paper_lower_bound(correlation, problem, form=form)
        assert lower == pytest.approx(eta * sigma**2 * PAIR.sum() / 2 + eta * noise * total / 2, rel=1e-12)
        assert lower.kind == "lower"
    any_beta = linear_regression.paper_lower_bound_any_correlation(problem)
    assert any_beta == pytest.approx((2 * eta * sigma**2 + eta**2 * G**2 / (2 * rho)) * PAIR.sum() / 4, rel=1e-12)


@pytest.mark.parametrize(
    "law", [input_laws.gaussian, input_laws.signs, input_laws.skewed, lambda spectrum: input_laws.along_axes(spectrum)]
)
@pytest.mark.parametrize("weights", FINITE)
def test_trace_bounds_hold_every_law(law, weights):
    inputs = law(PAIR)
    R_squared = inputs.r_squared()[0]
    for share in (0.01, 0.5, 0.95):
        eta = min(2 * share / R_squared, 1.0)
        brute = second_moments.stationary(inputs, eta, weights, limiting_noise(weights), 0.3)
        low, high = linear_regression.trace_bounds(
            correlations.from_coefficients(weights),
            Regression(eigenvalues=PAIR, eta=eta, rho=0.5, sigma_sgd=0.3**0.5),
            R_squared=R_squared,
        )
        truth = second_moments.suboptimality(inputs, brute)
        assert low * (1 - 1e-12) <= truth <= high * (1 + 1e-12)
        if law is input_laws.signs:
            assert truth == pytest.approx(high, rel=1e-11)


def test_smallest_r_squared_of_gaussian_inputs():
    for spectrum in ([1.0], [1.0, 0.2], [0.7, 0.5, 0.1]):
        law = rotated(input_laws.gaussian, np.array(spectrum))
        assert linear_regression.gaussian_r_squared(np.array(spectrum)) == pytest.approx(law.r_squared()[0], rel=1e-12)


@given(st.integers(1, 6), st.floats(0, 3), st.floats(1e-4, 0.99), st.floats(1e-6, 1.0))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_explicit_theorem_2_2(d, alpha, share, damping):
    spectrum = linear_regression.power_law(d, alpha)
    eta = 2 * share / linear_regression.gaussian_r_squared(spectrum)
    nu = damping * eta * spectrum.min()
    value = suboptimality(correlations.nu(nu), Regression(eigenvalues=spectrum, eta=eta, rho=1.0, sigma_sgd=0.4))
    upper = linear_regression.nu_upper_bound(nu, Regression(eigenvalues=spectrum, eta=eta, rho=1.0, sigma_sgd=0.4))
    lower = linear_regression.lower_bound(Regression(eigenvalues=spectrum, eta=eta, rho=1.0, sigma_sgd=0.4))
    assert lower < value < upper
    privacy = eta**2 * spectrum.sum() * np.log(8 / nu) ** 2 / (2 * np.log(8) ** 2)
    expected = (privacy + 0.04 * eta * spectrum.sum()) / (1 - share)
    assert upper == pytest.approx(expected, rel=1e-12)
    assert lower >= 0.04 * eta * spectrum.sum() + eta**2 * spectrum.sum() / 8


def test_lower_bound_is_the_trace_bound_at_the_best_nu_of_one_direction():
    for x in (1e-6, 0.1, 0.6):
        bound = linear_regression.lower_bound(Regression(eigenvalues=np.array([1.0]), eta=x, rho=0.5))
        low, _ = linear_regression.trace_bounds(
            correlations.nu(x), Regression(eigenvalues=np.array([1.0]), eta=x, rho=0.5)
        )
        assert bound == pytest.approx(float(low), rel=1e-11)
        mean = elliptic.integral_inverse(x) / (2 * np.pi)
        assert bound == pytest.approx(0.25 * x * x * (2 - x) * mean**2, rel=1e-12)


def test_bounds_refuse_what_they_do_not_cover():
    with pytest.raises(DomainError, match="eta \\* mu"):
        linear_regression.nu_upper_bound(0.1, Regression(eigenvalues=PAIR, eta=0.1, rho=1.0))
    with pytest.raises(DomainError, match="R_squared"):
        linear_regression.paper_upper_bound(correlations.independent(), Regression(eigenvalues=PAIR, eta=0.4, rho=1.0))
    with pytest.raises(DomainError, match="R_squared"):
        linear_regression.trace_bounds(correlations.independent(), Regression(eigenvalues=PAIR, eta=0.7, rho=1.0))
    with pytest.raises(DomainError, match="lambda_1"):
        linear_regression.lower_bound(Regression(eigenvalues=PAIR, eta=1.1, rho=1.0))
