"""A test that allows for clamped outcomes and regressors, from a released count of clamped rows.

Clamping moves E z (y - beta x) by at most the share f of clamped rows times |beta - b0| |E z x|: exact for jointly
normal records, first order in the first stage for every law with z independent of the errors (an assumption, not a
bound for every law). With f-bar an upper limit of f, the statistic is compared with the quantile of the noncentral
chi-square law with one degree of freedom and noncentrality d², d = n f-bar |beta - b0| |mean of zx| / sqrt(V).

>>> import numpy as np
>>> from dpbounds.iv.confidence import MomentRelease
>>> release = MomentRelease(first=np.array([30.0, 25.0]), second=40.0 * np.eye(2), first_scale=2.0, second_scale=0.0,
...                         n=100, outcome_weight=1.0, regressor_weights=np.ones(1), adjacency="zero-out")
>>> test = bias_aware(release, 1.0, clamped=5.0, count_scale=2.0)
>>> test.critical > 3.84, round(test.share, 3)
(True, 0.097)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, moderate_or_zero, real, within
from dpbounds.iv.confidence.anderson_rubin import LEVELS, along, corrected
from dpbounds.iv.confidence.release import Release
from dpbounds.iv.confidence.roots import bracketed_root


class BiasAware(NamedTuple):
    """Statistic, critical value, the standardised bias d allowed for, and the upper limit of the share of clamped
    rows; rejected if the first is larger than the second.
    """

    statistic: float
    critical: float
    shift: float
    share: float


@typed
def bias_aware(
    release: Release,
    coefficient: float,
    *,
    clamped: float,
    count_scale: float,
    centre: float = 0.0,
    level: float = 0.95,
    count_level: float = 0.99,
    correct: bool = True,
) -> BiasAware:
    """The test of one coefficient (q = 1) with `clamped` rows, a released count with noise N(0, `count_scale`²).

    `centre` is b0 where outcomes were released as y - b0 x; `coefficient` and `centre` are in the units of beta. The
    quantile is taken at `level` plus what `count_level` lacks to 1, so that both limits hold together with probability
    `level`. A noisy count below 0 counts as 0. Raises `DomainError` for q > 1, p > 1, and levels that leave nothing.
    """
    if release.q != 1 or release.p != 1:
        raise DomainError("q, p", (release.q, release.p), "1 and 1", "the bias is a number only for one instrument")
    level, count_level = within("level", level, LEVELS), within("count_level", count_level, "[0.5, 1)")
    joint = level + 1 - count_level
    if joint >= 1:
        raise DomainError("count_level", count_level, f"above the level, {level:g}", "take a higher count_level")
    scale, beta, b0 = (
        moderate_or_zero("count_scale", count_scale),
        real("coefficient", coefficient),
        real("centre", centre),
    )
    share = min(max(real("clamped", clamped) + scale * float(ndtri(count_level)), 0.0) / release.n, 1.0)
    theta = float(release.thetas(beta - b0)[0, 0])
    direction = np.array([[1.0, -theta]])
    statistic, tau = (float(part[0]) for part in along(release, direction))
    variance = float((direction @ release.covariance @ direction.T)[0, 0])
    # In units of u: theta times the moment of the scaled regressor is beta times that of x itself.
    shift = share * abs(theta * float(release.moments[1, 0])) / variance**0.5
    c = shifted_quantile(shift, joint)
    return BiasAware(statistic, float(corrected(c, 1, tau)) if correct else c, shift, share)


def shifted_quantile(shift: float, level: float) -> float:
    """The `level` quantile of (Z + d)², Z standard normal: noncentral chi-square with one degree of freedom."""
    d, level = moderate_or_zero("shift", shift), within("level", level, "(0, 1)")

    def excess(root: float) -> float:
        return float(ndtr(root - d) - ndtr(-root - d)) - level

    high = d + max(-float(ndtri((1 - level) / 2)), 1e-6) + 1e-9 * (1 + d)
    return bracketed_root(excess, 0.0, high) ** 2
