"""What clipping does to two-stage gradient descent: how many gradients are clipped, and where the run goes instead.

`dpbounds.iv.leading_order` knows moments alone, and no clipping. Here records stand beside the moments: those of a data
set, or nodes for the law of a record in the linear model. What clipping takes away from the averaged gradients is a
mean over them, and is subtracted from the gradients of the moments; where nothing is clipped the run is exactly that of
the moments. The noise itself enters the shares that are clipped, not the run.

>>> records = Records.of(np.ones((4, 1)), np.array([[1.0], [2.0], [1.0], [2.0]]), np.array([1.0, 2.0, 1.0, 2.0]))
>>> moments = Moments.of(records.instruments, records.regressors, records.outcome)
>>> run = clipped_run(records, General(moments=moments, eta=0.5, alpha=0.2), 3, 1.5, 10.0)
>>> run.clipped_theta.tolist()
[0.5, 0.0, 0.0]
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import gammaincinv, ndtri

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, moderate, moderate_or_zero
from dpbounds.iv.budgets import TwoStageBudget, noise_scales
from dpbounds.iv.general import General
from dpbounds.iv.isotropic import Isotropic
from dpbounds.iv.laws import noise_variances
from dpbounds.iv.leading_order import GaussianLaw
from dpbounds.iv.moments import Moments, finite_array

# Pairs of nodes, with the errors of opposite sign, for the law of a record; fewer where records are long. What is
# clipped are few records far out, so that many are needed; a run, which has many steps, makes do with these many.
_PAIRS, _LEAST_PAIRS, _NUMBERS, _PAIRS_OF_A_RUN = 32_768, 256, 1 << 20, 8192
# Roots of these are the frequencies of the nodes; with more coordinates nodes are pseudo-random.
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103)
# Products in one run at most: a second or two.
_WORK = 1e9
# Records whose gradients at both ends of the way are shorter than this share of the clip norms are never clipped.
_SHORT = 0.5
# A run that moves by less than this share has arrived.
_ARRIVED = 1e-10


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class Records:
    """m records as gradients see them: `instruments` (m, k) and ||z|| in `lengths` (m,), `regressors` (m, p), `outcome`
    (m,). `law`: nodes for the law of a record, k = p coordinates along Theta where A = I; else a data set, k = q.
    """

    instruments: Float[np.ndarray, "m k"]
    lengths: Float[np.ndarray, " m"]
    regressors: Float[np.ndarray, "m p"]
    outcome: Float[np.ndarray, " m"]
    law: bool

    def __post_init__(self) -> None:
        shapes = [np.shape(part) for part in (self.instruments, self.lengths, self.regressors, self.outcome)]
        m = shapes[3][0] if shapes[3] else -1
        if [len(shape) for shape in shapes] != [2, 1, 2, 1] or any(shape[0] != m for shape in shapes):
            raise DomainError("records", f"arrays of shapes {shapes}", "of shapes (m, k), (m,), (m, p), (m,)")

    @classmethod
    def of(cls, Z: Float[np.ndarray, "n q"], X: Float[np.ndarray, "n p"], Y: Float[np.ndarray, " n"]) -> Records:
        """A data set. Raises `DomainError` for shapes that do not fit and entries that are not finite."""
        Z, X, Y = finite_array("Z", Z, 2), finite_array("X", X, 2), finite_array("Y", Y, 1)
        if not len(Z) == len(X) == len(Y):
            raise DomainError("Z, X, Y", f"{len(Z)}, {len(X)}, {len(Y)} rows", "the same number of rows in all three")
        return cls(instruments=Z, lengths=np.linalg.norm(Z, axis=1), regressors=X, outcome=Y, law=False)


@typed
def model_records(problem: Isotropic | General, sigma_1: float, sigma_2: float) -> Records:
    """Nodes for x = Theta'z + e_2, y = beta'x + e_1, z ~ N(0, A), independent errors of deviations sigma_2 and sigma_1.

    Quasi-random, the same at each call, in pairs whose errors have opposite signs: means of what is odd in the errors,
    such as the gradients at (Theta, beta), are exactly 0. Raises `DomainError` for negative deviations.
    """
    sigma_1, sigma_2 = moderate_or_zero("sigma_1", sigma_1), moderate_or_zero("sigma_2", sigma_2)
    moments, p = _moments(problem), len(problem.beta)
    k = len(moments.A)
    pairs = max(_LEAST_PAIRS, min(_PAIRS, _NUMBERS // (k + 2 * p)))
    uniform = _uniform_nodes(pairs, k + p + 2)
    normal = ndtri(uniform[:, :-1])
    z = normal[:, :k] @ np.linalg.cholesky(moments.A).T
    rest = 2 * gammaincinv((problem.q - k) / 2, uniform[:, -1]) if problem.q > k else 0.0
    e_2, e_1 = sigma_2 * normal[:, k : k + p], sigma_1 * normal[:, -1]
    lengths = np.sqrt(np.sum(z**2, axis=1) + rest)
    errors, signal = np.vstack([e_2, -e_2]), np.vstack([z, z]) @ moments.theta_hat
    X = signal + errors
    return Records(
        instruments=np.vstack([z, z]),
        lengths=np.concatenate([lengths, lengths]),
        regressors=X,
        outcome=X @ problem.beta + np.concatenate([e_1, -e_1]),
        law=True,
    )


def _uniform_nodes(number: int, coordinates: int) -> np.ndarray:
    """Kronecker's sequence in (0, 1): means converge almost as 1 / number, in a few coordinates."""
    if coordinates > len(_PRIMES):
        return np.random.default_rng(0).uniform(1e-12, 1 - 1e-12, (number, coordinates))
    turns = 0.5 + np.arange(1, number + 1)[:, None] * np.sqrt(_PRIMES[:coordinates])
    return np.clip(turns % 1, 1e-12, 1 - 1e-12)


