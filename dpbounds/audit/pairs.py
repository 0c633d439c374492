"""The curve of two Gaussian output laws, means and covariances both different.

Whitened by the second law: z_i ~ N(m_i, a_i) under the first, N(0, 1) under the second, and the loss is a quadratic
form, sum_i [z_i^2/2 - (z_i - m_i)^2/(2 a_i) - log(a_i)/2]. Equal covariances are the Gaussian mechanism; all a_i equal
leave one noncentral chi-squared law under either; otherwise delta is an integral over the moment-generating function.

>>> round(pair_delta(0.5, [1.0], 1.0, 1.0), 6), round(pair_delta(0.5, [0.0], 4.0, 1.0), 6)
(0.238422, 0.249689)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.special import chndtr

from dpbounds.arguments import formula
from dpbounds.errors import AccuracyError, DomainError, nonnegative, real_array, vector
from dpbounds.privacy.curves import float_log_delta

# Relative differences that count as none, and the relative change at which an integral has settled.
_EQUAL, _ACCURACY, _SINGULAR = 1e-12, 1e-9, 1e-12
# Tails below this may have lost their digits; series of noncentral laws are long, or do not end, beyond this centre,
# which variances that are nearly equal have.
_LEAST_TAIL, _FARTHEST_CENTRE = 1e-290, 1e6
# What is below its exponential is nothing beside an error of 1e-8.
_LOG_NOTHING = -46.0
# The integral ends at sinh of this, in units of the saddle point; halvings of its step.
_FAR, _HALVINGS = 16.0, 9


@formula
def pair_delta(epsilon: float, shift: ArrayLike, first: ArrayLike, second: ArrayLike) -> float:
    """delta(epsilon) of N(shift, first) against N(0, second), the first law's loss: absolute error 1e-8.

    `first` and `second` are variances (one number for all outputs) or covariance matrices. inf losses count: where the
    second law has no noise and the first moves or has some, delta is 1. Source: derived here (see above). Raises
    `DomainError` for what is no covariance, `AccuracyError` if an integral does not settle.
    """
    wanted, moved = nonnegative("epsilon", epsilon), vector("shift", shift)
    A, B = _matrix("first", first, len(moved)), _matrix("second", second, len(moved))
    values, vectors = np.linalg.eigh(B)
    noisy = values > _SINGULAR * max(values[-1], 1e-300)
    quiet = vectors[:, ~noisy]
    seen = np.abs(quiet.T @ A @ quiet).max(initial=0.0) > _SINGULAR * np.abs(A).max(initial=0.0)
    if seen or np.abs(quiet.T @ moved).max(initial=0.0) > _SINGULAR * np.abs(moved).max():
        return 1.0
    whitener = vectors[:, noisy] / np.sqrt(values[noisy])
    spread, turned = np.linalg.eigh(whitener.T @ A @ whitener)
    if spread[0] <= _SINGULAR * spread[-1]:
        return 1.0  # the first law is on a set that the second misses
    return _diagonal(wanted, turned.T @ (whitener.T @ moved), spread)


def _diagonal(epsilon: float, m: np.ndarray, a: np.ndarray) -> float:
    if np.abs(a - 1).max() < _EQUAL:
        mu = float(np.linalg.norm(m))
        return math.exp(float(float_log_delta(mu, epsilon))) if mu else 0.0
    if np.ptp(a) < _EQUAL * a[0] and max(1.0, a[0]) * float(m @ m) < _FARTHEST_CENTRE * (a[0] - 1) ** 2:
        first, second = _proportional(epsilon, m, float(a[0]))
        if first == 0:
            return 0.0
        log_grown = epsilon + math.log(max(second, _LEAST_TAIL))
        if second > _LEAST_TAIL or log_grown < _LOG_NOTHING:
            return max(0.0, first - math.exp(log_grown))
    return min(1.0, max(0.0, _quadratic(epsilon, m, a)))


def _proportional(epsilon: float, m: np.ndarray, a: float) -> tuple[float, float]:
    """P(loss > epsilon) under either law: loss = k |z - c|^2 + constant, k = (1 - 1/a)/2, c = -m/(a - 1)."""
    from scipy.stats import ncx2

    k, c, d = (1 - 1 / a) / 2, -m / (a - 1), len(m)
    constant = float(c @ c) / 2 - float((c - m) @ (c - m)) / (2 * a) - d / 2 * math.log(a)
    radius = max((epsilon - constant) / k, 0.0)
    points, centres = (radius / a, radius), (float((m - c) @ (m - c)) / a, float(c @ c))
    # Not 1 less what is inside: e^epsilon is large where the second law's tail is small.
    above = ncx2.sf(points, d, centres) if k > 0 else chndtr(points, d, centres)
    return float(above[0]), float(above[1])


def _quadratic(epsilon: float, m: np.ndarray, a: np.ndarray) -> float:
    """(1/pi) int_0^inf Re[M(s) e^{-s epsilon} / (s (s + 1))] dt, s = p + i t: (1 - e^{epsilon - l})_+ as an integral
    of exponentials in l. M(s) = E e^{s loss} under the first law, loss = sum c w^2 + b w + constant; p is the saddle
    point.
    """
    c, b, constant = (a - 1) / 2, m * np.sqrt(a), float(np.sum(m * m - np.log(a)) / 2)
    widest = 1 / (2 * c.max()) if c.max() > 0 else 1e6

    def logarithm(s: np.ndarray) -> np.ndarray:
        root = 1 - 2 * np.multiply.outer(s, c)
        forms = s[..., None] ** 2 * b * b / (2 * root) - np.log(root) / 2
        return forms.sum(axis=-1) + s * (constant - epsilon) - np.log(s) - np.log(s + 1)

    def real(log_share: float) -> float:
        return float(logarithm(np.array(widest * math.exp(log_share) / (1 + math.exp(log_share)))))

    found: Any = minimize_scalar(real, bounds=(-40.0, 40.0), method="bounded", options={"xatol": 1e-6})
    p = widest / (1 + math.exp(-float(found.x)))
    peak = float(logarithm(np.array(p)))
    before = change = math.inf
    for halving in range(_HALVINGS):
        nodes = np.linspace(0.0, _FAR, 2 ** (10 + halving) + 1)
        t = p * np.sinh(nodes)
        values = np.real(np.exp(logarithm(p + 1j * t) - peak)) * p * np.cosh(nodes)
        now = float(values[0] / 2 + values[1:].sum()) * _FAR / (len(nodes) - 1) / math.pi
        change, before = abs(now - before), now
        if change < _ACCURACY * abs(now):
            return now * math.exp(peak)
    if change * math.exp(peak) < _ACCURACY:  # of a small delta the absolute error is what counts
        return before * math.exp(peak)
    raise AccuracyError(f"the integral over the losses of two Gaussians did not settle: last change {change:.1e}")


def _matrix(name: str, given: ArrayLike, size: int) -> np.ndarray:
    array: Any = real_array(name, given)
    if array.ndim == 0:
        array = float(array) * np.eye(size)
    if array.shape != (size, size) or not np.isfinite(array).all():
        raise DomainError(name, f"an array of shape {array.shape}", f"a variance or a {size} x {size} covariance")
    if np.linalg.eigvalsh(array)[0] < -1e-9 * np.abs(array).max(initial=0.0):
        raise DomainError(name, "a matrix with a negative eigenvalue", "a covariance")
    return array
