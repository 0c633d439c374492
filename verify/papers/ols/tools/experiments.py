"""The methods as Section 5 and Appendix H set them up, on one data set: from (n, d, epsilon) to settings.

delta = n⁻², rho = delta/10, C = C_Y = 1. What the paper prints in two ways is an argument.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from dpbounds.ols.calibration import (
    Accounting,
    adassp_scales,
    gradient_descent_scales,
    hessian_mixing_scales,
    linear_mixing_scales,
)
from dpbounds.ols.newton import Newton
from dpbounds.privacy import gaussian_mu
from simulators.engine import Experiment
from simulators.ols import (
    AdaSSP,
    GradientDescent,
    HessianMixing,
    LeastSquares,
    LinearMixing,
    Zero,
    adassp,
    gradient_descent,
    hessian_mixing,
    linear_mixing,
    recentred_newton,
    zero,
)

# The paper's four, AdaSSP with isotropic noise, PRN, of which there is tight accounting alone, and theta = 0.
Method = Literal["IHM", "LinMix", "AdaSSP", "DP-GD", "AdaSSP, iso", "PRN", "zero"]
# From 0.1 to 10 as the paper says; where its points lie is not printed.
EPSILONS = (0.1, 0.25, 0.63, 1.0, 1.6, 4.0, 10.0)
TRIALS = 500
RATE = 0.25
_ALGORITHMS: dict[str, Callable] = {
    "IHM": hessian_mixing,
    "LinMix": linear_mixing,
    "AdaSSP": adassp,
    "DP-GD": gradient_descent,
    "AdaSSP, iso": adassp,
    "PRN": recentred_newton,
    "zero": zero,
}


@dataclass(frozen=True, kw_only=True)
class Setup:
    """The experiments' choices for a data set of n records and d regressors.

    - `steps`: T; `multiplier`, `mixing_multiplier`: 6 and 2.5 in k = multiplier max{d, log};
    - `hessian_log`, `mixing_log`: a in log(aT/rho) and a in log(a/rho): 4 and 2 in Section 5, 2 and 1 in Appendix H;
    - `round_up`: of k, for which no rounding is printed;
    - `keep_ridge`: Algorithm 1 with its term -eta² theta;
    - `letter`: Algorithm 3 to the letter, whose sketch noise has one factor C_X, here sqrt(2), too many.
    """

    n: int
    d: int
    steps: int = 3
    multiplier: float = 6.0
    mixing_multiplier: float = 2.5
    hessian_log: float = 4.0
    mixing_log: float = 2.0
    round_up: bool = False
    keep_ridge: bool = False
    letter: bool = False
    accounting: Accounting = "experiments"

    @property
    def delta(self) -> float:
        """n⁻²."""
        return float(self.n) ** -2

    @property
    def failure(self) -> float:
        """rho = delta / 10."""
        return self.delta / 10.0

    @property
    def k(self) -> int:
        """Sketch size of IHM."""
        return self._rows(self.multiplier, math.log(self.hessian_log * self.steps / self.failure))

    @property
    def mixing_k(self) -> int:
        """Sketch size of LinMix."""
        return self._rows(self.mixing_multiplier, math.log(self.mixing_log / self.failure))

    def settings(self, method: Method, epsilon: float) -> Any:
        """Of the method's algorithm at this epsilon."""
        return _settings(self, method, epsilon)

    def _rows(self, multiplier: float, logarithm: float) -> int:
        rows = multiplier * max(self.d, logarithm)
        return math.ceil(rows) if self.round_up else math.floor(rows)


def setup_of(problem: LeastSquares, **options: Any) -> Setup:
    """For a data set."""
    return Setup(n=problem.n, d=problem.d, **options)


def experiment(
    problem: LeastSquares, setup: Setup, method: Method, epsilon: float, *, trials: int = TRIALS
) -> Experiment:
    """A method on a data set, `trials` in a block."""
    settings = setup.settings(method, epsilon)
    return Experiment(algorithm=_ALGORITHMS[method], problem=problem, settings=settings, block_trials=trials)


@cache
def _settings(setup: Setup, method: Method, epsilon: float) -> Any:
    budget: dict[str, Any] = {"epsilon": epsilon, "delta": setup.delta, "accounting": setup.accounting}
    if method == "IHM":
        own = hessian_mixing_scales(**budget, k=setup.k, steps=setup.steps, failure=setup.failure)
        return HessianMixing(
            steps=own.steps,
            k=own.k,
            gamma=own.gamma,
            tau=own.tau,
            sigma=own.sigma,
            clip=own.clip,
            keep_ridge=setup.keep_ridge,
        )
    if method == "LinMix":
        own = linear_mixing_scales(**budget, k=setup.mixing_k, failure=setup.failure)
        factor = math.sqrt(own.row_bound_squared) if setup.letter else 1.0
        return LinearMixing(k=own.k, gamma=own.gamma, tau=own.tau, noise_factor=factor)
    if method == "zero":
        return Zero()
    if method == "PRN":
        return Newton(mu=float(gaussian_mu(epsilon, setup.delta)))
    if method in ("AdaSSP", "AdaSSP, iso"):
        iso = method == "AdaSSP, iso"
        own = adassp_scales(**budget, iso=iso)
        found = AdaSSP.equal(own.gram, d=setup.d, delta=setup.delta, failure=setup.failure, isotropic=iso)
        return replace(found, eigenvalue_scale=own.eigenvalue, cross_scale=own.moment, shift=own.shift)
    own = gradient_descent_scales(**budget, n=setup.n, steps=setup.steps)
    return GradientDescent(steps=own.steps, rate=RATE, sigma=own.sigma, clip=own.clip)
