"""Elliptic integrals in float64, vectorised: arguments broadcast; scalars give a float, arrays an array.

All are right to a few units in the last place whatever the ratio of the arguments: 2e-15 relative at worst. Carlson's
R_J would be the other choice; `scipy.special.elliprj` loses four digits for a ≪ b and takes over three times as long.

>>> float(K(0.0)) == math.pi / 2, round(float(integral_inverse(0.4) / K(0.6)), 12)
(True, 4.0)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpbounds.arguments import typed
from dpbounds.elliptic.gauss import complete_integral
from dpbounds.elliptic.quadrature import integral_over_circle
from dpbounds.errors import DomainError, real_array

SMALLEST_B = 1e-140
# A root that vanishes at θ = π/2 is cut off there: it moves the integrals below by the square of this.
CUT_OFF = 1e-20


def K(k: Any) -> Any:
    """Complete elliptic integral of the first kind, ∫_0^{π/2} dθ / √(1 − k² sin²θ); k is the modulus.

    For k = 1 − a with small a use `integral_inverse(a)` = 4 K(1 − a): the float 1 − a has lost digits of a.
    Raise `DomainError` for k outside [0, 1).
    """
    k = real_array("k", k)
    _require("k", k, (k >= 0) & (k < 1), "the modulus, 0 <= k < 1")
    return _complete(np.sqrt((1 - k) * (1 + k)), 1.0, 1.0, 1.0)


def E(k: Any) -> Any:
    """Complete elliptic integral of the second kind, ∫_0^{π/2} √(1 − k² sin²θ) dθ; k is the modulus.

    Raise `DomainError` for k outside [0, 1].
    """
    k = real_array("k", k)
    _require("k", k, (k >= 0) & (k <= 1), "the modulus, 0 <= k <= 1")
    complement = (1 - k) * (1 + k)
    return _complete(np.maximum(np.sqrt(complement), CUT_OFF), 1.0, 1.0, complement)


def Pi(alpha_squared: Any, k: Any) -> Any:
    """Complete elliptic integral of the third kind, ∫_0^{π/2} dθ / ((1 − α² sin²θ) √(1 − k² sin²θ)).

    α² is the characteristic (often n), k the modulus; the principal value for α² > 1 is not offered.
    Raise `DomainError` for α² ≥ 1 or k outside [0, 1).
    """
    alpha_squared, k = real_array("alpha_squared", alpha_squared), real_array("k", k)
    _require("alpha_squared", alpha_squared, alpha_squared < 1, "the characteristic, below 1")
    _require("k", k, (k >= 0) & (k < 1), "the modulus, 0 <= k < 1")
    return _complete(np.sqrt((1 - k) * (1 + k)), np.sqrt(1 - alpha_squared), 1.0, 1.0)


def integral_inverse(a: Any) -> Any:
    """∫_{−π}^{π} dω / |1 − a − e^{iω}| = 4 K(1 − a) = 2π / agm(1, √(a(2 − a))).

    Raise `DomainError` for a outside (0, 1].
    """
    from scipy.special import ellipkm1

    a = real_array("a", a)
    _require("a", a, (a > 0) & (a <= 1), "0 < a <= 1")
    result = 4 * ellipkm1(a * (2 - a))  # of the complementary parameter 1 - k^2, known to all digits
    return result if np.ndim(result) else float(result)


def integral_ratio(a: Any, b: Any) -> Any:
    """∫_{−π}^{π} |1 − a − e^{iω}| / |1 − b − e^{iω}|² dω; a = 0 is allowed, b = 0 diverges.

    The normal form (2 − a) / (2 − b)² J(u, v) of the package. Raise `DomainError` for a outside [0, 1] or b outside
    [1e-140, 1].
    """
    a, b = real_array("a", a), real_array("b", b)
    _require("a", a, (a >= 0) & (a <= 1), "0 <= a <= 1")
    _require("b", b, (b >= SMALLEST_B) & (b <= 1), "1e-140 <= b <= 1", "use dpbounds.elliptic.digits for smaller b > 0")
    u, v = a / (2 - a), b / (2 - b)
    return _complete(np.maximum(u, CUT_OFF * v), v, 1.0, u * u, factor=4 * (2 - a) / (2 - b) ** 2)


@typed
def integral(f: Callable[[Any], Any]) -> Any:
    """∫_{−π}^{π} f(sin²(ω/2)) dω for any f, without elliptic functions, to 1e-13 of ∫|f|.

    `f` is called at about a thousand floats, one at a time; it may give an array, one entry per integral. It should
    be analytic between 0 and 1, with features no narrower than sin(ω/2) = 1e-17. Raise `AccuracyError` otherwise.
    """
    real_array("f(0.5)", f(0.5))
    return integral_over_circle(f, math.exp, step=0.25, left=80, right=40, tolerance=1e-13)


def _complete(y: Any, r: Any, A: Any, B: Any, factor: Any = 1.0) -> Any:
    """The complete integral times the factor, in floats."""
    result = factor * complete_integral(y, r, A, B, sqrt=np.sqrt, half_pi=math.pi / 2, tolerance=1e-8)
    return result if np.ndim(result) else float(result)


def _require(parameter: str, values: np.ndarray, inside: Any, allowed: str, remedy: str = "") -> None:
    """Raise `DomainError` naming the first entry that is not inside."""
    if not np.all(inside):
        raise DomainError(parameter, float(np.atleast_1d(values)[~np.atleast_1d(inside)][0]), allowed, remedy)
