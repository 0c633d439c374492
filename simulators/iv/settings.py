"""The settings of two-stage gradient descent, the same for every problem.

>>> settings = Settings(steps=20, eta=1.0, alpha=0.5, gamma1=30.0, gamma2=15.0, rho1=5.0, rho2=5.0)
>>> [round(scale, 3) for scale in settings.noise_scales(2000)]
[0.06, 0.03]
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, in_floats, moderate
from dpbounds.iv.budgets import TwoStageBudget, noise_scales


@typed
@dataclass(frozen=True, kw_only=True)
class Settings(TwoStageBudget):
    """How two-stage gradient descent is run: a budget, T = `steps`, and step sizes `eta` (Theta) and `alpha` (beta).

    The default budget, which neither clips nor adds noise, is 2S-GD (iv Algorithm 2); gamma2 and rho2 given are
    DP-2S-GD-beta (Algorithm 3); all four given are DP-2S-GD (Algorithm 1).

    - `record_norms`: look at every record's gradients, clipped or not, and report the largest norms.
    - `record_paths`: report all iterates.

    Raises `DomainError` as `TwoStageBudget`, for step sizes that are not above 0, a finite budget without a clip norm,
    and rho1 = inf with a finite rho2 under a calibration other than the paper's.
    """

    steps: int
    eta: float
    alpha: float
    record_norms: bool = False
    record_paths: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "steps", count("steps", self.steps))
        for name in ("eta", "alpha"):
            moderate(name, getattr(self, name))
        in_floats(self, "eta", "alpha")
        for stage in ("1", "2"):
            gamma, rho, scale = (getattr(self, name + stage) for name in ("gamma", "rho", "lambda"))
            if scale is None and math.isinf(gamma) and math.isfinite(rho):
                raise DomainError("gamma" + stage, gamma, f"finite where rho{stage} is", f"or give lambda{stage}")
        if self.calibration != "paper" and math.isinf(self.rho1) and math.isfinite(self.rho2) and self.lambda2 is None:
            remedy = "give lambda2 = dpbounds.iv.privacy.unnoised_noise_scale(...) for a private release of beta alone"
            raise DomainError("calibration", self.calibration, "paper where rho1 = inf", remedy)

    @property
    def visits_records(self) -> bool:
        """Whether moments do not suffice."""
        return self.record_norms or math.isfinite(self.gamma1) or math.isfinite(self.gamma2)

    def noise_scales(self, n: int) -> tuple[float, float]:
        """Standard deviations (lambda1, lambda2) of the noise for n records."""
        lambda1, lambda2 = map(float, noise_scales(self, n, self.steps))
        return lambda1, lambda2
