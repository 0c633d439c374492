"""The facts behind a claim in a few lines: those of one form are told by the first of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import shorten

from reports.text import typographic

# Characters of the facts of one claim, about three lines of small print.
MOST = 300
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def digest(facts: Sequence[str]) -> str:
    """The facts one after the other, those that differ in numbers only as one with how many more there are."""
    forms: dict[str, list[str]] = {}
    for fact in facts:
        forms.setdefault(_NUMBER.sub("0", fact), []).append(fact.removesuffix("."))
    parts = [alike[0] if len(alike) == 1 else f"{alike[0]} ({len(alike) - 1} more like it)" for alike in forms.values()]
    return shorten(typographic("; ".join(parts)), MOST, placeholder=" …")
