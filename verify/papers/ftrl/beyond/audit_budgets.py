"""Beyond the paper: audits whose time is short, to the call, and the parts that look at outputs of two sides."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import stats

from dpbounds.audit import Box, Pair, gaussian, promise_of, shift_interval
from dpbounds.audit.events import sampled_epsilon
from simulators.audit.process import Outcome
from simulators.audit.sampled import _apart, _strange, _telling, farthest, runs_of, sampled
from simulators.audit.shifts import Seeds, again
from simulators.audit.work import Question, Work
from verify.checks import Agreement, Fact, Holds, Times
from verify.papers.ftrl.tools.audited import (
    ALPHA,
    PAIR,
    PAIRS,
    audited,
    noise_drawn,
    rows_drawn,
    scale_ends,
    scaled_noise,
)
from verify.papers.ftrl.tools.direct import Direct
from verify.statements.claims import Claim

ONE = PAIRS[1:2]

# --- short of time ---

# Calls as shipped, of the scan of one pair, of equal seeds; then for outputs that stand still, and the shift again.
FIRST, STILL, AGAIN = 2 + 4 + 2, 24, 8


def _calls(budget: float, kept: float) -> int:
    """Of a thousandth of a second each, until this share of the time is left."""
    return math.ceil(1e3 * (1 - kept) * budget)


def _short(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Where audits by law stop drawing, and what they say then: a tenth of the time is kept."""
    start, before = Seeds(0).next + 2 + 1 + 24 + 4, FIRST + STILL + AGAIN
    z = float(stats.norm.isf(ALPHA / 2) + stats.norm.isf(1e-3))
    for budget in (0.9005, 0.1105):
        found, work = audited(scaled_noise([0.3], 1.0), {"mu": 1.0}, gaussian(1.0), budget=budget, domain=ONE)
        calls = _calls(budget, 0.1)
        number = (calls - before) // 2
        low, high = scale_ends(rows_drawn(start, number, 1), ALPHA / 16, ALPHA / 2)
        yield Fact(f"calls of an audit of {budget:g} seconds", work.runner.calls, calls, 0)
        yield Fact("what it spends", found.epsilon, [0.3 / high, 0.3 / low], 1e-9)
        yield Holds(f"in {number} differences", found.steps[2].found.endswith(f" in {number} differences"))
        verdict = "consistent" if (high - low) / (high + low) <= 0.2 else "unclear"
        needs = f"{math.ceil((z / 0.2) ** 2 / 2)} noise coordinates and half of the pairs: {number} and 100% ran"
        told = (found.verdict, found.needs)
        yield Holds(f"its verdict: {verdict}", told == (verdict, "" if verdict == "consistent" else needs))
    # The search leaves six tenths: of 21 calls 2 are as shipped, and 16 are four pairs.
    many = [Pair(np.array([k / 16, 0.5]), np.array([0.0, 0.5]), f"{k}") for k in range(1, 12)]
    found, _ = audited(scaled_noise([0.3], 1.0), {"mu": 1.0}, gaussian(1.0), budget=0.0505, domain=many)
    yield Fact("pairs in a short scan", [found.coverage.ran, found.coverage.planned], [4, 11], 0)
    # An ascent leaves three tenths, or ends after 400 calls; a look outside takes 2.
    box, slopes = Box(shape=(1, 60), low=-1.0, high=2.0), np.random.default_rng(2).uniform(-1.0, 1.0, 60)
    run = lambda data, seed: float(slopes @ data[0]) + 40 * noise_drawn(seed, 1)  # noqa: E731
    for budget, resolution in ((0.8005, 0.05), (20.0, 0.2)):
        found, work = audited(run, {"mu": 9.0}, gaussian(), budget=budget, domain=box, resolution=resolution)
        before = FIRST - 4 + 4 * found.coverage.planned + STILL
        climbed = min(4 * math.ceil((_calls(budget, 0.3) - before) / 4), 400)
        rest = before + climbed + AGAIN + 2
        number = min((_calls(budget, 0.1) - rest) // 2, math.ceil((z / resolution) ** 2 / 2))
        words = f" in {number} differences"
        yield Holds(f"an ascent of {climbed} calls, then{words}", found.steps[2].found.endswith(words))
    yield from _least_rows()
    yield from _short_scales()
    yield from _short_means()
    yield from _short_events()


def _least_rows() -> Iterator[Fact | Holds]:
    """Of 64 outputs or fewer as many differences as show a direction without noise; two where time ends; the two ways
    in which the law refutes.
    """
    z = float(stats.norm.isf(ALPHA / 2) + stats.norm.isf(1e-3))
    wanted = math.ceil((z / 0.2) ** 2 / 2)
    for outputs, number in ((60, 68), (64, 72), (65, math.ceil(wanted / 65)), (400, 6)):
        run = scaled_noise(np.full(outputs, 0.01), 1.0)
        _, work = audited(run, {"mu": 1.0}, gaussian(1.0), budget=9.0, domain=ONE)
        yield Fact(f"differences of {outputs} outputs", (work.runner.calls - FIRST - STILL - AGAIN) / 2, number, 0)
    for rows, needs in ((1, f"{wanted} noise coordinates: 1 came in the time"), (2, None)):
        budget = (FIRST + STILL + AGAIN + 2 * rows - 0.5) / 900
        found, _ = audited(scaled_noise([0.3], 1.0), {"mu": 1.0}, gaussian(1.0), budget=budget, domain=ONE)
        seen = [step.found for step in found.steps if step.name == "2 noise"]
        yield Holds(
            f"{rows} differences", (found.needs == needs) if needs else seen[0].endswith(f" in {rows} differences")
        )
    for claim, words in ((0.3, ""), (0.97, " with the noise declared")):
        found, _ = audited(scaled_noise([1.0], 1.0), {"mu": claim}, gaussian(1.0), budget=9.0, domain=ONE)
        yield Holds(f"refuted at {claim:g}{words}", found.steps[-1].found == f"the curve of the shift{words}")


def _short_scales() -> Iterator[Fact | Holds]:
    """Scales of two sides, where a fifth of the time is kept: the second has what is left, two rows at least."""

    def spread(data: np.ndarray, seed: int) -> np.ndarray:
        return 100 * data[0] + (1 + 4 * data[0]) * noise_drawn(seed, 8)

    share = ALPHA / 64
    least = math.ceil((stats.norm.isf(share / 2) + stats.norm.isf(1e-3)) ** 2 / 2 / 0.2**2)
    wanted = math.ceil(4 * least / 8)
    for budget, second in ((0.9505, 16), (0.9145, 2), (0.913, 1)):
        found, work = audited(spread, (1.0, 1e-3), gaussian(), budget=budget)
        noted = [step for step in found.steps if step.name == "2 noise"]
        yield Fact(f"{second} rows of two scales are looked at", len(noted), int(second > 1), 0)
        if second > 2:
            told = found.witness or {}
            calls = FIRST + 2 * 4 + STILL + 2 * wanted
            yield Fact("rows", [(_calls(budget, 0.2) - calls) // 2, *told["rows"]], [second, wanted, second], 0)
            yield Fact("calls", work.runner.calls, _calls(budget, 0.2), 0)
            sides = zip((5.0, 1.0), told["starts"], told["rows"], strict=True)
            sums = [float(((size * rows_drawn(at, number, 8)) ** 2).sum()) for size, at, number in sides]
            yield Fact("their sums", told["sums"], sums)
            yield Holds("of the pair that moves most in its noise", told["pair"]["label"] == "a record of 1")


def _short_means() -> Iterator[Fact | Holds]:
    """Means of what draws without seeds: pilots take half of what is above a tenth of the time, 120 calls at most."""
    for budget, claim, verdict in (
        (1.2005, 3.0, "unclear"),
        (1.2005, 3.8, "consistent"),
        (1.2005, 0.3, "refuted"),
        (0.1867, 40.0, "consistent"),
        (0.1845, 40.0, "unclear"),
    ):
        given: list[np.ndarray] = []
        stream = np.random.default_rng(8)

        def run(data: np.ndarray, *, given: list[np.ndarray] = given, stream: Any = stream) -> np.ndarray:
            given.append(data[0] * np.array([0.6, 0.8]) + stream.standard_normal(2) * [1.0, 2.0])
            return given[-1]

        found, work = audited(run, {"mu": claim}, gaussian(), budget=budget, domain=ONE)
        left = 1e3 * 0.9 * budget - FIRST
        calls, last = FIRST + min(120, math.ceil(left / 2)), _calls(budget, 0.1)
        number = (last - calls) // 2
        first, second = (np.array(given[calls + k : calls + 2 * number : 2]) for k in (0, 1))
        half = number // 2
        apart = second[:half].mean(axis=0) - first[:half].mean(axis=0)
        weights = apart / (first[:half].var(axis=0) + second[:half].var(axis=0))
        sides = [(one[half:] @ weights).tolist() for one in (first, second)]
        samples = [(statistics.fmean(one), statistics.pvariance(one) * len(one), len(one)) for one in sides]
        low, high = shift_interval(samples[0], samples[1], ALPHA / 2)
        yield Fact(f"calls of means in {budget:g} seconds", work.runner.calls, last, 0)
        yield Holds(f"means against {claim:g}: {verdict}", found.verdict == verdict)
        if number < 40:
            yield Holds("too few", found.needs == f"40 runs a side: {number} came in the time")
            continue
        words = f"{number} runs a side: mu along one direction in [{low:.4g}, {high:.4g}]"
        yield Holds(words, words in [step.found for step in found.steps])
        ends = 1 if verdict == "refuted" else 2  # of a refutation the lower end is what counts
        yield Fact("what they spend", found.epsilon[:ends], [low, high][:ends], 1e-9)
        needs = "more runs: no seeds cancel the noise here"
        yield Holds("what they need", found.needs == (needs if verdict == "unclear" else ""))


def _short_events() -> Iterator[Fact | Holds]:
    """Events, where a fiftieth of the time is kept, and nothing follows where fewer than half of the pairs ran."""
    for good, budget in ((1, 1.5005), (2, 1.5005), (2, 1.0005)):
        turns = itertools.count()

        def answer(data: np.ndarray, seed: int | None, turns: Any = turns) -> float:
            if data[1] == 9:
                raise ArithmeticError
            drawn = next(turns) % 2 if seed is None else np.random.default_rng(seed).random() < 0.1 + 0.8 * data[0]
            return float(drawn)

        pairs = [Pair(np.array([1.0, tag]), np.array([0.0, tag]), "") for tag in [2.0] * good + [9.0] * (4 - good)]
        found, work = audited(answer, 2.5, "discrete", domain=pairs, budget=budget)
        calls = _calls(budget, 0.02)
        number = (calls - (2 + 16 + 2 + 120 * good)) // 2
        yield Fact("calls of events", work.runner.calls, calls, 0)
        enough = number >= 400 and good > 1
        needs = f"400 runs a side and half of the pairs: {number}, and {good} of 4, ran"
        told = (found.verdict, found.needs)
        yield Holds(f"{good} of 4 pairs, {number} runs", told == (("consistent", "") if enough else ("unclear", needs)))
        words = f"epsilon at least {found.epsilon[0]:.4g} ({good} pairs piloted, {number} runs a side)"
        yield Holds(words, found.steps[-1].found == words)


# --- parts ---


def _work(run: Any, domain: Any, told: Any = None) -> Work:
    asked = Question(promise_of({"mu": 1.0}), gaussian(scale=2.0), "zero-out", domain, 0, ALPHA, 0.2, told)
    return Work(Direct(run), asked)


def _parts(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Steps and their progress, records outside, and how far samples of two sides look apart."""
    told: list[tuple[int, int, str]] = []
    work = _work(lambda data, seed: 1.0, [PAIR], lambda *now: told.append(now))
    for name in "abcdefg":
        work.runner.run([PAIR.first], [(0, 1)] * 3)
        work.note(name, name.upper())
    yield Holds("progress", told == [(min(k, 5), 6, name) for k, name in enumerate("abcdefg", start=1)])
    steps = [(step.name, step.found, step.calls) for step in work.steps]
    yield Holds("steps", steps == [(name, name.upper(), 3 * k) for k, name in enumerate("abcdefg", start=1)])
    yield Fact("their seconds", [step.seconds for step in work.steps], [3e-3 * k for k in range(1, 8)], 1e-9)
    box = Box(shape=(2,), low=0.0, high=0.5)
    pair = Pair(np.array([0.5, 0.25]), np.array([0.0, 0.25]), "", 0)
    for slope, share, seen in (
        (3.0, 10.5, True),
        (3.0, 9.6, False),
        (0.02, 10.5, True),
        (0.02, 9.6, False),
        (0.0, 9.0, False),
    ):
        run = lambda data, seed, slope=slope, share=share: slope * np.full(2, min(data[0], 0.5 * share)) + seed % 5  # noqa: E731
        work = _work(run, box)
        top = again(work.runner, pair, work.law, work.seeds)
        assert top is not None
        before = work.runner.calls
        work.look_outside(top)
        words = [f"a record outside the domain moves outputs {share:.3g} times as far: nothing clips it"]
        yield Holds(f"outside, {share:g} times {slope:g}", work.findings == (words if seen else []))
        yield Fact("its calls", work.runner.calls - before, 2, 0)
    yield from _samples()


def _samples() -> Iterator[Fact | Holds]:
    """How far apart samples look, by plain sums; which pair a pilot takes."""
    own = np.random.default_rng(6)
    first, second = own.standard_normal((7, 3)), own.standard_normal((5, 3)) * [1.0, 3.0, 0.4] + [0.2, -1.0, 0.3]
    columns = [(a.tolist(), b.tolist()) for a, b in zip(first.T, second.T, strict=True)]
    scores = [
        abs(statistics.fmean(a) - statistics.fmean(b)) / math.sqrt(statistics.pvariance(a) + statistics.pvariance(b))
        for a, b in columns
    ]
    yield Fact("how far samples are apart, in their noise", _apart(first, second), max(scores))
    yield Fact("without noise, at most", _apart(np.ones((3, 1)), np.zeros((3, 1))), 1e3, 0)
    with np.errstate(over="ignore", invalid="ignore"):
        yield Fact("where it is no number", _apart(np.full((3, 1), 1e308), np.full((3, 1), -1e308)), 0.0, 0)
    answers = np.array([0.0] * 40 + [1.0] * 5)[:, None], np.array([1.0] * 38 + [0.0] * 7)[:, None]
    for delta in (0.0, 0.1):
        told = sampled_epsilon(*answers, delta, 0.2).epsilon + 1e-3 * _apart(*answers)
        yield Fact(f"how telling they are, delta {delta:g}", _telling(*answers, delta), told, 1e-14)
    for good, strange in ((2, True), (3, False)):
        mixed = [Outcome("ran", np.ones(1)) if k < good else Outcome("raised") for k in range(5)]
        yield Holds(f"{good} of 5 ran: strange {strange}", _strange(mixed) == strange)
    yield Holds("half is not", not _strange([Outcome("ran", np.ones(1)), Outcome("died")]))
    same = [Pair(PAIR.first, PAIR.second, f"{k}") for k in range(3)]
    told = sampled(Direct(lambda data, seed: float(data[0])), same, 0.0, ALPHA, Seeds(0), most=200)
    yield Holds("of pairs that tell the same the first", told.pair is same[0] and told.pairs == 3)
    run = lambda data, seed: 0.1 * data[0] + noise_drawn(seed, 1)  # noqa: E731
    shifts = [again(Direct(run), one, gaussian(), Seeds(3)) for one in same]
    chosen = farthest(Direct(lambda data, seed: float(data[0])), [one for one in shifts if one], Seeds(0), 0.0)
    yield Holds("of means as far apart the first", chosen.pair is same[0])
    late = lambda data, seed: float(data[0] * 0.3 + seed // 2 % 2 - (seed % 7) * 1e-3)  # noqa: E731
    pairs = [Pair(np.full(1, size), np.zeros(1), f"{size:g}") for size in (0.25, 0.5, 1.0)]
    shifts = [again(Direct(late), one, gaussian(), Seeds(3)) for one in pairs]
    # Half of what is above 0.16 of 0.66 seconds is 250 calls: two pilots of 120, and 10 calls that are too few.
    chosen = farthest(Direct(late, budget=0.66), [one for one in shifts if one], Seeds(0), 0.16)
    yield Holds("the farthest of those that were piloted", chosen.pair is pairs[1])
    # Half of what is above 0.1 of 0.4 seconds is 150 calls: one pilot, and 30 calls that are too few for another.
    told = sampled(Direct(late, budget=0.4), pairs, 0.0, ALPHA, Seeds(0), until=0.1)
    yield Fact("pairs piloted, and runs on what is left", [told.pairs, told.runs], [1, 75], 0)
    broken = lambda data, seed: 1 // 0 if data[0] == 0.25 else float(data[0])  # noqa: E731
    told = sampled(Direct(broken), pairs, 0.0, ALPHA, Seeds(0), most=100)
    yield Holds("a pair that does not run is passed over", (told.pairs, told.pair) == (2, pairs[1]))
    start = Seeds(0).next
    some = lambda data, seed: 1 // 0 if data[0] and seed % 6 == start % 6 else float(seed - start)  # noqa: E731
    sides = runs_of(Direct(some), pairs[0], 1100, Seeds(0))
    # The first side has even numbers, a third of which end in an error; those that ran stand side by side.
    stated = [[k for k in range(0, 2200, 2) if k % 6], list(range(1, 2200, 2))]
    number = len(stated[0])
    yield Fact(
        "as many runs of either side", [] if sides is None else sides, [[[k] for k in one[:number]] for one in stated]
    )


OFF: dict[str, Any] = {"1e-3 off": {"facts": Times(1.001)}}

BEYOND_AUDIT_BUDGETS = Claim(
    id="ftrl/beyond-audit-budgets",
    where="beyond the paper: audits that are short of time",
    kind="privacy",
    statement=(
        "An audit that is short of time makes the calls that its shares leave, and says what it saw of them and "
        "what it would need;",
        "steps, findings and pilots are those of plain sums over the outputs.",
    ),
    setting="Mechanisms in this process, whose time is counted in calls.",
    checks=(
        Agreement(decides="a", facts=_short, impostors=OFF),
        Agreement(decides="b", facts=_parts, impostors=OFF),
    ),
)
