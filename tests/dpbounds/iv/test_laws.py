"""Laws of Theta_t and beta_t, exact moments, and the law for p = q = 1, by quadrature, rationals and simulation."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import ndtr

from dpbounds import AccuracyError, DomainError
from dpbounds.iv import (
    Moments,
    beta_law,
    last_beta_law,
    lyapunov_exponent,
    noise_variances,
    noiseless,
    ridge_limit,
    scalar_law,
    scalar_moments,
    theta_covariance,
    theta_mean,
    theta_path,
    whitened_moments,
)
from tests.dpbounds.iv.oracles import descend, example, scalar

# False-alarm probability of one statistical assertion.
ALPHA = 1e-9


def hermite(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for the standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    return nodes, weights / weights.sum()


@pytest.mark.parametrize("eta", [0.05, 0.2])
def test_theta_is_a_gaussian_autoregression(eta):
    moments, lambda1 = example(), 0.3
    M, V = np.eye(3) - eta * moments.A, np.zeros((3, 3))
    run, variances = noiseless.path(moments, eta, 0.1, 9), [V]
    for _ in range(9):
        V = M @ V @ M + (eta * lambda1) ** 2 * np.eye(3)
        variances.append(V)
    for t in (0, 1, 4, 9):
        np.testing.assert_allclose(theta_mean(moments, eta, t), run.theta[t], rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(theta_covariance(moments, eta, lambda1, t), variances[t], rtol=1e-11, atol=1e-16)
    crossed = np.linalg.matrix_power(M, 5) @ variances[4]
    np.testing.assert_allclose(theta_covariance(moments, eta, lambda1, 9, 4), crossed, rtol=1e-10, atol=1e-16)
    np.testing.assert_allclose(theta_covariance(moments, eta, lambda1, 4, 9), crossed, rtol=1e-10, atol=1e-16)


@pytest.mark.parametrize("a", [0.0, 1e-12, 0.3, 1.0, 2.0 - 1e-9, 2.0, 2.5])
@pytest.mark.parametrize("step", [0, 1, 2, 50])
def test_noise_variances_in_fifty_digits(a, step):
    eta = 0.75
    with mpmath.workdps(50):
        expected = sum(
            mpmath.mpf(eta) ** 2 * (1 - mpmath.mpf(eta) * mpmath.mpf(a / eta)) ** (2 * i) for i in range(step)
        )
    assert noise_variances(np.array([a / eta]), eta, step)[0] == pytest.approx(float(expected), rel=1e-12)


def test_limit_of_the_noise_variances():
    assert noise_variances(np.array([0.4, 1.5]), 0.8, math.inf) == pytest.approx(
        [0.8 / (0.4 * 1.68), 0.8 / (1.5 * 0.8)]
    )
    assert np.isinf(noise_variances(np.array([0.0, 2.5, 4.0]), 0.8, math.inf)).all()
    with pytest.raises(DomainError):
        noise_variances(np.array([0.4]), 0.8, 1.5)


def test_beta_is_affine_in_its_own_noise():
    """Given a path of Theta the Jacobian in nu, entry by entry, gives the covariance; zero noise gives the mean."""
    moments, eta, alpha, steps = example(), 0.1, 0.02, 5
    Xi = np.random.default_rng(1).normal(size=(steps, 3, 2))
    thetas = [np.zeros((3, 2))]
    for noise in Xi:
        thetas.append(thetas[-1] - eta * (moments.A @ thetas[-1] - moments.G) + eta * noise)
    law = beta_law(moments, np.array(thetas[:-1]), alpha, 0.7)
    base = descend(moments, eta, alpha, Xi, np.zeros((steps, 2)))
    units = np.eye(2 * steps).reshape(-1, steps, 2)
    J = descend(moments, eta, alpha, np.broadcast_to(Xi, (2 * steps, *Xi.shape)), units) - base
    np.testing.assert_allclose(law.mean[-1], base, rtol=1e-12)
    np.testing.assert_allclose(law.covariance[-1], 0.7**2 * J.T @ J, rtol=1e-11)
    streamed = last_beta_law(moments, theta_path(moments, eta, Xi[:, None]), alpha, 0.7)
    np.testing.assert_allclose(streamed.mean[0, -1], law.mean[-1], rtol=1e-13)
    np.testing.assert_allclose(streamed.covariance[0, -1], law.covariance[-1], rtol=1e-13)
    with pytest.raises(DomainError, match="empty"):
        last_beta_law(moments, [], alpha, 0.7)
    batch = beta_law(moments, np.array([thetas[:-1]] * 3), alpha, 0.7)
    np.testing.assert_array_equal(batch.covariance[2], law.covariance)


def test_law_of_beta_alone_by_simulation():
    """lambda_1 > 0: beta whitened by its conditional law is standard normal."""
    moments, eta, alpha, lambda1, lambda2, steps, trials = example(), 0.1, 0.02, 0.5, 0.5, 6, 20000
    generator = np.random.default_rng(3)
    Xi = lambda1 * generator.normal(size=(trials, steps, 3, 2))
    theta, thetas = np.zeros((trials, 3, 2)), []
    for t in range(steps):
        thetas.append(theta)
        theta = theta - eta * (moments.A @ theta - moments.G) + eta * Xi[:, t]
    law = beta_law(moments, np.stack(thetas, axis=1), alpha, lambda2)
    beta = descend(moments, eta, alpha, Xi, lambda2 * generator.normal(size=(trials, steps, 2)))
    root = np.linalg.cholesky(law.covariance[:, -1])
    white = np.linalg.solve(root, (beta - law.mean[:, -1])[..., None])
    assert stats.kstest(white.ravel(), "norm").pvalue > ALPHA
    assert stats.kstest(1.07 * white.ravel(), "norm").pvalue < ALPHA


def whitened(q: int, p: int, seed: int = 2) -> Moments:
    generator = np.random.default_rng(seed)
    return Moments(A=np.eye(q), G=generator.normal(size=(q, p)), b=generator.normal(size=q), n=50)


@pytest.mark.parametrize(("q", "p"), [(3, 2), (2, 2), (3, 1)])
def test_exact_moments_for_white_instruments_by_gaussian_quadrature(q, p):
    """T = 2: beta_2 is quadratic in Theta_1 and affine in beta_1, so 4 nodes per entry are exact."""
    moments, alpha, lambda1, lambda2 = whitened(q, p), 0.3, 0.8, 0.6
    x, w = hermite(4)
    u, weight_u = hermite(3)
    mean, second = np.zeros(p), np.zeros((p, p))
    grid = np.array(list(product(range(4), repeat=q * p)))
    thetas = moments.G + lambda1 * x[grid].reshape(-1, q, p)
    weights = w[grid].prod(axis=1)
    for choice in product(range(3), repeat=p):
        beta = alpha * lambda2 * u[list(choice)]
        moved = beta - alpha * np.einsum("kqp,kq->kp", thetas, thetas @ beta - moments.b)
        total = weights * weight_u[list(choice)].prod()
        mean += total @ moved
        second += np.einsum("k,ka,kb->ab", total, moved, moved)
    found = whitened_moments(moments, alpha, lambda1, lambda2, 2)
    np.testing.assert_allclose(found.mean[2], mean, rtol=1e-11)
    np.testing.assert_allclose(found.second[2], second + (alpha * lambda2) ** 2 * np.eye(p), rtol=1e-11)
    target = np.ones(p)
    expected = np.trace(found.second[2]) - 2 * target @ mean + p
    assert found.mean_squared_error(target)[2] == pytest.approx(expected)


def test_mean_for_white_instruments_tends_to_ridge_regression():
    moments, alpha, lambda1 = whitened(4, 2), 0.15, 0.7
    limit = whitened_moments(moments, alpha, lambda1, 0.1, 800).mean[-1]
    np.testing.assert_allclose(limit, ridge_limit(moments, lambda1), rtol=1e-9)
    assert np.linalg.norm(limit - moments.beta_hat) > 0.1 * np.linalg.norm(moments.beta_hat)
    with pytest.raises(DomainError, match="identity"):
        whitened_moments(example(), alpha, lambda1, 0.1, 3)


def test_scalar_moments_in_rationals_agree_with_white_instruments():
    half, s, v = Fraction(1, 2), Fraction(9, 16), Fraction(1, 25)
    exact = scalar_moments(1, 2, 3, eta=1, alpha=half, lambda1_squared=s, lambda2_squared=v, steps=4)
    assert all(isinstance(value, Fraction) for values in exact for value in values)
    found = whitened_moments(scalar(1, 2, 3), 0.5, 0.75, 0.2, 4)
    np.testing.assert_allclose([float(m) for m in exact.mean], found.mean[:, 0], rtol=1e-13)
    np.testing.assert_allclose([float(m) for m in exact.second], found.second[:, 0, 0], rtol=1e-12)


def test_scalar_moments_by_gaussian_quadrature():
    """eta a != 1, T = 4: three relevant draws of Xi, three of nu enter beyond the last; 14 nodes are exact."""
    A, G, b, eta, alpha, lambda1, lambda2 = 1.5, 2.0, 1.0, 0.5, 0.25, 0.6, 0.4
    x, w = hermite(14)
    mean = second = 0.0
    for i, j, k in product(range(14), repeat=3):
        weight = w[i] * w[j] * w[k]
        theta = m = C = 0.0
        for draw in (x[i], x[j], x[k], 0.0):
            L = 1 - alpha * A * theta**2
            m, C = L * m + alpha * b * theta, L**2 * C + (alpha * lambda2) ** 2
            theta = theta - eta * (A * theta - G) + eta * lambda1 * draw
        mean += weight * m
        second += weight * (m**2 + C)
    values = {"eta": eta, "alpha": alpha, "lambda1_squared": lambda1**2, "lambda2_squared": lambda2**2}
    exact = scalar_moments(A, G, b, **values, steps=4)
    assert exact.mean[4] == pytest.approx(mean, rel=1e-11) and exact.second[4] == pytest.approx(second, rel=1e-11)


@pytest.mark.parametrize(("lambda1", "expected"), [(0.1, 3.4e-3), (0.5, 0.113), (1, 28.8), (1.5, 9.6e6)])
def test_moments_explode_where_the_noise_is_large(lambda1, expected):
    squared = Fraction(lambda1) ** 2
    exact = scalar_moments(1, 1, 1, eta=1, alpha=Fraction(1, 2), lambda1_squared=squared, lambda2_squared=0, steps=12)
    assert float(exact.second[12] - 2 * exact.mean[12] + 1) == pytest.approx(expected, rel=0.01)


CHAIN = {"eta": 0.5, "alpha": 0.25}


def probability(moments: Moments, radius: float, lambda1: float, lambda2: float) -> float:
    """P(|beta_3 - beta_hat| <= radius) over a grid of (Theta_1, Theta_2), beta_3 given both being Gaussian."""
    A, G, b = float(moments.A[0, 0]), float(moments.G[0, 0]), float(moments.b[0])
    x = np.linspace(-8, 8, 401)
    w = stats.norm.pdf(x) * (x[1] - x[0])
    eta, alpha = CHAIN["eta"], CHAIN["alpha"]
    first = (eta * G + eta * lambda1 * x)[:, None]
    second = first - eta * (A * first - G) + eta * lambda1 * x
    m, C = 0.0, (alpha * lambda2) ** 2
    for theta in (first, second):
        L = 1 - alpha * A * theta**2
        m, C = L * m + alpha * b * theta, L**2 * C + (alpha * lambda2) ** 2
    e, sd = m - float(moments.beta_hat[0]), np.sqrt(C)
    return float(w @ (ndtr((radius - e) / sd) - ndtr((-radius - e) / sd)) @ w)


@pytest.mark.parametrize(("lambda1", "lambda2"), [(0.2, 0.3), (1.5, 0.5)])
def test_scalar_law_by_quadrature(lambda1, lambda2):
    moments = scalar(1.3, 2.0, 1.0)
    law = scalar_law(moments, **CHAIN, lambda1=lambda1, lambda2=lambda2, steps=3)
    for radius in (0.05, 0.2, 0.5):
        assert law.cdf(radius) == pytest.approx(probability(moments, radius, lambda1, lambda2), abs=1e-5)
    assert probability(moments, law.quantile(0.3), lambda1, lambda2) == pytest.approx(0.3, abs=1e-5)
    e = np.linspace(-law.half_width, law.half_width, 4001)
    density = law.density(e)
    assert density.sum() * (e[1] - e[0]) == pytest.approx(1, rel=1e-3) and density.min() > -1e-4
    inside = integrate.trapezoid(density[np.abs(e) <= 0.5], e[np.abs(e) <= 0.5])
    assert inside == pytest.approx(law.cdf(0.5), abs=5e-3)


def test_scalar_law_against_exact_moments_and_the_gaussian_case():
    moments = scalar(1.3, 2.0, 1.0)
    law = scalar_law(moments, **CHAIN, lambda1=0.1, lambda2=0.2, steps=15)
    e = np.linspace(-law.half_width, law.half_width, 2001)
    density, beta = law.density(e) * (e[1] - e[0]), e + float(moments.beta_hat[0])
    values = {"lambda1_squared": 0.01, "lambda2_squared": 0.04}
    exact = scalar_moments(1.3, 2.0, 1.0, **CHAIN, **values, steps=15)
    assert density @ beta == pytest.approx(exact.mean[-1], rel=1e-4)
    assert density @ beta**2 == pytest.approx(exact.second[-1], rel=1e-4)
    still = scalar_law(moments, **CHAIN, lambda1=0.0, lambda2=0.2, steps=15)
    gaussian = beta_law(moments, noiseless.path(moments, **CHAIN, steps=14).theta, CHAIN["alpha"], 0.2)
    offset = float(gaussian.mean[-1, 0] - moments.beta_hat[0])
    sd = math.sqrt(gaussian.covariance[-1, 0, 0])
    expected = ndtr((0.1 - offset) / sd) - ndtr((-0.1 - offset) / sd)
    assert still.cdf(0.1) == pytest.approx(expected, abs=1e-9)


def test_scalar_law_by_simulation_where_it_is_far_from_gaussian():
    """q = p = 1, lambda_1 half of theta_hat: quantiles by binomial tests, false alarm 1e-9 each."""
    moments, lambda1, lambda2, steps, trials = scalar(1, 1, 1), 0.5, 0.2, 6, 100000
    generator = np.random.default_rng(0)
    Xi = lambda1 * generator.normal(size=(trials, steps, 1, 1))
    nu = lambda2 * generator.normal(size=(trials, steps, 1))
    errors = np.abs(descend(moments, 1.0, 0.5, Xi, nu)[:, 0] - 1)
    law = scalar_law(moments, 1.0, 0.5, lambda1=lambda1, lambda2=lambda2, steps=steps)
    for level in (0.1, 0.5, 0.9, 0.99):
        below = int((errors <= law.quantile(level)).sum())
        assert stats.binomtest(below, trials, level).pvalue > ALPHA
    assert stats.binomtest(int((errors <= 1.05 * law.quantile(0.5)).sum()), trials, 0.5).pvalue < ALPHA
    assert law.quantile(0.99) > 1.2 * stats.norm.ppf(0.995) / stats.norm.ppf(0.75) * law.quantile(0.5)


def test_scalar_law_says_where_it_fails():
    with pytest.raises(DomainError, match="noise in beta"):
        scalar_law(scalar(1, 1, 1), 1.0, 0.5, lambda1=0.1, lambda2=0.0, steps=3)
    with pytest.raises(DomainError, match="q"):
        scalar_law(example(), 0.1, 0.1, lambda1=0.1, lambda2=0.1, steps=3)
    with pytest.raises(AccuracyError, match="no agreement"):
        scalar_law(scalar(1, 1, 1), 1.0, 0.5, lambda1=2.0, lambda2=0.05, steps=4)
    law = scalar_law(scalar(1, 1, 1), 1.0, 0.5, lambda1=0.1, lambda2=0.1, steps=2)
    for call in (lambda: law.cdf(2 * law.half_width), lambda: law.quantile(1.0)):
        with pytest.raises(DomainError):
            call()


@pytest.mark.parametrize("lambda1", [0.003, 0.3, 1.0, 4.0])
def test_lyapunov_exponent_by_quadrature(lambda1):
    A, G, eta, alpha = 1.3, 2.0, 0.5, 0.25
    mean, sd = G / A, lambda1 * math.sqrt(eta / (A * (2 - eta * A)))
    with mpmath.workdps(30):
        roots = [s / mpmath.sqrt(alpha * A) for s in (-1, 1)]
        inside = [r for r in roots if abs(r - mean) < 12 * sd]
        points = sorted([mean - 12 * sd, mean, mean + 12 * sd, *inside])
        expected = mpmath.quad(lambda x: mpmath.log(abs(1 - alpha * A * x**2)) * mpmath.npdf(x, mean, sd), points)
    assert lyapunov_exponent(scalar(A, G, 1), eta, alpha, lambda1) == pytest.approx(float(expected), rel=1e-8)


def test_lyapunov_exponent_at_the_ends():
    assert lyapunov_exponent(scalar(1, 1, 1), 0.5, 0.25, 0.0) == pytest.approx(math.log(0.75), rel=1e-14)
    assert lyapunov_exponent(scalar(1, 1, 1), 0.5, 1.0, 0.0) == -math.inf
    assert lyapunov_exponent(scalar(1, 1, 1), 0.5, 0.25, 1.0) < 0 < lyapunov_exponent(scalar(1, 1, 1), 0.5, 0.25, 20.0)
    for bad in (
        lambda: lyapunov_exponent(example(), 0.1, 0.1, 0.1),
        lambda: lyapunov_exponent(scalar(1, 1, 1), 2, 1, 1),
    ):
        with pytest.raises(DomainError):
            bad()
