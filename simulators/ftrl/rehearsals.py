"""Runs whose mean is a number of the theory: of the exact error, in the long run or after some steps, and of the worst
quadratic.

>>> from dpbounds.ftrl import correlations
>>> from dpbounds.ftrl.linear_regression import Regression
>>> problem = Regression(eigenvalues=np.array([1.0, 0.5]), eta=0.2, rho=0.5)
>>> runs = regression_rehearsal(correlations.independent(), problem, steps=7, initial=2.0)
>>> runs.output, runs.experiment.settings.steps
('loss', 7)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError, moderate_or_zero
from dpbounds.ftrl.correlations import ToeplitzCorrelation
from dpbounds.ftrl.linear_regression import Regression, suboptimality, trajectory
from dpbounds.ftrl.strongly_convex import ConvexBound, Noise
from simulators.engine import Arrays, Experiment
from simulators.ftrl.linear_regression import LinearRegression, linear_regression
from simulators.ftrl.losses import Quadratic
from simulators.ftrl.mean_estimation import MeanEstimation, mean_estimation
from simulators.ftrl.settings import Settings
from simulators.ftrl.strongly_convex import StronglyConvexLoss, stationary_settings, strongly_convex

# Random numbers of a block, a fraction of a second; more, a second or two, where it would have fewer trials than these.
BLOCK_DRAWS, LONG_BLOCK_DRAWS, FEW_TRIALS, MOST_TRIALS = 3_000_000, 20_000_000, 16, 1024
# Random numbers that take as long as what a step costs besides.
STEP = 500
# In the long run averages are taken once the exact error is this close to its limit, over this many times 1 / (eta mu).
SETTLED, WINDOW = 1e-3, 8.0
# A run of so many steps takes seconds.
MOST_STEPS = 300_000


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """Runs, and the output of theirs whose mean times `unit` is E F - F*; `squared` where it is half its square."""

    experiment: Experiment
    output: str
    unit: float = 1.0
    squared: bool = False

    def losses(self, arrays: Arrays) -> np.ndarray:
        """F - F* of every run, of shape (trials,)."""
        values = arrays[self.output]
        return self.unit * (0.5 * values**2 if self.squared else values)

    def work(self, trials: int) -> int:
        """About how many random numbers so many trials take, in whole blocks."""
        blocks = -(-trials // self.experiment.block_trials)
        return blocks * (self.experiment.block_trials * _draws(self.experiment) + STEP * self.experiment.settings.steps)


@typed
def regression_rehearsal(
    correlation: ToeplitzCorrelation, problem: Regression, *, steps: int | None = None, initial: float = 0.0
) -> Rehearsal:
    """Noisy-FTRL on Gaussian inputs: F - F* after `steps` steps, or time averages where it is that of the limit.

    theta_0 - theta* has length `initial`, the same in every eigendirection. Raises `AccuracyError` where the start is
    not forgotten within `MOST_STEPS` steps.
    """
    start = _start(problem, initial)
    settings = _settings(correlation, problem, steps, clipping=False)
    runs = LinearRegression(
        eigenvalues=tuple(problem.eigenvalues.tolist()), sigma_sgd=problem.sigma_sgd, initial=tuple(start.tolist())
    )
    return Rehearsal(
        experiment=experiment_in_blocks(linear_regression, runs, settings),
        output="mean_loss" if steps is None else "loss",
    )


@typed
def mean_rehearsal(
    correlation: ToeplitzCorrelation, problem: Regression, *, steps: int | None = None, initial: float = 0.0
) -> Rehearsal:
    """DP-FTRL for a private mean, ftrl Section 2.1: the regression on one eigenvalue 1 with inputs +-1.

    Records are bounded by the clip norm, so that no gradient is clipped: raises `DomainError` where `sigma_sgd` is
    above it, and as `regression_rehearsal`.
    """
    unit = problem.clip_norm
    if problem.sigma_sgd > unit:
        allowed = f"at most clip_norm = {unit:g} in a simulation"
        raise DomainError("sigma_sgd", problem.sigma_sgd, allowed, "records are no larger than the clip norm")
    start = float(_start(problem, initial)[0])
    settings = _settings(correlation, problem, steps, clipping=True)
    runs = MeanEstimation(sigma_sgd=problem.sigma_sgd / unit, initial=start / unit)
    experiment = experiment_in_blocks(mean_estimation, runs, settings)
    if steps is None:
        return Rehearsal(experiment=experiment, output="mean_square", unit=unit**2 / 2)
    return Rehearsal(experiment=experiment, output="deviation", unit=unit**2, squared=True)


@typed
def quadratic_rehearsal(bound: ConvexBound) -> Rehearsal:
    """The worst quadratic of a bound: its coordinates are alike, so one of them is run and counted d times.

    Raises `DomainError` for a bound on a noise that was given by its density alone.
    """
    noise = bound.noise
    if not isinstance(noise, Noise):
        raise DomainError("bound", "on a given density", "on a correlation", "only that can be drawn")
    loss = Quadratic(eigenvalues=(bound.curvature,))
    settings = stationary_settings(loss, noise.correlation, bound.program.eta, noise.rho, clip_norm=noise.clip_norm)
    if settings.steps > MOST_STEPS:
        raise AccuracyError(f"simulation: on the worst quadratic the start is not forgotten within {MOST_STEPS} steps")
    runs = StronglyConvexLoss(loss=loss, sigma_sgd=noise.sigma_sgd / math.sqrt(noise.d))
    experiment = experiment_in_blocks(strongly_convex, runs, settings)
    return Rehearsal(experiment=experiment, output="mean_loss", unit=float(noise.d))


def experiment_in_blocks(algorithm: Any, problem: Any, settings: Settings) -> Experiment:
    """In blocks that take a few seconds at most, however many trials are asked for."""
    draws = _draws(Experiment(algorithm=algorithm, problem=problem, settings=settings, block_trials=1))
    trials = max(1, min(MOST_TRIALS, BLOCK_DRAWS // draws), min(FEW_TRIALS, LONG_BLOCK_DRAWS // draws))
    return Experiment(algorithm=algorithm, problem=problem, settings=settings, block_trials=trials)


def _draws(experiment: Experiment) -> int:
    """Random numbers of one run, roughly."""
    problem = experiment.problem
    d = len(problem.eigenvalues) if isinstance(problem, LinearRegression) else 1
    return experiment.settings.steps * (2 * d + 1)


def _start(problem: Regression, initial: float) -> np.ndarray:
    """Coordinates of theta_0 - theta* in the eigenbasis."""
    d = len(problem.eigenvalues)
    return np.full(d, moderate_or_zero("initial", initial) / math.sqrt(d))


def _settings(correlation: ToeplitzCorrelation, problem: Regression, steps: int | None, *, clipping: bool) -> Settings:
    """Noise scaled for `steps` steps, or for the limit over steps in which the exact error is that of the limit; what
    is clipped is in units of the clip norm.
    """
    horizon, average_from = (steps, None) if steps is not None else _stationary_steps(correlation, problem)
    return Settings(
        correlation=correlation,
        eta=problem.eta,
        rho=problem.rho,
        steps=horizon,
        clip_norm=1.0 if clipping else problem.clip_norm,
        clipping=clipping,
        sensitivity="limiting" if steps is None else "horizon",
        average_from=average_from,
    )


def _stationary_steps(correlation: ToeplitzCorrelation, problem: Regression) -> tuple[int, int]:
    """Steps of a run and the first that is averaged: from there on the exact error is within `SETTLED` of its limit."""
    window = math.ceil(WINDOW / float(problem.decay.min()))
    steps, limit = 2 * window, float(suboptimality(correlation, problem))
    while steps <= MOST_STEPS:
        away = np.abs(trajectory(correlation, problem, steps=steps, sensitivity="limiting") / limit - 1.0) > SETTLED
        settled = int(np.flatnonzero(away)[-1]) + 1
        if settled + window <= steps:
            return settled + window, settled
        steps *= 2
    raise AccuracyError(f"simulation: the start is not forgotten within {MOST_STEPS} steps; ask for some with --T")
