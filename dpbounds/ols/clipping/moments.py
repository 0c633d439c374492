"""What (A, b, ||y||², n) alone say of DP gradient descent: enough to choose its settings by, not to forecast its risk.

Rows are taken to have one length, residuals to be normal given them: in the eigenbasis of A every step then shrinks
deviations by h_i = 1 - eta p_t lambda_i, p_t the share of rows that are not clipped. That knows no bias of clipping, so
it is far too low where the clip level is small and all else has converged; `objective` adds a guess of it, a tenth of
what is clipped off. Derived here.

>>> law = from_moments([[25.0]], [10.0], 10.0, 100, mu=1.0, steps=10, rate=1.0, clip=0.2)
>>> round(law.relative, 4), law.risk.kind
(0.004, 'estimate')
>>> round(float(bias_estimate(0.1, length=0.5, variance=0.04, n=1000)), 6)
1.293207
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erf, ndtr

from dpbounds.arguments import formula, typed
from dpbounds.errors import DomainError, moderate, real_array
from dpbounds.ols.clipping.descent import Descent
from dpbounds.ols.clipping.law import Law
from dpbounds.ols.gram import Gram
from dpbounds.values import Value

# The part of the squares that are clipped off which X is taken to explain: a choice, made on eleven data sets.
EXPLAINED = 0.1
# The share of rows that are taken to be unclipped at least, so that a bias is finite.
LEAST_SHARE = 1e-6
# The grid of settings that is looked at.
STEPS = tuple(2**power for power in range(1, 8))
RATES = (0.3, 0.6, 1.0, 1.4, 1.8)
CLIPS = tuple(0.01 * 2 ** (power / 2) for power in range(13))
AVERAGES = (0.0, 0.5)


@dataclass(frozen=True, kw_only=True)
class MomentsLaw(Law):
    """A law of moments alone: an estimate throughout; `objective` (G+) is its risk and an estimate of the bias of
    clipping, to choose settings by.
    """

    objective: Value


@typed
def from_moments(
    A: ArrayLike,
    b: ArrayLike,
    y_squared: float,
    n: int,
    *,
    mu: float,
    steps: int,
    rate: float,
    clip: float,
    average: float = 0.0,
) -> MomentsLaw:
    """Gradient descent as in `gradient_descent`, without momentum, from A = X'X (d, d), b = X'y (d,), ||y||² and n.

    The risk is an estimate to choose settings by, no forecast. O(d steps).
    Raises `DomainError` for what is no Gram matrix, `AccuracyError` where the iterates run away.
    """
    gram = Gram(A=real_array("A", A), b=real_array("b", b), y_squared=y_squared, n=n)
    settings = Descent(steps=steps, rate=rate, clip=clip, average=average)
    problem = _Moments.of(gram)
    path = _Path(problem, settings.rate, settings.clip)
    shares = [float(1 - path.step(settings.noise(mu), t >= steps - settings.kept)) for t in range(settings.steps)]
    bias, spread = path.risk(averaged=True)
    law = Law.of(float(bias + spread), float(bias), gram.signal, shares, kind="estimate")
    added = problem.bias_estimate(settings.clip)
    objective = Value(float(law.risk) + float(added), kind="estimate", source="dpbounds", convention="to choose by")
    return MomentsLaw(**vars(law), objective=objective)


@formula
def bias_estimate(clip: float | np.ndarray, *, length: float, variance: float, n: int) -> np.ndarray:
    """What clipping at `clip` leaves at the fixed point for n rows of one length and normal residuals: a tenth of
    E (r - clip(r, k))² n / p², k = clip / length, p the share within k.
    """
    s, k = math.sqrt(variance), np.asarray(clip, dtype=float) / length
    if s == 0:
        return np.zeros_like(k)
    share = np.maximum(erf(k / (s * math.sqrt(2))), LEAST_SHARE)
    density = np.exp(-((k / s) ** 2) / 2) / math.sqrt(2 * math.pi)
    return EXPLAINED * n * 2 * ((s**2 + k**2) * ndtr(-k / s) - s * k * density) / share**2


class Choice(NamedTuple):
    """Settings of gradient descent, and what they are predicted to reach (risk, a sum over records)."""

    steps: int
    rate: float
    clip: float
    average: float
    objective: float


@typed
def chosen_from_moments(gram: Gram, mu: float) -> Choice:
    """The settings of a grid (steps 2 to 128, five rates, clip levels .01 to .64, the mean of half of the iterates or
    the last one) with the least `objective`. What it reads off the records is not private.
    """
    problem, mu = _Moments.of(gram), moderate("mu", mu)
    return min(_grid(problem, mu), key=lambda one: one.objective)


def _grid(problem: _Moments, mu: float) -> Iterator[Choice]:
    """The best of each number of steps and averaging."""
    rates, clips = np.array(RATES)[:, None], np.array(CLIPS)
    added = problem.bias_estimate(clips)
    for steps in STEPS:
        path, kept = _Path(problem, rates, clips), max(1, steps // 2)
        for t in range(steps):
            path.step(clips * math.sqrt(steps) / mu, t >= steps - kept)
        for average in AVERAGES:
            total = sum(path.risk(averaged=average > 0)) + added
            rate, clip = np.unravel_index(int(np.argmin(total)), total.shape)
            yield Choice(steps, RATES[rate], CLIPS[clip], average, float(total[rate, clip]))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Moments:
    """The problem in its eigenbasis: eigenvalues and fit (d,), L, the length of rows, n."""

    eigenvalues: np.ndarray
    theta: np.ndarray
    residual: float
    length: float
    n: int

    @classmethod
    def of(cls, gram: Gram) -> _Moments:
        spectrum = gram.spectrum
        if not gram.signal > 0:
            raise DomainError("b", "zeros", "X'y of an outcome of which X explains something")
        return cls(
            eigenvalues=spectrum.eigenvalues,
            theta=spectrum.theta,
            residual=max(gram.y_squared - gram.signal, 0.0),
            length=math.sqrt(float(spectrum.eigenvalues.sum()) / gram.n),
            n=gram.n,
        )

    def bias_estimate(self, clip: float | np.ndarray) -> np.ndarray:
        return bias_estimate(clip, length=self.length, variance=self.residual / self.n, n=self.n)


class _Path:
    """Deviations f and variances V per eigendirection, and their sums over averaged steps, for many rates and clips:
    arrays (rates, clips, d).
    """

    def __init__(self, problem: _Moments, rate: float | np.ndarray, clip: float | np.ndarray) -> None:
        self.problem = problem
        self.eta = np.asarray(rate / problem.eigenvalues[-1])[..., None]
        self.level = np.asarray(clip) / problem.length
        self.deviation = np.broadcast_to(-problem.theta, (*np.broadcast(rate, clip).shape, len(problem.theta)))
        self.variance = np.zeros_like(self.deviation)
        self.count, self.total = 0, np.zeros_like(self.deviation)
        self.cross, self.spread = np.zeros_like(self.deviation), np.zeros_like(self.deviation)

    def step(self, noise: float | np.ndarray, averaged: bool) -> np.ndarray:
        """One step with noise of this standard deviation; gives the shares that are not clipped."""
        squares = np.sum(self.problem.eigenvalues * (self.deviation**2 + self.variance), axis=-1)
        size = np.sqrt((self.problem.residual + squares) / self.problem.n)
        share = erf(self.level / np.maximum(size, 1e-300) / math.sqrt(2))
        shrink = 1 - self.eta * share[..., None] * self.problem.eigenvalues
        self.deviation = shrink * self.deviation
        self.variance = shrink**2 * self.variance + (self.eta * np.asarray(noise)[..., None]) ** 2
        if averaged:
            self.cross = shrink * self.cross
            self.total = self.total + self.deviation
            self.spread = self.spread + 2 * self.cross + self.variance
            self.cross = self.cross + self.variance
            self.count += 1
        return share

    def risk(self, *, averaged: bool) -> tuple[np.ndarray, np.ndarray]:
        """The parts of bias and of noise, of the mean of the averaged iterates or of the last."""
        mean, variance = self.deviation, self.variance
        if averaged:
            mean, variance = self.total / self.count, self.spread / self.count**2
        values = self.problem.eigenvalues
        return np.sum(values * mean**2, axis=-1), np.sum(values * variance, axis=-1)
