"""Gradient descent with clipped gradients and TAP written out, the oracles of their simulators and laws; and a toy."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np


def toy() -> tuple[np.ndarray, np.ndarray]:
    """40 rows of 3 columns that anybody can write down, ||x|| <= 1, |y| <= 1."""
    i = np.arange(1, 41)
    X = np.stack([np.cos(i), 0.6 * np.sin(2 * i), 0.3 * np.cos(3 * i + 1)], axis=1) / 1.3
    return X, 0.5 * X[:, 0] - 0.8 * X[:, 1] + 0.3 * X[:, 2] + 0.25 * np.sin(5 * i) ** 3 + 0.02


def descents(
    X: np.ndarray,
    y: np.ndarray,
    noise: np.ndarray,
    *,
    mu: float,
    rate: float,
    clip: float,
    average: float = 0.0,
    momentum: float = 0.0,
) -> np.ndarray:
    """theta (trials, d) of gradient descent in units of 1/lambda_max, `noise` (steps, trials, d) standard normal."""
    steps = len(noise)
    eta = rate / np.linalg.norm(X, 2) ** 2
    limits = clip / np.sqrt((X**2).sum(axis=1))
    theta, v, path = np.zeros(noise.shape[1:]), np.zeros(noise.shape[1:]), []
    for zeta in noise:
        r = y - theta @ X.T
        v = momentum * v + np.clip(r, -limits, limits) @ X + clip * math.sqrt(steps) / mu * zeta
        theta = theta + eta * v
        path.append(theta)
    return np.mean(path[steps - math.ceil(average * steps) :], axis=0) if average else theta


class TailNoise(NamedTuple):
    """Unit normal draws of one run: bins (15,), symmetric (d, d), (T, d), (T,)."""

    products: np.ndarray
    hessian: np.ndarray
    gradients: np.ndarray
    counts: np.ndarray


def tail(X: np.ndarray, y: np.ndarray, mu: float, noise: TailNoise) -> np.ndarray:
    """theta (d,) of one run of TAP, row by row."""
    (n, d), T = X.shape, len(noise.counts)
    lengths = [math.sqrt(float(x @ x)) for x in X]
    c = start([length * abs(float(b)) for length, b in zip(lengths, y, strict=True)], mu, noise.products)
    s1 = 1 / math.sqrt(0.08 * mu**2)
    values, U = np.linalg.eigh(sum(np.outer(x, x) for x in X) + s1 * noise.hessian)
    e = min(s1 * math.sqrt(2 * d), n)
    P = np.array([1 / (max(float(value), 0.0) + 1.5 * e) for value in values])
    count_noise = math.sqrt(T / (0.03 * mu**2))
    theta, path = np.zeros(d), []
    for t in range(T):
        used = min(1.0, 0.85 * c * max(1.0, 0.3 * math.sqrt(n * mu / d)))
        g = used * math.sqrt(T / (0.86 * mu**2)) * noise.gradients[t]
        small = 0
        for x, target, length in zip(X, y, lengths, strict=True):
            r = float(target - x @ theta)
            limit = used / length if length else math.inf
            g = g + x * max(-limit, min(limit, r))
            small += length * abs(r) <= c
        theta = theta + U @ (P * (U.T @ g))
        path.append(theta)
        trust = 1 / (1 + (count_noise / (0.15 * n)) ** 2)
        share = (small + count_noise * noise.counts[t]) / n
        c = max(0.002, c * math.exp(-1.5 * trust * (share - 0.7)))
    return np.mean(path[T - max(1, 9 * T // 10) :], axis=0)


def start(products: list[float], mu: float, noise: np.ndarray) -> float:
    """c: the least edge above which .30 n products lie, with 1.5 standard deviations; .1 if it is 1, at most .15."""
    edges, scale = [2.0 ** (-j / 2) for j in range(15)], 1 / math.sqrt(0.03 * mu**2)
    bins = [0.0] * 15
    for value in products:
        if value > 0:
            bins[max(j for j in range(15) if j == 0 or edges[j] >= value)] += 1
    level, above = 1.0, 0.0
    for j in range(1, 15):
        above += bins[j - 1] + scale * noise[j - 1]
        if above + 1.5 * scale * math.sqrt(j) <= 0.30 * len(products):
            level = edges[j]
    return 0.1 if level >= 0.99 else min(level, 0.15)
