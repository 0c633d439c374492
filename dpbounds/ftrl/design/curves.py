"""Total loss over the learning rate, each noise held fixed, beside what no noise is below: the numbers of `--plot`.

A lower bound holds at the learning rates at which it was computed, and nowhere else: between two of them the straight
line may lie above a loss that is reached. So its points are points, and no line.

>>> from dpbounds.ftrl.design.best import best
>>> run = best(Objective(np.array([1.0, 0.5]), 16, eta=0.3, batch_size=8, initial=1.0, weights="final"), buffers=1)
>>> *mechanisms, least = run_curves(run)
>>> [curve.label for curve in mechanisms], least.label, bool(np.all(least.total <= mechanisms[-1].total))
(['independent', 'prefix sum', 'designed'], 'any noise', True)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError
from dpbounds.ftrl.design.best import Design
from dpbounds.ftrl.design.bounds import lower_bound
from dpbounds.ftrl.design.objective import Objective
from dpbounds.ftrl.design.planner import PlanRow
from dpbounds.ftrl.design.planning import Plan

# Factors of the learning rate, a quarter to four times in 12 equal steps; those of the lower bound in runs of more than
# LONG steps, where it takes most of the time.
FACTORS = tuple(np.geomspace(0.25, 4.0, 13).tolist())
LONG, FEW = 128, FACTORS[::3]
# Relative gap to which lower bounds are computed.
TOLERANCE = 1e-3

Role = Literal["exact", "lower"]


@dataclass(frozen=True, kw_only=True, eq=False)
class LossCurve:
    """Total losses (n,) at learning rates `eta` (n,), exact or lower bounds; eta is that of the first step."""

    label: str
    role: Role
    eta: Float[np.ndarray, " n"]
    total: Float[np.ndarray, " n"]


@typed
def loss_curve(
    objective: Objective,
    privacy_noise: Callable[[Objective], float],
    *,
    label: str = "",
    role: Role = "exact",
    factors: Sequence[float] = FACTORS,
) -> LossCurve:
    """Total loss of the run with all its learning rates times a factor: bias, gradient noise and `privacy_noise`, which
    is told the run and answers in units of loss.

    Factors above 1 at which the run is not stable are left out. Raises `DomainError` for others.
    """
    eta, total = [], []
    for factor in factors:
        try:
            run = objective.faster(factor)
        except DomainError:
            if factor <= 1.0:
                raise
            continue
        eta.append(float(run.learning_rates[0]))
        total.append(run.bias + run.sgd_noise + privacy_noise(run))
    return LossCurve(label=label, role=role, eta=np.array(eta), total=np.array(total))


@typed
def run_curves(design: Design) -> tuple[LossCurve, ...]:
    """A curve for each row of a design, and points below which no noise is, each at its own learning rate."""
    objective = design.objective

    def least(run: Objective) -> float:
        return design.variance * float(lower_bound(run, design.participation, tolerance=TOLERANCE))

    curves = []
    for row in design.rows:
        scale = float(row.sensitivity) ** 2 * design.variance

        def noise(run: Objective, row=row, scale=scale) -> float:
            return scale * run.noise_power(row.correlation)

        curves.append(loss_curve(objective, noise, label=row.label))
    factors = FACTORS if objective.steps <= LONG else FEW
    return (*curves, loss_curve(objective, least, label="any noise", role="lower", factors=factors))


@typed
def plan_curves(plan: Plan) -> tuple[LossCurve, ...]:
    """A curve for each row of a plan around its own learning rate, in its own batch size and schedule."""
    return tuple(_plan_curve(plan, row) for row in plan.rows)


def _plan_curve(plan: Plan, row: PlanRow) -> LossCurve:
    variance = plan.training.variance(row.setting.batch_size, row.noise_multiplier)

    def noise(run: Objective) -> float:
        return variance * run.noise_power(row.correlation)

    label = f"{row.label}, batch size {row.setting.batch_size}"
    return loss_curve(plan.training.objective(row.setting), noise, label=label)
