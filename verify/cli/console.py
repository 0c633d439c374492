"""Tables and progress: rich on a terminal, plain lines elsewhere."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from verify.store import strict

# Seconds between progress lines where there is no terminal.
PAUSE = 10.0
COLOURS = {"confirmed": "green", "corrected": "yellow", "refuted": "red", "undecided": "magenta", "not run": "dim"}


def print_json(content: Any) -> None:
    """JSON on standard output, without infinities."""
    print(json.dumps(strict(content), indent=1, allow_nan=False))


def print_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], *, title: str = "") -> None:
    """A table of the columns, verdicts in colour; cells are never cut off where there is no terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        numeric = any(isinstance(row.get(column), (int, float)) for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(
            *(Text(_shown(row.get(column)), style=COLOURS.get(str(row.get(column)), "")) for column in columns)
        )
    console.print(table)


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int, str], None]]:
    """A function (done, total, current) that shows how far the work is, on standard error."""
    if not sys.stderr.isatty():
        yield _lines(label)
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


def _lines(label: str) -> Callable[[int, int, str], None]:
    last = time.monotonic()

    def report(done: int, total: int, now: str) -> None:
        nonlocal last
        if time.monotonic() - last >= PAUSE or done == total:
            last = time.monotonic()
            print(f"{label}: {done} of {total} tasks {now}".rstrip(), file=sys.stderr)

    return report


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
