"""Risks against explicit sketches, closed forms at d = 1, second differences and quadrature.

Monte Carlo: means of 100 blocks, Student's t with 99 degrees of freedom is beyond 7.5 with probability 3e-11, which
leaves a factor of 100 for the skew of the block means.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

from dpbounds import DomainError
from dpbounds.ols import Gram, risk
from dpbounds.ols.risk import adassp
from dpbounds.ols.wishart import contraction, inverse_moments

BLOCKS, SIGMAS = 100, 7.5


def records(singular: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (30, 4)) / 2 * np.array([1, 0.5, 0.3, 0.02])
    if singular:
        X[:, 3] = X[:, 0]
    return X, rng.uniform(-1, 1, 30)


def gram(A: np.ndarray, b: np.ndarray, y_squared: float | None = None, n: int = 30) -> Gram:
    """Without residuals unless ||Y||² is given."""
    fitted = float(b @ np.linalg.pinv(A) @ b)
    return Gram(A=A, b=b, y_squared=fitted if y_squared is None else y_squared, n=n)


def agrees(samples: np.ndarray, predicted: float) -> None:
    """Block means, so that the skew of one sample does not matter; and power: the arm is at most 10 %."""
    means = samples.reshape(BLOCKS, -1).mean(axis=1)
    arm = SIGMAS * means.std(ddof=1) / math.sqrt(BLOCKS)
    assert abs(means.mean() - predicted) <= arm
    assert arm <= 0.1 * predicted


def mixed(A, b, *, steps, k, eta_squared, sigma, keep, step, trials) -> np.ndarray:
    """theta_T of Algorithm 1 without clipping, by explicit k x d sketches."""
    rng, d = np.random.default_rng(5), len(b)
    factor = np.linalg.cholesky(A + eta_squared * np.eye(d)).T
    theta = np.zeros((trials, d))
    for _ in range(steps):
        sketch = rng.standard_normal((trials, k, d)) @ factor
        hessian = sketch.transpose(0, 2, 1) @ sketch / k
        gradient = b - theta @ A - (eta_squared * theta if keep else 0) + sigma * rng.standard_normal((trials, d))
        theta = theta + step * np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
    return theta


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("singular", [True, False])
@pytest.mark.parametrize(("steps", "step"), [(1, 1.0), (2, 0.6), (3, 1.0)])
def test_hessian_mixing_by_sketches_in_both_norms(keep, singular, steps, step):
    X, Y = records(singular)
    A, b, theta = X.T @ X, X.T @ Y, np.linalg.pinv(X) @ Y
    setting: dict[str, Any] = {"steps": steps, "k": 30, "eta_squared": 0.3, "sigma": 0.2, "step": step}
    found = mixed(A, b, keep=keep, trials=20_000, **setting)
    path = risk.hessian_mixing_path(gram(A, b), keep_ridge=keep, **setting)
    M = A + 0.3 * np.eye(4)
    agrees((((found - theta) @ X.T) ** 2).sum(axis=1), path.risk[-1])
    deviation = found - (np.linalg.solve(M, b) if keep else theta)
    agrees(np.einsum("ni,ij,nj->n", deviation, M, deviation), path.distance[-1])
    assert path.risk[0] == pytest.approx(((X @ theta) ** 2).sum(), rel=1e-12)


def test_the_closed_form_of_the_kept_ridge():
    X, Y = records()
    A, b = X.T @ X, X.T @ Y
    M = A + 0.3 * np.eye(4)
    fit = np.linalg.solve(M, b)
    for step, steps in ((1.0, 3), (0.5, 7)):
        rho = contraction(20, 4, step).mean
        path = risk.hessian_mixing_path(gram(A, b), steps=steps, k=20, eta_squared=0.3, sigma=0.7, step=step)
        noise = 0.49 * step**2 * inverse_moments(20, 4).b2 * np.trace(np.linalg.inv(M))
        stated = rho**steps * fit @ M @ fit + noise * (1 - rho**steps) / (1 - rho)
        assert path.distance[-1] == pytest.approx(stated, rel=1e-12)


@pytest.mark.parametrize("k", [1, 4])
def test_a_mean_that_does_not_exist_is_infinite(k):
    setting: dict[str, Any] = {"k": k, "eta_squared": 1.0, "steps": 2}
    one, zero = np.ones(1), np.zeros(1)
    assert risk.hessian_mixing(gram(np.eye(1), one), sigma=0.1, **setting) == math.inf
    assert risk.hessian_mixing(gram(np.eye(1), zero), sigma=0.1, keep_ridge=False, **setting) == math.inf
    assert risk.hessian_mixing(gram(np.eye(1), zero), sigma=0.0, **setting) == 0
    assert risk.hessian_mixing(gram(np.zeros((1, 1)), zero), sigma=0.1, **setting) == 0


def test_where_nothing_is_random_nothing_is_infinite_and_a_singular_sketch_is():
    setting: dict[str, Any] = {"k": 20, "steps": 2, "sigma": 0.1}
    flat, b = np.diag([1.0, 0.0]), np.array([0.5, 0.0])
    assert risk.hessian_mixing(gram(flat, b), eta_squared=0.0, **setting) == math.inf
    assert risk.sketch_and_solve(gram(flat, b, 1.0), k=20, eta_squared=0.0) == math.inf
    assert risk.adassp(gram(flat, b), ridge=0.0, gram=0.1, moment=0.1) == math.inf
    assert math.isfinite(risk.hessian_mixing(gram(flat, b), eta_squared=1e-9, keep_ridge=False, **setting))
    exact = np.array([0.5, 0.25])
    assert (
        risk.sketch_and_solve(gram(np.eye(2), exact, float(exact @ exact)), k=2, eta_squared=0.0) == 0
    )  # Y = X theta*
    assert risk.sketch_and_solve(gram(np.eye(2), exact, 1.0), k=3, eta_squared=0.0) == math.inf


@pytest.mark.parametrize("eta_squared", [0.0, 0.4])
def test_sketch_and_solve_by_sketches_of_the_records(eta_squared):
    X, Y = records()
    A, b, theta, k = X.T @ X, X.T @ Y, np.linalg.lstsq(X, Y)[0], 30
    rng = np.random.default_rng(8)
    sketch = rng.standard_normal((8000, k, 30)) @ np.c_[X, Y]
    sketch += math.sqrt(eta_squared) * rng.standard_normal(sketch.shape)
    joint = sketch.transpose(0, 2, 1) @ sketch
    found = np.linalg.solve(joint[:, :4, :4], joint[:, :4, 4:])[:, :, 0]
    risks = (((found - theta) @ X.T) ** 2).sum(axis=1)
    setting: dict[str, Any] = {"k": k, "eta_squared": eta_squared}
    agrees(risks, risk.sketch_and_solve(gram(A, b, float(Y @ Y)), **setting))
    law = risk.sketch_and_solve_law(gram(A, b, float(Y @ Y)), **setting)
    spread = np.sqrt(np.diag(law.root @ law.root) / law.degrees)
    for i in range(4):
        assert stats.kstest((found[:, i] - law.mean[i]) / spread[i], stats.t(law.degrees).cdf).pvalue > 1e-9
    first, others = risks[:800], risks[800:]
    for level in np.quantile(first, (0.1, 0.5, 0.95)):
        below = int((others <= level).sum())
        assert stats.binomtest(below, len(others), law.risk_cdf(float(level))).pvalue > 1e-9
    assert law.risk_cdf(law.risk_quantile(0.9)) == pytest.approx(0.9, abs=1e-6)


def test_without_noise_the_risk_of_a_sketch_is_an_f_variable():
    X, Y = records()
    theta = np.linalg.lstsq(X, Y)[0]
    residual = ((Y - X @ theta) ** 2).sum()
    law = risk.sketch_and_solve_law(gram(X.T @ X, X.T @ Y, float(Y @ Y)), k=11, eta_squared=0.0)
    for level in (0.1, 0.5, 0.99):
        stated = residual * 4 / 8 * stats.f(4, 8).ppf(level)
        assert law.risk_quantile(level) == pytest.approx(stated, rel=1e-5)
    mean = risk.sketch_and_solve(gram(X.T @ X, X.T @ Y, float(Y @ Y)), k=11, eta_squared=0.0)
    assert mean == pytest.approx(residual * 4 / 6, rel=1e-10)


@pytest.mark.parametrize("iso", [True, False])
def test_adassp_is_half_the_sum_of_second_differences_over_the_noise(iso):
    X, Y = records()
    A, b = X.T @ X + np.diag([0.0, 1.0, 0.5, 2.0]), X.T @ Y
    theta, ridge, h = np.linalg.solve(A, b), 0.3, 1e-3

    def exact(matrix: np.ndarray, vector: np.ndarray) -> float:
        error = np.linalg.solve(A + ridge * np.eye(4) + matrix, b + vector) - theta
        return float(error @ A @ error)

    zero, none = np.zeros((4, 4)), np.zeros(4)
    curvature = {"gram": 0.0, "moment": 0.0}
    for i in range(4):
        unit = np.eye(4)[i]
        curvature["moment"] += exact(zero, h * unit) + exact(zero, -h * unit) - 2 * exact(zero, none)
        for j in range(i, 4):
            entry = np.outer(unit, np.eye(4)[j])
            entry = entry if i == j else (entry + entry.T) / (math.sqrt(2) if iso else 1.0)
            curvature["gram"] += exact(h * entry, none) + exact(-h * entry, none) - 2 * exact(zero, none)
    base = adassp(gram(A, b), ridge=ridge, gram=0.0, moment=0.0)
    assert base == pytest.approx(exact(zero, none), rel=1e-10)
    for name, both in curvature.items():
        found = adassp(gram(A, b), ridge=ridge, iso=iso, **{"gram": 0.0, "moment": 0.0, name: 1.0})
        assert found - base == pytest.approx(both / 2 / h**2, rel=1e-4)
    law = {"ridge": ridge, "gram": 1e-4, "moment": 1e-4, "iso": iso}
    samples = _perturbed(A, b, theta, 4000, **law)
    for level in (0.5, 0.9):
        below = int((samples <= risk.adassp_quantile(gram(A, b), probability=level, **law)).sum())
        assert stats.binomtest(below, 4000, level).pvalue > 1e-9


def _perturbed(A, b, theta, trials, *, ridge, gram, moment, iso) -> np.ndarray:
    rng, d = np.random.default_rng(9), len(b)
    noise = np.triu(rng.standard_normal((trials, d, d)))
    noise = noise + np.triu(noise, 1).transpose(0, 2, 1)
    noise = np.where(np.eye(d) > 0, noise, noise / math.sqrt(2)) if iso else noise
    vector = b + moment * rng.standard_normal((trials, d))
    error = np.linalg.solve(A + ridge * np.eye(d) + gram * noise, vector[:, :, None])[:, :, 0] - theta
    return np.einsum("ni,ij,nj->n", error, A, error)


def test_gradient_descent_by_runs():
    X, Y = records(singular=True)
    A, b, theta = X.T @ X, X.T @ Y, np.linalg.pinv(X) @ Y
    rng, found = np.random.default_rng(2), np.zeros((40_000, 4))
    for _ in range(3):
        found = found - 8.0 * ((found @ A - b) / 30 + 0.05 * rng.standard_normal(found.shape))
    risks = (((found - theta) @ X.T) ** 2).sum(axis=1)
    setting: dict[str, Any] = {"steps": 3, "rate": 8.0, "sigma": 0.05}
    agrees(risks, risk.gradient_descent(gram(A, b), **setting))
    for level in (0.1, 0.9):
        below = int((risks <= risk.gradient_descent_quantile(gram(A, b), probability=level, **setting)).sum())
        assert stats.binomtest(below, len(risks), level).pvalue > 1e-9
    path = risk.gradient_descent_path(gram(np.eye(1), np.ones(1), n=1), steps=4, rate=2.0, sigma=0.5)
    assert path == pytest.approx([1, 2, 3, 4, 5], rel=1e-12)  # h = -1: the inner sum is T


@pytest.mark.parametrize("lambda_min", [0.0, 3.0, 9.0, 30.0])
def test_the_released_noise_level(lambda_min):
    law = risk.released(lambda_min, level=10.0, scale=2.0, tau=1.0)
    z = np.linspace(-12, 12, 400_001)
    values = np.maximum(10 - np.maximum(lambda_min - 2 * (1 - z), 0), 0)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    for function in (np.ones_like, lambda v: np.sqrt(0.1 + v), lambda v: 1 / (1 + v)):
        assert law.mean(function(law.values)) == pytest.approx(np.trapezoid(function(values) * density, z), abs=2e-8)
    atom = law.weights[law.values == 10.0].sum()
    assert atom == pytest.approx(ndtr(1 - lambda_min / 2), rel=1e-6)


def test_averages_over_the_released_level_are_averages_of_risks():
    X, Y = records()
    A, b = X.T @ X, X.T @ Y
    law = risk.released(0.05, level=1.0, scale=0.3, tau=1.0)
    setting: dict[str, Any] = {"steps": 2, "k": 20, "sigma": 0.1}
    each = [risk.hessian_mixing(gram(A, b), eta_squared=float(value), **setting) for value in law.values]
    assert risk.hessian_mixing(gram(A, b), eta_squared=law, **setting) == pytest.approx(law.weights @ each, rel=1e-12)
    each = [risk.sketch_and_solve(gram(A, b, float(Y @ Y)), k=20, eta_squared=float(value)) for value in law.values]
    assert risk.sketch_and_solve(gram(A, b, float(Y @ Y)), k=20, eta_squared=law) == pytest.approx(
        law.weights @ each, rel=1e-12
    )
    ridge = risk.released(0.0, level=1.0, scale=0.3, tau=2.0)
    scales: dict[str, Any] = {"gram": 0.01, "moment": 0.02}
    each = [adassp(gram(A, b), ridge=float(value), **scales) for value in ridge.values]
    assert adassp(gram(A, b), ridge=ridge, **scales) == pytest.approx(ridge.weights @ each, rel=1e-12)
    median = risk.adassp_quantile(gram(A, b), ridge=ridge, **scales)
    samples = [_perturbed(A, b, np.linalg.solve(A, b), 200, ridge=v, iso=False, **scales) for v in ridge.values]
    below = ridge.weights @ (np.array(samples) <= float(median)).mean(axis=1)
    assert below == pytest.approx(0.5, abs=0.1)


def test_runs_that_leave_floating_point_are_infinite_and_not_nan():
    X, Y = records()
    for keep in (True, False):
        path = risk.hessian_mixing_path(
            gram(X.T @ X, X.T @ Y), steps=900, k=8, eta_squared=0.3, sigma=0.1, keep_ridge=keep
        )
        assert not np.isnan(path.risk).any() and not np.isnan(path.distance).any()
    large = risk.hessian_mixing(gram(X.T @ X, X.T @ Y), steps=2, k=10**12, eta_squared=0.0, sigma=0.0)
    fit = X @ np.linalg.lstsq(X, Y)[0]
    assert large == pytest.approx(float(fit @ fit) * contraction(10**12, 4).mean ** 2, rel=1e-6)


def test_units_do_not_matter():
    X, Y = records()
    A, b = X.T @ X, X.T @ Y
    for c in (1e-6, 1e6):
        scaled = risk.hessian_mixing(gram(c * c * A, c * b), steps=3, k=20, eta_squared=0.3 * c * c, sigma=0.2 * c)
        own = risk.hessian_mixing(gram(A, b), steps=3, k=20, eta_squared=0.3, sigma=0.2)
        assert scaled == pytest.approx(own, rel=1e-9)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"A": np.array([[1.0, 0.5], [0.0, 1.0]])}, "A"),
        ({"A": -np.eye(2)}, "A"),
        ({"A": np.diag([1.0, 0.0])}, "b"),
        ({"A": np.full((2, 2), math.nan)}, "A, b"),
        ({"k": 1}, "k"),
        ({"k": 4.5}, "k"),
        ({"steps": -1}, "steps"),
        ({"sigma": -0.1}, "sigma"),
        ({"eta_squared": -1.0}, "eta_squared"),
        ({"eta_squared": math.nan}, "eta_squared"),
        ({"step": 0.0}, "step"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(change, named):
    data = {"A": np.eye(2), "b": np.ones(2), "y_squared": 2.0, "n": 30}
    valid: dict[str, Any] = {"steps": 2, "k": 20, "eta_squared": 0.1, "sigma": 0.1, "step": 1.0}
    with pytest.raises(DomainError, match=f"^{named} = "):
        statistics = Gram(**{name: change.get(name, value) for name, value in data.items()})
        risk.hessian_mixing(statistics, **{name: change.get(name, value) for name, value in valid.items()})


def test_rounding_of_the_gram_matrix_is_no_asymmetry():
    setting: dict[str, Any] = {"steps": 2, "k": 20, "eta_squared": 0.1, "sigma": 0.1}
    rounded = risk.hessian_mixing(gram(np.array([[1.0, 1e-13], [0.0, 1.0]]), np.ones(2)), **setting)
    assert rounded == pytest.approx(risk.hessian_mixing(gram(np.eye(2), np.ones(2)), **setting), rel=1e-10)


def test_a_fit_longer_than_the_outcomes_is_refused():
    with pytest.raises(DomainError, match=r"^y_squared = "):
        risk.sketch_and_solve(gram(np.eye(2), np.ones(2), 1.9), k=20, eta_squared=0.1)
