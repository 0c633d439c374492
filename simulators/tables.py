"""Tables of numbers from CSV files: of bounded size, with gaps counted and what is no number named by its line.

>>> Table(names=("a", "y"), rows=np.array([[1.0, 2.0]])).split("y")[1].tolist()
[2.0]
"""

from __future__ import annotations

import csv
import gzip
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError

# Characters of a table, unpacked: more than any that fits into memory as numbers.
MOST_CHARACTERS = 1 << 28
# What separates columns in files that are not separated by commas.
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_MISSING = ("", "NA", "NaN", "nan", ".", "?")


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """A table of numbers: column names, complete rows (n, columns), and how many incomplete rows were dropped."""

    names: tuple[str, ...]
    rows: np.ndarray = field(repr=False)
    dropped: int = 0

    @typed
    def column(self, name: str) -> int:
        """Where a column stands. Raises `DomainError` for a name that is none."""
        if name not in self.names:
            raise DomainError("target", name, f"one of the columns {', '.join(self.names)}")
        return self.names.index(name)

    @typed
    def split(self, target: str) -> tuple[np.ndarray, np.ndarray]:
        """The other columns (n, columns - 1), and the column `target` (n,)."""
        position = self.column(target)
        return np.delete(self.rows, position, axis=1), self.rows[:, position]


@typed
def read_table(path: Path, option: str = "file") -> Table:
    """The numbers of a CSV file with a header, plain or gzip; rows with an empty, NA, NaN, "." or "?" cell dropped.

    Raises `DomainError` naming the option, the file, the line and the column of text that is no number.
    """
    try:
        names, lines = _lines(path, option)
        rows, dropped = _rows(path, names, lines)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise DomainError(option, path, "a readable CSV file, plain or gzip", f"reading it failed: {error}") from None
    if not len(rows):
        raise DomainError(option, path, "a CSV file with complete records", "this one has none")
    return Table(names=names, rows=rows, dropped=dropped)


def _lines(path: Path, option: str) -> tuple[tuple[str, ...], list[str]]:
    """Column names, and the lines after the header."""
    if path.exists() and not path.is_file():
        raise DomainError(option, path, "a regular file")
    unpack = gzip.open if path.suffix == ".gz" else open
    with unpack(path, "rt", encoding="utf-8-sig", newline=None) as stream:
        text = stream.read(MOST_CHARACTERS + 1)
    if len(text) > MOST_CHARACTERS:
        raise DomainError(option, path, f"a table of at most {MOST_CHARACTERS:,} characters, unpacked")
    header, *lines = text.splitlines() or [""]
    for mark, called in _SEPARATORS.items():
        if mark in header and "," not in header:
            remedy = f"this one's header has {called}; write decimals with points, and columns apart by commas"
            raise DomainError(option, path, "a CSV file whose columns are separated by commas", remedy)
    names = tuple(name.strip() for name in next(csv.reader([header]), []))
    if not names or len(set(names)) < len(names):
        raise DomainError(option, path, "a CSV file whose first line names each column once")
    if not any(line.strip() for line in lines):
        raise DomainError(option, path, "a CSV file with records", "this one has a header alone")
    return names, lines


def _rows(path: Path, names: tuple[str, ...], lines: list[str]) -> tuple[np.ndarray, int]:
    """All complete rows and how many are not; NumPy's reader where every cell is a number, else cell by cell."""
    try:
        rows = np.loadtxt(lines, delimiter=",", comments=None, ndmin=2)
        if rows.shape[1] == len(names) and np.isfinite(rows).all():
            return rows, 0
    except ValueError:
        pass  # some cell is no number: find out which, or what is missing
    complete, dropped = [], 0
    for number, cells in _cells(path, names, lines):
        if any(cell.strip() in _MISSING for cell in cells):
            dropped += 1
        else:
            complete.append([_number(path, number, *pair) for pair in zip(names, cells, strict=True)])
    return np.array(complete, dtype=float).reshape(len(complete), len(names)), dropped


def _cells(path: Path, names: tuple[str, ...], lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Line numbers of the file, the header being line 1, and the cells of what is not blank."""
    reader = csv.reader(lines)
    for cells in reader:
        if cells:
            number = reader.line_num + 1
            if len(cells) != len(names):
                place = f"{path.name}, line {number}"
                raise DomainError(place, f"{len(cells)} cells", f"{len(names)} cells, one for each column")
            yield number, cells


def _number(path: Path, line: int, name: str, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        place = f"{path.name}, line {line}, column {name}"
        point = "decimals are written with a point; " if cell.count(",") == 1 else ""
        raise DomainError(place, cell, "a finite number", f"{point}leave it empty where a value is missing")
    return value
