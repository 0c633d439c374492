"""PRN and TAP with clipping counted: what they release beside gradients is drawn, the gradients' noise is integrated.

Histograms, noisy Hessian and noisy counts decide clip levels, preconditioner and gains; given them an iterate's law is
that of `closure` with K_t = U s_t P U' and noise c_u / sqrt(share of the round mu²). A count's mean is taken under the
iterate's law. Draws are the same at each call with a seed; their spread is part of what the methods do, and skewed: the
mean over draws and noise is `relative`, the median of both `median`.

>>> rng = np.random.default_rng(0)
>>> X = rng.uniform(-0.5, 0.5, (2000, 2))
>>> law = tail_averaged(X, X @ (0.5, -0.2) + 0.05 * rng.standard_normal(2000), mu=1.0, steps=16)
>>> law.risk.kind, law.relative < 1e-4
('estimate', True)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dpbounds.arguments import typed
from dpbounds.arithmetic import FLOATS
from dpbounds.errors import count
from dpbounds.ols import newton as prn
from dpbounds.ols import tail_averaged as tap
from dpbounds.ols.clipping.closure import Normal, Residuals, gradient_sums, residuals_at, unclipped_share
from dpbounds.ols.clipping.law import Law, quadratic, risk_quantiles
from dpbounds.ols.clipping.rows import Rows, rows_of

MOST_DRAWS = 10_000
# Rows that stand for all unless others are asked for.
ENOUGH_ROWS = 1000


@typed
def tail_averaged(
    X: ArrayLike,
    y: ArrayLike,
    *,
    mu: float,
    steps: int = 128,
    adjacency: Literal["zero-out", "replace-one"] = "zero-out",
    shares: tap.Shares = tap.SHARES,
    draws: int = 8,
    rows: int | None = ENOUGH_ROWS,
    seed: int = 0,
) -> Law:
    """TAP (`dpbounds.ols.tail_averaged`) with the whole budget mu on X (n, d), y (n,), ||x|| <= 1, |y| <= 1.

    An estimate: a mean over few draws, with the closure's error where gradients are clipped.
    `rows`: that many stand for all, None for all. Raises `DomainError` for arguments out of range, records beyond
    bounds among them, and `AccuracyError` where the iterates run away.
    """
    settings = tap.TailAveraged(mu=mu, steps=steps, adjacency=adjacency, shares=shares)
    data = rows_of(X, y, bounded=True)
    draws, seed = count("draws", draws, most=MOST_DRAWS), count("seed", seed, least=0)
    return tail_law(data, data if rows is None else data.thinned(rows), settings, draws, seed)


@typed
def newton(
    X: ArrayLike,
    y: ArrayLike,
    *,
    mu: float,
    steps: int = 10,
    growth: float = 1.2,
    adjacency: Literal["zero-out", "replace-one"] = "zero-out",
    shares: prn.Shares = prn.SHARES,
    draws: int = 16,
    rows: int | None = ENOUGH_ROWS,
    seed: int = 0,
) -> Law:
    """PRN (`dpbounds.ols.newton`) with the whole budget mu on X (n, d), y (n,), ||x|| <= 1, |y| <= 1.

    An estimate: a mean over few draws, its last factor taken where its argument is in the mean. At small budgets the
    mean of runs is that of rare bad ones, which the draws may miss: look at `median` too. Arguments and errors as
    `tail_averaged`.
    """
    settings = prn.Newton(mu=mu, steps=steps, growth=growth, adjacency=adjacency, shares=shares)
    data = rows_of(X, y, bounded=True)
    draws, seed = count("draws", draws, most=MOST_DRAWS), count("seed", seed, least=0)
    return recentred_law(data, data if rows is None else data.thinned(rows), settings, draws, seed)


@typed
def tail_law(whole: Rows, rows: Rows, settings: tap.TailAveraged, draws: int, seed: int) -> Law:
    """TAP's law: the histogram of the rows `whole`, all else of `rows`, which stand for them."""
    return _Tail(whole, rows, settings, draws, seed).law()


@typed
def recentred_law(whole: Rows, rows: Rows, settings: prn.Newton, draws: int, seed: int) -> Law:
    """PRN's law: histograms and clipped Gram matrix of the rows `whole`, all else of `rows`, which stand for them."""
    return _Recentred(whole, rows, settings, draws, seed).law()


class _Draws:
    """Standard normal noise: bins, a symmetric matrix of variance 1 on and 1/2 off the diagonal, counts."""

    def __init__(self, draws: int, d: int, counts: int, seed: int) -> None:
        generator = np.random.default_rng(seed)
        bins = len(prn.EDGES)
        self.norms, self.products = generator.standard_normal((2, draws, bins))
        square = generator.standard_normal((draws, d, d))
        self.hessian = (square + np.swapaxes(square, 1, 2)) / 2
        self.counts = generator.standard_normal((draws, counts))


def _counted(rows: Rows, residuals: Residuals, c: np.ndarray) -> np.ndarray:
    """The mean share of rows whose gradient has norm c at most, by draw."""
    return unclipped_share(FLOATS, *residuals, c[:, None] / rows.lengths).mean(axis=-1)


