"""What is released: noisy moments of bounded records, and all that a test of a coefficient needs of them.

Blocks are ordered (y, x_1, ..., x_p), each of length q (the instruments): u = v ⊗ z with v = (y / a_y, x_j / a_j).
A test of beta uses b = a_y (1, -theta), theta_j = beta_j a_j / a_y, hence the moment g = (b' ⊗ I) T1, whose estimated
covariance is V = (b' ⊗ I) Sigma (b ⊗ I), noise included. Everything here is in units of a_y.

>>> release = MomentRelease(first=np.array([30.0, 25.0]), second=40.0 * np.eye(2), first_scale=2.0, second_scale=0.0,
...                         n=100, outcome_weight=1.0, regressor_weights=np.ones(1), adjacency="zero-out")
>>> release.q, release.covariance.tolist()
(1, [[44.0, 0.0], [0.0, 44.0]])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from dpbounds.errors import DomainError, count, moderate, moderate_or_zero, real_array, vector
from dpbounds.iv.confidence.sensitivity import Adjacency, known_adjacency
from dpbounds.iv.moments import finite_array

# Least eigenvalue of a correlation form that rounding does not produce by itself.
_LEAST_EIGENVALUE = 1e-14
_SYMMETRIC = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Release(ABC):
    """What both kinds of release share: the weights a_y and a_j, the number of records, the adjacency."""

    outcome_weight: float
    regressor_weights: Float[np.ndarray, " p"]
    n: int
    adjacency: Adjacency

    @property
    def p(self) -> int:
        """Number of regressors."""
        return len(self.regressor_weights)

    @property
    @abstractmethod
    def q(self) -> int:
        """Number of instruments."""

    @property
    @abstractmethod
    def moments(self) -> Float[np.ndarray, "blocks q"]:
        """T1, or Z'V: a row per block."""

    @property
    @abstractmethod
    def variance_scale(self) -> float:
        """Standard deviation s2 of the noise along b in the estimated variance, over |b|²; 0 where none is counted."""

    @property
    @abstractmethod
    def mean_scale(self) -> float:
        """Standard deviation s1 of the noise of the moments."""

    @property
    @abstractmethod
    def signal(self) -> Float[np.ndarray, "d d"]:
        """The released covariance of the moments without privacy noise, after projection to a positive one."""

    @cached_property
    def covariance(self) -> Float[np.ndarray, "d d"]:
        """Sigma = signal + s1² I, d = q (p + 1). Raises `DomainError` where it is singular."""
        total = with_noise(self.signal, self.mean_scale)
        least = float(_least_correlation(total))
        if not least > _LEAST_EIGENVALUE * len(total):
            raise DomainError(
                "covariance of the released moments",
                f"a matrix whose correlation form has least eigenvalue {least:.3g}",
                "positive definite",
                "drop instruments that never vary or repeat others",
            )
        return total

    def thetas(self, coefficients: Any) -> Float[np.ndarray, "m p"]:
        """Coefficients, shape (p,), (m, p) or for p = 1 (m,), in units of the weights: theta = beta a_x / a_y."""
        given = real_array("coefficients", coefficients)
        if given.ndim < 2:
            given = given.reshape(-1, self.p) if self.p == 1 or given.size == self.p else given
        if given.ndim != 2 or given.shape[1] != self.p or not np.isfinite(given).all():
            allowed = f"finite numbers, {self.p} for each point"
            raise DomainError("coefficients", f"an array of shape {np.shape(coefficients)}", allowed)
        return given * self.regressor_weights / self.outcome_weight

    def _check_common(self) -> None:
        known_adjacency(self.adjacency)
        object.__setattr__(self, "outcome_weight", moderate("outcome_weight", self.outcome_weight))
        weights = vector("regressor_weights", self.regressor_weights, above=0.0)
        for index, weight in enumerate(weights):
            moderate(f"regressor_weights[{index}]", float(weight))
        weights.setflags(write=False)
        object.__setattr__(self, "regressor_weights", weights)
        object.__setattr__(self, "n", count("n", self.n))


@dataclass(frozen=True, kw_only=True, eq=False)
class MomentRelease(Release):
    """Design U: T1 = sum u + N(0, s1² I) of length d = q (p + 1), T2 = sum uu' + svec N(0, s2²), |u| <= 1.

    `first` is T1 (flat, or a row per block), `second` T2 (d, d), `first_scale` s1, `second_scale` s2; scales of 0 say
    that nothing was added. T2 may have negative eigenvalues. Raises `DomainError` for shapes that do not fit, q < p,
    entries that are not finite, an asymmetric T2, negative scales.
    """

    first: Float[np.ndarray, " d"]
    second: Float[np.ndarray, "d d"]
    first_scale: float
    second_scale: float

    def __post_init__(self) -> None:
        self._check_common()
        for name in ("first_scale", "second_scale"):
            object.__setattr__(self, name, moderate_or_zero(name, getattr(self, name)))
        first = finite_array("first", np.ravel(self.first), 1)
        blocks = self.p + 1
        if len(first) % blocks:
            raise DomainError(
                "first", f"{len(first)} numbers", f"{blocks} blocks (y and {self.p} regressors) of length q"
            )
        _require_instruments(len(first) // blocks, self.p)
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "second", _symmetric("second", self.second, len(first)))

    @property
    def q(self) -> int:
        """Number of instruments."""
        return len(self.first) // (self.p + 1)

    @property
    def moments(self) -> Float[np.ndarray, "blocks q"]:
        """T1, a row per block."""
        return self.first.reshape(self.p + 1, self.q)

    @property
    def variance_scale(self) -> float:
        """s2."""
        return self.second_scale

    @property
    def mean_scale(self) -> float:
        """s1."""
        return self.first_scale

    @cached_property
    def signal(self) -> Float[np.ndarray, "d d"]:
        """The positive part of T2."""
        return positive_part(self.second)


