"""Exact laws of unclipped DP two-stage gradient descent, the data fixed.

Recursion from Theta_0 = 0, beta_0 = 0, iid entries Xi ~ N(0, lambda_1²), nu ~ N(0, lambda_2²):

    Theta_{t+1} = Theta_t - eta (A Theta_t - G) + eta Xi_t,
    beta_{t+1} = beta_t - alpha Theta_t'(A Theta_t beta_t - b) + alpha nu_t.

It is iv Algorithm 1 wherever no gradient is clipped. Theta_t is Gaussian (linear first-order recursion), beta_t is
Gaussian given the path of Theta; beta_t alone is a polynomial in the noise, with heavy tails once lambda_1 is large.

>>> noise_variances(np.array([0.5, 1.0]), 1.0, 3).tolist()
[1.3125, 1.0]
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import LARGEST, DomainError, count, moderate, moderate_or_zero, real_array
from dpbounds.iv.moments import Moments, finite_array, target_vector


@typed
def theta_mean(moments: Moments, eta: float, step: int) -> Float[np.ndarray, "q p"]:
    """E Theta_t = (I - M^t) theta_hat, M = I - eta A: the noiseless iterate (iv eq. (11))."""
    a, basis = np.linalg.eigh(moments.A)
    remaining = (1 - moderate("eta", eta) * a) ** count("step", step, least=0)
    return basis @ ((1 - remaining)[:, None] * (basis.T @ moments.theta_hat))


@typed
def theta_covariance(
    moments: Moments, eta: float, lambda1: float, step: int, other_step: int | None = None
) -> Float[np.ndarray, "q q"]:
    """Covariance of one column of Theta_t; with `other_step` s, Cov(Theta_t, Theta_s) = M^{|t-s|} V_{min(t,s)}.

    The columns are independent. V_t = eta² lambda_1² sum_{i<t} M^{2i} has eigenvalues eta lambda_1² [1 - (1 - eta
    a)^{2t}] / (a (2 - eta a)), eta² lambda_1² t where eta a is 0 or 2. Any eta > 0. Source: iv App. E.4.
    """
    first = count("step", step, least=0)
    second = first if other_step is None else count("other_step", other_step, least=0)
    a, basis = np.linalg.eigh(moments.A)
    variances = noise_variances(a, eta, min(first, second)) * moderate_or_zero("lambda1", lambda1) ** 2
    return (basis * (variances * (1 - eta * a) ** abs(first - second))) @ basis.T


def noise_variances(eigenvalues: Float[np.ndarray, " q"], eta: float, step: int | float) -> Float[np.ndarray, " q"]:
    """v_t = eta² sum_{i<t} (1 - eta a)^{2i} for each eigenvalue a of A, per unit lambda_1²; `step` = inf for the limit.

    (1 - m^{2t})/(1 - m²) through log|m| taken from whichever of eta a and 2 - eta a is small: no cancellation at
    either end. inf where the limit does not exist. Raises `DomainError` unless eta > 0 and `step` is whole or inf.
    """
    step = step if isinstance(step, float) and step == math.inf else count("step", step, least=0)
    eta = moderate("eta", eta)
    distance = eta * finite_array("eigenvalues", eigenvalues, 1)
    near = np.minimum(distance, 2 - distance)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        log_square = 2 * np.log1p(-near)
        sums = np.expm1(step * log_square) / np.expm1(log_square)
    sums = np.where(near == 0, float(step), np.where(step == 0, 0.0, np.where(near == 1, 1.0, sums)))
    return eta**2 * sums


class BetaLaw(NamedTuple):
    """Means (..., T+1, p) and covariances (..., T+1, p, p) of beta_0 ... beta_T given the path of Theta."""

    mean: Float[np.ndarray, "*trials steps p"]
    covariance: Float[np.ndarray, "*trials steps p p"]


@typed
def beta_law(moments: Moments, thetas: Float[np.ndarray, "*trials steps q p"], alpha: float, lambda2: float) -> BetaLaw:
    """beta_t ~ N(m_t, C_t) given Theta_0 ... Theta_{T-1}; leading axes of `thetas` are trials.

    m_{t+1} = L_t m_t + alpha Theta_t' b and C_{t+1} = L_t C_t L_t + alpha² lambda_2² I from zero, with L_t = I - alpha
    Theta_t' A Theta_t: beta_t is affine in nu. Without first-stage noise (`noiseless.path`) it is the law of beta_t
    itself; with it E beta_t = E m_t and Cov beta_t = E C_t + Cov m_t (simulate Theta alone).
    """
    thetas = _thetas(moments, thetas)
    if thetas.ndim < 3:
        raise DomainError("thetas", f"an array of shape {thetas.shape}", "of shape (..., T, q, p)")
    *trials, steps, _, p = thetas.shape
    means, covariances = np.zeros((*trials, steps + 1, p)), np.zeros((*trials, steps + 1, p, p))
    path = (thetas[..., t, :, :] for t in range(steps))
    for t, (mean, covariance) in enumerate(_beta_laws(moments, path, alpha, lambda2)):
        means[..., t + 1, :], covariances[..., t + 1, :, :] = mean, covariance
    return BetaLaw(means, covariances)


@typed
def last_beta_law(moments: Moments, thetas: Iterable[np.ndarray], alpha: float, lambda2: float) -> BetaLaw:
    """The law of beta_T alone (steps axis of length 1) given Theta_0 ... Theta_{T-1}, each (trials, q, p).

    For many trials or long paths, with `theta_path`: memory does not grow with T. Raises `DomainError` for T = 0.
    """
    path = (_thetas(moments, theta) for theta in thetas)
    last = deque(_beta_laws(moments, path, alpha, lambda2), maxlen=1)
    if not last:
        raise DomainError("thetas", "an empty path", "at least Theta_0")
    mean, covariance = last[0]
    return BetaLaw(mean[..., None, :], covariance[..., None, :, :])


@typed
def theta_path(moments: Moments, eta: float, noise: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """Theta_0 ... Theta_{T-1} of T steps with prescribed noise Xi_0 ... Xi_{T-1}, each (trials, q, p).

    Unclipped; Theta_t does not use Xi_t. The noise is what enters the averaged gradient, of standard deviation
    lambda_1.
    """
    eta, theta = moderate("eta", eta), np.zeros((moments.q, moments.p))
    for Xi in noise:
        Xi = _thetas(moments, Xi, name="noise")
        yield np.broadcast_to(theta, Xi.shape)
        theta = theta - eta * (moments.A @ theta - moments.G - Xi)


class BetaMoments(NamedTuple):
    """E beta_t (T+1, p) and E beta_t beta_t' (T+1, p, p), t = 0 ... T."""

    mean: Float[np.ndarray, "steps p"]
    second: Float[np.ndarray, "steps p p"]

    def mean_squared_error(self, target: Float[np.ndarray, " p"]) -> Float[np.ndarray, " steps"]:
        """E ||beta_t - target||²."""
        target = target_vector("target", target, self.mean.shape[1])
        spread = np.trace(self.second, axis1=1, axis2=2)
        return spread - 2 * self.mean @ target + target @ target


