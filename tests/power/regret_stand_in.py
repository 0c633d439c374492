"""Forecasts of `solve ols --stand-in` on the settings of `regret_ols`, and what more records that stand in change.

`ratio` is over the median of runs on other data sets of n records, as many as it takes to know it. `reliable_enough`
are forecasts from as many records as the first one asks for (`Comparison.enough_records`), the first where it asks for
none; where it asks for more than `MOST` none is made. Of settings 7000 to 7035 the first 32 were looked at before as
many records as are private were held to a smaller error than more of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpbounds.ols import Comparison, ScaledData, bounded_data, compare
from tests.power.regret_ols import DELTA, drawn, kinds, least_squares, public_bounds, records, simulated

__all__ = ["judge", "kinds"]

# Other data sets at least and at most, runs on each, and the standard error of the median at which there are enough.
SETS, RUNS_EACH, ERROR = (100, 200), 4, 0.03
MOST = 10_000


def judge(number: int) -> dict[str, Any]:
    """Forecasts from n records and from as many as they ask for, over what happens on other data sets."""
    n = drawn(number)["n"]
    found = enough = compared(number, n)
    asked = found.enough_records
    if asked is not None:
        enough = compared(number, asked) if asked <= MOST else None
    told = {"n": n, "recommended": found.recommended.method, "spread": found.spread, "asked": asked}
    if enough is not None:
        told["spread_enough"] = enough.spread
    ratio = None if enough is None else _ratio(number, enough)
    told |= {"reliable": asked is None and ratio is not None, "ratio": ratio}
    return told | {"reliable_enough": ratio is not None, "ratio_enough": ratio}


def compared(number: int, size: int) -> Comparison:
    """From this many records that stand in for n."""
    law = drawn(number)
    seen = _bounded(number, 1, size)
    return compare(seen, law["epsilon"], DELTA, accountings=("tight",), stand_in=True, n=law["n"])


def _bounded(number: int, seed: int, size: int) -> ScaledData:
    row_bound, outcome_bound = public_bounds(number)
    X, y = records({**drawn(number), "n": size}, seed, number)
    return bounded_data(X, y, row_bound=row_bound, outcome_bound=outcome_bound, beyond="clip")


def _ratio(number: int, found: Comparison) -> float | None:
    """The forecast over the median of runs on other data sets; None where it is not called reliable."""
    row, risks = found.recommended, np.zeros(0)
    if row.scales is None or row.median is None or found.doubt:
        return None
    for seed in range(2, SETS[1] + 2):
        other = least_squares(_bounded(number, seed, drawn(number)["n"]))
        risks = np.append(risks, simulated(row, found.choices, other, RUNS_EACH) * other.statistics.signal)
        if seed > SETS[0] and seed % 20 == 0:
            # Runs on one data set are taken to say no more than one of them.
            at = 0.5 + np.array([-0.5, 0.5]) / np.sqrt(len(risks) / RUNS_EACH)
            low, high = np.quantile(risks, at)
            if high - low <= 2 * ERROR * np.median(risks):
                break
    return float(row.median) / float(np.median(risks))
