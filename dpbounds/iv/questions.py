"""One run of DP two-stage gradient descent as a question: problem, budgets, algorithm, open constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import choice, moderate, moderate_or_zero, within
from dpbounds.iv.bound import clip_norm
from dpbounds.iv.clipping import Records
from dpbounds.iv.forecast import Forecaster
from dpbounds.iv.general import General
from dpbounds.iv.isotropic import Isotropic
from dpbounds.iv.privacy import Calibration, NoiseScales, budget, noise_scales
from dpbounds.iv.quantities import Constants, Design, Spectrum, spectrum, theorem_rates
from dpbounds.privacy import Adjacency


@typed
@dataclass(frozen=True, kw_only=True)
class Question:
    """The problem, the algorithm and the constants; clip norms None for those of eq. (4), which depend on T.

    `records`: those of a data set whose moments `population` has; None for a population, with independent errors of
    deviations `sigma_1` and `design.sigma_2`. Raises `DomainError` for numbers out of range and unknown names.
    """

    design: Design
    population: Isotropic | General
    constants: Constants
    rho1: float
    rho2: float
    gamma1: float | None
    gamma2: float | None
    sigma_1: float
    delta: float
    adjacency: Adjacency
    calibration: Calibration
    records: Records | None = None

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {name: budget(name, getattr(self, name)) for name in ("rho1", "rho2")}
        for name in ("gamma1", "gamma2"):
            gamma = getattr(self, name)
            checked[name] = None if gamma is None else moderate(name, gamma)
        checked["sigma_1"] = moderate_or_zero("sigma_1", self.sigma_1)
        checked["delta"] = within("delta", self.delta, "[1e-300, 1)")
        choice("adjacency", self.adjacency, get_args(Adjacency))
        choice("calibration", self.calibration, get_args(Calibration))
        for name, value in checked.items():
            object.__setattr__(self, name, value)

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
    def budgets(self) -> dict[str, Any]:
        """As the theory takes them."""
        return {"rho1": self.rho1, "rho2": self.rho2}

    @property
    def as_claimed(self) -> bool:
        """Whether noise and neighbours are those that the paper makes its privacy claims for."""
        return self.adjacency == "replace-one" and self.calibration == "paper"

    @property
    def has_bound(self) -> bool:
        """Whether (7) is stated for it: Cov z = I, and a contraction."""
        return isinstance(self.population, Isotropic) and self.kappa < 1

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
        return printed if self.gamma1 is None else self.gamma1, printed if self.gamma2 is None else self.gamma2

    def noise(self, steps: int) -> NoiseScales:
        """lambda_1, lambda_2 for T = `steps`."""
        return self.noise_of(steps, *self.clip_norms(steps))

    def noise_of(self, steps: int, gamma1: float, gamma2: float) -> NoiseScales:
        """lambda_1, lambda_2 for T = `steps` and clip norms of one's own."""
        return noise_scales(
            self.design.n,
            steps,
            self.rho1,
            self.rho2,
            gamma1,
            gamma2,
            calibration=self.calibration,
            adjacency=self.adjacency,
        )

    def noise_path(self, steps: Sequence[int]) -> Float[np.ndarray, "m 2"]:
        """lambda_1, lambda_2 for many T: proportional to the clip norms and to the root of how often data are used."""
        T = np.asarray(steps, dtype=float)
        used = np.column_stack([T / 2, T / 2 if self.calibration == "paper" else T - 1])
        gammas = np.array([self.clip_norms(one) for one in steps])
        return np.array(self.noise_of(2, 1.0, 1.0), dtype=float) * gammas * np.sqrt(used)
