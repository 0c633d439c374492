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
from dpbounds.ols.clipping import chosen_from_moments, tuned_descent
from dpbounds.ols.gram import Gram
from dpbounds.ols.newton import Newton
from dpbounds.ols.tail_averaged import TailAveraged
from dpbounds.privacy import gaussian_mu
from simulators.engine import Experiment
from simulators.ols import (
    AdaSSP,
    AveragedDescent,
    GradientDescent,
    HessianMixing,
    LeastSquares,
    LinearMixing,
    Zero,
    adassp,
    averaged_descent,
    gradient_descent,
    hessian_mixing,
    linear_mixing,
    recentred_newton,
    tail_averaged,
    zero,
)

# The paper's four, AdaSSP with isotropic noise, PRN and TAP, of which there is tight accounting alone, theta = 0, and
# DP-GD with settings that are best on the records, or chosen from their moments: upper references, not private.
Method = Literal[
    "IHM", "LinMix", "AdaSSP", "DP-GD", "AdaSSP, iso", "PRN", "TAP", "zero", "DP-GD, tuned", "DP-GD, by moments"
]
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
    "TAP": tail_averaged,
    "zero": zero,
    "DP-GD, tuned": averaged_descent,
    "DP-GD, by moments": averaged_descent,
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
    if method in ("DP-GD, tuned", "DP-GD, by moments"):
        settings = _read_off(_Key(problem), method, float(gaussian_mu(epsilon, setup.delta)))
    else:
        settings = setup.settings(method, epsilon)
    return Experiment(algorithm=_ALGORITHMS[method], problem=problem, settings=settings, block_trials=trials)


@dataclass(frozen=True)
class _Key:
    """Records by what they hold."""

    problem: LeastSquares

    def __hash__(self) -> int:
        return hash(self.problem.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.problem.digest == self.problem.digest


@cache
def _read_off(key: _Key, method: Method, mu: float) -> AveragedDescent:
    """Settings of DP-GD in units of the bounds."""
    problem = key.problem
    X, y = problem.regressors / problem.row_bound, problem.outcome / problem.outcome_bound
    one = tuned_descent(X, y, mu=mu) if method == "DP-GD, tuned" else chosen_from_moments(Gram.of_records(X, y), mu)
    return AveragedDescent(mu=mu, steps=one.steps, rate=one.rate, clip=one.clip, average=one.average)


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
    if method in ("PRN", "TAP"):
        mu = float(gaussian_mu(epsilon, setup.delta))
        return Newton(mu=mu) if method == "PRN" else TailAveraged(mu=mu)
    if method in ("AdaSSP", "AdaSSP, iso"):
        iso = method == "AdaSSP, iso"
        own = adassp_scales(**budget, iso=iso)
        found = AdaSSP.equal(own.gram, d=setup.d, delta=setup.delta, failure=setup.failure, isotropic=iso)
        return replace(found, eigenvalue_scale=own.eigenvalue, cross_scale=own.moment, shift=own.shift)
    own = gradient_descent_scales(**budget, n=setup.n, steps=setup.steps)
    return GradientDescent(steps=own.steps, rate=RATE, sigma=own.sigma, clip=own.clip)
