"""One audit of a function under way: its steps in order, cheap and decisive ones first, each of which may end it.

>>> from dpbounds.audit import Box, gaussian, promise_of
>>> from simulators.audit.domains import neighbours
>>> box = Box(shape=(2,), low=0, high=1)
>>> pairs = neighbours(box, "zero-out", np.random.default_rng(0))
>>> with Runner(lambda data, seed: data.sum(), seconds=20.0) as runner:
...     settings = gaussian(), "zero-out", box, pairs, Seeds(0), 0, 1e-6, 0.05, None
...     Work(runner, promise_of((1.0, 1e-5)), *settings).found().verdict
'refuted'
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from dpbounds.audit.intervals import coordinates_needed, shift_interval
from dpbounds.audit.laws import NoiseLaw
from dpbounds.audit.noise import scale_interval, stands_apart
from dpbounds.audit.promises import Promise
from dpbounds.audit.results import Audit, Coverage, Step
from dpbounds.audit.witnesses import evaluated, exceeds, witness
from dpbounds.privacy import Adjacency
from simulators.audit.domains import Data, Pair, outside
from simulators.audit.lawful import EARLY, OTHER, SCALE, Drawn, drawn, early, lawful, needed, singular
from simulators.audit.process import Outcome, Runner
from simulators.audit.sampled import LEAST, Sampling, farthest, formal, sampled
from simulators.audit.shifts import Scan, Seeds, Shift, again, climb, scan

# The coarsest relative error of a scale that is still "consistent".
COARSEST = 0.2
# Shares of the seconds: what the search of neighbours leaves, and what sampling beside the law leaves.
_AFTER_SEARCH, _AFTER_LAW = 0.6, 0.1
# Pairs that must run for the search to count, as a share; calls of the coordinate ascent; runs that show no noise.
_COVERED, _CLIMBS, _STILL = 0.5, 400, 24
# Values that an output without noise takes over the pairs: two could be the ends of what is clipped.
_CONSTANTS = 3

Progress = Callable[[int, int, str], None]


@dataclass
class Work:
    """One audit of a function under way."""

    runner: Runner
    promise: Promise
    law: NoiseLaw
    adjacency: Adjacency
    domain: Any
    pairs: list[Pair]
    seeds: Seeds
    seed: int
    alpha: float
    resolution: float
    progress: Progress | None
    steps: list[Step] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    support: str = ""
    budget: float = 0.0

    def found(self) -> Audit:
        """The steps in their order; each may end the audit."""
        self.budget = self.runner.left
        fixed = self._as_shipped()
        scanned = scan(self.runner, self.pairs, self.law, self.seeds, until=_AFTER_SEARCH * self.budget)
        ran, additive = scanned.ran, len(scanned.additive)
        self._note("1 neighbours", f"{ran} of {scanned.planned} pairs ran, {additive} additive")
        formed = self._forms(scanned)
        if formed is not None:
            return formed
        if not ran:
            return self._nothing(scanned)
        self._describe(scanned)
        if fixed and (apart := self._fixed(scanned)) is not None:
            return apart
        if not self._repeats(scanned):
            return self._without_seeds(scanned)
        if self.law.continuous:
            if self.support.startswith("whole"):
                return self._end(
                    self._sample(scanned), scanned, differs=["outputs are whole numbers: the noise is not continuous"]
                )
            still = self._still(scanned)
            if still is not None:
                return still
            others = [one for one in scanned.good if not one.additive or one.tied]
            if others:
                words = f"{len(others)} of {scanned.ran} pairs are not additive, such as: {others[0].pair.label}"
                self.findings.append(words)
                if (apart := self._two_samples(scanned, others)) is not None:
                    return apart
            if scanned.additive:
                return self._by_law(scanned, others)
        return self._end(self._sample(scanned), scanned)

    # --- the steps ---

    def _as_shipped(self) -> bool:
        """0: whether two runs, and four more, with default randomness are all equal though the law is continuous."""
        data, until = [self.pairs[0].first], _AFTER_SEARCH * self.budget
        outcomes = self.runner.run(data, [(0, None)] * 2, until=until)
        values = [one.values for one in outcomes if one.values is not None]
        if len(values) == 2 and np.array_equal(values[0], values[1]):
            outcomes += self.runner.run(data, [(0, None)] * 4, until=until)
            values = [one.values for one in outcomes if one.values is not None]
        if len(values) < max(len(outcomes), 2):
            words = outcomes[0].form if outcomes else self.runner.failure or "no time"
            self._note("0 as shipped", f"not tried without a seed ({words})")
            return False
        equal = all(np.array_equal(values[0], one) for one in values)
        self._note("0 as shipped", "six equal runs" if equal else "runs differ")
        return equal and len(values) == 6 and self.law.continuous

    def _fixed(self, scanned: Scan) -> Audit | None:
        """The shipped mechanism repeats its noise: its outputs are a function of the data, if these change them."""
        pair = scanned.top.pair
        outcomes = self.runner.run([pair.first, pair.second], [(0, None), (1, None), (0, None), (1, None)])
        values = [one.values for one in outcomes if one.values is not None]
        if len(values) < 4 or not np.array_equal(values[0], values[2]) or values[0].shape != values[1].shape:
            return None
        moved, size = float(np.abs(values[0] - values[1]).max()), float(np.abs(values[0]).max())
        numbers = {"noise": 0.0, "moved": moved, "size": size, "rounding": scanned.rounding}
        if not stands_apart(moved, size, scanned.rounding):
            return None
        self.assumed.append("runs as shipped, equal eight times, are always equal")
        return self._refuted("singular", numbers, scanned, pair, "as shipped the noise is the same in every run")

    def _forms(self, scanned: Scan) -> Audit | None:
        """1: shapes, errors and numbers that are not finite, on one side only."""
        telling = [one for one in scanned.shifts if one.form is not None]
        slow = any(outcome.status in ("slow", "died") for one in telling for outcome in (*one.first, *one.second))
        if not telling or slow or (self.adjacency == "add-remove" and not scanned.ran):
            return None
        one = telling[0]
        assert one.form is not None
        self.findings.append(
            f"{len(telling)} pairs are told apart without a number: {one.form[0]} against {one.form[1]}"
        )
        if self.promise.epsilon is None:
            return None
        best = (0.0, (0, 0), (0, 0))
        for pair, forms in ((one.pair, one.form), (_turned(one.pair), (one.form[1], one.form[0]))):
            found = formal(self.runner, pair, forms, self.promise.delta, self.alpha * OTHER, self.seeds)
            best = max(best, found, key=lambda each: each[0])
        self._note("1 forms", f"one side alone in {best[1][0]} of {best[2][0]} runs: epsilon at least {best[0]:.4g}")
        if not exceeds(best[0], self.promise):
            return None
        numbers = {"hits": best[1], "trials": best[2], "alpha": self.alpha * OTHER, "event": {"form": list(one.form)}}
        return self._refuted(
            "event", numbers, scanned, one.pair, "the form of the output tells neighbours apart", best[0]
        )

    def _repeats(self, scanned: Scan) -> bool:
        """Whether equal seeds give equal outputs."""
        seed = self.seeds.take(1)[0]
        outcomes = self.runner.run([scanned.top.pair.first], [(0, seed), (0, seed)])
        values = [one.values for one in outcomes if one.values is not None]
        same = len(values) == 2 and np.array_equal(values[0], values[1])
        if not same:
            self._note("1 seeds", "equal seeds give different outputs: shifts by means")
        return same

    def _still(self, scanned: Scan) -> Audit | None:
        """2, the coarsest look: outputs that seeds do not change and data do."""
        rows = drawn(self.runner, scanned.top.pair.first, 0, self.seeds, least=_STILL // 2).rows
        silent = np.flatnonzero(~rows.any(axis=0)) if rows.size else np.zeros(0, dtype=int)
        if not len(silent):
            return None
        constant = [one for one in scanned.good if _same(one.first, silent) and _same(one.second, silent)]
        table = np.array([values[silent] for one in constant for values in _sides(one)])
        kinds = np.array([len(np.unique(column)) for column in table.T]) if len(table) else np.zeros(0)
        place = int(kinds.argmax()) if len(kinds) else 0
        if not len(kinds) or kinds[place] < _CONSTANTS:
            return None
        best = max(constant, key=lambda one: abs(np.subtract(*_sides(one))[silent[place]]))
        sides = _sides(best)
        moved = abs(float((sides[1] - sides[0])[silent[place]]))
        size = max(abs(float(side[silent[place]])) for side in sides)
        if not stands_apart(moved, size, scanned.rounding):
            return None
        numbers = {"noise": 0.0, "moved": moved, "size": size, "rounding": scanned.rounding}
        numbers |= {"places": [int(silent[place])], "weights": [1.0]}
        self.assumed.append(f"an output that did not change in {2 * len(rows)} runs of one data set has no noise")
        words = (
            f"output {int(silent[place])} has no noise: {int(kinds[place])} values over the pairs, each always the same"
        )
        return self._refuted("singular", numbers, scanned, best.pair, words)

    def _by_law(self, scanned: Scan, others: list[Shift]) -> Audit:
        """2 to 4: noise from differences, what depends, and the curve."""
        until = _AFTER_LAW * self.budget
        rng = np.random.default_rng(self.seed)
        top = climb(
            self.runner,
            scanned.top,
            self.domain,
            self.law,
            self.seeds,
            rng,
            calls=_CLIMBS,
            until=_AFTER_SEARCH / 2 * self.budget,
        )
        checked = again(self.runner, top.pair, self.law, self.seeds)
        if checked is None or not checked.ran or not checked.additive:
            return self._end(self._sample(scanned), scanned)
        top = checked if checked.size >= scanned.top.size else top
        self._outside(top)
        outputs = max(len(_values(top.first[0])), 1)
        wanted = needed(self.law, self.resolution, 2 * self.alpha * SCALE)
        least = max(6, outputs + 8 if 1 < outputs <= 64 else 0)
        rows, share = self._draw(top.pair.first, min(wanted, EARLY), until, least=least), OTHER
        alone = singular(rows.rows, scanned)
        if alone is not None:
            return self._refuted("singular", alone[1], scanned, alone[2].pair, alone[0])
        if len(rows.rows) < 2:
            return self._unclear(scanned, f"{wanted} noise coordinates: {rows.rows.size} came in the time")
        if rows.rows.size < wanted and not early(rows.rows, top, scanned, self.law, self.promise, self.alpha):
            rows, share = rows.joined(self._draw(top.pair.first, wanted - rows.rows.size, until)), SCALE
        found = lawful(rows.rows, top, scanned, self.law, self.promise, self.alpha, share)
        self._note("2 noise", found.words)
        self._note("3 dependence", next((one for one in found.differs if one.startswith("dep")), "none seen"))
        self._note("4 curve", f"{found.spent[0]:.5g} to {found.spent[1]:.5g}")
        if found.witness is not None:
            kind, numbers = found.witness
            numbers |= {"start": rows.start, "rows": len(rows.rows)}
            why = "the curve of the shift" if kind == "scale" else "the curve of the shift with the noise declared"
            return self._refuted(kind, numbers, scanned, top.pair, why, found.spent[0], found)
        if self.promise.epsilon is not None and others:
            beside = self._sample(scanned, [one.pair for one in others])
            if beside.best is not None and exceeds(beside.best.epsilon, self.promise):
                return self._end(beside, scanned)
        spread = found.resolution
        self.assumed.append("the worst neighbours are among those searched")
        coverage = scanned.ran / max(scanned.planned, 1)
        more: dict[str, Any] = {"epsilon": found.spent, "slack": found.slack, "curve": found.curve}
        if found.differs:
            return self._audit("law differs", scanned, **more, findings=(*self.findings, *found.differs))
        if spread > COARSEST or coverage < _COVERED:
            needs = f"{needed(self.law, COARSEST, 2 * self.alpha * SCALE)} noise coordinates and half of the pairs"
            return self._audit("unclear", scanned, **more, needs=f"{needs}: {rows.rows.size} and {coverage:.0%} ran")
        self.assumed.append(f"the noise is of its family; its scale is seen to {spread:.2%}")
        return self._audit("consistent", scanned, **more)

    def _two_samples(self, scanned: Scan, among: list[Shift]) -> Audit | None:
        """Pairs that are not additive under a continuous law: the scales on either side of the one that moves most."""
        top = max(among, key=_apart)
        share = self.alpha * OTHER / 4
        wanted, until = 4 * coordinates_needed(COARSEST, alpha=share), _AFTER_SEARCH / 3 * self.budget
        sides = [self._draw(side, wanted, until) for side in (top.pair.first, top.pair.second)]
        rows = [self.law.whitened(one.rows, scanned.shape) for one in sides if len(one.rows) > 1 and one.rows.any()]
        if len(rows) < 2 or self.law.family not in ("gaussian", "laplace") or self.promise.epsilon is None:
            return None
        gaussian = self.law.family == "gaussian"
        sums = [float(np.sum(one**2) if gaussian else np.sum(np.abs(one))) for one in rows]
        ends = [scale_interval(one, self.law.family, share) for one in rows]
        words = " and ".join(f"{low:.4g} to {high:.4g}" for low, high in ends)
        self._note("2 noise", f"a pair that is not additive has scales of {words} on its sides")
        numbers = {"family": self.law.family, "sums": sums, "numbers": [one.size for one in rows]}
        numbers |= {"outputs": rows[0].shape[1], "alpha": share, "starts": [one.start for one in sides]}
        told = evaluated(witness("scales", self.promise.content(), **numbers))
        if not told.refuted:
            return None
        self.assumed.append(f"outputs on either side are {self.law.family} with one scale")
        return self._refuted("scales", numbers, scanned, top.pair, told.words, told.spent)

    def _without_seeds(self, scanned: Scan) -> Audit:
        """Shifts by means: a direction learnt on one half, two Gaussian samples along it on the other."""
        if self.law.family != "gaussian":
            return self._end(self._sample(scanned), scanned)
        until = _AFTER_LAW * self.budget
        top = farthest(self.runner, sorted(scanned.good, key=_apart, reverse=True), self.seeds, until)
        sides: list[list[np.ndarray]] = [[], []]
        for _ in range(8):
            jobs = [(place % 2, seed) for place, seed in enumerate(self.seeds.take(1000))]
            outcomes = self.runner.run([top.pair.first, top.pair.second], jobs, until=until)
            for (side, _), one in zip(jobs, outcomes, strict=False):
                if one.ran and one.values is not None:
                    sides[side].append(one.values)
            if len(outcomes) < len(jobs):
                break
        number = min(len(side) for side in sides)
        if number < 40:
            return self._unclear(scanned, f"40 runs a side: {number} came in the time")
        half = number // 2
        arrays = [np.stack(side[:number]) for side in sides]
        apart = arrays[1][:half].mean(axis=0) - arrays[0][:half].mean(axis=0)
        spread = arrays[0][:half].var(axis=0) + arrays[1][:half].var(axis=0)
        weights = apart / np.maximum(spread, 1e-300)
        samples = [one[half:] @ weights for one in arrays]
        first, second = ((float(x.mean()), float(((x - x.mean()) ** 2).sum()), len(x)) for x in samples)
        low, high = shift_interval(first, second, self.alpha * SCALE)
        spent = self.promise.of_gaussian(low), self.promise.of_gaussian(high)
        self._note("2 means", f"{number} runs a side: mu along one direction in [{low:.4g}, {high:.4g}]")
        self.assumed.append("outputs of either side are Gaussian along one direction, with one scale")
        if exceeds(spent[0], self.promise):
            numbers = {"first": first, "second": second, "alpha": self.alpha * SCALE}
            return self._refuted("means", numbers, scanned, top.pair, "means are too far apart", spent[0])
        if high - low > COARSEST * self.promise.gaussian_mu:
            needs = "more runs: no seeds cancel the noise here"
            return self._audit("unclear", scanned, epsilon=spent, needs=needs)
        return self._audit("consistent", scanned, epsilon=spent)

    def _sample(self, scanned: Scan, pairs: list[Pair] | None = None) -> Sampling:
        """5: an event."""
        ordered = pairs or [one.pair for one in sorted(scanned.good, key=_apart, reverse=True)]
        found = sampled(
            self.runner, ordered, self.promise.delta, self.alpha * OTHER, self.seeds, until=0.02 * self.budget
        )
        words = "too few runs" if found.best is None else f"epsilon at least {found.best.epsilon:.4g}"
        self._note("5 sampling", f"{words} ({found.pairs} pairs piloted, {found.runs} runs a side)")
        return found

    def _end(self, found: Sampling, scanned: Scan, differs: list[str] | None = None) -> Audit:
        """The verdict of sampling."""
        best = found.best
        if best is not None and found.pair is not None and exceeds(best.epsilon, self.promise):
            numbers = {
                "hits": best.hits,
                "trials": best.trials,
                "alpha": self.alpha * OTHER,
                "event": best.event.content(),
            }
            numbers |= {"start": found.start, "first": best.first}
            return self._refuted(
                "event", numbers, scanned, found.pair, "an event is too much likelier on one side", best.epsilon
            )
        low = 0.0 if best is None else best.epsilon
        self.assumed.append("what one event of one pair does not show is not there")
        bound = low, math.inf
        if differs:
            return self._audit("law differs", scanned, epsilon=bound, findings=(*self.findings, *differs))
        covered = scanned.ran >= _COVERED * scanned.planned
        if best is None or found.runs < LEAST or not covered:
            came = f"{found.runs}, and {scanned.ran} of {scanned.planned}, ran"
            needs = f"{LEAST} runs a side and half of the pairs: {came}"
            return self._audit("unclear", scanned, epsilon=bound, needs=needs)
        return self._audit("consistent", scanned, epsilon=bound)

    # --- what all of them share ---

    def _draw(self, data: Data, coordinates: int, until: float, least: int = 2) -> Drawn:
        return drawn(self.runner, data, coordinates, self.seeds, least=least, until=until)

    def _outside(self, top: Shift) -> None:
        """What a record outside the domain does, as a finding."""
        pair = outside(top.pair, self.domain)
        found = None if pair is None else again(self.runner, pair, self.law, self.seeds, 1)
        if found is not None and found.ran and found.size > 10 * top.size > 0:
            self.findings.append(
                f"a record outside the domain moves outputs {found.size / top.size:.3g} times as far: nothing clips it"
            )

    def _describe(self, scanned: Scan) -> None:
        values = np.concatenate([_values(one.first[0]) for one in scanned.good[:8]])
        whole = bool(np.all(values == np.rint(values)))
        kind = scanned.good[0].first[0].dtype
        self.support = f"whole numbers ({kind})" if whole else f"{kind}: gaps between floats were not looked at"

    def _nothing(self, scanned: Scan) -> Audit:
        """No pair ran on both sides."""
        outcomes = [one for shift in scanned.shifts for one in (*shift.first, *shift.second)]
        words = self.runner.failure or next((one.form for one in outcomes if not one.ran), "")
        if not words:
            return self._unclear(scanned, f"more seconds: {self.runner.calls} calls ended in the time")
        return replace(self._unclear(scanned, f"a domain in which the mechanism runs: {words}"), failed=True)

    def _unclear(self, scanned: Scan, needs: str) -> Audit:
        return self._audit("unclear", scanned, needs=needs)

    def _refuted(
        self,
        kind: str,
        numbers: Mapping[str, Any],
        scanned: Scan,
        pair: Pair,
        why: str,
        spent: float = math.inf,
        found: Any = None,
    ) -> Audit:
        self._note("verdict", why)
        record = {"first": _listed(pair.first), "second": _listed(pair.second), "label": pair.label}
        content = witness(kind, self.promise.content(), **numbers, pair=record, adjacency=self.adjacency)
        more: dict[str, Any] = {"epsilon": (spent, math.inf), "witness": content}
        if found is not None:
            more |= {"epsilon": found.spent, "slack": found.slack, "curve": found.curve}
        if found is not None and kind == "declared":
            told = evaluated(content)
            more |= {"epsilon": (told.spent, max(told.spent, found.spent[1]))}
            self.assumed.append("the noise is as declared, which nothing contradicts")
        return self._audit("refuted", scanned, **more)

    def _audit(self, verdict: str, scanned: Scan, **more: Any) -> Audit:
        searched = "corners, centre, drawn records and their ascent" if self.domain is not None else "pairs given"
        fails = next((one.fails for one in scanned.shifts if one.fails), "")
        words = f"{scanned.ran} of {scanned.planned} pairs ran ({searched}; a search, not all)"
        words += f"; some did not: {fails}" if fails else ""
        shared: dict[str, Any] = {
            "verdict": verdict,
            "claim": self.promise,
            "adjacency": self.adjacency,
            "coverage": Coverage(scanned.ran, scanned.planned, words),
            "assumed": tuple(self.assumed),
            "steps": tuple(self.steps),
            "findings": tuple(self.findings),
            "support": self.support,
        }
        return Audit(**(shared | more))

    def _note(self, name: str, found: str) -> None:
        self.steps.append(Step(name, found, self.runner.calls, self.budget - self.runner.left))
        if self.progress is not None:
            self.progress(min(len(self.steps), 5), 6, name)


def _values(outcome: Outcome) -> np.ndarray:
    return np.zeros(0) if outcome.values is None else outcome.values


def _sides(one: Shift) -> tuple[np.ndarray, np.ndarray]:
    return _values(one.first[0]), _values(one.second[0])


def _same(side: list[Outcome], places: np.ndarray) -> bool:
    """Whether these outputs are the same under all seeds."""
    values = [_values(one)[places] for one in side]
    return all(np.array_equal(values[0], one) for one in values)


def _apart(one: Shift) -> float:
    """How far the middle of the outputs moves, in what seeds move them."""
    left, right = ([_values(outcome) for outcome in side] for side in (one.first, one.second))
    moved = np.abs(np.mean(right, axis=0) - np.mean(left, axis=0))
    noise = np.std(left, axis=0) + np.std(right, axis=0)
    return float(np.max(moved / (noise + 1e-12 + 0.1 * float(np.median(noise))), initial=0.0))


def _turned(pair: Pair) -> Pair:
    return Pair(pair.second, pair.first, pair.label, pair.place)


def _listed(data: Data) -> Any:
    return (
        {name: array.tolist() for name, array in data.items()}
        if isinstance(data, Mapping)
        else cast(Any, data).tolist()
    )
