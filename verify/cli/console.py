"""Tables and progress: rich on a terminal, plain lines elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from verify.running.store import strict

if TYPE_CHECKING:
    from rich.table import Table

# Characters of a line where there is no terminal, and between columns.
WIDTH, GAP = 160, 2
# Columns that are repeated and parts that are stacked, at most.
MOST_KEYS, MOST_PARTS = 4, 3
# Seconds between progress lines where there is no terminal.
PAUSE = 10.0
COLOURS = {"confirmed": "green", "corrected": "yellow", "refuted": "red", "undecided": "magenta", "not run": "dim"}


def print_json(content: Any) -> None:
    """JSON on standard output, without infinities."""
    print(json.dumps(strict(content), indent=1, allow_nan=False))


def print_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], *, title: str = "") -> None:
    """A table of the columns, verdicts in colour, as wide as the terminal: `COLUMNS`, or `WIDTH` where there is none.

    Numbers and words are never broken. Texts wrap between words; what is too wide even so is stacked in parts, each
    with the columns that tell the rows apart, or, where these would be many, stands in a block for each row.
    """
    from rich.console import Console

    width = shutil.get_terminal_size((WIDTH, 0)).columns if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH
    cells = {column: [_shown(row.get(column)) for row in rows] for column in columns}
    parts = _parts(cells, width)
    if len(parts) > MOST_PARTS:
        _print_blocks(cells, title)
        return
    for number, part in enumerate(parts):
        table, needed = _table(rows, {column: cells[column] for column in part}, width, "" if number else title)
        console = Console(width=max(width, needed), highlight=False)
        if number:
            console.print()
        console.print(table)


def _print_blocks(cells: Mapping[str, Sequence[str]], title: str) -> None:
    """A line for each cell that is not empty."""
    longest = max(map(len, cells))
    for number, texts in enumerate(zip(*cells.values(), strict=True)):
        if number or title:
            print("" if number else title)
        for column, text in zip(cells, texts, strict=True):
            if text:
                print(f"{column:{longest}}  {text}")


def _table(
    rows: Sequence[Mapping[str, Any]], cells: Mapping[str, Sequence[str]], width: int, title: str
) -> tuple[Table, int]:
    """The table, and how many characters it takes."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    widths = _widths(cells, width)
    for column in cells:
        numeric = any(isinstance(row.get(column), (int, float)) for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold", width=widths[column])
    for texts in zip(*cells.values(), strict=True):
        table.add_row(*(Text(text, style=COLOURS.get(text, "")) for text in texts))
    return table, _total(widths.values())


def _parts(cells: Mapping[str, Sequence[str]], width: int) -> list[list[str]]:
    """The columns of each part of a table: all in one if they fit at their narrowest, else evenly in few."""
    narrow = {column: _narrowest(column, texts) for column, texts in cells.items()}
    if _total(narrow.values()) <= width:
        return [list(cells)]
    keys = _keys(cells)
    parts = _filled(narrow, keys, width)
    while len(narrower := _filled(narrow, keys, width)) == len(parts) and width:
        parts, width = narrower, width - 1
    return parts


def _filled(narrow: Mapping[str, int], keys: Sequence[str], width: int) -> list[list[str]]:
    """Parts that begin with the keys and take further columns while they fit, one at least."""
    parts, last = [], list(keys)
    for column in narrow:
        if column in keys:
            continue
        if len(last) > len(keys) and _total(narrow[name] for name in (*last, column)) > width:
            parts.append(last)
            last = list(keys)
        last.append(column)
    return [*parts, last]


def _keys(cells: Mapping[str, Sequence[str]]) -> list[str]:
    """The first columns that tell the rows apart, each some that those before it do not; else the first column."""
    names: list[str] = []
    apart, rows = 1, len(next(iter(cells.values()), ()))
    for column in cells:
        if apart == rows or len(names) > MOST_KEYS:
            break
        told = len(set(zip(*(cells[name] for name in (*names, column)), strict=True)))
        if told > apart:
            names, apart = [*names, column], told
    return names if names and len(names) <= MOST_KEYS else list(cells)[:1]


def _widths(cells: Mapping[str, Sequence[str]], width: int) -> dict[str, int]:
    """Natural widths; where they are too many, the widest column that can wrap gives way first."""
    widths = {column: max(len(column), *map(len, texts), 0) for column, texts in cells.items()}
    while _total(widths.values()) > width:
        wide = [column for column in cells if widths[column] > _narrowest(column, cells[column])]
        if not wide:
            break
        widths[max(wide, key=lambda column: widths[column])] -= 1
    return widths


def _narrowest(column: str, texts: Sequence[str]) -> int:
    """The longest word."""
    return max(len(column), *(len(word) for text in texts for word in text.split()), 0)


def _total(widths: Iterable[int]) -> int:
    """Characters of a row, with the gaps between its columns."""
    each = list(widths)
    return sum(each) + GAP * (len(each) - 1)


@contextmanager
def progress(label: str, unit: str = "tasks") -> Iterator[Callable[[int, int, str], None]]:
    """A function (done, total, current) that shows how far the work is, on standard error."""
    if not sys.stderr.isatty():
        yield _lines(label, unit)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn(label),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[now]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None, now="")
        yield lambda done, total, now: bar.update(task, completed=done, total=total, now=now)


def _lines(label: str, unit: str) -> Callable[[int, int, str], None]:
    last = time.monotonic()

    def report(done: int, total: int, now: str) -> None:
        nonlocal last
        if time.monotonic() - last >= PAUSE or done == total:
            last = time.monotonic()
            print(f"{label}: {done} of {total} {unit} {now}".rstrip(), file=sys.stderr)

    return report


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
