"""Scaled Toeplitz mechanisms for T steps: C = diag(r) L(c) diag(1 / n).

n are the column norms of diag(r) L(c), so that every column of C has norm 1: the sensitivity of one participation is
exactly 1. The noise is w~_t = n_t sum_k beta_k w_{t-k} / r_{t-k}: draws are scaled before, noise after a Toeplitz
filter. With r = 1 this is "unit columns", which never costs anything: n_t <= n_0.

>>> np.linalg.norm(unit_columns(Blt((0.5,), (0.25,)), 3).encoder(3), axis=0).round(9).tolist()
[1.0, 1.0, 1.0]
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, vector
from dpbounds.ftrl.correlations import Correlation, ToeplitzCorrelation
from dpbounds.ftrl.correlations.base import LARGEST_HORIZON
from dpbounds.ftrl.design.mechanisms.blt import Blt
from dpbounds.ftrl.design.objective import Objective

# Steps up to which column norms are summed directly; beyond, by FFT.
DIRECT = 4096


@typed
@dataclass(frozen=True, eq=False)
class ScaledToeplitz(Correlation):
    """C = diag(row_scale) L(c) diag(1 / column_scale), column_scale making every column a unit vector.

    `row_scale` r is 1 if not given. Raises `DomainError` for scales not above 0 or of the wrong length.
    """

    toeplitz: ToeplitzCorrelation
    steps: int
    row_scale: Float[np.ndarray, " T"] | None = None
    label: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", count("steps", self.steps, most=LARGEST_HORIZON))
        if self.row_scale is not None:
            scale = vector("row_scale", self.row_scale, above=0.0, length=self.steps, per="step")
            object.__setattr__(self, "row_scale", scale)

    @property
    def name(self) -> str:
        """What tables and plots call it."""
        kind = "unit columns" if self.row_scale is None else "scaled"
        return self.label or f"{self.toeplitz.name}, {kind}"

    @property
    def before(self) -> Float[np.ndarray, " T"]:
        """1 / r: what multiplies the draw of step t before the filter."""
        return np.ones(self.steps) if self.row_scale is None else 1.0 / self.row_scale

    @cached_property
    def column_scale(self) -> Float[np.ndarray, " T"]:
        """n: what multiplies the filtered noise of step t. n_t^2 = sum_{s >= t} r_s^2 c_{s-t}^2."""
        squares = self.toeplitz.inverse_coefficients(self.steps) ** 2
        if self.row_scale is None:
            return np.sqrt(np.cumsum(squares)[::-1])
        return np.sqrt(_correlate(self.row_scale**2, squares))

    def matrix(self, T: int) -> Float[np.ndarray, "T T"]:
        """B = diag(n) L(beta) diag(1 / r); `DomainError` for another horizon than its own."""
        return self.column_scale[:, None] * self.toeplitz.matrix(self._own(T)) * self.before

    def encoder(self, T: int) -> Float[np.ndarray, "T T"]:
        """C; `DomainError` for another horizon than its own."""
        return self.toeplitz.encoder(self._own(T)) / self.before[:, None] / self.column_scale

    def sensitivity(self, T: int) -> float:
        """1: every column is a unit vector by construction."""
        self._own(T)
        return 1.0

    def _own(self, T: int) -> int:
        if count("T", T) != self.steps:
            raise DomainError("T", T, f"the horizon {self.steps} this mechanism was made for", "make one for this T")
        return self.steps


@typed
@dataclass(frozen=True, eq=False)
class ScaledBlt(ScaledToeplitz):
    """A BLT with scaling before and after: noise in memory of a few vectors, exact cost in O(T)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.toeplitz, Blt):
            raise DomainError("toeplitz", self.toeplitz, "a Blt", "ScaledToeplitz takes any Toeplitz correlation")

    @property
    def blt(self) -> Blt:
        """The filter between the scalings."""
        return cast(Blt, self.toeplitz)

    @cached_property
    def column_scale(self) -> Float[np.ndarray, " T"]:
        """n, in O(T) from the buffers."""
        from scipy.signal import lfilter

        rows = np.ones(self.steps) if self.row_scale is None else self.row_scale**2
        squares = rows.copy()
        for first, left in zip(self.blt.buf_decay, self.blt.output_scale, strict=True):
            for second, right in zip(self.blt.buf_decay, self.blt.output_scale, strict=True):
                # sum_{s > t} r_s^2 (phi psi)^(s-t-1), backward in time.
                tail = np.asarray(lfilter([0.0, 1.0], [1.0, -first * second], rows[::-1]))[::-1]
                squares += left * right * tail
        return np.sqrt(squares)

    def noise_power(self, objective: Objective) -> float:
        """tr(G B B^T), exactly, by the joint second moments of buffers and iterate: O(T d buffers)."""
        self._own(objective.steps)
        return self.blt.scaled_noise_power(objective.chains, before=self.before, after=self.column_scale)


@typed
def unit_columns(correlation: ToeplitzCorrelation, steps: int, *, label: str = "") -> ScaledToeplitz:
    """C = L(c) diag(1 / n): the noise of step t times n_t = (sum_{k < T-t} c_k^2)^{1/2}; sensitivity exactly 1."""
    kind = ScaledBlt if isinstance(correlation, Blt) else ScaledToeplitz
    return kind(correlation, steps, label=label)


def _correlate(rows: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """sum_{s >= t} rows_s squares_{s-t}."""
    from scipy.signal import convolve

    method = "direct" if len(rows) <= DIRECT else "fft"
    return np.maximum(convolve(rows[::-1], squares, method=method)[: len(rows)][::-1], rows * squares[0])
