"""Text for the template: a string is set as it is, `{"markup": ...}` is evaluated, a list is one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reports.text import printable, typographic

Rich = Any


def rich(plain: str, typeset: str) -> Rich:
    """A name that may hold formulas: markup only where it does, so that other names need no escapes."""
    return {"markup": printable(typeset)} if "$" in typeset else typographic(plain)


def markup(typeset: str) -> Rich:
    """A text that is markup throughout; nothing if there is none."""
    return {"markup": printable(typeset)} if typeset.strip() else ""


def sentence_of(items: Sequence[Rich]) -> list[Rich]:
    """`a`, `a and b`, `a, b and c`."""
    joined: list[Rich] = []
    for index, item in enumerate(items):
        joined += [", " if index < len(items) - 1 else " and "] if index else []
        joined.append(item)
    return joined
