"""DP-FTRL for private mean estimation on the line: ftrl Section 2.1, Theorem 2.1, Appendix B.

The deviation delta_t = theta_t - E z obeys delta_{t+1} = (1 - eta) delta_t + eta sigma_sgd u_t - eta w~_t, a linear
time-invariant system. Values here are the stationary variance lim E delta_t^2 (Appendix B, no factor 1/2);
F(theta) - F* of eq. (6) is half of it. Budget rho is zCDP under zero-out adjacency with the limiting sensitivity,
N = clip_norm^2 gamma_inf^2 / (2 rho) the variance of one draw.
"""

from __future__ import annotations

import numpy as np

from dpbounds import elliptic
from dpbounds.errors import moderate, moderate_or_zero, within
from dpbounds.ftrl.correlations import NuCorrelation, ToeplitzCorrelation, nu
from dpbounds.values import Value

CONVENTION = "lim E (theta_t - E z)^2, no factor 1/2"


def stationary_variance(
    correlation: ToeplitzCorrelation, eta: float, rho: float, *, clip_norm: float = 1.0, sigma_sgd: float = 0.0
) -> Value:
    """Exact lim E delta_t^2 for any correlation: eta (N c(eta) + sigma_sgd^2) / (2 - eta).

    ftrl eq. (18) with (1 / 2 pi) int |B|^2 / |1 - eta - e^{i omega}|^2 = c(eta) / (eta (2 - eta)), Lemma C.4; inf if
    the limiting sensitivity is. Raises `DomainError` unless 0 < eta <= 1, rho > 0, clip_norm > 0, sigma_sgd >= 0.
    """
    eta, noise = _arguments(eta, rho, clip_norm)
    gamma_squared = correlation.limiting_sensitivity() ** 2
    privacy = (
        np.inf if np.isinf(gamma_squared) else noise * gamma_squared * correlation.filtered_power(np.array([eta]))[0]
    )
    variance = eta / (2.0 - eta) * (privacy + moderate_or_zero("sigma_sgd", sigma_sgd) ** 2)
    return Value(variance, kind="exact", source="ftrl eq. (18)", convention=CONVENTION)


def independent_variance(eta: float, rho: float, *, clip_norm: float = 1.0, sigma_sgd: float = 0.0) -> Value:
    """DP-SGD: eta (clip_norm^2 / (2 rho) + sigma_sgd^2) / (2 - eta), the geometric series; ftrl Thm 2.1 up to
    constants.
    """
    eta, noise = _arguments(eta, rho, clip_norm)
    variance = eta / (2.0 - eta) * (noise + moderate_or_zero("sigma_sgd", sigma_sgd) ** 2)
    return Value(variance, kind="exact", source="ftrl Thm 2.1", convention=CONVENTION)


def optimal_variance(eta: float, rho: float, *, clip_norm: float = 1.0, sigma_sgd: float = 0.0) -> Value:
    """Infimum over all correlations: (eta G / 2 pi)^2 (int 1 / |1 - eta - e^{i omega}|)^2 / (2 rho) + eta sigma_sgd^2 /
    (2 - eta).

    Cauchy-Schwarz on the product of eq. (18), attained by `optimal_correlation`; ftrl Thm 2.1 and eq. (19).
    """
    eta, noise = _arguments(eta, rho, clip_norm)
    mean_inverse = float(elliptic.integral_inverse(eta)) / (2.0 * np.pi)
    variance = noise * (eta * mean_inverse) ** 2 + eta / (2.0 - eta) * moderate_or_zero("sigma_sgd", sigma_sgd) ** 2
    return Value(variance, kind="exact", source="ftrl Thm 2.1, eq. (19)", convention=CONVENTION)


def optimal_correlation(eta: float) -> NuCorrelation:
    """The minimiser beta*: nu-DP-FTRL with nu = eta, ftrl Thm 2.1."""
    return nu(within("eta", eta, "(0, 1]"))


def optimal_ratio(eta: float) -> Value:
    """Optimum over independent noise, privacy terms only: eta (2 - eta) ((1 / 2 pi) int 1 / |1 - eta - e^{i omega}|)^2.

    Increases from 0 to 1 on (0, 1]: ftrl Fig. 1, left.
    """
    eta = within("eta", eta, "(0, 1]")
    mean_inverse = float(elliptic.integral_inverse(eta)) / (2.0 * np.pi)
    return Value(eta * (2.0 - eta) * mean_inverse**2, kind="exact", source="ftrl Thm 2.1, Fig. 1")


def _arguments(eta: float, rho: float, clip_norm: float) -> tuple[float, float]:
    """eta and the variance N per squared sensitivity."""
    eta = within("eta", eta, "(0, 1]", "the system is stable for 0 < eta < 2 and the theory covers eta <= 1")
    return eta, moderate("clip_norm", clip_norm) ** 2 / (2.0 * moderate("rho", rho))
