"""The comparisons of a check, and its counterexample, as tables."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.reader import as_number
from reports.text import number, typographic
from verify.statements.plain import plain

# Columns from left to right, with what they are called: what is compared, what was found, what is stated, how it ended.
_COLUMNS = {
    "fact": "comparison", "reading": "reading", "case": "case", "group": "of", "event": "event", "setting": "setting",
    "pair": "pair", "set": "set", "cell": "cell", "test": "test", "against": "against", "accounting": "accounting",
    "x": "at", "observed": "observed", "simulated": "simulated", "frequency": "frequency", "coverage": "coverage",
    "found": "found", "interval": "interval", "exact": "exact", "predicted": "predicted", "claimed": "claimed",
    "printed": "printed", "bound": "bound", "least": "at least", "most": "at most", "smallest": "smallest",
    "largest": "largest", "difference": "difference", "tolerance": "allowed",
}  # fmt: skip
_LAST = {"trials": "runs", "hits": "hits", "trend": "trend", "holds": "true", "outcome": "outcome"}
# Said again in other columns.
_REPEATED = ("said", "runs", "run", "kind", "low", "high")
# What few lines have.
_WITH = "with"
_DIGITS = 5


@dataclass(frozen=True)
class Table:
    """Names of columns, and lines of cells."""

    head: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


def comparisons(rows: Sequence[Mapping[str, Any]]) -> Table:
    """A line for each; a column only where some line has something in it, and what few lines have in one column."""
    lines = [_with_interval(row) for row in rows]
    keys = Counter(key for line in lines for key, value in line.items() if _cell(value))
    named = {*_COLUMNS, *_LAST, *_REPEATED}
    rare = [key for key in keys if key not in named and keys[key] < len(lines) / 2]
    lines = [{**line, _WITH: {key: line[key] for key in rare if _cell(line.get(key))}} for line in lines]
    others = sorted(key for key in keys if key not in named and key not in rare)
    shown = [key for key in (*_COLUMNS, *others, *_LAST, _WITH) if key in keys or (key == _WITH and rare)]
    names = _COLUMNS | _LAST
    head = tuple(names.get(key) or typographic(key) for key in shown)
    return Table(head, tuple(tuple(_cell(line.get(key)) for key in shown) for line in lines))


def example(found: Mapping[str, Any]) -> Table:
    """A line for each of its numbers, with all their digits, so that anyone can compute it again."""
    return Table((), tuple((typographic(name), "; ".join(_whole(value))) for name, value in found.items()))


def _with_interval(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The ends of an interval as one cell; without an end of a range that is none, and a curve that is named anyway."""
    low, high = (as_number(row.get(key)) for key in ("low", "high"))
    endless = {"least": -math.inf, "most": math.inf}
    named = f"{row.get('reading', '')} {row.get('case', '')}"
    kept = {key: value for key, value in row.items() if key not in endless or as_number(value) != endless[key]}
    kept |= {"group": None} if str(row.get("group", "")) in named else {}
    return kept if low is None or high is None else {**kept, "interval": [low, high]}


def _cell(value: Any) -> str:
    """As it is read; nothing for what is not known."""
    if value is None or value in ("", [], {}):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{typographic(str(key))} = {_cell(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        pair = len(value) == 2 and all(as_number(item) is not None for item in value)
        return f"[{_cell(value[0])},\xa0{_cell(value[1])}]" if pair else ", ".join(map(_cell, value))
    found = as_number(value)
    if found is None:
        return _text(str(value))
    return "" if math.isnan(found) else number(found, _DIGITS)


def _text(value: str) -> str:
    """A label of a curve may have formulas."""
    return typographic(plain(value) if value.count("$") > 1 else value)


def _whole(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield _text(value)
    elif isinstance(value, Mapping):
        yield from (f"{typographic(str(key))} = {', '.join(_whole(item))}" for key, item in value.items())
    else:
        yield json.dumps(value, ensure_ascii=False)
