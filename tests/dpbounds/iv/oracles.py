"""Oracles for topic iv: small data sets, the algorithms record by record, 2SLS in rationals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpbounds.iv import Moments


def integer_data(n: int, q: int, p: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Z, X, Y with small integer entries, the first regressors correlated with the first instruments."""
    generator = np.random.default_rng(seed)
    Z, X = (generator.integers(-2, 3, (n, width)).astype(float) for width in (q, p))
    X += 2.0 * Z[:, :p]
    return Z, X, generator.integers(-3, 4, n).astype(float)


def example(n: int = 12, q: int = 3, p: int = 2, seed: int = 0) -> Moments:
    return Moments.of(*integer_data(n, q, p, seed))


def scalar(A: float, G: float, b: float) -> Moments:
    return Moments(A=np.array([[float(A)]]), G=np.array([[float(G)]]), b=np.array([float(b)]), n=10)


def rational(array: np.ndarray) -> list:
    """Nested lists of fractions."""
    return [rational(row) if row.ndim else Fraction(float(row)) for row in np.asarray(array)]


def product(left: list, right: list) -> list:
    return [
        [sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*right, strict=True)] for row in left
    ]


def transposed(matrix: list) -> list:
    return [list(column) for column in zip(*matrix, strict=True)]


def solved(matrix: list, right: list) -> list:
    """Gauss-Jordan elimination."""
    rows = [list(row) + list(extra) for row, extra in zip(matrix, right, strict=True)]
    size = len(rows)
    for k in range(size):
        pivot = next(i for i in range(k, size) if rows[i][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in range(size):
            if i != k and rows[i][k] != 0:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[size:] for row in rows]


def two_stage_least_squares(Z: np.ndarray, X: np.ndarray, Y: np.ndarray) -> tuple[list, list]:
    """theta_hat and beta_hat as fractions, by two regressions on the records."""
    z, x, y = rational(Z), rational(X), rational(Y[:, None])
    theta = solved(product(transposed(z), z), product(transposed(z), x))
    fitted = product(z, theta)
    return theta, [row[0] for row in solved(product(transposed(fitted), fitted), product(transposed(fitted), y))]


def descend(moments: Moments, eta: float, alpha: float, Xi, nu) -> np.ndarray:
    """beta_T of the unclipped recursion; Xi (..., T, q, p) and nu (..., T, p) real or complex, leading axes trials."""
    theta = np.zeros_like(Xi[..., 0, :, :])
    beta = np.zeros_like(nu[..., 0, :])
    for t in range(nu.shape[-2]):
        residual = moments.A @ (theta @ beta[..., None]) - moments.b[:, None]
        gradient = (np.swapaxes(theta, -1, -2) @ residual)[..., 0]
        theta = theta - eta * (moments.A @ theta - moments.G) + eta * Xi[..., t, :, :]
        beta = beta - alpha * gradient + alpha * nu[..., t, :]
    return beta


def clipped(gradient: np.ndarray, gamma: float) -> np.ndarray:
    norm = float(np.sqrt((np.abs(gradient) ** 2).sum()))
    return gradient if norm <= gamma else gradient * (gamma / norm)


def clipped_sums(data, theta: np.ndarray, beta: np.ndarray, gamma1: float, gamma2: float) -> tuple:
    """Sums of clipped per-record gradients by outer products, as iv Algorithm 1 is printed."""
    first, second = np.zeros_like(theta), np.zeros_like(beta)
    for z, x, y in zip(*data, strict=True):
        first = first + clipped(np.outer(z, z @ theta - x), gamma1)
        second = second + clipped(theta.T @ z * (z @ theta @ beta - y), gamma2)
    return first, second


def joint_cost_along(pair, thetas: np.ndarray, betas: np.ndarray, *, gamma1, gamma2, lambda1, lambda2) -> float:
    """sum_t ||Delta_t||²/(2 lambda²) of both stages at the iterates, averages over the first data set's records."""
    n, total = len(pair[0][2]), 0.0
    for theta, beta in zip(thetas, betas, strict=True):
        own, other = (clipped_sums(data, theta, beta, gamma1, gamma2) for data in pair)
        for a, b, scale in zip(own, other, (lambda1, lambda2), strict=True):
            moved = float(np.linalg.norm(a - b)) / n
            total += 0.5 * (moved / scale) ** 2 if moved else 0.0
    return total


def unnoised_cost_along(pair, betas: np.ndarray, *, eta: float, gamma2: float, lambda2: float) -> float:
    """The same of the second stage alone; Theta_t, neither clipped nor noised, is each data set's own."""
    n, total = len(pair[0][2]), 0.0
    thetas = [np.zeros((data[0].shape[1], data[1].shape[1])) for data in pair]
    for beta in betas:
        steps = [clipped_sums(data, theta, beta, np.inf, gamma2) for data, theta in zip(pair, thetas, strict=True)]
        total += 0.5 * (float(np.linalg.norm(steps[0][1] - steps[1][1])) / n / lambda2) ** 2
        thetas = [theta - eta * gradient / n for theta, (gradient, _) in zip(thetas, steps, strict=True)]
    return total
