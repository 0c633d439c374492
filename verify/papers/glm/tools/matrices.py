"""Random matrices of Appendix A: runs of the statistics that its lemmas bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from simulators.engine import Arrays, Streams

Law = Literal["normal", "sign", "uniform"]


@dataclass(frozen=True, kw_only=True)
class Ensemble:
    """Entries of variance 1 (uniform: on [-sqrt 3, sqrt 3]); `n` rows of dimension `p`."""

    law: Law
    p: int
    n: int = 1

    def entries(self, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
        """Independent entries."""
        if self.law == "normal":
            return generator.standard_normal(shape)
        if self.law == "sign":
            return 2.0 * generator.integers(0, 2, shape) - 1.0
        return np.sqrt(3.0) * generator.uniform(-1.0, 1.0, shape)


def covariance_errors(problem: Ensemble, _: None, streams: Streams, trials: int) -> Arrays:
    """||X^T X / n - I||_2 of `trials` samples."""
    x = problem.entries((trials, problem.n, problem.p), streams.data)
    gram = np.swapaxes(x, 1, 2) @ x / problem.n
    return {"error": np.abs(np.linalg.eigvalsh(gram - np.eye(problem.p))).max(axis=1)}


def symmetric_norms(problem: Ensemble, _: None, streams: Streams, trials: int) -> Arrays:
    """||M||_2 of symmetric matrices with independent entries in the upper triangle; bounded laws scaled to [-1, 1]."""
    upper = np.triu(problem.entries((trials, problem.p, problem.p), streams.data))
    if problem.law == "uniform":
        upper = upper / np.sqrt(3.0)
    matrix = upper + np.swapaxes(np.triu(upper, 1), 1, 2)
    return {"norm": np.abs(np.linalg.eigvalsh(matrix)).max(axis=1)}


@dataclass(frozen=True, kw_only=True)
class Sines:
    """g(t) = sin t on x ~ N(0, variance), |w| up to `radius`, m draws: p = 1, Lipschitz constant and bound 1."""

    variance: float
    radius: float
    m: int
    grid: int = 1500


def sine_suprema(problem: Sines, _: None, streams: Streams, trials: int) -> Arrays:
    """sup over |w| <= radius of |mean of sin(w x_j)|, whose expectation is 0, on a grid (a lower bound)."""
    w = np.linspace(0.0, problem.radius, problem.grid)
    x = np.sqrt(problem.variance) * streams.data.standard_normal((trials, problem.m))
    return {"supremum": np.array([np.abs(np.sin(np.outer(w, row)).mean(axis=1)).max() for row in x])}


@dataclass(frozen=True, kw_only=True)
class Slopes:
    """g(t) = e^t / (1 + e^t)^2 on x ~ N(0, I_p), w in a ball around 0, m draws."""

    p: int
    m: int
    radius: float
    points: int = 400


def slope_suprema(problem: Slopes, _: None, streams: Streams, trials: int) -> Arrays:
    """sup over points of the ball of |mean of g(<x_j, w>) - E g|, E g by Gauss-Hermite."""
    rng = np.random.default_rng(0)  # the points, the same for every run
    w = rng.standard_normal((problem.points, problem.p))
    w *= (problem.radius * rng.random((problem.points, 1)) ** (1 / problem.p)) / np.linalg.norm(
        w, axis=1, keepdims=True
    )
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    mean = _slope(np.linalg.norm(w, axis=1)[:, None] * nodes) @ (weights / weights.sum())
    x = streams.data.standard_normal((trials, problem.m, problem.p))
    return {"supremum": np.array([np.abs(_slope(rows @ w.T).mean(axis=0) - mean).max() for rows in x])}


def _slope(z: np.ndarray) -> np.ndarray:
    return 0.25 / np.cosh(z / 2) ** 2
