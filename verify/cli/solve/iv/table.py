"""A CSV file as columns of numbers: what is missing, is no number or has no name is refused with its line."""

from __future__ import annotations

import csv
import gzip
import io
import math
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpbounds import DomainError

# Bytes that are read, unpacked.
LARGEST = 200_000_000
MISSING = frozenset(("", "na", "nan", "n/a", ".", "null", "none"))
ALLOWED = "a CSV file with a header, plain or .gz"


class Columns(NamedTuple):
    """Numbers of the columns asked for (records, columns), and the records left out."""

    values: np.ndarray
    dropped: int


def read_columns(option: str, file: str, names: Sequence[str], *, drop_missing: bool) -> Columns:
    """The named columns. `DomainError` names the option or the column, and the line of what cannot be used."""
    reader = csv.reader(io.StringIO(_text(option, file)), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        places = [_place(header, name) for name in names]
        rows = [(reader.line_num, [row[i] if i < len(row) else "" for i in places]) for row in reader if any(row)]
    except csv.Error as error:
        raise DomainError(option, Path(file), ALLOWED, f"line {reader.line_num}: {error}") from None
    gaps = [[text.strip().lower() in MISSING for text in row] for _, row in rows]
    if any(map(any, gaps)) and not drop_missing:
        _refuse_missing(names, rows, gaps)
    kept = [entry for entry, gap in zip(rows, gaps, strict=True) if not any(gap)]
    if not kept:
        raise DomainError(option, Path(file), "a CSV file with records", "none is complete" if rows else "it has none")
    try:
        values = np.array([[float(text) for text in row] for _, row in kept])
    except ValueError:
        values = None
    if values is None or not np.isfinite(values).all():
        _refuse_text(names, kept)
    assert values is not None
    return Columns(values, len(rows) - len(kept))


def _text(option: str, file: str) -> str:
    """Of at most `LARGEST` bytes."""
    path = Path(file)
    try:
        with gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb") as opened:
            content = opened.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise DomainError(option, path, f"{ALLOWED}, of at most {LARGEST} bytes unpacked")
        return content.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, ValueError) as error:
        if isinstance(error, DomainError):
            raise
        raise DomainError(option, path, ALLOWED, " ".join(str(error).split())) from None


def _place(header: Sequence[str], name: str) -> int:
    found = [place for place, title in enumerate(header) if title == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise DomainError("column", name, "the name of one column", f"{len(found)} columns have it")
    known = ", ".join(header[:20]) + (", ..." if len(header) > 20 else "")
    raise DomainError("column", name, f"a column of the file: {known or 'it has none'}")


def _refuse_missing(names: Sequence[str], rows: Sequence[tuple[int, list[str]]], gaps: list[list[bool]]) -> None:
    """The first one, and how many records have one."""
    line, gap = next((line, gap) for (line, _), gap in zip(rows, gaps, strict=True) if any(gap))
    column, count = names[gap.index(True)], sum(map(any, gaps))
    remedy = f"missing in {count} of {len(rows)} records: --drop-missing leaves them out"
    raise DomainError(f"column {column}, line {line}", "nothing", "a number", remedy)


def _refuse_text(names: Sequence[str], rows: Sequence[tuple[int, list[str]]]) -> None:
    for line, row in rows:
        for name, text in zip(names, row, strict=True):
            try:
                usable = math.isfinite(float(text))
            except ValueError:
                usable = False
            if not usable:
                place = f"column {name}, line {line}"
                raise DomainError(place, text, "a finite number", "code text as numbers, such as 0 and 1")
