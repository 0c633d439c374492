"""Checks run by hand, look by look, as the runner does; and normal draws to run them on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulators.engine import Experiment, seed_sequence
from verify.checks import Case, Check, Level, Seed
from verify.checks.base import Result, Task
from verify.checks.evidence import Evidence
from verify.checks.statistics import LOOKS


def results_of(check: Check, tasks: Sequence[Task], seed: int) -> list[Result]:
    """Each task with a seed of its own."""
    return [
        check.run(task, Seed(seed, seed_sequence([index, sorted(task.items())], seed=seed)))
        for index, task in enumerate(tasks)
    ]


def evidence_of(check: Check, level: Level = "quick", seed: int = 0, looks: int = LOOKS) -> Evidence:
    """The evidence after as many looks as the check asks for, `looks` at most."""
    results = results_of(check, check.tasks(level), seed)
    for _ in range(looks - 1):
        further = check.more(results, level)
        if not further:
            break
        results += results_of(check, further, seed)
    return check.conclude(results, level)


@dataclass(frozen=True)
class Normal:
    mean: float
    spread: float = 1.0


def draws(problem, settings, streams, trials):
    return {"value": problem.mean + problem.spread * streams.data.standard_normal(trials)}


def experiment(mean: float, spread: float = 1.0, trials: int = 500) -> Experiment:
    """Draws of a normal variable."""
    return Experiment(algorithm=draws, problem=Normal(mean, spread), settings=None, block_trials=trials)


def case(mean: float = 10.0, **options) -> Case:
    """Draws around `mean`, predicted to be 10."""
    settings = {
        "label": "one",
        "experiment": experiment(mean),
        "output": "value",
        "predicted": lambda: 10.0,
        "relative_std": 0.1,
    }
    return Case(**{**settings, **options})
