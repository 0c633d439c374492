"""The records of a CSV file in the public units of their ranges.

What is read here is private: it leaves only through a release. A refusal that depends on the records says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbounds import DomainError
from verify.cli.solve.iv.confidence.asked import Asked
from verify.cli.solve.iv.table import read_columns

SHOWS = "this refusal depends on the records and is not private: do not pass it on"
LEAST_RECORDS, MOST_CELLS = 10, 2000


@dataclass(frozen=True, kw_only=True, eq=False)
class Records:
    """n records: `instruments` (n, q), each range scaled to [-1, 1], less its public mean if there is one;
    `regressors` (n, p) and `outcome` (n,) in the file's units, clamped to their ranges and less its middle; `cells`
    (n,) counts from 0; `labels` are the values of the controls in each cell. `clamped` records had a value outside.
    """

    instruments: np.ndarray
    regressors: np.ndarray
    outcome: np.ndarray
    cells: np.ndarray
    labels: list[str]
    clamped: int
    dropped: int

    @property
    def n(self) -> int:
        """Records, a public number."""
        return len(self.outcome)


def load(asked: Asked, file: str, *, drop_missing: bool) -> Records:
    """`DomainError` names what cannot be used: an option, a column, a line."""
    values, dropped = _values(asked, file, drop_missing)
    q, p = len(asked.instruments), len(asked.regressors)
    raw, X, y, W = values[:, :q], values[:, q : q + p], values[:, q + p], values[:, q + p + 1 :]
    for name, column in zip(asked.instruments, raw.T, strict=True):
        if column.min() == column.max():
            raise DomainError(f"column {name}", "one value in all records", "an instrument that varies", SHOWS)
    if asked.design == "s" and not np.isin(raw, (0.0, 1.0)).all():
        raise DomainError(f"column {asked.instruments[0]}", "other values", "0 or 1 with --design s", SHOWS)
    inside = np.column_stack([*X.T, y])
    held = np.column_stack(
        [_clamped(asked, name, column) for name, column in zip(_bounded(asked), inside.T, strict=True)]
    )
    shifted = held - np.array([_centre(asked, name) for name in _bounded(asked)])
    cells, labels = _cells(asked, W)
    return Records(
        instruments=_scaled(asked, raw),
        regressors=shifted[:, :p],
        outcome=shifted[:, p],
        cells=cells,
        labels=labels,
        clamped=int((held != inside).any(axis=1).sum()),
        dropped=dropped,
    )


def _values(asked: Asked, file: str, drop_missing: bool) -> tuple[np.ndarray, int]:
    """Columns in the order of `Asked.names`."""
    try:
        values, dropped = read_columns("csv", file, asked.names, drop_missing=drop_missing)
    except DomainError as error:
        if not (error.parameter.startswith("column ") and ", line " in error.parameter):
            raise
        said = f"{error.remedy}; {SHOWS}" if error.remedy else SHOWS
        raise DomainError(error.parameter, error.value, error.allowed, said) from None
    if len(values) < max(LEAST_RECORDS, len(asked.instruments) + 2):
        least = max(LEAST_RECORDS, len(asked.instruments) + 2)
        raise DomainError("csv", f"{len(values)} complete records", f"at least {least}")
    return values, dropped


def _bounded(asked: Asked) -> list[str]:
    return [*asked.regressors, asked.outcome]


def _centre(asked: Asked, name: str) -> float:
    return asked.boxes[name].centre if name in asked.boxes else 0.0


def _clamped(asked: Asked, name: str, column: np.ndarray) -> np.ndarray:
    """As they are in design s: signs need no ranges, whose middles serve as constants there."""
    return column if asked.design == "s" else np.clip(column, *asked.boxes[name])


def _scaled(asked: Asked, raw: np.ndarray) -> np.ndarray:
    """Clamped to their ranges, less public means if there are any. Design s takes them as they are."""
    if asked.design == "s":
        return raw
    low, high = np.array([asked.boxes[name] for name in asked.instruments]).T
    zero = (low + high) / 2 if asked.means is None else np.array(asked.means)
    return (np.clip(raw, low, high) - zero) / ((high - low) / 2)


def _cells(asked: Asked, W: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """One cell where there are no controls."""
    if not asked.controls:
        return np.zeros(len(W), dtype=int), ["all records"]
    found, cells = np.unique(W, axis=0, return_inverse=True)
    if len(found) > MOST_CELLS:
        allowed = f"columns with at most {MOST_CELLS} combinations of values"
        raise DomainError("controls", f"{len(found)} combinations", allowed, "group their values")
    labels = [", ".join(f"{n}={v:g}" for n, v in zip(asked.controls, row, strict=True)) for row in found]
    return cells.reshape(-1), labels