def _law(rows: Rows, mean: np.ndarray, covariance: np.ndarray, shares: Sequence[np.ndarray]) -> Law:
    """Means over draws."""
    bias, spread = quadratic(rows.gram.spectrum, mean, covariance)
    risks = bias + spread
    clipped, draws = [float(share.mean()) for share in shares], (risks / rows.gap).tolist()
    quantiles = risk_quantiles(rows.gram.spectrum, mean, covariance)
    return Law.of(
        float(risks.mean()), float(bias.mean()), rows.gap, clipped, draws=draws, kind="estimate", quantiles=quantiles
    )


class _Tail:
    """TAP over draws."""

    def __init__(self, whole: Rows, rows: Rows, settings: tap.TailAveraged, draws: int, seed: int) -> None:
        self.rows, self.settings, self.scales = rows, settings, tap.noise_scales(settings)
        self.noise = _Draws(draws, rows.d, settings.steps, seed)
        products = _products(whole) + self.scales.products * self.noise.products
        self.c = prn.gradient_clip(products, self.scales.products, n=rows.n)
        values, U = np.linalg.eigh(rows.gram.A + self.scales.hessian * self.noise.hessian)
        P = tap.inverse(values, self.scales.hessian, rows.n)
        self.K = (U * P[:, None, :]) @ np.swapaxes(U, 1, 2)

    def law(self) -> Law:
        rows, settings, c, K = self.rows, self.settings, self.c, self.K
        law, shares = Normal((len(c),), rows.d), []
        for t in range(settings.steps):
            used = tap.used_clip(c, n=rows.n, d=rows.d, mu=settings.mu)
            residuals = residuals_at(rows, law)
            found, below = gradient_sums(rows, residuals, used), _counted(rows, residuals, c)
            sigma = (self.scales.gradients * used)[:, None, None]
            law.move(
                law.mean + np.einsum("tij,tj->ti", K, found.mean),
                np.eye(rows.d) - K @ found.slope,
                sigma**2 * K @ K,
                found.pushed(K),
            )
            if t >= settings.steps - settings.kept:
                law.add()
            shares.append(found.clipped)
            noisy = rows.n * below + self.scales.counts * self.noise.counts[:, t]
            c = prn.next_clip(c, noisy, n=rows.n, noise=self.scales.counts)
        return _law(rows, *law.averaged, shares)


class _Recentred:
    """PRN over draws."""

    def __init__(self, whole: Rows, rows: Rows, settings: prn.Newton, draws: int, seed: int) -> None:
        self.rows, self.settings, self.scales = rows, settings, prn.noise_scales(settings)
        self.noise, n, d = _Draws(draws, rows.d, settings.steps - 1, seed), rows.n, rows.d
        norms = whole.weight * prn.histogram(whole.norms) + self.scales.norms * self.noise.norms
        products = _products(whole) + self.scales.products * self.noise.products
        h = prn.hessian_clip(norms, self.scales.norms, n=n, d=d, mu=settings.mu)
        self.c = prn.gradient_clip(products, self.scales.products, n=n)
        scale = self.scales.hessian * h**2
        clipped = {level: _clipped_gram(whole, level) for level in np.unique(h).tolist()}
        noisy = np.stack([clipped[level] for level in h.tolist()]) + scale[:, None, None] * self.noise.hessian
        values, self.U = np.linalg.eigh(noisy)
        self.scaled = prn.preconditioner(values, scale, n * h**2)

    def law(self) -> Law:
        rows, settings, c, U = self.rows, self.settings, self.c, self.U
        law, gains, shares = Normal((len(c),), rows.d), prn.Gains(self.scaled), []
        for t in range(settings.steps):
            used = prn.used_clip(c, n=rows.n, d=rows.d, mu=settings.mu)
            residuals, sigma = residuals_at(rows, law), self.scales.gradients[t] * used
            found, below = gradient_sums(rows, residuals, used), _counted(rows, residuals, c)
            K = (U * (gains.step(sigma) * self.scaled.inverse)[:, None, :]) @ np.swapaxes(U, 1, 2)
            law.move(
                law.mean + np.einsum("tij,tj->ti", K, found.mean),
                np.eye(rows.d) - K @ found.slope,
                sigma[:, None, None] ** 2 * K @ K,
                found.pushed(K),
            )
            shares.append(found.clipped)
            if t < settings.steps - 1:
                noisy = rows.n * below + self.scales.counts * self.noise.counts[:, t]
                c = prn.next_clip(c, noisy, n=rows.n, noise=self.scales.counts)
        mean, covariance = law.theta
        squares = np.einsum("tji,tj->ti", U, mean) ** 2 + np.einsum("tji,tjk,tki->ti", U, covariance, U)
        factor = prn.shrinkage(np.sqrt(squares), self.scaled, gains.known)
        return _law(rows, factor[:, None] * mean, factor[:, None, None] ** 2 * covariance, shares)


def _products(rows: Rows) -> np.ndarray:
    """The histogram of ||x|| |y| over all records."""
    return rows.weight * prn.histogram(rows.norms * np.abs(rows.y))


def _clipped_gram(rows: Rows, h: float) -> np.ndarray:
    """sum x x' min(1, h² / ||x||²)."""
    return rows.weight * (rows.X * (h / np.maximum(rows.norms, h))[:, None] ** 2).T @ rows.X
