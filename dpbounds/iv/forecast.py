"""The error to expect of one run of iv Algorithm 1, clipping included, and whether the number can be relied on.

The law of leading order in the noise (`dpbounds.iv.leading_order`), moved to where the clipped run goes, and widened by
what other records of the same law do to clipping (`dpbounds.iv.clipping`) and to a run that has not arrived. Four
things put an end to it; each is measured, and beyond its limit the number is not `reliable`, far beyond it is void and
not given:

- `theta_noise`: noise in Theta against its least singular value; the expansion is in this;
- `clipped_theta`, `clipped_beta`: shares of gradients clipped at the end, where noise is no longer answered in full;
- `sampling`: for a population, how far the moments of n records are from it.

>>> problem = Isotropic(singular_values=np.ones(2), beta=np.array([1.0, 0.0]), q=2, eta=1.0, alpha=0.5)
>>> forecaster = Forecaster(problem=problem, n=5000, sigma_1=1.0, sigma_2=1.0)
>>> budget = TwoStageBudget(rho1=5.0, rho2=5.0, gamma1=30.0, gamma2=30.0)
>>> found = forecaster.forecast(budget, 10, forecaster.expansion([10]), 0)
>>> round(found.rms, 2), found.reliable
(0.02, True)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from dpbounds.arguments import typed
from dpbounds.gaussian_norm import norm_quantile
from dpbounds.iv.budgets import TwoStageBudget, noise_scales
from dpbounds.iv.clipping import (
    ClippedRun,
    Records,
    clipped_run,
    clipping_at,
    clipping_spread,
    longest_run,
    model_records,
)
from dpbounds.iv.general import General, general_error_terms, general_expansion, relative_theta_noise
from dpbounds.iv.isotropic import ErrorTerms, Isotropic, isotropic_error_terms, isotropic_expansion
from dpbounds.iv.laws import noise_variances
from dpbounds.iv.leading_order import GaussianLaw, LeadingOrder

# What puts an end to a prediction: the four measures, and a clipped run that cannot be followed to T.
Measure = Literal["theta_noise", "clipped_theta", "clipped_beta", "sampling"]
Reason = Literal["theta_noise", "clipped_theta", "clipped_beta", "sampling", "steps"]
REASONS: dict[Reason, str] = {
    "theta_noise": "noise in Theta",
    "clipped_theta": "first-stage gradients clipped",
    "clipped_beta": "second-stage gradients clipped",
    "sampling": "too few records for population moments",
    "steps": "a clipped run too long to follow",
}
# Beyond the first the number is not reliable, beyond the second it is void. Against simulation: `iv/beyond-reliable`.
LIMITS: dict[Measure, tuple[float, float]] = {
    "theta_noise": (0.3, 1.0),
    "clipped_theta": (0.1, 0.5),
    "clipped_beta": (0.1, 0.5),
    "sampling": (0.2, 1.0),
}
# Where the clipped run is too long to follow: what may be clipped anywhere on the way.
NEGLIGIBLE = 1e-3


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """Norms along the way (`noiseless`, `first_noise`, `second_noise`, `shift`, `clip_shift`), `median` and `rms` of
    ||beta_T - beta_hat|| (None where void), the four measures of `LIMITS`, `reliable`, and `limits`: those exceeded.
    `offset` (p,) and `covariance` (p, p) of beta_T - beta_hat, None where void; for Cov z = I along the singular
    directions of Theta.
    """

    noiseless: float
    first_noise: float
    second_noise: float
    shift: float
    clip_shift: float
    median: float | None
    rms: float | None
    theta_noise: float
    clipped_theta: float
    clipped_beta: float
    sampling: float
    reliable: bool
    limits: tuple[Reason, ...]
    offset: np.ndarray | None
    covariance: np.ndarray | None


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class Forecaster:
    """A problem with what its records look like.

    `records`: those of a data set, or None for the law of the linear model with errors `sigma_1` (of y) and `sigma_2`
    (of each regressor). `n`: records of a data set.
    """

    problem: Isotropic | General
    n: int
    sigma_1: float
    sigma_2: float
    records: Records | None = None
    _runs: dict[tuple[float, float], ClippedRun] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def nodes(self) -> Records:
        """What stands for the records."""
        return model_records(self.problem, self.sigma_1, self.sigma_2) if self.records is None else self.records

    def expansion(self, horizons: list[int]) -> LeadingOrder:
        """The leading order at these steps."""
        if isinstance(self.problem, General):
            return general_expansion(self.problem, horizons)
        return isotropic_expansion(self.problem, horizons)

    def error_terms(self, steps: int) -> ErrorTerms:
        """The root mean square without clipping over T, by term."""
        if isinstance(self.problem, General):
            return general_error_terms(self.problem, steps)
        return isotropic_error_terms(self.problem, steps)

    def run(self, steps: int, gamma1: float, gamma2: float) -> ClippedRun:
        """The clipped run without noise, of T steps or more, or as many as are feasible; the last one is kept."""
        key, needed = (gamma1, gamma2), min(steps, longest_run(self.nodes))
        if key not in self._runs or len(self._runs[key].beta) <= needed:
            self._runs.clear()
            self._runs[key] = clipped_run(self.nodes, self.problem, needed, gamma1, gamma2)
        return self._runs[key]

    def theta_noise(self, lambda1: float, steps: int) -> float:
        """Expected norm of the noise in Theta_T in units of the least singular value."""
        if isinstance(self.problem, General):
            return relative_theta_noise(self.problem, lambda1, steps)
        p, variance = len(self.problem.beta), float(noise_variances(np.ones(1), self.problem.eta, steps)[0])
        norm = math.sqrt(p) + math.sqrt(self.problem.q)
        return norm * lambda1 * math.sqrt(variance) / float(np.min(self.problem.singular_values))

    @cached_property
    def sampling(self) -> float:
        """0 for a data set. For a population the largest of: 2 sqrt(q / n), by which Z'Z/n is off; sigma_2 sqrt(q / n)
        / sigma_min, by which the first stage is; the median error of 2SLS against ||beta||.
        """
        if self.nodes.law is False:
            return 0.0
        s, length = self.problem.singular_values, float(np.linalg.norm(self.problem.beta))
        share = math.sqrt(self.problem.q / self.n)
        own = self.sigma_1 * math.sqrt(float(np.sum(1 / s**2)) / self.n)
        return max(2 * share, self.sigma_2 * share / float(np.min(s)), own / length if length > 0 else math.inf)

    def forecast(self, budget: TwoStageBudget, steps: int, law: LeadingOrder, at: int) -> Forecast:
        """At T = `steps`, which stands at position `at` of `law`, with clip norms and noise of the budget."""
        lambda1, lambda2 = map(float, noise_scales(budget, self.n, steps))
        run, target = self.run(steps, budget.gamma1, budget.gamma2), self.problem.beta
        mean, covariance = law.law(at, lambda1, lambda2)
        moved = self.moved(run, steps, law.noiseless[at])
        clip = clipping_at(
            self.nodes,
            self.problem,
            budget,
            theta=run.theta[min(steps, len(run.theta) - 1)],
            law=GaussianLaw(mean + moved, covariance),
            n=self.n,
            steps=steps,
        )
        measures: dict[Measure, float] = {
            "theta_noise": self.theta_noise(lambda1, steps),
            "clipped_theta": clip.theta,
            "clipped_beta": clip.beta,
            "sampling": self.sampling,
        }
        beyond: list[Reason] = [name for name, value in measures.items() if not value <= LIMITS[name][0]]
        if not self.follows(run, steps):
            beyond.append("steps")
        void = any(not value <= LIMITS[name][1] for name, value in measures.items())
        off = mean + moved - target
        spread = covariance + clip.spread + self.sampled(steps)
        return Forecast(
            noiseless=float(np.linalg.norm(law.noiseless[at] - target)),
            first_noise=lambda1 * math.sqrt(float(np.trace(law.first[at]))),
            second_noise=lambda2 * math.sqrt(float(np.trace(law.second[at]))),
            shift=lambda1**2 * float(np.linalg.norm(law.shift[at])),
            clip_shift=math.sqrt(float(moved @ moved + np.trace(clip.spread))),
            median=None if void else norm_quantile(off, spread),
            rms=None if void else math.sqrt(float(off @ off + np.trace(spread))),
            **measures,
            reliable=not beyond,
            limits=tuple(beyond),
            offset=None if void else off,
            covariance=None if void else spread,
        )

    def moved(self, run: ClippedRun, steps: int, unclipped: np.ndarray) -> np.ndarray:
        """beta_T of the clipped run less that of the unclipped one; where the run was cut, what it is at its end."""
        last = len(run.beta) - 1
        if steps <= last:
            return run.beta[steps] - unclipped
        return run.beta[last] - self.expansion([last]).noiseless[0]

    def sampled(self, steps: int) -> np.ndarray:
        """Covariance (p, p) over data sets of how far the run without noise is from beta_hat.

        Along eigenvectors of H with eigenvalue h it is (1 - alpha h)^{T-1} times beta_hat: beta_hat varies by sigma_1²
        / (n h), and h itself by d = 2 sigma_2 / sqrt(n h) + sqrt(2 / n), relative. 0 for a data set.
        """
        if not self.nodes.law:
            return np.zeros((len(self.problem.beta), len(self.problem.beta)))
        problem = self.problem
        if isinstance(problem, General):
            h, basis = np.linalg.eigh(problem.moments.hessian)
        else:
            h, basis = problem.singular_values**2, np.eye(len(problem.beta))
        left, further = 1 - problem.alpha * h, max(steps - 2, 0)
        moved = min(steps - 1, 1) * (further + 1) * (1 - left) * left**further * (basis.T @ problem.beta)
        d = 2 * self.sigma_2 / np.sqrt(self.n * h) + math.sqrt(2 / self.n)
        variances = left ** (2 * (steps - 1)) * self.sigma_1**2 / (self.n * h) + (d * moved) ** 2
        return (basis * variances) @ basis.T

    def spread(self, gamma1: float, gamma2: float) -> float:
        """tr of the covariance that clipping other records adds; 0 for a data set."""
        return float(np.trace(clipping_spread(self.nodes, self.problem, gamma1, gamma2, self.n)))

    def follows(self, run: ClippedRun, steps: int) -> bool:
        """Whether the run went on to T, has arrived, or had next to nothing to clip on its way."""
        arrived = len(run.beta) > 2 and np.allclose(run.beta[-1], run.beta[-2], rtol=1e-6, atol=0.0)
        clipped = max(float(run.clipped_theta.max()), float(run.clipped_beta.max()))
        return steps < len(run.beta) or arrived or clipped <= NEGLIGIBLE
