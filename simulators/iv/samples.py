"""Data sets of many trials side by side: their records, their moments, and 2SLS on the moments.

Leading axes are trials; a leading axis of length 1 is a data set that all trials share. Records run along the last axis
(instruments have shape (trials, q, n)), so that sums over coordinates are sums of long contiguous rows.

>>> z = np.ones((1, 1, 4))
>>> sample = RecordSample(instruments=z, regressors=2 * z, outcome=6 * z[:, 0])
>>> sample.moments.beta_hat.tolist()
[[3.0]]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from dpbounds.errors import DomainError

# Numbers that one step of a block of trials may touch. Measured: this is what stays in the second level of cache.
_CELLS = 1 << 18


@dataclass(frozen=True, kw_only=True, eq=False)
class MomentSample:
    """A = Z'Z/n, G = Z'X/n and b = Z'Y/n of every trial; A positive definite and G of rank p."""

    A: Float[np.ndarray, "trials q q"]
    G: Float[np.ndarray, "trials q p"]
    b: Float[np.ndarray, "trials q"]

    @property
    def moments(self) -> MomentSample:
        """Itself."""
        return self

    @property
    def records(self) -> RecordSample:
        """Raise `DomainError`: moments do not determine the records."""
        raise DomainError("data", "moments", "records", "set gamma1 = gamma2 = inf, or give the data set itself")

    @cached_property
    def theta_hat(self) -> Float[np.ndarray, "trials q p"]:
        """First-stage least squares A^{-1} G: iv Def. 2.3."""
        return np.linalg.solve(self.A, self.G)

    @cached_property
    def beta_hat(self) -> Float[np.ndarray, "trials p"]:
        """2SLS (iv Def. 2.3) as least squares of L^{-1} b on L^{-1} G, with A = LL' the Cholesky factorisation.

        H = G'A^{-1}G is never formed: it would square the condition number of the second stage.
        """
        try:
            root = np.linalg.cholesky(self.A)
        except np.linalg.LinAlgError:
            found = "a singular matrix in some trial"
            raise DomainError("Z'Z/n", found, "positive definite in all of them", "take more records") from None
        whitened = np.linalg.solve(root, np.concatenate([self.G, self.b[..., None]], axis=2))
        orthogonal, triangular = np.linalg.qr(whitened[..., :-1])
        return np.linalg.solve(triangular, np.swapaxes(orthogonal, 1, 2) @ whitened[..., -1:])[..., 0]


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordSample:
    """The records (z_i, x_i, y_i) of every trial."""

    instruments: Float[np.ndarray, "trials q n"]
    regressors: Float[np.ndarray, "trials p n"]
    outcome: Float[np.ndarray, "trials n"]

    @property
    def records(self) -> RecordSample:
        """Itself."""
        return self

    @cached_property
    def moments(self) -> MomentSample:
        """Averages over the records."""
        Z = self.instruments
        b = average(Z, self.outcome[:, None, :])[..., 0]
        return MomentSample(A=average(Z, Z), G=average(Z, self.regressors), b=b)

    @cached_property
    def lengths(self) -> Float[np.ndarray, "trials n"]:
        """||z_i||."""
        return record_norms(self.instruments)


Sample = MomentSample | RecordSample


def record_norms(columns: Float[np.ndarray, "trials d n"]) -> Float[np.ndarray, "trials n"]:
    """Euclidean norms of one vector per record."""
    return np.sqrt(np.einsum("tdn,tdn->tn", columns, columns))


def average(
    left: Float[np.ndarray, "trials_left d n"], right: Float[np.ndarray, "trials_right e n"]
) -> Float[np.ndarray, "trials d e"]:
    """(1/n) sum_i left_i right_i'; a shared data set broadcasts."""
    return left @ np.swapaxes(right, 1, 2) / left.shape[-1]


def block_sizes(cells: int, trials: int) -> Iterator[int]:
    """Trials in blocks that bound the memory of one step, `cells` being the numbers that a trial touches."""
    size = max(1, _CELLS // cells)
    yield from (min(size, trials - start) for start in range(0, trials, size))
