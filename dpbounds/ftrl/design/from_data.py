"""From data: the spectrum that a design needs, and the loss that private logistic regression will end at.

DP mini-batch training theta_{t+1} = theta_t - eta_t (g_t + w~_t) from theta_0 = 0, with g_t the mean over a batch of
clipped gradients (p_i - y_i) x_i, p_i = expit(<x_i, theta>), and w~ = c B w, w standard normal in every coordinate.
Given the batches, chance enters by w alone. Each step is linearised,

    E theta_{t+1} = E theta_t - eta_t E g_t,        delta_{t+1} = (I - eta_t H_t) delta_t - eta_t w~_t,

and the covariance of delta and of the mechanism's buffers follows by an exact recursion. Taken along the noiseless path
(`path`), g_t and H_t are the gradient and the Hessian there; taken in law (`law`), they are means over theta_t ~ N(E
theta_t, Cov theta_t), which also moves the path.

The path is computed from the features and labels that are given. It is NOT private: give public or proxy data, never
the private records of the run.

>>> features = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
>>> spectrum_of(features).round(9).tolist()
[0.75, 0.75]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, count, moderate, real_array, vector
from dpbounds.ftrl.correlations import Correlation
from dpbounds.ftrl.correlations.base import LARGEST_HORIZON
from dpbounds.ftrl.design.logistic import ClippedLogistic
from dpbounds.ftrl.design.participation import Participation, sensitivity
from dpbounds.ftrl.design.streams import StateSpace, state_space
from dpbounds.values import Value

WARNING = "computed from the features and labels given: they must be public or proxy data, not the private records"
# Dimensions of which covariance matrices with every buffer are held; numbers held with a dense mechanism (400 MB).
LARGEST_DIMENSION, LARGEST_STATE = 1000, 50_000_000
# Eigenvalues below this share of the largest are rounding.
NEGLIGIBLE = 1e-12

Curvature = Literal["squared", "logistic"]
Linearisation = Literal["law", "path"]


@typed
def spectrum_of(features: Float[np.ndarray, "n d"], *, loss: Curvature = "squared") -> Float[np.ndarray, " k"]:
    """Eigenvalues of the mean Hessian, largest first: X^T X / n for squared loss, X^T X / (4 n) for logistic loss at 0.

    For `Objective(eigenvalues=...)`. Those that are 0 up to rounding are left out: no gradient points there and no loss
    depends on it. The spectrum is as private as the features: give public or proxy data. Raises `DomainError` for
    features that are not finite or all 0.
    """
    X = table("features", features)
    share = 0.25 if choice("loss", loss, ("squared", "logistic")) == "logistic" else 1.0
    eigenvalues = share * np.linalg.svd(X, compute_uv=False) ** 2 / len(X)
    if not eigenvalues[0] > 0:
        raise DomainError("features", "zeros", "numbers that are not all 0")
    return eigenvalues[eigenvalues > NEGLIGIBLE * eigenvalues[0]]


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class LogisticTraining:
    """DP mini-batch training on `rows` private records in a fixed order, again and again until `steps` are done.

    - `batch_size` m: an epoch is b = rows // m steps, and what is left of the rows is not used.
    - `eta`, or `schedule` of shape (T,).
    - `rho`: zCDP budget of the run under zero-out adjacency; inf adds no noise. `clip_norm` bounds every gradient.

    Raises `DomainError` for values outside their ranges.
    """

    correlation: Correlation
    steps: int
    rows: int
    batch_size: int
    rho: float
    eta: float | None = None
    schedule: Float[np.ndarray, " T"] | None = None
    clip_norm: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", count("steps", self.steps, most=LARGEST_HORIZON))
        if count("batch_size", self.batch_size) > count("rows", self.rows):
            raise DomainError("batch_size", self.batch_size, f"at most the {self.rows} rows")
        if not (isinstance(self.rho, float) and self.rho == math.inf):
            moderate("rho", self.rho, "inf adds no noise")
        moderate("clip_norm", self.clip_norm)
        if (self.eta is None) == (self.schedule is None):
            raise DomainError("eta", self.eta, "given, or else schedule", "give one of eta and schedule")
        if self.schedule is None:
            moderate("eta", self.eta)
        else:
            schedule = vector("schedule", self.schedule, above=0.0, length=self.steps, per="step")
            object.__setattr__(self, "schedule", schedule)

    @property
    def learning_rates(self) -> Float[np.ndarray, " T"]:
        """eta_t of step t = 0..T-1."""
        return np.full(self.steps, self.eta) if self.schedule is None else vector("schedule", self.schedule)

    @property
    def epoch(self) -> int:
        """Steps b between two uses of one record."""
        return self.rows // self.batch_size

    @property
    def participation(self) -> Participation:
        """Every record in the steps o, o + b, ... of one offset o < b."""
        times = -(-self.steps // self.epoch)
        return Participation.single() if times == 1 else Participation.cyclic(times, self.epoch)

    @property
    def noise_deviation(self) -> float:
        """c = s(C) clip_norm / (sqrt(2 rho) m): the noise in one coordinate of the mean gradient is c (B w)_t."""
        if math.isinf(self.rho):
            return 0.0
        largest = float(sensitivity(self.correlation, self.steps, self.participation))
        return largest * self.clip_norm / (math.sqrt(2.0 * self.rho) * self.batch_size)

    def batch(self, step: int, order: Int[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
        """The rows of step t: batch t mod b of `order`, which is repeated where it has fewer than b m entries."""
        first = (step % self.epoch) * self.batch_size
        return np.take(order, np.arange(first, first + self.batch_size), mode="wrap")


@dataclass(frozen=True, kw_only=True, eq=False)
class Forecast:
    """Where training is expected to end; losses are mean log losses over the rows given, at the last iterate.

    `noiseless` is the loss of the same training without noise, `clipped` the mean share of gradients that are clipped,
    `warning` whose data it must not be.
    """

    loss: Value
    noiseless: float
    clipped: float
    mean: Float[np.ndarray, " d"]
    covariance: Float[np.ndarray, "d d"]
    warning: str = WARNING

    @property
    def cost_of_noise(self) -> float:
        """What privacy adds to the loss."""
        return float(self.loss) - self.noiseless


def labelled(features: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, d) of not too many columns and their labels 0 or 1 (n,). Raises `DomainError` for others."""
    X = table("features", features)
    y = vector("labels", labels, length=len(X), per="row of features")
    if not np.isin(y, (0.0, 1.0)).all():
        raise DomainError("labels", float(y[~np.isin(y, (0.0, 1.0))][0]), "0 or 1")
    if X.shape[1] > LARGEST_DIMENSION:
        raise DomainError("features", f"{X.shape[1]} columns", f"at most {LARGEST_DIMENSION}", "project them")
    return X, y


