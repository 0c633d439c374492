"""Small data sets, runs of two-stage descent, and the laws that samples are held against."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from simulators.engine import Experiment
from simulators.iv import FixedData, two_stage_descent

# False-alarm probability of one statistical assertion.
ALPHA = 1e-9


def data(n: int, q: int, p: int, seed: int = 0) -> FixedData:
    """Integers: small enough that sums are exact, large enough that some gradients are clipped."""
    generator = np.random.default_rng(seed)
    Z, X = generator.integers(-2, 3, (n, q)).astype(float), generator.integers(-2, 3, (n, p)).astype(float)
    X[:, : min(p, q)] += 2.0 * Z[:, : min(p, q)]
    return FixedData(instruments=Z, regressors=X, outcome=generator.integers(-3, 4, n).astype(float))


def experiment(problem, settings, trials: int = 4, algorithm=two_stage_descent) -> Experiment:
    return Experiment(algorithm=algorithm, problem=problem, settings=settings, block_trials=trials)


def is_standard_normal(values: np.ndarray) -> bool:
    """Kolmogorov's distance (Massart's bound) and the exact law of the sum of squares, each at half of ALPHA."""
    ordered, n = np.sort(values), len(values)
    grid = np.arange(n + 1) / n
    below = stats.norm.cdf(ordered)
    distance = max(np.max(grid[1:] - below), np.max(below - grid[:-1]))
    low, high = stats.chi2.ppf([ALPHA / 4, 1 - ALPHA / 4], n)
    return bool(distance <= math.sqrt(math.log(4 / ALPHA) / (2 * n)) and low <= np.sum(values**2) <= high)