@typed
def whitened_moments(moments: Moments, alpha: float, lambda1: float, lambda2: float, steps: int) -> BetaMoments:
    """Exact first two moments of beta_t for A = I, eta = 1 and any lambda_1, lambda_2.

    Then Theta_t = theta_hat + Xi_{t-1}, t >= 1, is independent of beta_t, and with H = theta_hat' theta_hat, s =
    lambda_1², E Theta_t' Theta_t = H + q s I; the fourth moments are Isserlis' sums. The mean tends to ridge regression
    (`ridge_limit`), not to beta_hat: an attenuation of order q lambda_1². Raises `DomainError` unless A = I to 1e-12.
    """
    if not np.allclose(moments.A, np.eye(moments.q), rtol=0.0, atol=1e-12):
        raise DomainError("Z'Z/n", "another matrix", "the identity", "whiten the instruments first")
    alpha, s = moderate("alpha", alpha), moderate_or_zero("lambda1", lambda1) ** 2
    added = (alpha * moderate_or_zero("lambda2", lambda2)) ** 2 * np.eye(moments.p)
    steps, p = count("steps", steps, least=0), moments.p
    drift, mean_hessian = moments.theta_hat.T @ moments.b, moments.hessian + moments.q * s * np.eye(p)
    source = np.outer(drift, drift) + s * (moments.b @ moments.b) * np.eye(p)
    means, seconds = np.zeros((steps + 1, p)), np.zeros((steps + 1, p, p))
    for t in range(steps):
        m, P = means[t], seconds[t]
        if t == 0:  # Theta_0 = 0
            seconds[1] = added
            continue
        means[t + 1] = m - alpha * mean_hessian @ m + alpha * drift
        crossed = alpha * np.outer(m, drift) - alpha**2 * _product_with_outcome(moments, s, m)
        decayed = P - alpha * (mean_hessian @ P + P @ mean_hessian) + alpha**2 * _hessian_sandwich(moments, s, P)
        seconds[t + 1] = decayed + crossed + crossed.T + alpha**2 * source + added
    return BetaMoments(means, seconds)


