"""A CSV file as columns of numbers: what is missing, is no number or has no name is refused with its line."""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpbounds import DomainError

# Characters that are read, unpacked; what is kept is 8 bytes a number, and as much again while a data set is made.
LARGEST = 2_000_000_000
MISSING = frozenset(("", "na", "nan", "n/a", ".", "null", "none"))
ALLOWED = "a CSV file with a header, plain or .gz"
# Records between two reports of how far reading is.
STRIDE = 100_000
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?")

Report = Callable[[int, int, str], None]


class Columns(NamedTuple):
    """Numbers of the columns asked for (records, columns), and the records left out."""

    values: np.ndarray
    dropped: int


def read_columns(
    option: str, file: str, names: Sequence[str], *, drop_missing: bool, report: Report | None = None
) -> Columns:
    """The named columns, read line by line: nothing but their numbers is kept. `report(done, total, now)` is told how
    many bytes are read. `DomainError` names the option or the column, and the line of what cannot be used.
    """
    with _lines(option, file) as (lines, position, size):
        reader = csv.reader(lines, strict=True)
        try:
            found = _numbers(reader, names, position, size, report)
        except csv.Error as error:
            raise DomainError(option, Path(file), ALLOWED, f"line {reader.line_num}: {error}") from None
    if found.gaps and not drop_missing:
        assert found.first_gap is not None
        place, column = found.first_gap
        remedy = f"missing in {found.gaps} of {found.records} records: --drop-missing leaves them out"
        raise DomainError(f"column {column}, line {place}", "nothing", "a number", remedy)
    if found.records == found.gaps:
        none = "none is complete" if found.records else "it has none"
        raise DomainError(option, Path(file), "a CSV file with records", none)
    if found.first_text is not None:
        place, column, text = found.first_text
        remedy = "code text as numbers, such as 0 and 1"
        if _DECIMAL_COMMA.fullmatch(text.strip()):
            remedy = "this is a decimal comma: write it with a point"
        raise DomainError(f"column {column}, line {place}", text, "a finite number", remedy)
    return Columns(np.asarray(found.values).reshape(-1, len(names)), found.gaps)


@dataclass
class _Found:
    """What was read: numbers, row after row; records, those with a gap, and the first of what cannot be used."""

    values: array = field(default_factory=lambda: array("d"))
    records: int = 0
    gaps: int = 0
    first_gap: tuple[int, str] | None = None
    first_text: tuple[int, str, str] | None = None


def _numbers(
    reader: Any, names: Sequence[str], position: Callable[[], int], size: int, report: Report | None
) -> _Found:
    header = [name.strip() for name in next(reader, [])]
    places = [_place(header, name) for name in names]
    found = _Found()
    for row in reader:
        if not any(row):
            continue
        found.records += 1
        if report is not None and found.records % STRIDE == 0:
            report(min(position(), size - 1), size, f"{found.records} records")
        texts = [row[place] if place < len(row) else "" for place in places]
        try:
            numbers = [float(text) for text in texts]
        except ValueError:
            numbers = []
        if numbers and all(map(math.isfinite, numbers)):
            found.values.extend(numbers)
            continue
        _note(found, reader.line_num, names, texts)
    return found


def _note(found: _Found, line: int, names: Sequence[str], texts: Sequence[str]) -> None:
    """A record with a gap, or one with a text that is no finite number."""
    missing = [text.strip().lower() in MISSING for text in texts]
    if any(missing):
        found.gaps += 1
        found.first_gap = found.first_gap or (line, names[missing.index(True)])
    elif found.first_text is None:
        name, text = next(pair for pair in zip(names, texts, strict=True) if not _usable(pair[1]))
        found.first_text = (line, name, text)


def _usable(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


@contextmanager
def _lines(option: str, file: str) -> Iterator[tuple[Iterator[str], Callable[[], int], int]]:
    """Lines of at most `LARGEST` characters in all, how many bytes are read, and of how many."""
    path = Path(file)

    def limited(text: Iterable[str]) -> Iterator[str]:
        total = 0
        for line in text:
            total += len(line)
            if total > LARGEST:
                raise DomainError(option, path, f"{ALLOWED}, of at most {LARGEST} characters unpacked")
            yield line

    try:
        with path.open("rb") as raw:
            opened = gzip.open(raw) if path.name.lower().endswith(".gz") else raw  # noqa: SIM115
            text = io.TextIOWrapper(opened, encoding="utf-8-sig", newline="")  # type: ignore[arg-type]
            yield limited(text), raw.tell, path.stat().st_size
    except (OSError, EOFError, zlib.error, ValueError) as error:
        if isinstance(error, DomainError):
            raise
        raise DomainError(option, path, ALLOWED, " ".join(str(error).split())) from None


def _place(header: Sequence[str], name: str) -> int:
    found = [place for place, title in enumerate(header) if title == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise DomainError("column", name, "the name of one column", f"{len(found)} columns have it")
    if len(header) == 1 and any(mark in header[0] for mark in ";\t"):
        mark = "';'" if ";" in header[0] else "tabs"
        raise DomainError("column", name, "a column of the file", f"it is separated by {mark}: save it with commas")
    known = ", ".join(header[:20]) + (", ..." if len(header) > 20 else "")
    raise DomainError("column", name, f"a column of the file: {known or 'it has none'}")
