"""Quantiles of simulated runs: against exact ones, against each other, and the powers with which they grow.

For laws whose means do not exist or say little. Order-statistic intervals: exact for every continuous law.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from types import MethodType
from typing import Any, Literal, final

import numpy as np

from simulators.engine import Arrays, Experiment, describe
from verify.checks import statistics
from verify.checks.base import LEVELS, Check, Level, Result, Seed, Task, by_level
from verify.checks.evidence import ORDER, Evidence, Outcome, counted
from verify.checks.looks import blocks_of, doubled
from verify.checks.pictures import Picture, Role, Series, Slope

Row = dict[str, Any]

# Quantiles outside are taken as at the ends: 0, or a run that left floating-point range.
RANGE, LARGEST = (1e-150, 1e150), 1e300
LEAST_LOG, LARGEST_LOG = -340.0, 700.0


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The quantile at `probability` of one number per trial of an experiment.

    `output` names an array of shape (trials,), or computes one from all arrays. Readings with the same `run` share
    their trials (and must have the same experiment). `predicted` comes from theory, without the simulator. `x`, `group`
    and `level` as in `Case`; `trials` by level in place of the check's.
    """

    label: str
    experiment: Experiment
    output: str | Callable[[Arrays], np.ndarray]
    run: str = ""
    probability: float = 0.5
    predicted: Callable[[], float] | None = None
    trials: Mapping[Level, int] | None = None
    x: float = math.nan
    group: str = ""
    level: Level = "quick"

    def times(self, factor: float) -> Reading:
        """The same reading with its prediction multiplied."""
        predicted = self.predicted
        return self if predicted is None else replace(self, predicted=lambda: factor * predicted())

    @property
    def shared_run(self) -> str:
        """The name of its run."""
        return self.run or self.label

    def values(self, arrays: Arrays) -> np.ndarray:
        """One number per trial."""
        return np.asarray(arrays[self.output] if isinstance(self.output, str) else self.output(arrays), dtype=float)


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """Stated: quantile of `above` over quantile of `below` (labels of readings, or a number) lies in a range."""

    label: str
    above: str
    below: str | float = 1.0
    at_least: float = -math.inf
    at_most: float = math.inf


@dataclass(frozen=True, kw_only=True)
class Power:
    """Stated: from x = `beyond` on the quantiles of a group grow like x^printed, to `tolerance` in the exponent.

    A correction states another exponent, `instead`; the printed one is shown beside it.
    """

    group: str
    printed: float
    instead: float | None = None
    tolerance: float = 0.1
    beyond: float = -math.inf


