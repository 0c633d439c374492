"""Linear regression in finitely many steps: ftrl Section 2.3 and Appendix D.

Conventions as in `dpbounds.ftrl.linear_regression`: F(theta) - F* = 1/2 ||theta - theta*||_H^2, spectra are the
eigenvalues of H, budgets rho are zCDP under zero-out adjacency. `initial` holds the coordinates of theta_0 - theta*,
`failure` is the probability p in (0, 1), kappa = lambda_1 / lambda_d, d_e = Tr H / lambda_1, J = kappa^2 d_e^2 d / rho.
`R_squared` is the smallest number with E ||x||^2 x x^T <= R^2 H (default: Gaussian inputs).

The paper leaves its constants open: they are arguments (c of the clip norm, C of the learning rate, `log_factor` for a
polylogarithm). `iterate_bound` and `gradient_bound` have constants, with log(6 T / p) in place of log(T / p): the
latter tends to 0 with T = 1, p -> 1.

>>> horizon = Horizon(eigenvalues=np.array([1.0, 0.5]), steps=100, failure=0.01)
>>> round(float(half_expo_decay_constant(correlations.nu(0.25), 0.0)), 6), horizon.r_squared
(1.5, 3.5)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, all_moderate, choice, count, moderate, moderate_or_zero, vector, within
from dpbounds.ftrl import correlations
from dpbounds.ftrl.correlations import DampedAntiPGD, FiniteImpulse, NuCorrelation, ToeplitzCorrelation
from dpbounds.ftrl.linear_regression import (
    CONVENTION,
    Regression,
    condition_number,
    effective_dimension,
    gaussian_r_squared,
    suboptimality,
)
from dpbounds.values import Value

Mechanism = Literal["independent", "nu"]
# P(<z, A z> > s Tr A) <= 2 exp(-3 s / 8) for independent entries of variance proxy 1 and A >= 0: with
# s = 4 log(6 T / p) the union over T steps costs at most p / 6.
TAIL = 4.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Horizon:
    """A regression over finitely many steps: what the statements of ftrl Appendix D fix before noise and learning rate.

    - `eigenvalues` (d,) of H; `steps` T; `failure` p in (0, 1), the probability left to what is not covered;
    - `initial_distance` ||theta_0 - theta*||; `sigma_sgd`: standard deviation (or variance proxy) of the residuals;
    - `R_squared`: at least Tr H, by default that of Gaussian inputs.

    Raises `DomainError` for values outside their ranges.
    """

    eigenvalues: Float[np.ndarray, " d"]
    steps: int
    failure: float
    initial_distance: float = 0.0
    sigma_sgd: float = 0.0
    R_squared: float | None = None

    def __post_init__(self) -> None:
        spectrum = all_moderate("eigenvalues", self.eigenvalues)
        spectrum.flags.writeable = False
        checked = {
            "eigenvalues": spectrum,
            "steps": count("steps", self.steps),
            "failure": within("failure", self.failure, "(0, 1)"),
            "initial_distance": moderate_or_zero("initial_distance", self.initial_distance),
            "sigma_sgd": moderate_or_zero("sigma_sgd", self.sigma_sgd),
            "R_squared": _r_squared(spectrum, self.R_squared),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def r_squared(self) -> float:
        """R^2, given or Gaussian."""
        return cast(float, self.R_squared)

    @property
    def mu(self) -> float:
        """The least eigenvalue."""
        return float(self.eigenvalues.min())

    @property
    def log_term(self) -> float:
        """log(T / p)."""
        return float(np.log(self.steps / self.failure))


@typed
def half_expo_decay_constant(correlation: ToeplitzCorrelation, decay: float) -> Value:
    """Least C of ftrl Def D.3 for the parameter `decay`: sup over tau of sum_{k<=tau} |beta_k| (1 - decay)^{-k/2}.

    The sums grow with tau, so the supremum is the series: for nu-DP-FTRL 2 - sqrt(1 - q), q = (1 - nu) / sqrt(1 -
    decay), the binomial series with all signs negative after the first; inf if q > 1, that is decay > nu (2 - nu). At
    decay = 0 it is ||beta||_1. Raises `DomainError` unless 0 <= decay < 1, and for correlations without a closed form.
    """
    log_growth = -0.5 * np.log1p(-within("decay", decay, "[0, 1)"))
    if isinstance(correlation, NuCorrelation):
        log_q = (np.log1p(-correlation.nu) if correlation.nu < 1 else -np.inf) + log_growth
        # At decay = nu (2 - nu) rounding must not turn q = 1 into a divergent series.
        constant = 2.0 - np.sqrt(max(-np.expm1(log_q), 0.0)) if log_q <= 1e-15 else np.inf
    elif isinstance(correlation, DampedAntiPGD):
        constant = 1.0 + (1.0 - correlation.nu) * np.exp(log_growth)
    elif isinstance(correlation, FiniteImpulse):
        constant = np.abs(correlation.beta) @ np.exp(log_growth * np.arange(len(correlation.beta)))
    else:
        raise DomainError("correlation", correlation.name, "one with a closed form", "use from_coefficients")
    return Value(constant, kind="exact", source="ftrl Def D.3")


def expected_bound(
    eigenvalues: Float[np.ndarray, " d"],
    eta: float,
    *,
    steps: int,
    initial_gap: float,
    stationary_gap: float,
    R_squared: float | None = None,
    form: Literal["paper", "sum"] = "paper",
) -> Value:
    """ftrl Thm D.11: E F(theta_t) - F* <= (sqrt(kappa e^{-eta mu t} Delta_0) + sqrt(F_inf))^2 at t = `steps`.

    `initial_gap` is Delta_0 = F(theta_0) - F*, `stationary_gap` F_inf with the limiting sensitivity. The form `sum`
    leaves out the cross term: theta'_t is the sum of a part that depends on the inputs alone and one that is centred
    given the inputs, so the two second moments add. Needs eta < 1 / R^2.
    """
    spectrum = all_moderate("eigenvalues", eigenvalues)
    product = moderate("eta", eta) * _r_squared(spectrum, R_squared)
    within("eta * R_squared", product, "(0, 1)", "the theorem needs eta < 1 / R^2")
    decay = np.exp(-eta * spectrum.min() * count("steps", steps, least=0))
    forgotten = condition_number(spectrum) * decay * moderate_or_zero("initial_gap", initial_gap)
    stationary = moderate_or_zero("stationary_gap", stationary_gap)
    cross = 2.0 * np.sqrt(forgotten * stationary) if choice("form", form, ("paper", "sum")) == "paper" else 0.0
    return Value(forgotten + stationary + cross, kind="upper", source="ftrl Thm D.11", convention=CONVENTION)


@typed
def iterate_bound(
    correlation: ToeplitzCorrelation,
    horizon: Horizon,
    eta: float,
    *,
    noise_variance: float,
    decay: float | None = None,
) -> Value:
    """ftrl Thm D.4 with constants: w.p. 1 - p all ||theta'_t||^2, t < T = `steps`, of Noisy-FTRL are at most this.

    For inputs with independent entries of variance proxy 1 in H^{-1/2} x, residuals of variance proxy sigma_sgd^2 and
    draws of variance N = `noise_variance`. With l = log(6 T / p) and eta <= 1 / (4 R^2 l), w.p. 1 - p / 6 each:
    eta ||x_t||^2 <= 1, so the initial distance never grows and sum_tau W_{t,tau} <= I / eta telescopes: ||theta^sgd||^2
    <= 4 eta sigma^2 d l; ||theta^dp||^2 <= 4 eta^2 N l sum_tau Tr U_tau, where Tr U_tau / d is at most ||beta||_1^2 and
    (6 T^2 / p) D^2 (1 - decay)^tau, D the half-expo decay constant: the sum is d ||beta||_1^2 times at most T and at
    most (2 + log(6 T^2 D^2 / (p ||beta||_1^2))) / decay. `decay` is at most eta mu (the default). The bound is the
    square of the sum of the three roots.
    """
    steps, failure = horizon.steps, horizon.failure
    log_term, rate = _high_probability(horizon, eta, decay)
    absolute = float(half_expo_decay_constant(correlation, 0.0))
    constant = float(half_expo_decay_constant(correlation, rate))
    if not np.isfinite(constant):
        raise DomainError("decay", rate, "a parameter for which the correlation has half-expo decay")
    remembered = min((2.0 + np.log(6.0 * steps**2 / failure) + 2.0 * np.log(constant / absolute)) / rate, steps)
    residual = TAIL * eta * horizon.sigma_sgd**2 * log_term
    privacy = TAIL * eta**2 * moderate_or_zero("noise_variance", noise_variance) * absolute**2 * log_term * remembered
    roots = np.sqrt(len(horizon.eigenvalues)) * (np.sqrt(residual) + np.sqrt(privacy))
    bound = (horizon.initial_distance + roots) ** 2
    return Value(bound, kind="upper", source="dpbounds, ftrl Thm D.4 with constants", convention="w.p. 1 - p")


@typed
def gradient_bound(
    correlation: ToeplitzCorrelation,
    horizon: Horizon,
    eta: float,
    *,
    noise_variance: float,
    decay: float | None = None,
) -> Value:
    """ftrl Thm D.4 with constants: w.p. 1 - p all gradient norms ||g_t||, t < T, of Noisy-FTRL are at most this.

    ||g_t|| <= ||x_t||^2 ||theta'_t|| + ||x_t|| |xi_t| on the events of `iterate_bound` and |xi_t|^2 <= 2 sigma^2 log(12
    T / p), with ||x_t||^2 <= 4 Tr(H) log(6 T / p).
    """
    distance_squared = iterate_bound(correlation, horizon, eta, noise_variance=noise_variance, decay=decay)
    steps, failure = horizon.steps, horizon.failure
    input_squared = TAIL * float(np.sum(horizon.eigenvalues)) * np.log(6.0 * steps / failure)
    residual = horizon.sigma_sgd * np.sqrt(2.0 * np.log(12.0 * steps / failure))
    bound = input_squared * np.sqrt(distance_squared) + np.sqrt(input_squared) * residual
    return Value(bound, kind="upper", source="dpbounds, ftrl Thm D.4 with constants", convention="w.p. 1 - p")


@typed
def clip_norm(horizon: Horizon, eta: float, *, c: float = 1.0) -> Value:
    """G of ftrl Thm D.13: c R^2 max{||theta'_0||, sqrt(eta R^2 sigma^2 / mu), sigma / R} log^{5/2}(T / p).

    The constant c is not given in the paper; its proof has c = 4 C, C the constant of `largest_learning_rate`.
    """
    r_squared, sigma = horizon.r_squared, horizon.sigma_sgd
    wander = np.sqrt(moderate("eta", eta) * r_squared / horizon.mu) * sigma
    scale = max(horizon.initial_distance, wander, sigma / np.sqrt(r_squared))
    norm = moderate("c", c) * r_squared * scale * horizon.log_term**2.5
    return Value(norm, kind="asymptotic", source="ftrl Thm D.13")


@typed
def largest_learning_rate(mechanism: Mechanism, horizon: Horizon, rho: float, *, C: float = 1.0) -> Value:
    """Largest eta of ftrl Thm D.13, min{1 / (C R^2 l), mu rho / (8 C^2 R^4 d gamma_inf^2 ||beta||_1^2 l^5)} with l =
    log(T / p).

    `nu` is nu-DP-FTRL with nu = eta mu, where gamma depends on eta: the root in eta of eta gamma^2(eta mu), which
    increases (nu gamma^2 = 1 / agm(1, 2 / nu - 1)), with ||beta||_1^2 <= 4 as in ftrl Cor D.15. Also below 1 / R^2,
    which the theorem uses through Thm D.11. The constant C is not given in the paper.
    """
    mu, r_squared, log_term, d = horizon.mu, horizon.r_squared, horizon.log_term, len(horizon.eigenvalues)
    budget = mu * moderate("rho", rho) / (8.0 * (moderate("C", C) * r_squared) ** 2 * d * log_term**5)
    cap = min(1.0 / (C * log_term), 1.0 - 1e-9) / r_squared
    eta = min(cap, budget) if _known(mechanism) == "independent" else _largest_for_nu(mu, budget, cap)
    return Value(eta, kind="asymptotic", source="ftrl Thm D.13")


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """Parameters of ftrl Thm D.13, and its part (c): E[(F(theta_T) - F*) 1(no gradient is clipped)] <= bound."""

    learning_rate: float
    correlation: ToeplitzCorrelation
    clip_norm: float
    noise_multiplier: float
    bound: Value


@typed
def at_learning_rate(
    mechanism: Mechanism,
    horizon: Horizon,
    eta: float,
    rho: float,
    *,
    initial: Float[np.ndarray, " d"],
    c: float = 1.0,
) -> Tuned:
    """The clip norm, the noise and the bound of ftrl Thm D.13 for Gaussian inputs at a learning rate, nu = eta mu.

    The bound is 2 kappa e^{-eta mu T} Delta_0 + 2 F_inf with the exact F_inf; part (c) holds for every clip norm (its
    event is that no gradient is clipped), the constant c decides how likely the event is.
    """
    spectrum = horizon.eigenvalues
    start = vector("initial", initial, length=len(spectrum), per="eigenvalue")
    norm = clip_norm(replace(horizon, initial_distance=float(np.linalg.norm(start))), eta, c=c)
    problem = Regression(eigenvalues=spectrum, eta=eta, rho=rho, clip_norm=norm, sigma_sgd=horizon.sigma_sgd)
    correlation = _correlation(mechanism, problem.decay.min())
    stationary = suboptimality(correlation, problem)
    gap = 0.5 * float(spectrum @ start**2)
    forgotten = expected_bound(spectrum, problem.eta, steps=horizon.steps, initial_gap=gap, stationary_gap=0.0)
    bound = Value(2.0 * forgotten + 2.0 * stationary, kind="upper", source="ftrl Thm D.13", convention=CONVENTION)
    return Tuned(
        learning_rate=problem.eta,
        correlation=correlation,
        clip_norm=float(norm),
        noise_multiplier=float(correlation.limiting_sensitivity()) / np.sqrt(2.0 * problem.rho),
        bound=bound,
    )


@typed
def tuned(
    mechanism: Mechanism,
    horizon: Horizon,
    rho: float,
    *,
    initial: Float[np.ndarray, " d"],
    c: float = 1.0,
    C: float = 1.0,
) -> Tuned:
    """The learning rate (and nu = eta mu) of least bound in ftrl Thm D.13: what Cor D.14 and D.15 call appropriate.

    Search in log eta below `largest_learning_rate`, on a grid refined by Brent's method.
    """
    largest = largest_learning_rate(mechanism, horizon, rho, C=C)

    def at(log_eta: float) -> Tuned:
        eta = min(float(np.exp(log_eta)), float(largest))
        return at_learning_rate(mechanism, horizon, eta, rho, initial=initial, c=c)

    from scipy.optimize import minimize_scalar

    grid = np.log(largest) - np.linspace(np.log(1e3 * horizon.steps), 0.0, 48)
    best = int(np.argmin([at(point).bound for point in grid]))
    bounds = (grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    found: Any = minimize_scalar(lambda point: float(at(point).bound), bounds=bounds, method="bounded")
    return min(at(grid[best]), at(found.x), key=lambda candidate: float(candidate.bound))


@typed
def finite_time_rate(
    mechanism: Mechanism,
    horizon: Horizon,
    rho: float,
    *,
    c: float = 1.0,
    log_factor: float = 1.0,
    form: Literal["corollary", "section"] = "corollary",
) -> Value:
    """Right sides of ftrl Cor D.14 (`independent`) and D.15 (`nu`) as printed, or of Section 2.3(b) (`section`).

    kappa exp(-T / (c J l^5)) + kappa d_e (d Tr(H) n_0^2 / (rho T) + d sigma^2 / (rho T) + sigma^2 / T) `log_factor`
    with l = log(T / p); for nu-DP-FTRL kappa d_e / T stands in place of d and the exponent is T / (c J l^7 log J), with
    log J read as at least 1. Section 2.3 (lambda_1 = 1) leaves out the exponential. Two things are missing as printed:
    the first term's factor F(theta_0) - F*, and T >= kappa d_e l, without which the limit 1 / (C R^2 l) of the learning
    rate forbids convergence.
    """
    spectrum, steps, rho, log_term = horizon.eigenvalues, horizon.steps, moderate("rho", rho), horizon.log_term
    kappa, effective = condition_number(spectrum), effective_dimension(spectrum)
    J = kappa**2 * effective**2 * len(spectrum) / rho
    dimension = len(spectrum) if _known(mechanism) == "independent" else kappa * effective / steps
    sigma_squared = horizon.sigma_sgd**2
    signal = spectrum.sum() * horizon.initial_distance**2 + sigma_squared
    value = kappa * effective * (dimension * signal / rho + sigma_squared) / steps * moderate("log_factor", log_factor)
    if choice("form", form, ("corollary", "section")) == "corollary":
        scale = J * log_term**5 if mechanism == "independent" else J * log_term**7 * max(1.0, np.log(J))
        value += kappa * np.exp(-steps / (moderate("c", c) * scale))
    sources = {"independent": "ftrl Cor D.14", "nu": "ftrl Cor D.15"}
    source = sources[mechanism] if form == "corollary" else "ftrl Section 2.3(b)"
    return Value(value, kind="asymptotic", source=source, convention=CONVENTION)


def _known(mechanism: str) -> str:
    return choice("mechanism", mechanism, get_args(Mechanism))


def _correlation(mechanism: str, nu: float) -> ToeplitzCorrelation:
    return correlations.independent() if _known(mechanism) == "independent" else correlations.nu(nu)


def _largest_for_nu(mu: float, budget: float, cap: float) -> float:
    """The largest eta <= cap with 4 eta gamma_inf^2(eta mu) <= budget."""

    def excess(log_eta: float) -> float:
        gamma_squared = correlations.nu(min(float(np.exp(log_eta)) * mu, 1.0)).limiting_sensitivity() ** 2
        return log_eta + np.log(4.0 * gamma_squared) - np.log(budget)

    from scipy.optimize import brentq

    high = float(np.log(cap))
    if excess(high) <= 0:
        return cap
    low = min(high, float(np.log(budget))) - 10.0  # 4 gamma^2 < e^10 for every nu above 1e-300
    return float(np.exp(cast(float, brentq(excess, low, high, xtol=1e-13))))


def _r_squared(spectrum: np.ndarray, R_squared: float | None) -> float:
    """Given, at least Tr H (every law has that), or Gaussian."""
    if R_squared is None:
        return gaussian_r_squared(spectrum)
    if moderate("R_squared", R_squared) < spectrum.sum() * (1 - 1e-12):
        raise DomainError("R_squared", R_squared, f"at least the trace of H, {spectrum.sum():.6g}")
    return float(R_squared)


def _high_probability(horizon: Horizon, eta: float, decay: float | None) -> tuple[float, float]:
    """log(6 T / p) and the decay parameter, within the ranges of `iterate_bound`."""
    log_term = horizon.log_term + float(np.log(6.0))
    limit = 1.0 / (TAIL * horizon.r_squared * log_term)
    if moderate("eta", eta) > limit * (1 + 1e-12):
        raise DomainError("eta", eta, f"at most 1 / (4 R^2 log(6 T / p)) = {limit:.6g}", "take a smaller eta")
    slowest = float(eta * horizon.mu)
    rate = slowest if decay is None else moderate("decay", decay)
    if rate > slowest * (1 + 1e-12):
        raise DomainError("decay", decay, f"at most eta * mu = {slowest:.6g}")
    return log_term, rate
