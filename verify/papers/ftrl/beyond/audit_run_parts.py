"""Beyond the paper: parts of audits that run mechanisms, each by its definition on outputs that are given."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
from scipy import stats

from dpbounds.audit import Box, Pair, gaussian, laplace, promise_of
from dpbounds.audit.laws import law_of
from dpbounds.audit.noise import dependence, homogeneity, shape
from simulators.audit.domains import neighbours
from simulators.audit.lawful import (
    Drawn,
    _curve,
    _differs,
    _groups,
    _slack,
    drawn,
    early,
    lawful,
    needed,
    short,
    singular,
    sum_of,
)
from simulators.audit.process import Outcome
from simulators.audit.shifts import Scan, Seeds, Shift, again, climb, scan, shift_of
from simulators.engine import seed_sequence
from verify.checks import Agreement, Fact, Holds, Times, Within
from verify.papers.ftrl.tools.audited import PAIR, outcomes, shift_by
from verify.papers.ftrl.tools.direct import Direct
from verify.statements.claims import Claim

# --- shifts ---


def _differences(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """What outcomes of a pair say: shift, size in the law, whether it adds, ties, and what counts as rounding."""
    first, second = [[1.0, 5.0, -8.0], [2.0, 7.0, -4.0]], [[1.5, 3.0, -8.0], [2.5, 5.0, -4.0]]
    laws = ((gaussian(scale=[0.5, 4.0, 3.0]), math.hypot(1.0, 0.5)), (laplace([0.5, 4.0, 3.0]), 1.5))
    for (law, size), kind in itertools.product(laws, ("float64", "float32")):
        found = shift_of(PAIR, outcomes(first, kind), outcomes(second, kind), [3, 4], law)
        yield Fact(f"{law.family}, {kind}: shift", found.difference, [0.5, -2.0, 0.0], 1e-14)
        yield Fact("its size", found.size, size, 1e-14)
        yield Holds("it adds, without ties", found.additive and not found.tied and found.seeds == [3, 4])
    # The largest number is 8: 8e-9 is rounding of double precision, 8e-5 of single; twice that between differences.
    for kind, unit in (("float64", 8e-9), ("float32", 8e-5)):
        for turned, share in itertools.product((False, True), (0.9, 1.1)):
            moved = [[1.0 + share * unit, 3.0, -7.0], [2.0 + share * unit, 5.0, -3.0]]
            sides = outcomes(first, kind), outcomes(moved, kind)
            left, right = sides[::-1] if turned else sides
            found = shift_of(PAIR, left, right, [3, 4], gaussian())
            by = -1.0 if turned else 1.0
            expected = by * np.array([0.0 if share < 1 else share * unit, -2.0, 1.0])
            label = f"{kind}, {share:g} roundings, turned {turned}"
            yield Fact(f"{label}: shift", found.difference, expected, 1e-15)
            uneven = [[1.5, 3.0, -7.0], [2.5 + 2 * share * unit, 5.0, -3.0]]
            found = shift_of(PAIR, outcomes(first, kind), outcomes(uneven, kind), [3, 4], gaussian())
            yield Holds(f"{label}: adds to two roundings", found.additive == (share < 1))
            yield Fact(f"{label}: the mean of seeds", found.size, math.hypot(0.5 + share * unit, 2.0, 1.0), 1e-12)
    for label, sides, tied in (
        ("a tie of the first", ([[1.0, 5.0], [2.0, 5.0]], [[1.5, 5.0], [2.5, 6.0]]), True),
        ("a tie of the second", ([[1.0, 5.0], [2.0, 6.0]], [[1.5, 5.0], [2.5, 5.0]]), True),
        ("one run shows no tie", ([[1.0, 5.0]], [[1.5, 5.0]]), False),
    ):
        found = shift_of(PAIR, outcomes(sides[0]), outcomes(sides[1]), [0, 1], gaussian())
        yield Holds(label, found.tied == tied)
    for label, other in (
        ("shapes that differ", outcomes([[1.0, 2.0], [3.0, 4.0]])),
        ("an error", [Outcome("raised", words="b"), *outcomes([[1.0, 2.0, 3.0]])]),
    ):
        found = shift_of(PAIR, outcomes(first), other, [0, 1], gaussian())
        yield Holds(f"{label}: no shift", (found.ran, found.size, found.additive) == (False, 0.0, False))
    for first_forms, second_forms, told in (
        ([[1.0, 2.0]] * 2, [[1.0]] * 2, ("shape (2,)", "shape (1,)")),
        ([[1.0, 2.0]] * 2, [[3.0, 4.0]] * 2, None),
        ([[1.0], [1.0, 2.0]], [[1.0]] * 2, None),
        ([[1.0]] * 2, [[1.0], [1.0, 2.0]], None),
        ([[1.0], [1.0, 2.0]], [[1.0, 2.0], [1.0]], None),
        ([[math.inf]] * 2, [[1.0]] * 2, ("shape (1,), not finite", "shape (1,)")),
    ):
        both = Shift(PAIR, outcomes(first_forms), outcomes(second_forms), [])
        yield Holds(f"forms of {first_forms} and {second_forms}", both.form == told)
    shifts = [shift_by([size], additive=adds, tied=tied) for size, adds, tied in _KINDS]
    whole = Scan([*shifts, Shift(PAIR, [], [], [])], 7, narrow=True)
    yield Fact("of a scan: ran, additive, largest", [whole.ran, len(whole.additive), whole.top.size], [4, 2, 0.75], 0)
    yield Fact("largest where none adds", Scan(shifts[2:], 2).top.size, 3.0, 0)
    yield Fact("rounding", [whole.rounding, Scan([], 1).rounding], [1e-5, 1e-9], 0)


_KINDS = ((0.5, True, False), (0.75, True, False), (3.0, True, True), (2.0, False, False))


def _searches(rng: np.random.Generator) -> Iterator[Fact | Holds | Within]:
    """Scans and ascents: which calls are made, and where they end."""
    slopes = np.array([0.5, -2.0, 0.25])
    asked: list[tuple[float, int]] = []

    def run(data: np.ndarray, seed: int) -> np.ndarray:
        asked.append((float(np.sum(data)), seed))
        return float(slopes @ data.sum(axis=0)) + np.random.default_rng(seed).standard_normal(2)

    start = Seeds(0).next
    pairs = [Pair(np.full((1, 3), k / 4), np.zeros((1, 3)), f"{k}", 0) for k in range(11)]
    found = scan(Direct(run), pairs, gaussian(), Seeds(0))
    yield Fact("sizes of a scan", [one.size for one in found.shifts], [1.25 * k / 4 * 2**0.5 for k in range(11)], 1e-9)
    seeds = [start + k for k in (0, 1, 2, 3)]
    expected = [
        (3 * k / 4 * side, seed) for k in range(11) for side in (1, 0) for seed in (seeds[:2] if k < 8 else seeds[2:])
    ]
    yield Fact("its calls", asked, expected, 1e-12)
    yield Holds("its seeds", [one.seeds for one in found.shifts] == [seeds[:2]] * 8 + [seeds[2:]] * 3)
    yield Holds("its shape and precision", (found.shape, found.narrow, found.planned) == ((2,), False, 11))
    # Twelve calls of a pair under three seeds: 0.05 seconds are 50 calls, of which 2 are kept.
    short_one = scan(Direct(run, budget=0.05), pairs, gaussian(), Seeds(0), repeats=3, until=2e-3)
    yield Fact("pairs in 48 calls", [len(short_one.shifts), short_one.planned], [8, 11], 0)
    state = int(seed_sequence(["audit"], seed=5).generate_state(4)[0])
    seeds_of = Seeds(5)
    yield Fact(
        "the first seed, below 2^30",
        [seeds_of.next, *seeds_of.take(3)[1:], seeds_of.next],
        [state // 4 + k for k in (0, 1, 2, 3)],
        0,
    )
    enough = [again(Direct(run, budget=budget), pairs[1], gaussian(), Seeds(0), 3) for budget in (5.5e-3, 4.5e-3)]
    yield Holds("six calls are enough, five are not", [one is not None for one in enough] == [True, False])
    examples = neighbours([np.arange(9.0)[:, None] + 1], "zero-out", np.random.default_rng(0))
    yield Fact("six records of an example at three places", len(examples), 18, 0)
    box = Box(shape=(1, 3), low=np.array([-1.0, -3.0, 0.0]), high=np.array([2.0, 1.0, 5.0]))
    # The last coordinate moves the size by 2e-3 of it, or by 2e-5, which is too little.
    for calls, share, record in (
        (400, 4e-3, [2.0, -3.0, 5.0]),
        (400, 4e-5, [2.0, -3.0, 0.5]),
        (20, 4e-3, None),
        (0, 4e-3, [0.5, 0.5, 0.5]),
    ):
        slopes[2] = share
        runner = Direct(run)
        begin = scan(runner, [Pair(np.full((1, 3), 0.5), np.zeros((1, 3)), "", 0)], gaussian(), Seeds(0)).top
        best = climb(runner, begin, box, gaussian(), Seeds(5), np.random.default_rng(2), calls=calls, until=0.0)
        yield Fact(f"calls of an ascent, at most {calls}", min(runner.calls - 4, 20), min(calls, 20), 0)
        yield Within("and in all, four for each of six ends and four turns", runner.calls - 4, 0, min(calls, 96))
        yield Fact("its size", best.size, math.sqrt(2) * abs(float(slopes @ best.pair.first[0])), 1e-9)
        yield Holds("its seeds", len(best.seeds) == 2)
        if record is not None:
            yield Fact("its record", best.pair.first[0], record, 0)


# --- noise and its law ---


def _noise(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Differences that are drawn, what decides of a shift, and what the law makes of both."""
    seen: list[int] = []

    def run(data: np.ndarray, seed: int) -> np.ndarray:
        seen.append(seed)
        return np.array([seed**2 % 97, seed % 7, 3.0 * seed]) if seed % 10 < 8 else np.ones(3)

    for least, coordinates, number in ((2, 0, 2), (4, 9, 4), (2, 25, 9)):
        seen.clear()
        found = drawn(Direct(run), PAIR.first, coordinates, Seeds.at(60), least=least)
        expected = [run(PAIR.first, 60 + 2 * k) - run(PAIR.first, 61 + 2 * k) for k in range(number)]
        yield Fact(f"differences, least {least}, coordinates {coordinates}", found.rows, expected, 0)
        yield Holds("their seeds", seen[: 2 * number] == [*range(60, 60 + 2 * number)] and found.start == 60)
        yield Holds("are enough", found.enough)
    with mock.patch("simulators.audit.lawful._MOST_CALLS", 40):
        most = drawn(Direct(run), PAIR.first, 1000, Seeds.at(60))
    yield Fact("differences in forty calls, if there are no more", [*most.rows.shape, most.enough], [20, 3, 0], 0)
    for budget, number in ((6.5e-3, 3), (0.0, 0)):
        few = drawn(Direct(run, budget=budget), PAIR.first, 60, Seeds.at(60))
        plain = [run(PAIR.first, 60 + 2 * k) - run(PAIR.first, 61 + 2 * k) for k in range(number)]
        yield Fact(f"{number} differences in {budget:g} seconds", few.rows, np.array(plain).reshape(few.rows.shape), 0)
        yield Holds(f"{number} differences are not", (len(few.rows), few.enough) == (number, False))
    erring = lambda data, seed: 1 // 0 if seed == 62 else np.array([seed**2, 5.0])  # noqa: E731
    broken = drawn(Direct(erring), PAIR.first, 0, Seeds.at(60), least=3)
    # What ran stands in pairs as it came, one without another left out.
    yield Fact("where a run fails", broken.rows, [[60**2 - 61**2, 0.0], [63**2 - 64**2, 0.0]], 0)
    single = drawn(Direct(lambda data, seed: float(seed**2)), PAIR.first, 5, Seeds.at(60))
    yield Fact("of one output", single.rows[:, 0], [-121.0 - 4 * k for k in range(5)], 0)
    more, none = Drawn(np.full((1, 3), 7.0), 66, False), Drawn(np.zeros((0, 0)), 70, True)
    joined = [found.joined(more), more.joined(none), none.joined(none)]
    yield Fact("joined", joined[0].rows, [*found.rows.tolist(), [7.0] * 3], 0)
    marks = [(one.start, one.enough, len(one.rows)) for one in joined]
    yield Holds("their seeds and time", marks == [(60, False, 10), (66, True, 1), (70, True, 0)])
    yield Fact("groups", _groups(19), [3, 3, 3, 2, 2, 2, 2, 2], 0)
    yield Fact("of few outputs", [_groups(1), _groups(0)], np.zeros((2, 0)), 0)
    yield Fact("of two and three", [*_groups(2), *_groups(3)], [1] * 5, 0)
    for family, factor in (("gaussian", 0.5), ("laplace", 7 / 9), ("discrete", 0.5)):
        z = stats.norm.isf(0.015) + stats.norm.isf(1e-3)
        yield Fact(f"coordinates, {family}", needed(law_of(family), 0.07, 0.03), math.ceil((z / 0.07) ** 2 * factor), 0)
    yield from _decisive()
    yield from _departures()
    yield from _cancelled()


