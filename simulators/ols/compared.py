"""From a predicted row of `dpbounds.ols.compare` to its simulation on records.

>>> from dpbounds.ols import compare
>>> data = LeastSquares(regressors=np.full((50, 1), 0.5), outcome=np.full(50, 0.25))
>>> found = compare(data.statistics, 1.0)
>>> row = found.under("tight")[6]
>>> runs = experiment_of(row, data, found.choices).run_block(0, seed=0)
>>> row.method, round(float(runs["risk"][0]), 6)
('zero', 3.125)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError
from dpbounds.ols.methods import Choices, Compared
from dpbounds.ols.newton import Newton
from dpbounds.ols.scales import (
    AdasspScales,
    AveragedDescentScales,
    GradientDescentScales,
    HessianMixingScales,
    LinearMixingScales,
)
from dpbounds.ols.tail_averaged import TailAveraged
from simulators.engine import Algorithm, Arrays, Experiment, Streams, trial_count
from simulators.ols.adassp import AdaSSP, adassp
from simulators.ols.averaged_descent import AveragedDescent, averaged_descent
from simulators.ols.gradient_descent import GradientDescent, gradient_descent
from simulators.ols.hessian_mixing import HessianMixing, hessian_mixing
from simulators.ols.linear_mixing import LinearMixing, linear_mixing
from simulators.ols.newton import recentred_newton
from simulators.ols.records import LeastSquares
from simulators.ols.tail_averaging import tail_averaged


@dataclass(frozen=True, kw_only=True)
class Zero:
    """theta = 0: nothing is released."""


@typed
def zero(problem: LeastSquares, settings: Zero, streams: Streams, trials: int) -> Arrays:
    """`theta` (trials, d) and `risk` (trials,) of the estimate 0."""
    theta = np.zeros((trial_count(trials), problem.d))
    return {"theta": theta, "risk": problem.risk(theta)}


@typed
def experiment_of(row: Compared, problem: LeastSquares, choices: Choices, *, block_trials: int = 500) -> Experiment:
    """The method of a row with its noise on these records, of bounds C_X = 1 and C_Y as the row was calibrated for.

    `choices` are those of the comparison, with the failure probability written out.
    """
    if problem.row_bound != 1.0:
        raise DomainError("row_bound", problem.row_bound, "1: scales are in units of C_X = 1", "scale the records")
    if choices.failure is None:
        raise DomainError("failure", None, "written out", "take the choices of the comparison")
    algorithm, settings = _of(row, problem.d, choices.failure, choices.rate)
    return Experiment(algorithm=algorithm, problem=problem, settings=settings, block_trials=block_trials)


def _of(row: Compared, d: int, failure: float, rate: float) -> tuple[Algorithm, Any]:
    scales = row.scales
    match scales:
        case HessianMixingScales():
            return hessian_mixing, HessianMixing(
                steps=scales.steps,
                k=scales.k,
                gamma=scales.gamma,
                tau=scales.tau,
                sigma=scales.sigma,
                clip=scales.clip,
                keep_ridge=row.method == "IHM-ridge",
            )
        case LinearMixingScales():
            return linear_mixing, LinearMixing(k=scales.k, gamma=scales.gamma, tau=scales.tau)
        case AdasspScales():
            return adassp, AdaSSP(
                eigenvalue_scale=scales.eigenvalue,
                gram_scale=scales.gram,
                cross_scale=scales.moment / scales.outcome_bound,
                shift=scales.shift,
                ridge=scales.ridge_level(d, failure),
                isotropic=scales.iso,
            )
        case GradientDescentScales():
            return gradient_descent, GradientDescent(
                steps=scales.steps, rate=rate, sigma=scales.sigma, clip=scales.clip
            )
        case Newton():
            return recentred_newton, scales
        case TailAveraged():
            return tail_averaged, scales
        case AveragedDescentScales():
            return averaged_descent, AveragedDescent(
                mu=scales.mu, steps=scales.steps, rate=scales.rate, clip=scales.clip, average=scales.average
            )
        case _:
            return zero, Zero()
