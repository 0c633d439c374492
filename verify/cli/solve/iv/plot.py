"""Bound (7) and predicted error over T as a picture, with the best T of each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from dpbounds.iv import Answer
from dpbounds.iv.bound import Term
from reports.results import Picture, Series
from verify.cli.files import write
from verify.cli.solve.pictures import drawn

# Points of a curve at most.
POINTS = 200
# A term below this share of the least bound is not drawn.
NEGLIGIBLE = 1e-2


def save(file: str, answer: Answer) -> None:
    """Draw the curves and write the whole file, or leave the old one as it was."""
    write("plot", file, drawn(picture(answer), Path(file).suffix.lower()))


def picture(answer: Answer) -> Picture:
    """The terms of (7), their sum and the prediction as lines, the best T of both as points, what was simulated too."""
    series = (*_bound(answer), *_prediction(answer), *_best(answer), *_simulated(answer))
    return Picture(x="T", y="error ||beta_T - beta_hat||", log=("x", "y"), series=series)


def _bound(answer: Answer) -> tuple[Series, ...]:
    """Nothing where (7) is void; the optimisation term as far as it counts."""
    bounds = answer.bounds(POINTS)
    if not bounds:
        return ()
    least = NEGLIGIBLE * min(bound.total for bound in bounds.values())
    curves = [_series("bound (7)", "printed", {T: bound.total for T, bound in bounds.items()})]
    for name in get_args(Term):
        term = {T: float(getattr(bound, name)) for T, bound in bounds.items()}
        curves.append(_series(f"{name} term of (7)", "printed", {T: y for T, y in term.items() if y > least}))
    return tuple(curves)


def _prediction(answer: Answer) -> tuple[Series, ...]:
    """Where it is reliable."""
    return (_series("predicted root mean square", "approximate", answer.curve),) if answer.curve else ()


def _best(answer: Answer) -> tuple[Series, ...]:
    points = []
    if answer.optimum is not None and answer.optimum.steps <= answer.rows[-1]["T"]:
        T = answer.optimum.steps
        points.append(_series(f"least bound, T = {T}", "printed", {T: float(answer.optimum.value)}))
    if answer.best is not None:
        rms = answer.forecasts[answer.best].rms
        points.append(_series(f"least predicted, T = {answer.best}", "approximate", {answer.best: rms or math.nan}))
    return tuple(points)


def _simulated(answer: Answer) -> tuple[Series, ...]:
    """Medians with their intervals, and the predicted medians beside them; runs that diverge leave the picture."""
    rows = [row for row in answer.rows if math.isfinite(row.get("median_high", math.inf)) and row["median_low"] > 0]
    if not rows:
        return ()
    T, y, low, high = (
        tuple(float(row[name]) for row in rows) for name in ("T", "median_simulated", "median_low", "median_high")
    )
    simulated = Series(curve="simulated median", role="simulated", x=T, y=y, low=low, high=high)
    medians = {row["T"]: row["median"] for row in answer.rows if row["reliable"]}
    return (_series("predicted median", "exact", medians), simulated) if medians else (simulated,)


def _series(curve: str, role: str, values: Mapping[int, float]) -> Series:
    return Series(curve=curve, role=role, x=tuple(float(T) for T in values), y=tuple(float(y) for y in values.values()))
