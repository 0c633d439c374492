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
