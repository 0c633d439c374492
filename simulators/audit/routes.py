"""Ways to a verdict: by the law of the noise, by scales of two sides, by means, by sampling.

>>> rng = np.random.default_rng(0)
>>> sides = rng.standard_normal((200, 2)), rng.standard_normal((200, 2)) + [3.0, 0.0]
>>> bool(abs(direction(sides)[0]) > 5 * abs(direction(sides)[1])), [number for _, _, number in along(sides, np.ones(2))]
(True, [100, 100])
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpbounds.audit.intervals import coordinates_needed, shift_interval
from dpbounds.audit.noise import scale_interval
from dpbounds.audit.results import Audit
from dpbounds.audit.witnesses import evaluated, exceeds, witness
from simulators.audit.domains import Pair
from simulators.audit.lawful import EARLY, OTHER, SCALE, early, lawful, needed, singular, sum_of
from simulators.audit.sampled import LEAST, Sampling, farthest, runs_of, sampled
from simulators.audit.shifts import Scan, Shift, again, climb
from simulators.audit.work import AFTER_SEARCH, Work, values_of

# The coarsest relative error of a scale that is still "consistent".
COARSEST = 0.2
# Share of the seconds that sampling beside the law leaves; of the pairs, those that must run for the search to count;
# calls of the coordinate ascent; runs a side for means.
AFTER_LAW, COVERED, _CLIMBS, _MEANS = 0.1, 0.5, 400, 4000
_EPSILON = "epsilon and delta in the claim: pairs that are not additive are sampled, and no event tells rho or mu"


def by_law(work: Work, scanned: Scan, others: list[Shift]) -> Audit:
    """2 to 4: noise from differences, what depends, and the curve."""
    until = AFTER_LAW * work.budget
    rng = np.random.default_rng(work.asked.seed)
    top = climb(
        work.runner,
        scanned.top,
        work.asked.domain,
        work.law,
        work.seeds,
        rng,
        calls=_CLIMBS,
        until=AFTER_SEARCH / 2 * work.budget,
    )
    checked = again(work.runner, top.pair, work.law, work.seeds)
    if checked is None or not checked.ran or not checked.additive:
        return by_event(work, scanned)
    top = checked if checked.size >= scanned.top.size else top
    work.look_outside(top)
    outputs = max(len(values_of(top.first[0])), 1)
    wanted = needed(work.law, work.asked.resolution, 2 * work.alpha * SCALE)
    least = max(6, outputs + 8 if 1 < outputs <= 64 else 0)
    rows, share = work.draw(top.pair.first, min(wanted, EARLY), until, least=least), OTHER
    alone = singular(rows.rows, scanned)
    if alone is not None:
        why, numbers, moved = alone
        numbers |= {"start": rows.start, "rows": len(rows.rows), "seed": moved.seeds[0]}
        return work.refuted("singular", numbers, scanned, moved.pair, why)
    if len(rows.rows) < 2:
        return work.unclear(scanned, f"{wanted} noise coordinates: {rows.rows.size} came in the time")
    if rows.rows.size < wanted and not early(rows.rows, top, scanned, work.law, work.promise, work.alpha):
        rows, share = rows.joined(work.draw(top.pair.first, wanted - rows.rows.size, until)), SCALE
    found = lawful(rows.rows, top, scanned, work.law, work.promise, work.alpha, share)
    work.note("2 noise", found.words)
    work.note("3 dependence", next((one for one in found.differs if one.startswith("dep")), "none seen"))
    work.note("4 curve", f"{found.spent[0]:.5g} to {found.spent[1]:.5g}")
    if found.witness is not None:
        kind, numbers = found.witness
        numbers |= {"start": rows.start, "rows": len(rows.rows), "seed": top.seeds[0]}
        why = "the curve of the shift" if kind == "scale" else "the curve of the shift with the noise declared"
        return work.refuted(kind, numbers, scanned, top.pair, why, found.spent[0], found)
    if work.promise.epsilon is not None and others:
        beside = sample(work, scanned, [one.pair for one in others])
        if beside.best is not None and exceeds(beside.best.epsilon, work.promise):
            return end(work, beside, scanned)
    spread = found.resolution
    work.assumed.append("the worst neighbours are among those searched")
    coverage = scanned.ran / max(scanned.planned, 1)
    more: dict[str, Any] = {"epsilon": found.spent, "slack": found.slack, "curve": found.curve}
    if found.differs:
        return work.concluded("law differs", scanned, **more, findings=(*work.findings, *found.differs))
    if others and work.promise.epsilon is None:
        return work.concluded("unclear", scanned, **more, needs=_EPSILON)
    if spread > COARSEST or coverage < COVERED:
        needs = f"{needed(work.law, COARSEST, 2 * work.alpha * SCALE)} noise coordinates and half of the pairs"
        return work.concluded("unclear", scanned, **more, needs=f"{needs}: {rows.rows.size} and {coverage:.0%} ran")
    work.assumed.append(f"the noise is of its family; its scale is seen to {spread:.2%}")
    return work.concluded("consistent", scanned, **more)


def two_samples(work: Work, scanned: Scan, among: list[Shift]) -> Audit | None:
    """Pairs that are not additive under a continuous law: the scales on either side of the one that moves most."""
    if work.law.family not in ("gaussian", "laplace") or work.promise.epsilon is None:
        return None
    top = max(among, key=apart_from_noise)
    share = work.alpha * OTHER / 4
    wanted, until = 4 * coordinates_needed(COARSEST, alpha=share), AFTER_SEARCH / 3 * work.budget
    sides = [work.draw(side, wanted, until) for side in (top.pair.first, top.pair.second)]
    rows = [work.law.whitened(one.rows, scanned.shape) for one in sides if len(one.rows) > 1 and one.rows.any()]
    if len(rows) < 2:
        return None
    sums = [sum_of(one, work.law.family) for one in rows]
    ends = [scale_interval(one, work.law.family, share) for one in rows]
    words = " and ".join(f"{low:.4g} to {high:.4g}" for low, high in ends)
    work.note("2 noise", f"a pair that is not additive has scales of {words} on its sides")
    numbers = {"family": work.law.family, "sums": sums, "numbers": [one.size for one in rows]}
    numbers |= {"outputs": rows[0].shape[1], "alpha": share, "starts": [one.start for one in sides]}
    numbers |= {"rows": [len(one.rows) for one in sides]}
    told = evaluated(witness("scales", work.promise.content(), **numbers))
    if not told.refuted:
        return None
    work.assumed.append(f"outputs on either side are {work.law.family} with one scale")
    return work.refuted("scales", numbers, scanned, top.pair, told.words, told.spent)


def without_seeds(work: Work, scanned: Scan) -> Audit:
    """Shifts by means: a direction learnt on one half, two Gaussian samples along it on the other."""
    if work.law.family != "gaussian":
        return by_event(work, scanned)
    until = AFTER_LAW * work.budget
    top = farthest(work.runner, sorted(scanned.good, key=apart_from_noise, reverse=True), work.seeds, until)
    start = work.seeds.next
    sides = runs_of(work.runner, top.pair, _MEANS, work.seeds, until)
    number = 0 if sides is None else len(sides[0])
    if sides is None or number < 40:
        return work.unclear(scanned, f"40 runs a side: {number} came in the time")
    weights = direction(sides)
    first, second = along(sides, weights)
    low, high = shift_interval(first, second, work.alpha * SCALE)
    spent = work.promise.of_gaussian(low), work.promise.of_gaussian(high)
    work.note("2 means", f"{number} runs a side: mu along one direction in [{low:.4g}, {high:.4g}]")
    work.assumed.append("outputs of either side are Gaussian along one direction, with one scale")
    if exceeds(spent[0], work.promise):
        numbers = {"first": first, "second": second, "alpha": work.alpha * SCALE}
        numbers |= {"weights": weights.tolist(), "start": start, "runs": number}
        return work.refuted("means", numbers, scanned, top.pair, "means are too far apart", spent[0])
    if high - low > COARSEST * work.promise.gaussian_mu:
        needs = "more runs: no seeds cancel the noise here"
        return work.concluded("unclear", scanned, epsilon=spent, needs=needs)
    return work.concluded("consistent", scanned, epsilon=spent)


def direction(sides: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Weights of the combination whose means look farthest apart in the first halves, in its own noise."""
    halves = [side[: len(side) // 2] for side in sides]
    apart = halves[1].mean(axis=0) - halves[0].mean(axis=0)
    return apart / np.maximum(halves[0].var(axis=0) + halves[1].var(axis=0), 1e-300)


def along(sides: tuple[np.ndarray, np.ndarray], weights: np.ndarray) -> list[tuple[float, float, int]]:
    """Mean, sum of squared deviations and number of the combination in the second halves of either side."""
    samples = [side[len(side) // 2 :] @ weights for side in sides]
    return [(float(x.mean()), float(((x - x.mean()) ** 2).sum()), len(x)) for x in samples]


def sample(work: Work, scanned: Scan, pairs: list[Pair] | None = None) -> Sampling:
    """5: an event."""
    ordered = pairs or [one.pair for one in sorted(scanned.good, key=apart_from_noise, reverse=True)]
    found = sampled(work.runner, ordered, work.promise.delta, work.alpha * OTHER, work.seeds, until=0.02 * work.budget)
    words = "too few runs" if found.best is None else f"epsilon at least {found.best.epsilon:.4g}"
    work.note("5 sampling", f"{words} ({found.pairs} pairs piloted, {found.runs} runs a side)")
    return found


def by_event(work: Work, scanned: Scan, differs: list[str] | None = None) -> Audit:
    """5, where no law decides: sampling, for claims of which an event can say something."""
    if work.promise.epsilon is not None:
        return end(work, sample(work, scanned), scanned, differs)
    if differs:
        return work.concluded("law differs", scanned, needs=_EPSILON, findings=(*work.findings, *differs))
    return work.unclear(scanned, _EPSILON)


def end(work: Work, found: Sampling, scanned: Scan, differs: list[str] | None = None) -> Audit:
    """The verdict of sampling."""
    best = found.best
    if best is not None and found.pair is not None and exceeds(best.epsilon, work.promise):
        numbers = {"hits": best.hits, "trials": best.trials, "alpha": work.alpha * OTHER}
        numbers |= {"event": best.event.content(), "first": best.first, "start": found.start, "runs": found.runs}
        why = "an event is too much likelier on one side"
        return work.refuted("event", numbers, scanned, found.pair, why, best.epsilon)
    low = 0.0 if best is None else best.epsilon
    work.assumed.append("what one event of one pair does not show is not there")
    bound = low, math.inf
    if differs:
        return work.concluded("law differs", scanned, epsilon=bound, findings=(*work.findings, *differs))
    covered = scanned.ran >= COVERED * scanned.planned
    if best is None or found.runs < LEAST or not covered:
        came = f"{found.runs}, and {scanned.ran} of {scanned.planned}, ran"
        needs = f"{LEAST} runs a side and half of the pairs: {came}"
        return work.concluded("unclear", scanned, epsilon=bound, needs=needs)
    return work.concluded("consistent", scanned, epsilon=bound)


def apart_from_noise(one: Shift) -> float:
    """How far the middle of the outputs moves, in what seeds move them."""
    left, right = ([values_of(outcome) for outcome in side] for side in (one.first, one.second))
    moved = np.abs(np.mean(right, axis=0) - np.mean(left, axis=0))
    noise = np.std(left, axis=0) + np.std(right, axis=0)
    return float(np.max(moved / (noise + 1e-12 + 0.1 * float(np.median(noise))), initial=0.0))
