"""The closure on records: mean and covariance of the iterate of clipped least squares, step by step.

With e = theta - theta*, mu its mean and Sigma its covariance, record i has the residual N(x_i mu - zeta_i, x_i' Sigma
x_i), clipped to c / ||x_i||. Their means give the gradient, its mean slope and its second moment,

    g = mean x_i E psi_i,   H~ = mean x_i x_i' P_i,   V = mean x_i x_i' E psi_i^2,

which `closure` carries from step to step.

>>> from dpbounds.ftrl.correlations import independent
>>> X = np.array([[1.0], [-1.0]])
>>> settings = {"schedule": np.array([0.5]), "clip_norm": 1e6, "noise_multiplier": 0.0, "batch_size": 2}
>>> start = np.array([2.0])
>>> found = forecast(X, np.zeros(2), correlation=independent(), initial=start, order="fresh", **settings)
>>> found.bias, found.privacy
(0.5, 0.0)
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, vector
from dpbounds.ftrl.correlations import Correlation
from dpbounds.ftrl.design.clipped.closure import paths
from dpbounds.ftrl.design.clipped.expectations import moments
from dpbounds.ftrl.design.clipped.results import ClippedForecast, Run, finished, infinite_where_zero, run_of, start_of
from dpbounds.ftrl.design.from_data import LARGEST_DIMENSION, table
from dpbounds.ftrl.design.logistic import Means


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
    X = table("features", features)
    rows, d = X.shape
    zeta = vector("residuals", residuals, length=rows, per="row of features")
    if d > LARGEST_DIMENSION:
        raise DomainError("features", f"{d} columns", f"at most {LARGEST_DIMENSION}", "project them")
    start = start_of("initial", initial, d)
    run = run_of(correlation, schedule, clip_norm, noise_multiplier, batch_size, order, momentum)
    return finished(paths(_Squared(X, zeta, run.clip_norm), run, start, records_of(rows, n, run)))


def records_of(rows: int, n: int | None, run: Run) -> int:
    """How many records these rows stand for; `DomainError` for fewer than a batch."""
    size = rows if n is None else count("n", n)
    if run.batch_size > size:
        raise DomainError("batch_size", run.batch_size, f"at most the {size} records")
    return size


class _Squared:
    """Least squares, in theta - theta*."""

    dear = False

    def __init__(self, features: np.ndarray, residuals: np.ndarray, clip_norm: float) -> None:
        self.features, self.residuals = features, residuals
        self.thresholds = infinite_where_zero(clip_norm, np.linalg.norm(features, axis=1))
        self.hessian = features.T @ features / len(features)
        self.minimum = np.zeros(features.shape[1])

    def means(self, mean: np.ndarray, covariance: np.ndarray) -> Means:
        X = self.features
        variances = np.maximum(np.einsum("id,id->i", X @ covariance, X), 0.0)
        first, kept, second = moments(X @ mean - self.residuals, np.sqrt(variances), self.thresholds)
        return Means.of(X, first, kept, second, float(1.0 - kept.mean()))

    def losses(self, mean: np.ndarray, noise: np.ndarray, sampled: np.ndarray) -> tuple[float, float, float]:
        bias = 0.5 * float(mean @ self.hessian @ mean)
        return bias, 0.5 * float(np.sum(self.hessian * noise)), 0.5 * float(np.sum(self.hessian * sampled))
