"""Rényi DP to (epsilon, delta), by the best conversion that uses one order.

A mechanism whose Rényi divergence of order a > 1 is at most D satisfies, by the sharpest bound
(1 - e^{ε-z})_+ <= c e^{(a-1)(z-ε)}, c = (1/(a-1)) (1 - 1/a)^a, under the expectation of the privacy loss z,

    log δ = (a-1)(D - ε + log(1 - 1/a)) - log a,    ε = D + log(1/(aδ))/(a-1) + log(1 - 1/a)

(Balle et al. 2020, Thm 21; ftrl App. A.2). Both hold for every order, so any finite list of orders errs towards
less privacy than there is, never more.

>>> orders = [2.0, 8.0, 32.0]
>>> epsilon = rdp_epsilon(orders, compose_rdp([[0.01 * order for order in orders]] * 2), 1e-6)
>>> f"{epsilon:.4f}", epsilon.kind
('0.9421', 'upper')
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dpbounds.errors import DomainError, listed, vector, within
from dpbounds.privacy.gaussian import DELTA_RANGE, EPSILON_RANGE, array_within, probability
from dpbounds.values import Value

ORDER_RANGE = "(1, 1e100]"
RENYI_SOURCE = "Balle et al. 2020, Thm 21"


def rdp_epsilon(orders: ArrayLike, divergences: ArrayLike, delta: float) -> Value:
    """An epsilon >= 0 for this delta, the best over the given orders; `divergences[i]` bounds order `orders[i]`.

    Source: Balle et al. 2020, Thm 21. Raises `DomainError` unless the orders are in `ORDER_RANGE`, the divergences
    in [0, 1e100] and delta in `DELTA_RANGE`.
    """
    excesses, bounds = _curve(orders, divergences)
    log_inverse_delta = -math.log(within("delta", delta, DELTA_RANGE))
    epsilon = float(np.min(epsilon_at(bounds, excesses, log_inverse_delta)))
    return Value(max(epsilon, 0.0), kind="upper", source=RENYI_SOURCE)


def rdp_delta(orders: ArrayLike, divergences: ArrayLike, epsilon: float) -> Value:
    """A delta for this epsilon, the best over the given orders; `divergences[i]` bounds order `orders[i]`.

    Never 0: 5e-324 stands for all below. Source: Balle et al. 2020, Thm 21. Raises `DomainError` unless
    the orders are in `ORDER_RANGE`, the divergences in [0, 1e100] and epsilon in `EPSILON_RANGE`.
    """
    excesses, bounds = _curve(orders, divergences)
    log_delta = float(np.min(log_delta_at(bounds, excesses, within("epsilon", epsilon, EPSILON_RANGE))))
    return Value(probability(log_delta), kind="upper", source=RENYI_SOURCE)


def compose_rdp(curves: Sequence[ArrayLike]) -> np.ndarray:
    """Order by order sum: divergence bounds of mechanisms run one after the other, all over the same orders.

    Holds when each mechanism is chosen after the last answer. Source: Mironov 2017, Prop. 1. Raises `DomainError`
    for curves of different lengths, or entries outside [0, 1e100].
    """
    rows = [_divergences(f"curves[{i}]", curve) for i, curve in enumerate(listed("curves", curves))]
    lengths = {len(row) for row in rows}
    if len(lengths) != 1:
        raise DomainError("curves", sorted(lengths), "curves of one length", "evaluate all at the same orders")
    return np.sum(rows, axis=0)


def epsilon_at(divergence, excess, log_inverse_delta):
    """The epsilon that order 1 + `excess` gives for delta = e^-log_inverse_delta; negative where (0, delta) holds."""
    return divergence + (log_inverse_delta - np.log1p(excess)) / excess - np.log1p(1 / excess)


def log_delta_at(divergence, excess, epsilon):
    """The log delta that order 1 + `excess` gives for epsilon."""
    return excess * (divergence - epsilon - np.log1p(1 / excess)) - np.log1p(excess)


def _curve(orders: ArrayLike, divergences: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Orders less one and divergences, checked."""
    excesses = array_within("orders", vector("orders", orders), ORDER_RANGE) - 1
    bounds = _divergences("divergences", divergences)
    if excesses.size != bounds.size:
        raise DomainError("divergences", f"{bounds.size} numbers", f"one per order, {excesses.size}")
    return excesses, bounds


def _divergences(parameter: str, values: ArrayLike) -> np.ndarray:
    return array_within(parameter, vector(parameter, values), "[0, 1e100]")
