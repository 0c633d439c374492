"""The Gaussian mechanism, exactly: delta, epsilon and mu from one another, without cancellation.

A Gaussian mechanism with mu = sensitivity / noise standard deviation is (epsilon, delta)-DP exactly for

    delta >= Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ) = φ(x) [M(x) - M(x + μ)],    x = ε/μ - μ/2,

with M(x) = Φ(-x)/φ(x) the Mills ratio (Balle & Wang 2018, Thm 8). Written with M, nothing overflows; the gap
M(x) - M(x + μ) is subtracted where that loses less than two digits, and is a positive integral elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, erfinv, ndtr, ndtri

from dpbounds.errors import AccuracyError, DomainError, listed, real_array, vector, within
from dpbounds.values import Value

# The ranges of this room's parameters, wider than any use. Below, squares would underflow; above, x = ε/μ - μ/2 is a
# difference of large numbers that no longer determines delta.
MU_RANGE, RHO_RANGE = "[1e-50, 1e4]", "[1e-100, 5e7]"
EPSILON_RANGE, DELTA_RANGE = "[0, 1e9]", "[1e-300, 1)"

_SOURCE = "Balle & Wang 2018, Thm 8"
_ROOT_TWO_PI = math.sqrt(2 * math.pi)
_ROOT_HALF_PI = math.sqrt(math.pi / 2)
_ROOT_TWO = math.sqrt(2)

# 32 Legendre nodes on [0, 1] give the gap to 4e-15, cut where its integrand has fallen to e^-40. Subtraction is three
# times as fast, and right to 6e-14 while the gap is at least 1/50 of its larger term.
_NODES, _WEIGHTS = (np.polynomial.legendre.leggauss(32)[0] + 1) / 2, np.polynomial.legendre.leggauss(32)[1] / 2
_CUT = 40.0
_LEAST_SHARE = 0.02


def gaussian_log_delta(mu: ArrayLike, epsilon: ArrayLike) -> np.ndarray:
    """Natural logarithm of the exact delta, for arrays that broadcast; right far below the smallest float delta.

    For mu and epsilon up to 1e3 the error is at most 1e-12 (so 1e-12 relative in delta) while delta >= 1e-300, and
    1e-15 relative in the logarithm below.
    Source: Balle & Wang 2018, Thm 8. Raises `DomainError` unless mu is in `MU_RANGE` and epsilon in `EPSILON_RANGE`.
    """
    mus, epsilons = array_within("mu", mu, MU_RANGE), array_within("epsilon", epsilon, EPSILON_RANGE)
    try:
        mus, epsilons = np.broadcast_arrays(mus, epsilons)
    except ValueError:
        shapes = f"arrays of shapes {mus.shape}, {epsilons.shape}"
        raise DomainError("mu, epsilon", shapes, "arrays that broadcast") from None
    return _log_delta(mus, epsilons)


def gaussian_delta(mu: float, epsilon: float) -> Value:
    """The least delta for which the Gaussian mechanism with this mu is (epsilon, delta)-DP.

    Equality for the worst pair of neighbours (means mu apart, unit noise). Relative error at most 1e-12
    for mu and epsilon up to 1e3 while delta >= 1e-300; never 0: 5e-324 stands for all below. Source: Balle & Wang
    2018, Thm 8. Raises `DomainError` unless mu is in `MU_RANGE` and epsilon in `EPSILON_RANGE`.
    """
    mu, epsilon = within("mu", mu, MU_RANGE), within("epsilon", epsilon, EPSILON_RANGE)
    return Value(probability(float(_log_delta(mu, epsilon))), kind="exact", source=_SOURCE)


def gaussian_epsilon(mu: float, delta: float) -> Value:
    """The least epsilon >= 0 for which the Gaussian mechanism with this mu is (epsilon, delta)-DP.

    log delta is concave in x (delta(ε) = ∫ (1 - e^{ε-l})_+ p(l) dl convolves two log-concave functions), so Newton
    from the right, x = -Φ^{-1}(δ), descends monotonically. Error at most 1e-12 epsilon + 1e-15 for delta <= 1/2
    and epsilon up to 1e3; delta(epsilon) exceeds `delta` by rounding only, at most 1e-12 relative. Source: Balle &
    Wang 2018, Thm 8. Raises `DomainError` unless mu is in `MU_RANGE` and delta in `DELTA_RANGE`.
    """
    mu, delta = within("mu", mu, MU_RANGE), within("delta", delta, DELTA_RANGE)
    if math.erf(mu / (2 * _ROOT_TWO)) <= delta:
        return Value(0.0, kind="exact", source=_SOURCE)

    def step(x: float) -> float:
        gap = float(_mills_gap(x, mu))
        return _log_ratio(x, mu, gap, delta) * gap / (mu * float(_mills(x + mu)))

    x = _newton(step, -float(ndtri(delta)), lambda x, change: x + change)
    return Value(max(mu * (x + mu / 2), 0.0), kind="exact", source=_SOURCE)


def gaussian_mu(epsilon: float, delta: float) -> Value:
    """The largest mu for which the Gaussian mechanism is (epsilon, delta)-DP; its noise is sensitivity / mu.

    d log δ / d log μ = μ / gap, and gap/μ = ∫ e^{-εt/μ - t²/2} (2/μ) sinh(μt/2) dt grows with μ: log delta is
    concave in log mu, so Newton from the left (mu too small: too private) ascends monotonically. Relative error at
    most 1e-12 for delta <= 1/2 and epsilon up to 1e3; delta(mu) exceeds `delta` by rounding only, at most
    1e-12 relative. Source: Balle & Wang 2018, Thm 8. Raises `DomainError` unless epsilon is in `EPSILON_RANGE` and
    delta in `DELTA_RANGE`.
    """
    epsilon, delta = within("epsilon", epsilon, EPSILON_RANGE), within("delta", delta, DELTA_RANGE)

    def step(mu: float) -> float:
        x = epsilon / mu - mu / 2
        gap = float(_mills_gap(x, mu))
        return -_log_ratio(x, mu, gap, delta) * gap / mu

    at_zero_epsilon = 2 * _ROOT_TWO * float(erfinv(delta))
    start = max(at_zero_epsilon, _mu_at(-float(ndtri(delta)), epsilon))
    mu = _newton(step, start, lambda mu, change: mu * math.exp(change))
    return Value(mu, kind="exact", source=_SOURCE)


def compose_gdp(mus: Iterable[float]) -> Value:
    """Root of the sum of squares: mu of mechanisms run one after the other, each chosen after the last answer.

    Equality for Gaussian mechanisms, an upper bound for other mu-GDP ones. Source: Dong, Roth & Su 2022, Cor. 3.3.
    Raises `DomainError` unless every mu is in [0, 1e4].
    """
    total = math.hypot(*(within(f"mus[{i}]", mu, "[0, 1e4]") for i, mu in enumerate(listed("mus", mus))))
    return Value(total, kind="upper", source="Dong, Roth & Su 2022, Cor. 3.3", convention="equality if Gaussian")


def array_within(parameter: str, values: ArrayLike, interval: str) -> np.ndarray:
    """`values` as a float array of any shape, every entry inside `interval`."""
    given = real_array(parameter, values)
    array = vector(parameter, given.ravel()).reshape(given.shape)
    for extreme in (array.min(), array.max()):
        within(parameter, float(extreme), interval)
    return array


def probability(log_delta: float) -> float:
    """e^log_delta as a float, but never 0: 5e-324 stands for all below it, since delta = 0 would claim pure DP."""
    return max(math.exp(min(log_delta, 0.0)), math.ulp(0.0))


def _log_delta(mu, epsilon) -> np.ndarray:
    """Through 1 - δ where x < 0 and delta > 0.02; the rest has x > -0.03 and takes the Mills form."""
    x = epsilon / mu - mu / 2
    complement = ndtr(x) + np.exp(_log_density(x)) * _mills(x + mu)
    clipped = np.maximum(x, -1.0)
    tail = _log_density(clipped) + np.log(_mills_gap(clipped, mu))
    near_one = (x < 0) & (complement < 1 - _LEAST_SHARE)
    return np.where(near_one, np.log1p(-np.minimum(complement, 1 - _LEAST_SHARE)), tail)


def _log_density(x):
    """log φ(x)."""
    return -x * x / 2 - math.log(_ROOT_TWO_PI)


def _mills(x):
    """M(x) = Φ(-x)/φ(x)."""
    return _ROOT_HALF_PI * erfcx(x / _ROOT_TWO)


def _log_ratio(x: float, mu: float, gap: float, delta: float) -> float:
    """log(δ(x, mu) / delta), through 1 - δ where delta > 1/2, since there the digits of 1 - delta decide."""
    if delta > 0.5:
        complement = float(ndtr(x) + math.exp(_log_density(x)) * _mills(x + mu))
        return math.log1p((1 - delta - complement) / delta)
    return -x * x / 2 - math.log(delta * _ROOT_TWO_PI / gap)


def _mills_gap(x: ArrayLike, mu: ArrayLike) -> np.ndarray:
    """M(x) - M(x + mu) > 0, with relative error below 1e-13."""
    near = _mills(np.asarray(x))
    gap = np.asarray(near - _mills(np.add(x, mu)))
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


def _mu_at(x: float, epsilon: float) -> float:
    """The mu > 0 with epsilon/mu - mu/2 = x."""
    root = math.sqrt(x * x + 2 * epsilon)
    return root - x if x <= 0 else 2 * epsilon / (root + x)


def _newton(step: Callable[[float], float], start: float, move: Callable[[float, float], float]) -> float:
    """Follow Newton's steps until one is so small that its square, the error left, is below rounding."""
    point = start
    for _ in range(100):
        change = step(point)
        point = move(point, change)
        if abs(change) < 1e-9:
            return point
    raise AccuracyError(f"Newton's method did not settle: last point {point!r}, last step {change!r}")
