"""Exact expected risk of iterative Hessian mixing (ols Algorithm 1), the data and the noise level fixed.

The risk is the sum ||X (theta - theta*)||². Nothing may be clipped: the formulas do not know of clipping. Source:
beyond the paper (ols, item 4).

>>> problem = Gram(A=4 * np.eye(2), b=np.ones(2), y_squared=1.0, n=16)
>>> round(float(hessian_mixing(problem, steps=2, k=20, eta_squared=0.5, sigma=0.1)), 6)
0.054001
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, moderate, moderate_or_zero, real_array
from dpbounds.ols.gram import Gram
from dpbounds.ols.risk.released import NoiseLaw, averaged
from dpbounds.ols.spectrum import Spectrum
from dpbounds.ols.wishart import InverseMoments, inverse_moments
from dpbounds.values import Value

SOURCE = "ols Alg. 1, exact second moments"


class MixingPath(NamedTuple):
    """After 0, 1 ... T steps, shape (T+1, ...) with the shape of eta_squared.

    `risk`: E ||X (theta_t - theta*)||². `distance`: E ||theta_t - c||²_M, M = X'X + eta² I, c the ridge fit with the
    ridge term kept and theta* with it dropped.
    """

    risk: np.ndarray
    distance: np.ndarray


@typed
def hessian_mixing(
    problem: Gram,
    *,
    steps: int,
    k: int,
    eta_squared: float | NoiseLaw,
    sigma: float,
    keep_ridge: bool = True,
    step: float = 1.0,
) -> Value:
    """E risk of theta_T: theta <- theta + step H^-1 (b - A theta - [eta² theta] + sigma zeta) from 0, fresh H, zeta.

    H = V-weighted M = A + eta² I, the Gram matrix of the noisy sketch over k. `keep_ridge`: with the term in brackets,
    as in Algorithm 1; the experiments drop it. `eta_squared`: a number, or the law of the released
    noise, over which the mean is taken. inf for k < d + 4, where the mean does not exist, and for a singular M.
    Raises `DomainError` for k < d.
    """

    def last(noise: np.ndarray) -> np.ndarray:
        return hessian_mixing_path(
            problem, steps=steps, k=k, eta_squared=noise, sigma=sigma, keep_ridge=keep_ridge, step=step
        ).risk[-1]

    return averaged(last, eta_squared, kind="exact", source=SOURCE)


@typed
def hessian_mixing_path(
    problem: Gram,
    *,
    steps: int,
    k: int,
    eta_squared: float | np.ndarray | NoiseLaw,
    sigma: float,
    keep_ridge: bool = True,
    step: float = 1.0,
) -> MixingPath:
    """The same after every step, at the price of the last: one eigendecomposition, then O(d) a step and noise level."""
    if isinstance(eta_squared, NoiseLaw):
        eta_squared = eta_squared.checked("eta_squared")
        path = hessian_mixing_path(
            problem, steps=steps, k=k, eta_squared=eta_squared.values, sigma=sigma, keep_ridge=keep_ridge, step=step
        )
        return MixingPath(*(eta_squared.mean(part) for part in path))
    spectrum, noise = problem.spectrum, noise_levels(eta_squared)
    step, sigma = moderate("step", step), moderate_or_zero("sigma", sigma)
    recursion = _Recursion(spectrum, noise.ravel(), sigma, keep_ridge, step, inverse_moments(k, problem.d))
    parts = [np.reshape(part, (-1, *noise.shape)) for part in recursion.path(count("steps", steps, least=0))]
    return MixingPath(*parts)


def noise_levels(eta_squared: float | np.ndarray) -> np.ndarray:
    """Variances of the sketch's noise, of any shape."""
    noise = real_array("eta_squared", eta_squared)
    if not noise.size:
        raise DomainError("eta_squared", "an empty array", "one noise level or more")
    if not (np.isfinite(noise) & (noise >= 0)).all():
        raise DomainError("eta_squared", "an array with inf, nan or a negative entry", "finite and at least 0")
    return noise


class _Recursion:
    """First and second moments of f_t = M^(1/2) (theta_t - c) in the eigenbasis, shape (noise levels, d).

    f <- (I - s V^-1 D) f + s sigma V^-1 M^(-1/2) zeta with D = I (kept) or A M^-1 (dropped); E[V^-1 Q V^-1] = c1 Q + c2
    tr(Q) I leaves the diagonal of E[f f'] closed.
    """

    def __init__(
        self,
        problem: Spectrum,
        noise: np.ndarray,
        sigma: float,
        keep_ridge: bool,
        step: float,
        moments: InverseMoments,
    ) -> None:
        self.problem, self.moments, self.step = problem, moments, step
        self.mu = problem.ridge(noise)
        safe = np.where(self.mu > 0, self.mu, 1.0)
        self.regular = (self.mu > 0).all(axis=1)
        self.shares = problem.eigenvalues / safe
        self.D = np.ones_like(self.mu) if keep_ridge else self.shares
        self.centre = problem.loads / safe if keep_ridge else np.broadcast_to(problem.theta, self.mu.shape)
        self.noise = step**2 * sigma**2 / safe

    def path(self, steps: int) -> tuple[np.ndarray, np.ndarray]:
        """Risks and distances of 0 ... T steps, shape (T+1, noise levels); inf beyond floating point."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._path(steps)

    def _path(self, steps: int) -> tuple[np.ndarray, np.ndarray]:
        s, moments = self.step, self.moments
        mean = -np.sqrt(self.mu) * self.centre
        second = mean**2
        found = [self._measured(mean, second)]
        factor = 1 - s * moments.b1 * self.D
        for _ in range(steps):
            carried = s**2 * self.D**2 * second
            source = carried + self.noise
            if math.isinf(moments.c1):
                moved = source.sum(axis=1) > 0  # theta_0 = c and no noise: nothing moves
                second = np.where(moved[:, None], np.inf, second)
                found.append(self._measured(mean, second))
                continue
            spread = moments.spread * carried + moments.c1 * self.noise + moments.c2 * source.sum(axis=1, keepdims=True)
            second = np.where(np.isinf(second), np.inf, factor**2 * second + spread)
            mean = factor * mean
            found.append(self._measured(mean, second))
        risks, distances = zip(*found, strict=True)
        return np.array(risks), np.array(distances)

    def _measured(self, mean: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        eigenvalues, shift = self.problem.eigenvalues, self.centre - self.problem.theta
        cross = 2 * shift * eigenvalues * mean / np.sqrt(np.where(self.mu > 0, self.mu, 1.0))
        own = np.where(self.shares > 0, self.shares * np.where(self.shares > 0, second, 0.0), 0.0)
        risks = (own + cross + eigenvalues * shift**2).sum(axis=1)
        finite = self.regular & np.isfinite(own).all(axis=1) & np.isfinite(cross).all(axis=1)
        return np.where(finite, risks, np.inf), np.where(self.regular, second.sum(axis=1), np.inf)
