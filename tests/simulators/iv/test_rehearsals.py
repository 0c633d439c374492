"""Runs as they are planned: the settings are those of the plan, and runs of days are refused."""

from __future__ import annotations

import pytest

from dpbounds import DomainError
from dpbounds.iv import Population, TwoStageBudget, population_plan
from simulators.iv import planned_settings, population_model, rehearsals

POPULATION = Population(n=200, p=1, q=2)
PLAN = population_plan(POPULATION, TwoStageBudget(rho1=5.0, rho2=5.0, gamma1=20.0))


def test_settings_have_the_clip_norms_and_the_noise_of_the_plan() -> None:
    settings, budget = planned_settings(PLAN, 7), PLAN.budget_at(7)
    assert (settings.steps, settings.eta, settings.alpha) == (7, PLAN.population.eta, PLAN.population.alpha)
    assert (settings.gamma1, settings.gamma2) == PLAN.clip_norms(7) and settings.gamma1 == 20.0
    assert settings.noise_scales(200) == (budget.lambda1, budget.lambda2)


def test_runs_that_take_too_much() -> None:
    large = Population(n=10**8, p=1, q=2)
    plan = population_plan(large, TwoStageBudget.equal(1.0))
    model = population_model(POPULATION)
    with pytest.raises(DomainError, match="what is simulated are the records"):
        rehearsals(plan, model, [3], trials=10)
    with pytest.raises(DomainError, match=r"^trials = .* at most"):
        rehearsals(PLAN, model, [1000], trials=10**8)
    with pytest.raises(DomainError, match=r"^trials = .* fewer steps"):
        rehearsals(PLAN, model, [10**9], trials=10**3)