def _decisive() -> Iterator[Fact | Holds]:
    """Slack, curve and shortened shifts; the verdict of the law on noise that is given."""
    moved = np.array([0.3, 0.0, -0.4, 1.2])
    pure, pair, rho = promise_of(2.6), promise_of((0.8, 1e-3)), promise_of({"rho": 0.72})
    yield Fact("short: Gaussian", short(moved, "gaussian", pair), [1.3])
    yield Fact("Laplace", short(moved, "laplace", pure), [1.9])
    yield Fact("with delta", short(moved, "laplace", pair), [0.3, 0.4, 1.2])
    yield Fact("sums", [sum_of(moved, "gaussian"), sum_of(moved, "laplace")], [1.69, 1.9])
    yield Fact("slack: Gaussian", _slack("gaussian", moved, 1.5, rho), 1.2 * 1.5 / 1.3)
    yield Fact("Laplace", _slack("laplace", moved, 1.5, pure), 2.6 * 1.5 / 1.9)
    nothing = [
        _slack("laplace", moved, 1.5, pair),
        _slack("gaussian", moved, 1.5, pure),
        _slack("laplace", 0 * moved, 1.5, pure),
    ]
    yield Holds("none where the law keeps nothing, or nothing moves", nothing == [None] * 3)
    curve, other = _curve("gaussian", moved, 0.5, 0.8), _curve("laplace", moved, 0.5, 0.8)
    assert curve is not None and other is not None
    yield Fact("curve: Gaussian", [curve.low, curve.high], [1.3 / 0.8, 1.3 / 0.5])
    yield Fact("Laplace", [other.low, other.high, *other.ratios], [1.25, 2.0, 0.3, 0.4, 1.2])
    numbers = [
        0 if one is None else len(one.ratios) for one in (_curve("laplace", np.ones(k), 0.5, 0.8) for k in (64, 65))
    ]
    yield Fact(
        "of 64 outputs at most", [*numbers, int(_curve("laplace", 0 * moved, 0.5, 0.8) is not None)], [64, 0, 0], 0
    )
    own, alpha = np.random.default_rng(11), 1e-3
    rows = math.sqrt(2) * own.standard_normal((9, 4)) * [1.0, 2.0, 3.0, 4.0]
    law = gaussian(scale=[1.0, 2.0, 3.0, 4.0])
    squares, top = float(((rows / [1, 2, 3, 4]) ** 2).sum()), shift_by([0.3, 0.0, -1.2, 4.8])
    ends = [
        math.sqrt(squares / 2 / stats.chi2.isf(alpha / 16, 36)),
        math.sqrt(squares / 2 / stats.chi2.ppf(alpha / 2, 36)),
    ]
    size = math.hypot(0.3, 0.4, 1.2)
    for level, kind in ((0.9 * size / ends[1], "scale"), (0.99 * size, "declared"), (1.01 * size, "")):
        found = lawful(rows, top, Scan([top], 1), law, promise_of({"mu": level}), alpha)
        yield Holds(f"mu {level:.3g} against the law: {kind or 'kept'}", (found.witness or ("",))[0] == kind)
        yield Fact("what is spent", found.spent, [size / ends[1], size / ends[0]], 1e-9)
        yield Fact(
            "slack and resolution",
            [found.slack or 0, found.resolution],
            [level * sum(ends) / 2 / size, (ends[1] - ends[0]) / sum(ends)],
            1e-9,
        )
        yield Holds("nothing differs", not found.differs)
        if kind == "scale":
            told = found.witness[1] if found.witness else {}
            yield Fact(
                "numbers of a witness",
                [told["sum"], told["number"], told["alpha"], *told["shift"]],
                [squares, 36, alpha / 2, size],
                1e-9,
            )
    first = math.sqrt(squares / 2 / stats.chi2.ppf(alpha / 16, 36))
    # An early look takes what is narrow for rounding, 1e-4 of a claim.
    marks = [
        early(rows, top, Scan([top], 1), law, promise_of({"mu": size / first / share}), alpha)
        for share in (1 + 2e-4, 1 + 5e-5)
    ]
    yield Holds("an early look at a sixteenth of alpha", marks == [True, False])


