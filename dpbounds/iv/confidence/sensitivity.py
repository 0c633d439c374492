"""What the releases cost, the noise they need, and what that noise does to the length of a set.

A record is u = v ⊗ z with |v| <= 1 and |z| <= 1 (Euclidean), n is public. "svec N(0, s²)" on a symmetric matrix has
standard deviation s on the diagonal and s / sqrt(2) off it: the density then depends on the Frobenius norm. A release
of several Gaussian parts with precisions 1 / s² is mu-GDP with mu² the largest sum of precision times squared distance.

>>> round(moment_sensitivity(1.0, 0.5, "replace-one"), 6), round(moment_sensitivity(1.0, 0.5, "zero-out"), 6)
(4.0, 1.5)
>>> [round(scale, 3) for scale in noise_scales(1.0, adjacency="replace-one")]
[2.0, 2.828]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from dpbounds.errors import DomainError, choice, moderate, moderate_or_zero, nonnegative, vector, within
from dpbounds.values import Value

Adjacency = Literal["zero-out", "replace-one"]
# Several numbers, in any form that NumPy reads.
Numbers = Sequence[float] | np.ndarray
ADJACENCIES: tuple[Adjacency, ...] = ("zero-out", "replace-one")

# Shares a / (a + b) of the precision of T2: under replace-one all that is free, under zero-out the note's default.
DEFAULT_SHARE: dict[str, float] = {"zero-out": 0.15, "replace-one": 1 / 3}
# Shares of A and Q in the blocks' precision; under replace-one both are free up to half of that of C.
DEFAULT_BLOCK_SHARE: dict[str, float] = {"zero-out": 0.1, "replace-one": 0.25}
_SOURCE = "dpbounds"


class Scales(NamedTuple):
    """Standard deviations of the noise of T1 (per coordinate) and of T2 (on its diagonal), in units of u."""

    first: float
    second: float


class BlockScales(NamedTuple):
    """Standard deviations of the noise of Z'Z (diagonal), Z'V (per entry) and V'V (diagonal)."""

    instruments: float
    cross: float
    variables: float


def known_adjacency(adjacency: str) -> str:
    """`adjacency` if it is one of those that the releases are calibrated to."""
    return choice("adjacency", adjacency, ADJACENCIES)


def moment_sensitivity(b: float, a: float, adjacency: Adjacency) -> Value:
    """The largest b |u - w|² + a |uu' - ww'|_F² over two records of norm at most 1: mu² of the release of T1 and T2.

    zero-out (w = 0): a + b. replace-one: 4 b if b >= 2 a (the pair w = -u, which leaves uu' as it is), else
    2 (a + b) + b² / (2 a), at cosine -b / (2 a). Raises `DomainError` for precisions that are negative or too large.
    """
    known_adjacency(adjacency)
    b, a = moderate_or_zero("b", b), moderate_or_zero("a", a)
    squared = a + b
    if adjacency == "replace-one":
        squared = 4 * b if b >= 2 * a else 2 * squared + b / a * b / 2
    return Value(squared, kind="exact", source=_SOURCE, convention=f"squared, {adjacency}")


def block_sensitivity(a: float, b: float, e: float, adjacency: Adjacency) -> Value:
    """mu² of the release of Z'Z, Z'V and V'V with precisions a, b, e.

    zero-out: a + b + e. replace-one: the largest 2 a (1 - c²) + 2 b (1 - c d) + 2 e (1 - d²) over cosines c, d in
    [-1, 1], which is 4 b at a = e = b / 2. Raises `DomainError` as `moment_sensitivity`.
    """
    known_adjacency(adjacency)
    a, b, e = moderate_or_zero("a", a), moderate_or_zero("b", b), moderate_or_zero("e", e)
    squared = a + b + e
    if adjacency == "replace-one":
        gains = [0.0, b - a - e]
        gains += [b / one * b / 4 - other for one, other in ((a, e), (e, a)) if 0 < b <= 2 * one]
        squared = 2 * squared + 2 * max(gains)
    return Value(squared, kind="exact", source=_SOURCE, convention=f"squared, {adjacency}")


def noise_scales(mu: float, *, adjacency: Adjacency, share: float | None = None) -> Scales:
    """(s1, s2) of the release of T1 and T2 that is exactly mu-GDP, `share` = s2^{-2} / (s1^{-2} + s2^{-2}).

    By default .15 under zero-out, and 1/3 under replace-one: all that is free there (s1 = 2 / mu, s2 = 2 sqrt(2) / mu).
    Raises `DomainError` unless mu > 0 and 0 < share < 1.
    """
    known_adjacency(adjacency)
    mu = moderate("mu", mu, "a budget is above 0")
    share = within("share", DEFAULT_SHARE[adjacency] if share is None else share, "(0, 1)")
    unit = math.sqrt(moment_sensitivity(1 - share, share, adjacency)) / mu
    return Scales(unit / math.sqrt(1 - share), unit / math.sqrt(share))