@typed
def ridge_limit(moments: Moments, lambda1: float) -> Float[np.ndarray, " p"]:
    """(H + q lambda_1² I)^{-1} H beta_hat: the limit of E beta_t for A = I, eta = 1.

    It is one if alpha (h_max + q lambda_1²) < 2.
    """
    penalty = moments.q * moderate_or_zero("lambda1", lambda1) ** 2 * np.eye(moments.p)
    return np.linalg.solve(moments.hessian + penalty, moments.hessian @ moments.beta_hat)


def _thetas(moments: Moments, values: np.ndarray, *, name: str = "thetas") -> np.ndarray:
    """`values` as an array (..., q, p)."""
    array = real_array(name, values)
    if array.shape[-2:] != (moments.q, moments.p):
        raise DomainError(name, f"an array of shape {array.shape}", f"of shape (..., {moments.q}, {moments.p})")
    if not (np.abs(array) <= LARGEST).all():
        allowed = f"finite, of a size of at most {LARGEST:g}"
        raise DomainError(name, "an array with larger entries, inf or nan", allowed, "the run diverges")
    return array


def _beta_laws(
    moments: Moments, thetas: Iterable[np.ndarray], alpha: float, lambda2: float
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Mean and covariance of beta_1, beta_2, ... given Theta_0, Theta_1, ..."""
    alpha, scale, eye = moderate("alpha", alpha), moderate_or_zero("lambda2", lambda2), np.eye(moments.p)
    mean, covariance = np.zeros(moments.p), np.zeros((moments.p, moments.p))
    for theta in thetas:
        turned = np.swapaxes(theta, -1, -2)
        L = eye - alpha * turned @ (moments.A @ theta)
        mean = (L @ mean[..., None])[..., 0] + alpha * turned @ moments.b
        covariance = L @ covariance @ L + (alpha * scale) ** 2 * eye
        yield mean, covariance


def _hessian_sandwich(moments: Moments, s: float, S: np.ndarray) -> np.ndarray:
    """E Theta'Theta S Theta'Theta for symmetric S: Isserlis' theorem for Theta = theta_hat + noise of variance s."""
    H, q, eye = moments.hessian, moments.q, np.eye(moments.p)
    once = (q + 1) * (S @ H + H @ S) + np.trace(S @ H) * eye + np.trace(S) * H
    twice = q * (q + 1) * S + q * np.trace(S) * eye
    return H @ S @ H + s * once + s**2 * twice


def _product_with_outcome(moments: Moments, s: float, m: np.ndarray) -> np.ndarray:
    """E Theta'Theta m b'Theta."""
    drift, H = moments.theta_hat.T @ moments.b, moments.hessian
    once = moments.q * np.outer(m, drift) + np.outer(drift, m) + (m @ drift) * np.eye(moments.p)
    return H @ np.outer(m, drift) + s * once
