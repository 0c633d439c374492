"""From the set of t = rho (beta - b0) to that of beta: limits of rho from released counts, and the union over them.

Clipped residuals of y - m0 - b0 x and a regressor clamped to its range identify t = rho (beta - b0) with rho the
attenuation of the outcome over that of the regressor. Counts of clipped residuals by side and arm bracket both.

>>> found = limits([[30, 80], [0, 0]], 1000, 7.72, 0.005)
>>> round(found.least, 6), found.most
(0.857049, 1.0)
>>> [[round(end, 6) for end in piece] for piece in stretch([(-0.2, 0.1)], 0.85, 1.0, 0.5)]
[[0.264706, 0.617647]]
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from dpbounds.errors import DomainError, moderate_or_zero, real, real_array, vector, within
from dpbounds.iv.clamped.attenuation import attenuation_limits

Piece = tuple[float, float]


class RhoLimits(NamedTuple):
    """Limits of rho, which hold together with the confidence asked for; `most` is inf where nothing is known."""

    least: float
    most: float


def limits(
    counts: Any,
    per_arm: float | Sequence[float] | np.ndarray,
    count_scale: float,
    alpha: float,
    *,
    heterogeneity: float = 1.0,
    arm_scale: float = 0.0,
) -> RhoLimits:
    """Limits of rho, 1 - alpha of them right: Normal limits of every share, each one-sided at alpha over their number.

    `counts` is [[+C: z = 0, z = 1], [-C: z = 0, z = 1]] of clipped residuals with noise N(0, `count_scale`²), or two
    such tables, residuals first, then values of a clamped regressor. `per_arm`: records with z = 0 and z = 1, or one
    number where both have as many; `arm_scale`: the noise of these two numbers. Limits of a share h = count / N are
    h +- k sqrt((h (1 - P h) + 1/N) / N + (s² + h² s_N²) / N²) within [0, 1], P the arm's share of the records.
    `heterogeneity` as for `attenuation_limits`. Raises `DomainError` for tables of another shape and numbers out of
    their ranges.
    """
    table = real_array("counts", counts)
    if table.shape not in ((2, 2), (2, 2, 2)) or not np.isfinite(table).all():
        raise DomainError("counts", f"an array of shape {table.shape}", "finite, 2 sides by 2 arms, once or twice")
    N = vector("per_arm", per_arm, above=0.0)
    if len(N) not in (1, 2):
        raise DomainError("per_arm", f"{len(N)} numbers", "one number, or one for each arm")
    N = np.broadcast_to(N, 2)
    s, s_N = moderate_or_zero("count_scale", count_scale), moderate_or_zero("arm_scale", arm_scale)
    k = -float(ndtri(within("alpha", alpha, "[1e-12, 0.5]") / (2 * table.size)))
    # Counts beyond their arm are noise: the deviation is that of the share cut to [0, 1].
    h = np.clip(table / N, 0.0, 1.0)
    reach = k * np.sqrt((h * (1 - N / N.sum() * h) + 1 / N) / N + (s**2 + h**2 * s_N**2) / N**2)
    low, high = np.clip(table / N - reach, 0.0, 1.0), np.clip(table / N + reach, 0.0, 1.0)
    pairs = [
        # Where all but every record is clipped nothing is left of either limit.
        (
            attenuation_limits(most[0], most[1], heterogeneity)[0],
            attenuation_limits(least[0], least[1], heterogeneity)[1] or 1.0,
        )
        for least, most in zip(low.reshape(-1, 2, 2), high.reshape(-1, 2, 2), strict=True)
    ]
    outcome, regressor = pairs[0], pairs[1] if len(pairs) > 1 else (1.0, 1.0)
    return RhoLimits(outcome[0] / regressor[1], outcome[1] / regressor[0] if regressor[0] else math.inf)


def stretch(pieces: Iterable[Sequence[float]], rho_min: float, rho_max: float, start: float) -> tuple[Piece, ...]:
    """b0 + union of S / rho over rho in [rho_min, rho_max], S the union of `pieces`, b0 = `start`: disjoint, in order.

    A piece [l, u] gives [l / rho_max, u / rho_min] where 0 < l, [l / rho_min, u / rho_max] where u <= 0, and both
    parts where it holds 0. rho_min = 0: cones, and the line where 0 is in S; rho_max = inf: up to b0. Raises
    `DomainError` unless 0 <= rho_min <= rho_max, rho_max > 0, and for pieces that are no intervals.
    """
    low = within("rho_min", rho_min, "[0, 1e50]")
    high = math.inf if rho_max == math.inf else within("rho_max", rho_max, f"[{max(low, 1e-50)!r}, 1e50]")
    b0 = real("start", start)
    moved = sorted(_stretched(_interval(piece), low, high, b0) for piece in pieces)
    merged: list[Piece] = []
    for left, right in moved:
        if merged and left <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], right))
        else:
            merged.append((left, right))
    return tuple(merged)


def _interval(piece: Sequence[float]) -> Piece:
    try:
        left, right = (float(end) for end in piece)
    except (TypeError, ValueError):
        raise DomainError("pieces", piece, "pairs of numbers, -inf and inf allowed") from None
    if not left <= right or math.inf in (left, -right):
        raise DomainError("pieces", (left, right), "pairs (low, high) with low at most high")
    return left, right


def _stretched(piece: Piece, low: float, high: float, b0: float) -> Piece:
    left, right = piece
    if low == 0 and left <= 0 <= right:
        return -math.inf, math.inf
    return b0 + _over(left, high if left > 0 else low, -1), b0 + _over(right, low if right > 0 else high, 1)


def _over(end: float, rho: float, side: int) -> float:
    """end / rho, outwards where rho is 0; an infinite end stays."""
    if math.isinf(end) or rho == 0:
        return side * math.inf
    return end / rho
