"""Integrals of spectra over the circle, to a stated accuracy at every scale of the frequency.

The spectra here are even and change at frequencies from pi down to eta * mu, which can be 1e-12. With
tan(omega / 2) = e^y one has d omega = dy / cosh(y), and 1 / |1 - a - e^{i omega}| has its singularities at
Im y = +-pi/2 whatever a is: the trapezoid rule in y converges geometrically at the same rate on every scale.

>>> round(float(even_integral(lambda omega: 1 / (1 + 3 * np.sin(omega / 2) ** 2))) / np.pi, 12)
1.0
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpbounds.errors import AccuracyError

# exp(-pi^2 / step) is the discretisation error for the spectra above: 1e-17 at the first step.
FIRST_STEP = 0.25
HALVINGS = 8
# Frequencies from 1e-30 to pi - 1e-30: what lies outside adds less than 1e-17 of the integral as long as the
# integrand's peak at 0 is no narrower than 1e-13.
REACH = 69.0


def even_integral(integrand: Callable[[np.ndarray], np.ndarray], *, relative_tolerance: float = 1e-12) -> Any:
    """Integral over [-pi, pi] of an even function of the frequency.

    `integrand` maps frequencies of shape (n,) in (0, pi) to values of shape (..., n); the result has shape (...).
    The step is halved until two results agree to `relative_tolerance`; raises `AccuracyError` if they never do.
    """
    before = _trapezoid(integrand, FIRST_STEP)
    for halving in range(1, HALVINGS + 1):
        now = _trapezoid(integrand, FIRST_STEP / 2**halving)
        error = np.abs(now - before)
        if np.all(error <= relative_tolerance * np.abs(now)):
            return now
        before = now
    worst = float(np.max(error / np.abs(now)))
    raise AccuracyError(
        f"integral over the circle: relative change {worst:.1e} after {HALVINGS} halvings, asked was "
        f"{relative_tolerance:.1e}; the integrand has a jump or a kink away from frequency 0, or is not integrable"
    )


def circle_nodes(step: float = FIRST_STEP) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies in (0, pi) and weights of the rule; the weights count both halves of the circle."""
    y = np.arange(-REACH, REACH + step / 2, step)
    return 2.0 * np.arctan(np.exp(y)), 2.0 * step / np.cosh(y)


def _trapezoid(integrand: Callable[[np.ndarray], np.ndarray], step: float) -> Any:
    omega, weights = circle_nodes(step)
    values = np.asarray(integrand(omega), dtype=float)
    if not np.all(np.isfinite(values)):
        first = int(np.flatnonzero(~np.isfinite(np.atleast_2d(values)).all(axis=0))[0])
        raise AccuracyError(f"integral over the circle: the integrand is not finite at frequency {omega[first]:.6g}")
    return values @ weights
