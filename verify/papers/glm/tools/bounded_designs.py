"""Exact errors in designs of independent two-point coordinates with ||x||_1 <= share: by source, to leading order."""

from __future__ import annotations

import math

import numpy as np

from dpbounds.glm import LINKS, TwoPointDesign, bias, privacy

# (high, low, probability of high) of a coordinate before scaling.
SYMMETRIC, SKEWED = (1.0, -1.0, 0.5), (2.0, -0.5, 0.2)


def design_of(shape: tuple[float, float, float], p: int, radius: float = 1.0) -> TwoPointDesign:
    """Coordinates of this shape, scaled so that ||x||_1 <= radius."""
    high, low, share = shape
    unit = radius / (p * max(abs(high), abs(low)))
    return TwoPointDesign(p=p, high=unit * high, low=unit * low, probability=share)


def signs(p: int, size: float) -> TwoPointDesign:
    """x_j = +-size with probability 1/2."""
    return TwoPointDesign(p=p, high=size, low=-size)


def noise_deviation(
    design: TwoPointDesign, omega: float, scales: privacy.NoiseScales, *, link: str, n: int
) -> tuple[float, float]:
    """(standard deviation of one coordinate of w_hat - w* that the noise causes, to leading order, and c = 1 / E mu'),
    w* = omega in every coordinate.

    w_hat moves by (c u - (c^2 / D) w_o g^T u) / lambda, u = E_2 - E_1 w_o, g = E[mu''(c z) x], D = E[mu' + c z mu''].
    """
    p, slope, curvature = design.p, LINKS[link].slope, LINKS[link].curvature
    shown = bias(link, np.full(p, omega), design)
    a, c = float(shown.w_ols[0]), shown.root
    bent, D = (
        design.mean_of(f, c * shown.w_ols) / c
        for f in (lambda z: curvature(z) * z, lambda z: c * (slope(z) + z * curvature(z)))
    )
    k = c * c / D * bent / p  # w_o g_j, from E[mu'' z] = p a g_j
    row = scales.cross**2 + scales.gram**2 * p * a * a  # of u
    pairs = scales.cross**2 + scales.gram**2 * (2 * p - 1) * a * a  # of u_1 with the sum of all
    variance = c * c * row - 2 * c * k * pairs + k * k * p * pairs
    return math.sqrt(variance / n) / design.variance, abs(shown.constant)


def public_deviation(design: TwoPointDesign, omega: float, *, link: str) -> float:
    """Of one coordinate of w_hat - w*, from m public records, times sqrt m: the root of c mean(mu'(c z)) = 1 moves by
    c / D times the mean's error.
    """
    slope, curvature = LINKS[link].slope, LINKS[link].curvature
    shown = bias(link, np.full(design.p, omega), design)
    scaled = shown.root * shown.w_ols
    mean = design.mean_of(slope, scaled)
    spread = math.sqrt(design.mean_of(lambda z: (slope(z) - mean) ** 2, scaled))
    D = design.mean_of(lambda z: slope(z) + z * curvature(z), scaled)
    return abs(shown.root * spread / D) * float(np.abs(shown.w_ols).max())


def limit_bias(design: TwoPointDesign, w: np.ndarray, *, link: str) -> float:
    """The largest error that no amount of data removes, less what rounding may leave of it."""
    largest = float(np.abs(w).max())
    return max(float(np.abs(bias(link, w, design).limit).max()) - 1e-11 * largest, 0.0)
