"""What would make a set bounded: more budget, or more records, read off the private first stage of a release.

The first-stage statistic less q is the signal, of which more budget or more records make more: at t times the budget it
is (v + w) / (v + w / t²) times as large, at k times the records k² (v + w) / (k v + w) times, with v the variance of
the first-stage moments and w = s1² that of their noise. The set is bounded in about half of all releases where the
signal reaches the critical value less q.

>>> import numpy as np
>>> from dpbounds.iv.confidence.release import MomentRelease
>>> release = MomentRelease(first=np.array([9.0, 9.0]), second=16.0 * np.eye(2), first_scale=4.0, second_scale=5.0,
...                         n=100, outcome_weight=1.0, regressor_weights=np.ones(1), adjacency="replace-one")
>>> round(bounded_set_budget(release, 0.5), 3), bounded_set_records(release)
(2.621, 158)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import moderate
from dpbounds.iv.confidence.anderson_rubin import first_stage
from dpbounds.iv.confidence.release import Release


class _Signal(NamedTuple):
    """The first-stage signal and what it has to reach; the variance of its moments, per instrument, and the noise's."""

    signal: float
    needed: float
    variance: float
    noise: float


@typed
def bounded_set_budget(release: Release, mu: float, level: float = 0.95) -> float | None:
    """The budget mu' at which half of all releases of these records would have a bounded set; `mu` is that of this one.

    None where the signal is hidden by the noise, or where no budget is enough.
    """
    mu, found = moderate("mu", mu, "a budget is above 0"), _signal(release, level)
    if found.signal <= 0:
        return None
    inside = found.signal * (found.variance + found.noise) / found.needed - found.variance
    return mu * math.sqrt(found.noise / inside) if inside > 0 else None


@typed
def bounded_set_records(release: Release, level: float = 0.95) -> int | None:
    """The number of records at which half of all releases with this budget would have a bounded set.

    The larger root of k² signal (v + w) - k needed v - needed w = 0, times n; None where the signal is hidden.
    """
    found = _signal(release, level)
    if found.signal <= 0:
        return None
    a = found.signal * (found.variance + found.noise)
    b, c = -found.needed * found.variance, -found.needed * found.noise
    return math.ceil((-b + math.sqrt(b * b - 4 * a * c)) / (2 * a) * release.n)


def _signal(release: Release, level: float) -> _Signal:
    found, q = first_stage(release, level=level), release.q
    variance = float(np.trace(release.signal[q:, q:])) / q
    return _Signal(found.statistic - q, found.critical - q, variance, release.mean_scale**2)
