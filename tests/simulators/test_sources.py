"""Noise of a release: both sources have one law, and OpenDP's map agrees with the budget."""

from __future__ import annotations

import importlib.util
import math

import numpy as np
import pytest
from scipy import stats

from dpbounds import DomainError
from simulators import opendp
from simulators.sources import GaussianSource, OpenDPSource

INSTALLED = importlib.util.find_spec("opendp") is not None
needs_opendp = pytest.mark.skipif(not INSTALLED, reason="needs the extra opendp")
# Of each test below, false alarms have probability 1e-8 at most.
ALPHA = 1e-8


def sources() -> list:
    return [GaussianSource(np.random.default_rng(3)), *([OpenDPSource()] if INSTALLED else [])]


@pytest.mark.parametrize("source", sources(), ids=lambda source: type(source).__name__)
def test_the_law_is_normal_with_the_scale_asked_for(source):
    """Kolmogorov-Smirnov with 4000 draws sees a scale that is 15 % off; the variance one that is 10 % off."""
    scale, values = 2.5, np.array([1.0, -3e6, 0.0, 1e-9])
    draws = np.stack([source.vector(values, scale) for _ in range(1000)]) - values
    assert stats.kstest(draws.ravel() / scale, "norm").pvalue > ALPHA
    assert stats.chi2.cdf((draws**2).sum() / scale**2, 4000) == pytest.approx(0.5, abs=0.5 - ALPHA)
    correlations = np.corrcoef(draws.T)[np.triu_indices(4, 1)]
    assert np.abs(correlations).max() < 6 / math.sqrt(1000)


@pytest.mark.parametrize("source", sources(), ids=lambda source: type(source).__name__)
def test_symmetric_noise_has_half_the_variance_off_the_diagonal(source):
    draws = np.stack([source.symmetric(np.eye(3), 1.5) for _ in range(1000)]) - np.eye(3)
    assert np.array_equal(draws, np.swapaxes(draws, 1, 2))
    rows, columns = np.triu_indices(3)
    scale = np.where(rows == columns, 1.5, 1.5 / math.sqrt(2))
    standard = draws[:, rows, columns] / scale
    for column in standard.T:
        assert stats.chi2.cdf((column**2).sum(), 1000) == pytest.approx(0.5, abs=0.5 - ALPHA)


@pytest.mark.parametrize("source", sources(), ids=lambda source: type(source).__name__)
def test_sums_and_outer_products_are_those_of_the_records(source):
    rows = np.random.default_rng(0).standard_normal((4, 50))
    np.testing.assert_allclose(source.sums(rows), rows.sum(axis=1), rtol=0, atol=1e-12)
    np.testing.assert_allclose(source.gram(rows), rows @ rows.T, rtol=0, atol=1e-12)


@needs_opendp
def test_sums_for_opendp_are_correctly_rounded():
    rows = np.array([[1e16, 1.0, -1e16, 1.0]])
    assert OpenDPSource().sums(rows) == [2.0]


@needs_opendp
def test_opendp_noise_is_never_the_same():
    first, second = (OpenDPSource().vector(np.zeros(5), 1.0) for _ in range(2))
    assert not np.array_equal(first, second)


@needs_opendp
@pytest.mark.parametrize(("values", "scale"), [([math.nan], 1.0), ([1.0], 0.0), ([1.0], -1.0), ([], 1.0)])
def test_what_opendp_is_not_given(values, scale):
    with pytest.raises(DomainError):
        opendp.measured(np.array(values), scale)


def test_without_the_extra_it_says_so(monkeypatch):
    monkeypatch.setattr(opendp, "find_spec", lambda name: None)
    with pytest.raises(DomainError, match="pip install"):
        OpenDPSource()
