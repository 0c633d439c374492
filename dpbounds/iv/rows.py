"""What theory says of one run at one number of steps T: noise, privacy and the bound (7), as a row of named numbers.

Sources as the functions called here.

>>> from dpbounds.iv.plans import population_plan
>>> from dpbounds.iv.populations import Population
>>> plan = population_plan(Population(n=2000, p=5, q=5), TwoStageBudget(rho1=5.0, rho2=5.0))
>>> row = plan_row(plan, 18)
>>> row["rho_claimed"], round(row["rho_worst_case"], 3), row["dominant"]
(10.0, 4.861, 'statistical')
"""

from __future__ import annotations

import math
from typing import Any

from dpbounds.arguments import typed
from dpbounds.errors import DomainError
from dpbounds.iv.bound import ErrorBound, error_bound
from dpbounds.iv.budgets import TwoStageBudget
from dpbounds.iv.general import General
from dpbounds.iv.plans import Plan
from dpbounds.iv.privacy import beta_only_attack, beta_only_cost, joint_cost, unnoised_cost
from dpbounds.privacy import Conversion, zcdp_epsilon

Row = dict[str, Any]

BOUND = (*ErrorBound._fields, "total", "dominant")


@typed
def plan_row(plan: Plan, steps: int) -> Row:
    """Columns of T, problem, budget, noise, privacy and the terms of (7); None for what does not exist."""
    row: Row = {"T": steps, "best_for": None, "n": plan.design.n, "p": plan.design.p, "q": plan.design.q}
    row |= {"rho1": plan.budget.rho1, "rho2": plan.budget.rho2}
    row |= {"eta": plan.population.eta, "alpha": plan.population.alpha}
    row |= {"adjacency": plan.budget.adjacency, "calibration": plan.budget.calibration, "delta": plan.delta}
    budget = plan.budget_at(steps)
    noise = {name: getattr(budget, name) for name in ("gamma1", "gamma2", "lambda1", "lambda2")}
    return row | noise | _privacy(plan, budget, steps) | _bound(plan, steps)


def _privacy(plan: Plan, budget: TwoStageBudget, steps: int) -> Row:
    """zCDP costs and epsilons: of all iterates, of beta alone, and of Algorithm 3 with this lambda_2.

    What is claimed is converted as the paper does (Section 2.1), what is spent exactly: in the worst case over all data
    sets.
    """
    n, delta = plan.design.n, plan.delta
    exact, at_most = float(joint_cost(budget, n, steps)), float(beta_only_cost(budget, n, steps))
    claimed = budget.total if budget.is_as_printed else None
    beta_claimed = budget.rho2 if budget.is_as_printed else None
    return {
        "rho_claimed": claimed,
        "rho_worst_case": exact,
        "epsilon_claimed": _epsilon(claimed, delta, "bun-steinke"),
        "epsilon_worst_case": _epsilon(exact, delta, "gaussian"),
        "beta_claimed": beta_claimed,
        "beta_at_least": _least_cost(budget, n, steps),
        "beta_at_most": at_most,
        "beta_epsilon_claimed": _epsilon(beta_claimed, delta, "bun-steinke"),
        "beta_epsilon_at_most": _epsilon(at_most, delta, "gaussian"),
        "algorithm_3_worst_case": float(unnoised_cost(budget, n, steps)),
    }


def _epsilon(rho: float | None, delta: float, method: Conversion) -> float | None:
    """None beyond the range of the conversion."""
    if rho is None or rho in (0, math.inf):
        return rho
    try:
        return float(zcdp_epsilon(rho, delta, method))
    except DomainError:
        return None


def _least_cost(budget: TwoStageBudget, n: int, steps: int) -> float | None:
    """A lower bound on the cost of beta alone; None for exact second stages, where none is known."""
    if steps == 1:
        return 0.0
    if budget.lambda2 == 0:
        return None
    bound = unnoised_cost if budget.lambda1 == 0 else beta_only_attack
    return float(bound(budget, n, steps))


def _bound(plan: Plan, steps: int) -> Row:
    """The terms of (7), None without contraction, and the hypotheses that are not met."""
    row: Row = {**dict.fromkeys(BOUND), "kappa": plan.kappa, "unmet": None}
    if plan.has_bound:
        terms = error_bound(plan.design, plan.budget, steps=steps, kappa=plan.kappa, constants=plan.constants)
        row |= dict(zip(BOUND, (*map(float, terms), terms.total, terms.dominant), strict=True))
    if not isinstance(plan.population, General):
        row["unmet"] = [one._asdict() for one in plan.unmet_conditions(steps, plan.constants)]
    return row
