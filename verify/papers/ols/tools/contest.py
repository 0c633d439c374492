"""One method against others, cell by cell (data set x epsilon): wins, ties and losses in train MSE or excess risk.

A cell is won or lost where the intervals of the two methods do not meet, each at `statistics.ALPHA`; else it is a tie,
which is what "matches" can mean of simulations. Medians are compared by order-statistic intervals, exact for all laws;
means by Student's, where the sample's skewness lets it be trusted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, final

import numpy as np

from dpbounds.ols.calibration import Accounting
from simulators.ols import LeastSquares
from verify.checks import statistics
from verify.checks.base import Check, Level, Result, Seed, Task, by_level
from verify.checks.evidence import Evidence, Outcome, counted
from verify.checks.pictures import Picture, Series
from verify.papers.ols.tools.experiments import EPSILONS, Method, Setup, experiment, setup_of

READINGS = ("median", "mean")
# Runs of every method in every cell, unless a contest says otherwise.
TRIALS: Mapping[Level, int] = {"quick": 200, "full": 500}
OPEN = "open"
EPSILON_AXIS = "privacy $epsilon$"
Measure = Literal["train MSE", "excess risk"]
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Arena:
    """A data set under a name, with options of `Setup`; loaded when it is needed."""

    name: str
    load: Callable[[], LeastSquares]
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Entrant:
    """A method under the name shown, with options of `Setup` of its own."""

    name: str
    method: Method
    options: Mapping[str, Any] = field(default_factory=dict)


IHM, LINMIX, ADASSP, DPGD = (Entrant(name=name, method=name) for name in ("IHM", "LinMix", "AdaSSP", "DP-GD"))


@final
@dataclass(frozen=True, kw_only=True)
class Contest(Check):
    """The `champion` is not worse than the `opponents` in any cell, or (`most_losses`) in all but this share of cells.

    Decided under the first of `accountings`; the others are shown. Fails if it does under both readings, median and
    mean (where means can be judged); unclear if the two differ. `readings` are both unless the statement is one about
    medians. `better` asks for wins instead: in at least this share of the cells. `counts` says which cells are meant
    (set, epsilon). `panel` shows the curves of the first arena, else the ratio of the champion's median to the best
    opponent's for every arena.
    """

    arenas: Callable[[], Sequence[Arena]]
    champion: Entrant = IHM
    opponents: tuple[Entrant, ...] = (LINMIX, ADASSP)
    epsilons: tuple[float, ...] = EPSILONS
    accountings: tuple[Accounting, ...] = ("experiments", "tight")
    most_losses: float = 0.0
    better: float | None = None
    readings: tuple[str, ...] = READINGS
    counts: Callable[[str, float], bool] = lambda name, epsilon: True
    trials: Mapping[Level, int] = field(default_factory=lambda: TRIALS)
    measure: Measure = "train MSE"
    panel: bool = False

    def tasks(self, level: Level) -> Sequence[Task]:
        """One for every set and accounting."""
        trials = by_level(self.trials, level)
        return [
            {"set": arena.name, "accounting": accounting, "trials": trials}
            for arena in self.arenas()
            for accounting in self.accountings
        ]

    def run(self, task: Task, seed: Seed) -> Result:
        """Summaries of train MSE by epsilon and entrant."""
        arena = next(arena for arena in self.arenas() if arena.name == task["set"])
        problem = arena.load()
        floor = problem.least_loss if self.measure == "train MSE" else 0.0
        found = {}
        for epsilon in self.epsilons:
            for entrant in (self.champion, *self.opponents):
                options = {"accounting": task["accounting"], **arena.options, **entrant.options}
                setup = setup_of(problem, **options)
                errors = (
                    _risks(problem, setup, entrant.method, epsilon, task["trials"], seed.user) + floor
                ) / problem.n
                found[f"{epsilon:g} {entrant.name}"] = summary_of(errors)
        energy = problem.y_squared - problem.least_loss + floor
        lines = {"least squares": floor / problem.n, "$theta = 0$": energy / problem.n}
        return {**task, "found": found, "lines": lines}

    def false_alarms(self, level: Level) -> float:
        """Two intervals for every cell, opponent and reading of the accounting that decides."""
        cells = len(self.arenas()) * len(self.epsilons) * len(self.opponents)
        return min(1.0, cells * len(self.readings) * 2 * statistics.TAIL_FACTOR * statistics.ALPHA)

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """Counts the cells."""
        rows = [row for result in results for row in self._rows(result)]
        deciding = [row for row in rows if row["accounting"] == self.accountings[0] and row["counts"]]
        if not deciding:
            return Evidence(outcome="unclear", how="statistical", summary="No cell counts.", alpha=0.0, needed="data")
        outcomes = self._outcomes(deciding)
        both: Outcome = outcomes.get("median", "unclear") if len(set(outcomes.values())) == 1 else "unclear"
        said = "; ".join(_counted(deciding, opponent.name, self.champion.name) for opponent in self.opponents)
        common: dict[str, Any] = {
            "how": "statistical",
            "alpha": self.false_alarms(level),
            "trials": sum(result["trials"] for result in results) * len(self.epsilons) * (1 + len(self.opponents)),
            "rows": [
                *(_merged(rows, *key) for key in dict.fromkeys(_key(row) for row in rows)),
                *self._totals(deciding),
            ],
            "picture": self._panel(results[0]) if self.panel else self._overview(results),
        }
        if both == "fails":
            worst = max(deciding, key=lambda row: row["ratio"])
            shown = {key: worst[key] for key in ("set", "epsilon", "opponent", "ratio", "champion", "other")}
            losses, cells = sum(row["median"] == "loss" for row in deciding), len(deciding)
            shown |= {"losses": losses, "cells": cells, "excess": 100 * (worst["ratio"] - 1)}
            return Evidence(outcome="fails", summary=said, counterexample=shown, **common)
        needed = "more trials" if both == "unclear" else ""
        return Evidence(outcome=both, summary=said, needed=needed, **common)

    def _totals(self, rows: Sequence[Row]) -> list[Row]:
        """Where wins are asked for, for the texts: the cells won, tied and lost by medians against each opponent."""
        totals = []
        for opponent in self.opponents if self.better is not None else ():
            own = [row["median"] for row in rows if row["opponent"] == opponent.name]
            count = {"won": own.count("win"), "tied": own.count("tie"), "lost": own.count("loss"), "cells": len(own)}
            totals.append({f"{word}_{_identifier(opponent.name)}": number for word, number in count.items()})
        return totals

    def _outcomes(self, rows: Sequence[Row]) -> dict[str, Outcome]:
        """By reading; means are left out unless most cells can be judged by them."""
        cells = {reading: [row[reading] for row in rows if row[reading] != OPEN] for reading in self.readings}
        return {reading: self._outcome(found) for reading, found in cells.items() if 2 * len(found) > len(rows)}

    def _outcome(self, cells: Sequence[str]) -> Outcome:
        losses, wins = (sum(cell == word for cell in cells) / max(len(cells), 1) for word in ("loss", "win"))
        if self.better is not None:
            ties = 1.0 - losses - wins
            return "holds" if wins >= self.better else "fails" if wins + ties < self.better else "unclear"
        return "holds" if losses <= self.most_losses else "fails"

    def _rows(self, result: Result) -> list[Row]:
        """Each cell against each opponent."""
        rows = []
        for epsilon in self.epsilons:
            own = result["found"][f"{epsilon:g} {self.champion.name}"]
            for opponent in self.opponents:
                other = result["found"][f"{epsilon:g} {opponent.name}"]
                rows.append(
                    {
                        "set": result["set"],
                        "accounting": result["accounting"],
                        "epsilon": epsilon,
                        "opponent": opponent.name,
                        "counts": self.counts(result["set"], epsilon),
                        "ratio": own["median"] / other["median"],
                        "champion": own["median"],
                        "other": other["median"],
                        "median": _cell(
                            own["median_low"], own["median_high"], other["median_low"], other["median_high"]
                        ),
                        "mean": _cell(own["mean_low"], own["mean_high"], other["mean_low"], other["mean_high"]),
                    }
                )
        return rows

    def _panel(self, result: Result) -> Picture:
        """Train MSE of all entrants against epsilon, with theta = 0 and least squares."""
        series = [
            Series(
                curve=entrant.name,
                role="simulated",
                x=self.epsilons,
                y=[result["found"][f"{epsilon:g} {entrant.name}"]["median"] for epsilon in self.epsilons],
                low=[result["found"][f"{epsilon:g} {entrant.name}"]["median_low"] for epsilon in self.epsilons],
                high=[result["found"][f"{epsilon:g} {entrant.name}"]["median_high"] for epsilon in self.epsilons],
            )
            for entrant in (self.champion, *self.opponents)
        ]
        ends = (self.epsilons[0], self.epsilons[-1])
        series += [Series(curve=name, role="exact", x=ends, y=(y, y)) for name, y in result["lines"].items() if y > 0]
        return Picture(x=EPSILON_AXIS, y=f"{self.measure} on {result['set']}", series=series)

    def _overview(self, results: Sequence[Result]) -> Picture:
        """The champion's median over the best opponent's, a curve for each set."""
        deciding = [result for result in results if result["accounting"] == self.accountings[0]]
        series = [
            Series(
                curve=result["set"], role="simulated", x=self.epsilons, y=[self._best(result, e) for e in self.epsilons]
            )
            for result in deciding
        ]
        return Picture(x=EPSILON_AXIS, y=f"{self.measure}: {self.champion.name} over the best other", series=series)

    def _best(self, result: Result, epsilon: float) -> float:
        others = [result["found"][f"{epsilon:g} {one.name}"]["median"] for one in self.opponents]
        return result["found"][f"{epsilon:g} {self.champion.name}"]["median"] / min(others)


@lru_cache(maxsize=20_000)
def _risks(problem: LeastSquares, setup: Setup, method: Method, epsilon: float, trials: int, seed: int) -> np.ndarray:
    """Excess risks of the trials; the same cells stand in several figures."""
    return experiment(problem, setup, method, epsilon, trials=trials).run_block(0, seed=seed)["risk"]


def summary_of(errors: np.ndarray) -> dict[str, float]:
    """Median and mean with intervals at `statistics.ALPHA`, the mean's infinite where it is not to be trusted."""
    low, high = statistics.quantile_interval(errors, 0.5)
    finite = np.isfinite(errors).all()
    moments = statistics.Moments.of(errors) if finite else None
    mean = {"mean": math.inf, "mean_low": -math.inf, "mean_high": math.inf}
    if moments is not None:
        test = statistics.mean_test(moments, moments.mean, resolution=math.inf)
        mean["mean"] = moments.mean
        if test.outcome == "holds":
            mean |= {"mean_low": test.low, "mean_high": test.high}
    return {"median": float(np.median(errors)), "median_low": low, "median_high": high, **mean}


