"""Texts of the form COLUMN=VALUE and LOW:HIGH: public constants, refused where they are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dpbounds import DomainError
from dpbounds.errors import within

BOUNDS = "of the form COLUMN=LOW:HIGH with LOW below HIGH"
ENDS = "[-1e50, 1e50]"


class Box(NamedTuple):
    """A public range."""

    low: float
    high: float

    @property
    def centre(self) -> float:
        """What records are shifted by."""
        return (self.low + self.high) / 2

    @property
    def half(self) -> float:
        """Half the width, above 0."""
        return (self.high - self.low) / 2


def boxes(texts: Sequence[str] | None) -> dict[str, Box]:
    """The ranges of `--bounds` by column."""
    found = {}
    for name, text in by_column("bounds", texts, BOUNDS).items():
        low, high = numbers("bounds", f"{name}={text}", text, BOUNDS, 2, 2)
        for end in (low, high):
            within(f"bounds {name}", end, ENDS, "a finite range: bounds are what noise is scaled to")
        box = Box(low, high)
        if not (low < high and box.half > 1e-12 * max(abs(low), abs(high)) and box.half >= 1e-50):
            raise DomainError(f"bounds {name}", text, "LOW:HIGH with LOW below HIGH")
        found[name] = box
    return found


def means(texts: Sequence[str] | None) -> dict[str, float]:
    """The public means of `--instrument-means` by column."""
    form = "of the form COLUMN=MEAN"
    parts = by_column("instrument_means", texts, form)
    return {
        name: within(f"instrument_means {name}", numbers("instrument_means", text, text, form, 1, 1)[0], ENDS)
        for name, text in parts.items()
    }


def by_column(option: str, texts: Sequence[str] | None, form: str) -> dict[str, str]:
    """COLUMN=VALUE texts by column; `DomainError` for what is none, and for columns given twice."""
    found: dict[str, str] = {}
    for text in texts or []:
        name, sign, value = (part.strip() for part in text.rpartition("="))
        if not sign or not name:
            raise DomainError(option, text, form)
        if name in found:
            raise DomainError(option, text, "given once for each column", f"{name} has one already")
        found[name] = value
    return found


def numbers(option: str, shown: str, text: str, form: str, least: int, most: int) -> list[float]:
    """The numbers of A:B:..., finite or not."""
    try:
        values = [float(part) for part in text.split(":")]
    except ValueError:
        values = []
    if not least <= len(values) <= most:
        raise DomainError(option, shown, form)
    return values
