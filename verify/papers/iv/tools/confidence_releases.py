"""Releases to try confidence sets on, and the test of them written out again: by sums, and over the rationals."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
from scipy.stats import chi2

from dpbounds.iv.confidence import MomentRelease

Matrix = list[list[Fraction]]
# Second moments with which a set of two bounded pieces comes out.
APART = [[0.12, -0.02, -0.82, -1.1], [-0.02, 7.6, -4.8, -1.3], [-0.82, -4.8, 33.0, 18.0], [-1.1, -1.3, 18.0, 15.5]]


@cache
def random_release(seed: int, *, q: int, p: int = 1, strength: float = 1.0) -> MomentRelease:
    """T2 of 200 random records with noise that leaves it a negative eigenvalue for small records; T1 of that size."""
    rng = np.random.default_rng(seed)
    d = q * (p + 1)
    U = rng.standard_normal((200, d)) * np.linspace(0.02, 0.3, d)
    noise = rng.standard_normal((d, d))
    T2 = U.T @ U + 1.5 * (noise + noise.T) / 2
    T1 = strength * rng.standard_normal(d) * 6
    return MomentRelease(
        first=T1,
        second=T2,
        first_scale=1.2,
        second_scale=1.5,
        outcome_weight=2.5,
        regressor_weights=np.linspace(1.5, 0.4, p),
        n=200,
        adjacency="replace-one",
    )


def release_with(T1: list[float], T2: np.ndarray, s1: float, s2: float) -> MomentRelease:
    """A release of one regressor with weights 1 and 1/2."""
    return MomentRelease(
        first=np.array(T1),
        second=T2,
        first_scale=s1,
        second_scale=s2,
        outcome_weight=1.0,
        regressor_weights=np.full(1, 0.5),
        n=100,
        adjacency="zero-out",
    )


@cache
def two_regressors(q: int, strength: float) -> MomentRelease:
    """Moments of y = x_1 - x_2 / 2 up to noise, first stages of this strength."""
    rng = np.random.default_rng(q)
    U = rng.standard_normal((200, 3 * q)) / 3
    x = strength * rng.standard_normal((2, q))
    return MomentRelease(
        first=np.concatenate([x[0] - 0.5 * x[1] + 3 * rng.standard_normal(q), *x]),
        second=U.T @ U,
        first_scale=1.0,
        second_scale=0.5,
        outcome_weight=2.0,
        regressor_weights=np.array([1.0, 0.7]),
        n=200,
        adjacency="replace-one",
    )


def scaled_release(release: MomentRelease, outcome: float, regressor: float) -> MomentRelease:
    """The same set in other units: y times the first factor, x times the second."""
    return MomentRelease(
        first=release.first,
        second=release.second,
        first_scale=release.first_scale,
        second_scale=release.second_scale,
        outcome_weight=outcome * release.outcome_weight,
        regressor_weights=regressor * release.regressor_weights,
        n=release.n,
        adjacency=release.adjacency,
    )


@cache
def SHAPES() -> dict[str, MomentRelease]:
    """A release for every shape, named by it, and hostile ones: scales far apart, little rank, nearly a double root."""
    one, eye = np.eye(2), np.eye(4)
    thin = np.outer([1.0, 0.2, -0.5, 0.9], [1.0, 0.2, -0.5, 0.9]) * 50
    wide = np.diag([1e-8, 1e4, 1e6, 1e-3])
    near = release_with([6.0, 0.0, 0.0, 6.0], eye, 1.0, 0.0)
    falling = np.array([1e3, 1.0, 2e3, 1.0])
    linked = np.array([[1.0, 0.6, 0.3, 0.2], [0.6, 1.0, 0.1, 0.3], [0.3, 0.1, 1.0, 0.5], [0.2, 0.3, 0.5, 1.0]])
    # The largest AR of all, T1' Sigma^{-1} T1, exceeds c by a millionth: what is rejected is a thousandth wide.
    skew = np.array([[40.0, 12.0], [12.0, 90.0]])
    most = np.array([4.0, -11.0])
    most *= np.sqrt(chi2.isf(0.05, 1) * (1 + 1e-6) / (most @ np.linalg.solve(skew + 4 * one, most)))
    return {
        "interval, q = 1": release_with([30.0, 25.0], 40 * one, 2.0, 3.0),
        "complement, q = 1": release_with([30.0, 3.0], 40 * one, 2.0, 3.0),
        "line, q = 1": release_with([3.0, 1.0], 40 * one, 2.0, 3.0),
        "interval, q = 2": release_with([30.0, 20.0, 33.0, 24.0], 20 * eye, 2.0, 3.0),
        "empty, q = 2": release_with([30.0, -20.0, 33.0, 24.0], 20 * eye, 2.0, 3.0),
        "pieces, q = 2": release_with([1.6, -1.9, 8.7, 11.8], np.array(APART), 0.5, 0.0),
        "hostile, rank 1": release_with([3.0, 0.5, -1.0, 3.0], thin, 1e-3, 0.0),
        "hostile, indefinite": random_release(3, q=2),
        "hostile, scales far apart": release_with([1e-4, 300.0, 2e3, 0.1], wide, 1e-5, 0.0),
        "hostile, q = 4": random_release(9, q=4, strength=3.0),
        "hostile, orthogonal": near,
        "hostile, scales that fall": release_with(
            [2e3, 3.0, 9e3, -4.0], falling[:, None] * linked * falling, 1e-3, 0.0
        ),
        "complement, hardly anything rejected": release_with(most.tolist(), skew, 2.0, 0.0),
    }


def covariance_of(
    release: MomentRelease, beta: np.ndarray, *, noise: float = 1.0, projected: bool = True
) -> np.ndarray:
    """V in the units of y and z: sums over pairs of blocks of T2's positive part, and the noise of T1."""
    q, weights = release.q, np.array([release.outcome_weight, *(-beta * release.regressor_weights)])
    values, vectors = np.linalg.eigh(release.second)
    second = (vectors * (np.maximum(values, 0) if projected else values)) @ vectors.T
    V = noise * release.first_scale**2 * float(weights @ weights) * np.eye(q)
    for i, one in enumerate(weights):
        for j, other in enumerate(weights):
            V += one * other * second[i * q : (i + 1) * q, j * q : (j + 1) * q]
    return V


