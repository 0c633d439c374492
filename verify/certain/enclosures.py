"""Theory that floats approximate, by quadrature, series or Newton's method, and what holds its value for certain.

A function whose floats are cut off somewhere has an enclosure here, or is named as one that has none: what needs it
then stands on floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from dpbounds import arithmetic
from dpbounds.glm.gaussian import enclosed_mean
from dpbounds.glm.links import LINKS
from dpbounds.privacy import curves
from verify.certain.functions import Missing, bisected, each
from verify.certain.numbers import PRECISION, Ball, Uncertain


def _slope_means(link: Any, q: Any) -> tuple[Ball, Ball]:
    """E mu'(z) and E mu'''(z) by enclosed integrals."""
    known, variance = LINKS[link.name], Ball(q).value
    first, third = (Ball(enclosed_mean(known, variance, order=order, precision=PRECISION)) for order in (1, 3))
    return first, third


def _excess(w: Any) -> Any:
    """w - log(1 + w), which floats sum as a series."""
    return w - Ball(w).log1p()


def _rows_alone(epsilon: Any, rows: int, slope: Any) -> Any:
    """log delta of K rows alone in one direction: the loss (K/2) [E(w) + w y] is monotone in q = K (1 + y), so that
    delta = P(loss > epsilon) - e^epsilon P'(loss > epsilon) with q ~ chi²_K under the first law, and (1 + w) q under
    the second.
    """
    kink = (2 * Ball(epsilon) / rows - _excess(slope)) / slope
    at_kink, half = 1 + kink, Ball(rows) / 2
    if at_kink <= 0:
        return -math.inf
    upper = bool(slope > 0)

    def share(level: Ball) -> Ball:
        return Ball(level.value.gamma_upper(half.value, regularized=1))

    first, second = share(half * at_kink), share(half * at_kink * (1 + slope))
    first, second = (first, second) if upper else (1 - first, 1 - second)
    return (first - Ball(epsilon).exp() * second).log()


def _curve(of: Callable[..., Any]) -> Callable[..., Any]:
    """A function of `dpbounds.privacy.curves` on balls, or arrays of them."""

    def enclosed(*values: Ball) -> Ball:
        with arithmetic.balls(PRECISION) as m:
            return Ball(of(m, *(value.value for value in values)))

    return each(enclosed)


def _root(function: Callable[[Any], Any], low: Any, high: Any) -> Ball:
    return bisected(function, low, high)


def _least(excess_of: Callable[[Any], Any], low: Any) -> Ball:
    """The least x >= low at which a decreasing function is at most 0."""
    low = Ball(low)
    if Ball(excess_of(low)) <= 0:
        return low
    high = 2 * low
    while Ball(excess_of(high)) > 0:
        low, high = high, 4 * high
        if high > Ball(10) ** 60:
            raise Uncertain("whether a decreasing function has a zero")
    return bisected(lambda v: excess_of(v.exp()), low.log(), high.log()).exp()


def _none(name: str) -> Missing:
    return Missing(f"{name}, which is cut off somewhere,")


ENCLOSURES: Mapping[str, Mapping[str, Any]] = {
    "dpbounds.glm.gaussian": {
        "nodes": _none("nodes"),
        "mean_of": _none("mean_of"),
        "slope_means": _slope_means,
    },
    "dpbounds.privacy.covariance": {
        "excess": _excess,
        "_alone": _rows_alone,
        "_near": _none("_near"),
        "_stirling_constant": _none("_stirling_constant"),
        "log_integral": _none("log_integral"),
        "_log_integral_of_two": _none("_log_integral_of_two"),
    },
    "dpbounds.privacy.curves": {
        "float_log_delta": _curve(curves.log_delta_at),
        "float_epsilon": _curve(curves.epsilon_at),
        "float_mu": _curve(curves.mu_at),
        "_mills_gap_integral": _none("_mills_gap_integral"),
    },
    "dpbounds.ols.sketch": {"root": _root, "least": _least},
}