@final
@dataclass(frozen=True, kw_only=True)
class Quantiles(Check):
    """Every statement about simulated quantiles holds: predictions to `resolution` (if given), ratios and powers.

    An interval inside the stated range holds, outside fails, across an end is unclear. Intervals of ratios (of positive
    quantiles) and slopes combine the logarithmic arms of their readings: in squares, as errors of independent runs, or
    by adding them up where two readings share a run. A statement on readings of a higher level waits for that level.
    Predictions that are not judged still give the slopes and lines of `theory`, which says what they are. `scale`
    multiplies predictions: impostors set it. No picture without `axes`, which are Typst markup.
    """

    readings: Callable[[], Sequence[Reading]]
    resolution: Mapping[Level, float] | None = None
    ratios: Sequence[Ratio] = ()
    powers: Sequence[Power] = ()
    trials: Mapping[Level, int] = field(default_factory=lambda: {"quick": 64, "full": 512})
    scale: float = 1.0
    axes: tuple[str, str] | None = None
    log_axes: tuple[Literal["x", "y"], ...] = ("x", "y")
    theory: Role = "exact"
    lines: Callable[[], Sequence[Series]] = field(default=tuple)

    def tasks(self, level: Level) -> Sequence[Task]:
        """The blocks of every run, and one piece for all predictions."""
        blocks = [
            {"run": name, "block": block}
            for name, reading in self._runs(level).items()
            for block in range(self._blocks(reading, level))
        ]
        return [{"level": level}, *blocks]

    def more(self, results: Sequence[Result], level: Level) -> Sequence[Task]:
        """Twice the trials of every run behind a statement that is unclear, unless one fails already."""
        rows = self._rows(results, level)
        judged = self._judged(rows, level)
        if any(row["outcome"] == "fails" for row in judged):
            return ()
        wanted = {run for row in judged if row["outcome"] == "unclear" for run in row["runs"]}
        return [
            task
            for name, reading in self._runs(level).items()
            if name in wanted
            for task in doubled({"run": name}, blocks_of(results, "run", name, "samples"), self._blocks(reading, level))
        ]

    def shared(self, task: Task) -> Hashable | None:
        """A block of a run whose numbers are outputs by name, or by methods of plain data."""
        identity = self._identities.get(task.get("run", ""))
        return None if identity is None else (identity, task["block"])

    def false_alarms(self, level: Level) -> float:
        """Of all intervals together: every statement is made of them."""
        return len(self.readings_at(level)) * statistics.COMPARISON_ALPHA

    def run(self, task: Task, seed: Seed) -> Result:
        """The numbers of one block for every reading of its run, or the predictions and lines."""
        if "run" not in task:
            at = self.readings_at(task["level"])
            return {
                "predicted": {reading.label: float(reading.predicted()) for reading in at if reading.predicted},
                "lines": [asdict(line) for line in self.lines()],
            }
        own = [reading for reading in self._all_readings if reading.shared_run == task["run"]]
        arrays = own[0].experiment.run_block(task["block"], seed=seed.user)
        return {"run": task["run"], "samples": {reading.label: _rounded(reading.values(arrays)) for reading in own}}

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """The worst statement decides."""
        rows = self._rows(results, level)
        judged = self._judged(rows, level)
        worst = max(judged, key=lambda row: ORDER.index(row["outcome"]))
        total = sum({row["run"]: row["trials"] for row in rows}.values())
        common: dict[str, Any] = {
            "how": "statistical",
            "resolution": None if self.resolution is None else by_level(self.resolution, level),
            "alpha": self.false_alarms(level),
            "trials": total,
            "rows": [*judged, *rows],
            "picture": self._picture(rows, judged, [Series(**line) for line in _theory(results)["lines"]]),
        }
        if worst["outcome"] == "holds":
            summary = f"{_said(judged)}; {total} runs."
            return Evidence(outcome="holds", summary=summary, **common)
        if worst["outcome"] == "fails":
            return Evidence(outcome="fails", summary=f"{worst['said']}.", counterexample=_shown(worst), **common)
        return Evidence(outcome="unclear", summary=f"{worst['said']}.", needed=f"more runs: {worst['said']}", **common)

    def readings_at(self, level: Level) -> list[Reading]:
        """The readings that are taken at a level."""
        return [reading for reading in self._all_readings if LEVELS.index(reading.level) <= LEVELS.index(level)]

    @cached_property
    def _all_readings(self) -> Sequence[Reading]:
        """Made once: every task and every look asks for them."""
        return tuple(self.readings())

    @cached_property
    def _identities(self) -> dict[str, Hashable | None]:
        """What decides the numbers of every run, None where that cannot be told."""
        runs: dict[str, list[Reading]] = {}
        for reading in self._all_readings:
            runs.setdefault(reading.shared_run, []).append(reading)
        return {name: _identity(name, own) for name, own in runs.items()}

    def _runs(self, level: Level) -> dict[str, Reading]:
        """One reading of every run."""
        return {reading.shared_run: reading for reading in self.readings_at(level)}

    def _blocks(self, reading: Reading, level: Level) -> int:
        trials = by_level(self.trials if reading.trials is None else reading.trials, level)
        return math.ceil(trials / reading.experiment.block_trials)

    def _rows(self, results: Sequence[Result], level: Level) -> list[Row]:
        predicted = _theory(results)["predicted"]
        return [self._measured(reading, results, predicted) for reading in self.readings_at(level)]

    def _judged(self, rows: Sequence[Row], level: Level) -> list[Row]:
        judged = [*self._predictions(rows, level), *self._ratios(rows), *self._slopes(rows)]
        if not judged:
            raise ValueError("no statement about the readings of this level")
        return judged

    def _measured(self, reading: Reading, results: Sequence[Result], predicted: Mapping[str, float]) -> Row:
        samples = np.concatenate(
            [result["samples"][reading.label] for result in results if reading.label in _of(result)]
        )
        low, high = statistics.quantile_interval(samples, reading.probability)
        return {
            "reading": reading.label,
            "run": reading.shared_run,
            "group": reading.group,
            "x": reading.x,
            "predicted": self.scale * predicted.get(reading.label, math.nan),
            "observed": float(np.quantile(samples, reading.probability)),
            "low": low,
            "high": high,
            "trials": len(samples),
        }

    def _predictions(self, rows: Sequence[Row], level: Level) -> list[Row]:
        if self.resolution is None:
            return []
        resolution = by_level(self.resolution, level)
        judged = []
        for row in (row for row in rows if not math.isnan(row["predicted"])):
            outcome = _within(row, row["predicted"] * (1.0 - resolution), row["predicted"] * (1.0 + resolution))
            said = f"{row['reading']}: {_interval(row)}, predicted {row['predicted']:.5g}"
            deviation = row["observed"] / row["predicted"] - 1.0
            stated = {"kind": "prediction", "outcome": outcome, "said": said, "deviation": deviation}
            judged.append({**row, **stated, "runs": [row["run"]]})
        return judged

    def _ratios(self, rows: Sequence[Row]) -> list[Row]:
        measured = {row["reading"]: row for row in rows}
        judged = []
        for ratio in self.ratios:
            above = measured.get(ratio.above)
            below = measured.get(ratio.below) if isinstance(ratio.below, str) else _certain(ratio.below)
            if above is None or below is None:
                continue
            quotient = _combined([above, below], np.array([1.0, -1.0]))
            row = {**{key: _exponential(value) for key, value in quotient.items()}, "trials": above["trials"]}
            row |= {"least": ratio.at_least, "most": ratio.at_most}
            runs = [side["run"] for side in (above, below) if side["run"] is not None]
            outcome = _within(row, ratio.at_least, ratio.at_most)
            said = f"{ratio.label}: {_interval(row)}, stated {_range(ratio.at_least, ratio.at_most)}"
            stated = {"kind": "ratio", "reading": ratio.label, "outcome": outcome, "said": said}
            judged.append({**row, **stated, "runs": runs})
        return judged

    def _slopes(self, rows: Sequence[Row]) -> list[Row]:
        judged = []
        for power in self.powers:
            own = [row for row in rows if row["group"] == power.group and row["x"] >= power.beyond]
            if len(own) < 2:
                continue
            stated = power.printed if power.instead is None else power.instead
            slope = _combined(own, _shares([row["x"] for row in own]))
            outcome = _within(slope, stated - power.tolerance, stated + power.tolerance)
            exact = _least_squares([row["x"] for row in own], [row["predicted"] for row in own])
            if abs(exact - stated) > power.tolerance:
                outcome = "fails"
            also = "" if math.isnan(exact) else f", {self.theory} {exact:.3f}"
            said = f"slope of {power.group}: {_interval(slope)}{also}, stated {stated:.3g}"
            numbers = {"printed": power.printed, "exact": exact, "simulated": slope["observed"]}
            kind = {"kind": "slope", "group": power.group, "outcome": outcome, "said": said}
            judged.append({**slope, **numbers, **kind, "runs": [row["run"] for row in own]})
        return judged

    def _picture(self, rows: Sequence[Row], judged: Sequence[Row], lines: Sequence[Series]) -> Picture | None:
        plotted = [row for row in rows if math.isfinite(row["x"])]
        if not plotted or self.axes is None:
            return None
        series = list(lines)
        for group in dict.fromkeys(row["group"] for row in plotted):
            own = sorted((row for row in plotted if row["group"] == group), key=lambda row: row["x"])
            columns = {key: [row[key] for row in own] for key in ("x", "predicted", "observed", "low", "high")}
            if not any(map(math.isnan, columns["predicted"])):
                series.append(Series(curve=group, role=self.theory, x=columns["x"], y=columns["predicted"]))
            ends = {"low": columns["low"], "high": columns["high"]}
            series.append(Series(curve=group, role="simulated", x=columns["x"], y=columns["observed"], **ends))
        keys = ("printed", "exact", "simulated", "low", "high")
        slopes = [
            Slope(curve=row["group"], **{key: row[key] for key in keys}) for row in judged if row["kind"] == "slope"
        ]
        return Picture(x=self.axes[0], y=self.axes[1], log=self.log_axes, series=series, slopes=slopes)


