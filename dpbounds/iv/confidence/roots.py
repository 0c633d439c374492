"""One root of a function of one variable, as a float.

>>> round(bracketed_root(lambda x: x * x - 2, 0.0, 2.0), 6)
1.414214
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from scipy.optimize import brentq


def bracketed_root(function: Callable[[float], float], low: float, high: float) -> float:
    """A root between two points of different sign, to rounding."""
    return cast(float, brentq(function, low, high, xtol=1e-300))
