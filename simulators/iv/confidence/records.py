"""The records of a data set in the public units of their ranges: checked, shifted, and numbered by cells of controls.

What is read here is private: it leaves only through a release. A refusal that depends on the records says so.

>>> from dpbounds.iv.confidence import PrivacyBudget, ReleasePlan
>>> plan = ReleasePlan(outcome="y", regressors=("x",), instruments=("z",), bounds={"y": (0, 10), "x": (0, 1)},
...                    budget=PrivacyBudget(epsilon=1.0))
>>> records = bounded_records(plan, {"z": [0, 1] * 6, "x": [0, 0.5] * 6, "y": [4, 10] * 6})
>>> records.outcome[:2].tolist(), records.instruments[:2, 0].tolist()
([-1.0, 5.0], [-1.0, 1.0])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, real_array
from dpbounds.iv.confidence import ReleasePlan
from simulators.iv.samples import RecordSample

NOT_PRIVATE = "this refusal depends on the records and is not private: do not pass it on"
LEAST_RECORDS, MOST_CELLS = 10, 2000


@dataclass(frozen=True, kw_only=True, eq=False)
class BoundedRecords:
    """n records: `instruments` (n, q), each range scaled to [-1, 1], less its public mean if there is one (0 or 1 where
    residuals are clipped); `regressors` (n, p) and `outcome` (n,) in the columns' units, less the middles of their
    ranges, which they lie in unless these are working ranges; `cells` (n,) count from 0 to `K` - 1.
    """

    instruments: Float[np.ndarray, "n q"]
    regressors: Float[np.ndarray, "n p"]
    outcome: Float[np.ndarray, " n"]
    cells: Int[np.ndarray, " n"]
    K: int

    @property
    def n(self) -> int:
        """Records, a public number."""
        return len(self.outcome)

    @property
    def sample(self) -> RecordSample:
        """As one data set of the releases that are simulated."""
        return RecordSample(
            instruments=self.instruments.T[None], regressors=self.regressors.T[None], outcome=self.outcome[None]
        )


@typed
def bounded_records(plan: ReleasePlan, columns: Mapping[str, Any]) -> BoundedRecords:
    """The columns (n,) that the plan names, by name, in the units of their ranges.

    Design s takes instruments, which are 0 or 1, and signs as they are; instruments are clamped to their ranges, which
    is a function of them alone. Raises `DomainError` for columns that are missing, of different lengths or not finite,
    values outside natural ranges, instruments that do not vary or are the regressor, fewer than 10 records and more
    than 2000 cells.
    """
    values = _values(plan, columns)
    q, p = len(plan.instruments), len(plan.regressors)
    raw, inside, W = values[:, :q], values[:, q : q + p + 1], values[:, q + p + 1 :]
    _check_instruments(plan, raw, inside)
    names = [*plan.regressors, plan.outcome]
    for name, column in zip(names, inside.T, strict=True):
        _check_range(plan, name, column)
    shifted = inside - np.array([plan.centre(name) for name in names])
    cells, K = _cells(W)
    return BoundedRecords(
        instruments=_scaled(plan, raw),
        regressors=shifted[:, :p],
        outcome=shifted[:, p],
        cells=cells,
        K=K,
    )


def _values(plan: ReleasePlan, columns: Mapping[str, Any]) -> np.ndarray:
    """Columns in the order of the plan, (n, columns)."""
    found = []
    for name in plan.columns:
        column = real_array(f"column {name}", columns[name])
        if column.ndim != 1:
            raise DomainError(f"column {name}", f"an array of shape {column.shape}", "one number for each record")
        if not np.isfinite(column).all():
            raise DomainError(f"column {name}", "a value that is missing or infinite", "finite numbers", NOT_PRIVATE)
        found.append(column)
    lengths = {len(column) for column in found}
    if len(lengths) > 1:
        raise DomainError("columns", f"{sorted(lengths)} records", "of one length")
    least = max(LEAST_RECORDS, len(plan.instruments) + 2)
    if min(lengths) < least:
        raise DomainError("n", f"{min(lengths)} complete records", f"at least {least}")
    return np.column_stack(found)


def _check_instruments(plan: ReleasePlan, raw: np.ndarray, others: np.ndarray) -> None:
    for name, column in zip(plan.instruments, raw.T, strict=True):
        if column.min() == column.max():
            raise DomainError(f"column {name}", "one value in all records", "an instrument that varies", NOT_PRIVATE)
        for other, values in zip((*plan.regressors, plan.outcome), others.T, strict=True):
            if np.array_equal(column, values):
                allowed = "an instrument, other than what it is to move"
                raise DomainError(f"column {name}", f"column {other} again", allowed, NOT_PRIVATE)
        if plan.stretched and not np.isin(column, plan.ranges[name]).all():
            low, high = plan.ranges[name]
            allowed = f"{low:g} or {high:g}, the ends of its range, with clamping stretch"
            raise DomainError(f"column {name}", "other values", allowed, NOT_PRIVATE)
    if plan.design == "s" and not np.isin(raw, (0.0, 1.0)).all():
        raise DomainError(f"column {plan.instruments[0]}", "other values", "0 or 1 with design s", NOT_PRIVATE)


def _check_range(plan: ReleasePlan, name: str, column: np.ndarray) -> None:
    """Natural ranges hold; signs need none, nor do residuals that are clipped."""
    if plan.design == "s" or (plan.stretched and (plan.regressor_clamped or name == plan.outcome)):
        return
    low, high = plan.ranges[name]
    outside = int(np.sum((column < low) | (column > high)))
    if plan.stretched and plan.heterogeneity == 1.0 and name == plan.regressor and len(np.unique(column)) == 2:
        allowed = "above 1 for a regressor of two values, which the instrument moves for some records alone"
        remedy = "at least 1 over the share of those records, a public bound"
        raise DomainError("heterogeneity", 1.0, allowed, f"{remedy}; {NOT_PRIVATE}")
    if outside:
        more = "regressor_clamped" if plan.stretched else "clamping stretch for an instrument that is independent"
        remedy = f"take the range of all possible values, {more}, or design s for signs, which need none"
        found = f"{outside} of {len(column)} records outside {low:g}:{high:g}"
        raise DomainError(f"column {name}", found, "within its natural range", f"{remedy}; {NOT_PRIVATE}")


def _scaled(plan: ReleasePlan, raw: np.ndarray) -> np.ndarray:
    """Clamped to their ranges, less public means if there are any; 0 and 1 where residuals are clipped. Design s takes
    them as they are.
    """
    if plan.design == "s":
        return raw
    low, high = np.array([plan.ranges[name] for name in plan.instruments]).T
    if plan.stretched:
        return (raw == high).astype(float)
    zero = (low + high) / 2 if plan.instrument_means is None else np.array(list(plan.instrument_means.values()))
    return (np.clip(raw, low, high) - zero) / ((high - low) / 2)


def _cells(W: np.ndarray) -> tuple[np.ndarray, int]:
    """One cell where there are no controls."""
    if not W.shape[1]:
        return np.zeros(len(W), dtype=int), 1
    found, cells = np.unique(W, axis=0, return_inverse=True)
    if len(found) > MOST_CELLS:
        allowed = f"columns with at most {MOST_CELLS} combinations of values"
        raise DomainError("controls", f"{len(found)} combinations", allowed, "group their values")
    return cells.reshape(-1), len(found)
