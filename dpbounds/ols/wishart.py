"""Moments of the inverse of a sketched Gram matrix, and the law of one noise-free step of the iterative Hessian sketch.

V = S'S / k with S a k x d matrix of independent standard Gaussian entries: k V is Wishart, E V = I. The sketched
Hessian is N V N' in law for every N with N N' = X'X + eta² I. Source: beyond the paper (ols, items 2 and 3).

>>> round(contraction(71, 10).mean, 2)
0.3
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, chdtr, chdtri, gammaincinv, gammaln

from dpbounds.errors import DomainError, count, moderate_or_zero, positive, within

# The law of a step: nodes of its quadrature, and the probability of the sketches that it leaves out.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(240)
_LEFT_OUT = 1e-17
QUANTILE_ERROR = 1e-10


@dataclass(frozen=True, kw_only=True)
class InverseMoments:
    """E V^-1 = b1 I and E[V^-1 Q V^-1] = c1 Q + c2 tr(Q) I for symmetric Q of size d; inf where they do not exist.

    `spread` = c1 - b1², without the cancellation of large k.
    """

    d: int
    b1: float
    c1: float
    c2: float
    spread: float

    @property
    def b2(self) -> float:
        """E V^-2 = b2 I."""
        return self.c1 + self.d * self.c2

    def contraction(self, step: float) -> float:
        """E ||(I - step V^-1) e||² for every unit vector e."""
        return (1 - step * self.b1) ** 2 + step**2 * (self.spread + self.d * self.c2)


def inverse_moments(k: int, d: int) -> InverseMoments:
    """With m = k - d: b1 = k/(m-1), c1 = k²/(m (m-3)), c2 = c1/(m-1), c1 - b1² = c2 (m+1)/(m-1).

    b1 needs k >= d + 2, c1 and c2 need k >= d + 4: below they are inf. Raises `DomainError` for k < d, where V is
    singular.
    """
    k, d = _sizes(k, d)
    m = k - d
    b1 = k / (m - 1) if m >= 2 else math.inf
    if m < 4:
        return InverseMoments(d=d, b1=b1, c1=math.inf, c2=math.inf, spread=math.inf)
    c2 = k**2 / (m * (m - 1) * (m - 3))
    return InverseMoments(d=d, b1=b1, c1=k**2 / (m * (m - 3)), c2=c2, spread=c2 * (m + 1) / (m - 1))


@dataclass(frozen=True, kw_only=True)
class Contraction:
    """The law of c = ||(I - step V^-1) e||² / ||e||², the same for every e != 0 that V does not depend on.

    c = (1 - step k/q)² + (step k/q)² u in law, q chi-square with k - d + 1 degrees of freedom, u the ratio of
    independent chi-squares with d - 1 and k - d + 2 (0 for d = 1). With e the error in the norm of X'X it is what one
    step of the iterative Hessian sketch leaves of the risk; T steps leave the product of T independent copies.
    """

    k: int
    d: int
    step: float

    @property
    def mean(self) -> float:
        """E c = 1 - 2 step b1 + step² b2; inf below k = d + 4."""
        return inverse_moments(self.k, self.d).contraction(self.step)

    @property
    def best_step(self) -> float:
        """The step with the least mean, m (m-3) / (k (k-1)), m = k - d; 0 below k = d + 4."""
        m = self.k - self.d
        return m * (m - 3) / (self.k * (self.k - 1)) if m >= 4 else 0.0

    @property
    def least_mean(self) -> float:
        """The mean at the best step, 1 - m (m-3) / ((m-1) (k-1)); 1, that of no step at all, below k = d + 4."""
        m = self.k - self.d
        return ((self.d + 1) * m - self.d + 1) / ((m - 1) * (self.k - 1)) if m >= 4 else 1.0

    def cdf(self, level: float) -> float:
        """P(c <= level), to 1e-11 for k up to 10^4.

        Given q, P(u <= (level - (1 - step k/q)²) / (step k/q)²) is an incomplete beta function. It has square roots at
        the ends of the q that can be, which log q = middle + half sin(phi) takes away: Gauss-Legendre in phi.
        """
        level = moderate_or_zero("level", level)
        if level == 0:
            return 0.0
        root, reach, degrees = math.sqrt(level), self.step * self.k, self.k - self.d + 1
        least, most = reach / (1 + root), reach / (1 - root) if root < 1 else math.inf
        if self.d == 1:
            return float((chdtr(degrees, most) if root < 1 else 1.0) - chdtr(degrees, least))
        least = max(least, 2 * float(gammaincinv(degrees / 2, _LEFT_OUT)))
        most = min(most, float(chdtri(degrees, _LEFT_OUT)))
        if most <= least:
            return 0.0
        phi = math.pi / 2 * _NODES
        middle, half = math.log(most * least) / 2, math.log(most / least) / 2
        log_q = middle + half * np.sin(phi)
        w = reach * np.exp(-log_q)
        log_density = degrees / 2 * (log_q - math.log(2)) - np.exp(log_q) / 2 - gammaln(degrees / 2)
        limit = np.maximum(level - (1 - w) ** 2, 0.0) / w**2
        below = betainc((self.d - 1) / 2, (self.k - self.d + 2) / 2, limit / (1 + limit))
        values = np.exp(log_density) * below * half * np.cos(phi)
        return float(min(math.pi / 2 * (_WEIGHTS @ values), 1.0))

    def quantile(self, probability: float) -> float:
        """The level that c stays below with this probability; relative error 1e-10."""
        probability = within("probability", probability, "(0, 1)")
        low = high = 1.0
        while self.cdf(high) < probability:
            high *= 2
        while self.cdf(low) >= probability:
            low /= 2
        return cast(float, brentq(lambda level: self.cdf(level) - probability, low, high, xtol=QUANTILE_ERROR * low))


def contraction(k: int, d: int, step: float = 1.0) -> Contraction:
    """What a noise-free step of this length leaves of the squared error: mean, law and best step.

    At step 1 the mean is at most 1/4 from about k = 7.1 d on. Raises `DomainError` for k < d.
    """
    k, d = _sizes(k, d)
    return Contraction(k=k, d=d, step=positive("step", step))


def _sizes(k: int, d: int) -> tuple[int, int]:
    d = count("d", d)
    if count("k", k) < d:
        raise DomainError("k", k, f"a whole number of at least d = {d}", "a smaller sketch cannot be inverted")
    return int(k), d
