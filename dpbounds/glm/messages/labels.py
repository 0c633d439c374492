"""Labels moved to [-1, 1]: the score psi(y) of a message, and its moments given z = <x, w>.

Binary labels: psi = 2 y - 1. Counts are clamped, psi = 2 min(y, B) / B - 1, and M(z) = E[psi | z] is that of the
clamped count, so that clamping has no bias. Regressions with mean in (0, 1) and noise of at most B - 1 in size have
labels in [1 - B, B], psi = (2 y - 1) / (2 B - 1). Links whose labels have no bound are refused.

>>> counts = scored("poisson", 2)
>>> counts.score(np.array([0.0, 1.0, 7.0])).tolist(), round(float(counts.mean(0.0)), 6)
([-1.0, 0.0, 1.0], -0.103638)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, real_array, within
from dpbounds.glm.links import Link
from dpbounds.glm.scale import known

# Where counts are clamped unless something else is said: near the least error for means of about 1.
COUNTS_UP_TO, MOST_COUNTS = 4, 1000
# P(Y < B) is summed term by term up to this B.
FEW = 16
# e^z beyond it is larger than all clamped counts with certainty, in floats.
_FAR = 700.0


@dataclass(frozen=True, kw_only=True)
class ScoredLabels:
    """psi and its moments given z for one link; `label_bound` is B.

    `end`: M is strictly increasing from -`end` to `end`.
    """

    link: Link
    label_bound: float

    @property
    def _unit(self) -> float:
        """Half the length of the range of a regression's labels, in units of its mean's."""
        return 2.0 * self.label_bound - 1.0

    @property
    def end(self) -> float:
        """sup |M|: 1, and less for a regression whose noise takes room."""
        return 1.0 / self._unit if self.link.labels == "real" else 1.0

    def score(self, y: Any) -> np.ndarray:
        """psi(y) in [-1, 1] for labels of any shape; those outside the range are clamped to it."""
        y = real_array("y", y)
        if self.link.labels == "binary":
            return np.clip(2.0 * y - 1.0, -1.0, 1.0)
        if self.link.labels == "count":
            return 2.0 * np.clip(y, 0.0, self.label_bound) / self.label_bound - 1.0
        return np.clip((2.0 * y - 1.0) / self._unit, -1.0, 1.0)

    def mean(self, z: Any) -> np.ndarray:
        """M(z) = E[psi | z]."""
        if self.link.labels != "count":
            return self.end * (2.0 * self.link.mean(z) - 1.0)
        # E min(Y, B) = B - sum over k < B of (B - k) P(Y = k).
        shares = self._shares(self._rate(z))
        missing = sum((self.label_bound - k) * share for k, share in enumerate(shares))
        return 1.0 - 2.0 * np.asarray(missing) / self.label_bound

    def slope(self, z: Any) -> np.ndarray:
        """M'(z) > 0; (2 lambda / B) P(Y <= B - 1) for counts."""
        if self.link.labels != "count":
            return 2.0 * self.end * self.link.slope(z)
        rate = self._rate(z)
        below = sum(self._shares(rate)) if self.label_bound <= FEW else special.gammaincc(self.label_bound, rate)
        return 2.0 * rate / self.label_bound * np.asarray(below)

    def second(self, z: Any) -> np.ndarray:
        """E[psi^2 | z]: 1 for binary labels; for a regression that of noise of size B - 1, the most there can be."""
        if self.link.labels == "binary":
            return np.ones_like(real_array("z", z))
        if self.link.labels == "real":
            return self.mean(z) ** 2 + (2.0 * (self.label_bound - 1.0) * self.end) ** 2
        # psi is 1 but for k < B.
        bound = self.label_bound
        shares = self._shares(self._rate(z))
        short = sum((1.0 - (2.0 * k / bound - 1.0) ** 2) * share for k, share in enumerate(shares))
        return 1.0 - np.asarray(short)

    def _shares(self, rate: np.ndarray) -> Iterator[np.ndarray]:
        """P(Y = k) for k < B, one after the other."""
        share = np.exp(-rate)
        for k in range(round(self.label_bound)):
            yield share
            share = share * rate / (k + 1.0)

    def _rate(self, z: Any) -> np.ndarray:
        return np.exp(np.minimum(real_array("z", z), _FAR))


@typed
def scored(link: Link | str, label_bound: float | None = None) -> ScoredLabels:
    """The scores of a link; `label_bound` B: where counts are clamped (a whole number, by default 4), or 1 plus the
    size of a regression's noise (by default 1, none).

    Raises `DomainError` for a link whose labels have no bound, and for a bound on binary labels other than 1.
    """
    link = known(link)
    if link.labels == "count":
        bound = count("label_bound", COUNTS_UP_TO if label_bound is None else label_bound, most=MOST_COUNTS)
        return ScoredLabels(link=link, label_bound=float(bound))
    if link.ends != (0.0, 1.0):
        remedy = "a message of bounded size needs bounded labels"
        raise DomainError("link", link.name, "one of binary labels, counts, or a mean between 0 and 1", remedy)
    bound = 1.0 if label_bound is None else within("label_bound", label_bound, "[1, 1e6]")
    if link.labels == "binary" and not math.isclose(bound, 1.0):
        raise DomainError("label_bound", label_bound, f"1 or left out for the {link.name} link", "labels are 0 and 1")
    return ScoredLabels(link=link, label_bound=bound)
