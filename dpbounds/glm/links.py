"""Mean functions mu of the models: E[y | x] = mu(z), z = <x, w>, with three derivatives in any arithmetic.

For a generalised linear model mu = Phi', the derivative of the cumulant function; for a regression y = f(z) + noise it
is f itself. So mu' is Phi'' of glm Algorithms 1 and 2, and f' of Algorithms 3 and 4.

>>> float(logistic.mean(0.0)), float(logistic.slope(0.0)), LINKS["poisson"].labels
(0.5, 0.25, 'count')
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Any, Literal

import numpy as np

from dpbounds.arguments import typed
from dpbounds.arithmetic import FLOATS, Arithmetic
from dpbounds.errors import real_array

# Long arrays in pieces that stay in the processor's cache.
PIECE = 8192

LinkName = Literal["logistic", "boosting", "poisson", "sigmoid", "cubic", "softplus"]
Labels = Literal["binary", "count", "real"]


@typed
@dataclass(frozen=True, kw_only=True)
class Link:
    """One mean function.

    - `name`: its key, by which closed forms are chosen.
    - `jet(m, z)`: mu, mu', mu'', mu''' at z in arithmetic m (floats, digits, balls real and complex), one after the
      other: each is computed when it is asked for.
    - `labels`: the law of y given z that the model states: `binary` (Bernoulli of mean mu), `count` (Poisson), `real`
      (mu plus bounded noise).
    - `ends`: mu at minus and plus infinity; `suprema`: those of |mu'|, |mu''|, |mu'''| over the real line, `inf` where
      they are not bounded.
    - `sign`: that of mu' everywhere.
    """

    name: LinkName
    jet: Callable[[Arithmetic, Any], Iterator[Any]]
    labels: Labels
    ends: tuple[float, float]
    suprema: tuple[float, float, float]
    sign: int = 1

    def derivative(self, m: Arithmetic, z: Any, order: int) -> Any:
        """The one of this order, 0 to 3, of mu at z in arithmetic m."""
        return next(islice(self.jet(m, z), order, None))

    def mean(self, z: Any) -> np.ndarray:
        """mu(z) in floats, for arrays."""
        return self._floats(z, 0)

    def slope(self, z: Any) -> np.ndarray:
        """mu'(z)."""
        return self._floats(z, 1)

    def curvature(self, z: Any) -> np.ndarray:
        """mu''(z)."""
        return self._floats(z, 2)

    def third(self, z: Any) -> np.ndarray:
        """mu'''(z)."""
        return self._floats(z, 3)

    def second_moment(self, z: Any, *, noise_variance: float = 0.0) -> np.ndarray:
        """E[y^2 | z]: mu for binary labels, mu + mu^2 for counts, mu^2 + `noise_variance` for a regression."""
        mean = self.mean(z)
        if self.labels == "binary":
            return mean
        return mean**2 + (mean if self.labels == "count" else noise_variance)

    def _floats(self, z: Any, order: int) -> np.ndarray:
        # e^-z overflows to inf far out, where the quotients below have reached their limits.
        z = real_array("z", z)
        with np.errstate(over="ignore"):
            if z.size <= PIECE:
                return np.asarray(self.derivative(FLOATS, z, order), dtype=float)
            pieces = np.array_split(z.ravel(), math.ceil(z.size / PIECE))
            return np.concatenate([self.derivative(FLOATS, piece, order) for piece in pieces]).reshape(z.shape)


def _logistic(m: Arithmetic, z: Any) -> Iterator[Any]:
    """1 / (1 + e^-z) and its derivatives, polynomials in it and in its complement 1 / (1 + e^z)."""
    up = 1 / (1 + m.exp(-z))
    yield up
    down = 1 / (1 + m.exp(z))
    slope = up * down
    yield slope
    yield slope * (down - up)
    yield slope * (1 - 6 * slope)


def _boosting(m: Arithmetic, z: Any) -> Iterator[Any]:
    """Derivatives of z / 2 + sqrt(1 + z^2 / 4): with u = 1 + z^2 / 4, mu' = u^{-3/2} / 4 (glm Thm 20)."""
    u = 1 + z * z / 4
    root = m.sqrt(u)
    yield 0.5 + z / (4 * root)
    slope = 1 / (4 * u * root)
    yield slope
    yield -3 * z * slope / (4 * u)
    yield 3 * (z * z - 1) * slope / (4 * u * u)


def _poisson(m: Arithmetic, z: Any) -> Iterator[Any]:
    return repeat(m.exp(z), 4)


def _cubic(m: Arithmetic, z: Any) -> Iterator[Any]:
    yield z * z * z / 3
    yield z * z
    yield 2 * z
    yield 0 * z + 2


def _softplus(m: Arithmetic, z: Any) -> Iterator[Any]:
    """log(1 + e^-z), the regression that the paper calls logistic loss: its slope is mu_logistic - 1 < 0."""
    yield m.log1p(m.exp(-z))
    yield -1 / (1 + m.exp(z))
    _, slope, curvature, _ = _logistic(m, z)
    yield slope
    yield curvature


_INF = float("inf")
# sup |s (1 - s) (1 - 2 s)| over s in [0, 1] is 1 / (6 sqrt 3); |s (1 - s) (1 - 6 s (1 - s))| is largest at s = 1/2.
_BENT = 1 / (6 * np.sqrt(3.0))
# |mu''| of boosting is 3 |z| u^{-5/2} / 16, largest at |z| = 1; |mu'''| at 0.
_BOOSTING = (0.25, float(3 / 16 * 1.25**-2.5), 3 / 16)

logistic = Link(name="logistic", jet=_logistic, labels="binary", ends=(0.0, 1.0), suprema=(0.25, _BENT, 0.125))
boosting = Link(name="boosting", jet=_boosting, labels="binary", ends=(0.0, 1.0), suprema=_BOOSTING)
poisson = Link(name="poisson", jet=_poisson, labels="count", ends=(0.0, _INF), suprema=(_INF, _INF, _INF))
sigmoid = Link(name="sigmoid", jet=_logistic, labels="real", ends=(0.0, 1.0), suprema=(0.25, _BENT, 0.125))
cubic = Link(name="cubic", jet=_cubic, labels="real", ends=(-_INF, _INF), suprema=(_INF, _INF, 2.0))
softplus = Link(name="softplus", jet=_softplus, labels="real", ends=(_INF, 0.0), suprema=(1.0, 0.25, _BENT), sign=-1)

LINKS = {link.name: link for link in (logistic, boosting, poisson, sigmoid, cubic, softplus)}
