"""Laws of the difference of two independent noises of one scale: what remains of two runs when the data cancel.

>>> bool(abs(laplace_difference_cdf(0.0) - 0.5) < 1e-15), round(float(gaussian_difference_cdf(2**0.5)), 4)
(True, 0.8413)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from dpbounds.arguments import formula
from dpbounds.errors import real_array


def gaussian_difference_cdf(x: ArrayLike) -> np.ndarray:
    """P(d <= x) of two standard normals' difference, N(0, 2)."""
    return ndtr(real_array("x", x) / np.sqrt(2))


def laplace_difference_cdf(x: ArrayLike) -> np.ndarray:
    """P(d <= x) of the difference of two Laplace variables with b = 1: density e^{-|x|} (1 + |x|)/4."""
    given = real_array("x", x)
    size = np.abs(given)
    tail = np.exp(-size) * (2 + size) / 4
    return np.where(given < 0, tail, 1 - tail)


@formula
def normal_scores(x: np.ndarray, cdf: np.ndarray) -> np.ndarray:
    """Differences as standard normals, sign(x) times the quantile of their smaller tail: keeps independence."""
    tail = np.minimum(cdf, 1 - cdf)
    return -np.sign(x) * ndtri(np.clip(tail, 1e-300, 0.5))
