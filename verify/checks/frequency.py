"""Claims that something happens with at least a stated probability, decided by how often it does."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simulators.engine import Experiment
from verify import statistics
from verify.checks.base import Check, Level, Result, Seed, Task, by_level
from verify.evidence import Evidence


@dataclass(frozen=True, kw_only=True)
class Event:
    """Runs of an experiment and the event claimed for them: `occurs(arrays)` gives one truth value per trial."""

    label: str
    experiment: Experiment
    occurs: Callable[[Mapping[str, np.ndarray]], np.ndarray]
    at_least: float


@dataclass(frozen=True, kw_only=True)
class Frequency(Check):
    """Every event has at least its stated probability, by exact Clopper-Pearson intervals on independent trials.

    Holds if the whole interval of its frequency is at or above the claim, fails if all of it is below, unclear
    otherwise: the claimed failure probability must be well above 1 / trials to be decidable.
    """

    events: Callable[[], Sequence[Event]]
    trials: Mapping[Level, int] = field(default_factory=lambda: {"quick": 2_000, "full": 20_000})

    def tasks(self, level: Level) -> Sequence[Task]:
        """The blocks of every event."""
        needed = by_level(self.trials, level)
        return [
            {"event": event.label, "block": block}
            for event in self.events()
            for block in range(math.ceil(needed / event.experiment.block_trials))
        ]

    def run(self, task: Task, seed: Seed) -> Result:
        """How many trials of one block saw the event."""
        event = next(event for event in self.events() if event.label == task["event"])
        seen = event.occurs(event.experiment.run_block(task["block"], seed=seed.user))
        return {"event": event.label, "hits": int(np.sum(seen)), "trials": int(np.size(seen))}

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """The rarest event, compared with its claim, decides."""
        rows = [self._row(event, [r for r in results if r["event"] == event.label]) for event in self.events()]
        total = sum(row["trials"] for row in rows)
        common: dict[str, Any] = {
            "how": "statistical",
            "alpha": len(rows) * statistics.ALPHA,
            "trials": total,
            "rows": rows,
        }
        below = [row for row in rows if row["high"] < row["claimed"]]
        open_ = [row for row in rows if row["low"] < row["claimed"] <= row["high"]]
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

    def _row(self, event: Event, results: Sequence[Result]) -> dict[str, Any]:
        hits, trials = sum(r["hits"] for r in results), sum(r["trials"] for r in results)
        low, high = statistics.proportion_interval(hits, trials)
        return {
            "event": event.label,
            "hits": hits,
            "trials": trials,
            "frequency": hits / trials,
            "low": low,
            "high": high,
            "claimed": event.at_least,
        }
