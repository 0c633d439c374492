"""Expectations of a message's direction times a function of z = <x, w>, for Gaussian x of any covariance.

In coordinates x = C y with y standard normal and A C = U diag(delta), ||A x|| = r = ||diag(delta) y||. Idea: 1 / r =
(2 / sqrt pi) integral of e^{-t^2 r^2} dt and 1 / r^2 = integral of 2 t e^{-t^2 r^2} dt, and y with weight e^{-t^2 r^2}
is Gaussian again, of variances 1 / (1 + 2 t^2 delta^2): all is left to two integrals, over t and over z.

>>> from dpbounds.glm.messages.labels import scored
>>> found = DirectionMeans(scored("logistic"), np.array([0.6, 0.8]), np.ones(2))
>>> found.first.round(4).tolist(), round(found.absolute, 4)  # g_1 w and E |u_1| = 2 / pi
([0.1622, 0.2163], 0.6366)
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from dpbounds.glm.gaussian import nodes
from dpbounds.glm.messages.labels import ScoredLabels

# Steps of log t. Below START of the smallest scale variances are 1 but for START^2, and the sum is geometric; above, t
# is taken to the inverse of SMALL of the largest, as long as weights are not below LIGHT of the largest.
STEP, START, SMALL, LIGHT = 0.25, 1e-7, 1e-14, 1e-20


class DirectionMeans:
    """E[y g(z) / r] and the like at one v = C^T w, z = <y, v>; `lengths` are delta, the largest first."""

    def __init__(self, labels: ScoredLabels, v: np.ndarray, lengths: np.ndarray) -> None:
        low, high = math.log(START / lengths[0]), math.log(1.0 / (SMALL * lengths[-1]))
        t = np.exp(STEP * np.arange(math.floor(low / STEP), math.ceil(high / STEP) + 1))
        kept = 1.0 / (1.0 + 2.0 * np.outer(t**2, lengths**2))
        weights = np.exp(0.5 * np.sum(np.log(kept), axis=1)) * STEP * t
        # Weights of 1 / r and of 1 / r^2.
        once, twice = 2.0 / math.sqrt(math.pi) * weights, 2.0 * t * weights
        once[0] /= -math.expm1(-STEP)
        twice[0] /= -math.expm1(-2.0 * STEP)
        used = (once > LIGHT * once.max()) | (twice > LIGHT * twice.max())
        self._kept, self.once, self.twice = kept[used], once[used], twice[used]
        self._labels, self._v, self._q = labels, v, self._kept @ v**2
        self._points, self._shares = nodes(max(float(v @ v), 1e-12))
        self.z = np.sqrt(self._q)[:, None] * self._points

    @cached_property
    def slope(self) -> np.ndarray:
        """M' at the points z."""
        return self._labels.slope(self.z)

    @cached_property
    def first(self) -> np.ndarray:
        """E[y M / r], by Stein's identity."""
        return (self.once * (self.slope @ self._shares)) @ (self._kept * self._v)

    @property
    def absolute(self) -> float:
        """E[|z| / r] / ||v||, what bounds <first, v> / ||v|| however long v is."""
        return float(self.once @ np.sqrt(2.0 / math.pi * self._q)) / float(np.linalg.norm(self._v))

    def squares(self, values: np.ndarray, at: np.ndarray) -> np.ndarray:
        """E[y y^T g(z) / r^k]: C_t (E g + C_t v v^T C_t E[(z^2 / q - 1) g] / q) summed over t; `at`: the weights of
        that k, `values`: g at the points z.
        """
        even = values @ self._shares
        tilted = (values * (self._points**2 - 1.0)) @ self._shares / np.maximum(self._q, 1e-300)
        ray = self._kept * self._v
        return np.diag((at * even) @ self._kept) + (ray.T * (at * tilted)) @ ray
