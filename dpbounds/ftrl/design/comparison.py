"""The kinds of noise beside one another for a run that is given: what each costs, and how far that is from the least.

Total loss is bias + gradient noise + privacy noise, and the least total of any noise replaces the last by the lower
bound. A bound above a value that was reached would be false: it is an error, never a ratio below 1.

>>> ratio_over(1.0, 0.8)
1.25
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError
from dpbounds.ftrl.correlations import Correlation
from dpbounds.ftrl.design.budget import Budget
from dpbounds.ftrl.design.noise_kinds import LABELS, NoiseKind
from dpbounds.ftrl.design.objective import Loss, Objective
from dpbounds.ftrl.design.participation import Participation
from dpbounds.ftrl.design.tuning import LEAST_STEPS, MOST_STEPS, Base, LearningRateSearch, Setting, Training
from dpbounds.values import Value

# By how much, relatively, floats may make a value smaller than a bound that it reaches.
ROUNDED = 1e-9
# Batch sizes at which independent noise is tuned, in units of the run's own.
BATCHES = (1, 4, 16, 64)


@typed
def ratio_over(value: float, least: float) -> float:
    """value / least, at least 1, for a value that was reached and what no value is below.

    Raises `AccuracyError` where the bound is above the value, `DomainError` where the bound is 0: nothing costs less.
    """
    if not least > 0:
        raise DomainError("weights", least, "such that noise costs something", "every weighted iterate comes too early")
    if not value >= least * (1.0 - ROUNDED):
        raise AccuracyError(f"lower bound: {least:.9g} is above {value:.9g}, which was reached; please report this run")
    return max(1.0, value / least)


@dataclass(frozen=True, kw_only=True, eq=False)
class DesignRow:
    """One kind of noise for the run, and what it costs.

    - `loss`: predicted weighted loss by part, while nothing is clipped; `bound`: the least total of any noise.
    - `value` V = s(C)^2 tr(G B B^T), `least_value` what no mechanism's is below; `sensitivity` s(C) with its kind.
    - `noise_multiplier`: standard deviation of one draw over clip norm, for the sum of a batch's clipped gradients.
    - `gain`: total loss of independent noise over this one's; `gain_tuned`: the same for independent noise with
      learning rate, schedule and batch size of its own, None where there is nothing to tune.
    """

    kind: NoiseKind
    correlation: Correlation
    loss: Loss
    bound: float
    value: float
    least_value: float
    sensitivity: Value
    noise_multiplier: float
    gain: float
    gain_tuned: float | None

    @property
    def label(self) -> str:
        """What tables and plots call it."""
        return LABELS[self.kind]

    @property
    def ratio(self) -> float:
        """Total loss over the least, at least 1."""
        return ratio_over(self.loss.total, self.bound)

    @property
    def noise_ratio(self) -> float:
        """Privacy noise over its least, at least 1."""
        return ratio_over(self.value, self.least_value)


@typed
def tuned_independent(
    objective: Objective, participation: Participation, budget: Budget, *, clip_norm: float = 1.0
) -> float | None:
    """Least total loss of independent noise over learning rates, constant and linear, with batches up to 64 times as
    large, on as many records.

    None where there is nothing to tune: no start to forget, gradients without noise, weights of one's own.
    """
    if objective.noise_share == 0 or objective.bias == 0 or not isinstance(objective.weights, str):
        return None
    epochs, own = participation.times, objective.examples
    n = (objective.steps // epochs) * own
    sizes = [own * factor for factor in BATCHES]
    sizes = [size for size in sizes if LEAST_STEPS <= epochs * (n // size) <= MOST_STEPS]
    if n < LEAST_STEPS or not sizes:
        return None
    training = Training(
        eigenvalues=objective.eigenvalues,
        n=n,
        rho=budget.rho,
        initial=np.asarray(objective.initial, dtype=float),
        sigma_sgd=objective.sigma_sgd,
        clip_norm=clip_norm,
        epochs=epochs,
        weights=objective.weights,
        batch_sizes=tuple(sizes),
    )

    def cost(setting: Setting, base: Base, _: Objective | None) -> float:
        return epochs * base.trace * training.variance(setting.batch_size)

    return LearningRateSearch(training=training).least(cost)[0][0]