def block_scales(mu: float, *, adjacency: Adjacency, share: float | None = None) -> BlockScales:
    """Scales of the release of Z'Z, Z'V, V'V that is exactly mu-GDP; `share` of the precision for each of A and Q.

    By default .1 under zero-out and 1/4, all that is free, under replace-one. Raises `DomainError` unless mu > 0 and
    0 < share < 1/2.
    """
    known_adjacency(adjacency)
    mu = moderate("mu", mu, "a budget is above 0")
    share = within("share", DEFAULT_BLOCK_SHARE[adjacency] if share is None else share, "(0, 0.5)")
    unit = math.sqrt(block_sensitivity(share, 1 - 2 * share, share, adjacency)) / mu
    own = unit / math.sqrt(share)
    return BlockScales(own, unit / math.sqrt(1 - 2 * share), own)


def box_weights(
    outcome_bound: float, regressor_bounds: Numbers, ratio: float | Numbers = 0.5
) -> tuple[float, np.ndarray]:
    """(a_y, a_x): scales with Y² / a_y² + sum_j X_j² / a_j² = 1 that give g(beta) the least privacy variance.

    `ratio` is the public guess of |beta_j| X_j / Y, one number or one per regressor; a guess wrong by a factor of 4
    costs at most 1.57 in variance (p = 1). a_y² = Y W, a_j² = X_j W / |beta_j|, W = Y + sum_j |beta_j| X_j. Raises
    `DomainError` for bounds and ratios that are not positive, and as many ratios as fit neither.
    """
    Y, X = moderate("outcome_bound", outcome_bound), _bounds(regressor_bounds)
    ratios = vector("ratio", ratio, above=0.0)
    if len(ratios) not in (1, len(X)):
        raise DomainError("ratio", f"{len(ratios)} numbers", f"one number, or {len(X)}, one per regressor")
    ratios = np.broadcast_to(ratios, X.shape)
    total = 1 + float(ratios.sum())
    return Y * math.sqrt(total), X * np.sqrt(total / ratios)


def equivalent_sample(
    mu: float,
    *,
    instrument_bound: float,
    outcome_bound: float,
    regressor_bounds: Numbers,
    coefficients: Numbers,
    deviation: float,
    share: float | None = None,
    adjacency: Adjacency,
    ratio: float | Numbers | None = None,
) -> Value:
    """n*: with strong instruments a private set at n records is sqrt(1 + n* / n) times as long as without privacy.

    n* = s1² B_z² |b|² / Var(z_k e), |b|² = a_y² + sum_j beta_j² a_j², `deviation` the root of that variance. By default
    the weights are those that are best at `coefficients`, |b| = Y + sum_j |beta_j| X_j; with a `ratio` those of
    `box_weights`. Raises `DomainError` as `noise_scales`, for bounds that are not positive and coefficients of another
    number than the regressors.
    """
    Bz, deviation = moderate("instrument_bound", instrument_bound), moderate("deviation", deviation)
    Y, X = moderate("outcome_bound", outcome_bound), _bounds(regressor_bounds)
    beta = vector("coefficients", coefficients, length=len(X), per="regressor")
    if ratio is None:
        length = Y + float(np.abs(beta) @ X)
    else:
        weight, weights = box_weights(Y, X, ratio)
        length = math.hypot(weight, *(beta * weights))
    first = noise_scales(mu, adjacency=adjacency, share=share).first
    records = (first * Bz * length / deviation) ** 2
    return Value(records, kind="asymptotic", source=_SOURCE, convention=f"records, strong instruments, {adjacency}")


def length_ratio(n: float, equivalent: float) -> Value:
    """sqrt(1 + n* / n): the length of a private set over that without privacy, for strong instruments."""
    n, equivalent = moderate("n", n), nonnegative("equivalent", equivalent)
    return Value(math.sqrt(1 + equivalent / n), kind="asymptotic", source=_SOURCE, convention="strong instruments")


def _bounds(regressor_bounds: Numbers) -> np.ndarray:
    bounds = vector("regressor_bounds", regressor_bounds, above=0.0)
    for index, bound in enumerate(bounds):
        moderate(f"regressor_bounds[{index}]", float(bound))
    return bounds
