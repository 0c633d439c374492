"""One root of a function of one variable, as a float."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from scipy.optimize import brentq


def bracketed_root(function: Callable[[float], float], low: float, high: float) -> float:
    """A root between two points of different sign, to rounding."""
    return cast(float, brentq(function, low, high, xtol=1e-300))
