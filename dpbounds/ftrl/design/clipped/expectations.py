"""Means of a clipped Gaussian residual, and of clipped gradients of Gaussian inputs.

>>> moments(0.0, 1.0, math.inf)  # nothing is clipped
Moments(first=0.0, kept=1.0, second=1.0)
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import special, stats

from dpbounds.arguments import formula
from dpbounds.arithmetic import FLOATS, Arithmetic
from dpbounds.errors import DomainError, real_array

# Beyond so many standard deviations nothing of a Gaussian is left in floats.
FAR = 40.0
# Standard deviations below this share of the mean and the threshold are 0.
NARROW = 1e-140
# Nodes of the law of ||x||^2.
NODES = 24


class Moments(NamedTuple):
    """E psi(r), P(|r| < k) and E psi(r)^2 of psi(r) = sign(r) min(|r|, k)."""

    first: Any
    kept: Any
    second: Any


@formula
def clipped_gaussian(m: Arithmetic, mean: Any, sd: Any, threshold: Any) -> tuple[Any, Any, Any]:
    """(E psi, P(|r| < k), E psi^2) of r ~ N(mean, sd^2), sd > 0, clipped to [-k, k], k = `threshold`.

    Sums over the three parts of the line: below -k, between, above k. Raises `DomainError` for what is no number.
    """
    high, low = (threshold - mean) / sd, (-threshold - mean) / sd
    above, below = m.ndtr(-high), m.ndtr(low)
    kept = m.ndtr(high) - below
    at_high, at_low = (m.exp(-x * x / 2) / m.sqrt(2 * m.pi) for x in (high, low))
    shift = sd * (at_low - at_high)
    first = mean * kept + shift + threshold * (above - below)
    inner = (mean * mean + sd * sd) * kept + 2 * mean * shift + sd * sd * (low * at_low - high * at_high)
    return first, kept, inner + threshold * threshold * (above + below)


def moments(mean: Any, sd: Any, threshold: Any) -> Moments:
    """E psi, P(|r| < threshold) and E psi^2 of r ~ N(mean, sd^2), psi(r) = sign(r) min(|r|, threshold).

    Numbers, or arrays of shapes that go together; `sd` may be 0, `threshold` infinite. P is also the mean slope of
    psi. Raises `DomainError` for nan, infinite means, negative `sd` or `threshold`.
    """
    given = {"mean": mean, "sd": sd, "threshold": threshold}
    arrays = {name: real_array(name, value) for name, value in given.items()}
    for name, array in arrays.items():
        wrong = np.isnan(array) if name == "threshold" else ~np.isfinite(array)
        wrong |= False if name == "mean" else array < 0
        if wrong.any():
            allowed = {"mean": "finite", "sd": "finite, at least 0", "threshold": "at least 0, or inf"}[name]
            raise DomainError(name, float(array[wrong].flat[0]), allowed)
    try:
        a, s, k = np.broadcast_arrays(*arrays.values())
    except ValueError:
        raise DomainError("threshold", f"shape {arrays['threshold'].shape}", "of a shape like mean and sd") from None
    result = _guarded(a, s, k)
    return Moments(*(float(each) for each in result)) if a.ndim == 0 else Moments(*result)


def _guarded(mean: np.ndarray, sd: np.ndarray, threshold: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The formula where it has a value; thresholds beyond `FAR` clip nothing, and no spread leaves the mean."""
    far = np.abs(mean) + FAR * sd
    still = sd <= NARROW * np.maximum(1.0, np.abs(mean))
    near = np.minimum(threshold, far)
    # Where the mean is far outside, the same far outside: the formula only sees its tails.
    spread = np.where(still, 1.0, sd)
    centre = np.clip(mean, -near - FAR * spread, near + FAR * spread)
    first, kept, second = clipped_gaussian(FLOATS, centre, spread, near)
    # The distance itself: `far` rounds to the mean where the spread is below its last digit.
    free = (threshold - np.abs(mean) >= FAR * sd) & ~still
    clipped = np.clip(mean, -threshold, threshold)
    first = np.where(still, clipped, np.where(free, mean, first))
    kept = np.where(still, (np.abs(mean) < threshold).astype(float), np.where(free, 1.0, kept))
    second = np.where(still, clipped**2, np.where(free, mean**2 + sd**2, second))
    return first, kept, second


class GaussianInputs:
    """Of x ~ N(0, diag lambda): mean slope a_j and mean square b_j of clipped gradients, j = 1..d.

    E clip(x r) e' = diag(lambda a) E e e' and E clip clip' = diag(lambda v b) for residuals r ~ N(0, v) given x, with
    the law of ||x||^2 that x has along j by size: a gamma law with its mean tr H + 2 lambda_j and its variance
    2 tr H^2 + 4 lambda_j^2 stands for it.
    """

    def __init__(self, eigenvalues: Float[np.ndarray, " d"], clip_norm: float) -> None:
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        self.weights, at = weights / 2.0, (nodes + 1.0) / 2.0
        trace, squares = eigenvalues.sum(), (eigenvalues**2).sum()
        means = np.append(trace + 2.0 * eigenvalues, trace)
        spreads = np.append(2.0 * squares + 4.0 * eigenvalues**2, 2.0 * squares)
        lengths = stats.gamma.ppf(at, (means**2 / spreads)[:, None], scale=(spreads / means)[:, None])
        self.thresholds = clip_norm / np.sqrt(lengths)

    def at(self, variance: float) -> tuple[np.ndarray, np.ndarray, float]:
        """a (d,), b (d,) and the share of gradients that are clipped, for residuals of that variance."""
        if variance <= 0:
            ones = np.ones(len(self.thresholds) - 1)
            return ones, ones, 0.0
        k = self.thresholds / math.sqrt(variance)
        slopes = special.erf(k / math.sqrt(2.0)) @ self.weights
        # E psi^2 of a standard normal, with a threshold.
        squares = moments(0.0, 1.0, k[:-1]).second @ self.weights
        return slopes[:-1], squares, float(1.0 - slopes[-1])
