"""Findings as sentences: numbers of a counterexample put into the text, as mathematics."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Mapping
from typing import Any

from dpbounds import DomainError

DIGITS = 4


def filled(template: str, numbers: Mapping[str, Any]) -> str:
    """The template with `{name}` and `{name:digits}` replaced by numbers as Typst shows them inside dollar signs.

    Raises `DomainError` if a name is missing or stands outside a formula.
    """
    parts, inside = [], False
    for text, name, spec, _ in string.Formatter().parse(template):
        inside ^= text.count("$") % 2 == 1
        parts.append(text)
        if name is None:
            continue
        if name not in numbers:
            raise DomainError(f"finding {template!r}", name, f"one of {', '.join(numbers)}")
        if not inside:
            raise DomainError(f"finding {template!r}", name, "inside a formula, between dollar signs")
        parts.append(formula(numbers[name], int(spec or DIGITS)))
    return "".join(parts)


def formula(value: Any, digits: int = DIGITS) -> str:
    """A number as Typst mathematics; anything else as text."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return f'"{value}"'
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f'"{value}"'
    if not math.isfinite(value):
        return "oo" if value > 0 else "-oo" if value < 0 else '"nan"'
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    if not exponent:
        return mantissa
    power = f"10^({int(exponent)})"
    return power if mantissa == "1" else f"{mantissa} dot {power}"


def literal(text: str) -> str:
    """What a check said, as Typst markup that shows it as it is, formulas between dollar signs aside."""
    parts = text.split("$")
    if len(parts) % 2 == 0:  # a dollar sign that opens nothing
        return _escaped(text)
    return "$".join(_escaped(part) if index % 2 == 0 else part for index, part in enumerate(parts))


def _escaped(text: str) -> str:
    marked = re.sub(r"([\\#*_`$@<>~\[\]/\"'])", r"\\\1", text)
    return re.sub(r"--", r"-\\-", re.sub(r"^([=+-])", r"\\\1", marked))
