"""Beyond the paper: how an audit runs mechanisms, where it looks for neighbours, and what it reads and writes."""

from __future__ import annotations

import io
import itertools
import json
import math
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from dpbounds import DomainError
from dpbounds.audit import Box, GaussianEvent, NoiseLaw, Pair, adapters, gaussian, laplace
from dpbounds.audit.laws import law_of
from simulators.audit import Outcome, Runner, neighbours
from simulators.audit.domains import moved, outside
from simulators.audit.files import coefficients_in, domain_of, law_in_words, mechanism_in
from simulators.audit.process import PRINTED, _called, _loaded, _outcome, _takes_seed
from simulators.audit.records import apart, pair_of, recorded
from simulators.audit.shifts import Seeds, climb, scan, shift_of
from verify.checks import Agreement, Fact, Holds, Times
from verify.papers.ftrl.tools.direct import Direct
from verify.statements.claims import Claim

# --- domains ---

LOW, HIGH = np.array([-1.0, 0.5, -2.0]), np.array([3.0, 2.0, -0.5])


def _domains(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Holds]:
    """Records, bases and pairs of boxes and examples."""
    box, own = Box(shape=(5, 3), low=LOW, high=HIGH), np.random.default_rng(1)
    records = box.records(own)
    turns = np.array([True, False, True])
    expected = [HIGH, LOW, (LOW + HIGH) / 2, [0.0, 0.5, -0.5], np.where(turns, HIGH, LOW), np.where(turns, LOW, HIGH)]
    yield Fact("the first records of a box", np.array(records[:6]), factor * np.array(expected))
    ends = [record for record in records[6:] if np.isin(record, [LOW, HIGH]).all()]
    alone = {tuple(np.where(np.arange(3) == axis, HIGH, [0.0, 0.5, -0.5]).tolist()) for axis in range(3)}
    yield Holds(
        "then corners and single coordinates at an end",
        alone <= {tuple(one.tolist()) for one in records} and len(records) <= 12 and len(ends) >= 1,
    )
    yield Holds("none twice", len({one.tobytes() for one in records}) == len(records))
    far = Box(shape=(2, 2)).records(own)
    yield Fact(
        "without bounds far ones stand first", np.array(far[:3]), factor * np.array([[1e6, 1e6], [-1e6, -1e6], [0, 0]])
    )
    near = {tuple(one.tolist()) for one in far}
    yield Holds("near ones are there", {(1.0, 1.0), (-1.0, -1.0), (1.0, -1.0), (1.0, 0.0), (0.0, 1.0)} <= near)
    yield Fact("of one bound the other end", np.array(Box(shape=(1,), low=2e6).ends(1e6)), [2e6, 2e6], 0)
    yield Fact("and below", np.array(Box(shape=(1,), high=-3.0).ends(1.0)), [-3.0, -3.0], 0)
    yield Fact(
        "wide boxes have six single axes", len(Box(shape=(2, 60), low=0, high=1).records(own)), 2 + 1 + 2 + 3 + 6, 0
    )
    bases = box.bases(own)
    halves = np.array([LOW, HIGH, LOW, HIGH, LOW])
    plain = [np.tile([0.0, 0.5, -0.5], (5, 1)), np.tile(HIGH, (5, 1)), np.tile(LOW, (5, 1)), halves]
    yield Fact("data sets", np.array(bases[1:]), factor * np.array(plain))
    drawn = bases[0]
    yield Holds(
        "the first is drawn inside", bool(((drawn > LOW) & (drawn < HIGH)).all()) and len(np.unique(drawn)) == 15
    )
    wide = Box(shape=(400,), low=2.0, high=6.0).bases(own)[0]
    yield Holds("over all of the box", 2.0 <= wide.min() < 2.1 and 5.9 < wide.max() <= 6.0)
    whole = Box(shape=(2, 4), low=-1.4, high=2.6, integer=True)
    yield Fact("whole numbers", whole.whole(np.array([-3.0, 1.6, 0.2, 2.6])), [-1, 2, 0, 2], 0)
    for adjacency in ("replace-one", "zero-out", "add-remove"):
        pairs = neighbours(box, adjacency, own)
        strange = [apart(one, adjacency) for one in pairs]
        places = {one.place for one in pairs}
        yield Holds(f"pairs are neighbours, {adjacency}", not any(strange) and places == {0, 2, 4})
        first = pairs[0]
        if adjacency == "replace-one":
            yield Fact("the first pair, replaced", np.array([first.first[0], first.second[0]]), [HIGH, LOW], 0)
            yield Fact("pairs, replaced", len(pairs), 7 * len({*range(3)} | {*range(15)}), 0.2)
        else:
            yield Fact("the first pair", first.first[0], HIGH, 0)
            yield Fact("pairs", len(pairs), min(7 * len(records), 120), 0.15)
        yield Holds(
            "its words",
            first.label
            == {
                "replace-one": "record 0 replaced",
                "zero-out": "record 0 set to 0",
                "add-remove": "record 0 of 5 removed",
            }[adjacency],
        )
    columns = {"X": Box(shape=(4, 2), low=0, high=1), "y": Box(shape=(4,), low=-1, high=2)}
    pairs = neighbours(columns, "zero-out", own)
    sides = [(one.first["X"][0].tolist(), float(one.first["y"][0])) for one in pairs[:4]]
    yield Holds("columns: both high, both low, mixed", sides == [([1, 1], 2), ([0, 0], -1), ([1, 1], -1), ([0, 0], 2)])
    yield Holds("they are neighbours", not any(apart(one, "zero-out") for one in pairs) and len(pairs) <= 120)
    examples = [np.arange(8.0).reshape(4, 2) + 1, {"a": np.arange(2.0), "b": np.ones((2, 2))}]
    for example, number in zip(examples, (4 * 3, 2 * 2), strict=True):
        pairs = neighbours([example], "zero-out", own)
        yield Fact("pairs of an example", len(pairs), number, 0)
        yield Holds("are neighbours", not any(apart(one, "zero-out") for one in pairs))
    given = [Pair(np.ones(1), np.zeros(1), "given")]
    yield Holds("pairs are taken as they are", neighbours(given, "zero-out", own) == given)
    pair = Pair(np.vstack([HIGH, LOW]), np.vstack([0 * HIGH, LOW]), "a", 0)
    beyond = outside(pair, box)
    yield Fact("outside the box", np.array([]) if beyond is None else beyond.first[0], [3001.0, 2001.0, 2001.0])
    unbounded = (Box(shape=(2, 3)), Box(shape=(2, 3), low=0, high=9, integer=True), [pair])
    yield Holds(
        "where that means nothing", not any(outside(pair, one) for one in unbounded) and outside(given[0], box) is None
    )
    steps = [one.first[0] - HIGH for one in moved(pair, box, own)]
    yield Fact("steps of an ascent", sorted(np.array(steps).sum(axis=1).tolist()), [-4.0, -1.5, -1.5], 1e-12)
    yield Holds("of examples there are none", not [*moved(pair, [pair], own), *moved(given[0], box, own)])


