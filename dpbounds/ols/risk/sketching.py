"""Sketch-and-solve (linear mixing, ols (7), Algorithms 4 and 5): exact law and risk, the data and noise level fixed.

The risk is the sum ||X (theta - theta*)||². Source: beyond the paper (ols, item 5).

>>> problem = Gram(A=4 * np.eye(2), b=np.ones(2), y_squared=1.0, n=16)
>>> round(float(sketch_and_solve(problem, k=20, eta_squared=0.0)), 6)  # L d / (k - d - 1)
0.058824
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq
from scipy.special import chdtri, gammaincinv, gammaln

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, moderate_or_zero, nonnegative, within
from dpbounds.gaussian_norm import norm_cdf
from dpbounds.ols.gram import Gram
from dpbounds.ols.risk.mixing import noise_levels
from dpbounds.ols.risk.released import NoiseLaw, averaged
from dpbounds.ols.spectrum import Spectrum
from dpbounds.values import Value

SOURCE = "ols (7), exact law"
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)


@typed
def sketch_and_solve(problem: Gram, *, k: int, eta_squared: float | NoiseLaw) -> Value:
    """E risk = ||theta_R - theta*||²_A + s0² tr(A M^-1) / (k - d - 1), M = A + eta² I, theta_R = M^-1 b.

    s0² = ||Y||² + eta² - b' M^-1 b. `eta_squared`: a number, or the law of the released noise, over which the mean is
    taken. inf for k < d + 2, where the mean does not exist, and for a singular M. Raises `DomainError` for k < d.
    """
    k = _rows(problem, k)

    def mean(noise: np.ndarray) -> np.ndarray:
        bias, share, variance = _parts(problem, noise_levels(noise))
        spread, left = variance * share, k - problem.d - 1
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
    spectrum: Spectrum

    def risk_cdf(self, level: float) -> float:
        """P(||X (theta-hat - theta*)||² <= level), to 1e-7: Gaussian given w, then quadrature over w."""
        radius = np.sqrt(moderate_or_zero("level", level))
        half = self.degrees / 2
        low, high = 2 * float(gammaincinv(half, 1e-15)), float(chdtri(self.degrees, 1e-15))
        middle, reach = np.log(high * low) / 2, np.log(high / low) / 2
        log_w = middle + reach * _NODES
        density = np.exp(half * (log_w - np.log(2)) - np.exp(log_w) / 2 - gammaln(half))
        metric = self.spectrum.basis * np.sqrt(self.spectrum.eigenvalues)
        bias = metric.T @ self.mean - np.sqrt(self.spectrum.eigenvalues) * self.spectrum.theta
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


@typed
def sketch_and_solve_law(problem: Gram, *, k: int, eta_squared: float) -> SketchLaw:
    """The exact law of the estimate given eta². At eta = 0 the risk over L is chi²_d / chi²_(k-d+1) exactly.

    Raises `DomainError` as `sketch_and_solve` does, and for a singular M.
    """
    k, level, spectrum = _rows(problem, k), noise_levels(nonnegative("eta_squared", eta_squared)), problem.spectrum
    mu = spectrum.ridge(level)
    if not (mu > 0).all():
        raise DomainError("eta_squared", eta_squared, "above 0 for a singular A", "add noise")
    _, _, variance = _parts(problem, level)
    return SketchLaw(
        mean=spectrum.basis @ (spectrum.loads / mu),
        root=float(np.sqrt(variance)) * (spectrum.basis / np.sqrt(mu)) @ spectrum.basis.T,
        degrees=k - problem.d + 1,
        spectrum=spectrum,
    )


def _rows(problem: Gram, k: int) -> int:
    return count("k", k, problem.d, f"d = {problem.d}: a smaller sketch cannot be inverted")


def _parts(problem: Gram, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """||theta_R - theta*||²_A, tr(A M^-1) and s0² for every noise level; inf biases for a singular M."""
    spectrum, mu = problem.spectrum, problem.spectrum.ridge(noise)
    safe = np.where(mu > 0, mu, 1.0)
    bias = (spectrum.eigenvalues * (spectrum.loads / safe - spectrum.theta) ** 2).sum(axis=-1)
    variance = np.maximum(problem.y_squared + noise - (spectrum.loads**2 / safe).sum(axis=-1), 0.0)
    regular = (mu > 0).all(axis=-1)
    return np.where(regular, bias, np.inf), (spectrum.eigenvalues / safe).sum(axis=-1), variance
