"""Beyond the paper: looks of audits at outputs that are given, and witnesses measured again, by plain sums."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import stats

from dpbounds.audit import Pair, gaussian, laplace, promise_of
from simulators.audit.looks import as_shipped, fixed, forms, repeats, still
from simulators.audit.process import Outcome
from simulators.audit.reruns import _MEASURED, _Scene
from simulators.audit.routes import along, apart_from_noise, direction
from simulators.audit.shifts import Scan, Shift, scan
from simulators.audit.work import Question, Work
from verify.checks import Agreement, Fact, Holds, Times
from verify.papers.ftrl.tools.audited import PAIR, audited, noise_drawn, outcomes, scaled_noise, shift_by
from verify.papers.ftrl.tools.direct import Direct
from verify.statements.claims import Claim

# --- means ---


def _means(rng: np.random.Generator) -> Iterator[Fact]:
    """Directions, samples along them, and how far outputs move in what seeds move them."""
    own = np.random.default_rng(13)
    sides = 2 * own.standard_normal((7, 3)), own.standard_normal((10, 3)) * [1.0, 3.0, 0.5] + [1.0, -2.0, 0.25]
    halves = [[side[: len(side) // 2, k].tolist() for k in range(3)] for side in sides]
    expected = [
        (statistics.fmean(b) - statistics.fmean(a)) / (statistics.pvariance(a) + statistics.pvariance(b))
        for a, b in zip(*halves, strict=True)
    ]
    yield Fact("direction", direction(sides), expected)
    weights = np.array([0.5, -1.5, 2.0])
    for side, found in zip(sides, along(sides, weights), strict=True):
        later = [math.fsum(w * x for w, x in zip(weights, row, strict=True)) for row in side[len(side) // 2 :].tolist()]
        plain = [statistics.fmean(later), statistics.pvariance(later) * len(later), len(later)]
        yield Fact(f"mean, squares and number of {len(side)} runs", found, plain)
    left, right = (
        own.standard_normal((3, 4)) + 3.0,
        own.standard_normal((2, 4)) * [1.0, 0.2, 3.0, 1.0] + [4.0, 2.5, 1.0, 3.5],
    )
    columns = [([*a], [*b]) for a, b in zip(left.T.tolist(), right.T.tolist(), strict=True)]
    moved = [abs(statistics.fmean(b) - statistics.fmean(a)) for a, b in columns]
    noise = [statistics.pstdev(a) + statistics.pstdev(b) for a, b in columns]
    ratio = max(m / (s + 1e-12 + 0.1 * statistics.median(noise)) for m, s in zip(moved, noise, strict=True))
    both = Shift(PAIR, outcomes(left.tolist()), outcomes(right.tolist()), [])
    yield Fact("a shift in what seeds move", apart_from_noise(both), ratio)
    still_one = Shift(PAIR, outcomes([[2.0]] * 2), outcomes([[5.0]] * 2), [])
    yield Fact("without noise", apart_from_noise(still_one), 3e12)


# --- first looks, and the same again ---


def _work(run: Any, budget: float = 1e3, claim: Any = None, adjacency: Any = "zero-out") -> Work:
    asked = Question(promise_of(claim or {"mu": 1.0}), gaussian(), adjacency, [PAIR], 0, 1e-3, 0.2)
    return Work(Direct(run, budget=budget), asked)


def _first(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Runs as shipped, repeated noise, outputs that stand still: calls, numbers and words."""
    count, later = itertools.count(), itertools.count()
    cases = (
        ("all equal", lambda data, seed: 5.0, 1e3, (True, 6, "six equal runs")),
        ("the first two differ", lambda data, seed: float(next(count)), 1e3, (False, 2, "runs differ")),
        (
            "the last differs",
            lambda data, seed: float(next(later) > 4),
            1e3,
            (False, 6, "runs differ"),
        ),
        (
            "an error",
            lambda data, seed: 1 // 0,
            1e3,
            (False, 2, "not tried without a seed (raised: ZeroDivisionError: integer division or modulo by zero)"),
        ),
        ("no time", lambda data, seed: 5.0, 0.0, (False, 0, "not tried without a seed (no time)")),
    )
    for label, run, budget, expected in cases:
        work = _work(run, budget)
        yield Holds(f"as shipped, {label}", (as_shipped(work), work.runner.calls, work.steps[0].found) == expected)
    outputs = lambda data, seed: np.array([2.0, -3.0]) * data[0] + [0.5, -9.0]  # noqa: E731
    work = _work(outputs)
    found = fixed(work, Scan([shift_by([2.0, -3.0])], 1))
    told = (found.witness or {}) if found else {}
    yield Fact(
        "repeated noise: moved, size, noise",
        [told["moved"], told["size"], told["noise"], told["rounding"]],
        [3.0, 12.0, 0.0, 1e-9],
        0,
    )
    shapes = lambda data, seed: np.ones(2 + int(data[0]))  # noqa: E731
    yield Holds("none where shapes differ", fixed(_work(shapes), Scan([shift_by([2.0])], 1)) is None)
    turns = itertools.count()
    other = fixed(_work(lambda data, seed: float(next(turns))), Scan([shift_by([1.0])], 1))
    yield Holds(
        "none where runs differ, or nothing moves",
        other is None and fixed(_work(lambda data, seed: 5.0), Scan([shift_by([1.0])], 1)) is None,
    )

    def quiet(data: np.ndarray, seed: int) -> np.ndarray:
        return np.append(np.random.default_rng(seed).standard_normal(2), [4.0, -data[0] - 6.0])

    work = _work(quiet)
    pairs = [Pair(np.array([size, 0.5]), np.array([0.0, 0.5]), f"{size:g}", 0) for size in (0.25, 1.0, 0.5)]
    seen = scan(work.runner, pairs, gaussian(), work.seeds)
    start, before = work.seeds.next, work.runner.calls
    found = still(work, seen)
    told = (found.witness or {}) if found else {}
    yield Fact(
        "an output that stands still: moved, size, place, weight, start, rows, seed",
        [told["moved"], told["size"], *told["places"], *told["weights"], told["start"], told["rows"], told["seed"]],
        [1.0, 7.0, 3, 1, start, 12, seen.shifts[1].seeds[0]],
        0,
    )
    yield Holds(
        "its words", work.steps[-1].found == "output 3 has no noise: 4 values over the pairs, each always the same"
    )
    yield Holds(
        "what is assumed", work.assumed == ["an output that did not change in 24 runs of one data set has no noise"]
    )
    yield Fact("its calls", work.runner.calls - before, 24, 0)
    few = scan(work.runner, pairs[:1], gaussian(), work.seeds)
    yield Holds("two values may be ends of what is clipped", still(work, few) is None)


