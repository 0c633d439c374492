"""psi of ftrl (90) against what quadratics make of noise, frequency by frequency, for random multipliers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from verify.checks.domains import Real

TIMES = np.array([1, 2, 3, -1, -2, -3])
CIRCLE = np.linspace(0.0, np.pi, 129)
# The multipliers at other lags add up to at most this share of lambda_0: at 1 Lambda may vanish somewhere.
MOST = 0.999
RANDOM_MULTIPLIERS: Mapping[str, Any] = {
    "mu": Real(1e-4, 1.0, "log"),
    "eta": Real(1e-3, 1.0, "log"),
    "h": Real(0.0, 1.0),
    "omega": Real(1e-5, np.pi, "log"),
    "share": Real(1e-3, 1.0, "log"),
    "lags": (Real(0.0, 1.0), len(TIMES)),
}
# Stands for psi where D is not positive: such multipliers are not admissible.
UNBOUNDED = 1e300


def pointwise(
    mu: np.ndarray,
    eta: np.ndarray,
    h: np.ndarray,
    omega: np.ndarray,
    share: np.ndarray,
    lags: np.ndarray,
    *,
    sign: int,
    scale: float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """What a quadratic makes of a unit of noise at frequency omega, and `scale` psi / eta^2; L = 1.

    E |theta|^2 = eta^2 / |1 - eta h - e^{i omega}|^2 for curvature mu^h. Random multipliers, `sign` that of the lags
    other than 0, and `share` of 2 Re[Lambda conj(u) v] is left for D where that is smallest on the circle.
    """
    weights = sign * MOST * lags / np.maximum(lags.sum(axis=1, keepdims=True), 1.0)
    around = 1 + weights @ np.exp(-1j * np.outer(TIMES, CIRCLE))
    least = np.min(2 * np.real(around * _product(mu[:, None], eta[:, None], CIRCLE)), axis=1)
    size = eta**2 / np.where(least > 0, least, 1.0) / (1 - share / 2)
    multiplier = size * (1 + np.sum(weights * np.exp(-1j * np.outer(omega, TIMES)), axis=1))
    denominator = 2 * np.real(multiplier * _product(mu, eta, omega)) - eta**2
    numerator = (1 - mu) ** 2 * np.abs(multiplier) ** 2 + 2 * multiplier.real
    admissible = (least > 0) & (denominator > 0)
    psi = np.where(admissible, eta**2 * numerator / np.where(admissible, denominator, 1.0), UNBOUNDED)
    x = eta * mu**h
    return eta**2 / (x**2 + 4 * (1 - x) * np.sin(omega / 2) ** 2), scale * psi


def _product(mu: np.ndarray, eta: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """conj(u) v."""
    z = 1 - np.exp(1j * omega)
    return np.conj(z - eta * mu) * (z - eta)
