"""Simulated means against exact ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from verify.checks import statistics
from verify.checks.base import Check, Level, Result, Seed, Task, by_level
from verify.checks.evidence import ORDER, Evidence, counted
from verify.checks.means import Means, Row


@final
@dataclass(frozen=True, kw_only=True)
class MonteCarlo(Check):
    """Every case's simulated mean agrees with its exact value to `resolution`.

    `scale` multiplies the predictions: impostors set it.
    """

    means: Means
    resolution: Mapping[Level, float] = field(default_factory=lambda: {"quick": 0.05, "full": 0.02, "paper": 0.01})
    scale: float = 1.0

    def tasks(self, level: Level) -> Sequence[Task]:
        """Predictions and blocks of trials."""
        return self.means.tasks(level, by_level(self.resolution, level))

    def more(self, results: Sequence[Result], level: Level) -> Sequence[Task]:
        """More trials of the cases that are unclear."""
        return self.means.more(self._rows(results, level), results, level, by_level(self.resolution, level))

    def run(self, task: Task, seed: Seed) -> Result:
        """A prediction, or the moments of a block."""
        return self.means.run(task, seed)

    def false_alarms(self, level: Level) -> float:
        """Of all means together."""
        return self.means.false_alarms(level)

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """The worst case decides."""
        resolution, rows = by_level(self.resolution, level), self._rows(results, level)
        worst = max(rows, key=lambda row: ORDER.index(row["outcome"]))
        total = sum(row["trials"] for row in rows)
        common: dict[str, Any] = {
            "how": "statistical",
            "resolution": resolution,
            "alpha": self.false_alarms(level),
            "beta": statistics.BETA,
            "trials": total,
            "rows": rows,
            "picture": self.means.picture(rows, exact=True),
        }
        if worst["outcome"] == "holds":
            farthest = max(abs(row["observed"] / row["predicted"] - 1.0) for row in rows)
            agree = f"{counted(len(rows), 'simulated mean')} agree{'s' * (len(rows) == 1)}"
            summary = (
                f"{agree} with the exact values: all intervals within {resolution:.0%}, "
                f"largest deviation {farthest:.2%}, {total} trials."
            )
            return Evidence(outcome="holds", summary=summary, **common)
        shown = f"{worst['case']}: simulated {worst['observed']:.5g} in [{worst['low']:.5g}, {worst['high']:.5g}]"
        if worst["outcome"] == "fails":
            summary = f"{shown}, stated {worst['predicted']:.5g}."
            return Evidence(outcome="fails", summary=summary, counterexample=worst, **common)
        arm = max(worst["high"] - worst["observed"], worst["observed"] - worst["low"]) / abs(worst["predicted"])
        needed = f"about {math.ceil(worst['trials'] * (arm / resolution) ** 2)} trials of {worst['case']}"
        return Evidence(
            outcome="unclear", summary=f"{shown} is too wide for {resolution:.0%}.", needed=needed, **common
        )

    def _rows(self, results: Sequence[Result], level: Level) -> list[Row]:
        return self.means.rows(results, level, by_level(self.resolution, level), scale=self.scale)
