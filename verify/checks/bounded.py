"""Upper bounds on a mean that is known only by simulation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from verify import statistics
from verify.checks.base import Level, Result
from verify.checks.montecarlo import ORDER, MonteCarlo, row_of, simulated_series
from verify.evidence import Evidence


@dataclass(frozen=True, kw_only=True)
class BoundedMean(MonteCarlo):
    """Every case's mean is at most its bound: `predicted`, times `scale`.

    By Student's interval for the simulated mean: holds if the bound is at or above all of it, fails if below all of it,
    unclear between or while the interval cannot be trusted. No resolution is asked for: the evidence states the length
    of the longest interval, and a mean that far above its bound would have been refuted. The picture has the simulated
    means and `lines`, not the bounds.
    """

    trials: Mapping[Level, int] | None = field(default_factory=lambda: {"quick": 64, "full": 512})

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """The case whose mean is largest in units of its bound, among the worst outcomes, decides."""
        cases = self.cases_at(level)
        rows = [row_of(case, *self._compare(case.label, results, math.inf), stated="bound") for case in cases]
        worst = max(rows, key=lambda row: (ORDER.index(row["outcome"]), row["observed"] / row["bound"]))
        total, slack = sum(row["trials"] for row in rows), min(row["bound"] / row["observed"] for row in rows)
        common: dict[str, Any] = {
            "how": "statistical",
            "resolution": max((row["high"] - row["low"]) / row["observed"] for row in rows),
            "beta": statistics.BETA,
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

    def _compare(self, label: str, results: Sequence[Result], resolution: float) -> tuple[statistics.Comparison, int]:
        """Two-sided at infinite resolution, `fails` there says that the bound is outside the interval."""
        test, trials = super()._compare(label, results, resolution)
        if test.outcome == "fails" and test.predicted > test.high:
            return replace(test, outcome="holds"), trials
        return (test if test.outcome == "fails" else replace(test, outcome="unclear")), trials

    def _series_of(self, group: str, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [simulated_series(group, rows)]
