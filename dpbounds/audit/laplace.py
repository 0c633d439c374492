"""The curve of Laplace noise: each output moves by `ratios` in its own scale, delta exactly for one, bounded for many.

Under the first law, z of density e^{-|z|}/2, the loss of a ratio r is |z - r| - |z|: r with probability 1/2, -r with
probability e^{-r}/2, and between P(loss <= l) = e^{(l - r)/2}/2. So delta(epsilon) = 1 - e^{(epsilon - r)/2} for one
output and 0 <= epsilon <= r.

>>> round(laplace_delta(0.5, [1.0])[1], 6), laplace_delta(1.0, [0.5, 0.5])
(0.221199, (0.0, 0.0))
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dpbounds.arguments import formula
from dpbounds.audit.losses import Losses, rounded
from dpbounds.errors import AccuracyError, DomainError, nonnegative, vector, within

# Points that the largest ratio takes on the grid, and outputs that are convolved.
_POINTS, _MOST_OUTPUTS = 2000, 4096


@formula
def laplace_delta(epsilon: float, ratios: ArrayLike) -> tuple[float, float]:
    """Bounds on the least delta at this epsilon >= 0 of independent Laplace noises; equal for one output.

    `ratios` are |shift| / b, one per output. Pure DP is their sum: both are 0 from there on. Raises `DomainError` for
    numbers below 0, and more than 4096 outputs that move.
    """
    wanted, moved = nonnegative("epsilon", epsilon), _moved(ratios)
    if wanted >= math.fsum(moved):
        return 0.0, 0.0
    if len(moved) == 1:
        exact = -math.expm1((wanted - float(moved[0])) / 2)
        return exact, exact
    return _bound(moved, False).delta(wanted), _bound(moved, True).delta(wanted)


@formula
def laplace_epsilon(delta: float, ratios: ArrayLike) -> tuple[float, float]:
    """Bounds on the least epsilon at `delta`: the sum of the ratios if delta is 0. Errors as `laplace_delta`."""
    allowed, moved = within("delta", delta, "[0, 1)"), _moved(ratios)
    total = math.fsum(moved)
    if allowed == 0 or total == 0:
        return total, total
    if len(moved) == 1:
        exact = max(0.0, total + 2 * math.log1p(-allowed))
        return exact, exact
    return _least(_bound(moved, False), allowed, total), _least(_bound(moved, True), allowed, total)


def _least(losses: Losses, delta: float, total: float) -> float:
    """The least epsilon in [0, total] by halving, on the safe side of the rounding."""
    low, high = 0.0, total
    if losses.delta(0.0) <= delta:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if losses.delta(middle) <= delta else (middle, high)
    return high if losses.up else low


def _moved(ratios: ArrayLike) -> np.ndarray:
    given = vector("ratios", ratios)
    if (given < 0).any():
        raise DomainError("ratios", float(given.min()), "numbers of at least 0")
    moved = given[given > 0]
    if len(moved) > _MOST_OUTPUTS:
        raise DomainError("ratios", f"{len(moved)} outputs that move", f"at most {_MOST_OUTPUTS}")
    return moved if len(moved) else np.zeros(1)


def _bound(moved: np.ndarray, up: bool) -> Losses:
    step = float(moved.max()) / _POINTS
    numbers, counts = np.unique(moved, return_counts=True)
    if len(numbers) > 64:  # so many different ratios: what counts is rounded to the same side
        scale = numbers.max() / 64
        steps = np.ceil(moved / scale) if up else np.floor(moved / scale)
        numbers, counts = np.unique(steps[steps > 0] * scale, return_counts=True)
    parts = [_one(float(ratio), step, up).power(int(often)) for ratio, often in zip(numbers, counts, strict=True)]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.composed(part)
    if not math.isfinite(whole.error):
        raise AccuracyError("the convolution of Laplace losses left the range of floats")
    return whole


def _one(ratio: float, step: float, up: bool) -> Losses:
    # Grid points that are an end but for rounding count as it.
    near = 1e-9 * ratio

    def cdf(loss: np.ndarray) -> np.ndarray:
        inside = np.exp((np.clip(loss, -ratio, ratio) - ratio) / 2) / 2
        if up:
            return np.where(loss >= ratio - near, 1.0, np.where(loss < -ratio - near, 0.0, inside))
        return np.where(loss > ratio + near, 1.0, np.where(loss <= -ratio + near, 0.0, inside))

    return rounded(cdf, (-ratio, ratio), step, up)
