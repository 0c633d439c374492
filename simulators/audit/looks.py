"""Cheap looks, each of which may refute: twice as shipped, forms that tell sides apart, outputs that seeds do not move.

>>> from dpbounds.audit import Box, gaussian, promise_of
>>> from simulators.audit.work import Question, Work
>>> from simulators.audit.process import Runner
>>> asked = Question(promise_of((1.0, 1e-5)), gaussian(), "zero-out", Box(shape=(2,), low=0, high=1))
>>> with Runner(lambda data, seed: data.sum(), seconds=20.0) as runner:
...     as_shipped(Work(runner, asked))
True
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpbounds.audit.events import event_epsilon
from dpbounds.audit.noise import stands_apart
from dpbounds.audit.results import Audit
from dpbounds.audit.witnesses import exceeds
from simulators.audit.lawful import OTHER, drawn
from simulators.audit.process import Outcome
from simulators.audit.sampled import formal
from simulators.audit.shifts import Scan, Shift
from simulators.audit.work import AFTER_SEARCH, Work, values_of

# Runs that show no noise, and values that an output without noise takes over the pairs: two could be the ends of what
# is clipped.
_STILL, _CONSTANTS = 24, 3


def as_shipped(work: Work) -> bool:
    """0: whether two runs, and four more, with default randomness are all equal though the law is continuous."""
    data, until = [work.pairs[0].first], AFTER_SEARCH * work.budget
    outcomes = work.runner.run(data, [(0, None)] * 2, until=until)
    values = [one.values for one in outcomes if one.values is not None]
    if len(values) == 2 and np.array_equal(values[0], values[1]):
        outcomes += work.runner.run(data, [(0, None)] * 4, until=until)
        values = [one.values for one in outcomes if one.values is not None]
    if len(values) < max(len(outcomes), 2):
        words = outcomes[0].form if outcomes else work.runner.failure or "no time"
        work.note("0 as shipped", f"not tried without a seed ({words})")
        return False
    equal = all(np.array_equal(values[0], one) for one in values)
    work.note("0 as shipped", "six equal runs" if equal else "runs differ")
    return equal and len(values) == 6 and work.law.continuous


def fixed(work: Work, scanned: Scan) -> Audit | None:
    """The shipped mechanism repeats its noise: its outputs are a function of the data, if these change them."""
    pair = scanned.top.pair
    outcomes = work.runner.run([pair.first, pair.second], [(0, None), (1, None), (0, None), (1, None)])
    values = [one.values for one in outcomes if one.values is not None]
    if len(values) < 4 or not np.array_equal(values[0], values[2]) or values[0].shape != values[1].shape:
        return None
    moved, size = float(np.abs(values[0] - values[1]).max()), float(np.abs(values[0]).max())
    numbers = {"noise": 0.0, "moved": moved, "size": size, "rounding": scanned.rounding, "as_shipped": True}
    if not stands_apart(moved, size, scanned.rounding):
        return None
    work.assumed.append("runs as shipped, equal eight times, are always equal")
    return work.refuted("singular", numbers, scanned, pair, "as shipped the noise is the same in every run")


def forms(work: Work, scanned: Scan) -> Audit | None:
    """1: shapes, errors and numbers that are not finite, on one side only."""
    telling = [one for one in scanned.shifts if one.form is not None]
    slow = any(outcome.status in ("slow", "died") for one in telling for outcome in (*one.first, *one.second))
    if not telling or slow or (work.asked.adjacency == "add-remove" and not scanned.ran):
        return None
    one = telling[0]
    assert one.form is not None
    work.findings.append(f"{len(telling)} pairs are told apart without a number: {one.form[0]} against {one.form[1]}")
    if work.promise.epsilon is None:
        return None
    best: tuple[float, dict[str, Any]] = (-1.0, {})
    for place, form in enumerate(one.form):
        start = work.seeds.next
        hits, trials = formal(work.runner, one.pair, form, place == 0, work.seeds)
        spent = event_epsilon(hits, trials, work.promise.delta, work.alpha * OTHER) if trials[0] else 0.0
        event = {"kind": "form", "form": form}
        numbers = {"hits": hits, "trials": trials, "event": event, "first": place == 0, "start": start}
        best = max(best, (spent, numbers), key=lambda each: each[0])
    spent, numbers = best
    words = f"{numbers['hits'][0]} of {numbers['trials'][0]} runs: epsilon at least {spent:.4g}"
    work.note("1 forms", f"one side alone in {words}")
    if not exceeds(spent, work.promise):
        return None
    numbers["alpha"] = work.alpha * OTHER
    return work.refuted("event", numbers, scanned, one.pair, "the form of the output tells neighbours apart", spent)


def repeats(work: Work, scanned: Scan) -> bool:
    """Whether equal seeds give equal outputs."""
    seed = work.seeds.take(1)[0]
    outcomes = work.runner.run([scanned.top.pair.first], [(0, seed), (0, seed)])
    values = [one.values for one in outcomes if one.values is not None]
    same = len(values) == 2 and np.array_equal(values[0], values[1])
    if not same:
        work.note("1 seeds", "equal seeds give different outputs: shifts by means")
    return same


def still(work: Work, scanned: Scan) -> Audit | None:
    """2, the coarsest look: outputs that seeds do not change and data do."""
    seen = drawn(work.runner, scanned.top.pair.first, 0, work.seeds, least=_STILL // 2)
    rows = seen.rows
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
    numbers |= {"start": seen.start, "rows": len(rows), "seed": best.seeds[0]}
    work.assumed.append(f"an output that did not change in {2 * len(rows)} runs of one data set has no noise")
    words = f"output {int(silent[place])} has no noise: {int(kinds[place])} values over the pairs, each always the same"
    return work.refuted("singular", numbers, scanned, best.pair, words)


def _sides(one: Shift) -> tuple[np.ndarray, np.ndarray]:
    return values_of(one.first[0]), values_of(one.second[0])


def _same(side: list[Outcome], places: np.ndarray) -> bool:
    """Whether these outputs are the same under all seeds."""
    values = [values_of(one)[places] for one in side]
    return all(np.array_equal(values[0], one) for one in values)
