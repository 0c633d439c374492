"""The synthetic experiments of iv Section 4.1 and Appendix G: data, step sizes, clip norms, runs and predicted errors.

What the paper leaves open is chosen here: delta = psi = 0 in the step sizes (with constants of order 1 psi exceeds the
least singular value of Theta), c_0 = 3 in the clip norms (4), parameters drawn with seed 0, whose slowest direction
keeps 1 % of its error after 20 steps. Claims vary them.

Predictions are medians of the leading-order law at the population moments, A = I and b = Theta beta; for the error
against the true beta the fluctuation of 2SLS is added.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from dpbounds.gaussian_norm import norm_quantile
from dpbounds.iv import (
    Constants,
    Design,
    LeadingOrder,
    Moments,
    Spectrum,
    clip_norm,
    noise_expansion,
    population,
    spectrum,
    theorem_step_limits,
)
from simulators.engine import Arrays, Experiment
from simulators.iv import LinearModel, Settings, synthetic_model, two_stage_descent
from verify.checks import Level, Reading
from verify.checks.pictures import Role, Series

TAU = 5.0
# delta = psi = 0 in eq. (10).
POPULATION = Constants(concentration=0.0, product=0.0)
Error = Literal["error_hat", "error_true"]
ERRORS: dict[Error, str] = {"error_hat": "to $hat(beta)$", "error_true": "to $beta$"}
# For hypotheses.
CHOICES = "seed 0, $delta = psi = 0$ in the step sizes"


@dataclass(frozen=True, kw_only=True)
class Setup:
    """One run of the paper: p = q = r = `dimension`, budgets rho1 and rho2 (inf: no noise), T = `steps`.

    - `c0`: constant of the clip norms (4); `gamma` in place of them.
    - `eta_share`, `alpha_share`: step sizes as shares of the limits (3); 1/2 is what Section 4 takes.
    - `clipped`: False runs without clipping at the same noise.
    - `unnoised`: Algorithm 3, a first stage without clipping and noise.
    """

    n: int = 1000
    dimension: int = 5
    steps: int = 20
    rho1: float = 5.0
    rho2: float = 5.0
    c0: float = 3.0
    seed: int = 0
    gamma: float | None = None
    eta_share: float = 0.5
    alpha_share: float = 0.5
    clipped: bool = True
    unnoised: bool = False

    @property
    def model(self) -> LinearModel:
        """The data."""
        return _model(self.n, self.dimension, self.seed)

    @property
    def design(self) -> Design:
        """For the theorem: sigma_2² the largest variance of a direction of the first-stage errors."""
        errors = self.model.error_covariance[:-1, :-1]
        sigma_2 = math.sqrt(float(np.linalg.eigvalsh(errors)[-1]))
        return Design.of(self.model.theta, self.n, sigma_2=sigma_2, tau=TAU)

    @property
    def bounds(self) -> Spectrum:
        """Eq. (10) with delta = psi = 0."""
        return spectrum(self.design, POPULATION)

    @property
    def step_sizes(self) -> tuple[float, float]:
        """eta and alpha."""
        limits = theorem_step_limits(self.bounds)
        return self.eta_share * limits.eta, self.alpha_share * limits.alpha

    @property
    def clip_norm(self) -> float:
        """gamma_1 = gamma_2."""
        if self.gamma is not None:
            return self.gamma
        return float(clip_norm(self.design, self.steps, Constants(clipping=self.c0)))

    @property
    def noise(self) -> tuple[float, float]:
        """lambda_1 and lambda_2 of (4)."""
        return self.settings().noise_scales(self.n)

    def settings(self) -> Settings:
        """For the simulator."""
        return _settings(self)

    def experiment(self, block_trials: int = 32) -> Experiment:
        """Fresh data in every trial."""
        return Experiment(
            algorithm=two_stage_descent, problem=self.model, settings=self.settings(), block_trials=block_trials
        )

    def error(self, kind: Error = "error_hat") -> float:
        """Predicted median without clipping: ||beta_T - beta_hat||, or ||beta_T - beta||."""
        law = self._expansion.law(self.steps, *self.noise)
        covariance = law.covariance
        if kind == "error_true":
            model = self.model
            variance = float(model.error_covariance[-1, -1])
            covariance = covariance + population.two_stage_covariance(model.theta, variance, self.n)
        return norm_quantile(law.mean - self.model.beta, covariance)

    def two_stage_error(self) -> float:
        """Median of ||beta_hat - beta|| for large n."""
        variance = float(self.model.error_covariance[-1, -1])
        covariance = population.two_stage_covariance(self.model.theta, variance, self.n)
        return norm_quantile(np.zeros(self.dimension), covariance)

    @property
    def _expansion(self) -> LeadingOrder:
        return _expansion(self.dimension, self.seed, *self.step_sizes, self.steps)


def line(curve: str, role: Role, x: Iterable[float], y: Iterable[float]) -> Series:
    """A series of a picture, in Python's own numbers."""
    return Series(curve=curve, role=role, x=[float(value) for value in x], y=[float(value) for value in y])


