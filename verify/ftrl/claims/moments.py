"""Second moments of Noisy-FTRL for linear regression, by brute force: the oracle that shares nothing with `dpbounds`.

The state is theta' together with the last draws w_{t-1}, ..., w_{t-m}; matrices are full, any covariance, any law of
the inputs given by its exact fourth moments. Meant for d <= 3 and finitely many weights.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class InputLaw:
    """A law of x with mean 0: H = E x x^T and the fourth moments E[x_i x_j x_k x_l], shape (d, d, d, d)."""

    name: str
    covariance: np.ndarray
    fourth: np.ndarray

    def after_step(self, eta: float) -> np.ndarray:
        """The d^2 x d^2 matrix of M -> E[(I - eta x x^T) M (I - eta x x^T)], M flattened by rows (the operator P of
        ftrl eq. (62)).
        """
        d = len(self.covariance)
        identity = np.eye(d)
        linear = np.kron(self.covariance, identity) + np.kron(identity, self.covariance)
        # (x x^T M x x^T)_{il} = sum_{jk} E[x_i x_j x_k x_l] M_{jk}
        quadratic = self.fourth.transpose(0, 3, 1, 2).reshape(d * d, d * d)
        return np.eye(d * d) - eta * linear + eta**2 * quadratic

    def r_squared(self) -> float:
        """Smallest R^2 with E ||x||^2 x x^T <= R^2 H."""
        weighted = np.einsum("ijkk->ij", self.fourth)
        return float(np.linalg.eigvalsh(_whitened(weighted, self.covariance))[-1])

    def kurtosis_constant(self) -> float:
        """Smallest C_kurt of Assumption (A3): the worst P is a projection on an eigenvector of H."""
        values, vectors = np.linalg.eigh(self.covariance)
        worst = 0.0
        for value, u in zip(values, vectors.T, strict=True):
            inner = np.einsum("ijkl,j,k->il", self.fourth, u, u) / value
            worst = max(worst, float(np.linalg.eigvalsh(_whitened(inner, self.covariance))[-1]))
        return worst


def gaussian(covariance: np.ndarray | Sequence[float]) -> InputLaw:
    """x ~ N(0, H): Wick's formula. A list is a diagonal."""
    H = _matrix(covariance)
    pairs = (np.einsum(f"{p},{q}->ijkl", H, H) for p, q in (("ij", "kl"), ("ik", "jl"), ("il", "jk")))
    return InputLaw("Gaussian", H, np.sum(list(pairs), axis=0))


def discrete(name: str, points: np.ndarray, probabilities: Sequence[float]) -> InputLaw:
    """Finitely many points (n, d) with probabilities."""
    p = np.asarray(probabilities)
    return InputLaw(
        name,
        np.einsum("n,ni,nj->ij", p, points, points),
        np.einsum("n,ni,nj,nk,nl->ijkl", p, points, points, points, points),
    )


def independent_entries(
    name: str, covariance: np.ndarray | Sequence[float], values: Sequence[float], probabilities: Sequence[float]
) -> InputLaw:
    """x = H^{1/2} z in the eigenbasis of H, the entries of z independent with the given two- or more-point law."""
    eigenvalues, vectors = np.linalg.eigh(_matrix(covariance))
    grid = np.array(list(itertools.product(values, repeat=len(eigenvalues))))
    weights = [float(np.prod(p)) for p in itertools.product(probabilities, repeat=len(eigenvalues))]
    return discrete(name, grid * np.sqrt(eigenvalues) @ vectors.T, weights)


def signs(covariance: np.ndarray | Sequence[float]) -> InputLaw:
    """Entries +-1: ||x||^2 is constant, fourth moment 1."""
    return independent_entries("signs", covariance, (-1.0, 1.0), (0.5, 0.5))


def skewed(covariance: np.ndarray | Sequence[float]) -> InputLaw:
    """Entries 2 (probability 1/5) and -1/2: third moment 3/2, fourth moment 3.25."""
    return independent_entries("skewed", covariance, (2.0, -0.5), (0.2, 0.8))


def along_axes(eigenvalues: Sequence[float]) -> InputLaw:
    """x = +-sqrt(Tr H) e_j with probability lambda_j / Tr H: commuting inputs, the heaviest fourth moments."""
    trace, d = float(np.sum(eigenvalues)), len(eigenvalues)
    points = np.sqrt(trace) * np.concatenate([np.eye(d), -np.eye(d)])
    return discrete("along the axes", points, [value / (2 * trace) for value in eigenvalues] * 2)


def examples(eigenvalues: Sequence[float]) -> Iterator[InputLaw]:
    """A law of every kind with these eigenvalues."""
    yield from (build(eigenvalues) for build in (gaussian, signs, skewed, along_axes))


