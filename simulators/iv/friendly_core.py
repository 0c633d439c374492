"""Private moments by a trimmed mean, then 2SLS: a surrogate for FriendlyCore averaging, iv App. F.2.

A utility surrogate, not a private algorithm. The private selection of the core is replaced by a ball around the exact
coordinatewise median, the core's private size by n, and the diameter may be taken from the data; what is kept is the
geometry, the trimming and the Gaussian noise that the budget 0.9 rho leaves for the average. Its output carries no
privacy guarantee.

>>> FriendlyCore(rho=1.0, coverage=0.9).diameter is None
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from dpbounds.arguments import typed
from dpbounds.errors import in_floats, moderate, within
from dpbounds.iv.budgets import zcdp_budget
from simulators.engine import Arrays, Streams, trial_count
from simulators.iv.problems import Problem
from simulators.iv.recording import distance
from simulators.iv.samples import MomentSample, RecordSample, average, block_sizes

# Share of the budget that pays for the average; the rest goes to the core (iv App. F.2).
_AVERAGE_SHARE = 0.9
# Least eigenvalue in units of the largest with which a matrix is still positive definite in floats.
_ROUNDING = 1e-13


@dataclass(frozen=True, kw_only=True)
class FriendlyCore:
    """How the surrogate is run.

    - `rho`: zCDP budget of the algorithm it stands for, of which 0.9 goes to the average; inf adds no noise.
    - `diameter`: r, an upper limit on distances in the core; None takes the effective diameter of the data, twice the
      `coverage` quantile of the distances to the median.
    - `coverage`: share of the records that an effective diameter keeps, in (0, 1].
    - `least_eigenvalue`: the noisy Z'Z/n is moved to the nearest matrix whose eigenvalues are at least this.

    Raises `DomainError` for values outside their ranges.
    """

    rho: float
    diameter: float | None = None
    coverage: float = 1.0
    least_eigenvalue: float = 1e-6

    def __post_init__(self) -> None:
        zcdp_budget("rho", self.rho)
        if self.diameter is not None:
            moderate("diameter", self.diameter)
        within("coverage", self.coverage, "(0, 1]")
        moderate("least_eigenvalue", self.least_eigenvalue)
        numbers = ("rho", "diameter", "coverage", "least_eigenvalue")
        in_floats(self, *(name for name in numbers if getattr(self, name) is not None))


@typed
def friendly_core(problem: Problem, settings: FriendlyCore, streams: Streams, trials: int) -> Arrays:
    """2SLS on noisy means of s_i = (svec z_i z_i', vec z_i x_i', z_i y_i) over the core, d = q(q+1)/2 + qp + q.

    svec scales what is off the diagonal by sqrt 2, so that distances are Frobenius distances. The core holds the
    records within r/2 of the median; the noise has standard deviation 2r / (n sqrt(1.8 rho)) per coordinate.

    Arrays with leading axis trials: `beta` and `beta_hat` (trials, p); `error_hat`, and where the true beta is known
    `error_true` and `two_stage_error`, as in `two_stage_descent`; `diameter` r; `core` the share of records in the
    core; `noise` the standard deviation; `moment_error` the distance of the noisy means from the exact ones. A trial
    with an empty core has beta 0 and infinite errors.
    """
    q, p = problem.dimensions
    trials = trial_count(trials)
    sizes = block_sizes(problem.n * (2 * q + 3 * p + 6), trials)
    parts = [_block(problem, settings, streams, size) for size in sizes]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def distances_to_median(records: RecordSample) -> Float[np.ndarray, "trials n"]:
    """||s_i - med||, med the coordinatewise median; memory O(n (q + p)) per trial, not O(n d)."""
    Z, q = records.instruments, records.instruments.shape[1]
    squares = np.zeros(records.outcome.shape)
    for row in range(q):
        products = Z[:, row : row + 1] * np.concatenate(
            [Z[:, row:], records.regressors, records.outcome[:, None]], axis=1
        )
        weights = np.ones(products.shape[1])
        weights[1 : q - row] = 2.0
        squares += weights @ (products - np.median(products, axis=2, keepdims=True)) ** 2
    return np.sqrt(squares)


def _block(problem: Problem, settings: FriendlyCore, streams: Streams, trials: int) -> Arrays:
    """The arrays of one block of trials."""
    records = problem.draw(streams.data, trials, records=True).records
    distances = distances_to_median(records)
    if settings.diameter is None:
        diameter = 2.0 * np.quantile(distances, settings.coverage, axis=1)
    else:
        diameter = np.full(len(distances), settings.diameter)
    core = distances <= 0.5 * diameter[:, None]
    noise = 2.0 * diameter / (problem.n * math.sqrt(2.0 * _AVERAGE_SHARE * settings.rho))
    private = _noisy(_restricted(records, core), noise, streams.noise, trials)
    found = {"diameter": diameter, "core": core.mean(axis=1), "noise": noise}
    found["moment_error"] = _moment_distance(private, records.moments)
    found["beta"] = _regular(private, settings.least_eigenvalue).beta_hat
    found["beta_hat"] = records.moments.beta_hat
    found["error_hat"] = distance(found["beta"], found["beta_hat"])
    if problem.beta is not None:
        found["error_true"] = distance(found["beta"], problem.beta[None])
        found["two_stage_error"] = distance(found["beta_hat"], problem.beta[None])
    arrays = {name: np.broadcast_to(values, (trials, *values.shape[1:])).copy() for name, values in found.items()}
    empty = arrays["core"] == 0
    arrays["beta"][empty] = 0.0
    for name in arrays.keys() & {"moment_error", "error_hat", "error_true"}:
        arrays[name][empty] = np.inf
    return arrays


def _restricted(records: RecordSample, core: Bool[np.ndarray, "trials n"]) -> MomentSample:
    """Averages over the core; over everything where it is empty, so that the trial can be carried along."""
    core = core | ~core.any(axis=1, keepdims=True)
    Z, scale = records.instruments * core[:, None, :], 1.0 / core.mean(axis=1)
    A, G = (average(Z, other) * scale[:, None, None] for other in (records.instruments, records.regressors))
    b = average(Z, records.outcome[:, None, :])[..., 0] * scale[:, None]
    return MomentSample(A=A, G=G, b=b)


def _noisy(moments: MomentSample, noise: np.ndarray, generator: np.random.Generator, trials: int) -> MomentSample:
    """Independent noise on the coordinates of s: entries of A off the diagonal get it divided by sqrt 2."""
    q, p = moments.G.shape[1:]
    drawn = np.tril(generator.standard_normal((trials, q, q)))
    below = np.tril(drawn, -1) / math.sqrt(2.0)
    symmetric = drawn * np.eye(q) + below + np.swapaxes(below, 1, 2)
    return MomentSample(
        A=moments.A + noise[:, None, None] * symmetric,
        G=moments.G + noise[:, None, None] * generator.standard_normal((trials, q, p)),
        b=moments.b + noise[:, None] * generator.standard_normal((trials, q)),
    )


def _regular(moments: MomentSample, least: float) -> MomentSample:
    """The same moments with the eigenvalues of A raised to `least`, or to what rounding leaves of the largest."""
    eigenvalues, vectors = np.linalg.eigh(moments.A)
    floor = np.maximum(least, _ROUNDING * eigenvalues[:, -1:])
    raised = (vectors * np.maximum(eigenvalues, floor)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    return MomentSample(A=raised, G=moments.G, b=moments.b)


def _moment_distance(left: MomentSample, right: MomentSample) -> Float[np.ndarray, " trials"]:
    """Euclidean distance of two vectors of moments in the metric of s."""
    squares = ((left.A - right.A) ** 2).sum(axis=(1, 2)) + ((left.G - right.G) ** 2).sum(axis=(1, 2))
    return np.sqrt(squares + ((left.b - right.b) ** 2).sum(axis=1))
