"""Algorithm 5: linear mixing whose sketch grows with the released eigenvalue, as printed and with its two mends.

With C² = C_X² + C_Y², the squared bound of a row (x, y), line 4 releases

    lambda~ = lambda_min((X, Y)'(X, Y)) - (gamma / sqrt(k)) C² (tau - z),      z ~ N(0, 1).

- `in_units`: lines 5 and 6 use lambda~ / C², since gamma, Lemma 1 and (17) are for rows of length 1. Printed: lambda~.
- `as_drawn`: line 6 counts the eigenvalue test with the noise gamma / sqrt(k) that line 4 drew. Printed:
  gamma / sqrt(k~), with which k~ stays bounded however large lambda~ is.

The corrected algorithm has both, the printed one neither. Rows of (X, Y) have squared norm at most `bound_squared`, C².

>>> DynamicMixing(epsilon=1.0, delta=1e-6, k=100, failure=1e-7).sketch(500.0, bound_squared=2.0)
(926, 0.0)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from dpbounds.arguments import typed
from dpbounds.errors import count, moderate, real, within
from dpbounds.ols import sketch
from dpbounds.privacy.gaussian import DELTA_RANGE


@typed
@dataclass(frozen=True, kw_only=True)
class DynamicMixing:
    """Algorithm 5 for a budget, an initial sketch size `k` and the probability `failure` with which (15) may fail.

    Raises `DomainError` for numbers outside the ranges of `sketch`.
    """

    epsilon: float
    delta: float
    k: int
    failure: float
    in_units: bool = True
    as_drawn: bool = True

    def __post_init__(self) -> None:
        within("epsilon", self.epsilon, sketch.BUDGET_RANGE)
        within("delta", self.delta, DELTA_RANGE)
        count("k", self.k)
        within("failure", self.failure, "[1e-300, 1]")

    @cached_property
    def gamma(self) -> float:
        """Line 3, for rows of length 1."""
        return float(sketch.gamma(self.epsilon, self.delta, self.k))

    @property
    def tau(self) -> float:
        """Line 2."""
        return math.sqrt(8 * math.log(max(3 / self.delta, 4 / self.failure)))

    def test_noise(self, bound_squared: float) -> float:
        """Standard deviation of the eigenvalue that line 4 releases."""
        return self.gamma / math.sqrt(self.k) * moderate("bound_squared", bound_squared)

    def sketch(self, released: float, *, bound_squared: float) -> tuple[int, float]:
        """Lines 5 to 9 for a released eigenvalue: rows of the sketch, and the variance of the noise on it."""
        released = max(real("released", released), 0.0)
        level = released / moderate("bound_squared", bound_squared) if self.in_units else released
        if level < self.gamma:
            return self.k, max(self.gamma * bound_squared - released, 0.0)
        budget = {"epsilon": self.epsilon, "delta": self.delta, "k": self.k, "gamma": self.gamma}
        return sketch.dynamic_size(level, **budget, actual_test=self.as_drawn), 0.0