@typed
def predict_logistic(
    features: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " labels"],
    training: LogisticTraining,
    *,
    orders: Sequence[np.ndarray] | None = None,
    linearise: Linearisation = "law",
) -> list[Forecast]:
    """The loss that `training` is expected to end at, from public or proxy data; a forecast for every order of rows.

    `features` (n, d), with a column of ones if there is an intercept, `labels` 0 or 1. n need not be `training.rows`:
    the proxy data stand for the private ones, in the same number of batches. `orders` are lists of row numbers
    (default: as they stand, which must then be random); average over several to include the chance of the batches.
    `linearise`: in `law`, or about the noiseless `path`, which needs smaller noise to be near.

    The numbers are estimates: Gaussian closure, no error bound. Nothing here is private. Raises `DomainError` for
    labels other than 0 and 1, lengths that do not fit, more dimensions or dense steps than can be held.
    """
    X, y = labelled(features, labels)
    choice("linearise", linearise, ("law", "path"))
    problem = ClippedLogistic(X, y, training.clip_norm, law=linearise == "law")
    filtered = state_space(training.correlation, training.steps)
    if filtered.size * X.shape[1] ** 2 > LARGEST_STATE:
        raise DomainError(
            "steps", training.steps, f"at most {LARGEST_STATE} over d^2 for a mechanism without buffers", "take a BLT"
        )
    lists = [np.arange(len(X))] if orders is None else [_order(order, len(X)) for order in orders]
    noiseless = ClippedLogistic(X, y, training.clip_norm, law=False)
    return [_forecast(problem, noiseless, training, filtered, order) for order in lists]


