"""Random plans of Algorithm 1, with the linear model that each is about: what predictions are tried on."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpbounds.iv import Calibration, Constants, Design, Moments, Plan, TwoStageBudget
from dpbounds.iv.clipping import gradient_norms
from dpbounds.iv.forecast import Forecast, Forecaster
from dpbounds.iv.general import General
from simulators.iv import LinearModel, Settings, planned_settings

# Most regressors, and most instruments beyond them.
REGRESSORS, MORE = 4, 3


class PlannedRun(NamedTuple):
    """A run of Algorithm 1: the plan, where its data come from, how many steps."""

    plan: Plan
    model: LinearModel
    steps: int

    def forecast(self) -> Forecast:
        """As `solve iv` predicts it."""
        forecaster = self.plan.forecaster
        return forecaster.forecast(self.plan.budget_at(self.steps), self.steps, forecaster.expansion([self.steps]), 0)

    @property
    def settings(self) -> Settings:
        """As it is simulated."""
        return planned_settings(self.plan, self.steps)

    @property
    def words(self) -> str:
        """The setting in a line."""
        design = self.plan.design
        return f"n = {design.n}, p = {design.p}, q = {design.q}, T = {self.steps}"


def random_run(rng: np.random.Generator, *, records: tuple[float, float]) -> PlannedRun:
    """n from `records`, strengths, Cov z (I half of the time), errors, budgets, T, step sizes; clip norms that clip a
    thousandth to a quarter of the gradients at the solution, in each stage by itself.
    """
    p = int(rng.integers(1, REGRESSORS + 1))
    q, n = p + int(rng.integers(0, MORE + 1)), int(_between(rng, *records))
    theta = rng.standard_normal((q, p))
    theta *= _between(rng, 0.5, 2.0) / np.linalg.norm(theta, 2)
    mixing = rng.standard_normal((q, q))
    covariance = np.eye(q) + (rng.random() < 0.5) * _between(rng, 0.1, 2.0) * mixing @ mixing.T / q
    covariance = (covariance + covariance.T) / 2
    beta = rng.standard_normal(p)
    sigma_1, sigma_2 = _between(rng, 0.3, 2.0), _between(rng, 0.3, 2.0)
    drift = covariance @ theta
    moments = Moments(A=covariance, G=drift, b=drift @ beta, n=n)
    h = np.linalg.eigvalsh(moments.hessian)
    eta = rng.uniform(0.5, 1.2) / float(np.linalg.eigvalsh(covariance)[-1])
    alpha = rng.uniform(0.6, 1.2) * 2 / float(2 * h[-1] + h[0])
    population = General(moments=moments, eta=eta, alpha=alpha)
    clipped = _between(rng, 1e-3, 0.25), _between(rng, 1e-3, 0.25)
    budgets = _between(rng, 0.1, 30), _between(rng, 0.1, 30)
    calibration = "paper" if rng.random() < 0.5 else "tight"
    plan = clipping_plan(population, (sigma_1, sigma_2), budgets, clipped, calibration)
    errors = np.diag([sigma_2**2] * p + [sigma_1**2])
    model = LinearModel(n=n, beta=beta, theta=theta, error_covariance=errors, instrument_covariance=covariance)
    return PlannedRun(plan, model, max(1, int(_between(rng, 1, 60))))


def clipping_plan(
    population: General,
    sigmas: tuple[float, float],
    budgets: tuple[float, float],
    clipped: tuple[float, float],
    calibration: Calibration = "paper",
) -> Plan:
    """The plan with clip norms that these shares of the gradients at the solution exceed."""
    moments, singular, (sigma_1, sigma_2) = population.moments, population.singular_values, sigmas
    nodes = Forecaster(problem=population, n=moments.n, sigma_1=sigma_1, sigma_2=sigma_2).nodes
    norms = gradient_norms(nodes, population, start=False)
    gamma1, gamma2 = (float(np.quantile(one, 1 - share)) for one, share in zip(norms, clipped, strict=True))
    design = Design(
        n=moments.n,
        p=moments.p,
        q=moments.q,
        theta_norm=float(singular[0]),
        theta_least=float(singular[-1]),
        sigma_2=sigma_2,
    )
    rho1, rho2 = budgets
    return Plan(
        design=design,
        population=population,
        constants=Constants(concentration=0.0, product=0.0),
        budget=TwoStageBudget(rho1=rho1, rho2=rho2, gamma1=gamma1, gamma2=gamma2, calibration=calibration),
        sigma_1=sigma_1,
        delta=1e-5,
    )


def _between(rng: np.random.Generator, least: float, most: float) -> float:
    """With a uniform logarithm."""
    return math.exp(rng.uniform(math.log(least), math.log(most)))
