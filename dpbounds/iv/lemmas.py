"""Right-hand sides of iv Lemmas D.1-D.9 and of the lines between them in the proof of Theorem 3.1 (App. C).

delta and psi (Lemmas D.2, D.5) and the interval for the spectrum of H-hat (Lemma D.6) are in `dpbounds.iv.quantities`,
the noise of the first stage at fixed data (Lemma D.4 with equality) in `dpbounds.iv.laws`. Constants that the paper
leaves open are arguments; `kind` is `asymptotic` for what holds up to one, `upper` or `lower` for what is proved.

>>> design = Design(n=10_000, p=1, q=4, theta_norm=1.0, theta_least=1.0)
>>> [round(float(norm)) for norm in least_clip_norms(design, TwoStageBudget(rho1=5.0, rho2=5.0), steps=10)]
[38, 37]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dpbounds.arguments import formula, typed
from dpbounds.errors import DomainError, count, moderate, moderate_or_zero, positive, within, without_nan
from dpbounds.iv.budgets import TwoStageBudget
from dpbounds.iv.quantities import UNIT, Constants, Design, Spectrum
from dpbounds.values import Value


@typed
def least_clip_norms(design: Design, budget: TwoStageBudget, *, steps: int) -> tuple[Value, Value]:
    """iv eqs. (32), (35): gamma_i >= B_i / (1 - B_i s_i), the solution of gamma >= B (1 + gamma s); inf if B s >= 1.

    B_1 = sigma_z² sigma_2 Q_nT², s_1 = sqrt(T / rho_1) (sqrt(p) + Q_nT) / n; B_2 = sigma_z² Q_nT², s_2 = sqrt(T /
    rho_2) (sqrt(p) + sqrt(tau + log T)) / n. The paper states the solution without the case B s >= 1, where noise that
    grows with the clip norm outruns it.
    """
    Q, root_p = design.Q_union(steps), math.sqrt(design.p)
    reaches = (root_p + Q, root_p + math.sqrt(design.tau + math.log(steps)))
    sizes = (design.sigma_z**2 * design.sigma_2 * Q**2, design.sigma_z**2 * Q**2)
    values = []
    rhos, sources = (budget.rho1, budget.rho2), ("iv eq. (32)", "iv eq. (35)")
    for B, reach, rho, source in zip(sizes, reaches, rhos, sources, strict=True):
        share = B * math.sqrt(steps / rho) * reach / design.n
        values.append(Value(B / (1 - share) if share < 1 else math.inf, kind="asymptotic", source=source))
    return values[0], values[1]


@typed
def no_clipping_sample_size(
    design: Design, budget: TwoStageBudget, *, steps: int, constants: Constants = UNIT
) -> Value:
    """Lemma D.1: n = Omega(Q³ sqrt(T) / sqrt(min rho)), a hypothesis that Theorem 3.1 does not list."""
    number = constants.sample_size * design.Q**3 * math.sqrt(count("steps", steps) / budget.least)
    return Value(number, kind="asymptotic", source="iv Lemma D.1")


@typed
def singular_values(design: Design, bounds: Spectrum) -> tuple[Value, Value]:
    """Lemma D.2: sqrt(n) (1 -+ delta) around the singular values of Z, w.p. 1 - 2 e^{-tau} if C_0 is large enough."""
    root = math.sqrt(design.n)
    least, largest = root * (1 - bounds.delta), root * (1 + bounds.delta)
    source = "iv Lemma D.2"
    return Value(least, kind="estimate", source=source), Value(largest, kind="estimate", source=source)


@typed
def gaussian_singular_values(design: Design) -> tuple[Value, Value]:
    """sqrt(n) -+ (sqrt(q) + sqrt(2 tau)) for Gaussian rows, w.p. 1 - 2 e^{-tau} (Davidson & Szarek 2001, Thm II.13).

    Lemma D.2 holds for Gaussian rows with C_0 = sqrt(2), by this and sqrt(q) + sqrt(2 tau) <= sqrt(2) Q.
    """
    root, spread = math.sqrt(design.n), math.sqrt(design.q) + math.sqrt(2 * design.tau)
    source = "Davidson & Szarek 2001, Thm II.13"
    return (
        Value(max(root - spread, 0.0), kind="lower", source=source),
        Value(root + spread, kind="upper", source=source),
    )


@typed
def product_bound(design: Design, constants: Constants = UNIT) -> Value:
    """Lemma D.3: c_0 sigma_z sigma_2 sqrt(npq) (tau + log(2pq)) on ||Z'E_2||, w.p. 1 - e^{-tau}.

    As printed it asks nothing of the joint law of z_i and e_i, not even that they are uncorrelated: for e = z the norm
    is of order n. Its proof drops the mean.
    """
    p, q = design.p, design.q
    scale = design.sigma_z * design.sigma_2 * math.sqrt(design.n * p * q)
    return Value(
        constants.product * scale * (design.tau + math.log(2 * p * q)), kind="asymptotic", source="iv Lemma D.3"
    )


@typed
def product_tail(level: float, design: Design, constants: Constants = UNIT) -> Value:
    """App. E.3: P(||Z'E_2|| >= level) <= 2pq exp(-level / (c_0 sigma_z sigma_2 sqrt(npq))), inverted by Lemma D.3."""
    scale = constants.product * design.sigma_z * design.sigma_2 * math.sqrt(design.n * design.p * design.q)
    exponent = -moderate_or_zero("level", level) / moderate("c_0 sigma_z sigma_2", scale)
    number = 2 * design.p * design.q * math.exp(exponent)
    return Value(number, kind="asymptotic", source="iv App. E.3")


@typed
def noise_bound(design: Design, *, eta: float, lambda1: float, kappa_theta: float) -> Value:
    """Lemma D.4: eta lambda_1 / sqrt(1 - kappa_Theta²) (sqrt(pq) + sqrt(2p (log p + tau))) on ||N^(t)||, one t.

    W.p. 1 - 3 e^{-tau} with the event of Lemma D.2; given spectral radius of I - eta A at most kappa_Theta it is
    1 - e^{-tau}. It bounds the spectral norm by the Frobenius norm: (sqrt(p) + sqrt(q) + sqrt(2 tau)) would do.
    """
    return Value(
        _noise_scale(eta, lambda1, kappa_theta) * _reach(design), kind="upper", source="iv Lemma D.4, one step"
    )


@typed
def gaussian_noise_bound(design: Design, *, eta: float, lambda1: float, kappa_theta: float) -> Value:
    """The same with sqrt(p) + sqrt(q) + sqrt(2 tau) for the last factor: N^(t) is V^{1/2} times a Gaussian matrix.

    ||V|| <= eta² lambda_1² / (1 - kappa_Theta²); Davidson & Szarek 2001, Thm II.13, w.p. 1 - e^{-tau} given the radius.
    """
    reach = math.sqrt(design.p) + math.sqrt(design.q) + math.sqrt(2 * design.tau)
    source = "Davidson & Szarek 2001, Thm II.13"
    return Value(_noise_scale(eta, lambda1, kappa_theta) * reach, kind="upper", source=source)


@typed
def first_stage_bound(
    design: Design, *, eta: float, lambda1: float, kappa_theta: float, theta_hat_norm: float, burn_in: int
) -> Value:
    """epsilon of iv eq. (18): kappa_Theta^{T_0} ||theta_hat|| + `noise_bound`, on ||Theta_k - theta_hat||, k >= T_0."""
    noise = noise_bound(design, eta=eta, lambda1=lambda1, kappa_theta=kappa_theta)
    forgotten = kappa_theta ** count("burn_in", burn_in, least=0) * moderate("theta_hat_norm", theta_hat_norm)
    return Value(forgotten + noise, kind="upper", source="iv eq. (18), one step")


@typed
def first_stage_tolerance(bounds: Spectrum, theta_hat_norm: float) -> Value:
    """epsilon-bar of iv eqs. (13), (20): `tolerance` at gamma-lower / (2 (1 + delta)²)."""
    room = bounds.lower / (2 * (1 + bounds.delta) ** 2)
    return Value(tolerance(moderate("theta_hat_norm", theta_hat_norm), room), kind="exact", source="iv eq. (20)")


@formula
def tolerance(norm: Any, room: Any) -> Any:
    """sqrt(norm² + room) - norm, the largest eps with (2 norm + eps) eps <= room, of numbers of any kind.

    iv eq. (13): with `norm` = ||theta_hat|| and `room` = gamma-lower / (2 (1 + delta)²), ||e_Theta|| <= eps moves the
    spectrum of H_t by at most gamma-lower / 2. Written without the difference of nearly equal numbers.
    """
    return room / ((norm**2 + room) ** 0.5 + norm)


@formula
def second_stage_bound(
    *,
    kappa_beta: Any,
    alpha: Any,
    delta: Any,
    beta_hat_norm: Any,
    residual: Any,
    theta_norms: Sequence[Any],
    first_stage_errors: Sequence[Any],
    noise: Any,
    start: Any,
) -> Any:
    """Right-hand side of iv eq. (15) on ||e_beta^(T)||, of numbers or arrays of any kind.

    `start` ||e_beta^(T_0)||; for k = T_0 ... T - 1 `theta_norms` ||Theta_k|| and `first_stage_errors` ||e_Theta^(k)||;
    `residual` ||Z'r|| / n; `noise` the largest ||nu^(k)|| (the paper's nu has no index). Holds where (14) does.
    """
    steps = len(theta_norms)
    powers = [kappa_beta**k for k in range(steps + 1)]
    total = powers[steps] * start + alpha * noise / (1 - kappa_beta)
    for k, (norm, error) in enumerate(zip(theta_norms, first_stage_errors, strict=True)):
        total = total + powers[steps - 1 - k] * alpha * norm * ((1 + delta) ** 2 * beta_hat_norm * error + residual)
    return total


@formula
def second_stage_rate(start: Any, epsilon: Any, statistical: Any, noise: Any) -> Any:
    """iv eq. (16), constants 1, on ||e_beta^(T)||: start + eps (1 + eps) + S (1 + eps) + noise.

    `start` kappa_beta^{T - T_0} ||e_beta^(T_0)||, `epsilon` the bound on ||e_Theta^(k)||, k >= T_0, `statistical`
    S = sqrt(pq) Lambda / sqrt(n), `noise` lambda_2 (sqrt(p) + sqrt(tau)) (`second_noise_rate`). Numbers of any kind.
    """
    return start + epsilon * (1 + epsilon) + statistical * (1 + epsilon) + noise


@formula
def burn_in_rate(steps: Any, first_stage_error: Any, epsilon: Any, statistical: Any, noise: Any) -> Any:
    """iv eq. (17), constants 1, on ||e_beta^(T_0)||, T_0 = `steps`: 1 + (1 + eps) T_0 (max ||e_Theta|| + S) + noise.

    `first_stage_error` the largest ||e_Theta^(k)||, k < T_0; the rest as in `second_stage_rate`.
    """
    return 1 + (1 + epsilon) * steps * (first_stage_error + statistical) + noise


@formula
def settled_rate(noise: Any) -> Any:
    """iv eqs. (26), (27), constants 1, on ||e_beta|| at C_2 and at max{T / 2, C_2}: 1 + noise. Raises `DomainError` for
    nan.
    """
    without_nan(noise=noise)
    return 1 + noise


@formula
def final_rate(second_start: Any, first_start: Any, first_noise: Any, statistical: Any, noise: Any) -> Any:
    """iv eq. (28), constants 1: kappa_beta^{T/2} + kappa_Theta^{T/2} + mu + noise + S.

    `first_noise` is mu (`first_noise_rate`), the rest as in `second_stage_rate`.
    """
    return second_start + first_start + first_noise + noise + statistical


@typed
def first_noise_rate(design: Design, lambda1: float) -> Value:
    """mu of iv eq. (18): lambda_1 (sqrt(pq) + sqrt(p (log p + tau))), the size of the first stage's noise."""
    p, scale = design.p, moderate_or_zero("lambda1", lambda1)
    number = scale * (math.sqrt(p * design.q) + math.sqrt(p * (math.log(p) + design.tau)))
    return Value(number, kind="asymptotic", source="iv eq. (18)", convention="constant 1")


@typed
def second_noise_rate(design: Design, lambda2: float) -> Value:
    """lambda_2 (sqrt(p) + sqrt(tau)) of iv eq. (16), the size of the second stage's noise."""
    number = moderate_or_zero("lambda2", lambda2) * (math.sqrt(design.p) + math.sqrt(design.tau))
    return Value(number, kind="asymptotic", source="iv eq. (16)", convention="constant 1")


@typed
def burn_in(bounds: Spectrum, theta_hat_norm: float, kappa_theta: float) -> int:
    """t_0(n) of iv eq. (22): ceil(log(eps-bar / (2 ||theta_hat||)) / log kappa_Theta)."""
    tolerance = first_stage_tolerance(bounds, theta_hat_norm)
    ratio = moderate("gamma-lower", tolerance) / (2 * moderate("theta_hat_norm", theta_hat_norm))
    return math.ceil(math.log(ratio) / math.log(within("kappa_theta", kappa_theta, "(0, 1)")))


def burn_in_limit(eta: float, theta_norm: float, theta_least: float) -> Value:
    """The limit of t_0(n) before rounding up: log_{|1 - eta|} ((sqrt(1 + sigma_min² / (2 ||Theta||²)) - 1) / 2).

    Below iv eq. (25) the root covers the -1, which leaves sigma_min / (2 sqrt(2) ||Theta||), and the base is 1 - eta,
    negative for eta > 1. Raises `DomainError` for eta = 1, where one step suffices, and outside (0, 2).
    """
    eta = within("eta", moderate("eta", eta), "(0, 2)")
    half = moderate("theta_least", theta_least) ** 2 / (2 * moderate("theta_norm", theta_norm) ** 2)
    inside = half / (math.sqrt(1 + half) + 1) / 2
    log_rate = math.log1p(-eta) if eta < 1 else math.log(positive("|1 - eta|", eta - 1))
    number = math.log(inside) / log_rate
    return Value(number, kind="exact", source="iv, below eq. (25), corrected")


@typed
def noise_dimension(design: Design) -> Value:
    """R of iv eq. (24): Q² (sqrt(pq) + sqrt(p (log p + tau))), at most 1.61 sqrt(p) Q³."""
    return Value(design.Q**2 * first_noise_rate(design, 1.0), kind="exact", source="iv eq. (24)")


@typed
def estimator_rate(design: Design) -> Value:
    """Lemma D.7: sqrt(q) (tau + log q) / sqrt(n) for ||beta_hat - beta||, constant 1.

    Sharper for fixed singular values of Theta: sqrt(tr `population.two_stage_covariance`), of order sqrt(p / n).
    """
    number = math.sqrt(design.q / design.n) * (design.tau + math.log(design.q))
    return Value(number, kind="asymptotic", source="iv Lemma D.7", convention="constant 1")


@typed
def residual_rate(design: Design) -> Value:
    """Lemma D.8: sqrt(npq) (tau + log(pq)) for ||Z'r||, r = Z theta_hat beta_hat - Y, constant 1.

    Sharper: P_Z r = -(P_Z - P_{Z theta_hat}) E_1, so r'P_Z r is sigma_1² chi²_{q-p} in the limit (Sargan's statistic):
    ||Z'r|| is of order sqrt(n (q - p)), and 0 for q = p. The recursion has Theta_t' Z'r alone, and theta_hat' Z'r = 0.
    """
    number = math.sqrt(design.n * design.p * design.q) * design.Lambda
    return Value(number, kind="asymptotic", source="iv Lemma D.8", convention="constant 1")


@typed
def product_of_contractions_bound(
    bounds: Spectrum, *, alpha: float, theta_hat_norm: float, first_stage_error: float, burn_in: int
) -> Value:
    """c_L^{t_0} of the proof of Lemma D.9, c_L = 1 + alpha (1 + delta)² (max ||e_Theta|| + ||theta_hat||)².

    `first_stage_error` bounds ||Theta_t - theta_hat|| for t < t_0 = `burn_in`; after that no factor exceeds 1.
    """
    reach = moderate_or_zero("first_stage_error", first_stage_error) + moderate("theta_hat_norm", theta_hat_norm)
    factor = 1 + moderate("alpha", alpha) * (1 + bounds.delta) ** 2 * reach**2
    steps = count("burn_in", burn_in, least=0)
    if steps * math.log(factor) > 700:
        raise DomainError("burn_in", burn_in, f"at most {700 / math.log(factor):.4g}", "the bound is no float beyond")
    return Value(factor**steps, kind="upper", source="iv Lemma D.9, App. E.9")


def _noise_scale(eta: float, lambda1: float, kappa_theta: float) -> float:
    kappa = within("kappa_theta", kappa_theta, "[0, 1)")
    return moderate("eta", eta) * moderate_or_zero("lambda1", lambda1) / math.sqrt((1 - kappa) * (1 + kappa))


def _reach(design: Design) -> float:
    p = design.p
    return math.sqrt(p * design.q) + math.sqrt(2 * p * (math.log(p) + design.tau))
