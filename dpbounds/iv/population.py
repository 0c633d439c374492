"""What the linear model of iv eq. (1) implies for infinitely many records: limits of OLS and 2SLS.

y = beta'x + e_1, x = Theta'z + e_2, errors independent of z. OLS is inconsistent by the endogeneity bias; 2SLS is
consistent, with Gaussian fluctuations of order 1/sqrt(n). For Gaussian errors P(||beta_hat - beta|| > s) falls like
s^{-(q - p + 1)} only: no mean for q = p, no variance for q <= p + 1, so medians or quantiles are to be compared.

>>> errors = np.array([[1.0, 0.5], [0.5, 1.0]])
>>> ols_limit(np.array([1.0]), np.array([[1.0]]), errors).tolist()
[1.25]
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from dpbounds.errors import DomainError, count, moderate_or_zero
from dpbounds.iv.moments import finite_array, target_vector


def ols_limit(
    beta: Float[np.ndarray, " p"],
    theta: Float[np.ndarray, "q p"],
    error_covariance: Float[np.ndarray, "p+1 p+1"],
    instrument_covariance: Float[np.ndarray, "q q"] | None = None,
) -> Float[np.ndarray, " p"]:
    """plim of OLS of y on x: beta + (Theta' S Theta + Cov e_2)^{-1} Cov(e_2, e_1), S = Cov z (default I).

    `error_covariance` is that of (e_2, e_1), e_1 last. Source: iv §2.2 (the bias it announces). Raises `DomainError`
    where x has a singular covariance.
    """
    errors = finite_array("error_covariance", error_covariance, 2)
    fitted = _fitted(theta, instrument_covariance)
    p = len(fitted)
    if errors.shape != (p + 1, p + 1):
        raise DomainError("error_covariance", f"an array of shape {errors.shape}", f"of shape ({p + 1}, {p + 1})")
    x_covariance = fitted + errors[:-1, :-1]
    _require_definite("covariance of x", x_covariance)
    return target_vector("beta", beta, p) + np.linalg.solve(x_covariance, errors[:-1, -1])


def two_stage_covariance(
    theta: Float[np.ndarray, "q p"],
    outcome_variance: float,
    n: int,
    instrument_covariance: Float[np.ndarray, "q q"] | None = None,
) -> Float[np.ndarray, "p p"]:
    """Asymptotic covariance of 2SLS, sigma_1² (Theta' S Theta)^{-1} / n, `outcome_variance` = sigma_1² = Var e_1.

    beta_hat - beta = H^{-1} theta_hat' Z'E_1 / n (iv App. E.7) with Z'E_1 / sqrt(n) -> N(0, sigma_1² S). Its trace is
    the square of the typical error: sqrt(p / n) for fixed singular values of Theta, not sqrt(q) as in iv Lemma D.7.
    """
    fitted = _fitted(theta, instrument_covariance)
    _require_definite("Theta' Cov(z) Theta", fitted)
    return moderate_or_zero("outcome_variance", outcome_variance) / count("n", n) * np.linalg.inv(fitted)


def _fitted(theta: np.ndarray, instrument_covariance: np.ndarray | None) -> np.ndarray:
    theta = finite_array("theta", theta, 2)
    q = len(theta)
    if instrument_covariance is None:
        return theta.T @ theta
    S = finite_array("instrument_covariance", instrument_covariance, 2)
    if S.shape != (q, q):
        raise DomainError("instrument_covariance", f"an array of shape {S.shape}", f"of shape ({q}, {q})")
    return theta.T @ S @ theta


def _require_definite(name: str, matrix: np.ndarray) -> None:
    eigenvalues = np.linalg.eigvalsh(matrix)
    if not eigenvalues[0] > 1e-13 * eigenvalues[-1]:
        raise DomainError(name, f"a matrix with least eigenvalue {eigenvalues[0]:.3g}", "positive definite")
