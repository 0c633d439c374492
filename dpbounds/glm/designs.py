"""Discrete designs whose expectations are exact sums: iid coordinates with two values, as glm Section 6 has them.

With the coordinates grouped by equal weights, <x, w> depends on one binomial count per group: 2^p terms become a
product of (size + 1), so equal weights reach any dimension.

>>> design = sign_design(2)
>>> design.variance, design.mean_of(lambda z: z * z, np.array([1.0, 1.0]))
(0.25, 0.5)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq
from scipy.special import gammaln, xlogy

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, in_floats, real, vector, within
from dpbounds.glm.links import Link
from dpbounds.glm.scale import known

# Largest number of terms of one expectation.
MOST_TERMS = 2**21


@typed
@dataclass(frozen=True, kw_only=True)
class TwoPointDesign:
    """p independent coordinates, `high` with `probability`, else `low`, of mean 0."""

    p: int
    high: float
    low: float
    probability: float = 0.5

    def __post_init__(self) -> None:
        count("p", self.p)
        real("high", self.high)
        real("low", self.low)
        within("probability", self.probability, "(0, 1)")
        in_floats(self, "high", "low", "probability")
        mean = self.probability * self.high + (1.0 - self.probability) * self.low
        if not abs(mean) <= 1e-12 * max(abs(self.high), abs(self.low)):
            raise DomainError("high, low", (self.high, self.low), "values of mean 0", f"their mean is {mean:.3g}")

    @property
    def variance(self) -> float:
        """Of a coordinate: Sigma = variance I."""
        return self.probability * self.high**2 + (1.0 - self.probability) * self.low**2

    def mean_of(self, g: Callable[[np.ndarray], np.ndarray], w: Float[np.ndarray, " p"]) -> float:
        """E g(<x, w>), exact up to rounding. Raises `DomainError` for more than 2^21 terms."""
        z, weights = self.law(w)
        return float(np.asarray(g(z)) @ weights)

    def cross_moment(self, g: Callable[[np.ndarray], np.ndarray], w: Float[np.ndarray, " p"]) -> np.ndarray:
        """E[x g(<x, w>)], of shape (p,)."""
        w = self._weights(w)
        result = np.empty(self.p)
        for value in np.unique(w):
            where = np.flatnonzero(w == value)
            z, weights = self.law(np.delete(w, where[0]))
            up, down = (np.asarray(g(z + x * value)) @ weights for x in (self.high, self.low))
            result[where] = self.probability * self.high * up + (1.0 - self.probability) * self.low * down
        return result

    def _weights(self, w: Float[np.ndarray, " p"]) -> np.ndarray:
        return vector("w", w, length=self.p, per="coordinate")

    def law(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values of <x, w>, a sum over as many coordinates as w has entries, and their probabilities; (terms,) each.

        Raises `DomainError` for more than 2^21 terms.
        """
        values, sizes = np.unique(w, return_counts=True)
        if np.prod(sizes + 1.0) > MOST_TERMS:
            raise DomainError("w", f"{len(values)} different weights", "few of them", f"at most {MOST_TERMS} terms")
        z, weights = np.zeros(1), np.ones(1)
        for value, size in zip(values, sizes, strict=True):
            ups = np.arange(size + 1)
            logs = gammaln(size + 1) - gammaln(ups + 1) - gammaln(size - ups + 1)
            logs += xlogy(ups, self.probability) + xlogy(size - ups, 1.0 - self.probability)
            steps = value * (ups * self.high + (size - ups) * self.low)
            z, weights = np.add.outer(z, steps).ravel(), np.multiply.outer(weights, np.exp(logs)).ravel()
        return z, weights


def sign_design(p: int) -> TwoPointDesign:
    """Coordinates +-1 / p with probability 1/2 (glm Section 6): l1 norm 1."""
    return TwoPointDesign(p=count("p", p), high=1.0 / p, low=-1.0 / p)


@dataclass(frozen=True, kw_only=True)
class Bias:
    """What the estimators of glm Section 4.2 converge to with all the data there are.

    - `w_ols` = Sigma^{-1} E[x y]; `constant` = 1 / E mu'(<x, w*>); `root` solves c E mu'(c <x, w_ols>) = 1;
    - `stein` = w* / constant - w_ols, the left side of glm Lemma 12 and Theorem 24;
    - `limit` = root w_ols - w*, the error that no amount of data removes.
    """

    w_ols: np.ndarray
    constant: float
    root: float
    stein: np.ndarray
    limit: np.ndarray


@typed
def least_squares(link: Link | str, w: Float[np.ndarray, " p"], design: TwoPointDesign) -> np.ndarray:
    """w_ols = Sigma^{-1} E[x mu(<x, w>)], exact (glm Lemma 12, Theorem 24); (p,)."""
    return design.cross_moment(known(link).mean, w) / design.variance


@typed
def bias(link: Link | str, w: Float[np.ndarray, " p"], design: TwoPointDesign) -> Bias:
    """Exact bias of the least squares direction and of the estimator, by enumeration (glm Lemma 12, Theorem 24).

    Raises `DomainError` for more than 2^21 terms, and where the scale equation has no root.
    """
    link, w = known(link), vector("w", w)
    w_ols = least_squares(link, w, design)
    slope = design.mean_of(link.slope, w)
    if not abs(slope) > 0:
        raise DomainError("w", w, "where E mu'(<x, w>) is not 0", "rescale w")
    constant = 1.0 / slope
    root = _root(link, w_ols, design, constant)
    return Bias(w_ols=w_ols, constant=constant, root=root, stein=w / constant - w_ols, limit=root * w_ols - w)


def _root(link: Link, w_ols: np.ndarray, design: TwoPointDesign, guess: float) -> float:
    """Smallest root, in |c|, of c E mu'(c <x, w_ols>) = 1, bracketed from 0 by doubling."""

    z, weights = design.law(w_ols)  # once: only c changes

    def excess(size: float) -> float:
        c = link.sign * size
        return c * float(np.asarray(link.slope(c * z)) @ weights) - 1.0

    high = abs(guess) / 1024
    while excess(high) < 0:
        high *= 1.25
        if high > 1e4 * abs(guess):
            raise DomainError("w", w_ols, "where the scale equation has a root", f"none up to c = {high:.3g}")
    return link.sign * cast(float, brentq(excess, high / 1.25, high, xtol=1e-300, rtol=np.float64(1e-14)))
