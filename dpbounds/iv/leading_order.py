"""The law of beta_t in unclipped DP two-stage gradient descent to leading order in the noise, for any p and q.

beta_t is a polynomial in the noise. Its linear part is Gaussian, and its quadratic part moves the mean:

    Cov beta_t = lambda_1² F_t + lambda_2² N_t,    E beta_t = bar beta_t + lambda_1² s_t,

both up to O(lambda_1² (lambda_1² + lambda_2²)), bar for the noiseless run. Coefficients do not depend on the noise
scales, so one recursion serves every budget, and every horizon T. Valid while lambda_1 is small against the singular
values of theta_hat; beyond, beta_t has heavy tails (`dpbounds.iv.laws` has what is exact).

>>> isotropic_variances(np.array([1.0]), 1.0, 0.5, 1.0, 0.1, 0.2).round(4).tolist()
[0.0167]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, all_moderate, count, moderate, moderate_or_zero
from dpbounds.iv.laws import noise_variances
from dpbounds.iv.moments import Moments, target_vector
from dpbounds.iv.noiseless import path, require_convergence
from dpbounds.values import Value

SOURCE = "dpbounds, second-order expansion of iv Algorithm 1"


class GaussianLaw(NamedTuple):
    """Mean (p,) and covariance (p, p) of a Gaussian vector."""

    mean: Float[np.ndarray, " p"]
    covariance: Float[np.ndarray, "p p"]


@dataclass(frozen=True, kw_only=True, eq=False)
class LeadingOrder:
    """Coefficients at t = 0 ... T (leading axis), or of the stationary law (leading axis of length 1).

    `noiseless` bar beta_t (T+1, p); `shift` s_t (T+1, p) and `first` F_t (T+1, p, p) per unit lambda_1²; `second` N_t
    (T+1, p, p) per unit lambda_2².
    """

    noiseless: Float[np.ndarray, "steps p"]
    shift: Float[np.ndarray, "steps p"]
    first: Float[np.ndarray, "steps p p"]
    second: Float[np.ndarray, "steps p p"]

    def position(self, step: int) -> int:
        """Where a step stands on the leading axis; negative ones count from the end. `DomainError` outside."""
        length = len(self.noiseless)
        index = count("step", step, least=-length)
        if index >= length:
            raise DomainError("step", step, f"between {-length} and {length - 1}", "run the recursion further")
        return index

    def law(self, step: int, lambda1: float, lambda2: float) -> GaussianLaw:
        """beta_t ~ N(mean, covariance) to leading order, the shift of the mean included; `step` -1 is the last."""
        first, second = moderate_or_zero("lambda1", lambda1) ** 2, moderate_or_zero("lambda2", lambda2) ** 2
        step = self.position(step)
        mean = self.noiseless[step] + first * self.shift[step]
        return GaussianLaw(mean, first * self.first[step] + second * self.second[step])

    def mean_squared_error(
        self, target: Float[np.ndarray, " p"], lambda1: float, lambda2: float
    ) -> Float[np.ndarray, " steps"]:
        """E ||beta_t - target||² = ||d||² + 2 lambda_1² d's + tr Cov, d = bar beta_t - target, up to fourth order."""
        first, second = moderate_or_zero("lambda1", lambda1) ** 2, moderate_or_zero("lambda2", lambda2) ** 2
        distance = self.noiseless - target_vector("target", target, self.noiseless.shape[1])
        spread = first * np.trace(self.first, axis1=1, axis2=2) + second * np.trace(self.second, axis1=1, axis2=2)
        return (distance**2).sum(axis=1) + 2 * first * (distance * self.shift).sum(axis=1) + spread


