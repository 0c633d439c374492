"""Where the fit without privacy noise lies, from one release of TAP alone.

With g(theta) = sum x_i clip(y_i - x_i'theta, c_u / ||x_i||), the *clipped fit* theta_c is the root of g: what the same
method gives without noise, and least squares where nothing is clipped. Where few rows are, g is about q A (theta_c -
theta), and q = 0.9 is taken, for clipping flattens g and intervals are then too long rather than too short. Averaged
over the last iterates, sums of gradients are G = q A v + nu, v = theta_c - theta with theta their mean, and the Hessian
is H = A + s1 N, so that q H v - G = q s1 N v - nu has mean 0 and a covariance of at most (q² s1² ||v||² + s²) I,
whatever A is. Those v with ||q H v - G||² <= z² (q² s1² ||v||² + s²) are an ellipsoid while every eigenvalue of H is
above z s1; its shadow on a row x is the interval for x'theta_c. It is that of Anderson and Rubin (1949) for a part of
the coefficients, with one degree of freedom as in Guggenberger, Kleibergen, Mavroeidis and Chen (Econometrica 2012): no
eigenvalue of A need be far above its noise. There v does not move with the noise and N has no symmetry; how well it
covers here is simulated (`ols/beyond-fit-noise`).

>>> from dpbounds.ols.tail_averaged import TailAveraged
>>> settings = TailAveraged(mu=1.0)
>>> release = TailRelease(settings=settings, n=10_000, products=np.zeros(15), hessian=1000 * np.eye(2),
...                       gradients=np.zeros((128, 2)), counts=np.full(128, 7000.0))
>>> noise_region(release, [0.3, 0.1], 0.95).interval(np.eye(2)).round(4).tolist()
[[0.2997, 0.3003], [0.0997, 0.1003]]
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError, real_array, within
from dpbounds.ols import tail_averaged as tap
from dpbounds.ols.fitted import SHARES, TailRelease

# The slope of g over A, and the largest share of clipped gradients, by normal residuals, at which that is enough.
SLOPE, MOST_CLIPPED = 0.9, 0.05


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class NoiseRegion:
    """All theta with (theta - center)' shape^-1 (theta - center) <= 1, in units of the bounds: each row's shadow of it
    has the given level, the region as a whole has less.

    `clipped`: as large a share of gradients beyond c_u as normal residuals may have.
    """

    center: Float[np.ndarray, " d"]
    shape: Float[np.ndarray, "d d"] = field(repr=False)
    clipped: float

    def interval(self, rows: ArrayLike) -> Float[np.ndarray, "k 2"]:
        """Lower and upper ends for x'theta_c of rows x (k, d)."""
        rows = real_array("rows", rows)
        if rows.ndim != 2 or rows.shape[1] != len(self.center):
            raise DomainError("rows", f"an array of shape {rows.shape}", f"of shape (k, {len(self.center)})")
        half = np.sqrt(np.einsum("kd,de,ke->k", rows, self.shape, rows))
        return (rows @ self.center)[:, None] + half[:, None] * (-1.0, 1.0)


@typed
def noise_region(release: TailRelease, theta: ArrayLike, level: float) -> NoiseRegion:
    """The region of a release and the estimate (d,) that follows from it, whose intervals cover with probability about
    `level` over the noise (`ols/beyond-fit-noise` tries it).

    Not counted: what clipping moves the fit by, and that other records would give another fit. Raises `DomainError`
    for a level outside (0, 1), and `AccuracyError` where noise hides a direction of the columns or, by normal
    residuals, more than one in twenty gradients is clipped.
    """
    z = float(ndtri((1 + within("level", level, "(0, 1)")) / 2))
    settings, scales, theta = release.settings, tap.noise_scales(release.settings), real_array("theta", theta)
    values, U = np.linalg.eigh(release.hessian)
    if not values[0] > z * scales.hessian:
        raise AccuracyError(
            f"no interval of level {level:g}: noise hides a direction of the columns; the least eigenvalue of the "
            f"noisy Hessian is {values[0]:.3g}, and more than {z * scales.hessian:.3g} is needed; narrower ranges, "
            "fewer columns, more records or a larger epsilon would help"
        )
    levels = release.levels
    used = tap.used_clip(levels, n=release.n, d=len(values), mu=settings.mu)[-settings.kept :]
    clipped = _clipped(release, levels, used)
    if clipped > MOST_CLIPPED:
        raise AccuracyError(
            f"no interval: as much as {clipped:.0%} of the gradients may be clipped, more than {MOST_CLIPPED:.0%}; "
            "more records or a larger epsilon clip fewer"
        )
    mean = U.T @ release.gradients[-settings.kept :].mean(axis=0)
    noise = float(np.sum((scales.gradients * used) ** 2)) / settings.kept**2
    # v'B v - 2 v'QG + ||G||² <= z² s² with Q = q H and B = Q² - z² q² s1² I: about v = B^-1 Q G, and what is left is
    # z² s² + G'Q B^-1 Q G - ||G||² = z² (s² + q² s1² G'B^-1 G).
    slopes, doubt = SLOPE * values, SLOPE * scales.hessian
    gaps = slopes**2 - (z * doubt) ** 2
    size = z**2 * (noise + doubt**2 * float(np.sum(mean**2 / gaps)))
    return NoiseRegion(center=theta + U @ (slopes * mean / gaps), shape=size * (U / gaps) @ U.T, clipped=clipped)


def _clipped(release: TailRelease, levels: np.ndarray, used: np.ndarray) -> float:
    """From the share counted within c, less two standard deviations, of rows of one length with normal residuals."""
    kept = len(used)
    noise = tap.noise_scales(release.settings).counts / kept**0.5
    share = float(np.clip((np.mean(release.counts[-kept:]) - 2 * noise) / release.n, *SHARES))
    return 2 * float(ndtr(-float(np.mean(used / levels[-kept:])) * ndtri((1 + share) / 2)))
