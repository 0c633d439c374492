"""The correlation that minimises the exact stationary error for a given spectrum, and the best nu beside it.

>>> from dpbounds.ftrl.linear_regression.exact import suboptimality
>>> problem = Regression(eigenvalues=np.array([1.0, 0.25]), eta=0.1, rho=0.5)
>>> found = suboptimality(optimal_correlation(problem.eigenvalues, problem.eta), problem)
>>> round(found / optimal_suboptimality(problem), 6)
1.0
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.circle.quadrature import even_integral
from dpbounds.errors import AccuracyError, all_moderate, moderate
from dpbounds.ftrl.correlations import DampedHalfPowers, from_resonances, nu
from dpbounds.ftrl.linear_regression.exact import CONVENTION, contraction_and_feedback, suboptimality
from dpbounds.ftrl.linear_regression.settings import GAUSSIAN_KURTOSIS, Regression
from dpbounds.values import Value

# Rates times frequencies that one evaluation of the spectrum sums over: some ten seconds.
MOST_TERMS = 2_000_000_000


def optimal_spectrum(
    eigenvalues: Float[np.ndarray, " d"], eta: float, *, kurtosis: float = GAUSSIAN_KURTOSIS
) -> Callable[[np.ndarray], np.ndarray]:
    """|B(omega)|^2 = g^{-1/2} up to a factor, g = sum_j 2 lambda_j x_j (2 - x_j) / (D_j |1 - x_j - e^{i omega}|^2).

    The exact error is a constant times int |B|^{-2} int |B|^2 g: Cauchy-Schwarz as in ftrl eq. (19). With the bound of
    ftrl Thm C.18 in place of the exact error g would be h of eq. (21).
    """
    weights, rates = _resonances(eigenvalues, eta, kurtosis)

    def inverse_root(omega: np.ndarray) -> np.ndarray:
        sine_squared = np.sin(np.asarray(omega, dtype=float) / 2.0) ** 2
        if len(rates) * sine_squared.size > MOST_TERMS:
            raise AccuracyError(
                f"optimal spectrum: {len(rates)} rates at {sine_squared.size} frequencies take too long"
            )
        gain = np.zeros_like(sine_squared)
        for weight, rate in zip(weights, rates, strict=True):
            gain += weight / (rate**2 + 4.0 * (1.0 - rate) * sine_squared)
        return gain**-0.5

    return inverse_root


@typed
def optimal_suboptimality(problem: Regression) -> Value:
    """Infimum of the exact F_inf over all correlations, from the spectrum alone: no factorisation needed.

    The privacy part is (eta^2 G^2 / (8 rho)) (mean over the circle of g^{1/2})^2 / (1 - feedback), g as in
    `optimal_spectrum`.
    """
    spectrum, eta, kurtosis = problem.eigenvalues, problem.eta, problem.kurtosis
    contraction, feedback = contraction_and_feedback(spectrum, eta, kurtosis)
    inverse_root = optimal_spectrum(spectrum, eta, kurtosis=kurtosis)
    mean_root = float(even_integral(lambda omega: 1.0 / inverse_root(omega))) / (2.0 * np.pi)
    residual = 0.5 * eta**2 * problem.residual_variance * np.sum(spectrum**2 / contraction)
    value = (residual + 0.25 * eta**2 * problem.noise_variance * mean_root**2) / (1.0 - feedback)
    return Value(value, kind="exact", source="dpbounds, Cauchy-Schwarz on ftrl eq. (83)", convention=CONVENTION)


def optimal_correlation(
    eigenvalues: Float[np.ndarray, " d"], eta: float, *, kurtosis: float = GAUSSIAN_KURTOSIS
) -> DampedHalfPowers:
    """The causal correlation with `optimal_spectrum`, in closed form for every eta mu: the zeros of g interlace its
    poles (`from_resonances`).
    """
    return from_resonances(*_resonances(eigenvalues, eta, kurtosis))


def _resonances(eigenvalues: np.ndarray, eta: float, kurtosis: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights and different rates x of g = sum w / (x^2 + 4 (1 - x) sin^2(omega / 2))."""
    spectrum, eta = all_moderate("eigenvalues", eigenvalues), moderate("eta", eta)
    x = eta * spectrum
    contraction, _ = contraction_and_feedback(spectrum, eta, kurtosis)
    rates, first, copies = np.unique(x, return_index=True, return_counts=True)
    return copies * (2.0 * spectrum * x * (2.0 - x) / contraction)[first], rates


def best_nu(
    eigenvalues: Float[np.ndarray, " d"], eta: float, *, kurtosis: float = GAUSSIAN_KURTOSIS
) -> tuple[float, Value]:
    """The nu in (0, 1] of least exact error, and its ratio to the optimum over all correlations (privacy terms only).

    One-dimensional search in log nu on a grid refined by Brent's method; neither depends on rho or clip_norm.
    """
    from scipy.optimize import minimize_scalar

    # Privacy terms alone, in proportion to the budget: any budget has the same best nu and the same ratio.
    problem = Regression(eigenvalues=eigenvalues, eta=eta, rho=0.5, kurtosis=kurtosis)

    def error(log_nu: float) -> float:
        return float(suboptimality(nu(float(np.exp(log_nu))), problem))

    grid = np.linspace(np.log(problem.decay.min()) - 3.0, 0.0, 24)
    best = int(np.argmin([error(point) for point in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found: Any = minimize_scalar(error, bounds=(low, high), method="bounded", options={"xatol": 1e-8})
    ratio = found.fun / optimal_suboptimality(problem)
    source = "dpbounds, search over nu"
    return float(np.exp(found.x)), Value(ratio, kind="estimate", source=source)
