"""The standard normal distribution in ball arithmetic: Φ, log Φ, the inverse of Φ and the Mills ratio, at any exponent.

All four are monotone, so the enclosure of a wide ball is that of its ends. Far out Φ(-t) leaves every range of
exponents while M(t) = Φ(-t)/φ(t) is about 1/t: logarithms are taken of M, which is a confluent hypergeometric function
there, M(t) = U(1/2, 1/2, t²/2)/√2 (DLMF 7.11.5). Results have the precision of `flint.ctx`.

>>> from dpbounds.arithmetic import balls
>>> with balls() as m:
...     print(m.ndtri("1e-300").str(10, radius=False), m.log_ndtr(-1000).str(10, radius=False))
-37.04709630 -500007.8267
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import flint
from scipy.special import ndtri_exp

from dpbounds.errors import AccuracyError

_Function = Callable[[Any], Any]
# Enough to double the digits of a float up to any precision that is used, and to widen a bracket by as much.
MOST_STEPS = 100
# Bits that a square, a quotient and a difference lose, with room to spare.
GUARD = 20
# Brackets are as narrow, relative to the value, as numbers are; around 0 relative to this.
SMALL = 2.0**-20
# Beyond, e^{t²/2} and erfc multiply a large number with a small one, and U is as quick.
NEAR = 1


def ndtr(x: Any) -> Any:
    """Φ(x), the chance that a standard normal is at most x."""
    return _at_ends(_ndtr, x)


def log_ndtr(x: Any) -> Any:
    """log Φ(x); its relative error is small where Φ(x) is near 0 and where it is near 1."""
    return _at_ends(_log_ndtr, x)


def mills(x: Any) -> Any:
    """M(x) = Φ(-x)/φ(x), falling from ∞ to 0."""
    return _at_ends(_mills, x)


def ndtri(p: Any) -> Any:
    """The x with Φ(x) = p, proved by a bracket; not finite unless the whole of p is in (0, 1)."""
    return _at_ends(_ndtri, p) if p > 0 and p < 1 else flint.arb.nan()


def inverse(increasing: _Function, target: Any, near: Any) -> Any:
    """The ball that holds the x with increasing(x) = target, both ends of which are proved to be on their side of it.

    `near` is a first guess, such as a float. Secants improve it; what they give need not be right, since the bracket
    is proved by itself. Raises `AccuracyError` where no bracket is found.
    """
    with flint.ctx.extraprec(GUARD):
        near = flint.arb(near).mid()
        size = abs(near).max(flint.arb(SMALL))
        point, last = near, near + size / 2**30
        value, last_value = increasing(point) - target, increasing(last) - target
        for _ in range(MOST_STEPS):
            rise = (last_value - value).mid()
            if rise == 0 or value.mid() == 0:
                break
            step = (value * (last - point) / rise).mid()
            last, last_value, point = point, value, (point - step).mid()
            value = increasing(point) - target
            if abs(step) < size / 2 ** (flint.ctx.prec - GUARD // 2):
                break
        reach = size / 2 ** (flint.ctx.prec - GUARD)
        for _ in range(MOST_STEPS):
            low, high = (point - reach).mid(), (point + reach).mid()
            if increasing(low) < target and increasing(high) > target:
                return low.union(high)
            reach *= 4
    raise AccuracyError(f"no bracket around {float(point)!r}: the function is too flat there for this precision")


def _at_ends(monotone: _Function, x: Any) -> Any:
    """The ball of a monotone function over a ball: between its values at the ends."""
    if not x.is_finite():
        return flint.arb.nan()
    return monotone(x) if x.is_exact() else monotone(x.lower()).union(monotone(x.upper()))


def _ndtr(x: Any) -> Any:
    with flint.ctx.extraprec(_bits(x)):
        return (-x / flint.arb(2).sqrt()).erfc() / 2


def _mills(t: Any) -> Any:
    with flint.ctx.extraprec(_bits(t)):
        if t > NEAR:
            return (t * t / 2).hypgeom_u(flint.arb(0.5), flint.arb(0.5)) / flint.arb(2).sqrt()
        return (flint.arb.pi() / 2).sqrt() * (t * t / 2).exp() * (t / flint.arb(2).sqrt()).erfc()


def _log_ndtr(x: Any) -> Any:
    if x > 0:
        return (-_ndtr(-x)).log1p()
    with flint.ctx.extraprec(_bits(x)):
        return _mills(-x).log() - x * x / 2 - (2 * flint.arb.pi()).log() / 2


def _ndtri(p: Any) -> Any:
    if p > 0.5:
        return -ndtri(1 - p)
    target = p.log()
    return inverse(_log_ndtr, target, float(ndtri_exp(float(target))))


def _bits(x: Any) -> int:
    """What e^{-x²/2} loses to the size of x²."""
    return GUARD + (math.ceil(2 * float(abs(x).upper().log()) / math.log(2)) if abs(x) > 1 else 0)
