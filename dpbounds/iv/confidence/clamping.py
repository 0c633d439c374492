"""Records outside their ranges: the bounds on their number from its noisy count, and the set that allows for them.

>>> count = ClampedCount(count=12.0, scale=4.0, n=1000)
>>> round(count.least, 2), round(count.most, 2), round(count.largest_share, 4)
(2.69, 21.31, 0.0213)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import count as whole
from dpbounds.errors import moderate_or_zero, real
from dpbounds.iv.confidence.bias import bias_aware
from dpbounds.iv.confidence.pieces import ConfidenceSet, Piece, shape_of
from dpbounds.iv.confidence.release import Release
from dpbounds.iv.confidence.sets import point_estimate
from dpbounds.values import Value

# Of the one-sided bounds on the number of clamped records: 99 %.
QUANTILE_99 = 2.3263478740408408
# Directions looked at, and halvings of the interval that holds an end.
_LOOKS, _HALVINGS = 720, 50
# Angles end this much, relatively, before an infinite coefficient.
_SHORT = 1e-9


@typed
@dataclass(frozen=True, kw_only=True)
class ClampedCount:
    """A released number of clamped records among n, with noise N(0, `scale`²), and its one-sided 99 % bounds."""

    count: float
    scale: float
    n: int

    def __post_init__(self) -> None:
        real("count", self.count)
        moderate_or_zero("scale", self.scale)
        whole("n", self.n)

    @property
    def least(self) -> float:
        """The number is at least this with confidence 99 %."""
        return self._bound(-1)

    @property
    def most(self) -> float:
        """The number is at most this with confidence 99 %."""
        return self._bound(1)

    @property
    def least_share(self) -> float:
        """`least` over the records."""
        return self.least / self.n

    @property
    def largest_share(self) -> float:
        """`most` over the records."""
        return self.most / self.n

    @property
    def half_width(self) -> float:
        """Half of what lies between the bounds."""
        return (self.most - self.least) / 2

    def _bound(self, side: int) -> float:
        return min(max(self.count + side * (QUANTILE_99 * self.scale), 0.0), float(self.n))


@typed
def clamping_aware_set(release: Release, clamped: ClampedCount, level: float = 0.95) -> ConfidenceSet:
    """Where `bias_aware` does not reject: the set that allows for clamped outcomes and regressors (q = 1, p = 1).

    Coefficients are looked at along the angle of their tangent, so that infinity is a place; ends are found by
    bisection. Pieces shorter than a quarter of a degree may be overlooked, but for the one around the point estimate.
    Raises `DomainError` as `bias_aware`.
    """
    scale = release.outcome_weight / float(release.regressor_weights[0])

    def accepted(angle: float) -> bool:
        test = bias_aware(
            release, scale * math.tan(angle), clamped=clamped.count, count_scale=clamped.scale, level=level
        )
        return test.statistic <= test.critical

    half = math.pi / 2 * (1 - _SHORT)
    best = math.atan(point_estimate(release) / scale)
    angles = np.unique(np.append(np.linspace(-half, half, _LOOKS), np.clip(best, -half, half))).tolist()
    inside = [accepted(angle) for angle in angles]
    ends = [-math.inf] if inside[0] else []
    for low, high, before, after in zip(angles, angles[1:], inside, inside[1:], strict=False):
        if before == after:
            continue
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if accepted(middle) == before else (low, middle)
        ends.append(scale * math.tan(high if before else low))
    if inside[-1]:
        ends.append(math.inf)
    pieces = [_piece(low, high) for low, high in zip(ends[::2], ends[1::2], strict=True)]
    coverage = Value(level, kind="asymptotic", source="dpbounds", convention="coverage")
    return ConfidenceSet(pieces=tuple(pieces), shape=shape_of(pieces), coverage=coverage)


def _piece(low: float, high: float) -> Piece:
    return Value(low, kind="estimate", source="dpbounds"), Value(high, kind="estimate", source="dpbounds")
