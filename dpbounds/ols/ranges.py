"""Public ranges of columns and outcome: records mapped to [-1, 1], an intercept, and a fit back in their own units.

The range of a column is what is known of it without the records. Each is mapped to [-1, 1], an intercept is a column of
ones, as large as one feature, and rows are divided by sqrt(columns), so that no row is longer than 1 and nothing is
read off the data. Ranges wider than the data cost accuracy.

>>> ranges = Ranges(columns=((0.0, 10.0), (-1.0, 1.0)), outcome=(0.0, 4.0))
>>> ranges.rows([[10.0, 0.0]]).round(4).tolist()
[[0.5774, 0.0, 0.5774]]
>>> coefficients, constant = ranges.in_units(np.array([0.3, 0.0, 0.1]))
>>> coefficients.round(4).tolist(), round(constant, 4)
([0.0693, 0.0], 1.7691)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from dpbounds.arguments import typed
from dpbounds.errors import LARGEST, DomainError, choice, real, real_array
from dpbounds.ols.data import Beyond, ScaledData, bounded_data

Range = tuple[float, float]


@typed
@dataclass(frozen=True, kw_only=True)
class Ranges:
    """`columns`: (low, high) of each; `outcome`: of the outcome; `intercept`: whether a column of ones is added.

    Raises `DomainError` for ranges that are not finite or whose ends are not in order.
    """

    columns: tuple[Range, ...]
    outcome: Range
    intercept: bool = True

    def __post_init__(self) -> None:
        if not self.columns:
            raise DomainError("columns", self.columns, "one range or more")
        checked = tuple(_range(f"columns[{place}]", one) for place, one in enumerate(self.columns))
        object.__setattr__(self, "columns", checked)
        object.__setattr__(self, "outcome", _range("outcome", self.outcome))

    @property
    def d(self) -> int:
        """Columns, the intercept among them."""
        return len(self.columns) + self.intercept

    def rows(self, X: ArrayLike) -> Float[np.ndarray, "n d"]:
        """Rows of length 1 at most, what is beyond a range taken to its end."""
        X = real_array("X", X)
        if X.ndim != 2 or X.shape[1] != len(self.columns):
            raise DomainError("X", f"an array of shape {X.shape}", f"of shape (n, {len(self.columns)})")
        low, high = np.array(self.columns).T
        mapped = np.clip((X - (low + high) / 2) / ((high - low) / 2), -1.0, 1.0)
        if self.intercept:
            mapped = np.column_stack([mapped, np.ones(len(mapped))])
        return mapped / np.sqrt(self.d)

    def scaled_outcome(self, y: ArrayLike) -> Float[np.ndarray, " n"]:
        """Outcomes of size 1 at most, what is beyond the range taken to its end."""
        low, high = self.outcome
        return np.clip((real_array("y", y) - (low + high) / 2) / ((high - low) / 2), -1.0, 1.0)

    def beyond(self, X: ArrayLike, y: ArrayLike) -> int:
        """How many records have an entry beyond its range: read off the data, and not private."""
        X, y = real_array("X", X), real_array("y", y)
        ends = np.array([*self.columns, self.outcome]).T
        joint = np.column_stack([X, y])
        return int(np.sum(((joint < ends[0]) | (joint > ends[1])).any(axis=1)))

    def data(self, X: ArrayLike, y: ArrayLike, *, beyond: Beyond = "refuse") -> ScaledData:
        """Records in units of their bounds; those beyond a range are refused, or taken to its end (`clip`)."""
        X, y = real_array("X", X), real_array("y", y)
        rows = self.rows(X)
        if y.shape != X.shape[:1]:
            raise DomainError("y", f"an array of shape {y.shape}", f"of shape {X.shape[:1]}, one outcome a row")
        for name, array in (("X", X), ("y", y)):
            if not (np.abs(array) <= LARGEST).all():
                raise DomainError(name, "an array with larger entries, inf or nan", f"finite, at most {LARGEST:g}")
        found = self.beyond(X, y)
        if choice("beyond", beyond, ("refuse", "clip")) == "refuse" and found:
            raise DomainError("ranges", f"{found} records beyond them", "wide enough", "or beyond = clip")
        return bounded_data(rows, self.scaled_outcome(y), row_bound=1.0, outcome_bound=1.0, beyond="clip")

    def in_units(self, theta: Float[np.ndarray, " d"]) -> tuple[Float[np.ndarray, " p"], float]:
        """Coefficients of the columns and the constant in the records' own units, of an estimate for `rows`."""
        theta = real_array("theta", theta)
        if theta.shape != (self.d,):
            raise DomainError("theta", f"an array of shape {theta.shape}", f"of shape ({self.d},)")
        low, high = np.array(self.columns).T
        half = (self.outcome[1] - self.outcome[0]) / 2
        slopes = half * theta[: len(self.columns)] / np.sqrt(self.d) / ((high - low) / 2)
        constant = sum(self.outcome) / 2 - float(slopes @ (low + high)) / 2
        if self.intercept:
            constant += half * float(theta[-1]) / float(np.sqrt(self.d))
        return slopes, constant

    @property
    def units(self) -> tuple[Float[np.ndarray, "q d"], Float[np.ndarray, " q"]]:
        """M and m with M theta + m the coefficients and, last, the constant that `in_units` gives."""
        zero = np.append(*self.in_units(np.zeros(self.d)))
        return np.stack([np.append(*self.in_units(one)) - zero for one in np.eye(self.d)], axis=1), zero


@typed
def parsed_ranges(text: str, names: Sequence[str], target: str, *, intercept: bool = True) -> Ranges:
    """Ranges written as `age=18:90, income=0:2e5`, one for each of the columns `names` and one for `target`.

    Raises `DomainError` that names the column without a range, with two, or with one that cannot be read.
    """
    found: dict[str, Range] = {}
    for part in filter(None, (piece.strip() for piece in text.replace("\n", ",").split(","))):
        name, equals, ends = part.rpartition("=")
        low, colon, high = ends.partition(":")
        name = name.strip()
        if not equals or not colon or name in found or name not in (*names, target):
            allowed = f"name=low:high, once for each of {', '.join((*names, target))}"
            raise DomainError("ranges", part, allowed)
        found[name] = _range(f"range of {name}", _numbers(part, low, high))
    return ranges_of(found, names, target, intercept=intercept)


@typed
def ranges_of(
    ranges: Mapping[str, Sequence[float]], names: Sequence[str], target: str, *, intercept: bool = True
) -> Ranges:
    """From a mapping of names to (low, high). Raises `DomainError` that names a column without a range."""
    for name in (*names, target):
        if name not in ranges:
            raise DomainError("ranges", ", ".join(ranges) or "nothing", f"a pair for each column, {name}=low:high too")
    columns = tuple(_range(f"range of {name}", ranges[name]) for name in names)
    return Ranges(columns=columns, outcome=_range(f"range of {target}", ranges[target]), intercept=intercept)


def _numbers(part: str, low: str, high: str) -> Range:
    try:
        return float(low), float(high)
    except ValueError:
        raise DomainError("ranges", part, "name=low:high with numbers") from None


def _range(name: str, given: Sequence[float]) -> Range:
    """Two finite numbers in order."""
    ends = tuple(real(name, end) for end in np.ravel(np.asarray(given, dtype=object)))
    if len(ends) != 2 or not ends[0] < ends[1] or max(map(abs, ends)) > LARGEST:
        raise DomainError(name, given, f"two numbers, low < high, at most {LARGEST:g} in size")
    return ends[0], ends[1]
