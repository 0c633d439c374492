"""The closure for logistic regression: gradients (p_i - y_i) x_i, p_i = expit(<x_i, theta>), clipped to norm c.

A margin <x_i, theta> of a Gaussian iterate is Gaussian: means of the clipped residual, of its slope and of its square
are one-dimensional (`ClippedLogistic`), and the closure carries them from step to step. No residual is above 1: where
||x_i|| <= c nothing is clipped.

>>> from dpbounds.ftrl.correlations import independent
>>> X, y = np.ones((4, 1)), np.array([0.0, 1.0, 1.0, 1.0])
>>> settings = {"schedule": np.full(200, 2.0), "clip_norm": 10.0, "noise_multiplier": 0.0, "batch_size": 4}
>>> found = forecast_logistic(X, y, correlation=independent(), **settings)
>>> bool(found.bias < 1e-12), found.privacy
(True, 0.0)
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.ftrl.correlations import Correlation
from dpbounds.ftrl.design.clipped.closure import paths
from dpbounds.ftrl.design.clipped.records import records_of
from dpbounds.ftrl.design.clipped.results import ClippedForecast, finished, run_of, start_of
from dpbounds.ftrl.design.from_data import labelled
from dpbounds.ftrl.design.logistic import ClippedLogistic, Means, logistic_minimum


@typed
def forecast_logistic(
    features: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " labels"],
    *,
    correlation: Correlation,
    schedule: Float[np.ndarray, " T"],
    clip_norm: float,
    noise_multiplier: float,
    batch_size: int,
    order: str = "fixed",
    start: Float[np.ndarray, " start"] | None = None,
    n: int | None = None,
    momentum: float = 0.0,
) -> ClippedForecast:
    """E F(theta_t) - F(theta*) of the mean log loss F over the records, theta* its minimum without clipping.

    - `features` (n, d), with a column of ones if there is an intercept, `labels` 0 or 1.
    - `start`: theta_0, (d,); 0 if not given.
    - Parts: `privacy` is what noise adds to the loss of the mean iterate, `sampling` what the choice of examples adds
      to both. Losses of long runs are computed at 200 steps, the last among them, and interpolated.

    The other arguments are those of `forecast`. Estimates; not private. Raises the same errors, and `DomainError` for
    other labels and those that the features separate, since F then has no minimum.
    """
    X, y = labelled(features, labels)
    first = start_of("start", start, X.shape[1])
    run = run_of(correlation, schedule, clip_norm, noise_multiplier, batch_size, order, momentum)
    return finished(paths(_Logistic(X, y, run.clip_norm), run, first, records_of(len(X), n, run)))


class _Logistic:
    """Log loss, in theta."""

    dear = True

    def __init__(self, features: np.ndarray, labels: np.ndarray, clip_norm: float) -> None:
        self.minimum = logistic_minimum(features, labels)
        self.problem = ClippedLogistic(features, labels, clip_norm)
        self.least = self.problem.loss(self.minimum, np.zeros((len(self.minimum), len(self.minimum))))

    def means(self, mean: np.ndarray, covariance: np.ndarray) -> Means:
        return self.problem.means(mean, covariance)

    def losses(self, mean: np.ndarray, noise: np.ndarray, sampled: np.ndarray) -> tuple[float, float, float]:
        still, noisy, whole = (self.problem.loss(mean, each) for each in (0.0 * noise, noise, noise + sampled))
        return still - self.least, noisy - still, whole - noisy
