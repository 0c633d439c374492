"""Simulated means against exact ones, and the powers with which they grow."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from simulators.engine import Experiment
from verify import statistics
from verify.checks.base import LEVELS, Check, Level, Result, Seed, Task, by_level
from verify.evidence import Evidence, Outcome

ORDER: tuple[Outcome, ...] = ("holds", "unclear", "fails")


@dataclass(frozen=True, kw_only=True)
class Case:
    """One simulated quantity and its exact value.

    `output` names the array of the experiment, one replicate per trial. `predicted` is computed from theory without the
    simulator. `relative_std` bounds a replicate's standard deviation over its mean: with the resolution it sets the
    number of trials. `x` is the abscissa in pictures and slopes, `group` the curve it belongs to, `unit` what both
    values are divided by. `level` is the lowest at which the case is run.
    """

    label: str
    experiment: Experiment
    output: str
    predicted: Callable[[], float]
    relative_std: float
    x: float = math.nan
    group: str = ""
    unit: float = 1.0
    level: Level = "quick"


@dataclass(frozen=True, kw_only=True)
class MonteCarlo(Check):
    """Every case's simulated mean agrees with its exact value to `resolution`.

    `law` says how: `mean` by Student's interval on independent replicates; `variance` exactly, the output being centred
    Gaussian and the prediction its variance. `trials` per case by level, or None for as many as the resolution needs.
    `scale` multiplies the predictions: impostors set it. `lines` gives further series of the picture, such as bounds.
    No picture without `axes`.
    """

    cases: Callable[[], Sequence[Case]]
    resolution: Mapping[Level, float] = field(default_factory=lambda: {"quick": 0.05, "full": 0.02, "paper": 0.01})
    trials: Mapping[Level, int] | None = None
    law: Literal["mean", "variance"] = "mean"
    scale: float = 1.0
    axes: tuple[str, str] = ("", "")
    log_axes: tuple[str, ...] = ("x", "y")
    lines: Callable[[], Sequence[Mapping[str, Any]]] = tuple

    def tasks(self, level: Level) -> Sequence[Task]:
        """One prediction and the needed number of blocks for every case."""
        return [task for case in self.cases_at(level) for task in self._tasks_of(case, level)]

    def run(self, task: Task, seed: Seed) -> Result:
        """The exact value, or the moments of one block of trials."""
        case = next(case for case in self.cases() if case.label == task["case"])
        if "block" not in task:
            return {"case": case.label, "predicted": float(case.predicted())}
        replicates = case.experiment.run_block(task["block"], seed=seed.user)[case.output]
        moments = statistics.Moments.of(replicates**2 if self.law == "variance" else replicates)
        return {"case": case.label, "moments": [moments.count, moments.mean, moments.second, moments.third]}

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """The worst case decides."""
        cases, resolution = self.cases_at(level), by_level(self.resolution, level)
        compared = {case.label: self._compare(case.label, results, resolution) for case in cases}
        rows = [row_of(case, *compared[case.label]) for case in cases]
        worst = max(cases, key=lambda case: ORDER.index(compared[case.label][0].outcome))
        comparison, trials = compared[worst.label]
        total = sum(count for _, count in compared.values())
        common: dict[str, Any] = {
            "how": "statistical",
            "resolution": resolution,
            "alpha": len(cases) * statistics.ALPHA * (statistics.TAIL_FACTOR if self.law == "mean" else 1.0),
            "beta": statistics.BETA,
            "trials": total,
            "rows": rows,
            "picture": self._picture(rows),
        }
        if comparison.outcome == "holds":
            farthest = max(abs(c.observed / c.predicted - 1.0) for c, _ in compared.values())
            summary = (
                f"{len(cases)} simulated means agree with the exact values: all intervals within {resolution:.0%}, "
                f"largest deviation {farthest:.2%}, {total} trials."
            )
            return Evidence(outcome="holds", summary=summary, **common)
        shown = f"{worst.label}: simulated {comparison.observed:.5g} in [{comparison.low:.5g}, {comparison.high:.5g}]"
        if comparison.outcome == "fails":
            row = rows[cases.index(worst)]
            return Evidence(
                outcome="fails", summary=f"{shown}, stated {comparison.predicted:.5g}.", counterexample=row, **common
            )
        needed = f"about {math.ceil(trials * (comparison.resolved / resolution) ** 2)} trials of {worst.label}"
        return Evidence(
            outcome="unclear", summary=f"{shown} is too wide for {resolution:.0%}.", needed=needed, **common
        )

    def cases_at(self, level: Level) -> list[Case]:
        """The cases that are run at a level."""
        return [case for case in self.cases() if LEVELS.index(case.level) <= LEVELS.index(level)]

    def _tasks_of(self, case: Case, level: Level) -> list[Task]:
        blocks = math.ceil(self._trials_of(case, level) / case.experiment.block_trials)
        return [{"case": case.label}, *({"case": case.label, "block": block} for block in range(blocks))]

    def _trials_of(self, case: Case, level: Level) -> int:
        if self.trials is not None:
            return by_level(self.trials, level)
        relative_std = math.sqrt(2.0) if self.law == "variance" else case.relative_std
        return statistics.trials_needed(relative_std, by_level(self.resolution, level))

    def _compare(self, label: str, results: Sequence[Result], resolution: float) -> tuple[statistics.Comparison, int]:
        own = [result for result in results if result["case"] == label]
        predicted = self.scale * next(result["predicted"] for result in own if "predicted" in result)
        moments = statistics.Moments.merge_all(statistics.Moments(*r["moments"]) for r in own if "moments" in r)
        if self.law == "variance":
            test = statistics.variance_test(moments.mean, moments.count, predicted, resolution=resolution)
        else:
            test = statistics.mean_test(moments, predicted, resolution=resolution)
        return test, moments.count

    def _picture(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
        plotted = [row for row in rows if math.isfinite(row["x"])]
        if not plotted or not any(self.axes):
            return None
        series: list[Mapping[str, Any]] = [*self.lines()]
        for group in dict.fromkeys(row["group"] for row in plotted):
            own = sorted((row for row in plotted if row["group"] == group), key=lambda row: row["x"])
            series += self._series_of(group, own)
        return {"x": self.axes[0], "y": self.axes[1], "log": list(self.log_axes), "series": series}

    def _series_of(self, group: str, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Exact and simulated values of a group."""
        columns = {key: [row[name] for row in rows] for key, name in (("x", "x"), ("y", "predicted"))}
        return [{"label": f"{group} exact", "role": "theory", **columns}, simulated_series(group, rows)]


