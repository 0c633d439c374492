"""Beyond the paper: first looks of an audit, and events counted on the seeds that are named."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from scipy import stats

from dpbounds.audit import (
    Pair,
    gaussian,
    shift_interval,
)
from simulators.audit.sampled import farthest, formal, runs_of, sampled
from simulators.audit.shifts import Seeds, again
from verify.checks import Agreement, Fact, Holds
from verify.papers.ftrl.tools.audited import ALPHA, OFF, ON, PAIRS, Run, audited, holds_again, noise_drawn, rows_drawn
from verify.papers.ftrl.tools.direct import Direct
from verify.statements.claims import Claim

# --- cheap looks, two samples, means ---


def _looks(rng: np.random.Generator, noise: float = 1.0) -> Iterator[Fact | Holds]:
    """Mechanisms that a first look tells, and ones without seeds."""
    state = {"calls": 0}

    def shipped(data: np.ndarray, seed: int | None) -> float:
        return 0.3 * data.sum() + (0.7 if seed is None else float(noise_drawn(seed, 1)[0]))

    found, _ = audited(shipped, {"mu": 1.0}, gaussian())
    numbers = found.witness or {}
    yield Fact(
        "the same noise in every run: what moves, and its size",
        [numbers["moved"], numbers["size"]],
        [0.3, 0.3 * 1.5 + 0.7],
        1e-9,
    )
    yield Holds(
        "is refuted, and again",
        found.verdict == "refuted" and found.steps[0].found == "six equal runs" and holds_again(found, shipped),
    )

    def turns(data: np.ndarray, seed: int | None) -> float:
        state["calls"] += seed is None
        drawn = float(state["calls"] > 3) if seed is None else noise * float(noise_drawn(seed, 1)[0])
        return 0.3 * data.sum() + drawn

    found, _work = audited(turns, {"mu": 1.0}, gaussian())
    yield Holds("runs that differ later", found.steps[0].found == "runs differ")
    plain = lambda data, seed: 0.3 * data[0] + (np.random.normal() if seed is None else noise_drawn(seed, 300))  # noqa: E731, NPY002
    found, _ = audited(plain, {"rho": 60.0}, gaussian(1.0))
    yield Holds("runs that differ at once", found.steps[0].found == "runs differ" and found.verdict == "consistent")

    def shapes(data: np.ndarray, seed: int | None) -> np.ndarray:
        return np.ones(3 if data[0] > 0.7 else 2) * (1.0 if seed is None else noise_drawn(seed, 1)[0])

    for claim, word in ((1.0, "refuted"), (8.0, "other"), ({"mu": 1.0}, "other")):
        found, _ = audited(shapes, claim, "discrete" if claim == 8.0 else gaussian())
        yield Holds(
            f"shapes against {claim}",
            (found.verdict == "refuted") == (word == "refuted")
            and found.findings[0] == "1 pairs are told apart without a number: shape (3,) against shape (2,)",
        )
        if found.witness is not None:
            low = float(stats.beta.ppf(ALPHA / 32, 512, 1))
            high = float(stats.beta.isf(ALPHA / 32, 1, 512))
            yield Fact(
                "hits, trials, epsilon",
                [*found.witness["hits"], *found.witness["trials"], found.epsilon[0]],
                [512, 0, 512, 512, math.log(low / high)],
                1e-9,
            )
            yield Holds("and again", holds_again(found, shapes) and found.witness["first"] is True)
    pair = Pair(ON, OFF, "on and off")
    some = Direct(lambda data, seed: 1 // 0 if data[0] and seed % 4 else float(seed))
    start = Seeds(0).next
    erring = sum((start + k) % 4 > 0 for k in range(512))
    for side, counts in ((True, (erring, 0)), (False, (0, erring))):
        found_counts = formal(
            some, pair, "raised: ZeroDivisionError: integer division or modulo by zero", side, Seeds(0)
        )
        yield Fact(f"errors counted, first {side}", [*found_counts[0], *found_counts[1]], [*counts, 512, 512], 0)
    short = Direct(lambda data, seed: float(seed), budget=0.101)
    yield Fact("as far as time goes", formal(short, pair, "shape ()", True, Seeds(0)), [(50, 50), (50, 50)], 0)
    found, _ = audited(lambda data, seed: 1 // 0, 1.0, "discrete")
    yield Holds(
        "a mechanism that always raises",
        (found.verdict, found.failed) == ("unclear", True) and "ZeroDivisionError" in found.needs,
    )
    found, _ = audited(lambda data, seed: 1.0, 1.0, "discrete", budget=0.0)
    yield Holds(
        "no time at all",
        (found.verdict, found.failed, found.needs) == ("unclear", False, "more seconds: 0 calls ended in the time"),
    )

    def spread(data: np.ndarray, seed: int) -> np.ndarray:
        return 0.1 * data[0] + (1 + 4 * data[0]) * noise * noise_drawn(seed, 40)

    found, _ = audited(spread, (1.0, 1e-3), gaussian())
    numbers = found.witness or {}
    yield Holds("two scales", found.verdict == "refuted" and numbers["kind"] == "scales" and holds_again(found, spread))
    sums = [
        float(((scale * rows_drawn(numbers["starts"][k], numbers["rows"][k], 40)) ** 2).sum())
        for k, scale in enumerate((5.0, 1.0))
    ]
    yield Fact("their sums", [*numbers["sums"], numbers["outputs"], numbers["alpha"]], [*sums, 40, ALPHA / 64], 1e-9)
    yield Fact("their numbers", numbers["numbers"], [40 * one for one in numbers["rows"]], 0)
    z = stats.norm.isf(ALPHA / 128) + stats.norm.isf(1e-3)
    needed = 4 * math.ceil(z**2 * 0.5 / 0.2**2)
    yield Fact("as many as are needed", numbers["rows"], [math.ceil(needed / 40)] * 2, 0)
    yield from _means()


def _drawing(factor: float, outputs: list[tuple[float, np.ndarray]]) -> Run:
    """A mechanism that takes no seed, and what it gave."""
    stream = np.random.default_rng(8)

    def run(data: np.ndarray) -> np.ndarray:
        given = factor * data[0] * np.array([0.6, 0.8, 0.0]) + stream.standard_normal(3) * [1.0, 1.0, 2.0]
        outputs.append((float(data[0]), given))
        return given

    return run


def _means() -> Iterator[Fact | Holds]:
    """Mechanisms that take no seed: what they draw is counted from their own stream."""
    for factor, claim, word in ((3.0, {"mu": 1.0}, "refuted"), (0.7, {"rho": 0.72}, "consistent")):
        outputs: list[tuple[float, np.ndarray]] = []

        run = _drawing(factor, outputs)
        domain = PAIRS if word == "refuted" else PAIRS[1:2]
        found, _ = audited(run, claim, gaussian(), domain=domain)
        last = outputs[-8000:]
        sides = [np.array([given for _, given in last[k::2]]) for k in (0, 1)]
        apart = sides[1][:2000].mean(0) - sides[0][:2000].mean(0)
        weights = apart / (sides[0][:2000].var(0) + sides[1][:2000].var(0))
        second = [side[2000:] @ weights for side in sides]
        samples = [(float(x.mean()), float(((x - x.mean()) ** 2).sum()), 2000) for x in second]
        low, high = shift_interval(samples[0], samples[1], ALPHA / 2)
        spent = [low, high] if word == "refuted" else [low**2 / 2, high**2 / 2]
        yield Holds(f"means of a shift of {factor:g} against {found.claim.text}", found.verdict == word)
        ends = 1 if word == "refuted" else 2  # of a refutation the lower end is what counts
        yield Fact("what they spend", found.epsilon[:ends], spent[:ends], 1e-9)
        if found.witness is not None:
            yield Fact(
                "weights and runs",
                [*found.witness["weights"], found.witness["runs"], found.witness["alpha"]],
                [*weights, 4000, ALPHA / 2],
                1e-9,
            )
            yield Holds("of the pair that moves most", found.witness["pair"]["label"] == "a record of 1")
    found, _ = audited(lambda data: np.random.default_rng().normal(), {"mu": 1.0}, gaussian(), budget=0.05)
    yield Holds("too little time for means", found.verdict == "unclear" and "runs a side" in found.needs)


# --- sampling ---


def _sampling(rng: np.random.Generator, share: float = 0.9) -> Iterator[Fact | Holds]:
    """Events of answers at random."""

    turns = itertools.count()

    def answer(data: np.ndarray, seed: int | None) -> float:
        if seed is None:
            return float(next(turns) % 2)
        return float(np.random.default_rng(seed).random() < 0.1 + (share - 0.1) * data[0])

    found, work = audited(answer, 1.0, "discrete")
    numbers = found.witness or {}
    yield Holds("an answer that tells is refuted, and again", found.verdict == "refuted" and holds_again(found, answer))
    start, on = numbers["start"], numbers["first"]
    runs = [
        [float(np.random.default_rng(start + 2 * i + k).random() < chance) for i in range(6000)]
        for k, chance in enumerate((0.9, 0.1))
    ]
    values = {row[0] for row in numbers["event"]["values"]} if numbers["event"]["kind"] == "values" else {0.0, 1.0}
    hits = [sum(one in values for one in side[3000:]) for side in runs]
    ordered = hits if on else hits[::-1]
    yield Fact(
        "hits and trials", [*numbers["hits"], *numbers["trials"], numbers["runs"]], [*ordered, 3000, 3000, 6000], 0
    )
    low = float(stats.beta.ppf(ALPHA / 32, ordered[0], 3001 - ordered[0]))
    high = float(stats.beta.isf(ALPHA / 32, ordered[1] + 1, 3000 - ordered[1]))
    yield Fact("epsilon", found.epsilon[0], math.log(low / high), 1e-9)
    yield Holds("of the pair that tells most", numbers["pair"]["label"] == "a record of 1")
    yield Holds(
        "in words",
        found.steps[-2].found == f"epsilon at least {found.epsilon[0]:.4g} (3 pairs piloted, 6000 runs a side)",
    )
    found, work = audited(answer, 2.5, "discrete", domain=PAIRS[1:2], budget=4.0)
    yield Holds("a fair claim is consistent", found.verdict == "consistent" and found.epsilon[0] < math.log(9))
    yield Fact("calls", work.runner.calls, 3920, 1e-3)
    found, _ = audited(answer, 2.5, "discrete", domain=PAIRS[1:2], budget=0.9)
    yield Holds("of few runs unclear", found.verdict == "unclear" and "400 runs a side" in found.needs)
    found, _ = audited(answer, {"mu": 2.0}, "discrete")
    yield Holds(
        "no event tells mu", found.verdict == "unclear" and found.needs.startswith("epsilon and delta in the claim")
    )
    for claim, word in ((2.5, "law differs"), ({"mu": 9.0}, "law differs")):
        found, _ = audited(answer, claim, gaussian(), domain=PAIRS[1:2], budget=3.0)
        yield Holds(f"whole numbers against {claim}", found.verdict == word and found.support.startswith("whole"))
    pairs, start = [PAIRS[2], PAIRS[1], PAIRS[0]], Seeds(0).next
    # Of 300 calls half are for pilots, which one pair ends; the other half is 75 runs a side.
    for budget, runs_each, number in ((1e3, 500, 3), (0.3, 75, 1), (0.0, 0, 0)):
        seeds = Seeds(0)
        told = sampled(Direct(answer, budget=budget), pairs, 0.0, ALPHA, seeds, most=500)
        yield Fact(f"pairs and runs in {budget:g} seconds", [told.pairs, told.runs], [number, runs_each], 0)
        if budget == 1e3:
            yield Holds("the pair", told.pair is PAIRS[1] and told.start == start + 360 and seeds.next == start + 1360)
    for number, budget, kept in (
        (1200, 1e3, 1200),
        (1200, 1.3, 650),
        (1200, 0.05, 0),
        (40, 0.05, 25),
        (40, 0.038, 0),
        (100, 0.061, 30),
        (100, 0.059, 0),
    ):
        sides = runs_of(Direct(answer, budget=budget), PAIRS[1], number, Seeds(0))
        yield Fact(f"runs of {number} in {budget:g} seconds", 0 if sides is None else len(sides[1]), kept, 0)
    sides = runs_of(Direct(lambda data, seed: float(seed)), PAIRS[1], 600, Seeds(0))
    yield Fact(
        "their seeds",
        [0] if sides is None else [sides[0][0, 0], sides[1][0, 0], sides[1][-1, 0]],
        [start, start + 1, start + 1199],
        0,
    )
    law = gaussian()
    shifts = [again(Direct(answer), one, law, Seeds(3)) for one in pairs]
    chosen = farthest(Direct(answer), [one for one in shifts if one is not None], Seeds(0), 0.0)
    yield Holds("the pair whose means are farthest apart", chosen.pair is PAIRS[1])
    mixed = lambda data, seed: data[0] * 2 + noise_drawn(seed, 2) if seed % 3 else np.full(2, 5.0 + data[0])  # noqa: E731
    found, _ = audited(mixed, (9.0, 1e-3), gaussian(), budget=3.0)
    said = ("3 of 3 pairs are not additive, such as: a record of 0.5",)
    yield Holds("pairs that are not additive are said", (found.verdict, found.findings) == ("unclear", said))


BEYOND_AUDIT_LOOKS = Claim(
    id="ftrl/beyond-audit-looks",
    where="beyond the paper: first looks of audits, and events",
    kind="privacy",
    statement=(
        "First looks tell what is the same in every run, forms that differ, outputs that stand still, two scales, and "
        "means of mechanisms without seeds;",
        "an event is counted on the runs of the seeds that are named, for the pair that tells most.",
    ),
    setting="Mechanisms in this process, whose time is counted in calls; witnesses are measured again in another.",
    checks=(
        Agreement(decides="a", facts=_looks, impostors={"5 % less noise": {"facts": {"noise": 0.95}}}),
        Agreement(decides="b", facts=_sampling, impostors={"an answer of 0.8": {"facts": {"share": 0.8}}}),
    ),
)
