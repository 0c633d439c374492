"""Coefficients: proved and refuted on either side of what they spend, events, promises, witnesses as data."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.audit import GaussianEvent, coefficients_of, evaluated, event_interval, event_of, judged, promise_of
from dpbounds.audit.witnesses import witness
from dpbounds.ftrl.design import Blt, Participation, export
from dpbounds.ftrl.design.participation import encoder_sensitivity, sensitivity
from dpbounds.privacy import gaussian_epsilon

PATTERNS = (Participation.single(), Participation.cyclic(3, 8), Participation.min_separation(3, 6))


@pytest.mark.parametrize("participation", PATTERNS, ids=lambda one: one.kind)
def test_sensitivity_by_brute_force(participation):
    """||C g|| over all patterns, unit gradients of one sign, where C is positive."""
    encoder = coefficients_of(np.array([1.0, 0.5, 0.25]), 20, noise_multiplier=1.0).encoder
    if participation.kind == "single":
        patterns = [[i] for i in range(20)]
    elif participation.kind == "cyclic":
        patterns = [list(range(offset, 20, 8)) for offset in range(8)]
    else:
        patterns = [[i, j, k] for i in range(20) for j in range(i + 6, 20) for k in range(j + 6, 20)]
    expected = max(np.linalg.norm(encoder[:, pattern].sum(axis=1)) for pattern in patterns)
    assert float(encoder_sensitivity(encoder, participation)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "participation", (Participation.single(), Participation.cyclic(4, 16)), ids=lambda one: one.kind
)
def test_exported_designs_are_proved_and_what_is_a_little_less_is_refuted(participation):
    design = export(Blt((0.9,), (0.25,)), 64, "npz", rho=0.5, participation=participation)
    found = coefficients_of(
        design.stream.encoder(), 64, noise_multiplier=design.noise_multiplier, participation=participation
    )
    assert float(encoder_sensitivity(found.encoder, participation)) == pytest.approx(
        float(sensitivity(Blt((0.9,), (0.25,)), 64, participation)), rel=1e-13
    )
    epsilon = float(gaussian_epsilon(1.0, 1e-6))
    for claim in ({"rho": 0.5}, {"mu": 1.0}, (epsilon, 1e-6)):
        assert judged(found, promise_of(claim), "zero-out").proved
    for claim in ({"rho": 0.4999}, {"mu": 0.9999}, (epsilon * 0.9999, 1e-6)):
        verdict = judged(found, promise_of(claim), "zero-out")
        assert verdict.refuted and not verdict.proved
    assert judged(found, promise_of({"rho": 2.0}), "replace-one").proved
    assert judged(found, promise_of({"rho": 1.99}), "replace-one").refuted
    with pytest.raises(DomainError, match="zero-out or replace-one"):
        judged(found, promise_of({"rho": 1.0}), "add-remove")
    with pytest.raises(DomainError, match="purely private"):
        judged(found, promise_of(3.0), "zero-out")


def test_an_upper_bound_of_the_sensitivity_refutes_nothing():
    found = coefficients_of(
        np.array([1.0, -0.6, 0.3, 0.1]), 12, noise_multiplier=1.0, participation=Participation.min_separation(3, 2)
    )
    verdict = judged(found, promise_of({"mu": 0.1}), "zero-out")
    assert not verdict.refuted and not verdict.proved and verdict.low == 0.0 and "upper" in verdict.rule


def test_events():
    promise = promise_of((4.0, 1e-6))
    fixed = GaussianEvent(kind="fixed", noise_multiplier=2.0, steps=50, epochs=4)
    assert event_interval(fixed, promise) == pytest.approx([float(gaussian_epsilon(1.0, 1e-6))] * 2)
    every = GaussianEvent(kind="gaussian", noise_multiplier=2.0, steps=4)
    assert event_interval(every, promise_of({"rho": 1.0})) == pytest.approx([0.5, 0.5])
    low, high = event_interval(event_of({"kind": "shuffled", "noise_multiplier": 1.0, "steps": 20}), promise)
    assert 0 < low < high == pytest.approx(float(gaussian_epsilon(1.0, 1e-6)))
    for wrong in ({}, {"kind": "other", "noise_multiplier": 1}, {"kind": "fixed", "noise_multiplier": 1, "code": "x"}):
        with pytest.raises(DomainError):
            event_of(wrong)
    with pytest.raises(DomainError, match="delta > 0"):
        event_interval(GaussianEvent(kind="poisson", noise_multiplier=1.0, sampling_probability=0.1), promise_of(1.0))


def test_promises():
    assert promise_of((1.0, 1e-5)).text == "(1, 1e-05)-DP" and promise_of(2).pure
    assert promise_of({"mu": 2.0}).of_gaussian(3.0) == 3.0 and promise_of({"rho": 2.0}).gaussian_mu == 2.0
    assert promise_of((1.0, 1e-5)).delta_at(2.0) == 1e-5
    assert promise_of((1.0, 1e-5)).delta_at(0.5) == pytest.approx(1e-5 + math.expm1(0.5))
    for wrong in (
        None,
        "1",
        (1.0,),
        {"epsilon": 1.0, "rho": 2.0},
        {"rho": 1.0, "delta": 0.1},
        {},
        math.nan,
        -1.0,
        (1.0, 2.0),
    ):
        with pytest.raises(DomainError):
            promise_of(wrong)


def test_witnesses_are_evaluated_from_their_numbers_alone():
    claim = {"epsilon": 1.0, "delta": 1e-5}
    records = {
        "scale": {"family": "laplace", "sum": 150.0, "number": 1000, "shift": [1.0], "alpha": 1e-6},
        "declared": {"family": "gaussian", "shift": [2.0]},
        "singular": {"noise": 0.0, "moved": 1.0, "size": 1.0, "rounding": 1e-9},
        "event": {"hits": [900, 3], "trials": [1000, 1000], "alpha": 1e-6},
        "means": {"first": [0.0, 100.0, 100], "second": [3.0, 100.0, 100], "alpha": 1e-6},
        "scales": {"family": "gaussian", "sums": [2000.0, 1e6], "numbers": [1000, 1000], "outputs": 1, "alpha": 1e-6},
        "curve": {"event": {"kind": "gaussian", "noise_multiplier": 1.0}},
        "coefficients": {
            "encoder": [1.0, 0.5],
            "steps": 4,
            "noise_multiplier": 1.0,
            "participation": {"kind": "single"},
            "adjacency": "zero-out",
        },
    }
    for kind, numbers in records.items():
        content = json.loads(json.dumps(witness(kind, claim, **numbers)))
        assert evaluated(content).refuted, kind
        kept = {**content, "claim": {"epsilon": 100.0, "delta": 0.9}}
        assert kind == "singular" or not evaluated(kept).refuted, kind
        if kind != "declared":
            for name in numbers:
                with pytest.raises(DomainError, match="witness"):
                    evaluated({key: value for key, value in content.items() if key != name})


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    ("kind", "numbers", "name"),
    [
        ("scale", {"family": "gaussian", "sum": 150.0, "number": 1000, "shift": [1.0], "alpha": 1e-6}, "shift"),
        ("declared", {"family": "laplace", "shift": [2.0]}, "shift"),
        ("singular", {"noise": 0.0, "moved": 1.0, "size": 1.0, "rounding": 1e-9}, "moved"),
        ("means", {"first": [0.0, 100.0, 100], "second": [3.0, 100.0, 100], "alpha": 1e-6}, "second"),
    ],
)
def test_numbers_that_are_not_finite_refute_nothing(kind, numbers, name, number):
    """A witness is a file of anyone's: nan where a shift should be is no shift without end."""
    broken = [number, 100.0, 100] if name == "second" else [number] if name == "shift" else number
    with pytest.raises(DomainError, match="finite"):
        evaluated(json.loads(json.dumps(witness(kind, {"epsilon": 1.0, "delta": 1e-5}, **{**numbers, name: broken}))))


@pytest.mark.parametrize(
    "content",
    [None, 3, [], {}, "text", {"format": "other"}, {"format": "dpbounds audit witness 1", "kind": "exec", "claim": {}}],
)
def test_what_is_no_witness(content):
    with pytest.raises(DomainError):
        evaluated(content)
    loose = witness("event", {"epsilon": 1.0}, hits=[9, 0], trials=[10, 10], alpha=0.9)
    with pytest.raises(DomainError, match="alpha"):
        evaluated(loose)
    with pytest.raises(DomainError, match="kind"):
        witness("other", {})
