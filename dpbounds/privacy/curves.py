"""The privacy curve of a Gaussian mechanism in any arithmetic: delta, epsilon and mu from one another.

With mu = sensitivity / noise standard deviation and x = ε/μ - μ/2 (Balle & Wang 2018, Thm 8),

    δ = Φ(-x) - e^ε Φ(-x - μ) = φ(x) [M(x) - M(x + μ)],    M(x) = Φ(-x)/φ(x) the Mills ratio:

written with M nothing overflows. Balls and digits subtract, since they say how many digits are left. Floats subtract
where that loses less than two digits, take a positive integral elsewhere, and 1 - δ where delta is near 1. The inverses
are Newton's method in floats, and in balls a bracket that is proved around its result.

>>> from dpbounds.arithmetic import FLOATS, digits
>>> round(float(delta_at(FLOATS, 1.0, 1.0)), 12)
0.126936737507
>>> with digits(30) as m:
...     print(delta_at(m, m.number(1), m.number(1)).str(30, radius=False))
0.126936737506643945800829624758
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import erfinv, ndtr, ndtri

from dpbounds.arguments import formula
from dpbounds.arithmetic import FLOATS, Arithmetic
from dpbounds.errors import AccuracyError

_MILLS = FLOATS.mills
_ROOT_TWO = math.sqrt(2)
_LOG_ROOT_TWO_PI = math.log(2 * math.pi) / 2

# 32 Legendre nodes on [0, 1] give the gap to 4e-15, cut where its integrand has fallen to e^-40. Subtraction is three
# times as fast, and right to 6e-14 while the gap is at least 1/50 of its larger term.
_NODES, _WEIGHTS = (np.polynomial.legendre.leggauss(32)[0] + 1) / 2, np.polynomial.legendre.leggauss(32)[1] / 2
_CUT = 40.0
_LEAST_SHARE = 0.02
# Newton's error is the square of its step: below this the error is rounding.
_LAST_STEP, _MOST_STEPS = 1e-9, 100


@formula
def delta_at(m: Arithmetic, mu: Any, epsilon: Any) -> Any:
    """The least delta for which mu-Gaussian DP is (epsilon, delta)-DP; floats may be arrays that broadcast."""
    if m is FLOATS:
        return np.exp(float_log_delta(mu, epsilon))
    x = epsilon / mu - mu / 2
    return m.exp(-x * x / 2) / m.sqrt(2 * m.pi) * mills_gap(m, x, mu)


@formula
def log_delta_at(m: Arithmetic, mu: Any, epsilon: Any) -> Any:
    """The natural logarithm of `delta_at`, also far below the smallest float."""
    if m is FLOATS:
        return float_log_delta(mu, epsilon)
    x = epsilon / mu - mu / 2
    return m.log(mills_gap(m, x, mu)) - x * x / 2 - m.log(2 * m.pi) / 2


@formula
def epsilon_at(m: Arithmetic, mu: Any, delta: Any) -> Any:
    """The least epsilon >= 0 for which mu-Gaussian DP is (epsilon, delta)-DP; arrays are taken in floats alone.

    In every arithmetic delta must be a float in (0, 1), since the search begins at the result in floats.
    """
    if m is FLOATS:
        return np.vectorize(float_epsilon, otypes=[float])(mu, delta)
    if delta_at(m, mu, m.number(0)) <= delta:
        return m.number(0)
    from dpbounds.normal import inverse

    near = float_epsilon(float(mu), float(delta))
    return m.maximum(0, inverse(lambda epsilon: -log_delta_at(m, mu, epsilon), -m.log(delta), near))


@formula
def mu_at(m: Arithmetic, epsilon: Any, delta: Any) -> Any:
    """The largest mu that is (epsilon, delta)-DP; arrays and delta as in `epsilon_at`."""
    if m is FLOATS:
        return np.vectorize(float_mu, otypes=[float])(epsilon, delta)
    from dpbounds.normal import inverse

    near = float_mu(float(epsilon), float(delta))
    return inverse(lambda mu: log_delta_at(m, mu, epsilon), m.log(delta), near)


@formula
def mills_gap(m: Arithmetic, x: Any, mu: Any) -> Any:
    """M(x) - M(x + μ) > 0, M the Mills ratio; in floats for x > -1, with relative error below 1e-13.

    It rises with mu and falls with x, since M is convex and falls.
    """
    return _float_gap(x, mu) if m is FLOATS else m.mills(x) - m.mills(x + mu)


def float_log_delta(mu, epsilon) -> np.ndarray:
    """`log_delta_at` in floats, through 1 - δ where x < 0 and delta > 0.02; the rest has x > -0.03."""
    x = epsilon / mu - mu / 2
    complement = ndtr(x) + np.exp(_log_density(x)) * _MILLS(x + mu)
    clipped = np.maximum(x, -1.0)
    tail = _log_density(clipped) + np.log(_float_gap(clipped, mu))
    near_one = (x < 0) & (complement < 1 - _LEAST_SHARE)
    return np.where(near_one, np.log1p(-np.minimum(complement, 1 - _LEAST_SHARE)), tail)


def float_epsilon(mu: float, delta: float) -> float:
    """`epsilon_at` in floats, by Newton's method in x.

    log delta is concave in x (delta(ε) = ∫ (1 - e^{ε-l})_+ p(l) dl convolves two log-concave functions), so Newton from
    the right, x = -Φ^{-1}(δ), descends monotonically.
    """
    if math.erf(mu / (2 * _ROOT_TWO)) <= delta:
        return 0.0

    def step(x: float) -> float:
        gap = float(_float_gap(x, mu))
        return _log_ratio(x, mu, gap, delta) * gap / (mu * float(_MILLS(x + mu)))

    x = _newton(step, -float(ndtri(delta)), lambda x, change: x + change)
    return max(mu * (x + mu / 2), 0.0)


def float_mu(epsilon: float, delta: float) -> float:
    """`mu_at` in floats, by Newton's method in log mu.

    d log δ / d log μ = μ / gap, and gap/μ = ∫ e^{-εt/μ - t²/2} (2/μ) sinh(μt/2) dt grows with μ: log delta is concave
    in log mu, so Newton from the left (mu too small: too private) ascends monotonically.
    """

    def step(mu: float) -> float:
        x = epsilon / mu - mu / 2
        gap = float(_float_gap(x, mu))
        return -_log_ratio(x, mu, gap, delta) * gap / mu

    at_zero_epsilon = 2 * _ROOT_TWO * float(erfinv(delta))
    start = max(at_zero_epsilon, _mu_of_x(-float(ndtri(delta)), epsilon))
    return _newton(step, start, lambda mu, change: mu * math.exp(change))


def _float_gap(x, mu) -> np.ndarray:
    """M(x) - M(x + mu) for x > -1, with relative error below 1e-13."""
    near = _MILLS(np.asarray(x))
    gap = np.asarray(near - _MILLS(np.add(x, mu)))
    cancels = np.asarray(gap < _LEAST_SHARE * near)
    if cancels.any():
        x, mu = np.broadcast_arrays(x, mu)
        gap[cancels] = _mills_gap_integral(x[cancels], mu[cancels])
    return gap


def _mills_gap_integral(x: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """∫_0^∞ e^{-xt - t²/2} (1 - e^{-μt}) dt by Gauss-Legendre; for one-dimensional x > -1 and mu."""
    length = 2 * _CUT / (x + np.sqrt(x * x + 2 * _CUT))
    t = length[:, None] * _NODES
    return length * ((np.exp(-t * (x[:, None] + t / 2)) * -np.expm1(-mu[:, None] * t)) @ _WEIGHTS)


def _log_density(x):
    """log φ(x)."""
    return -x * x / 2 - _LOG_ROOT_TWO_PI


def _mu_of_x(x: float, epsilon: float) -> float:
    """The mu > 0 with epsilon/mu - mu/2 = x."""
    root = math.sqrt(x * x + 2 * epsilon)
    return root - x if x <= 0 else 2 * epsilon / (root + x)


def _log_ratio(x: float, mu: float, gap: float, delta: float) -> float:
    """log(δ(x, mu) / delta), through 1 - δ where delta > 1/2, since there the digits of 1 - delta decide."""
    if delta > 0.5:
        complement = float(ndtr(x) + math.exp(_log_density(x)) * _MILLS(x + mu))
        return math.log1p((1 - delta - complement) / delta)
    return -x * x / 2 - math.log(delta * math.sqrt(2 * math.pi) / gap)


def _newton(step: Callable[[float], float], start: float, move: Callable[[float, float], float]) -> float:
    """Follow Newton's steps until one is so small that its square, the error left, is below rounding."""
    point = start
    for _ in range(_MOST_STEPS):
        change = step(point)
        point = move(point, change)
        if abs(change) < _LAST_STEP:
            return point
    raise AccuracyError(f"Newton's method did not settle: last point {point!r}, last step {change!r}")
