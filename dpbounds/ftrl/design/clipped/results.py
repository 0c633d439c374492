"""What a forecast of a clipped run says, and the settings that both forms of it take.

>>> refreshed(6, 4).tolist(), refreshed(3, 4).tolist()
([True, True, True, True, True, True], [True, True, True])
>>> infinite_where_zero(2.0, np.array([4.0, 0.0])).tolist()
[0.5, inf]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError, choice, count, moderate, moderate_or_zero, vector, within
from dpbounds.ftrl.correlations import Correlation
from dpbounds.ftrl.correlations.base import LARGEST_HORIZON
from dpbounds.ftrl.design.streams import StateSpace, state_space
from dpbounds.values import Value

# One fixed order of the records again and again, a draw of its own for every step, examples that are never seen twice.
Order = Literal["fixed", "poisson", "fresh"]
ORDERS: tuple[Order, ...] = get_args(Order)


@dataclass(frozen=True, kw_only=True, eq=False)
class ClippedForecast:
    """E F(theta_t) by part for t = 1..T, F above its minimum without clipping: 1/2 ||theta - theta*||_H^2 for least
    squares. Estimates, without an error bound.

    `share_clipped`: of the gradients of each step, (T,). Parts: of the mean iterate, of privacy noise, of sampling.
    """

    biases: Float[np.ndarray, " T"]
    privacies: Float[np.ndarray, " T"]
    samplings: Float[np.ndarray, " T"]
    share_clipped: Float[np.ndarray, " T"]

    @property
    def bias(self) -> float:
        """Of the mean of the last iterate."""
        return float(self.biases[-1])

    @property
    def privacy(self) -> float:
        """Of the noise, at the last iterate."""
        return float(self.privacies[-1])

    @property
    def sampling(self) -> float:
        """Of the choice of examples, at the last iterate."""
        return float(self.samplings[-1])

    @property
    def loss(self) -> Value:
        """E F(theta_T)."""
        total = self.bias + self.privacy + self.sampling
        return Value(total, kind="estimate", source="dpbounds, Gaussian closure", convention="F with 1/2")

    @property
    def excursion(self) -> float:
        """The largest part of privacy noise during the run: far above the last one, it makes clipping cost more."""
        return float(self.privacies.max())

    @typed
    def weighted(self, omega: Float[np.ndarray, " T"]) -> float:
        """sum_t omega_t E F(theta_t). Raises `DomainError` for weights of another length."""
        weights = vector("omega", omega, length=len(self.biases), per="step")
        return float(weights @ (self.biases + self.privacies + self.samplings))


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """The settings of a clipped run, checked."""

    space: StateSpace
    schedule: Float[np.ndarray, " T"]
    clip_norm: float
    deviation: float
    batch_size: int
    order: str
    momentum: float

    @property
    def steps(self) -> int:
        """T."""
        return len(self.schedule)

    @property
    def parts(self) -> int:
        """Of the state: theta, and with momentum the velocity v."""
        return 1 if self.momentum == 0 else 2

    def step(self, t: int, slope: Float[np.ndarray, "... d d"]) -> tuple[np.ndarray, np.ndarray]:
        """What step t does to the state where gradients have this `slope`, and what an addition to the gradient does:
        matrices of `parts` d rows, for v <- momentum v + g, theta <- theta - eta_t v.
        """
        eta, mu, one = self.schedule[t], self.momentum, np.broadcast_to(np.eye(slope.shape[-1]), slope.shape)
        if self.parts == 1:
            return one - eta * slope, -eta * one
        transition = np.block([[one - eta * slope, -eta * mu * one], [slope, mu * one]])
        return transition, np.concatenate([-eta * one, one], axis=-2)


def run_of(
    correlation: Correlation,
    schedule: object,
    clip_norm: object,
    noise_multiplier: object,
    batch_size: object,
    order: object,
    momentum: object,
) -> Run:
    """The settings, or `DomainError` for the first that is outside its range."""
    rates = vector("schedule", schedule, above=0.0)
    steps = count("the length of schedule", len(rates), most=LARGEST_HORIZON)
    moderate("the largest of schedule", float(rates.max()))
    clip, size = moderate("clip_norm", clip_norm), count("batch_size", batch_size, most=10**15)
    multiplier = moderate_or_zero("noise_multiplier", noise_multiplier)
    if not isinstance(order, str):
        raise DomainError("order", order, f"one of {', '.join(ORDERS)}")
    return Run(
        space=state_space(correlation, steps),
        schedule=rates,
        clip_norm=clip,
        deviation=clip * multiplier / size,
        batch_size=size,
        order=choice("order", order, ORDERS),
        momentum=within("momentum", momentum, "[0, 1)"),
    )


def start_of(parameter: str, given: object, d: int) -> np.ndarray:
    """Where the run starts, (d,), 0 if not given; `DomainError` for another length."""
    return np.zeros(d) if given is None else vector(parameter, given, length=d, per="column of features")


def finished(paths: Float[np.ndarray, "4 T"]) -> ClippedForecast:
    """The forecast from its four rows. Raises `AccuracyError` where they are not finite."""
    if not np.isfinite(paths).all():
        step = int(np.flatnonzero(~np.isfinite(paths).all(axis=0))[0])
        raise AccuracyError(f"the loss overflows in step {step + 1}; take smaller learning rates")
    biases, privacies, samplings, shares = paths
    return ClippedForecast(biases=biases, privacies=privacies, samplings=samplings, share_clipped=shares)


def refreshed(steps: int, looks: int) -> Bool[np.ndarray, " T"]:
    """Which steps compute their means anew: all of few; else the first ones, half of the others evenly and half by
    their logarithm, since a run changes fastest at its start.
    """
    if steps <= looks:
        return np.ones(steps, dtype=bool)
    half = looks // 2
    chosen = np.concatenate([np.linspace(0, steps - 1, half), np.geomspace(1, steps, half) - 1, np.arange(8)])
    marked = np.zeros(steps, dtype=bool)
    marked[np.minimum(np.floor(chosen).astype(int), steps - 1)] = True
    return marked


def infinite_where_zero(clip_norm: float, norms: np.ndarray) -> np.ndarray:
    """c / ||x||, inf for x = 0: such a record has no gradient."""
    return np.divide(clip_norm, norms, out=np.full(norms.shape, math.inf), where=norms > 0)
