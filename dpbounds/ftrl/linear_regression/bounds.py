"""Upper and lower bounds on the stationary error: the paper's, as printed, and sharper ones for every input law.

The paper's Appendix C leaves the factor 1/2 of F open: each docstring says for which F the printed line was proved.
`R_squared` is the smallest number with E ||x||^2 x x^T <= R^2 H, `kurtosis_constant` the C_kurt of Assumption (A3).

>>> gaussian_r_squared(np.array([1.0, 0.25]))
3.25
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from jaxtyping import Float

from dpbounds import elliptic
from dpbounds.arguments import typed
from dpbounds.errors import DomainError, all_moderate, choice, moderate, moderate_or_zero, within
from dpbounds.ftrl.correlations import ToeplitzCorrelation
from dpbounds.ftrl.linear_regression.exact import CONVENTION
from dpbounds.ftrl.linear_regression.settings import Regression
from dpbounds.values import Value, weakest

GAUSSIAN_KURTOSIS_CONSTANT = 3.0
# 1 / (2 log^2 8): the constant of `nu_upper_bound`.
NU_CONSTANT = 1.0 / (2.0 * np.log(8.0) ** 2)

Form = Literal["time", "frequency"]


def gaussian_r_squared(eigenvalues: Float[np.ndarray, " d"]) -> float:
    """Smallest R^2 for Gaussian inputs, 2 lambda_1 + Tr H: E ||x||^2 x x^T = 2 H^2 + Tr(H) H (Wick), ftrl Prop C.3."""
    spectrum = all_moderate("eigenvalues", eigenvalues)
    return float(2.0 * spectrum.max() + spectrum.sum())


@typed
def paper_upper_bound(
    correlation: ToeplitzCorrelation,
    problem: Regression,
    *,
    R_squared: float | None = None,
    kurtosis_constant: float = GAUSSIAN_KURTOSIS_CONSTANT,
    form: Form = "time",
) -> Value:
    """ftrl Thm C.14 (`time`) or C.15 (`frequency`) as printed; the proof sums E ||theta^(r)||_H^2 and uses F with 1/2.

    (1 + k0) eta R^2 sigma^2 + (1 + C_kurt k0) eta N <beta, T beta>, k0 = (1 - sqrt(eta R^2))^{-2}; in frequency
    <beta, T beta> is replaced by (eta / pi) int |B|^2 h >= it. Default R^2: `gaussian_r_squared`. Needs eta R^2 < 1.
    """
    x, eta, noise = _decay(problem), problem.eta, _noise_variance(correlation, problem)
    product = within(
        "eta * R_squared", eta * _r_squared(problem, R_squared), "(0, 1)", "the theorem needs eta < 1 / R^2"
    )
    k0 = (1.0 - np.sqrt(product)) ** -2
    kurtosis_constant = moderate_or_zero("kurtosis_constant", kurtosis_constant)
    powers = correlation.filtered_power(x)
    total = powers.sum() if choice("form", form, get_args(Form)) == "time" else np.sum(2.0 * powers / (2.0 - x))
    bound = (1 + k0) * product * problem.residual_variance + (1 + kurtosis_constant * k0) * eta * noise * total
    kind = weakest("upper", correlation.limiting_sensitivity())
    return Value(bound, kind=kind, source=f"ftrl Thm {'C.14' if form == 'time' else 'C.15'}", convention=CONVENTION)


@typed
def paper_lower_bound(correlation: ToeplitzCorrelation, problem: Regression, *, form: Form = "frequency") -> Value:
    """First (`frequency`) or second (`time`) line of ftrl Thm C.18 as printed; its proof bounds Tr[H S], F without 1/2.

    eta sigma^2 Tr(H) / 2 + (eta^2 N / 2 pi) int |B|^2 h >= eta sigma^2 Tr(H) / 2 + (eta N / 2) <beta, T beta>.
    """
    x, eta, noise = _decay(problem), problem.eta, _noise_variance(correlation, problem)
    powers = correlation.filtered_power(x)
    total = powers.sum() / 2.0 if choice("form", form, get_args(Form)) == "time" else np.sum(powers / (2.0 - x))
    bound = problem.residual_variance * x.sum() / 2.0 + eta * noise * total
    kind = weakest("lower", correlation.limiting_sensitivity())
    return Value(bound, kind=kind, source="ftrl Thm C.18", convention="Tr[H S], no factor 1/2")


@typed
def paper_lower_bound_any_correlation(problem: Regression) -> Value:
    """Last line of ftrl Thm C.18 as printed, for every beta: (2 eta sigma^2 + eta^2 G^2 / (2 rho)) Tr(H) / 4; F without
    1/2.
    """
    eta = problem.eta
    bound = (2.0 * eta * problem.residual_variance + eta**2 * problem.noise_variance) * problem.trace / 4.0
    return Value(bound, kind="lower", source="ftrl Thm C.18", convention="Tr[H S], no factor 1/2")


@typed
def trace_bounds(
    correlation: ToeplitzCorrelation, problem: Regression, *, R_squared: float | None = None
) -> tuple[Value, Value]:
    """(lower, upper) for every input law with that R^2 and eta R^2 < 2; their ratio 1 - eta R^2 / 2 tends to 1 as eta
    -> 0.

    The trace of the stationary recursion, 2 eta Tr(H S) - eta^2 Tr(E[||x||^2 x x^T] S) = eta^2 (sigma^2 Tr H + N sum_j
    c_j), with its second term in [0, eta^2 R^2 Tr(H S)]. No kurtosis constant; the upper end is attained by inputs with
    ||x||^2 = R^2.
    """
    x, eta, noise = _decay(problem), problem.eta, _noise_variance(correlation, problem)
    product = within("eta * R_squared", eta * _r_squared(problem, R_squared), "(0, 2)", "the bound needs eta < 2 / R^2")
    lower = 0.25 * (problem.residual_variance * x.sum() + eta * noise * correlation.filtered_power(x).sum())
    source, limit = "dpbounds, trace of ftrl eq. (83)", correlation.limiting_sensitivity()
    return (
        Value(lower, kind=weakest("lower", limit), source=source, convention=CONVENTION),
        Value(2.0 / (2.0 - product) * lower, kind=weakest("upper", limit), source=source, convention=CONVENTION),
    )


@typed
def nu_upper_bound(nu: float, problem: Regression, *, R_squared: float | None = None) -> Value:
    """ftrl Thm 2.2 for nu-Noisy-FTRL with its constant: valid for every input law with eta R^2 < 2 and nu <= eta mu.

    2 / (2 - eta R^2) [eta sigma^2 Tr(H) / 4 + 1 / (2 log^2 8) eta^2 G^2 Tr(H) log^2(8 / nu) / rho]: `trace_bounds` with
    gamma_inf^2 <= log(8 / nu) / log 8 and c(x) <= 4 x log(8 / nu) / log 8 for nu <= x.
    """
    eta, nu, slowest = problem.eta, within("nu", nu, "(0, 1]"), float(problem.decay.min())
    if nu > slowest * (1 + 1e-12):
        raise DomainError("nu", nu, f"at most eta * mu = {slowest:.6g}", "the bound holds for nu <= eta mu")
    product = within("eta * R_squared", eta * _r_squared(problem, R_squared), "(0, 2)", "the bound needs eta < 2 / R^2")
    privacy = NU_CONSTANT * eta**2 * problem.clip_norm**2 / problem.rho * np.log(8.0 / nu) ** 2
    residual = 0.25 * eta * problem.residual_variance
    bound = 2.0 / (2.0 - product) * problem.trace * (residual + privacy)
    return Value(bound, kind="upper", source="dpbounds, ftrl Thm 2.2 with constants", convention=CONVENTION)


@typed
def lower_bound(problem: Regression) -> Value:
    """For every correlation and input law, eta lambda_1 <= 1: eta/4 [sigma^2 Tr H + G^2/(2 rho) sum_j x_j (2 - x_j)
    (mean 1/E_{x_j})^2].

    Cauchy-Schwarz in each eigendirection, gamma_inf^2 c(x) >= x (2 - x) ((1 / 2 pi) int 1 / |1 - x - e^{i omega}|)^2,
    in `trace_bounds`. It carries the log^2(8 / x_j), so the log^2 of nu-Noisy-FTRL is needed.
    """
    x = _decay(problem)
    per_direction = x * (2.0 - x) * (elliptic.integral_inverse(x) / (2.0 * np.pi)) ** 2
    residual, privacy = problem.residual_variance * problem.trace, problem.noise_variance * per_direction.sum()
    bound = 0.25 * problem.eta * (residual + privacy)
    return Value(bound, kind="lower", source="dpbounds, trace of ftrl eq. (83)", convention=CONVENTION)


def _noise_variance(correlation: ToeplitzCorrelation, problem: Regression) -> float:
    """N, the variance of one draw with the limiting sensitivity."""
    return float(correlation.limiting_sensitivity()) ** 2 * problem.noise_variance


def _r_squared(problem: Regression, R_squared: float | None) -> float:
    """By default that of Gaussian inputs."""
    return gaussian_r_squared(problem.eigenvalues) if R_squared is None else moderate("R_squared", R_squared)


def _decay(problem: Regression) -> Float[np.ndarray, " d"]:
    """x_j = eta lambda_j, none above 1: the filters of ftrl Lemma C.4 need that."""
    fastest = float(problem.decay.max())
    if fastest > 1:
        raise DomainError("eta * lambda_1", fastest, "at most 1", "take a smaller eta")
    return problem.decay
