"""Laws of the inputs x of linear regression, by their second and fourth moments, which are all that matters for E theta
theta^T; many at once.

Arrays have a leading axis n, one entry per law. Any covariance; where it is diagonal, eigenvalues and what belongs to
them stand in the order of the axes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from verify.checks.domains import Real

# Atoms of `planar` that are free, beside e_1 and e_2.
FREE_ATOMS = 3


@dataclass(frozen=True, eq=False)
class Laws:
    """n laws with mean 0: H = E x x^T, shape (n, d, d), and E[x_i x_j x_k x_l], shape (n, d, d, d, d)."""

    covariance: np.ndarray
    fourth: np.ndarray
    name: str = ""

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """Of H, shape (n, d)."""
        return self._eigen[0]

    def r_squared(self) -> np.ndarray:
        """Smallest R^2 with E ||x||^2 x x^T <= R^2 H, shape (n,)."""
        return largest_eigenvalue(np.einsum("nk,nijkk->nij", self.eigenvalues, self._standard))

    def kurtosis_constant(self) -> np.ndarray:
        """Smallest C_kurt of Assumption (A3), shape (n,): it is linear in P, so projections on one eigenvector are
        worst.
        """
        return largest_eigenvalue(np.einsum("nijkk->nkij", self._standard)).max(axis=1)

    def squared(self, matrix: np.ndarray) -> np.ndarray:
        """E[x x^T M x x^T] for M of shape (n, d, d)."""
        return np.einsum("nijkl,njk->nil", self.fourth, matrix)

    def fluctuation(self, matrix: np.ndarray) -> np.ndarray:
        """E[(x x^T - H) M (x x^T - H)]."""
        return self.squared(matrix) - self.covariance @ matrix @ self.covariance

    @cached_property
    def _eigen(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues and eigenvectors; the axes where H is diagonal."""
        on_axes = np.einsum("njj->nj", self.covariance)
        if np.array_equal(self.covariance, diagonal(on_axes)):
            return on_axes, np.broadcast_to(np.eye(on_axes.shape[1]), self.covariance.shape)
        return np.linalg.eigh(self.covariance)

    @cached_property
    def _standard(self) -> np.ndarray:
        """Fourth moments of z = Lambda^{-1/2} U^T x, the standardised inputs in the eigenbasis."""
        values, vectors = self._eigen
        moments, turn = self.fourth, vectors / np.sqrt(values)[:, None, :]
        for _ in range(4):  # each time the first index is turned and becomes the last
            moments = np.einsum("nijkl,nia->njkla", moments, turn)
        return moments


def gaussian(covariance: np.ndarray | Sequence[float]) -> Laws:
    """x ~ N(0, H): Wick's formula. A list is a diagonal."""
    H = _matrix(covariance)
    pairs = (np.einsum(f"{p},{q}->ijkl", H, H) for p, q in (("ij", "kl"), ("ik", "jl"), ("il", "jk")))
    return Laws(H[None], np.sum(list(pairs), axis=0)[None], "Gaussian")


def discrete(name: str, points: np.ndarray, probabilities: Sequence[float] | np.ndarray) -> Laws:
    """Finitely many points (a, d), or (n, a, d) for n laws, with probabilities (a,) or (n, a)."""
    x, p = (np.asarray(array, dtype=float) for array in (points, probabilities))
    x, p = (x, p) if x.ndim == 3 else (x[None], p[None])
    fourth = np.einsum("na,nai,naj,nak,nal->nijkl", p, x, x, x, x)
    return Laws(np.einsum("na,nai,naj->nij", p, x, x), fourth, name)


def independent_entries(
    name: str, covariance: np.ndarray | Sequence[float], values: Sequence[float], probabilities: Sequence[float]
) -> Laws:
    """x = H^{1/2} z in the eigenbasis of H, the entries of z independent with the given two- or more-point law."""
    H = _matrix(covariance)
    eigenvalues, vectors = (np.diag(H), np.eye(len(H))) if np.asarray(covariance).ndim == 1 else np.linalg.eigh(H)
    grid = np.array(list(itertools.product(values, repeat=len(eigenvalues))))
    weights = [float(np.prod(p)) for p in itertools.product(probabilities, repeat=len(eigenvalues))]
    return discrete(name, grid * np.sqrt(eigenvalues) @ vectors.T, weights)


