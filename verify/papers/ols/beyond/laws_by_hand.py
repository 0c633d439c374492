"""Beyond the paper: laws of PRN and TAP step by step, where gradients are short of every clip level."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import ndtr

from dpbounds.ols import clipping, newton, tail_averaged
from verify.checks import Fact

DRAWS, SEED, D = 4, 5, 3


def laws_by_hand(rng: np.random.Generator) -> Iterator[Fact]:
    """Given each draw of what is released beside gradients, an iterate is normal: its mean and covariance, matrix by
    matrix; clip levels follow noisy counts.
    """
    own = np.random.default_rng(0)
    X = own.uniform(-0.6, 0.6, (300, D)) * [1.0, 0.8, 0.6] * own.uniform(0.4, 0.8, (300, 1))
    y = 0.1 * (X @ [0.9, -0.7, 0.4] + 0.2 * own.uniform(-1, 1, 300))
    star, A = np.linalg.lstsq(X, y, rcond=None)[0], X.T @ X
    gap = float(star @ A @ star)
    # Last factors of 0.54 and 0.11, where 6 % of the gradients are clipped in one step, which moves risks by 0.2 %.
    for label, law, settings, stated, off in (
        ("TAP", clipping.tail_averaged, tail_averaged.TailAveraged(mu=30.0, steps=16), _tail, 1e-9),
        ("PRN", clipping.newton, newton.Newton(mu=30.0, steps=5), _recentred, 1e-9),
        ("PRN, a last factor below 1", clipping.newton, newton.Newton(mu=0.3, steps=3), _recentred, 5e-3),
    ):
        told = law(X, y, mu=settings.mu, steps=settings.steps, draws=DRAWS, rows=None, seed=SEED)
        found = [stated(X, y, settings, draw) for draw in range(DRAWS)]
        biases = [float((mean - star) @ A @ (mean - star)) / gap for mean, _ in found]
        spreads = [float(np.trace(A @ covariance)) / gap for _, covariance in found]
        yield Fact(f"{label}: shares clipped", told.shares, np.zeros(settings.steps), 0.07 if off > 1e-3 else 1e-12)
        yield Fact(f"{label}: relative risk by draw", told.draws, np.add(biases, spreads), off)
        yield Fact(f"{label}: relative risk", told.relative, np.mean(np.add(biases, spreads)), off)
        yield Fact(f"{label}: bias", told.bias, np.mean(biases), off)


def _noise(draw: int, counts: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Of bins of both histograms, of the Hessian and of counts, as they are drawn."""
    rng = np.random.default_rng(SEED)
    bins, square = rng.standard_normal((2, DRAWS, 15))[:, draw], rng.standard_normal((DRAWS, D, D))[draw]
    return bins[0], bins[1], (square + square.T) / 2, rng.standard_normal((DRAWS, counts))[draw]


def _below(X: np.ndarray, y: np.ndarray, mean: np.ndarray, covariance: np.ndarray, c: float) -> float:
    """The mean share of rows with a gradient of norm c at most."""
    rest, limits = y - X @ mean, c / np.linalg.norm(X, axis=1)
    spread = np.maximum(np.sqrt(np.sum((X @ covariance) * X, axis=1)), 1e-300)
    return float(np.mean(ndtr((limits - rest) / spread) - ndtr((-limits - rest) / spread)))


def _tail(X: np.ndarray, y: np.ndarray, settings: Any, draw: int) -> tuple[np.ndarray, np.ndarray]:
    n, scales, T = len(y), tail_averaged.noise_scales(settings), settings.steps
    _, bins, Z, counts = _noise(draw, T)
    c = newton.gradient_clip(_histogram(X, y) + scales.products * bins, scales.products, n=n)
    A = X.T @ X
    values, U = np.linalg.eigh(A + scales.hessian * Z)
    K = (U * tail_averaged.inverse(values, scales.hessian, n)) @ U.T
    # Of the iterate, and of the sum of the last ones.
    mean, covariance, zero = np.zeros(2 * D), np.zeros((2 * D, 2 * D)), np.zeros((D, D))
    for t in range(T):
        below = _below(X, y, mean[:D], covariance[:D, :D], float(c))
        sigma = scales.gradients * float(tail_averaged.used_clip(c, n=n, d=D, mu=settings.mu))
        c = newton.next_clip(c, n * below + scales.counts * counts[t], n=n, noise=scales.counts)
        keep = np.eye(D) if t >= T - settings.kept else zero
        step = np.block([[np.eye(D) - K @ A, zero], [keep @ (np.eye(D) - K @ A), np.eye(D)]])
        into = np.vstack([K, keep @ K])
        mean = step @ mean + into @ (X.T @ y)
        covariance = step @ covariance @ step.T + sigma**2 * into @ into.T
    return mean[D:] / settings.kept, covariance[D:, D:] / settings.kept**2


def _recentred(X: np.ndarray, y: np.ndarray, settings: Any, draw: int) -> tuple[np.ndarray, np.ndarray]:
    n, scales, T = len(y), newton.noise_scales(settings), settings.steps
    bins, others, Z, counts = _noise(draw, T - 1)
    norms = np.linalg.norm(X, axis=1)
    h = newton.hessian_clip(_edges(norms) + scales.norms * bins, scales.norms, n=n, d=D, mu=settings.mu)
    c = newton.gradient_clip(_histogram(X, y) + scales.products * others, scales.products, n=n)
    A, short, scale = X.T @ X, X * np.minimum(1.0, h / norms)[:, None], scales.hessian * h**2
    values, U = np.linalg.eigh(short.T @ short + scale * Z)
    scaled = newton.preconditioner(values, scale, n * h**2)
    gains, mean, covariance = newton.Gains(scaled), np.zeros(D), np.zeros((D, D))
    for t in range(T):
        sigma = scales.gradients[t] * float(newton.used_clip(c, n=n, d=D, mu=settings.mu))
        below = _below(X, y, mean, covariance, float(c))
        K = (U * (gains.step(sigma) * scaled.inverse)) @ U.T
        step = np.eye(D) - K @ A
        mean, covariance = step @ mean + K @ X.T @ y, step @ covariance @ step.T + sigma**2 * K @ K
        if t < T - 1:
            c = newton.next_clip(c, n * below + scales.counts * counts[t], n=n, noise=scales.counts)
    lengths = [math.sqrt(float(u @ mean) ** 2 + float(u @ covariance @ u)) for u in U.T]
    factor = float(newton.shrinkage(np.array(lengths), scaled, gains.known))
    return factor * mean, factor**2 * covariance


def _histogram(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _edges(np.linalg.norm(X, axis=1) * np.abs(y))


def _edges(values: np.ndarray) -> np.ndarray:
    """How many are at most each edge and above the next."""
    ends = [2.0 ** (-j / 2) for j in range(15)] + [0.0]
    return np.array([np.sum((values <= high) & (values > low)) for high, low in itertools.pairwise(ends)], float)
