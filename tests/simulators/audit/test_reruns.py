"""Witnesses of every kind are measured again by running the mechanism, and forged ones are refused."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.audit import Box, Pair, audit, evaluated, gaussian, laplace, rerun

UNIT = Box(shape=(4,), low=0, high=1)
CLAIM = (1.0, 1e-5)


def scale(data, seed):
    return 0.3 * data.sum() + np.random.default_rng(seed).standard_normal(500)


def short(data, seed):
    return 0.2 * data.sum() + 0.5 * np.random.default_rng(seed).standard_normal(500)


def equal(data, seed):
    noise = np.random.default_rng(seed).standard_normal()
    return np.array([data.sum(), 2 * data.sum()]) + noise


def silent(data, seed):
    return np.array([data.sum(), np.random.default_rng(seed).standard_normal()])


def as_shipped(data, seed):
    np.random.seed(0)  # noqa: NPY002
    return 0.1 * data.sum() + np.random.normal()  # noqa: NPY002


def coin(data, seed):
    return float(np.random.default_rng(seed).random() < 0.1 + 0.2 * data.sum())


def form(data, seed):
    return np.ones(3 if data[0] > 0.5 else 2) + np.random.default_rng(seed).normal()


def unseeded(data):
    return 4 * data.sum() + np.random.default_rng().normal()


def scales(data, seed):
    return 0.1 * data.sum() + (1 + 5 * data[0]) * np.random.default_rng(seed).standard_normal()


def counts(data, seed):
    return data.sum() + np.random.default_rng(seed).laplace(size=3)


ROWS = [
    ("scale", scale, CLAIM, gaussian()),
    ("scale", counts, (1.0, 1e-3), laplace()),
    ("scale", counts, 1.0, laplace(1.0)),
    ("declared", scale, {"mu": 6.70}, gaussian(1.0)),
    ("scale", short, CLAIM, gaussian(1.0)),
    ("singular", equal, CLAIM, gaussian()),
    ("singular", silent, CLAIM, gaussian()),
    ("singular", as_shipped, CLAIM, gaussian()),
    ("event", coin, (0.1, 1e-5), "discrete"),
    ("event", form, CLAIM, gaussian()),
    ("means", unseeded, {"mu": 1.0}, gaussian()),
    ("scales", scales, CLAIM, gaussian()),
]


def refuted(run, claim, law):
    return audit(run, claim, adjacency="replace-one", domain=UNIT, law=law, seconds=6.0)


@pytest.mark.parametrize(("kind", "run", "claim", "law"), ROWS, ids=lambda one: getattr(one, "__name__", None))
def test_every_kind_is_measured_again(kind, run, claim, law):
    found = refuted(run, claim, law)
    assert found.verdict == "refuted" and found.witness is not None and found.witness["kind"] == kind, found.text
    content = json.loads(json.dumps(found.witness))
    again = rerun(content, run, seconds=20.0)
    assert again.content is not None and again.words == "", again.words
    told, before = evaluated(again.content), evaluated(content)
    assert told.refuted and (kind == "means" or told.spent == pytest.approx(before.spent, rel=1e-9))


def healthy(data, seed):
    return 0.005 * data.sum() + np.random.default_rng(seed).standard_normal(500)


def healthy_pair(data, seed):
    return 0.05 * data.sum() + np.random.default_rng(seed).standard_normal(2)


def fair(data, seed):
    return float(np.random.default_rng(seed).random() < 0.5)


@pytest.mark.parametrize(
    ("run", "claim", "law", "other"),
    [
        (scale, CLAIM, gaussian(), healthy),
        (equal, CLAIM, gaussian(), healthy_pair),
        (as_shipped, CLAIM, gaussian(), healthy),
        (coin, (0.1, 1e-5), "discrete", fair),
        (form, CLAIM, gaussian(), healthy),
    ],
)
def test_a_witness_says_nothing_of_another_mechanism(run, claim, law, other):
    again = rerun(refuted(run, claim, law).witness, other, seconds=20.0)
    assert again.content is None or not evaluated(again.content).refuted


def test_numbers_of_a_witness_are_not_believed():
    """One that is edited to refute a healthy mechanism does so on paper, and no longer once it is run."""
    content = refuted(scale, CLAIM, gaussian()).witness
    forged = {**content, "shift": [100.0]}
    assert evaluated(forged).refuted
    again = rerun(forged, healthy)
    assert again.content is not None and not evaluated(again.content).refuted


def test_pairs_that_are_no_neighbours_are_refused():
    content = refuted(scale, CLAIM, gaussian()).witness
    pair = content["pair"]
    far = {**pair, "first": {**pair["first"], "numbers": [9.0, 9.0, 9.0, 9.0]}}
    with pytest.raises(DomainError, match="records differ"):
        rerun({**content, "pair": far}, scale)
    with pytest.raises(DomainError, match="neither record is 0"):
        rerun({**content, "adjacency": "zero-out", "pair": _moved(pair)}, scale)
    with pytest.raises(DomainError, match="they have 4 and 4 records"):
        rerun({**content, "adjacency": "add-remove"}, scale)


def _moved(pair):
    sides = ("first", "second")
    return {**pair, **{side: {**pair[side], "numbers": [x + 0.5 for x in pair[side]["numbers"]]} for side in sides}}


def test_pairs_of_the_users_own_are_said_to_be_so():
    first, second = np.zeros(3), np.ones(3)
    domain = [Pair(first, second, "all answers move")]
    found = audit(scale, CLAIM, adjacency="replace-one", domain=domain, law=gaussian(), seconds=6.0)
    again = rerun(found.witness, scale)
    assert again.content is not None and "as its user gave it, though 3 records differ" in again.words


@pytest.mark.parametrize("adjacency", ["add-remove", "zero-out"])
@pytest.mark.parametrize(
    "domain", [Box(shape=(1, 3), low=-1, high=1), {"x": UNIT, "y": UNIT}], ids=["array", "columns"]
)
def test_data_of_every_form_come_back(adjacency, domain):
    """A data set of one record is without any once that is removed."""

    def run(data, seed):
        total = sum(np.sum(one) for one in (data.values() if isinstance(data, dict) else [data]))
        return total + np.random.default_rng(seed).standard_normal(300)

    found = audit(run, {"mu": 0.1}, adjacency=adjacency, domain=domain, law=gaussian(), seconds=8.0)
    again = rerun(json.loads(json.dumps(found.witness)), run)
    assert again.content is not None and evaluated(again.content).spent == pytest.approx(found.epsilon[0])


def hangs(data, seed):
    time.sleep(100)


def raises(data, seed):
    raise ValueError("not today")


@pytest.mark.parametrize(("run", "words"), [(hangs, "no answer"), (raises, "not today")])
def test_what_does_not_run_gives_no_numbers(run, words):
    again = rerun(refuted(scale, CLAIM, gaussian()).witness, run, seconds=1.0)
    assert again.content is None and again.failed and words in again.words


@pytest.mark.parametrize(
    "change",
    [
        {"pair": None},
        {"pair": {"first": 1, "second": 2, "label": ""}},
        {"law": "cauchy"},
        {"law": {"family": "gaussian", "scale": [-1.0]}},
        {"start": -1},
        {"start": None},
        {"rows": 10**9},
        {"rows": "many"},
        {"adjacency": "near"},
        {
            "kind": "singular",
            "noise": 0.0,
            "moved": 1.0,
            "size": 1.0,
            "rounding": 1e-9,
            "places": [7000],
            "weights": [1],
        },
    ],
)
def test_hostile_witnesses_are_refused(change):
    content = {**refuted(scale, CLAIM, gaussian()).witness, **change}
    with pytest.raises(DomainError):
        rerun({name: value for name, value in content.items() if value is not None}, scale, seconds=5.0)
