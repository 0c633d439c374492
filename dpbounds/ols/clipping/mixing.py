"""Iterative Hessian mixing whose residuals are clipped to C.

The step's matrix is K = step H^-1, H = M^½ V M^½ with M = A + eta² I and a fresh V, Wishart over k. E K and E K Q K'
are closed, so that no sketch need be drawn, and without clipping the mean risk is the exact one of `dpbounds.ols.risk`.

>>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (2000, 2))
>>> law = hessian_mixing(X, X @ (0.5, -0.2), steps=3, k=60, eta_squared=4.0, sigma=0.6, clip=5.0)
>>> law.risk.kind, round(float(law.risk), 3), law.share_clipped
('exact', 0.015, 0.0)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, moderate, moderate_or_zero, real
from dpbounds.ols.clipping.closure import Normal, residuals_at, sums
from dpbounds.ols.clipping.descent import MOST_STEPS
from dpbounds.ols.clipping.law import Law, quadratic, risk_quantiles
from dpbounds.ols.clipping.rows import Rows, rows_of
from dpbounds.ols.risk.mixing import noise_levels
from dpbounds.ols.risk.released import NoiseLaw
from dpbounds.ols.wishart import inverse_moments


@typed
def hessian_mixing(
    X: ArrayLike,
    y: ArrayLike,
    *,
    steps: int,
    k: int,
    eta_squared: float | NoiseLaw,
    sigma: float,
    clip: float,
    keep_ridge: bool = False,
    step: float = 1.0,
    rows: int | None = None,
) -> Law:
    """theta <- theta + step H^-1 (sum x_i clip(r_i, clip) - [eta² theta] + sigma zeta) from 0, fresh H and zeta.

    X (n, d), y (n,); arguments as in `dpbounds.ols.risk.hessian_mixing`, whose value this is where nothing is clipped;
    `keep_ridge`: with the term in brackets; `rows`: that many stand for all. The law of an iterate over its noise and
    sketches is taken to be normal, and the mean is taken over the law of eta².

    Raises `DomainError` for arguments out of range and k < d + 4, where the mean does not exist; `AccuracyError` where
    the iterates run away.
    """
    noise = eta_squared if isinstance(eta_squared, NoiseLaw) else _at(eta_squared)
    data = rows_of(X, y, rows)
    return mixing_law(data, noise, steps=steps, k=k, sigma=sigma, clip=clip, keep_ridge=keep_ridge, step=step)


def _at(eta_squared: float) -> NoiseLaw:
    """One level for certain."""
    return NoiseLaw(noise_levels(np.array([real("eta_squared", eta_squared)])), np.ones(1))


@typed
def mixing_law(
    data: Rows, noise: NoiseLaw, *, steps: int, k: int, sigma: float, clip: float, keep_ridge: bool, step: float = 1.0
) -> Law:
    """The same on given rows, over the law of eta²."""
    law = noise.checked("eta_squared")
    count("k", k, data.d + 4, "with fewer than d + 4 rows of a sketch the mean risk does not exist")
    spectrum = data.gram.spectrum
    levels = spectrum.ridge(law.values)
    if levels.min() <= 0:
        raise DomainError("eta_squared", 0.0, "above 0 where X'X is singular")
    inverse = (spectrum.basis / levels[:, None, :]) @ spectrum.basis.T
    path = _Path(data, inverse, law.values, k, moderate_or_zero("sigma", sigma), moderate("step", step))
    limits, shares = np.full(len(data.y), moderate("clip", clip)), []
    for _ in range(count("steps", steps, most=MOST_STEPS)):
        shares.append(float(law.mean(path.advance(limits, keep_ridge))))
    bias, spread = quadratic(data.gram.spectrum, *path.law.theta)
    quantiles = risk_quantiles(data.gram.spectrum, *path.law.theta, law.weights)
    risk = float(law.mean(bias + spread))
    return Law.of(risk, float(law.mean(bias)), data.gap, shares, n=data.n, kind=data.kind, quantiles=quantiles)


class _Path:
    """The law of the iterate at each noise level (levels, d)."""

    def __init__(self, data: Rows, inverse: np.ndarray, levels: np.ndarray, k: int, sigma: float, step: float) -> None:
        self.data, self.inverse, self.levels, self.sigma, self.step = data, inverse, levels, sigma, step
        self.moments = inverse_moments(k, data.d)
        self.law = Normal((len(levels),), data.d)

    def advance(self, limits: np.ndarray, keep_ridge: bool) -> np.ndarray:
        """One step; gives the shares of rows that are clipped."""
        found, inverse, moments, one = (
            sums(self.data, residuals_at(self.data, self.law), limits),
            self.inverse,
            self.moments,
            np.eye(self.data.d),
        )
        kept = self.levels if keep_ridge else np.zeros_like(self.levels)
        ascent, slope = found.mean - kept[:, None] * self.law.mean, found.slope + kept[:, None, None] * one
        mean = self.law.mean + self.step * moments.b1 * np.einsum("lij,lj->li", inverse, ascent)
        # E K Q K' with Q the second moment of the noisy sum, less what the mean step has of it already.
        outer = ascent[:, :, None] * ascent[:, None, :]
        varying = slope @ self.law.covariance @ np.swapaxes(slope, 1, 2) + outer
        noise = np.broadcast_to(self.sigma**2 * one, varying.shape)
        total = np.einsum("lij,lji->l", inverse, varying + noise)[:, None, None]
        spread = inverse @ (moments.spread * varying + moments.c1 * noise) @ inverse + moments.c2 * total * inverse
        moved = one - self.step * moments.b1 * inverse @ slope
        self.law.move(mean, moved, self.step**2 * spread)
        return found.clipped