@dataclass(frozen=True, kw_only=True, eq=False)
class ClippedRun:
    """Iterates t = 0 ... T of the run without noise, and the shares of records clipped on the way, t = 0 ... T-1."""

    theta: Float[np.ndarray, "steps k p"]
    beta: Float[np.ndarray, "steps p"]
    clipped_theta: Float[np.ndarray, " T"]
    clipped_beta: Float[np.ndarray, " T"]


@typed
def longest_run(records: Records) -> int:
    """Steps that `clipped_run` takes at most on these records."""
    m, k = _for_a_run(records).instruments.shape
    return max(1, int(_WORK / (m * (2 * k + 8) * records.regressors.shape[1])))


@typed
def clipped_run(records: Records, problem: Isotropic | General, steps: int, gamma1: float, gamma2: float) -> ClippedRun:
    """iv Algorithm 1 without noise, from zero: gradients of the moments less the mean that clipping takes away.

    Raises `DomainError` for more steps than `longest_run`, and clip norms that are not above 0 (inf: no clipping).
    """
    steps = count("steps", steps)
    if steps > longest_run(records):
        raise DomainError("steps", steps, f"at most {longest_run(records)}", "fewer records")
    gammas = _clip_norm("gamma1", gamma1), _clip_norm("gamma2", gamma2)
    used = _for_a_run(records)
    moments, part = _moments(problem), _that_may_be_clipped(used, problem, gammas)
    share = len(part.outcome) / len(used.outcome)
    A, G, b = moments.A, moments.G, moments.b
    thetas, betas = np.zeros((steps + 1, *G.shape)), np.zeros((steps + 1, G.shape[1]))
    shares = np.zeros((2, steps))
    for t in range(steps):
        theta, beta = thetas[t], betas[t]
        first, second, clipped = _taken(part, theta, beta, gammas)
        shares[:, t] = share * clipped[0], share * clipped[1]
        thetas[t + 1] = theta - problem.eta * (A @ theta - G - share * first)
        betas[t + 1] = beta - problem.alpha * (theta.T @ (A @ (theta @ beta) - b) - share * second)
        if t > 0 and _near(thetas[t], thetas[t + 1]) and _near(betas[t], betas[t + 1]):
            thetas[t + 2 :], betas[t + 2 :] = thetas[t + 1], betas[t + 1]
            shares[:, t + 1 :] = shares[:, t : t + 1]
            break
    return ClippedRun(theta=thetas, beta=betas, clipped_theta=shares[0], clipped_beta=shares[1])


