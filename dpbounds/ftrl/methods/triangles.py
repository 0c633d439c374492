"""Symmetric matrices as the columns of numbers that Clarabel takes: upper triangles, and forms by the entries of P.

>>> square(np.array([1.0, 2.0, 3.0]), 2).tolist(), upper(np.eye(2)).tolist()
([[1.0, 2.0], [2.0, 3.0]], [1.0, 0.0, 1.0])
>>> lifted(upper(np.ones((2, 2))), 2).round(12).tolist()
[[1.0, 1.0], [1.0, 1.0]]
"""

from __future__ import annotations

import numpy as np


def triangle(size: int) -> int:
    """Entries of an upper triangle."""
    return size * (size + 1) // 2


def upper(matrix: np.ndarray) -> np.ndarray:
    """Column by column, off the diagonal times the root of 2, as Clarabel has it."""
    columns, rows = np.tril_indices(len(matrix))
    return matrix[rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0))


def lifted(column: np.ndarray, size: int) -> np.ndarray:
    """The matrix of which `upper` is the column."""
    columns, rows = np.tril_indices(size)
    return square(column / np.where(rows == columns, 1.0, np.sqrt(2.0)), size)


def square(entries: np.ndarray, size: int) -> np.ndarray:
    """The symmetric matrix with these entries in its upper triangle."""
    found, (columns, rows) = np.zeros((size, size)), np.tril_indices(size)
    found[rows, columns] = found[columns, rows] = entries
    return found


def quadratics(rows: np.ndarray) -> np.ndarray:
    """Upper triangles of rows' P rows, a column for each entry of P."""
    return growths(rows, np.zeros_like(rows))


def growths(step: np.ndarray, now: np.ndarray) -> np.ndarray:
    """Upper triangles of (now + step)' P (now + step) - now' P now, without their difference being taken."""
    found = []
    for b in range(len(step)):
        for a in range(b + 1):
            mixed = np.outer(now[a] + step[a] / 2.0, step[b])
            if a != b:
                mixed = mixed + np.outer(now[b] + step[b] / 2.0, step[a])
            found.append(upper(mixed + mixed.T))
    return np.array(found).reshape(triangle(len(step)), triangle(step.shape[1])).T


def coefficients(vector: np.ndarray) -> np.ndarray:
    """Of the entries of P in vector' P vector."""
    columns, rows = np.tril_indices(len(vector))
    return vector[rows] * vector[columns] * np.where(rows == columns, 1.0, 2.0)
