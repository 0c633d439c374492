"""DP gradient descent (ols Algorithm 7): exact risk and its quantiles, the data fixed, nothing clipped.

The risk is the sum ||X (theta - theta*)||². Source: beyond the paper (ols, item 7).

>>> problem = Gram(A=4 * np.eye(2), b=np.ones(2), y_squared=1.0, n=16)
>>> round(float(gradient_descent(problem, steps=2, rate=2.0, sigma=0.1)), 6)
0.43125
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import count, moderate, moderate_or_zero, within
from dpbounds.gaussian_norm import norm_quantile
from dpbounds.ols.gram import Gram
from dpbounds.values import Value

SOURCE = "ols Alg. 7, linear recursion"


@typed
def gradient_descent(problem: Gram, *, steps: int, rate: float, sigma: float) -> Value:
    """E risk of theta_T: theta <- theta - rate (A theta - b) / n + rate N(0, sigma² I) from 0.

    `sigma` is the noise of an entry of the mean gradient. With h_i = 1 - rate a_i / n, a_i the eigenvalues of A: sum
    of a_i [h_i^(2T) theta*_i² + rate² sigma² sum_(t<T) h_i^(2t)].
    """
    path = gradient_descent_path(problem, steps=steps, rate=rate, sigma=sigma)
    return Value(float(path[-1]), kind="exact", source=SOURCE)


@typed
def gradient_descent_path(problem: Gram, *, steps: int, rate: float, sigma: float) -> Float[np.ndarray, " steps"]:
    """The same after 0, 1 ... T steps."""
    bias, spread = _moments(problem, steps, rate, sigma)
    return (problem.spectrum.eigenvalues * (bias**2 + spread)).sum(axis=1)


@typed
def gradient_descent_quantile(
    problem: Gram, *, steps: int, rate: float, sigma: float, probability: float = 0.5
) -> Value:
    """Quantile of the risk, exact: theta_T is Gaussian. Relative error 1e-8."""
    probability = within("probability", probability, "(0, 1)")
    bias, spread = (part[-1] for part in _moments(problem, steps, rate, sigma))
    eigenvalues = problem.spectrum.eigenvalues
    radius = norm_quantile(np.sqrt(eigenvalues) * bias, np.diag(eigenvalues * spread), probability)
    return Value(radius**2, kind="exact", source=SOURCE)


def _moments(problem: Gram, steps: int, rate: float, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean of theta_t - theta* and variance of theta_t in the eigenbasis after 0 ... T steps, shape (T+1, d)."""
    rate, sigma = moderate("rate", rate), moderate_or_zero("sigma", sigma)
    factors = 1 - rate / problem.n * problem.spectrum.eigenvalues
    powers = factors ** np.arange(count("steps", steps, least=0) + 1)[:, None]
    sums = np.concatenate([np.zeros((1, len(factors))), np.cumsum(powers[:-1] ** 2, axis=0)])
    return -powers * problem.spectrum.theta, rate**2 * sigma**2 * sums
