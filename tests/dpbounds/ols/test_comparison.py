"""All methods on one problem, and Table 1 for given data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.ols import Choices, GradientDescentScales, Gram, NewtonClips, compare, features, regime
from dpbounds.ols.risk import gradient_descent


def problem(n: int = 2000, d: int = 3, seed: int = 0) -> Gram:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.5, 0.5, (n, d))
    y = np.clip(X @ np.linspace(0.5, -0.5, d) + rng.uniform(-0.3, 0.3, n), -1, 1)
    return Gram.of_records(X, y)


def test_less_noise_at_equal_true_privacy_for_every_method():
    found = compare(problem(), 1.0, 1e-6)
    for row in found.under("experiments"):
        (other,) = [one for one in found.under("tight") if one.method == row.method]
        if row.method not in ("zero", "DP-GD", "LinMix"):
            assert float(other.risk) < float(row.risk), row.method
        for name in ("gamma", "sigma", "gram"):
            if hasattr(row.scales, name):
                assert getattr(other.scales, name) < getattr(row.scales, name)


def test_outcomes_in_another_unit_scale_the_risks():
    gram = problem()
    one = compare(gram, 1.0, 1e-6, accountings=("tight",))
    smaller = replace(gram, b=gram.b / 2, y_squared=gram.y_squared / 4)
    half = compare(smaller, 1.0, 1e-6, Choices(outcome_bound=0.5), accountings=("tight",))
    for row, other in zip(one.rows, half.rows, strict=True):
        if row.method != "LinMix":  # whose row bound 1 + C_Y² does not scale
            assert 4 * float(other.risk) == pytest.approx(float(row.risk), rel=1e-9), row.method


def test_gradient_descent_is_that_of_its_law():
    gram = problem()
    (row,) = [one for one in compare(gram, 1.0, 1e-6).under("tight") if one.method == "DP-GD"]
    assert isinstance(row.scales, GradientDescentScales)
    assert float(row.risk) == pytest.approx(
        float(gradient_descent(gram, steps=3, rate=0.25, sigma=row.scales.sigma)), rel=1e-12
    )


def test_features_against_the_records():
    gram = problem()
    A, b, y_squared = gram.A, gram.b, gram.y_squared
    found = features(gram)
    theta = np.linalg.solve(A, b)
    assert found.lambda_min == pytest.approx(np.linalg.eigvalsh(A)[0])
    assert found.residual == pytest.approx(y_squared - b @ theta)
    assert found.theta_squared == pytest.approx(theta @ theta)
    joint = np.linalg.eigvalsh(np.block([[A, b[:, None]], [b[None], np.array([[y_squared]])]]))[0]
    assert found.joint_lambda_min == pytest.approx(joint)


def test_singular_designs_are_compared():
    A, b = np.diag([10.0, 0.0]), np.array([2.0, 0.0])
    found = compare(Gram(A=A, b=b, y_squared=5.0, n=100), 1.0, 1e-4, accountings=("tight",))
    for row in found.rows:
        # A sketch without noise, however improbable, cannot be inverted: then the mean is infinite.
        assert np.isfinite(float(row.risk)) or row.method in (
            "IHM",
            "IHM-ridge",
            "LinMix",
            "AdaSSP",
            "AdaSSP-iso",
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
    gram = problem()
    parts, budget = (
        {"A": gram.A, "b": gram.b, "y_squared": gram.y_squared, "n": gram.n},
        {"epsilon": 1.0, "delta": 1e-6},
    )
    with pytest.raises(DomainError, match=words):
        own = {name: wrong.get(name, value) for name, value in parts.items()}
        chosen = {name: value for name, value in wrong.items() if name not in parts | budget}
        compare(Gram(**own), choices=Choices(**chosen), **{name: wrong.get(name, budget[name]) for name in budget})


def test_clips_out_of_range_are_refused():
    with pytest.raises(DomainError, match="gradients"):
        NewtonClips(hessian=1.0, gradients=(0.5, 2.0), unclipped=0.5)
