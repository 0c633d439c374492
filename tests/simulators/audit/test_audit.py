"""The five worked examples and their twins, what never runs well, and bad input."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import time
from dataclasses import replace

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.audit import Box, Pair, audit, evaluated, gaussian, laplace
from simulators.audit.process import Runner
from tests.simulators.audit.examples import BROKEN, TWINS, sparse_vector

UNIT = Box(shape=(4,), low=0, high=1)
NOISE = 1.0


def audited(row, **settings):
    return audit(row.run, row.claim, adjacency=row.adjacency, domain=row.domain, law=row.law, **settings)


@pytest.mark.parametrize("row", BROKEN, ids=lambda row: row.name)
def test_broken_examples_are_refuted_with_a_witness(row):
    found = audited(row)
    assert found.verdict == "refuted"
    assert found.epsilon[0] <= row.true * 1.001 and found.epsilon[0] > found.claim.level
    assert found.epsilon[0] == row.true or found.epsilon[1] >= row.true * 0.999
    told = evaluated(json.loads(json.dumps(found.witness)))
    assert told.refuted and told.spent == pytest.approx(found.epsilon[0])


@pytest.mark.parametrize("row", TWINS, ids=lambda row: row.name)
def test_their_twins_are_consistent(row):
    found = audited(row)
    assert found.verdict == "consistent" and found.witness is None
    low, high = found.epsilon
    assert low <= row.true * 1.001 and high >= row.true * 0.999 and high / low < 1.2
    assert found.slack == pytest.approx(1.0, abs=0.05)


def test_a_twin_with_a_smaller_claim_is_refuted():
    for row in TWINS:
        claim = row.claim * 0.8 if isinstance(row.claim, float) else (row.claim[0] * 0.8, row.claim[1])
        assert audited(replace(row, claim=claim)).verdict == "refuted"


@pytest.mark.parametrize("seed", range(3))
def test_a_correct_sparse_vector_is_never_called_violated(seed):
    """Its bits are equal under equal seeds, and look like an additive shift of 0 or 1."""
    found = audit(
        sparse_vector(1.0), 1.0, adjacency="replace-one", domain=_queries(), law="discrete", seconds=6.0, seed=seed
    )
    assert found.verdict in ("consistent", "unclear") and found.epsilon[0] < 1.0


def test_a_sparse_vector_without_noise_on_its_queries_is_refuted():
    """Lyu et al., Algorithms 5 and 6: answers to opposite queries bound the threshold from both sides."""

    def run(data, seed):
        threshold = np.random.default_rng(seed).laplace(scale=2.0)
        return (data >= threshold).astype(float)

    first, second = np.tile([0.0, 1.0], 5), np.tile([1.0, 0.0], 5)
    found = audit(
        run, 1.0, adjacency="replace-one", domain=[Pair(first, second, "opposite")], law="discrete", seconds=15.0
    )
    assert found.verdict == "refuted" and evaluated(found.witness).refuted


def _queries():
    """Answers to six queries of sensitivity 1, which one record moves together."""
    base = np.array([0.0, 0.3, -0.2, 0.6, 0.1, 0.9])
    return [Pair(base, base + move, "all by one") for move in (1.0, -1.0, np.tile([1.0, -1.0], 3))]


# --- what a law cannot say by itself ---


def test_noise_that_depends_on_the_data():
    def run(data, seed):
        return 0.1 * data.sum() + (1 + 5 * data[0]) * np.random.default_rng(seed).standard_normal()

    found = audit(run, (1.0, 1e-5), adjacency="replace-one", domain=UNIT, law=gaussian(), seconds=10.0)
    assert found.verdict == "refuted" and found.witness is not None and found.witness["kind"] == "scales"
    assert evaluated(found.witness).refuted


@pytest.mark.parametrize(("factor", "word"), [(4.0, "more noise than declared"), (0.7, "less noise than declared")])
def test_another_scale_than_declared(factor, word):
    def run(data, seed):
        return 0.01 * data.sum() + factor * np.random.default_rng(seed).standard_normal(300)

    found = audit(run, (1.0, 1e-5), adjacency="replace-one", domain=UNIT, law=gaussian(1.0), seconds=10.0)
    assert found.verdict == "law differs" and any(word in one for one in found.findings)
    assert found.slack is not None and found.slack > 1


def test_another_family_and_dependence_are_law_differs():
    def laplacian(data, seed):
        return 0.01 * data.sum() + np.random.default_rng(seed).laplace(size=2000)

    def running(data, seed):
        return 0.01 * data.sum() + np.random.default_rng(seed).standard_normal((40, 50)).cumsum(axis=0)

    for run, word in ((laplacian, "shape"), (running, "dependence")):
        found = audit(run, (1.0, 1e-5), adjacency="replace-one", domain=UNIT, law=gaussian(), seconds=10.0)
        assert found.verdict == "law differs" and any(one.startswith(word) for one in found.findings)


def test_correlated_noise_as_declared_is_consistent():
    steps = 12
    root = np.tril(np.ones((steps, steps)))

    def run(data, seed):
        return np.cumsum(data, axis=0) + root @ np.random.default_rng(seed).standard_normal((steps, 64))

    shift_mu = float(np.sqrt(64))
    found = audit(
        run,
        {"mu": shift_mu},
        adjacency="zero-out",
        domain=Box(shape=(steps, 64), low=-1, high=1),
        law=gaussian(root @ root.T),
    )
    assert found.verdict == "consistent" and found.epsilon[0] < shift_mu < found.epsilon[1]


def test_integers_of_declared_continuous_noise():
    def run(data, seed):
        return np.rint(0.1 * data.sum() + 10 * np.random.default_rng(seed).standard_normal())

    found = audit(run, (1.0, 1e-5), adjacency="replace-one", domain=UNIT, law=gaussian(), seconds=5.0)
    assert found.verdict == "law differs" and "whole numbers" in found.findings[-1]


def test_single_precision_does_not_cry_wolf():
    def run(data, seed):
        total = (data / np.maximum(np.linalg.norm(data, axis=1, keepdims=True), 1.0)).sum(axis=0)
        return (total + np.random.default_rng(seed).standard_normal(400)).astype(np.float32)

    found = audit(run, {"mu": 1.0}, adjacency="zero-out", domain=Box(shape=(3, 400)), law=gaussian(1.0))
    assert found.verdict == "consistent" and "float32" in found.support


# --- without seeds ---


def test_mechanisms_that_draw_from_global_state_or_the_system():
    def of_state(data):
        return data.sum() + 4 * np.random.normal()  # noqa: NPY002

    def of_system(data):
        return 4 * data.sum() + np.random.default_rng().normal()

    assert (
        audit(of_state, {"mu": 0.26}, adjacency="replace-one", domain=UNIT, law=gaussian(scale=4.0)).verdict
        == "consistent"
    )
    found = audit(of_system, {"mu": 2.0}, adjacency="replace-one", domain=UNIT, law=gaussian(), seconds=10.0)
    assert found.verdict == "refuted" and found.witness is not None and found.witness["kind"] == "means"


# --- mechanisms that do not behave ---


def test_the_same_noise_in_every_run_as_shipped():
    def run(data, seed):
        np.random.seed(0)  # noqa: NPY002
        return 0.1 * data.sum() + np.random.normal()  # noqa: NPY002

    found = audit(run, (1.0, 1e-5), adjacency="replace-one", domain=UNIT, law=gaussian(), seconds=10.0)
    assert found.verdict == "refuted" and found.epsilon[0] == np.inf and evaluated(found.witness).refuted


def hangs(data, seed):
    time.sleep(1000)


def dies(data, seed):
    os._exit(9)


def fills_memory(data, seed):
    return np.ones(1 << 31).sum()


def returns_text(data, seed):
    return "text"


def refuses(data, seed):
    raise ValueError("no such data")


def returns_nothing_finite(data, seed):
    return np.nan


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (hangs, "no answer"),
        (dies, "its process ended: exit status 9"),
        (fills_memory, "MemoryError"),
        (returns_text, "returns str, not numbers"),
        (refuses, "ValueError: no such data"),
        (returns_nothing_finite, "not finite"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_what_does_not_run_is_unclear_and_says_why(run, words):
    started = time.monotonic()
    found = audit(run, (1.0, 1e-5), adjacency="replace-one", domain=UNIT, law=gaussian(), seconds=2.0)
    assert found.verdict == "unclear" and found.failed and words in found.needs
    assert time.monotonic() - started < 30.0


def test_slow_mechanisms_stay_unclear():
    def run(data, seed):
        time.sleep(0.05)
        return data.sum() + 4 * np.random.default_rng(seed).standard_normal()

    found = audit(run, {"mu": 0.26}, adjacency="replace-one", domain=UNIT, law=gaussian(), seconds=3.0)
    assert found.verdict == "unclear" and found.needs and not found.failed


def test_what_a_reader_sees_without_looking_at_numbers():
    def shapes(data, seed):
        return np.ones(3 if data[0] > 0.5 else 2) + np.random.default_rng(seed).normal()

    def errors(data, seed):
        if data[0] == 1.0:
            raise ValueError
        return 0.1 * data.sum() + np.random.default_rng(seed).normal()

    for run in (shapes, errors):
        found = audit(run, (1.0, 1e-5), adjacency="replace-one", domain=UNIT, law=gaussian(), seconds=5.0)
        assert found.verdict == "refuted" and "without a number" in found.findings[0]


def test_this_process_is_left_as_it_was(capfd):
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002

    def run(data, seed):
        print("hello from inside")
        np.random.seed(7)  # noqa: NPY002
        random.seed(7)
        data[:] = 0
        return np.random.default_rng(seed).normal(size=500)

    data = np.ones(4)
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    found = audit(run, {"mu": 1.0}, adjacency="replace-one", domain=[data], law=gaussian(), seconds=5.0)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before and data.tolist() == [1.0] * 4  # noqa: NPY002
    assert "hello from inside" in found.printed and capfd.readouterr().out == ""


def test_memory_and_children_of_a_mechanism_end_with_it():
    with Runner(hangs, seconds=0.3) as runner:
        (outcome,) = runner.run([np.ones(2)], [(0, 1)])
    assert outcome.status == "slow" and not outcome.ran


def test_the_call_that_ends_a_process_is_the_one_that_is_said_to():
    """Answers before it are in the same parcel, and are lost with the process."""
    with Runner(lambda data, seed: os._exit(9) if seed == 3 else seed, seconds=20.0) as runner:
        found = runner.run([np.ones(2)], [(0, seed) for seed in range(6)])
    assert [one.status for one in found] == ["ran"] * 3 + ["died"] + ["ran"] * 2 and runner.deaths == 1


def test_workers_of_a_pool_are_told_that_they_cannot_audit(monkeypatch):
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # pyright: ignore
    with pytest.raises(DomainError, match="may have children"):
        audit(hangs, (1.0, 1e-5), adjacency="replace-one", domain=UNIT, law=gaussian(), seconds=2.0)


# --- results ---


def test_results_show_and_repeat(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    row = TWINS[2]
    found, again = audited(row, seed=5), audited(row, seed=5)
    assert found.epsilon == again.epsilon and audited(row, seed=6).epsilon != found.epsilon
    assert found.text.startswith("consistent: (4.8866, 1e-06)-DP, zero-out adjacency")
    shown = found._repr_markdown_()
    assert shown.startswith("**consistent**") and "| step | found |" in shown
    assert json.loads(json.dumps(found.row()))["coverage"]["ran"] == found.coverage.ran > 20
    axes = found.plot()
    assert axes.get_xlabel() == "epsilon" and len(axes.lines) == 2
    assert len(audited(BROKEN[4]).plot().lines) == 2


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"adjacency": "neighbour"}, "adjacency"),
        ({"claim": 1.0}, "purely private"),
        ({"claim": None}, "claim"),
        ({"domain": None}, "domain"),
        ({"domain": []}, "domain"),
        ({"domain": "text"}, "domain"),
        ({"law": "cauchy"}, "law"),
        ({"law": laplace(), "claim": {"rho": 1.0}}, "unless the noise is Gaussian"),
        ({"seconds": 0}, "seconds"),
        ({"seconds": np.nan}, "seconds"),
        ({"seed": -1}, "seed"),
        ({"mechanism": 3}, "mechanism"),
        ({"resolution": 0.0}, "resolution"),
        ({"alpha": 1.0}, "alpha"),
        ({"law": gaussian(scale=[1.0, 2.0])}, "1 or 1"),
    ],
)
def test_bad_input(given, words):
    arguments = {"mechanism": lambda data, seed: 0.5, "claim": (1.0, 1e-5), "adjacency": "zero-out", "domain": UNIT}
    arguments = {**arguments, "law": gaussian(), **given}
    with pytest.raises(DomainError, match=words):
        audit(arguments.pop("mechanism"), arguments.pop("claim"), **arguments)
    with pytest.raises(TypeError, match="adjacency"):
        audit(lambda data, seed: 0.5, (1.0, 1e-5))  # pyright: ignore[reportCallIssue]
