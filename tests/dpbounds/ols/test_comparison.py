"""All methods on one problem, and Table 1 for given data."""

from __future__ import annotations

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.ols import GradientDescentScales, NewtonClips, compare, features, regime
from dpbounds.ols.risk import gradient_descent


def problem(n: int = 2000, d: int = 3, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.5, 0.5, (n, d))
    y = np.clip(X @ np.linspace(0.5, -0.5, d) + rng.uniform(-0.3, 0.3, n), -1, 1)
    return X.T @ X, X.T @ y, float(y @ y), n


def test_less_noise_at_equal_true_privacy_for_every_method():
    found = compare(*problem(), 1.0, 1e-6)
    for row in found.under("experiments"):
        (other,) = [one for one in found.under("tight") if one.method == row.method]
        if row.method not in ("theta = 0", "DP-GD", "LinMix"):
            assert float(other.risk) < float(row.risk), row.method
        for name in ("gamma", "sigma", "gram"):
            if hasattr(row.scales, name):
                assert getattr(other.scales, name) < getattr(row.scales, name)


def test_outcomes_in_another_unit_scale_the_risks():
    A, b, y_squared, n = problem()
    one = compare(A, b, y_squared, n, 1.0, 1e-6, accountings=("tight",))
    half = compare(A, b / 2, y_squared / 4, n, 1.0, 1e-6, outcome_bound=0.5, accountings=("tight",))
    for row, other in zip(one.rows, half.rows, strict=True):
        if row.method != "LinMix":  # whose row bound 1 + C_Y² does not scale
            assert 4 * float(other.risk) == pytest.approx(float(row.risk), rel=1e-9), row.method


def test_gradient_descent_is_that_of_its_law():
    A, b, y_squared, n = problem()
    (row,) = [one for one in compare(A, b, y_squared, n, 1.0, 1e-6).under("tight") if one.method == "DP-GD"]
    assert isinstance(row.scales, GradientDescentScales)
    assert float(row.risk) == pytest.approx(
        float(gradient_descent(A, b, n=n, steps=3, rate=0.25, sigma=row.scales.sigma)), rel=1e-12
    )


def test_features_against_the_records():
    A, b, y_squared, n = problem()
    found = features(A, b, y_squared, n)
    theta = np.linalg.solve(A, b)
    assert found.lambda_min == pytest.approx(np.linalg.eigvalsh(A)[0])
    assert found.residual == pytest.approx(y_squared - b @ theta)
    assert found.theta_squared == pytest.approx(theta @ theta)
    joint = np.linalg.eigvalsh(np.block([[A, b[:, None]], [b[None], np.array([[y_squared]])]]))[0]
    assert found.joint_lambda_min == pytest.approx(joint)


def test_singular_designs_are_compared():
    A, b = np.diag([10.0, 0.0]), np.array([2.0, 0.0])
    found = compare(A, b, 5.0, 100, 1.0, 1e-4, accountings=("tight",))
    for row in found.rows:
        # A sketch without noise, however improbable, cannot be inverted: then the mean is infinite.
        assert np.isfinite(float(row.risk)) or row.method in (
            "IHM",
            "IHM, ridge kept",
            "LinMix",
            "AdaSSP",
            "AdaSSP, iso",
        )
    assert np.isfinite(float(found.recommended.risk))
    assert regime(found.regime.features, 1.0, 1e-4, failure=1e-5).expected in ("AdaSSP", "LinMix", "IHM")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"n": 2}, "n = 2"),
        ({"k": 6}, r"k = 6.*at least 7"),
        ({"linear_k": 4}, r"linear_k = 4.*at least 5"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"y_squared": 0.1}, "y_squared"),
        ({"steps": 0}, "steps"),
        ({"failure": 1.0}, "failure"),
    ],
)
def test_out_of_range_is_refused(wrong, words):
    A, b, y_squared, n = problem()
    given = {"A": A, "b": b, "y_squared": y_squared, "n": n, "epsilon": 1.0, "delta": 1e-6} | wrong
    with pytest.raises(DomainError, match=words):
        compare(**given)


def test_clips_out_of_range_are_refused():
    with pytest.raises(DomainError, match="gradients"):
        NewtonClips(hessian=1.0, gradients=(0.5, 2.0), unclipped=0.5)
