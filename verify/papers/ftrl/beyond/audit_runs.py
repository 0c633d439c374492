"""Beyond the paper: how an audit runs mechanisms, and what common seeds show of a shift."""

from __future__ import annotations

import itertools
import math
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpbounds.audit import Box, NoiseLaw, Pair, gaussian, laplace
from simulators.audit import Outcome, Runner, neighbours
from simulators.audit.process import PRINTED, _called, _outcome, _stuck, _takes_seed
from simulators.audit.shifts import Seeds, climb, scan, shift_of
from verify.checks import Agreement, Fact, Holds, Times, Within
from verify.papers.ftrl.tools.direct import Direct
from verify.statements.claims import Claim

# --- runs ---


def _noisy(data: np.ndarray, seed: int | None) -> np.ndarray:
    return np.array([data.sum(), 1.0 if seed is None else seed, np.random.random()])  # noqa: NPY002


def _is(outcome: Outcome, stated: list[float]) -> bool:
    return outcome.values is not None and outcome.values.tolist() == stated


def _outcomes(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """One call: what comes back, of which form, and what a mechanism cannot do to its data."""
    held = np.random.get_state()  # noqa: NPY002  the calls set it
    try:
        yield from _calls()
    finally:
        np.random.set_state(held)  # noqa: NPY002


def _calls() -> Iterator[Fact | Holds]:
    data = np.arange(4.0)

    def of(result: Any) -> Outcome:
        return _outcome(_called(lambda given, seed: result, data, 1, True))

    cases = [
        (2.5, (2.5,), (), (1,), "float64"),
        (np.array([[1, 2]], dtype="float32"), (1, 2), (1, 2), (2,), "float32"),
        ([np.ones(2), np.full((1, 3), 2.0)], (1, 1, 2, 2, 2), ((2,), (1, 3)), (2, 3), "float64"),
        ({"a": np.ones(1), "b": np.array([4.0], dtype="float16")}, (1, 4), ((1,), (1,)), (1, 1), "float16"),
        ([1, 2, 3], (1, 2, 3), (3,), (3,), "int64"),
        ([True], (1,), (1,), (1,), "bool"),
        ([np.array([5], dtype="int32")], (5,), (1,), (1,), "int32"),
        (np.asfortranarray([[1.0, 2.0], [3.0, 4.0]]), (1, 2, 3, 4), (2, 2), (4,), "float64"),
    ]
    for result, values, shape, leaves, dtype in cases:
        found = of(result)
        same = found.values is not None and tuple(found.values.tolist()) == values
        yield Holds(
            f"an output of shape {shape}, {dtype}",
            same and (found.shape, found.leaves, found.dtype) == (shape, leaves, dtype) and found.ran,
        )
        yield Holds("its form", found.form == f"shape {shape}")
    strange = of([1.0, math.inf])
    yield Holds("numbers that are not finite", not strange.ran and strange.form == "shape (2,), not finite")
    for result, words in (
        ("text", "TypeError: it returns str, not numbers"),
        (1j, "TypeError: it returns complex, not numbers"),
        (np.zeros((2, 10_000_001), dtype=bool), "ValueError: it returns more than 20000000 numbers"),
    ):
        yield Holds(words, of(result).form == f"raised: {words}")
    limit = of(np.broadcast_to(np.zeros(1, dtype=bool), (20_000_001,)))
    yield Holds("one number too many", limit.status == "raised")

    def angry(given: np.ndarray, seed: int) -> None:
        given[:] = 9.0
        raise SystemExit(" a \n " + "b" * 400)

    found = _outcome(_called(angry, data, 1, True))
    yield Holds("an error in few words", found.words == "SystemExit: a " + "b" * 298 and not data[0])

    def silent(given: dict[str, np.ndarray], seed: int) -> None:
        given["a"][:] = 9.0
        raise ValueError

    yield Holds(
        "one without words",
        _outcome(_called(silent, {"a": data}, 1, True)).form == "raised: ValueError" and not data[0],
    )
    seeded = [_outcome(_called(_noisy, data, seed, True)).values for seed in (3, 3, 4, None, None, 2**32 + 3)]
    same = [bool(np.array_equal(seeded[0], one)) for one in seeded]  # pyright: ignore[reportArgumentType]
    last = [float(one[2]) for one in seeded if one is not None]
    yield Holds(
        "global random numbers follow the seed",
        same[:5] == [True, True, False, False, False] and last[5] == last[0] and last[3] != last[4],
    )
    for seed in (67, 2**31 + 5, 2**32 + 67):
        told = _outcome(_called(lambda given: [random.random(), np.random.random()], data, seed, False))  # noqa: NPY002
        stated = [random.Random(seed % 2**32).random(), np.random.RandomState(seed % 2**32).random()]
        yield Holds(f"both global states are those of seed {seed}, less what 32 bits do not hold", _is(told, stated))
    takes = [
        _takes_seed(one)
        for one in (lambda data: 1, lambda data, seed: 1, lambda *data: 1, lambda data, *, seed=1: 1, _noisy, max)
    ]
    yield Holds("a second argument is seen", takes == [False, True, True, False, True, True])
    for answered, number, longest in ((3.0, 2, 30.08), (0.4, 0, 8.08), (0.4, 1, 8.08), (0.0, 0, 0.08)):
        waits = [_stuck(share * longest, answered, number) for share in (0.99, 1.01)]
        yield Holds(f"a wait of {longest:g} s after {number} answers in {answered:g} s", waits == [False, True])
    alone = _outcome(_called(lambda given: given.sum(), data, 1, False)).values
    yield Fact("without one none is given", np.array(alone), [6.0], 0)


def _processes(rng: np.random.Generator) -> Iterator[Fact | Holds | Within]:
    """A mechanism in its process: order, deaths, hanging, printing, limits."""

    def mixed(data: np.ndarray, seed: int) -> Any:
        print("said", seed, flush=True)
        if data[0] == 1 and seed > 1:
            os.kill(os.getpid(), signal.SIGTERM)
        if data[0] == 2:
            os._exit(3)
        if data[0] == 3:
            time.sleep(60)
        if data[0] == 4:
            np.ones(1 << 28)
        if data[0] == 6:
            np.empty(1 << 24)
        return np.full(300_000 if data[0] == 5 else 2, seed + data[0])

    sets = [np.full(1, float(kind)) for kind in range(7)]
    with Runner(mixed, seconds=60.0) as runner:
        found = runner.run(sets, [(0, 1), (1, 1), (1, 2), (0, 4)])
        told = [one.form for one in found]
        yield Holds(
            "a process that died is started again",
            told == ["shape (2,)", "shape (2,)", "died: its process ended: signal SIGTERM", "shape (2,)"],
        )
        yield Fact("calls and deaths", [runner.calls, runner.deaths], [3, 1], 0)
        found = runner.run(sets, [(2, 1), (0, 5)])
        yield Holds(
            "an exit status",
            [one.form for one in found] == ["died: its process ended: exit status 3", "shape (2,)"] and runner.usable,
        )
        found = runner.run(sets, [(2, 1), (0, 5)])
        yield Holds(
            "after three deaths nothing runs", len(found) == 1 and not runner.usable and not runner.run(sets, [(0, 1)])
        )
        yield Holds("the failure in words", runner.failure == "died: its process ended: exit status 3")
    yield Holds(
        "what it printed", runner.printed.startswith("said 1\nsaid 1\nsaid 2\n") and len(runner.printed) <= PRINTED
    )
    with Runner(mixed, seconds=60.0, memory=1 << 29) as runner:
        answers = runner.run(sets, [(5, seed) for seed in range(6)] + [(4, 1)])
        values = [float(one.values[-1]) for one in answers if one.values is not None]
        yield Fact("large answers in order", values, [5.0, 6, 7, 8, 9, 10], 0)
        yield Holds(
            "memory is limited", answers[-1].form.startswith("raised: MemoryError") or "Memory" in answers[-1].form
        )
        yield Holds("and what is within it is there", runner.run(sets, [(6, 1)])[0].status == "ran")
        yield Fact("calls", runner.calls, 8, 0)
        yield Holds("no time is left beyond what is kept", not runner.run(sets, [(0, 1)], until=1e3))
    with Runner(mixed, seconds=4.0) as runner:
        found = runner.run(sets, [(0, 1), (0, 2)]) + runner.run(sets, [(3, 1)])
        yield Holds(
            "a call that hangs",
            [one.status for one in found] == ["ran", "ran", "slow"] and not runner.usable and runner.left == 0,
        )
        yield Holds("in words", found[-1].words.startswith("no answer in ") and runner.failure.startswith("slow"))
    with Runner(lambda data, seed: time.sleep(0.25) or 1.0, seconds=2.5) as runner:
        found = runner.run(sets, [(0, seed) for seed in range(40)])
        yield Holds("time that is up is no hanging", 0 < len(found) < 20 and {one.status for one in found} == {"ran"})
    with Runner(lambda data, seed: print("x" * 999), seconds=60.0) as runner:
        runner.run(sets, [(0, seed) for seed in range(40)])
    yield Fact("as much of what is printed is kept", len(runner.printed), PRINTED, 0)

    with tempfile.TemporaryFile() as told:

        def ending(data: np.ndarray, seed: int) -> int:
            os.write(told.fileno(), b"x")
            if seed == 1:
                os._exit(5)
            if seed == 0:
                time.sleep(0.1)  # long enough that this answer is handed over by itself
            return 1

        with Runner(ending, seconds=60.0) as runner:
            found = [one.status for one in runner.run(sets, [(0, 0), (0, 1)])]
            yield Fact("calls that were answered before one died", runner.calls, 1, 0)
        yield Holds("which call ended a process is seen", found == ["ran", "died"])
        told.seek(0)
        yield Fact("and it is not run again", len(told.read()), 2, 0)
        with Runner(ending, seconds=60.0) as runner:
            found = [one.status for one in runner.run(sets, [(0, 2), (0, 1)])]
        yield Holds("though the answer before it was lost", found == ["ran", "died"])
    with Runner(mixed, seconds=9.0) as runner:
        found = runner.run(sets, [(3, 1)], until=8.4)
        yield Holds("no answer in time", [one.status for one in found] == ["slow"])
        yield Within("what is kept of it", runner.left, least=5.0, most=8.4)

    def loud(data: np.ndarray, seed: int) -> int:
        if seed < 41:
            print(f"{seed:02}" * 500)
        return 3 * seed

    with Runner(loud, seconds=60.0) as runner:
        found = runner.run(sets, [(0, seed) for seed in range(42)])
        values = [float(one.values[0]) for one in found if one.values is not None]
        yield Fact("who prints much answers all the same", values, [3.0 * seed for seed in range(42)], 0)
        kept = os.fstat(runner._output.fileno()).st_size
        yield Fact("bytes that are kept, calls, deaths", [kept, runner.calls, runner.deaths], [4 * PRINTED, 42, 0], 0)
    yield Holds("the first of them are told", runner.printed == "00" * 500 + "\n" + "01" * 499 + "0")
    face = "\N{GRINNING FACE}"

    def various(data: np.ndarray, seed: int) -> None:
        print(face * 1500)
        print("aside", file=sys.stderr)
        os.write(2, f"below{face * 600}".encode())

    with Runner(various, seconds=60.0) as runner:
        runner.run(sets, [(0, 1)])
    yield Holds("whatever its bytes, and its stream", runner.printed == f"{face * 1500}\naside\nbelow{face * 488}")


# --- shifts ---


def _shifts(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """What common seeds say of a pair, and which pair moves most."""
    law, pair = laplace([1.0, 2.0]), Pair(np.zeros(1), np.ones(1), "a", 0)

    def of(first: Any, second: Any, dtype: str = "float64", law: NoiseLaw = law) -> Any:
        sides = [
            [Outcome("ran", np.array(one, dtype=float), (2,), (2,), dtype) for one in side] for side in (first, second)
        ]
        return shift_of(pair, sides[0], sides[1], [1, 2], law)

    plain = of([[1.0, 5.0], [2.0, 7.0]], [[1.5, 2.0], [2.5, 4.0]])
    yield Fact("a shift", [*plain.difference, plain.size, plain.additive, plain.tied], [0.5, -3.0, 2.0, 1, 0], 1e-14)
    yield Fact(
        "in the norm of Gaussian noise",
        of([[1.0, 5.0], [2.0, 7.0]], [[4.0, 1.0], [5.0, 3.0]], law=gaussian(1.0)).size,
        5.0,
    )
    for gap, dtype, additive in (
        (1.5e-8, "float64", True),
        (2.5e-8, "float64", False),
        (1.5e-4, "float32", True),
        (2.5e-4, "float16", False),
    ):
        found = of([[1.0, 5.0], [2.0, 7.0]], [[1.5, 2.0], [2.5 + gap, 10.0]], dtype)
        other = of([[1.0, 5.0], [2.0, 7.0]], [[1.5, 8.0], [2.5 + gap, 10.0]], dtype)
        yield Holds(f"differences that differ by {gap:g} of {dtype}", not found.additive and other.additive == additive)
    small = of([[1.0, 9.0], [2.0, 10.0]], [[1.0 + 9e-9, 9.0 + 2e-8], [2.0 + 9e-9, 10.0 + 2e-8]])
    yield Fact("a difference within rounding is none", small.difference, [0.0, 2e-8], 1e-6)
    for ties in ([[1.0, 5.0], [1.0, 7.0]], [[0.0, 5.0], [2.0, 5.0]]):
        yield Holds(
            "an output that is the same under two seeds",
            of(ties, [[1.5, 2.0], [2.5, 4.0]]).tied and of([[1.5, 2.0], [2.5, 4.0]], ties).tied,
        )
    raised = [Outcome("raised", words="x")] * 2
    good = [Outcome("ran", np.ones(2), (2,), (2,))] * 2
    for first, second, form in (
        (raised, good, ("raised: x", "shape (2,)")),
        (good, good, None),
        ([*good[:1], *raised[:1]], good, None),
    ):
        found = shift_of(pair, first, second, [1, 2], law)
        yield Holds(f"forms: {form}", found.form == form and found.ran == (form is None and first is good))
        yield Holds("its failure", found.fails == ("raised: x" if not found.ran else ""))
    weights = np.array([0.3, -0.5, 0.2, 0.9, -0.4])
    runner = Direct(
        lambda data, seed: float(weights @ data.sum(axis=0)) + np.random.default_rng(seed).standard_normal(3)
    )
    box, seeds, own = Box(shape=(3, 5), low=-1, high=2), Seeds(0), np.random.default_rng(0)
    pairs = neighbours(box, "zero-out", own)
    start = seeds.next
    scanned = scan(runner, pairs, gaussian(scale=1.0), seeds)
    best = max(abs(float(weights @ (one.first - one.second).sum(axis=0))) for one in pairs)
    yield Fact("the pair that moves most", scanned.top.size, math.sqrt(3) * best, 1e-9)
    yield Fact(
        "calls, seeds, pairs",
        [runner.calls, seeds.next - start, scanned.ran, scanned.planned],
        [4 * len(pairs), 2 * -(-len(pairs) // 8), len(pairs), len(pairs)],
        0,
    )
    low = min(scanned.additive, key=lambda one: one.size)
    for calls in (4, 8):
        before = runner.calls
        climb(runner, low, box, gaussian(scale=1.0), seeds, own, calls=calls, until=0.0)
        yield Fact(f"calls of an ascent that has {calls}", runner.calls - before, calls, 0)
    most = max(float(np.maximum(weights * 2, -weights).sum()), -float(np.minimum(weights * 2, -weights).sum()))
    top = climb(runner, scanned.top, box, gaussian(scale=1.0), seeds, own, calls=1000, until=0.0)
    yield Fact("an ascent ends at a corner", top.size, math.sqrt(3) * most, 1e-9)
    yield Holds("no time, no scan", scan(Direct(_noisy, budget=1.0), pairs, law, seeds, until=2.0).ran == 0)


OFF: dict[str, Any] = {"1e-3 off": {"facts": Times(1.001)}}

BEYOND_AUDIT_RUNS = Claim(
    id="ftrl/beyond-audit-runs",
    where="beyond the paper: how audits run mechanisms",
    kind="privacy",
    statement=(
        "A mechanism's outputs, errors, death, hanging and printing come back as they were, its seed and data its own;",
        "common seeds show the shift of a pair, ties and forms, and an ascent finds the corner that moves most.",
    ),
    checks=(
        Agreement(decides="a", facts=lambda rng: itertools.chain(_outcomes(rng), _processes(rng)), impostors=OFF),
        Agreement(decides="b", facts=_shifts, impostors=OFF),
    ),
)
