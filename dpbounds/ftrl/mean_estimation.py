"""DP-FTRL for private mean estimation on the line: ftrl Section 2.1, Theorem 2.1, Appendix B.

The deviation delta_t = theta_t - E z obeys delta_{t+1} = (1 - eta) delta_t + eta sigma_sgd u_t - eta w~_t, a linear
time-invariant system. Values here are the stationary variance lim E delta_t^2 (Appendix B, no factor 1/2);
F(theta) - F* of eq. (6) is half of it. Budget rho is zCDP under zero-out adjacency with the limiting sensitivity,
N = clip_norm^2 gamma_inf^2 / (2 rho) the variance of one draw.

Everything rests on M(eta) = (1 / 2 pi) int 1 / |1 - eta - e^{i omega}|, `mean_inverse`: a formula for any arithmetic of
`dpbounds.arithmetic`, as are `mean_inverse_bounds`, `optimal_part` and `ratio`; `variance` takes any numbers.

>>> correlation = optimal_correlation(0.1)
>>> best, plain = optimal_variance(0.1, rho=0.5), independent_variance(0.1, rho=0.5)
>>> round(float(stationary_variance(correlation, 0.1, 0.5) / best), 9), round(best / plain, 3)
(1.0, 0.4)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpbounds.arguments import formula, typed
from dpbounds.arithmetic import FLOATS, Arithmetic
from dpbounds.errors import moderate, moderate_or_zero, within
from dpbounds.ftrl.correlations import NuCorrelation, ToeplitzCorrelation, nu
from dpbounds.values import Value, weakest

CONVENTION = "lim E (theta_t - E z)^2, no factor 1/2"


@formula
def mean_inverse(m: Arithmetic, eta: Any) -> Any:
    """M(eta) = (1 / 2 pi) int 1 / |1 - eta - e^{i omega}| for eta in (0, 1]: also gamma_inf^2 of the best noise."""
    return m.integral_inverse(eta) / (2 * m.pi)


@formula
def mean_inverse_bounds(m: Arithmetic, eta: Any) -> tuple[Any, Any]:
    """log(8 / eta) / pi <= M(eta) <= log(8 / eta) / log 8 on (0, 1]: sharp as eta -> 0, and at eta = 1."""
    logarithm = m.log(8 / eta)
    return logarithm / m.pi, logarithm / m.log(m.number(8))


@formula
def optimal_part(m: Arithmetic, eta: Any) -> Any:
    """The least privacy part of eq. (18) over all correlations, (eta M(eta))^2, in units of clip_norm^2 / (2 rho)."""
    return m.power(eta * mean_inverse(m, eta), 2)


@formula
def ratio(m: Arithmetic, eta: Any) -> Any:
    """Least privacy part over that of independent noise, eta (2 - eta) M(eta)^2."""
    return eta * (2 - eta) * m.power(mean_inverse(m, eta), 2)


@formula
def variance(eta: Any, noise: Any, residual: Any) -> Any:
    """lim E delta_t^2 for white noise of these two variances: eta (noise + residual) / (2 - eta)."""
    return eta / (2 - eta) * (noise + residual)


@typed
def stationary_variance(
    correlation: ToeplitzCorrelation, eta: float, rho: float, *, clip_norm: float = 1.0, sigma_sgd: float = 0.0
) -> Value:
    """Exact lim E delta_t^2 for any correlation: eta (N c(eta) + sigma_sgd^2) / (2 - eta).

    ftrl eq. (18) with (1 / 2 pi) int |B|^2 / |1 - eta - e^{i omega}|^2 = c(eta) / (eta (2 - eta)), Lemma C.4; inf if
    the limiting sensitivity is. Raises `DomainError` unless 0 < eta <= 1, rho > 0, clip_norm > 0, sigma_sgd >= 0.
    """
    eta, noise = _arguments(eta, rho, clip_norm)
    limit = correlation.limiting_sensitivity()
    gamma_squared = limit**2
    privacy = (
        np.inf if np.isinf(gamma_squared) else noise * gamma_squared * correlation.filtered_power(np.array([eta]))[0]
    )
    total = variance(eta, privacy, moderate_or_zero("sigma_sgd", sigma_sgd) ** 2)
    return Value(total, kind=weakest("exact", limit), source="ftrl eq. (18)", convention=CONVENTION)


def independent_variance(eta: float, rho: float, *, clip_norm: float = 1.0, sigma_sgd: float = 0.0) -> Value:
    """DP-SGD: eta (clip_norm^2 / (2 rho) + sigma_sgd^2) / (2 - eta), the geometric series; ftrl Thm 2.1 up to
    constants.
    """
    eta, noise = _arguments(eta, rho, clip_norm)
    total = variance(eta, noise, moderate_or_zero("sigma_sgd", sigma_sgd) ** 2)
    return Value(total, kind="exact", source="ftrl Thm 2.1", convention=CONVENTION)


def optimal_variance(eta: float, rho: float, *, clip_norm: float = 1.0, sigma_sgd: float = 0.0) -> Value:
    """Infimum over all correlations: (eta G / 2 pi)^2 (int 1 / |1 - eta - e^{i omega}|)^2 / (2 rho) + eta sigma_sgd^2 /
    (2 - eta).

    Cauchy-Schwarz on the product of eq. (18), attained by `optimal_correlation`; ftrl Thm 2.1 and eq. (19).
    """
    eta, noise = _arguments(eta, rho, clip_norm)
    total = noise * optimal_part(FLOATS, eta) + variance(eta, 0.0, moderate_or_zero("sigma_sgd", sigma_sgd) ** 2)
    return Value(float(total), kind="exact", source="ftrl Thm 2.1, eq. (19)", convention=CONVENTION)


def optimal_variance_bounds(
    eta: float, rho: float, *, clip_norm: float = 1.0, sigma_sgd: float = 0.0
) -> tuple[Value, Value]:
    """The rate of ftrl Thm 2.1 with sharp constants, below and above `optimal_variance`: c N (eta log(8 / eta))^2 + eta
    sigma_sgd^2 / (2 - eta) with N = clip_norm^2 / (2 rho), c = 1 / pi^2 (reached as eta -> 0) and 1 / log^2 8 (at eta =
    1).

    The paper has log(1 / eta), which vanishes at eta = 1.
    """
    eta, noise = _arguments(eta, rho, clip_norm)
    residual = variance(eta, 0.0, moderate_or_zero("sigma_sgd", sigma_sgd) ** 2)
    low, high = (float(noise * (eta * bound) ** 2 + residual) for bound in mean_inverse_bounds(FLOATS, eta))
    source = "dpbounds, for ftrl Thm 2.1"
    return (
        Value(low, kind="lower", source=source, convention=CONVENTION),
        Value(high, kind="upper", source=source, convention=CONVENTION),
    )


def optimal_correlation(eta: float) -> NuCorrelation:
    """The minimiser beta*: nu-DP-FTRL with nu = eta, ftrl Thm 2.1."""
    return nu(within("eta", eta, "(0, 1]"))


def optimal_ratio(eta: float) -> Value:
    """Optimum over independent noise, privacy terms only: eta (2 - eta) ((1 / 2 pi) int 1 / |1 - eta - e^{i omega}|)^2.

    Increases from 0 to 1 on (0, 1]: ftrl Fig. 1, left.
    """
    eta = within("eta", eta, "(0, 1]")
    return Value(float(ratio(FLOATS, eta)), kind="exact", source="ftrl Thm 2.1, Fig. 1")


def _arguments(eta: float, rho: float, clip_norm: float) -> tuple[float, float]:
    """eta and the variance N per squared sensitivity."""
    eta = within("eta", eta, "(0, 1]", "the system is stable for 0 < eta < 2 and the theory covers eta <= 1")
    return eta, moderate("clip_norm", clip_norm) ** 2 / (2.0 * moderate("rho", rho))
