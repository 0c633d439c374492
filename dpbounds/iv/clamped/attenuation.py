"""What clipping residuals takes off the moment of an instrument: a factor between 0 and 1, and its limits.

For an instrument z, independent of the errors and of the first stage, and r = clip(e + delta D z, +-C) the moment E zr
(z centred) is lambda delta E zx, with x = x0 + D z and D >= 0: a path from e to e + delta D is shortened by what lies
beyond +-C. One constant D, z in {0, 1}: lambda = P(|e + s| <= C) on average over s from 0 to delta D, and what is
clipped at the ends of the path, the two arms, brackets what is clipped along it.

>>> from scipy.stats import norm
>>> [round(number, 6) for number in attenuation(norm(), 1.0, 0.5)]
[0.66302, 0.532807, 0.774538]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import quad

from dpbounds.errors import AccuracyError, DomainError, moderate, real, vector, within

# Of the quadrature: relative and absolute error, and parts of the interval.
_ERROR, _PARTS = 1e-12, 400
_ACCEPTED = 1e-9
_QUANTILES = np.array([1e-12, 1e-4, 0.05, 0.25, 0.5, 0.75, 0.95, 1 - 1e-4, 1 - 1e-12])


class Attenuation(NamedTuple):
    """lambda, and the limits that the shares of clipped residuals in the two arms set to it."""

    value: float
    lower: float
    upper: float


class ClippedShares(NamedTuple):
    """Shares of residuals at +C and at -C, each in the arms z = 0 and z = 1."""

    above: tuple[float, float]
    below: tuple[float, float]


def attenuation(law: Any, clip: float, shift: float, centre: float = 0.0) -> Attenuation:
    """lambda = (1 / s) integral_0^s P(|e - centre + u| <= C) du for z in {0, 1}, s = `shift` = delta D, C = `clip`.

    `law` is that of e, a frozen continuous law of `scipy.stats`; s = 0 gives the limit, P(|e - centre| <= C). Raises
    `DomainError` for another law, C <= 0 and numbers that are not finite, `AccuracyError` where quadrature fails.
    """
    cdf = _distribution(law)
    C, s, centre = moderate("clip", clip), real("shift", shift), real("centre", centre)
    shares = clipped_shares(law, C, s, centre)
    lower, upper = attenuation_limits(shares.above, shares.below)

    def inside(u: float) -> float:
        return cdf(C + centre - u) - cdf(centre - C - u)

    # Below, the average is the value at the middle to all digits.
    value = inside(s / 2) if abs(s) < 1e-9 * C else _average(inside, s, _kinks(law, C, s, centre))
    return Attenuation(min(max(value, 0.0), 1.0), lower, upper)


def clipped_shares(law: Any, clip: float, shift: float, centre: float = 0.0) -> ClippedShares:
    """P(e - centre + z s >= C) and P(e - centre + z s <= -C) for z = 0, 1. Arguments as for `attenuation`."""
    cdf = _distribution(law)
    C, s, centre = moderate("clip", clip), real("shift", shift), real("centre", centre)
    above = [float(law.sf(C + centre - at)) for at in (0.0, s)]
    below = [cdf(centre - C - at) for at in (0.0, s)]
    return ClippedShares((above[0], above[1]), (below[0], below[1]))


def attenuation_limits(
    above: Sequence[float] | np.ndarray, below: Sequence[float] | np.ndarray, heterogeneity: float = 1.0
) -> tuple[float, float]:
    """1 - H (max f+ + max f-) <= lambda <= 1 - min f+ - min f- from shares at +C and -C by arm, the latter 1 if H > 1.

    H = `heterogeneity` is a public bound on D / E D: 1 for one constant first stage, else a path is clipped somewhere
    only if it is so at one of its ends. Raises `DomainError` for H < 1 and shares outside [0, 1].
    """
    H = within("heterogeneity", heterogeneity, "[1, 1e12]", "a bound on a first stage over its mean")
    plus, minus = _shares("above", above), _shares("below", below)
    lower = max(0.0, 1 - H * float(plus.max() + minus.max()))
    upper = 1.0 if H > 1 else max(0.0, 1 - float(plus.min() + minus.min()))
    return min(lower, upper), upper


def _distribution(law: Any) -> Callable[[float], float]:
    if not all(hasattr(law, name) for name in ("cdf", "sf", "pdf", "support")):
        raise DomainError("law", type(law).__name__, "a frozen continuous law of scipy.stats", "such as norm(0, 2)")
    return lambda at: float(law.cdf(at))


def _kinks(law: Any, C: float, s: float, centre: float) -> list[float]:
    """Where quantiles of the law, ends of its support among them, enter or leave the clip on the way: a path may be
    long beside the law, which quadrature would then pass over.
    """
    marks = [*law.support(), *law.ppf(_QUANTILES)]
    found = {side * C + centre - float(mark) for mark in marks if math.isfinite(mark) for side in (-1, 1)}
    return sorted(point for point in found if min(0.0, s) < point < max(0.0, s))


def _average(inside: Callable[[float], float], s: float, kinks: list[float]) -> float:
    """Over u from 0 to s."""
    # The fourth part is a message where the error is not small enough: that is judged below.
    total, error, *_ = quad(
        inside, 0.0, s, limit=_PARTS, epsabs=_ERROR * abs(s), epsrel=_ERROR, points=kinks or None, full_output=1
    )
    if error > _ACCEPTED * abs(s):
        raise AccuracyError(f"the average over a shift of {s:g} has an error of {error / abs(s):.2g}")
    return total / s


def _shares(name: str, given: Any) -> np.ndarray:
    shares = vector(name, given)
    for index, share in enumerate(shares):
        within(f"{name}[{index}]", float(share), "[0, 1]")
    return shares
