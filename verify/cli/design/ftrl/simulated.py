"""`--simulate` of `dpbounds design ftrl`: the mean loss of independent runs without clipping, with an interval."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpbounds import DomainError
from dpbounds.ftrl.correlations import Correlation, independent
from dpbounds.ftrl.design import Objective, Participation, Plan
from dpbounds.ftrl.design.tuning import Setting
from simulators.engine import Experiment
from simulators.ftrl import DesignedTraining, LinearRegression, designed_training
from verify.cli.design.ftrl.problem import Run
from verify.cli.solve.simulating import mean_interval, simulate

COLUMNS = ("simulated", "low", "high")
# Random numbers of a block and of all blocks, a second and some minutes; what a step costs besides.
BLOCK_DRAWS, MOST_DRAWS, STEP = 3_000_000, 3_000_000_000, 2_000
MOST_TRIALS = 1024


def check_work(given: Run, rows: int, trials: int) -> None:
    """`DomainError` where it would take too long, before anything is designed."""
    settings = _settings(given.objective, independent(), given.budget.rho, given.clip_norm, Participation.single())
    _check([_experiment(settings)] * rows, trials)


def add(given: Run, rows: Sequence[dict[str, Any]], mechanisms: Sequence[Correlation], trials: int, seed: int) -> None:
    """To each row of a given run `simulated` and its interval from `low` to `high`."""
    experiments = {
        number: _experiment(
            _settings(given.objective, correlation, given.budget.rho, given.clip_norm, given.participation)
        )
        for number, correlation in enumerate(mechanisms)
    }
    _add(experiments, rows, trials, seed)


def add_plan(found: Plan, rows: Sequence[dict[str, Any]], arguments: Namespace) -> None:
    """The same for a plan; amplified noise is simulated with batches of fixed size."""
    experiments = {}
    for number, row in enumerate(found.rows):
        setting = Setting(batch_size=row.batch_size, schedule=row.schedule, eta=row.eta)
        objective, participation, rho = found.training.objective(setting), Participation.single(), found.rho
        if row.bound is None:
            rho = 0.5 / row.noise_multiplier**2
        else:
            participation = found.training.participation(row.batch_size)
        settings = _settings(objective, row.correlation, rho, found.training.clip_norm, participation)
        experiments[number] = _experiment(settings)
    _add(experiments, rows, arguments.simulate, arguments.seed)


def _settings(
    objective: Objective, correlation: Correlation, rho: float, clip_norm: float, participation: Participation
) -> DesignedTraining:
    return DesignedTraining(
        objective=objective, mechanism=correlation, rho=rho, clip_norm=clip_norm, participation=participation
    )


def _experiment(settings: DesignedTraining) -> Experiment:
    objective = settings.objective
    problem = LinearRegression(
        eigenvalues=tuple(objective.eigenvalues.tolist()),
        sigma_sgd=objective.sigma_sgd,
        initial=tuple(np.sqrt(np.asarray(objective.initial, dtype=float)).tolist()),
    )
    trials = max(1, min(MOST_TRIALS, BLOCK_DRAWS // _draws(objective)))
    return Experiment(algorithm=designed_training, problem=problem, settings=settings, block_trials=trials)


def _draws(objective: Objective) -> int:
    """Random numbers of one run, roughly."""
    return objective.steps * (2 * len(objective.eigenvalues) + 2 * (objective.batch_size or 1))


def _check(experiments: Sequence[Experiment], trials: int) -> None:
    work = 0
    for experiment in experiments:
        objective = experiment.settings.objective
        blocks = -(-trials // experiment.block_trials)
        work += blocks * (experiment.block_trials * _draws(objective) + STEP * objective.steps)
    if work > MOST_DRAWS:
        most = f"so few that all rows take at most {MOST_DRAWS:g} random numbers"
        raise DomainError("simulate", trials, most, f"they would take {work:.2g}: fewer trials or steps")


def _add(experiments: Mapping[int, Experiment], rows: Sequence[dict[str, Any]], trials: int, seed: int) -> None:
    _check(list(experiments.values()), trials)
    found = simulate(experiments, trials, seed=seed, outputs=("weighted_loss",))
    for number, row in enumerate(rows):
        row |= zip(COLUMNS, mean_interval(found[number]["weighted_loss"]), strict=True)
