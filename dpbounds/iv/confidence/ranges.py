"""Public ranges of columns: what noise is scaled to, known without the records.

>>> weeks = public_range("weeks", (0, 52))
>>> weeks.centre, weeks.half
(26.0, 26.0)
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dpbounds.errors import SMALLEST, DomainError, real_array, within

ENDS = "[-1e50, 1e50]"
# Ends nearer to each other than this share of the larger are one number but for rounding.
_APART = 1e-12
# Grids need that much between their ends: their points lie closer.
_GRID_APART = 1e-9


class Range(NamedTuple):
    """A public range, `low` below `high`, in the column's own units."""

    low: float
    high: float

    @property
    def centre(self) -> float:
        """Its middle, by which records are shifted."""
        return (self.low + self.high) / 2

    @property
    def half(self) -> float:
        """Half the width, above 0."""
        return (self.high - self.low) / 2


def public_range(column: str, ends: Any) -> Range:
    """The range of this column from (low, high). Raises `DomainError` for what are no two finite numbers in order."""
    name, form = f"bounds {column}", "LOW:HIGH with LOW below HIGH"
    try:
        low, high = real_array(name, list(ends)).tolist()
    except (TypeError, ValueError):
        raise DomainError(name, ends, form) from None
    for end in (low, high):
        within(name, end, ENDS, "a finite range: bounds are what noise is scaled to")
    found = Range(low, high)
    if not (spread_apart(low, high, _APART) and found.half >= SMALLEST):
        raise DomainError(name, f"{low:g}:{high:g}", form)
    return found


def spread_apart(low: float, high: float, share: float = _GRID_APART) -> bool:
    """Whether `low` is below `high` by more than rounding: by more than `share` of the larger of the two."""
    return high - low > share * max(abs(low), abs(high)) and low < high
