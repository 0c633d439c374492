"""Tail-averaged preconditioned descent (`dpbounds.ols.tail_averaged`) on one data set, trials side by side.

>>> draws = TailDraws.fresh(np.random.default_rng(0), trials=4, d=3, steps=10)
>>> draws.hessian.shape, draws.gradients.shape, draws.counts.shape
((4, 3, 3), (4, 10, 3), (4, 10))
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import count
from dpbounds.ols import newton as prn
from dpbounds.ols import tail_averaged as tap
from dpbounds.ols.tail_averaged import TailAveraged
from simulators.engine import Arrays, Streams, trial_count
from simulators.ols.newton import Scaled
from simulators.ols.records import LeastSquares
from simulators.ols.sketches import room

# Doubles in the largest array of residuals, n x trials: what stays in a processor's second level of cache. Measured.
MOST_NUMBERS = 1 << 16


@dataclass(frozen=True, kw_only=True)
class TailDraws:
    """Normal noise of unit scale: `products` (trials, 15); `hessian` (trials, d, d), symmetric, of variance 1 on and
    1/2 off the diagonal; `gradients` (trials, T, d); `counts` (trials, T).
    """

    products: np.ndarray
    hessian: np.ndarray
    gradients: np.ndarray
    counts: np.ndarray

    @classmethod
    @typed
    def fresh(cls, generator: np.random.Generator, trials: int, d: int, steps: int) -> TailDraws:
        """Drawn anew."""
        trials, d, steps = trial_count(trials), count("d", d), count("steps", steps)
        room(trials, d, max(d, steps))
        square = generator.standard_normal((trials, d, d))
        return cls(
            products=generator.standard_normal((trials, len(prn.EDGES))),
            hessian=(square + np.swapaxes(square, 1, 2)) / 2,
            gradients=generator.standard_normal((trials, steps, d)),
            counts=generator.standard_normal((trials, steps)),
        )

    @typed
    def part(self, trials: slice) -> TailDraws:
        """Of some trials."""
        return TailDraws(**{entry.name: getattr(self, entry.name)[trials] for entry in fields(self)})


@typed
def tail_averaged(problem: LeastSquares, settings: TailAveraged, streams: Streams, trials: int) -> Arrays:
    """TAP on the records, scaled to ||x|| <= 1, |y| <= 1 by the problem's public bounds.

    Arrays with leading axis trials: `theta` (trials, d) in the problem's units; `risk` ||X (theta - theta*)||², a sum
    over records; `gradient_clip`, the last c_u, in scaled units; `clipped`, the share of clipped gradients in the last
    round.
    """
    draws = TailDraws.fresh(streams.noise, trials, problem.d, settings.steps)
    return tail_runs(problem, settings, draws)


@typed
def tail_runs(problem: LeastSquares, settings: TailAveraged, draws: TailDraws) -> Arrays:
    """TAP with given noise; arrays as in `tail_averaged`."""
    data = Scaled(problem)
    trials = len(draws.products)
    size = max(1, MOST_NUMBERS // problem.n)
    parts = [_run(data, settings, draws.part(slice(start, start + size))) for start in range(0, trials, size)]
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    theta = arrays["theta"] * (problem.outcome_bound / problem.row_bound)
    return {**arrays, "theta": theta, "risk": problem.risk(theta)}


def _run(data: Scaled, settings: TailAveraged, draws: TailDraws) -> Arrays:
    (n, d), scales = data.X.shape, tap.noise_scales(settings)
    products = prn.histogram(data.norms * np.abs(data.y)) + scales.products * draws.products
    c = prn.gradient_clip(products, scales.products, n=n)
    values, U = np.linalg.eigh(data.clipped_gram(1.0) + scales.hessian * draws.hessian)
    P = (U * tap.inverse(values, scales.hessian, n)[:, None, :]) @ np.swapaxes(U, 1, 2)

    theta, total = np.zeros((len(c), d)), np.zeros((len(c), d))
    used, above = c, np.zeros((n, len(c)), dtype=bool)
    for t in range(settings.steps):
        used = tap.used_clip(c, n=n, d=d, mu=settings.mu)
        residuals = data.y[:, None] - data.X @ theta.T
        sizes = data.norms[:, None] * np.abs(residuals)
        np.greater(sizes, used, out=above)
        small = np.count_nonzero(sizes <= c, axis=0) + scales.counts * draws.counts[:, t]
        residuals *= used / np.maximum(sizes, used, out=sizes)
        gradient = residuals.T @ data.X + (scales.gradients * used)[:, None] * draws.gradients[:, t]
        theta = theta + (P @ gradient[..., None])[..., 0]
        if t >= settings.steps - settings.kept:
            total += theta
        c = prn.next_clip(c, small, n=n, noise=scales.counts)
    return {"theta": total / settings.kept, "gradient_clip": used, "clipped": above.mean(axis=0)}
