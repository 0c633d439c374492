"""Healthy mechanisms raise no alarm, and what is off by as much as is stated is seen."""

from __future__ import annotations

from inspect import signature

import numpy as np
import pytest

from dpbounds.audit import Box, Pair, audit, gaussian
from dpbounds.audit.testing import assert_private
from dpbounds.privacy import gaussian_epsilon
from tests.power.audits import ALARMS, healthy, verdicts

ROWS = list(healthy())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize("seed", [11, 12])
def test_no_false_alarm(row, seed):
    """Each audit alarms with probability 1e-6: all of these together with less than 1e-4."""
    assert verdicts(row, seed, 4.0) not in ALARMS


@pytest.mark.parametrize("law", ["discrete", "unknown"])
def test_outputs_that_hardly_ever_change_are_not_taken_for_constants(law):
    """Ten categories, each kept but once in a thousand: most runs are equal, which is what epsilon allows."""

    def kept(data, seed):
        rng = np.random.default_rng(seed)
        return 0.37 * (int(data[0]) if rng.random() >= 1e-3 else int(rng.integers(10)))

    epsilon, box = float(np.log((1 - 0.9e-3) / 1e-4)) + 1e-6, Box(shape=(1,), low=0, high=9, integer=True)
    assert audit(kept, epsilon, adjacency="replace-one", domain=box, law=law, seconds=4.0).verdict not in ALARMS


@pytest.mark.parametrize("claim", [{"rho": 0.5}, {"mu": 1.0}])
def test_events_are_not_held_against_rho_or_mu(claim):
    """A shift of 1 folded at 0: an event shows a loss above .5, which rho = .5 allows."""

    def folded(data, seed):
        return abs(float(data[0] > 0) + np.random.default_rng(seed).standard_normal())

    settings = {"adjacency": "zero-out", "law": gaussian(), "seconds": 4.0}
    for domain in (Box(shape=(1,), low=0, high=1), [Pair(np.ones(1), np.zeros(1), "folded")]):
        found = audit(folded, claim, domain=domain, **settings)
        assert found.verdict == "unclear" and "epsilon" in found.needs
    allowed = float(gaussian_epsilon(1.0, 1e-3)), 1e-3  # folding is a function of what is released
    assert audit(folded, allowed, domain=[Pair(np.ones(1), np.zeros(1), "folded")], **settings).verdict not in ALARMS


@pytest.mark.parametrize(("error", "outputs", "resolution"), [(0.05, 12_743, 0.05), (0.01, 318_552, 0.01)])
def test_a_scale_that_is_short_is_refuted(error, outputs, resolution):
    """Missed with probability 1e-3 at most each."""

    def run(data, seed):
        total = data.sum(axis=0) / max(1.0, float(np.linalg.norm(data)))
        return total + (1 - error) * np.random.default_rng(seed).standard_normal(outputs)

    box = Box(shape=(1, outputs), low=-1, high=1)
    found = audit(
        run, {"mu": 1.0}, adjacency="zero-out", domain=box, law=gaussian(), resolution=resolution, seconds=60.0
    )
    assert found.verdict == "refuted"


def test_one_line_for_a_librarys_tests():
    (row, *_) = ROWS

    def broken(data, seed):
        return 2 * row.run(data, seed) - np.random.default_rng(seed).standard_normal(2000)

    settings = {"adjacency": row.adjacency, "domain": row.domain, "law": gaussian()}
    assert_private(row.run, row.claim, **settings)
    with pytest.raises(AssertionError, match="refuted"):
        assert_private(broken, row.claim, **settings)
    assert list(signature(assert_private).parameters) == list(signature(audit).parameters)
    with pytest.raises(TypeError, match="adjacency"):
        assert_private(row.run, row.claim)  # pyright: ignore[reportCallIssue]
