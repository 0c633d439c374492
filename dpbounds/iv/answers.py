"""What theory says of one run, a row for each number of steps T: noise, privacy, bound (7), predicted error.

The prediction is of leading order in the noise, for instruments with identity covariance and gradients that are not
clipped; `reliable` says where the noise in Theta is too large for it. Sources as the functions called here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbounds.iv.bound import Optimum, Regimes, conditions, error_bound, optimal_steps, regimes
from dpbounds.iv.gaussian_norm import norm_quantile
from dpbounds.iv.isotropic import ErrorTerms, isotropic_error_terms, isotropic_expansion
from dpbounds.iv.laws import noise_variances
from dpbounds.iv.leading_order import LeadingOrder, best_split
from dpbounds.iv.privacy import beta_only_attack, beta_only_cost, joint_cost, unnoised_cost
from dpbounds.iv.questions import Question
from dpbounds.privacy import Conversion, zcdp_epsilon
from dpbounds.privacy.gaussian import RHO_RANGE

Row = dict[str, Any]

# Beyond these, products of them leave the range of doubles.
MOST = {"n": 10**12, "p": 200, "q": 10**6, "T": 10**9}
# Steps of the recursion at most: about a second.
MOST_STEPS = 30_000
# Curves end at this many times the best T, or the largest T asked for.
BEYOND = 4
# Expected norm of the noise in Theta, in units of Theta's least singular value. Against exact laws (eta from 0.4 to 1,
# p up to 5, q up to 20) the predicted median is within 3 % up to 0.3, within 10 % up to 0.5, and up to 40 % off at 1.
RELIABLE = 0.5
PREDICTED = ("noiseless", "first_noise", "second_noise", "shift", "median", "rms")
BOUND = ("optimisation", "privacy", "statistical", "total", "dominant")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is to be shown; None for what does not exist.

    `shown`: the T asked for, else the best ones. `best`: the T of least predicted error. `share`: the part of the
    budget that the first stage should get there. `terms`: the curve of the prediction, t = 0, 1, ...
    """

    question: Question
    rows: list[Row]
    shown: list[int]
    best: int | None
    optimum: Optimum | None
    regimes: Regimes | None
    share: float | None
    terms: ErrorTerms


def answer(question: Question, asked: Sequence[int]) -> Answer:
    """The rows at the T asked for, at the best ones, and at a few from 1 to beyond them.

    Raises `DomainError` where a part of the question is out of range, as the functions called here do.
    """
    terms = isotropic_error_terms(question.population, MOST_STEPS)
    best, (optimum, crossings) = _best_steps(question, terms), _of_bound(question)
    bests = [steps for steps in (best, optimum.steps if optimum else None) if steps and steps <= MOST["T"]]
    shown = sorted({*asked} or {*bests} or {1})
    horizons = sorted({*shown, *bests, *_grid(max(*asked, *(BEYOND * steps for steps in bests), 20, 20))})
    predictable = [steps for steps in horizons if min(steps, question.population.settled_after) <= MOST_STEPS]
    law = isotropic_expansion(question.population, predictable)
    rows = [_row(question, steps) | _predicted(question, steps, law, predictable) for steps in horizons]
    for row in rows:
        row["best_for"] = _best_for(row["T"], best, optimum)
    share = _share(question, law, predictable.index(best)) if best is not None else None
    return Answer(
        question=question,
        rows=rows,
        shown=shown,
        best=best,
        optimum=optimum,
        regimes=crossings,
        share=share,
        terms=terms,
    )


def predicted_rms(question: Question, terms: ErrorTerms, horizons: Sequence[int]) -> np.ndarray:
    """Root mean square of ||beta_T - beta_hat|| at each T >= 1, with the noise that T calls for."""
    lambda1, lambda2 = np.array([question.noise(steps) for steps in horizons], dtype=float).T
    return terms.at(horizons).root_mean_square(lambda1, lambda2)


def _best_steps(question: Question, terms: ErrorTerms) -> int | None:
    """T >= 1 of least predicted root mean square; None where it only falls, or falls beyond what is computed."""
    if question.rho1 == question.rho2 == math.inf:
        return None
    best = int(np.argmin(predicted_rms(question, terms, range(1, len(terms.first))))) + 1
    return None if best == MOST_STEPS < question.population.settled_after else best


def _of_bound(question: Question) -> tuple[Optimum | None, Regimes | None]:
    """Where (7) is least and its terms meet; nothing without noise or contraction."""
    if not 0 < question.kappa < 1 or min(question.rho1, question.rho2) == math.inf:
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
    design, population = question.design, question.population
    setting = {**question.budgets, "constants": question.constants}
    hypotheses = conditions(design, question.bounds, eta=population.eta, alpha=population.alpha, steps=steps, **setting)
    row: Row = dict.fromkeys(BOUND)
    if question.kappa < 1:
        terms = error_bound(design, steps=steps, kappa=question.kappa, **setting)
        row = dict(zip(BOUND, (*map(float, terms), terms.total, terms.dominant), strict=True))
    unmet = [one._asdict() for one in hypotheses if not one.met]
    return {**row, "kappa": question.kappa, "unmet": unmet}


def _predicted(question: Question, steps: int, law: LeadingOrder, horizons: Sequence[int]) -> Row:
    """The error of leading order by term, and of the Gaussian law; None where it takes too many steps."""
    if steps not in horizons:
        return {**dict.fromkeys(PREDICTED), "theta_noise": None, "reliable": None}
    at, target = horizons.index(steps), question.population.beta
    lambda1, lambda2 = (float(scale) for scale in question.noise(steps))
    mean, covariance = law.law(at, lambda1, lambda2)
    numbers = (
        float(np.linalg.norm(law.noiseless[at] - target)),
        lambda1 * math.sqrt(float(np.trace(law.first[at]))),
        lambda2 * math.sqrt(float(np.trace(law.second[at]))),
        lambda1**2 * float(np.linalg.norm(law.shift[at])),
        norm_quantile(mean - target, covariance),
        math.sqrt(float(np.sum((mean - target) ** 2) + np.trace(covariance))),
    )
    noise = _theta_noise(question, steps, lambda1)
    return dict(zip(PREDICTED, numbers, strict=True)) | {"theta_noise": noise, "reliable": noise <= RELIABLE}


def _theta_noise(question: Question, steps: int, lambda1: float) -> float:
    """(sqrt(p) + sqrt(q)) times the deviation of an entry of Theta_T, over sigma_min(Theta)."""
    variance = float(noise_variances(np.ones(1), question.population.eta, steps)[0])
    norm = math.sqrt(question.design.p) + math.sqrt(question.design.q)
    return norm * lambda1 * math.sqrt(variance) / question.design.theta_least


def _share(question: Question, law: LeadingOrder, at: int) -> float | None:
    """None where nothing can be split: without noise, or before both stages have moved beta."""
    parts = float(np.trace(law.first[at])), float(np.trace(law.second[at]))
    if max(question.rho1, question.rho2) == math.inf or min(parts) == 0:
        return None
    return float(best_split(law, *question.clip_norms(1), step=at))