@typed
def noise_expansion(moments: Moments, eta: float, alpha: float, steps: int) -> LeadingOrder:
    """The coefficients at t = 0 ... `steps`, by an exact recursion in O(T q p³).

    A = U diag(a) U', theta_j row j of U'Theta_t (noiseless), m_j = 1 - eta a_j, r = U'(A Theta beta - b) and L = I -
    alpha Theta'A Theta at the noiseless iterates, K_j = r_j I + a_j theta_j beta'. With the deviations of first order,
    v_j = Var of each entry of row j of U'Theta_t and S_j = Cov(beta_t, that row):

        v_j+ = m_j² v_j + eta²,    S_j+ = m_j (L S_j - alpha v_j K_j),
        F+ = L F L + alpha² sum_j v_j K_j K_j' - alpha sum_j (L S_j K_j' + K_j S_j' L),    N+ = L N L + alpha² I,
        s+ = L s - alpha [(sum_j a_j v_j) beta + sum_j a_j (S_j' theta_j + tr(S_j) theta_j)].

    Any step sizes. Raises `DomainError` unless eta, alpha > 0 and steps >= 0.
    """
    eta, alpha, steps = moderate("eta", eta), moderate("alpha", alpha), count("steps", steps, least=0)
    run, eigen, p = path(moments, eta, alpha, steps), _Eigenbasis.of(moments), moments.p
    shift, first, second = np.zeros((steps + 1, p)), np.zeros((steps + 1, p, p)), np.zeros((steps + 1, p, p))
    v, S, m = np.zeros(moments.q), np.zeros((moments.q, p, p)), 1 - eta * eigen.a
    for t in range(steps):
        at = eigen.linearised(run.theta[t], run.beta[t], alpha)
        shift[t + 1] = at.L @ shift[t] - alpha * eigen.curvature(at.theta, run.beta[t], v, S)
        first[t + 1] = at.L @ first[t] @ at.L + _added(at, alpha, v, S)
        second[t + 1] = at.L @ second[t] @ at.L + alpha**2 * np.eye(p)
        v, S = m**2 * v + eta**2, m[:, None, None] * (at.L @ S - alpha * v[:, None, None] * at.K)
    return LeadingOrder(noiseless=run.beta, shift=shift, first=first, second=second)


@typed
def stationary_expansion(moments: Moments, eta: float, alpha: float) -> LeadingOrder:
    """The fixed point of the recursion of `noise_expansion`, reached as the noiseless run forgets where it started.

    v_j = eta / (a_j (2 - eta a_j)), S_j = -alpha m_j v_j (I - m_j L)^{-1} K_j, covariances by one discrete Lyapunov
    equation in the eigenbasis of H, s = -H^{-1} [bracket of the recursion]. Raises `DomainError` for step sizes not
    below `noiseless.step_size_limits`.
    """
    require_convergence(moments, eta, alpha)
    eta, alpha = float(eta), float(alpha)
    eigen, beta, p = _Eigenbasis.of(moments), moments.beta_hat, moments.p
    v, m = noise_variances(eigen.a, eta, np.inf), 1 - eta * eigen.a
    at = eigen.linearised(moments.theta_hat, beta, alpha)
    S = -alpha * (m * v)[:, None, None] * np.linalg.solve(np.eye(p) - m[:, None, None] * at.L, at.K)
    shift = -np.linalg.solve(moments.hessian, eigen.curvature(at.theta, beta, v, S))
    first, second = (_lyapunov(moments, alpha, added) for added in (_added(at, alpha, v, S), alpha**2 * np.eye(p)))
    return LeadingOrder(noiseless=beta[None], shift=shift[None], first=first[None], second=second[None])


def isotropic_variances(
    eigenvalues: Float[np.ndarray, " p"], eta: float, alpha: float, beta_norm: float, lambda1: float, lambda2: float
) -> Float[np.ndarray, " p"]:
    """Stationary variances along the eigenvectors of H for A = I and zero residual, in closed form.

    With h an eigenvalue of H, l = 1 - alpha h, m = 1 - eta, v = eta lambda_1² / (2 - eta), `stationary_expansion` is
    alpha lambda_2² / (h (2 - alpha h)) + alpha v ||beta_hat||² / (2 - alpha h) (1 + m l) / (1 - m l): a first-order
    autoregression driven by another one. p and q enter through H alone. Raises `DomainError` unless 0 < eta < 2 and
    0 < alpha h < 2.
    """
    h, eta = all_moderate("eigenvalues", eigenvalues), moderate("eta", eta)
    for name, rate in (("eta", np.array([eta])), ("alpha * eigenvalues", moderate("alpha", alpha) * h)):
        _require_between(name, rate)
    l, m, v = 1 - alpha * h, 1 - eta, eta * moderate_or_zero("lambda1", lambda1) ** 2 / (2 - eta)
    own = alpha * moderate_or_zero("lambda2", lambda2) ** 2 / (h * (2 - alpha * h))
    passed_on = alpha * v * moderate_or_zero("beta_norm", beta_norm) ** 2 / (2 - alpha * h)
    return own + passed_on * (1 + m * l) / (1 - m * l)


