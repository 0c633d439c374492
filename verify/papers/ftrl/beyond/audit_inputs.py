"""Beyond the paper: where an audit looks for neighbours, what it reads, and what of other libraries it takes."""

from __future__ import annotations

import io
import itertools
import json
import math
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from dpbounds import DomainError
from dpbounds.audit import Box, GaussianEvent, NoiseLaw, Pair, adapters, gaussian, laplace
from dpbounds.audit.laws import law_of
from simulators.audit import neighbours
from simulators.audit.domains import moved, outside
from simulators.audit.files import coefficients_in, domain_of, law_in_words, mechanism_in
from simulators.audit.process import _loaded
from simulators.audit.records import apart, pair_of, recorded
from verify.checks import Agreement, Fact, Holds, Times
from verify.papers.ftrl.beyond.audit_stand_ins import optimizers, transformations
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


OFF: dict[str, Any] = {"1e-3 off": {"facts": Times(1.001)}}

BEYOND_AUDIT_INPUTS = Claim(
    id="ftrl/beyond-audit-inputs",
    where="beyond the paper: what audits read, and where they look",
    kind="privacy",
    statement=(
        "The pairs that are searched are neighbours, and begin with the corners and the centre of a box;",
        "pairs, laws, domains, functions and coefficients are read as they were written, and what is none of these is "
        "refused by its parameter's name;",
        "objects of other libraries' form become functions, claims and events with their numbers.",
    ),
    checks=(
        Agreement(decides="a", facts=_domains, impostors={"1e-3 off": {"facts": {"factor": 1.001}}}),
        Agreement(decides="b", facts=lambda rng: itertools.chain(_records(rng), _files(rng)), impostors=OFF),
        Agreement(
            decides="c",
            facts=lambda rng: itertools.chain(_adapters(rng), transformations(rng), optimizers(rng)),
            impostors=OFF,
        ),
    ),
)
