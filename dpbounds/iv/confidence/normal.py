"""How far a sum of bounded terms plus the noise of privacy is from normal: bounds that hold at every n and law.

S = sum u_i + N(0, s²), u_i independent of mean 0 with |u_i| <= B; mu = B / s and N = sum Var(u_i) / B², the effective
number of records. Under replace-one a release at mu adds noise s = 2 B / mu: read the bounds at mu / 2.

>>> bound = kolmogorov_bound(100.0, 0.3)
>>> bound.kind, bound < uniform_kolmogorov_bound(0.3) < 0.0106
('upper', True)
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

import numpy as np
from scipy.special import erfc

from dpbounds.errors import AccuracyError, moderate, moderate_or_zero, within
from dpbounds.iv.confidence.roots import bracketed_root
from dpbounds.values import Value

# Where the pieces of E meet: 2 t² / pi² overtakes t² (1 - t² / 3) / 2, is known up to pi / 2; E is 0 from sqrt(3).
_CROSSING = math.sqrt(3 * (1 - 4 / math.pi**2))
_HALF_PI, _ROOT_THREE = math.pi / 2, math.sqrt(3)
# The Berry-Esseen constant for independent terms of different laws (Shevtsova 2010).
_SHEVTSOVA = 0.56
# Gauss-Legendre on panels that grow by this factor from both ends of a piece; the difference of the two rules is added.
_RULES = tuple(np.polynomial.legendre.leggauss(points) for points in (12, 16))
_GROWTH, _TOLERANCE = 1.8, 1e-9
# How close the bound for all N comes to the largest seen.
_CLOSE, _MOST_CELLS = 0.004, 3000
# e^700 is a float.
_LARGEST = 700.0


def kolmogorov_bound(effective_n: float, mu: float) -> Value:
    """sup_t |P(S <= t sqrt(Var S)) - Phi(t)| is at most this, for N = `effective_n`.

    (1 / pi) int_0^inf (N t² / 6 + N r t³ / 8) exp(-t² / (2 mu²) - (N - r) E(t)) dt with r = min(1, N) and E(t) =
    max(t² (1 - t² / 3) / 2, [t <= pi / 2] 2 t² / pi², 0), or .56 N / (N + mu^{-2})^{3/2} if that is less. One direction
    at a time: nothing is said of chi-square laws. Raises `DomainError` unless mu > 0 and N >= 0.
    """
    N, mu = moderate_or_zero("effective_n", effective_n), moderate("mu", mu)
    return Value(min(_integral(N, N, mu), _classical(N, mu), 1.0), kind="upper", source="dpbounds")


@lru_cache(maxsize=256)
def uniform_kolmogorov_bound(mu: float) -> Value:
    """The same for every N, hence every n and every law of the records: .00133 at mu = .05, .0105 at mu = .3.

    Branch and bound over N: on a cell, the factor N is taken at the upper end and N - r in the exponent at the lower;
    cells are halved until their bounds are within .4 % of the largest value seen. At most .2156 mu.
    """
    mu = moderate("mu", mu)
    seen = 0.0
    # Below the first cell N = 0; beyond the last the classical form falls, and is below .001 of its largest value.
    first, last = 1e-6 / (1 + mu**-2), 1e6 * (1 + mu**-2)
    ends = np.geomspace(first, last, 30).tolist()
    cells = [_cell(0.0, first, mu), *(_cell(low, high, mu) for low, high in pairwise(ends))]
    heapq.heapify(cells)
    while -cells[0][0] > seen * (1 + _CLOSE):
        _, low, high = heapq.heappop(cells)
        middle = math.sqrt(low * high) if low else high / 2
        seen = max(seen, float(kolmogorov_bound(middle, mu)))
        heapq.heappush(cells, _cell(low, middle, mu))
        heapq.heappush(cells, _cell(middle, high, mu))
        if len(cells) > _MOST_CELLS:
            raise AccuracyError(f"bound for all N at mu = {mu:.3g}: {_MOST_CELLS} cells did not suffice")
    return Value(max(-cells[0][0], _classical(last, mu)), kind="upper", source="dpbounds")


def _cell(low: float, high: float, mu: float) -> tuple[float, float, float]:
    """Minus a bound over N in [low, high], and the cell. The classical form is largest at N = 2 / mu²."""
    classical = _classical(min(max(2 / mu**2, low), high), mu)
    return -min(_integral(high, low, mu), classical, 1.0), low, high


def _classical(N: float, mu: float) -> float:
    """.56 N / (N + mu^{-2})^{3/2}."""
    return _SHEVTSOVA * N * mu**2 / math.hypot(1, math.sqrt(N) * mu) ** 3 * mu


def bennett_radius(variance: float, bound: float, deviation: float, alpha: float) -> Value:
    """A radius that |S| exceeds with probability at most alpha: 2 inf_l exp(-l t + l² s² / 2 + V (e^{lB} - 1 - lB) /
    B²) = alpha, V = `variance`, B = `bound`, s = `deviation`; no normal approximation.

    Raises `DomainError` unless B > 0, V, s >= 0 not both 0, and 0 < alpha < 1.
    """
    V, s = moderate_or_zero("variance", variance), moderate_or_zero("deviation", deviation)
    B = moderate("bound", bound)
    alpha = within("alpha", alpha, "(0, 1)")
    if V == 0:
        s = moderate("deviation", s, "without variance there must be noise")
        return Value(s * math.sqrt(2 * math.log(2 / alpha)), kind="upper", source="dpbounds")
    target, ratio = math.log(2 / alpha), V / B**2

    def slack(x: float) -> float:
        """l f'(l) - f(l) - log(2 / alpha) at x = l B, f the exponent: it increases."""
        return (x * s / B) ** 2 / 2 + ratio * (x * math.exp(x) - math.expm1(x)) - target

    # Every l gives a bound, the root the least one.
    x = bracketed_root(slack, 0.0, _LARGEST) if slack(_LARGEST) > 0 else _LARGEST
    radius = (target + (x * s / B) ** 2 / 2 + ratio * (math.expm1(x) - x)) * B / x
    return Value(radius, kind="upper", source="dpbounds")


