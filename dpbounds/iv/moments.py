"""The second moments that two-stage gradient descent sees, and the estimators that they determine.

Unclipped, both stages use the data through A = Z'Z/n, G = Z'X/n and b = Z'Y/n alone (iv eq. (11), (12)). Two-stage
least squares (2SLS, iv Def. 2.3) exists and is unique if and only if A is positive definite and G has rank p; neither
follows from iv Assumption 1 (q >= p, full rank of Z and of X, Corr(z, x) != 0): X = (z_1 + u_1, z_1 + u_2) with u_1
and u_2 orthogonal to Z meets it, and G has rank 1.

>>> z = np.array([[1.0], [-1.0], [1.0], [-1.0]])
>>> moments = Moments.of(z, 2 * z, 6 * z[:, 0])
>>> moments.theta_hat.tolist(), moments.beta_hat.tolist()
([[2.0]], [3.0])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import cholesky, solve_triangular

from dpbounds.errors import LARGEST, SMALLEST, DomainError, count, real_array

# Least eigenvalue of the instruments' correlation matrix, and least singular value of the fitted regressors in units of
# the regressors themselves, that rounding of the data to doubles does not produce by itself.
_LEAST_EIGENVALUE = 1e-13
_LEAST_SINGULAR_VALUE = 1e-11
# Squares of what is shorter leave the range of floats.
_ZERO_LENGTH = 1e-120
# Records at a time in products: BLAS takes three times as long for one long thin product.
ROWS = 8192


@dataclass(frozen=True, kw_only=True, eq=False)
class Moments:
    """A = Z'Z/n (q, q), G = Z'X/n (q, p), b = Z'Y/n (q,), n records: all that unclipped 2S-GD and 2SLS use.

    Raises `DomainError` for shapes that do not fit, entries that are not finite, n < q, q < p, A not positive definite
    or G of rank below p.
    """

    A: Float[np.ndarray, "q q"]
    G: Float[np.ndarray, "q p"]
    b: Float[np.ndarray, " q"]
    n: int

    def __post_init__(self) -> None:
        for name, dimensions in (("A", 2), ("G", 2), ("b", 1)):
            object.__setattr__(self, name, finite_array(name, getattr(self, name), dimensions))
        self._require_shapes()
        _require_full_rank(self._whitened_regressors, 0.0)

    @classmethod
    def of(cls, Z: Float[np.ndarray, "n q"], X: Float[np.ndarray, "n p"], Y: Float[np.ndarray, " n"]) -> Moments:
        """The moments of a data set: instruments Z, regressors X, outcomes Y, one record per row.

        Raises `DomainError` as the class does, and where the rank of G is p by the rounding of X alone, such as for a
        regressor that is uncorrelated with all instruments.
        """
        Z, X, Y = _with_axes("Z", Z, 2), _with_axes("X", X, 2), _with_axes("Y", Y, 1)
        if not len(Z) == len(X) == len(Y):
            raise DomainError("Z, X, Y", f"{len(Z)}, {len(X)}, {len(Y)} rows", "the same number of rows in all three")
        n = len(Z)
        squares = [float(np.vdot(data, data)) / n for data in (Z, X, Y)]
        # The largest square is at most n times these, and at least their q-th part: in most cases that decides.
        if not all(n * SMALLEST**2 <= square <= LARGEST**2 / n for square in squares):
            for name, data in (("Z", Z), ("X", X), ("Y", Y)):
                _require_range(name, data)
        A, G, b = _cross_moments(Z, X, Y)
        moments = cls(A=A, G=G, b=b, n=n)
        _require_full_rank(moments._whitened_regressors, np.sqrt(squares[1]), lambda: np.sqrt(np.mean(X**2, axis=0)))
        return moments

    @property
    def q(self) -> int:
        """Number of instruments."""
        return self.G.shape[0]

    @property
    def p(self) -> int:
        """Number of regressors."""
        return self.G.shape[1]

    @cached_property
    def theta_hat(self) -> Float[np.ndarray, "q p"]:
        """First-stage least squares A^{-1} G."""
        return solve_triangular(self._root, self._whitened_regressors, lower=True, trans=1)

    @cached_property
    def hessian(self) -> Float[np.ndarray, "p p"]:
        """H-hat = theta_hat' A theta_hat, the Hessian of the second stage."""
        return self._whitened_regressors.T @ self._whitened_regressors

    @cached_property
    def beta_hat(self) -> Float[np.ndarray, " p"]:
        """2SLS: the least squares solution of L^{-1} G beta = L^{-1} b, A = LL'; H is not formed."""
        orthogonal, triangular = np.linalg.qr(self._whitened_regressors)
        return solve_triangular(triangular, orthogonal.T @ self._whitened_outcome)

    @cached_property
    def residual(self) -> Float[np.ndarray, " q"]:
        """r-hat = A theta_hat beta_hat - b, orthogonal to theta_hat; zero if q = p."""
        return self._root @ (self._whitened_regressors @ self.beta_hat - self._whitened_outcome)

    @cached_property
    def _root(self) -> np.ndarray:
        """Lower Cholesky factor L of A."""
        scale = np.sqrt(np.diag(self.A))
        correlation = self.A / np.outer(scale, scale)
        least = np.linalg.eigvalsh(correlation)[0]
        if not least > _LEAST_EIGENVALUE * self.q:
            raise DomainError(
                "Z'Z/n",
                f"a matrix whose correlation form has least eigenvalue {least:.3g}",
                "positive definite",
                "drop instruments that are linear combinations of others",
            )
        return scale[:, None] * cholesky(correlation, lower=True)

    @cached_property
    def _whitened_regressors(self) -> np.ndarray:
        return solve_triangular(self._root, self.G, lower=True)

    @cached_property
    def _whitened_outcome(self) -> np.ndarray:
        return solve_triangular(self._root, self.b, lower=True)

    def _require_shapes(self) -> None:
        q, p = self.G.shape
        if self.A.shape != (q, q) or self.b.shape != (q,):
            shapes = f"{self.A.shape}, {self.G.shape}, {self.b.shape}"
            raise DomainError("shapes of A, G, b", shapes, "(q, q), (q, p), (q,)")
        if q < p:
            raise DomainError("q", q, f"at least p = {p}", "2SLS needs as many instruments as regressors")
        n = count("n", self.n, q, "with fewer records than instruments Z'Z is singular")
        object.__setattr__(self, "n", n)
        if not (np.diag(self.A) > _ZERO_LENGTH).all():
            raise DomainError("Z'Z/n", "a matrix with a zero on the diagonal", "positive definite", "drop zero columns")
        scale = np.sqrt(np.diag(self.A))
        if (np.abs(self.A - self.A.T) > 1e-10 * np.outer(scale, scale)).any():
            raise DomainError("A", "a matrix that is not symmetric", "Z'Z/n, symmetric")


