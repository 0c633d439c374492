"""The Gaussian mechanism, exactly: delta, epsilon and mu from one another, without cancellation, in checked floats.

The formulas are those of `dpbounds.privacy.curves`, which has them in any arithmetic (Balle & Wang 2018, Thm 8).

>>> from dpbounds.privacy import gaussian_delta, gaussian_mu
>>> f"{float(gaussian_delta(1.0, 2.0)):.6f}, {float(gaussian_mu(1.0, 1e-6)):.6f}"
'0.020924, 0.236704'
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from dpbounds.errors import DomainError, listed, real_array, vector, within
from dpbounds.privacy import curves
from dpbounds.values import Value

# The ranges of this room's parameters, wider than any use. Below, squares would underflow; above, x = ε/μ - μ/2 is a
# difference of large numbers that no longer determines delta.
MU_RANGE, RHO_RANGE = "[1e-50, 1e4]", "[1e-100, 5e7]"
EPSILON_RANGE, DELTA_RANGE = "[0, 1e9]", "[1e-300, 1)"

_SOURCE = "Balle & Wang 2018, Thm 8"


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
    return curves.float_log_delta(mus, epsilons)


def gaussian_delta(mu: float, epsilon: float) -> Value:
    """The least delta for which the Gaussian mechanism with this mu is (epsilon, delta)-DP.

    Equality for the worst pair of neighbours (means mu apart, unit noise). Relative error at most 1e-12
    for mu and epsilon up to 1e3 while delta >= 1e-300; never 0: 5e-324 stands for all below. Source: Balle & Wang
    2018, Thm 8. Raises `DomainError` unless mu is in `MU_RANGE` and epsilon in `EPSILON_RANGE`.
    """
    mu, epsilon = within("mu", mu, MU_RANGE), within("epsilon", epsilon, EPSILON_RANGE)
    return Value(probability(float(curves.float_log_delta(mu, epsilon))), kind="exact", source=_SOURCE)


def gaussian_epsilon(mu: float, delta: float) -> Value:
    """The least epsilon >= 0 for which the Gaussian mechanism with this mu is (epsilon, delta)-DP.

    Error at most 1e-12 epsilon + 1e-15 for delta <= 1/2 and epsilon up to 1e3; delta(epsilon) exceeds `delta` by
    rounding only, at most 1e-12 relative. Source: Balle & Wang 2018, Thm 8. Raises `DomainError` unless mu is in
    `MU_RANGE` and delta in `DELTA_RANGE`.
    """
    mu, delta = within("mu", mu, MU_RANGE), within("delta", delta, DELTA_RANGE)
    return Value(curves.float_epsilon(mu, delta), kind="exact", source=_SOURCE)


def gaussian_mu(epsilon: float, delta: float) -> Value:
    """The largest mu for which the Gaussian mechanism is (epsilon, delta)-DP; its noise is sensitivity / mu.

    Relative error at most 1e-12 for delta <= 1/2 and epsilon up to 1e3; delta(mu) exceeds `delta` by rounding only, at
    most 1e-12 relative. Source: Balle & Wang 2018, Thm 8. Raises `DomainError` unless epsilon is in `EPSILON_RANGE` and
    delta in `DELTA_RANGE`.
    """
    epsilon, delta = within("epsilon", epsilon, EPSILON_RANGE), within("delta", delta, DELTA_RANGE)
    return Value(curves.float_mu(epsilon, delta), kind="exact", source=_SOURCE)


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
