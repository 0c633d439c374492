"""Gaussian rows whose covariance moves by one record, exactly: delta of K rows, beside a Gaussian mechanism or alone.

"With" the record a release has K independent rows N(0, S), "without" it K rows N(0, S - x x'). Whitening leaves one
direction: K numbers N(0, 1) against N(0, 1 - r), r = x' S^{-1} x the leverage. With q ~ chi²_K (of the first law, in
its own units) and q = K(1 + y), the privacy loss is in both directions

    loss = (K/2) [E(w) + w y],    E(w) = w - log(1 + w),

with w = r/(1 - r) where the first law has the record, w = -r where the second has it; delta(epsilon) is the mean of
(1 - e^{epsilon - loss})_+. A Gaussian mechanism of mu beside it puts g(epsilon - loss) in that place, g its own delta.
Smaller leverage is post-processing of larger: N(0, 1 - sr) is sqrt(s) N(0, 1 - r) + N(0, 1 - s).

>>> f"{math.exp(rows_log_delta(0.5, rows=100, leverage=0.02)):.2e}"
'6.67e-05'
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import gammaln, log_expit

from dpbounds.errors import AccuracyError
from dpbounds.privacy.curves import float_log_delta

# Where E(w) is summed, and the coefficients of (artanh z - z)/z³ from the last one that counts there.
_NEAR, _ARTANH = 0.4, tuple(1 / n for n in range(27, 1, -2))
# Epsilons of the Gaussian mechanism beyond which its delta is 0 or 1 for every mu in its range.
_REACH = 1e9
# Logarithms of q/K, or of what of it is beyond a kink, between which the peak of an integrand is looked for.
_ENDS = -400.0, 400.0
# Window of an integrand in logarithms (e^-75 of its peak is left out), nodes per look, and halvings of the step.
_DROP, _NODES, _HALVINGS = 75.0, 192, 8
# Nodes per axis of the first grid in two variables.
_COARSE = 48


def excess(w: Any) -> Any:
    """E(w) = w - log(1 + w) for w > -1, floats or arrays, to rounding also where both are nearly equal.

    With z = w/(2 + w): w = 2z/(1 - z) and log(1 + w) = 2 artanh z, so E = 2z²/(1 - z) - 2(artanh z - z).
    """
    if isinstance(w, float):
        return _near(w) if abs(w) < _NEAR else w - math.log1p(w)
    near = np.abs(w) < _NEAR
    with np.errstate(over="ignore"):
        return np.where(near, _near(np.where(near, w, 0.0)), w - np.log1p(np.where(near, 0.0, w)))


def _near(w: Any) -> Any:
    z = w / (2 + w)
    square, tail = z * z, 0.0
    for coefficient in _ARTANH:
        tail = tail * square + coefficient
    return 2 * square * (1 / (1 - z) - tail * z)


def rows_log_delta(epsilon: float, rows: int, leverage: float, *, mu: float = 0.0) -> float:
    """log delta(epsilon) of K = `rows` rows at this leverage in (0, 1) beside a Gaussian mechanism of `mu`.

    The larger of both directions. Arguments are not checked: callers do. Raises `AccuracyError` if a quadrature does
    not settle.
    """
    return max(one_way_log_delta(epsilon, rows, leverage, mu=mu, record_first=first) for first in (True, False))


def one_way_log_delta(epsilon: float, rows: int, leverage: float, *, record_first: bool, mu: float = 0.0) -> float:
    """One direction: the first law, whose loss is bounded, has the record or (`record_first` false) has it not."""
    slope = leverage / (1 - leverage) if record_first else -leverage
    if mu > 0:
        return _beside_gaussian(epsilon, rows, slope, mu)
    return _alone(epsilon, rows, slope)


def exchange_log_delta(epsilon: float, rows: int, leverage: float, *, mu: float) -> float:
    """log delta(epsilon) of K = `rows` rows of which one record is exchanged for another, beside a Gaussian of mu > 0.

    Both have at most this leverage in the first data set. Whitened, the second covariance is the identity but for two
    directions of variances 1 - a and 1 + b with a, b <= r: N(0, 1) against N(0, 1 - r), and against N(0, 1 + r), which
    is a record of leverage r/(1 + r) in the second law. An upper bound; both directions have the same. Error 1e-7.
    """
    slopes = leverage / (1 - leverage), -leverage / (1 + leverage)
    offset = rows / 2 * sum(float(excess(slope)) for slope in slopes)

    def integrand(s: np.ndarray, t: np.ndarray) -> np.ndarray:
        losses = rows / 2 * (slopes[0] * np.expm1(s)[:, None] + slopes[1] * np.expm1(t)[None, :])
        gain = _log_delta(mu, np.clip(epsilon - offset - losses, -_REACH, _REACH))
        return _log_density(s, rows)[:, None] + _log_density(t, rows)[None, :] + gain

    high = math.log(2 * max(1 + _kink(epsilon, rows, slopes[0]), 1.0) + 4 + 400 / rows)
    return _log_integral_of_two(integrand, (_ENDS[0], high), (_ENDS[0], high))


def _kink(epsilon: float, rows: int, slope: float) -> float:
    """y at which the loss is epsilon."""
    return (2 * epsilon / rows - excess(slope)) / slope


def _log_density(s: np.ndarray, rows: int) -> np.ndarray:
    """Log density of s = log(q/K), q ~ chi²_K: (K/2)(s - e^s + 1) and a constant, which is Stirling's remainder."""
    grown = np.expm1(s)
    body = np.where(np.abs(s) < 0.3, -excess(np.where(np.abs(s) < 0.3, grown, 0.0)), s - grown)
    return rows / 2 * body + _stirling_constant(rows / 2)


