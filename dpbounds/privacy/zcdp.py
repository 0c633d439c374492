"""zCDP to (epsilon, delta) and back: by Bun & Steinke, by the best Rényi order, exactly for the Gaussian mechanism.

Every conversion takes a `method`:
- `renyi`: the best order of the Rényi conversion; holds for every rho-zCDP mechanism.
- `bun-steinke`: ε = ρ + 2 sqrt(ρ log(1/δ)), Bun & Steinke 2016, Prop. 1.3; holds for every rho-zCDP mechanism.
- `gaussian`: exact for the Gaussian mechanism that has this rho (mu = sqrt(2ρ)), and for mechanisms that
  post-process it, such as DP-FTRL (ftrl Thm 1.1); NOT a guarantee for every rho-zCDP mechanism.

With u = order - 1 and D = ρ(1 + u), the Rényi conversions are stationary where
    ρu² + log(1 + u) = log(1/δ)  (given delta),        ρ(1 + 2u) - log(1 + 1/u) = ε  (given epsilon);
both left sides increase with u, so each has one root, the global optimum. Every order gives a valid bound: an
inexact root errs on the safe side, and by the square of its error only.

>>> [f"{zcdp_epsilon(0.1, 1e-6, method):.3f}" for method in ("gaussian", "renyi", "bun-steinke")]
['1.995', '2.142', '2.451']
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from dpbounds.errors import AccuracyError, choice, listed, within
from dpbounds.privacy.gaussian import (
    DELTA_RANGE,
    EPSILON_RANGE,
    MU_RANGE,
    RHO_RANGE,
    array_within,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    probability,
)
from dpbounds.privacy.rdp import ORDER_RANGE, RENYI_SOURCE, epsilon_at, log_delta_at
from dpbounds.values import Value

Conversion = Literal["renyi", "bun-steinke", "gaussian"]

_BUN_STEINKE = "Bun & Steinke 2016, Prop. 1.3"
_SOURCES = {"renyi": RENYI_SOURCE, "bun-steinke": _BUN_STEINKE}
_GAUSSIAN_ONLY = "Gaussian mechanisms only"


def zcdp_of_gaussian(mu: float) -> Value:
    """rho = mu²/2 of the Gaussian mechanism: its Rényi divergence of order a is exactly a mu²/2.

    Source: Bun & Steinke 2016, Prop. 1.6. Raises `DomainError` unless mu is in `MU_RANGE`.
    """
    mu = within("mu", mu, MU_RANGE)
    return Value(mu * mu / 2, kind="exact", source="Bun & Steinke 2016, Prop. 1.6")


def gaussian_of_zcdp(rho: float) -> Value:
    """mu = sqrt(2 rho) of the Gaussian mechanism with this rho; other rho-zCDP mechanisms need not be mu-GDP.

    Source: Bun & Steinke 2016, Prop. 1.6. Raises `DomainError` unless rho is in `RHO_RANGE`.
    """
    mu = math.sqrt(2 * within("rho", rho, RHO_RANGE))
    return Value(mu, kind="exact", source="Bun & Steinke 2016, Prop. 1.6", convention=_GAUSSIAN_ONLY)


def rdp_of_zcdp(rho: float, orders: ArrayLike) -> np.ndarray:
    """Divergence bounds rho * order, the definition of rho-zCDP; equality for the Gaussian mechanism.

    Source: Bun & Steinke 2016, Def. 1.1. Raises `DomainError` unless rho is in `RHO_RANGE` and the
    orders in `ORDER_RANGE`.
    """
    return within("rho", rho, RHO_RANGE) * array_within("orders", orders, ORDER_RANGE)


def compose_zcdp(rhos: Iterable[float]) -> Value:
    """Sum of the rhos: mechanisms run one after the other, each chosen after the last answer.

    Equality for Gaussian mechanisms. Source: Bun & Steinke 2016, Lemma 1.7. Raises `DomainError` unless every rho is
    in [0, 5e7].
    """
    total = math.fsum(within(f"rhos[{i}]", rho, "[0, 5e7]") for i, rho in enumerate(listed("rhos", rhos)))
    return Value(total, kind="upper", source="Bun & Steinke 2016, Lemma 1.7", convention="equality if Gaussian")


def zcdp_epsilon(rho: float, delta: float, method: Conversion = "renyi") -> Value:
    """An epsilon >= 0 such that rho-zCDP implies (epsilon, delta)-DP; `gaussian`: the least one, Gaussians only.

    Sources per `method` as listed in this module. Raises `DomainError` unless rho is in `RHO_RANGE`, delta in
    `DELTA_RANGE` and `method` is known.
    """
    rho, delta = within("rho", rho, RHO_RANGE), within("delta", delta, DELTA_RANGE)
    _check(method)
    if method == "gaussian":
        return _for_gaussians(gaussian_epsilon(math.sqrt(2 * rho), delta))
    compute = _renyi_epsilon if method == "renyi" else bun_steinke_epsilon
    return Value(compute(rho, -math.log(delta)), kind="upper", source=_SOURCES[method])


def zcdp_delta(rho: float, epsilon: float, method: Conversion = "renyi") -> Value:
    """A delta such that rho-zCDP implies (epsilon, delta)-DP; `gaussian`: the least one, Gaussians only.

    Never 0: 5e-324 stands for all below. Sources per `method` as listed in this module. Raises `DomainError` unless
    rho is in `RHO_RANGE`, epsilon in `EPSILON_RANGE` and `method` is known.
    """
    rho, epsilon = within("rho", rho, RHO_RANGE), within("epsilon", epsilon, EPSILON_RANGE)
    _check(method)
    if method == "gaussian":
        return _for_gaussians(gaussian_delta(math.sqrt(2 * rho), epsilon))
    compute = _renyi_log_delta if method == "renyi" else _bun_steinke_log_delta
    return Value(probability(compute(rho, epsilon)), kind="upper", source=_SOURCES[method])


def zcdp_rho(epsilon: float, delta: float, method: Conversion = "renyi") -> Value:
    """A rho such that rho-zCDP implies (epsilon, delta)-DP; `gaussian`: the largest one, Gaussians only.

    The inverse of `zcdp_epsilon` in rho: spend this rho to keep the budget. Kind `lower`: the largest rho that keeps
    it is at least this. Sources per `method` as listed in this module. Raises `DomainError` unless epsilon is in
    [1e-50, 1e9], delta in `DELTA_RANGE` and `method` is known.
    """
    epsilon, delta = within("epsilon", epsilon, "[1e-50, 1e9]"), within("delta", delta, DELTA_RANGE)
    _check(method)
    if method == "gaussian":
        mu = gaussian_mu(epsilon, delta)
        return _for_gaussians(mu * mu / 2)
    compute = _renyi_rho if method == "renyi" else _bun_steinke_rho
    return Value(compute(epsilon, -math.log(delta)), kind="lower", source=_SOURCES[method])


def _check(method: str) -> None:
    choice("method", method, get_args(Conversion))


def _for_gaussians(value: float) -> Value:
    return Value(value, kind="exact", source="Balle & Wang 2018, Thm 8", convention=_GAUSSIAN_ONLY)


def bun_steinke_epsilon(rho, log_inverse_delta):
    """rho + 2 sqrt(rho log(1 / delta)), for floats and arrays."""
    return rho + 2 * (rho * log_inverse_delta) ** 0.5


def _bun_steinke_log_delta(rho: float, epsilon: float) -> float:
    return -(max(epsilon - rho, 0.0) ** 2) / (4 * rho)


def _bun_steinke_rho(epsilon: float, log_inverse_delta: float) -> float:
    """(sqrt(ε + l) - sqrt(l))² without its cancellation."""
    return (epsilon / (math.sqrt(epsilon + log_inverse_delta) + math.sqrt(log_inverse_delta))) ** 2


def _renyi_epsilon(rho: float, log_inverse_delta: float) -> float:
    excess = _best_excess_for_delta(rho, log_inverse_delta)
    return max(float(epsilon_at(rho * (1 + excess), excess, log_inverse_delta)), 0.0)


def _renyi_log_delta(rho: float, epsilon: float) -> float:
    excess = _best_excess_for_epsilon(rho, epsilon)
    return float(log_delta_at(rho * (1 + excess), excess, epsilon))


def _renyi_rho(epsilon: float, log_inverse_delta: float) -> float:
    """epsilon is concave in rho (an infimum of affine functions), so Newton's iterates rise to the root, all valid."""
    rho = _bun_steinke_rho(epsilon, log_inverse_delta)
    for _ in range(100):
        excess = _best_excess_for_delta(rho, log_inverse_delta)
        larger = (epsilon - float(epsilon_at(0.0, excess, log_inverse_delta))) / (1 + excess)
        if larger <= rho * (1 + 1e-15):
            return max(rho, larger)
        rho = larger
    raise AccuracyError(f"rho for epsilon = {epsilon!r} did not settle: last value {rho!r}")


