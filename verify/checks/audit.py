"""What an adversary can tell: exact divergences between Gaussian output laws, and lower bounds on epsilon from
samples.
"""

from __future__ import annotations

import math

import numpy as np

from verify.checks.statistics import ALPHA, proportion_interval

# Singular directions below this, relative to the largest, carry no noise.
NO_NOISE = 1e-10


def gaussian_zcdp(shift: np.ndarray, covariance: np.ndarray) -> float:
    """The exact rho of N(0, covariance) against N(shift, covariance): D_alpha / alpha = shift^T covariance^+ shift / 2
    for every alpha.

    inf if the shift leaves the range of the covariance: the outputs are then told apart with certainty. `shift` of
    shape (n,) or (n, d) with the same covariance for each of the d columns.
    """
    values, vectors = np.linalg.eigh(np.asarray(covariance, dtype=float))
    coordinates = vectors.T @ np.asarray(shift, dtype=float).reshape(len(values), -1)
    energy = np.sum(coordinates**2, axis=1)
    noisy = values > NO_NOISE * values[-1]
    if energy[~noisy].sum() > NO_NOISE * energy.sum():
        return math.inf
    return float(0.5 * np.sum(energy[noisy] / values[noisy]))


def epsilon_lower_bound(hits: tuple[int, int], trials: tuple[int, int], delta: float, *, alpha: float = ALPHA) -> float:
    """Largest epsilon refuted: P1(event) <= e^epsilon P0(event) + delta for every event, with confidence 1 - alpha.

    `hits[b]` of `trials[b]` samples under input b fell into the event, which must be fixed before sampling.
    Clopper-Pearson bounds, half of alpha each.
    """
    high_0 = proportion_interval(hits[0], trials[0], alpha=alpha)[1]
    low_1 = proportion_interval(hits[1], trials[1], alpha=alpha)[0]
    return math.log((low_1 - delta) / high_0) if low_1 > delta else -math.inf
