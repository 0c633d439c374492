"""Neighbours with common seeds: what is the same noise cancels, and the difference of outputs is the shift.

>>> from simulators.audit.domains import Box, neighbours
>>> from dpbounds.audit.laws import gaussian
>>> def mechanism(data, seed):
...     return data.sum(axis=0) + np.random.default_rng(seed).standard_normal(2)
>>> pairs = neighbours(Box(shape=(3, 2), low=0.0, high=1.0), "zero-out", np.random.default_rng(0))
>>> with Runner(mechanism, seconds=20.0) as runner:
...     found = scan(runner, pairs, gaussian(1.0), Seeds(0))
>>> round(found.top.size, 6), found.ran == len(pairs)
(1.414214, True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dpbounds.audit.laws import NoiseLaw
from dpbounds.audit.noise import ROUNDING, ROUNDING_NARROW
from dpbounds.errors import count
from simulators.audit.domains import Pair, moved
from simulators.audit.process import Outcome, Runner
from simulators.engine import seed_sequence

# Pairs that are sent to the process together, and common seeds that establish a shift.
_TOGETHER, ESTABLISHED = 8, 4


class Seeds:
    """Whole numbers below 2^31 for the mechanism, one after the other from a start that the audit's seed gives."""

    def __init__(self, seed: int) -> None:
        self.next = int(seed_sequence(["audit"], seed=seed).generate_state(1)[0]) >> 2

    @classmethod
    def at(cls, start: int) -> Seeds:
        """From this one on, as a witness names it."""
        seeds = cls(0)
        seeds.next = count("seed", start, least=0, most=2**31)
        return seeds

    def take(self, number: int) -> list[int]:
        """The next so many."""
        start, self.next = self.next, self.next + number
        return list(range(start, self.next))


@dataclass(frozen=True, eq=False)
class Shift:
    """One pair under common seeds: outcomes of either side, differences (second less first), and what they say."""

    pair: Pair
    first: list[Outcome]
    second: list[Outcome]
    seeds: list[int]
    size: float = 0.0
    additive: bool = False
    tied: bool = False
    difference: np.ndarray | None = None

    @property
    def ran(self) -> bool:
        """Whether all calls gave finite numbers of one shape."""
        return self.difference is not None

    @property
    def form(self) -> tuple[str, str] | None:
        """What tells the sides apart without a number: shapes, errors, numbers that are not finite; else None."""
        forms = [{one.form for one in side} for side in (self.first, self.second)]
        if len(forms[0]) == len(forms[1]) == 1 and forms[0] != forms[1]:
            return forms[0].pop(), forms[1].pop()
        return None

    @property
    def fails(self) -> str:
        """The first error of a side that did not run."""
        return next((one.form for one in (*self.first, *self.second) if not one.ran), "")


@dataclass(frozen=True, eq=False)
class Scan:
    """All pairs that were run, of those planned."""

    shifts: list[Shift]
    planned: int
    narrow: bool = False
    leaves: tuple[int, ...] = ()
    shape: tuple[int, ...] = field(default=())

    @property
    def good(self) -> list[Shift]:
        """Those that ran on both sides."""
        return [one for one in self.shifts if one.ran]

    @property
    def ran(self) -> int:
        """How many."""
        return len(self.good)

    @property
    def additive(self) -> list[Shift]:
        """Those whose difference is the same under each seed, of outputs without ties."""
        return [one for one in self.good if one.additive and not one.tied]

    @property
    def top(self) -> Shift:
        """The one that moves most, in the norm of the law; of additive ones if there are any."""
        return max(self.additive or self.good, key=lambda one: one.size)

    @property
    def rounding(self) -> float:
        """Relative size of what is rounding."""
        return ROUNDING_NARROW if self.narrow else ROUNDING


def scan(
    runner: Runner, pairs: Sequence[Pair], law: NoiseLaw, seeds: Seeds, *, repeats: int = 2, until: float = 0.0
) -> Scan:
    """Every pair under `repeats` common seeds, as far as time allows: `until` seconds are kept for what follows."""
    found: list[Shift] = []
    for start in range(0, len(pairs), _TOGETHER):
        if not runner.usable or runner.left <= until:
            break
        chosen, common = pairs[start : start + _TOGETHER], seeds.take(repeats)
        data = [side for pair in chosen for side in (pair.first, pair.second)]
        jobs = [(number, seed) for number in range(len(data)) for seed in common]
        outcomes = runner.run(data, jobs, until=until)
        for number, pair in enumerate(chosen):
            own = outcomes[2 * repeats * number : 2 * repeats * (number + 1)]
            if len(own) == 2 * repeats:
                found.append(shift_of(pair, own[:repeats], own[repeats:], common, law))
    good = next((one.first[0] for one in found if one.ran), None)
    if good is None:
        return Scan(found, len(pairs))
    return Scan(found, len(pairs), good.dtype in ("float32", "float16"), good.leaves, good.shape)


def shift_of(pair: Pair, first: list[Outcome], second: list[Outcome], seeds: list[int], law: NoiseLaw) -> Shift:
    """What the outcomes of a pair under common seeds say."""
    both = [*first, *second]
    if not all(one.ran for one in both) or len({one.shape for one in both}) > 1:
        return Shift(pair, first, second, seeds)
    left, right = (np.stack([one.values for one in side if one.values is not None]) for side in (first, second))
    narrow = both[0].dtype in ("float32", "float16")
    largest = max(float(np.abs(left).max(initial=0.0)), float(np.abs(right).max(initial=0.0)))
    rounding = (ROUNDING_NARROW if narrow else ROUNDING) * largest
    differences = right - left
    additive = bool(np.abs(differences - differences[0]).max(initial=0.0) <= 2 * rounding)
    # Outputs that are the same under different seeds: no additive continuous noise, or none at all.
    tied = len(left) > 1 and bool((left[0] == left[1]).any() or (right[0] == right[1]).any())
    difference = np.where(np.abs(differences[0]) <= rounding, 0.0, differences.mean(axis=0))
    whitened = law.whitened(difference[None], both[0].shape)[0]
    size = float(np.abs(whitened).sum() if law.family == "laplace" else np.linalg.norm(whitened))
    return Shift(pair, first, second, seeds, size, additive, tied, difference)


def again(runner: Runner, pair: Pair, law: NoiseLaw, seeds: Seeds, repeats: int = ESTABLISHED) -> Shift | None:
    """The pair under so many further common seeds; None if time does not allow it."""
    common = seeds.take(repeats)
    outcomes = runner.run([pair.first, pair.second], [(side, seed) for side in (0, 1) for seed in common])
    if len(outcomes) < 2 * repeats:
        return None
    return shift_of(pair, outcomes[:repeats], outcomes[repeats:], common, law)


def climb(
    runner: Runner,
    start: Shift,
    domain: object,
    law: NoiseLaw,
    seeds: Seeds,
    rng: np.random.Generator,
    *,
    calls: int,
    until: float,
) -> Shift:
    """Coordinate ascent from a pair on the size of its shift, one coordinate of its record at a time."""
    best, spent, better = start, 0, True
    while better and spent < calls and runner.left > until:
        better = False
        for pair in moved(best.pair, domain, rng):
            if spent >= calls or runner.left <= until:
                break
            found = again(runner, pair, law, seeds, 2)
            spent += 4
            if (
                found is not None
                and found.ran
                and found.additive
                and not found.tied
                and found.size > 1.0001 * best.size
            ):
                best, better = found, True
                break
    return best
