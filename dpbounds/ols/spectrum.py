"""A least squares problem in the eigenbasis of its Gram matrix: what every risk is computed from.

>>> problem = spectrum(np.diag([2.0, 4.0]), np.array([1.0, 1.0]))
>>> problem.theta.tolist()
[0.5, 0.25]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from dpbounds.errors import LARGEST, DomainError, real_array

# Eigenvalues of a Gram matrix below this, relative to the largest, are zeros that rounding has moved.
ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class Spectrum:
    """A = U diag(eigenvalues) U', loads = U'b, and theta* = A^+ b in that basis; eigenvalues ascending, zeros exact."""

    eigenvalues: Float[np.ndarray, " d"]
    loads: Float[np.ndarray, " d"]
    basis: Float[np.ndarray, "d d"]

    @property
    def theta(self) -> Float[np.ndarray, " d"]:
        """theta* = A^+ b, the least squares fit of least norm, in the eigenbasis."""
        positive = self.eigenvalues > 0
        return np.where(positive, self.loads / np.where(positive, self.eigenvalues, 1.0), 0.0)

    def ridge(self, eta_squared: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape d"]:
        """The eigenvalues of M = A + eta² I."""
        return self.eigenvalues + np.asarray(eta_squared, dtype=float)[..., None]


def spectrum(A: Float[np.ndarray, "d d"], b: Float[np.ndarray, " d"]) -> Spectrum:
    """Of A = X'X and b = X'Y, rank d or less; O(d³).

    Raises `DomainError` for an A that is not symmetric positive semidefinite, or a b outside its column space (no
    data set has it).
    """
    A, b = real_array("A", A), real_array("b", b)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not A.size or b.shape != A.shape[:1]:
        raise DomainError("A, b", f"arrays of shapes {A.shape}, {b.shape}", "of shapes (d, d), (d,)")
    if not (np.abs(A) <= LARGEST).all() or not (np.abs(b) <= LARGEST).all():
        raise DomainError("A, b", "arrays with larger entries, inf or nan", f"finite, of a size of at most {LARGEST:g}")
    size = np.abs(A).max()
    if (np.abs(A - A.T) > 1e-9 * size).any():
        raise DomainError("A", "a matrix that is not symmetric", "the Gram matrix X'X")
    eigenvalues, basis = np.linalg.eigh((A + A.T) / 2)
    if eigenvalues[0] < -1e-9 * max(eigenvalues[-1], 0.0) - 1e-300:
        raise DomainError("A", f"a matrix with eigenvalue {eigenvalues[0]:.3g}", "the Gram matrix X'X")
    eigenvalues = np.where(eigenvalues > len(b) * ROUNDING * eigenvalues[-1], eigenvalues, 0.0)
    loads = basis.T @ b
    outside = np.where(eigenvalues > 0, 0.0, loads)
    if np.linalg.norm(outside) > 1e-6 * np.linalg.norm(loads):
        raise DomainError("b", "a vector outside the column space of A", "X'Y of the data that A = X'X is of")
    return Spectrum(eigenvalues, loads - outside, basis)
