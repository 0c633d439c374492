"""Search over learning rate, schedule and batch size for the least total loss, one kind of noise at a time.

A setting (batch size m, schedule, eta) has one Gram matrix, which every kind of noise shares: its bias, gradient noise
and tr G are computed once. Total loss as a function of log eta is searched on a grid, then between the neighbours of
the best point of every setting that can still win.

>>> training = Training(eigenvalues=np.ones(2), n=64, rho=1.0, initial=1.0, batch_sizes=(4,), schedules=("constant",))
>>> def cost(setting, base, objective):  # independent noise
...     return base.trace * training.variance(setting.batch_size)
>>> ((total, setting),) = LearningRateSearch(training=training).least(cost)
>>> setting.batch_size, total < 0.1
(4, True)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import LARGEST, DomainError, all_moderate, choice, count, listed, moderate, moderate_or_zero
from dpbounds.ftrl.design.objective import WEIGHTS, Objective, largest_stable_rate
from dpbounds.ftrl.design.participation import Participation
from dpbounds.ftrl.design.schedules import SCHEDULES, learning_rates

# Batch sizes are powers of this; with these numbers of steps.
BATCH_FACTOR, LEAST_STEPS, MOST_STEPS = 4, 16, 16_384
# The grid of eta: by this factor from the largest down to this over the number of steps; settings whose best point on
# it is above the least total by more than MARGIN (times what is asked for) are left there.
GRID_FACTOR, SLOWEST, MARGIN = 2.0, 0.1, 1.3
# Learning rates are at most this share of the least that is not stable.
STABLE = 0.98
# Width in log eta at which the search ends: total loss is then within 1e-4 of its least.
WIDTH = 0.02


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is chosen beside the noise."""

    batch_size: int
    schedule: str
    eta: float


