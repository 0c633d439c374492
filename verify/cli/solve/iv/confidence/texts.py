"""Texts of the form COLUMN=VALUE and LOW:HIGH: public constants as they are typed."""

from __future__ import annotations

from collections.abc import Sequence

from dpbounds import DomainError

BOUNDS, MEANS = "of the form COLUMN=LOW:HIGH with LOW below HIGH", "of the form COLUMN=MEAN"
GRID = "of the form LOW:HIGH or LOW:HIGH:POINTS with LOW below HIGH, public coefficients"


def bounds(texts: Sequence[str] | None) -> dict[str, list[float]]:
    """The two ends of `--bounds` by column."""
    parts = _by_column("bounds", texts or [], BOUNDS)
    return {name: _numbers("bounds", f"{name}={text}", text, BOUNDS, (2,)) for name, text in parts.items()}


def means(texts: Sequence[str] | None) -> dict[str, float] | None:
    """The public means of `--instrument-means` by column, None without the option."""
    if texts is None:
        return None
    parts = _by_column("instrument_means", texts, MEANS)
    return {name: _numbers("instrument_means", text, text, MEANS, (1,))[0] for name, text in parts.items()}


def grid(text: str | None) -> list[float] | None:
    """The ends of `--grid`, and its points where they are given."""
    return None if text is None else _numbers("grid", text, text, GRID, (2, 3))


def _by_column(option: str, texts: Sequence[str], form: str) -> dict[str, str]:
    """COLUMN=VALUE texts by column; `DomainError` for what is none, and for columns given twice."""
    parts: dict[str, str] = {}
    for text in texts:
        name, sign, value = (part.strip() for part in text.rpartition("="))
        if not sign or not name:
            raise DomainError(option, text, form)
        if name in parts:
            raise DomainError(option, text, "given once for each column", f"{name} has one already")
        parts[name] = value
    return parts


def _numbers(option: str, shown: str, text: str, form: str, lengths: tuple[int, ...]) -> list[float]:
    """The numbers of A:B:..., finite or not."""
    try:
        values = [float(part) for part in text.split(":")]
    except ValueError:
        values = []
    if len(values) not in lengths:
        raise DomainError(option, shown, form)
    return values