def _best_excess_for_delta(rho: float, log_inverse_delta: float) -> float:
    """Root u of ρu² + log(1 + u) = l: between that of ρu² + u = l and the lesser of those of either term alone."""
    l = log_inverse_delta
    low = math.log(2 * l / (1 + math.sqrt(1 + 4 * rho * l)))
    high = min(0.5 * math.log(l / rho), l + math.log(-math.expm1(-l)))
    return _root(lambda v: rho * math.exp(2 * v) + _softplus(v) - l, low, high)


def _best_excess_for_epsilon(rho: float, epsilon: float) -> float:
    """Root u of ρ(1 + 2u) - log(1 + 1/u) = ε: between e^(-1/above) and `above`, the root with 1/u for the logarithm."""
    drift = epsilon - rho
    root = math.sqrt(drift * drift + 8 * rho)
    above = (drift + root) / (4 * rho) if drift > 0 else 2 / (root - drift)
    return _root(lambda v: rho * (1 + 2 * math.exp(v)) - _softplus(-v) - epsilon, -1 / above, math.log(above))


def _root(increasing: Callable[[float], float], low: float, high: float) -> float:
    """e^v at the root v between low and high (padded against rounding); at least e^-700, since any order will do."""
    from scipy.optimize import brentq

    low = max(low - 0.1, -700.0)
    return math.exp(low if increasing(low) >= 0 else cast(float, brentq(increasing, low, high + 0.1)))


def _softplus(v: float) -> float:
    """log(1 + e^v) without overflow."""
    return max(v, 0.0) + math.log1p(math.exp(-abs(v)))
