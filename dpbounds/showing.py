"""Results as a notebook shows them: short texts, HTML tables, numbers rounded to the side on which they still hold.

>>> rounded(2 / 3, "lower", 3), rounded(2 / 3, "upper", 3)
(0.666, 0.667)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, localcontext
from html import escape
from typing import Literal

Side = Literal["lower", "upper", "nearest"]

DIGITS = 5
_ROUNDINGS = {"lower": ROUND_FLOOR, "upper": ROUND_CEILING, "nearest": ROUND_HALF_EVEN}


def rounded(number: float, side: Side = "nearest", digits: int = DIGITS) -> float:
    """The number in so many significant digits: for `lower` not above it, for `upper` not below it."""
    with localcontext(prec=digits, rounding=_ROUNDINGS[side]):
        return float(+Decimal(float(number)))


def html_table(rows: Sequence[Mapping[str, object]]) -> str:
    """A table with the first row's columns, all texts escaped, numbers to the right."""
    if not rows:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
    body = "".join("<tr>" + "".join(_cell(row[name]) for name in rows[0]) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f'<td style="text-align: right">{value:.6g}</td>'
    return f"<td>{escape(str(value))}</td>"
