"""Inverse Wishart moments and the law of one step against closed forms, Wishart draws and mpmath."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpbounds import DomainError
from dpbounds.ols import wishart


def test_one_dimension_in_closed_form():
    for k in (5, 6, 20):
        moments = wishart.inverse_moments(k, 1)
        assert moments.b1 == pytest.approx(k / (k - 2), rel=1e-14)
        assert moments.b2 == pytest.approx(k**2 / ((k - 2) * (k - 4)), rel=1e-14)
        law, chi = wishart.contraction(k, 1, 0.7), stats.chi2(k)
        for level in (0.04, 0.8, 4.0):
            root = math.sqrt(level)
            most = chi.cdf(0.7 * k / (1 - root)) if root < 1 else 1.0
            assert law.cdf(level) == pytest.approx(most - chi.cdf(0.7 * k / (1 + root)), abs=1e-13)


def test_entrywise_against_draws():
    rng, (k, d) = np.random.default_rng(1), (16, 3)
    sketches = rng.standard_normal((100_000, k, d))
    inverses = np.linalg.inv(sketches.transpose(0, 2, 1) @ sketches / k)
    moments, Q = wishart.inverse_moments(k, d), np.array([[1.0, 0.3, 0.0], [0.3, -0.5, 0.2], [0.0, 0.2, 2.0]])
    stated = moments.c1 * Q + moments.c2 * np.trace(Q) * np.eye(d)
    for samples, mean in ((inverses, moments.b1 * np.eye(d)), (inverses @ Q @ inverses, stated)):
        error = samples.std(axis=0) / math.sqrt(len(samples))
        assert (np.abs(samples.mean(axis=0) - mean) <= 7 * error).all()  # 18 means, normal to 1e-8 at k = d + 13
        assert (error <= 0.02).all()


@pytest.mark.parametrize(("k", "d", "step"), [(7, 7, 1.0), (9, 2, 0.5), (40, 30, 0.2), (60, 10, 1.0)])
def test_the_law_of_a_step_by_draws(k, d, step):
    rng = np.random.default_rng(k)
    sketches = rng.standard_normal((4000, k, d))
    unit = np.ones(d) / math.sqrt(d)
    moved = np.linalg.solve(sketches.transpose(0, 2, 1) @ sketches / k, np.broadcast_to(unit[:, None], (4000, d, 1)))
    left = ((unit - step * moved[:, :, 0]) ** 2).sum(axis=1)
    law = wishart.contraction(k, d, step)
    assert stats.kstest(left, np.vectorize(law.cdf)).pvalue > 1e-9
    assert law.cdf(law.quantile(0.3)) == pytest.approx(0.3, abs=1e-9)


@pytest.mark.parametrize(("k", "d", "level"), [(60, 10, 0.25), (12, 2, 0.5), (12, 2, 1e6), (40, 30, 50.0), (6, 3, 0.1)])
def test_the_law_of_a_step_by_adaptive_quadrature(k, d, level):
    degrees = mpmath.mpf(k - d + 1)

    def integrand(q):
        w = k / q
        limit = (level - (1 - w) ** 2) / w**2
        if limit <= 0:
            return mpmath.mpf(0)
        below = mpmath.betainc((d - 1) / 2, (k - d + 2) / 2, 0, limit / (1 + limit), regularized=True)
        return q ** (degrees / 2 - 1) * mpmath.exp(-q / 2) / (2 ** (degrees / 2) * mpmath.gamma(degrees / 2)) * below

    root = mpmath.sqrt(level)
    low, high = k / (1 + root), k / (1 - root) if root < 1 else mpmath.mpf(20 * k)
    stated = mpmath.quad(integrand, [low + (high - low) * (mpmath.mpf(i) / 8) ** 2 for i in range(9)])
    assert wishart.contraction(k, d).cdf(level) == pytest.approx(float(str(stated)), abs=1e-9)


def test_the_mean_is_that_of_the_law_and_the_best_step_is_best():
    law = wishart.contraction(60, 10, 0.8)
    levels = np.linspace(0, 12, 4001)
    mean = np.trapezoid([1 - law.cdf(float(level)) for level in levels], levels)
    assert mean == pytest.approx(law.mean, rel=1e-3)
    means = [wishart.contraction(60, 10, law.best_step * factor).mean for factor in (0.999, 1.0, 1.001)]
    assert means[1] == min(means) == pytest.approx(law.least_mean, rel=1e-13)
    assert wishart.contraction(60, 10).mean == pytest.approx(0.39557, rel=1e-5)  # regression
    assert law.least_mean == pytest.approx(0.18713, rel=1e-4)


@pytest.mark.parametrize(("k", "b1", "c1"), [(3, False, False), (4, False, False), (5, True, False), (7, True, True)])
def test_moments_that_do_not_exist_are_infinite_and_never_negative(k, b1, c1):
    moments = wishart.inverse_moments(k, 3)
    assert (math.isfinite(moments.b1), math.isfinite(moments.c1)) == (b1, c1)
    assert moments.b1 > 0 and moments.c1 > 0 and moments.c2 > 0 and moments.b2 > 0
    law = wishart.contraction(k, 3)
    assert math.isfinite(law.mean) == c1 and law.mean > 0 and 0 < law.least_mean <= 1
    assert 0 < law.quantile(0.5) < math.inf


def test_a_sketch_of_the_largest_sizes_keeps_its_law():
    law = wishart.contraction(10_000, 20)
    assert law.cdf(1e-4) == pytest.approx(0, abs=1e-9) and law.cdf(0.1) == pytest.approx(1, abs=1e-11)
    assert law.cdf(1e8) == pytest.approx(1, abs=1e-11) and law.quantile(0.5) == pytest.approx(19.4 / 1e4, rel=0.05)


def test_the_largest_sketches_do_not_cancel():
    for k in (10**9, 10**13, 10**17):
        law = wishart.contraction(k, 5)
        assert law.mean == pytest.approx(6 / k, rel=1e-7)
        assert law.least_mean == pytest.approx(6 / k, rel=1e-7)


def test_what_makes_no_sense_is_refused_by_name():
    refused: Any = (((2, 3), "k"), ((2.5, 1), "k"), ((5, 0), "d"))
    for arguments, named in refused:
        with pytest.raises(DomainError, match=f"^{named} = "):
            wishart.inverse_moments(*arguments)
    with pytest.raises(DomainError, match=r"^step = "):
        wishart.contraction(20, 3, 0.0)
    with pytest.raises(DomainError, match=r"^level = "):
        wishart.contraction(20, 3).cdf(-1.0)
