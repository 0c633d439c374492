"""Bounds and utility: what they refuse, where they are infinite, and coverage against runs of the recursion."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpbounds import DomainError
from dpbounds.ols import Features, Gram, bounds, utility


def gram(A: np.ndarray, b: np.ndarray) -> Gram:
    """Of 40 records without residuals."""
    return Gram(A=A, b=b, y_squared=float(b @ np.linalg.pinv(A) @ b), n=40)


@pytest.mark.parametrize(("steps", "k"), [(1, 300), (3, 800)])
def test_coverage_by_explicit_sketches(steps, k):
    rng, d, failure = np.random.default_rng(7), 3, 0.1
    X = rng.uniform(-1, 1, (40, d)) * np.array([1.0, 0.3, 0.05])
    A, b, sigma, noise = X.T @ X, X.T @ rng.uniform(-1, 1, 40), 0.3, 0.5
    found = utility.given_noise(gram(A, b), steps=steps, k=k, eta_squared=noise, sigma=sigma, failure=failure)
    M, theta, missed = A + noise * np.eye(d), np.zeros((400, d)), 0
    root = np.linalg.cholesky(M).T
    for _ in range(steps):
        sketch = rng.standard_normal((400, k, d)) @ root
        gradient = b - theta @ M + sigma * rng.standard_normal(theta.shape)
        theta = theta + np.linalg.solve(sketch.transpose(0, 2, 1) @ sketch / k, gradient[:, :, None])[:, :, 0]
    missed = int((((theta - np.linalg.solve(A, b)) @ X.T) ** 2).sum(axis=1).__gt__(float(found.risk)).sum())
    assert stats.binomtest(missed, 400, failure, alternative="greater").pvalue > 1e-9


def test_where_there_is_no_bound_it_is_infinite():
    flat, zero = np.diag([1.0, 0.0]), np.zeros(2)
    setting: dict[str, Any] = {"steps": 2, "sigma": 0.1, "failure": 0.1}
    assert utility.given_noise(gram(flat, zero), k=5000, eta_squared=0.0, **setting).risk == math.inf
    assert utility.given_noise(gram(np.eye(2), zero), k=20, eta_squared=1.0, **setting).clip == math.inf
    assert math.isfinite(utility.given_noise(gram(flat, zero), k=5000, eta_squared=1e-9, **setting).risk)


def test_what_is_chosen_by_the_bounds():
    data = Features(joint_lambda_min=4.0, residual=50.0, theta_squared=2.0)
    best = bounds.best_level(3.0, data)
    values = [bounds.linear_mixing_at(3.0, data, best * f) for f in (0.99, 1.0, 1.01)]
    assert min(values) == values[1]
    assert bounds.best_level(3.0, Features(residual=50.0)) == math.inf
    assert bounds.balancing_steps(1e-3, 1e-6, 1e-7, n=10, d=5, lambda_min=0.0) == 1
    assert bounds.sketch_size(1, 1.0, 1) == 8  # 6 log 4


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: bounds.hessian_multiplier(0.0, 0.1, 0.1, 3, 2), "epsilon"),
        (lambda: bounds.mixing_multiplier(1.0, 1.0, 0.1, 3), "delta"),
        (lambda: bounds.adassp_multiplier(1.0, 0.1, 0.0, 3), "failure"),
        (lambda: bounds.adassp(0.0, Features(lambda_min=1.0, theta_squared=1.0)), "multiplier"),
        (lambda: Features(joint_lambda_min=3.0, residual=2.0, theta_squared=1.0), "joint_lambda_min"),
        (lambda: bounds.sketch_size(0, 0.1, 3), "d"),
        (lambda: utility.theorem_clip(0.5, theta_norm=1.0), "condition"),
        (lambda: utility.theorem_sketch_size(3, 1.0, 1), "failure"),
        (
            lambda: utility.given_noise(gram(np.eye(2), np.ones(2)), steps=1, k=1, eta_squared=1, sigma=1, failure=0.1),
            "k",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(call, named):
    with pytest.raises(DomainError, match=f"^{named} = "):
        call()