def finite_array(parameter: str, values: Any, dimensions: int) -> np.ndarray:
    """`values` as a read-only float array with this number of axes, none empty, all entries finite."""
    array = np.array(_with_axes(parameter, values, dimensions))
    _require_range(parameter, array)
    array.setflags(write=False)
    return array


def _with_axes(parameter: str, values: Any, dimensions: int) -> np.ndarray:
    """`values` as a float array with this number of axes, none empty; not copied if it is one."""
    plain = isinstance(values, np.ndarray) and values.dtype == float
    array = np.asarray(values) if plain else real_array(parameter, values)
    if array.ndim != dimensions or array.size == 0:
        raise DomainError(parameter, f"an array of shape {array.shape}", f"a non-empty array with {dimensions} axes")
    return array


def _require_range(parameter: str, array: np.ndarray) -> None:
    """Finite entries of a size that can be squared."""
    if not np.isfinite(array).all():
        first = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise DomainError(f"{parameter}{list(first)}", float(array[first]), "a finite number", "drop missing values")
    largest = float(np.abs(array).max())
    if largest > LARGEST or 0 < largest < SMALLEST:
        allowed = f"of a size from {SMALLEST:g} to {LARGEST:g}"
        raise DomainError(f"largest entry of {parameter}", largest, allowed, "change the units")


def _cross_moments(Z: np.ndarray, X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Z'Z/n, Z'X/n and Z'Y/n, from rows that stay in the cache for all three."""
    n, (q, p) = len(Z), (Z.shape[1], X.shape[1])
    A, G, b = np.zeros((q, q)), np.zeros((q, p)), np.zeros(q)
    for start in range(0, n, ROWS):
        rows = slice(start, start + ROWS)
        A += Z[rows].T @ Z[rows]
        G += Z[rows].T @ X[rows]
        b += Z[rows].T @ Y[rows]
    return A / n, G / n, b / n


def target_vector(parameter: str, values: Any, p: int) -> np.ndarray:
    """`values` as `finite_array` with `p` entries."""
    array = finite_array(parameter, values, 1)
    if len(array) != p:
        raise DomainError(parameter, f"an array of shape {array.shape}", f"of shape ({p},)")
    return array


def _require_full_rank(whitened: np.ndarray, largest: float, sizes: Callable[[], np.ndarray] | None = None) -> None:
    """Singular values at unit column length, against the rounding that columns of certain sizes leave in `whitened`.

    `largest` bounds the sizes, which are computed if that bound does not decide.
    """
    lengths = np.linalg.norm(whitened, axis=0)
    if (lengths <= _ZERO_LENGTH).any():
        _refuse_rank(f"a matrix whose column {int(np.argmin(lengths))} is zero")
    least = np.linalg.svd(whitened / lengths, compute_uv=False)[-1]
    if least > _LEAST_SINGULAR_VALUE * max(1.0, float(np.max(largest / lengths))):
        return
    ratio = float(np.max(sizes() / lengths)) if sizes is not None else 0.0
    if not least > _LEAST_SINGULAR_VALUE * max(1.0, ratio):
        _refuse_rank(f"of lower rank up to rounding (least singular value {least:.3g} in units of its columns)")


def _refuse_rank(found: str) -> None:
    remedy = "each regressor needs an instrument of its own that is correlated with it"
    raise DomainError("Z'X/n", found, "of rank p", remedy)
