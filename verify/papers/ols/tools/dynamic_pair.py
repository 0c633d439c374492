"""Algorithm 5 on two neighbours that differ by a record along the bottom eigenvector: what its releases cost together.

With the record, of squared norm C², the joint eigenvalue is lambda; without it lambda - C². Both the released
eigenvalue (by C², whose noise is gamma / sqrt(k) C²) and the sketch's variance along that direction (leverage
C² / (lambda + eta²)) move as far as one record can move them.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import chdtrc, gammainc, stdtr

from dpbounds.ols import DynamicMixing

# The released eigenvalue in its own noise scales, about its mean: what lies beyond has probability 1e-15.
_Z, _STEP = np.linspace(-8.0, 8.0, 41, retstep=True)


def pair_delta(mixing: DynamicMixing, eigenvalue: float, bound_squared: float, *, record_first: bool) -> float:
    """delta that eigenvalue and sketch together need at the mechanism's epsilon: the sketch's hockey stick at what the
    eigenvalue leaves of epsilon, averaged over the eigenvalue that is released under the first law.
    """
    shift = math.sqrt(mixing.k) / mixing.gamma
    centre = eigenvalue if record_first else eigenvalue - bound_squared
    total = 0.0
    for z in _Z:
        released = centre - mixing.test_noise(bound_squared) * (mixing.tau - z)
        rows, noise = mixing.sketch(released, bound_squared=bound_squared)
        # log of the first density over the second, z being standard normal under the first.
        spent = (shift if record_first else -shift) * float(z) + shift**2 / 2
        leverage = bound_squared / (eigenvalue + noise)
        total += _weight(float(z)) * _rows_delta(mixing.epsilon - spent, rows, leverage, record_first=record_first)
    return total


def estimate_delta(mixing: DynamicMixing, eigenvalue: float, outcome_bound: float) -> float:
    """delta that the estimate alone needs at the mechanism's epsilon, d = 1: at least what the events {theta > cut} ask
    for, (X, Y)'(X, Y) = eigenvalue I with the record (1, `outcome_bound`) and without it.

    The estimate of a sketch of k rows of a 2 x 2 Gram matrix (a, c; c, b) is c/a + sqrt((b - c²/a) / (a k)) t_k.
    """
    record, bound_squared = np.array([1.0, outcome_bound]), 1 + outcome_bound**2
    grams = (eigenvalue * np.eye(2), eigenvalue * np.eye(2) - np.outer(record, record))
    # In units of the estimate's spread with the record.
    cuts = np.linspace(0.0, 8.0, 33) / math.sqrt(mixing.k)
    first, second = (
        sum(_weight(float(z)) * _above(mixing, gram, bound_squared, float(z), cuts) for z in _Z) for gram in grams
    )
    return float(np.max(first - math.exp(mixing.epsilon) * second))


def _above(mixing: DynamicMixing, gram: np.ndarray, bound_squared: float, z: float, cuts: np.ndarray) -> np.ndarray:
    """P(theta > cut) given the z of the eigenvalue."""
    released = float(np.linalg.eigvalsh(gram)[0]) - mixing.test_noise(bound_squared) * (mixing.tau - z)
    rows, noise = mixing.sketch(released, bound_squared=bound_squared)
    (a, c), (_, b) = gram + noise * np.eye(2)
    return stdtr(rows, -(cuts - c / a) / math.sqrt((b - c**2 / a) / (a * rows)))


def _weight(z: float) -> float:
    return float(_STEP) * math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)


def _rows_delta(epsilon: float, rows: int, leverage: float, *, record_first: bool) -> float:
    """Of `rows` rows, epsilon of either sign, by chi² tails in floats; 1 where the record is all that there is."""
    if leverage >= 1.0:
        return 1.0
    offset, scale = rows / 2 * math.log1p(-leverage), (1 - leverage) / leverage
    if record_first:
        cut = 2 * scale * max(epsilon - offset, 0.0)
        tail, other = chdtrc(rows, cut), chdtrc(rows, cut / (1 - leverage))
    else:
        cut = scale * max(-epsilon - offset, 0.0)
        tail, other = gammainc(rows / 2, cut / (1 - leverage)), gammainc(rows / 2, cut)
    return max(float(tail - math.exp(epsilon) * other), 0.0)
