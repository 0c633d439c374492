"""What theory says of one run of Algorithm 1, a row for each number of steps T, as `dpbounds solve iv` prints it.

`population_answer` is for a population, `data_answer` for a data set, `answer` for any plan. The prediction is that of
`dpbounds.iv.forecast`: leading order in the noise, clipping included; `reliable` says where it holds.

>>> found = population_answer(Population(n=2000, p=1, q=1), TwoStageBudget(rho1=5.0, rho2=5.0))
>>> found.best, found.optimum.steps, round(found.row(5)["median"], 3)
(5, 28, 0.018)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError
from dpbounds.iv.bound import Condition, ErrorBound, Optimum, Regimes, error_bound, optimal_steps, regimes
from dpbounds.iv.budgets import TwoStageBudget
from dpbounds.iv.forecast import Forecast
from dpbounds.iv.general import General
from dpbounds.iv.leading_order import LeadingOrder, best_split
from dpbounds.iv.plans import Choices, Plan, data_plan, population_plan
from dpbounds.iv.populations import MOST, Population, check_size
from dpbounds.iv.quantities import UNIT
from dpbounds.iv.rows import Row, plan_row
from dpbounds.iv.suggestions import Suggestion, suggested_clip_norms
from dpbounds.iv.tables import DataSet

# Steps of the recursion at most: about a second.
MOST_STEPS = 30_000
# Curves end at this many times the best T, or the largest T wanted, and at this T at least.
BEYOND, LEAST_END = 4, 20
# T that are tried for the best one, where clipping counts: whole numbers about this factor apart.
RATIO = 1.25
# Clipping counts from this share of the predicted error.
COUNTS = 0.1
PREDICTED = tuple(field.name for field in fields(Forecast) if field.name not in ("offset", "covariance"))


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is to be shown; None for what does not exist.

    `shown`: the T wanted, else the best ones. `best`: the T of least predicted error among those tried where the
    prediction is reliable. `share`: the part of the budget that the first stage should get there. `forecasts` by T;
    `curve`: the predicted root mean square by T.
    """

    plan: Plan
    rows: list[Row]
    shown: list[int]
    best: int | None
    optimum: Optimum | None
    regimes: Regimes | None
    share: float | None
    forecasts: dict[int, Forecast]
    curve: dict[int, float]

    def row(self, steps: int) -> Row:
        """The row at T = `steps`; `DomainError` where there is none."""
        by_steps = {row["T"]: row for row in self.rows}
        if steps not in by_steps:
            raise DomainError("steps", steps, f"one of {', '.join(map(str, by_steps))}", "ask for it in the answer")
        return by_steps[steps]

    @cached_property
    def suggested(self) -> Suggestion | None:
        """Better clip norms, searched when first asked for; None without noise."""
        return suggested_clip_norms(self.plan.forecaster, self.plan.budget) if self.plan.is_noisy else None

    @property
    def is_useless(self) -> bool:
        """Whether the best run is no better than beta_0 = 0."""
        return self.best is not None and (self.forecasts[self.best].rms or 0.0) >= self.plan.starting_error

    @property
    def unmet_with_unit_constants(self) -> list[Condition]:
        """The hypotheses of (7) that fail with all constants 1 at the last T shown, where others were used."""
        return [] if self.plan.constants == UNIT else self.plan.unmet_conditions(self.shown[-1], UNIT)

    def bounds(self, points: int) -> dict[int, ErrorBound]:
        """(7) by T, at most so many points evenly spaced in log T up to the last row; empty where it is void."""
        plan = self.plan
        if not plan.has_bound:
            return {}
        steps = sorted({round(float(number)) for number in np.geomspace(1, self.rows[-1]["T"], points)})
        setting = {"kappa": plan.kappa, "constants": plan.constants}
        return {T: error_bound(plan.design, plan.budget, steps=T, **setting) for T in steps}


