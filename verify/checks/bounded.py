"""Upper bounds on a mean that is known only by simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from verify.checks import statistics
from verify.checks.base import Check, Level, Result, Seed, Task
from verify.checks.evidence import ORDER, Evidence, Outcome, counted
from verify.checks.means import Means, Row


@final
@dataclass(frozen=True, kw_only=True)
class BoundedMean(Check):
    """Every case's mean is at most its bound: `predicted`, times `scale`.

    By Student's interval for the simulated mean: holds if the bound is at or above all of it, fails if below all of it,
    unclear between or while the interval cannot be trusted. No resolution is asked for: the evidence states the length
    of the longest interval, and a mean that far above its bound would have been refuted. The picture has the simulated
    means and the lines, not the bounds.
    """

    means: Means
    scale: float = 1.0

    def tasks(self, level: Level) -> Sequence[Task]:
        """Bounds and blocks of trials."""
        return self.means.tasks(level, math.inf)

    def more(self, results: Sequence[Result], level: Level) -> Sequence[Task]:
        """More trials of the cases that are unclear."""
        return self.means.more(self._rows(results, level), results, level, math.inf)

    def run(self, task: Task, seed: Seed) -> Result:
        """A bound, or the moments of a block."""
        return self.means.run(task, seed)

    def false_alarms(self, level: Level) -> float:
        """Of all means together."""
        return self.means.false_alarms(level)

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """The case whose mean is largest in units of its bound, among the worst outcomes, decides."""
        rows = self._rows(results, level)
        worst = max(rows, key=lambda row: (ORDER.index(row["outcome"]), row["observed"] / row["bound"]))
        total, slack = sum(row["trials"] for row in rows), min(row["bound"] / row["observed"] for row in rows)
        common: dict[str, Any] = {
            "how": "statistical",
            "resolution": max((row["high"] - row["low"]) / row["observed"] for row in rows),
            "beta": statistics.BETA,
            "alpha": self.false_alarms(level),
            "trials": total,
            "rows": rows,
            "picture": self.means.picture(rows, exact=False),
        }
        shown = f"{worst['case']}: mean {worst['observed']:.5g} in [{worst['low']:.5g}, {worst['high']:.5g}]"
        stated = f"bound {worst['bound']:.5g}"
        if worst["outcome"] == "fails":
            return Evidence(outcome="fails", summary=f"{shown}, {stated}.", counterexample=worst, **common)
        if worst["outcome"] == "unclear":
            needed = f"more than {worst['trials']} trials of {worst['case']}"
            return Evidence(outcome="unclear", summary=f"{shown}, {stated}.", needed=needed, **common)
        means = counted(len(rows), "simulated mean")
        summary = f"{means}, none above its bound in {total} trials; nearest {shown}, {stated}."
        return Evidence(outcome="holds", summary=summary, slack=slack, **common)

    def _rows(self, results: Sequence[Result], level: Level) -> list[Row]:
        rows = self.means.rows(results, level, math.inf, scale=self.scale, stated="bound")
        return [{**row, "outcome": _one_sided(row)} for row in rows]


def _one_sided(row: Row) -> Outcome:
    """At infinite resolution `fails` says that the bound is outside the interval, `holds` that it is inside."""
    if row["outcome"] != "fails":
        return "unclear"
    return "holds" if row["bound"] > row["high"] else "fails"
