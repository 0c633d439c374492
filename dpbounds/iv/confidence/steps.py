"""Design S: the sign curve D(beta) = sum (z - pi) sign(y - m - beta (x - x0)) on a grid, its noise, and its set.

For a randomised binary instrument z with known P(z = 1) = pi, independent of the error, and one constant effect. The
curve of a record is plus or minus a step, of height h = max(pi, 1 - pi): noise of the spectrum below, times c h / mu
(c = 1 zero-out, 2 replace-one), is mu-GDP. No bound on x or y is needed.

>>> round(step_noise(16).factor, 3)
2.728
>>> round(sign_critical(100, 3.0), 2), round(sign_p_value(11.42, 100, 3.0), 2)
(11.42, 0.05)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, moderate_or_zero, real, vector, within
from dpbounds.iv.confidence.anderson_rubin import LEVELS
from dpbounds.iv.confidence.pieces import ConfidenceSet, Piece, shape_of
from dpbounds.iv.confidence.roots import bracketed_root
from dpbounds.values import Kind, Value

MOST_POINTS, MOST_RECORDS = 1_000_000, 100_000_000
# Standard deviations beyond which a binomial law has less than 1e-30.
_WINDOW = 12.0
# For pi other than 1/2: how many numbers of plus signs are looked at, and records up to which all are.
_LOOKS, _ALL = 33, 400
# A set whose bounded pieces have fewer cells than this was read off too coarse a grid.
LEAST_CELLS = 4


class StepNoise(NamedTuple):
    """`factor` f: the standard deviation at every grid point for steps of height 1 and mu = 1; `spectrum`: the
    eigenvalues of the negacirculant covariance, eigenvectors exp(i pi (2 k + 1) g / G), k = 0 ... G - 1.
    """

    factor: Value
    spectrum: Float[np.ndarray, " G"]


def step_noise(grid_size: int) -> StepNoise:
    """The Gaussian noise with the least largest variance for which every step curve has Mahalanobis norm at most 1.

    f = G^{-1} sum_j 1 / sin(pi (2 j + 1) / (2 G)) ~ (2 / pi) (ln G + gamma + ln(8 / pi)); eigenvalues f / sin(...).
    Steps are one orbit of the negacyclic shift, so the optimum is invariant; uniform dual weights prove it. Raises
    `DomainError` for a grid of no point or more than a million.
    """
    size = count("grid_size", grid_size, most=MOST_POINTS)
    angles = math.pi * (2 * np.arange(size) + 1) / (2 * size)
    # sin is taken of the angle nearer to 0, so that both ends are exact.
    inverse = 1 / np.sin(np.minimum(angles, angles[::-1]))
    factor = math.fsum(inverse) / size
    return StepNoise(Value(factor, kind="exact", source="dpbounds"), factor * inverse)


def sign_p_value(statistic: float, n: int, deviation: float, probability: float = 0.5) -> Value:
    """P(|D + N(0, s²)| >= |statistic|) at the true coefficient, s = `deviation`.

    pi = 1/2: D is Binomial(n, 1/2) - n/2, whatever the law of the errors: `exact`. Otherwise D = Bin(m, pi) -
    Bin(n - m, pi) - pi (2 m - n) depends on the number m of plus signs, and the largest over m is meant: an `upper`
    bound, within a third-order term of it. Raises `DomainError` for n < 1, s < 0, pi outside (0, 1), and beyond 400
    records without noise for pi other than 1/2.
    """
    level = abs(real("statistic", statistic))
    tail, kind = _null_tail(n, deviation, probability)
    return Value(min(tail(level), 1.0), kind=kind, source="dpbounds")


def sign_critical(n: int, deviation: float, probability: float = 0.5, level: float = 0.95) -> float:
    """The |D| above which the test at this level rejects: where `sign_p_value` is 1 - level (noise above 0)."""
    alpha = 1 - within("level", level, LEVELS)
    deviation = moderate_or_zero("deviation", deviation)
    if not deviation > 0:
        raise DomainError("deviation", deviation, "a number above 0", "without noise the law has steps")
    tail, _ = _null_tail(n, deviation, probability)
    high = math.sqrt(n * probability * (1 - probability) + deviation**2)
    while tail(high) > alpha:
        high *= 2
        if high > 1e3 * (n + deviation):
            raise DomainError("level", level, "below 1 less the error of the law", "take a lower level or more noise")
    return bracketed_root(lambda at: tail(at) - alpha, 0.0, high)


@typed
def sign_set(
    curve: Float[np.ndarray, " G"],
    grid: Float[np.ndarray, " G"],
    *,
    n: int,
    deviation: float,
    probability: float = 0.5,
    level: float = 0.95,
    refuse_coarse: bool = True,
) -> ConfidenceSet:
    """The set of coefficients from a released curve on an increasing grid, both of shape (G,).

    A cell between two points is kept if either of them is; a piece that reaches an end of the grid is continued to
    infinity (the coefficient is assumed not to lie beyond an end that is rejected). The level is proved for
    coefficients on the grid (`exact` at pi = 1/2, else `lower`); between points it needs cells of at most a quarter of
    the set's length. Raises `DomainError` for a grid that is not increasing or does not fit and, with `refuse_coarse`,
    where nothing is left or a bounded piece has fewer than 4 cells.
    """
    points = vector("grid", grid)
    D = vector("curve", curve, length=len(points), per="point of the grid")
    if not (np.diff(points) > 0).all():
        raise DomainError("grid", "numbers that do not increase", "increasing")
    kept = np.abs(D) <= sign_critical(n, deviation, probability, level)
    runs = _runs(kept)
    if refuse_coarse:
        _require_fine(runs, points)
    pieces = tuple(_piece(points, first, last) for first, last in _merged(runs))
    coverage = Value(
        level, kind="exact" if probability == 0.5 else "lower", source="dpbounds", convention="on the grid"
    )
    return ConfidenceSet(pieces=pieces, shape=shape_of(pieces), coverage=coverage)


def _null_tail(n: int, deviation: float, probability: float) -> tuple[Callable[[float], float], Kind]:
    """The two-sided tail at the true coefficient, and what it is."""
    n, s = count("n", n, most=MOST_RECORDS), moderate_or_zero("deviation", deviation)
    pi = within("probability", probability, "(0, 1)")
    if pi == 0.5:
        values, weights = _binomial(n, 0.5)
        return (lambda t: _two_sided(values, weights, t, s)), "exact"
    plus, slack = _numbers_of_plus(n, s, pi)
    laws = [_difference(m, n - m, pi) for m in plus]
    return (lambda t: max(_two_sided(values, weights, t, s) for values, weights in laws) + slack), "upper"


def _numbers_of_plus(n: int, s: float, pi: float) -> tuple[list[int], float]:
    """Numbers m of plus signs, n / 2 <= m <= n (the others mirror them), and what the tail may change between them.

    One sign more turns X = z - pi into -X, of the same mean and variance: a tail smoothed by N(0, s²) changes by at
    most E|X|³ / 3 sup|phi''| / s³, twice for both sides.
    """
    least = (n + 1) // 2
    if n <= _ALL:
        return list(range(least, n + 1)), 0.0
    if s == 0:
        raise DomainError("deviation", s, "a number above 0", f"without noise pi other than 1/2 takes n <= {_ALL}")
    looks = np.unique(np.linspace(least, n, _LOOKS).round().astype(int)).tolist()
    third = pi * (1 - pi) * (pi**2 + (1 - pi) ** 2)
    step = 2 * third / 3 / math.sqrt(2 * math.pi) / s**3
    return looks, math.ceil(max(np.diff(looks)) / 2) * step


def _two_sided(values: np.ndarray, weights: np.ndarray, t: float, s: float) -> float:
    """P(|K + N(0, s²)| >= t)."""
    if s == 0:
        return float(weights @ (np.abs(values) >= t))
    return float(weights @ (ndtr((values - t) / s) + ndtr((-values - t) / s)))


def _binomial(n: int, pi: float) -> tuple[np.ndarray, np.ndarray]:
    """Centred values and probabilities of Binomial(n, pi), but for what has less than 1e-30; ratios from the mode."""
    if n == 0:
        return np.zeros(1), np.ones(1)
    reach = math.ceil(_WINDOW * math.sqrt(n * pi * (1 - pi))) + 80
    mode = min(int((n + 1) * pi), n)
    low, high = max(0, mode - reach), min(n, mode + reach)
    up, down = np.arange(mode, high), np.arange(mode, low, -1)
    rising = np.cumprod((n - up) / (up + 1) * (pi / (1 - pi)))
    falling = np.cumprod(down / (n - down + 1) * ((1 - pi) / pi))
    weights = np.concatenate([falling[::-1], [1.0], rising])
    return np.arange(low, high + 1) - n * pi, weights / weights.sum()


def _difference(plus: int, minus: int, pi: float) -> tuple[np.ndarray, np.ndarray]:
    """Centred Bin(plus, pi) - Bin(minus, pi)."""
    first, second = _binomial(plus, pi), _binomial(minus, pi)
    values = first[0][0] - second[0][-1] + np.arange(len(first[0]) + len(second[0]) - 1)
    return values, np.convolve(first[1], second[1][::-1])


def _runs(kept: np.ndarray) -> list[tuple[int, int]]:
    """First and last index of each run of kept points."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], kept, [False]]).astype(int)))
    return [(int(first), int(last) - 1) for first, last in edges.reshape(-1, 2)]


def _merged(runs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Runs widened by a cell on both sides, joined where they then meet."""
    joined: list[tuple[int, int]] = []
    for first, last in runs:
        if joined and first - 1 <= joined[-1][1]:
            joined[-1] = (joined[-1][0], last + 1)
        else:
            joined.append((first - 1, last + 1))
    return joined


def _piece(points: np.ndarray, first: int, last: int) -> Piece:
    """Points of the grid, or infinity beyond it."""
    low = float(points[first]) if first >= 0 else -math.inf
    high = float(points[last]) if last < len(points) else math.inf
    return Value(low, kind="estimate", source="dpbounds"), Value(high, kind="estimate", source="dpbounds")


def _require_fine(runs: Sequence[tuple[int, int]], points: np.ndarray) -> None:
    remedy = "release it on a finer grid: the noise grows as the logarithm of its size only"
    if not runs:
        raise DomainError("grid", f"{len(points)} points of which none is accepted", "fine enough for the set", remedy)
    for first, last in runs:
        if first > 0 and last < len(points) - 1 and last - first < LEAST_CELLS:
            found = f"a piece of {last - first} cells near {points[first]:.4g}"
            raise DomainError("grid", found, f"fine enough for {LEAST_CELLS} cells in each piece", remedy)
