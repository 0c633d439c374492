"""DP gradient descent that clips each row's gradient by its norm, with averaging and momentum.

>>> X = np.tile([[0.5], [-0.5]], (50, 1))
>>> law = gradient_descent(X, 0.6 * X[:, 0] + 0.1, mu=0.5, steps=20, rate=0.5, clip=0.1)
>>> round(law.relative, 4), law.risk.kind
(0.0012, 'estimate')
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, moderate, within
from dpbounds.ols.clipping.closure import Normal, gradient_sums, residuals_at
from dpbounds.ols.clipping.law import Law, quadratic, risk_quantiles
from dpbounds.ols.clipping.rows import Rows, rows_of

MOST_STEPS = 100_000


@typed
def gradient_descent(
    X: ArrayLike,
    y: ArrayLike,
    *,
    mu: float,
    steps: int,
    rate: float,
    clip: float,
    average: float = 0.0,
    momentum: float = 0.0,
    rows: int | None = None,
) -> Law:
    """theta_0 = 0, v <- momentum v + g, theta <- theta + (rate / lambda_max) v, g = sum x_i clip(r_i, clip / ||x_i||) +
    sigma zeta, with sigma = clip sqrt(steps) / mu: all gradients together are mu-GDP for zero-out neighbours.

    X (n, d), y (n,). `rate` is in units of 1/lambda_max of X'X, below 2 (1 + momentum), where steps overshoot;
    `average` is the share of the last iterates whose mean is returned, 0 for the last alone; `rows`: that many stand
    for all (1000 take milliseconds; None: all). The law is that of `closure`: an estimate where some rows stand for all
    or something is clipped, `share_clipped` says how much; exact where nothing is.

    Raises `DomainError` for arguments out of range, `AccuracyError` where the iterates run away.
    """
    settings = Descent(steps=steps, rate=rate, clip=clip, average=average, momentum=momentum)
    return settings.law(rows_of(X, y, rows), mu)


class Descent:
    """Settings of gradient descent, checked."""

    def __init__(self, *, steps: int, rate: float, clip: float, average: float = 0.0, momentum: float = 0.0) -> None:
        self.steps = count("steps", steps, most=MOST_STEPS)
        self.clip = moderate("clip", clip)
        self.average = within("average", average, "[0, 1]")
        self.momentum = within("momentum", momentum, "[0, 1)")
        self.rate = moderate("rate", rate)
        most = 2 * (1 + self.momentum)
        if self.rate >= most:
            remedy = f"from {most:g}/lambda_max on iterates run away where nothing is clipped"
            raise DomainError("rate", rate, f"below {most:g}, in units of 1/lambda_max", remedy)

    @property
    def kept(self) -> int:
        """How many of the last iterates are averaged; 1 is the last alone."""
        return max(1, math.ceil(self.average * self.steps))

    def noise(self, mu: float) -> float:
        """Standard deviation of each entry of a sum of clipped gradients."""
        return self.clip * math.sqrt(self.steps) / moderate("mu", mu)

    def law(self, rows: Rows, mu: float) -> Law:
        """On these rows."""
        d, eta, sigma = rows.d, self.rate / rows.largest, self.noise(mu)
        shares, law = [], Normal((), d, 2 * d if self.momentum else d)
        noise = _noise(d, eta, sigma, bool(self.momentum))
        gain = np.vstack([eta * np.eye(d), np.eye(d)][: 2 if self.momentum else 1])
        for t in range(self.steps):
            found = gradient_sums(rows, residuals_at(rows, law), self.clip)
            mean, slope = self._step(law.mean, found.mean, found.slope, eta)
            law.move(mean, slope, noise, found.pushed(gain))
            shares.append(float(found.clipped))
            if t >= self.steps - self.kept:
                law.add()
        bias, spread = quadratic(rows.gram.spectrum, *law.averaged)
        risk, quantiles = float(bias + spread), risk_quantiles(rows.gram.spectrum, *law.averaged)
        return Law.of(risk, float(bias), rows.gap, shares, n=rows.n, kind=rows.kind, quantiles=quantiles)

    def _step(self, mean: np.ndarray, ascent: np.ndarray, J: np.ndarray, eta: float) -> tuple[np.ndarray, np.ndarray]:
        """The next mean of (theta[, v]), and what multiplies deviations from the mean."""
        d, one = len(J), np.eye(len(J))
        if not self.momentum:
            return mean + eta * ascent, one - eta * J
        v = self.momentum * mean[d:] + ascent
        slope = np.block([[one - eta * J, eta * self.momentum * one], [-J, self.momentum * one]])
        return np.concatenate([mean[:d] + eta * v, v]), slope


def _noise(d: int, eta: float, sigma: float, momentum: bool) -> np.ndarray:
    """Covariance of a step's noise, which enters theta by eta and v by 1."""
    if not momentum:
        return (eta * sigma) ** 2 * np.eye(d)
    return sigma**2 * np.kron([[eta**2, eta], [eta, 1.0]], np.eye(d))
