"""One run of DP two-stage gradient descent as it is planned: problem, budget, step sizes, open constants.

A plan is of a population (`population_plan`) or of a data set (`data_plan`); `dpbounds.iv.answers` says what to expect.

>>> from dpbounds.iv.populations import Population
>>> plan = population_plan(Population(n=2000, p=5, q=5), TwoStageBudget(rho1=5.0, rho2=5.0))
>>> [round(norm, 2) for norm in plan.clip_norms(18)]
[38.09, 38.09]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, moderate_or_zero, positive, within
from dpbounds.gaussian_norm import norm_quantile
from dpbounds.iv.bound import Condition, clip_norm, conditions
from dpbounds.iv.budgets import TwoStageBudget, noise_scales
from dpbounds.iv.clipping import Records, gradient_norms
from dpbounds.iv.forecast import Forecaster
from dpbounds.iv.general import General
from dpbounds.iv.isotropic import GradientNorms, Isotropic, starting_gradient_norms
from dpbounds.iv.moments import Moments
from dpbounds.iv.noiseless import StepSizes, step_size_limits
from dpbounds.iv.populations import Population
from dpbounds.iv.quantities import (
    Constants,
    Design,
    Spectrum,
    experiment_step_sizes,
    spectrum,
    theorem_rates,
    theorem_step_limits,
)
from dpbounds.iv.suggestions import suggested_clip_norms
from dpbounds.iv.tables import DataSet

# delta = psi = 0: with unit constants psi exceeds the least singular value of Theta in most settings of use.
MANY_RECORDS = Constants(concentration=0.0, product=0.0)
# Of the gradients at 2SLS, clipped on a data set where no clip norms can be suggested.
CLIPPED_SHARE = 0.05


@typed
@dataclass(frozen=True, kw_only=True)
class Choices:
    """What is chosen for a run besides its budget.

    - `eta`, `alpha`: step sizes; None for half of the limits (3).
    - `constants`: those that the paper leaves open.
    - `delta`: the delta at which costs are converted to epsilon.

    Raises `DomainError` for delta outside [1e-300, 1); step sizes are checked where the problem is known.
    """

    eta: float | None = None
    alpha: float | None = None
    constants: Constants = MANY_RECORDS
    delta: float = 1e-5

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", within("delta", self.delta, "[1e-300, 1)"))


@typed
@dataclass(frozen=True, kw_only=True)
class Plan:
    """The problem with its step sizes, the budget and the constants.

    Clip norms of `budget` that are inf stand for those of eq. (4), which depend on T; noise is calibrated at each T.
    `records`: those of a data set whose moments `population` has; None for a population, with independent errors of
    deviations `sigma_1` and `design.sigma_2`. Raises `DomainError` for numbers out of range and noise given in the
    budget.
    """

    design: Design
    population: Isotropic | General
    constants: Constants
    budget: TwoStageBudget
    sigma_1: float
    delta: float
    records: Records | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma_1", moderate_or_zero("sigma_1", self.sigma_1))
        object.__setattr__(self, "delta", within("delta", self.delta, "[1e-300, 1)"))
        for name in ("lambda1", "lambda2"):
            if getattr(self.budget, name) is not None:
                raise DomainError(name, getattr(self.budget, name), "left to the budget", "a plan calibrates it to T")

    @cached_property
    def bounds(self) -> Spectrum:
        """delta, psi and the interval of eq. (10)."""
        return spectrum(self.design, self.constants)

    @cached_property
    def kappa(self) -> float:
        """Rate of eq. (10); of the run without noise where Cov z is not I, which (10) is not for."""
        if isinstance(self.population, General):
            return self.population.kappa
        return float(theorem_rates(self.bounds, self.population.eta, self.population.alpha).overall)

    @property
    def has_bound(self) -> bool:
        """Whether (7) is stated for it: Cov z = I, and a contraction."""
        return isinstance(self.population, Isotropic) and self.kappa < 1

    @property
    def is_noisy(self) -> bool:
        """Whether a stage has noise, so that there can be too many steps."""
        return self.budget.least < math.inf

    @cached_property
    def forecaster(self) -> Forecaster:
        """What predicts its error."""
        design = self.design
        return Forecaster(
            problem=self.population,
            n=design.n,
            sigma_1=self.sigma_1,
            sigma_2=design.sigma_2,
            records=self.records,
        )

    def clip_norms(self, steps: int) -> tuple[float, float]:
        """gamma_1, gamma_2 for T = `steps`."""
        printed = float(clip_norm(self.design, steps, self.constants))
        first, second = (printed if gamma == math.inf else gamma for gamma in (self.budget.gamma1, self.budget.gamma2))
        return first, second

    def budget_at(self, steps: int) -> TwoStageBudget:
        """The budget with clip norms and noise for T = `steps` written out."""
        gamma1, gamma2 = self.clip_norms(steps)
        return replace(self.budget, gamma1=gamma1, gamma2=gamma2).calibrated(self.design.n, steps)

    def noise_path(self, steps: Sequence[int]) -> Float[np.ndarray, "m 2"]:
        """lambda_1, lambda_2 for many T: proportional to the clip norms and to the root of how often data are used."""
        T = np.asarray(steps, dtype=float)
        used = np.column_stack([T / 2, T / 2 if self.budget.calibration == "paper" else T - 1])
        gammas = np.array([self.clip_norms(one) for one in steps])
        unit = noise_scales(replace(self.budget, gamma1=1.0, gamma2=1.0), self.design.n, 2)
        return np.array(unit, dtype=float) * gammas * np.sqrt(used)

    def unmet_conditions(self, steps: int, constants: Constants) -> list[Condition]:
        """The hypotheses of (7) that fail at T = `steps` with these constants; none where (7) is not stated."""
        if isinstance(self.population, General):
            return []
        bounds, run = spectrum(self.design, constants), self.population
        tested = conditions(
            self.design, bounds, self.budget, eta=run.eta, alpha=run.alpha, steps=steps, constants=constants
        )
        return [one for one in tested if not one.met]

    @property
    def starting_error(self) -> float:
        """||beta_hat||, the error of beta_0 = 0: of doing nothing."""
        return float(np.linalg.norm(self.population.beta))

    @property
    def starting_gradients(self) -> GradientNorms | None:
        """How long a record's gradients are at the start, root mean square; None where Cov z is not I."""
        if isinstance(self.population, General):
            return None
        return starting_gradient_norms(self.population, self.sigma_1, self.design.sigma_2)

    @property
    def two_stage_error(self) -> float:
        """Median of ||beta_hat - beta|| for many records: Cov (beta_hat - beta) tends to sigma_1² H^{-1} / n."""
        covariance = np.diag(self.sigma_1**2 / self.design.n / self.population.singular_values**2)
        return norm_quantile(np.zeros(self.design.p), covariance)


