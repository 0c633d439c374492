"""`--simulate` of `dpbounds design ftrl`: the mean loss of independent runs without clipping, with an interval."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from dpbounds import DomainError
from dpbounds.ftrl.correlations import independent
from dpbounds.ftrl.design import Design, Objective, Plan, ProxyRecords
from simulators.engine import Experiment
from simulators.ftrl.clipped import planned_on_records
from simulators.ftrl.designed import DesignedTraining, draws_of, experiment_of, planned_training
from verify.cli.solve.simulating import mean_interval, simulate

COLUMNS = ("simulated", "low", "high")
# Random numbers of all blocks, some minutes; what a step costs besides.
MOST_DRAWS, STEP = 3_000_000_000, 2_000
# Clipped gradients of all runs, some minutes.
MOST_GRADIENTS = 500_000_000


def check_work(objective: Objective, rows: int, trials: int) -> None:
    """`DomainError` where it would take too long, before anything is designed."""
    alone = DesignedTraining(objective=objective, mechanism=independent(), rho=1.0)
    _check([experiment_of(alone)] * rows, trials)


def add(design: Design, rows: Sequence[dict[str, Any]], trials: int, seed: int) -> None:
    """To each row of a given run `simulated` and its interval from `low` to `high`."""
    experiments = {
        number: experiment_of(
            DesignedTraining(
                objective=design.objective,
                mechanism=row.correlation,
                rho=design.budget.rho,
                clip_norm=design.clip_norm,
                participation=design.participation,
            )
        )
        for number, row in enumerate(design.rows)
    }
    _add(experiments, rows, trials, seed)


def add_plan(
    found: Plan, rows: Sequence[dict[str, Any]], arguments: Namespace, records: ProxyRecords | None = None
) -> None:
    """The same for a plan; amplified noise is simulated with batches of fixed size, on records as it is sampled."""
    if records is not None:
        _add_on_records(found, rows, arguments, records)
        return
    experiments = {number: experiment_of(planned_training(found, row.kind)) for number, row in enumerate(found.rows)}
    _add(experiments, rows, arguments.simulate, arguments.seed)


def _add_on_records(found: Plan, rows: Sequence[dict[str, Any]], arguments: Namespace, records: ProxyRecords) -> None:
    """Final losses of runs that clip."""
    experiments = {number: planned_on_records(found, row.kind, records) for number, row in enumerate(found.rows)}
    gradients = arguments.simulate * sum(row.steps * row.setting.batch_size for row in found.rows)
    if gradients > MOST_GRADIENTS:
        most = f"so few that all rows take at most {MOST_GRADIENTS:g} gradients"
        raise DomainError("simulate", arguments.simulate, most, f"they would take {gradients:.2g}: fewer trials")
    simulated = simulate(experiments, arguments.simulate, seed=arguments.seed, outputs=("loss",))
    for number, row in enumerate(rows):
        row |= zip(COLUMNS, mean_interval(simulated[number]["loss"]), strict=True)


def _check(experiments: Sequence[Experiment], trials: int) -> None:
    work = 0
    for experiment in experiments:
        objective = experiment.settings.objective
        blocks = -(-trials // experiment.block_trials)
        work += blocks * (experiment.block_trials * draws_of(objective) + STEP * objective.steps)
    if work > MOST_DRAWS:
        most = f"so few that all rows take at most {MOST_DRAWS:g} random numbers"
        raise DomainError("simulate", trials, most, f"they would take {work:.2g}: fewer trials or steps")


def _add(experiments: Mapping[int, Experiment], rows: Sequence[dict[str, Any]], trials: int, seed: int) -> None:
    _check(list(experiments.values()), trials)
    found = simulate(experiments, trials, seed=seed, outputs=("weighted_loss",))
    for number, row in enumerate(rows):
        row |= zip(COLUMNS, mean_interval(found[number]["weighted_loss"]), strict=True)
