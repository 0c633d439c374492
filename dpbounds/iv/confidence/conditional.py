"""The conditional quasi-likelihood ratio test: more power than Anderson-Rubin with several instruments.

QLR = AR(beta0) - min_beta AR(beta). Given D = c - Cov(c, g) V^{-1} g, c the moments of the regressor, g and V those of
the null, the law of QLR under the null is that of g* ~ N(0, V): it is simulated (Andrews and Mikusheva 2016). The
covariance is the released one, privacy noise included. No correction for the noise of T2 is known.

>>> from dpbounds.iv.confidence import MomentRelease
>>> release = MomentRelease(first=np.array([30.0, 20.0, 33.0, 24.0]), second=20.0 * np.eye(4), first_scale=2.0,
...                         second_scale=0.0, n=100, outcome_weight=1.0, regressor_weights=np.ones(1),
...                         adjacency="zero-out")
>>> test = conditional_qlr(release, 1.0, rng=np.random.default_rng(0))
>>> test.p_value > 0.3
True
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, real, within
from dpbounds.iv.confidence.anderson_rubin import LEVELS
from dpbounds.iv.confidence.release import Release

MOST_DRAWS = 1_000_000
# Directions looked at for the least AR, draws at a time, and rounds of golden section around the best.
_LOOKS, _BLOCK, _ROUNDS = 96, 2_000, 22
_GOLDEN = (math.sqrt(5) - 1) / 2


class ConditionalQlr(NamedTuple):
    """Statistic, its simulated critical value, the p-value (1 + draws at least as large) / (1 + draws), and AR."""

    statistic: float
    critical: float
    p_value: float
    anderson_rubin: float


@typed
def conditional_qlr(
    release: Release, coefficient: float, *, rng: np.random.Generator, draws: int = 1000, level: float = 0.95
) -> ConditionalQlr:
    """The test of one coefficient (p = 1); for q = 1 it is Anderson-Rubin without correction, up to the simulation.

    `rng` draws g*. Size is asymptotic, conditionally on D. Raises `DomainError` for p > 1, fewer than 20 draws.
    """
    if release.p != 1:
        raise DomainError("p", release.p, "1 regressor")
    draws, level = count("draws", draws, 20, most=MOST_DRAWS), within("level", level, LEVELS)
    theta = float(release.thetas(real("coefficient", coefficient))[0, 0])
    q, sigma, (y, x) = release.q, release.covariance, release.moments
    null = np.vstack([np.eye(q), -theta * np.eye(q)])  # g = null' T1
    V, cov = null.T @ sigma @ null, sigma[q:] @ null
    g = y - theta * x
    projection = np.linalg.solve(V, cov.T).T
    rest = x - projection @ g
    sampled = rng.standard_normal((draws, q)) @ np.linalg.cholesky(V).T
    everything = np.vstack([g, sampled])
    xs = rest + everything @ projection.T
    moments = np.stack([everything + theta * xs, xs], axis=1)
    ar = np.sum(everything * np.linalg.solve(V, everything.T).T, axis=1)
    least = np.concatenate([least_statistic(sigma, part) for part in _blocks(moments)])
    ratio = np.maximum(ar - least, 0.0)
    critical = float(np.quantile(ratio[1:], level, method="higher"))
    p_value = (1 + int(np.sum(ratio[1:] >= ratio[0]))) / (1 + draws)
    return ConditionalQlr(float(ratio[0]), critical, p_value, float(ar[0]))


def least_statistic(sigma: Float[np.ndarray, "d d"], moments: Float[np.ndarray, "m 2 q"]) -> Float[np.ndarray, " m"]:
    """min over directions b of (b'm) V(b)^{-1} (b'm)', V(b) = (b' ⊗ I) sigma (b ⊗ I): looks, then golden sections."""
    q = moments.shape[2]
    blocks = sigma.reshape(2, q, 2, q)
    variances = np.diag(sigma).reshape(2, q)
    ratio = float(np.exp(np.mean(np.log(variances[0] / variances[1])) / 2))
    if q == 1:
        return np.zeros(len(moments))

    def inverses(angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        b = np.stack([np.cos(angles), -ratio * np.sin(angles)], axis=-1)
        return b, np.linalg.inv(np.einsum("mi,iajb,mj->mab", b, blocks, b, optimize=True))

    looks = np.linspace(-math.pi / 2, math.pi / 2, _LOOKS, endpoint=False)
    b, inverse = inverses(looks)
    g = np.einsum("ki,miq->kmq", b, moments)
    values = np.einsum("kmq,kmq->km", g @ inverse, g)
    best = looks[np.argmin(values, axis=0)]

    def value(angles: np.ndarray) -> np.ndarray:
        b, inverse = inverses(angles)
        g = np.einsum("mi,miq->mq", b, moments)
        return np.einsum("mp,mpq,mq->m", g, inverse, g)

    low, high = best - math.pi / _LOOKS, best + math.pi / _LOOKS
    for _ in range(_ROUNDS):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        falls = value(left) <= value(right)
        low, high = np.where(falls, low, left), np.where(falls, right, high)
    return np.minimum(value((low + high) / 2), values.min(axis=0))


def _blocks(moments: np.ndarray) -> list[np.ndarray]:
    return [moments[start : start + _BLOCK] for start in range(0, len(moments), _BLOCK)]