def _cell(low: float, high: float, other_low: float, other_high: float) -> str:
    if not all(map(math.isfinite, (low, high, other_low, other_high))):
        return OPEN
    return "win" if high < other_low else "loss" if low > other_high else "tie"


def _counted(rows: Sequence[Row], opponent: str, champion: str) -> str:
    own = [row for row in rows if row["opponent"] == opponent]
    wins, ties, losses = (sum(row["median"] == word for row in own) for word in ("win", "tie", "loss"))
    worst = max(own, key=lambda row: row["ratio"])
    return (
        f"{champion} against {opponent}: {counted(wins, 'cell')} won, {ties} tied, {losses} lost; "
        f"at worst {worst['ratio']:.3f} of its error ({worst['set']}, epsilon = {worst['epsilon']:g})"
    )


def _identifier(name: str) -> str:
    """A method's name as texts may use it at a placeholder: letters and digits."""
    return "".join(filter(str.isalnum, name))


def _key(row: Row) -> tuple[str, str, str]:
    return row["set"], row["accounting"], row["opponent"]


def _merged(rows: Sequence[Row], name: str, accounting: str, opponent: str) -> Row:
    """The cells of one set against one opponent in one line."""
    own = [row for row in rows if _key(row) == (name, accounting, opponent)]
    worst = max(own, key=lambda row: row["ratio"])
    count = {word: sum(row["median"] == word for row in own) for word in ("win", "tie", "loss")}
    by_mean = "/".join(str(sum(row["mean"] == word for row in own)) for word in ("win", "tie", "loss"))
    return {
        "set": name,
        "accounting": accounting,
        "against": opponent,
        "wins": count["win"],
        "ties": count["tie"],
        "losses": count["loss"],
        "by means": by_mean,
        "worst ratio": round(worst["ratio"], 4),
        "at epsilon": worst["epsilon"],
    }
