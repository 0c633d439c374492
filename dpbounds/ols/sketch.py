"""Privacy of a Gaussian sketch S X + eta xi: Rényi, the paper's (epsilon, delta), exact.

k rows, each N(0, X'X + eta² I); rows of X have norm at most 1 (divide by the bound else), neighbours are zero-out.
`gamma` is a lower bound on lambda_min(X'X) + eta², so that a record has leverage x'(X'X + eta² I)^{-1} x <= 1/gamma.
`steps` sketches with the same eta are one sketch of k * steps rows. Logarithms are natural. Ranges: 1 to 1e9 rows in
all, gamma in (1, 1e50], epsilon in (0, 1e6], delta in [1e-300, 1).

Numerically: with g = gamma - 1, u = order - 1 and w = u / (gamma - order), so that order < gamma is w < infinity,

    phi = (k/2) {[w log(1 + w) - E(w)] / (g w) + E(1/g)},      E(w) = w - log(1 + w),

and the best order for delta solves (k/2) E(w) + log(1 + u) = log(1/delta), u = g w / (1 + w): no cancellation anywhere,
and both sides are monotone.

>>> round(float(renyi_epsilon(100.0, 50, 1e-6)), 3)
0.277
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from dpbounds.arguments import formula, typed
from dpbounds.arithmetic import Arithmetic
from dpbounds.errors import AccuracyError, DomainError, count, positive, real, within, without_nan
from dpbounds.privacy.covariance import excess, rows_log_delta
from dpbounds.privacy.gaussian import DELTA_RANGE, array_within, probability
from dpbounds.values import Value

GAMMA_RANGE, BUDGET_RANGE, LEVERAGE_RANGE = "(1, 1e50]", "(0, 1e6]", "[1e-50, 1)"
MOST_ROWS, MOST_GAMMA = 10**9, 1e50
# Proposition 5 and Algorithms 4 and 5 take gamma above this.
LEAST_GAMMA = 2.5
_LEV = "ols Lemma 1 (Lev et al. 2025)"
_EXACT = "dpbounds, law of the whitened rows"


def renyi(order: ArrayLike, k: int, gamma: float) -> Any:
    """phi(order; k, gamma) of (19): the Rényi divergence of k rows from those without a record of leverage 1/gamma.

    Exactly that, for orders in (1, gamma), floats or arrays; less leverage costs less, and so does the other direction.
    Raises `DomainError` for an order outside (1, gamma).
    """
    rows, gamma = _rows(k), within("gamma", gamma, GAMMA_RANGE)
    orders = array_within("order", order, "(1, 1e50]")
    if np.any(orders >= gamma):
        raise DomainError(
            "order", float(orders.max()), f"below gamma = {gamma:g}", "beyond it the divergence is infinite"
        )
    value = _divergence((orders - 1) / (gamma - orders), rows, gamma - 1)
    return value if np.ndim(order) else Value(float(value), kind="exact", source=_LEV, convention="zero-out")


@formula
def printed_renyi(m: Arithmetic, order: Any, k: Any, zeta: Any) -> Any:
    """phi as (17) and (19) print it, in any arithmetic; for large zeta it cancels, which `renyi` does not."""
    without_nan(order=order, k=k, zeta=zeta)
    first = k * order / (2 * (order - 1)) * m.log(1 - 1 / zeta)
    return first - k / (2 * (order - 1)) * m.log(1 - order / zeta)


@formula
def conversion(m: Arithmetic, order: Any, log_inverse_delta: Any) -> Any:
    """What the order adds to its divergence for epsilon at delta (Lemma 3, the brackets of (17), (36), (39))."""
    without_nan(order=order, log_inverse_delta=log_inverse_delta)
    return (log_inverse_delta + (order - 1) * m.log(1 - 1 / order) - m.log(order)) / (order - 1)


def renyi_epsilon(gamma: float, k: int, delta: float, steps: int = 1) -> Value:
    """min over 1 < order < gamma of {steps phi(order; k, gamma) + conversion}: the sketches alone, eta known.

    The second term of (17) is this at delta/3, (39) at delta/4. An upper bound on epsilon; not below 0.
    """
    rows, gamma = _rows(k, steps), within("gamma", gamma, GAMMA_RANGE)
    return _upper(max(_best(rows, gamma, -math.log(within("delta", delta, DELTA_RANGE))), 0.0), "ols (39)")


def guarantee(test_noise: float, gamma: float, k: int, delta: float) -> Value:
    """epsilon~(eta, gamma, k, delta) of (17): Algorithm 3 whose eigenvalue test has noise eta = `test_noise`.

    Rows of norm at most 1. An upper bound on epsilon for the released eta and sketch together; not below 0.
    """
    rows, gamma = _rows(k), within("gamma", gamma, GAMMA_RANGE)
    value = _guarantee(positive("test_noise", test_noise), gamma, rows, within("delta", delta, DELTA_RANGE))
    return _upper(value, "ols Prop. 5")


def epsilon(gamma: float, k: int, delta: float, steps: int = 1) -> Value:
    """epsilon~ of (17) with test noise gamma / sqrt(k steps) and k * steps rows, as Algorithm 4 and the experiments."""
    rows, gamma = _rows(k, steps), within("gamma", gamma, GAMMA_RANGE)
    return _upper(_guarantee(gamma / math.sqrt(rows), gamma, rows, within("delta", delta, DELTA_RANGE)), "ols Prop. 5")


@formula
def printed_epsilon(m: Arithmetic, gamma: Any, k: Any, log_term: Any) -> Any:
    """k / (2 gamma²) + 2 sqrt(2 k l) / gamma, the right side of (18) with l = `log_term` = log(4/delta).

    In any arithmetic. Theorem 1 uses it with k steps for k and l = log(5/delta), (130) with l = log(1/delta). Not an
    upper bound on (17) for every k: see claim ols/eq18.
    """
    return k / (2 * gamma**2) + 2 * m.sqrt(2 * k * log_term) / gamma


@formula
def printed_gamma(m: Arithmetic, epsilon: Any, k: Any, log_term: Any) -> Any:
    """The gamma at which `printed_epsilon` is epsilon: Theorem 1 (k steps for k, epsilon/2, log(5/delta)) and (131)."""
    return m.sqrt(k) / (m.sqrt(8 * log_term) * (m.sqrt(1 + epsilon / (4 * log_term)) - 1))


def gamma(epsilon: float, delta: float, k: int, steps: int = 1) -> Value:
    """Line 2 of Algorithm 4: the smallest gamma > 5/2 whose epsilon~ of (17) is at most epsilon, for k * steps rows.

    Solved to 1e-12 relative (5/2 itself where that will do). Kind `upper`: the smallest private gamma is at most
    this. Raises `DomainError` for numbers outside the ranges above and for an epsilon that no gamma up to 1e50 gives.
    """
    rows, target = _rows(k, steps), within("epsilon", epsilon, BUDGET_RANGE)
    delta = within("delta", delta, DELTA_RANGE)

    def over(x: float) -> float:
        return _guarantee(x / math.sqrt(rows), x, rows, delta) / target - 1

    if over(MOST_GAMMA) > 0:
        reachable = (over(MOST_GAMMA) + 1) * target
        remedy = f"with k * steps = {rows} rows; fewer rows reach less"
        raise DomainError("epsilon", epsilon, f"at least {reachable:.3g}", remedy)
    solved = least(over, LEAST_GAMMA)
    return _upper(solved, "ols Algorithm 4, line 2")


# Where an argument is called gamma.
smallest_gamma = gamma


def exact_delta(epsilon: float, k: int, leverage: float) -> Value:
    """The least delta for which k rows at this leverage, eta known, are (epsilon, delta)-DP: the larger direction.

    Never 0: 5e-324 stands for all below, `exact_log_delta` goes further. Relative error 1e-11 while delta >= 1e-300.
    """
    return Value(
        probability(exact_log_delta(epsilon, k, leverage)),
        kind="exact",
        source=_EXACT,
        convention="zero-out, eta known",
    )


def exact_log_delta(epsilon: float, k: int, leverage: float) -> float:
    """Natural logarithm of `exact_delta`, -inf where it is 0.

    Raises `DomainError` unless epsilon is in [0, 1e6] and the leverage in [1e-50, 1).
    """
    epsilon = within("epsilon", epsilon, "[0, 1e6]")
    return min(rows_log_delta(epsilon, _rows(k), _leverage(leverage)), 0.0)


def exact_epsilon(delta: float, k: int, leverage: float) -> Value:
    """The least epsilon >= 0 for which k rows at this leverage, eta known, are (epsilon, delta)-DP."""
    rows, leverage, log_delta = _rows(k), _leverage(leverage), math.log(within("delta", delta, DELTA_RANGE))
    value = 0.0
    if rows_log_delta(0.0, rows, leverage) > log_delta:
        high = max(_best(rows, 1 / leverage, -log_delta), 0.0) if leverage > 1e-50 else 1.0
        value = root(lambda e: rows_log_delta(e, rows, leverage) - log_delta, 0.0, high)
    return Value(value, kind="exact", source=_EXACT, convention="zero-out, eta known")


def exact_gamma(epsilon: float, delta: float, k: int, steps: int = 1) -> Value:
    """The smallest gamma > 1 for which k * steps rows, eta known, are (epsilon, delta)-DP; no eigenvalue test."""
    rows, target = _rows(k, steps), within("epsilon", epsilon, BUDGET_RANGE)
    log_delta = math.log(within("delta", delta, DELTA_RANGE))
    solved = least(lambda x: rows_log_delta(target, rows, 1 / x) - log_delta, 1 + 1e-9)
    return Value(solved, kind="exact", source=_EXACT, convention="zero-out, eta known")


@typed
def dynamic_size(
    released: float, *, epsilon: float, delta: float, k: int, gamma: float | None = None, actual_test: bool = False
) -> int:
    """Line 6 of Algorithm 5: the largest k~ >= k with epsilon~(eta, released, k~, delta) <= epsilon.

    `released` is the private eigenvalue, in the same units as gamma (`gamma(epsilon, delta, k)` unless given). The
    test's noise is counted as printed, eta = gamma / sqrt(k~), or with `actual_test` as it was drawn, gamma / sqrt(k).
    Raises `DomainError` for `released` < gamma, where the algorithm adds noise and keeps k.
    """
    rows, target, delta = _rows(k), within("epsilon", epsilon, BUDGET_RANGE), within("delta", delta, DELTA_RANGE)
    level = float(smallest_gamma(target, delta, rows)) if gamma is None else within("gamma", gamma, GAMMA_RANGE)
    released = within("released", released, GAMMA_RANGE)
    if released < level:
        raise DomainError(
            "released", released, f"at least gamma = {level:.6g}", "below it Algorithm 5 keeps k and adds noise"
        )

    def fits(size: int) -> bool:
        return _guarantee(level / math.sqrt(rows if actual_test else size), released, size, delta) <= target

    return _largest(fits, rows)


@typed
def least(excess_of: Callable[[float], float], low: float) -> float:
    """The least x >= low at which a decreasing function is at most 0, to 1e-13 relative, on the side where it is."""
    # Accountings are slow, and the bracket's ends are asked for again by whoever gets them.
    at = cache(lambda v: excess_of(math.exp(v)))
    if excess_of(low) <= 0:
        return low
    log_low, log_high = math.log(low), math.log(2 * low)
    while at(log_high) > 0:
        log_low, log_high = log_high, log_high + math.log(4)
        if log_high > math.log(1e60):
            raise AccuracyError("no noise below 1e60 keeps this budget: raise epsilon or delta")
    found = root(at, log_low, log_high)
    return math.exp(found) if at(found) <= 0 else math.exp(found) * (1 + 4e-14)


@formula
def root(function: Callable[[float], float], low: float, high: float) -> float:
    """brentq to the last digits; the end at which there is no change of sign left by rounding."""
    at_low, at_high = function(low), function(high)
    if at_low * at_high >= 0:
        return low if abs(at_low) < abs(at_high) else high
    return cast(float, brentq(function, low, high, xtol=1e-14, maxiter=300))


def _largest(fits: Callable[[int], bool], low: int) -> int:
    """By doubling and bisection; `low` fits up to rounding."""
    high = 2 * low
    while fits(high):
        low, high = high, 2 * high
        if high > MOST_ROWS:
            raise DomainError("released", "this eigenvalue", f"one that gives at most {MOST_ROWS:g} rows")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _guarantee(test_noise: float, gamma: float, rows: int, delta: float) -> float:
    """(17)."""
    test = math.sqrt(2 * math.log(3.75 / delta)) / test_noise
    return max(test + _best(rows, gamma, math.log(3 / delta)), 0.0)


def _divergence(w: Any, rows: int, g: float) -> Any:
    """phi at the order whose (order - 1) / (gamma - order) is w."""
    return rows / 2 * ((w * np.log1p(w) - excess(w)) / (g * w) + excess(1 / g))


def _best(rows: int, gamma: float, log_inverse_delta: float) -> float:
    """The conversion at its best order, whose w lies between the roots that either term of the equation alone has."""
    g, l = gamma - 1, log_inverse_delta

    def stationary(v: float) -> float:
        w = math.exp(v)
        return rows / 2 * excess(w) + math.log1p(g * w / (1 + w)) - l

    b = 4 * l / rows
    high = math.log((b + math.sqrt(b * b + 4 * b)) / 2) + 1e-6
    low = math.log(2 * l / (g + math.sqrt(g * g + rows * l))) - 1e-6
    w = math.exp(root(stationary, low, high))
    u = g * w / (1 + w)
    return float(_divergence(w, rows, g)) + (l - math.log1p(u)) / u - math.log1p(1 / u)


def _rows(k: int, steps: int = 1) -> int:
    rows = count("k", k) * count("steps", steps)
    if rows > MOST_ROWS:
        raise DomainError("k * steps", rows, f"at most {MOST_ROWS:g}")
    return rows


def _leverage(leverage: float) -> float:
    return within("leverage", real("leverage", leverage), LEVERAGE_RANGE, "1 / gamma for a gamma above 1")


def _upper(value: float, source: str) -> Value:
    return Value(value, kind="upper", source=source, convention="zero-out")
