"""From a predicted row of `dpbounds.ols.compare` to its simulation on records, and back: what PRN clips on records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError
from dpbounds.ols import newton as prn
from dpbounds.ols.comparison import Compared, NewtonClips
from dpbounds.ols.newton import Newton
from dpbounds.ols.scales import AdasspScales, GradientDescentScales, HessianMixingScales, LinearMixingScales
from simulators.engine import Arrays, Experiment, Streams, trial_count
from simulators.ols.adassp import AdaSSP, adassp
from simulators.ols.gradient_descent import GradientDescent, gradient_descent
from simulators.ols.hessian_mixing import HessianMixing, hessian_mixing
from simulators.ols.linear_mixing import LinearMixing, linear_mixing
from simulators.ols.newton import histogram, recentred_newton
from simulators.ols.records import LeastSquares


@dataclass(frozen=True, kw_only=True)
class Zero:
    """theta = 0: nothing is released."""


@typed
def zero(problem: LeastSquares, settings: Zero, streams: Streams, trials: int) -> Arrays:
    """`theta` (trials, d) and `risk` (trials,) of the estimate 0."""
    theta = np.zeros((trial_count(trials), problem.d))
    return {"theta": theta, "risk": problem.risk(theta)}


@typed
def experiment_of(
    row: Compared, problem: LeastSquares, *, failure: float, rate: float = 0.25, block_trials: int = 500
) -> Experiment:
    """The method of a row with its noise on these records, of bounds C_X = 1 and C_Y as the row was calibrated for."""
    if problem.row_bound != 1.0:
        raise DomainError("row_bound", problem.row_bound, "1: scales are in units of C_X = 1", "scale the records")
    algorithm, settings = _of(row.scales, row.method, problem.d, failure, rate)
    return Experiment(algorithm=algorithm, problem=problem, settings=settings, block_trials=block_trials)


def _of(scales: Any, method: str, d: int, failure: float, rate: float) -> tuple[Any, Any]:
    match scales:
        case HessianMixingScales():
            return hessian_mixing, HessianMixing(
                steps=scales.steps,
                k=scales.k,
                gamma=scales.gamma,
                tau=scales.tau,
                sigma=scales.sigma,
                clip=scales.clip,
                keep_ridge=method == "IHM, ridge kept",
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
        case _:
            return zero, Zero()


@typed
def measured_clips(problem: LeastSquares, mu: float) -> NewtonClips:
    """What PRN clips at on these records without the noise of its histograms and counts, the gradients' norms taken at
    theta*. Computed from the data, and not private.
    """
    lengths = np.linalg.norm(problem.regressors, axis=1) / problem.row_bound
    outcome = np.abs(problem.outcome) / problem.outcome_bound
    fit = np.abs(problem.outcome - problem.regressors @ problem.theta_star) / problem.outcome_bound
    sizes, settings = lengths * fit, Newton(mu=mu)
    c = float(prn.gradient_clip(histogram(lengths * outcome), 0.0, n=problem.n))
    path = prn.clip_path(c, lambda level: float(np.mean(sizes <= level)), settings, n=problem.n, d=problem.d)
    return NewtonClips(
        hessian=float(prn.hessian_clip(histogram(lengths), 0.0, n=problem.n, d=problem.d, mu=mu)),
        gradients=tuple(path),
        unclipped=max(float(np.mean(sizes <= path[-1])), 1.0 / problem.n),
    )
