"""Settings of Theorem 3.1 at the problem with the simplest law: A = I, theta_hat = [I; 0], ||beta_hat|| = 1, no
residual, eta = 1, alpha = 2/3 (Section 4 with delta = psi = 0).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpbounds.iv import (
    Design,
    ErrorBound,
    TwoStageBudget,
    clip_norm,
    error_bound,
    experiment_step_sizes,
    isotropic_variances,
    noise_scales,
    spectrum,
    theorem_rates,
)
from verify.papers.iv.tools.samples import isotropic_design
from verify.papers.iv.tools.setups import POPULATION, TAU

ETA, ALPHA = (float(step) for step in experiment_step_sizes(spectrum(isotropic_design(1), POPULATION)))


class IdealSetup(NamedTuple):
    """n records, T steps, p, q, budgets, tau; `gamma` in place of the clip norms (4) with c_0 = 1."""

    n: int = 10**12
    T: int = 100
    p: int = 1
    q: int = 1
    rho1: float = 1.0
    rho2: float = 1.0
    gamma: float | None = None
    tau: float = TAU

    @property
    def design(self) -> Design:
        """For the theorem, all sigmas 1."""
        return isotropic_design(self.n, self.p, self.q, self.tau)

    @property
    def clip_norm(self) -> float:
        """gamma_1 = gamma_2."""
        return float(clip_norm(self.design, self.T)) if self.gamma is None else self.gamma

    @property
    def budget(self) -> TwoStageBudget:
        """Of both stages, with the clip norms."""
        gamma = self.clip_norm
        return TwoStageBudget(rho1=self.rho1, rho2=self.rho2, gamma1=gamma, gamma2=gamma)

    @property
    def noise(self) -> tuple[float, float]:
        """lambda_1 and lambda_2 of (4)."""
        lambda1, lambda2 = noise_scales(self.budget, self.n, self.T)
        return float(lambda1), float(lambda2)

    @property
    def kappa(self) -> float:
        """kappa of (10): 2/3."""
        return float(theorem_rates(spectrum(self.design, POPULATION), ETA, ALPHA).overall)

    def bound(self, *, logarithm: bool = False) -> ErrorBound:
        """(7) with constants 1; `logarithm`: with tau + log(nT) for tau in the privacy term."""
        return error_bound(self.design, self.budget, steps=self.T, kappa=self.kappa, logarithm=logarithm)

    @property
    def variance(self) -> float:
        """Per direction, in the stationary law of leading order."""
        return float(isotropic_variances(np.ones(1), ETA, ALPHA, 1.0, *self.noise)[0])

    @property
    def bias(self) -> float:
        """Of the stationary law: q lambda_1²."""
        return self.q * self.noise[0] ** 2

    @property
    def root_mean_square(self) -> float:
        """Of ||beta_T - beta_hat|| for large T."""
        return math.hypot(math.sqrt(self.p * self.variance), self.bias)

    @property
    def quantile(self) -> float:
        """At 1 - e^{-tau} or beyond: ||N(0, D I)|| exceeds sqrt(D)(sqrt(p) + sqrt(2 tau)) with probability at most
        e^{-tau}; the start leaves (1 - alpha)^{T - 1}.
        """
        spread = math.sqrt(self.variance) * (math.sqrt(self.p) + math.sqrt(2 * self.tau))
        return (1 - ALPHA) ** (self.T - 1) + spread + self.bias

    @property
    def dimension_factor(self) -> float:
        """sqrt(p) (sqrt(q) + sqrt(tau))³ of (7)."""
        return math.sqrt(self.p) * self.design.Q**3

    @property
    def union_factor(self) -> float:
        """sqrt(p) (sqrt(q) + sqrt(tau + log(nT)))²: what (4) brings."""
        return math.sqrt(self.p) * self.design.Q_union(self.T) ** 2
