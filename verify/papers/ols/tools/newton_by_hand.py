"""Preconditioned recentred Newton written out for one run, row by row and direction by direction: the oracle of its
simulator. Rows of norm at most 1, |y| at most 1, zero-out noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np


class Noise(NamedTuple):
    """Unit normal draws of one run: bins (15,), bins (15,), symmetric (d, d), (T, d), (T - 1,)."""

    norms: np.ndarray
    products: np.ndarray
    hessian: np.ndarray
    gradients: np.ndarray
    counts: np.ndarray


def rounds_of(steps: int, growth: float) -> list[float]:
    """Shares 0.78 growth^t / sum."""
    return [0.78 * growth**t / sum(growth**s for s in range(steps)) for t in range(steps)]


def run(X: np.ndarray, y: np.ndarray, mu: float, steps: int, growth: float, noise: Noise) -> np.ndarray:
    """theta (d,)."""
    n, d = X.shape
    lengths = [math.sqrt(float(x @ x)) for x in X]
    h, c = _levels(lengths, y, mu, d, noise)

    s1 = h**2 / math.sqrt(0.12 * mu**2)
    noisy = s1 * noise.hessian
    for x, length in zip(X, lengths, strict=True):
        noisy = noisy + np.outer(x, x) * (min(1.0, h**2 / length**2) if length else 1.0)
    values, U = np.linalg.eigh(noisy)
    edge = s1 * math.sqrt(2 * d)
    e = min(edge, n * h**2)
    w = [min(max(float(value), 0.0), n * h**2) for value in values]
    P = [1.0 / (one + 0.5 * e) for one in w]

    theta, V, N = np.zeros(d), [None] * d, [0.0] * d
    for t, share in enumerate(rounds_of(steps, growth)):
        cu = min(1.0, c * max(1.0, 0.3 * math.sqrt(n * mu / d)))
        sigma = cu / math.sqrt(share * mu**2)
        g = sigma * noise.gradients[t]
        small = 0.0
        for x, target, length in zip(X, y, lengths, strict=True):
            r = float(target - x @ theta)
            limit = cu / length if length else math.inf
            g = g + x * max(-limit, min(limit, r))
            small += length * abs(r) <= c
        turned, step = U.T @ g, np.zeros(d)
        for i in range(d):
            s, V[i], N[i] = gain(w[i], P[i], e, edge, sigma, V[i], N[i])
            step[i] = s * P[i] * turned[i]
        theta = theta + U @ step
        if t < steps - 1:
            scale = math.sqrt((steps - 1) / 0.04) / mu
            f = (small + scale * noise.counts[t]) / n
            kappa = 1.0 / (1.0 + (scale / (0.15 * n)) ** 2)
            c = max(0.002, c * math.exp(-1.5 * kappa * (f - 0.7)))
    turned = U.T @ theta
    weights = [max(w[i], 0.3 * e) for i in range(d)]
    F = sum(weights[i] * turned[i] ** 2 for i in range(d)) / sum(weights[i] * N[i] for i in range(d))
    return theta * max(0.0, min(1.0, (F - 0.7) / 0.6))


def _levels(lengths: Sequence[float], y: np.ndarray, mu: float, d: int, noise: Noise) -> tuple[float, float]:
    """h and the first c."""
    n = len(y)
    scale = 1.0 / math.sqrt(0.03 * mu**2)
    h = _least(lengths, 0.15 * n, scale, noise.norms) * math.sqrt(max(1.0, 0.05 * mu * n / d**1.5))
    h = min(level for level in _edges() if level >= min(h, 1.0) - 1e-12)
    c = _least([a * abs(float(b)) for a, b in zip(lengths, y, strict=True)], 0.30 * n, scale, noise.products)
    return h, 0.1 if c >= 0.99 else min(c, 0.15)


def _edges() -> Iterator[float]:
    return (2.0 ** (-j / 2) for j in range(15))


def _least(values: Sequence[float], allowed: float, scale: float, noise: np.ndarray) -> float:
    """The least edge whose noisy count above, with 1.5 standard deviations, is allowed."""
    edges, fitting, above = list(_edges()), [1.0], 0.0
    for j in range(14):
        inside = sum(edges[j + 1] < value <= edges[j] for value in values)
        above += inside + scale * float(noise[j])
        if above + 1.5 * scale * math.sqrt(j + 1) <= allowed:
            fitting.append(edges[j + 1])
    return min(fitting)


def gain(
    w: float, P: float, e: float, edge: float, sigma: float, V: float | None, N: float
) -> tuple[float, float, float]:
    """The gain of one direction, and V and N after it; `e` the edge cut at n h², V None at the start."""
    v, a, unknown = (sigma * P) ** 2, P * max(w, 0.3 * e), (0.3 * P * e) ** 2
    V = 1e6 * v if V is None else V
    s = min(1.0, a * V / (V * (a**2 + unknown) + v))
    alpha = w**3 / (w**2 + edge**2 / 4)
    return s, (1 - s * a) ** 2 * V + s**2 * (v + unknown * V), (1 - s * P * alpha) ** 2 * N + s**2 * v
