"""Privacy losses on a grid, rounded up or down: curves of compositions between two bounds.

A loss L = log(p/q) under p; delta(epsilon) = E (1 - e^{epsilon - L})_+ rises with L, so rounding every loss up to the
grid gives an upper bound, down a lower one, and sums of rounded losses stay on their side. Mass beyond the grid goes to
+infinity or to nothing. Powers are by FFT, whose error is counted.

>>> import numpy as np
>>> both = [rounded(lambda l: np.where(l < 1.2, 0.0, 1.0), (1.0, 1.5), 0.5, up).delta(0.5) for up in (False, True)]
>>> [round(delta, 6) for delta in both]
[0.393469, 0.632121]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError

# Points of a grid after composition.
LARGEST_GRID = 1 << 23
# Unit roundoff times this and the logarithm of the length: error of one FFT convolution, relative in the 2-norm.
_FFT_ERROR = 8 * 2.0**-52


@typed
@dataclass(frozen=True, eq=False)
class Losses:
    """Masses at step * (start + 0, 1, ...), of losses rounded `up` or down; `infinite` is the mass of certainty."""

    step: float
    start: int
    masses: np.ndarray
    infinite: float
    up: bool
    error: float = 0.0

    def delta(self, epsilon: float) -> float:
        """Bound on delta at this epsilon, on the side of the rounding, the error of the FFT counted."""
        losses = self.step * (self.start + np.arange(len(self.masses)))
        above = losses > epsilon
        inside = float(self.masses[above] @ -np.expm1(epsilon - losses[above]))
        if self.up:
            return min(1.0, inside + self.infinite + self.error)
        return max(0.0, inside + self.infinite - self.error)

    def composed(self, other: Losses) -> Losses:
        """Of both mechanisms together. Raises `AccuracyError` if the grid grows too long."""
        length = len(self.masses) + len(other.masses) - 1
        if length > LARGEST_GRID:
            raise AccuracyError(f"{length} points of a loss grid: more than {LARGEST_GRID}")
        size = 1 << (length - 1).bit_length()
        product = np.fft.rfft(self.masses, size) * np.fft.rfft(other.masses, size)
        masses = np.maximum(np.fft.irfft(product, size)[:length], 0.0)
        # ||F(a) error F(b)|| <= |a|_1 ||error||_2 and the same of b; their sum is sqrt(length) times that.
        norms = float(np.linalg.norm(self.masses)) + float(np.linalg.norm(other.masses))
        own = _FFT_ERROR * math.log2(size + 1) * math.sqrt(size) * norms
        infinite = self.infinite + other.infinite - self.infinite * other.infinite
        error = self.error + other.error + own
        return Losses(self.step, self.start + other.start, masses, infinite, self.up, error).trimmed(own)

    def trimmed(self, tail: float = 1e-17) -> Losses:
        """Without ends of mass `tail` each: to +infinity or to the last kept point if up, to nothing if down."""
        total = np.cumsum(self.masses)
        first = int(np.searchsorted(total, tail))
        last = len(total) - int(np.searchsorted(np.cumsum(self.masses[::-1]), tail))
        if last <= first:
            return self
        masses, cut = self.masses[first:last].copy(), float(self.masses[last:].sum())
        if self.up:
            masses[0] += self.masses[:first].sum()
        infinite = self.infinite + (cut if self.up else 0.0)
        return Losses(self.step, self.start + first, masses, infinite, self.up, self.error)

    def power(self, times: int) -> Losses:
        """Composed with itself `times` times."""
        result, square = None, self
        while times:
            if times % 2:
                result = square if result is None else result.composed(square)
            times //= 2
            square = square.composed(square) if times else square
        assert result is not None
        return result


@typed
def rounded(
    cdf: Callable[[np.ndarray], np.ndarray], ends: tuple[float, float], step: float, up: bool, *, infinite: float = 0.0
) -> Losses:
    """`Losses` of a law with this distribution function between `ends`; what is beyond counts as said above.

    It is P(L <= l) if rounded up and P(L < l) if down, which differ where l is an atom.

    """
    start, stop = math.floor(ends[0] / step), math.ceil(ends[1] / step)
    below = np.asarray(cdf(step * np.arange(start, stop + 1)), dtype=float)
    inner = np.maximum(np.diff(below), 0.0)
    beyond = max(1.0 - infinite - float(below[-1]), 0.0)
    if up:
        masses = np.concatenate([[below[0]], inner])
        return Losses(step, start, masses, infinite + beyond, True)
    # Mass in [l, l + step) goes to l; what is below the first point is dropped; what is beyond the last goes to it.
    return Losses(step, start, np.concatenate([inner, [beyond]]), infinite, False)
