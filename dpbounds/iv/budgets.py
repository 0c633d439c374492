"""What the two stages of DP two-stage gradient descent may spend, where they clip, and the noise that follows.

A budget is the same for theory, simulation and command line; how many records and steps it is for is said where it is
used.

>>> budget = TwoStageBudget(rho1=5.0, rho2=5.0, gamma1=30.0, gamma2=15.0)
>>> [round(float(scale), 3) for scale in noise_scales(budget, n=2000, steps=20)]
[0.06, 0.03]
>>> budget.split(0.8).rho1
8.0
"""

# Annotations are not postponed here: who inherits these fields resolves their types in a module of its own.
import math
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Protocol, get_args

import numpy as np

from dpbounds.arguments import formula, typed
from dpbounds.errors import (
    FAINTEST,
    DomainError,
    choice,
    count,
    in_floats,
    moderate,
    moderate_or_zero,
    real,
    within,
    without_nan,
)
from dpbounds.privacy import Adjacency, sensitivity_factor
from dpbounds.values import Value

# `paper`: eq. (4), which costs half of rho_1 + rho_2 or less. `tight`: less noise, which costs exactly rho_1 + rho_2.
Calibration = Literal["paper", "tight"]
_SOURCES = {"paper": "iv eq. (4)", "tight": "dpbounds, exact cost of iv Algorithm 1"}
_NUMBERS = ("rho1", "rho2", "gamma1", "gamma2", "lambda1", "lambda2")
# The least part of a budget that a split gives to a stage: with none a stage has no finite noise.
LEAST_SHARE, EVEN = 0.02, 0.5


class NoiseScales(NamedTuple):
    """Standard deviations of the noise entries of the two stages, as they enter iv Algorithm 1 (before eta, alpha)."""

    lambda1: Value
    lambda2: Value


@typed
@dataclass(frozen=True, kw_only=True)
class TwoStageBudget:
    """Budgets, clip norms and noise of the two stages of iv Algorithm 1: 1 is the stage of Theta, 2 that of beta.

    - `rho1`, `rho2`: zCDP budgets; inf adds no noise. The joint release of all iterates is what they pay for: with
      rho1 = inf the scale of the second stage is the one that the paper prints, and no guarantee.
    - `gamma1`, `gamma2`: norms that each record's gradients of Theta (Frobenius) and beta are clipped to; inf does not
      clip.
    - `lambda1`, `lambda2`: standard deviations of the noise in an entry of the averaged gradients, in place of what the
      budgets give; None for that.
    - `calibration`: how budgets become noise (`noise_scales`).
    - `adjacency`: what neighbours are; n is public.

    Raises `DomainError` for budgets and clip norms that are not above 0, scales below 0, and unknown names.
    """

    rho1: float = math.inf
    rho2: float = math.inf
    gamma1: float = math.inf
    gamma2: float = math.inf
    lambda1: float | None = None
    lambda2: float | None = None
    calibration: Calibration = "paper"
    adjacency: Adjacency = "replace-one"

    def __post_init__(self) -> None:
        for name in ("rho1", "rho2"):
            zcdp_budget(name, getattr(self, name))
        for name in ("gamma1", "gamma2"):
            gamma = getattr(self, name)
            if not (isinstance(gamma, float) and gamma == math.inf):
                moderate(name, gamma, "inf does not clip")
        for name in ("lambda1", "lambda2"):
            scale = getattr(self, name)
            if scale is not None and moderate_or_zero(name, scale) > 0:
                moderate(name, scale)  # costs have its square in a denominator
        choice("calibration", self.calibration, get_args(Calibration))
        sensitivity_factor(self.adjacency)
        in_floats(self, *(name for name in _NUMBERS if getattr(self, name) is not None))

    @property
    def least(self) -> float:
        """The lesser of the two zCDP budgets: what the terms of the bound (7) depend on."""
        return min(self.rho1, self.rho2)

    @property
    def total(self) -> float:
        """Their sum."""
        return self.rho1 + self.rho2

    @property
    def is_as_printed(self) -> bool:
        """Whether noise and neighbours are those that the paper makes its privacy claims for."""
        return self.adjacency == "replace-one" and self.calibration == "paper"

    @property
    def share(self) -> float:
        """The first stage's part of the total."""
        return self.rho1 / self.total

    @classmethod
    def equal(cls, rho: float, gamma: float = math.inf, **rest: Any) -> "TwoStageBudget":
        """The same budget and clip norm for both stages; `rest` are the other fields."""
        return cls(rho1=rho, rho2=rho, gamma1=gamma, gamma2=gamma, **rest)

    @classmethod
    def even(cls, total: float, **rest: Any) -> "TwoStageBudget":
        """A total in equal parts; `rest` are the other fields."""
        half = EVEN * zcdp_budget("rho", total)
        return cls(rho1=half, rho2=half, **rest)

    def split(self, share: float) -> "TwoStageBudget":
        """The same total with this share of it for the first stage, and at least `LEAST_SHARE` for each."""
        if self.total == math.inf:
            raise DomainError("rho1 + rho2", self.total, "finite", "a budget without noise has no shares")
        share = min(max(within("share", share, "[0, 1]"), LEAST_SHARE), 1 - LEAST_SHARE)
        return replace(self, rho1=share * self.total, rho2=(1 - share) * self.total)

    def calibrated(self, n: int, steps: int) -> "TwoStageBudget":
        """The same budget with the noise for n records and T = `steps` written out in `lambda1` and `lambda2`."""
        lambda1, lambda2 = map(float, noise_scales(self, n, steps))
        return replace(self, lambda1=lambda1, lambda2=lambda2)


