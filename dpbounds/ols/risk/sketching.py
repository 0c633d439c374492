"""Sketch-and-solve (linear mixing, ols (7), Algorithms 4 and 5): exact law and risk, the data and noise level fixed.

The risk is the sum ||X (theta - theta*)||². Source: beyond the paper (ols, item 5).

>>> risk = sketch_and_solve(np.eye(2), np.ones(2), 3.0, k=12, eta_squared=0.0)
>>> round(float(risk), 4)
0.2222
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq
from scipy.special import chdtri, gammaincinv, gammaln

from dpbounds.errors import DomainError, count, moderate_or_zero, nonnegative, within
from dpbounds.gaussian_norm import norm_cdf
from dpbounds.ols.risk.mixing import noise_levels
from dpbounds.ols.risk.released import NoiseLaw, averaged
from dpbounds.ols.risk.spectrum import Spectrum, spectrum
from dpbounds.values import Value

SOURCE = "ols (7), exact law"
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)


def sketch_and_solve(
    A: Float[np.ndarray, "d d"],
    b: Float[np.ndarray, " d"],
    y_squared: float,
    *,
    k: int,
    eta_squared: float | NoiseLaw,
) -> Value:
    """E risk = ||theta_R - theta*||²_A + s0² tr(A M^-1) / (k - d - 1), M = A + eta² I, theta_R = M^-1 b.

    s0² = ||Y||² + eta² - b' M^-1 b. `y_squared` = ||Y||². `eta_squared`: a number, or the law of the released
    noise, over which the mean is taken. inf for k < d + 2, where the mean does not exist, and for a
    singular M. Raises `DomainError` for k < d, and for a ||Y||² below that of the fit.
    """
    problem = _problem(A, b, y_squared, k)

    def mean(noise: np.ndarray) -> np.ndarray:
        bias, share, variance = _parts(problem, y_squared, noise_levels(noise))
        spread, left = variance * share, k - len(problem.loads) - 1
        return bias + (spread / left if left > 0 else np.where(spread > 0, np.inf, 0.0))

    return averaged(mean, eta_squared, kind="exact", source=SOURCE)


@dataclass(frozen=True, kw_only=True)
class SketchLaw:
    """theta-hat = mean + root g / sqrt(w) in law: g ~ N(0, I_d), w chi-square with `degrees`: a multivariate t.

    `root` is symmetric, s0 M^(-1/2).
    """

    mean: Float[np.ndarray, " d"]
    root: Float[np.ndarray, "d d"]
    degrees: int
    problem: Spectrum

    def risk_cdf(self, level: float) -> float:
        """P(||X (theta-hat - theta*)||² <= level), to 1e-7: Gaussian given w, then quadrature over w."""
        radius = np.sqrt(moderate_or_zero("level", level))
        half = self.degrees / 2
        low, high = 2 * float(gammaincinv(half, 1e-15)), float(chdtri(self.degrees, 1e-15))
        middle, reach = np.log(high * low) / 2, np.log(high / low) / 2
        log_w = middle + reach * _NODES
        density = np.exp(half * (log_w - np.log(2)) - np.exp(log_w) / 2 - gammaln(half))
        metric = self.problem.basis * np.sqrt(self.problem.eigenvalues)
        bias = metric.T @ self.mean - np.sqrt(self.problem.eigenvalues) * self.problem.theta
        spread = metric.T @ self.root @ self.root @ metric
        inside = norm_cdf(
            np.broadcast_to(bias, (len(log_w), len(bias))), spread / np.exp(log_w)[:, None, None], float(radius)
        )
        return float(reach * (_WEIGHTS * density) @ inside)

    def risk_quantile(self, probability: float) -> float:
        """The level that the risk stays below with this probability; relative error 1e-6."""
        probability = within("probability", probability, "(0, 1)")
        high = 1.0
        while self.risk_cdf(high) < probability:
            high *= 4
        low = high
        while self.risk_cdf(low) >= probability:
            low /= 4
        return cast(float, brentq(lambda level: self.risk_cdf(level) - probability, low, high, xtol=1e-7 * low))


def sketch_and_solve_law(
    A: Float[np.ndarray, "d d"], b: Float[np.ndarray, " d"], y_squared: float, *, k: int, eta_squared: float
) -> SketchLaw:
    """The exact law of the estimate given eta². At eta = 0 the risk over L is chi²_d / chi²_(k-d+1) exactly.

    Raises `DomainError` as `sketch_and_solve` does, and for a singular M.
    """
    problem, level = _problem(A, b, y_squared, k), noise_levels(nonnegative("eta_squared", eta_squared))
    mu = problem.ridge(level)
    if not (mu > 0).all():
        raise DomainError("eta_squared", eta_squared, "above 0 for a singular A", "add noise")
    _, _, variance = _parts(problem, y_squared, level)
    return SketchLaw(
        mean=problem.basis @ (problem.loads / mu),
        root=float(np.sqrt(variance)) * (problem.basis / np.sqrt(mu)) @ problem.basis.T,
        degrees=k - len(problem.loads) + 1,
        problem=problem,
    )


def _problem(A: np.ndarray, b: np.ndarray, y_squared: float, k: int) -> Spectrum:
    problem = spectrum(A, b)
    d = len(problem.loads)
    if count("k", k) < d:
        raise DomainError("k", k, f"a whole number of at least d = {d}", "a smaller sketch cannot be inverted")
    fitted = float(problem.loads @ problem.theta)
    if moderate_or_zero("y_squared", y_squared) < (1 - 1e-9) * fitted:
        raise DomainError("y_squared", y_squared, f"at least the square of the fit, {fitted:.6g}")
    return problem


def _parts(problem: Spectrum, y_squared: float, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """||theta_R - theta*||²_A, tr(A M^-1) and s0² for every noise level; inf biases for a singular M."""
    mu = problem.ridge(noise)
    safe = np.where(mu > 0, mu, 1.0)
    bias = (problem.eigenvalues * (problem.loads / safe - problem.theta) ** 2).sum(axis=-1)
    variance = np.maximum(y_squared + noise - (problem.loads**2 / safe).sum(axis=-1), 0.0)
    regular = (mu > 0).all(axis=-1)
    return np.where(regular, bias, np.inf), (problem.eigenvalues / safe).sum(axis=-1), variance
