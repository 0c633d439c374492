"""All estimators on one problem: which to take, what more records would buy, how many a target takes.

>>> best = recommend("logistic", n=50_000, epsilon=10.0, delta=1e-6, p=4, target=0.01)
>>> best.advice, best.best.reliable, best.needed.fixed_m > best.needed.proportional
('public-covariance', True, True)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, within
from dpbounds.glm import scale
from dpbounds.glm.asymptotics import Estimator
from dpbounds.glm.links import Link
from dpbounds.glm.prediction import ESTIMATORS, PRINTED, Prediction, predict, records_needed
from dpbounds.glm.privacy import Calibration
from dpbounds.glm.problem import MOST_RECORDS, Problem, build_problem
from dpbounds.glm.surveys import (
    FEWEST_PUBLIC,
    LARGEST_NO_ROOT,
    USEFUL,
    MessagePrediction,
    WhatHelps,
    message_rows,
    what_helps,
)
from dpbounds.glm.tuned import TunedPrediction, tuned
from dpbounds.values import Value

Advice = Estimator | Literal["zero"]
ADVICE_LABELS: dict[Advice, str] = {**{name: name for name in ESTIMATORS}, "zero": "w = 0"}
REASONS: dict[Estimator, str] = {
    "paper": "The noise of x x^T is small, and the public records are few.",
    "pooled": "The public records make the covariance better and its noise smaller.",
    "public-covariance": "Nothing is spent on x x^T: the whole budget goes to x y.",
    "no-public-data": "The private records alone fix the scale, as x is Gaussian.",
}
# The relative error of w = 0.
ERROR_OF_ZERO = 1.0
# What more records are looked at: factors of n and of m.
FACTORS = ((10, 1), (1, 10), (10, 10))
# Budgets of a curve: so many, from a tenth of epsilon to ten times as much, as far as `Problem` takes them.
CURVE_POINTS, CURVE_REACH, CURVE_ENDS = 9, 10.0, (1e-6, 1e6)


@dataclass(frozen=True, kw_only=True)
class MoreRecords:
    """The recommended estimator's relative error with other numbers of records."""

    n: int
    m: int
    relative: float


@dataclass(frozen=True, kw_only=True)
class RecordsNeeded:
    """The least n of the recommended estimator for a relative error of `target`, with m in proportion and with m as it
    is; None where 10^15 are not enough.
    """

    target: float
    proportional: int | None
    fixed_m: int | None


@dataclass(frozen=True, kw_only=True)
class ErrorCurve:
    """Predicted relative error of one row over budgets."""

    estimator: Estimator
    calibration: Calibration
    epsilons: tuple[float, ...]
    errors: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """Every row, and what to take.

    - `constant`: c of w* = c w_ols; a root exists while `problem.size` is below `supremum`;
    - `rows`: the printed ones, then the tight ones;
    - `advice`: among these `Estimator`s, `zero` where none is predicted to beat w = 0; `reason`: why, in a sentence;
    - `messages`: surveys by direction messages at the same budget, empty where none is defined or the rows were chosen;
      `recommended`: the least predicted error of all; `useful`: whether its median is below half of that of w = 0;
      `helps`: what would, where it is not;
    - `more`: what ten times the records buy; `needed`: where a target was given.
    """

    problem: Problem
    constant: Value
    supremum: float
    rows: tuple[Prediction, ...]
    advice: Advice
    reason: str
    more: tuple[MoreRecords, ...]
    needed: RecordsNeeded | None
    messages: tuple[MessagePrediction, ...] = ()
    helps: WhatHelps | None = None

    def under(self, calibration: Calibration) -> tuple[Prediction, ...]:
        """The rows of one calibration."""
        return tuple(row for row in self.rows if row.calibration == calibration)

    def recommends(self, row: Prediction) -> bool:
        """Whether this row is the one to take."""
        return row.calibration == "tight" and row.estimator == self.advice

    @cached_property
    def references(self) -> tuple[TunedPrediction, ...]:
        """The tight estimators with labels centred, at the radius of least predicted error; as that is chosen at this
        w* and Sigma, they are not recommended.
        """
        found = (tuned(self.problem, row.estimator) for row in self.under("tight"))
        return tuple(row for row in found if row is not None)

    @property
    def recommended(self) -> str:
        """The row of least predicted error among all that are private for every record, those first whose prediction is
        reliable; `zero` where it is not predicted to beat w = 0 in half of the runs.
        """
        row = self._least
        name = row.name if isinstance(row, MessagePrediction) else row.estimator
        return name if row.typical < ERROR_OF_ZERO else "zero"

    @property
    def median(self) -> float:
        """What half of the runs of the recommended row are predicted to stay below, to leading order where it is one of
        least squares.
        """
        return min(self._least.typical, ERROR_OF_ZERO)

    @property
    def doubt(self) -> str:
        """Why the predicted median of what is recommended is not to be relied on; empty where it is, or for w = 0."""
        row, problem = self._least, self.problem
        if row.reliable or self.recommended == "zero":
            return ""
        if not isinstance(row, MessagePrediction):
            return "the leading order of its error is not small, and has no mean beyond it."
        if problem.m < FEWEST_PUBLIC * problem.p:
            return f"m = {problem.m} public records are fewer than {FEWEST_PUBLIC} for each of {problem.p} coordinates."
        if row.no_root > LARGEST_NO_ROOT:
            return f"with probability {row.no_root:.2g} there is no estimate: n = {problem.n} is too small."
        return (
            f"n = {problem.n} is too small: the predicted error, {float(row.relative):.2g} of that of w = 0, is large."
        )

    @property
    def useful(self) -> bool:
        """Whether the best row has less than half the error of w = 0 in half of the runs."""
        return self._least.typical < USEFUL

    @property
    def _least(self) -> Prediction | MessagePrediction:
        return min((*self.under("tight"), *self.messages), key=lambda row: row.rank)

    @property
    def best(self) -> Prediction:
        """The tight row of least predicted error, those first whose prediction is reliable."""
        return min(self.under("tight"), key=lambda row: row.rank)


