"""Findings as sentences: numbers of a counterexample put into the text, as mathematics."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from dpbounds import DomainError

DIGITS = 4


def filled(template: str, numbers: Mapping[str, Any]) -> str:
    """The template with `{name}` and `{name:digits}` replaced by numbers as Typst shows them inside dollar signs.

    Raises `DomainError` if a name is missing.
    """
    parts = []
    for text, name, digits in _placeholders(template):
        parts.append(text)
        if name is None:
            continue
        if name not in numbers:
            raise DomainError(f"placeholder of the finding {template!r}", name, f"one of {', '.join(numbers)}")
        parts.append(formula(numbers[name], digits))
    return "".join(parts)


def sample(template: str) -> str:
    """The template with a number at every placeholder."""
    return filled(template, {name: 1.5 for _, name, _ in _placeholders(template) if name})


def blank(template: str) -> str:
    """The template with an ellipsis at every placeholder, where there is no run to tell the numbers."""
    return filled(template, {name: "…" for _, name, _ in _placeholders(template) if name})


def check_placeholders(name: str, template: str, known: Collection[str] | None) -> None:
    """Raise `DomainError`, about the field called `name`, for a placeholder that is malformed, stands outside a formula
    or is not among the known names (None: which there are only a run tells).
    """
    inside = False
    try:
        for text, placeholder, _ in _placeholders(template):
            inside ^= text.count("$") % 2 == 1
            if placeholder is None:
                continue
            if not inside:
                raise DomainError(name, f"{{{placeholder}}}", "inside a formula, between dollar signs")
            if known is not None and placeholder not in known:
                raise DomainError(name, f"{{{placeholder}}}", f"one of {', '.join(known)}", "these its exhibit gives")
    except _Malformed as error:
        remedy = "braces of its own are written twice"
        raise DomainError(name, template, f"text with {{name}} or {{name:digits}} ({error})", remedy) from None


class _Malformed(ValueError):
    """Braces that are no placeholder."""


def _placeholders(template: str) -> Iterator[tuple[str, str | None, int]]:
    """Text, the name of the placeholder behind it (None at the end) and its digits."""
    try:
        for text, name, digits, conversion in string.Formatter().parse(template):
            if name is not None and (not name.isidentifier() or conversion or not (digits or "1").isdecimal()):
                raise _Malformed(f"not {{{name}}}")
            yield text, name, int(digits or DIGITS)
    except ValueError as error:
        raise _Malformed(str(error)) from None


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
