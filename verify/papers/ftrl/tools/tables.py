"""Tables with two classes: those of the user's data folder, and small ones that are drawn."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

import numpy as np

from dpbounds import DomainError
from simulators.ftrl import LogisticData
from simulators.tables import read_table
from verify.statements.claims import DATA_DIR

# Of a set, this many rows at most, drawn once; smaller and wider ones are left out.
MOST_ROWS, LEAST_ROWS, MOST_COLUMNS = 2000, 150, 60
SUFFIXES = (".csv.gz", ".csv")


def folder() -> Path | None:
    """The folder `uci` of --data-dir, or the folder itself."""
    given = os.environ.get(DATA_DIR)
    if not given:
        return None
    inner = Path(given) / "uci"
    return inner if inner.is_dir() else Path(given)


def names() -> list[str]:
    """Tables at hand, in alphabetical order."""
    where = folder()
    files = sorted(where.iterdir()) if where else []
    return [file.name.partition(".")[0] for file in files if file.name.endswith(SUFFIXES)]


def no_tables() -> str:
    """Why no table is at hand, or nothing."""
    return "" if names() else "needs tables of numbers, the last column the target: `--data-dir DIR` with `*.csv.gz`"


def digest() -> str:
    """Of all tables at hand: results on other data are other results."""
    content = hashlib.sha256()
    for name in names():
        content.update(name.encode() + _file(name).read_bytes())
    return content.hexdigest()[:32] if names() else ""


@cache
def classes(name: str) -> LogisticData | None:
    """Is the target above its median? From a constant and the standardised columns, over the root of their number.

    None for tables with fewer than 150 complete rows or more than 60 columns.
    """
    rows = read_table(_file(name)).rows
    rows = rows[np.random.default_rng(0).permutation(len(rows))[:MOST_ROWS]]
    if len(rows) < LEAST_ROWS:
        return None
    features, target = rows[:, :-1], rows[:, -1]
    features = features[:, features.std(axis=0) > 0]
    if features.shape[1] >= MOST_COLUMNS:
        return None
    standard = (features - features.mean(axis=0)) / features.std(axis=0)
    full = np.column_stack([standard, np.ones(len(rows))]) / np.sqrt(standard.shape[1] + 1)
    return LogisticData(features=full, labels=(target > np.median(target)).astype(float))


@cache
def drawn(rows: int, columns: int, strength: float) -> LogisticData:
    """Gaussian features of falling scale and a constant; labels by a logistic model of this `strength`."""
    rng = np.random.default_rng(rows)
    scales = 0.7 / np.sqrt(np.arange(1, columns + 1))
    features = np.column_stack([rng.standard_normal((rows, columns)) * scales, np.full(rows, 0.7)])
    theta = strength / 0.7 * np.resize([1.0, -1.0, 0.5, -0.5, 0.3], columns + 1)
    labels = (features @ theta + rng.logistic(size=rows) > 0).astype(float)
    return LogisticData(features=features, labels=labels)


def _file(name: str) -> Path:
    where = folder()
    found = [where / f"{name}{suffix}" for suffix in SUFFIXES] if where else []
    for path in found:
        if path.is_file():
            return path
    raise DomainError("data_dir", where, f"a folder with {name}.csv.gz")