def _identity(run: str, readings: Sequence[Reading]) -> Hashable | None:
    """Of a run: what seeds its streams, and the outputs that are read, by name or as methods of plain data. None where
    there is a function without a name of its own: those are not told apart.
    """
    if any(not isinstance(reading.output, (str, MethodType)) for reading in readings):
        return None
    one = readings[0].experiment
    content = [describe(part) for part in (one.algorithm, one.problem, one.settings, one.block_trials)]
    for output in (reading.output for reading in readings):
        content.append([output.__qualname__, describe(output.__self__)] if isinstance(output, MethodType) else output)
    text = json.dumps(content, sort_keys=True)
    return None if "<" in text else (run, text, tuple(reading.label for reading in readings))


def _theory(results: Sequence[Result]) -> Result:
    (theory,) = [result for result in results if "predicted" in result]
    return theory


def _rounded(values: np.ndarray) -> list[float]:
    """Six digits, since many samples are stored; runs that left floating-point range at its end."""
    return [float(f"{value:.6g}") for value in np.clip(values, -LARGEST, LARGEST)]


def _certain(number: float) -> Row:
    return {**dict.fromkeys(("observed", "low", "high"), number), "run": None}


def _of(result: Result) -> Mapping[str, Any]:
    return result.get("samples", {})