def signs(covariance: np.ndarray | Sequence[float]) -> Laws:
    """Entries +-1: ||x||^2 is constant, fourth moment 1."""
    return independent_entries("signs", covariance, (-1.0, 1.0), (0.5, 0.5))


def skewed(covariance: np.ndarray | Sequence[float]) -> Laws:
    """Entries 2 (probability 1/5) and -1/2: third moment 3/2, fourth moment 3.25."""
    return independent_entries("skewed", covariance, (2.0, -0.5), (0.2, 0.8))


def along_axes(eigenvalues: Sequence[float]) -> Laws:
    """x = +-sqrt(Tr H) e_j with probability lambda_j / Tr H: commuting inputs, the heaviest fourth moments."""
    trace, d = float(np.sum(eigenvalues)), len(eigenvalues)
    points = np.sqrt(trace) * np.concatenate([np.eye(d), -np.eye(d)])
    return discrete("along the axes", points, [value / (2 * trace) for value in eigenvalues] * 2)


def examples(eigenvalues: Sequence[float]) -> Iterator[Laws]:
    """A law of every kind with these eigenvalues."""
    yield from (build(eigenvalues) for build in (gaussian, signs, skewed, along_axes))


# --- many at once ---

# The box of `planar`.
PLANAR = {
    "second": Real(1e-3, 1.0, "log"),
    "atoms": (Real(-1.0, 1.0), 2 * FREE_ATOMS),
    "weights": (Real(1e-4, 1.0, "log"), 2 + FREE_ATOMS),
}


def planar(second: np.ndarray, atoms: np.ndarray, weights: np.ndarray) -> Laws:
    """Laws in the plane with H = diag(1, second): atoms e_1, e_2 and three given ones, shape (n, 6), with weights
    (n, 5), and their mirror images, mapped linearly so that H is as stated.
    """
    n, weights = len(second), np.asarray(weights, dtype=float)
    given = np.asarray(atoms, dtype=float).reshape(n, FREE_ATOMS, 2)
    points = np.concatenate([np.broadcast_to(np.eye(2), (n, 2, 2)), given], axis=1)
    p = weights / weights.sum(axis=1, keepdims=True)
    covariance = np.einsum("na,nai,naj->nij", p, points, points)
    z = np.linalg.solve(np.linalg.cholesky(covariance), points.transpose(0, 2, 1)).transpose(0, 2, 1)
    eigenvalues = np.stack([np.ones(n), np.asarray(second, dtype=float)], axis=1)
    fourth = discrete("planar", z * np.sqrt(eigenvalues)[:, None, :], p).fourth
    return Laws(diagonal(eigenvalues), fourth, "planar")


def product(eigenvalues: np.ndarray, kurtosis: np.ndarray) -> Laws:
    """x = Lambda^{1/2} z, eigenvalues (n, d), independent symmetric entries of z with E z^4 = kurtosis (n,); 3:
    Gaussian.
    """
    unit = np.eye(eigenvalues.shape[1])
    outer = np.multiply.outer(unit, unit)
    pairs = outer + outer.transpose(0, 2, 1, 3) + outer.transpose(0, 2, 3, 1)
    all_equal = np.einsum("ij,jk,kl->ijkl", unit, unit, unit)
    standard = pairs + (kurtosis - 3.0)[:, None, None, None, None] * all_equal
    root = np.sqrt(eigenvalues)
    return Laws(diagonal(eigenvalues), np.einsum("nijkl,ni,nj,nk,nl->nijkl", standard, root, root, root, root))


def largest_eigenvalue(matrices: np.ndarray) -> np.ndarray:
    """Of symmetric matrices in the last two axes."""
    return np.linalg.eigvalsh(matrices)[..., -1]


def diagonal(entries: np.ndarray) -> np.ndarray:
    """(n, d) as diagonal matrices (n, d, d)."""
    return entries[..., None] * np.eye(entries.shape[-1])


def _matrix(covariance: np.ndarray | Sequence[float]) -> np.ndarray:
    array = np.asarray(covariance, dtype=float)
    return np.diag(array) if array.ndim == 1 else array
