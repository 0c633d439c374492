"""The length of a Gaussian vector: scipy's tables, conditioning by quadrature, and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import ndtr

from dpbounds import DomainError
from dpbounds.gaussian_norm import norm_cdf, norm_mean, norm_quantile


@pytest.mark.parametrize("p", [2, 3, 20])
@pytest.mark.parametrize("offset", [0.0, 0.3, 5.0, 300.0])
@pytest.mark.parametrize("level", [1e-6, 0.1, 0.5, 0.9, 1 - 1e-6])
def test_equal_variances_are_noncentral_chi_squares(p, offset, level):
    law = stats.chi2(p) if offset == 0 else stats.ncx2(p, offset**2)
    radius = math.sqrt(law.ppf(level))
    direction = np.ones(p) / math.sqrt(p)
    rotation = np.linalg.qr(np.random.default_rng(p).normal(size=(p, p)))[0]
    found = norm_cdf(1e-3 * offset * direction, 1e-6 * rotation @ rotation.T, 1e-3 * radius)
    assert float(found) == pytest.approx(law.cdf(radius**2), abs=2e-9)


def by_conditioning(mean, variances, radius: float) -> float:
    """P(||x|| <= radius) for two coordinates: the second is Gaussian given the first."""
    u = np.linspace(-1, 1, 200001)
    x = radius * np.sin(0.5 * math.pi * u)
    rest = np.sqrt(np.maximum(radius**2 - x**2, 0.0))
    sd = math.sqrt(variances[1])
    inside = ndtr((rest - mean[1]) / sd) - ndtr((-rest - mean[1]) / sd)
    weight = stats.norm.pdf(x, mean[0], math.sqrt(variances[0])) * radius * 0.5 * math.pi * np.cos(0.5 * math.pi * u)
    return float((weight * inside).sum() * (u[1] - u[0]))


@pytest.mark.parametrize("variances", [(1.0, 0.3), (1.0, 1e-3), (1.0, 1e-8)])
@pytest.mark.parametrize("mean", [(0.0, 0.0), (0.0, 1.0), (2.0, -0.5), (0.0, 30.0)])
def test_unequal_variances_by_conditioning(variances, mean):
    centre = math.sqrt(sum(variances) + mean[0] ** 2 + mean[1] ** 2)
    for radius in (0.8 * centre, centre, 1.1 * centre):
        found = norm_cdf(np.array(mean), np.diag(variances), radius)
        assert float(found) == pytest.approx(by_conditioning(mean, variances, radius), abs=2e-8)


@given(st.integers(0, 10**6))
@settings(derandomize=True, deadline=None, max_examples=40)
def test_ill_conditioned_laws_by_simulation(seed):
    """A binomial test of the median, false alarm 1e-9."""
    generator = np.random.default_rng(seed)
    p = int(generator.integers(2, 9))
    variances = 10.0 ** generator.uniform(-8, 0, p)
    mean = generator.normal(size=p) * 10.0 ** generator.uniform(-4, 1.5)
    median = norm_quantile(mean, np.diag(variances))
    lengths = np.linalg.norm(mean + np.sqrt(variances) * generator.normal(size=(20000, p)), axis=1)
    assert stats.binomtest(int((lengths <= median).sum()), 20000, 0.5).pvalue > 1e-9
    expected = float(norm_mean(mean, np.diag(variances)))
    assert lengths.mean() == pytest.approx(expected, abs=7 * lengths.std() / math.sqrt(20000) + 1e-12)


def test_means_in_closed_form():
    for p in (1, 2, 7):
        chi = math.sqrt(2) * math.gamma((p + 1) / 2) / math.gamma(p / 2)
        assert float(norm_mean(np.zeros(p), 9 * np.eye(p))) == pytest.approx(3 * chi, rel=1e-10)
    assert float(norm_mean(np.array([3.0, 4.0]), np.zeros((2, 2)))) == pytest.approx(5, rel=1e-10)
    assert float(norm_mean(np.array([2.0, 0.0]), 0.25 * np.eye(2))) == pytest.approx(stats.rice(4, scale=0.5).mean())
    folded = stats.foldnorm(1.5, scale=2).mean()
    assert float(norm_mean(np.array([3.0]), np.array([[4.0]]))) == pytest.approx(folded, rel=1e-10)
    assert float(norm_mean(np.zeros(2), np.zeros((2, 2)))) == 0


def test_one_coordinate_and_degenerate_covariances():
    assert float(norm_cdf(np.array([1.0]), np.array([[4.0]]), 2.0)) == pytest.approx(ndtr(0.5) - ndtr(-1.5), rel=1e-13)
    flat = np.diag([1.0, 0.0])
    expected = ndtr(0.8) - ndtr(-0.8)
    assert float(norm_cdf(np.array([0.0, 0.6]), flat, 1.0)) == pytest.approx(expected, abs=2e-9)
    assert float(norm_cdf(np.array([0.0, 0.6]), flat, 0.5)) == 0
    still = np.zeros((2, 2))
    assert (
        float(norm_cdf(np.array([3.0, 4.0]), still, 4.99)) == 0
        and float(norm_cdf(np.array([3.0, 4.0]), still, 5.01)) == 1
    )
    assert norm_quantile(np.array([3.0, 4.0]), still) == pytest.approx(5, rel=1e-8)
    assert norm_quantile(np.zeros(2), still) == 0
    assert norm_quantile(np.zeros(1), np.array([[4.0]])) == pytest.approx(2 * stats.norm.ppf(0.75), rel=1e-9)


def test_mixtures_are_averages():
    means, covariances = np.array([[0.0, 0.0], [3.0, 1.0]]), np.array([np.eye(2), 0.2 * np.eye(2)])
    parts = norm_cdf(means, covariances, 2.0)
    assert parts.shape == (2,)
    for part, mean, covariance in zip(parts, means, covariances, strict=True):
        assert part == pytest.approx(float(norm_cdf(mean, covariance, 2.0)), abs=1e-12)
    median = norm_quantile(means, covariances)
    assert norm_cdf(means, covariances, median).mean() == pytest.approx(0.5, abs=1e-8)


def test_bad_arguments_are_refused():
    for call in (
        lambda: norm_cdf(np.zeros(2), np.eye(2), -1.0),
        lambda: norm_cdf(np.zeros(2), np.diag([1.0, -0.1]), 1.0),
        lambda: norm_cdf(np.array([np.inf, 0.0]), np.eye(2), 1.0),
        lambda: norm_quantile(np.zeros(2), np.eye(2), 1.0),
    ):
        with pytest.raises(DomainError):
            call()
