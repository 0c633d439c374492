"""Moments of iterates by another way than `dpbounds.ols.risk`: whole matrices in the coordinates of the data, and
one-dimensional integrals over the law of one sketched solve.

V^-1 v = (k/q) (v + |v| u / sqrt(s)) in law, q chi-square with k - d + 1 degrees of freedom, s with k - d + 2, u
standard Gaussian orthogonal to v: Bartlett's triangle with v on the last axis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import integrate, special


def chi_square_mean(degrees: int, power: int) -> float:
    """E q^power, by quadrature over log q."""

    def integrand(x: float) -> float:
        return np.exp(
            (degrees / 2 + power) * x - np.exp(x) / 2 - degrees / 2 * np.log(2) - special.gammaln(degrees / 2)
        )

    middle, width = np.log(degrees), np.sqrt(2 / degrees)
    low, high = middle - max(12 * width, 40 / (degrees / 2 + power)), middle + min(5, 15 * width)
    points = [middle - 4 * width, middle, middle + 2 * width]
    return integrate.quad(integrand, low, high, points=points, limit=400, epsabs=0)[0]


@dataclass(frozen=True)
class Solves:
    """E V^-1 v = first v, and E[V^-1 v v' V^-1] = along v v' + across (|v|² I - v v')."""

    first: float
    along: float
    across: float

    @classmethod
    def of(cls, k: int, d: int) -> Solves:
        """By quadrature."""
        along = k**2 * chi_square_mean(k - d + 1, -2)
        across = along * chi_square_mean(k - d + 2, -1) if d > 1 else 0.0
        return cls(k * chi_square_mean(k - d + 1, -1), along, across)

    def second(self, Q: np.ndarray) -> np.ndarray:
        """E[V^-1 Q V^-1] for positive semidefinite Q, a sum of v v'."""
        return self.along * Q + self.across * (np.trace(Q) * np.eye(len(Q)) - Q)


def mixing(
    A: np.ndarray, b: np.ndarray, *, steps: int, k: int, eta_squared: float, sigma: float, keep: bool, step: float
) -> tuple[np.ndarray, np.ndarray]:
    """E theta_T and E theta_T theta_T' of iterative Hessian mixing, the noise level fixed, nothing clipped."""
    d = len(b)
    eigenvalues, basis = np.linalg.eigh(A + eta_squared * np.eye(d))
    root = (basis / np.sqrt(eigenvalues)) @ basis.T  # M^(-1/2)
    slope, solves = A + (eta_squared if keep else 0.0) * np.eye(d), Solves.of(k, d)
    mean, second = np.zeros(d), np.zeros((d, d))
    for _ in range(steps):
        gradient = b - slope @ mean
        # E of the gradient's square, and of theta times it: both linear in the second moments of theta.
        outer = np.outer(b, b) - np.outer(b, slope @ mean) - np.outer(slope @ mean, b) + slope @ second @ slope
        outer += sigma**2 * np.eye(d)
        mixed = np.outer(mean, b) - second @ slope
        moved = step * solves.first * root @ root
        crossed = mixed @ moved
        second = second + crossed + crossed.T + step**2 * root @ solves.second(root @ outer @ root) @ root
        mean = mean + moved @ gradient
    return mean, second


def descent(
    A: np.ndarray, b: np.ndarray, *, n: int, steps: int, rate: float, sigma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of theta_T of DP-GD, nothing clipped."""
    d = len(b)
    mean, covariance = np.zeros(d), np.zeros((d, d))
    for _ in range(steps):
        mean = mean - rate * (A @ mean - b) / n
        map_ = np.eye(d) - rate * A / n
        covariance = map_ @ covariance @ map_ + rate**2 * sigma**2 * np.eye(d)
    return mean, covariance


def mean_form(metric: np.ndarray, centre: np.ndarray, mean: np.ndarray, second: np.ndarray) -> float:
    """E ||theta - centre||² in a metric, from E theta and E theta theta'."""
    return float(np.trace(metric @ (second - 2 * np.outer(centre, mean) + np.outer(centre, centre))))
