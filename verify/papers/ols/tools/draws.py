"""Runs of the simulators whose random numbers are kept, so that the same steps can be done by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np

from simulators.engine import Streams
from simulators.ols import LeastSquares


class Recording(np.random.Generator):
    """A generator that keeps what it gave out, in order."""

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.SFC64(seed))
        self.drawn: list[np.ndarray] = []

    def standard_normal(self, *arguments: Any, **keywords: Any) -> Any:
        """Normals, kept."""
        return self._kept(super().standard_normal(*arguments, **keywords))

    def chisquare(self, *arguments: Any, **keywords: Any) -> Any:
        """Chi-squared numbers, kept."""
        return self._kept(super().chisquare(*arguments, **keywords))

    def _kept(self, values: Any) -> Any:
        self.drawn.append(np.array(values))
        return values


def recorded(seed: int) -> tuple[Streams, Recording]:
    """Streams whose noise is recorded."""
    noise = Recording(seed)
    return Streams(noise=noise, data=np.random.default_rng(0), initial=np.random.default_rng(1)), noise


def small_problem(
    rng: np.random.Generator, n: int, d: int, row_bound: float = 1.0, outcome_bound: float = 1.0, tilt: float = 1.0
) -> LeastSquares:
    """Records that reach both bounds; `tilt` shrinks the last column."""
    X, Y = rng.uniform(-1, 1, (n, d)), rng.uniform(-1, 1, n)
    X[:, -1] *= tilt
    X *= row_bound / np.linalg.norm(X, axis=1).max()
    Y *= outcome_bound / np.abs(Y).max()
    return LeastSquares(regressors=X, outcome=Y, row_bound=row_bound, outcome_bound=outcome_bound)


def matrix(array: np.ndarray) -> Any:
    """Floats as they are, in mpmath's digits; vectors as columns."""
    return mpmath.matrix(np.atleast_2d(array).T.tolist() if np.ndim(array) == 1 else np.asarray(array).tolist())


def vector(column: Any) -> np.ndarray:
    """Back to floats."""
    return np.array([float(value) for value in column])


def least_eigenvalue(symmetric: Any) -> Any:
    """Of a symmetric matrix."""
    return min(mpmath.eigsy(symmetric, eigvals_only=True))


def clipped(residuals: Any, limits: Sequence[Any]) -> Any:
    """v min{1, c/|v|} entry by entry."""
    return mpmath.matrix(
        [v * min(mpmath.mpf(1), c / abs(v)) if v else v for v, c in zip(residuals, limits, strict=True)]
    )
