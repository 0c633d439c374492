"""Private logistic regression on records that are at hand: mini-batches in a random order, clipping, designed noise.

>>> data = LogisticData(features=np.ones((4, 1)), labels=np.array([0.0, 1.0, 1.0, 1.0]))
>>> data.rows, data.loss(np.zeros((1, 1))).round(6).tolist()
(4, [0.693147])
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, real_array, vector
from dpbounds.ftrl.design.from_data import LogisticTraining
from simulators.engine import Arrays, Streams, trial_count
from simulators.ftrl.designed import designed_noise


@dataclass(frozen=True, kw_only=True, eq=False)
class LogisticData:
    """Features (n, d), with a column of ones if there is an intercept, and labels (n,), 0 or 1.

    Streams are keyed by `digest`, a hash of the records. Raises `DomainError` for other labels, tables that are not
    finite, lengths that differ.
    """

    features: Float[np.ndarray, "n d"] = field(repr=False)
    labels: Float[np.ndarray, " labels"] = field(repr=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        X = np.ascontiguousarray(real_array("features", self.features))
        if X.ndim != 2 or X.size == 0 or not np.isfinite(X).all():
            raise DomainError("features", f"an array of shape {X.shape}", "a finite non-empty table (n, d)")
        y = vector("labels", self.labels, length=len(X), per="row of features")
        if not np.isin(y, (0.0, 1.0)).all():
            raise DomainError("labels", float(y[~np.isin(y, (0.0, 1.0))][0]), "0 or 1")
        object.__setattr__(self, "features", X)
        object.__setattr__(self, "labels", y)
        content = np.asarray(X.shape).tobytes() + X.tobytes() + y.tobytes()
        object.__setattr__(self, "digest", hashlib.sha256(content).hexdigest())

    @property
    def rows(self) -> int:
        """n."""
        return len(self.labels)

    def loss(self, theta: Float[np.ndarray, "trials d"]) -> Float[np.ndarray, " trials"]:
        """Mean log loss over all records."""
        margins = theta @ self.features.T
        return np.mean(np.logaddexp(0.0, margins) - self.labels * margins, axis=1)


@typed
def logistic_regression(problem: LogisticData, settings: LogisticTraining, streams: Streams, trials: int) -> Arrays:
    """Runs from theta_0 = 0, each with its own order of the records, the same in every epoch.

    Arrays of shape (trials,): `loss`, the mean log loss of theta_T over all records; `noiseless_loss`, that of the same
    run without noise; `clipped`, the share of gradients that were clipped. `settings.rows` must be the number of
    records.
    """
    trials, (n, d) = trial_count(trials), problem.features.shape
    if settings.rows != n:
        raise DomainError("rows", settings.rows, f"{n}, the records of the problem")
    norms = np.linalg.norm(problem.features, axis=1)
    largest = np.divide(settings.clip_norm, norms, out=np.full(n, np.inf), where=norms > 0)
    orders = streams.data.permuted(np.tile(np.arange(n), (trials, 1)), axis=1)
    noise = designed_noise(settings.correlation, settings.steps, (trials, d), streams.noise)
    deviation = settings.noise_deviation
    theta, still, clipped = np.zeros((trials, d)), np.zeros((trials, d)), np.zeros(trials)
    for t, (eta, drawn) in enumerate(zip(settings.learning_rates, noise, strict=True)):
        first = (t % settings.epoch) * settings.batch_size
        batch = orders[:, first : first + settings.batch_size]
        X, y, most = problem.features[batch], problem.labels[batch], largest[batch]
        gradient, share = _clipped_gradient(X, y, most, theta)
        clipped += share / settings.steps
        theta -= eta * (gradient + deviation * drawn)
        still -= eta * _clipped_gradient(X, y, most, still)[0]
    return {"loss": problem.loss(theta), "noiseless_loss": problem.loss(still), "clipped": clipped}


def _clipped_gradient(
    X: np.ndarray, y: np.ndarray, largest: np.ndarray, theta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean of the clipped gradients of a batch for every trial, and the share of them that were clipped."""
    residuals = expit(np.einsum("kmd,kd->km", X, theta)) - y
    kept = np.clip(residuals, -largest, largest)
    return np.einsum("kmd,km->kd", X, kept) / X.shape[1], np.mean(np.abs(residuals) > largest, axis=1)