def _stirling_constant(a: float) -> float:
    """a log a - a - log Gamma(a)."""
    if a < 30:
        return a * math.log(a) - a - float(gammaln(a))
    remainder = 1 / (12 * a) - 1 / (360 * a**3) + 1 / (1260 * a**5) - 1 / (1680 * a**7)
    return 0.5 * math.log(a / (2 * math.pi)) - remainder


def _alone(epsilon: float, rows: int, slope: float) -> float:
    """From the kink on, so that the integrand is analytic: 1 + y = p + t, or p - t with t in (0, p), p at the kink.

    The density is taken relative to the kink's, which may be far in a tail.
    """
    at_kink = 1 + _kink(epsilon, rows, slope)
    if at_kink <= 0:
        return -math.inf
    log_p, half = math.log(at_kink), rows / 2
    rate, density = half * abs(slope), float(_log_density(np.array(log_p), rows)) - log_p

    def above(v: np.ndarray) -> np.ndarray:
        t = np.exp(v)
        return _log_gain(rate, v) + (half - 1) * np.log1p(t / at_kink) - half * t + v

    def below(v: np.ndarray) -> np.ndarray:
        log_t = log_p + log_expit(v)
        return _log_gain(rate, log_t) + half * log_expit(-v) + half * np.exp(log_t) + log_t

    return density + log_integral(above if slope > 0 else below, *_ENDS)


def _log_gain(rate: float, log_t: np.ndarray) -> np.ndarray:
    """log(1 - e^{-rate t})."""
    return np.log(-np.expm1(-rate * np.exp(log_t)))


def _beside_gaussian(epsilon: float, rows: int, slope: float, mu: float) -> float:
    offset = rows / 2 * excess(slope)

    def integrand(s: np.ndarray) -> np.ndarray:
        left = epsilon - offset - rows / 2 * slope * np.expm1(s)
        return _log_density(s, rows) + _log_delta(mu, np.clip(left, -_REACH, _REACH))

    return log_integral(integrand, *_ENDS)


def _log_delta(mu: float, epsilon: np.ndarray) -> np.ndarray:
    """log g(epsilon) of a Gaussian mechanism, negative epsilon too: g(-e) = 1 - e^{-e} + e^{-e} g(e)."""
    size = np.abs(epsilon)
    value = float_log_delta(mu, size)
    with np.errstate(divide="ignore"):
        return np.where(epsilon >= 0, value, np.logaddexp(np.log(-np.expm1(-size)), value - size))


def log_integral(log_integrand: Callable[[np.ndarray], np.ndarray], low: float, high: float) -> float:
    """log of the integral of e^log_integrand, analytic and with one peak, that has fallen to nothing at low and high.

    Looks closer until the peak fills the window, then halves the trapezoid rule's step, which converges geometrically,
    until two results agree to 2e-12 (of the logarithm, where that is above 1). Raises `AccuracyError` if they never do.
    """
    for _ in range(60):
        nodes = np.linspace(low, high, _NODES + 1)
        values = log_integrand(nodes)
        kept = np.flatnonzero(values > values.max() - _DROP)
        first, last = max(kept[0] - 1, 0), min(kept[-1] + 1, _NODES)
        low, high = float(nodes[first]), float(nodes[last])
        if last - first > _NODES // 3:
            break
    values, count, before = log_integrand(np.linspace(low, high, _NODES + 1)), _NODES, math.inf
    for _ in range(_HALVINGS):
        peak = float(values.max())
        now = peak + math.log(float(np.exp(values - peak).sum()) * (high - low) / count)
        change, before = abs(now - before), now
        if change < 2e-12 * max(1.0, abs(now)):
            return now
        between = low + (np.arange(count) + 0.5) * ((high - low) / count)
        values, count = np.concatenate([values, log_integrand(between)]), 2 * count
    raise AccuracyError(f"integral over the privacy loss: last change {change:.1e} in the logarithm")


def _log_integral_of_two(
    log_integrand: Callable[[np.ndarray, np.ndarray], np.ndarray],
    first: tuple[float, float],
    second: tuple[float, float],
) -> float:
    """`log_integral` in two variables, to 1e-7."""
    for _ in range(60):
        nodes = np.linspace(*first, _COARSE + 1), np.linspace(*second, _COARSE + 1)
        values = log_integrand(*nodes)
        kept = values > values.max() - _DROP / 2
        (first, whole), (second, both) = (_closer(axis, kept.any(axis=1 - number)) for number, axis in enumerate(nodes))
        if whole and both:
            break
    change = before = math.inf
    for halving in range(6):
        count = _COARSE * 2**halving
        values = log_integrand(np.linspace(*first, count + 1), np.linspace(*second, count + 1))
        peak, cell = float(values.max()), (first[1] - first[0]) * (second[1] - second[0]) / count**2
        now = peak + math.log(float(np.exp(values - peak).sum()) * cell)
        change, before = abs(now - before), now
        if change < 1e-7:
            return now
    raise AccuracyError(f"integral over two privacy losses: last change {change:.1e} in the logarithm")


def _closer(nodes: np.ndarray, kept: np.ndarray) -> tuple[tuple[float, float], bool]:
    """The ends of what is kept, one node beyond on each side, and whether that is a third of the window or more."""
    inside = np.flatnonzero(kept)
    low, high = max(inside[0] - 1, 0), min(inside[-1] + 1, len(nodes) - 1)
    return (float(nodes[low]), float(nodes[high])), high - low > len(nodes) // 3
