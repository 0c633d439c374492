"""Claims that something happens with at least a stated probability, decided by how often it does."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np

from simulators.engine import Experiment
from verify.checks import statistics
from verify.checks.base import Check, Level, Result, Seed, Task, by_level, chosen
from verify.checks.evidence import Evidence
from verify.checks.looks import blocks_of, further, opening


@dataclass(frozen=True, kw_only=True)
class Event:
    """Runs of an experiment and the event claimed for them: `occurs(arrays)` gives one truth value per trial."""

    label: str
    experiment: Experiment
    occurs: Callable[[Mapping[str, np.ndarray]], np.ndarray]
    at_least: float


@final
@dataclass(frozen=True, kw_only=True)
class Frequency(Check):
    """Every event has at least its stated probability, by exact Clopper-Pearson intervals on independent trials.

    Holds if the whole interval of its frequency is at or above the claim, fails if all of it is below, unclear
    otherwise: the claimed failure probability must be well above 1 / trials to be decidable. The quick level begins
    with a quarter of `trials` (`verify.checks.looks`).
    """

    events: Callable[[], Sequence[Event]]
    trials: Mapping[Level, int] = field(default_factory=lambda: {"quick": 2_000, "full": 20_000})

    def tasks(self, level: Level) -> Sequence[Task]:
        """The blocks of every event."""
        return [
            {"event": event.label, "block": block}
            for event in self._all_events
            for block in range(opening(self._blocks(event, level), level))
        ]

    def more(self, results: Sequence[Result], level: Level) -> Sequence[Task]:
        """More trials of the events that are unclear, unless one fails already."""
        rows = [(event, self._row(event, results)) for event in self._all_events]
        if any(row["outcome"] == "fails" for _, row in rows):
            return ()
        return [
            task
            for event, row in rows
            if row["outcome"] == "unclear"
            for task in further(
                {"event": event.label},
                blocks_of(results, "event", event.label, "hits"),
                self._blocks(event, level),
                level,
            )
        ]

    def false_alarms(self, level: Level) -> float:
        """Of all events together."""
        return len(self._all_events) * statistics.COMPARISON_ALPHA

    def run(self, task: Task, seed: Seed) -> Result:
        """How many trials of one block saw the event."""
        event = chosen(self._all_events, task["event"], lambda event: event.label)
        seen = event.occurs(event.experiment.run_block(task["block"], seed=seed.user))
        return {"event": event.label, "hits": int(np.sum(seen)), "trials": int(np.size(seen))}

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """The rarest event, compared with its claim, decides."""
        rows = [self._row(event, results) for event in self._all_events]
        total = sum(row["trials"] for row in rows)
        common: dict[str, Any] = {
            "how": "statistical",
            "alpha": self.false_alarms(level),
            "trials": total,
            "rows": rows,
        }
        below = [row for row in rows if row["outcome"] == "fails"]
        open_ = [row for row in rows if row["outcome"] == "unclear"]
        if below:
            row = min(below, key=lambda row: row["frequency"])
            seen = f"seen in {row['hits']} of {row['trials']} runs"
            summary = f"{row['event']}: {seen}, claimed probability {row['claimed']:.6g}."
            return Evidence(outcome="fails", summary=summary, counterexample=row, **common)
        if open_:
            row = min(open_, key=lambda row: row["low"] - row["claimed"])
            summary = f"{row['event']}: frequency {row['frequency']:.6g} in [{row['low']:.6g}, {row['high']:.6g}]."
            needed = f"more than {row['trials']} trials of {row['event']}"
            return Evidence(outcome="unclear", summary=summary, needed=needed, **common)
        row = min(rows, key=lambda row: (1 - row["claimed"]) / max(1 - row["low"], 1e-300))
        nearest = f"{row['event']}: at least {row['low']:.6g}, claimed {row['claimed']:.6g}"
        summary = f"{len(rows)} events in {total} runs; nearest {nearest}."
        return Evidence(outcome="holds", summary=summary, **common)

    @cached_property
    def _all_events(self) -> Sequence[Event]:
        """Made once: every task and every look asks for them."""
        return tuple(self.events())

    def _row(self, event: Event, results: Sequence[Result]) -> dict[str, Any]:
        own = [result for result in results if result["event"] == event.label]
        hits, trials = sum(r["hits"] for r in own), sum(r["trials"] for r in own)
        low, high = statistics.proportion_interval(hits, trials)
        outcome = "fails" if high < event.at_least else "unclear" if low < event.at_least else "holds"
        return {
            "event": event.label,
            "hits": hits,
            "trials": trials,
            "frequency": hits / trials,
            "low": low,
            "high": high,
            "claimed": event.at_least,
            "outcome": outcome,
        }

    def _blocks(self, event: Event, level: Level) -> int:
        return math.ceil(by_level(self.trials, level) / event.experiment.block_trials)
