"""Power series of functions that are known on circles around 0, by one Fourier transform.

>>> power_series(lambda exponent: 1.0 / (1.0 - 0.5 * np.exp(exponent)), 4, slowest=0.5).round(12).tolist()
[1.0, 0.5, 0.25, 0.125]
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Complex, Float

# Largest term of the series that is folded back onto the first quarter of the grid, relative to the largest of all.
FOLDED = 1e-16
# Factor by which a smaller circle may raise the rounding of the last coefficient, on grids of at most FINEST points.
RAISED, FINEST = 10.0, 1 << 22
# Points of the circle looked at together: what they need stays in cache.
PART = 1 << 14


def power_series(
    values: Callable[[Complex[np.ndarray, " n"]], Complex[np.ndarray, " n"]],
    T: int,
    *,
    slowest: float,
    finest: int = FINEST,
) -> Float[np.ndarray, " T"]:
    """The first T coefficients of a real function; `values` gives it at z = e^x for exponents x, elementwise.

    `slowest` is 1 - q, in [0, 1], for coefficients that fall as q^t times a power of t. The circle has a radius of at
    most 1, on which what is folded back has died out; coefficients fall below q^(t / 2), and a smaller circle than
    needed would raise the rounding of the late ones, as does a coarse grid: it has at least 4 T points, and up to
    `finest` where that helps.
    """
    grid = 4 << (T - 1).bit_length()
    while -_log_radius(grid, slowest) * T > np.log(RAISED) and 2 * grid <= finest:
        grid *= 2
    log_radius = _log_radius(grid, slowest)
    half = np.empty(grid // 2 + 1, dtype=complex)
    for start in range(0, len(half), PART):
        points = np.arange(start, min(start + PART, len(half)))
        half[points] = values(log_radius - 2j * np.pi * points / grid)
    return np.fft.irfft(half, grid)[:T] * np.exp(-log_radius * np.arange(T))


def _log_radius(grid: int, slowest: float) -> float:
    if slowest >= 1:
        return 0.0
    return min(0.0, float(np.log(FOLDED) / grid - 0.5 * np.log1p(-slowest)))