@typed
def best_split(law: LeadingOrder, gamma1: float, gamma2: float, *, step: int = -1) -> Value:
    """Share rho_1 / (rho_1 + rho_2) that minimises tr Cov beta_t where lambda_i² is gamma_i² / rho_i up to a factor.

    tr Cov is then W_1 / rho_1 + W_2 / rho_2, least at rho_1 : rho_2 = sqrt(W_1) : sqrt(W_2), where it is (sqrt(W_1) +
    sqrt(W_2))² / (rho_1 + rho_2). Holds under iv eq. (4), for every n and T. Raises `DomainError` for t = 0, where
    nothing is random.
    """
    step = law.position(step)
    root1 = moderate("gamma1", gamma1) * np.sqrt(np.trace(law.first[step]))
    root2 = moderate("gamma2", gamma2) * np.sqrt(moderate("tr Cov beta_t", np.trace(law.second[step])))
    return Value(root1 / (root1 + root2), kind="asymptotic", source=SOURCE, convention="leading order in the noise")


class _Linearised(NamedTuple):
    """Rows of U'Theta, L and K_j at one pair of iterates."""

    theta: np.ndarray
    L: np.ndarray
    K: np.ndarray


class _Eigenbasis(NamedTuple):
    """Eigenvalues of A, eigenvectors, and b in their basis."""

    a: np.ndarray
    U: np.ndarray
    b: np.ndarray

    @classmethod
    def of(cls, moments: Moments) -> _Eigenbasis:
        a, U = np.linalg.eigh(moments.A)
        return cls(a, U, U.T @ moments.b)

    def linearised(self, Theta: np.ndarray, beta: np.ndarray, alpha: float) -> _Linearised:
        theta, eye = self.U.T @ Theta, np.eye(len(beta))
        weighted = self.a[:, None] * theta
        r = weighted @ beta - self.b
        return _Linearised(theta, eye - alpha * theta.T @ weighted, r[:, None, None] * eye + _outer(weighted, beta))

    def curvature(self, theta: np.ndarray, beta: np.ndarray, v: np.ndarray, S: np.ndarray) -> np.ndarray:
        """E of the quadratic part of the gradient: (sum a v) beta + sum_j a_j (S_j' theta_j + tr(S_j) theta_j)."""
        weighted = self.a[:, None] * theta
        crossed = np.einsum("jki,jk->i", S, weighted) + np.trace(S, axis1=1, axis2=2) @ weighted
        return (self.a @ v) * beta + crossed


def _added(at: _Linearised, alpha: float, v: np.ndarray, S: np.ndarray) -> np.ndarray:
    """alpha² sum_j v_j K_j K_j' - alpha sum_j (L S_j K_j' + K_j S_j' L)."""
    K = _side_by_side(at.K)
    own = _side_by_side(v[:, None, None] * at.K) @ K.T
    crossed = at.L @ (_side_by_side(S) @ K.T)
    return alpha**2 * own - alpha * (crossed + crossed.T)


def _side_by_side(blocks: np.ndarray) -> np.ndarray:
    """Matrices (q, p, p) as one (p, q p): the product with another's transpose sums the products of blocks."""
    return np.swapaxes(blocks, 0, 1).reshape(blocks.shape[1], -1)


def _outer(rows: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return rows[:, :, None] * vector


def _lyapunov(moments: Moments, alpha: float, added: np.ndarray) -> np.ndarray:
    """D = L D L + added with L = I - alpha H."""
    h, basis = np.linalg.eigh(moments.hessian)
    forgotten = alpha * np.add.outer(h, h) - alpha**2 * np.outer(h, h)
    return basis @ ((basis.T @ added @ basis) / forgotten) @ basis.T


def _require_between(name: str, rates: np.ndarray) -> None:
    outside = ~((rates > 0) & (rates < 2))
    if outside.any():
        raise DomainError(name, float(rates[outside][0]), "above 0 and below 2", "otherwise nothing is stationary")
