"""Intervals for users: they hold what they say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbounds import DomainError
from verify.checks.intervals import LEAST_SAMPLES, mean_interval, median_interval


def test_intervals_hold_the_truth_as_often_as_they_say():
    """400 exponential samples of 101: the counts are binomial with p >= 0.95, and at most 0.97 for these sizes."""
    rng, hits = np.random.default_rng(0), [0, 0]
    for _ in range(400):
        samples = rng.exponential(size=101)
        for at, (found, truth) in enumerate(((median_interval(samples), math.log(2)), (mean_interval(samples), 1.0))):
            hits[at] += found.low <= truth <= found.high
    # P(Bin(400, 0.95) < 340) < 1e-12; Student's interval of a skew law covers about 0.94.
    assert min(hits) >= 340


def test_runs_that_diverge_have_infinite_ends():
    samples = [1.0] * 5 + [math.inf] * 15
    assert median_interval(samples) == (math.inf, 1.0, math.inf) or median_interval(samples).value == math.inf
    assert mean_interval(samples) == (math.inf, -math.inf, math.inf)


@pytest.mark.parametrize("samples", [[1.0] * (LEAST_SAMPLES - 1), [math.nan] * 20, [[1.0] * 20] * 2])
def test_samples_that_give_no_interval(samples):
    for interval in (median_interval, mean_interval):
        with pytest.raises(DomainError, match="samples"):
            interval(samples)
