"""Beyond the paper: audits whose time is short, to the call, and the parts that look at outputs of two sides."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import stats

from dpbounds.audit import Box, Pair, gaussian, promise_of, shift_interval
from dpbounds.audit.events import sampled_epsilon
from simulators.audit.process import Outcome
from simulators.audit.sampled import _apart, _strange, _telling, farthest, sampled
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


def _short(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Each call takes a thousandth of a second: where an audit stops drawing, and what it says then."""
    # As shipped 2 calls, the scan 4, equal seeds 2, standing still 24, the shift again 8; a tenth of the time is kept.
    start, before = Seeds(0).next + 2 + 1 + 24 + 4, 2 + 4 + 2 + 24 + 8
    z = float(stats.norm.isf(ALPHA / 2) + stats.norm.isf(1e-3))
    for budget, calls in ((1.0, 900), (0.11, 99)):
        found, work = audited(scaled_noise([0.3], 1.0), {"mu": 1.0}, gaussian(1.0), budget=budget, domain=ONE)
        number = (calls - before) // 2
        low, high = scale_ends(rows_drawn(start, number, 1), ALPHA / 16, ALPHA / 2)
        yield Fact(f"calls of an audit of {budget:g} seconds", work.runner.calls, calls, 0)
        yield Fact("what it spends", found.epsilon, [0.3 / high, 0.3 / low], 1e-9)
        yield Holds(f"in {number} differences", found.steps[2].found.endswith(f" in {number} differences"))
        verdict = "consistent" if (high - low) / (high + low) <= 0.2 else "unclear"
        needs = f"{math.ceil((z / 0.2) ** 2 / 2)} noise coordinates and half of the pairs: {number} and 100% ran"
        told = (found.verdict, found.needs)
        yield Holds(f"its verdict: {verdict}", told == (verdict, "" if verdict == "consistent" else needs))
    # The search leaves six tenths: after two calls, four pairs of four calls each.
    many = [Pair(np.array([k / 16, 0.5]), np.array([0.0, 0.5]), f"{k}") for k in range(1, 12)]
    found, _ = audited(scaled_noise([0.3], 1.0), {"mu": 1.0}, gaussian(1.0), budget=0.05, domain=many)
    yield Fact("pairs in a short scan", [found.coverage.ran, found.coverage.planned], [4, 11], 0)

    def spread(data: np.ndarray, seed: int) -> np.ndarray:
        return 0.1 * data[0] + (1 + 4 * data[0]) * noise_drawn(seed, 8)

    found, work = audited(spread, (1.0, 1e-3), gaussian(), budget=1.0, domain=ONE)
    told = found.witness or {}
    wanted = math.ceil(4 * math.ceil((stats.norm.isf(ALPHA / 128) + stats.norm.isf(1e-3)) ** 2 / 2 / 0.2**2) / 8)
    second = (800 - (before - 8) - 2 * wanted) // 2
    yield Fact(
        "two scales, a fifth of the time kept: calls", [work.runner.calls, *told["rows"]], [800, wanted, second], 0
    )
    sums = [
        float(((k * rows_drawn(told["starts"][i], told["rows"][i], 8)) ** 2).sum()) for i, k in enumerate((5.0, 1.0))
    ]
    yield Fact("their sums", told["sums"], sums, 1e-12)
    yield from _short_means()


def _short_means() -> Iterator[Fact | Holds]:
    """Means of what draws without seeds: one pair is piloted on 120 calls, and a tenth of the time is kept."""
    for claim, verdict in ((3.0, "unclear"), (3.8, "consistent"), (0.5, "refuted")):
        given: list[np.ndarray] = []
        stream = np.random.default_rng(8)

        def run(data: np.ndarray, *, given: list[np.ndarray] = given, stream: Any = stream) -> np.ndarray:
            given.append(data[0] * np.array([0.6, 0.8]) + stream.standard_normal(2) * [1.0, 2.0])
            return given[-1]

        found, work = audited(run, {"mu": claim}, gaussian(), budget=1.0, domain=ONE)
        calls = 2 + 4 + 2 + 120
        number = (900 - calls) // 2
        first, second = (np.array(given[calls + k : calls + 2 * number : 2]) for k in (0, 1))
        half = number // 2
        apart = second[:half].mean(axis=0) - first[:half].mean(axis=0)
        weights = apart / (first[:half].var(axis=0) + second[:half].var(axis=0))
        sides = [(one[half:] @ weights).tolist() for one in (first, second)]
        samples = [(statistics.fmean(one), statistics.pvariance(one) * len(one), len(one)) for one in sides]
        low, high = shift_interval(samples[0], samples[1], ALPHA / 2)
        yield Fact("calls of means", work.runner.calls, 900, 0)
        yield Holds(f"means against {claim:g}: {verdict}", found.verdict == verdict)
        words = f"{number} runs a side: mu along one direction in [{low:.4g}, {high:.4g}]"
        yield Holds(words, words in [step.found for step in found.steps])
        ends = 1 if verdict == "refuted" else 2  # of a refutation the lower end is what counts
        yield Fact("what they spend", found.epsilon[:ends], [low, high][:ends], 1e-9)
        needs = "more runs: no seeds cancel the noise here"
        yield Holds("what they need", found.needs == (needs if verdict == "unclear" else ""))


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
    late = lambda data, seed: float(data[0] * 3 + seed % 2 - (seed % 7) * 1e-3)  # noqa: E731
    pairs = [Pair(np.full(1, size), np.zeros(1), f"{size:g}") for size in (0.25, 0.5, 1.0)]
    shifts = [again(Direct(late), one, gaussian(), Seeds(3)) for one in pairs]
    # Half of what is above 0.2 of 0.6 seconds is 200 calls: one pilot of 120 and one of 80.
    chosen = farthest(Direct(late, budget=0.6), [one for one in shifts if one], Seeds(0), 0.2)
    yield Holds("the farthest of those that were piloted", chosen.pair is pairs[1])
    # Half of what is above 0.1 of 0.4 seconds is 150 calls: one pilot, and 30 calls that are too few for another.
    told = sampled(Direct(late, budget=0.4), pairs, 0.0, ALPHA, Seeds(0), until=0.1)
    yield Fact("pairs piloted, and runs on what is left", [told.pairs, told.runs], [1, 75], 0)


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
