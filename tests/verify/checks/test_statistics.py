"""Error rates are measured at a level where they can be: the fraction of false alarms over many repetitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from verify.checks import statistics
from verify.checks.statistics import Moments

RNG = np.random.default_rng
REPETITIONS = 4000
# Largest count of false alarms at rate 1e-2 in REPETITIONS that a correct test exceeds with probability below 1e-8.
MOST_ALARMS = int(stats.binom.isf(1e-8, REPETITIONS, 1e-2))


def alarms(outcomes) -> int:
    return sum(outcome == "fails" for outcome in outcomes)


@settings(derandomize=True, deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30), st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30))
def test_moments_merge_to_those_of_all(first, second):
    merged, whole = (
        Moments.of(np.array(first)).merge(Moments.of(np.array(second))),
        Moments.of(np.array(first + second)),
    )
    scale = 1.0 + max(map(abs, first + second))
    assert merged.count == whole.count
    assert merged.mean == pytest.approx(whole.mean, abs=1e-12 * scale)
    assert merged.second == pytest.approx(whole.second, rel=1e-9, abs=1e-9 * scale**2)
    assert merged.third == pytest.approx(whole.third, rel=1e-9, abs=1e-9 * scale**3 * 60)


def test_moments_against_scipy():
    sample = RNG(0).gamma(2.0, size=500)
    moments = Moments.of(sample)
    assert moments.skewness == pytest.approx(stats.skew(sample))
    assert moments.standard_error == pytest.approx(stats.sem(sample))


def test_mean_test_keeps_its_rate_of_false_alarms():
    rng = RNG(1)
    outcomes = [
        statistics.mean_test(Moments.of(rng.normal(1, 1, 40)), 1.0, resolution=1, alpha=1e-2).outcome
        for _ in range(REPETITIONS)
    ]
    assert alarms(outcomes) <= MOST_ALARMS
    assert alarms(outcomes) >= 5, "an interval far too wide would never alarm"


def test_mean_test_decides_three_ways():
    sample = Moments.of(RNG(2).normal(10.0, 1.0, 4000))
    assert statistics.mean_test(sample, 10.0, resolution=0.05).outcome == "holds"
    assert statistics.mean_test(sample, 10.5, resolution=0.05).outcome == "fails"
    assert statistics.mean_test(sample, 10.0, resolution=1e-4).outcome == "unclear"


def test_skewed_samples_are_not_trusted():
    sample = Moments.of(RNG(3).chisquare(1, 50))
    assert statistics.mean_test(sample, 1.0, resolution=10.0, alpha=1e-4).outcome == "unclear"
    assert (
        statistics.mean_test(Moments.of(RNG(3).chisquare(1, 20_000)), 1.0, resolution=0.2, alpha=1e-4).outcome
        == "holds"
    )


def test_variance_test_is_exact():
    rng = RNG(4)
    outcomes = [
        statistics.variance_test(float(np.mean(rng.normal(0, 2, 9) ** 2)), 9, 4.0, resolution=100, alpha=1e-2).outcome
        for _ in range(REPETITIONS)
    ]
    assert 5 <= alarms(outcomes) <= MOST_ALARMS
    test = statistics.variance_test(4.0, 9, 4.0, resolution=1, alpha=0.1)
    assert (test.low, test.high) == pytest.approx((36 / stats.chi2.ppf(0.95, 9), 36 / stats.chi2.ppf(0.05, 9)))


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 10), (10, 10), (1, 1000)])
def test_proportion_interval_against_scipy(successes, trials):
    exact = stats.binomtest(successes, trials).proportion_ci(1 - 1e-4, method="exact")
    assert statistics.proportion_interval(successes, trials, alpha=1e-4) == pytest.approx(
        (exact.low, exact.high), abs=1e-12
    )


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_quantile_interval_covers_exactly(level):
    """P(interval misses) from the binomial law, computed and simulated."""
    n, alpha = 60, 0.02
    rng = RNG(5)
    missed = 0
    for _ in range(REPETITIONS):
        low, high = statistics.quantile_interval(rng.random(n), level, alpha=alpha)
        missed += not low <= level <= high
    assert missed <= stats.binom.isf(1e-8, REPETITIONS, alpha)
    assert missed >= 0.1 * alpha * REPETITIONS


def test_quantile_interval_is_infinite_for_small_samples():
    assert statistics.quantile_interval(np.arange(5.0), 0.5, alpha=1e-6) == (-math.inf, math.inf)


def test_trials_needed_gives_the_power():
    """A discrepancy of the resolution is seen with probability 1 - beta: measured at alpha = beta = 0.05."""
    n = statistics.trials_needed(1.0, 0.2, alpha=0.05, beta=0.05)
    rng = RNG(7)
    caught = alarms(
        statistics.mean_test(Moments.of(rng.normal(1.2, 1.0, n)), 1.0, resolution=0.2, alpha=0.05).outcome
        for _ in range(1000)
    )
    assert caught >= stats.binom.ppf(1e-8, 1000, 0.95)


def test_slope_of_a_power_law():
    x = np.geomspace(1, 100, 8)
    y = 3 * x**1.5 * np.exp(RNG(8).normal(0, 0.01, 8))
    slope = statistics.fit_slope(x, y, [0.01] * 8, alpha=1e-4)
    assert slope.low < 1.5 < slope.high
    assert slope.high - slope.low < 0.04
    assert statistics.slope_outcome(slope, 1.5, tolerance=0.05) == "holds"
    assert statistics.slope_outcome(slope, 1.7, tolerance=0.05) == "fails"
    assert statistics.slope_outcome(slope, 1.55, tolerance=0.05) == "unclear"


def test_slope_weights_the_precise_points():
    assert statistics.fit_slope([1, 10, 100], [1, 10, 500], [1e-3, 1e-3, 10.0]).slope == pytest.approx(1.0, abs=1e-3)


def test_slope_over_a_range_counts_all_points_alike():
    x, y, errors = np.array([1.0, 10.0, 100.0]), np.array([1.0, 10.0, 1000.0]), np.array([1e-3, 1e-3, 0.1])
    slope = statistics.fit_slope(x, y, errors, weighted=False)
    assert slope.slope == pytest.approx(np.polyfit(np.log(x), np.log(y), 1)[0])
    arm = statistics.normal_quantile(statistics.ALPHA) * np.hypot(errors[0], errors[2]) / (2 * np.log(10))
    assert slope.high - slope.slope == pytest.approx(arm)


@pytest.mark.parametrize("predicted", [math.nan, math.inf])
def test_predictions_that_are_not_numbers_fail(predicted):
    assert statistics.three_way(0.0, 1.0, predicted, 1.0) == "fails"