@typed
def noise_scales(budget: TwoStageBudget, n: int, steps: int) -> NoiseScales:
    """lambda_1, lambda_2 of a run of T = `steps` on n records: those given, else those that the budgets pay for.

    `paper`: c (gamma_i / n) sqrt(T / rho_i), eq. (4) for replace-one; costs half the budget or less. `tight`: lambda_1
    = c (gamma_1 / n) sqrt(T / (2 rho_1)), lambda_2 = c (gamma_2 / n) sqrt((T - 1) / (2 rho_2)), for which the joint
    release costs exactly rho_1 + rho_2: the Theta-stage uses the data T times, the beta-stage T - 1 times (Theta_0 =
    0 makes its first gradient zero). Raises `DomainError` for n, steps < 1, and a finite budget without a clip norm.
    """
    n, steps, factor = count("n", n), count("steps", steps), sensitivity_factor(budget.adjacency)
    uses = (steps, steps) if budget.calibration == "paper" else (steps / 2, (steps - 1) / 2)
    scales = []
    for stage, used in zip(("1", "2"), uses, strict=True):
        rho, gamma, given = (getattr(budget, name + stage) for name in ("rho", "gamma", "lambda"))
        if given is not None:
            scales.append(Value(given, kind="exact", source="as given", convention=budget.adjacency))
            continue
        if gamma == math.inf and rho < math.inf:
            raise DomainError(f"gamma{stage}", gamma, f"finite where rho{stage} is", f"or give lambda{stage}")
        # A clip norm may be inf where the budget is: there is no noise then, whatever it is.
        scale = noise_scale(math, n, used, rho, gamma, factor) if rho < math.inf else 0.0
        scales.append(Value(scale, kind="exact", source=_SOURCES[budget.calibration], convention=budget.adjacency))
    return NoiseScales(*scales)


class Roots(Protocol):
    """An arithmetic, as far as noise scales need it: `math`, `sympy`, an `Arithmetic`."""

    @property
    def sqrt(self) -> Any:
        """The root of a number."""
        ...


@formula
def noise_scale(m: Roots, n: Any, uses: Any, rho: Any, gamma: Any, factor: Any = 2) -> Any:
    """factor (gamma / n) sqrt(uses / rho): one stage of eq. (4), with uses = T; `m` is any arithmetic with sqrt. Raises
    `DomainError` for nan.
    """
    without_nan(n=n, uses=uses, rho=rho, gamma=gamma, factor=factor)
    return factor * gamma / n * m.sqrt(uses / rho)


def zcdp_budget(parameter: str, rho: float) -> float:
    """A zCDP budget: above 0, inf for no noise. Raises `DomainError` naming `parameter` for other numbers."""
    if isinstance(rho, (int, float, np.number)) and rho == math.inf:
        return math.inf
    return moderate(parameter, real(parameter, rho), "inf stands for no noise", least=FAINTEST)