def _departures() -> Iterator[Holds]:
    """What is said of noise that is not as declared, each from its own share of alpha on."""
    rows = math.sqrt(2) * np.random.default_rng(14).standard_normal((6, 24))
    waves = rows.reshape(6, 8, 3).copy()
    waves[:, 1:] += 0.9 * waves[:, :-1]
    leaves = rows.copy()
    leaves[:, 16:] = leaves[:, :8] + 0.1 * leaves[:, 16:]
    plain, uniform, ends = Scan([], 1, shape=(24,)), rows.clip(-0.3, 0.3), (0.9, 1.1)
    stepped, split = Scan([], 1, shape=(8, 3)), Scan([], 1, leaves=(8, 8, 8), shape=(24,))
    waves = waves.reshape(6, 24)
    for name, given, scanned, finding in (
        ("dependence", waves, stepped, dependence(waves, "gaussian", steps=8)),
        ("dependence", leaves, split, dependence(leaves, "gaussian", leaves=(8, 8, 8))),
        ("dependence", leaves, plain, dependence(leaves, "gaussian")),
        ("shape", uniform, plain, shape(uniform, "gaussian", ends)),
    ):
        words = f"{name}: {finding.words}"
        for share, seen in ((1.01, True), (0.99, False)):
            found = _differs(given, scanned, gaussian(), ends, 16 * share * finding.p_value)
            yield Holds(f"{words}, {share:g} of its share", (words in found) == seen)
    scaled = rows * np.repeat([1.0, 3.0], [9, 15])
    for of, groups in (((), (3,) * 8), ((9, 15), (9, 15)), ((24,), (3,) * 8)):
        words = f"groups: {homogeneity(scaled, 'gaussian', groups, 0.01 / 16).words}"
        yield Holds(f"{words} of {groups}", words in _differs(scaled, Scan([], 1, leaves=of), gaussian(), ends, 0.01))
    for ends, words in (
        ((0.5, 0.9), ["scale: less noise than declared, 0.5 to 0.9 of it"]),
        ((1.2, 1.5), ["scale: more noise than declared, 1.2 to 1.5 of it"]),
        ((1.0, 1.5), []),
        ((0.5, 1.0), []),
    ):
        found = _differs(rows, Scan([], 1), gaussian(1.0), ends, 1e-9)
        bare = _differs(rows, Scan([], 1), gaussian(), ends, 1e-9)
        yield Holds(f"scales in {ends}, declared or not", (found, bare) == (words, []))


