"""One audit of a function under way: what was asked, what was noted, and how a verdict is made of both.

>>> from dpbounds.audit import Box, gaussian, promise_of
>>> asked = Question(promise_of((1.0, 1e-5)), gaussian(), "zero-out", Box(shape=(2,), low=0, high=1))
>>> with Runner(lambda data, seed: data.sum(), seconds=20.0) as runner:
...     Work(runner, asked).unclear(Scan([], 3), "more seconds").needs
'more seconds'
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpbounds.audit.intervals import ALPHA
from dpbounds.audit.laws import NoiseLaw
from dpbounds.audit.promises import Promise
from dpbounds.audit.results import Audit, Coverage, Step
from dpbounds.audit.witnesses import evaluated, witness
from dpbounds.privacy import Adjacency
from simulators.audit.domains import Data, Pair, neighbours, outside
from simulators.audit.lawful import Drawn, drawn
from simulators.audit.process import Outcome, Runner
from simulators.audit.records import recorded
from simulators.audit.shifts import Scan, Seeds, Shift, again

# Relative error of a scale that an audit sees, unless asked for another.
RESOLUTION = 0.05
# Share of the seconds that the search of neighbours leaves.
AFTER_SEARCH = 0.6

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Question:
    """What is asked: claim, declared law, neighbours; the seed, the probability of a false alarm, the resolution."""

    promise: Promise
    law: NoiseLaw
    adjacency: Adjacency
    domain: Any
    seed: int = 0
    alpha: float = ALPHA
    resolution: float = RESOLUTION
    progress: Progress | None = None


class Work:
    """One audit of a function under way."""

    def __init__(self, runner: Runner, asked: Question) -> None:
        self.runner, self.asked = runner, asked
        self.promise, self.law, self.alpha = asked.promise, asked.law, asked.alpha
        self.pairs = neighbours(asked.domain, asked.adjacency, np.random.default_rng(asked.seed))
        self.seeds, self.budget = Seeds(asked.seed), runner.left
        self.steps: list[Step] = []
        self.findings: list[str] = []
        self.assumed: list[str] = []
        self.support = ""

    def note(self, name: str, found: str) -> None:
        """A step that is done."""
        self.steps.append(Step(name, found, self.runner.calls, self.budget - self.runner.left))
        if self.asked.progress is not None:
            self.asked.progress(min(len(self.steps), 5), 6, name)

    def draw(self, data: Data, coordinates: int, until: float, least: int = 2) -> Drawn:
        """Differences of independent runs on one data set."""
        return drawn(self.runner, data, coordinates, self.seeds, least=least, until=until)

    def look_outside(self, top: Shift) -> None:
        """What a record outside the domain does, as a finding."""
        pair = outside(top.pair, self.asked.domain)
        found = None if pair is None else again(self.runner, pair, self.law, self.seeds, 1)
        if found is not None and found.ran and found.size > 10 * top.size > 0:
            self.findings.append(
                f"a record outside the domain moves outputs {found.size / top.size:.3g} times as far: nothing clips it"
            )

    def describe(self, scanned: Scan) -> None:
        """What kind of numbers come out."""
        values = np.concatenate([values_of(one.first[0]) for one in scanned.good[:8]])
        whole = bool(np.all(values == np.rint(values)))
        kind = scanned.good[0].first[0].dtype
        self.support = f"whole numbers ({kind})" if whole else f"{kind}: gaps between floats were not looked at"

    def nothing(self, scanned: Scan) -> Audit:
        """No pair ran on both sides."""
        outcomes = [one for shift in scanned.shifts for one in (*shift.first, *shift.second)]
        words = self.runner.failure or next((one.form for one in outcomes if not one.ran), "")
        if not words:
            return self.unclear(scanned, f"more seconds: {self.runner.calls} calls ended in the time")
        return replace(self.unclear(scanned, f"a domain in which the mechanism runs: {words}"), failed=True)

    def unclear(self, scanned: Scan, needs: str) -> Audit:
        """Nothing follows, and what would decide."""
        return self.concluded("unclear", scanned, needs=needs)

    def refuted(
        self,
        kind: str,
        numbers: Mapping[str, Any],
        scanned: Scan,
        pair: Pair,
        why: str,
        spent: float = math.inf,
        found: Any = None,
    ) -> Audit:
        """With a witness: its numbers, the pair, and the law by which they are read."""
        self.note("verdict", why)
        record = {"pair": recorded(pair), "adjacency": self.asked.adjacency, "law": self.law.content()}
        content = witness(kind, self.promise.content(), **numbers, **record)
        more: dict[str, Any] = {"epsilon": (spent, math.inf), "witness": content}
        if found is not None:
            more |= {"epsilon": found.spent, "slack": found.slack, "curve": found.curve}
        if found is not None and kind == "declared":
            told = evaluated(content)
            more |= {"epsilon": (told.spent, max(told.spent, found.spent[1]))}
            self.assumed.append("the noise is as declared, which nothing contradicts")
        return self.concluded("refuted", scanned, **more)

    def concluded(self, verdict: str, scanned: Scan, **more: Any) -> Audit:
        """The verdict, with all that was noted."""
        searched = "corners, centre, drawn records and their ascent"
        fails = next((one.fails for one in scanned.shifts if one.fails), "")
        words = f"{scanned.ran} of {scanned.planned} pairs ran ({searched}; a search, not all)"
        words += f"; some did not: {fails}" if fails else ""
        shared: dict[str, Any] = {
            "verdict": verdict,
            "claim": self.promise,
            "adjacency": self.asked.adjacency,
            "coverage": Coverage(scanned.ran, scanned.planned, words),
            "assumed": tuple(self.assumed),
            "steps": tuple(self.steps),
            "findings": tuple(self.findings),
            "support": self.support,
        }
        return Audit(**(shared | more))


def values_of(outcome: Outcome) -> np.ndarray:
    """Its numbers; none if there are none."""
    return np.zeros(0) if outcome.values is None else outcome.values
