"""Topic iv refuses bad input by name: no error of another kind, no warning, no nan, nothing changed in place."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from dpbounds import gaussian_norm, iv
from dpbounds.errors import AccuracyError, DomainError
from dpbounds.iv import isotropic, lemmas, pairs, population
from dpbounds.iv.moments import finite_array

Z = np.array([[1.0, 0.2], [-0.5, 1.0], [0.3, -1.2], [-0.8, 0.1]])
X = Z @ np.array([[2.0], [0.5]]) + np.array([[0.1], [-0.2], [0.1], [0.0]])
Y = 1.5 * X[:, 0] + np.array([0.0, 0.1, -0.1, 0.2])
MOMENTS = iv.Moments.of(Z, X, Y)
ORDER = iv.noise_expansion(MOMENTS, 0.3, 0.1, 4)
TARGET = np.array([1.5])
SCALES = {"lambda1": 0.1, "lambda2": 0.1}
DESIGN = {"n": 100, "p": 1, "q": 2, "theta_norm": 2.0, "theta_least": 2.0}


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        (1e200 * Z, "largest entry of Z"),
        (1e-200 * Z, "largest entry of Z"),
        (np.where(Z == 0.1, math.nan, Z), r"Z\[3, 1\]"),
        (Z[:, [0, 0]], "Z'Z/n"),
        (Z * [1.0, 0.0], "Z'Z/n"),
        (Z * [1.0, 1e-70], "Z'Z/n"),
        (np.hstack([Z, Z**2, Z**3]), "n"),
    ],
)
def test_bad_data_are_refused_by_name(bad: Any, named: str) -> None:
    with pytest.raises(DomainError, match=f"^{named} = "):
        iv.Moments.of(bad, X, Y)


@pytest.mark.parametrize(
    "bad", [Z.astype(str), Z + 0j, [[1.0], [1.0, 2.0]], None, "Z", {}, [[10**400]], [[None]], [[]]]
)
def test_what_is_no_array_of_numbers_is_refused(bad: Any) -> None:
    with pytest.raises(DomainError, match="Z"):
        finite_array("Z", bad, 2)


@pytest.mark.parametrize("change", [np.asfortranarray, np.float32, np.array])
def test_data_of_any_layout_give_the_same_moments_and_stay_as_they_are(change: Any) -> None:
    given = change(Z)
    before = np.array(given)
    found = iv.Moments.of(given, X, Y)
    assert np.array_equal(given, before) and given.flags.writeable
    assert found.beta_hat == pytest.approx(MOMENTS.beta_hat, rel=1e-6)


def test_counts_given_as_floats_are_stored_as_counts() -> None:
    moments = iv.Moments(A=np.eye(2), G=np.ones((2, 1)), b=np.ones(2), n=4.0)
    design = iv.Design(**(DESIGN | {"n": 100.0, "theta_norm": np.float32(2)}))
    assert type(moments.n) is int and type(design.n) is int and type(design.theta_norm) is float


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, 1e160, 1e-160, "1", None, True, [1.0], 10**400])
@pytest.mark.parametrize("name", ["gamma1", "gamma2", "lambda1", "lambda2"])
def test_scales_out_of_range(name: str, value: Any) -> None:
    scales = {"gamma1": 1.0, "gamma2": 1.0, **SCALES, name: value}
    if name.startswith("lambda") and value in (0, None):  # None leaves it to budgets, which are inf
        assert iv.joint_cost(iv.TwoStageBudget(**scales), 10, 5) == math.inf
        return
    with pytest.raises(DomainError, match=f"^{name} = "):
        iv.joint_cost(iv.TwoStageBudget(**scales), 10, 5)


@pytest.mark.parametrize("value", [0, -1.0, -math.inf, math.nan, 1e-320, 1e160, "1", None, True])
@pytest.mark.parametrize("name", ["rho1", "rho2"])
def test_budgets_out_of_range(name: str, value: Any) -> None:
    budgets = {"rho1": 1.0, "rho2": 1.0, name: value}
    with pytest.raises(DomainError, match=f"^{name} = "):
        iv.noise_scales(iv.TwoStageBudget(gamma1=1.0, gamma2=1.0, **budgets), 10, 5)


@pytest.mark.parametrize("steps", [0, -1, 5.5, "5", None, True, math.nan, math.inf])
def test_steps_out_of_range(steps: Any) -> None:
    for call in (
        lambda: iv.joint_cost(iv.TwoStageBudget(gamma1=1.0, gamma2=1.0, **SCALES), 10, steps),
        lambda: iv.error_bound(iv.Design(**DESIGN), iv.TwoStageBudget.equal(1.0), steps=steps, kappa=0.9),
        lambda: iv.scalar_law(iv.Moments(A=np.eye(1), G=np.eye(1), b=np.ones(1), n=1), 0.5, 0.1, steps=steps, **SCALES),
    ):
        with pytest.raises(DomainError, match=r"^steps = "):
            call()


@pytest.mark.parametrize("step", [None, True, 1.5, 5, -6, "1"])
def test_a_step_that_was_not_run_is_refused(step: Any) -> None:
    for call in (
        lambda: ORDER.law(step, 0.1, 0.1),
        lambda: iv.best_split(ORDER, 1.0, 1.0, step=step),
        lambda: iv.predicted_error(ORDER, TARGET, **SCALES, step=step),
        lambda: iv.predicted_quantile(ORDER, TARGET, **SCALES, probability=0.5, step=step),
    ):
        with pytest.raises(DomainError, match=r"^step = "):
            call()


@pytest.mark.parametrize("target", [np.array([math.nan]), np.array([1e200])])
def test_targets_that_are_not_finite_or_too_large(target: np.ndarray) -> None:
    law = iv.beta_law(MOMENTS, np.zeros((3, 4, 2, 1)), 0.1, 0.1)
    for call in (
        lambda: ORDER.mean_squared_error(target, 0.1, 0.1),
        lambda: iv.predicted_error(ORDER, target, **SCALES),
        lambda: iv.mixture_quantile(law, target),
        lambda: population.ols_limit(target, np.ones((2, 1)), np.eye(2)),
    ):
        with pytest.raises(DomainError, match=r"target|beta"):
            call()


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: iv.predicted_curve(ORDER, TARGET, horizons=[1, 2], lambda1=[0.1], lambda2=[0.1]), "lambda1, lambda2"),
        (lambda: iv.predicted_curve(ORDER, TARGET, horizons="12", lambda1=[0.1], lambda2=[0.1]), "horizons"),
        (lambda: iv.predicted_curve(ORDER, TARGET, horizons=[5], lambda1=[0.1], lambda2=[0.1]), "horizons"),
        (lambda: iv.beta_law(MOMENTS, np.zeros((4, 1, 2)), 0.1, 0.1), "thetas"),
        (lambda: iv.beta_law(MOMENTS, np.full((4, 2, 1), math.inf), 0.1, 0.1), "thetas"),
        (lambda: list(iv.theta_path(MOMENTS, 0.1, [np.zeros(3)])), "noise"),
        (lambda: iv.noise_variances(np.array([math.nan]), 0.1, 3), r"eigenvalues\[0\]"),
        (lambda: gaussian_norm.norm_cdf(np.array([1e200]), np.eye(1), 1.0), "mean, covariance"),
        (lambda: population.two_stage_covariance(np.ones((2, 1)), -1.0, 5), "outcome_variance"),
        (lambda: pairs.joint_pair(0), "n"),
        (lambda: pairs.beta_only_pair(3, shift=-1.0), "shift"),
        (lambda: iv.friendly_core.printed_moment_dimension(None, 2), "p"),
        (lambda: iv.scalar_moments(1, math.nan, 1, eta=1, alpha=1, lambda1_squared=1, lambda2_squared=1, steps=2), "G"),
        (lambda: iv.lemmas.burn_in_limit(1e-160, 2.0, 1.0), "eta"),
        (lambda: iv.noise_scales(iv.TwoStageBudget.equal(1.0, 1.0, calibration=[]), 9, 3), "calibration"),
    ],
)
def test_hostile_calls_are_refused_by_name(call: Any, named: str) -> None:
    with pytest.raises(DomainError, match=f"^{named} = "):
        call()


UNCHECKED = """
import numpy as np
from dpbounds import gaussian_norm, iv
from dpbounds.iv import population
from dpbounds.errors import DomainError

