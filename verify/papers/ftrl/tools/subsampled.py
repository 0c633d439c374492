"""Privacy of Gaussian noise with Poisson sampling by convolution on a grid: an accountant that shares no code."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

# Points of the grid of the privacy loss and of the output, and standard deviations of the output that are kept.
POINTS, OUTPUTS, REACH = 1 << 16, 1 << 16, 12.0


def poisson_delta(multiplier: float, epsilon: float, rate: float, steps: int) -> float:
    """delta at epsilon of `steps` steps, each the mixture (1 - q) N(0, z^2) + q N(1, z^2) against N(0, z^2): the larger
    of the two directions.
    """
    return max(_delta(multiplier, epsilon, rate, steps, removed) for removed in (True, False))


def _delta(multiplier: float, epsilon: float, rate: float, steps: int, removed: bool) -> float:
    """E (1 - e^(epsilon - loss))^+ under the law of the first output, the loss of all steps by one long FFT."""
    z = multiplier
    edges = np.linspace(-REACH * z, 1.0 + REACH * z, OUTPUTS + 1)
    middle = 0.5 * (edges[1:] + edges[:-1])
    ratio = (
        np.log1p(rate * np.expm1((2.0 * middle - 1.0) / (2.0 * z**2))) if rate < 1 else (2 * middle - 1) / (2 * z**2)
    )
    alone = np.diff(ndtr(edges / z))
    mixed = (1.0 - rate) * alone + rate * np.diff(ndtr((edges - 1.0) / z))
    mass, loss = (mixed, ratio) if removed else (alone, -ratio)
    mean, variance = float(mass @ loss), float(mass @ (loss - mass @ loss) ** 2)
    width = abs(epsilon - steps * mean) + 12.0 * np.sqrt(steps * variance) + 2.0 * np.abs(loss[mass > 1e-14]).max()
    grid = 2.0 * width / POINTS
    # Each loss is split between its two neighbours on the grid, which keeps the mean.
    place = (loss - mean) / grid
    below = np.floor(place).astype(int)
    law = np.zeros(POINTS)
    for shift, share in ((0, 1.0 - (place - below)), (1, place - below)):
        np.add.at(law, (below + shift) % POINTS, mass * share)
    total = np.fft.irfft(np.fft.rfft(law) ** steps, POINTS)
    offsets = ((np.arange(POINTS) + POINTS // 2) % POINTS - POINTS // 2) * grid + steps * mean
    return float(np.sum(np.where(offsets > epsilon, total * -np.expm1(np.minimum(epsilon - offsets, 0.0)), 0.0)))
