"""Algorithms 1 to 3 once more, record by record as they are printed: the oracle for the simulators, in exact rationals
where nothing is clipped.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

Noise = Iterable[tuple[Any, Any]]


class Records(NamedTuple):
    """Instruments (n, q), regressors (n, p) and outcomes (n,), of any number type."""

    Z: np.ndarray
    X: np.ndarray
    Y: np.ndarray

    def floats(self) -> Records:
        """The same in double precision."""
        return Records(*(np.asarray(part, dtype=float) for part in self))

    def without(self, record: int, replacement: tuple[Any, Any, Any]) -> Records:
        """The neighbour with another record in this place."""
        parts = [part.copy() for part in self]
        for part, value in zip(parts, replacement, strict=True):
            part[record] = value
        return Records(*parts)


def rational_records(rng: np.random.Generator, n: int, q: int, p: int) -> Records:
    """Small whole numbers as fractions, Z'Z invertible and Z'X of rank p."""
    while True:
        Z, X, Y = rng.integers(-3, 4, size=(n, q)), rng.integers(-3, 4, size=(n, p)), rng.integers(-3, 4, size=n)
        if np.linalg.matrix_rank(Z) == q and np.linalg.matrix_rank(Z.T @ X) == p:
            return Records(*(np.vectorize(Fraction, otypes=[object])(part) for part in (Z, X, Y)))


def clip(gradient: np.ndarray, gamma: float | None) -> np.ndarray:
    """gradient min(1, gamma / norm), Frobenius for matrices; None does not clip."""
    if gamma is None:
        return gradient
    norm = float(np.linalg.norm(np.asarray(gradient, dtype=float)))
    return gradient if norm <= gamma else gradient * (gamma / norm)


def gradient_norms(data: Records, theta: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Norms of every record's two gradients before clipping, each formed as it is written."""
    first = [np.linalg.norm(np.outer(z, z @ theta - x)) for z, x, _ in zip(*data, strict=True)]
    second = [np.linalg.norm((theta.T @ z) * (z @ theta @ beta - y)) for z, _, y in zip(*data, strict=True)]
    return np.array(first), np.array(second)


def gradients(
    data: Records,
    theta: np.ndarray,
    beta: np.ndarray,
    gamma1: float | None = None,
    gamma2: float | None = None,
    *,
    n: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Averages over the records of the clipped gradients, each formed as it is written; `n` divides in place of the
    number of records, as where a record was taken away.
    """
    n = len(data.Y) if n is None else n
    first, second = 0 * theta, 0 * beta
    for z, x, y in zip(*data, strict=True):
        first = first + clip(np.outer(z, z @ theta - x), gamma1)
        second = second + clip((theta.T @ z) * (z @ theta @ beta - y), gamma2)
    return first / n, second / n


def descent(
    data: Records,
    *,
    eta: Any,
    alpha: Any,
    noise: Noise,
    gamma1: float | None = None,
    gamma2: float | None = None,
    newest: bool = False,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """(Theta_t, beta_t), t = 0 ... T, with prescribed noise; `newest` lets beta see the Theta of the same step."""
    zero = data.Z[0, 0] * 0
    theta, beta = (np.full(shape, zero) for shape in ((data.Z.shape[1], data.X.shape[1]), data.X.shape[1]))
    path = [(theta, beta)]
    for Xi, nu in noise:
        first, second = gradients(data, theta, beta, gamma1, gamma2)
        following = theta - eta * first + eta * Xi
        if newest:
            _, second = gradients(data, following, beta, gamma1, gamma2)
        theta, beta = following, beta - alpha * second + alpha * nu
        path.append((theta, beta))
    return path


def noiseless(steps: int) -> Noise:
    """No noise in any step."""
    return [(0, 0)] * steps
