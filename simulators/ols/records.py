"""One data set of least squares: records within stated bounds, and all that algorithms and laws read off them.

>>> data = LeastSquares(regressors=[[0.6, 0.0], [0.0, 0.8], [0.6, 0.8]], outcome=[1.0, 0.5, 0.7])
>>> data.n, data.d, round(data.y_squared, 2)
(3, 2, 1.74)
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, get_args

import numpy as np

from dpbounds.errors import LARGEST, DomainError, choice, moderate, real_array
from dpbounds.ols.data import SLACK, Beyond, shortened
from dpbounds.ols.gram import Gram, triangle

# Least singular value of X with columns of unit length, against which rounding of the data cannot be told from 0.
_LEAST_SINGULAR_VALUE = 1e-13


@dataclass(frozen=True, kw_only=True, eq=False)
class LeastSquares:
    """Regressors X (n, d), n >= d, and outcomes Y (n,): rows of length at most C_X = `row_bound`, |y_i| at most
    C_Y = `outcome_bound`, which are public.

    Private least squares calibrates noise to the bounds, so records beyond them are refused (`DomainError`);
    `LeastSquares.bounded` shortens them instead. Streams are keyed by `digest`, a hash of records and bounds.

    Everything else comes from one QR factorisation of (X, Y): squaring X first would lose the half of its digits that
    unscaled columns need.
    """

    regressors: np.ndarray = field(repr=False)
    outcome: np.ndarray = field(repr=False)
    row_bound: float = 1.0
    outcome_bound: float = 1.0
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        X, Y = finite("regressors", self.regressors, 2), finite("outcome", self.outcome, 1)
        if len(X) != len(Y):
            raise DomainError("regressors, outcome", f"{len(X)} and {len(Y)} rows", "as many rows in each")
        if len(X) < X.shape[1]:
            raise DomainError("n", len(X), f"at least d = {X.shape[1]}", "drop columns, or give more records")
        for name in ("row_bound", "outcome_bound"):
            object.__setattr__(self, name, moderate(name, getattr(self, name)))
        remedy = "scale the data, or take LeastSquares.bounded(..., beyond='clip')"
        for name, largest in (("row_bound", np.linalg.norm(X, axis=1).max()), ("outcome_bound", np.abs(Y).max())):
            if largest > getattr(self, name) * (1.0 + SLACK):
                raise DomainError(name, getattr(self, name), f"at least {largest:g}, the largest record", remedy)
        content = b"".join(part.tobytes() for part in (np.asarray(X.shape), X, Y))
        bounds = f"{self.row_bound!r} {self.outcome_bound!r}".encode()
        object.__setattr__(self, "regressors", X)
        object.__setattr__(self, "outcome", Y)
        object.__setattr__(self, "digest", hashlib.sha256(content + bounds).hexdigest())

    @classmethod
    def bounded(
        cls,
        regressors: Any,
        outcome: Any,
        *,
        row_bound: float = 1.0,
        outcome_bound: float = 1.0,
        beyond: Beyond = "refuse",
    ) -> LeastSquares:
        """With records beyond the bounds refused, or shortened to them (`clip`): public bounds, any data."""
        X, Y = finite("regressors", regressors, 2), finite("outcome", outcome, 1)
        if choice("beyond", beyond, get_args(Beyond)) == "clip":
            row_bound, outcome_bound = moderate("row_bound", row_bound), moderate("outcome_bound", outcome_bound)
            X, Y = shortened(X, Y, row_bound, outcome_bound)
        return cls(regressors=X, outcome=Y, row_bound=row_bound, outcome_bound=outcome_bound)

    @property
    def n(self) -> int:
        """Records."""
        return len(self.outcome)

    @property
    def d(self) -> int:
        """Regressors."""
        return self.regressors.shape[1]

    @cached_property
    def gram(self) -> np.ndarray:
        """A = X'X."""
        return self._root.T @ self._root

    @cached_property
    def cross(self) -> np.ndarray:
        """b = X'Y."""
        return self._root.T @ self._triangle[: self.d, self.d]

    @cached_property
    def y_squared(self) -> float:
        """||Y||²."""
        return float(self._triangle[:, self.d] @ self._triangle[:, self.d])

    @cached_property
    def statistics(self) -> Gram:
        """A, b, ||Y||² and n together: the sufficient statistics, which theory takes."""
        return Gram(A=self.gram, b=self.cross, y_squared=self.y_squared, n=self.n)

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """Of A, the smallest first."""
        return self._spectrum[0]

    @cached_property
    def eigenvectors(self) -> np.ndarray:
        """Of A, in columns."""
        return self._spectrum[1]

    @property
    def lambda_min(self) -> float:
        """The smallest eigenvalue of A."""
        return float(self.eigenvalues[0])

    @property
    def rounding(self) -> float:
        """What an eigenvalue of A that is 0 may come out as."""
        return float(np.finfo(float).eps * self.eigenvalues[-1])

    @cached_property
    def lambda_min_joint(self) -> float:
        """The smallest eigenvalue of (X, Y)'(X, Y)."""
        return float(np.linalg.svd(self._triangle, compute_uv=False)[-1] ** 2)

    @cached_property
    def theta_star(self) -> np.ndarray:
        """The least squares estimate, of the smallest norm where there are several."""
        return self._fit[0]

    @cached_property
    def least_loss(self) -> float:
        """L(theta*) = ||Y - X theta*||²."""
        return self._fit[1]

    def risk(self, theta: np.ndarray) -> np.ndarray:
        """||X (theta - theta*)||², a sum over records, of estimates (..., d); inf where one left floating point."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.sum(((theta - self.theta_star) @ self._root.T) ** 2, axis=-1)
        return np.where(np.isfinite(values), values, np.inf)

    @cached_property
    def _triangle(self) -> np.ndarray:
        """R (d+1, d+1) of the QR factorisation of (X, Y)."""
        return triangle(self.regressors, self.outcome)

    @cached_property
    def _root(self) -> np.ndarray:
        """R (d, d) with R'R = X'X."""
        return self._triangle[: self.d, : self.d]

    @cached_property
    def _spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        _, singular, vectors = np.linalg.svd(self._root)
        return singular[::-1] ** 2, np.ascontiguousarray(vectors[::-1].T)

    @cached_property
    def _fit(self) -> tuple[np.ndarray, float]:
        """theta* and L*, by singular values of X with columns of unit length."""
        lengths = np.linalg.norm(self._root, axis=0)
        scale = 1.0 / np.where(lengths > 0, lengths, 1.0)
        left, singular, right = np.linalg.svd(self._root * scale)
        kept = singular > _LEAST_SINGULAR_VALUE * singular[0] * max(self.n, self.d) ** 0.5
        target = self._triangle[: self.d, self.d]
        seen = left[:, kept].T @ target
        theta = scale * (right[kept].T @ (seen / singular[kept]))
        if not kept.all():
            # Of all estimates with this fit, the one orthogonal to the null space of X.
            null, _ = np.linalg.qr(scale[:, None] * right[~kept].T)
            theta = theta - null @ (null.T @ theta)
        rest = target - left[:, kept] @ seen
        return theta, float(rest @ rest + self._triangle[self.d, self.d] ** 2)


def finite(parameter: str, values: Any, dimensions: int) -> np.ndarray:
    """`values` as a read-only C-ordered float array with this number of axes, none empty, all entries finite."""
    array = np.ascontiguousarray(real_array(parameter, values))
    if array.ndim != dimensions or array.size == 0:
        raise DomainError(parameter, f"an array of shape {array.shape}", f"a non-empty array with {dimensions} axes")
    if not np.isfinite(array).all():
        first = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise DomainError(f"{parameter}{list(first)}", float(array[first]), "a finite number", "drop missing values")
    if np.abs(array).max() > LARGEST:
        raise DomainError(f"largest entry of {parameter}", float(np.abs(array).max()), f"at most {LARGEST:g}")
    array.setflags(write=False)
    return array