@dataclass(frozen=True, kw_only=True, eq=False)
class BlockRelease(Release):
    """Design H, for homoskedastic errors: A = Z'Z (q, q), C = Z'V (q, p + 1), Q = V'V (p + 1, p + 1), all with noise.

    The columns of V are (y / a_y, x_j / a_j), |z| <= 1, |v| <= 1; A and Q have svec noise of scales
    `instrument_scale` and `variable_scale`, C noise of scale `cross_scale` per entry. V = (b'Q⁺b / n) A⁺ + s_C² |b|² I.
    Raises `DomainError` as `MomentRelease`.
    """

    instruments: Float[np.ndarray, "q q"]
    cross: Float[np.ndarray, "q blocks"]
    variables: Float[np.ndarray, "blocks blocks"]
    instrument_scale: float
    cross_scale: float
    variable_scale: float

    def __post_init__(self) -> None:
        self._check_common()
        for name in ("instrument_scale", "cross_scale", "variable_scale"):
            object.__setattr__(self, name, moderate_or_zero(name, getattr(self, name)))
        cross = finite_array("cross", self.cross, 2)
        if cross.shape[1] != self.p + 1:
            raise DomainError("cross", f"an array of shape {cross.shape}", f"of shape (q, {self.p + 1})")
        _require_instruments(len(cross), self.p)
        object.__setattr__(self, "cross", cross)
        object.__setattr__(self, "instruments", _symmetric("instruments", self.instruments, len(cross)))
        object.__setattr__(self, "variables", _symmetric("variables", self.variables, self.p + 1))

    @property
    def q(self) -> int:
        """Number of instruments."""
        return len(self.cross)

    @property
    def moments(self) -> Float[np.ndarray, "blocks q"]:
        """C', a row per block."""
        return self.cross.T

    @property
    def variance_scale(self) -> float:
        """0: the test takes chi-square quantiles as they are."""
        return 0.0

    @property
    def mean_scale(self) -> float:
        """s_C."""
        return self.cross_scale

    @cached_property
    def signal(self) -> Float[np.ndarray, "d d"]:
        """Q⁺ ⊗ A⁺ / n."""
        return np.kron(positive_part(self.variables), positive_part(self.instruments)) / self.n


def positive_part(matrix: Float[np.ndarray, "... d d"]) -> Float[np.ndarray, "... d d"]:
    """Symmetric matrices with negative eigenvalues set to 0; bit for bit the matrix where it is positive definite.

    Raises `DomainError` for what is no stack of finite square matrices.
    """
    matrix = finite_stack("matrix", matrix, 2)
    if matrix.shape[-1] != matrix.shape[-2]:
        raise DomainError("matrix", f"an array of shape {matrix.shape}", "square matrices")
    definite = np.asarray(_least_correlation(matrix) > 0)
    if definite.all():
        return matrix
    values, vectors = np.linalg.eigh(matrix)
    kept = vectors * np.maximum(values, 0.0)[..., None, :]
    projected = kept @ np.swapaxes(vectors, -1, -2)
    return np.where(definite[..., None, None], matrix, (projected + np.swapaxes(projected, -1, -2)) / 2)


def with_noise(signal: Float[np.ndarray, "... d d"], scale: float) -> Float[np.ndarray, "... d d"]:
    """Sigma = signal + s1² I, the covariance of the released moments; leading axes are releases."""
    return signal + scale**2 * np.eye(signal.shape[-1])


def _least_correlation(matrix: np.ndarray) -> np.ndarray:
    """Least eigenvalue of D^{-1/2} M D^{-1/2}, D the diagonal of M; negative where that has an entry <= 0."""
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    least = np.linalg.eigvalsh(matrix / scale[..., :, None] / scale[..., None, :])[..., 0]
    return np.where((diagonal > 0).all(axis=-1), least, -1.0)


def finite_stack(parameter: str, values: Any, axes: int) -> np.ndarray:
    """`values` as a non-empty finite float array with at least so many axes; the same object if it is one already."""
    array = values if isinstance(values, np.ndarray) and values.dtype == float else real_array(parameter, values)
    if array.ndim < axes or array.size == 0 or not np.isfinite(array).all():
        raise DomainError(parameter, f"an array of shape {array.shape}", f"finite numbers, with at least {axes} axes")
    return array


def _require_instruments(q: int, p: int) -> None:
    if q < p:
        raise DomainError("q", q, f"at least p = {p}", "a test needs as many instruments as regressors")


def _symmetric(parameter: str, values: Any, size: int) -> np.ndarray:
    matrix = finite_array(parameter, values, 2)
    if matrix.shape != (size, size):
        raise DomainError(parameter, f"an array of shape {matrix.shape}", f"of shape ({size}, {size})")
    if (np.abs(matrix - matrix.T) > _SYMMETRIC * np.abs(matrix).max()).any():
        raise DomainError(parameter, "a matrix that is not symmetric", "symmetric", "symmetrise the noise once")
    matrix = (matrix + matrix.T) / 2
    matrix.setflags(write=False)
    return matrix
