"""Enclosures of integrals over the circle in float64, with proved rounding errors: some thirty times as fast as balls.

The integrands are evaluated on all cells at once (`dpbounds.circle.arcs`), on a disc around each to bound the error of
the Gauss rule and to prove that they are finite, and then at its nodes. Cells where that fails are halved.

>>> (mean,) = means(lambda points: [(1.0 + 3.0 * points.disc).inverse()], 1, 1)
>>> bool(mean.contains(0.5)), bool(mean.rad() < 1e-10)
(True, True)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpbounds.circle.arcs import NODES, RHO, Cells, Points, corner, first_cells
from dpbounds.circle.balls import OVERHEAD, TOLERANCE, gauss_error, work
from dpbounds.circle.discs import SLACK, UNIT, Discs

# First cells to the left and right of omega = pi / 2, how many are added where the ends still matter, and the most.
LEFT, RIGHT, MORE, FARTHEST_LEFT, FARTHEST_RIGHT = 92, 78, 24, 240, 102
# Relative error of the Gauss rule, and of the ends, that is aimed at.
AIM = 2e-12
# Halvings of a cell, and cells in all.
DEEPEST, MOST_CELLS = 12, 4000
# Evaluations for the work of one by balls; many more for its time.
FASTER = 4

Integrands = Callable[[Points], list[Discs]]


def means(integrands: Integrands, lags: int, degree: int) -> list[Any] | None:
    """Enclosures (arb) of (1 / 2 pi) int f over the circle, for each f of a list: as tight as those of
    `dpbounds.circle.balls.integrate`, or None where floats have too few digits for that.

    `integrands(points)` gives discs that hold the values on the points' discs; each f is nonnegative on the circle and
    analytic where its disc is finite. `lags` is the largest t of the e^{i t omega} that they use, `degree` that of
    polynomials in s. Raises `AccuracyError` where an `allowance` is spent.
    """
    left_over, units = work(), (degree + OVERHEAD) // FASTER

    def values(points: Points) -> list[Discs]:
        left_over.spend(units * len(points.radius))
        return integrands(points)

    with np.errstate(all="ignore"):  # what is not finite proves nothing, and is seen where it would have to
        return _means(values, lags)


def _means(values: Integrands, lags: int) -> list[Any] | None:
    """Enclosures of (1 / 2 pi) int f over the circle, or None where they are not as tight as `TOLERANCE`."""
    left, right = LEFT, RIGHT
    while True:
        rows = _over_cells(values, first_cells(left, right, lags))
        if rows is None:
            return None
        ends = [_end(values, left, lags, low=True), _end(values, right, lags, low=False)]
        enough = [all(end <= AIM * total for end, (total, _) in zip(side, rows, strict=True)) for side in ends]
        if (enough[0] or left == FARTHEST_LEFT) and (enough[1] or right == FARTHEST_RIGHT):
            return _joined(rows, ends)
        left = left if enough[0] else min(left + MORE, FARTHEST_LEFT)
        right = right if enough[1] else min(right + MORE, FARTHEST_RIGHT)


def _end(values: Integrands, widths: int, lags: int, *, low: bool) -> list[float]:
    """Bounds of the integrals over y beyond the cells: length times supremum."""
    points = corner(widths, lags, low=low)
    return [float(value.upper()[0] * points.radius[0] * SLACK) for value in values(points)]


def _joined(rows: list[tuple[float, float]], ends: list[list[float]]) -> list[Any] | None:
    """Sums, errors and ends as balls, divided by pi; None where the errors are larger than balls would leave."""
    import flint

    found = []
    for (total, error), left, right in zip(rows, *ends, strict=True):
        end = (left + right) * SLACK
        if not (math.isfinite(end) and error <= 4.0 * TOLERANCE * total):
            return None
        half = end / 2.0
        found.append((flint.arb(total, error * SLACK) + flint.arb(half, half * SLACK)) / flint.arb.pi())
    return found


def _over_cells(values: Integrands, cells: Cells) -> list[tuple[float, float]] | None:
    """Sums and errors of the integrals over the cells; None where some cell is not proved."""
    totals, errors, rough, width = np.zeros(0), np.zeros(0), np.zeros(0), float(np.sum(2.0 * cells.half))
    for _ in range(DEEPEST):
        found = values(cells.discs)
        sizes = np.array([np.abs(value.centre) * cells.discs.sine.centre for value in found])
        if not len(rough):
            rough = 2.0 * np.nan_to_num(sizes, nan=0.0, posinf=0.0) @ cells.half
            totals, errors = np.zeros(len(found)), np.zeros(len(found))
        suprema = np.array([value.upper() for value in found]) * (cells.discs.sine.upper() / cells.shrink) * SLACK
        missed = gauss_error(cells.half, suprema, NODES, RHO)
        allowed = AIM * 2.0 * cells.half * (sizes + rough[:, None] / width)
        proved = np.all(missed <= allowed, axis=0)
        if proved.any():
            at_nodes = values(cells.nodes)
            for which, value in enumerate(at_nodes):
                total, error = cells.rounded_sum(value, proved)
                totals[which] += total
                errors[which] += error + float(missed[which, proved].sum()) * SLACK + UNIT * abs(totals[which])
        if proved.all():
            good = np.all(np.isfinite(totals)) and np.all(np.isfinite(errors))
            return list(zip(totals.tolist(), (errors * SLACK).tolist(), strict=True)) if good else None
        cells = cells.halves(~proved)
        if len(cells.middle) > MOST_CELLS:
            return None
    return None