def _forms(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Errors of one side, counted on either; equal seeds."""
    error = "raised: ZeroDivisionError: integer division or modulo by zero"
    low_claim, high_claim, mu = (0.5, 1e-3), (9.0, 1e-3), {"mu": 1.0}
    # 300 calls end in the first form.
    for on, claim, budget, runs in (
        (1.0, low_claim, 1e3, 512),
        (0.0, low_claim, 1e3, 512),
        (1.0, high_claim, 0.3, 150),
        (1.0, mu, 1e3, 0),
    ):
        work = _work(lambda data, seed, on=on: 1 // 0 if data[0] == on and seed % 4 == 0 else 2.0, budget, claim)
        raised, ran = [Outcome("raised", words=error.removeprefix("raised: "))], outcomes([[2.0]])
        telling = Shift(PAIR, raised, ran, [0]) if on else Shift(PAIR, ran, raised, [0])
        start = work.seeds.next + (0 if on else 512)
        found = forms(work, Scan([shift_by([1.0]), telling, telling], 3))
        hits = sum((start + k) % 4 == 0 for k in range(runs))
        low, high = float(stats.beta.ppf(1e-3 / 32, hits, runs + 1 - hits)), float(stats.beta.isf(1e-3 / 32, 1, runs))
        spent = math.log((low - 1e-3) / high) if runs else 0.0
        told = {} if found is None or found.witness is None else found.witness
        label = f"an error of the {'first' if on else 'second'} side against {claim}"
        yield Holds(label, (found is not None) == (claim == low_claim))
        yield Holds("is a finding", work.findings[0].startswith("2 pairs are told apart without a number: "))
        if found is not None:
            yield Fact("its hits and trials", [*told["hits"], *told["trials"]], [hits, 0, runs, runs], 0)
            yield Fact("its alpha and epsilon", [told["alpha"], found.epsilon[0]], [1e-3 / 16, spent], 1e-9)
            yield Holds("its side", (told["first"], told["event"]["form"][:6]) == (on == 1.0, "raised"))
            yield Fact("its start", told["start"], start, 0)
        if work.promise.epsilon is not None:
            words = f"one side alone in {hits} of {runs} runs: epsilon at least {spent:.4g}"
            yield Holds(words, work.steps[0].found == words and len(work.steps) == 1 + (found is not None))
    for adjacency, status, seen in (
        ("zero-out", "raised", True),
        ("add-remove", "raised", False),
        ("zero-out", "slow", False),
        ("zero-out", "died", False),
    ):
        work = _work(lambda data, seed: 1 // 0 if data[0] else 2.0, claim=low_claim, adjacency=adjacency)
        scanned = Scan([Shift(PAIR, [Outcome(status, words="b")], outcomes([[2.0]]), [0])], 1)  # pyright: ignore
        yield Holds(f"{adjacency}, {status}, where no pair ran", bool(forms(work, scanned) or work.findings) == seen)
    count = itertools.count()
    for label, run, same in (
        ("of its own", lambda data, seed: float(seed), True),
        ("that differ", lambda data, seed: float(next(count)), False),
        ("that end", lambda data, seed: 1 // 0, False),
    ):
        work = _work(run)
        start = work.seeds.next
        found = repeats(work, Scan([shift_by([1.0])], 1))
        yield Holds(f"runs under one seed {label}", (found, len(work.steps)) == (same, int(not same)))
        yield Fact("their seeds and calls", [work.seeds.next - start, work.runner.calls], [1, 2], 0)


def _again(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Numbers of witnesses measured again, from outputs that are known."""

    def measured(kind: str, run: Any, law: Any = None, **content: Any) -> dict[str, Any]:
        return _MEASURED[kind](_Scene(Direct(run), PAIR, law or gaussian(), promise_of((1.0, 1e-3)), content))

    def run(data: np.ndarray, seed: int) -> np.ndarray:
        return np.array([2.0, -0.5, 0.0]) * data[0] + [seed % 3, 1.5, -4.0 + seed % 5]

    told = measured("singular", run, seed=60, start=90, rows=4, places=[1, 2], weights=[2.0, -0.5])
    noise = max(0.5 * abs((90 + 2 * k) % 5 - (91 + 2 * k) % 5) for k in range(4))
    yield Fact(
        "noise, shift and size of a combination",
        [told["noise"], told["moved"], told["size"]],
        [noise, 1.0, 2 * 1.5 + 0.5 * 4.0],
    )
    wide = lambda data, seed: run(data, seed) * (seed - 58)  # noqa: E731
    told = measured("singular", wide, seed=60, start=90, rows=1, places=[0], weights=[1.0])
    yield Fact("the least shift of four seeds, the largest size", [told["moved"], told["size"]], [4.0, 16.0])
    for late, noise in ((6, 0.25), (7, 0.5)):
        drift = itertools.count()

        def shipped(data: np.ndarray, seed: int | None, drift: Any = drift, late: int = late) -> np.ndarray:
            return np.array([3.0, -4.0]) * data[0] + [-9.0, 1.0] + [0.0, (next(drift) == late) * (late - 5) / 4]

        told = measured("singular", shipped, as_shipped=True)
        numbers = [told["noise"], told["moved"], told["size"]]
        yield Fact(f"as shipped, run {late} moved: noise, shift, size", numbers, [noise, 4.0, 6.0])
        yield Fact("of eight runs", next(drift), 8, 0)
    listed = {"kind": "values", "values": [[k, k, -4.0] for k in range(3)]}
    answer = lambda data, seed: np.array([seed % 3, seed % 3, -4.0 + 9 * data[0]])  # noqa: E731
    for event, hits in (({"kind": "form", "form": "shape (3,)"}, (512, 512)), (listed, (40, 0))):
        told = measured("event", answer, event=event, first=False, start=60, runs=80)
        yield Fact(f"hits of {event['kind']} on the second side", told["hits"], hits, 0)
    law = laplace([1.0, 2.0, 4.0])
    told = measured("scale", run, law, seed=60, start=90, rows=4)
    rows = [np.abs(run(PAIR.first, 90 + 2 * k) - run(PAIR.first, 91 + 2 * k)) / [1, 2, 4] for k in range(4)]
    yield Fact("the scale", [told["sum"], told["number"], *told["shift"]], [float(np.sum(rows)), 12, 2.0, 0.25])
    yield Fact("the law as declared", measured("declared", run, law, seed=60)["shift"], [2.0, 0.25])
    told = measured(
        "scales",
        lambda data, seed: (1 + data[0]) * np.array([seed % 7, seed % 11]),
        gaussian(scale=2.0),
        starts=[30, 50],
        rows=[3, 5],
    )
    sums = [
        sum(
            ((one % 7 - (one + 1) % 7) * size) ** 2 + ((one % 11 - (one + 1) % 11) * size) ** 2
            for one in range(start, start + 2 * number, 2)
        )
        / 4
        for start, number, size in ((30, 3, 2.0), (50, 5, 1.0))
    ]
    yield Fact("two scales", [*told["sums"], *told["numbers"], told["outputs"]], [*sums, 6, 10, 2])
    plain = lambda data, seed: data[0] * 2.0 + (seed % 13) * np.ones(2)  # noqa: E731
    told = measured("means", plain, weights=[0.5, 0.25], start=40, runs=80)
    for side, moved in (("first", 2.0), ("second", 0.0)):
        later = [0.75 * (moved + one % 13) for one in range(40 + 80 + (side == "second"), 200, 2)]
        yield Fact(
            f"means, the {side} side", told[side], [statistics.fmean(later), statistics.pvariance(later) * 40, 40]
        )


# --- by the law ---


def _decisions(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """As many differences as directions of the outputs need; verdicts only where half of the pairs ran."""
    for outputs in (64, 65):
        found, _ = audited(scaled_noise(np.full(outputs, 0.01), 1.0), {"mu": 1.0}, gaussian())
        z = float(stats.norm.isf(1e-3 / 2) + stats.norm.isf(1e-3))
        rows = outputs + 8 if outputs == 64 else math.ceil(math.ceil(z**2 / 2 / 0.2**2) / outputs)
        words = f"in {outputs * max(rows, 6)} differences"
        yield Holds(f"{found.steps[2].found} of {outputs} outputs", found.steps[2].found.endswith(words))

    def some(data: np.ndarray, seed: int) -> np.ndarray:
        if data[1] == 9:
            raise ArithmeticError
        return 0.01 * data[0] + noise_drawn(seed, 80)

    for good in (1, 2, 4):
        pairs = [Pair(np.array([1.0, tag]), np.array([0.0, tag]), "") for tag in ([2.0] * good + [9.0] * (4 - good))]
        found, _ = audited(some, {"mu": 1.0}, gaussian(), domain=pairs)
        words = f"{good / 4:.0%} ran" if good < 2 else ""
        told = (found.verdict, found.needs.endswith(words))
        yield Holds(f"{good} of 4 pairs: {found.verdict}", told == ("consistent" if good > 1 else "unclear", True))


OFF: dict[str, Any] = {"1e-3 off": {"facts": Times(1.001)}}

BEYOND_AUDIT_LOOK_PARTS = Claim(
    id="ftrl/beyond-audit-look-parts",
    where="beyond the paper: looks of audits at outputs that are given",
    kind="privacy",
    statement=(
        "Directions, and means and sums of squares along them, are those of plain sums;",
        "first looks tell runs that repeat, errors of one side and outputs that stand still;",
        "a witness's numbers are measured again from the seeds it names;",
        "by the law as many differences are drawn as the outputs need, and nothing follows where fewer than half of "
        "the pairs ran.",
    ),
    setting="Mechanisms in this process whose outputs are known.",
    checks=(
        Agreement(decides="a", facts=_means, impostors=OFF),
        Agreement(decides="b", facts=lambda rng: itertools.chain(_first(rng), _forms(rng)), impostors=OFF),
        Agreement(decides="c", facts=_again, impostors=OFF),
        Agreement(decides="d", facts=_decisions),
    ),
)
