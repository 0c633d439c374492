"""Noise scales of the four private methods: what an algorithm needs to know about its noise, checked.

Rows of X have norm at most 1, |y| <= `outcome_bound`. `calibration` computes them from a budget, `accounting` says what
they cost, `simulators.ols` draws with them.

>>> LinearMixingScales(k=40, gamma=36.0, tau=6.0, outcome_bound=0.5).row_bound_squared
1.25
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpbounds.arguments import typed
from dpbounds.errors import count, moderate, nonnegative, within
from dpbounds.ols.sketch import GAMMA_RANGE


@dataclass(frozen=True, kw_only=True)
class HessianMixingScales:
    """Algorithm 1: sketches of k rows at level `gamma`, gradients clipped at `clip` with noise `sigma`, `steps` times.

    The eigenvalue test has noise gamma / sqrt(k) and shift `tau` in units of it.
    """

    k: int
    steps: int
    gamma: float
    sigma: float
    tau: float
    clip: float = 1.0

    def __post_init__(self) -> None:
        count("k", self.k)
        count("steps", self.steps)
        within("gamma", self.gamma, GAMMA_RANGE)
        moderate("sigma", self.sigma)
        nonnegative("tau", self.tau)
        moderate("clip", self.clip)

    @property
    def test_noise(self) -> float:
        """Standard deviation of the eigenvalue test, eta of Algorithm 2."""
        return self.gamma / math.sqrt(self.k)


@dataclass(frozen=True, kw_only=True)
class LinearMixingScales:
    """Algorithm 4: one sketch of (X, Y) with k rows; `gamma` in units of the squared row bound 1 + outcome_bound².

    The sketch's noise variance is max(gamma * row_bound_squared - released eigenvalue, 0), the eigenvalue test's noise
    `test_noise`, its shift `tau` in units of it.
    """

    k: int
    gamma: float
    tau: float
    outcome_bound: float = 1.0

    def __post_init__(self) -> None:
        count("k", self.k)
        within("gamma", self.gamma, GAMMA_RANGE)
        nonnegative("tau", self.tau)
        moderate("outcome_bound", self.outcome_bound)

    @property
    def row_bound_squared(self) -> float:
        """1 + outcome_bound²: squared norm of a row (x, y)."""
        return 1 + self.outcome_bound**2

    @property
    def test_noise(self) -> float:
        """Standard deviation of the eigenvalue test, in the units of X'X."""
        return self.gamma / math.sqrt(self.k) * self.row_bound_squared


@typed
@dataclass(frozen=True, kw_only=True)
class AdasspScales:
    """Algorithm 6: standard deviations on lambda_min (`eigenvalue`), on X'X (`gram`) and on X'Y (`moment`).

    The matrix noise has standard deviation `gram` on the diagonal and above it; with `iso` it is gram / sqrt(2) off the
    diagonal, which costs the same. `shift`: what is subtracted from the released eigenvalue, in units of `eigenvalue`.
    """

    eigenvalue: float
    gram: float
    moment: float
    shift: float
    outcome_bound: float = 1.0
    iso: bool = False

    def __post_init__(self) -> None:
        for name in ("eigenvalue", "gram", "moment", "outcome_bound"):
            moderate(name, getattr(self, name))
        nonnegative("shift", self.shift)

    def ridge_level(self, d: int, failure: float) -> float:
        """`adassp_ridge_level` at this noise."""
        return adassp_ridge_level(self.gram, d, failure, iso=self.iso)


@typed
def adassp_ridge_level(gram: float, d: int, failure: float, *, iso: bool = False) -> float:
    """gram sqrt(d log(2 d² / failure)): line 4 of Algorithm 6 regularises up to this; / sqrt(2) for `iso`."""
    d, failure = count("d", d), within("failure", failure, "(0, 1]")
    level = gram * math.sqrt(d * math.log(2 * d * d / failure))
    return level / math.sqrt(2) if iso else level


@typed
def adassp_shift(delta: float) -> float:
    """sqrt(2 log(6 / delta)): line 3 of Algorithm 6 lowers the noisy eigenvalue by this many noise scales."""
    return math.sqrt(2 * math.log(6 / within("delta", delta, "(0, 1)")))


@dataclass(frozen=True, kw_only=True)
class AveragedDescentScales:
    """DP-GD with the whole budget `mu`, `rate` in units of 1/lambda_max, `clip` in units of the bounds, and the mean of
    the last share `average` of the iterates: the arguments of `dpbounds.ols.clipping.gradient_descent`.
    """

    mu: float
    steps: int
    rate: float
    clip: float
    average: float

    def __post_init__(self) -> None:
        count("steps", self.steps)
        within("average", self.average, "[0, 1]")
        for name in ("mu", "rate", "clip"):
            moderate(name, getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class GradientDescentScales:
    """Algorithm 7: the mean of n gradients clipped in norm at `clip`, with noise `sigma` per entry, `steps` times."""

    n: int
    steps: int
    sigma: float
    clip: float = 1.0

    def __post_init__(self) -> None:
        count("n", self.n)
        count("steps", self.steps)
        moderate("sigma", self.sigma)
        moderate("clip", self.clip)
