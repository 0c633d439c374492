"""Tail-averaged preconditioned descent (`dpbounds.ols.tail_averaged`) on one data set, trials side by side.

>>> draws = TailDraws.fresh(np.random.default_rng(0), trials=4, d=3, steps=10)
>>> draws.hessian.shape, draws.gradients.shape, draws.counts.shape
((4, 3, 3), (4, 10, 3), (4, 10))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import count
from dpbounds.ols import newton as prn
from dpbounds.ols import tail_averaged as tap
from dpbounds.ols.fitted import TailRelease
from dpbounds.ols.tail_averaged import TailAveraged
from simulators.engine import Arrays, Streams, trial_count
from simulators.ols.newton import Scaled, in_blocks
from simulators.ols.records import LeastSquares
from simulators.ols.sketches import room
from simulators.sources import GaussianSource

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

    def of_products(self, bins: np.ndarray, scale: float) -> np.ndarray:
        """The histogram (15,) with noise, (trials, 15)."""
        return bins + scale * self.products

    def of_hessian(self, X: np.ndarray, scale: float) -> np.ndarray:
        """X'X with noise, (trials, d, d)."""
        return X.T @ X + scale * self.hessian

    def of_gradients(self, t: int, X: np.ndarray, kept: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """The sum of the clipped gradients, x times `kept` (n, trials), with noise, (trials, d)."""
        return kept.T @ X + scale[:, None] * self.gradients[:, t]

    def of_counts(self, t: int, small: np.ndarray, scale: float) -> np.ndarray:
        """The counts (trials,) with noise."""
        return small + scale * self.counts[:, t]


class _Published:
    """Noise of a source for one run, which keeps what comes out; sums over records go through the source, which may
    round them correctly.
    """

    def __init__(self, source: GaussianSource) -> None:
        self._source = source
        self.products, self.hessian = np.zeros(0), np.zeros((0, 0))
        self.gradients: list[np.ndarray] = []
        self.counts: list[float] = []

    def of_products(self, bins: np.ndarray, scale: float) -> np.ndarray:
        self.products = self._source.vector(bins, scale)
        return self.products[None]

    def of_hessian(self, X: np.ndarray, scale: float) -> np.ndarray:
        gram = np.stack([self._source.sums(X.T * column) for column in X.T])
        self.hessian = self._source.symmetric(gram, scale)
        return self.hessian[None]

    def of_gradients(self, t: int, X: np.ndarray, kept: np.ndarray, scale: np.ndarray) -> np.ndarray:
        self.gradients.append(self._source.vector(self._source.sums((X * kept).T), float(scale[0])))
        return self.gradients[-1][None]

    def of_counts(self, t: int, small: np.ndarray, scale: float) -> np.ndarray:
        noisy = self._source.vector(small.astype(float), scale)
        self.counts.append(float(noisy[0]))
        return noisy


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
    return in_blocks(problem, draws, lambda data, part: _run(data, settings, part), MOST_NUMBERS)


@typed
def tail_release(
    problem: LeastSquares, settings: TailAveraged, source: GaussianSource
) -> tuple[np.ndarray, TailRelease]:
    """TAP once, with the noise of a source: theta (d,) in the problem's units, and what is released.

    theta follows from the release and from the bounds; the source's state is not kept.
    """
    published = _Published(source)
    theta = _run(Scaled(problem), settings, published)["theta"][0]
    release = TailRelease(
        settings=settings,
        n=problem.n,
        products=published.products,
        hessian=published.hessian,
        gradients=np.array(published.gradients),
        counts=np.array(published.counts),
    )
    return theta * (problem.outcome_bound / problem.row_bound), release


def _run(data: Scaled, settings: TailAveraged, draws: TailDraws | _Published) -> Arrays:
    (n, d), scales = data.X.shape, tap.noise_scales(settings)
    products = draws.of_products(prn.histogram(data.norms * np.abs(data.y)), scales.products)
    c = prn.gradient_clip(products, scales.products, n=n)
    values, U = np.linalg.eigh(draws.of_hessian(data.X / np.maximum(data.norms, 1.0)[:, None], scales.hessian))
    P = (U * tap.inverse(values, scales.hessian, n)[:, None, :]) @ np.swapaxes(U, 1, 2)

    theta, total = np.zeros((len(c), d)), np.zeros((len(c), d))
    used, above = c, np.zeros((n, len(c)), dtype=bool)
    for t in range(settings.steps):
        used = tap.used_clip(c, n=n, d=d, mu=settings.mu)
        residuals = data.y[:, None] - data.X @ theta.T
        sizes = data.norms[:, None] * np.abs(residuals)
        np.greater(sizes, used, out=above)
        small = draws.of_counts(t, np.count_nonzero(sizes <= c, axis=0), scales.counts)
        residuals *= used / np.maximum(sizes, used, out=sizes)
        gradient = draws.of_gradients(t, data.X, residuals, scales.gradients * used)
        theta = theta + (P @ gradient[..., None])[..., 0]
        if t >= settings.steps - settings.kept:
            total += theta
        c = prn.next_clip(c, small, n=n, noise=scales.counts)
    return {"theta": total / settings.kept, "gradient_clip": used, "clipped": above.mean(axis=0)}
