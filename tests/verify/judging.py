"""Checks run by hand, look by look, as the runner does."""

from __future__ import annotations

from collections.abc import Sequence

from simulators.engine import seed_sequence
from verify.checks import Check, Level, Seed
from verify.checks.base import Result, Task
from verify.evidence import Evidence
from verify.statistics import LOOKS


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
