"""Exact second moments of Noisy-FTRL for linear regression: the oracle that shares nothing with `dpbounds`.

The state is theta' = theta - theta* together with the last draws; matrices are full, any covariance, any law of the
inputs by its fourth moments, finitely many weights; many laws at once. Meant for d <= 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from verify.papers.ftrl.tools.input_laws import Laws, diagonal


@dataclass(frozen=True, eq=False)
class Systems:
    """Noisy-FTRL on each of n laws: step sizes (n,), weights (n, k), variances of a draw and of the residual (n,)."""

    laws: Laws
    eta: np.ndarray
    beta: np.ndarray
    noise: np.ndarray
    residual: np.ndarray

    @cached_property
    def x(self) -> np.ndarray:
        """eta lambda_j, shape (n, d)."""
        return self.eta[:, None] * self.laws.eigenvalues

    def powers(self) -> np.ndarray:
        """<beta, T_j beta> by the double sum of ftrl eq. (32), shape (n, d)."""
        lags = np.abs(np.subtract.outer(range(self.beta.shape[1]), range(self.beta.shape[1])))
        return np.einsum("ni,nk,ndik->nd", self.beta, self.beta, (1.0 - self.x)[:, :, None, None] ** lags)

    # --- one step ---

    @cached_property
    def kept(self) -> np.ndarray:
        """I - eta H, shape (n, d, d)."""
        return np.eye(self.x.shape[1]) - wide(self.eta) * self.laws.covariance

    def after_step(self, matrix: np.ndarray) -> np.ndarray:
        """E[(I - eta x x^T) M (I - eta x x^T)], the operator P of ftrl eq. (62)."""
        return self.kept @ matrix @ self.kept + wide(self.eta) ** 2 * self.laws.fluctuation(matrix)

    def trajectory(self, start: np.ndarray, steps: int) -> Iterator[np.ndarray]:
        """S_t = E theta'_t theta'_t^T, t = 0 ... steps, from theta'_0 = `start`, shape (n, d)."""
        S = start[:, :, None] * start[:, None, :]
        crosses = [np.zeros_like(S) for _ in range(self.beta.shape[1] - 1)]  # E theta'_t w_{t-k}^T, k = 1, 2, ...
        yield S
        for t in range(steps):
            cross = sum((wide(self.beta[:, k + 1]) * R for k, R in enumerate(crosses)), np.zeros_like(S))
            S = self.after_step(S) + self._forcing(cross, self.beta[:, : t + 1])
            before = [np.zeros_like(S), *crosses][: len(crosses)]
            active = [self.beta[:, k] if k <= t else np.zeros(len(S)) for k in range(len(crosses))]
            crosses = [self._remembered(R, weight) for R, weight in zip(before, active, strict=True)]
            yield S

    # --- the limit ---

    def second_moments(self) -> np.ndarray:
        """lim S_t, shape (n, d, d); meaningless unless `spectral_radius` is below 1."""
        return self.settled(self.stationary_forcing)

    def settled(self, added: np.ndarray) -> np.ndarray:
        """The S with S = E[(I - eta x x^T) S (I - eta x x^T)] + added, shape (n, d, d); (n, d) is a diagonal."""
        added = diagonal(added) if added.ndim == 2 else added
        gap = self._moved - self._of_squares(self.laws.fourth)
        return np.linalg.solve(gap, added.reshape(len(added), -1, 1)).reshape(added.shape)

    def spectral_radius(self) -> np.ndarray:
        """Of M -> E[(I - eta x x^T) M (I - eta x x^T)], shape (n,): second moments converge where it is below 1."""
        after = np.eye(self._moved.shape[1]) - self._moved + self._of_squares(self.laws.fourth)
        return np.abs(np.linalg.eigvals(after)).max(axis=1)

    def doubled_suboptimality(self) -> np.ndarray:
        """Tr[H S] = E ||theta'||_H^2, F without 1/2, shape (n,)."""
        return np.einsum("nij,nji->n", self.laws.covariance, self.second_moments())

    @cached_property
    def stationary_forcing(self) -> np.ndarray:
        """What fresh and remembered noise add in one step, shape (n, d, d)."""
        R = np.zeros_like(self.kept)
        cross = np.zeros_like(R)
        for before, now in zip(self.beta.T, self.beta.T[1:], strict=False):
            R = self._remembered(R, before)
            cross = cross + wide(now) * R
        return self._forcing(cross, self.beta)

    def levels(self) -> Iterator[np.ndarray]:
        """S^(0), S^(1), ...: second moments of the sequences of ftrl eq. (36), shape (n, d, d), without end."""
        H = self.laws.covariance
        inverse = np.linalg.inv(self._moved - self._of_squares(np.einsum("nij,nkl->nijkl", H, H)))
        added = self.stationary_forcing
        while True:
            level = (inverse @ added.reshape(len(added), -1, 1)).reshape(added.shape)
            yield level
            added = wide(self.eta) ** 2 * self.laws.fluctuation(level)

    def remainder(self, level: np.ndarray) -> np.ndarray:
        """Second moments of delta^(m) from S^(m)."""
        return self.settled(wide(self.eta) ** 2 * self.laws.fluctuation(level))

    def _forcing(self, cross: np.ndarray, active: np.ndarray) -> np.ndarray:
        """From E theta'_t (sum_{k>=1} beta_k w_{t-k})^T and the weights of the draws so far."""
        mixed = self.kept @ cross
        fresh = wide(self.residual) * self.laws.covariance
        fresh = fresh + wide(self.noise * np.sum(active**2, axis=1)) * np.eye(self.x.shape[1])
        return wide(self.eta) ** 2 * fresh - wide(self.eta) * (mixed + mixed.transpose(0, 2, 1))

    def _remembered(self, R: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """E theta'_{t+1} w^T from R = E theta'_t w^T, for a draw w that step t weighs so."""
        return self.kept @ R - wide(self.eta * weight * self.noise) * np.eye(self.x.shape[1])

    @cached_property
    def _moved(self) -> np.ndarray:
        """M -> eta (H M + M H), M flattened by rows: (n, d^2, d^2)."""
        unit, H = np.eye(self.x.shape[1]), wide(self.eta) * self.laws.covariance
        linear = np.einsum("nij,kl->nikjl", H, unit) + np.einsum("ij,nkl->nikjl", unit, H)
        return linear.reshape(len(H), unit.size, unit.size)

    def _of_squares(self, fourth: np.ndarray) -> np.ndarray:
        """M -> eta^2 sum_jk fourth_ijkl M_jk likewise."""
        n, d = self.x.shape
        return (wide(self.eta) ** 2) * fourth.transpose(0, 1, 4, 2, 3).reshape(n, d * d, d * d)


def wide(numbers: np.ndarray) -> np.ndarray:
    """(n,) as (n, 1, 1)."""
    return np.asarray(numbers)[:, None, None]


# --- one law ---


def spectral_radius(law: Laws, eta: float) -> float:
    """Of one step on second moments."""
    return float(system(law, eta, (1.0,), 0.0, 0.0).spectral_radius()[0])


def system(law: Laws, eta: float, beta: Sequence[float] | np.ndarray, noise: float, residual: float) -> Systems:
    """One law, numbers for arrays."""
    return Systems(law, *(np.array([value], dtype=float) for value in (eta, beta, noise, residual)))


def trajectory(
    law: Laws,
    eta: float,
    beta: Sequence[float] | np.ndarray,
    noise: float,
    residual: float,
    steps: int,
    initial: np.ndarray | None = None,
) -> np.ndarray:
    """S_t for t = 0 ... steps, shape (steps + 1, d, d), from theta'_0 = `initial` (default 0)."""
    start = np.zeros(law.covariance.shape[1]) if initial is None else np.asarray(initial, dtype=float)
    return np.concatenate(list(system(law, eta, beta, noise, residual).trajectory(start[None], steps)))


def stationary(law: Laws, eta: float, beta: Sequence[float] | np.ndarray, noise: float, residual: float) -> np.ndarray:
    """lim S_t, shape (d, d); raises `ArithmeticError` where second moments are not stable."""
    return _stable(system(law, eta, beta, noise, residual)).second_moments()[0]


def suboptimality(law: Laws, second_moment: np.ndarray) -> float:
    """F - F* = 1/2 Tr[H S], with the 1/2 of ftrl eq. (8); twice that is eq. (22)."""
    return 0.5 * float(np.trace(law.covariance[0] @ second_moment))


def decomposition(
    law: Laws, eta: float, beta: Sequence[float] | np.ndarray, noise: float, residual: float, levels: int
) -> np.ndarray:
    """Stationary second moments of (theta^(0), ..., theta^(levels), delta^(levels)) of ftrl eq. (36), all jointly with
    the last draws: entry [r, s] is the d x d block of numbers r and s, shape (levels + 2, levels + 2, d, d).
    """
    _stable(system(law, eta, beta, noise, residual))
    H, fourth, n = law.covariance[0], law.fourth[0], levels + 2
    d = len(H)
    # The step is I + on_mean x H + on_input x (x x^T), Kronecker products.
    shift, last = np.eye(n, k=-1), np.diag(np.arange(n) == n - 1).astype(float)
    on_mean, on_input = eta * (shift - np.eye(n) + last), -eta * (shift + last)
    mean = np.eye(n * d) + np.kron(on_mean + on_input, H)
    spread = fourth - np.einsum("ij,kl->ijkl", H, H)
    fluctuation = np.einsum("ab,ce,ijkl->aickbjel", on_input, on_input, spread).reshape((n * d) ** 2, (n * d) ** 2)
    entry, cross, R = np.eye(n * d, d), np.zeros((n * d, d)), np.zeros((n * d, d))
    for k in range(1, len(beta)):
        R = mean @ R - eta * beta[k - 1] * noise * entry
        cross = cross + beta[k] * R
    mixed = mean @ cross @ entry.T
    fresh = residual * H + noise * np.sum(np.square(beta)) * np.eye(d)
    right = eta**2 * entry @ fresh @ entry.T - eta * (mixed + mixed.T)
    joint = np.linalg.solve(np.eye((n * d) ** 2) - np.kron(mean, mean) - fluctuation, right.reshape(-1))
    return joint.reshape(n, d, n, d).transpose(0, 2, 1, 3)


def _stable(one: Systems) -> Systems:
    if one.spectral_radius()[0] >= 1:
        raise ArithmeticError(f"unstable: {one.laws.name}, eta = {one.eta[0]}")
    return one
