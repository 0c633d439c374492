"""The powers with which simulated means grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, final

from verify.checks import statistics
from verify.checks.base import Check, Level, Result, Seed, Task
from verify.checks.evidence import ORDER, Evidence, Outcome
from verify.checks.means import Means, Row
from verify.checks.pictures import Slope


@final
@dataclass(frozen=True, kw_only=True)
class Slopes(Check):
    """Log-log slopes along each group of cases, all points alike: simulated, exact on the same grid, and as printed.

    `printed[group]` is held against the slope of the exact values on the grid (numeric) and against the simulated one
    (equivalence within `tolerance`, statistical). The simulated means need not reach a resolution, but none may
    contradict its exact value. `scale` multiplies the exact values and the printed slopes: impostors set it.
    """

    means: Means
    printed: Mapping[str, float]
    tolerance: float = 0.1
    scale: float = 1.0

    def tasks(self, level: Level) -> Sequence[Task]:
        """Predictions and blocks of trials."""
        return self.means.tasks(level, inf)

    def more(self, results: Sequence[Result], level: Level) -> Sequence[Task]:
        """More trials of the groups whose slope is unclear, unless something fails already."""
        rows = self._rows(results, level)
        judged = self._slopes(rows)
        if self._contradicted(rows) or any(outcome == "fails" for _, outcome in judged):
            return ()
        unclear = {slope.curve for slope, outcome in judged if outcome == "unclear"}
        wanted = [{**row, "outcome": "unclear" if row["group"] in unclear else "holds"} for row in rows]
        return self.means.more(wanted, results, level, inf)

    def run(self, task: Task, seed: Seed) -> Result:
        """A prediction, or the moments of a block."""
        return self.means.run(task, seed)

    def false_alarms(self, level: Level) -> float:
        """Of all means together, and of one more comparison per slope."""
        return self.means.false_alarms(level) + len(self.printed) * statistics.COMPARISON_ALPHA * statistics.TAIL_FACTOR

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """Each printed slope against both others."""
        rows = self._rows(results, level)
        judged = self._slopes(rows)
        outcomes: list[Outcome] = [outcome for _, outcome in judged]
        outcome: Outcome = "fails" if self._contradicted(rows) else max(outcomes, key=ORDER.index)
        slopes = [slope for slope, _ in judged]
        worst = max(judged, key=lambda item: ORDER.index(item[1]))[0]
        shown = [
            f"{slope.curve}: printed {slope.printed:.3g}, exact {slope.exact:.3f}, simulated {slope.simulated:.3f}"
            for slope in slopes
        ]
        picture = self.means.picture(rows, exact=True)
        return Evidence(
            outcome=outcome,
            how="statistical",
            summary=f"Slopes: {'; '.join(shown)} (tolerance {self.tolerance}).",
            counterexample=_shown(worst) if outcome == "fails" else None,
            needed="more trials for the slopes" if outcome == "unclear" else "",
            resolution=self.tolerance,
            alpha=self.false_alarms(level),
            trials=sum(row["trials"] for row in rows),
            rows=[*map(_shown, slopes), *rows],
            picture=replace(picture, slopes=slopes) if picture else None,
        )

    def _rows(self, results: Sequence[Result], level: Level) -> list[Row]:
        return self.means.rows(results, level, inf, scale=self.scale)

    def _contradicted(self, rows: Sequence[Row]) -> bool:
        return any(row["outcome"] == "fails" for row in rows)

    def _slopes(self, rows: Sequence[Row]) -> list[tuple[Slope, Outcome]]:
        return [self._slope(group, [row for row in rows if row["group"] == group]) for group in self.printed]

    def _slope(self, group: str, rows: Sequence[Row]) -> tuple[Slope, Outcome]:
        stated = self.scale * self.printed[group]
        x, predicted, observed = ([row[key] for row in rows] for key in ("x", "predicted", "observed"))
        quantile = statistics.normal_quantile(statistics.ALPHA)
        errors = [(row["high"] - row["low"]) / 2.0 / quantile / row["observed"] for row in rows]
        fitted = statistics.fit_slope(x, observed, errors, weighted=False)
        exact = statistics.fit_slope(x, predicted, errors, weighted=False).slope
        outcome = statistics.slope_outcome(fitted, stated, tolerance=self.tolerance)
        slope = Slope(
            curve=group, printed=stated, exact=exact, simulated=fitted.slope, low=fitted.low, high=fitted.high
        )
        return slope, "fails" if abs(exact - stated) > self.tolerance else outcome


def _shown(slope: Slope) -> dict[str, Any]:
    return {"group": slope.curve, **{key: value for key, value in vars(slope).items() if key != "curve"}}