def recommend(
    link: Link | str,
    *,
    n: int,
    epsilon: float,
    estimators: Sequence[Estimator] | None = None,
    target: float | None = None,
    **settings: Any,
) -> Recommendation:
    """What `dpbounds solve glm` prints, from numbers, arrays or a data frame.

    `settings` are those of `build_problem`, `estimators` and `target` those of `assess`. Raises `DomainError` as these.
    """
    return assess(build_problem(link, n=n, epsilon=epsilon, **settings), estimators=estimators, target=target)


@typed
def assess(
    problem: Problem, *, estimators: Sequence[Estimator] | None = None, target: float | None = None
) -> Recommendation:
    """Every estimator, tight; the printed ones as printed; the recommendation and what more records would buy.

    `estimators`: those that are wanted, by default all for which there are records: without public ones, the scale is
    estimated from the private ones. `target`: a relative error in (0, 1] to reach. Raises `DomainError` for an
    estimator that needs public records where there are none.
    """
    wanted = _wanted(problem, estimators)
    if target is not None:
        target = within("target", target, "(0, 1]")
    tight = tuple(predict(problem, estimator) for estimator in wanted)
    printed = tuple(predict(problem, estimator, "printed") for estimator in wanted if estimator in PRINTED)
    best = min(tight, key=lambda row: row.rank)
    surveys = message_rows(problem) if estimators is None else ()
    least = min((*tight, *surveys), key=lambda row: row.rank)
    return Recommendation(
        problem=problem,
        constant=scale.constant(problem.link, problem.q),
        supremum=scale.supremum(problem.link),
        rows=(*printed, *tight),
        advice=best.estimator if float(best.relative) < ERROR_OF_ZERO else "zero",
        reason=_reason(best, tight),
        more=tuple(_more(problem, best.estimator)),
        needed=None if target is None else _needed(problem, best.estimator, target),
        messages=surveys,
        helps=None if estimators is not None or least.typical < USEFUL else _helps(problem, best, bool(surveys)),
    )


@typed
def error_curves(recommendation: Recommendation) -> tuple[ErrorCurve, ...]:
    """Every row's predicted relative error, from a tenth of epsilon to ten times as much."""
    problem = recommendation.problem
    factors = np.geomspace(1 / CURVE_REACH, CURVE_REACH, CURVE_POINTS)
    epsilons = tuple(map(float, np.clip(problem.epsilon * factors, *CURVE_ENDS)))
    problems = [dataclasses.replace(problem, epsilon=epsilon) for epsilon in epsilons]
    return tuple(
        ErrorCurve(
            estimator=row.estimator,
            calibration=row.calibration,
            epsilons=epsilons,
            errors=tuple(float(predict(other, row.estimator, row.calibration).relative) for other in problems),
        )
        for row in recommendation.rows
    )


def _wanted(problem: Problem, estimators: Sequence[Estimator] | None) -> tuple[Estimator, ...]:
    known: Sequence[Estimator] = ESTIMATORS if problem.m else ("no-public-data",)
    chosen = known if estimators is None else estimators
    if len(chosen) == 0:
        raise DomainError("estimators", chosen, "some estimator")
    for name in chosen:
        choice("estimators", name, ESTIMATORS)
        if not problem.m and name != "no-public-data":
            remedy = f"{name} takes the scale from public records; estimator no-public-data needs none"
            raise DomainError("m", problem.m, f"at least p = {problem.p}", remedy)
    return tuple(chosen)


def _reason(best: Prediction, rows: tuple[Prediction, ...]) -> str:
    if not float(best.relative) < ERROR_OF_ZERO:
        return (
            "No private estimate is predicted to beat w = 0, whose relative error is 1: the nearest, "
            f"{best.estimator}, has {float(best.relative):.3g}."
        )
    others = [row for row in rows if row is not best]
    if not others:
        return REASONS[best.estimator]
    second = min(others, key=lambda row: row.rank)
    times = float(second.relative) / float(best.relative)
    return f"{REASONS[best.estimator]} The next, {second.estimator}, has {times:.3g} times the error."


def _helps(problem: Problem, best: Prediction, surveys: bool) -> WhatHelps:
    """By messages, or where there are none by the best row of least squares, of which records alone are looked at."""
    if surveys:
        return what_helps(problem)
    return WhatHelps(n=records_needed(problem, best.estimator, 0.25), epsilon=None)


def _more(problem: Problem, estimator: Estimator) -> Iterator[MoreRecords]:
    """Ten times the private records, the public ones, both."""
    for private, public in FACTORS:
        n, m = min(problem.n * private, MOST_RECORDS), min(problem.m * public, MOST_RECORDS)
        if (n, m) != (problem.n, problem.m) and (public == 1 or problem.m):
            row = predict(dataclasses.replace(problem, n=n, m=m), estimator)
            yield MoreRecords(n=n, m=m, relative=float(row.relative))


def _needed(problem: Problem, estimator: Estimator, target: float) -> RecordsNeeded:
    return RecordsNeeded(
        target=target,
        proportional=records_needed(problem, estimator, target),
        fixed_m=records_needed(problem, estimator, target, fixed_m=True),
    )
