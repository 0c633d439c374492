"""Independent noise whose privacy is amplified by Poisson sampling, for comparison.

It is calibrated by dp-accounting where that package is installed, else by Rényi orders, which need somewhat more noise.
Each step takes every record with probability q = m / n by itself, sums the clipped gradients of those it took, adds
noise and divides by m. Correlated noise has no such amplification here: its batches are fixed.

>>> alone, sampled = (poisson_epsilon(2.0, 1e-5, rate, 4, grid=0.01) for rate in (1.0, 0.1))
>>> sampled < 0.2 * alone
True
>>> alone < renyi_epsilon(2.0, 1e-5, 1.0, 4)
True
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib.util import find_spec
from typing import Literal

import numpy as np

from dpbounds.errors import AccuracyError, DomainError, count, moderate, within

EXTRA = "pip install 'dpbounds[accounting]', or leave amplification out"
# How a noise multiplier was found: privacy loss distributions of dp-accounting, or Rényi orders.
Accounting = Literal["exact", "renyi"]
# Rényi orders that are tried: all up to the first number, then up to the second by this factor.
ALL_ORDERS, LARGEST_ORDER, ORDER_FACTOR = 64, 8192, 1.1
# Width of the accountant's grid: an absolute width, and a share of epsilon.
WIDEST, SHARE = 1e-3, 1e-3
# The search ends where between these shares of epsilon are spent.
LEAST_SPENT, AIM, MOST_EVALUATIONS = 0.999, 0.9995, 60
_NOT_FOUND = (
    f"noise with Poisson sampling was not found within {MOST_EVALUATIONS} evaluations; take a larger epsilon or delta, "
    "or leave amplification out (--no-amplification)"
)


def poisson_noise_multiplier(epsilon: float, delta: float, sampling_rate: float, steps: int) -> float:
    """A noise multiplier, standard deviation of the noise on the sum over clip norm, at which `steps` steps with
    Poisson sampling spend 99.9 to 100 % of epsilon at delta, add-remove adjacency (the same as zero-out here).

    Google's accountant of privacy loss distributions, which rounds up: what it returns is private. Raises `DomainError`
    where the package dp-accounting is not installed.
    """
    target = moderate("epsilon", epsilon)
    within("delta", delta, "(0, 1)")
    rate, steps = within("sampling_rate", sampling_rate, "(0, 1]"), count("steps", steps)

    def excess(multiplier: float, grid: float) -> float:
        """log(epsilon spent / aimed at): decreasing."""
        return math.log(max(poisson_epsilon(multiplier, delta, rate, steps, grid=grid), 1e-300) / (AIM * target))

    fine = min(WIDEST, SHARE * target)
    near = _crossing(lambda multiplier: excess(multiplier, 10.0 * fine), 1.0, 2.0)
    return _crossing(lambda multiplier: excess(multiplier, fine), near, 1.01)


def renyi_noise_multiplier(epsilon: float, delta: float, sampling_rate: float, steps: int) -> float:
    """The same by `renyi_epsilon`, without a package: never less noise than privacy takes, and somewhat more.

    Raises `AccuracyError` where the orders tried show no noise to be enough: for tiny epsilon or delta.
    """
    target = moderate("epsilon", epsilon)

    def excess(multiplier: float) -> float:
        return math.log(max(renyi_epsilon(multiplier, delta, sampling_rate, steps), 1e-300) / (AIM * target))

    return _crossing(excess, 1.0, 2.0)


def renyi_epsilon(noise_multiplier: float, delta: float, sampling_rate: float, steps: int) -> float:
    """Epsilon at delta that `steps` steps with Poisson sampling spend, from above, by integer Rényi orders alpha.

    One step has E (1 - q + q e^{(2z - 1)/2 sigma^2})^alpha = sum_k C(alpha, k) (1 - q)^{alpha - k} q^k e^{k(k - 1)/2
    sigma^2}, z ~ N(0, sigma^2), in the worse direction (Mironov, Talwar, Zhang 2019); T logarithms of it over
    alpha - 1 add, and log(1 - 1/alpha) - (log delta + log alpha)/(alpha - 1) makes it epsilon (Canonne, Kamath, Steinke
    2020).
    Raises `DomainError` for arguments outside their ranges.
    """
    sigma, rate = moderate("noise_multiplier", noise_multiplier), within("sampling_rate", sampling_rate, "(0, 1]")
    allowed, times = within("delta", delta, "(0, 1)"), count("steps", steps)
    return max(0.0, min(_renyi_epsilon(order, sigma, allowed, rate, times) for order in _orders()))


def _orders() -> list[int]:
    """Increasing, from 2."""
    orders = list(range(2, ALL_ORDERS + 1))
    while orders[-1] < LARGEST_ORDER:
        orders.append(math.ceil(ORDER_FACTOR * orders[-1]))
    return orders


def _renyi_epsilon(order: int, sigma: float, delta: float, rate: float, steps: int) -> float:
    from scipy.special import gammaln

    taken = np.arange(order + 1) if rate < 1.0 else np.array([order])
    ways = gammaln(order + 1.0) - gammaln(taken + 1.0) - gammaln(order - taken + 1.0)
    missed = 0.0 if rate == 1.0 else (order - taken) * math.log1p(-rate)
    exponents = ways + missed + taken * math.log(rate) + taken * (taken - 1.0) / (2.0 * sigma**2)
    divergence = float(np.logaddexp.reduce(exponents)) / (order - 1)
    return steps * divergence + math.log1p(-1.0 / order) - (math.log(delta) + math.log(order)) / (order - 1)


def installed() -> bool:
    """Whether the package dp-accounting is."""
    return find_spec("dp_accounting") is not None


def poisson_epsilon(
    noise_multiplier: float, delta: float, sampling_rate: float, steps: int, *, grid: float = WIDEST
) -> float:
    """Epsilon at delta that `steps` steps spend, from above; `grid` is the width of the accountant's grid.

    Raises `DomainError` where the package dp-accounting is not installed.
    """
    try:
        from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent
        from dp_accounting.pld import PLDAccountant
    except ImportError:
        raise DomainError("amplification", True, "left out without the package dp-accounting", EXTRA) from None
    accountant = PLDAccountant(value_discretization_interval=grid)
    step = PoissonSampledDpEvent(sampling_rate, GaussianDpEvent(noise_multiplier))
    accountant.compose(SelfComposedDpEvent(step, steps))
    return float(accountant.get_epsilon(delta))


def _crossing(excess: Callable[[float], float], start: float, factor: float) -> float:
    """A noise multiplier that spends enough: a bracket by steps of a factor, then regula falsi on logarithms.

    The zero lies below or above `start`.
    """
    low = high = (start, excess(start))
    for _ in range(MOST_EVALUATIONS):
        if high[1] <= 0 < low[1]:
            break
        if low[1] > 0:
            low, high = high, (factor * high[0], excess(factor * high[0]))
        else:
            low, high = (low[0] / factor, excess(low[0] / factor)), low
    if not high[1] <= 0 < low[1]:
        raise AccuracyError(_NOT_FOUND)
    (a, above), (b, below) = low, high
    for _ in range(MOST_EVALUATIONS):
        finite = math.isfinite(above) and math.isfinite(below)
        share = min(max(above / (above - below), 0.02), 0.98) if finite else 0.5
        middle = a ** (1.0 - share) * b**share
        found = excess(middle)
        if math.log(LEAST_SPENT / AIM) <= found <= -math.log(AIM):
            return middle
        if found > 0:
            a, above, below = middle, found, below / 2.0
        else:
            b, below, above = middle, found, above / 2.0
    raise AccuracyError(_NOT_FOUND)
