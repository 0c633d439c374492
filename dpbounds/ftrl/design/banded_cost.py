"""The cost of Toeplitz bands with unit columns and its gradient: of a run, by FFT on its dense Gram matrix, and in the
limit of long runs.

>>> objective = Objective(np.array([1.0]), 8, eta=0.5)
>>> value, _ = banded_cost(objective)(np.array([1.0]))  # one band is independent noise
>>> np.isclose(value, np.trace(objective.gram())).item()
True
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from dpbounds.ftrl.design.objective import Objective

Cost = Callable[[np.ndarray], tuple[float, np.ndarray]]


def banded_cost(objective: Objective) -> Cost:
    """c -> tr(G B B^T) for C = L(c) diag(1 / n) with unit columns, and its gradient; O(T^2 log T).

    With M = diag(n) G diag(n) and W = M L(beta): value sum_ik L(beta)_ik W_ik, slope by beta_a 2 sum_k W_{k+a,k}, slope
    by n_i 2 / n_i sum_k L(beta)_ik W_ik; beta * c = 1 gives d beta = - beta * beta * dc.
    """
    from scipy.signal import lfilter

    gram, T = objective.gram(), objective.steps
    length = 1 << (2 * T - 1).bit_length()
    lags = np.subtract.outer(np.arange(T), np.arange(T))
    below = lags >= 0
    lags = np.where(below, lags, 0)

    def evaluate(c: Float[np.ndarray, " b"]) -> tuple[float, np.ndarray]:
        with np.errstate(over="ignore", invalid="ignore"):
            beta = np.asarray(lfilter([1.0], c, (np.arange(T) == 0).astype(float)))
            if not np.abs(beta).max() < 1e100:
                return np.inf, np.zeros_like(c)
            padded = np.zeros(T)
            padded[: len(c)] = c
            squares = np.cumsum(padded**2)[::-1]
            n = np.sqrt(squares)
            M = n[:, None] * gram * n
            # W_ik = sum_a beta_a M_{i,k+a}.
            transform = np.conj(np.fft.rfft(beta, length))
            W = np.fft.irfft(np.fft.rfft(M, length, axis=1) * transform, length, axis=1)[:, :T]
            H = np.where(below, beta[lags], 0.0) * W
            value = float(H.sum())
            by_beta = 2.0 * np.bincount(lags[below], weights=W[below], minlength=T)
            by_squares = H.sum(axis=1) / squares
            # squares_i = sum_{k < T-i} c_k^2.
            by_c = 2.0 * padded * np.cumsum(by_squares)[::-1]
            twice = np.fft.irfft(np.fft.rfft(beta, length) ** 2, length)[:T]
            by_c -= np.fft.irfft(np.fft.rfft(by_beta, length) * np.conj(np.fft.rfft(twice, length)), length)[:T]
        return value, by_c[: len(c)]

    return evaluate


def stationary_cost(gain: Callable[[np.ndarray], np.ndarray], objective: Objective) -> Cost:
    """c -> ||c||^2 (1 / 2 pi) int h / |C|^2 and its gradient, on a grid that resolves frequencies of 1 / (2 T)."""
    grid = 1 << (8 * objective.steps - 1).bit_length()
    omega = 2.0 * np.pi * np.arange(grid // 2 + 1) / grid
    h = gain(omega)
    weights = np.full(len(omega), 2.0 / grid)
    weights[[0, -1]] = 1.0 / grid

    def evaluate(c: Float[np.ndarray, " b"]) -> tuple[float, np.ndarray]:
        transform = np.fft.rfft(c, grid)
        square = np.abs(transform) ** 2
        if not square.min() > 0 or _winding(transform) != 0:
            return np.inf, np.zeros_like(c)
        norm, spread = float(c @ c), float(weights @ (h / square))
        # d/dc_k of 1 / |C|^2 is -2 Re(conj(C) e^{-i k omega}) / |C|^4.
        slope = -2.0 * np.fft.irfft(transform * h / square**2, grid)[: len(c)]
        return norm * spread, 2.0 * c * spread + norm * slope

    return evaluate


def _winding(transform: np.ndarray) -> int:
    """How often C(e^{-i omega}) turns around 0 over half the circle, in half turns: its zeros inside the disc."""
    return round(float(np.sum(np.angle(transform[1:] / transform[:-1]))) / np.pi)