def _within(row: Mapping[str, float], least: float, most: float) -> Outcome:
    if row["high"] < least or row["low"] > most:
        return "fails"
    return "holds" if least <= row["low"] and row["high"] <= most else "unclear"


def _least_squares(x: Sequence[float], y: Sequence[float]) -> float:
    """Slope in logarithms, all points alike."""
    return float(_shares(x) @ np.log(y))


def _shares(x: Sequence[float]) -> np.ndarray:
    """The slope in logarithms is this linear combination of the logarithms of y."""
    centred = np.log(x) - np.mean(np.log(x))
    return centred / (centred @ centred)


def _combined(rows: Sequence[Row], powers: np.ndarray) -> Row:
    """Logarithm of the product of quantiles to some powers, with an interval from theirs."""
    observed, low, high = (np.log(np.clip([row[key] for row in rows], *RANGE)) for key in ("observed", "low", "high"))
    below = np.abs(powers) * np.where(powers > 0, observed - low, high - observed)
    above = np.abs(powers) * np.where(powers > 0, high - observed, observed - low)
    independent = len({row["run"] for row in rows}) == len(rows)
    total = float(powers @ observed)
    arms = [float(np.sqrt(np.sum(arm**2)) if independent else np.sum(arm)) for arm in (below, above)]
    return {"observed": total, "low": total - arms[0], "high": min(total + arms[1], LARGEST_LOG)}


def _exponential(logarithm: float) -> float:
    """0 where the logarithm stands for one of 0."""
    return math.exp(logarithm) if logarithm > LEAST_LOG else 0.0


def _interval(row: Mapping[str, float]) -> str:
    return f"{row['observed']:.4g} in [{row['low']:.4g}, {row['high']:.4g}]"


def _range(least: float, most: float) -> str:
    if math.isinf(most):
        return f"at least {least:.4g}"
    return f"at most {most:.4g}" if math.isinf(least) else f"{least:.4g} to {most:.4g}"


def _said(judged: Sequence[Row]) -> str:
    """All that holds, predictions as one."""
    predictions = [row for row in judged if row["kind"] == "prediction"]
    parts = [row["said"] for row in judged if row["kind"] != "prediction"]
    if predictions:
        farthest = max(abs(row["deviation"]) for row in predictions)
        agree = f"{counted(len(predictions), 'quantile')} agree{'s' * (len(predictions) == 1)}"
        parts.insert(0, f"{agree} with theory, largest deviation {farthest:.2%}")
    return "; ".join(parts)


def _shown(row: Row) -> Row:
    hidden = ("kind", "said", "outcome", "run", "runs", "x", "deviation")
    return {key: value for key, value in row.items() if key not in hidden and value == value}
