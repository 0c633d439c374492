"""The closure: mean and covariance of the iterate of a clipped run on records, step by step.

mu <- mu - eta g with g the mean gradient; covariances with the noise are multiplied by I - eta H~ in every step, H~ its
mean slope: exact if iterate and noise are jointly Gaussian (Bussgang). With momentum the state is (theta, v), v <-
momentum v + g, theta <- theta - eta v. The choice of examples is another noise, from the second moment V of one
record's gradient. What is left out of Cov theta is of second order in the spread of the records' slopes.

>>> from dpbounds.ftrl.correlations import independent
>>> from dpbounds.ftrl.design.clipped.results import run_of
>>> class Parabola:  # F = theta^2 / 2, for every record
...     minimum, dear = np.zeros(1), False
...     def means(self, mean, covariance):
...         return Means(mean, np.eye(1), np.outer(mean, mean) + covariance, 0.0)
...     def losses(self, mean, noise, sampled):
...         return tuple(0.5 * float(each.sum()) for each in (mean**2, noise, sampled))
>>> run = run_of(independent(), np.array([0.5]), 1.0, 2.0, 1, "fresh", 0.0)
>>> paths(Parabola(), run, np.array([2.0]), 1).tolist()
[[0.5], [0.5], [0.0], [0.0]]
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from jaxtyping import Float

from dpbounds.errors import DomainError
from dpbounds.ftrl.design.clipped.results import Run, refreshed
from dpbounds.ftrl.design.from_data import LARGEST_STATE, JointMoments
from dpbounds.ftrl.design.logistic import Means

# Steps at which the means over records are computed anew; in between they follow the mean iterate linearly.
LOOKS = 200


class Records(Protocol):
    """What a loss is on records, with gradients clipped.

    `minimum` (d,) without clipping; `dear`: losses are computed as rarely as means, and interpolated.
    """

    minimum: Float[np.ndarray, " d"]
    dear: bool

    def means(self, mean: np.ndarray, covariance: np.ndarray) -> Means:
        """At a mean and a covariance of the iterate."""
        ...

    def losses(self, mean: np.ndarray, noise: np.ndarray, sampled: np.ndarray) -> tuple[float, float, float]:
        """Above the minimum: of the mean iterate, and what two independent parts of its covariance add."""
        ...


def paths(records: Records, run: Run, start: np.ndarray, n: int) -> Float[np.ndarray, "4 T"]:
    """Rows of bias, privacy, sampling and share clipped, from theta_0 = `start`; n is how many the records stand for.

    Raises `DomainError` where batches and noise do not fit into memory.
    """
    held = (run.space.size + min(n // run.batch_size, run.steps)) * run.parts * len(start) ** 2
    if held > LARGEST_STATE:
        remedy = "larger batches, fewer columns, or noise with buffers"
        raise DomainError("features", f"{len(start)} columns", "such that batches and noise fit into memory", remedy)
    with np.errstate(over="ignore", invalid="ignore"):
        return _paths(records, run, start, n)


def _paths(records: Records, run: Run, start: np.ndarray, n: int) -> np.ndarray:
    d = len(start)
    noise = JointMoments(run.space, (run.parts * d, d), run.deviation)
    sampled = {"fixed": _Batches, "poisson": _Poisson, "fresh": _Fresh}[run.order](records, run, n)
    mean, reference, velocity = start, start, np.zeros(d)
    found, anew = np.zeros((4, run.steps)), refreshed(run.steps, LOOKS)
    told = anew if records.dear else np.ones(run.steps, dtype=bool)
    means = None
    for t, eta in enumerate(run.schedule):
        if means is None or anew[t]:
            spread = (noise.covariance + sampled.covariance)[:d, :d]
            means, reference = records.means(mean, spread), mean
            sampled.refresh(means, mean, spread)
        velocity = run.momentum * velocity + means.gradient + means.slope @ (mean - reference)
        mean = mean - eta * velocity
        transition, push = run.step(t, means.slope)
        noise.advance(t, transition, push)
        sampled.advance(t, transition, push)
        if told[t]:
            own = (each.covariance[:d, :d] for each in (noise, sampled))
            found[:, t] = *records.losses(mean, *own), means.share
        if not np.isfinite(found[:, t]).all():
            found[:, t:] = np.inf
            break
    steps = np.flatnonzero(told)
    return np.array([np.interp(np.arange(run.steps), steps, row[steps]) for row in found])


class _Fresh:
    """Draws that are new in every step: white noise of covariance (V - g g' - H~ Sigma H~) / m.

    The last two are E g g' without clipping, and below it with.
    """

    def __init__(self, records: Records, run: Run, n: int) -> None:
        self.m, self.n = run.batch_size, n
        d = len(records.minimum)
        self.shape = (run.parts * d, d)
        self.covariance = np.zeros((run.parts * d, run.parts * d))
        self.white = np.zeros((d, d))

    def refresh(self, means: Means, mean: np.ndarray, covariance: np.ndarray) -> None:
        squared = np.outer(means.gradient, means.gradient) + means.slope @ covariance @ means.slope
        self.white = (means.second - squared) / self.m

    def advance(self, step: int, transition: np.ndarray, push: np.ndarray) -> None:
        self.covariance = transition @ self.covariance @ transition.T + push @ self.white @ push.T


class _Poisson(_Fresh):
    """Each record by itself: V (1 - m / n) / m, also along the mean gradient."""

    def refresh(self, means: Means, mean: np.ndarray, covariance: np.ndarray) -> None:
        self.white = means.second * (1.0 - self.m / self.n) / self.m


class _Batches(_Fresh):
    """One order again and again: what the batches deviate from the mean gradient returns in every epoch.

    Cov(xi_b, xi_b') = S^2 (1{b = b'} / m - 1 / n), S^2 over the records at the mean iterate; R R' stands for it, R a
    multiple of its root at theta*. What excursions of the iterate add is another one in every step: white.
    """

    def __init__(self, records: Records, run: Run, n: int) -> None:
        super().__init__(records, run, n)
        self.records, nothing = records, np.zeros_like(self.white)
        self.at_minimum = records.means(records.minimum, nothing).second
        self.batches = self.n // self.m
        self.share = self.m / self.n
        self.repeated = np.zeros((self.batches if run.steps > self.batches else 0, *self.shape))
        self.summed, self.root = np.zeros(self.shape), np.zeros_like(self.white)
        self.squared, self.excursions = np.zeros_like(self.covariance), np.zeros_like(self.covariance)
        self.unit = None

    def refresh(self, means: Means, mean: np.ndarray, covariance: np.ndarray) -> None:
        still = self.records.means(mean, np.zeros_like(self.white))
        second, across = still.second, still.second - np.outer(still.gradient, still.gradient)
        self.white = _positive(means.second - second) * (1.0 - self.share) / self.m
        spread, least = max(float(np.trace(across)), 0.0), float(np.trace(self.at_minimum))
        if least > 0:
            if self.unit is None:
                self.unit = _root(self.at_minimum / least)
            self.root = np.sqrt(spread) * self.unit
        else:
            self.root = _root(across)

    def advance(self, step: int, transition: np.ndarray, push: np.ndarray) -> None:
        pushed = push @ self.root
        self.summed = transition @ self.summed + pushed
        if len(self.repeated):
            self.repeated = transition @ self.repeated
            self.repeated[step % self.batches] += pushed
            self.squared = np.tensordot(self.repeated, self.repeated, axes=([0, 2], [0, 2]))
        else:
            self.squared = transition @ self.squared @ transition.T + pushed @ pushed.T
        self.excursions = transition @ self.excursions @ transition.T + push @ self.white @ push.T
        order = (self.squared - self.share * self.summed @ self.summed.T) / self.m
        self.covariance = order + self.excursions


def _positive(matrix: np.ndarray) -> np.ndarray:
    """The positive part of a symmetric matrix."""
    if not np.isfinite(matrix).all():
        return matrix
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


def _root(matrix: np.ndarray) -> np.ndarray:
    if not np.isfinite(matrix).all():
        return matrix
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
