"""Worst pairs of neighbouring data sets for iv Algorithms 1 and 3, and what a release costs along a path of iterates.

All pairs have p = q = 1 and instruments 1 or 0; `magnitude` is K, and the costs of `dpbounds.iv.privacy` are reached as
K grows (they are suprema: a Gaussian iterate is in the range where clipping is not active with a probability that
vanishes as K grows, and is never 0 at finite K).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dpbounds.errors import LARGEST, DomainError, count, listed, moderate, moderate_or_zero, real_array
from dpbounds.privacy import Adjacency, sensitivity_factor


class Data(NamedTuple):
    """Instruments (n, q), regressors (n, p) and outcomes (n,), one record per row."""

    Z: Float[np.ndarray, "n q"]
    X: Float[np.ndarray, "n p"]
    Y: Float[np.ndarray, " n"]


class Pair(NamedTuple):
    """Two neighbouring data sets; for add-remove the second has one record fewer."""

    first: Data
    second: Data


def joint_pair(n: int, *, magnitude: float = 1e9, adjacency: Adjacency = "replace-one") -> Pair:
    """n - 1 records (z, x, y) = (0, 0, 0) and one record (1, K, K), against (1, -K, -K), zeros, or no record.

    The record's Theta-gradient is Theta - K, clipped -gamma_1; its beta-gradient Theta(Theta beta - K), clipped
    -gamma_2 in the direction of Theta. On the neighbour both have the other sign, or are 0: every release moves by the
    whole sensitivity, except the first of beta (Theta_0 = 0). Source: dpbounds, exact form of iv Prop. 3.1.
    """
    K = moderate("magnitude", magnitude)
    return _pair([(0.0, 0.0, 0.0)] * (count("n", n) - 1), (1.0, K, K), (1.0, -K, -K), adjacency)


def beta_only_pair(n: int, *, shift: float, magnitude: float = 1e9, adjacency: Adjacency = "replace-one") -> Pair:
    """n records with outcome K whose first stage changes sign with one record: x = `shift` against -`shift`.

    Replace-one: n - 1 records (1, 0, K) and (1, ±shift, K). Zero-out and add-remove: one of the n - 1 records has x =
    -shift/2, so that theta_hat is shift/(2n) with the last record and negative without it. The sign of Theta_t decides
    the sign of all clipped beta-gradients (K >> n / shift). Un-noised, for 0 < eta < 2 (beyond, with smaller z), the
    beta-gradients move by the whole `privacy.unnoised_sensitivity` at every t >= 1; with Theta-gradients clipped at
    gamma_1 = shift and noise, Theta_1 moves by c eta gamma_1 / n (`privacy.beta_only_attack`). Counterexample to iv
    Lemma F.1.
    """
    K, x = moderate("magnitude", magnitude), moderate("shift", shift)
    others = [(1.0, 0.0, K)] * (count("n", n) - 1)
    if sensitivity_factor(adjacency) == 1 and others:
        others[0] = (1.0, -x / 2, K)
    return _pair(others, (1.0, x, K), (1.0, -x, K), adjacency)


def clipped_gradients(
    data: Data,
    theta: Float[np.ndarray, "q p"],
    beta: Float[np.ndarray, " p"],
    *,
    gamma1: float,
    gamma2: float,
) -> tuple[Float[np.ndarray, "q p"], Float[np.ndarray, " p"]]:
    """Sums over records of the clipped gradients of iv Algorithm 1; gamma = inf does not clip.

    z(z'Theta - x') has Frobenius norm ||z|| ||z'Theta - x'||, Theta'z(z'Theta beta - y) has norm ||Theta'z|| |...|.
    """
    Z, X, Y = data
    theta, beta = real_array("theta", theta), real_array("beta", beta)
    if theta.shape != (Z.shape[1], X.shape[1]) or beta.shape != X.shape[1:]:
        found = f"arrays of shapes {theta.shape}, {beta.shape}"
        raise DomainError("theta, beta", found, f"of shapes {(Z.shape[1], X.shape[1])}, {X.shape[1:]}")
    largest = float(np.maximum(np.abs(theta).max(), np.abs(beta).max()))
    if not largest <= LARGEST:
        raise DomainError("largest entry of theta, beta", largest, f"at most {LARGEST:g}", "the run diverges")
    misfit, predicted = Z @ theta - X, Z @ theta
    surprise = predicted @ beta - Y
    weights1 = _clip_factors(np.linalg.norm(Z, axis=1) * np.linalg.norm(misfit, axis=1), gamma1)
    weights2 = _clip_factors(np.linalg.norm(predicted, axis=1) * np.abs(surprise), gamma2)
    return Z.T @ (weights1[:, None] * misfit), predicted.T @ (weights2 * surprise)


def joint_cost_along(
    pair: Pair,
    thetas: Float[np.ndarray, "T q p"],
    betas: Float[np.ndarray, "T p"],
    *,
    gamma1: float,
    gamma2: float,
    lambda1: float,
    lambda2: float,
) -> float:
    """sum_t ||Delta_t||²/(2 lambda²) of both stages at the iterates t = 0 ... T-1: the KL divergence is its mean.

    Where the sum is the same on almost every path, the releases are Gaussian with mean shifts of that total size, so
    the Rényi divergence of order a is a times it: the exact zCDP cost of the pair. Averages are over the first data
    set's number of records. A stage without shift costs nothing whatever its noise.
    """
    n, total = len(pair.first.Y), 0.0
    first, second = listed("thetas", thetas), listed("betas", betas)
    if len(first) != len(second):
        raise DomainError("thetas, betas", f"{len(first)} and {len(second)} iterates", "as many of both")
    for theta, beta in zip(first, second, strict=True):
        own, other = (clipped_gradients(data, theta, beta, gamma1=gamma1, gamma2=gamma2) for data in pair)
        for a, b, scale in zip(own, other, (lambda1, lambda2), strict=True):
            total += _shift_cost(float(np.linalg.norm(a - b)) / n, moderate_or_zero("lambda", scale))
    return total


def unnoised_cost_along(
    pair: Pair,
    betas: Float[np.ndarray, "T p"],
    *,
    eta: float,
    gamma2: float,
    lambda2: float,
    gamma1: float = np.inf,
) -> float:
    """sum_t ||Delta_t||²/(2 lambda_2²) of iv Algorithm 3 along beta_0 ... beta_{T-1}: Theta_t is each data set's own.

    `gamma1` clips the Theta-gradients (the paper does not). Theta_t is a function of the data, so given the past beta
    the next release is Gaussian: the mean of the sum is the KL divergence of the released path.
    """
    n, total = len(pair.first.Y), 0.0
    thetas = [np.zeros((pair.first.Z.shape[1], pair.first.X.shape[1])) for _ in pair]
    eta = moderate("eta", eta)
    for beta in listed("betas", betas):
        steps = [
            clipped_gradients(data, theta, beta, gamma1=gamma1, gamma2=gamma2)
            for data, theta in zip(pair, thetas, strict=True)
        ]
        shift = float(np.linalg.norm(steps[0][1] - steps[1][1])) / n
        total += _shift_cost(shift, moderate_or_zero("lambda2", lambda2))
        thetas = [theta - eta * gradient / n for theta, (gradient, _) in zip(thetas, steps, strict=True)]
    return total


def _pair(others: list, record: tuple, replacement: tuple, adjacency: Adjacency) -> Pair:
    """`others` with the record, and with what stands in its place under this adjacency."""
    sensitivity_factor(adjacency)
    instead = {"replace-one": [replacement], "zero-out": [(0.0, 0.0, 0.0)], "add-remove": []}[adjacency]
    return Pair(_data([*others, record]), _data([*others, *instead]))


def _data(records: list) -> Data:
    table = np.array(records, dtype=float).reshape(-1, 3)
    return Data(table[:, :1], table[:, 1:2], table[:, 2])


def _clip_factors(norms: np.ndarray, gamma: float) -> np.ndarray:
    """min(1, gamma / norm), 1 where the norm is 0."""
    gamma = (
        math.inf if isinstance(gamma, float) and gamma == math.inf else moderate("gamma", gamma, "inf does not clip")
    )
    return np.where(norms > gamma, gamma / np.where(norms > gamma, norms, 1.0), 1.0)


def _shift_cost(shift: float, scale: float) -> float:
    if shift == 0:
        return 0.0
    return float("inf") if scale == 0 else 0.5 * (shift / moderate("lambda", scale)) ** 2
