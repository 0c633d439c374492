"""Mechanisms of DP-FTRL by name: what they refuse, and the damping that is usual."""

from __future__ import annotations

import pytest

from dpbounds import DomainError
from dpbounds.ftrl.correlations import NuCorrelation
from dpbounds.ftrl.mechanisms import named_correlation


@pytest.mark.parametrize("mechanism", ["best-nu", "optimal"])
def test_what_is_searched_for_has_no_correlation_yet(mechanism):
    with pytest.raises(DomainError, match="the others are searched for"):
        named_correlation(mechanism, 0.1)


@pytest.mark.parametrize("mechanism", ["nu", "damped-anti-pgd"])
@pytest.mark.parametrize("damping", [0.0, -0.1, 1.5, float("nan")])
def test_a_damping_outside_its_range_is_refused(mechanism, damping):
    with pytest.raises(DomainError, match="nu = "):
        named_correlation(mechanism, 0.1, damping=damping)


def test_the_usual_damping_is_the_smallest_decay():
    usual = named_correlation("nu", 0.05)
    assert isinstance(usual, NuCorrelation) and usual.nu == 0.05
