"""Exact second moments of Noisy-FTRL at finite times, for many input laws at once: what the searches of Appendix D
evaluate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from verify.domains import Real
from verify.ftrl.claims.law_batches import Systems, planar

# Laws in the plane with eigenvalues (1, second), eta = fraction / R^2, four weights, theta'_0 and the two variances.
BOX = {
    "second": Real(1e-2, 1.0, "log"),
    "atoms": (Real(-1.0, 1.0), 6),
    "weights": (Real(1e-4, 1.0, "log"), 5),
    "fraction": Real(1e-3, 1.0, "log"),
    "beta": (Real(-1.5, 1.5), 4),
    "start": (Real(-3.0, 3.0), 2),
    "noise": Real(0.0, 1.0),
    "residual": Real(0.0, 1.0),
}


def systems(
    second: np.ndarray,
    atoms: np.ndarray,
    weights: np.ndarray,
    fraction: np.ndarray,
    beta: np.ndarray,
    noise: np.ndarray,
    residual: np.ndarray,
) -> Systems:
    """Noisy-FTRL on the laws of `planar`."""
    laws = planar(second, atoms, weights)
    return Systems(laws, fraction / laws.r_squared(), beta, noise, residual)


def extremal(**others: Any) -> Iterator[Mapping[str, Any]]:
    """Signs, the moments of a Gaussian and inputs along the axes; H = I or nearly singular; three kinds of weights."""
    square = [1.0, 1.0, 1.0, -1.0, 0.0, 0.0]
    for second in (1.0, 0.01):
        for weights in ([1e-9, 1e-9, 1, 1, 1e-9], [4, 4, 1, 1, 8], [1, second, 1e-9, 1e-9, 1e-9]):
            for beta in ([1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [1.0, -0.999, 0.0, 0.0]):
                law = {"second": second, "atoms": square, "weights": np.array(weights, dtype=float), "fraction": 1.0}
                yield {**law, "beta": beta, "start": [1.0, 1.0], "noise": 1.0, "residual": 0.0, **others}


def smallest(batch: Systems) -> np.ndarray:
    """mu of every law."""
    return batch.laws.eigenvalues.min(axis=1)


def after_step(batch: Systems, M: np.ndarray) -> np.ndarray:
    """P M = E[(I - eta x x^T) M (I - eta x x^T)], ftrl eq. (62): M moved by I - eta H, and by x x^T - H."""
    kept = 1.0 - batch.x
    fluctuation = batch.laws.second_fluctuation(M)
    return kept[:, :, None] * M * kept[:, None, :] + wide(batch.eta) ** 2 * fluctuation


def second_moments(batch: Systems, start: np.ndarray, steps: int) -> Iterator[np.ndarray]:
    """S_t = E theta'_t theta'_t^T, t = 0 ... steps, by the recursion of theta' and the last draws together."""
    H, kept = diagonal(batch.laws.eigenvalues), (1.0 - batch.x)[:, :, None]
    unit, eta, N = np.eye(batch.x.shape[1]), wide(batch.eta), wide(batch.noise)
    S = start[:, :, None] * start[:, None, :]
    crosses = [np.zeros_like(S) for _ in range(batch.beta.shape[1] - 1)]  # E theta'_t w_{t-k}^T, k = 1, 2, ...
    yield S
    for t in range(steps):
        mixed = kept * sum((wide(batch.beta[:, k + 1]) * R for k, R in enumerate(crosses)), np.zeros_like(S))
        power = np.sum(batch.beta[:, : t + 1] ** 2, axis=1)
        forcing = wide(batch.residual) * H + N * wide(power) * unit
        S = after_step(batch, S) + eta**2 * forcing - eta * (mixed + mixed.transpose(0, 2, 1))
        before = [np.zeros_like(S), *crosses][: len(crosses)]
        active = [wide(batch.beta[:, k]) if k <= t else 0.0 for k in range(len(crosses))]
        crosses = [kept * R - eta * N * weight * unit for R, weight in zip(before, active, strict=True)]
        yield S


def gap(batch: Systems, S: np.ndarray) -> np.ndarray:
    """F - F* = 1/2 Tr[H S]."""
    return 0.5 * np.einsum("nj,njj->n", batch.laws.eigenvalues, S)


def trace(M: np.ndarray) -> np.ndarray:
    """Traces of (n, d, d)."""
    return np.einsum("njj->n", M)


def wide(numbers: np.ndarray) -> np.ndarray:
    """(n,) as (n, 1, 1)."""
    return np.asarray(numbers)[:, None, None]


def diagonal(entries: np.ndarray) -> np.ndarray:
    """(n, d) as diagonal matrices (n, d, d)."""
    return entries[..., None] * np.eye(entries.shape[-1])


def noise_responses(Q: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Tr U_{t,tau} for tau = 0 ... T - 1 at t = T, from Q_1 ... Q_{T-1} of shape (n, T - 1, 2, 2)."""
    traces, last = [], beta.shape[1] - 1
    for tau in range(beta.shape[1]):
        V = wide(beta[:, 0]) * np.eye(2)
        for k in range(1, tau + 1):
            V = wide(beta[:, k]) * np.eye(2) + Q[:, last - tau + k - 1] @ V
        traces.append(np.sum(V**2, axis=(1, 2)))
    return np.stack(traces, axis=1)


def weighted_sums(beta: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """sum_{k<=tau} |beta_k| (1 - rate)^{(tau-k)/2} for every tau."""
    sums, total = [], np.zeros(len(beta))
    for weight in np.abs(beta).T:
        total = np.sqrt(1 - rate) * total + weight
        sums.append(total)
    return np.stack(sums, axis=1)
