"""2S-GD on one data set of whole numbers in 150 digits: what convergence is measured on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import numpy as np

from dpbounds.iv import Moments, TwoStageBudget, error_bound
from dpbounds.iv.noiseless import contraction_rates, step_size_limits
from verify.checks import Fact
from verify.papers.iv.tools.rationals import TwoStage
from verify.papers.iv.tools.reference import rational_records
from verify.papers.iv.tools.samples import isotropic_design
from verify.papers.iv.tools.setups import TAU

# The steps that are followed.
STEPS = 600


@cache
def whole_numbers() -> TwoStage:
    """One integer data set, n = 9, q = 3, p = 2."""
    return TwoStage(rational_records(np.random.default_rng(3), 9, 3, 2))


def forcing(solved: TwoStage) -> np.ndarray:
    """Z'r / n."""
    return solved.records.Z.T @ solved.r / solved.n


def term_over_error(m: Any, s: Any) -> Any:
    """The third term of (7), n = 100, q = 2, p = 1, tau = 5, over the error of 2S-GD after s + 1 steps.

    A = I, theta_hat = (1, 0), beta_hat = 1 and any Z'r, which is orthogonal to theta_hat; eta = 1, alpha = 2/3. After
    one step Theta_t is theta_hat, and each further one leaves 1/3 of the error of beta, which starts at 0.
    """
    return m.exp(s * m.log(m.number(3))) * _third_term(m)


def term_over_error_reduced(m: Any, x: Any) -> Any:
    """At most that times x: 3^s is at least s log 3."""
    return m.log(m.number(3)) * _third_term(m)


def _third_term(m: Any) -> Any:
    return m.sqrt(m.number(2)) * (5 + m.log(m.number(2))) / 10


@cache
def long_run(steps: int) -> tuple[list[Any], float]:
    """log ||e_t|| of 2S-GD on the integer data set in 150 digits; log of the larger spectral radius."""
    eta, alpha = _whole_steps()
    with mpmath.workdps(150):
        logs = _distances(eta, alpha, steps)
    return logs, math.log(contraction_rates(whole_moments(), float(eta), float(alpha)).overall)


@cache
def whole_moments() -> Moments:
    """Of the same data."""
    return Moments.of(*whole_numbers().records.floats())


def _whole_steps() -> tuple[Fraction, Fraction]:
    """One over a whole number each, not above half the limits of convergence."""
    eta, alpha = (Fraction(1, math.ceil(2 / limit)) for limit in step_size_limits(whole_moments()))
    return eta, alpha


def _distances(eta: Fraction, alpha: Fraction, steps: int) -> list[Any]:
    def matrix(values: np.ndarray) -> Any:
        return mpmath.matrix([[mpmath.mpf(x.numerator) / x.denominator for x in row] for row in np.atleast_2d(values)])

    solved = whole_numbers()
    A, G, target = matrix(solved.A), matrix(solved.A @ solved.theta_hat), matrix(solved.beta_hat).T
    b, first, second = matrix(solved.A @ solved.theta_hat @ solved.beta_hat - forcing(solved)).T, *_numbers(eta, alpha)
    theta, beta, logs = mpmath.zeros(G.rows, G.cols), mpmath.zeros(G.cols, 1), []
    for _ in range(steps):
        theta, beta = theta - first * (A * theta - G), beta - second * (theta.T * (A * (theta * beta) - b))
        logs.append(mpmath.log(mpmath.norm(beta - target)))
    return logs


def _numbers(*fractions: Fraction) -> tuple[Any, ...]:
    return tuple(mpmath.mpf(x.numerator) / x.denominator for x in fractions)


def decay(rng: np.random.Generator) -> Iterator[Fact]:
    """Slope of log ||e_t|| over the last steps against the log of the spectral radius."""
    logs, radius = long_run(STEPS)
    slope = float(logs[-1] - logs[-101]) / 100
    yield Fact("slope of log ||beta_t - beta_hat||, 500 <= t <= 600", slope, radius, 1e-6)


def over_kappa_power(decades: float, power: float = 1.0) -> Iterator[tuple[str, float]]:
    """The error over kappa^T, kappa the larger spectral radius."""
    logs, radius = long_run(STEPS)
    steps = min(round(10**decades), STEPS)
    yield "the error over kappa^T", float(mpmath.exp(logs[steps - 1] - power * steps * radius))


def error_and_terms(decades: float) -> tuple[float, float, float]:
    """||beta_T - beta_hat|| on the integer data set, kappa^{T/2} with the larger spectral radius for kappa, and the
    statistical term.
    """
    logs, radius = long_run(STEPS)
    steps, solved = min(round(10**decades), STEPS), whole_numbers()
    design = isotropic_design(solved.n, 2, 3, TAU)
    bound = error_bound(design, TwoStageBudget(), steps=steps, kappa=math.exp(radius))
    return float(mpmath.exp(logs[steps - 1])), float(bound.optimisation), float(bound.statistical)
