"""Real data: regression tables as CSV files, split and normalised as in the paper, and sets that scikit-learn ships.

>>> X, Y = np.arange(20.0).reshape(10, 2), np.arange(10.0)
>>> data = prepared(X, Y, name="ramp")
>>> data.train.n, len(data.test_outcome)
(8, 2)
"""

from __future__ import annotations

import csv
import gzip
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, count, within
from simulators.ols.records import LeastSquares, finite

# Ways to prepare columns before rows are scaled: as they are, of mean 0, of mean 0 and variance 1.
Columns = Literal["raw", "centred", "standardised"]
# Regression sets that come inside scikit-learn, none from the network.
BUNDLED = ("diabetes", "breast-cancer", "wine", "digits")
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


@dataclass(frozen=True, kw_only=True, eq=False)
class DataSet:
    """A set under a name: the training part, within bounds 1, and the test part scaled by the same factors."""

    name: str
    train: LeastSquares
    test_regressors: np.ndarray = field(repr=False)
    test_outcome: np.ndarray = field(repr=False)
    dropped: int = 0


@typed
def load(
    path: str | Path,
    *,
    target: str = "",
    train_share: float = 0.8,
    seed: int = 0,
    regressors: Columns = "raw",
    outcome: Columns = "raw",
    intercept: bool = False,
) -> DataSet:
    """A CSV file with a header, plain or gzip, as a data set: rows with a missing value dropped, the rest split at
    random and normalised by `prepared`. `target` names the outcome; the last column unless given.
    """
    path = Path(path)
    table = read_table(path)
    target = target or table.names[-1]
    table.column(target)
    if len(table.names) < 2:
        raise DomainError("file", path, "a table with an outcome and regressors", "it has one column")
    return prepared(
        *table.split(target),
        name=path.name.partition(".")[0],
        train_share=train_share,
        seed=seed,
        regressors=regressors,
        outcome=outcome,
        intercept=intercept,
        dropped=table.dropped,
    )


@typed
def prepared(
    X: np.ndarray,
    Y: np.ndarray,
    *,
    name: str,
    train_share: float = 0.8,
    seed: int = 0,
    regressors: Columns = "raw",
    outcome: Columns = "raw",
    intercept: bool = False,
    dropped: int = 0,
) -> DataSet:
    """Random split into training and test part (`train_share` of the rows, rounded down, drawn with `seed`), then both
    divided by the largest row norm and the largest |y| of the training part (ols Appendix H).

    What the paper leaves open are options: columns of X and of Y `raw`, `centred` or `standardised` (by the moments of
    the training part; constant columns become 0) before that, an `intercept` as a column of ones. None of the factors
    is private.
    """
    within("train_share", train_share, "(0, 1]")
    X, Y = finite("regressors", X, 2), finite("outcome", Y, 1)
    if len(X) != len(Y):
        raise DomainError("regressors, outcome", f"{len(X)} and {len(Y)} rows", "as many rows in each")
    generator = np.random.default_rng(count("seed", seed, least=0))
    order = generator.permutation(len(X))
    size = int(train_share * len(X))
    train, test = order[:size], order[size:]
    if not size:
        raise DomainError("train_share", train_share, f"at least 1 of {len(X)} rows", "give a larger share")
    columns = _transformed(X, train, regressors, "regressors")
    target = _transformed(Y[:, None], train, outcome, "outcome")[:, 0]
    if intercept:
        columns = np.column_stack([columns, np.ones(len(columns))])
    lengths = np.linalg.norm(columns, axis=1)
    scale, height = _scale(lengths[train], "regressors"), _scale(np.abs(target[train]), "outcome")
    columns, target = columns / scale, target / height
    return DataSet(
        name=name,
        train=LeastSquares(regressors=columns[train], outcome=target[train]),
        test_regressors=columns[test],
        test_outcome=target[test],
        dropped=dropped,
    )


