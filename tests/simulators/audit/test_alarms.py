"""Healthy mechanisms raise no alarm, and what is off by as much as is stated is seen."""

from __future__ import annotations

import numpy as np
import pytest

from dpbounds.audit import Box, audit, gaussian
from dpbounds.audit.testing import assert_private
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