def _integral(N: float, least: float, mu: float) -> float:
    """The bound with N in front and `least` in the exponent."""
    if N == 0:
        return 0.0
    r, kept = min(1.0, N), max(least - min(1.0, least), 0.0)

    def integrand(t: np.ndarray) -> np.ndarray:
        exponent = t**2 / (2 * mu**2) + kept * _decay(t)
        return (N * t**2 / 6 + N * r * t**3 / 8) * np.exp(-exponent)

    total, error = 0.0, 0.0
    for low, high in ((0.0, _CROSSING), (_CROSSING, _HALF_PI), (_HALF_PI, _ROOT_THREE)):
        nodes = _panels(low, high, 1 / math.sqrt(mu**-2 + kept), 1 / (1 + mu**-2 + kept))
        coarse, fine = (_gauss(integrand, nodes, rule) for rule in _RULES)
        total, error = total + fine, error + abs(fine - coarse)
    total += _tail(N, r, mu)
    if error > _TOLERANCE * total:
        raise AccuracyError(f"bound at N = {N:.3g}, mu = {mu:.3g}: the quadrature is off by {error / total:.1e}")
    return (total + error) / math.pi


def _decay(t: np.ndarray) -> np.ndarray:
    """E."""
    early = np.where(t <= _HALF_PI, 2 * t**2 / math.pi**2, 0.0)
    return np.maximum(np.maximum(t**2 * (1 - t**2 / 3) / 2, early), 0.0)


def _tail(N: float, r: float, mu: float) -> float:
    """The integral from sqrt(3), where E is 0, in closed form."""
    a = _ROOT_THREE
    gauss = math.exp(-(a**2) / (2 * mu**2))
    squares = mu**2 * a * gauss + mu**3 * math.sqrt(math.pi / 2) * float(erfc(a / (mu * math.sqrt(2))))
    return N * squares / 6 + N * r / 8 * mu**2 * (a**2 + 2 * mu**2) * gauss


def _panels(low: float, high: float, width: float, least: float) -> np.ndarray:
    """Panels of [low, high] that grow from both ends: `width` is the scale at 0, `least` that of the steepest slope."""
    first = min(width / 2, (high - low) / 4) if low == 0 else least / 2
    left, right = _growing(first, (high - low) / 2), _growing(min(least / 2, (high - low) / 4), (high - low) / 2)
    return np.unique(np.concatenate([low + left, high - right]))


def _growing(first: float, end: float) -> np.ndarray:
    steps = [0.0, first]
    while steps[-1] < end:
        steps.append(min(steps[-1] * _GROWTH, end) if len(steps) > 2 else min(2 * first, end))
    return np.array([min(step, end) for step in steps])


def _gauss(
    integrand: Callable[[np.ndarray], np.ndarray], nodes: np.ndarray, rule: tuple[np.ndarray, np.ndarray]
) -> float:
    points, weights = rule
    half, middle = np.diff(nodes) / 2, (nodes[1:] + nodes[:-1]) / 2
    values = integrand(middle[:, None] + half[:, None] * points)
    return float(half @ (values @ weights))