def trajectory(
    law: InputLaw,
    eta: float,
    beta: Sequence[float],
    noise_variance: float,
    residual_variance: float,
    steps: int,
    initial: np.ndarray | None = None,
) -> np.ndarray:
    """S_t = E theta'_t theta'_t^T for t = 0 ... steps, shape (steps + 1, d, d), from theta'_0 = `initial` (default
    0).
    """
    H, d = law.covariance, len(law.covariance)
    contraction, second = np.eye(d) - eta * H, law.after_step(eta)
    S = np.zeros((d, d)) if initial is None else np.outer(initial, initial)
    # crosses[k - 1] = E theta'_t w_{t-k}^T
    crosses = [np.zeros((d, d)) for _ in range(len(beta) - 1)]
    history = [S]
    for t in range(steps):
        active = beta[: t + 1]
        cross = sum((b * R for b, R in zip(beta[1:], crosses, strict=True)), np.zeros((d, d)))
        forcing = residual_variance * H + noise_variance * np.sum(np.square(active)) * np.eye(d)
        mixed = contraction @ cross
        S = (second @ S.reshape(-1)).reshape(d, d) + eta**2 * forcing - eta * (mixed + mixed.T)
        crosses = [
            contraction @ previous - eta * (beta[k] if k <= t else 0.0) * noise_variance * np.eye(d)
            for k, previous in enumerate([np.zeros((d, d)), *crosses[:-1]] if crosses else [])
        ]
        history.append(S)
    return np.array(history)


def stationary(
    law: InputLaw, eta: float, beta: Sequence[float], noise_variance: float, residual_variance: float
) -> np.ndarray:
    """lim S_t by a linear solve; raises `ArithmeticError` where second moments are not stable."""
    H, d = law.covariance, len(law.covariance)
    second = law.after_step(eta)
    if np.abs(np.linalg.eigvals(second)).max() >= 1:
        raise ArithmeticError(f"unstable: {law.name}, eta = {eta}")
    contraction, cross, R = np.eye(d) - eta * H, np.zeros((d, d)), np.zeros((d, d))
    for k in range(1, len(beta)):
        R = contraction @ R - eta * beta[k - 1] * noise_variance * np.eye(d)
        cross = cross + beta[k] * R
    mixed = contraction @ cross
    forcing = residual_variance * H + noise_variance * np.sum(np.square(beta)) * np.eye(d)
    right = eta**2 * forcing - eta * (mixed + mixed.T)
    return np.linalg.solve(np.eye(d * d) - second, right.reshape(-1)).reshape(d, d)


def decomposition(
    law: InputLaw, eta: float, beta: Sequence[float], noise_variance: float, residual_variance: float, levels: int
) -> np.ndarray:
    """Stationary second moments of (theta^(0), ..., theta^(levels), delta^(levels)) of ftrl eq. (36), all jointly with
    the last draws: entry [r, s] is the d x d block of numbers r and s, shape (levels + 2, levels + 2, d, d).
    """
    H, d, n = law.covariance, len(law.covariance), levels + 2
    if np.abs(np.linalg.eigvals(law.after_step(eta))).max() >= 1:
        raise ArithmeticError(f"unstable: {law.name}, eta = {eta}")
    # The step is I + on_mean x H + on_input x (x x^T), Kronecker products.
    shift, last = np.eye(n, k=-1), np.diag(np.arange(n) == n - 1).astype(float)
    on_mean, on_input = eta * (shift - np.eye(n) + last), -eta * (shift + last)
    mean = np.eye(n * d) + np.kron(on_mean + on_input, H)
    spread = law.fourth - np.einsum("ij,kl->ijkl", H, H)
    fluctuation = np.einsum("ab,ce,ijkl->aickbjel", on_input, on_input, spread).reshape((n * d) ** 2, (n * d) ** 2)
    entry, cross, R = np.eye(n * d, d), np.zeros((n * d, d)), np.zeros((n * d, d))
    for k in range(1, len(beta)):
        R = mean @ R - eta * beta[k - 1] * noise_variance * entry
        cross = cross + beta[k] * R
    mixed = mean @ cross @ entry.T
    fresh = residual_variance * H + noise_variance * np.sum(np.square(beta)) * np.eye(d)
    right = eta**2 * entry @ fresh @ entry.T - eta * (mixed + mixed.T)
    joint = np.linalg.solve(np.eye((n * d) ** 2) - np.kron(mean, mean) - fluctuation, right.reshape(-1))
    return joint.reshape(n, d, n, d).transpose(0, 2, 1, 3)


def suboptimality(law: InputLaw, second_moment: np.ndarray) -> float:
    """F - F* = 1/2 Tr[H S], with the 1/2 of ftrl eq. (8); twice that is eq. (22)."""
    return 0.5 * float(np.trace(law.covariance @ second_moment))


def _matrix(covariance: np.ndarray | Sequence[float]) -> np.ndarray:
    array = np.asarray(covariance, dtype=float)
    return np.diag(array) if array.ndim == 1 else array


def _whitened(matrix: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(covariance)
    root = vectors / np.sqrt(values) @ vectors.T
    return root @ matrix @ root
