"""What theory says of one run, a row for each number of steps T: noise, privacy, bound (7), predicted error.

The prediction is that of `dpbounds.iv.forecast`: leading order in the noise, clipping included; `reliable` says where
it holds. Sources as the functions called here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import count
from dpbounds.iv.bound import Optimum, Regimes, conditions, error_bound, optimal_steps, regimes
from dpbounds.iv.forecast import Forecast
from dpbounds.iv.general import General
from dpbounds.iv.leading_order import LeadingOrder, best_split
from dpbounds.iv.privacy import beta_only_attack, beta_only_cost, joint_cost, unnoised_cost
from dpbounds.iv.questions import Question
from dpbounds.iv.suggestions import Suggestion, suggested_clip_norms
from dpbounds.privacy import Conversion, zcdp_epsilon
from dpbounds.privacy.gaussian import RHO_RANGE

Row = dict[str, Any]

# Beyond these, products of them leave the range of doubles.
MOST = {"n": 10**12, "p": 200, "q": 10**6, "T": 10**9}
# Steps of the recursion at most: about a second.
MOST_STEPS = 30_000
# Curves end at this many times the best T, or the largest T asked for.
BEYOND = 4
# T that are tried for the best one, where clipping counts: whole numbers about this factor apart.
RATIO = 1.25
# Clipping counts from this share of the predicted error.
COUNTS = 0.1
PREDICTED = tuple(field.name for field in fields(Forecast) if field.name not in ("offset", "covariance"))
BOUND = ("optimisation", "privacy", "statistical", "total", "dominant")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is to be shown; None for what does not exist.

    `shown`: the T asked for, else the best ones. `best`: the T of least predicted error among those tried where the
    prediction is reliable. `share`: the part of the budget that the first stage should get there. `noise_bounds_T`:
    False without noise, when more steps are always better. `forecasts` by T; `curve`: the predicted root mean square
    by T.
    """

    question: Question
    rows: list[Row]
    shown: list[int]
    best: int | None
    optimum: Optimum | None
    regimes: Regimes | None
    share: float | None
    noise_bounds_T: bool
    forecasts: dict[int, Forecast]
    curve: dict[int, float]

    @cached_property
    def suggested(self) -> Suggestion | None:
        """Better clip norms, searched when first asked for; None without noise."""
        return suggested_clip_norms(self.question.forecaster, self.question.noise_of) if self.noise_bounds_T else None


@typed
def answer(question: Question, asked: Sequence[int], *, curve: bool = False) -> Answer:
    """The rows at the T asked for, at the best ones, and at a few from 1 to beyond them; the `curve` if it is wanted.

    Raises `DomainError` where a part of the question is out of range, as the functions called here do.
    """
    asked = [count("asked", steps) for steps in asked]
    predicted, (optimum, crossings) = _Predicted(question), _of_bound(question)
    noisy = min(question.rho1, question.rho2) < math.inf
    best = predicted.best(asked) if noisy else None
    bests = [steps for steps in (best, optimum.steps if optimum else None) if steps and steps <= MOST["T"]]
    shown = sorted({*asked} or {*bests} or {1})
    horizons = sorted({*shown, *bests, *_grid(max(*asked, *(BEYOND * steps for steps in bests), 20, 20))})
    predicted.prepare(horizons)
    rows = [_row(question, steps) | predicted.row(steps) for steps in horizons]
    for row in rows:
        row["best_for"] = _best_for(row["T"], best, optimum)
    return Answer(
        question=question,
        rows=rows,
        shown=shown,
        best=best,
        optimum=optimum,
        regimes=crossings,
        share=None if best is None else predicted.share(best),
        noise_bounds_T=noisy,
        forecasts=predicted.found,
        curve=predicted.curve(horizons[-1]) if curve else {},
    )


