"""Public or proxy records of a least-squares run, and what a design needs of them.

>>> records = ProxyRecords.of(np.array([[1.0], [-1.0], [2.0]]), np.array([2.0, -2.0, 4.0]))
>>> records.eigenvalues.round(9).tolist(), records.start.round(9).tolist(), round(records.sigma_sgd, 9)
([2.0], [4.0], 0.0)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, moderate, vector
from dpbounds.ftrl.design.clipped.results import start_of
from dpbounds.ftrl.design.from_data import NEGLIGIBLE, table


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class ProxyRecords:
    """Features (n, d), residuals at the minimiser theta* of F = 1/2 mean (y_i - <x_i, theta>)^2, and theta_0 - theta*.

    None of this is private: whoever plans on private records gives them away.
    """

    features: Float[np.ndarray, "n d"] = field(repr=False)
    residuals: Float[np.ndarray, " n"] = field(repr=False)
    initial: Float[np.ndarray, " d"] = field(repr=False)

    @classmethod
    @typed
    def of(
        cls,
        features: Float[np.ndarray, "n d"],
        outcomes: Float[np.ndarray, " outcomes"],
        *,
        start: Float[np.ndarray, " start"] | None = None,
    ) -> ProxyRecords:
        """Least squares on records; theta_0 = `start`, 0 if not given. Raises `DomainError` for tables that do not fit,
        and for features that are all 0.
        """
        X = table("features", features)
        y = vector("outcomes", outcomes, length=len(X), per="row of features")
        if not X.any():
            raise DomainError("features", "zeros", "numbers that are not all 0")
        theta = np.linalg.lstsq(X, y, rcond=None)[0]
        first = start_of("start", start, X.shape[1])
        return cls(features=X, residuals=y - X @ theta, initial=first - theta)

    @property
    def rows(self) -> int:
        """n."""
        return len(self.features)

    @cached_property
    def _axes(self) -> tuple[np.ndarray, np.ndarray]:
        """Singular values of X and right singular vectors, without those that are 0 up to rounding."""
        _, values, axes = np.linalg.svd(self.features, full_matrices=False)
        kept = values**2 > NEGLIGIBLE * values[0] ** 2
        return values[kept], axes[kept]

    @property
    def eigenvalues(self) -> Float[np.ndarray, " k"]:
        """Of H = X'X / n, largest first, without those that are 0 up to rounding."""
        return self._axes[0] ** 2 / self.rows

    @property
    def start(self) -> Float[np.ndarray, " k"]:
        """Squared distances of theta_0 from theta* along the eigenvectors."""
        return (self._axes[1] @ self.initial) ** 2

    @property
    def sigma_sgd(self) -> float:
        """Standard deviation of independent residuals that give gradients the same mean square at theta*."""
        lengths = np.sum(self.features**2, axis=1)
        return float(np.sqrt(lengths @ self.residuals**2 / lengths.sum()))

    def share_clipped(self, clip_norm: float) -> float:
        """The share of gradients at theta* that are longer than `clip_norm`."""
        norms = np.linalg.norm(self.features, axis=1) * np.abs(self.residuals)
        return float(np.mean(norms > moderate("clip_norm", clip_norm)))
