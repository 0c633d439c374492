"""Bound (7) and predicted error over T as a picture, with the best T of each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dpbounds.iv import error_bound
from dpbounds.iv.answers import Answer, predicted_rms
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
    """The terms of (7), their sum and the prediction as lines, the best T of both as points."""
    last = found.rows[-1]["T"]
    steps = sorted({round(float(number)) for number in np.geomspace(1, last, POINTS)})
    series = (*_bound(found, steps), _prediction(found, steps), *_best(found))
    return Picture(x="T", y="error ||beta_T - beta_hat||: bound and prediction", log=("x", "y"), series=series)


def _bound(found: Answer, steps: list[int]) -> tuple[Series, ...]:
    """Nothing where (7) is void; the optimisation term as far as it counts."""
    question = found.question
    if question.kappa >= 1:
        return ()
    setting = {**question.budgets, "kappa": question.kappa, "constants": question.constants}
    bounds = {T: error_bound(question.design, steps=T, **setting) for T in steps}
    least = NEGLIGIBLE * min(bound.total for bound in bounds.values())
    curves = [_series("bound (7)", "printed", {T: bound.total for T, bound in bounds.items()})]
    for name in ("optimisation", "privacy", "statistical"):
        term = {T: float(getattr(bound, name)) for T, bound in bounds.items()}
        curves.append(_series(f"{name} term of (7)", "printed", {T: y for T, y in term.items() if y > least}))
    return tuple(curves)


def _prediction(found: Answer, steps: list[int]) -> Series:
    """As far as the recursion went; where it has settled, its last coefficients serve all larger T."""
    settled = len(found.terms.first) > found.question.population.settled_after
    shown = [T for T in steps if settled or len(found.terms.first) > T]
    rms = predicted_rms(found.question, found.terms, shown)
    return _series("predicted root mean square", "approximate", dict(zip(shown, rms, strict=True)))


def _best(found: Answer) -> tuple[Series, ...]:
    points = []
    if found.optimum is not None and found.optimum.steps <= found.rows[-1]["T"]:
        T = found.optimum.steps
        points.append(_series(f"least bound, T = {T}", "printed", {T: float(found.optimum.value)}))
    if found.best is not None:
        rms = predicted_rms(found.question, found.terms, [found.best])
        points.append(_series(f"least predicted, T = {found.best}", "approximate", {found.best: float(rms[0])}))
    return tuple(points)


def _series(curve: str, role: str, values: Mapping[int, float]) -> Series:
    return Series(curve=curve, role=role, x=tuple(float(T) for T in values), y=tuple(float(y) for y in values.values()))
