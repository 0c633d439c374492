"""What is exported, against the mechanism's own matrices; what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from dpbounds import DomainError, privacy
from dpbounds.ftrl import correlations
from dpbounds.ftrl.design import Bands, Blt, Objective, Participation, ScaledBlt, unit_columns
from dpbounds.ftrl.design.exports import ADJACENCY, export
from dpbounds.ftrl.design.streams import NoiseStream, noise_stream, state_space
from tests.exports.designs import BLT, DESIGNS, ROWS, STEPS


@pytest.mark.parametrize("name", DESIGNS)
def test_the_encoder_of_what_is_exported(name):
    stream = noise_stream(DESIGNS[name], STEPS)
    expected = DESIGNS[name].encoder(STEPS)
    np.testing.assert_allclose(stream.encoder(), expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    assert stream.scaled == ("unit" in name or "scaled" in name)


@pytest.mark.parametrize("name", DESIGNS)
def test_state_space_is_the_decoder(name):
    """Impulse by impulse."""
    found, space = np.zeros((STEPS, STEPS)), state_space(DESIGNS[name], STEPS)
    for k in range(STEPS):
        state = np.zeros(space.size)
        for t in range(STEPS):
            found[t, k] = space.own[t] * (t == k) + space.read[t] @ state
            state = space.advanced(state) + space.write[t] * (t == k)
    expected = DESIGNS[name].matrix(STEPS)
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())


def test_forms_and_memory():
    sizes = {
        name: (noise_stream(DESIGNS[name], STEPS).form, noise_stream(DESIGNS[name], STEPS).buffers) for name in DESIGNS
    }
    assert sizes["independent"] == ("toeplitz", 0)
    assert sizes["scaled BLT"] == ("blt", 3)
    assert sizes["bands of both signs, unit columns"] == ("toeplitz", 2)
    assert sizes["dense bands"] == ("columns", 3)
    assert sizes["dense"] == ("columns", STEPS - 1)
    assert noise_stream(Blt((), ()), STEPS).buffers == 0


@pytest.mark.parametrize(
    "participation", [Participation.single(), Participation.min_separation(3, 5), Participation.cyclic(3, 6)]
)
def test_privacy_is_that_of_one_gaussian_event(participation):
    found = export(DESIGNS["scaled BLT"], STEPS, "opacus", rho=0.2, participation=participation)
    assert found.noise_multiplier / float(found.sensitivity) == pytest.approx(found.event_multiplier, rel=1e-14)
    assert found.rho == pytest.approx(0.2, rel=1e-14)
    assert float(found.epsilon(1e-6)) == pytest.approx(float(privacy.gaussian_epsilon(np.sqrt(0.4), 1e-6)), rel=1e-12)
    assert found.adjacency == ADJACENCY == "zero-out"


def test_what_the_scalings_are_worth():
    objective = Objective(np.array([1.0, 0.3]), STEPS, 0.2)
    found = export(DESIGNS["BLT, unit columns"], STEPS, "jax-privacy", objective=objective)
    assert found.value == pytest.approx(float(objective.value(DESIGNS["BLT, unit columns"])))
    assert found.unscaled_value == pytest.approx(float(objective.value(BLT)))
    assert found.value < found.unscaled_value
    assert float(found.unscaled_sensitivity) == pytest.approx(BLT.sensitivity(STEPS))
    assert found.event_multiplier == 1.0
    plain = export(BLT, STEPS, "jax-privacy", objective=objective)
    assert plain.value == plain.unscaled_value


def test_bad_exports_are_refused():
    for arguments, options, parameter in (
        ((BLT, STEPS, "tensorflow"), {}, "consumer"),
        ((BLT, 0, "npz"), {}, "steps"),
        ((BLT, STEPS, "npz"), {"rho": 0.1, "event_multiplier": 2.0}, "event_multiplier"),
        ((BLT, STEPS, "npz"), {"rho": -0.1}, "rho"),
        ((BLT, STEPS, "npz"), {"objective": Objective(np.ones(1), 5, 0.1)}, "objective"),
        ((ScaledBlt(BLT, STEPS, ROWS), STEPS + 1, "npz"), {}, "steps"),
        ((BLT, STEPS, "npz"), {"participation": Participation.min_separation(5, 10)}, "participation"),
        ((correlations.tree_aggregation(STEPS), STEPS, "npz"), {}, "correlation"),
        ((correlations.full_honaker(STEPS), STEPS, "npz"), {}, "correlation"),
        (("BLT", STEPS, "npz"), {}, "correlation"),
    ):
        with pytest.raises(DomainError, match=parameter):
            export(*arguments, **options)


def test_bad_streams_are_refused():
    ones = np.ones(4)
    good = {
        "name": "",
        "steps": 4,
        "form": "toeplitz",
        "before": ones,
        "after": ones,
        "coefficients": np.array([1.0, 0.5]),
    }
    assert NoiseStream(**good).encoder()[1, 0] == 0.5
    for options, parameter in (
        ({"form": "blt"}, "form"),
        ({"form": "circulant"}, "form"),
        ({"coefficients": np.ones((4, 2))}, "coefficients"),
        ({"coefficients": None}, "form"),
        ({"before": np.ones(3)}, "before"),
        ({"after": np.array([1.0, 0.0, 1.0, 1.0])}, "after"),
        ({"after": np.array([1.0, np.nan, 1.0, 1.0])}, "after"),
    ):
        with pytest.raises(DomainError, match=parameter):
            NoiseStream(**{**good, **options})


def test_unit_columns_of_bands_whose_first_coefficient_is_not_1():
    """L_tt divides: c_0 = 2 and both signs."""
    mechanism = unit_columns(Bands((2.0, -0.7, 0.3)), STEPS)
    stream = noise_stream(mechanism, STEPS)
    np.testing.assert_allclose(np.linalg.norm(stream.encoder(), axis=0), 1.0, rtol=1e-14)
