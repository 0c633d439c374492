"""Moments, 2SLS, noiseless descent and population limits, against rationals, high precision and enumeration."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import jaxtyping
import mpmath
import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.iv import Moments, noiseless, population
from tests.dpbounds.iv.oracles import example, integer_data, rational, scalar, two_stage_least_squares
from tests.dpbounds.iv.oracles import product as matrix_product


@pytest.mark.parametrize(("q", "p"), [(3, 2), (2, 2), (4, 1), (1, 1)])
def test_two_stage_least_squares_in_rationals(q, p):
    data = integer_data(11, q, p, seed=q + p)
    theta, beta = two_stage_least_squares(*data)
    moments = Moments.of(*data)
    assert (moments.q, moments.p, moments.n) == (q, p, 11)
    np.testing.assert_allclose(moments.theta_hat, np.array(theta, dtype=float), rtol=1e-12)
    np.testing.assert_allclose(moments.beta_hat, np.array(beta, dtype=float), rtol=1e-12)
    np.testing.assert_allclose(moments.hessian, moments.theta_hat.T @ moments.A @ moments.theta_hat, rtol=1e-12)
    np.testing.assert_allclose(moments.theta_hat.T @ moments.residual, 0.0, atol=1e-12)
    direct = moments.A @ moments.theta_hat @ moments.beta_hat - moments.b
    np.testing.assert_allclose(moments.residual, direct, atol=1e-12)
    assert (np.linalg.norm(moments.residual) > 1e-3) == (q > p)


def test_two_stage_least_squares_does_not_depend_on_units():
    Z, X, Y = integer_data(20, 4, 2, seed=5)
    beta = Moments.of(Z, X, Y).beta_hat
    units, scales = np.array([1e-7, 1.0, 1e6, 3.0]), np.array([1e8, 1e-6])
    np.testing.assert_allclose(Moments.of(Z * units, X * scales, Y).beta_hat * scales, beta, rtol=1e-9)


def refusals() -> dict[str, tuple]:
    Z, X, Y = integer_data(12, 3, 2)
    orthogonal = X.copy()
    orthogonal[:, 1] = np.linalg.qr(np.column_stack([Z, Y]))[0][:, -1] * 1e3
    u = np.linalg.qr(np.column_stack([Z, np.random.default_rng(0).normal(size=(12, 2))]))[0][:, -2:]
    collinear = Z[:, :1] + 1e4 * u
    return {
        "at least p": (Z[:, :1], X, Y),
        "fewer records": (Z[:2], X[:2], Y[:2]),
        "positive definite; drop instruments": (np.column_stack([Z[:, :2], Z[:, 0] - Z[:, 1]]), X, Y),
        "drop zero columns": (np.column_stack([Z[:, :2], 0 * Y]), X, Y),
        "of rank p; each regressor": (Z, np.column_stack([X[:, 0], X[:, 0]]), Y),
        "column 1 is zero": (Z, np.column_stack([X[:, 0], 0 * Y]), Y),
        "of lower rank up to rounding": (Z, orthogonal, Y),
        "of lower rank": (Z, collinear, Y),
        "drop missing values": (Z, X, np.append(Y[:-1], np.nan)),
    }


@pytest.mark.parametrize("message", refusals())
def test_what_leaves_two_stage_least_squares_undefined_is_refused(message):
    with pytest.raises(DomainError, match=message):
        Moments.of(*refusals()[message])


def test_moments_of_many_records_and_what_is_refused_among_them():
    """Rows in blocks, and one look at sums of squares in place of all entries, which must refuse the same."""
    rng = np.random.default_rng(0)
    n = 20_001
    Z, X, Y = rng.normal(size=(n, 3)), rng.normal(size=(n, 2)), rng.normal(size=n)
    X = X + Z[:, :2]
    found = Moments.of(Z, X, Y)
    exact = [np.array([[math.fsum(x * y) / n for y in right.T] for x in Z.T]) for right in (Z, X, Y[:, None])]
    for moment, truth in zip((found.A, found.G, found.b[:, None]), exact, strict=True):
        assert moment == pytest.approx(truth, rel=1e-13, abs=1e-14)
    for value, message in (
        (np.nan, "finite"),
        (np.inf, "finite"),
        (-np.inf, "finite"),
        (1e51, "size"),
        (1e200, "size"),
    ):
        for which, name in enumerate("ZXY"):
            data = [Z.copy(), X.copy(), Y.copy()]
            data[which][12_345, ...] = value
            with pytest.raises(DomainError, match=rf"{name}.*{message}"):
                Moments.of(*data)
    with pytest.raises(DomainError, match="largest entry of Y"):
        Moments.of(Z, X, 1e-60 * Y)
    assert Moments.of(1e20 * Z, X, Y).beta_hat == pytest.approx(found.beta_hat, rel=1e-12)
    assert Moments.of(Z, X, 0.0 * Y).beta_hat == pytest.approx([0.0, 0.0])
    Z.setflags(write=True)
    assert Z.flags.writeable and not found.A.flags.writeable


def test_assumption_1_does_not_identify_beta():
    """q > p, full ranks, every correlation of z and x nonzero, in exact arithmetic; two minimisers of iv eq. (2)."""
    Z = [[1, 0], [1, 0], [-1, 0], [-1, 0], [0, 1], [0, -1]]
    X = [[3, 1], [1, 3], [-1, -3], [-3, -1], [0, 0], [0, 0]]
    z, x = np.array([[*z, z[0] ** 2 - z[1] ** 2] for z in Z], dtype=float), np.array(X, dtype=float)
    assert np.linalg.matrix_rank(z) == 3 and np.linalg.matrix_rank(x) == 2
    G = matrix_product([list(column) for column in zip(*rational(z), strict=True)], rational(x))
    assert G[0][0] == G[0][1] != 0 and G[1] == [0, 0] and G[2] == [0, 0]
    with pytest.raises(DomainError, match="of rank p"):
        Moments.of(z, x, np.arange(6.0))


@pytest.fixture
def unshaped():
    """Without the shape checks of the tests: what a user meets."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def test_moments_given_directly_are_checked(unshaped):
    given: dict[str, Any] = {"A": np.eye(2), "G": np.ones((2, 1)), "b": np.ones(2), "n": 9}
    skew = np.array([[1.0, 0.5], [0.0, 1.0]])
    for bad in ({"A": skew}, {"A": np.eye(3)}, {"b": np.ones(3)}, {"A": -np.eye(2)}, {"n": 1}, {"A": "x"}, {"G": []}):
        with pytest.raises(DomainError):
            Moments(**{**given, **bad})
    Z, X, Y = integer_data(12, 3, 2)
    with pytest.raises(DomainError, match="the same number of rows"):
        Moments.of(Z, X[:-1], Y)


