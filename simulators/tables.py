"""Tables of numbers from CSV files, plain or gzip: the one reader, with one behaviour.

Columns stand apart by commas, decimals are written with points, the first line names the columns. A file is regular, of
bounded size, and read line by line; gaps are counted, and what is no finite number is named by its line and column.

>>> Table(names=("a", "y"), rows=np.array([[1.0, 2.0]])).split("y")[1].tolist()
[2.0]
>>> number_rows("eigenvalue\\n1\\n0.5")
[[1.0], [0.5]]
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError

# Characters that are read, unpacked: of a whole table, which more would not let fit into memory as numbers, and of
# columns, of which nothing but their numbers is kept.
MOST_CHARACTERS, LARGEST = 1 << 28, 2_000_000_000
MISSING = frozenset(("", "na", "nan", "n/a", ".", "?", "null", "none"))
# Records between two reports of how far reading is.
STRIDE = 100_000
ALLOWED = "a CSV file with a header, plain or .gz"
# What separates columns in files that are not separated by commas.
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?")

Report = Callable[[int, int, str], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """A table of numbers: column names, complete rows (n, columns), and how many incomplete rows were dropped."""

    names: tuple[str, ...]
    rows: np.ndarray = field(repr=False)
    dropped: int = 0

    @typed
    def column(self, name: str, option: str = "target") -> int:
        """Where a column stands. Raises `DomainError` for a name that is none."""
        if name not in self.names:
            raise DomainError(option, name, f"one of the columns {_named(self.names)}")
        return self.names.index(name)

    @typed
    def split(self, target: str, option: str = "target") -> tuple[np.ndarray, np.ndarray]:
        """The other columns (n, columns - 1), and the column `target` (n,)."""
        position = self.column(target, option)
        return np.delete(self.rows, position, axis=1), self.rows[:, position]


class Columns(NamedTuple):
    """Numbers of the columns asked for (records, columns), and the records left out."""

    values: np.ndarray
    dropped: int


@typed
def read_table(path: Path, option: str = "file", *, drop_missing: bool = True) -> Table:
    """The numbers of a whole file; rows with an empty, NA, NaN, "." or "?" cell are dropped, or refused.

    Raises `DomainError` naming the option, the file, the line and the column of text that is no number.
    """
    with _opened(path, option, MOST_CHARACTERS) as source:
        names = source.names
        if len(set(names)) < len(names):
            raise DomainError(option, path, "a CSV file whose first line names each column once")
        lines = list(source.lines)
        try:
            rows = np.loadtxt(lines, delimiter=",", comments=None, ndmin=2) if any(map(str.strip, lines)) else None
            if rows is not None and rows.shape[1] == len(names) and np.isfinite(rows).all():
                return Table(names=names, rows=rows)
        except ValueError:
            pass  # some cell is no number: find out which, or what is missing
        source.lines = iter(lines)
        found = _complete(_found(source, names, None), path, option, drop_missing, "")
    return Table(names=names, rows=found.values, dropped=found.dropped)


@typed
def read_columns(
    path: Path, names: Sequence[str], option: str = "file", *, drop_missing: bool, report: Report | None = None
) -> Columns:
    """The named columns, read line by line: nothing but their numbers is kept. `report(done, total, now)` is told how
    many bytes are read. Raises `DomainError` as `read_table` does, and for a name that no column or several have.
    """
    with _opened(path, option, LARGEST) as source:
        found = _found(source, names, report)
    return _complete(found, path, option, drop_missing, ": --drop-missing leaves them out")


@typed
def read_texts(path: Path, names: Sequence[str], option: str = "file") -> Iterator[tuple[int, list[str]]]:
    """Line numbers and the cells of the named columns, as they are."""
    with _opened(path, option, LARGEST) as source:
        places = [source.place(name) for name in names]
        for line, cells in source.records():
            yield line, [cells[place] for place in places]


def number_rows(text: str) -> list[list[float]]:
    """The rows of a small text of finite numbers, separated by commas or blanks; a heading and empty lines are left
    out. Raises `ValueError`.
    """
    rows = [row for row in (line.replace(",", " ").split() for line in text.splitlines()) if row]
    if len(rows) > 1 and not any(map(_is_number, rows[0])):
        rows = rows[1:]
    for cell in (cell for row in rows for cell in row):
        if not (_is_number(cell) and math.isfinite(float(cell))):
            raise ValueError(f"{cell!r} is no finite number{_advice(cell)}")
    return [[float(cell) for cell in row] for row in rows]


# --- lines ---


@dataclass
class _Source:
    """A file that is open: its column names, the lines after them, and how many bytes of how many are read."""

    path: Path
    names: tuple[str, ...]
    lines: Iterator[str]
    position: Callable[[], int]
    size: int

    def place(self, name: str) -> int:
        """Where the one column of this name stands."""
        if self.names.count(name) > 1:
            raise DomainError("column", name, "the name of one column", f"{self.names.count(name)} columns have it")
        if name not in self.names:
            raise DomainError("column", name, f"a column of {self.path.name}: {_named(self.names)}")
        return self.names.index(name)

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Line numbers of the file, the header being line 1, and the cells of what is not blank."""
        reader = csv.reader(self.lines, strict=True)
        try:
            for cells in reader:
                if len(cells) > 1 or any(map(str.strip, cells)):
                    line = reader.line_num + 1
                    if len(cells) != len(self.names):
                        wanted = f"{len(self.names)} cells, one for each column"
                        raise DomainError(f"{self.path.name}, line {line}", f"{len(cells)} cells", wanted)
                    yield line, cells
        except csv.Error as error:
            place = f"{self.path.name}, line {reader.line_num + 1}"
            raise DomainError(place, str(error), "a line of a CSV file") from None


