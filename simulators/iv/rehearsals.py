"""Algorithm 1 as it is planned, clipped and noisy, to be simulated beside what is predicted.

>>> from dpbounds.iv import Population, TwoStageBudget, population_plan
>>> population = Population(n=100, p=1, q=2)
>>> plan = population_plan(population, TwoStageBudget(rho1=5.0, rho2=5.0))
>>> runs = rehearsals(plan, population_model(population), [3, 5], trials=10)
>>> sorted(runs), runs[3].settings.steps
([3, 5], 3)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError
from dpbounds.iv.plans import Plan
from dpbounds.iv.populations import Population
from dpbounds.iv.tables import DataSet
from simulators.engine import Experiment
from simulators.iv.problems import FixedData, LinearModel
from simulators.iv.settings import Settings
from simulators.iv.two_stage import two_stage_descent

# Numbers that a step of one trial touches: beyond, records do not fit into memory.
MOST_CELLS = 50_000_000
# Of all steps and trials: hours.
MOST_WORK = 1e13
# Of one block of trials: a second or two; and trials of a block at most.
BLOCK_WORK, MOST_BLOCK = 3e8, 1000
# With fewer trials a median has no interval.
LEAST_TRIALS = 10


@typed
def population_model(population: Population) -> LinearModel:
    """Gaussian instruments and independent Gaussian errors, fresh records in every trial."""
    p, q = population.p, population.q
    theta = np.zeros((q, p))
    theta[: len(population.rows)] = population.rows
    errors = np.diag([population.sigma_2**2] * p + [population.sigma_1**2])
    return LinearModel(
        n=population.n,
        beta=population.coefficient,
        theta=theta,
        error_covariance=errors,
        instrument_covariance=population.instrument_covariance,
    )


@typed
def data_problem(data: DataSet) -> FixedData:
    """The records of the data set, the same in every trial."""
    return FixedData(instruments=data.Z, regressors=data.X, outcome=data.Y)


@typed
def planned_settings(plan: Plan, steps: int) -> Settings:
    """The plan at T = `steps`, with its clip norms and noise in numbers."""
    budget, run = plan.budget_at(steps), plan.population
    noise = {name: getattr(budget, name) for name in ("gamma1", "gamma2", "lambda1", "lambda2")}
    return Settings(steps=steps, eta=run.eta, alpha=run.alpha, **noise)


@typed
def rehearsals(
    plan: Plan, problem: LinearModel | FixedData, steps: Sequence[int], *, trials: int
) -> dict[int, Experiment]:
    """The plan at each T in `steps` on this problem, to be run for so many trials.

    Raises `DomainError` for records that do not fit into memory, and work of days.
    """
    design = plan.design
    # Of each record: instruments, regressors, fitted values and residuals of both stages, outcome, norms and weights.
    numbers = design.q + 3 * design.p + 4
    cells = design.n * numbers
    if cells > MOST_CELLS:
        most = MOST_CELLS // numbers
        raise DomainError("n", design.n, f"at most {most} to be simulated", "what is simulated are the records")
    total = sum(steps)
    if cells * total * trials > MOST_WORK:
        most = int(MOST_WORK / cells / total)
        remedy = f"at most {most}" if most >= LEAST_TRIALS else "fewer steps T"
        raise DomainError("trials", trials, f"fewer for n = {design.n} and {total} steps in all", remedy)
    return {
        T: Experiment(
            algorithm=two_stage_descent,
            problem=problem,
            settings=planned_settings(plan, T),
            block_trials=int(min(MOST_BLOCK, max(1, BLOCK_WORK // (cells * T)))),
        )
        for T in steps
    }