@pytest.mark.parametrize(("q", "p"), [(3, 2), (2, 2)])
def test_noiseless_path_in_rationals(q, p):
    moments = example(q=q, p=p)
    A, G, b = rational(moments.A), rational(moments.G), rational(moments.b)
    eta, alpha = Fraction(1, 8), Fraction(1, 32)
    theta, beta = [[Fraction(0)] * p for _ in range(q)], [Fraction(0)] * p
    run = noiseless.path(moments, float(eta), float(alpha), 5)
    for t in range(5):
        np.testing.assert_allclose(run.theta[t], np.array(theta, dtype=float), rtol=1e-12)
        np.testing.assert_allclose(run.beta[t], np.array(beta, dtype=float), rtol=1e-11, atol=1e-15)
        gap = [
            row[0] - target
            for row, target in zip(matrix_product(A, matrix_product(theta, [[x] for x in beta])), b, strict=True)
        ]
        slope = [
            [a - g for a, g in zip(left, right, strict=True)]
            for left, right in zip(matrix_product(A, theta), G, strict=True)
        ]
        beta = [x - alpha * sum(theta[j][i] * gap[j] for j in range(q)) for i, x in enumerate(beta)]
        theta = [
            [x - eta * s for x, s in zip(row, other, strict=True)] for row, other in zip(theta, slope, strict=True)
        ]
    assert not run.beta[1].any()
    M = np.eye(q) - float(eta) * moments.A
    np.testing.assert_allclose(run.theta[5], (np.eye(q) - np.linalg.matrix_power(M, 5)) @ moments.theta_hat, rtol=1e-11)


def distances(moments: Moments, eta: float, alpha: float, steps: int) -> list:
    """||beta_t - beta_hat|| in 300 digits, t = 0 ... steps."""
    with mpmath.workdps(300):
        A, G, b = (mpmath.matrix(values.tolist()) for values in (moments.A, moments.G, moments.b))
        theta_hat = mpmath.lu_solve(A, G) if moments.p == 1 else mpmath.inverse(A) * G
        H = theta_hat.T * A * theta_hat
        beta_hat = mpmath.lu_solve(H, theta_hat.T * b)
        theta, beta, found = theta_hat * 0, beta_hat * 0, []
        for _ in range(steps + 1):
            found.append(mpmath.norm(beta - beta_hat))
            theta, beta = theta - eta * (A * theta - G), beta - alpha * theta.T * (A * (theta * beta) - b)
        return found


@pytest.mark.parametrize(("shares", "slower"), [((0.1, 0.9), "theta"), ((0.9, 0.1), "beta")])
def test_rate_is_the_larger_spectral_radius_and_the_limit_is_2sls(shares, slower):
    moments = example()
    limits = noiseless.step_size_limits(moments)
    eta, alpha = shares[0] * limits.eta, shares[1] * limits.alpha
    rates = noiseless.contraction_rates(moments, eta, alpha)
    assert rates.overall == max(rates.theta, rates.beta) == getattr(rates, slower) < 1
    errors = distances(moments, eta, alpha, 2000)
    slope = float(mpmath.log(errors[2000] / errors[1500]) / 500)
    assert slope == pytest.approx(np.log(rates.overall), rel=1e-6)


