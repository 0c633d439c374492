"""The settings of two-stage gradient descent, the same for every problem."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, get_args

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, count, moderate, moderate_or_zero
from dpbounds.iv.privacy import Calibration, budget, noise_scales
from dpbounds.privacy import Adjacency, sensitivity_factor


def plain(number: Any) -> Any:
    """Python's own numbers and None as they are, other numbers as floats: what streams can be keyed by."""
    return number if number is None or isinstance(number, (int, float)) else float(number)


@typed
@dataclass(frozen=True, kw_only=True)
class Settings:
    """How two-stage gradient descent is run for `steps` iterations with step sizes `eta` (Theta) and `alpha` (beta).

    The defaults are 2S-GD (iv Algorithm 2); gamma2 and rho2 given are DP-2S-GD-beta (Algorithm 3); all four given are
    DP-2S-GD (Algorithm 1).

    - `gamma1`, `gamma2`: norms that each record's gradients of Theta (Frobenius) and beta are clipped to; inf does not
      clip.
    - `rho1`, `rho2`: zCDP budgets of the stages, turned into noise by `dpbounds.iv.privacy.noise_scales` with
      `calibration` and `adjacency`; inf adds no noise. The joint release of all iterates is what they pay for: with
      rho1 = inf the scale of the second stage is the one that the paper prints, and no guarantee.
    - `lambda1`, `lambda2`: standard deviations of the noise in an entry of the averaged gradients, in place of what the
      budgets give.
    - `record_norms`: look at every record's gradients, clipped or not, and report the largest norms.
    - `record_paths`: report all iterates.

    Raises `DomainError` for values outside their ranges, a finite budget without a clip norm, and rho1 = inf with a
    finite rho2 under a calibration other than the paper's.
    """

    steps: int
    eta: float
    alpha: float
    gamma1: float = math.inf
    gamma2: float = math.inf
    rho1: float = math.inf
    rho2: float = math.inf
    calibration: Calibration = "paper"
    adjacency: Adjacency = "replace-one"
    lambda1: float | None = None
    lambda2: float | None = None
    record_norms: bool = False
    record_paths: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", count("steps", self.steps))
        moderate("eta", self.eta)
        moderate("alpha", self.alpha)
        for stage in ("1", "2"):
            self._check_stage(stage)
        choice("calibration", self.calibration, get_args(Calibration))
        sensitivity_factor(self.adjacency)
        if self.calibration != "paper" and math.isinf(self.rho1) and math.isfinite(self.rho2) and self.lambda2 is None:
            remedy = "give lambda2 = dpbounds.iv.privacy.unnoised_noise_scale(...) for a private release of beta alone"
            raise DomainError("calibration", self.calibration, "paper where rho1 = inf", remedy)

        for name in ("eta", "alpha", "gamma1", "gamma2", "rho1", "rho2", "lambda1", "lambda2"):
            object.__setattr__(self, name, plain(getattr(self, name)))

    def _check_stage(self, stage: str) -> None:
        gamma, rho, noise = (getattr(self, name + stage) for name in ("gamma", "rho", "lambda"))
        if not (isinstance(gamma, float) and gamma == math.inf):
            moderate("gamma" + stage, gamma, "inf does not clip")
        budget("rho" + stage, rho)
        if noise is not None:
            moderate_or_zero("lambda" + stage, noise)
        elif math.isinf(gamma) and math.isfinite(rho):
            raise DomainError("gamma" + stage, gamma, f"finite where rho{stage} is", f"or give lambda{stage}")

    @property
    def visits_records(self) -> bool:
        """Whether moments do not suffice."""
        return self.record_norms or math.isfinite(self.gamma1) or math.isfinite(self.gamma2)

    def noise_scales(self, n: int) -> tuple[float, float]:
        """Standard deviations (lambda1, lambda2) of the noise for n records."""
        # A clip norm may be inf where the budget is: it then multiplies a scale of 0, or one that is not used.
        gamma1, gamma2 = (gamma if math.isfinite(gamma) else 1.0 for gamma in (self.gamma1, self.gamma2))
        first, second = noise_scales(
            n,
            self.steps,
            self.rho1,
            self.rho2,
            gamma1,
            gamma2,
            calibration=self.calibration,
            adjacency=self.adjacency,
        )
        return (
            float(first) if self.lambda1 is None else self.lambda1,
            float(second) if self.lambda2 is None else self.lambda2,
        )
