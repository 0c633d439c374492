"""Bounds for clipping and what it does, by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpbounds import AccuracyError
from dpbounds.glm import clipping


def test_clipping_bounds_hold_by_simulation():
    """P(some record beyond) <= failure, by 2000 samples: a binomial test at 1e-9."""
    rng = np.random.default_rng(1)
    covariance = np.diag([2.0, 0.5, 0.1])
    radius = float(clipping.radius(covariance, 20, 0.2))
    x = rng.standard_normal((2000, 20, 3)) * np.sqrt(np.diag(covariance))
    beyond = int(np.sum(np.max(np.linalg.norm(x, axis=2), axis=1) > radius))
    assert beyond <= stats.binom.isf(1e-9, 2000, 0.2)
    bound = float(clipping.label_bound("poisson", 0.8, 20, 0.2))
    y = rng.poisson(np.exp(math.sqrt(0.8) * rng.standard_normal((2000, 20))))
    assert np.sum(y.max(axis=1) > bound) <= stats.binom.isf(1e-9, 2000, 0.2)


def test_shrinkage_by_simulation():
    """E ||x||^2 of clipped normals, to 6 standard errors."""
    rng = np.random.default_rng(2)
    squares = np.minimum(0.7 * rng.chisquare(4, 200_000), 4.0)
    stated = 4 * 0.7 * (1 - float(clipping.shrinkage(4, 2.0, variance=0.7)))
    assert abs(squares.mean() - stated) < 6 * squares.std() / math.sqrt(len(squares))


def test_labels_beyond_floats_are_refused():
    with pytest.raises(AccuracyError, match="smaller q"):
        clipping.label_bound("poisson", 400.0, 10, 0.1)
