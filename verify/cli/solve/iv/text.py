"""Tables and lines of `dpbounds solve iv`."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from verify.cli.console import print_table

# Significant digits of a table; characters in a line of text, fewer on a narrow terminal.
DIGITS, WIDTH = 4, 119


def table(title: str, rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> None:
    """The columns that are not empty everywhere."""
    print(f"\n{title}")
    shown = [name for name in columns if any(row.get(name) is not None for row in rows)]
    print_table([{name: rounded(row.get(name)) for name in shown} for row in rows], shown)


def note(text: str) -> None:
    """A paragraph."""
    width = min(WIDTH, shutil.get_terminal_size((WIDTH, 0)).columns) if sys.stdout.isatty() else WIDTH
    print(textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False))


def rounded(value: Any) -> Any:
    """Floats to `DIGITS` significant digits."""
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
