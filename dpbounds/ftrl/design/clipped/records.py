"""The closure on records: mean and covariance of the iterate of clipped least squares, step by step.

With e = theta - theta*, mu its mean and Sigma its covariance, record i has the residual N(x_i mu - zeta_i, x_i' Sigma
x_i), clipped to c / ||x_i||. Their means give the gradient, its mean slope and its second moment,

    g = mean x_i E psi_i,   H~ = mean x_i x_i' P_i,   V = mean x_i x_i' E psi_i^2,

and mu <- mu - eta g; covariances with the noise are multiplied by I - eta H~ in every step, which is exact if iterate
and noise are jointly Gaussian (Bussgang). With momentum the state is (e, v), v <- momentum v + g, and e <- e - eta v.
What is left out of Cov e is of second order in the spread of P_i.

>>> from dpbounds.ftrl.correlations import independent
>>> X = np.array([[1.0], [-1.0]])
>>> settings = {"schedule": np.array([0.5]), "clip_norm": 1e6, "noise_multiplier": 0.0, "batch_size": 2}
>>> start = np.array([2.0])
>>> found = forecast(X, np.zeros(2), correlation=independent(), initial=start, order="fresh", **settings)
>>> found.bias, found.privacy
(0.5, 0.0)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, vector
from dpbounds.ftrl.correlations import Correlation
from dpbounds.ftrl.design.clipped.expectations import moments
from dpbounds.ftrl.design.clipped.results import (
    ClippedForecast,
    Run,
    finished,
    infinite_where_zero,
    refreshed,
    run_of,
)
from dpbounds.ftrl.design.from_data import LARGEST_DIMENSION, LARGEST_STATE, JointMoments, table

# Steps at which the means over records are computed anew; in between they follow the mean iterate linearly.
LOOKS = 200


@typed
def forecast(
    features: Float[np.ndarray, "n d"],
    residuals: Float[np.ndarray, " residuals"],
    *,
    correlation: Correlation,
    schedule: Float[np.ndarray, " T"],
    clip_norm: float,
    noise_multiplier: float,
    batch_size: int,
    order: str = "fixed",
    initial: Float[np.ndarray, " start"] | None = None,
    n: int | None = None,
    momentum: float = 0.0,
) -> ClippedForecast:
    """E F(theta_t) of theta_{t+1} = theta_t - eta_t (g_t + w~_t), g_t the average of m clipped gradients x_i r_i.

    - `features` (n, d) and `residuals` y_i - <x_i, theta*> (n,) at the minimiser theta* of F; H = X'X / n.
    - `schedule`: eta_t, (T,). `noise_multiplier`: standard deviation of one draw over `clip_norm`, in the sum of a
      batch; w~ = B w with B the `correlation`'s, so that it holds the sensitivity.
    - `order`: `fixed`, batches of one random order again and again (of n // m batches); `poisson`, each record in each
      step with probability m / n by itself; `fresh`, m new draws from the records in every step.
    - `initial`: theta_0 - theta*, (d,); 0 if not given. `n`: how many records these stand for, if another number.
    - `momentum`, heavy ball: v <- momentum v + g_t + w~_t from v = 0, theta <- theta - eta_t v.

    Without clipping: a `clip_norm` above all gradients, and a `noise_multiplier` that is smaller for it. Estimates; not
    private. Raises `DomainError` for arguments outside their ranges, `AccuracyError` where the loss overflows.
    """
    X, zeta = table("features", features), vector("residuals", residuals)
    rows, d = X.shape
    if len(zeta) != rows:
        raise DomainError("residuals", f"{len(zeta)} numbers", f"one for each of {rows} rows of features")
    if d > LARGEST_DIMENSION:
        raise DomainError("features", f"{d} columns", f"at most {LARGEST_DIMENSION}", "project them")
    start = np.zeros(d) if initial is None else vector("initial", initial)
    if len(start) != d:
        raise DomainError("initial", f"{len(start)} numbers", f"one for each of {d} columns of features")
    run = run_of(correlation, schedule, clip_norm, noise_multiplier, batch_size, order, momentum)
    size = rows if n is None else count("n", n)
    if run.batch_size > size:
        raise DomainError("batch_size", batch_size, f"at most the {size} records")
    held = (run.space.size + min(size // run.batch_size, run.steps)) * run.parts * d**2
    if held > LARGEST_STATE:
        remedy = "larger batches, fewer columns, or noise with buffers"
        raise DomainError("features", f"{d} columns", "such that batches and noise fit into memory", remedy)
    with np.errstate(over="ignore", invalid="ignore"):
        return finished(_paths(_Records(X, zeta, run.clip_norm), run, start, size))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Means:
    """Over the records, at a mean and a covariance of the iterate: g, H~, V and the share clipped."""

    gradient: np.ndarray
    slope: np.ndarray
    second: np.ndarray
    share: float


class _Records:
    def __init__(self, features: np.ndarray, residuals: np.ndarray, clip_norm: float) -> None:
        self.features, self.residuals = features, residuals
        self.norms = np.linalg.norm(features, axis=1)
        self.thresholds = infinite_where_zero(clip_norm, self.norms)
        self.hessian = features.T @ features / len(features)

    def means(self, mean: np.ndarray, covariance: np.ndarray) -> _Means:
        X, n = self.features, len(self.features)
        variances = np.maximum(np.einsum("id,id->i", X @ covariance, X), 0.0)
        first, kept, second = moments(X @ mean - self.residuals, np.sqrt(variances), self.thresholds)
        return _Means(
            gradient=X.T @ first / n,
            slope=(X.T * kept) @ X / n,
            second=(X.T * second) @ X / n,
            share=float(1.0 - kept.mean()),
        )

    def loss(self, covariance: np.ndarray) -> float:
        """1/2 tr H Sigma, Sigma the first block of a state's covariance."""
        d = len(self.hessian)
        return 0.5 * float(np.sum(self.hessian * covariance[:d, :d]))

    def still(self, mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """V without excursions, and its part across the mean gradient, at one iterate."""
        means = self.means(mean, np.zeros_like(self.hessian))
        return means.second, means.second - np.outer(means.gradient, means.gradient)

    @cached_property
    def at_minimum(self) -> np.ndarray:
        """V at theta*."""
        return self.still(np.zeros(self.features.shape[1]))[0]


def _paths(records: _Records, run: Run, start: np.ndarray, n: int) -> np.ndarray:
    """Rows of bias, privacy, sampling and share clipped."""
    d = len(start)
    noise = JointMoments(run.space, (run.parts * d, d), run.deviation)
    sampled = {"fixed": _Batches, "poisson": _Poisson, "fresh": _Fresh}[run.order](records, run, n)
    mean, reference, velocity = start, start, np.zeros(d)
    paths, anew = np.empty((4, run.steps)), refreshed(run.steps, LOOKS)
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
        paths[:, t] = (
            0.5 * float(mean @ records.hessian @ mean),
            records.loss(noise.covariance),
            records.loss(sampled.covariance),
            means.share,
        )
        if not np.isfinite(paths[:, t]).all():
            paths[:, t:] = np.inf
            break
    return paths


class _Fresh:
    """Draws that are new in every step: white noise of covariance (V - g g' - H~ Sigma H~) / m.

    The last two are E g g' without clipping, and below it with.
    """

    def __init__(self, records: _Records, run: Run, n: int) -> None:
        self.m, self.n = run.batch_size, n
        d = len(records.hessian)
        self.shape = (run.parts * d, d)
        self.covariance = np.zeros((run.parts * d, run.parts * d))
        self.white = np.zeros_like(records.hessian)

    def refresh(self, means: _Means, mean: np.ndarray, covariance: np.ndarray) -> None:
        squared = np.outer(means.gradient, means.gradient) + means.slope @ covariance @ means.slope
        self.white = (means.second - squared) / self.m

    def advance(self, step: int, transition: np.ndarray, push: np.ndarray) -> None:
        self.covariance = transition @ self.covariance @ transition.T + push @ self.white @ push.T


class _Poisson(_Fresh):
    """Each record by itself: V (1 - m / n) / m, also along the mean gradient."""

    def refresh(self, means: _Means, mean: np.ndarray, covariance: np.ndarray) -> None:
        self.white = means.second * (1.0 - self.m / self.n) / self.m


class _Batches(_Fresh):
    """One order again and again: what the batches deviate from the mean gradient returns in every epoch.

    Cov(xi_b, xi_b') = S^2 (1{b = b'} / m - 1 / n), S^2 over the records at the mean iterate; R R' stands for it, R a
    multiple of its root at theta*. What excursions of the iterate add is another one in every step: white.
    """

    def __init__(self, records: _Records, run: Run, n: int) -> None:
        super().__init__(records, run, n)
        self.records = records
        self.batches = self.n // self.m
        self.share = self.m / self.n
        self.repeated = np.zeros((self.batches if run.steps > self.batches else 0, *self.shape))
        self.summed, self.root = np.zeros(self.shape), np.zeros_like(records.hessian)
        self.squared, self.excursions = np.zeros_like(self.covariance), np.zeros_like(self.covariance)
        self.unit = None

    def refresh(self, means: _Means, mean: np.ndarray, covariance: np.ndarray) -> None:
        second, across = self.records.still(mean)
        self.white = _positive(means.second - second) * (1.0 - self.share) / self.m
        spread, least = max(float(np.trace(across)), 0.0), float(np.trace(self.records.at_minimum))
        if least > 0:
            if self.unit is None:
                self.unit = _root(self.records.at_minimum / least)
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
