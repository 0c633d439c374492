"""Where one method stands against another: the ratio of their median excess risks, cell by cell, on fresh data.

A cell is a kind of data at one epsilon. Its medians are over the trials on all of its data sets together (random
splits, or draws of a family), none of which was looked at when the statement was written. Their order-statistic
intervals, exact for all laws and conservative where the data sets differ, give one of the ratio. Every cell must be
able to show a ratio of `SEEN`: two medians that far apart have intervals that do not meet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from dpbounds.ols.calibration import Accounting
from simulators.ols import LeastSquares
from verify.checks import statistics
from verify.checks.base import LEVELS, Check, Level, Result, Seed, Task, by_level
from verify.checks.evidence import Evidence, Outcome, counted
from verify.checks.pictures import Picture, Series
from verify.papers.ols.tools.contest import EPSILON_AXIS, Entrant
from verify.papers.ols.tools.experiments import experiment, setup_of

SEEN: Mapping[Level, float] = {"quick": 1.1, "full": 1.05}
ZERO = Entrant(name="theta = 0", method="zero")
BLOCK = 500


@dataclass(frozen=True, kw_only=True)
class Field:
    """A kind of data: one data set for every seed, and by level the budgets, and how many blocks of `BLOCK` trials."""

    name: str
    load: Callable[[int], LeastSquares]
    seeds: Sequence[int]
    epsilons: Mapping[Level, Sequence[float]]
    blocks: Mapping[Level, int] | int

    def at(self, level: Level) -> Sequence[float]:
        """The budgets at this level: none where only higher ones are named."""
        named = any(name in self.epsilons for name in LEVELS[: LEVELS.index(level) + 1])
        return by_level(self.epsilons, level) if named else ()


@final
@dataclass(frozen=True, kw_only=True)
class Standing(Check):
    """In every cell the champion's median excess risk is from `least` to `most` times that of each opponent.

    Holds if all intervals of the ratios lie in that range, fails if one lies outside of it, else unclear; unclear too
    where a ratio of `seen` need not have shown. The numbers of the cells go to the texts as `lowest_TAG` and
    `highest_TAG`.
    """

    fields: Callable[[], Sequence[Field]]
    champion: Entrant
    opponents: tuple[Entrant, ...]
    accountings: tuple[Accounting, ...] = ("tight",)
    least: float = 0.0
    most: float = 1.0
    seen: Mapping[Level, float] = field(default_factory=lambda: SEEN)
    tag: str = ""

    def tasks(self, level: Level) -> Sequence[Task]:
        """One for every cell."""
        return [
            {"set": own.name, "accounting": accounting, "epsilon": epsilon, "blocks": by_level(own.blocks, level)}
            for own in self.fields()
            for accounting in self.accountings
            for epsilon in own.at(level)
        ]

    def run(self, task: Task, seed: Seed) -> Result:
        """Median and interval of every method."""
        own = next(own for own in self.fields() if own.name == task["set"])
        found = {}
        for entrant in (self.champion, *self.opponents):
            parts = []
            for number in own.seeds:
                problem = own.load(number)
                setup = setup_of(problem, accounting=task["accounting"], **entrant.options)
                one = experiment(problem, setup, entrant.method, task["epsilon"], trials=BLOCK)
                blocks = [one.run_block(block, seed=seed.user)["risk"] for block in range(task["blocks"])]
                parts.append(np.concatenate(blocks) / problem.n)
            risks = np.concatenate(parts)
            found[entrant.name] = (float(np.median(risks)), *statistics.quantile_interval(risks, 0.5))
        trials = task["blocks"] * BLOCK * len(own.seeds) * len(found)
        return {**task, "trials": trials, "found": found}

    def false_alarms(self, level: Level) -> float:
        """Two intervals for every cell and opponent."""
        return min(1.0, len(self.tasks(level)) * len(self.opponents) * 2 * statistics.ALPHA)

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """By the worst cell."""
        rows = [row for result in results for row in self._rows(result)]
        seen, wanted = max(row["seen"] for row in rows), by_level(self.seen, level)
        outside = [row for row in rows if row["low"] > self.most or row["high"] < self.least]
        inside = all(self.least <= row["low"] and row["high"] <= self.most for row in rows)
        outcome: Outcome = "fails" if outside else "holds" if inside and seen <= wanted else "unclear"
        lowest, highest = min(row["ratio"] for row in rows), max(row["ratio"] for row in rows)
        common: dict[str, Any] = {
            "how": "statistical",
            "alpha": self.false_alarms(level),
            "trials": sum(result["trials"] for result in results),
            "rows": [*rows, {f"lowest_{self.tag}": lowest, f"highest_{self.tag}": highest}],
            "picture": self._picture(results),
            "summary": (
                f"{self.champion.name} over {', '.join(one.name for one in self.opponents)}, "
                f"{counted(len(rows), 'cell')}: {lowest:.3f} to {highest:.3f} of the median excess risk; "
                f"a ratio of {seen:.3f} would have been seen."
            ),
        }
        if outside:
            worst = outside[0]
            shown = {key: worst[key] for key in ("set", "epsilon", "against", "ratio", "low", "high")}
            return Evidence(outcome=outcome, counterexample=shown, **common)
        return Evidence(outcome=outcome, needed="" if outcome == "holds" else "more trials", **common)

    def _rows(self, result: Result) -> list[dict[str, Any]]:
        own, own_low, own_high = result["found"][self.champion.name]
        rows = []
        for opponent in self.opponents:
            other, low, high = result["found"][opponent.name]
            rows.append(
                {
                    "set": result["set"],
                    "accounting": result["accounting"],
                    "epsilon": result["epsilon"],
                    "against": opponent.name,
                    "ratio": own / other,
                    "low": own_low / high,
                    "high": own_high / low,
                    "seen": (own_high / own_low) * (high / low),
                }
            )
        return rows

    def _picture(self, results: Sequence[Result]) -> Picture:
        """The ratio to each opponent, a curve for each kind of data."""
        rows = [row for result in results for row in self._rows(result)]
        series = []
        for key in dict.fromkeys((row["set"], row["accounting"], row["against"]) for row in rows):
            own = [row for row in rows if (row["set"], row["accounting"], row["against"]) == key]
            curve = ", ".join(part for part in (key[0], key[2]) if part)
            series.append(
                Series(
                    curve=curve if len(self.accountings) == 1 else f"{curve}, {key[1]}",
                    role="simulated",
                    x=[row["epsilon"] for row in own],
                    y=[row["ratio"] for row in own],
                    low=[row["low"] for row in own],
                    high=[row["high"] for row in own],
                )
            )
        return Picture(x=EPSILON_AXIS, y=f"excess risk of {self.champion.name} over the other's", series=series)
