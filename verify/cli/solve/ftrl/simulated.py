"""`--simulate` of `dpbounds solve ftrl`: the mean of F - F* over independent runs, with an interval, in every row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dpbounds import AccuracyError, DomainError
from dpbounds.ftrl.strongly_convex import ConvexBound, Noise
from simulators.engine import Experiment
from simulators.ftrl import (
    LinearRegression,
    MeanEstimation,
    Quadratic,
    Settings,
    StronglyConvex,
    linear_regression,
    mean_estimation,
    stationary_settings,
    strongly_convex,
)
from verify.cli.solve.ftrl.exact_cases import MOST_STEPS, SIGN, ExactCase
from verify.cli.solve.ftrl.show import COLUMNS_SIMULATED as COLUMNS
from verify.cli.solve.simulating import mean_interval, simulate

# Random numbers of a block, a fraction of a second; more, a second or two, where it would have fewer trials than these.
BLOCK_DRAWS, LONG_BLOCK_DRAWS, FEW_TRIALS, MOST_TRIALS = 3_000_000, 20_000_000, 16, 1024
# Numbers of all blocks, three minutes; and how many take as long as what a step costs besides.
MOST_DRAWS, STEP = 3_000_000_000, 500
# In the long run averages are taken once the exact error is this close to its limit, over this many times 1 / (eta mu).
SETTLED, WINDOW = 1e-3, 8.0


class Planned(NamedTuple):
    """Runs, the output whose mean is F - F* in units of 1 / `unit`, and the exact mean over the same steps."""

    experiment: Experiment
    output: str
    unit: float


def add_exact(cases: Sequence[ExactCase], trials: int, seed: int) -> None:
    """To each row `simulated`, of `suboptimality` or of `suboptimality_T`, and its interval from `low` to `high`."""
    planned: dict[int, Planned] = {}
    for number, case in enumerate(cases):
        if case.kurtosis == SIGN and case.sigma_sgd > case.clip_norm:
            allowed = f"at most clip_norm = {case.clip_norm:g} with --simulate"
            raise DomainError("sigma_sgd", case.sigma_sgd, allowed, "records are no larger than the clip norm")
        predicted = case.row["suboptimality" if case.steps is None else "suboptimality_T"]
        case.row |= dict.fromkeys(COLUMNS)
        if predicted is None or not math.isfinite(predicted):
            continue
        try:
            planned[number] = _plan(case)
        except AccuracyError as error:
            case.failure = f"{case.label}: {error}"
    for number, (samples, unit) in _run(planned, trials, seed).items():
        cases[number].row |= zip(COLUMNS, mean_interval(samples * unit), strict=True)


def add_worst_quadratics(
    rows: Sequence[dict[str, Any]], found: Sequence[ConvexBound | None], trials: int, seed: int
) -> None:
    """The same for the worst quadratic, the loss that `lower` is the exact error of."""
    planned: dict[int, Planned] = {}
    for number, bound in enumerate(found):
        if bound is None or not isinstance(bound.noise, Noise):
            continue
        try:
            planned[number] = _quadratic(bound, bound.noise)
        except AccuracyError as error:
            row = rows[number]
            row["failure"] = row["failure"] or f"{row['mechanism']}, kappa = {row['kappa']:g}: {error}"
    for number, (samples, unit) in _run(planned, trials, seed).items():
        rows[number].update(zip(COLUMNS, mean_interval(samples * unit), strict=True))


def _run(planned: Mapping[int, Planned], trials: int, seed: int) -> dict[int, tuple[np.ndarray, float]]:
    """Samples and their units; `DomainError` where all of it would take too long."""
    draws = sum(_work(plan.experiment, trials) for plan in planned.values())
    if draws > MOST_DRAWS:
        most = f"so few that all rows take at most {MOST_DRAWS:g} random numbers"
        raise DomainError("simulate", trials, most, f"they would take {draws:.2g}: fewer trials, rows or steps (--T)")
    outputs = ("mean_loss", "loss", "deviation", "mean_square")
    found = {}
    for output in outputs:
        some = {number: plan.experiment for number, plan in planned.items() if plan.output == output}
        for number, arrays in simulate(some, trials, seed=seed, outputs=(output,)).items() if some else ():
            values = arrays[output]
            found[number] = (0.5 * values**2 if output == "deviation" else values, planned[number].unit)
    return found


def _work(experiment: Experiment, trials: int) -> int:
    """Of whole blocks."""
    blocks = -(-trials // experiment.block_trials)
    return blocks * (experiment.block_trials * _draws(experiment) + STEP * experiment.settings.steps)


def _draws(experiment: Experiment) -> int:
    """Random numbers of one run, roughly."""
    problem = experiment.problem
    d = len(problem.eigenvalues) if isinstance(problem, LinearRegression) else 1
    return experiment.settings.steps * (2 * d + 1)


def _plan(case: ExactCase) -> Planned:
    """At T, or over steps in which the exact error is that of the limit."""
    steps, average_from = (case.steps, None) if case.steps is not None else _stationary_steps(case)
    mean = case.kurtosis == SIGN
    settings = Settings(
        correlation=case.make(),
        eta=case.row["eta"],
        rho=case.row["rho"],
        steps=steps,
        clip_norm=1.0 if mean else case.clip_norm,
        clipping=mean,
        sensitivity="limiting" if case.steps is None else "horizon",
        average_from=average_from,
    )
    if mean:
        return _mean_estimation(case, settings)
    problem = LinearRegression(
        eigenvalues=tuple(case.eigenvalues.tolist()), sigma_sgd=case.sigma_sgd, initial=tuple(case.start.tolist())
    )
    output = "mean_loss" if case.steps is None else "loss"
    return Planned(_experiment(linear_regression, problem, settings), output, 1.0)


def _mean_estimation(case: ExactCase, settings: Settings) -> Planned:
    """In units of the clip norm, which bounds |z|: no gradient is clipped."""
    problem = MeanEstimation(sigma_sgd=case.sigma_sgd / case.clip_norm, initial=float(case.start[0]) / case.clip_norm)
    unit = case.clip_norm**2
    experiment = _experiment(mean_estimation, problem, settings)
    if case.steps is None:
        return Planned(experiment, "mean_square", unit / 2)
    return Planned(experiment, "deviation", unit)


def _stationary_steps(case: ExactCase) -> tuple[int, int]:
    """Steps of a run and the first that is averaged: from there on the exact error is within `SETTLED` of its limit."""
    window = math.ceil(WINDOW / (case.row["eta"] * float(case.eigenvalues.min())))
    steps, limit = 2 * window, case.row["suboptimality"]
    while steps <= MOST_STEPS:
        away = np.abs(case.trajectory(steps, sensitivity="limiting") / limit - 1.0) > SETTLED
        settled = int(np.flatnonzero(away)[-1]) + 1
        if settled + window <= steps:
            return settled + window, settled
        steps *= 2
    raise AccuracyError(f"simulation: the start is not forgotten within {MOST_STEPS} steps; ask for some with --T")


def _quadratic(bound: ConvexBound, noise: Noise) -> Planned:
    """The coordinates of the worst quadratic are alike: one of them, d times."""
    loss = Quadratic(eigenvalues=(bound.curvature,))
    settings = stationary_settings(loss, noise.correlation, bound.program.eta, noise.rho, clip_norm=noise.clip_norm)
    if settings.steps > MOST_STEPS:
        raise AccuracyError(f"simulation: on the worst quadratic the start is not forgotten within {MOST_STEPS} steps")
    problem = StronglyConvex(loss=loss, sigma_sgd=noise.sigma_sgd / math.sqrt(noise.d))
    return Planned(_experiment(strongly_convex, problem, settings), "mean_loss", float(noise.d))


def _experiment(algorithm: Any, problem: Any, settings: Settings) -> Experiment:
    """In blocks that take a few seconds at most, however many trials are asked for."""
    draws = _draws(Experiment(algorithm=algorithm, problem=problem, settings=settings, block_trials=1))
    trials = max(1, min(MOST_TRIALS, BLOCK_DRAWS // draws), min(FEW_TRIALS, LONG_BLOCK_DRAWS // draws))
    return Experiment(algorithm=algorithm, problem=problem, settings=settings, block_trials=trials)
