"""The two errors theory raises, and the argument checks that raise the first.

Every message names the parameter, its value, what is allowed and what to do about it.
"""

from __future__ import annotations

import math
from pathlib import PurePath
from typing import Any

import numpy as np


class DomainError(ValueError):
    """An argument outside the range where the formula holds."""

    def __init__(self, parameter: str, value: Any, allowed: str, remedy: str = "") -> None:
        self.parameter, self.value, self.allowed, self.remedy = parameter, value, allowed, remedy
        message = f"{parameter} = {_brief(value)} is not allowed: it must be {allowed}"
        super().__init__(f"{message}; {remedy}" if remedy else message)

    def __reduce__(self) -> tuple:
        return type(self), (self.parameter, self.value, self.allowed, self.remedy)


class AccuracyError(ArithmeticError):
    """A quadrature, series or solver that did not reach the accuracy it states."""


def real(parameter: str, value: Any) -> float:
    """`value` as a finite float."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise DomainError(parameter, value, "a real number") from None
    if not math.isfinite(number):
        raise DomainError(parameter, value, "a finite real number")
    return number


def positive(parameter: str, value: Any, remedy: str = "") -> float:
    """`value` as a finite float above zero."""
    number = real(parameter, value)
    if number <= 0:
        raise DomainError(parameter, value, "a number above 0", remedy)
    return number


def nonnegative(parameter: str, value: Any, remedy: str = "") -> float:
    """`value` as a finite float, zero or above."""
    number = real(parameter, value)
    if number < 0:
        raise DomainError(parameter, value, "a number of at least 0", remedy)
    return number


def within(parameter: str, value: Any, interval: str, remedy: str = "") -> float:
    """`value` as a float inside `interval`, written as in print: "(0, 1]", "[1, inf)"."""
    number = real(parameter, value)
    low, high = (float(end) for end in interval[1:-1].split(","))
    above = number > low if interval[0] == "(" else number >= low
    below = number < high if interval[-1] == ")" else number <= high
    if not (above and below):
        raise DomainError(parameter, value, f"the interval {interval}", remedy)
    return number


def count(parameter: str, value: Any, least: int = 1, remedy: str = "") -> int:
    """`value` as an integer of at least `least`."""
    try:
        number = int(value)
        whole = number == value
    except (TypeError, ValueError, OverflowError):
        raise DomainError(parameter, value, f"a whole number of at least {least}", remedy) from None
    if not whole or number < least:
        raise DomainError(parameter, value, f"a whole number of at least {least}", remedy)
    return number


def vector(parameter: str, values: Any, *, above: float | None = None) -> np.ndarray:
    """`values` as a non-empty one-dimensional float array of finite entries, all `above` a number if one is given."""
    try:
        array = np.atleast_1d(np.asarray(values, dtype=float))
    except (TypeError, ValueError):
        raise DomainError(parameter, values, "a list of real numbers") from None
    if array.ndim != 1 or array.size == 0:
        raise DomainError(parameter, f"an array of shape {array.shape}", "a non-empty one-dimensional list of numbers")
    bad = ~np.isfinite(array)
    if above is not None:
        bad |= array <= above
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        allowed = "a finite number" if above is None else f"a finite number above {above:g}"
        raise DomainError(f"{parameter}[{first}]", float(array[first]), allowed)
    return array


def _brief(value: Any) -> str:
    if isinstance(value, PurePath):
        return str(value)
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
