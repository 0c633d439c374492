"""An honest set for one instrument: coverage at least the level at every n, for every law of the records.

In units of u, |u(b)| <= |b|; clipping is assumed to leave E u(b) = 0 at the true coefficient. Of alpha = 1 - level,
2 D pays for the normal approximation (`uniform_kolmogorov_bound` at mu = 1 / s1), alpha_1 for the noise of T2 and
e^{-L} for its sampling error (the lower tail of a sum of terms in [0, |b|²]); what is left is the level of the normal
quantile. V <= (sqrt(T2(b) + s2 |b|² z_{1 - alpha_1} + |b|² L / 2) + |b| sqrt(L / 2))² + s1² |b|².

>>> import numpy as np
>>> from dpbounds.iv.confidence import MomentRelease
>>> release = MomentRelease(first=np.array([90.0, 75.0]), second=40.0 * np.eye(2), first_scale=4.0, second_scale=0.0,
...                         n=100, outcome_weight=1.0, regressor_weights=np.ones(1), adjacency="zero-out")
>>> excess = honest_excess(release, 0.95)
>>> (excess(np.array([[1.0, 0.0], [1.0, -1.2]])) > 0).tolist()  # the directions of the coefficients 0 and 1.2
[True, False]
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

from dpbounds.errors import DomainError
from dpbounds.iv.confidence.normal import uniform_kolmogorov_bound
from dpbounds.iv.confidence.release import MomentRelease, Release

# Shares of alpha for the noise of T2 and for its sampling error.
_NOISE_SHARE = _SAMPLING_SHARE = 0.05


def honest_excess(release: Release, level: float) -> Callable[[np.ndarray], np.ndarray]:
    """g² - z² V at directions b (rows), in the release's own units of length: not above 0 exactly on the set.

    Everywhere not above 0 where the normal approximation alone uses up alpha. Raises `DomainError` for q > 1 and for
    other releases than T1 and T2 with noise.
    """
    if not isinstance(release, MomentRelease):
        raise DomainError("release", type(release).__name__, "a MomentRelease for an honest set")
    if release.q != 1 or release.p != 1:
        raise DomainError("q", release.q, "1 for an honest set", "no bound on the chi-square law is known for q > 1")
    if not release.first_scale > 0:
        raise DomainError("first_scale", release.first_scale, "above 0: the bound rests on the noise")
    alpha = 1 - level
    left = alpha * (1 - _NOISE_SHARE - _SAMPLING_SHARE) - 2 * uniform_kolmogorov_bound(1 / release.first_scale)
    if left <= 0:
        return lambda directions: np.full(len(directions), -1.0)
    squared = float(ndtri(left / 2)) ** 2
    s1, s2 = release.first_scale, release.second_scale
    noise = s2 * -float(ndtri(_NOISE_SHARE * alpha))
    L = -math.log(_SAMPLING_SHARE * alpha)

    def excess(directions: np.ndarray) -> np.ndarray:
        length = np.sum(directions**2, axis=1)
        seen = np.einsum("mi,ij,mj->m", directions, release.signal, directions)
        spread = np.sqrt(seen + length * (noise + L / 2)) + np.sqrt(length * L / 2)
        moment = directions @ release.moments[:, 0]
        return moment**2 - squared * (spread**2 + s1**2 * length)

    return excess
