"""Controls by public cells: what centring each cell at its noisy means adds to the variance of the moment.

Stage 0 releases per cell two counts with independent noise, and the sums of z, x and y; all noise has deviation s0.
The means z-bar = (sum z) / N1 and (x-bar, y-bar) = (sums) / N2 then have independent errors, hence no bias, and the
product of the two adds s0^4 (1 + z-bar²) (1 + beta² + (y-bar - beta x-bar)²) / n² per cell (one instrument, one
regressor). With one common count the errors are dependent: bias z-bar e-bar s0² / n².

>>> round(float(cell_sensitivity("replace-one")) ** 2)
14
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from dpbounds.errors import DomainError, moderate_or_zero, real, vector
from dpbounds.iv.confidence.sensitivity import Adjacency, Numbers, known_adjacency
from dpbounds.values import Value

# What a record adds to stage 0: (1, 1, z, x, y) in its cell and (x², xy, y²) in the totals, squared norms 5 and 3. One
# that replaces it may stand in another cell: 10 there, and (x², y²) cancel at opposite corners, which leaves 4.
_SQUARED = {"zero-out": 8.0, "replace-one": 14.0}


def cell_sensitivity(adjacency: Adjacency) -> Value:
    """How far one record moves all sums of stage 0 together, |z| <= 1, x and y in [-1, 1]: sqrt 8, or sqrt 14."""
    squared = _SQUARED[known_adjacency(adjacency)]
    return Value(squared**0.5, kind="exact", source="dpbounds", convention=adjacency)


def cell_form(
    counts: Numbers,
    z_means: Numbers,
    x_means: Numbers,
    y_means: Numbers,
    *,
    scale: float,
    centre: float = 0.0,
) -> Float[np.ndarray, "2 2"]:
    """The matrix F with extra variance (1, -t) F (1, -t)', t = beta - centre, in the units of z, x, y: add it to T2.

    `centre` is b0 where stage 1 released y - b0 x. Raises `DomainError` for lists of different lengths, counts that are
    not positive and a negative scale.
    """
    scale, centre = moderate_or_zero("scale", scale), real("centre", centre)
    n = vector("counts", counts, above=0.0)
    z, x, y = (
        vector(name, given) for name, given in (("z_means", z_means), ("x_means", x_means), ("y_means", y_means))
    )
    if not len(n) == len(z) == len(x) == len(y):
        lengths = f"{len(n)}, {len(z)}, {len(x)}, {len(y)} numbers"
        raise DomainError("counts, z_means, x_means, y_means", lengths, "as many of each")
    weights = scale**4 * (1 + z**2) / n**2
    means = np.stack([y, x])
    form = weights.sum() * np.eye(2) + (weights * means) @ means.T
    moved = np.array([[1.0, 0.0], [-centre, 1.0]])
    return moved.T @ form @ moved


def cell_variance(
    counts: Numbers,
    z_means: Numbers,
    x_means: Numbers,
    y_means: Numbers,
    *,
    scale: float,
    coefficients: float | Numbers,
) -> Value:
    """sum over cells of s0^4 (1 + z-bar²) (1 + beta² + (y-bar - beta x-bar)²) / n². Raises `DomainError` as
    `cell_form`, and for more than one coefficient.
    """
    beta = vector("coefficients", coefficients)
    if len(beta) != 1:
        raise DomainError("coefficients", f"{len(beta)} numbers", "one number: cells are for one regressor")
    form = cell_form(counts, z_means, x_means, y_means, scale=scale)
    b = np.array([1.0, -beta[0]])
    return Value(float(b @ form @ b), kind="asymptotic", source="dpbounds", convention="units of z, x, y")