def _cancelled() -> Iterator[Fact | Holds]:
    """The combination without noise that some pair moves most."""
    rows = np.random.default_rng(12).standard_normal((8, 5))
    rows[:, 1], rows[:, 4] = 0.0, 0.0
    shifts = [
        shift_by([1.0, 0.3, 0.0, 1.0, -0.2], [5.0, -3.0, 1.0, 1.0, 7.0]),
        shift_by([1.0, 0.1, 0.0, 1.0, 0.7], [5.0, -3.0, 1.0, 1.0, 6.0]),
        shift_by([1.0, 0.1, 0.0, 1.0, 9.0], additive=False),
    ]
    found = singular(rows, Scan(shifts, 3))
    assert found is not None
    words, told, pair = found
    yield Fact(
        "an output without noise: moved, size, place",
        [told["moved"], told["size"], *told["places"], *told["weights"]],
        [0.7, 6.0, 4, 1],
        1e-14,
    )
    yield Fact("its noise and rounding", [told["noise"], told["rounding"]], [0.0, 1e-9], 0)
    yield Holds(words, pair is shifts[1] and words == "an output has no noise (outputs [4]) and the data move it")
    yield Holds("none moves", singular(rows, Scan([shift_by([1.0, 0.0, 0.0, 1.0, 0.0])], 1)) is None)
    yield Holds("no rows", singular(rows[:0], Scan(shifts, 3)) is None)


OFF: dict[str, Any] = {"1e-3 off": {"facts": Times(1.001)}}

BEYOND_AUDIT_RUN_PARTS = Claim(
    id="ftrl/beyond-audit-run-parts",
    where="beyond the paper: parts of audits that run mechanisms",
    kind="privacy",
    statement=(
        "The shift of a pair, its size in the law and what counts as rounding follow from outputs under common seeds;",
        "a scan and an ascent run the pairs and seeds that they say;",
        "differences are drawn under seeds that follow one another, and what the law makes of them, of a shift and of "
        "a combination without noise is as its formulas say.",
    ),
    setting="Outputs that are given, and mechanisms in this process whose outputs are known.",
    checks=(
        Agreement(decides="a", facts=_differences, impostors=OFF),
        Agreement(decides="b", facts=_searches, impostors=OFF),
        Agreement(decides="c", facts=_noise, impostors=OFF),
    ),
)
