"""Many input laws and weights at once, and searches over them that try to break the bounds of Appendix C.2.

Second and fourth moments of a law are all that matters, and everything turns with the eigenbasis of H, so H is diagonal
here: x = H^{1/2} z with E z z^T = I. Arrays have a leading axis n, one entry per law; d is any dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from verify.checks import Search
from verify.domains import Real, Whole
from verify.ftrl.claims.moments import InputLaw

Sides = tuple[np.ndarray, np.ndarray]
Statement = Callable[..., Sides]

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


# --- searches ---

SETTING = {
    "fraction": Real(1e-4, 1 - 1e-6, "logit"),
    "share": Real(0.0, 1.0),
    "later": (Real(-2.0, 2.0), 3),
}
PLANAR = {**SETTING, "second": Real(1e-2, 1.0, "log"), "weights": (Real(1e-4, 1.0, "log"), 5)}
PLANAR_BOX = {**PLANAR, "atoms": (Real(-1.0, 1.0), 6)}
PRODUCT_BOX = {**SETTING, "kurtosis": Real(1.0, 1000.0, "log"), "smaller": (Real(1e-2, 1.0, "log"), 2)}


def _planar_systems(fraction, share, later, second, weights, atoms) -> Systems:
    """Discrete laws in the plane, eta = fraction / R^2."""
    return _systems(planar(second, atoms, weights), fraction, share, later)


def _product_systems(fraction, share, later, kurtosis, smaller) -> Systems:
    """x = H^{1/2} z in three dimensions, independent symmetric entries of z with E z^4 = kurtosis (3: Gaussian)."""
    n, unit = len(fraction), np.eye(3)
    product = np.multiply.outer(unit, unit)
    pairs = product + product.transpose(0, 2, 1, 3) + product.transpose(0, 2, 3, 1)
    all_equal = np.einsum("ij,jk,kl->ijkl", unit, unit, unit)
    fourth = pairs + (kurtosis - 3.0)[:, None, None, None, None] * all_equal
    return _systems(Laws(np.concatenate([np.ones((n, 1)), smaller], axis=1), fourth), fraction, share, later)


def _systems(laws: Laws, fraction: np.ndarray, share: np.ndarray, later: np.ndarray) -> Systems:
    """Both sides of every bound are linear in the two variances, so they are share and 1 - share; beta_0 = 1."""
    beta = np.concatenate([np.ones((len(fraction), 1)), later], axis=1)
    return Systems(laws, fraction / laws.r_squared(), beta, share, 1.0 - share)


def attacks(statement: Statement, wrong: float, *, levels: Whole | None = None) -> tuple[Search, ...]:
    """The statement on planar discrete laws and on product laws; the impostor divides its right side by `wrong`."""
    level = {} if levels is None else {"level": levels}
    return tuple(
        Search(
            sides=_sides(statement, build, 1.0),
            box={**box, **level},
            extremal=_extremal(points, levels),
            vectorised=True,
            evaluations={"quick": 10_000, "full": 60_000},
            impostors={f"constant 1/{wrong:g}": {"sides": _sides(statement, build, wrong)}},
        )
        for build, box, points in (
            (_planar_systems, PLANAR_BOX, _planar_points),
            (_product_systems, PRODUCT_BOX, _product_points),
        )
    )


def _sides(statement: Statement, build: Callable[..., Systems], divisor: float) -> Callable[..., Sides]:
    def sides(**parameters: np.ndarray) -> Sides:
        level = {name: parameters.pop(name).astype(int) for name in ("level",) if name in parameters}
        smaller, larger = statement(build(**parameters), **level)
        return smaller, larger / divisor

    return sides


def _extremal(points: Callable[[], Iterator[Mapping[str, Any]]], levels: Whole | None) -> Callable[[], Iterator]:
    level = {} if levels is None else {"level": levels.low}
    return lambda: ({**point, **level} for point in points())


def _settings() -> Iterator[dict[str, Any]]:
    """Both ends of the step size, residual or noise alone, white, strongly anti-correlated or correlated noise."""
    for fraction in (1e-4, 0.5, 1 - 1e-6):
        for share, later in ((0.0, [0.0] * 3), (1.0, [0.0] * 3), (1.0, [-0.999, 0.0, 0.0]), (1.0, [1.0] * 3)):
            yield {"fraction": fraction, "share": share, "later": later}


def _planar_points() -> Iterator[dict[str, Any]]:
    """Signs, the moments of a Gaussian (entries 0 and +-sqrt 3, scaled), and inputs along the axes."""
    square = [1.0, 1.0, 1.0, -1.0, 0.0, 0.0]
    for setting in _settings():
        for second in (1.0, 0.01):
            for weights in ([0, 0, 1, 1, 0], [4, 4, 1, 1, 8], [1, second, 0, 0, 0]):
                yield {**setting, "second": second, "weights": np.array(weights, dtype=float), "atoms": square}


def _product_points() -> Iterator[dict[str, Any]]:
    for setting in _settings():
        for kurtosis in (1.0, 3.0, 1000.0):
            yield {**setting, "kurtosis": kurtosis, "smaller": [0.01, 0.01]}
