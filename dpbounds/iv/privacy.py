"""Noise scales and privacy costs of DP two-stage gradient descent (iv Algorithms 1 and 3), each derived.

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
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, Protocol, get_args

import numpy as np
from scipy.integrate import quad
from scipy.special import log_ndtr

from dpbounds.arguments import formula, typed
from dpbounds.errors import FAINTEST, AccuracyError, DomainError, choice, count, moderate, moderate_or_zero, real
from dpbounds.privacy import Adjacency, sensitivity_factor, zcdp_epsilon
from dpbounds.values import Value

Calibration = Literal["paper", "tight"]


class NoiseScales(NamedTuple):
    """Standard deviations of the noise entries of the two stages, as they enter iv Algorithm 1 (before eta, alpha)."""

    lambda1: Value
    lambda2: Value


def noise_scales(
    n: int,
    steps: int,
    rho1: float,
    rho2: float,
    gamma1: float,
    gamma2: float,
    *,
    calibration: Calibration = "paper",
    adjacency: Adjacency = "replace-one",
) -> NoiseScales:
    """lambda_1, lambda_2 for budgets rho_1, rho_2 (inf: no noise) and clip norms gamma_1, gamma_2.

    `paper`: c (gamma_i / n) sqrt(T / rho_i), eq. (4) for replace-one; costs half the budget or less. `tight`: lambda_1
    = c (gamma_1 / n) sqrt(T / (2 rho_1)), lambda_2 = c (gamma_2 / n) sqrt((T - 1) / (2 rho_2)), for which the joint
    release costs exactly rho_1 + rho_2: the Theta-stage uses the data T times, the beta-stage T - 1 times (Theta_0 =
    0 makes its first gradient zero). Raises `DomainError` for n, steps < 1, budgets or clip norms that are not above
    0, and unknown names.
    """
    choice("calibration", calibration, get_args(Calibration))
    n, steps, factor = count("n", n), count("steps", steps), sensitivity_factor(adjacency)
    uses = (steps, steps) if calibration == "paper" else (steps / 2, (steps - 1) / 2)
    stages = zip(("1", "2"), uses, (rho1, rho2), (gamma1, gamma2), strict=True)
    scales = [
        noise_scale(math, n, used, budget(f"rho{stage}", rho), moderate(f"gamma{stage}", gamma), factor)
        for stage, used, rho, gamma in stages
    ]
    source = "iv eq. (4)" if calibration == "paper" else "dpbounds, exact cost of iv Algorithm 1"
    return NoiseScales(*(Value(scale, kind="exact", source=source, convention=adjacency) for scale in scales))


class Roots(Protocol):
    """An arithmetic, as far as noise scales need it: `math`, `sympy`, an `Arithmetic`."""

    @property
    def sqrt(self) -> Any:
        """The root of a number."""
        ...


@formula
def noise_scale(m: Roots, n: Any, uses: Any, rho: Any, gamma: Any, factor: Any = 2) -> Any:
    """factor (gamma / n) sqrt(uses / rho): one stage of eq. (4), with uses = T; `m` is any arithmetic with sqrt."""
    return factor * gamma / n * m.sqrt(uses / rho)


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


def joint_cost(
    n: int,
    steps: int,
    *,
    gamma1: float,
    gamma2: float,
    lambda1: float,
    lambda2: float,
    adjacency: Adjacency = "replace-one",
) -> Value:
    """Cost of releasing all iterates of iv Algorithm 1: (c²/2n²)[T gamma_1²/lambda_1² + (T-1) gamma_2²/lambda_2²].

    Given the past, each release is Gaussian with a mean that moves by at most c gamma / n; the divergences add (chain
    rule), and `pairs.joint_pair` reaches the sum as its magnitude grows: a supremum over pairs. The same holds for
    every order, so the release is mu-GDP with mu = sqrt(2 rho). inf without noise, unless the stage has no data (T =
    1, second stage). Raises `DomainError` for n, steps < 1, clip norms <= 0, scales < 0.
    """
    n, steps, factor = count("n", n), count("steps", steps), sensitivity_factor(adjacency)
    cost = _stage(n, steps, gamma1, lambda1, "1", factor) + _stage(n, steps - 1, gamma2, lambda2, "2", factor)
    return Value(cost, kind="exact", source="dpbounds, iv App. B with Theta_0 = 0", convention=f"zCDP, {adjacency}")


def joint_gdp(
    n: int,
    steps: int,
    *,
    gamma1: float,
    gamma2: float,
    lambda1: float,
    lambda2: float,
    adjacency: Adjacency = "replace-one",
) -> Value:
    """mu of the joint release, sqrt(2 `joint_cost`): the least mu for which it is mu-GDP.

    Adaptive Gaussian releases compose to sqrt(sum of mu_t²) (Dong, Roth & Su 2022, Cor. 3.3), attained like the cost.
    delta(epsilon) is `dpbounds.privacy.gaussian_delta(mu, epsilon)`, exactly.
    """
    scales = {"gamma1": gamma1, "gamma2": gamma2, "lambda1": lambda1, "lambda2": lambda2}
    cost = joint_cost(n, steps, **scales, adjacency=adjacency)
    return Value(math.sqrt(2 * cost), kind="exact", source="Dong, Roth & Su 2022, Cor. 3.3", convention=adjacency)


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


def printed_joint_cost(n: int, steps: int, *, gamma1: float, gamma2: float, lambda1: float, lambda2: float) -> Value:
    """`printed_budget` of iv Prop. 3.1: an upper bound on `joint_cost`, replace-one; inf where a stage has no noise.

    The excess is the beta-stage's first step, which has no data.
    """
    n, steps = count("n", n), count("steps", steps)
    cost = _stage(n, steps, gamma1, lambda1, "1") + _stage(n, steps, gamma2, lambda2, "2")
    return Value(cost, kind="upper", source="iv Prop. 3.1", convention="zCDP, replace-one")


def beta_only_cost(
    n: int,
    steps: int,
    *,
    gamma1: float,
    gamma2: float,
    lambda1: float,
    lambda2: float,
    adjacency: Adjacency = "replace-one",
) -> Value:
    """An upper bound on the cost of releasing only beta_1 ... beta_T of iv Algorithm 1.

    The lesser of two: (c²/2n²)(T-1)(gamma_1²/lambda_1² + gamma_2²/lambda_2²), post-processing of the joint release
    without the last Theta-step, which no beta uses (eq. (4): (1 - 1/T)(rho_1 + rho_2)/2); and `unnoised_cost`, which
    holds given the first stage's noise. Not tight; `beta_only_attack` is a lower bound. iv Lemma F.1 states rho_2.
    """
    n, steps, factor = count("n", n), count("steps", steps), sensitivity_factor(adjacency)
    stages = ((gamma1, lambda1, "1"), (gamma2, lambda2, "2"))
    processed = sum(_stage(n, steps - 1, gamma, scale, stage, factor) for gamma, scale, stage in stages)
    given_noise = unnoised_cost(n, steps, gamma2=gamma2, lambda2=lambda2, adjacency=adjacency)
    source = "dpbounds, post-processing of iv Algorithm 1"
    return Value(min(processed, given_noise), kind="upper", source=source, convention=f"zCDP, {adjacency}")


def unnoised_cost(n: int, steps: int, *, gamma2: float, lambda2: float, adjacency: Adjacency = "replace-one") -> Value:
    """Cost of iv Algorithm 3, beta released, Theta neither noised nor clipped: (T - 1) S² / (2 lambda_2²).

    S = 2 gamma_2 for replace-one, (2 - 1/n) gamma_2 for zero-out and add-remove: one record can turn the sign of
    Theta_t and with it the clipped gradients of all records. Exact, by `pairs.beta_only_pair`; holds whether or not
    the Theta-gradients are clipped. inf for lambda_2 = 0 and T > 1. Raises `DomainError` as `joint_cost`.
    """
    n, steps = count("n", n), count("steps", steps)
    share = float(unnoised_sensitivity(n, 1.0, adjacency=adjacency))
    cost = _stage(1, steps - 1, gamma2, lambda2, "2", share)
    return Value(cost, kind="exact", source="dpbounds, iv Algorithm 3", convention=f"zCDP, {adjacency}")


def unnoised_sensitivity(n: int, gamma2: float, *, adjacency: Adjacency = "replace-one") -> Value:
    """How far one record moves the averaged beta-gradient of iv Algorithm 3 after the first step.

    All n gradients may turn from gamma_2 u to -gamma_2 u: 2 gamma_2; where the record itself has none in one of the
    data sets, (2n - 1) gamma_2 / n.
    """
    share = 2.0 if sensitivity_factor(adjacency) == 2 else 2 - 1 / count("n", n)
    return Value(
        share * moderate("gamma2", gamma2), kind="exact", source="dpbounds, iv Algorithm 3", convention=adjacency
    )


def unnoised_noise_scale(
    n: int, steps: int, rho2: float, gamma2: float, *, adjacency: Adjacency = "replace-one"
) -> Value:
    """lambda_2 for which `unnoised_cost` is rho_2: S sqrt((T - 1) / (2 rho_2)), of order n above eq. (4)."""
    sensitivity = unnoised_sensitivity(n, gamma2, adjacency=adjacency)
    scale = sensitivity * math.sqrt((count("steps", steps) - 1) / (2 * budget("rho2", rho2)))
    return Value(scale, kind="exact", source="dpbounds, iv Algorithm 3", convention=adjacency)


def printed_beta_only_cost(n: int, steps: int, *, gamma2: float, lambda2: float) -> Value:
    """2T gamma_2² / (n² lambda_2²), which iv Lemma F.1 gives for the release of beta: not a bound on its cost.

    The `kind` is `estimate` because the statement is false for all n, T >= 2 (see `unnoised_cost`).
    """
    cost = _stage(count("n", n), count("steps", steps), gamma2, lambda2, "2")
    return Value(cost, kind="estimate", source="iv Lemma F.1", convention="zCDP, replace-one; as printed, false")


def beta_only_attack(
    n: int, *, gamma1: float, gamma2: float, lambda1: float, lambda2: float, adjacency: Adjacency = "replace-one"
) -> Value:
    """A lower bound on the cost of releasing beta_1, beta_2 (so of any T >= 2): the KL divergence on one pair.

    On `pairs.beta_only_pair` with shift gamma_1, Theta_1 / eta ~ N(±c gamma_1 / (2n), lambda_1²), and the gradient of
    the second step is gamma_2 in size with the sign of Theta_1: (beta_2 - beta_1) / alpha is a mixture of two
    Gaussians with weight w = Φ(c gamma_1 / (2 n lambda_1)), against weight 1 - w on the neighbour. For gamma_2 >>
    lambda_2 it tends to (2w - 1) log(w / (1 - w)). Quadrature to 1e-9, else `AccuracyError`.
    """
    factor, n = sensitivity_factor(adjacency), count("n", n)
    distance = moderate("gamma2", gamma2) / moderate("lambda2", lambda2)
    gap = 0.0 if factor == 2 else distance / n
    reach = 0.5 * factor * moderate("gamma1", gamma1) / (n * moderate("lambda1", lambda1))
    divergence = _mixture_divergence(reach, distance, gap)
    source = "dpbounds, against iv Lemma F.1"
    return Value(divergence, kind="lower", source=source, convention=f"zCDP, {adjacency}, T >= 2")


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
    n: int,
    steps: int,
    *,
    gamma1: float,
    gamma2: float,
    eta: float,
    enforced: Enforced,
    adjacency: Adjacency = "replace-one",
) -> np.ndarray:
    """Sensitivities Delta_t, t = 0 ... T-1, of the beta-steps when Theta is clipped and projected but not noised.

    A clipped Theta-gradient is the gradient of a convex Huber-type loss of smoothness B_z², so for eta <= 2/B_z²
    steps do not expand, and one record moves Theta_t by at most c eta gamma_1 t / n. Theta'z(z'Theta beta - y) is
    Lipschitz in Theta with constant B_z(2 B_z B_Theta B_beta + B_y). Hence Delta_t = (c/n)[gamma_2 + eta gamma_1 t
    B_z(2 B_z B_Theta B_beta + B_y)], never more than `unnoised_sensitivity`, and Delta_0 = 0. Upper bounds. Raises
    `DomainError` for eta > 2/B_z² and numbers that are not above 0.
    """
    B_z, B_y, B_theta, B_beta = (moderate(f"enforced.{name}", value) for name, value in enforced._asdict().items())
    eta = moderate("eta", eta)
    if eta > 2 / B_z**2:
        raise DomainError("eta", eta, f"at most 2 / instrument² = {2 / B_z**2:.6g}", "larger steps may expand")
    lipschitz = B_z * (2 * B_z * B_theta * B_beta + B_y)
    drift = eta * moderate("gamma1", gamma1) * np.arange(count("steps", steps)) * lipschitz
    bound = sensitivity_factor(adjacency) / count("n", n) * (moderate("gamma2", gamma2) + drift)
    bound[0] = 0.0
    return np.minimum(bound, float(unnoised_sensitivity(n, gamma2, adjacency=adjacency)))


@typed
def projected_noise_scale(
    n: int,
    steps: int,
    rho2: float,
    *,
    gamma1: float,
    gamma2: float,
    eta: float,
    enforced: Enforced,
    adjacency: Adjacency = "replace-one",
) -> Value:
    """lambda_2 = sqrt(sum_t Delta_t² / (2 rho_2)): enough to release beta of the projected algorithm at cost rho_2."""
    bounds = projected_sensitivities(
        n, steps, gamma1=gamma1, gamma2=gamma2, eta=eta, enforced=enforced, adjacency=adjacency
    )
    scale = math.sqrt(float(bounds @ bounds) / (2 * budget("rho2", rho2)))
    return Value(scale, kind="upper", source="dpbounds, projected variant of iv Algorithm 3", convention=adjacency)


def budget(parameter: str, rho: float) -> float:
    """A zCDP budget: above 0, inf for no noise."""
    if isinstance(rho, (int, float, np.number)) and rho == math.inf:
        return math.inf
    return moderate(parameter, real(parameter, rho), "inf stands for no noise", least=FAINTEST)


def _stage(n: int, releases: int, gamma: float, scale: float, stage: str, factor: float = 2) -> float:
    """`release_cost` with its arguments checked: nothing for no release, inf without noise."""
    gamma, scale = moderate(f"gamma{stage}", gamma), moderate_or_zero(f"lambda{stage}", scale)
    if releases == 0:
        return 0.0
    return math.inf if scale == 0 else release_cost(n, releases, gamma, moderate(f"lambda{stage}", scale), factor)


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
