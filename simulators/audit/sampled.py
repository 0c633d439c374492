"""Sampling, where no law helps: the pair that a pilot finds most telling, and an event counted on runs of its own.

>>> from simulators.audit.domains import Box, neighbours
>>> def coin(data, seed):
...     return np.random.default_rng(seed).random() < 0.1 + 0.8 * data[0]
>>> pairs = neighbours(Box(shape=(1,), low=0, high=1, integer=True), "replace-one", np.random.default_rng(0))
>>> with Runner(coin, seconds=20.0) as runner:
...     found = sampled(runner, pairs, 0.0, 1e-6, Seeds(0), most=2000)
>>> 1.5 < found.best.epsilon < math.log(9)
True
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpbounds.audit.events import Sampled, sampled_epsilon
from simulators.audit.domains import Pair
from simulators.audit.process import Outcome, Runner
from simulators.audit.shifts import Seeds, Shift

# Runs a side of the pilot and pairs it looks at; runs a side that are planned, and the least that say something.
PILOT, PILOT_PAIRS, RUNS, LEAST = 60, 24, 6000, 400

Counts = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Sampling:
    """The best event of the best pair, the seeds its runs began at, pairs piloted, and runs a side."""

    best: Sampled | None
    pair: Pair | None
    start: int
    pairs: int
    runs: int


def sampled(
    runner: Runner,
    pairs: Sequence[Pair],
    delta: float,
    alpha: float,
    seeds: Seeds,
    *,
    most: int = RUNS,
    until: float = 0.0,
) -> Sampling:
    """A lower bound on epsilon by sampling; what is tested is one pair and one event, chosen on other runs.

    Stops the pilot when half of the time is spent, and all when `until` seconds are left.
    """
    chosen, scores = list(pairs)[:PILOT_PAIRS], []
    middle = until + (runner.left - until) / 2
    for pair in chosen:
        sides = runs_of(runner, pair, PILOT, seeds, middle)
        if sides is None:
            if runner.left <= middle:
                break
            continue
        scores.append((_telling(*sides, delta), len(scores), pair))
    if not scores:
        return Sampling(None, None, 0, 0, 0)
    pair = max(scores, key=lambda one: (one[0], -one[1]))[2]
    start = seeds.next
    sides = runs_of(runner, pair, most, seeds, until)
    if sides is None:
        return Sampling(None, pair, start, len(scores), 0)
    found = sampled_epsilon(*sides, delta, alpha)
    return Sampling(found, pair, start, len(scores), min(len(side) for side in sides))


def farthest(runner: Runner, shifts: Sequence[Shift], seeds: Seeds, until: float) -> Shift:
    """The first of the shifts, those that look largest first, whose means are farthest apart in a pilot of their own:
    single runs show noise as much as shifts.
    """
    best, most = shifts[0], -1.0
    middle = until + (runner.left - until) / 2
    for one in shifts[:PILOT_PAIRS]:
        sides = runs_of(runner, one.pair, PILOT, seeds, middle)
        if sides is not None and _apart(*sides) > most:
            best, most = one, _apart(*sides)
    return best


def formal(runner: Runner, pair: Pair, form: str, first: bool, seeds: Seeds) -> tuple[Counts, Counts]:
    """Hits and trials of an output of this form (`Outcome.form`, what no number shows) under common seeds: on the side
    that takes it, the `first` or the second, then on the other.
    """
    hits, trials = [0, 0], 0
    for _ in range(8):
        common = seeds.take(64)
        outcomes = runner.run([pair.first, pair.second], [(side, seed) for seed in common for side in (0, 1)])
        whole = outcomes[: len(outcomes) // 2 * 2]
        for side in (0, 1):
            hits[side] += sum(one.form == form for one in whole[side::2])
        trials += len(whole) // 2
        if len(whole) < 128:
            break
    likely, other = hits if first else hits[::-1]
    return (likely, other), (trials, trials)


def runs_of(
    runner: Runner, pair: Pair, number: int, seeds: Seeds, until: float = 0.0
) -> tuple[np.ndarray, np.ndarray] | None:
    """Outputs of both sides, as many of each, under seeds of their own; None unless enough ran."""
    kept: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for begun in range(0, number, 500):
        batch = min(500, number - begun)
        jobs = [(place % 2, seed) for place, seed in enumerate(seeds.take(2 * batch))]
        outcomes = runner.run([pair.first, pair.second], jobs, until=until)
        for (side, _), one in zip(jobs, outcomes, strict=False):
            if one.ran and one.values is not None:
                kept[side].append(one.values)
        if len(outcomes) < len(jobs) or _strange(outcomes):
            break
    least = min(len(side) for side in kept)
    if least < min(number, PILOT) // 2 or len({one.shape for side in kept for one in side}) > 1:
        return None
    return np.stack(kept[0][:least]), np.stack(kept[1][:least])


def _strange(outcomes: list[Outcome]) -> bool:
    return sum(one.ran for one in outcomes) < len(outcomes) / 2


def _telling(first: np.ndarray, second: np.ndarray, delta: float) -> float:
    """How far apart two small samples look: the best event's bound at a low confidence."""
    return sampled_epsilon(first, second, delta, 0.2).epsilon + 1e-3 * _apart(first, second)


def _apart(first: np.ndarray, second: np.ndarray) -> float:
    spread = np.sqrt(first.var(axis=0) + second.var(axis=0)) + 1e-300
    score = float(np.max(np.abs(first.mean(axis=0) - second.mean(axis=0)) / spread, initial=0.0))
    return min(score, 1e3) if math.isfinite(score) else 0.0