@dataclass(frozen=True, kw_only=True)
class Slopes(MonteCarlo):
    """Log-log slopes along each group of cases, all points alike: simulated, exact on the same grid, and as printed.

    `printed[group]` is held against the slope of the exact values on the grid (numeric) and against the simulated one
    (equivalence within `tolerance`, statistical). The simulated means themselves need not reach a resolution.
    """

    printed: Mapping[str, float] = field(default_factory=dict)
    tolerance: float = 0.1
    trials: Mapping[Level, int] | None = field(default_factory=lambda: {"quick": 32, "full": 128, "paper": 512})

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """Each printed slope against both others."""
        means = super().conclude(results, level)
        lines, rows = [], []
        outcomes: list[Outcome] = []
        for group, printed in self.printed.items():
            own = [row for row in means.rows if row["group"] == group]
            x, predicted, observed = ([row[key] for row in own] for key in ("x", "predicted", "observed"))
            errors = [
                (row["high"] - row["low"]) / 2.0 / statistics.normal_quantile(statistics.ALPHA) / row["observed"]
                for row in own
            ]
            fitted = statistics.fit_slope(x, observed, errors, weighted=False)
            exact = statistics.fit_slope(x, predicted, errors, weighted=False).slope
            outcomes.append(statistics.slope_outcome(fitted, self.scale * printed, tolerance=self.tolerance))
            if abs(exact - self.scale * printed) > self.tolerance:
                outcomes.append("fails")
            lines.append(
                f"{group}: printed {self.scale * printed:.3g}, exact {exact:.3f}, simulated {fitted.slope:.3f}"
            )
            rows.append(
                {
                    "group": group,
                    "printed": self.scale * printed,
                    "exact": exact,
                    "simulated": fitted.slope,
                    "low": fitted.low,
                    "high": fitted.high,
                }
            )
        if means.outcome == "fails":
            outcomes.append("fails")
        outcome = ORDER[max(map(ORDER.index, outcomes))]
        picture = {**means.picture, "slopes": rows} if means.picture else None
        return Evidence(
            outcome=outcome,
            how="statistical",
            summary=f"Slopes: {'; '.join(lines)} (tolerance {self.tolerance}).",
            counterexample={"slopes": rows} if outcome == "fails" else None,
            needed="more trials for the slopes" if outcome == "unclear" else "",
            resolution=self.tolerance,
            alpha=means.alpha,
            beta=means.beta,
            trials=means.trials,
            rows=[*rows, *means.rows],
            picture=picture,
        )


def simulated_series(group: str, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The simulated means of a group with their intervals, for a picture."""
    columns = {"x": "x", "y": "observed", "low": "low", "high": "high"}
    numbers = {key: [row[name] for row in rows] for key, name in columns.items()}
    return {"label": f"{group} simulated", "role": "simulation", **numbers}


def row_of(case: Case, comparison: statistics.Comparison, trials: int, *, stated: str = "predicted") -> dict[str, Any]:
    """A case in its unit; `stated` names the number that it is held against."""
    return {
        "case": case.label,
        "group": case.group,
        "x": case.x,
        stated: comparison.predicted / case.unit,
        "observed": comparison.observed / case.unit,
        "low": comparison.low / case.unit,
        "high": comparison.high / case.unit,
        "trials": trials,
        "outcome": comparison.outcome,
    }