def statistic_of(
    release: MomentRelease, beta: np.ndarray, *, noise: float = 1.0, projected: bool = True
) -> tuple[float, float]:
    """AR and tau from `covariance_of`."""
    q, weights = release.q, np.array([release.outcome_weight, *(-beta * release.regressor_weights)])
    V = covariance_of(release, beta, noise=noise, projected=projected)
    g = sum(weight * release.first[i * q : (i + 1) * q] for i, weight in enumerate(weights))
    tau = release.second_scale * float(weights @ weights) * float(np.trace(np.linalg.inv(V))) / q
    return float(g @ np.linalg.solve(V, g)), tau


def exact_excess(release: MomentRelease, beta: Fraction, correct: bool) -> Fraction:
    """AR - c' at a rational coefficient, over the rationals: T2⁺, s1, the weights and c_q as floats hold them."""
    q = release.q
    theta = beta * Fraction(float(release.regressor_weights[0])) / Fraction(release.outcome_weight)
    T1 = [Fraction(float(entry)) for entry in release.first]
    S = [[Fraction(float(entry)) for entry in row] for row in release.signal]
    noise = Fraction(release.first_scale) ** 2
    b = (Fraction(1), -theta)
    V = [
        [sum((b[i] * b[j] * S[i * q + k][j * q + m] for i in (0, 1) for j in (0, 1)), Fraction(0)) for m in range(q)]
        for k in range(q)
    ]
    for k in range(q):
        V[k][k] += noise * (1 + theta**2)
    g = [T1[k] - theta * T1[q + k] for k in range(q)]
    inverse = _inverse(V)
    statistic = sum(g[k] * inverse[k][m] * g[m] for k in range(q) for m in range(q))
    c = Fraction(float(chi2.isf(1 - 0.95, q)))
    tau = Fraction(release.second_scale) * (1 + theta**2) * sum(inverse[k][k] for k in range(q)) / q
    return statistic - (c * (1 + tau**2 * (q + c) / 4) if correct else c)


def _inverse(matrix: Matrix) -> Matrix:
    """By Gauss and Jordan; the matrices here are positive definite, so no pivot is 0."""
    size = len(matrix)
    rows = [list(row) + [Fraction(int(i == j)) for j in range(size)] for i, row in enumerate(matrix)]
    for k in range(size):
        pivot = rows[k][k]
        rows[k] = [entry / pivot for entry in rows[k]]
        for i in range(size):
            if i != k and rows[i][k]:
                factor = rows[i][k]
                rows[i] = [entry - factor * other for entry, other in zip(rows[i], rows[k], strict=True)]
    return [row[size:] for row in rows]
