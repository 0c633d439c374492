"""Upper bounds on a mean that is known only by simulation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from verify import statistics
from verify.checks.base import Level, Result, Task, by_level
from verify.checks.montecarlo import ORDER, Case, MonteCarlo
from verify.evidence import Evidence


@dataclass(frozen=True, kw_only=True)
class BoundedMean(MonteCarlo):
    """Every case's mean is at most its bound: `predicted`, times `scale`.

    By Student's interval for the simulated mean: holds if the bound is at or above all of it, fails if below all of it,
    unclear between or while the interval cannot be trusted. `trials` per case by level; the resolution is not used. The
    picture has the simulated means and `lines`, not the bounds.
    """

    trials: Mapping[Level, int] = field(default_factory=lambda: {"quick": 64, "full": 512})

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """The case whose mean is largest in units of its bound, among the worst outcomes, decides."""
        cases = self.cases_at(level)
        rows = [_row(case, *self._compare(case.label, results, math.inf)) for case in cases]
        worst = max(rows, key=lambda row: (ORDER.index(row["outcome"]), row["observed"] / row["bound"]))
        total, slack = sum(row["trials"] for row in rows), min(row["bound"] / row["observed"] for row in rows)
        common: dict[str, Any] = {
            "how": "statistical",
            "alpha": len(cases) * statistics.ALPHA * statistics.TAIL_FACTOR,
            "trials": total,
            "rows": rows,
            "picture": self._picture(rows),
        }
        shown = f"{worst['case']}: mean {worst['observed']:.5g} in [{worst['low']:.5g}, {worst['high']:.5g}]"
        stated = f"bound {worst['bound']:.5g}"
        if worst["outcome"] == "fails":
            return Evidence(outcome="fails", summary=f"{shown}, {stated}.", counterexample=worst, **common)
        if worst["outcome"] == "unclear":
            needed = f"more than {worst['trials']} trials of {worst['case']}"
            return Evidence(outcome="unclear", summary=f"{shown}, {stated}.", needed=needed, **common)
        summary = f"{len(rows)} simulated means, none above its bound in {total} trials; nearest {shown}, {stated}."
        return Evidence(outcome="holds", summary=summary, slack=slack, **common)

    def _tasks_of(self, case: Case, level: Level) -> list[Task]:
        blocks = math.ceil(by_level(self.trials, level) / case.experiment.block_trials)
        return [{"case": case.label}, *({"case": case.label, "block": block} for block in range(blocks))]

    def _compare(self, label: str, results: Sequence[Result], resolution: float) -> tuple[statistics.Comparison, int]:
        """Two-sided at infinite resolution, `fails` there says that the bound is outside the interval."""
        test, trials = super()._compare(label, results, resolution)
        if test.outcome == "fails" and test.predicted > test.high:
            return replace(test, outcome="holds"), trials
        return (test if test.outcome == "fails" else replace(test, outcome="unclear")), trials

    def _picture(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
        plotted = [row for row in rows if math.isfinite(row["x"])]
        if not plotted:
            return None
        series: list[Mapping[str, Any]] = [*self.lines()]
        for group in dict.fromkeys(row["group"] for row in plotted):
            own = sorted((row for row in plotted if row["group"] == group), key=lambda row: row["x"])
            numbers = {key: [row[name] for row in own] for key, name in COLUMNS.items()}
            series.append({"label": f"{group} simulated", "role": "simulation", **numbers})
        return {"x": self.axes[0], "y": self.axes[1], "log": list(self.log_axes), "series": series}


COLUMNS = {"x": "x", "y": "observed", "low": "low", "high": "high"}


def _row(case: Case, comparison: statistics.Comparison, trials: int) -> dict[str, Any]:
    return {
        "case": case.label,
        "group": case.group,
        "x": case.x,
        "bound": comparison.predicted / case.unit,
        "observed": comparison.observed / case.unit,
        "low": comparison.low / case.unit,
        "high": comparison.high / case.unit,
        "trials": trials,
        "outcome": comparison.outcome,
    }
