"""The leading-order error of an estimator by its definition: a numerical Jacobian with respect to all averages that
the estimator is a function of, and the covariance of these averages by Gauss-Hermite quadrature over x.

Shares no formula with `dpbounds.glm.asymptotics`: no Stein's lemma, no closed-form derivative.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.optimize import brentq

from dpbounds.glm.links import Link

NODES = {2: 50, 3: 18}
STEP = 1e-4


@dataclass(frozen=True, kw_only=True, eq=False)
class Expansion:
    """One model in 2 or 3 dimensions; variances of `n` and `m` averages are per record."""

    link: Link
    w: np.ndarray
    covariance: np.ndarray
    noise_variance: float = 0.0

    @property
    def p(self) -> int:
        """Coordinates."""
        return len(self.w)

    @cached_property
    def grid(self) -> tuple[np.ndarray, np.ndarray]:
        """Points of N(0, Sigma), (k, p), and weights."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(NODES[self.p])
        weights = weights / weights.sum()
        points = np.array(list(itertools.product(nodes, repeat=self.p)))
        mass = np.array([math.prod(part) for part in itertools.product(weights, repeat=self.p)])
        return points @ np.linalg.cholesky(self.covariance).T, mass

    @cached_property
    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """The means of phi = (upper triangle of x x^T, x y, mu'(<x, w*>)) and their covariance."""
        x, mass = self.grid
        mean = self.link.mean(x @ self.w)
        second = {"binary": mean, "count": mean + mean**2, "real": mean**2 + self.noise_variance}[self.link.labels]
        squares = np.stack([x[:, i] * x[:, j] for i, j in self.pairs], axis=1)
        slope = self.link.slope(x @ self.w)[:, None]
        phi = np.concatenate([squares, x * mean[:, None], slope], axis=1)
        average = mass @ phi
        covariance = (phi.T * mass) @ phi - np.outer(average, average)
        own = slice(len(self.pairs), len(self.pairs) + self.p)
        covariance[own, own] += (x.T * (mass * (second - mean**2))) @ x
        return average, covariance

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Indices of the upper triangle."""
        return list(itertools.combinations_with_replacement(range(self.p), 2))

    def estimate(self, private: np.ndarray, public: np.ndarray, *, weight: float, own_scale: bool) -> np.ndarray:
        """The estimate from averages, and after it the t at which h(t) = s; A = `weight` of the private x x^T and the
        rest of the public.
        """
        k = len(self.pairs)
        A = np.empty((self.p, self.p))
        for (i, j), value in zip(self.pairs, weight * private[:k] + (1 - weight) * public[:k], strict=True):
            A[i, j] = A[j, i] = value
        b = private[k : k + self.p]
        w_ols = np.linalg.solve(A, b)
        x, mass = self.grid
        if own_scale:  # for N(0, s^2), s^2 = b^T A^{-1} b
            nodes, weights = np.polynomial.hermite_e.hermegauss(90)
            y, mass, shift = math.sqrt(float(b @ w_ols)) * nodes, weights / weights.sum(), 0.0
        else:
            y, shift = x @ w_ols, float(public[-1] - self.moments[0][-1])

        def excess(c: float) -> float:
            return c * (float(mass @ self.link.slope(c * y)) + shift) - 1.0

        middle = 1.0 / self.moments[0][-1]
        ends = sorted((0.7 * middle, 1.4 * middle))
        c = float(brentq(excess, *ends, xtol=1e-14, rtol=1e-14))  # type: ignore[arg-type]
        return np.append(c * w_ols, c * math.sqrt(float(b @ w_ols if own_scale else w_ols @ self.covariance @ w_ols)))

    def variances(
        self, *, n: int, m: int, gram: float, cross: float, estimator: str
    ) -> tuple[float, float, float, float, float]:
        """Sampling, noise of x x^T, noise of x y, public covariance, public scale (with its covariance)."""
        return self._along(np.eye(self.p + 1)[: self.p], n=n, m=m, gram=gram, cross=cross, estimator=estimator)

    def bending(self, *, n: int, m: int, gram: float, cross: float, estimator: str) -> float:
        """Of the equation h(t) = s: (t h'' / h')^2 times the variance of dt / t, the scale's own among it, and by how
        much the mean square of the public slopes of c -> c mu'(c z) exceeds that of their mean.
        """
        t = math.sqrt(float(self.w @ self.covariance @ self.w))
        settings: dict = {"n": n, "m": m, "gram": gram, "cross": cross, "estimator": estimator}
        scale = self.variances(**settings)[4] / float(self.w @ self.w)
        moved = sum(self._along(np.eye(self.p + 1)[self.p :] / t, **settings)[:4]) + scale
        nodes, weights = np.polynomial.hermite_e.hermegauss(120)
        weights = weights / weights.sum()

        def slope(c: float) -> np.ndarray:
            return c * self.link.slope(c * t * nodes)

        low, high = 1 - STEP, 1 + STEP
        turned = (slope(high) - slope(low)) / (2 * STEP)
        # h(t) = t E mu'(t W).
        at = [t * float(weights @ slope(c)) for c in (low, 1.0, high)]
        bent = (at[2] - 2 * at[1] + at[0]) / STEP**2 / ((at[2] - at[0]) / (2 * STEP))
        spread = float(weights @ turned**2) / float(weights @ turned) ** 2 - 1
        return bent**2 * moved + (spread / m if m else 0.0)

    def _along(
        self, rows: np.ndarray, *, n: int, m: int, gram: float, cross: float, estimator: str
    ) -> tuple[float, float, float, float, float]:
        """The variances of these coordinates of the estimate, in sum."""
        weight = {"pooled": n / (n + m), "public-covariance": 0.0}.get(estimator, 1.0)
        covariance, k = self.moments[1], len(self.pairs)
        private, public = (rows @ one for one in _jacobians(self, weight, estimator == "no-public-data"))
        users = n if estimator != "pooled" else n + m
        # Noise is added to the private sum, and the sum divided by all records.
        noise = private[:, :k] / max(weight, 1e-300) if weight else 0.0 * private[:, :k]
        matrix = public.copy()
        matrix[:, k:] = 0.0
        whole = float(np.trace(public @ covariance @ public.T)) / max(m, 1)
        part = float(np.trace(matrix @ covariance @ matrix.T)) / max(m, 1)
        return (
            float(np.trace(private @ covariance @ private.T)) / n,
            float(np.sum(noise**2)) * gram**2 * n / users**2,
            float(np.sum(private[:, k : k + self.p] ** 2)) * cross**2 / n,
            part,
            whole - part,
        )


@lru_cache(maxsize=1)
def _jacobians(expansion: Expansion, weight: float, own_scale: bool) -> tuple[np.ndarray, np.ndarray]:
    """Of the estimate and t, by private and by public averages."""
    average, found = expansion.moments[0], []
    for which in (0, 1):
        columns = []
        for index in range(len(average)):
            shift = np.zeros(len(average))
            shift[index] = STEP
            ends = [
                expansion.estimate(*((average + s, average) if which == 0 else (average, average + s)),
                                   weight=weight, own_scale=own_scale)
                for s in (shift, -shift)
            ]  # fmt: skip
            columns.append((ends[0] - ends[1]) / (2 * STEP))
        found.append(np.array(columns).T)
    return found[0], found[1]