def readings(
    setup: Setup,
    group: str,
    x: float,
    *,
    kinds: Sequence[Error] = ("error_hat", "error_true"),
    trials: int = 64,
    block: int = 32,
    theory: bool = False,
    level: Level = "quick",
) -> list[Reading]:
    """Medians of the errors of one setup, on the same runs; with the leading order if `theory`. Named
    after the group, and after the error where there are both; labels: name, x.
    """
    experiment = setup.experiment(block)

    def reading(kind: Error) -> Reading:
        name = f"{group} {ERRORS[kind]}".strip() if len(kinds) > 1 else group
        return Reading(
            label=f"{name}, {x:g}",
            run=f"{group}, {x:g}",
            experiment=experiment,
            output=kind,
            predicted=(lambda: setup.error(kind)) if theory else None,
            trials={"quick": trials, "full": trials if level == "full" else 3 * trials},
            x=x,
            group=name,
            level=level,
        )

    return [reading(kind) for kind in kinds]


def reread(reading: Reading, name: str, output: Callable[[Arrays], np.ndarray]) -> Reading:
    """Another number of the same runs, not drawn."""
    return Reading(
        label=f"{name}, {reading.label}",
        run=reading.shared_run,
        experiment=reading.experiment,
        output=output,
        trials=reading.trials,
        level=reading.level,
    )


def predicted_series(curve: str, setups: Sequence[Setup], x: Sequence[float], kind: Error) -> Series:
    """The leading order at several setups."""
    return line(curve, "approximate", x, [setup.error(kind) for setup in setups])


def population_moments(theta: np.ndarray, beta: np.ndarray, n: int) -> Moments:
    """A = I, no residual: what the data of the model tend to."""
    return Moments(A=np.eye(len(theta)), G=theta, b=theta @ beta, n=n)


@cache
def _settings(setup: Setup) -> Settings:
    """Kept, since a check asks for them once per block of every run."""
    eta, alpha = setup.step_sizes
    gamma1, rho1 = (math.inf, math.inf) if setup.unnoised else (setup.clip_norm, setup.rho1)
    private = Settings(
        steps=setup.steps, eta=eta, alpha=alpha, gamma1=gamma1, gamma2=setup.clip_norm, rho1=rho1, rho2=setup.rho2
    )
    if setup.clipped:
        return private
    lambda1, lambda2 = private.noise_scales(setup.n)
    return Settings(steps=setup.steps, eta=eta, alpha=alpha, lambda1=lambda1, lambda2=lambda2)


@cache
def _model(n: int, dimension: int, seed: int) -> LinearModel:
    return synthetic_model(n=n, p=dimension, q=dimension, r=dimension, parameter_seed=seed)


@cache
def _expansion(dimension: int, seed: int, eta: float, alpha: float, steps: int) -> LeadingOrder:
    """Up to the next power of two, so that one recursion serves a whole curve."""
    longest = 1 << (steps - 1).bit_length()
    if longest > steps:
        return _expansion(dimension, seed, eta, alpha, longest)
    model = _model(dimension, dimension, seed)
    return noise_expansion(population_moments(model.theta, model.beta, dimension), eta, alpha, steps)
