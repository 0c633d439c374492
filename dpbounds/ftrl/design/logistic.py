"""Clipped gradients of logistic regression, averaged over Gaussian iterates: a mean over one margin for each record.

The gradient (p - y) x of one record, p = expit(<x, theta>), is clipped to norm c where |p - y| is clipped to c / ||x||.

>>> problem = ClippedLogistic(np.ones((2, 1)), np.array([0.0, 1.0]), 10.0)
>>> found = problem.means(np.zeros(1), np.zeros((1, 1)))
>>> found.gradient.tolist(), found.slope.round(9).tolist(), found.share
([0.0], [[0.25]], 0.0)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float, Int

from dpbounds.errors import DomainError

# Points of Gauss-Hermite quadrature for means over one margin, and the least standard deviation that derivatives see.
POINTS, LEAST_DEVIATION = 15, 1e-6
# Newton steps to the minimum, halvings of one, and the relative decrease of the loss at which they end.
NEWTON_STEPS, HALVINGS, SETTLED = 100, 50, 1e-14


@dataclass(frozen=True, eq=False)
class Means:
    """Over records, at a mean and a covariance of the iterate: g, its mean slope, and the share that is clipped; V, the
    second moment of one record's gradient.
    """

    gradient: Float[np.ndarray, " d"]
    slope: Float[np.ndarray, "d d"]
    second: Float[np.ndarray, "d d"]
    share: float

    @classmethod
    def of(cls, X: np.ndarray, first: np.ndarray, slopes: np.ndarray, second: np.ndarray, share: float) -> Means:
        """From features and the means of each record's clipped residual, of its slope and of its square."""
        n = len(X)
        return cls(X.T @ first / n, (X.T * slopes) @ X / n, (X.T * second) @ X / n, share)


@dataclass(frozen=True)
class ClippedLogistic:
    """Features (n, d), labels 0 or 1; `law`: averaged over Gaussian iterates, else at their mean."""

    features: np.ndarray
    labels: np.ndarray
    clip_norm: float
    law: bool = True

    def means(self, mean: np.ndarray, covariance: np.ndarray, rows: Int[np.ndarray, " m"] | None = None) -> Means:
        """Over these records, or all."""
        X, y = (self.features, self.labels) if rows is None else (self.features[rows], self.labels[rows])
        margins, deviations = self._margins(X, mean, covariance)
        with np.errstate(divide="ignore"):
            largest = (self.clip_norm / np.linalg.norm(X, axis=1))[:, None]
        nodes, weights = _gauss()
        residuals = _expit(margins[:, None] + deviations[:, None] * nodes) - y[:, None]
        kept = np.clip(residuals, -largest, largest)
        # Stein: the mean derivative is E[residual * node] / deviation, also across the kinks of clipping.
        slopes = kept @ (weights * nodes) / deviations
        share = float(np.mean((np.abs(residuals) > largest) @ weights))
        return Means.of(X, kept @ weights, slopes, kept**2 @ weights, share)

    def loss(self, mean: np.ndarray, covariance: np.ndarray) -> float:
        """Mean log loss over all records, averaged over theta ~ N(mean, covariance)."""
        margins, deviations = self._margins(self.features, mean, covariance, exact=True)
        nodes, weights = _gauss()
        z = margins[:, None] + deviations[:, None] * nodes
        return float(np.mean((np.logaddexp(0.0, z) - self.labels[:, None] * z) @ weights))

    def _margins(
        self, X: np.ndarray, mean: np.ndarray, covariance: np.ndarray, *, exact: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Means and standard deviations of <x_i, theta>, these at least `LEAST_DEVIATION` unless `exact`."""
        if not (self.law or exact):
            return X @ mean, np.full(len(X), LEAST_DEVIATION)
        variances = np.maximum(np.einsum("id,id->i", X @ covariance, X), 0.0)
        return X @ mean, np.maximum(np.sqrt(variances), 0.0 if exact else LEAST_DEVIATION)


def logistic_minimum(features: Float[np.ndarray, "n d"], labels: Float[np.ndarray, " n"]) -> Float[np.ndarray, " d"]:
    """theta* of the mean log loss without clipping, by Newton's method; the shortest one where it is not unique.

    Raises `DomainError` where the features separate the labels: then there is none.
    """
    problem, theta = ClippedLogistic(features, labels, np.inf, law=False), np.zeros(features.shape[1])
    nothing, used = np.zeros((len(theta), len(theta))), features.any(axis=1)
    loss = problem.loss(theta, nothing)
    for _ in range(NEWTON_STEPS):
        p = _expit(features @ theta)
        gradient, weights = features.T @ (p - labels) / len(labels), p * (1.0 - p)
        step = np.linalg.lstsq((features.T * weights) @ features / len(labels), gradient, rcond=None)[0]
        for _ in range(HALVINGS):
            found = problem.loss(theta - step, nothing)
            if found <= loss:
                break
            step = step / 2.0
        theta, gained, loss = theta - step, loss - found, found
        if ((2.0 * labels - 1.0) * (features @ theta))[used].min(initial=np.inf) > 0:
            remedy = "the loss has no minimum: take other records, or fewer columns"
            raise DomainError("labels", "separated by the features", "such that no theta tells them apart", remedy)
        if gained <= SETTLED * loss:
            return theta
    raise DomainError("labels", "labels", "such that Newton's method finds the minimum", "scale the features")


@cache
def _gauss() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of means over a standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(POINTS)
    return nodes, weights / weights.sum()


def _expit(z: np.ndarray) -> np.ndarray:
    from scipy.special import expit

    return expit(z)
