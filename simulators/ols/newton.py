"""Preconditioned recentred Newton (`dpbounds.ols.newton`) on one data set, trials side by side.

A round costs two products of the records with (d, trials) matrices; beside that the data enter by two histograms and
by one clipped Gram matrix for each clip level in use.

>>> draws = NewtonDraws.fresh(np.random.default_rng(0), trials=4, d=3, steps=10)
>>> draws.hessian.shape, draws.gradients.shape
((4, 3, 3), (4, 10, 3))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import count
from dpbounds.ols import newton as prn
from dpbounds.ols.newton import Newton
from simulators.engine import Arrays, Streams, trial_count
from simulators.ols.records import LeastSquares
from simulators.ols.sketches import room

# Doubles in the largest array of residuals, n x trials.
MOST_NUMBERS = 1 << 23
_Draws = TypeVar("_Draws", bound=Any)


@dataclass(frozen=True, kw_only=True)
class NewtonDraws:
    """Normal noise of unit scale: `norms`, `products` (trials, 15); `hessian` (trials, d, d), symmetric, of variance 1
    on and 1/2 off the diagonal; `gradients` (trials, T, d); `counts` (trials, T - 1).
    """

    norms: np.ndarray
    products: np.ndarray
    hessian: np.ndarray
    gradients: np.ndarray
    counts: np.ndarray

    @classmethod
    @typed
    def fresh(cls, generator: np.random.Generator, trials: int, d: int, steps: int) -> NewtonDraws:
        """Drawn anew."""
        bins = len(prn.EDGES)
        trials, d, steps = trial_count(trials), count("d", d), count("steps", steps)
        room(trials, d, max(d, steps))
        norms, products = (generator.standard_normal((trials, bins)) for _ in range(2))
        square = generator.standard_normal((trials, d, d))
        return cls(
            norms=norms,
            products=products,
            hessian=(square + np.swapaxes(square, 1, 2)) / 2,
            gradients=generator.standard_normal((trials, steps, d)),
            counts=generator.standard_normal((trials, steps - 1)),
        )


@typed
def recentred_newton(problem: LeastSquares, settings: Newton, streams: Streams, trials: int) -> Arrays:
    """PRN on the records, scaled to ||x|| <= 1, |y| <= 1 by the problem's public bounds.

    Arrays with leading axis trials: `theta` (trials, d) in the problem's units; `risk` ||X (theta - theta*)||², a sum
    over records; `hessian_clip` h and `gradient_clip` the last c_u, in scaled units; `clipped`, the share of clipped
    gradients over all rounds; `factor`, the last one on theta.
    """
    draws = NewtonDraws.fresh(streams.noise, trials, problem.d, settings.steps)
    return newton_runs(problem, settings, draws)


@typed
def newton_runs(problem: LeastSquares, settings: Newton, draws: NewtonDraws) -> Arrays:
    """PRN with given noise; arrays as in `recentred_newton`."""
    return in_blocks(problem, draws, lambda data, part: _run(data, settings, part), MOST_NUMBERS)


@dataclass(frozen=True, eq=False)
class Scaled:
    """The records in units of their bounds."""

    problem: LeastSquares

    @cached_property
    def X(self) -> np.ndarray:
        """Rows of length 1 at most (n, d)."""
        return self.problem.regressors / self.problem.row_bound

    @cached_property
    def y(self) -> np.ndarray:
        """Outcomes of size 1 at most (n,)."""
        return self.problem.outcome / self.problem.outcome_bound

    @cached_property
    def norms(self) -> np.ndarray:
        """Lengths of the rows (n,)."""
        return np.linalg.norm(self.X, axis=1)

    def clipped_gram(self, h: float) -> np.ndarray:
        """sum x x' min(1, h² / ||x||²)."""
        weights = h**2 / np.maximum(self.norms, h) ** 2
        return (self.X * weights[:, None]).T @ self.X


def in_blocks(problem: LeastSquares, draws: _Draws, run: Callable[[Scaled, _Draws], Arrays], most: int) -> Arrays:
    """A run on scaled records for so many trials at a time that residuals are `most` doubles; `theta` in the problem's
    units, and `risk`. Every field of `draws` has a leading axis of trials.
    """
    noise = {entry.name: getattr(draws, entry.name) for entry in fields(draws)}
    data, size, trials = Scaled(problem), max(1, most // problem.n), len(noise["hessian"])
    blocks = [slice(start, start + size) for start in range(0, trials, size)]
    parts = [run(data, replace(draws, **{name: array[block] for name, array in noise.items()})) for block in blocks]
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    theta = arrays["theta"] * (problem.outcome_bound / problem.row_bound)
    return {**arrays, "theta": theta, "risk": problem.risk(theta)}


def _run(data: Scaled, settings: Newton, draws: NewtonDraws) -> Arrays:
    (n, d), mu = data.X.shape, settings.mu
    scales = prn.noise_scales(settings)
    norms = prn.histogram(data.norms) + scales.norms * draws.norms
    products = prn.histogram(data.norms * np.abs(data.y)) + scales.products * draws.products
    h = prn.hessian_clip(norms, scales.norms, n=n, d=d, mu=mu)
    c = prn.gradient_clip(products, scales.products, n=n)
    U, scaled = _preconditioner(data, h, scales.hessian, draws.hessian)

    gains, theta, clipped, used = prn.Gains(scaled), np.zeros((len(h), d)), np.zeros(len(h)), c
    for t in range(settings.steps):
        used = prn.used_clip(c, n=n, d=d, mu=mu)
        residuals = data.y[:, None] - data.X @ theta.T
        sizes = data.norms[:, None] * np.abs(residuals)
        clipped += np.mean(sizes > used, axis=0) / settings.steps
        kept = residuals * (used / np.maximum(sizes, used))
        noise = scales.gradients[t] * used
        gradient = kept.T @ data.X + noise[:, None] * draws.gradients[:, t]
        step = gains.step(noise) * scaled.inverse * rotated(U, gradient)
        theta = theta + np.einsum("tij,tj->ti", U, step)
        if t < settings.steps - 1:
            small = np.sum(sizes <= c, axis=0) + scales.counts * draws.counts[:, t]
            c = prn.next_clip(c, small, n=n, noise=scales.counts)
    factor = prn.shrinkage(rotated(U, theta), scaled, gains.known)
    return {
        "theta": theta * factor[:, None],
        "hessian_clip": h,
        "gradient_clip": used,
        "clipped": clipped,
        "factor": factor,
    }


def _preconditioner(
    data: Scaled, h: np.ndarray, unit: float, noise: np.ndarray
) -> tuple[np.ndarray, prn.Preconditioner]:
    """Eigenvectors (trials, d, d) of the noisy clipped Hessian, and what its eigenvalues give."""
    grams = {float(level): data.clipped_gram(float(level)) for level in np.unique(h)}
    scale = unit * h**2
    noisy = np.stack([grams[float(level)] for level in h]) + scale[:, None, None] * noise
    values, U = np.linalg.eigh(noisy)
    return U, prn.preconditioner(values, scale, len(data.y) * h**2)


def rotated(U: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """U'v per trial."""
    return np.einsum("tji,tj->ti", U, vectors)
