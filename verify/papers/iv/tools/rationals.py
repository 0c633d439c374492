"""Matrices of fractions: inverses, powers, ranks, projections, and 2SLS on whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from verify.papers.iv.tools.reference import Records


def rationals(rng: np.random.Generator, *shape: int, denominator: int = 1) -> np.ndarray:
    """An array of fractions k / denominator, |k| <= 4."""
    numerators = rng.integers(-4, 5, size=shape)
    return np.vectorize(lambda k: Fraction(int(k), denominator), otypes=[object])(numerators)


def identity(size: int) -> np.ndarray:
    """The unit matrix in fractions."""
    return np.array([[Fraction(int(i == j)) for j in range(size)] for i in range(size)], dtype=object)


def inverse(matrix: np.ndarray) -> np.ndarray:
    """Gauss-Jordan elimination; the matrix must be regular."""
    size = len(matrix)
    rows = np.concatenate([matrix, identity(size)], axis=1)
    for column in range(size):
        pivot = next(row for row in range(column, size) if rows[row, column] != 0)
        rows[[column, pivot]] = rows[[pivot, column]]
        rows[column] = rows[column] / rows[column, column]
        for row in set(range(size)) - {column}:
            rows[row] = rows[row] - rows[row, column] * rows[column]
    return rows[:, size:]


def rank(matrix: np.ndarray) -> int:
    """By elimination."""
    rows, found = np.array(matrix, dtype=object) + Fraction(0), 0
    for column in range(rows.shape[1]):
        pivot = next((row for row in range(found, len(rows)) if rows[row, column] != 0), None)
        if pivot is None:
            continue
        rows[[found, pivot]] = rows[[pivot, found]]
        for row in range(found + 1, len(rows)):
            rows[row] = rows[row] - rows[row, column] / rows[found, column] * rows[found]
        found += 1
    return found


def projection(matrix: np.ndarray) -> np.ndarray:
    """Onto the span of the columns, from an orthogonal basis of theirs (Gram-Schmidt)."""
    total = 0 * identity(len(matrix))
    for column in matrix.T:
        rest = column - total @ column
        if np.any(rest != 0):
            total = total + np.outer(rest, rest) / (rest @ rest)
    return total


def power(matrix: np.ndarray, exponent: int) -> np.ndarray:
    """A whole power by repeated products."""
    result = identity(len(matrix))
    for _ in range(exponent):
        result = result @ matrix
    return result


@dataclass(frozen=True, eq=False)
class TwoStage:
    """What 2SLS makes of a data set (iv Def. 2.3), in fractions."""

    records: Records

    @property
    def n(self) -> int:
        """Records."""
        return len(self.records.Y)

    @cached_property
    def A(self) -> np.ndarray:
        """Z'Z / n."""
        return self.records.Z.T @ self.records.Z / self.n

    @cached_property
    def theta_hat(self) -> np.ndarray:
        """(Z'Z)^{-1} Z'X."""
        Z, X, _ = self.records
        return inverse(Z.T @ Z) @ Z.T @ X

    @cached_property
    def beta_hat(self) -> np.ndarray:
        """Least squares of Y on Z theta_hat."""
        fitted = self.records.Z @ self.theta_hat
        return inverse(fitted.T @ fitted) @ fitted.T @ self.records.Y

    @cached_property
    def r(self) -> np.ndarray:
        """Z theta_hat beta_hat - Y."""
        return self.records.Z @ self.theta_hat @ self.beta_hat - self.records.Y