def _forecast(
    problem: ClippedLogistic,
    noiseless: ClippedLogistic,
    training: LogisticTraining,
    filtered: StateSpace,
    order: np.ndarray,
) -> Forecast:
    mean, covariance, clipped = _moments(problem, training, filtered, training.noise_deviation, order)
    still, _, _ = _moments(noiseless, training, None, 0.0, order)
    nothing = np.zeros_like(covariance)
    return Forecast(
        loss=Value(problem.loss(mean, covariance), kind="estimate", source="dpbounds", convention="mean log loss"),
        noiseless=noiseless.loss(still, nothing),
        clipped=clipped,
        mean=mean,
        covariance=covariance,
    )


def _moments(
    problem: ClippedLogistic,
    training: LogisticTraining,
    filtered: StateSpace | None,
    deviation: float,
    order: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean and covariance of the last iterate, and the mean share of clipped gradients; no noise without a filter."""
    d = problem.features.shape[1]
    mean, clipped, identity = np.zeros(d), 0.0, np.eye(d)
    joint = None if filtered is None else JointMoments(filtered, identity.shape, deviation)
    covariance = np.zeros((d, d))
    for t, eta in enumerate(training.learning_rates):
        means = problem.means(mean, covariance, training.batch(t, order))
        clipped += means.share / training.steps
        mean = mean - eta * means.gradient
        if joint is not None:
            covariance = joint.advance(t, identity - eta * means.slope, -eta * identity)
    return mean, covariance, clipped


class JointMoments:
    """Second moments of delta_{t+1} = A_t delta_t + P_t w~_t and of the state s of the noise, exactly.

    w~_t = c (own_t w_t + <read_t, s_t>), s_{t+1} = R s_t + write_t w_t, independently in every coordinate: so E s s^T =
    Q times the identity, and E delta s_m^T = X_m has the shape of P_t, (D, d), for each of the M entries of the state.
    `shape` is that of P_t; with axes before the last two it is for as many runs, one by one.
    """

    def __init__(self, filtered: StateSpace, shape: tuple[int, ...], deviation: float) -> None:
        self.filtered, self.deviation = filtered, deviation
        self.covariance = np.zeros((*shape[:-1], shape[-2]))
        self.crosses = np.zeros((filtered.size, *shape))
        self.states = np.zeros((filtered.size, filtered.size))

    def advance(
        self, step: int, transition: Float[np.ndarray, "... D D"], push: Float[np.ndarray, "... D d"]
    ) -> Float[np.ndarray, "... D D"]:
        """E delta delta^T after one step with A_t = `transition`, P_t = `push`."""
        f, pushed = self.filtered, self.deviation * push
        own, read, write = f.own[step], f.read[step], f.write[step]
        seen, back = self.states @ read, pushed.swapaxes(-1, -2)
        mixed = transition @ np.tensordot(read, self.crosses, axes=1) @ back
        self.covariance = transition @ self.covariance @ transition.swapaxes(-1, -2)
        self.covariance += (own**2 + read @ seen) * pushed @ back + mixed + mixed.swapaxes(-1, -2)
        self.crosses = transition @ f.advanced(self.crosses)
        self.crosses += np.multiply.outer(f.advanced(seen) + own * write, pushed)
        self.states = f.advanced(f.advanced(self.states).T) + np.outer(write, write)
        return self.covariance


def table(parameter: str, values: object) -> Float[np.ndarray, "n d"]:
    """`values` as a finite non-empty table of floats. Raises `DomainError` for anything else."""
    array = real_array(parameter, values)
    if array.ndim != 2 or array.size == 0 or not np.isfinite(array).all():
        raise DomainError(parameter, f"an array of shape {array.shape}", "a finite non-empty table (n, d)")
    moderate_size = float(np.abs(array).max())
    if moderate_size > 0:
        moderate(f"largest entry of {parameter}", moderate_size)
    return array


def _order(order: object, rows: int) -> np.ndarray:
    array = np.asarray(order)
    whole = array.ndim == 1 and array.size > 0 and array.dtype.kind in "iu"
    if not (whole and array.min() >= 0 and array.max() < rows):
        raise DomainError("orders", f"a list of {array.dtype} in {array.shape}", f"row numbers from 0 to {rows - 1}")
    return array
