"""Intervals for a median or a mean from samples, at the level that a user reads: `statistics` has those of verdicts.

>>> median_interval(range(20)).value
9.5
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from dpbounds.errors import DomainError, within
from verify.checks.statistics import quantile_interval

# Below, order statistics give no interval at this level.
LEAST_SAMPLES = 10
LEVEL = 0.95


class Interval(NamedTuple):
    """What was found, and the ends between which the truth is."""

    value: float
    low: float
    high: float


def median_interval(samples: Sequence[float] | np.ndarray, level: float = LEVEL) -> Interval:
    """The sample median between two order statistics that hold the true one with probability `level` at least.

    For any law; samples may be inf (runs that diverge), and so may the ends. Raises `DomainError` for fewer than
    `LEAST_SAMPLES` samples, nan, or a level outside [0.5, 0.997].
    """
    ordered = _in_order(samples)
    low, high = quantile_interval(ordered, 0.5, alpha=1 - within("level", level, "[0.5, 0.997]"))
    middle = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return Interval(float(middle[0] if math.isinf(middle[0]) else sum(middle) / 2), float(low), float(high))


def mean_interval(samples: Sequence[float] | np.ndarray, level: float = LEVEL) -> Interval:
    """The sample mean and Student's interval: for means that exist, and samples without a heavy tail.

    Raises `DomainError` as `median_interval`.
    """
    values = _in_order(samples)
    level = within("level", level, "[0.5, 0.997]")
    if np.isinf(values).any():
        return Interval(math.inf, -math.inf, math.inf)
    mean, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
    reach = float(special.stdtrit(len(values) - 1, (1 + level) / 2)) * error
    return Interval(mean, mean - reach, mean + reach)


def _in_order(samples: Sequence[float] | np.ndarray) -> np.ndarray:
    values = np.sort(np.asarray(samples, dtype=float))
    if values.ndim != 1 or len(values) < LEAST_SAMPLES:
        raise DomainError("samples", f"an array of shape {values.shape}", f"a list of at least {LEAST_SAMPLES}")
    if np.isnan(values).any():
        raise DomainError("samples", "an array with nan", "without nan")
    return values
