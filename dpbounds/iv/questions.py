"""One run of DP two-stage gradient descent as a question: problem, budgets, algorithm, open constants."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dpbounds.iv.bound import clip_norm
from dpbounds.iv.isotropic import Isotropic
from dpbounds.iv.privacy import Calibration, NoiseScales, noise_scales
from dpbounds.iv.quantities import Constants, Design, Spectrum, spectrum, theorem_rates
from dpbounds.privacy import Adjacency


@dataclass(frozen=True, kw_only=True)
class Question:
    """The problem, the algorithm and the constants; clip norms None for those of eq. (4), which depend on T."""

    design: Design
    population: Isotropic
    constants: Constants
    rho1: float
    rho2: float
    gamma1: float | None
    gamma2: float | None
    sigma_1: float
    delta: float
    adjacency: Adjacency
    calibration: Calibration

    @cached_property
    def bounds(self) -> Spectrum:
        """delta, psi and the interval of eq. (10)."""
        return spectrum(self.design, self.constants)

    @cached_property
    def kappa(self) -> float:
        """Rate of eq. (10)."""
        return float(theorem_rates(self.bounds, self.population.eta, self.population.alpha).overall)

    @property
    def budgets(self) -> dict[str, Any]:
        """As the theory takes them."""
        return {"rho1": self.rho1, "rho2": self.rho2}

    @property
    def as_claimed(self) -> bool:
        """Whether noise and neighbours are those that the paper makes its privacy claims for."""
        return self.adjacency == "replace-one" and self.calibration == "paper"

    def clip_norms(self, steps: int) -> tuple[float, float]:
        """gamma_1, gamma_2 for T = `steps`."""
        printed = float(clip_norm(self.design, steps, self.constants))
        return printed if self.gamma1 is None else self.gamma1, printed if self.gamma2 is None else self.gamma2

    def noise(self, steps: int) -> NoiseScales:
        """lambda_1, lambda_2 for T = `steps`."""
        return noise_scales(
            self.design.n,
            steps,
            self.rho1,
            self.rho2,
            *self.clip_norms(steps),
            calibration=self.calibration,
            adjacency=self.adjacency,
        )