class Clipping(NamedTuple):
    """Shares of records whose gradients are clipped at noisy iterates, and the covariance (p, p) of beta that comes
    with clipping other records than the average one, 0 for a data set.
    """

    theta: float
    beta: float
    spread: Float[np.ndarray, "p p"]


@typed
def clipping_at(
    records: Records,
    problem: Isotropic | General,
    budget: TwoStageBudget,
    *,
    theta: Float[np.ndarray, "k p"],
    law: GaussianLaw,
    n: int,
    steps: int,
) -> Clipping:
    """At Theta_T = `theta` plus its noise, T = `steps`, beta_T ~ `law`, for a data set of n records.

    A record's own draw of the noise stands for the noise that all share: the shares are averages over it.
    """
    m, p = records.regressors.shape
    of_theta, of_beta = _shared_draws(m, p)
    scale = float(noise_scales(budget, n, steps).lambda1) * _noise_lengths(records, problem, steps)
    fitted = records.instruments @ theta + scale[:, None] * of_theta
    values, vectors = np.linalg.eigh(law.covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    beta = law.mean + of_beta @ root.T
    first = records.lengths * _lengths(fitted - records.regressors)
    second = _lengths(fitted) * np.abs(np.einsum("mp,mp->m", fitted, beta) - records.outcome)
    spread = clipping_spread(records, problem, budget.gamma1, budget.gamma2, n)
    return Clipping(float(np.mean(first > budget.gamma1)), float(np.mean(second > budget.gamma2)), spread)


@lru_cache(maxsize=1)
def _shared_draws(m: int, p: int) -> np.ndarray:
    """Standard normal draws for the noise in Theta and in beta, (2, m, p): the same at each call, and what it would
    spend most of its time on.
    """
    draws = np.random.default_rng(1).standard_normal((2, m, p))
    draws.flags.writeable = False
    return draws


def _lengths(rows: np.ndarray) -> np.ndarray:
    """Euclidean norms of the rows."""
    return np.sqrt(np.einsum("mp,mp->m", rows, rows))


@typed
def clipping_spread(
    records: Records, problem: Isotropic | General, gamma1: float, gamma2: float, n: int
) -> Float[np.ndarray, "p p"]:
    """Covariance of beta_c - beta_hat, beta_c where clipped descent ends without noise, over data sets of n records.

    Both solve estimating equations, so that beta_c - beta_hat is a mean of psi_i = d_i - c_i to leading order in 1/n,

        d_i = H^{-1} f_i (u_i - r_i'beta),    c_i = H_c^{-1} [f_i u_i w_i - K_c A_c^{-1} z_i r_i'beta v_i],

    f = Theta'z, r = Theta'z - x, u = f'beta - y, shares v, w = min(1, gamma / norm) of the gradients z r' and f u.
    H_c = E f f' and K_c = E f z' over records whose second gradient is not clipped; A_c the mean derivative of the
    first gradient, E z z' (1 if not clipped, else v (1 - 1/p): r spread evenly over directions). 0 for a data set.
    """
    gammas, p = (_clip_norm("gamma1", gamma1), _clip_norm("gamma2", gamma2)), records.regressors.shape[1]
    if not records.law:
        return np.zeros((p, p))
    moments, z, m = _moments(problem), records.instruments, len(records.outcome)
    f, beta = z @ moments.theta_hat, problem.beta
    r, u = f - records.regressors, f @ beta - records.outcome
    v, w = _kept_shares(records, f, r, u, gammas)
    if min(v.min(), w.min()) == 1:
        return np.zeros((p, p))
    first, second = (v < 1) * (1 - v * (1 - 1 / p)), w < 1
    A_c = moments.A - (z * first[:, None]).T @ z / m
    H_c = moments.hessian - (f * second[:, None]).T @ f / m
    K_c = moments.theta_hat.T @ moments.A - (f * second[:, None]).T @ z / m
    at_end, passed_on = np.linalg.inv(H_c), np.linalg.solve(A_c.T, K_c.T).T
    psi = np.linalg.inv(moments.hessian) @ (f * (u - r @ beta)[:, None]).T
    psi -= at_end @ ((f * (u * w)[:, None]).T - passed_on @ (z * (v * (r @ beta))[:, None]).T)
    return psi @ psi.T / (m * count("n", n))


@typed
def gradient_norms(
    records: Records, problem: Isotropic | General, *, start: bool
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """Norms of the records' gradients in both stages: at (Theta, beta), or at the `start`: ||z x'||, ||Theta'z y||."""
    fitted = records.instruments @ _moments(problem).theta_hat
    at, beta = (np.zeros_like(fitted), np.zeros_like(problem.beta)) if start else (fitted, problem.beta)
    first = records.lengths * _lengths(at - records.regressors)
    return first, _lengths(fitted) * np.abs(fitted @ beta - records.outcome)


def _that_may_be_clipped(records: Records, problem: Isotropic | General, gammas: tuple[float, float]) -> Records:
    """Those with long gradients at the start or at the end; a step between is between them, with room for more."""
    start, end = gradient_norms(records, problem, start=True), gradient_norms(records, problem, start=False)
    long = np.zeros(len(records.outcome), dtype=bool)
    for norms, gamma in zip((start[0], start[1], end[0], end[1]), (*gammas, *gammas), strict=True):
        long |= norms > _SHORT * gamma
    return _chosen(records, long)


def _for_a_run(records: Records) -> Records:
    """All of a data set; of nodes the first pairs."""
    half = len(records.outcome) // 2
    if not records.law or half <= _PAIRS_OF_A_RUN:
        return records
    return _chosen(records, np.r_[:_PAIRS_OF_A_RUN, half : half + _PAIRS_OF_A_RUN])


def _chosen(records: Records, which: np.ndarray) -> Records:
    return replace(
        records,
        instruments=records.instruments[which],
        lengths=records.lengths[which],
        regressors=records.regressors[which],
        outcome=records.outcome[which],
    )


def _taken(
    records: Records, theta: np.ndarray, beta: np.ndarray, gammas: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray, tuple[float, float]]:
    """Means of what clipping takes away from the gradients of both stages, and the shares clipped."""
    fitted = records.instruments @ theta
    m = len(fitted)
    if m == 0:
        return np.zeros_like(theta), np.zeros_like(beta), (0.0, 0.0)
    rows, scalars = fitted - records.regressors, fitted @ beta - records.outcome
    kept = _kept_shares(records, fitted, rows, scalars, gammas)
    shares = float(np.mean(kept[0] < 1)), float(np.mean(kept[1] < 1))
    first = records.instruments.T @ (rows * (1 - kept[0])[:, None]) / m if shares[0] else np.zeros_like(theta)
    second = fitted.T @ (scalars * (1 - kept[1])) / m if shares[1] else np.zeros_like(beta)
    return first, second, shares


def _kept_shares(
    records: Records, fitted: np.ndarray, rows: np.ndarray, scalars: np.ndarray, gammas: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """min(1, gamma / norm) of the gradients z r' and f u."""
    first = records.lengths * _lengths(rows)
    second = _lengths(fitted) * np.abs(scalars)
    first, second = (
        gamma / np.maximum(norms, gamma) if gamma < math.inf else np.ones_like(norms)
        for norms, gamma in zip((first, second), gammas, strict=True)
    )
    return first, second


def _noise_lengths(records: Records, problem: Isotropic | General, steps: int) -> np.ndarray:
    """Deviation of an entry of z'Theta_T per unit lambda_1, for each record: sqrt(z' V_T z)."""
    if isinstance(problem, Isotropic):
        return records.lengths * math.sqrt(float(noise_variances(np.ones(1), problem.eta, steps)[0]))
    a, basis = np.linalg.eigh(problem.moments.A)
    along = records.instruments @ basis
    return np.sqrt((along**2) @ noise_variances(a, problem.eta, steps))


def _moments(problem: Isotropic | General) -> Moments:
    """The moments of a problem; with A = I along the singular directions of Theta alone, where data are."""
    if isinstance(problem, General):
        return problem.moments
    s = problem.singular_values
    return Moments(A=np.eye(len(s)), G=np.diag(s), b=s * problem.beta, n=max(len(s), 1))


def _clip_norm(name: str, value: float) -> float:
    return math.inf if isinstance(value, float) and value == math.inf else moderate(name, value, "inf does not clip")


def _near(old: np.ndarray, new: np.ndarray) -> bool:
    return float(np.abs(new - old).max()) <= _ARRIVED * float(np.abs(new).max())