def test_equal_radii_cost_a_factor_t():
    errors = distances(scalar(1, 1, 1), 0.5, 0.5, 400)
    ratios = [float(errors[t] / mpmath.mpf(0.5) ** t) for t in (200, 300, 400)]
    assert ratios[2] - ratios[1] == pytest.approx(ratios[1] - ratios[0], rel=1e-9) and ratios[2] > 100


def test_step_size_limits_separate_convergence_from_divergence():
    moments = example()
    limits = noiseless.step_size_limits(moments)
    assert (
        np.linalg.norm(noiseless.path(moments, 0.9 * limits.eta, 0.9 * limits.alpha, 20000).beta[-1] - moments.beta_hat)
        < 1e-9
    )
    for eta, alpha in ((1.05 * limits.eta, 0.5 * limits.alpha), (0.5 * limits.eta, 1.05 * limits.alpha)):
        assert not np.linalg.norm(noiseless.path(moments, eta, alpha, 2000).beta[-1]) < 1e9
        assert noiseless.contraction_rates(moments, eta, alpha).overall > 1
        with pytest.raises(DomainError, match="diverges"):
            noiseless.require_convergence(moments, eta, alpha)
    noiseless.require_convergence(moments, 0.99 * limits.eta, 0.99 * limits.alpha)


def test_small_first_steps_never_exceed_the_final_hessian():
    moments = example(q=4, p=2, seed=3)
    eta = 0.5 * noiseless.step_size_limits(moments).eta
    for theta in noiseless.path(moments, eta, 0.01, 30).theta:
        assert np.linalg.eigvalsh(moments.hessian - theta.T @ moments.A @ theta)[0] > -1e-12


def test_population_step_sizes():
    limits = noiseless.population_limits(np.diag([3.0, 1.0]))
    assert limits == pytest.approx((2.0, 2 / 9, 4 / 19, 18 / 19))
    assert noiseless.population_limits(np.eye(3)[:, :2]).ratio == pytest.approx(2 / 3)
    assert noiseless.population_limits(np.ones((1, 2))).ratio == 1.0
    with pytest.raises(DomainError):
        noiseless.population_limits(np.zeros((2, 2)))


def test_population_limits_by_enumeration():
    """z and the errors uniform on finite sets: exact expectations, and 2SLS differentiated by complex steps."""
    theta, beta = np.array([[1.0, 0.5], [0.2, 2.0], [0.3, -1.0]]), np.array([1.5, -0.7])
    root, mix = (
        np.array([[1.0, 0.0, 0.0], [0.4, 0.9, 0.0], [0.1, -0.5, 1.2]]),
        np.array([[1, 0, 0], [0.5, 1, 0], [0.3, 0.2, 2]]),
    )
    errors = [mix @ np.array(s, dtype=float) for s in product((-1, 1), repeat=3)]
    points = [(root @ np.array(s, dtype=float), e) for s in product((-1, 1), repeat=3) for e in errors]
    records = [(z, theta.T @ z + e[:2], beta @ (theta.T @ z + e[:2]) + e[2]) for z, e in points]

    def two_stage(A, G, b):
        Theta = np.linalg.solve(A, G)
        return np.linalg.solve(Theta.T @ A @ Theta, Theta.T @ b)

    A, G, b = (
        sum(np.outer(z, w) for (z, w) in pairs) / 64
        for pairs in (
            [(z, z) for z, _, _ in records],
            [(z, x) for z, x, _ in records],
            [(z, [y]) for z, _, y in records],
        )
    )
    influence = [
        two_stage(A + 1e-30j * np.outer(z, z), G + 1e-30j * np.outer(z, x), b + 1e-30j * y * z[:, None]).imag[:, 0]
        / 1e-30
        for z, x, y in records
    ]
    covariance, S = mix @ mix.T, root @ root.T
    expected = sum(np.outer(i, i) for i in influence) / 64 / 500
    np.testing.assert_allclose(population.two_stage_covariance(theta, covariance[2, 2], 500, S), expected, rtol=1e-12)
    ols = np.linalg.solve(sum(np.outer(x, x) for _, x, _ in records), sum(y * x for _, x, y in records))
    np.testing.assert_allclose(population.ols_limit(beta, theta, covariance, S), ols, rtol=1e-12)
    assert np.linalg.norm(population.ols_limit(beta, theta, np.diag([1.0, 1.0, 4.0])) - beta) == 0
    with pytest.raises(DomainError, match="positive definite"):
        population.two_stage_covariance(np.ones((3, 2)), 1.0, 10)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_units_of_an_instrument_do_not_matter(scale):
    """One instrument in other units: nothing is refused, and 2SLS is the same."""
    Z, X, Y = (np.random.default_rng(5).standard_normal((30, columns)) for columns in (3, 2, 1))
    units = np.array([1.0, scale, 1.0])
    plain, other = (Moments.of(instruments, X + Z[:, :2], Y[:, 0]) for instruments in (Z, Z * units))
    assert other.beta_hat == pytest.approx(plain.beta_hat, rel=1e-6)