@typed
def population_answer(
    population: Population,
    budget: TwoStageBudget,
    steps: Sequence[int] = (),
    *,
    choices: Choices | None = None,
    split: bool = False,
    curve: bool = False,
) -> Answer:
    """The answer for a population, at the T in `steps` or at the best ones.

    `split`: the total of the budget is shared for the least error where that is predicted, in place of the shares in
    `budget`. Clip norms of `budget` that are inf are those of eq. (4). Raises `DomainError` as `population_plan`.
    """
    return _split_answer(lambda own: population_plan(population, own, choices), budget, steps, split, curve)


@typed
def data_answer(
    data: DataSet,
    budget: TwoStageBudget,
    steps: Sequence[int] = (),
    *,
    choices: Choices | None = None,
    split: bool = False,
    curve: bool = False,
) -> Answer:
    """The answer for a data set, as `population_answer`; rows have `coefficients`, each in the table's units.

    Clip norms of `budget` that are inf are those suggested by the data. Nothing of it is private. Raises `DomainError`
    as `data_plan`.
    """
    found = _split_answer(lambda own: data_plan(data, own, choices), budget, steps, split, curve)
    for row in found.rows:
        row["coefficients"] = data.coefficients(found.forecasts.get(row["T"]))
        row |= {"cragg_donald": data.strength.cragg_donald, "dropped": data.dropped, "scale": data.scale}
    return found


@typed
def answer(plan: Plan, steps: Sequence[int] = (), *, curve: bool = False) -> Answer:
    """The rows at the T in `steps`, at the best ones, and at a few from 1 to beyond them; the `curve` if it is wanted.

    Raises `DomainError` where a part of the plan is out of range, as the functions called here do.
    """
    for T in steps:
        check_size("T", T)
    wanted = [int(T) for T in steps]
    predicted, (optimum, crossings) = _Predicted(plan), _of_bound(plan)
    best = predicted.best(wanted) if plan.is_noisy else None
    bests = [T for T in (best, optimum.steps if optimum else None) if T and MOST["T"] >= T]
    shown = sorted({*wanted} or {*bests} or {1})
    end = max(*wanted, *(BEYOND * T for T in bests), LEAST_END, LEAST_END)
    horizons = sorted({*shown, *bests, *_grid(end)})
    predicted.prepare(horizons)
    rows = [plan_row(plan, T) | predicted.row(T) for T in horizons]
    for row in rows:
        row["best_for"] = _best_for(row["T"], best, optimum)
    return Answer(
        plan=plan,
        rows=rows,
        shown=shown,
        best=best,
        optimum=optimum,
        regimes=crossings,
        share=None if best is None else predicted.share(best),
        forecasts=predicted.found,
        curve=predicted.curve(horizons[-1]) if curve else {},
    )


def _split_answer(
    planned: Callable[[TwoStageBudget], Plan], budget: TwoStageBudget, steps: Sequence[int], split: bool, curve: bool
) -> Answer:
    """The answer with this budget, or with the shares that are best with this budget where it is to be split."""
    found = answer(planned(budget), steps, curve=curve)
    if not split or found.share is None:
        return found
    return answer(planned(budget.split(found.share)), steps, curve=curve)


