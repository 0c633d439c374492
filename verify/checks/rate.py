"""Claims with unknown constants: is value / rate bounded, above, below or both, as every range is extended?

The ratio is followed over growing extents e_1 < e_2 < ..., each twice the one before on a logarithmic scale (decades).
A bounded ratio's record converges: its increments shrink from extent to extent. A missing power makes them explode, a
missing logarithm makes them double, a missing log log keeps them constant. The constant is fitted on the first extent
and held against the last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from verify.checks.base import Check, Level, Result, Seed, Task
from verify.checks.evidence import Evidence
from verify.checks.pictures import Picture, Series

Relation = Literal["theta", "upper", "lower"]
# Increments that shrink below BOUNDED of the one before sum up to a finite limit; at GROWING or above they do not.
BOUNDED, GROWING = 0.8, 0.95
# Increments of the logarithm below this are flat: less than half a per cent while the range doubles.
FLAT = 5e-3
TRENDS = ("bounded", "unclear", "falling", "growing")


@final
@dataclass(frozen=True, kw_only=True)
class Rate(Check):
    """value = O(rate) (`upper`), Omega(rate) (`lower`) or Theta(rate) (`theta`), decided on value / rate.

    `ratios(decades)` gives value / rate at points `decades` away from the centre of the sweep, one for each direction
    and for each setting of the parameters that are not swept: (label, ratio) pairs. `extents` are the distances of the
    sweep, each twice the last. Constants are reported, not judged. `axes` names what is swept and the ratio, in Typst
    markup; no picture without.
    """

    ratios: Callable[[float], Iterable[tuple[str, float]]]
    relation: Relation
    extents: Sequence[float] = (1.0, 2.0, 4.0, 8.0)
    per_extent: int = 8
    axes: tuple[str, str] = ("", "")

    def tasks(self, level: Level) -> Sequence[Task]:
        """One piece per extent."""
        return tuple({"from": low, "to": high} for low, high in zip((0.0, *self.extents), self.extents, strict=False))

    def run(self, task: Task, seed: Seed) -> Result:
        """Smallest and largest ratio on the extent, per label."""
        distances = np.linspace(task["from"], task["to"], self.per_extent + 1)[0 if task["from"] == 0 else 1 :]
        ends: dict[str, list[float]] = {}
        trace: dict[str, list[list[float]]] = {}
        for distance in distances:
            for label, ratio in self.ratios(float(distance)):
                low, high = ends.setdefault(label, [math.inf, -math.inf])
                ends[label] = [min(low, float(ratio)), max(high, float(ratio))]
                trace.setdefault(label, []).append([float(distance), float(ratio)])
        return {"ends": ends, "trace": trace}

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """Fails if the record of any label keeps growing, holds if all converge."""
        labels = list(results[0]["ends"])
        judged = {label: self._judge([result["ends"][label] for result in results]) for label in labels}
        rows = [
            {"setting": label, "smallest": low, "largest": high, "trend": trend}
            for label, (trend, low, high) in judged.items()
        ]
        low, high = min(row["smallest"] for row in rows), max(row["largest"] for row in rows)
        traces = {label: [point for result in results for point in result["trace"][label]] for label in labels}
        common: dict[str, Any] = {
            "rows": rows,
            "picture": self._picture(traces),
            "evaluations": sum(map(len, traces.values())),
        }
        worst = max(judged, key=lambda label: TRENDS.index(judged[label][0]))
        trend, smallest, largest = judged[worst]
        if trend in ("falling", "growing"):
            way = (smallest, largest) if trend == "growing" else (largest, smallest)
            said = "grows without bound" if trend == "growing" else "falls towards 0"
            summary = f"The ratio to the rate {said} for {worst}: from {way[0]:.3g} to {way[1]:.3g} and on."
            counterexample = {"setting": worst, "first": way[0], "last": way[1], "decades": self.extents[-1]}
            counterexample |= {"trace": traces[worst]}
            return Evidence(outcome="fails", how="numeric", summary=summary, counterexample=counterexample, **common)
        if trend == "unclear":
            summary = f"The ratio to the rate has not settled for {worst}."
            needed = f"extents beyond {self.extents[-1]:g} decades for {worst}"
            return Evidence(outcome="unclear", how="numeric", summary=summary, needed=needed, **common)
        shown = {"upper": f"at most {high:.4g}", "lower": f"at least {low:.4g}", "theta": f"in [{low:.4g}, {high:.4g}]"}
        summary = f"Over {self.extents[-1]:g} decades the ratio to the rate settles, {shown[self.relation]}."
        return Evidence(outcome="holds", how="numeric", summary=summary, **common)

    def _judge(self, ends: Sequence[Sequence[float]]) -> tuple[str, float, float]:
        """Trend of the record, and the smallest and largest ratio."""
        lows = np.minimum.accumulate([low for low, _ in ends])
        highs = np.maximum.accumulate([high for _, high in ends])
        trends = []
        if self.relation in ("theta", "upper"):
            trends.append(_trend(np.log(highs), "growing"))
        if self.relation in ("theta", "lower"):
            with np.errstate(divide="ignore"):
                trends.append(_trend(-np.log(lows), "falling"))
        return max(trends, key=TRENDS.index), float(lows[-1]), float(highs[-1])

    def _picture(self, traces: Mapping[str, Sequence[Sequence[float]]]) -> Picture | None:
        if not any(self.axes):
            return None
        series = [
            Series(curve=label, role="exact", x=[point[0] for point in trace], y=[point[1] for point in trace])
            for label, trace in traces.items()
        ]
        return Picture(x=self.axes[0], y=self.axes[1], log=("y",), series=series)


def _trend(record: np.ndarray, unbounded: str) -> str:
    """Whether a nondecreasing record on doubling extents converges; what to call it if it goes on and on."""
    if not np.all(np.isfinite(record)):
        return unbounded
    increments = np.diff(record)
    if increments[-1] <= FLAT:
        return "bounded"
    quotient = increments[-1] / max(increments[-2], FLAT)
    if quotient <= BOUNDED:
        return "bounded"
    return unbounded if quotient >= GROWING and increments[-2] > FLAT else "unclear"