@typed
def population_plan(population: Population, budget: TwoStageBudget, choices: Choices | None = None) -> Plan:
    """The run on a population: in the singular basis of Theta where Cov z = I, else on its moments.

    Raises `DomainError` for step sizes that are not below (3), or below 2 / lambda_max where Cov z is given.
    """
    choices = choices or Choices()
    if population.instrument_covariance is None:
        _, singular_values, basis = np.linalg.svd(population.rows, full_matrices=False)
        design = population.design(singular_values)
        steps = theorem_step_sizes(spectrum(design, choices.constants), choices)
        problem = Isotropic(
            singular_values=singular_values, beta=basis @ population.coefficient, q=population.q, **steps._asdict()
        )
    else:
        drift = population.instrument_covariance @ population.rows
        moments = Moments(A=population.instrument_covariance, G=drift, b=drift @ population.coefficient, n=population.n)
        problem = General(moments=moments, **step_sizes(moments, choices)._asdict())
        # What Theta is for A = I is A^{1/2} Theta for the instruments once whitened.
        design = population.design(problem.singular_values)
    return Plan(
        design=design,
        population=problem,
        constants=choices.constants,
        budget=budget,
        sigma_1=population.sigma_1,
        delta=choices.delta,
    )


@typed
def data_plan(data: DataSet, budget: TwoStageBudget, choices: Choices | None = None) -> Plan:
    """The run on a data set; clip norms of `budget` that are inf are those suggested, or clip one gradient in twenty.

    Clip norms chosen so depend on the data: on private data they are to be chosen on public ones. Raises `DomainError`
    for step sizes that are not below 2 / lambda_max.
    """
    choices = choices or Choices()
    moments, records = Moments.of(data.Z, data.X, data.Y), Records.of(data.Z, data.X, data.Y)
    population = General(moments=moments, **step_sizes(moments, choices)._asdict())
    singular = population.singular_values
    design = Design(
        n=moments.n, p=moments.p, q=moments.q, theta_norm=float(singular[0]), theta_least=float(singular[-1])
    )
    plan = Plan(
        design=design,
        population=population,
        constants=choices.constants,
        budget=budget,
        sigma_1=1.0,  # the records stand for the errors
        delta=choices.delta,
        records=records,
    )
    norms = _clip_norms_of_data(plan, records)
    gammas = (
        norm if gamma == math.inf else gamma for gamma, norm in zip((budget.gamma1, budget.gamma2), norms, strict=True)
    )
    return replace(plan, budget=replace(budget, **dict(zip(("gamma1", "gamma2"), gammas, strict=True))))


def step_sizes(moments: Moments, choices: Choices) -> StepSizes:
    """Those chosen, below 2 / lambda_max; else half of (3): 1 / lambda_max(A) and 2 / (2 h_max + h_min), h of H."""
    h = np.linalg.eigvalsh(moments.hessian)
    limits = step_size_limits(moments)
    found = {"eta": limits.eta / 2, "alpha": 2 / (2 * float(h[-1]) + float(h[0]))}
    for name, matrix in (("eta", "Cov z"), ("alpha", "Theta' Cov(z) Theta")):
        value, limit = getattr(choices, name), getattr(limits, name)
        if value is not None and not positive(name, value) < limit:
            raise DomainError(name, value, f"below 2 / lambda_max({matrix}) = {limit:.6g}", "the stage diverges")
        found[name] = found[name] if value is None else float(value)
    return StepSizes(**found)


def theorem_step_sizes(bounds: Spectrum, choices: Choices) -> StepSizes:
    """Those chosen, in the range of eq. (3), which the theorem asks for; else half of it."""
    limits = dict(zip(("eta", "alpha"), theorem_step_limits(bounds), strict=True))
    formulas = {"eta": "2 / (1 + delta)²", "alpha": "4 / (2 gamma-upper + gamma-lower)"}
    found = experiment_step_sizes(bounds)._asdict()
    for name, limit in limits.items():
        value = getattr(choices, name)
        if value is not None and not positive(name, value) < limit:
            raise DomainError(name, value, f"below {formulas[name]} = {limit:.6g}", "iv eq. (3)")
        found[name] = float(found[name] if value is None else value)
    return StepSizes(**found)


def _clip_norms_of_data(plan: Plan, records: Records) -> tuple[float, float]:
    """Those suggested, else quantiles of the gradients at 2SLS."""
    found = suggested_clip_norms(plan.forecaster, plan.budget) if plan.is_noisy else None
    if found is not None:
        return found.gamma1, found.gamma2
    ends = gradient_norms(records, plan.population, start=False)
    first, second = (float(np.quantile(norms, 1 - CLIPPED_SHARE)) for norms in ends)
    return first, second