class _Predicted:
    """Forecasts of a plan, each computed once."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.forecaster = plan, plan.forecaster
        self.laws: dict[int, tuple[LeadingOrder, int]] = {}
        self.found: dict[int, Forecast] = {}

    def prepare(self, horizons: Iterable[int]) -> None:
        """One recursion for all, as far as it can be run."""
        problem = self.plan.population
        longest = problem.most_steps if isinstance(problem, General) else MOST_STEPS
        new = sorted({T for T in horizons if T not in self.laws and min(T, problem.settled_after) <= longest})
        law = self.forecaster.expansion(new) if new else None
        self.laws |= {T: (law, at) for at, T in enumerate(new)} if law else {}

    def at(self, steps: int) -> Forecast | None:
        """None where it takes too many steps."""
        if steps not in self.laws:
            return None
        if steps not in self.found:
            self.found[steps] = self.forecaster.forecast(self.plan.budget_at(steps), steps, *self.laws[steps])
        return self.found[steps]

    def row(self, steps: int) -> Row:
        """The columns of a prediction."""
        found = self.at(steps)
        if found is None:
            return dict.fromkeys(PREDICTED)
        return {name: getattr(found, name) for name in PREDICTED} | {"limits": list(found.limits)}

    def curve(self, last: int) -> dict[int, float]:
        """Root mean square at T up to `last`, where it is reliable."""
        steps = _spaced(last)
        self.prepare(steps)
        found = {T: self.at(T) for T in steps}
        return {T: one.rms for T, one in found.items() if one is not None and one.reliable and one.rms is not None}

    def best(self, steps: Sequence[int]) -> int | None:
        """T >= 1 of least root mean square among those tried, where the prediction is reliable; None if it is nowhere,
        or least beyond what is computed.

        Without clipping all T are compared; where clipping counts, `steps` and a grid.
        """
        first, last = self._unclipped_best()
        if first == last == MOST_STEPS < self.plan.population.settled_after:
            return None
        self.prepare([first, *steps])
        found = self.at(first)
        tried = {first, *steps}
        if found is None or not found.reliable or found.clip_shift > COUNTS * (found.rms or 0.0):
            tried |= set(_spaced(min(last, BEYOND * max(first, LEAST_END))))
        self.prepare(tried)
        for T in sorted(tried, reverse=True):  # the longest clipped run first, which serves the others
            self.at(T)
        errors = {T: one.rms for T in sorted(tried) if (one := self.at(T)) and one.reliable and one.rms is not None}
        return min(errors, key=lambda T: errors[T]) if errors else None

    def _unclipped_best(self) -> tuple[int, int]:
        """The best T without clipping, and the largest that was compared."""
        terms = self.forecaster.error_terms(MOST_STEPS)
        compared = range(1, len(terms.first))
        lambda1, lambda2 = self.plan.noise_path(compared).T
        rms = terms.at(compared).root_mean_square(lambda1, lambda2)
        return int(np.argmin(rms)) + 1, compared[-1]

    def share(self, steps: int) -> float | None:
        """Of the first stage in the budget; None without noise, or before both stages have moved beta."""
        law, at = self.laws[steps]
        parts = float(np.trace(law.first[at])), float(np.trace(law.second[at]))
        if self.plan.budget.total == math.inf or min(parts) == 0:
            return None
        return float(best_split(law, *self.plan.clip_norms(steps), step=at))


def _spaced(last: int) -> list[int]:
    """1, 2, ... up to `last`, from some point on about `RATIO` apart."""
    steps = [1]
    while steps[-1] < last:
        steps.append(min(last, max(steps[-1] + 1, round(RATIO * steps[-1]))))
    return steps


def _of_bound(plan: Plan) -> tuple[Optimum | None, Regimes | None]:
    """Where (7) is least and its terms meet; nothing without noise or contraction."""
    if not plan.has_bound or plan.kappa == 0 or not plan.is_noisy:
        return None, None
    optimum = optimal_steps(plan.design, plan.budget, kappa=plan.kappa, constants=plan.constants)
    return optimum, regimes(plan.design, plan.budget, kappa=plan.kappa, constants=plan.constants)


def _grid(last: int) -> list[int]:
    """1, 2, 5, 10, 20, 50, ... up to `last`."""
    decades = range(len(str(last)))
    return [step * 10**decade for decade in decades for step in (1, 2, 5) if step * 10**decade <= last]


def _best_for(steps: int, best: int | None, optimum: Optimum | None) -> str | None:
    names = [name for name, at in (("prediction", best), ("bound", optimum.steps if optimum else None)) if at == steps]
    return ", ".join(names) or None