class _Predicted:
    """Forecasts of a question, each computed once."""

    def __init__(self, question: Question) -> None:
        self.question, self.forecaster = question, question.forecaster
        self.laws: dict[int, tuple[LeadingOrder, int]] = {}
        self.found: dict[int, Forecast] = {}

    def prepare(self, horizons: Iterable[int]) -> None:
        """One recursion for all, as far as it can be run."""
        problem = self.question.population
        longest = problem.most_steps if isinstance(problem, General) else MOST_STEPS
        new = sorted({T for T in horizons if T not in self.laws and min(T, problem.settled_after) <= longest})
        law = self.forecaster.expansion(new) if new else None
        self.laws |= {T: (law, at) for at, T in enumerate(new)} if law else {}

    def at(self, steps: int) -> Forecast | None:
        """None where it takes too many steps."""
        if steps not in self.laws:
            return None
        if steps not in self.found:
            scales = dict(zip(("lambda1", "lambda2"), map(float, self.question.noise(steps)), strict=True))
            gammas = dict(zip(("gamma1", "gamma2"), self.question.clip_norms(steps), strict=True))
            self.found[steps] = self.forecaster.forecast(steps, *self.laws[steps], **scales, **gammas)
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

    def best(self, asked: Sequence[int]) -> int | None:
        """T >= 1 of least root mean square among those tried, where the prediction is reliable; None if it is nowhere,
        or least beyond what is computed.

        Without clipping all T are compared; where clipping counts, those asked for and a grid.
        """
        first, last = self._unclipped_best()
        if first == last == MOST_STEPS < self.question.population.settled_after:
            return None
        self.prepare([first, *asked])
        found = self.at(first)
        tried = {first, *asked}
        if found is None or not found.reliable or found.clip_shift > COUNTS * (found.rms or 0.0):
            tried |= set(_spaced(min(last, BEYOND * max(first, 20))))
        self.prepare(tried)
        for T in sorted(tried, reverse=True):  # the longest clipped run first, which serves the others
            self.at(T)
        errors = {T: one.rms for T in sorted(tried) if (one := self.at(T)) and one.reliable and one.rms is not None}
        return min(errors, key=lambda T: errors[T]) if errors else None

    def _unclipped_best(self) -> tuple[int, int]:
        """The best T without clipping, and the largest that was compared."""
        terms = self.forecaster.error_terms(MOST_STEPS)
        compared = range(1, len(terms.first))
        lambda1, lambda2 = self.question.noise_path(compared).T
        rms = terms.at(compared).root_mean_square(lambda1, lambda2)
        return int(np.argmin(rms)) + 1, compared[-1]

    def share(self, steps: int) -> float | None:
        """Of the first stage in the budget; None without noise, or before both stages have moved beta."""
        (law, at), question = self.laws[steps], self.question
        parts = float(np.trace(law.first[at])), float(np.trace(law.second[at]))
        if max(question.rho1, question.rho2) == math.inf or min(parts) == 0:
            return None
        return float(best_split(law, *question.clip_norms(steps), step=at))


def _spaced(last: int) -> list[int]:
    """1, 2, ... up to `last`, from some point on about `RATIO` apart."""
    steps = [1]
    while steps[-1] < last:
        steps.append(min(last, max(steps[-1] + 1, round(RATIO * steps[-1]))))
    return steps


def _of_bound(question: Question) -> tuple[Optimum | None, Regimes | None]:
    """Where (7) is least and its terms meet; nothing without noise or contraction."""
    if not question.has_bound or question.kappa == 0 or min(question.rho1, question.rho2) == math.inf:
        return None, None
    setting = {**question.budgets, "kappa": question.kappa, "constants": question.constants}
    return optimal_steps(question.design, **setting), regimes(question.design, **setting)


def _grid(last: int) -> list[int]:
    """1, 2, 5, 10, 20, 50, ... up to `last`."""
    decades = range(len(str(last)))
    return [step * 10**decade for decade in decades for step in (1, 2, 5) if step * 10**decade <= last]


def _best_for(steps: int, best: int | None, optimum: Optimum | None) -> str | None:
    names = [name for name, at in (("prediction", best), ("bound", optimum.steps if optimum else None)) if at == steps]
    return ", ".join(names) or None


