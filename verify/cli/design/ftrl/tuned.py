"""What independent noise reaches with learning rate, schedule and batch size of its own, for a given run."""

from __future__ import annotations

import numpy as np

from dpbounds.ftrl.design.objective import Objective
from dpbounds.ftrl.design.tuning import LEAST_STEPS, MOST_STEPS, Base, Search, Setting, Training
from verify.cli.design.ftrl.problem import Run

# Batch sizes that are tried, in units of the run's own.
BATCHES = (1, 4, 16, 64)


def tuned_independent(given: Run) -> float | None:
    """Least total loss over learning rates, constant and linear, with batches up to 64 times as large; None where there
    is nothing to tune: no start to forget, gradients without noise, weights of one's own.
    """
    objective, epochs = given.objective, given.participation.times
    if objective.noise_share == 0 or objective.bias == 0 or not isinstance(objective.weights, str):
        return None
    n = (objective.steps // epochs) * given.batch_size
    sizes = [given.batch_size * factor for factor in BATCHES]
    sizes = [size for size in sizes if LEAST_STEPS <= epochs * (n // size) <= MOST_STEPS]
    if n < LEAST_STEPS or not sizes:
        return None
    training = Training(
        eigenvalues=given.eigenvalues,
        n=n,
        rho=given.budget.rho,
        initial=np.asarray(objective.initial, dtype=float),
        sigma_sgd=objective.sigma_sgd,
        clip_norm=given.clip_norm,
        epochs=epochs,
        weights=objective.weights,
        batch_sizes=tuple(sizes),
    )

    def cost(setting: Setting, base: Base, _: Objective | None) -> float:
        return epochs * base.trace * training.variance(setting.batch_size)

    return Search(training=training).least(cost)[0][0]