one, two, three = np.ones(1), np.ones(2), np.eye(3)
order = iv.noise_expansion(iv.Moments(A=np.eye(2), G=np.ones((2, 1)), b=two, n=5), 0.3, 0.1, 4)
calls = {
    "Z, X, Y": lambda: iv.Moments.of(np.eye(3), np.ones((4, 1)), np.ones(4)),
    "mean, covariance": lambda: gaussian_norm.norm_mean(two, three),
    "target": lambda: order.mean_squared_error(two, 0.1, 0.1),
    "error_covariance": lambda: population.ols_limit(one, np.ones((2, 1)), three),
    "instrument_covariance": lambda: population.two_stage_covariance(np.ones((2, 1)), 1.0, 5, three),
    "beta": lambda: population.ols_limit(two, np.ones((2, 1)), np.eye(2)),
    "singular_values[0]": lambda: iv.isotropic.Isotropic(singular_values=[-1], beta=one, q=2, eta=0.5, alpha=0.1),
    "eigenvalues": lambda: iv.noise_variances([[1.0]], 0.1, 3),
}
for name, call in calls.items():
    try:
        call()
    except DomainError as error:
        assert error.parameter == name, error
    else:
        raise SystemExit(name)
"""


def test_shapes_that_do_not_fit_are_refused_without_the_checker_of_the_tests() -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", UNCHECKED], check=True)


def test_the_isotropic_problem_takes_lists_and_refuses_the_rest() -> None:
    settings: dict[str, Any] = {"singular_values": np.array([2.0, 1.0]), "beta": np.ones(2), "q": 3.0}
    problem = isotropic.Isotropic(**settings, eta=0.5, alpha=0.1)
    assert type(problem.q) is int and problem.kappa == pytest.approx(0.9)
    terms = isotropic.isotropic_error_terms(problem, 4)
    for horizons in ([], None, [-1], [1.5], "1"):
        with pytest.raises(DomainError, match=r"^horizons = "):
            isotropic.isotropic_expansion(problem, horizons)
        with pytest.raises(DomainError, match=r"^horizons = "):
            terms.at(horizons)
    for scales in (np.full(5, -1.0), np.full(5, math.nan), np.full(5, 1e200)):
        with pytest.raises(DomainError, match="lambda1"):
            terms.root_mean_square(scales, np.ones(5))


def test_a_scalar_law_that_needs_too_many_modes_is_refused_before_it_is_computed() -> None:
    moments = iv.Moments(A=np.eye(1), G=np.ones((1, 1)), b=np.ones(1), n=10)
    with pytest.raises(AccuracyError, match="modes, too many"):
        iv.scalar_law(moments, 0.5, 1e-12, lambda1=0.1, lambda2=0.1, steps=3)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: iv.noise_scale(math, math.nan, 4, 1.0, 1.0), "n = nan"),
        (lambda: iv.noise_scale(math, 100, 4, math.nan, 1.0), "rho = nan"),
        (lambda: iv.noise_scale(math, 100, 4, 1.0, math.nan), "gamma = nan"),
        (lambda: lemmas.settled_rate(math.nan), "noise = nan"),
        (lambda: lemmas.settled_rate(np.array([0.1, math.nan])), "noise"),
    ],
)
def test_formulas_refuse_nan(call: Any, named: str) -> None:
    with pytest.raises(DomainError, match=named):
        call()
