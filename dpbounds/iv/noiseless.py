"""Two-stage gradient descent without noise or clipping (iv Algorithm 2): its path, its limit and its exact rate.

It converges to 2SLS, beta_t -> beta_hat, with ||beta_t - beta_hat|| = O(kappa^t), kappa = max{rho(M), rho(I - alpha H)}
(spectral radii, M = I - eta A, H the `Moments.hessian`); O(t kappa^t) only if both are equal. Proof: with Theta_t =
(I - M^t) theta_hat, theta_hat' r = 0 and e_t = beta_t - beta_hat,

    e_{t+1} = (I - alpha H_t) e_t + alpha Theta_t' A M^t theta_hat beta_hat + alpha theta_hat' M^t r,

whose forcing is O(rho(M)^t) and whose H_t = Theta_t' A Theta_t tends to H. So, against beta_hat, there is no
statistical floor sqrt(pq)(tau + log pq)/sqrt(n) as in iv eqs. (7) and (9), and no sqrt(p) is lost against 2SLS (iv
Remark 3.8); what iv Fig. 9 shows is a run that has not converged.

>>> moments = Moments(A=np.eye(2), G=np.eye(2), b=np.array([1.0, 0.5]), n=100)
>>> path(moments, 0.5, 0.5, 10).beta[-1].round(3).tolist()
[1.002, 0.501]
>>> [round(float(limit), 6) for limit in step_size_limits(moments)]
[2.0, 2.0]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, moderate
from dpbounds.iv.moments import Moments, finite_array
from dpbounds.values import Value


class Path(NamedTuple):
    """Iterates t = 0 ... T of both stages."""

    theta: Float[np.ndarray, "steps q p"]
    beta: Float[np.ndarray, "steps p"]


# Iterates that are held in memory together.
MOST_STEPS = 10_000_000


@typed
def path(moments: Moments, eta: float, alpha: float, steps: int) -> Path:
    """iv Algorithm 2 from zero; both updates of a step use the iterates before it, gradients without the factor 2.

    Any step sizes; a diverging run ends in inf or nan. Raises `DomainError` unless eta, alpha > 0, steps >= 0.
    """
    eta, alpha, steps = moderate("eta", eta), moderate("alpha", alpha), count("steps", steps, least=0, most=MOST_STEPS)
    thetas, betas = np.zeros((steps + 1, moments.q, moments.p)), np.zeros((steps + 1, moments.p))
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(steps):
            theta, beta = thetas[t], betas[t]
            thetas[t + 1] = theta - eta * (moments.A @ theta - moments.G)
            betas[t + 1] = beta - alpha * theta.T @ (moments.A @ (theta @ beta) - moments.b)
    return Path(thetas, betas)


class Rates(NamedTuple):
    """Spectral radii of M = I - eta A, of I - alpha H, and the larger of both."""

    theta: Value
    beta: Value
    overall: Value


@typed
def contraction_rates(moments: Moments, eta: float, alpha: float) -> Rates:
    """Exact asymptotic rates of both stages: ||Theta_t - theta_hat|| ~ theta^t, ||beta_t - beta_hat|| ~ overall^t.

    Faster only on data that have no part in the slowest direction; t overall^t where both radii are equal. Below 1 if
    and only if the step sizes are below `step_size_limits`. Raises `DomainError` unless eta, alpha > 0.
    """
    radii = [
        float(np.max(np.abs(1 - moderate(name, step) * np.linalg.eigvalsh(matrix))))
        for name, step, matrix in (("eta", eta, moments.A), ("alpha", alpha, moments.hessian))
    ]
    return Rates(*(Value(rate, kind="exact", source="dpbounds, iv Algorithm 2") for rate in (*radii, max(radii))))


class StepSizes(NamedTuple):
    """Step sizes of the two stages."""

    eta: float
    alpha: float


@typed
def step_size_limits(moments: Moments) -> StepSizes:
    """2/lambda_max(A) and 2/lambda_max(H): 2S-GD converges for all data with these moments strictly below both.

    For eta <= 1/lambda_max(A) also H_t <= H, so that no product of I - alpha H_t grows; a larger eta can overshoot.
    """
    return StepSizes(*(2.0 / float(np.linalg.eigvalsh(matrix)[-1]) for matrix in (moments.A, moments.hessian)))


@typed
def require_convergence(moments: Moments, eta: float, alpha: float) -> None:
    """Raise `DomainError` unless 0 < eta, alpha are below `step_size_limits`."""
    limits = step_size_limits(moments)
    for name, step, limit in (("eta", eta, limits.eta), ("alpha", alpha, limits.alpha)):
        if not 0 < moderate(name, step) < limit:
            matrix = "Z'Z/n" if name == "eta" else "theta_hat'(Z'Z/n) theta_hat"
            raise DomainError(name, step, f"below 2/lambda_max({matrix}) = {limit:.6g}", "otherwise the stage diverges")


class PopulationLimits(NamedTuple):
    """Upper ends of the step sizes with infinite samples, A = I."""

    eta: Value
    alpha_descent: Value
    alpha_paper: Value
    ratio: Value


def population_limits(theta: Float[np.ndarray, "q p"]) -> PopulationLimits:
    """iv Remark 3.2: 2, 2/||Theta||², 4/(2||Theta||² + sigma_min(Theta)²), and the ratio of the last two.

    The ratio is 2/(2 + sigma_min²/||Theta||²), from 2/3 (all singular values equal) up to 1: "slightly tighter" is
    up to a third. Raises `DomainError` for theta = 0, which identifies nothing.
    """
    theta = finite_array("theta", theta, 2)
    values = np.linalg.svd(theta, compute_uv=False)
    high, low = moderate("||theta||", values[0]) ** 2, values[-1] ** 2 if len(theta) >= theta.shape[1] else 0.0
    numbers = (2.0, 2.0 / high, 4.0 / (2.0 * high + low), 2.0 / (2.0 + low / high))
    return PopulationLimits(*(Value(float(number), kind="exact", source="iv Remark 3.2") for number in numbers))
