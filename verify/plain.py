"""Typst markup as plain Unicode text: what terminals and the results file show."""

from __future__ import annotations

import re


def plain(text: str) -> str:
    """Text with its formulas as a terminal shows them."""
    return re.sub(r"\$([^$]*)\$", lambda formula: _unmarked(formula[1]), text).replace("\\/", "/")


def _unmarked(formula: str) -> str:
    """`op("Tr")(H)` becomes `Tr(H)`, `dif omega` `d omega`."""
    words = re.sub(r'(?:op\()?"([^"]*)"\)?', r"\1", formula)
    return re.sub(r"\bdif\b", "d", words)
