"""The two errors theory raises, and the argument checks that raise the first.

Every message names the parameter, its value, what is allowed and what to do about it.

>>> within("eta", 0.5, "(0, 1]")
0.5
>>> within("eta", 2, "(0, 1]", "take smaller steps")
Traceback (most recent call last):
...
dpbounds.errors.DomainError: eta = 2 is not allowed: it must be in the interval (0, 1]; take smaller steps
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection
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


# Kinds of NumPy's types that are numbers: text, times and complex numbers convert to floats too.
_NUMBERS, _NUMBERS_OR_TRUTH = "iufO", "biufO"
# Beyond, squares and products of a few arguments leave the range of floats.
SMALLEST, LARGEST = 1e-50, 1e50
# For budgets and spectra, which limits take far towards 0.
FAINTEST = 1e-120
LARGEST_COUNT = 1e300
# Entries of a spectrum: everything that takes one then ends within seconds, in less than 4 GB.
LARGEST_SPECTRUM = 1_000_000


def real(parameter: str, value: Any) -> float:
    """`value` as a finite float; text, truth values, complex numbers and arrays with axes are no numbers."""
    if isinstance(value, float) and math.isfinite(value):  # inner loops come here
        return float(value)
    try:
        given = np.asarray(value)
        number = float(value) if given.ndim == 0 and given.dtype.kind in _NUMBERS else None
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None:
        raise DomainError(parameter, value, "a real number")
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


def moderate(parameter: str, value: Any, remedy: str = "", *, least: float = SMALLEST) -> float:
    """`value` as a float above zero of a size that can be computed with: `least` to 1e50."""
    number = positive(parameter, value, remedy)
    if not least <= number <= LARGEST:
        raise DomainError(parameter, value, f"a number from {least:g} to {LARGEST:g}", "change the units")
    return number


def moderate_or_zero(parameter: str, value: Any, remedy: str = "") -> float:
    """`value` as a float from 0 to 1e50; not for what is divided by."""
    number = nonnegative(parameter, value, remedy)
    if number > LARGEST:
        raise DomainError(parameter, value, f"at most {LARGEST:g}", "change the units")
    return number


def all_moderate(parameter: str, values: Any) -> np.ndarray:
    """`values`, a spectrum, as a one-dimensional float array of one to a million entries from 1e-120 to 1e50."""
    array = vector(parameter, values, above=0.0)
    if len(array) > LARGEST_SPECTRUM:
        raise DomainError(parameter, f"{len(array)} numbers", f"at most {LARGEST_SPECTRUM} numbers")
    for index in np.flatnonzero((array < FAINTEST) | (array > LARGEST)):
        moderate(f"{parameter}[{index}]", float(array[index]), least=FAINTEST)
    return array


def within(parameter: str, value: Any, interval: str, remedy: str = "") -> float:
    """`value` as a float inside `interval`, written as in print: "(0, 1]", "[1, inf)"."""
    number = real(parameter, value)
    low, high = _ends(interval)
    above = number > low if interval[0] == "(" else number >= low
    below = number < high if interval[-1] == ")" else number <= high
    if not (above and below):
        raise DomainError(parameter, value, f"in the interval {interval}", remedy)
    return number


def count(parameter: str, value: Any, least: int = 1, remedy: str = "", *, most: float = LARGEST_COUNT) -> int:
    """`value` as an integer of at least `least` and at most `most`."""
    number = int(value) if _is_whole(value) else least - 1
    if number < least:
        raise DomainError(parameter, value, f"a whole number of at least {least}", remedy)
    if number > most:
        raise DomainError(parameter, value, f"a whole number of at most {most:g}", remedy)
    return number


def choice(parameter: str, value: Any, allowed: Collection[str]) -> str:
    """`value` if it is one of the names `allowed`."""
    if not (isinstance(value, str) and value in allowed):
        raise DomainError(parameter, value, f"one of {', '.join(allowed)}")
    return value


def without_nan(**values: Any) -> None:
    """Refuse floats and arrays of floats among these arguments that hold nan; balls and other numbers pass."""
    for parameter, value in values.items():
        if isinstance(value, (float, np.floating, np.ndarray)) and np.isnan(value).any():
            raise DomainError(
                parameter, "nan" if np.ndim(value) == 0 else "an array with nan", "numbers, none of them nan"
            )


def listed(parameter: str, values: Any) -> list:
    """What an iterable holds, as a list."""
    try:
        entries = iter(values)
    except TypeError:
        raise DomainError(parameter, values, "a list") from None
    return list(entries)


def real_array(parameter: str, values: Any) -> np.ndarray:
    """`values` as a new float array of any shape, whose entries need not be finite; text, None and complex numbers are
    refused.
    """
    try:
        given = np.asarray(values)
    except ValueError:
        given = None
    if given is None or given.dtype.kind not in _NUMBERS_OR_TRUTH:
        raise DomainError(parameter, values, "an array of real numbers")
    if given.dtype == object:
        return np.array([real(f"an entry of {parameter}", entry) for entry in given.flat]).reshape(given.shape)
    return given.astype(float)


def vector(
    parameter: str, values: Any, *, above: float | None = None, length: int | None = None, per: str = "entry"
) -> np.ndarray:
    """`values` as a non-empty one-dimensional float array of finite entries, all `above` a number and as many as
    `length`, one `per` what they belong to, if these are given.
    """
    array = np.atleast_1d(real_array(parameter, values))
    if array.ndim != 1 or array.size == 0:
        raise DomainError(parameter, f"an array of shape {array.shape}", "a non-empty one-dimensional list of numbers")
    bad = ~np.isfinite(array)
    if above is not None:
        bad |= array <= above
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        allowed = "a finite number" if above is None else f"a finite number above {above:g}"
        raise DomainError(f"{parameter}[{first}]", float(array[first]), allowed)
    if length is not None and len(array) != length:
        raise DomainError(parameter, f"{len(array)} numbers", f"one per {per}, {length}")
    return array


def in_floats(settings: Any, *names: str) -> None:
    """Turn checked numbers of other types than Python's (float32, Fraction) in these fields of a frozen dataclass into
    floats: they would compute to digits of their own.
    """
    for name in names:
        if not isinstance(getattr(settings, name), (int, float)):
            object.__setattr__(settings, name, float(getattr(settings, name)))


@functools.cache
def _ends(interval: str) -> tuple[float, float]:
    low, high = interval[1:-1].split(",")
    return float(low), float(high)


def _is_whole(value: Any) -> bool:
    """Whether `value` is a number without a fraction."""
    if type(value) is int:
        return True
    try:
        given = np.asarray(value)
        return given.ndim == 0 and given.dtype.kind in _NUMBERS and bool(int(value) == value)
    except (TypeError, ValueError, OverflowError):
        return False


def _brief(value: Any) -> str:
    if isinstance(value, PurePath):
        return str(value)
    text = value if isinstance(value, str) else " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."
