"""Real data as private least squares likes them: columns of one scale, clipped, without those that others explain.

>>> rng = np.random.default_rng(0)
>>> X = rng.standard_normal((500, 3))
>>> data = standardised(np.column_stack([X, X[:, 0] + 1e-3 * X[:, 1]]), X @ (1.0, 2.0, 3.0))
>>> data.d, round(float(np.linalg.norm(data.regressors, axis=1).max()), 6)
(3, 1.0)
"""

from __future__ import annotations

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, positive, within
from simulators.ols.records import LeastSquares, finite


@typed
def standardised(X: np.ndarray, Y: np.ndarray, *, limit: float = 3.0, least: float = 0.01) -> LeastSquares:
    """Columns of X and Y standardised by their own moments and clipped at +-`limit`; from the first on, a column of X
    stays where the least eigenvalue of X'X/n of those that stay is at least `least`; then rows and outcomes divided by
    the largest. None of the factors is private.

    Raises `DomainError` where no column stays, or all outcomes are the same.
    """
    X, Y = finite("regressors", X, 2), finite("outcome", Y, 1)
    limit, least = positive("limit", limit), within("least", least, "(0, 1]")
    columns, target = _clipped(X, limit), _clipped(Y[:, None], limit)[:, 0]
    kept: list[int] = []
    for column in range(X.shape[1]):
        part = columns[:, [*kept, column]]
        if np.linalg.eigvalsh(part.T @ part / len(X))[0] >= least:
            kept.append(column)
    if not kept or not target.any():
        raise DomainError("regressors, outcome", "columns without spread", "columns that vary")
    rows = columns[:, kept]
    return LeastSquares(regressors=rows / np.linalg.norm(rows, axis=1).max(), outcome=target / np.abs(target).max())


def _clipped(columns: np.ndarray, limit: float) -> np.ndarray:
    spread = columns.std(axis=0)
    scaled = (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.clip(np.where(spread > 0, scaled, 0.0), -limit, limit)
