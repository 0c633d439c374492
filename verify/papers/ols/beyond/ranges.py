"""Beyond the paper: records scaled by public ranges, and a fit back in their own units."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dpbounds.ols import Ranges, parsed_ranges
from verify.checks import Agreement, Fact, Holds, Within
from verify.statements.claims import Claim

COLUMNS, OUTCOME = ((0.0, 10.0), (-2.0, 2.0), (5.0, 6.0)), (-4.0, 12.0)
TEXT = "a=0:10, b=-2:2, c=5:6, y=-4:12"


def _ranges(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Within | Holds]:
    """Entry by entry; the least squares fit with intercept, which no scale changes."""
    low, high = np.array(COLUMNS).T
    X = rng.uniform(low, high, (200, 3))
    y = X @ (0.3, -1.0, 0.5) + rng.uniform(-1, 1, 200)
    for intercept in (True, False):
        ranges = parsed_ranges(TEXT, ["a", "b", "c"], "y", intercept=intercept)
        yield Holds("as written", ranges == Ranges(columns=COLUMNS, outcome=OUTCOME, intercept=intercept))
        d = 3 + intercept
        mapped = [[2 * (x - a) / (b - a) - 1 for x, (a, b) in zip(row, COLUMNS, strict=True)] for row in X]
        stated = np.array([[*row, *([1.0] * intercept)] for row in mapped]) / math.sqrt(d)
        rows, outcome = ranges.rows(X), ranges.scaled_outcome(y)
        yield Fact("rows", rows, factor * stated, 1e-12)
        yield Fact("outcomes", outcome, factor * (y - 4) / 8, 1e-12)
        yield Fact("columns", ranges.d, d, 0)
        slopes, constant = ranges.in_units(np.linalg.lstsq(rows, outcome, rcond=None)[0])
        fitted = 8 * rows @ np.linalg.lstsq(stated, (y - 4) / 8, rcond=None)[0] + 4
        yield Fact("predictions in units of the records", X @ slopes + constant, factor * fitted, 1e-10)
        data = ranges.data(X, y)
        yield Fact("records in units of their bounds", data.regressors, factor * stated, 1e-12)
    corners = ranges.rows(np.array([low, high, low - 5, high + 7]))
    yield Within("longest row, beyond the ranges too", float(np.linalg.norm(corners, axis=1).max()), most=1 + 1e-12)
    far, beside = X.copy(), y.copy()
    far[0, 1], far[1, 0], beside[1], beside[7] = 3.0, -1.0, 50.0, 50.0
    yield Fact("records beyond a range", ranges.beyond(far, beside), 3, 0)


BEYOND_RANGES = Claim(
    id="ols/beyond-ranges",
    where="Beyond the paper: records scaled by public ranges",
    kind="identity",
    statement=(
        (
            "Columns mapped from public ranges to $[-1, 1]$, with a column of ones or without, and divided by the root "
            "of their number are rows of length at most 1, whatever the records are;"
        ),
        "an estimate for them is one in the records' own units.",
    ),
    setting="Three columns, 200 records, and records beyond their ranges.",
    checks=(Agreement(decides="ab", facts=_ranges, impostors={"0.1 % more": {"facts": {"factor": 1.001}}}),),
)
