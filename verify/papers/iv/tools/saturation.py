"""Algorithm 3 with p = q = 1 at any noise: the exact law of beta, clipping included.

With z = +-1 and eta = 1 the first stage ends after one step, and beta is a Markov chain on the line: beta' = beta -
alpha g(beta) + alpha lambda_2 N(0, 1), g the average of the clipped gradients, at most gamma_2 in size. Where lambda_2
>> gamma_2 the drift is saturated and the stationary law is two-sided exponential with mean alpha lambda_2^2 / (2
gamma_2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import solve_banded

from dpbounds import AccuracyError
from simulators.iv import FixedData

# Spacing of the nodes and half-width of the kernel, in standard deviations of a step. The drift has kinks, so that the
# error of the sums is of second order: below 1 per cent of the mean and of the median at this spacing.
SPACING, REACH = 0.2, 9.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Chain:
    """Algorithm 3 with eta = 1 on records z = +-1, x = z + w, y = x + e, half of the signs each way, w and e normal."""

    n: int
    alpha: float
    gamma2: float
    lambda2: float

    @cached_property
    def data(self) -> FixedData:
        """The records."""
        rng = np.random.default_rng(11)
        z = np.tile([1.0, -1.0], self.n // 2)
        x = z + rng.standard_normal(self.n)
        y = x + rng.standard_normal(self.n)
        return FixedData(instruments=z[:, None], regressors=x[:, None], outcome=y)

    @cached_property
    def theta(self) -> float:
        """The first stage from its first step on."""
        return float(np.mean(self.data.instruments * self.data.regressors))

    @cached_property
    def beta_hat(self) -> float:
        """2SLS."""
        return float(self.data.sample.moments.beta_hat[0, 0])

    def drift(self, beta: np.ndarray) -> np.ndarray:
        """g: the average over the records of their clipped gradients."""
        z, y = self.data.instruments[:, 0], self.data.outcome
        total = np.zeros_like(beta)
        for sign, outcome in zip(z, y, strict=True):
            total += np.clip(self.theta * sign * (sign * self.theta * beta - outcome), -self.gamma2, self.gamma2)
        return total / self.n

    @cached_property
    def _step(self) -> float:
        return SPACING * self.alpha * self.lambda2

    @cached_property
    def nodes(self) -> np.ndarray:
        """Around beta_hat, to where the tails are below 1e-15."""
        sigma, curvature = self.alpha * self.lambda2, min(1.0, self.alpha * self.theta**2)
        half = 36 * sigma * self.lambda2 / (2 * self.gamma2) + 10 * sigma / math.sqrt(curvature) + abs(self.beta_hat)
        count = math.ceil(half / self._step)
        return self.beta_hat + self._step * np.arange(-count, count + 1)

    @cached_property
    def _bands(self) -> np.ndarray:
        """bands[d + width, j] = probability of a step from node j + d to node j."""
        sigma, x = self.alpha * self.lambda2, self.nodes
        target = x - self.alpha * self.drift(x)
        reach = REACH * sigma + float(np.abs(target - x).max())
        width = min(math.ceil(reach / self._step), len(x) // 2)  # from the far ends less is kept, where nothing is
        bands = np.zeros((2 * width + 1, len(x)))
        for d in range(-width, width + 1):
            to = slice(max(0, -d), len(x) - max(0, d))
            source = slice(max(0, d), len(x) - max(0, -d))
            deviation = (x[to] - target[source]) / sigma
            bands[d + width, to] = SPACING * np.exp(-(deviation**2) / 2) / math.sqrt(2 * math.pi)
        return bands

    def advance(self, weights: np.ndarray, steps: int) -> np.ndarray:
        """The probabilities of the nodes `steps` later."""
        bands = self._bands
        width = len(bands) // 2
        for _ in range(steps):
            padded = np.pad(weights, width)
            weights = np.einsum("dj,dj->j", bands, np.lib.stride_tricks.sliding_window_view(padded, len(weights)))
        return weights

    def after(self, steps: int) -> np.ndarray:
        """The law of beta_T: Theta_0 = 0, so beta_1 is noise alone."""
        sigma = self.alpha * self.lambda2
        first = SPACING * np.exp(-((self.nodes / sigma) ** 2) / 2) / math.sqrt(2 * math.pi)
        return self.advance(first, steps - 1)

    @cached_property
    def stationary(self) -> np.ndarray:
        """The invariant law: the equations at all nodes but the middle one, whose probability sets the scale.

        Raises `AccuracyError` unless one step leaves it as it is, to 1e-8 in total.
        """
        bands, middle = self._bands, len(self.nodes) // 2
        width = len(bands) // 2
        matrix = np.zeros_like(bands)
        for d in range(-width, width + 1):
            to = slice(max(0, -d), len(self.nodes) - max(0, d))
            source = slice(max(0, d), len(self.nodes) - max(0, -d))
            matrix[width - d, source] = -bands[d + width, to]
        matrix[width] += 1.0
        right = np.zeros(len(self.nodes))
        right[middle] = 1.0
        for d in range(-width, width + 1):
            matrix[width - d, middle + d] = float(d == 0)
        weights = solve_banded((width, width), matrix, right)
        weights /= weights.sum()
        change = float(np.abs(self.advance(weights, 1) - weights).sum())
        if not change < 1e-8:
            raise AccuracyError(f"stationary law: one step moves it by {change:.2g}")
        return weights

    def mean_error(self, weights: np.ndarray) -> float:
        """E |beta - beta_hat|."""
        return float(weights @ np.abs(self.nodes - self.beta_hat) / weights.sum())

    def median_error(self, weights: np.ndarray) -> float:
        """Median of |beta - beta_hat|, from the distribution function between the nodes."""
        edges = self.nodes + self._step / 2
        distances = self.nodes[len(self.nodes) // 2 :] - self.beta_hat
        below, above = (np.interp(self.beta_hat + sign * distances, edges, np.cumsum(weights)) for sign in (-1, 1))
        return float(np.interp(0.5 * weights.sum(), above - below, distances))
