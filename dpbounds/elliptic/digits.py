"""Elliptic integrals to any number of digits, with mpmath.

Every function takes a `context`, mpmath's own `mpmath.mp` by default, and gives a number of that context right to
its precision (`mpmath.workdps(50)` sets 50 digits), however small the arguments; mpmath's own `elliprj` would
lose half as many digits as a has leading zeros, for a ≪ b. Arguments are what `context.convert` takes: ints, floats
(exactly), decimal strings, numbers of a context. `dpbounds.arithmetic.digits` brings a context of its own.

>>> with mpmath.workdps(25):
...     print(mpmath.nstr(K("0.6"), 20))
1.750753802915752529
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath

from dpbounds.elliptic.gauss import complete_integral
from dpbounds.elliptic.quadrature import integral_over_circle
from dpbounds.errors import DomainError

GUARD_BITS = 20


def K(k: Any, *, context: Any = mpmath.mp) -> Any:
    """Complete elliptic integral of the first kind, k the modulus. Raise `DomainError` for k outside [0, 1)."""
    with context.extraprec(GUARD_BITS):
        k = _number("k", k, context, lambda k: 0 <= k < 1, "the modulus, 0 <= k < 1")
        result = _complete(context, context.sqrt((1 - k) * (1 + k)), 1, 1, 1)
    return +result


def E(k: Any, *, context: Any = mpmath.mp) -> Any:
    """Complete elliptic integral of the second kind, k the modulus. Raise `DomainError` for k outside [0, 1]."""
    with context.extraprec(GUARD_BITS):
        k = _number("k", k, context, lambda k: 0 <= k <= 1, "the modulus, 0 <= k <= 1")
        complement = (1 - k) * (1 + k)
        # Cut off at eps, which moves the result by about the square of that.
        result = _complete(context, max(context.sqrt(complement), context.eps), 1, 1, complement)
    return +result


def Pi(alpha_squared: Any, k: Any, *, context: Any = mpmath.mp) -> Any:
    """Complete elliptic integral of the third kind, α² the characteristic, k the modulus.

    Raise `DomainError` for α² ≥ 1 or k outside [0, 1).
    """
    with context.extraprec(GUARD_BITS):
        n = _number("alpha_squared", alpha_squared, context, lambda n: n < 1, "the characteristic, below 1")
        k = _number("k", k, context, lambda k: 0 <= k < 1, "the modulus, 0 <= k < 1")
        result = _complete(context, context.sqrt((1 - k) * (1 + k)), context.sqrt(1 - n), 1, 1)
    return +result


def integral_inverse(a: Any, *, context: Any = mpmath.mp) -> Any:
    """∫_{−π}^{π} dω / |1 − a − e^{iω}| = 4 K(1 − a). Raise `DomainError` for a outside (0, 1]."""
    with context.extraprec(GUARD_BITS):
        a = _number("a", a, context, lambda a: 0 < a <= 1, "0 < a <= 1")
        result = 4 * _complete(context, context.sqrt(a * (2 - a)), 1, 1, 1)
    return +result


def integral_ratio(a: Any, b: Any, *, context: Any = mpmath.mp) -> Any:
    """∫_{−π}^{π} |1 − a − e^{iω}| / |1 − b − e^{iω}|² dω, the normal form (2 − a) / (2 − b)² J(u, v) of the package.

    Raise `DomainError` for a outside [0, 1] or b outside (0, 1].
    """
    with context.extraprec(GUARD_BITS):
        a = _number("a", a, context, lambda a: 0 <= a <= 1, "0 <= a <= 1")
        b = _number("b", b, context, lambda b: 0 < b <= 1, "0 < b <= 1")
        u, v = a / (2 - a), b / (2 - b)
        result = 4 * (2 - a) / (2 - b) ** 2 * _complete(context, max(u, v * context.eps), v, 1, u * u)
    return +result


def integral(f: Callable[[Any], Any], *, context: Any = mpmath.mp) -> Any:
    """∫_{−π}^{π} f(sin²(ω/2)) dω for any f to the context's precision, relative to ∫|f|; no elliptic functions.

    `f` is called at some thousand numbers s of the context and must keep their precision (write
    `context.mpf(1) / 3`, not `1 / 3`). It should be analytic between 0 and 1, with features no narrower than
    sin(ω/2) = 1e-30. Raise `AccuracyError` otherwise.
    """
    with context.extraprec(GUARD_BITS):
        nepers = context.prec * math.log(2)
        result = integral_over_circle(
            f,
            context.exp,
            step=context.ldexp(1, math.floor(math.log2(math.pi**2 / nepers))),
            left=math.ceil(nepers) + 70,
            right=math.ceil(nepers) + 2,
            tolerance=context.ldexp(1, GUARD_BITS // 2 - context.prec),
        )
    return +result


def _complete(context: Any, y: Any, r: Any, A: Any, B: Any) -> Any:
    """The complete integral in numbers of the context."""
    r, A, B = context.mpf(r), context.mpf(A), context.mpf(B)
    tolerance = context.ldexp(1, -context.prec // 2)
    return complete_integral(y, r, A, B, sqrt=context.sqrt, half_pi=context.pi / 2, tolerance=tolerance)


def _number(parameter: str, value: Any, context: Any, inside: Callable[[Any], bool], allowed: str) -> Any:
    """`value` as a number of the context, if it is inside."""
    number = context.convert(value)
    if not inside(number):
        raise DomainError(parameter, value, allowed)
    return number
