"""The law of sign curves."""

from __future__ import annotations

import math

import numpy as np

from simulators.iv.confidence import SignDesign


def curve_covariance(design: SignDesign) -> np.ndarray:
    """Of the noise of release S, (size, size), from its spectrum: cosines at the odd frequencies."""
    lag = np.subtract.outer(np.arange(design.size), np.arange(design.size))
    angles = math.pi * (2 * np.arange(design.size) + 1) / design.size
    return np.einsum("j,jkl->kl", design.spectrum, np.cos(angles[:, None, None] * lag)) / design.size
