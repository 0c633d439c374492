"""Poisson sampling with rate q before Gaussian noise, and shuffled batches: exact for one step, bounded for many.

With the record the law is (1 - q) N(0, 1) + q N(mu, 1), without it N(0, 1). One step exactly, with g the delta of a
Gaussian mechanism: delta(epsilon) = q g(log(1 + (e^epsilon - 1)/q)) with the record first; with it second the loss is
-log(1 - q + q e^{mu x - mu^2/2}), which falls with x.

Many steps on a grid of step h: each loss is rounded by U in [0, h] of mean h/2 (its density is smooth on that scale),
so that by Hoeffding the sum of T is within h sqrt(T log(1/eta)/2) of T h/2 but for eta, which is added to delta.

>>> low, high = poisson_epsilon(1.0, 0.01, 100, 1e-5)
>>> 0.716 < low <= high < 0.72
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr, ndtr, ndtri

from dpbounds.arguments import formula
from dpbounds.audit.losses import Losses, rounded
from dpbounds.errors import AccuracyError, count, nonnegative, within
from dpbounds.privacy.curves import float_epsilon, float_log_delta

# Mass that a grid leaves out on each side of a step, in standard deviations of its noise.
_REACH = 9.5
# Points of the grid of one step, and width of the grid that the total gets, in losses.
_POINTS = 1 << 18
# What Hoeffding's inequality leaves out, and grid steps in a loss's standard deviation for its mean rounding to be h/2.
_LEFT_OUT, _SMOOTH = 1e-13, 8
_MOST_STEPS = 1_000_000
# Below, one less a power has lost its digits.
_LEAST_TAIL = 1e-290
_MU, _RATE, _DELTA = "[1e-6, 100]", "(0, 1]", "[1e-15, 1)"


@formula
def poisson_delta(epsilon: float, mu: float, rate: float, *, record_first: bool = True) -> float:
    """The exact delta of one step, in one direction: the first law is with the record, or without it.

    Source: derived here (see above). Raises `DomainError` unless epsilon >= 0, mu is in [1e-6, 100], rate in (0, 1].
    """
    wanted, mu, q = nonnegative("epsilon", epsilon), within("mu", mu, _MU), within("rate", rate, _RATE)
    if record_first or q == 1:  # of every record both directions are one
        lifted = wanted + math.log1p((1 - q) * -math.expm1(-wanted) / q) if wanted < 600 else wanted - math.log(q)
        return q * math.exp(float(float_log_delta(mu, lifted)))
    if math.exp(-wanted) <= 1 - q:
        return 0.0
    threshold = _argument(-wanted, mu, q)
    without, moved = float(ndtr(threshold)), float(ndtr(threshold - mu))
    return max(0.0, without - math.exp(wanted) * ((1 - q) * without + q * moved))


@formula
def poisson_epsilon(mu: float, rate: float, steps: int, delta: float) -> tuple[float, float]:
    """Bounds on the least epsilon of `steps` steps under add-remove or zero-out adjacency, both directions.

    Exact for rate 1. Raises `DomainError` outside mu in [1e-6, 100], rate in (0, 1], delta in [1e-15, 1), and
    `AccuracyError` where the grid cannot hold the losses.
    """
    mu, q, T = within("mu", mu, _MU), within("rate", rate, _RATE), count("steps", steps, most=_MOST_STEPS)
    allowed = within("delta", delta, _DELTA)
    if q == 1:
        exact = float_epsilon(mu * math.sqrt(T), allowed)
        return exact, exact
    ends = [[_total(mu, q, T, first, up).epsilon(allowed) for first in (True, False)] for up in (False, True)]
    return max(ends[0]), max(ends[1])


@formula
def shuffled_delta(epsilon: float, mu: float, steps: int) -> tuple[float, float]:
    """Bounds on the least delta of one pass in a random order: one of `steps` steps uses the record, none knows which.

    Above: that of a known order, a Gaussian mechanism, since delta is convex. Below: the largest output, over or under
    a threshold, P(max <= c) = Phi(c)^{T-1} Phi(c - mu) with the record and Phi(c)^T without. Zero-out adjacency.
    """
    wanted, mu, T = nonnegative("epsilon", epsilon), within("mu", mu, _MU), count("steps", steps, most=_MOST_STEPS)
    above = math.exp(float(float_log_delta(mu, wanted)))

    def gap(c: float, over: bool) -> float:
        rest, moved = float(log_ndtr(c)), float(log_ndtr(c - mu))
        if not over:
            return math.exp(T * rest) - _grown(wanted, (T - 1) * rest + moved)
        tail = -math.expm1(T * rest)
        # Far out the tail of the largest is less than the sum of the tails, and next to it.
        log_tail = math.log(tail) if tail > _LEAST_TAIL else math.log(T) + float(log_ndtr(-c))
        return -math.expm1((T - 1) * rest + moved) - _grown(wanted, log_tail)

    top = float(-ndtri(1 / (2 * T))) if T > 1 else 0.0
    best = 0.0
    for over in (True, False):
        grid = np.linspace(-8.0, top + mu + 10, 400)
        start = float(grid[int(np.argmax([gap(float(c), over) for c in grid]))])
        near = float(grid[1] - grid[0])
        ends = (start - near, start + near)
        found: Any = minimize_scalar(lambda c, over=over: -gap(c, over), bounds=ends, method="bounded")
        best = max(best, -float(found.fun))
    return best, above


def _grown(epsilon: float, log_chance: float) -> float:
    """e^epsilon times a chance; cut where that is no float, far above 1."""
    return math.exp(min(epsilon + log_chance, 700.0))


@formula
def shuffled_epsilon(mu: float, steps: int, delta: float) -> tuple[float, float]:
    """Bounds on the least epsilon of `shuffled_delta`, by halving."""
    allowed = within("delta", delta, _DELTA)
    high = float_epsilon(within("mu", mu, _MU), allowed)
    low, top = 0.0, high
    if shuffled_delta(0.0, mu, steps)[0] > allowed:
        for _ in range(50):
            middle = (low + top) / 2
            low, top = (middle, top) if shuffled_delta(middle, mu, steps)[0] > allowed else (low, middle)
    return low, high


@dataclass(frozen=True, eq=False)
class _Total:
    """Losses of all steps on a grid, with what is known of the sum of their roundings."""

    losses: Losses
    shift: float

    def delta(self, epsilon: float) -> float:
        if self.losses.up:
            return self.losses.delta(epsilon + self.shift) + _LEFT_OUT
        return max(0.0, self.losses.delta(epsilon - self.shift) - _LEFT_OUT)

    def epsilon(self, delta: float) -> float:
        """The least with this delta, by halving."""
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, self.losses.step * (self.losses.start + len(self.losses.masses)) + self.shift
        if self.delta(high) > delta:
            raise AccuracyError("delta is smaller than what the grid of losses leaves out: take a larger delta")
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return high if self.losses.up else low


@lru_cache(maxsize=16)
def _total(mu: float, q: float, steps: int, record_first: bool, up: bool) -> _Total:
    """The loss of all steps, on a grid as fine as the number of steps lets it be."""
    x = np.array([-_REACH, _REACH + (mu if record_first else 0.0)])
    ends = _loss(x, mu, q) if record_first else -_loss(x[::-1], mu, q)
    deviation = min(q * math.sqrt(math.expm1(min(mu * mu, 50.0))), mu)
    width = float(ends[1] - ends[0]) + 24 * deviation * math.sqrt(steps)
    step = min(width / _POINTS, deviation / _SMOOTH)

    def cdf(loss: np.ndarray) -> np.ndarray:
        at = _arguments(loss if record_first else -loss, mu, q)
        if record_first:
            return np.where(np.isnan(at), 0.0, (1 - q) * ndtr(at) + q * ndtr(at - mu))
        return np.where(np.isnan(at), 1.0, ndtr(-at))

    one = rounded(cdf, (float(ends[0]), float(ends[1])), step, up).trimmed()
    spread = step * math.sqrt(steps * -math.log(_LEFT_OUT) / 2)
    return _Total(one.power(steps), max(0.0, steps * step / 2 - spread))


def _loss(x: np.ndarray, mu: float, q: float) -> np.ndarray:
    return np.logaddexp(math.log1p(-q), math.log(q) + mu * x - mu * mu / 2)


def _arguments(loss: np.ndarray, mu: float, q: float) -> np.ndarray:
    """The x of a loss; NaN at or below log(1 - q), which no x has."""
    grown = np.expm1(loss) + q
    return np.where(grown > 0, (np.log(np.where(grown > 0, grown, 1.0) / q) + mu * mu / 2) / mu, np.nan)


def _argument(loss: float, mu: float, q: float) -> float:
    return float(_arguments(np.array(loss), mu, q))
