"""`--simulate` of `dpbounds solve ftrl`: the mean of F - F* over independent runs, with an interval, in every row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpbounds import AccuracyError, DomainError
from dpbounds.ftrl.strongly_convex import ConvexBound, Noise
from simulators.ftrl.rehearsals import Rehearsal, mean_rehearsal, quadratic_rehearsal, regression_rehearsal
from verify.cli.solve.ftrl.exact_cases import ExactCase
from verify.cli.solve.ftrl.show import COLUMNS_SIMULATED as COLUMNS
from verify.cli.solve.simulating import mean_interval, simulate

# Random numbers of all blocks, three minutes.
MOST_DRAWS = 3_000_000_000


def add_exact(cases: Sequence[ExactCase], trials: int, seed: int) -> None:
    """To each row `simulated`, of `suboptimality` or of `suboptimality_T`, and its interval from `low` to `high`."""
    planned: dict[int, Rehearsal] = {}
    for number, case in enumerate(cases):
        predicted = case.row["suboptimality" if case.steps is None else "suboptimality_T"]
        case.row |= dict.fromkeys(COLUMNS)
        if predicted is None or not math.isfinite(predicted):
            continue
        rehearse = mean_rehearsal if case.name == "mean-estimation" else regression_rehearsal
        try:
            planned[number] = rehearse(case.make(), case.problem, steps=case.steps, initial=case.initial)
        except AccuracyError as error:
            case.failure = f"{case.label}: {error}"
    for number, losses in _run(planned, trials, seed).items():
        cases[number].row |= zip(COLUMNS, mean_interval(losses), strict=True)


def add_worst_quadratics(
    rows: Sequence[dict[str, Any]], bounds: Sequence[ConvexBound | None], trials: int, seed: int
) -> None:
    """The same for the worst quadratic, the loss that `lower` is the exact error of."""
    planned: dict[int, Rehearsal] = {}
    for number, bound in enumerate(bounds):
        if bound is None or not isinstance(bound.noise, Noise):
            continue
        try:
            planned[number] = quadratic_rehearsal(bound)
        except AccuracyError as error:
            row = rows[number]
            row["failure"] = row["failure"] or f"{row['mechanism']}, kappa = {row['kappa']:g}: {error}"
    for number, losses in _run(planned, trials, seed).items():
        rows[number].update(zip(COLUMNS, mean_interval(losses), strict=True))


def _run(planned: Mapping[int, Rehearsal], trials: int, seed: int) -> dict[int, np.ndarray]:
    """F - F* of every run; `DomainError` where all of it would take too long."""
    draws = sum(plan.work(trials) for plan in planned.values())
    if draws > MOST_DRAWS:
        most = f"so few that all rows take at most {MOST_DRAWS:g} random numbers"
        raise DomainError("simulate", trials, most, f"they would take {draws:.2g}: fewer trials, rows or steps (--T)")
    losses = {}
    for output in sorted({plan.output for plan in planned.values()}):
        some = {number: plan.experiment for number, plan in planned.items() if plan.output == output}
        for number, arrays in simulate(some, trials, seed=seed, outputs=(output,)).items():
            losses[number] = planned[number].losses(arrays)
    return losses
