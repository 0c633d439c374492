"""Gaussian noise on released moments.

>>> noise = symmetric_noise(np.random.default_rng(0), 5, 3, scale=2.0)
>>> noise.shape, bool(np.array_equal(noise, np.swapaxes(noise, 1, 2)))
((5, 3, 3), True)
"""

from __future__ import annotations

import numpy as np


def symmetric_noise(generator: np.random.Generator, trials: int, size: int, scale: float) -> np.ndarray:
    """svec N(0, scale^2) for symmetric matrices, (trials, size, size): diagonal sd `scale`, off-diagonal scale/sqrt 2.

    Its density depends on the Frobenius norm alone: (A + A')/2 with A of i.i.d. entries N(0, scale^2).
    """
    entries = scale * generator.standard_normal((trials, size, size))
    return (entries + np.swapaxes(entries, 1, 2)) / 2.0


def wishart(generator: np.random.Generator, degrees: np.ndarray, size: int) -> np.ndarray:
    """Wishart matrices of identity scale, (*degrees.shape, size, size), with whole degrees of freedom from 0 on.

    W = L L' with Bartlett's L: chi with nu - i degrees of freedom on the diagonal and normals below it; fewer degrees
    than rows give a singular matrix, whose law the same L has once the columns beyond nu are 0.
    """
    nu = np.asarray(degrees)[..., None]
    column = np.arange(size)
    lower = np.tril(generator.standard_normal((*nu.shape[:-1], size, size)), -1) * (column < nu)[..., None, :]
    free = np.maximum(nu - column, 0)
    lower[..., column, column] = np.sqrt(2.0 * generator.standard_gamma(free / 2.0))
    return lower @ np.swapaxes(lower, -1, -2)
