"""Many input laws and weights at once, for searches that try to break the bounds of Appendix C.2.

Second and fourth moments of a law are all that matters, and everything turns with the eigenbasis of H, so H is diagonal
here: x = H^{1/2} z with E z z^T = I. Arrays have a leading axis n, one entry per law; d is any dimension.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from verify.ftrl.moments import InputLaw

PLANAR_ATOMS = 5


@dataclass(frozen=True, eq=False)
class Laws:
    """Eigenvalues of H, shape (n, d), and fourth moments of z, shape (n, d, d, d, d)."""

    eigenvalues: np.ndarray
    fourth: np.ndarray

    def r_squared(self) -> np.ndarray:
        """Smallest R^2 with E ||x||^2 x x^T <= R^2 H, shape (n,)."""
        return largest_eigenvalue(np.einsum("nk,nijkk->nij", self.eigenvalues, self.fourth))

    def kurtosis_constant(self) -> np.ndarray:
        """Smallest C_kurt of Assumption (A3), shape (n,): it is linear in P, so projections on one axis are worst."""
        return largest_eigenvalue(np.einsum("nijkk->nkij", self.fourth)).max(axis=1)

    def second_fluctuation(self, matrix: np.ndarray) -> np.ndarray:
        """E[(x x^T - H) M (x x^T - H)] for M of shape (n, d, d)."""
        scale = np.sqrt(self.eigenvalues[:, :, None] * self.eigenvalues[:, None, :])
        inner = scale * matrix
        return scale * (np.einsum("nijkl,njk->nil", self.fourth, inner) - inner)


@dataclass(frozen=True, eq=False)
class Systems:
    """Noisy-FTRL on every law: step sizes (n,), weights (n, k), variances of the noise and of the residual (n,)."""

    laws: Laws
    eta: np.ndarray
    beta: np.ndarray
    noise: np.ndarray
    residual: np.ndarray

    @cached_property
    def x(self) -> np.ndarray:
        """eta lambda_j, shape (n, d)."""
        return self.eta[:, None] * self.laws.eigenvalues

    def powers(self) -> np.ndarray:
        """<beta, T_j beta> by the double sum of ftrl eq. (32), shape (n, d)."""
        lags = np.abs(np.subtract.outer(range(self.beta.shape[1]), range(self.beta.shape[1])))
        return np.einsum("ni,nk,ndik->nd", self.beta, self.beta, (1.0 - self.x)[:, :, None, None] ** lags)

    def forcing(self) -> np.ndarray:
        """What fresh and remembered noise add in one step, diagonal, shape (n, d)."""
        cross, memory = np.zeros_like(self.x), np.zeros_like(self.x)
        for before, now in zip(self.beta.T, self.beta.T[1:], strict=False):
            memory = (1.0 - self.x) * memory - (self.eta * before * self.noise)[:, None]
            cross += now[:, None] * memory
        fresh = self.residual[:, None] * self.laws.eigenvalues + (self.noise * np.sum(self.beta**2, axis=1))[:, None]
        return self.eta[:, None] ** 2 * fresh - 2.0 * self.eta[:, None] * (1.0 - self.x) * cross

    def levels(self) -> Iterator[np.ndarray]:
        """S^(0), S^(1), ...: second moments of the sequences of ftrl eq. (36), shape (n, d, d), without end."""
        sums = self.x[:, :, None] + self.x[:, None, :]
        decay = sums - self.x[:, :, None] * self.x[:, None, :]
        level = _diagonal(self.forcing()) / decay
        while True:
            yield level
            level = self.eta[:, None, None] ** 2 * self.laws.second_fluctuation(level) / decay

    def remainder(self, level: np.ndarray) -> np.ndarray:
        """Second moments of delta^(m) from S^(m)."""
        return self._stationary(self.eta[:, None, None] ** 2 * self.laws.second_fluctuation(level))

    def second_moments(self) -> np.ndarray:
        """S = E theta' theta'^T, shape (n, d, d)."""
        return self._stationary(_diagonal(self.forcing()))

    def doubled_suboptimality(self) -> np.ndarray:
        """Tr[H S] = E ||theta'||_H^2, F without 1/2, shape (n,)."""
        return np.einsum("nj,njj->n", self.laws.eigenvalues, self.second_moments())

    def _stationary(self, forcing: np.ndarray) -> np.ndarray:
        """S = E[(I - eta x x^T) S (I - eta x x^T)] + forcing."""
        n, d = self.x.shape
        root = np.sqrt(self.x)
        scale = np.einsum("ni,nj,nk,nl->nijkl", root, root, root, root)
        quadratic = (scale * self.laws.fourth).transpose(0, 1, 4, 2, 3).reshape(n, d * d, d * d)
        linear = (self.x[:, :, None] + self.x[:, None, :]).reshape(n, d * d)
        solved = np.linalg.solve(_diagonal(linear) - quadratic, forcing.reshape(n, d * d, 1))
        return solved.reshape(n, d, d)


def planar(second_eigenvalue: np.ndarray, atoms: np.ndarray, weights: np.ndarray) -> Laws:
    """Laws in the plane with eigenvalues (1, second): atoms e_1, e_2 and three given ones, shape (n, 6), with weights
    (n, 5), and their mirror images; whitened, so that H is as stated.
    """
    n = len(second_eigenvalue)
    points = np.concatenate([np.broadcast_to(np.eye(2), (n, 2, 2)), atoms.reshape(n, PLANAR_ATOMS - 2, 2)], axis=1)
    p = weights / weights.sum(axis=1, keepdims=True)
    covariance = np.einsum("na,nai,naj->nij", p, points, points)
    z = np.linalg.solve(np.linalg.cholesky(covariance), points.transpose(0, 2, 1))
    eigenvalues = np.stack([np.ones(n), second_eigenvalue], axis=1)
    return Laws(eigenvalues, np.einsum("na,nia,nja,nka,nla->nijkl", p, z, z, z, z))


def one(law: InputLaw) -> Laws:
    """A single law whose covariance is diagonal, n = 1."""
    eigenvalues = np.diag(law.covariance)
    scale = np.sqrt(np.einsum("i,j,k,l->ijkl", *[eigenvalues] * 4))
    return Laws(eigenvalues[None], (law.fourth / scale)[None])


def largest_eigenvalue(matrices: np.ndarray) -> np.ndarray:
    """Of symmetric matrices in the last two axes."""
    return np.linalg.eigvalsh(matrices)[..., -1]


def _diagonal(entries: np.ndarray) -> np.ndarray:
    return entries[..., None] * np.eye(entries.shape[-1])
