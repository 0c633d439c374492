"""Leading order of the law of beta_t: Jacobians, second differences, remainders, Lyapunov equations; predictions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.linalg import solve_discrete_lyapunov

from dpbounds import DomainError
from dpbounds.iv import (
    BetaLaw,
    Moments,
    TwoStageBudget,
    best_split,
    isotropic_variances,
    last_beta_law,
    mixture_quantile,
    noise_expansion,
    noise_scales,
    noiseless,
    predicted_curve,
    predicted_error,
    predicted_quantile,
    scalar_law,
    scalar_moments,
    stationary_expansion,
    theta_path,
    whitened_moments,
)
from tests.dpbounds.iv.oracles import descend, example, scalar

# False-alarm probability of one statistical assertion.
ALPHA = 1e-9
ETA, ALPHA_STEP, STEPS = 0.12, 0.03, 5


def test_covariance_is_that_of_the_linear_part():
    """Complex steps: no rounding of differences."""
    moments, h = example(), 1e-30j
    order = noise_expansion(moments, ETA, ALPHA_STEP, STEPS)
    units = h * np.eye(6 * STEPS).reshape(-1, STEPS, 3, 2)
    first = descend(moments, ETA, ALPHA_STEP, units, np.zeros((6 * STEPS, STEPS, 2), dtype=complex)).imag / 1e-30
    units = h * np.eye(2 * STEPS).reshape(-1, STEPS, 2)
    still = np.zeros((2 * STEPS, STEPS, 3, 2), dtype=complex)
    second = descend(moments, ETA, ALPHA_STEP, still, units).imag / 1e-30
    np.testing.assert_allclose(order.first[-1], first.T @ first, rtol=1e-12)
    np.testing.assert_allclose(order.second[-1], second.T @ second, rtol=1e-12)
    np.testing.assert_array_equal(order.noiseless, noiseless.path(moments, ETA, ALPHA_STEP, STEPS).beta)


def test_shift_is_half_the_sum_of_second_derivatives():
    """Second differences in 60 digits; the noise of beta itself does not shift the mean."""
    moments, q, p, steps = example(), 3, 2, 4
    order = noise_expansion(moments, ETA, ALPHA_STEP, steps)
    with mpmath.workdps(60):
        A, G, b = (mpmath.matrix(values.tolist()) for values in (moments.A, moments.G, moments.b))

        def last(step: int, i: int, j: int, size: Any) -> Any:
            theta, beta = mpmath.zeros(q, p), mpmath.zeros(p, 1)
            for t in range(steps):
                moved = theta - ETA * (A * theta - G)
                beta = beta - ALPHA_STEP * theta.T * (A * (theta * beta) - b)
                if t == step:
                    moved[i, j] += ETA * size
                theta = moved
            return beta

        h, total = mpmath.mpf(10) ** -20, mpmath.zeros(p, 1)
        for t in range(steps):
            for i in range(q):
                for j in range(p):
                    total += (last(t, i, j, h) + last(t, i, j, -h) - 2 * last(t, i, j, 0)) / (2 * h**2)
    np.testing.assert_allclose(order.shift[-1], np.array([float(x) for x in total]), rtol=1e-11)


def test_remainder_is_of_fourth_order():
    """p = q = 1, exact second moments: (exact - leading) / lambda^4 settles as lambda halves, and is not small."""
    A, G, b, eta, alpha, steps = 1.5, 2.0, 1.0, 0.5, 0.25, 6
    order = noise_expansion(scalar(A, G, b), eta, alpha, steps)
    target, ratios = b / G, []
    for k in (5, 6, 7):
        s = Fraction(1, 4**k)
        exact = scalar_moments(
            Fraction(3, 2),
            2,
            1,
            eta=Fraction(1, 2),
            alpha=Fraction(1, 4),
            lambda1_squared=s,
            lambda2_squared=2 * s,
            steps=steps,
        )
        mse = float(exact.second[-1] - 2 * Fraction(1, 2) * exact.mean[-1] + Fraction(1, 4))
        lam = float(s) ** 0.5
        leading = order.mean_squared_error(np.array([target]), lam, math.sqrt(2) * lam)[-1]
        ratios.append((mse - leading) / float(s) ** 2)
    assert ratios[2] == pytest.approx(ratios[1], rel=0.02) and abs(ratios[2]) > 1e-3


def test_second_moments_for_white_instruments():
    """Two regressors, exact for every noise: shift and covariance are their derivatives at 0."""
    generator = np.random.default_rng(4)
    moments = Moments(A=np.eye(3), G=generator.normal(size=(3, 2)), b=generator.normal(size=3), n=9)
    order, lam = noise_expansion(moments, 1.0, 0.2, 7), 1e-4
    exact = whitened_moments(moments, 0.2, lam, 2 * lam, 7)
    covariance = exact.second[-1] - np.outer(exact.mean[-1], exact.mean[-1])
    law = order.law(-1, lam, 2 * lam)
    np.testing.assert_allclose(covariance, law.covariance, rtol=1e-5, atol=1e-15)
    np.testing.assert_allclose(exact.mean[-1] - order.noiseless[-1], lam**2 * order.shift[-1], rtol=1e-5)


@pytest.mark.parametrize(("q", "p"), [(3, 2), (2, 2), (1, 1)])
def test_stationary_law_is_the_limit_of_the_recursion(q, p):
    moments = example(q=q, p=p)
    limits = noiseless.step_size_limits(moments)
    eta, alpha = 0.6 * limits.eta, 0.4 * limits.alpha
    fixed, run = stationary_expansion(moments, eta, alpha), noise_expansion(moments, eta, alpha, 4000)
    for name in ("noiseless", "shift", "first", "second"):
        np.testing.assert_allclose(getattr(fixed, name)[0], getattr(run, name)[-1], rtol=1e-7, atol=1e-12)
    with pytest.raises(DomainError, match="diverges"):
        stationary_expansion(moments, 1.1 * limits.eta, alpha)


def test_stationary_covariance_by_the_lyapunov_equation_of_the_joint_chain():
    """(beta, vec Theta) linearised at (beta_hat, theta_hat) by complex steps."""
    moments, eta, alpha = example(), 0.1, 0.02
    size = 2 + 6

    def step(state: np.ndarray) -> np.ndarray:
        beta, theta = state[:2], state[2:].reshape(3, 2)
        moved = beta - alpha * theta.T @ (moments.A @ (theta @ beta) - moments.b)
        return np.concatenate([moved, (theta - eta * (moments.A @ theta - moments.G)).ravel()])

    point = np.concatenate([moments.beta_hat, moments.theta_hat.ravel()])
    J = np.stack([step(point + 1e-30j * e).imag / 1e-30 for e in np.eye(size)], axis=1)
    fixed = stationary_expansion(moments, eta, alpha)
    for noise, found in (([0] * 2 + [eta**2] * 6, fixed.first), ([alpha**2] * 2 + [0] * 6, fixed.second)):
        covariance = solve_discrete_lyapunov(J, np.diag(noise))
        np.testing.assert_allclose(found[0], covariance[:2, :2], rtol=1e-8)


@pytest.mark.parametrize("eta", [0.5, 1.0, 1.7])
def test_isotropic_closed_form(eta):
    G = np.zeros((4, 2))
    G[0, 0], G[1, 1] = 1.5, 0.8
    beta = np.array([0.6, -0.8])
    moments = Moments(A=np.eye(4), G=G, b=G @ beta, n=10)
    fixed = stationary_expansion(moments, eta, 0.3)
    variances = isotropic_variances(np.array([2.25, 0.64]), eta, 0.3, 1.0, 0.2, 0.1)
    np.testing.assert_allclose(np.diag(fixed.law(0, 0.2, 0.1).covariance), variances, rtol=1e-12)
    if eta == 1.0:
        np.testing.assert_allclose(fixed.shift[0], -4 * np.linalg.solve(moments.hessian, beta), rtol=1e-12)
    for bad in ((2.0, 0.3), (eta, 1.0)):
        with pytest.raises(DomainError, match="stationary"):
            isotropic_variances(np.array([2.25]), bad[0], bad[1], 1.0, 0.1, 0.1)


@pytest.mark.parametrize(("p", "q"), [(1, 1), (2, 8), (4, 64)])
def test_dimensions_enter_the_error_as_the_square_root_of_p(p, q):
    """A = I, theta_hat = sqrt(2) (I; 0), ||beta_hat|| = 1: not the sqrt(p) q^{3/2} of iv eq. (7) at fixed noise."""
    moments = Moments(
        A=np.eye(q), G=math.sqrt(2) * np.eye(q, p), b=math.sqrt(2) * np.eye(q, p) @ np.ones(p) / math.sqrt(p), n=q
    )
    law = stationary_expansion(moments, 0.5, 0.25).law(0, 0.01, 0.01)
    assert math.sqrt(np.trace(law.covariance) / p) == pytest.approx(0.0041944, abs=1e-7)


@pytest.mark.parametrize(("q", "bias"), [(1, 0.0556), (4, 0.5556), (16, 2.5556)])
def test_the_bias_is_affine_in_q(q, bias):
    G = math.sqrt(2) * np.eye(q, 1)
    fixed = stationary_expansion(Moments(A=np.eye(q), G=G, b=G[:, 0], n=q), 0.5, 0.25)
    assert np.abs(fixed.shift[0, 0]) == pytest.approx(bias, abs=1e-4)


def test_best_split_by_scanning():
    order = stationary_expansion(example(), 0.1, 0.02)
    share = best_split(order, 2.0, 5.0)
    traces = [float(np.trace(part[0])) for part in (order.first, order.second)]
    costs = {x: 4 * traces[0] / x + 25 * traces[1] / (1 - x) for x in np.linspace(0.001, 0.999, 9981)}
    assert share == pytest.approx(min(costs, key=lambda x: costs[x]), abs=2e-4)
    W1, W2 = 4 * traces[0], 25 * traces[1]
    assert min(costs.values()) == pytest.approx((math.sqrt(W1) + math.sqrt(W2)) ** 2, rel=1e-6)
    with pytest.raises(DomainError):
        best_split(noise_expansion(example(), 0.1, 0.02, 3), 2.0, 5.0, step=0)


def simulated_errors(moments: Moments, eta, alpha, steps, lambda1, lambda2, trials, seed=0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    Xi = lambda1 * generator.normal(size=(trials, steps, moments.q, moments.p))
    nu = lambda2 * generator.normal(size=(trials, steps, moments.p))
    return np.linalg.norm(descend(moments, eta, alpha, Xi, nu) - moments.beta_hat, axis=1)


@pytest.mark.parametrize(("q", "p", "trials"), [(1, 1, 20000), (5, 5, 20000), (6, 2, 20000)])
def test_predicted_median_by_simulation(q, p, trials):
    """Small noise: a binomial test of the median, false alarm 1e-9; 9 % off is seen."""
    generator = np.random.default_rng(q)
    moments = Moments(A=np.eye(q), G=2 * np.eye(q, p) + 0.2 * generator.normal(size=(q, p)), b=np.ones(q), n=50)
    eta, alpha, steps, lambda1, lambda2 = 0.7, 0.2, 12, 0.01, 0.02
    errors = simulated_errors(moments, eta, alpha, steps, lambda1, lambda2, trials)
    order = noise_expansion(moments, eta, alpha, steps)
    noise = {"lambda1": lambda1, "lambda2": lambda2}
    found = predicted_error(order, moments.beta_hat, **noise)
    assert stats.binomtest(int((errors <= found.median).sum()), trials, 0.5).pvalue > ALPHA
    tail = predicted_quantile(order, moments.beta_hat, **noise, probability=0.95)
    assert stats.binomtest(int((errors <= tail).sum()), trials, 0.95).pvalue > ALPHA
    spread = 6 * errors.std() / math.sqrt(trials)
    assert found.mean == pytest.approx(errors.mean(), abs=spread)
    assert found.root_mean_square == pytest.approx(math.sqrt(np.mean(errors**2)), rel=0.05)
    assert stats.binomtest(int((errors <= 1.09 * found.median).sum()), trials, 0.5).pvalue < ALPHA


def test_mixture_over_paths_where_the_leading_order_fails():
    """lambda_1 about a third of theta_hat: simulated medians agree with the mixture, not with the leading order."""
    moments = Moments(A=np.eye(3), G=np.eye(3, 2), b=np.array([1.0, -1.0, 0.5]), n=50)
    eta, alpha, steps, lambda1, lambda2, trials = 0.8, 0.5, 8, 0.35, 0.2, 50000
    errors = simulated_errors(moments, eta, alpha, steps, lambda1, lambda2, trials)
    generator = np.random.default_rng(9)
    noise = (lambda1 * generator.normal(size=(400, 3, 2)) for _ in range(steps))
    law = last_beta_law(moments, theta_path(moments, eta, noise), alpha, lambda2)
    found = mixture_quantile(law, moments.beta_hat)
    median = float(np.median(errors))
    assert abs(found.value - median) < 6 * found.standard_error + 0.01 * median
    assert found.standard_error < 0.05 * median
    order = noise_expansion(moments, eta, alpha, steps)
    leading = predicted_error(order, moments.beta_hat, lambda1=lambda1, lambda2=lambda2).median
    assert abs(leading - median) > 0.1 * median
    with pytest.raises(DomainError, match="paths"):
        mixture_quantile(BetaLaw(law.mean[:1], law.covariance[:1]), moments.beta_hat)


def test_leading_order_tends_to_the_exact_law_for_one_regressor():
    """The error of the median falls like lambda², from 20 % down."""
    moments, gaps = scalar(1, 1, 1), []
    for lam in (0.2, 0.1, 0.05):
        exact = scalar_law(moments, 0.5, 0.5, lambda1=lam, lambda2=lam, steps=40).quantile()
        order = noise_expansion(moments, 0.5, 0.5, 40)
        gaps.append(predicted_error(order, moments.beta_hat, lambda1=lam, lambda2=lam).median / exact - 1)
    assert gaps[0] / gaps[1] == pytest.approx(4, rel=0.35) and gaps[1] / gaps[2] == pytest.approx(4, rel=0.15)
    assert abs(gaps[2]) < 0.01


def test_curve_over_calibrated_horizons():
    moments, n = example(), 10**4
    order = noise_expansion(moments, 0.1, 0.02, 60)
    horizons = [10, 30, 60]
    scales = [noise_scales(TwoStageBudget.equal(0.5, 5.0), n, T) for T in horizons]
    lambda1, lambda2 = [float(s.lambda1) for s in scales], [float(s.lambda2) for s in scales]
    curve = predicted_curve(order, moments.beta_hat, horizons=horizons, lambda1=lambda1, lambda2=lambda2)
    for point, T, one, two in zip(curve, horizons, lambda1, lambda2, strict=True):
        assert point == predicted_error(
            noise_expansion(moments, 0.1, 0.02, T), moments.beta_hat, lambda1=one, lambda2=two
        )
    with pytest.raises(DomainError, match="horizons"):
        predicted_curve(order, moments.beta_hat, horizons=[61], lambda1=[0.1], lambda2=[0.1])
