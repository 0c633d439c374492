"""Clip norms for iv Algorithm 1: noise grows with them, what clipping does falls with them.

Searched among quantiles of the lengths of the gradients at the solution, together with T, for the least predicted error
among those that the prediction can be relied on for: a search of floating-point predictions, no optimum proved.

>>> from dpbounds.iv.isotropic import Isotropic
>>> problem = Isotropic(singular_values=np.ones(1), beta=np.ones(1), q=1, eta=1.0, alpha=0.5)
>>> forecaster = Forecaster(problem=problem, n=5000, sigma_1=1.0, sigma_2=1.0)
>>> found = suggested_clip_norms(forecaster, TwoStageBudget(rho1=5.0, rho2=5.0))
>>> found.steps, found.forecast.reliable
(12, True)
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dpbounds.arguments import typed
from dpbounds.iv.budgets import TwoStageBudget, noise_scales
from dpbounds.iv.clipping import gradient_norms, longest_run
from dpbounds.iv.forecast import LIMITS, Forecast, Forecaster
from dpbounds.iv.general import General

# Shares of the gradients at the solution that are longer than the clip norm; 0 is a fifth above the longest.
SHARES = (0.0, 0.001, 0.003, 0.01, 0.02, 0.04, 0.07)
ROOM = 1.2
# Steps that are tried at most.
MOST_STEPS = 400


class Suggestion(NamedTuple):
    """Clip norms, the T that is best for them, and what they give there."""

    gamma1: float
    gamma2: float
    steps: int
    forecast: Forecast


@typed
def suggested_clip_norms(forecaster: Forecaster, budget: TwoStageBudget) -> Suggestion | None:
    """The best of a grid, one stage after the other; None where no prediction is reliable.

    `budget` says what noise clip norms lead to; its own do not matter. For a data set the quantiles are of its own
    records: clip norms chosen so depend on the data, and cost privacy that no budget here counts.
    """
    start, end = (gradient_norms(forecaster.nodes, forecaster.problem, start=one) for one in (True, False))
    levels = [
        [ROOM * float(max(first.max(), last.max())), *(float(np.quantile(last, 1 - share)) for share in SHARES[1:])]
        for first, last in zip(start, end, strict=True)
    ]
    levels = [[level for level in stage if level > 0] for stage in levels]
    if not all(levels):
        return None
    curve = _Curve(forecaster, budget)
    best = [levels[0][0], levels[1][0]]
    for stage in (0, 1, 0):
        best[stage] = min(levels[stage], key=lambda level, stage=stage: curve.least(*_with(best, stage, level))[0])
    return curve.suggestion(*best)


def _with(pair: list[float], stage: int, level: float) -> tuple[float, float]:
    return (level, pair[1]) if stage == 0 else (pair[0], level)


class _Curve:
    """The predicted error over T for clip norms that do not depend on T."""

    def __init__(self, forecaster: Forecaster, budget: TwoStageBudget) -> None:
        problem = forecaster.problem
        self.forecaster, self.budget = forecaster, budget
        longest = problem.most_steps if isinstance(problem, General) else MOST_STEPS
        last = int(min(MOST_STEPS, longest, longest_run(forecaster.nodes), max(problem.settled_after, 20)))
        self.steps = list(range(1, last + 1))
        unit = replace(budget, gamma1=1.0, gamma2=1.0)
        self.unit_noise = np.array([noise_scales(unit, forecaster.n, T) for T in self.steps], dtype=float)
        self.law = forecaster.expansion(self.steps)
        self.first = np.trace(self.law.first, axis1=1, axis2=2)
        self.second = np.trace(self.law.second, axis1=1, axis2=2)
        self.theta_noise = np.array([forecaster.theta_noise(1.0, T) for T in self.steps])
        self.found: dict[tuple[float, float], tuple[float, int]] = {}

    def least(self, gamma1: float, gamma2: float) -> tuple[float, int]:
        """The least root mean square, and its T; inf where the noise in Theta is too large at every T."""
        if (gamma1, gamma2) not in self.found:
            run = self.forecaster.run(self.steps[-1], gamma1, gamma2)
            noise = self.unit_noise * [gamma1, gamma2]
            off = run.beta[1 : len(self.steps) + 1] + noise[:, :1] ** 2 * self.law.shift - self.forecaster.problem.beta
            square = (off**2).sum(axis=1) + noise[:, 0] ** 2 * self.first + noise[:, 1] ** 2 * self.second
            square[noise[:, 0] * self.theta_noise > LIMITS["theta_noise"][0]] = np.inf
            at = int(np.argmin(square))
            spread = self.forecaster.spread(gamma1, gamma2)
            self.found[gamma1, gamma2] = (float(np.sqrt(square[at] + spread)), self.steps[at])
        return self.found[gamma1, gamma2]

    def suggestion(self, gamma1: float, gamma2: float) -> Suggestion | None:
        error, steps = self.least(gamma1, gamma2)
        if error == np.inf:
            return None
        budget = replace(self.budget, gamma1=gamma1, gamma2=gamma2)
        forecast = self.forecaster.forecast(budget, steps, self.law, steps - 1)
        return Suggestion(gamma1, gamma2, steps, forecast) if forecast.reliable else None