# --- records ---


def _records(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Pairs written and read; what is and what is no pair of neighbours."""
    base = np.array([[1.0, 2.0], [3.0, math.nan], [5.0, 6.0]])
    zeroed, both = base.copy(), base.copy()
    zeroed[1], both[:2] = 0.0, 7.0
    other = base.copy()
    other[2] = 9.0
    columns = {"a": base, "b": np.array([1, 2, 3])}
    less = {"a": base[[0, 2]], "b": np.array([1, 3])}
    cases = [
        (base, zeroed, "zero-out", ""),
        (zeroed, base, "zero-out", ""),
        (base, other, "zero-out", "neither record is 0"),
        (base, other, "replace-one", ""),
        (base, both, "replace-one", "2 records differ"),
        (base, base, "zero-out", ""),
        (base, base[:2], "replace-one", "they have different shapes"),
        (base, base[1:], "add-remove", ""),
        (base[[0, 2]], base, "add-remove", ""),
        (base, base[:2], "add-remove", ""),
        (base, base[:1], "add-remove", "they have 3 and 1 records"),
        (base, base, "add-remove", "they have 3 and 3 records"),
        (base, other[1:], "add-remove", "more than a record was removed"),
        (columns, less, "add-remove", ""),
        (columns, {**less, "b": np.array([1, 2])}, "add-remove", "more than a record was removed"),
        (columns, {**columns, "b": np.array([1, 2, 0])}, "zero-out", "neither record is 0"),
        (columns, base, "zero-out", "they are no records of one kind"),
        (np.array(1.0), np.array(2.0), "zero-out", "they are no records of one kind"),
    ]
    for first, second, adjacency, words in cases:
        pair = pair_of(json.loads(json.dumps(recorded(Pair(first, second, "label", 3)))))
        found = apart(pair, adjacency)  # pyright: ignore[reportArgumentType]
        yield Holds(f"{adjacency}: {words or 'neighbours'}", found == words)
    content = recorded(Pair(np.array([[True], [False]]), np.zeros((2, 1), dtype=np.int8), "label"))
    back = pair_of(content)
    kinds = [back.first.dtype.name, back.second.dtype.name, back.first.shape, back.label, content["given"]]
    yield Holds("types and shapes are kept", kinds == ["bool", "int8", (2, 1), "label", True])


# --- laws and files ---

SOURCE = """from math import pi as tau
more = lambda data, seed: data.sum() + seed
def run(data, seed):
    return 2 * data.sum()
"""


def _files(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Laws, domains, functions and coefficients from words and files."""
    matrix = np.array([[4.0, 1.0], [1.0, 3.0]])
    rows, root = np.array([[1.0, -2.0, 3.0, 0.5]]), np.linalg.cholesky(matrix)
    yield Fact(
        "scales", [*laplace([1.0, 2.0]).scales(2), *gaussian(9.0).scales(2), *gaussian().scales(1)], [1, 2, 3, 3, 1], 0
    )
    yield Fact("whitened by scales", gaussian(scale=[1, 2, 4, 0.5]).whitened(rows, (4,)), [[1, -1, 0.75, 1]])
    by_rows = (np.linalg.inv(root) @ rows.reshape(2, 2)).ravel()
    yield Fact("by a covariance of rows", gaussian(matrix).whitened(rows, (2, 2))[0], by_rows, 1e-12)
    yield Fact(
        "by one of outputs", gaussian(matrix).whitened(rows[:, :2], (2,))[0], np.linalg.inv(root) @ rows[0, :2], 1e-12
    )
    yield Holds(
        "laws are read as written",
        all(
            law_of(law.content()).content() == law.content()
            for law in (gaussian(matrix), laplace(2.0), law_of("discrete"))
        ),
    )
    for words, family, scale in (
        ("gaussian:1.5", "gaussian", [1.5]),
        ("laplace:2", "laplace", [2.0]),
        ("discrete", "discrete", None),
        ("laplace", "laplace", None),
    ):
        law = law_in_words(words)
        yield Holds(f"law {words}", (law.family, None if law.scale is None else law.scale.tolist()) == (family, scale))
    boxes = [domain_of(words) for words in ("4x2,0,1", "3,-1,2,integer", "5x1")]
    shown = [(box.shape, box.integer, float(np.max(box.low)), float(np.max(box.high))) for box in boxes]
    yield Holds(
        "domains in words", shown == [((4, 2), False, 0, 1), ((3,), True, -1, 2), ((5, 1), False, -math.inf, math.inf)]
    )
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        np.save(place / "data.npy", np.arange(3.0))
        yield Fact("a domain in a file", domain_of(str(place / "data.npy"))[0], [0.0, 1.0, 2.0], 0)
        (place / "own.py").write_text(SOURCE, encoding="utf-8")
        held = sys.path.copy()
        try:
            called = [mechanism_in(f"{place}/own.py:{name}")(np.ones(3), 4) for name in ("run", "more")]
            yield Fact("a function of a file", called, [6.0, 7.0], 0)
            yield Holds("an imported name", mechanism_in(f"{place}/own.py:tau").load() == math.pi)
            loaded = _loaded(mechanism_in(f"{place}/own.py:run"))
            yield Fact("loaded", loaded(np.ones(2), None), 4.0, 0)
            broken = _loaded(SimpleNamespace(load=lambda: 1 // 0))
            yield Holds("what cannot be loaded says so", _refused(lambda: broken(None, 1)) == "ZeroDivisionError")
        finally:
            sys.path[:] = held
            sys.modules.pop("audited", None)
    for arrays, steps, times in (
        ({"coefficients": [1.0, 0.5], "noise_multiplier": 3.0}, 2, 1),
        ({"coefficients": [1.0, 0.5], "noise_multiplier": 3.0, "steps": 6, "times": 2, "separation": 3}, 6, 2),
        ({"coefficients": [1.0, 0.5], "noise_multiplier": 3.0, "steps": 4, "times": 1, "separation": 2}, 4, 1),
    ):
        stream = io.BytesIO()
        np.savez(stream, **{name: np.array(value) for name, value in arrays.items()})  # pyright: ignore
        made, adjacency = coefficients_in(stream.getvalue(), "a file")
        taken = made.participation
        found = (len(made.encoder), taken.times, taken.separation if times > 1 else 0, made.noise_multiplier, adjacency)
        yield Holds("coefficients of a file", found == (steps, times, 3 if times > 1 else 0, 3.0, ""))
    refusals = (
        (lambda: domain_of("4x2,0"), "domain"),
        (lambda: domain_of("a"), "domain"),
        (lambda: domain_of("none.npy"), "domain"),
        (lambda: law_in_words("laplace:x"), "law"),
        (lambda: law_in_words("discrete:1"), "law"),
        (lambda: law_of("other"), "law"),
        (lambda: mechanism_in("none.py:run"), "mechanism"),
        (lambda: coefficients_in(b"", "a file"), "coefficients"),
        (lambda: Box(shape=(2,), low=1, high=0), "low"),
        (lambda: Box(shape=(2, 2), low=np.zeros(3)), "low"),
        (lambda: neighbours([], "zero-out", rng), "domain"),
        (lambda: NoiseLaw(family="gaussian", scale=np.zeros(1)), "scale"),
        (lambda: gaussian(-np.eye(2)), "covariance"),
        (lambda: adapters.estimator(object()), "released"),
        (lambda: adapters.event(SimpleNamespace(history=[])), "event"),
        (lambda: pair_of({"first": 1}), "pair"),
    )
    for call, parameter in refusals:
        yield Holds(f"refused by name: {parameter}", _refused(call) == parameter)


def _refused(call: Any) -> str:
    """The parameter that is refused, or the error's name."""
    try:
        call()
    except DomainError as error:
        return error.parameter
    except ArithmeticError as error:
        return type(error).__name__
    return ""


# --- adapters ---


class GaussianDpEvent(SimpleNamespace):
    """As dp_accounting names it."""


class _Mean:
    random_state: int | None = None

    def fit(self, X: np.ndarray, y: np.ndarray | float = 0.0) -> _Mean:
        self.mean_, self.seed_ = X.mean() + np.mean(y), self.random_state
        return self


def _adapters(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """What other libraries' objects become, by objects of their form."""
    model = _Mean()
    run = adapters.estimator(model, "mean_", "seed_")
    found = run({"X": np.array([[1.0, 2.0]]), "y": np.array([3.0])}, 5)
    yield Fact(
        "an estimator", [found["mean_"][0], found["seed_"][0], run(np.ones((2, 2)), 7)["mean_"][0]], [4.5, 5, 1], 0
    )
    yield Holds("is copied", not hasattr(model, "mean_") and model.random_state is None)
    step = GaussianDpEvent(noise_multiplier=1.5)
    sampled = SimpleNamespace(sampling_probability=0.25, event=step)
    events = (
        (step, GaussianEvent(kind="gaussian", noise_multiplier=1.5)),
        (
            SimpleNamespace(event=sampled, count=4),
            GaussianEvent(kind="poisson", noise_multiplier=1.5, sampling_probability=0.25, steps=4),
        ),
        (
            SimpleNamespace(events=[SimpleNamespace(event=SimpleNamespace(event=step, count=3), count=2)]),
            GaussianEvent(kind="gaussian", noise_multiplier=1.5, steps=6),
        ),
        (
            SimpleNamespace(history=[(1.5, 0.25, 9)]),
            GaussianEvent(kind="poisson", noise_multiplier=1.5, sampling_probability=0.25, steps=9),
        ),
        (SimpleNamespace(history=[(1.5, 1.0, 9)]), GaussianEvent(kind="gaussian", noise_multiplier=1.5, steps=9)),
    )
    for told, event in events:
        yield Holds(f"an accountant's {event.kind} event of {event.steps} steps", adapters.event(told) == event)
    twice = SimpleNamespace(sampling_probability=0.5, event=sampled)
    several = SimpleNamespace(events=[step, step])
    inside = SimpleNamespace(sampling_probability=0.5, event=SimpleNamespace(event=step, count=2))
    fixed = SimpleNamespace(sample_size=3, event=step)
    other = SimpleNamespace(noise_multiplier=1.5)
    refused = [
        _refused(lambda one=one: adapters.event(one))
        for one in (twice, several, inside, fixed, other, SimpleNamespace())
    ]
    yield Holds("other events are refused", refused == ["event"] * 6)

    class Measurement:
        def __init__(self, measure: str, domain: str, spent: Any) -> None:
            self.output_measure, self.input_domain, self.spent = measure, domain, spent

        def map(self, d_in: float) -> Any:
            return self.spent

        def __call__(self, data: Any) -> Any:
            return np.sum(data) + (0.0 if isinstance(data, list) else 100.0)

    for measure, domain, spent, text, value in (
        ("ZeroConcentratedDivergence", "VectorDomain", 0.5, "0.5-zCDP", 3.0),
        ("MaxDivergence", "AtomDomain(T=f64)", 0.7, "(0.7, 0)-DP", 101.0),
        ("Approximate(MaxDivergence)", "VectorDomain", (0.7, 1e-6), "(0.7, 1e-06)-DP", 3.0),
    ):
        run, claim = adapters.measurement(Measurement(measure, domain, spent), 1.0)
        yield Holds(f"a measurement of {measure}", claim.text == text and run(np.array([1.0, 2.0])) == value)
    yield Holds(
        "another is refused",
        _refused(lambda: adapters.measurement(Measurement("Renyi", "", 1.0), 1.0)) == "measurement",
    )


def _transformations(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """An optax transformation, with NumPy in the place of JAX where it is not there."""

    class Sums:
        def __init__(self, seed: int) -> None:
            self.seed = seed

        def init(self, parameters: Any) -> Any:
            return parameters + self.seed

        def update(self, row: Any, state: Any) -> tuple[Any, Any]:
            return state + row, state + row

    held = {name: sys.modules.get(name) for name in ("jax", "jax.numpy")}
    sys.modules |= {"jax": SimpleNamespace(numpy=np), "jax.numpy": np}  # pyright: ignore
    try:
        rows = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, -4.0]])
        found = adapters.transformation(Sums, norm=2.0)(rows, 5)
        yield Fact("steps of a transformation, clipped", found, [[6.2, 6.6], [6.5, 7.0], [6.5, 5.0]])
    finally:
        for name, module in held.items():
            sys.modules.pop(name)
            if module is not None:
                sys.modules[name] = module


# --- runs ---


def _noisy(data: np.ndarray, seed: int | None) -> np.ndarray:
    return np.array([data.sum(), 1.0 if seed is None else seed, np.random.random()])  # noqa: NPY002


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
    takes = [
        _takes_seed(one)
        for one in (lambda data: 1, lambda data, seed: 1, lambda *data: 1, lambda data, *, seed=1: 1, _noisy, max)
    ]
    yield Holds("a second argument is seen", takes == [False, True, True, False, True, True])
    alone = _outcome(_called(lambda given: given.sum(), data, 1, False)).values
    yield Fact("without one none is given", np.array(alone), [6.0], 0)


def _processes(rng: np.random.Generator) -> Iterator[Fact | Holds]:
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
        return np.full(300_000 if data[0] == 5 else 2, seed + data[0])

    sets = [np.full(1, float(kind)) for kind in range(6)]
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
        yield Fact("calls", runner.calls, 7, 0)
        yield Holds("no time is left beyond what is kept", not runner.run(sets, [(0, 1)], until=1e3))
    with Runner(mixed, seconds=1.5) as runner:
        found = runner.run(sets, [(0, 1), (0, 2)]) + runner.run(sets, [(3, 1)])
        yield Holds(
            "a call that hangs",
            [one.status for one in found] == ["ran", "ran", "slow"] and not runner.usable and runner.left == 0,
        )
        yield Holds("in words", found[-1].words.startswith("no answer in 1") and runner.failure.startswith("slow"))
    with Runner(lambda data, seed: time.sleep(0.1) or 1.0, seconds=0.75) as runner:
        found = runner.run(sets, [(0, seed) for seed in range(40)])
        yield Holds("time that is up is no hanging", 0 < len(found) < 20 and {one.status for one in found} == {"ran"})
    with Runner(lambda data, seed: print("x" * 999), seconds=60.0) as runner:
        runner.run(sets, [(0, seed) for seed in range(40)])
    yield Fact("as much of what is printed is kept", len(runner.printed), PRINTED, 0)


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
    for calls in (1000, 4):
        before = runner.calls
        found = climb(runner, low, box, gaussian(scale=1.0), seeds, own, calls=calls, until=0.0)
        yield Fact(
            f"calls of the ascent, of {calls}",
            min(runner.calls - before, calls),
            calls if calls == 4 else runner.calls - before,
            0,
        )
    most = max(float(np.maximum(weights * 2, -weights).sum()), -float(np.minimum(weights * 2, -weights).sum()))
    top = climb(runner, scanned.top, box, gaussian(scale=1.0), seeds, own, calls=1000, until=0.0)
    yield Fact("an ascent ends at a corner", top.size, math.sqrt(3) * most, 1e-9)
    yield Holds("no time, no scan", scan(Direct(_noisy, budget=1.0), pairs, law, seeds, until=2.0).ran == 0)


OFF: dict[str, Any] = {"1e-3 off": {"facts": Times(1.001)}}

BEYOND_AUDIT_RUNS = Claim(
    id="ftrl/beyond-audit-runs",
    where="beyond the paper",
    kind="privacy",
    statement=(
        "The pairs that are searched are neighbours, and begin with the corners and the centre of a box;",
        "pairs, laws, domains, functions and coefficients are read as they were written, and what is none of these is "
        "refused by its parameter's name;",
        "objects of other libraries' form become functions, claims and events with their numbers;",
        "a mechanism's outputs, errors, death, hanging and printing come back as they were, its seed and data its own;",
        "common seeds show the shift of a pair, ties and forms, and an ascent finds the corner that moves most.",
    ),
    checks=(
        Agreement(decides="a", facts=_domains, impostors={"1e-3 off": {"facts": {"factor": 1.001}}}),
        Agreement(decides="b", facts=lambda rng: itertools.chain(_records(rng), _files(rng)), impostors=OFF),
        Agreement(decides="c", facts=lambda rng: itertools.chain(_adapters(rng), _transformations(rng)), impostors=OFF),
        Agreement(decides="d", facts=lambda rng: itertools.chain(_outcomes(rng), _processes(rng)), impostors=OFF),
        Agreement(decides="e", facts=_shifts, impostors=OFF),
    ),
)
