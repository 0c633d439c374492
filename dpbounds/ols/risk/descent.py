"""DP gradient descent (ols Algorithm 7): exact risk and its quantiles, the data fixed, nothing clipped.

The risk is the sum ||X (theta - theta*)||². Source: beyond the paper (ols, item 7).

>>> risk = gradient_descent(np.eye(2), np.ones(2), n=2, steps=3, rate=1.0, sigma=0.0)
>>> float(risk)
0.03125
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from dpbounds.errors import count, moderate, moderate_or_zero, within
from dpbounds.gaussian_norm import norm_quantile
from dpbounds.ols.risk.spectrum import Spectrum, spectrum
from dpbounds.values import Value

SOURCE = "ols Alg. 7, linear recursion"


def gradient_descent(
    A: Float[np.ndarray, "d d"],
    b: Float[np.ndarray, " d"],
    *,
    n: int,
    steps: int,
    rate: float,
    sigma: float,
) -> Value:
    """E risk of theta_T: theta <- theta - rate (A theta - b) / n + rate N(0, sigma² I) from 0.

    `sigma` is the noise of an entry of the mean gradient. With h_i = 1 - rate a_i / n, a_i the eigenvalues of A: sum
    of a_i [h_i^(2T) theta*_i² + rate² sigma² sum_(t<T) h_i^(2t)].
    """
    path = gradient_descent_path(A, b, n=n, steps=steps, rate=rate, sigma=sigma)
    return Value(float(path[-1]), kind="exact", source=SOURCE)


def gradient_descent_path(
    A: Float[np.ndarray, "d d"],
    b: Float[np.ndarray, " d"],
    *,
    n: int,
    steps: int,
    rate: float,
    sigma: float,
) -> Float[np.ndarray, " steps"]:
    """The same after 0, 1 ... T steps."""
    problem = spectrum(A, b)
    bias, spread = _moments(problem, n, steps, rate, sigma)
    return (problem.eigenvalues * (bias**2 + spread)).sum(axis=1)


def gradient_descent_quantile(
    A: Float[np.ndarray, "d d"],
    b: Float[np.ndarray, " d"],
    *,
    n: int,
    steps: int,
    rate: float,
    sigma: float,
    probability: float = 0.5,
) -> Value:
    """Quantile of the risk, exact: theta_T is Gaussian. Relative error 1e-8."""
    problem, probability = spectrum(A, b), within("probability", probability, "(0, 1)")
    bias, spread = (part[-1] for part in _moments(problem, n, steps, rate, sigma))
    root = np.sqrt(problem.eigenvalues)
    radius = norm_quantile(root * bias, np.diag(problem.eigenvalues * spread), probability)
    return Value(radius**2, kind="exact", source=SOURCE)


def _moments(problem: Spectrum, n: int, steps: int, rate: float, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean of theta_t - theta* and variance of theta_t in the eigenbasis after 0 ... T steps, shape (T+1, d)."""
    rate, sigma = moderate("rate", rate), moderate_or_zero("sigma", sigma)
    factors = 1 - rate / count("n", n) * problem.eigenvalues
    powers = factors ** np.arange(count("steps", steps, least=0) + 1)[:, None]
    sums = np.concatenate([np.zeros((1, len(factors))), np.cumsum(powers[:-1] ** 2, axis=0)])
    return -powers * problem.theta, rate**2 * sigma**2 * sums