@typed
@dataclass(frozen=True, eq=False, kw_only=True)
class Training:
    """A data set of n records, what is to be learned from it, and the budget (zCDP, zero-out).

    `initial`: squared start distances along the eigenvectors, one number or (d,). `epochs` passes in one fixed order:
    a record takes part every n / m steps. `largest_eta`: learning rates tried are at most this, and inside stability.
    Raises `DomainError` for values outside their ranges.
    """

    eigenvalues: np.ndarray
    n: int
    rho: float
    initial: float | np.ndarray
    sigma_sgd: float = 0.0
    clip_norm: float = 1.0
    epochs: int = 1
    weights: str = "final"
    batch_sizes: tuple[int, ...] = ()
    schedules: tuple[str, ...] = ("constant", "linear")
    largest_eta: float = LARGEST

    def __post_init__(self) -> None:
        object.__setattr__(self, "eigenvalues", all_moderate("eigenvalues", self.eigenvalues))
        count("n", self.n, LEAST_STEPS)
        moderate("rho", self.rho)
        moderate("clip_norm", self.clip_norm)
        moderate("largest_eta", self.largest_eta)
        moderate_or_zero("sigma_sgd", self.sigma_sgd)
        count("epochs", self.epochs)
        choice("weights", self.weights, WEIGHTS)
        for name in listed("schedules", self.schedules):
            choice("schedules", name, SCHEDULES)
        if not self.schedules:
            raise DomainError("schedules", self.schedules, "one at least")
        sizes = tuple(listed("batch_sizes", self.batch_sizes)) or self._powers()
        for size in sizes:
            if not 1 <= self.steps(count("batch_sizes", size, most=self.n)) <= MOST_STEPS:
                allowed = f"such that epochs n / m is at most {MOST_STEPS} steps"
                raise DomainError("batch_sizes", size, allowed, "take larger batches")
        object.__setattr__(self, "batch_sizes", sizes)
        if float(np.max(self.initial)) <= 0:
            raise DomainError("initial", self.initial, "above 0 somewhere", "without a start there is nothing to learn")

    def _powers(self) -> tuple[int, ...]:
        """Powers of 4 with 16 to 16,384 steps; n itself at most."""
        powers = [BATCH_FACTOR**i for i in range(60) if BATCH_FACTOR**i <= self.n]
        fitting = tuple(m for m in powers if LEAST_STEPS <= self.steps(m) <= MOST_STEPS)
        if not fitting:
            allowed = f"such that some power of 4 as batch size gives {LEAST_STEPS} to {MOST_STEPS} steps"
            raise DomainError("n", self.n, allowed, "give batch_sizes")
        return fitting

    def steps(self, batch_size: int) -> int:
        """T = epochs (n // m): what is left of an epoch is left out."""
        return self.epochs * (self.n // batch_size)

    def participation(self, batch_size: int) -> Participation:
        """In one fixed order."""
        return Participation.of_epochs(self.epochs, self.steps(batch_size))

    def objective(self, setting: Setting) -> Objective:
        """What the run costs."""
        steps = self.steps(setting.batch_size)
        return Objective(
            self.eigenvalues,
            steps,
            schedule=learning_rates(setting.schedule, setting.eta, steps),
            weights=self.weights,
            batch_size=setting.batch_size,
            initial=self.initial,
            sigma_sgd=self.sigma_sgd,
        )

    def variance(self, batch_size: int, noise_multiplier: float | None = None) -> float:
        """Of one coordinate of one draw of noise of unit sensitivity, or of that noise multiplier."""
        squared = 1.0 / (2.0 * self.rho) if noise_multiplier is None else noise_multiplier**2
        return squared * (self.clip_norm / batch_size) ** 2

    def floor(self, setting: Setting, momentum: float = 0.0) -> float:
        """What n records leave unknown, in population risk above its minimum, once a run has learned them.

        (sigma^2 / 2n) sum_t omega_t sum_j (1 - Phi_tj)^2, Phi_tj what is left of the start along eigenvector j after t
        steps: theta_t is on the way to the records' own minimiser, whose covariance about theta* is sigma^2 H^-1 / n.
        """
        rates = learning_rates(setting.schedule, setting.eta, self.steps(setting.batch_size))
        left, velocity, total = np.ones(len(self.eigenvalues)), np.zeros(len(self.eigenvalues)), 0.0
        for eta, weight in zip(rates, self.objective(setting).omega, strict=True):
            velocity = momentum * velocity + self.eigenvalues * left
            left = left - eta * velocity
            total += weight * float(np.sum((1.0 - left) ** 2))
        return self.sigma_sgd**2 / (2.0 * self.n) * total

    def repeated_noise(self, setting: Setting) -> float:
        """Gradient noise of passes in one fixed order, in population risk: each batch deviates alike in every pass.

        (sigma^2 / 2m) sum_t omega_t sum_j lambda_j^2 sum_b D_tbj^2, D_tbj what the steps on batch b have moved theta_t
        along eigenvector j. A step shrinks all D by 1 - eta_t lambda_j and adds eta_t to its own batch's, so that the
        sum of squares goes on from that one's D alone. The floor is part of it; batches are taken to have the same
        second moments.
        """
        batches, steps = self.n // setting.batch_size, self.steps(setting.batch_size)
        rates, omega = learning_rates(setting.schedule, setting.eta, steps), self.objective(setting).omega
        factors = 1.0 - np.outer(rates, self.eigenvalues)
        # What all steps before t shrink: its logarithm, and how often it changes sign.
        logs = np.cumsum(np.log(np.maximum(np.abs(factors), 1e-300)), axis=0)
        turns = np.cumsum(factors < 0, axis=0)
        added, squares, total = np.zeros_like(factors), np.zeros(len(self.eigenvalues)), 0.0
        for t, (eta, weight) in enumerate(zip(rates, omega, strict=True)):
            last, moved = t - batches, np.zeros(len(self.eigenvalues))
            if last >= 0:  # the last step on the same batch, and the steps in between
                sign = 1.0 - 2.0 * ((turns[t - 1] - turns[last]) % 2)
                moved = added[last] * sign * np.exp(logs[t - 1] - logs[last])
            added[t] = factors[t] * moved + eta
            squares = factors[t] ** 2 * squares + 2.0 * eta * factors[t] * moved + eta**2
            total += weight * float(self.eigenvalues**2 @ squares)
        return self.sigma_sgd**2 / (2.0 * setting.batch_size) * total

    def fastest(self, batch_size: int) -> float:
        """Largest eta tried."""
        return min(self.largest_eta, STABLE * largest_stable_rate(self.eigenvalues, 1.0 / batch_size))

    def grid(self, batch_size: int) -> np.ndarray:
        """Learning rates of the first look, from the largest."""
        top = self.fastest(batch_size)
        least = SLOWEST / (self.steps(batch_size) * float(self.eigenvalues.max()))
        return top / GRID_FACTOR ** np.arange(2 + max(0, math.floor(math.log(top / least, GRID_FACTOR))))


@dataclass(frozen=True)
class Base:
    """What every kind of noise shares at a setting: bias, gradient noise, tr G."""

    bias: float
    sgd_noise: float
    trace: float


# Noise power times squared sensitivity and variance, in units of loss.
Cost = Callable[[Setting, Base, Objective | None], float]


@dataclass(eq=False, kw_only=True)
class LearningRateSearch:
    """The search of one training, done by `least` and `around`; remembers what all kinds of noise share."""

    training: Training
    known: dict[Setting, Base] = field(default_factory=dict)

    def base(self, setting: Setting) -> tuple[Base, Objective | None]:
        """Computed once; the objective itself only the first time."""
        if setting in self.known:
            return self.known[setting], None
        objective = self.training.objective(setting)
        base = Base(objective.bias, objective.sgd_noise, float(objective.diagonal().sum()))
        self.known[setting] = base
        return base, objective

    def least(self, cost: Cost, margin: float = 1.0) -> list[tuple[float, Setting]]:
        """Total loss at its least for each batch size and schedule that can come within `margin` of the best, in order.

        Noise only adds: a setting whose bias and gradient noise are above the least total is not looked at.
        """
        coarse: dict[tuple[int, str], list[tuple[float, float]]] = {}
        bar = math.inf
        for setting in self._looks():
            base, objective = self.base(setting)
            total = base.bias + base.sgd_noise
            if total < bar:
                total += cost(setting, base, objective)
                bar = min(bar, MARGIN * margin * total)
            else:
                total = math.inf
            coarse.setdefault((setting.batch_size, setting.schedule), []).append((total, setting.eta))
        chosen = {pair: points for pair, points in coarse.items() if min(points)[0] <= bar}
        return sorted(
            (self._refined(cost, *pair, points) for pair, points in chosen.items()), key=lambda found: found[0]
        )

    def around(self, setting: Setting, cost: Cost, total: float) -> tuple[float, Setting]:
        """The least total loss at other learning rates near this one, where it is `total`."""
        return self._refined(cost, setting.batch_size, setting.schedule, [(total, setting.eta)])

    def _looks(self) -> Iterator[Setting]:
        """The grid, large batches first: they cost least."""
        for size in sorted(self.training.batch_sizes, reverse=True):
            for schedule in self.training.schedules:
                for eta in self.training.grid(size):
                    yield Setting(batch_size=size, schedule=schedule, eta=float(eta))

    def _refined(
        self, cost: Cost, size: int, schedule: str, points: list[tuple[float, float]]
    ) -> tuple[float, Setting]:
        """The least total around the best point of the grid."""

        @cache
        def total(log_eta: float) -> float:
            setting = Setting(batch_size=size, schedule=schedule, eta=math.exp(log_eta))
            base, objective = self.base(setting)
            return base.bias + base.sgd_noise + cost(setting, base, objective)

        best, eta = min(points)
        top = math.log(self.training.fastest(size))
        low, high = math.log(eta / GRID_FACTOR), min(math.log(eta * GRID_FACTOR), top)
        found, at = _golden(total, low, high, (best, math.log(eta)))
        return found, Setting(batch_size=size, schedule=schedule, eta=eta if at == math.log(eta) else math.exp(at))


def _golden(
    function: Callable[[float], float], low: float, high: float, known: tuple[float, float]
) -> tuple[float, float]:
    """Least value and its place, to `WIDTH`, by parabolas and golden sections; never worse than the `known` point."""
    from scipy.optimize import minimize_scalar

    found: Any = minimize_scalar(
        function, bounds=(low, high), method="bounded", options={"xatol": WIDTH, "maxiter": 30}
    )
    return min((float(found.fun), float(found.x)), known)
