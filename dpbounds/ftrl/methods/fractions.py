"""Arrays of exact fractions: their products, and whether a symmetric one is positive definite.

It is, if X M X' has a positive diagonal that outweighs the rest of each row, for any square X: X M X' is then positive
definite, so that X is invertible. X is the inverse of a Cholesky factor, which floats give well enough unless M is
nearly singular; else the pivots of M decide.

>>> positive_definite(in_fractions(np.array([[2.0, 1.0], [1.0, 1.0]])))
True
>>> positive_definite(in_fractions(np.ones((2, 2))))
False
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from dpbounds.circle.polynomials import exact

# X is rounded to multiples of 2^-DIGITS: it takes M to about 1 in coordinates in which the diagonal of M is about 1.
DIGITS = 24


def in_fractions(matrix: np.ndarray) -> np.ndarray:
    """The floats of an array as fractions."""
    return np.array([exact(float(x)) for x in matrix.ravel()], dtype=object).reshape(matrix.shape)


def product(*factors: np.ndarray) -> np.ndarray:
    """Of matrices of floats, or of fractions: those over common denominators, far faster than entry by entry."""
    if factors[0].dtype != object:
        return reduce(np.matmul, factors)
    found = reduce(lambda a, b: a * b, map(_as_flint, factors))
    return np.array(found.entries(), dtype=object).reshape(found.nrows(), found.ncols())


def positive_definite(matrix: np.ndarray) -> bool:
    """Whether a symmetric matrix of fractions is: exact, for every matrix."""
    if any(not entry > 0 for entry in np.diag(matrix)):
        return False
    return _dominates(matrix) or _has_positive_pivots(matrix)


def _dominates(matrix: np.ndarray) -> bool:
    """Whether the diagonal of X M X' outweighs the rest of each row, in whole numbers; no where floats have no X."""
    from flint import fmpz_mat

    whole, _ = _as_flint(matrix).numer_denom()
    entries = [[int(entry) for entry in row] for row in whole.tolist()]
    powers = [row[k].bit_length() // 2 for k, row in enumerate(entries)]
    try:
        scaled = [
            [x / (1 << (a + b)) for b, x in zip(powers, row, strict=True)]
            for a, row in zip(powers, entries, strict=True)
        ]
        rows = np.rint(np.linalg.inv(np.linalg.cholesky(np.array(scaled))) * 2.0**DIGITS)
    except (np.linalg.LinAlgError, OverflowError):
        return False
    if not np.isfinite(rows).all():
        return False
    shifts = [max(powers) - power for power in powers]
    X = fmpz_mat([[int(x) << shift for x, shift in zip(row, shifts, strict=True)] for row in rows.tolist()])
    turned = (X * whole * X.transpose()).tolist()
    return all(2 * row[k] > sum(map(abs, row)) for k, row in enumerate(turned))


def _has_positive_pivots(matrix: np.ndarray) -> bool:
    """The pivots of L D L', by elimination."""
    rows = [list(row) for row in matrix]
    for k, row in enumerate(rows):
        if not row[k] > 0:
            return False
        for below in range(k + 1, len(rows)):
            factor = row[below] / row[k]
            if factor != 0:
                for column in range(below, len(rows)):  # the upper triangle says it all
                    rows[below][column] -= factor * row[column]
    return True


def _as_flint(matrix: np.ndarray) -> Any:
    from flint import fmpq_mat

    rows, columns = matrix.shape
    return fmpq_mat(rows, columns, matrix.ravel().tolist())
