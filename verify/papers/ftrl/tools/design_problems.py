"""Training runs on which designed noise is judged, and slow ways to know its cost."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dpbounds.ftrl.design import Objective, lower_bound

DIMENSION = 128


def spectra() -> dict[str, np.ndarray]:
    """1/k, 1/k^2, flat, and two levels: 8 ones and 120 of 0.01."""
    k = np.arange(1.0, DIMENSION + 1.0)
    two = np.where(k <= 8, 1.0, 0.01)
    return {"1/k": 1.0 / k, "1/k^2": k**-2, "flat": np.ones(DIMENSION), "two levels": two}


@lru_cache(maxsize=64)
def mean_loss(spectrum: str, rate: float, steps: int) -> Objective:
    """The mean loss of a run with noiseless gradients at one learning rate, eta L = `rate`."""
    return Objective(spectra()[spectrum], steps, rate)


@lru_cache(maxsize=64)
def final_loss(spectrum: str, schedule: str, steps: int) -> Objective:
    """The final loss with batches of 32: eta = 0.05, or 0.1 (1 - t/T)."""
    rates = np.full(steps, 0.05) if schedule == "constant" else 0.1 * (1.0 - np.arange(steps) / steps)
    return Objective(spectra()[spectrum], steps, schedule=rates, weights="final", batch_size=32)


@lru_cache(maxsize=64)
def least(objective: Objective) -> float:
    """The lower bound on every mechanism's value, one participation."""
    return float(lower_bound(objective, tolerance=1e-4))


def impulse_gram(
    eigenvalues: np.ndarray, rates: np.ndarray, omega: np.ndarray, examples: int, momentum: float = 0.0
) -> np.ndarray:
    """G from its definition: one run of all second moments for every pair of steps that are pushed.

    E F is a quadratic form of the noise: G_st = (Q(e_s + e_t) - Q(e_s) - Q(e_t)) / 2 with Q the summed loss of a run
    pushed along every eigenvector in turn, gradients over `examples` Gaussian examples (0: exact ones).
    """
    T = len(rates)
    unit = np.eye(T)
    dense = np.diag([_summed(eigenvalues, rates, omega, examples, momentum, e) for e in unit])
    for s in range(T):
        for t in range(s):
            both = _summed(eigenvalues, rates, omega, examples, momentum, unit[s] + unit[t])
            dense[s, t] = dense[t, s] = 0.5 * (both - dense[s, s] - dense[t, t])
    return dense


def _summed(
    eigenvalues: np.ndarray, rates: np.ndarray, omega: np.ndarray, examples: int, momentum: float, pushes: np.ndarray
) -> float:
    """sum_j sum_t omega_t E F(theta_t) when step t pushes coordinate j by -eta_t pushes_t: full second moments."""
    d, total = len(eigenvalues), 0.0
    H = np.diag(eigenvalues)
    for j in range(d):
        mean, velocity = np.zeros(d), np.zeros(d)
        second = np.zeros((d, d))
        for eta, weight, push in zip(rates, omega, pushes, strict=True):
            noise = np.eye(d)[j] * push
            if momentum:
                velocity = momentum * velocity + H @ mean + noise
                mean = mean - eta * velocity
                second = np.outer(mean, mean)
            else:
                step = np.eye(d) - eta * H
                # E of ((1/m) sum x x^T) S ((1/m) sum x x^T) - H S H for Gaussian x is (H S H + H tr(H S)) / m.
                spread = (H @ second @ H + H * np.trace(H @ second)) / examples if examples else 0.0 * H
                cross = np.outer(step @ mean, noise)
                second = step @ second @ step + eta**2 * (spread + np.outer(noise, noise)) - eta * (cross + cross.T)
                mean = step @ mean - eta * noise
            total += weight * 0.5 * float(np.trace(H @ second))
    return total
