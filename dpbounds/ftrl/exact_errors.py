"""Exact errors of a run beside the least over all correlations: for private means and for linear regression.

>>> from dpbounds.ftrl.correlations import independent
>>> problem = private_mean(eta=0.5, rho=0.5)
>>> found = mean_error(independent(), problem)
>>> round(float(found.suboptimality), 6), found.over_optimum > 1.0
(0.166667, True)
>>> after = error_after(independent(), problem, steps=1)
>>> after.gamma, after.suboptimality
(1.0, 0.125)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, moderate_or_zero
from dpbounds.ftrl import linear_regression, mean_estimation
from dpbounds.ftrl.correlations import ToeplitzCorrelation
from dpbounds.ftrl.linear_regression import Regression
from dpbounds.values import Value

# Kurtosis of a random sign: regression on one eigenvalue 1 is then mean estimation, the deviation shrinks by 1 - eta at
# each step.
SIGN = 1.0
# Factorising the optimal spectrum: least eta mu that it can resolve, and most eigenvalues times 1 / (eta mu) in a few
# seconds.
SHARPEST, MOST_FACTORISED = 2e-6, 2e7


@dataclass(frozen=True, kw_only=True)
class LongRun:
    """lim E F - F* under one correlation, `over_optimum` in units of the least over all of them.

    `gamma` is the limiting sensitivity, `nu` the damping where the correlation has one. `lower` and `upper` hold for
    every input law with the same fourth moments; both are None for means, and `upper` for the optimum, of which only
    the error is known.
    """

    suboptimality: Value
    over_optimum: float
    nu: float | None = None
    gamma: float | None = None
    lower: Value | None = None
    upper: Value | None = None


@dataclass(frozen=True, kw_only=True)
class FiniteRun:
    """E F - F* after some steps, with noise for as many, whose sensitivity is `gamma` clip norms."""

    gamma: float
    suboptimality: float


def private_mean(eta: float, rho: float, **options: Any) -> Regression:
    """Mean estimation on the line as the regression that it is, with `clip_norm` and `sigma_sgd` of `Regression`."""
    return Regression(eigenvalues=np.ones(1), eta=eta, rho=rho, kurtosis=SIGN, **options)


@typed
def mean_error(correlation: ToeplitzCorrelation, problem: Regression) -> LongRun:
    """Of a `private_mean`, F - F* = (theta - E z)^2 / 2: ftrl Theorem 2.1, eq. (18)."""
    options = {"clip_norm": problem.clip_norm, "sigma_sgd": problem.sigma_sgd}
    variance = mean_estimation.stationary_variance(correlation, problem.eta, problem.rho, **options)
    best = mean_estimation.optimal_variance(problem.eta, problem.rho, **options)
    return LongRun(
        suboptimality=Value(variance / 2.0, kind=variance.kind, source=variance.source),
        over_optimum=variance / best,
        nu=getattr(correlation, "nu", None),
        gamma=float(correlation.limiting_sensitivity()),
    )


@typed
def regression_error(correlation: ToeplitzCorrelation | None, problem: Regression) -> LongRun:
    """Of a regression, for None of the optimal correlation, which need not be known for its error.

    Raises `DomainError` outside stability, and for eta of at least 2 / R^2, where there are no bounds.
    """
    optimum = linear_regression.optimal_suboptimality(problem)
    if correlation is None:
        return LongRun(suboptimality=optimum, over_optimum=1.0, lower=linear_regression.lower_bound(problem))
    value = linear_regression.suboptimality(correlation, problem)
    lower, upper = linear_regression.trace_bounds(correlation, problem)
    return LongRun(
        suboptimality=value,
        over_optimum=value / optimum,
        nu=getattr(correlation, "nu", None),
        gamma=float(correlation.limiting_sensitivity()),
        lower=lower,
        upper=upper,
    )


@typed
def error_after(
    correlation: ToeplitzCorrelation, problem: Regression, *, steps: int, initial: float = 0.0
) -> FiniteRun:
    """After `steps` steps from a theta_0 at the distance `initial` of theta*, the same in every eigendirection."""
    d = len(problem.eigenvalues)
    start = np.full(d, moderate_or_zero("initial", initial) / np.sqrt(d))
    gaps = linear_regression.trajectory(correlation, problem, steps=steps, initial=start)
    return FiniteRun(gamma=float(correlation.sensitivity(steps)), suboptimality=float(gaps[-1]))


@typed
def optimal_weights(eigenvalues: Float[np.ndarray, " d"], eta: float) -> ToeplitzCorrelation:
    """`linear_regression.optimal_correlation` where it takes seconds; else `AccuracyError` at once."""
    least = eta * float(eigenvalues.min())
    if least < SHARPEST or len(eigenvalues) / least > MOST_FACTORISED:
        raise AccuracyError(
            f"the optimal noise is known by its error alone where eta mu = {least:.3g} and d = {len(eigenvalues)}: its "
            "weights would take too long; best-nu is close to it"
        )
    return linear_regression.optimal_correlation(eigenvalues, eta)
