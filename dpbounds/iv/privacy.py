"""Privacy costs of DP two-stage gradient descent (iv Algorithms 1 and 3), each derived.

A cost is the zCDP parameter rho of the stated release, n public. One clipped gradient of norm gamma moves the average
by c gamma / n, where c = 2 for replace-one (the paper's neighbours) and c = 1 for zero-out and add-remove. For
add-remove the divisor n and the noise stay as they are, and the larger data set has n records.

What the paper states and what holds:
- iv Prop. 3.1: rho_1 + rho_2 is an upper bound, not the cost: `joint_cost` is exactly rho_1 / 2 + (1 - 1/T) rho_2 / 2
  under eq. (4). The displayed equality rho_1 + rho_2 = (2T/n²)(gamma_1²/lambda_1² + gamma_2²/lambda_2²) is off by the
  factor 2 as well: under eq. (4) the right side is (rho_1 + rho_2) / 2.
- iv Lemma F.1, Remark 3.9 and Algorithm 3: false. One record moves the un-noised Theta and with it the gradients of
  all n records, so the sensitivity is 2 gamma_2, without 1/n (`unnoised_cost`, attained by `pairs.beta_only_pair`):
  n² (1 - 1/T) times what Lemma F.1 states. Finite lambda_1 > 0 does not help Lemma F.1 either (`beta_only_attack`).
  Its displayed equality rho_2 = 2 T gamma_2² / (n² lambda_2²) is off by 2 under eq. (4), like that of Prop. 3.1.
- The budgets of the experiments with rho_1 large (iv Figs. 4b and 6b) are off in the same way.

>>> budget = TwoStageBudget(rho1=5.0, rho2=5.0, gamma1=30.0, gamma2=30.0)
>>> round(float(joint_cost(budget, n=2000, steps=20)), 3)
4.875
>>> round(float(unnoised_cost(budget, n=2000, steps=20)))
9500000
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.integrate import quad
from scipy.special import log_ndtr

from dpbounds.arguments import formula, typed
from dpbounds.errors import AccuracyError, DomainError, count, moderate
from dpbounds.iv.budgets import TwoStageBudget, noise_scales
from dpbounds.privacy import Adjacency, sensitivity_factor, zcdp_epsilon
from dpbounds.values import Value


@formula
def release_cost(n: Any, releases: Any, gamma: Any, scale: Any, factor: Any = 2) -> Any:
    """Cost of Gaussian releases that a record moves by factor gamma / n each: sensitivity² / (2 scale²) times their
    number, in any arithmetic.
    """
    return releases * (factor * gamma / n) ** 2 / (2 * scale**2)


@formula
def printed_budget(n: Any, steps: Any, gamma1: Any, gamma2: Any, lambda1: Any, lambda2: Any) -> Any:
    """(2T/n²)(gamma_1²/lambda_1² + gamma_2²/lambda_2²) as iv Prop. 3.1 and App. B print it, in any arithmetic."""
    return 2 * steps / n**2 * (gamma1**2 / lambda1**2 + gamma2**2 / lambda2**2)


@typed
def joint_cost(budget: TwoStageBudget, n: int, steps: int) -> Value:
    """Cost of releasing all iterates of iv Algorithm 1: (c²/2n²)[T gamma_1²/lambda_1² + (T-1) gamma_2²/lambda_2²].

    Given the past, each release is Gaussian with a mean that moves by at most c gamma / n; the divergences add (chain
    rule), and `pairs.joint_pair` reaches the sum as its magnitude grows: a supremum over pairs. The same holds for
    every order, so the release is mu-GDP with mu = sqrt(2 rho). inf without noise, unless the stage has no data (T =
    1, second stage). Raises `DomainError` for n, steps < 1 and a stage without a clip norm.
    """
    first, second = _stages(budget, n, steps)
    factor = sensitivity_factor(budget.adjacency)
    cost = first.cost(n, steps, factor) + second.cost(n, steps - 1, factor)
    return Value(cost, kind="exact", source="dpbounds, iv App. B with Theta_0 = 0", convention=_zcdp(budget))


@typed
def joint_gdp(budget: TwoStageBudget, n: int, steps: int) -> Value:
    """mu of the joint release, sqrt(2 `joint_cost`): the least mu for which it is mu-GDP.

    Adaptive Gaussian releases compose to sqrt(sum of mu_t²) (Dong, Roth & Su 2022, Cor. 3.3), attained like the cost.
    delta(epsilon) is `dpbounds.privacy.gaussian_delta(mu, epsilon)`, exactly.
    """
    mu, source = math.sqrt(2 * joint_cost(budget, n, steps)), "Dong, Roth & Su 2022, Cor. 3.3"
    return Value(mu, kind="exact", source=source, convention=budget.adjacency)


class Epsilons(NamedTuple):
    """What a zCDP cost is worth at some delta, from the paper's conversion to the exact one.

    - `printed`: rho + 2 sqrt(rho log(1/delta)), iv Section 2.1 and footnote 2; holds for every rho-zCDP mechanism;
    - `best`: the least epsilon that one Rényi order proves, for every rho-zCDP mechanism;
    - `gaussian`: exact for a release that is mu-GDP with mu = sqrt(2 rho), as that of all iterates (`joint_gdp`); no
      guarantee for others.
    """

    printed: Value
    best: Value
    gaussian: Value


def epsilons(rho: float, delta: float) -> Epsilons:
    """The three conversions of a cost rho at delta. Raises `DomainError` as `dpbounds.privacy.zcdp_epsilon`."""
    return Epsilons(
        zcdp_epsilon(rho, delta, "bun-steinke"), zcdp_epsilon(rho, delta), zcdp_epsilon(rho, delta, "gaussian")
    )


@typed
def printed_joint_cost(budget: TwoStageBudget, n: int, steps: int) -> Value:
    """`printed_budget` of iv Prop. 3.1: an upper bound on `joint_cost`, replace-one; inf where a stage has no noise.

    The excess is the beta-stage's first step, which has no data.
    """
    cost = sum(stage.cost(n, steps) for stage in _stages(budget, n, steps))
    return Value(cost, kind="upper", source="iv Prop. 3.1", convention="zCDP, replace-one")


@typed
def beta_only_cost(budget: TwoStageBudget, n: int, steps: int) -> Value:
    """An upper bound on the cost of releasing only beta_1 ... beta_T of iv Algorithm 1.

    The lesser of two: (c²/2n²)(T-1)(gamma_1²/lambda_1² + gamma_2²/lambda_2²), post-processing of the joint release
    without the last Theta-step, which no beta uses (eq. (4): (1 - 1/T)(rho_1 + rho_2)/2); and `unnoised_cost`, which
    holds given the first stage's noise. Not tight; `beta_only_attack` is a lower bound. iv Lemma F.1 states rho_2.
    """
    factor = sensitivity_factor(budget.adjacency)
    processed = sum(stage.cost(n, steps - 1, factor) for stage in _stages(budget, n, steps))
    given_noise = unnoised_cost(budget, n, steps)
    source = "dpbounds, post-processing of iv Algorithm 1"
    return Value(min(processed, given_noise), kind="upper", source=source, convention=_zcdp(budget))


@typed
def unnoised_cost(budget: TwoStageBudget, n: int, steps: int) -> Value:
    """Cost of iv Algorithm 3, beta released, Theta neither noised nor clipped: (T - 1) S² / (2 lambda_2²).

    S = 2 gamma_2 for replace-one, (2 - 1/n) gamma_2 for zero-out and add-remove: one record can turn the sign of
    Theta_t and with it the clipped gradients of all records. Exact, by `pairs.beta_only_pair`; holds whether or not
    the Theta-gradients are clipped. inf for lambda_2 = 0 and T > 1. Of the budget the second stage alone counts.
    Raises `DomainError` as `joint_cost`.
    """
    share = float(unnoised_sensitivity(n, 1.0, adjacency=budget.adjacency))
    cost = _second_stage(budget, n, steps).cost(1, steps - 1, share)
    return Value(cost, kind="exact", source="dpbounds, iv Algorithm 3", convention=_zcdp(budget))


def unnoised_sensitivity(n: int, gamma2: float, *, adjacency: Adjacency = "replace-one") -> Value:
    """How far one record moves the averaged beta-gradient of iv Algorithm 3 after the first step.

    All n gradients may turn from gamma_2 u to -gamma_2 u: 2 gamma_2; where the record itself has none in one of the
    data sets, (2n - 1) gamma_2 / n.
    """
    share = 2.0 if sensitivity_factor(adjacency) == 2 else 2 - 1 / count("n", n)
    return Value(
        share * moderate("gamma2", gamma2), kind="exact", source="dpbounds, iv Algorithm 3", convention=adjacency
    )


@typed
def unnoised_noise_scale(budget: TwoStageBudget, n: int, steps: int) -> Value:
    """lambda_2 for which `unnoised_cost` is rho_2: S sqrt((T - 1) / (2 rho_2)), of order n above eq. (4)."""
    sensitivity = unnoised_sensitivity(n, budget.gamma2, adjacency=budget.adjacency)
    scale = sensitivity * math.sqrt((count("steps", steps) - 1) / (2 * budget.rho2))
    return Value(scale, kind="exact", source="dpbounds, iv Algorithm 3", convention=budget.adjacency)


@typed
def printed_beta_only_cost(budget: TwoStageBudget, n: int, steps: int) -> Value:
    """2T gamma_2² / (n² lambda_2²), which iv Lemma F.1 gives for the release of beta: not a bound on its cost.

    The `kind` is `estimate` because the statement is false for all n, T >= 2 (see `unnoised_cost`).
    """
    cost = _second_stage(budget, n, steps).cost(n, steps)
    return Value(cost, kind="estimate", source="iv Lemma F.1", convention="zCDP, replace-one; as printed, false")


@typed
def beta_only_attack(budget: TwoStageBudget, n: int, steps: int = 2) -> Value:
    """A lower bound on the cost of releasing beta_1, beta_2 (so of any T >= 2): the KL divergence on one pair.

    On `pairs.beta_only_pair` with shift gamma_1, Theta_1 / eta ~ N(±c gamma_1 / (2n), lambda_1²), and the gradient of
    the second step is gamma_2 in size with the sign of Theta_1: (beta_2 - beta_1) / alpha is a mixture of two
    Gaussians with weight w = Φ(c gamma_1 / (2 n lambda_1)), against weight 1 - w on the neighbour. For gamma_2 >>
    lambda_2 it tends to (2w - 1) log(w / (1 - w)). `steps` decides the noise where `budget` does not give it. Raises
    `DomainError` where a stage has no noise; quadrature to 1e-9, else `AccuracyError`.
    """
    first, second = _stages(budget, n, steps)
    factor = sensitivity_factor(budget.adjacency)
    distance = second.gamma / moderate("lambda2", second.scale)
    gap = 0.0 if factor == 2 else distance / n
    reach = 0.5 * factor * first.gamma / (n * moderate("lambda1", first.scale))
    divergence = _mixture_divergence(reach, distance, gap)
    convention = f"{_zcdp(budget)}, T >= 2"
    return Value(divergence, kind="lower", source="dpbounds, against iv Lemma F.1", convention=convention)


class Enforced(NamedTuple):
    """Public bounds that the algorithm of `projected_sensitivities` enforces on records and iterates.

    ||z|| <= `instrument`, |y| <= `outcome` by rescaling each record; ||Theta||_F <= `theta`, ||beta|| <= `beta` by
    projection after each step.
    """

    instrument: float
    outcome: float
    theta: float
    beta: float


@typed
def projected_sensitivities(
    budget: TwoStageBudget, n: int, steps: int, *, eta: float, enforced: Enforced
) -> Float[np.ndarray, " T"]:
    """Sensitivities Delta_t, t = 0 ... T-1, of the beta-steps when Theta is clipped and projected but not noised.

    A clipped Theta-gradient is the gradient of a convex Huber-type loss of smoothness B_z², so for eta <= 2/B_z²
    steps do not expand, and one record moves Theta_t by at most c eta gamma_1 t / n. Theta'z(z'Theta beta - y) is
    Lipschitz in Theta with constant B_z(2 B_z B_Theta B_beta + B_y). Hence Delta_t = (c/n)[gamma_2 + eta gamma_1 t
    B_z(2 B_z B_Theta B_beta + B_y)], never more than `unnoised_sensitivity`, and Delta_0 = 0. Upper bounds. Of the
    budget the clip norms and the adjacency count. Raises `DomainError` for eta > 2/B_z² and numbers that are not above
    0.
    """
    B_z, B_y, B_theta, B_beta = (moderate(f"enforced.{name}", value) for name, value in enforced._asdict().items())
    eta = moderate("eta", eta)
    if eta > 2 / B_z**2:
        raise DomainError("eta", eta, f"at most 2 / instrument² = {2 / B_z**2:.6g}", "larger steps may expand")
    lipschitz = B_z * (2 * B_z * B_theta * B_beta + B_y)
    drift = eta * moderate("gamma1", budget.gamma1) * np.arange(count("steps", steps)) * lipschitz
    bound = sensitivity_factor(budget.adjacency) / count("n", n) * (moderate("gamma2", budget.gamma2) + drift)
    bound[0] = 0.0
    return np.minimum(bound, float(unnoised_sensitivity(n, budget.gamma2, adjacency=budget.adjacency)))


@typed
def projected_noise_scale(budget: TwoStageBudget, n: int, steps: int, *, eta: float, enforced: Enforced) -> Value:
    """lambda_2 = sqrt(sum_t Delta_t² / (2 rho_2)): enough to release beta of the projected algorithm at cost rho_2."""
    bounds = projected_sensitivities(budget, n, steps, eta=eta, enforced=enforced)
    scale = math.sqrt(float(bounds @ bounds) / (2 * budget.rho2))
    source = "dpbounds, projected variant of iv Algorithm 3"
    return Value(scale, kind="upper", source=source, convention=budget.adjacency)


class _Stage(NamedTuple):
    """Clip norm and noise scale of one stage."""

    gamma: float
    scale: float

    def cost(self, n: int, releases: int, factor: float = 2) -> float:
        """`release_cost`: nothing for no release, inf without noise."""
        if releases == 0:
            return 0.0
        return math.inf if self.scale == 0 else release_cost(n, releases, self.gamma, self.scale, factor)


def _stages(budget: TwoStageBudget, n: int, steps: int) -> tuple[_Stage, _Stage]:
    """Both stages of a run of T = `steps` on n records; `DomainError` for a stage that does not clip."""
    scales = noise_scales(budget, n, steps)
    gammas = moderate("gamma1", budget.gamma1), moderate("gamma2", budget.gamma2)
    first, second = (_Stage(gamma, float(scale)) for gamma, scale in zip(gammas, scales, strict=True))
    return first, second


def _second_stage(budget: TwoStageBudget, n: int, steps: int) -> _Stage:
    """Whatever the first one is."""
    return _stages(replace(budget, rho1=math.inf, gamma1=1.0), n, steps)[1]


def _zcdp(budget: TwoStageBudget) -> str:
    return f"zCDP, {budget.adjacency}"


def _mixture_divergence(reach: float, distance: float, gap: float) -> float:
    """KL of w N(a, 1) + (1-w) N(-a, 1) from (1-w) N(b, 1) + w N(-b, 1), w = Φ(reach), a = distance, b = a - gap.

    Each half of the first mixture in coordinates u of its own centre: no difference of large numbers.
    """
    log_w, log_rest, far = float(log_ndtr(reach)), float(log_ndtr(-reach)), 2 * distance

    def part(sign: float) -> tuple[float, float]:
        near_weight, far_weight = (log_w, log_rest) if sign > 0 else (log_rest, log_w)

        def integrand(u: float) -> float:
            v = sign * u
            own = np.logaddexp(near_weight - v**2 / 2, far_weight - (v + far) ** 2 / 2)
            other = np.logaddexp(far_weight - (v + gap) ** 2 / 2, near_weight - (v + far - gap) ** 2 / 2)
            return math.exp(-u * u / 2) * float(own - other)

        bend = [-sign * distance] if distance < 12 else None
        value, error, *_ = quad(integrand, -12.0, 12.0, epsabs=1e-13, epsrel=1e-11, limit=400, points=bend)
        weight = math.exp(near_weight)
        return weight * value / math.sqrt(2 * math.pi), weight * error

    above, error_above = part(1.0)
    below, error_below = part(-1.0)
    total, error = above + below, error_above + error_below
    if error > 1e-9 * max(total, 1e-3):
        raise AccuracyError(f"KL of the two mixtures: error {error:.2g} in {total!r}")
    return total
