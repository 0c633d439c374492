"""Simulated means of many cases and their exact values: what checks on means and their powers are composed of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from simulators.engine import Experiment
from verify.checks import statistics
from verify.checks.base import LEVELS, Level, Result, Seed, Task, by_level, chosen
from verify.checks.evidence import Outcome
from verify.checks.looks import SIZED, blocks_of, doubled, further, opening
from verify.checks.pictures import Picture, Series

Row = dict[str, Any]
Judge = Callable[[statistics.Comparison], Outcome]


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

    def times(self, factor: float) -> Case:
        """The same case with its stated value multiplied."""
        predicted = self.predicted
        return replace(self, predicted=lambda: factor * predicted())


@dataclass(frozen=True, kw_only=True)
class Means:
    """The cases, how many trials of each, and the picture of them.

    `law` says how a mean is compared: `mean` by Student's interval on independent replicates; `variance` exactly, the
    output being centred Gaussian and the prediction its variance. `trials` per case by level, or None for as many as a
    resolution needs: the quick level then begins with fewer (`verify.checks.looks`). `lines` gives further series of
    the picture. No picture without `axes`, which are Typst markup.
    """

    cases: Callable[[], Sequence[Case]]
    trials: Mapping[Level, int] | None = None
    law: Literal["mean", "variance"] = "mean"
    axes: tuple[str, str] = ("", "")
    log_axes: tuple[Literal["x", "y"], ...] = ("x", "y")
    lines: Callable[[], Sequence[Series]] = field(default=tuple)

    def cases_at(self, level: Level) -> list[Case]:
        """The cases that are run at a level."""
        return [case for case in self._all_cases if LEVELS.index(case.level) <= LEVELS.index(level)]

    @cached_property
    def _all_cases(self) -> Sequence[Case]:
        """Made once: every task and every look asks for them."""
        return tuple(self.cases())

    def tasks(self, level: Level, resolution: float) -> list[Task]:
        """One prediction and the needed number of blocks for every case."""
        return [
            task
            for case in self.cases_at(level)
            for task in (
                {"case": case.label},
                *({"case": case.label, "block": block} for block in range(self._first(case, level, resolution))),
            )
        ]

    def run(self, task: Task, seed: Seed) -> Result:
        """The exact value, or the moments of one block of trials."""
        case = chosen(self._all_cases, task["case"], lambda case: case.label)
        if "block" not in task:
            return {"case": case.label, "predicted": float(case.predicted())}
        replicates = case.experiment.run_block(task["block"], seed=seed.user)[case.output]
        moments = statistics.Moments.of(replicates**2 if self.law == "variance" else replicates)
        return {"case": case.label, "moments": [moments.count, moments.mean, moments.second, moments.third]}

    def more(self, rows: Sequence[Row], results: Sequence[Result], level: Level, resolution: float) -> list[Task]:
        """The next look at every case whose row is unclear, while it has looks left."""
        tasks: list[Task] = []
        for case, row in zip(self.cases_at(level), rows, strict=True):
            if row["outcome"] == "unclear":
                done = blocks_of(results, "case", case.label, "moments")
                planned, own = self._blocks(case, level, resolution), {"case": case.label}
                if self.trials is None:
                    tasks += further(own, done, planned, level, SIZED)
                else:
                    tasks += doubled(own, done, planned)
        return tasks

    def rows(
        self, results: Sequence[Result], level: Level, resolution: float, *, scale: float, stated: str = "predicted"
    ) -> list[Row]:
        """Every case compared, in its unit; `stated` names the number that it is held against, `scale` times the
        prediction.
        """
        rows = []
        for case in self.cases_at(level):
            test, trials = self._compare(case.label, results, resolution, scale)
            ends = {"observed": test.observed, "low": test.low, "high": test.high}
            rows.append(
                {
                    "case": case.label,
                    "group": case.group,
                    "x": case.x,
                    stated: test.predicted / case.unit,
                    **{name: value / case.unit for name, value in ends.items()},
                    "trials": trials,
                    "outcome": test.outcome,
                }
            )
        return rows

    def false_alarms(self, level: Level) -> float:
        """Of all comparisons together, over all their looks."""
        factor = statistics.TAIL_FACTOR if self.law == "mean" else 1.0
        return len(self.cases_at(level)) * statistics.COMPARISON_ALPHA * factor

    def picture(self, rows: Sequence[Row], *, exact: bool) -> Picture | None:
        """Simulated means, with their exact values if asked for, and the lines."""
        plotted = [row for row in rows if math.isfinite(row["x"])]
        if not plotted or not any(self.axes):
            return None
        series = [*self.lines()]
        for group in dict.fromkeys(row["group"] for row in plotted):
            own = sorted((row for row in plotted if row["group"] == group), key=lambda row: row["x"])
            x = [row["x"] for row in own]
            if exact:
                series.append(Series(curve=group, role="exact", x=x, y=[row["predicted"] for row in own]))
            columns = {
                key: [row[name] for row in own] for key, name in (("y", "observed"), ("low", "low"), ("high", "high"))
            }
            series.append(Series(curve=group, role="simulated", x=x, **columns))
        return Picture(x=self.axes[0], y=self.axes[1], log=self.log_axes, series=series)

    def _first(self, case: Case, level: Level, resolution: float) -> int:
        """Blocks of the first look."""
        planned = self._blocks(case, level, resolution)
        return opening(planned, level, SIZED) if self.trials is None else planned

    def _blocks(self, case: Case, level: Level, resolution: float) -> int:
        if self.trials is not None:
            trials = by_level(self.trials, level)
        else:
            relative_std = math.sqrt(2.0) if self.law == "variance" else case.relative_std
            trials = statistics.trials_needed(relative_std, resolution)
        return math.ceil(trials / case.experiment.block_trials)

    def _compare(
        self, label: str, results: Sequence[Result], resolution: float, scale: float
    ) -> tuple[statistics.Comparison, int]:
        own = [result for result in results if result.get("case") == label]
        predicted = scale * next(result["predicted"] for result in own if "predicted" in result)
        moments = statistics.Moments.merge_all(statistics.Moments(*r["moments"]) for r in own if "moments" in r)
        if self.law == "variance":
            test = statistics.variance_test(moments.mean, moments.count, predicted, resolution=resolution)
        else:
            test = statistics.mean_test(moments, predicted, resolution=resolution)
        return test, moments.count
