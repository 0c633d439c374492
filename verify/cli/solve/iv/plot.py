"""Bound (7) and predicted error over T as a picture, with the best T of each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dpbounds.iv import error_bound
from dpbounds.iv.answers import Answer
from reports.results import Picture, Series
from verify.cli.solve.files import write
from verify.cli.solve.pictures import drawn

# Points of a curve at most.
POINTS = 200
# A term below this share of the least bound is not drawn.
NEGLIGIBLE = 1e-2


def save(file: str, found: Answer) -> None:
    """Draw the curves and write the whole file, or leave the old one as it was."""
    write("plot", file, drawn(picture(found), Path(file).suffix.lower()))


def picture(found: Answer) -> Picture:
    """The terms of (7), their sum and the prediction as lines, the best T of both as points, what was simulated too."""
    last = found.rows[-1]["T"]
    steps = sorted({round(float(number)) for number in np.geomspace(1, last, POINTS)})
    series = (*_bound(found, steps), *_prediction(found), *_best(found), *_simulated(found))
    return Picture(x="T", y="error ||beta_T - beta_hat||", log=("x", "y"), series=series)


def _bound(found: Answer, steps: list[int]) -> tuple[Series, ...]:
    """Nothing where (7) is void; the optimisation term as far as it counts."""
    question = found.question
    if not question.has_bound:
        return ()
    setting = {**question.budgets, "kappa": question.kappa, "constants": question.constants}
    bounds = {T: error_bound(question.design, steps=T, **setting) for T in steps}
    least = NEGLIGIBLE * min(bound.total for bound in bounds.values())
    curves = [_series("bound (7)", "printed", {T: bound.total for T, bound in bounds.items()})]
    for name in ("optimisation", "privacy", "statistical"):
        term = {T: float(getattr(bound, name)) for T, bound in bounds.items()}
        curves.append(_series(f"{name} term of (7)", "printed", {T: y for T, y in term.items() if y > least}))
    return tuple(curves)


def _prediction(found: Answer) -> tuple[Series, ...]:
    """Where it is reliable."""
    return (_series("predicted root mean square", "approximate", found.curve),) if found.curve else ()


def _best(found: Answer) -> tuple[Series, ...]:
    points = []
    if found.optimum is not None and found.optimum.steps <= found.rows[-1]["T"]:
        T = found.optimum.steps
        points.append(_series(f"least bound, T = {T}", "printed", {T: float(found.optimum.value)}))
    if found.best is not None:
        rms = found.forecasts[found.best].rms
        points.append(_series(f"least predicted, T = {found.best}", "approximate", {found.best: rms or math.nan}))
    return tuple(points)


def _simulated(found: Answer) -> tuple[Series, ...]:
    """Medians with their intervals, and the predicted medians beside them; runs that diverge leave the picture."""
    rows = [row for row in found.rows if math.isfinite(row.get("median_high", math.inf)) and row["median_low"] > 0]
    if not rows:
        return ()
    T, y, low, high = (
        tuple(float(row[name]) for row in rows) for name in ("T", "median_simulated", "median_low", "median_high")
    )
    simulated = Series(curve="simulated median", role="simulated", x=T, y=y, low=low, high=high)
    medians = {row["T"]: row["median"] for row in found.rows if row["reliable"]}
    return (_series("predicted median", "exact", medians), simulated) if medians else (simulated,)


def _series(curve: str, role: str, values: Mapping[int, float]) -> Series:
    return Series(curve=curve, role=role, x=tuple(float(T) for T in values), y=tuple(float(y) for y in values.values()))