def _row(question: Question, steps: int) -> Row:
    """All but the prediction."""
    row: Row = {"T": steps, "best_for": None, "n": question.design.n, "p": question.design.p, "q": question.design.q}
    row |= {**question.budgets, "eta": question.population.eta, "alpha": question.population.alpha}
    row |= {"adjacency": question.adjacency, "calibration": question.calibration, "delta": question.delta}
    gammas, scales = question.clip_norms(steps), question.noise(steps)
    noise: Row = {"gamma1": gammas[0], "gamma2": gammas[1], "lambda1": float(scales[0]), "lambda2": float(scales[1])}
    return row | noise | _privacy(question, steps, noise) | _bound(question, steps)


def _privacy(question: Question, steps: int, noise: Row) -> Row:
    """zCDP costs and epsilons: of all iterates, of beta alone, and of Algorithm 3 with this lambda_2.

    What is claimed is converted as the paper does (Section 2.1), what is spent exactly: in the worst case over all data
    sets.
    """
    common: Row = {"n": question.design.n, "adjacency": question.adjacency}
    exact = float(joint_cost(steps=steps, **common, **noise))
    at_most = float(beta_only_cost(steps=steps, **common, **noise))
    second: Row = {"gamma2": noise["gamma2"], "lambda2": noise["lambda2"]}
    claimed = question.rho1 + question.rho2 if question.as_claimed else None
    beta_claimed = question.rho2 if question.as_claimed else None
    return {
        "rho_claimed": claimed,
        "rho_worst_case": exact,
        "epsilon_claimed": _epsilon(claimed, question.delta, "bun-steinke"),
        "epsilon_worst_case": _epsilon(exact, question.delta, "gaussian"),
        "beta_claimed": beta_claimed,
        "beta_at_least": _attack(question, steps, noise),
        "beta_at_most": at_most,
        "beta_epsilon_claimed": _epsilon(beta_claimed, question.delta, "bun-steinke"),
        "beta_epsilon_at_most": _epsilon(at_most, question.delta, "gaussian"),
        "algorithm_3_worst_case": float(unnoised_cost(steps=steps, **common, **second)),
    }


def _epsilon(rho: float | None, delta: float, method: Conversion) -> float | None:
    """None beyond the range of the conversion."""
    least, most = (float(end) for end in RHO_RANGE[1:-1].split(","))
    if rho == 0 or rho == math.inf:
        return rho
    return float(zcdp_epsilon(rho, delta, method)) if rho is not None and least <= rho <= most else None


def _attack(question: Question, steps: int, noise: Row) -> float | None:
    """A lower bound on the cost of beta alone; None for exact second stages, where none is known."""
    if steps == 1:
        return 0.0
    if noise["lambda2"] == 0:
        return None
    if noise["lambda1"] == 0:
        second: Row = {"gamma2": noise["gamma2"], "lambda2": noise["lambda2"]}
        return float(unnoised_cost(question.design.n, steps, **second, adjacency=question.adjacency))
    return float(beta_only_attack(question.design.n, **noise, adjacency=question.adjacency))


def _bound(question: Question, steps: int) -> Row:
    """The terms of (7), None without contraction, and the hypotheses that are not met."""
    if isinstance(question.population, General):
        return {**dict.fromkeys(BOUND), "kappa": question.kappa, "unmet": None}
    design, population = question.design, question.population
    setting = {**question.budgets, "constants": question.constants}
    hypotheses = conditions(design, question.bounds, eta=population.eta, alpha=population.alpha, steps=steps, **setting)
    row: Row = dict.fromkeys(BOUND)
    if question.has_bound:
        terms = error_bound(design, steps=steps, kappa=question.kappa, **setting)
        row = dict(zip(BOUND, (*map(float, terms), terms.total, terms.dominant), strict=True))
    unmet = [one._asdict() for one in hypotheses if not one.met]
    return {**row, "kappa": question.kappa, "unmet": unmet}
