"""Stationary errors E F(theta) - F* of DP-FTRL without simulation: an integral for quadratics, Markov chains on the
line for other losses.
"""

from __future__ import annotations

import numpy as np
from scipy import integrate, sparse, stats
from scipy.sparse import linalg


def quadratic_error(correlation, h: float, eta: float, rho: float, sigma_sgd: float = 0.0) -> float:
    """(h / 2) (eta^2 / 2 pi) int S / |1 - eta h - e^{i omega}|^2 by adaptive quadrature, S from the power spectrum."""
    power = float(correlation.limiting_sensitivity()) ** 2 / (2.0 * rho)

    def integrand(omega: float) -> float:
        spectrum = power * float(correlation.power_spectrum(np.array([omega]))[0]) + sigma_sgd**2
        return spectrum / abs(1.0 - eta * h - np.exp(1j * omega)) ** 2

    points = [min(eta * h, 1.0), np.pi - min(abs(2.0 - eta * h), 1.0)]
    return h / 2.0 * eta**2 / np.pi * integrate.quad(integrand, 0.0, np.pi, points=points, epsrel=1e-10)[0]


def white_error(loss, eta: float, deviation: float, sigma_sgd: float = 0.0) -> float:
    """E F under the stationary density of theta' = theta - eta (F'(theta) + deviation w +- sigma_sgd), w normal.

    The density solves p = K p; composite Gauss rule with panels of three kernel widths that end at the kinks, one row
    replaced by int p = 1.
    """
    width = eta * deviation
    reach = 9.0 * np.sqrt(eta / loss.mu) * np.hypot(deviation, sigma_sgd)
    kinks = [a[0] * b for a, b in zip(loss.directions, loss.offsets, strict=True) if b < reach]
    edges = np.unique([-reach, *kinks, reach])
    counts = np.ceil(np.diff(edges) / (3.0 * width)).astype(int)
    ends = np.concatenate([np.linspace(a, b, n + 1)[:-1] for a, b, n in zip(edges, edges[1:], counts, strict=False)])
    ends = np.append(ends, reach)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    x = ((ends[1:] + ends[:-1])[:, None] / 2.0 + np.diff(ends)[:, None] / 2.0 * nodes).ravel()
    weights = (np.diff(ends)[:, None] / 2.0 * weights).ravel()
    centres = x - eta * loss.gradient(x[:, None])[:, 0]
    shifts = (-eta * sigma_sgd, eta * sigma_sgd)
    kernel = sum(stats.norm.pdf(x[:, None], centres + shift, width) for shift in shifts) / 2.0
    system, middle = kernel * weights - np.eye(len(x)), len(x) // 2
    system[middle] = weights
    density = np.linalg.solve(system, (np.arange(len(x)) == middle).astype(float))
    return float(weights * density @ loss.suboptimality(x[:, None]))


def coloured_error(loss, nu: float, eta: float, deviation: float, nodes: int = 600) -> float:
    """E F under damped anti-PGD noise deviation * (w_t - (1 - nu) w_{t-1}).

    y_t = theta_t + eta deviation w_{t-1} is a Markov chain: y' = y - eta F'(y - s w) - nu s w with s = eta deviation
    and w fresh. Its transitions on a grid by 64 Gauss-Hermite nodes and linear interpolation; extrapolated from two
    grids, the error of the interpolation being quadratic in the step.
    """

    def on_grid(count: int) -> float:
        s = eta * deviation
        reach = 8.0 * s * np.sqrt(1.0 + 1.0 / (eta * loss.mu))
        grid = np.linspace(-reach, reach, count)
        draws, chances = np.polynomial.hermite_e.hermegauss(64)
        chances = chances / chances.sum()
        theta = grid[:, None] - s * draws
        image = theta - eta * loss.gradient(theta[..., None])[..., 0] + (1.0 - nu) * s * draws
        position = np.clip((image + reach) / (grid[1] - grid[0]), 0.0, count - 1.000001)
        left = position.astype(int)
        rows = np.repeat(np.arange(count), len(draws))
        transitions = sparse.csr_array((count, count))
        for column, share in ((left, 1.0 - (position - left)), (left + 1, position - left)):
            transitions = transitions + sparse.csr_array(
                ((share * chances).ravel(), (rows, column.ravel())), shape=(count, count)
            )
        law = stationary(transitions)
        return float(law @ (loss.suboptimality(theta[..., None]) @ chances))

    coarse, fine = on_grid(nodes), on_grid(2 * nodes)
    return fine + (fine - coarse) / 3.0


def stationary(transitions: sparse.csr_array) -> np.ndarray:
    """The left eigenvector of eigenvalue 1 that sums to 1, by inverse iteration."""
    count = len(transitions.indptr) - 1
    factored = linalg.splu((transitions.T - (1.0 + 1e-10) * sparse.eye_array(count)).tocsc())
    law = np.ones(count)
    for _ in range(3):
        law = factored.solve(law)
        law /= law.sum()
    return law