@contextmanager
def _opened(path: Path, option: str, most: int) -> Iterator[_Source]:
    """The file behind its header; whatever cannot be read is refused in the option's name."""

    def limited(text: Iterable[str]) -> Iterator[str]:
        total = 0
        for line in text:
            total += len(line)
            if total > most:
                raise DomainError(option, path, f"{ALLOWED}, of at most {most:,} characters, unpacked")
            yield line

    try:
        if "\0" in str(path):
            raise DomainError(option, str(path).replace("\0", "\\0"), ALLOWED)
        if path.exists() and not path.is_file():
            raise DomainError(option, path, "a regular file")
        with ExitStack() as stack:
            raw = stack.enter_context(path.open("rb"))
            packed = path.name.lower().endswith(".gz")
            unpacked: Any = stack.enter_context(gzip.open(raw)) if packed else raw
            lines = limited(stack.enter_context(io.TextIOWrapper(unpacked, encoding="utf-8-sig", newline=None)))
            header = next(lines, "")
            names = tuple(name.strip() for name in next(csv.reader([header]), []))
            if not names:
                raise DomainError(option, path, ALLOWED, "this one has none")
            if len(names) == 1 and _advice(header):
                raise DomainError(option, path, "a CSV file whose columns are separated by commas", _advice(header)[2:])
            yield _Source(path, names, lines, raw.tell, path.stat().st_size)
    except DomainError:
        raise
    except (OSError, EOFError, zlib.error, ValueError, csv.Error) as error:
        raise DomainError(option, path, ALLOWED, " ".join(str(error).split())) from None


# --- numbers ---


@dataclass
class _Found:
    """What was read: numbers, row after row; records, those with a gap, and the first of what cannot be used."""

    columns: Sequence[str]
    values: array = field(default_factory=lambda: array("d"))
    records: int = 0
    gaps: int = 0
    first_gap: tuple[int, str] | None = None
    first_text: tuple[int, str, str] | None = None

    def note(self, line: int, texts: Sequence[str]) -> None:
        """A record with a gap, or one with a text that is no finite number."""
        missing = [text.strip().lower() in MISSING for text in texts]
        if any(missing):
            self.gaps += 1
            self.first_gap = self.first_gap or (line, self.columns[missing.index(True)])
        elif self.first_text is None:
            usable = [_is_number(text) and math.isfinite(float(text)) for text in texts]
            self.first_text = (line, self.columns[usable.index(False)], texts[usable.index(False)])


def _found(source: _Source, names: Sequence[str], report: Report | None) -> _Found:
    places, found = [source.place(name) for name in names], _Found(names)
    for line, cells in source.records():
        found.records += 1
        if report is not None and found.records % STRIDE == 0:
            report(min(source.position(), source.size - 1), source.size, f"{found.records} records")
        texts = [cells[place] for place in places]
        try:
            numbers = [float(text) for text in texts]
        except ValueError:
            numbers = [math.nan]
        if all(map(math.isfinite, numbers)):
            found.values.extend(numbers)
        else:
            found.note(line, texts)
    return found


def _complete(found: _Found, path: Path, option: str, drop_missing: bool, advice: str) -> Columns:
    """The complete records, unless there are none, or others that may not be left out."""
    if found.first_gap is not None and not drop_missing:
        line, name = found.first_gap
        remedy = f"missing in {found.gaps} of {found.records} records{advice}"
        raise DomainError(f"{path.name}, line {line}, column {name}", "nothing", "a number", remedy)
    if found.first_text is not None:
        line, name, text = found.first_text
        remedy = "code text as numbers, such as 0 and 1, and leave it empty where a value is missing"
        said = _advice(text)[2:] or remedy
        raise DomainError(f"{path.name}, line {line}, column {name}", text, "a finite number", said)
    if found.records == found.gaps:
        none = "none is complete" if found.records else "this one has a header alone"
        raise DomainError(option, path, "a CSV file with records", none)
    return Columns(np.asarray(found.values).reshape(-1, len(found.columns)), found.gaps)


def _advice(text: str) -> str:
    """What to do about other separators and about decimal commas, after a colon."""
    if _DECIMAL_COMMA.fullmatch(text.strip()):
        return ": this is a decimal comma, and decimals are written with a point"
    called = [name for mark, name in _SEPARATORS.items() if mark in text]
    return f": it has {called[0]}; write decimals with points, and columns apart by commas" if called else ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
