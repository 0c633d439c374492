"""The lower bound in balls of how often Proposition 4 fails, against the quadrature by the shipped scales."""

from __future__ import annotations

import pytest

from dpbounds.arithmetic import FLOATS
from verify.papers.ols.paper.s4_1_adassp import MULTIPLE, _at_least, exceedance


@pytest.mark.parametrize("failure", [1e-8, 1e-10, 1e-12])
def test_the_bound_is_below_the_probability(failure):
    share = float(_at_least(FLOATS, failure)) / exceedance(failure, MULTIPLE)
    assert 0.01 < share < 1.0
