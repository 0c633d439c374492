"""An assumed design in place of a data set: n, d, the spectrum of X'X, the length of theta* and the residual.

>>> design = AssumedDesign(n=2000, d=3, lambda_min=2.0)
>>> [round(float(value), 1) for value in design.eigenvalues]
[2.0, 30.6, 467.4]
>>> round(design.gram.signal, 2)
41.67
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from dpbounds.errors import DomainError, count, nonnegative, positive, vector
from dpbounds.ols.gram import Gram

MOST_RECORDS, MOST_REGRESSORS = 10**12, 2000
# The mean squared length of rows of an assumed design: halfway to the bound 1.
TRACE = 0.25
# Halvings after which an interval of doubles holds no further number.
HALVINGS = 200


@dataclass(frozen=True, kw_only=True)
class AssumedDesign:
    """A design with ||x|| <= 1, |y| <= 1 whose X'X is diagonal and whose theta* has `theta_norm` in equal parts.

    - `spectrum`: the d eigenvalues of X'X, of a sum of at most n; if None, those of rows of length 1/2, all alike, or
      geometric from `lambda_min` on;
    - `residual`: L(theta*)/n.

    Raises `DomainError` for numbers out of range, both of `spectrum` and `lambda_min`, and ||Y||² above n.
    """

    n: int
    d: int
    spectrum: tuple[float, ...] | None = None
    lambda_min: float | None = None
    theta_norm: float = 0.5
    residual: float = 0.05

    def __post_init__(self) -> None:
        d = count("d", self.d)
        count("n", self.n, d, f"d = {d}: with fewer records than regressors X'X is singular")
        for name, most in (("d", MOST_REGRESSORS), ("n", MOST_RECORDS)):
            if getattr(self, name) > most:
                raise DomainError(name, max(self.d, self.n), f"at most {most}")
        self._check_spectrum()
        nonnegative("theta_norm", self.theta_norm)
        squares = float(self.eigenvalues @ self.theta**2) + nonnegative("residual", self.residual) * self.n
        if squares > self.n:
            found = f"||Y||²/n = {squares / self.n:.4g}"
            raise DomainError("theta_norm, residual", found, "at most 1, as |y| <= 1", "give smaller ones")

    def _check_spectrum(self) -> None:
        if self.spectrum is None:
            return
        if self.lambda_min is not None:
            raise DomainError("lambda_min", self.lambda_min, "left out with a spectrum", "which has its own")
        values = vector("spectrum", self.spectrum, above=0.0)
        if len(values) != self.d:
            raise DomainError("spectrum", self.spectrum, f"d = {self.d} positive numbers")
        if values.sum() > self.n:
            found = f"a sum of {values.sum():.6g}"
            raise DomainError("spectrum", found, f"at most n = {self.n}", "rows have length 1 at most")

    @cached_property
    def eigenvalues(self) -> Float[np.ndarray, " d"]:
        """Of X'X, the smallest first."""
        if self.spectrum is not None:
            return np.sort(np.asarray(self.spectrum, dtype=float))
        return geometric_spectrum(self.n, self.d, self.lambda_min)

    @property
    def theta(self) -> Float[np.ndarray, " d"]:
        """theta*, along the eigenvectors."""
        return np.full(self.d, self.theta_norm / math.sqrt(self.d))

    @cached_property
    def gram(self) -> Gram:
        """X'X diagonal, X'Y and ||Y||² = ||X theta*||² + L(theta*)."""
        signal = float(self.eigenvalues @ self.theta**2)
        return Gram(
            A=np.diag(self.eigenvalues),
            b=self.eigenvalues * self.theta,
            y_squared=signal + self.residual * self.n,
            n=self.n,
        )


def geometric_spectrum(n: int, d: int, lambda_min: float | None = None) -> Float[np.ndarray, " d"]:
    """d eigenvalues of the sum n/4, in geometric progression from `lambda_min` up; all alike if None.

    Raises `DomainError` for a `lambda_min` that is not above 0, or above n/(4d).
    """
    n, d = count("n", n, most=MOST_RECORDS), count("d", d, most=MOST_REGRESSORS)
    trace = TRACE * n
    if lambda_min is None:
        return np.full(d, trace / d)
    least = positive("lambda_min", lambda_min)
    if least > trace / d:
        raise DomainError("lambda_min", least, f"at most n/(4d) = {trace / d:.6g}", "rows have length 1/2")
    if d == 1:
        return np.full(1, trace)
    low, high = 0.0, math.log(trace / least)
    for _ in range(HALVINGS):  # the log ratio of the ends at which the trace is right
        middle = (low + high) / 2
        low, high = (low, middle) if least * np.exp(np.linspace(0, middle, d)).sum() > trace else (middle, high)
    return least * np.exp(np.linspace(0.0, low, d))
