"""Noise scales for a budget (epsilon, delta) under three accountings.

- `theorem`: as the paper's statements print them (Theorem 1; Algorithms 4 and 6; (157));
- `experiments`: as its Section 5 and App. H compute them (Rényi curve of the sketch and analytic Gaussian noise, still
  a sum of budgets: epsilon/2 + epsilon/2 for IHM, three times (epsilon/3, delta/3) for AdaSSP);
- `tight`: all noises of the experiments times one factor, the least at which all releases together are
  (epsilon, delta)-DP by `accounting`: methods at equal true privacy. For Algorithms 1 and 4 "true" is an upper bound.

Zero-out neighbours (the paper's) unless an `adjacency` is given; rows of X have norm at most 1, |y| <= `outcome_bound`.
`failure` is the paper's varrho. Ranges as in `sketch`.

>>> scales = hessian_mixing_scales(1.0, 1e-6, k=111, steps=3, failure=1e-7)
>>> round(scales.gamma), round(scales.sigma, 1)
(179, 8.0)
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal, get_args

from dpbounds.arguments import formula, typed
from dpbounds.arithmetic import FLOATS, Arithmetic
from dpbounds.errors import DomainError, choice, count, moderate, within
from dpbounds.ols import sketch
from dpbounds.ols.accounting import MixingScales, gaussian_part, mixing_log_delta
from dpbounds.ols.scales import (
    AdasspScales,
    GradientDescentScales,
    HessianMixingScales,
    LinearMixingScales,
    adassp_shift,
)
from dpbounds.ols.sketch import BUDGET_RANGE
from dpbounds.privacy.calibration import Adjacency, sensitivity_factor
from dpbounds.privacy.gaussian import gaussian_mu

# A quarter of it must still be in reach of `gaussian_mu`.
BUDGET_DELTA_RANGE = "[1e-299, 1)"

# A Gaussian mechanism of this mu has delta = 1 at every epsilon in range.
_NO_PRIVACY = 9e3

Accounting = Literal["theorem", "experiments", "tight"]


@formula
def theorem_gamma(m: Arithmetic, epsilon: Any, log_five: Any, k: Any, steps: Any) -> Any:
    """gamma of Theorem 1, `log_five` = log(5/delta), in any arithmetic."""
    return sketch.printed_gamma(m, epsilon / 2, k * steps, log_five)


@formula
def theorem_sigma(m: Arithmetic, epsilon: Any, log_four: Any, steps: Any, clip: Any) -> Any:
    """sigma of Theorem 1, `log_four` = log(4/delta), in any arithmetic."""
    return m.sqrt(steps) * clip / (m.sqrt(2 * log_four) * (m.sqrt(1 + epsilon / (2 * log_four)) - 1))


@formula
def theorem_tau(m: Arithmetic, delta: Any, failure: Any) -> Any:
    """tau of Theorem 1, in any arithmetic."""
    return m.sqrt(2 * m.log(m.maximum(4 / delta, 4 / failure)))


def hessian_mixing_scales(
    epsilon: float,
    delta: float,
    *,
    k: int,
    steps: int,
    failure: float,
    clip: float = 1.0,
    accounting: Accounting = "tight",
    gradient_share: float | None = None,
    adjacency: Adjacency = "zero-out",
) -> HessianMixingScales:
    """gamma, sigma, tau of Algorithm 1.

    `gradient_share` (tight only) is the share of the leading-order mu² that the gradients get, in (0, 1): the rest is
    (k + k steps/2)/gamma². None keeps the ratio of the experiments' gamma and sigma. Raises `DomainError` for numbers
    outside their ranges, and for a `theorem` gamma that is not above 5/2, with the k * steps that would do.
    """
    epsilon, delta, failure = _budget(epsilon, delta, failure)
    k, steps, clip = count("k", k), count("steps", steps), moderate("clip", clip)
    common = {"k": k, "steps": steps, "clip": clip, "tau": float(theorem_tau(FLOATS, delta, failure))}
    if choice("accounting", accounting, get_args(Accounting)) == "theorem":
        gamma = _above_least(float(theorem_gamma(FLOATS, epsilon, math.log(5 / delta), k, steps)), k * steps)
        sigma = float(theorem_sigma(FLOATS, epsilon, math.log(4 / delta), steps, clip))
        return HessianMixingScales(gamma=gamma, sigma=sigma, **common)
    gamma = float(sketch.gamma(epsilon / 2, delta / 2, k, steps))
    sigma = math.sqrt(steps) * clip / gaussian_mu(epsilon / 2, delta / 4)
    start = HessianMixingScales(gamma=gamma, sigma=sigma, **common)
    if accounting == "experiments":
        return start
    if gradient_share is not None:
        share = within("gradient_share", gradient_share, "(0, 1)")
        mu = math.sqrt(k * (1 + steps / 2) / (1 - share)) / gamma
        start = replace(start, sigma=math.sqrt(steps / share) * clip / mu)
    return _tightened(start, epsilon, delta, adjacency)


def linear_mixing_scales(
    epsilon: float,
    delta: float,
    *,
    k: int,
    failure: float,
    outcome_bound: float = 1.0,
    accounting: Accounting = "tight",
    adjacency: Adjacency = "zero-out",
) -> LinearMixingScales:
    """gamma and tau of Algorithm 4 (`theorem` and `experiments` are both the algorithm as printed)."""
    epsilon, delta, failure = _budget(epsilon, delta, failure)
    tau = math.sqrt(2 * math.log(max(3 / delta, 2 / failure)))
    gamma = float(sketch.gamma(epsilon, delta, count("k", k)))
    start = LinearMixingScales(k=int(k), gamma=gamma, tau=tau, outcome_bound=moderate("outcome_bound", outcome_bound))
    if choice("accounting", accounting, get_args(Accounting)) == "tight":
        return _tightened(start, epsilon, delta, adjacency)
    return start


@typed
def adassp_scales(
    epsilon: float,
    delta: float,
    *,
    outcome_bound: float = 1.0,
    iso: bool = False,
    accounting: Accounting = "tight",
    adjacency: Adjacency = "zero-out",
) -> AdasspScales:
    """Noise of Algorithm 6: s, s, C_Y s with s = sqrt(2 log(6/delta)) 3/epsilon (theorem), 1/mu(epsilon/3, delta/3)
    (experiments), or sqrt(3)/mu(epsilon, delta) (tight; sqrt(5.5)/mu for replace-one, which the others do not offer).
    """
    epsilon, delta, _ = _budget(epsilon, delta, 1.0)
    bound, shift = moderate("outcome_bound", outcome_bound), adassp_shift(delta)
    factor = sensitivity_factor(adjacency)
    if choice("accounting", accounting, get_args(Accounting)) == "tight":
        scale = math.sqrt(3 if factor == 1 else 5.5) / gaussian_mu(epsilon, delta)
    else:
        choice("adjacency", adjacency, ("zero-out", "add-remove"))
        scale = 1 / gaussian_mu(epsilon / 3, delta / 3) if accounting == "experiments" else 3 * shift / epsilon
    return AdasspScales(eigenvalue=scale, gram=scale, moment=bound * scale, shift=shift, outcome_bound=bound, iso=iso)


@formula
def printed_gradient_variance(
    m: Arithmetic, epsilon: Any, log_inverse_delta: Any, n: Any, steps: Any, clip: Any
) -> Any:
    """sigma² of (157), in any arithmetic."""
    return 2 * steps * clip**2 / (n**2 * (m.sqrt(epsilon + log_inverse_delta) - m.sqrt(log_inverse_delta)) ** 2)


def gradient_descent_scales(
    epsilon: float,
    delta: float,
    *,
    n: int,
    steps: int,
    clip: float = 1.0,
    accounting: Accounting = "tight",
    adjacency: Adjacency = "zero-out",
) -> GradientDescentScales:
    """sigma of Algorithm 7: (157) for `theorem` and `experiments`; sqrt(steps) c clip/(n mu(epsilon, delta)), tight."""
    epsilon, delta, _ = _budget(epsilon, delta, 1.0)
    n, steps, clip = count("n", n), count("steps", steps), moderate("clip", clip)
    factor = sensitivity_factor(adjacency)
    if choice("accounting", accounting, get_args(Accounting)) == "tight":
        sigma = math.sqrt(steps) * factor * clip / (n * gaussian_mu(epsilon, delta))
    else:
        sigma = math.sqrt(float(printed_gradient_variance(FLOATS, epsilon, -math.log(delta), n, steps, clip)))
    return GradientDescentScales(n=n, steps=steps, sigma=sigma, clip=clip)


def _budget(epsilon: float, delta: float, failure: float) -> tuple[float, float, float]:
    return (
        within("epsilon", epsilon, BUDGET_RANGE),
        within("delta", delta, BUDGET_DELTA_RANGE),
        within("failure", failure, "[1e-300, 1]"),
    )


def _above_least(gamma: float, rows: int) -> float:
    """Theorem 1 rests on Proposition 5, which needs gamma > 5/2."""
    if gamma <= sketch.LEAST_GAMMA:
        needed = math.floor(rows * (sketch.LEAST_GAMMA / gamma) ** 2) + 1
        remedy = (
            f"Theorem 1 has gamma = {gamma:.4g}, Proposition 5 needs more than 5/2: more rows, or a smaller epsilon"
        )
        raise DomainError("k * steps", rows, f"at least {needed} for this budget", remedy)
    return gamma


@lru_cache(maxsize=1000)
def _tightened(start: MixingScales, epsilon: float, delta: float, adjacency: Adjacency) -> Any:
    """All noises times the least factor at which the joint profile meets (epsilon, delta), to 1e-12. Kept: who compares
    problems or asks again at the same budget has the same noises, and the search is slow.
    """
    log_delta = math.log(delta)

    def scaled(factor: float) -> MixingScales:
        noises = {"gamma": start.gamma * factor}
        if isinstance(start, HessianMixingScales):
            noises["sigma"] = start.sigma * factor
        return replace(start, **noises)

    def gap(factor: float) -> float:
        return mixing_log_delta(epsilon, scaled(factor), adjacency=adjacency) - log_delta

    # Below, gamma is no more than 1, or the Gaussian part alone gives away everything.
    low = max((1 + 1e-9) / start.gamma, gaussian_part(start, adjacency) / _NO_PRIVACY)
    return scaled(sketch.least(gap, low))
