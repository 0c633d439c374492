"""What private least squares reads off its records: X'X, X'Y, ||Y||² and their number.

>>> gram = Gram.of_records([[0.6, 0.0], [0.0, 0.8], [0.6, 0.8]], [1.0, 0.5, 0.7])
>>> gram.n, gram.d, round(gram.y_squared, 2)
(3, 2, 1.74)
>>> [round(float(entry), 2) for entry in gram.b]
[1.02, 0.96]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from dpbounds.errors import DomainError, count, moderate_or_zero
from dpbounds.ols.spectrum import Spectrum, spectrum

# Rows at a time of the QR factorisation.
BLOCK = 1 << 14
# By which the square of the fit may exceed ||Y||², relative to it, through rounding alone.
ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Gram:
    """A = X'X (d, d), b = X'Y (d,), `y_squared` = ||Y||² and n, the number of records.

    Raises `DomainError` for n < d, an A that is no Gram matrix, a b outside its column space, and a ||Y||² below the
    square of the fit.
    """

    A: Float[np.ndarray, "d d"]
    b: Float[np.ndarray, " d"]
    y_squared: float
    n: int

    def __post_init__(self) -> None:
        remedy = f"d = {self.d}: with fewer records than columns X'X is singular"
        object.__setattr__(self, "n", count("n", self.n, self.d, remedy))
        object.__setattr__(self, "A", np.asarray(self.A, dtype=float))
        object.__setattr__(self, "b", np.asarray(self.b, dtype=float))
        object.__setattr__(self, "y_squared", moderate_or_zero("y_squared", self.y_squared))
        if self.y_squared - self.signal < -ROUNDING * self.signal:
            raise DomainError("y_squared", self.y_squared, f"at least the square of the fit, {self.signal:.6g}")

    @classmethod
    def of_records(cls, regressors: ArrayLike, outcome: ArrayLike) -> Gram:
        """Of X (n, d) and Y (n,), by one QR factorisation."""
        R = triangle(np.asarray(regressors, dtype=float), np.asarray(outcome, dtype=float))
        root, last = R[:-1, :-1], R[:, -1]
        return cls(A=root.T @ root, b=root.T @ last[:-1], y_squared=float(last @ last), n=len(np.asarray(outcome)))

    def standing_for(self, n: int) -> Gram:
        """The same by record, of n records."""
        factor = n / self.n
        return Gram(A=factor * self.A, b=factor * self.b, y_squared=factor * self.y_squared, n=n)

    @cached_property
    def spectrum(self) -> Spectrum:
        """The problem in the eigenbasis of A."""
        return spectrum(self.A, self.b)

    @property
    def d(self) -> int:
        """Regressors."""
        return len(self.spectrum.loads)

    @property
    def signal(self) -> float:
        """||X theta*||², the risk of theta = 0."""
        return float(self.spectrum.loads @ self.spectrum.theta)


def triangle(regressors: Float[np.ndarray, "n d"], outcome: Float[np.ndarray, " n"]) -> Float[np.ndarray, "m m"]:
    """R (d+1, d+1) of the QR factorisation of (X, Y), block by block of rows; m = d + 1."""
    n, d = regressors.shape
    joint = np.zeros((0, d + 1))
    for start in range(0, n, BLOCK):
        rows = slice(start, start + BLOCK)
        joint = np.linalg.qr(np.vstack([joint, np.column_stack([regressors[rows], outcome[rows]])]), mode="r")
    return np.vstack([joint, np.zeros((d + 1 - len(joint), d + 1))])
