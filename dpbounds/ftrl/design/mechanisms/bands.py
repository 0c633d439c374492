"""Toeplitz encoders with finitely many coefficients: one record's gradient reaches b released rows and no more.

>>> Bands((1.0, 0.5)).coefficients(4).tolist()
[1.0, -0.5, 0.25, -0.125]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.arithmetic import Arithmetic
from dpbounds.errors import DomainError, vector
from dpbounds.ftrl.correlations import FiniteImpulse
from dpbounds.ftrl.correlations.base import (
    ToeplitzCorrelation,
    by_parts,
    decay_rates,
    filtered_by_quadrature,
    frequencies,
)
from dpbounds.values import Value

# Zeros of C nearer than this to the circle are refused: the noise would not die out.
NEAR = 1e-12
# Coefficients whose zeros are computed; for more, the finest grid on the circle and the farthest turn between points.
FEW, FINEST, FAR = 64, 1 << 20, 1.0


@typed
@dataclass(frozen=True)
class Bands(ToeplitzCorrelation):
    """C with c_0, ..., c_{b-1} given and 0 beyond; B = C^{-1} has all T weights.

    The noise u = B w runs as u_t = (w_t - sum_{0<k<b} c_k u_{t-k}) / c_0, in memory of b - 1 vectors. Raises
    `DomainError` for c_0 = 0 and coefficients that are not minimum phase.
    """

    c: tuple[float, ...]
    label: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", tuple(vector("c", self.c).tolist()))
        if self.c[0] == 0:
            raise DomainError("c[0]", 0.0, "a nonzero number")
        if not _minimum_phase(np.trim_zeros(np.array(self.c), "b")):
            raise DomainError(
                "c",
                list(self.c),
                "minimum phase (no zero of sum c_k z^k in the closed unit disc)",
                "its noise would grow without end",
            )

    @property
    def bands(self) -> int:
        """b."""
        return len(self.c)

    @property
    def name(self) -> str:
        """What tables and plots call it."""
        return self.label or f"{self.bands} bands"

    @cached_property
    def _mirror(self) -> FiniteImpulse:
        """The correlation whose B is this one's C; that it is minimum phase has been checked."""
        return FiniteImpulse(self.c, allow_unstable_inverse=True)

    def coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """Power series of 1 / C(z)."""
        return self._mirror.inverse_coefficients(T)

    def inverse_coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """The bands, padded with zeros."""
        return self._mirror.coefficients(T)

    @typed
    def spectral_density(self, m: Arithmetic, s: Any) -> Any:
        """1 over a polynomial in s of degree b - 1."""
        return 1 / self._mirror.spectral_density(m, s)

    def power_spectrum(self, omega: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """|C|^{-2}."""
        return 1.0 / self._mirror.power_spectrum(frequencies(omega))

    @property
    def degree(self) -> int:
        """b - 1."""
        return max(1, self.bands - 1)

    def limiting_sensitivity(self) -> Value:
        """The norm of the bands."""
        norm = float(np.linalg.norm(self.c))
        return Value(norm, kind="exact", source="ftrl eq. (26)")

    def filtered_power(self, decay: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
        """c(x) = x (2 - x) / (2 pi) int |B|^2 / |1 - x - e^{i omega}|^2: ftrl Lemma C.4."""
        return by_parts(lambda x: filtered_by_quadrature(self, x), decay_rates(decay))


def _minimum_phase(c: np.ndarray) -> bool:
    """Whether C(z) has all its zeros outside the closed disc, in floats: by its zeros, or for many coefficients by how
    often C(e^{i omega}) turns around 0, on a grid on which no step turns far. What no grid resolves is refused.
    """
    if len(c) <= FEW:
        return len(c) == 1 or float(np.abs(np.roots(c)).max()) < 1 - NEAR
    grid = 16 * (1 << (len(c) - 1).bit_length())
    while grid <= FINEST:
        values = np.fft.rfft(c, grid)
        if not np.abs(values).min() > NEAR * np.abs(c).sum():
            return False
        # What C'/C makes of a step: a turn itself is known only up to whole ones, as around two zeros in one place.
        steps = 2.0 * np.pi / grid * np.abs(np.fft.rfft(np.arange(len(c)) * c, grid) / values)
        if steps.max() < FAR:
            return abs(np.angle(values[1:] / values[:-1]).sum()) < np.pi / 2
        grid *= 4
    return False