@typed
def bundled(name: str, *, seed: int = 0, train_share: float = 0.8, outcome: Columns = "raw") -> DataSet:
    """A set that scikit-learn ships, prepared as those of the paper: `diabetes` (442 rows, progression on 10
    measurements), `breast-cancer` (569, mean radius on 20 other features), `wine` (178, alcohol on 12 others), all
    with standardised regressors; `digits` (1797, the digit as a number on 64 pixels as they are). None of them is a
    set of the paper. Raises `DomainError` where scikit-learn is not installed.
    """
    choice("name", name, BUNDLED)
    if not has_bundled():
        raise DomainError("data", name, "at hand", "pip install 'dpbounds[data]'")
    X, Y = _bundled_columns(name)
    how: Columns = "raw" if name == "digits" else "standardised"
    return prepared(X, Y, name=name, seed=seed, train_share=train_share, regressors=how, outcome=outcome)


def _bundled_columns(name: str) -> tuple[np.ndarray, np.ndarray]:
    from sklearn import datasets

    if name == "diabetes":
        X, Y = datasets.load_diabetes(return_X_y=True)
    elif name == "digits":
        X, Y = datasets.load_digits(return_X_y=True)
    elif name == "wine":
        features = np.asarray(datasets.load_wine(return_X_y=True)[0], dtype=float)
        X, Y = features[:, 1:], features[:, 0]
    else:
        features = np.asarray(datasets.load_breast_cancer(return_X_y=True)[0], dtype=float)
        X, Y = features[:, 10:], features[:, 0]
    return np.asarray(X, dtype=float), np.asarray(Y, dtype=float)


def has_bundled() -> bool:
    """Whether scikit-learn is installed."""
    return find_spec("sklearn") is not None


@typed
def read_table(path: Path) -> Table:
    """The numbers of a CSV file with a header, plain or gzip; rows with an empty, NA, NaN, "." or "?" cell dropped.

    Raises `DomainError` naming the file, the line and the column of text that is no number.
    """
    try:
        names, lines = _lines(path)
        rows, dropped = _rows(path, names, lines)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise DomainError("file", path, "a readable CSV file, plain or gzip", f"reading it failed: {error}") from None
    if not len(rows):
        raise DomainError("file", path, "a CSV file with complete records", "this one has none")
    return Table(names=names, rows=rows, dropped=dropped)


def _lines(path: Path) -> tuple[tuple[str, ...], list[str]]:
    """Column names, and the lines after the header."""
    if path.exists() and not path.is_file():
        raise DomainError("file", path, "a regular file")
    unpack = gzip.open if path.suffix == ".gz" else open
    with unpack(path, "rt", encoding="utf-8-sig", newline=None) as stream:
        text = stream.read(MOST_CHARACTERS + 1)
    if len(text) > MOST_CHARACTERS:
        raise DomainError("file", path, f"a table of at most {MOST_CHARACTERS:,} characters, unpacked")
    header, *lines = text.splitlines() or [""]
    for mark, called in _SEPARATORS.items():
        if mark in header and "," not in header:
            remedy = f"this one's header has {called}; write decimals with points, and columns apart by commas"
            raise DomainError("file", path, "a CSV file whose columns are separated by commas", remedy)
    names = tuple(name.strip() for name in next(csv.reader([header]), []))
    if not names or len(set(names)) < len(names):
        raise DomainError("file", path, "a CSV file whose first line names each column once")
    if not any(line.strip() for line in lines):
        raise DomainError("file", path, "a CSV file with records", "this one has a header alone")
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


def _transformed(columns: np.ndarray, train: np.ndarray, how: Columns, parameter: str) -> np.ndarray:
    choice(parameter, how, get_args(Columns))
    if how == "raw":
        return columns
    columns = columns - columns[train].mean(axis=0)
    if how == "centred":
        return columns
    spread = columns[train].std(axis=0)
    return np.where(spread > 0, columns / np.where(spread > 0, spread, 1.0), 0.0)


def _scale(sizes: np.ndarray, parameter: str) -> float:
    largest = float(sizes.max())
    if not largest > 0:
        raise DomainError(parameter, "zeros", "numbers that are not all 0")
    return largest
