"""`--features` of `dpbounds design ftrl`: public or proxy records, one column the outcome."""

from __future__ import annotations

import csv
import gzip
import io
import math
import zlib
from argparse import Namespace
from pathlib import Path

import numpy as np

from dpbounds import DomainError
from dpbounds.ftrl.design import ProxyRecords

# Bytes that are read, unpacked.
LARGEST = 200_000_000
ALLOWED = "a CSV file of numbers with a header, plain or .gz, comma between columns"


def records_of(arguments: Namespace) -> ProxyRecords | None:
    """The records of the file; None without one. `DomainError` names the line of what is no number."""
    if arguments.features is None:
        if arguments.outcome is not None:
            raise DomainError("outcome", arguments.outcome, "given with --features")
        return None
    header, rows = _read(arguments.features)
    place = len(header) - 1 if arguments.outcome is None else _place(header, arguments.outcome)
    features = [column for column in range(len(header)) if column != place]
    return ProxyRecords.of(rows[:, features], rows[:, place])


def _place(header: list[str], name: str) -> int:
    if header.count(name) != 1:
        shown = ", ".join(header[:20]) + (", ..." if len(header) > 20 else "")
        raise DomainError("outcome", name, f"one column of the file: {shown}")
    return header.index(name)


def _read(file: str) -> tuple[list[str], np.ndarray]:
    path = Path(file)
    reader = csv.reader(io.StringIO(_text(path)), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        rows = [_numbers(path, reader.line_num, row, len(header)) for row in reader if any(row)]
    except csv.Error as error:
        raise DomainError("features", path, ALLOWED, f"line {reader.line_num}: {error}") from None
    if len(header) < 2:
        raise DomainError("features", path, ALLOWED, f"it has {len(header)} columns: one outcome, and features")
    if not rows:
        raise DomainError("features", path, ALLOWED, "it has no records")
    return header, np.array(rows)


def _numbers(path: Path, line: int, row: list[str], columns: int) -> list[float]:
    try:
        numbers = [float(text) for text in row]
    except ValueError as error:
        raise DomainError("features", path, ALLOWED, f"line {line}: {error}") from None
    if len(numbers) != columns or not all(map(math.isfinite, numbers)):
        said = (
            f"it has {len(numbers)} of {columns} columns" if len(numbers) != columns else "nan and inf are no numbers"
        )
        raise DomainError("features", path, ALLOWED, f"line {line}: {said}")
    return numbers


def _text(path: Path) -> str:
    try:
        with gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb") as opened:
            content = opened.read(LARGEST + 1)
        text = content.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise DomainError("features", path, ALLOWED, " ".join(str(error).split())) from None
    if len(content) > LARGEST:
        raise DomainError("features", path, f"{ALLOWED}, of at most {LARGEST} bytes unpacked")
    return text
