"""The covariances of Section 6, and averages over many public projections."""

from __future__ import annotations

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.glm import LINKS, sign_design
from simulators.glm import TwoPointModel, condensed, random_covariance


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("c", [0.1, 1.0, 5.0])
def test_condensed_averages_are_those_of_all_values(name, c):
    values = np.random.default_rng(1).standard_normal(30_000)
    points, shares = condensed(values)
    assert len(points) < 5000
    assert shares.sum() == pytest.approx(1.0, abs=1e-12)
    for g in (LINKS[name].slope, np.square):
        assert g(c * points) @ shares == pytest.approx(g(c * values).mean(), rel=1e-8)


def test_few_values_are_kept():
    values = np.array([3.0, -1.0, 0.5])
    points, shares = condensed(values)
    assert np.array_equal(points, values)
    assert shares.tolist() == [1 / 3] * 3


def test_condensed_values_far_from_zero_keep_mean_and_variance():
    values = 1e6 + np.random.default_rng(2).standard_normal(20_000)
    points, shares = condensed(values)
    assert points @ shares - 1e6 == pytest.approx(values.mean() - 1e6, abs=1e-8)
    assert (points - 1e6) ** 2 @ shares == pytest.approx(np.mean((values - 1e6) ** 2), rel=1e-8)


def test_rotated_covariances_have_uniform_eigenvalues_and_full_rank():
    covariance = random_covariance("rotated", 6, np.random.default_rng(3))
    values = np.random.default_rng(3).uniform(0.0, 1.0, 6)
    assert np.linalg.eigvalsh(covariance) == pytest.approx(np.sort(values), abs=1e-12)
    assert np.abs(covariance - np.diag(np.diag(covariance))).max() > 0.01
    assert np.array_equal(random_covariance("identity", 3, np.random.default_rng(0)), np.eye(3))


def test_long_arrays_give_what_short_ones_give():
    z = np.random.default_rng(4).standard_normal((3, 20_000))
    for link in LINKS.values():
        assert np.array_equal(link.slope(z)[:, ::5000], link.slope(z[:, ::5000].copy()))


def test_counted_patterns_allow_more_records_than_drawn_ones():
    many = TwoPointModel(link=LINKS["poisson"], w=np.ones(3), n=10**12, m=10**12, design=sign_design(3))
    sums = many.sums(np.random.default_rng(5))
    assert sums.gram[0, 0] == pytest.approx(1e12 / 9)
    with pytest.raises(DomainError, match="n"):
        TwoPointModel(link=LINKS["poisson"], w=np.ones(17), n=10**12, m=100, design=sign_design(17))


@pytest.mark.parametrize(
    "call", [lambda g: random_covariance("dense", 3, g), lambda g: random_covariance("diagonal", 0, g)]
)
def test_refused(call):
    with pytest.raises(DomainError):
        call(np.random.default_rng(0))
