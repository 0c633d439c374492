"""Clipped regression on records that are at hand: per-record clipping, batches of three kinds, any noise.

>>> data = LeastSquaresData(features=np.ones((4, 1)), residuals=np.array([0.5, -0.5, 0.5, -0.5]), initial=np.ones(1))
>>> data.rows, data.loss(np.array([[2.0]])).tolist()
(4, [2.0])
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from scipy import sparse
from scipy.special import expit

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, count, moderate, moderate_or_zero, real_array, vector, within
from dpbounds.ftrl.correlations import Correlation
from dpbounds.ftrl.design import Plan, ProxyRecords, learning_rates
from dpbounds.ftrl.design.clipped import ORDERS
from dpbounds.ftrl.design.noise_kinds import NoiseKind
from simulators.engine import Arrays, Experiment, Streams, trial_count
from simulators.ftrl.designed import designed_noise
from simulators.ftrl.logistic import LogisticData


@dataclass(frozen=True, kw_only=True, eq=False)
class LeastSquaresData:
    """Features (n, d), residuals y_i - <x_i, theta*> (n,) at the minimiser theta*, and theta_0 - theta* (d,).

    Streams are keyed by `digest`, a hash of all three. Raises `DomainError` for tables that are not finite and lengths
    that differ.
    """

    features: Float[np.ndarray, "n d"] = field(repr=False)
    residuals: Float[np.ndarray, " residuals"] = field(repr=False)
    initial: Float[np.ndarray, " start"] = field(repr=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        X = np.ascontiguousarray(real_array("features", self.features))
        if X.ndim != 2 or X.size == 0 or not np.isfinite(X).all():
            raise DomainError("features", f"an array of shape {X.shape}", "a finite non-empty table (n, d)")
        given = {"features": X}
        for name, length in (("residuals", X.shape[0]), ("initial", X.shape[1])):
            given[name] = vector(name, getattr(self, name))
            if len(given[name]) != length:
                raise DomainError(name, f"{len(given[name])} numbers", f"{length} numbers, as the features have")
        for name, array in given.items():
            object.__setattr__(self, name, array)
        content = b"".join([np.asarray(X.shape).tobytes(), *(array.tobytes() for array in given.values())])
        object.__setattr__(self, "digest", hashlib.sha256(content).hexdigest())

    @property
    def rows(self) -> int:
        """n."""
        return len(self.features)

    def loss(self, errors: Float[np.ndarray, "trials d"]) -> Float[np.ndarray, " trials"]:
        """F(theta) - F(theta*) = |X (theta - theta*)|^2 / (2 n) of theta - theta*."""
        return 0.5 * np.mean((errors @ self.features.T) ** 2, axis=1)


@typed
@dataclass(frozen=True, kw_only=True)
class ClippedTraining:
    """How a clipped run is made; arguments as those of `dpbounds.ftrl.design.clipped.forecast`."""

    correlation: Correlation
    schedule: tuple[float, ...]
    clip_norm: float
    noise_multiplier: float
    batch_size: int
    order: str = "fixed"
    momentum: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "schedule", tuple(vector("schedule", self.schedule, above=0.0).tolist()))
        moderate("clip_norm", self.clip_norm)
        moderate_or_zero("noise_multiplier", self.noise_multiplier)
        count("batch_size", self.batch_size)
        choice("order", self.order, ORDERS)
        within("momentum", self.momentum, "[0, 1)")


# Gradients of a block of runs, about a second, and most runs in one.
BLOCK_GRADIENTS, MOST_BLOCK_TRIALS = 2_000_000, 512


@typed
def planned_on_records(plan: Plan, kind: NoiseKind, records: ProxyRecords) -> Experiment:
    """Runs of one row of a plan on these records, every gradient clipped. Raises `DomainError` for another number of
    records than the plan's.
    """
    row, size = plan.row(kind), plan.training.n
    if records.rows != size:
        raise DomainError("records", f"{records.rows} records", f"the {size} of the plan", "plan for as many")
    m = row.setting.batch_size
    return Experiment(
        algorithm=clipped_least_squares,
        problem=LeastSquaresData(features=records.features, residuals=records.residuals, initial=records.initial),
        settings=ClippedTraining(
            correlation=row.correlation,
            schedule=tuple(learning_rates(row.setting.schedule, row.setting.eta, row.steps).tolist()),
            clip_norm=row.clip_norm,
            noise_multiplier=row.noise_multiplier,
            batch_size=m,
            order="poisson" if kind == "amplified" else "fixed",
            momentum=row.momentum,
        ),
        block_trials=max(1, min(MOST_BLOCK_TRIALS, BLOCK_GRADIENTS // (m * row.steps))),
    )


@typed
def clipped_least_squares(
    problem: LeastSquaresData, settings: ClippedTraining, streams: Streams, trials: int
) -> Arrays:
    """Runs of v <- momentum v + sum of clipped gradients / m + w~_t, theta <- theta - eta_t v, from v = 0.

    Batches: of one random order a run, again and again (`fixed`; n // m of them); each record by itself with
    probability m / n (`poisson`); m draws with replacement (`fresh`). Arrays of shape (trials,): `loss`, F(theta_T) -
    F(theta*) over all records; `clipped`, the share of all gradients that were clipped.
    """

    def residuals(margins: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return margins - problem.residuals[rows]

    errors, clipped = _descend(problem.features, residuals, problem.initial, settings, streams, trials)
    return {"loss": problem.loss(errors), "clipped": clipped}


@typed
def clipped_logistic_regression(
    problem: LogisticData, settings: ClippedTraining, streams: Streams, trials: int
) -> Arrays:
    """The same for log loss, from theta_0 = 0: `loss` is the mean log loss of theta_T over all records."""

    def residuals(margins: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return expit(margins) - problem.labels[rows]

    start = np.zeros(problem.features.shape[1])
    theta, clipped = _descend(problem.features, residuals, start, settings, streams, trials)
    return {"loss": problem.loss(theta), "clipped": clipped}


def _descend(
    X: np.ndarray,
    residuals: Callable[[np.ndarray, np.ndarray], np.ndarray],
    start: np.ndarray,
    settings: ClippedTraining,
    streams: Streams,
    trials: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The last iterates, and the shares of gradients that were clipped; gradients are x times `residuals`, which take
    margins and records.
    """
    trials, (n, d) = trial_count(trials), X.shape
    if settings.batch_size > n:
        raise DomainError("batch_size", settings.batch_size, f"at most {n}, the records of the problem")
    steps = len(settings.schedule)
    norms = np.linalg.norm(X, axis=1)
    largest = np.divide(settings.clip_norm, norms, out=np.full(n, np.inf), where=norms > 0)
    noise = designed_noise(settings.correlation, steps, (trials, d), streams.noise)
    deviation = settings.noise_multiplier * settings.clip_norm / settings.batch_size
    theta, velocity = np.tile(start, (trials, 1)), np.zeros((trials, d))
    clipped, taken = np.zeros(trials), np.zeros(trials)
    batches = _batches(settings, n, trials, streams.data)
    for eta, drawn, (run, row) in zip(settings.schedule, noise, batches, strict=False):
        found = residuals(np.einsum("kd,kd->k", X[row], theta[run]), row)
        kept = np.clip(found, -largest[row], largest[row])
        ends = np.searchsorted(run, np.arange(trials + 1))
        gradient = sparse.csr_array((kept, row, ends), shape=(trials, n)) @ X / settings.batch_size
        clipped += np.bincount(run, weights=np.abs(found) > largest[row], minlength=trials)
        taken += np.diff(ends)
        velocity = settings.momentum * velocity + gradient + deviation * drawn
        theta = theta - eta * velocity
    return theta, clipped / np.maximum(taken, 1)


def _batches(
    settings: ClippedTraining, n: int, trials: int, generator: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Run and record of every example of a step, by run."""
    m, runs = settings.batch_size, np.repeat(np.arange(trials), settings.batch_size)
    if settings.order == "fixed":
        orders = generator.permuted(np.tile(np.arange(n), (trials, 1)), axis=1)
        while True:
            for first in range(0, n - m + 1, m):
                yield runs, orders[:, first : first + m].ravel()
    while True:
        if settings.order == "fresh":
            yield runs, generator.integers(0, n, size=trials * m)
        else:
            yield np.divmod(_thinned(m / n, trials * n, generator), n)


def _thinned(share: float, places: int, generator: np.random.Generator) -> np.ndarray:
    """Which of so many places are taken, each by itself: gaps between them are geometric."""
    expected = share * places
    most = int(expected + 10.0 * np.sqrt(expected) + 20)
    found = np.cumsum(generator.geometric(share, size=most)) - 1
    while found[-1] < places:
        more = found[-1] + np.cumsum(generator.geometric(share, size=most))
        found = np.concatenate([found, more])
    return found[found < places]
