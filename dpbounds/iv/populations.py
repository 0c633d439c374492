"""The linear model of iv eq. (1) as a problem to plan a run for: sizes, Theta, beta, Cov z and the errors.

>>> population = Population(n=2000, p=2, q=3, singular_values=(2.0, 1.0))
>>> population.rows.tolist()
[[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, within
from dpbounds.iv.moments import finite_array
from dpbounds.iv.quantities import Design

# Beyond these, products of them leave the range of doubles.
MOST = {"n": 10**12, "p": 200, "q": 10**6, "T": 10**9}
# Instruments whose covariance can be given.
MOST_CORRELATED = 200
# Entries of a Theta that is written out.
LARGEST_THETA = 1_000_000
# Singular values of Theta below this share of the largest are rounding.
LEAST_SHARE = 1e-11
# Entries of a covariance and their mirror images may differ by this share.
ASYMMETRY = 1e-9
# What scales may be.
MODERATE = "[1e-12, 1e12]"


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class Population:
    """x = Theta'z + e_2, y = beta'x + e_1 with independent errors: n records, p regressors, q >= p instruments.

    - `theta`: Theta (q, p); or `singular_values` of it, p numbers or one for all, on the diagonal; default 1.
    - `beta`: (p,); default of length 1, in equal parts along the singular directions of Theta.
    - `instrument_covariance`: Cov z (q, q); None for the identity.
    - `sigma_z`: variance proxy of the instruments; `sigma_1`, `sigma_2`: deviations of the errors of y and of each
      regressor; `tau`: confidence of (7), 1 - O(exp(-tau)).

    Raises `DomainError` for sizes and scales out of range, a Theta of rank below p, a covariance that is not symmetric,
    and shapes that do not fit.
    """

    n: int
    p: int
    q: int
    theta: Float[np.ndarray, "q p"] | None = None
    singular_values: Sequence[float] | None = None
    beta: Sequence[float] | None = None
    instrument_covariance: Float[np.ndarray, "q q"] | None = None
    sigma_z: float = 1.0
    sigma_1: float = 1.0
    sigma_2: float = 1.0
    tau: float = 5.0

    def __post_init__(self) -> None:
        check_size("p", self.p)
        check_size("q", self.q, self.p, f"p = {self.p}: 2SLS needs as many instruments as regressors")
        check_size("n", self.n, self.q, f"q = {self.q}: with fewer records than instruments Z'Z is singular")
        for name in ("sigma_z", "tau"):
            within(name, getattr(self, name), MODERATE)
        for name in ("sigma_1", "sigma_2"):
            within(name, getattr(self, name), "[0, 1e12]")
        object.__setattr__(self, "theta", self._checked_theta())
        object.__setattr__(self, "instrument_covariance", self._checked_covariance())
        assert self.coefficient.shape == (self.p,)

    def _checked_theta(self) -> np.ndarray | None:
        given = self.singular_values
        if self.theta is None:
            values = [1.0] if given is None else [within("singular_values", value, MODERATE) for value in given]
            if len(values) not in (1, self.p):
                raise DomainError("singular_values", f"{len(values)} numbers", f"one number or p = {self.p}")
            return None
        if given is not None:
            raise DomainError("singular_values", given, "left out with theta", "the matrix has its own")
        theta = _matrix("theta", self.theta, (self.q, self.p))
        values = np.linalg.svd(theta, compute_uv=False)
        if not values[-1] > LEAST_SHARE * values[0]:
            found = f"a matrix with least singular value {values[-1]:.3g}"
            raise DomainError("theta", found, f"of rank p = {self.p}", "each regressor needs an instrument of its own")
        return theta

    def _checked_covariance(self) -> np.ndarray | None:
        if self.instrument_covariance is None:
            return None
        name = "instrument_covariance"
        if self.q > MOST_CORRELATED:
            raise DomainError("q", self.q, f"at most {MOST_CORRELATED} with instrument_covariance")
        matrix = _matrix(name, self.instrument_covariance, (self.q, self.q))
        if not np.allclose(matrix, matrix.T, rtol=ASYMMETRY, atol=0.0):
            raise DomainError(name, "a matrix that is none", "a symmetric matrix")
        return (matrix + matrix.T) / 2

    @cached_property
    def rows(self) -> Float[np.ndarray, "rows p"]:
        """Theta (q, p); where it would be large, its first p rows, which are all that are not 0."""
        if self.theta is not None:
            return self.theta
        values = [1.0] if self.singular_values is None else list(map(float, self.singular_values))
        # The singular basis leaves rows of zeros out, unless the moments of the instruments mix them.
        dense = self.instrument_covariance is not None or self.q * self.p <= LARGEST_THETA
        return np.eye(self.q if dense else self.p, self.p) * np.broadcast_to(values, self.p)

    @cached_property
    def coefficient(self) -> Float[np.ndarray, " p"]:
        """beta (p,)."""
        if self.beta is None:
            _, _, basis = np.linalg.svd(self.rows, full_matrices=False)
            return basis.T @ np.full(self.p, 1 / math.sqrt(self.p))
        if len(self.beta) != self.p:
            raise DomainError("beta", f"{len(self.beta)} numbers", f"p = {self.p} numbers")
        return np.array([within(f"beta[{i}]", value, "[-1e12, 1e12]") for i, value in enumerate(self.beta)])

    def design(self, singular_values: Float[np.ndarray, " p"]) -> Design:
        """What iv Theorem 3.1 knows of it; `singular_values` of Theta for whitened instruments, largest first."""
        return Design(
            n=self.n,
            p=self.p,
            q=self.q,
            theta_norm=float(singular_values[0]),
            theta_least=float(singular_values[-1]),
            sigma_z=self.sigma_z,
            sigma_2=self.sigma_2,
            tau=self.tau,
        )


def check_size(name: str, value: Any, least: int = 1, reason: str = "") -> None:
    """`DomainError` unless it is a whole number from `least` to `MOST`, with the reason for `least`."""
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not (is_whole and least <= value <= MOST[name]):
        allowed = f"a whole number from {least} to {MOST[name]}"
        raise DomainError(name, value, allowed, f"least is {reason}" if reason else "")


def _matrix(name: str, value: Any, shape: tuple[int, int]) -> np.ndarray:
    """Finite, and the largest entry in the range of scales."""
    matrix = finite_array(name, value, 2)
    if matrix.shape != shape:
        raise DomainError(name, f"an array of shape {matrix.shape}", f"of shape {shape}")
    within(name, float(np.abs(matrix).max()), MODERATE, "the largest entry")
    return matrix
