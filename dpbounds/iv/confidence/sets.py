"""Confidence sets for one coefficient: where the Anderson-Rubin test does not reject.

On the circle b = (cos phi, -sin phi), theta = r tan phi, the test is an analytic function of period pi. Its polynomial
gives candidates for the ends, which may be off or spurious where two of them nearly meet; the set is then read off
the test itself between and at the candidates and at its minimum, and its ends are found by bisection. `certify` takes
exact arithmetic instead (`certified`).

>>> import numpy as np
>>> from dpbounds.iv.confidence import MomentRelease
>>> release = MomentRelease(first=np.array([30.0, 25.0]), second=40.0 * np.eye(2), first_scale=2.0, second_scale=0.0,
...                         n=100, outcome_weight=1.0, regressor_weights=np.ones(1), adjacency="zero-out")
>>> point_estimate(release), [round(float(end), 4) for end in confidence_set(release).pieces[0]]
(1.2, [0.5949, 2.6947])
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, within
from dpbounds.iv.confidence.anderson_rubin import LEVELS, along, chi_square_quantile, corrected
from dpbounds.iv.confidence.certified import certified_pieces
from dpbounds.iv.confidence.honest import honest_excess
from dpbounds.iv.confidence.pieces import ConfidenceSet, Piece, shape_of
from dpbounds.iv.confidence.release import Release
from dpbounds.iv.confidence.roots import bracketed_root
from dpbounds.values import Value

# Directions of the first look at the minimum, and rounds of golden section, each of which takes .618 of the interval.
_LOOKS, _ROUNDS = 128, 40
_GOLDEN = (math.sqrt(5) - 1) / 2
# Two directions closer than this are one.
_APART = 1e-15

Excess = Callable[[Float[np.ndarray, " m"]], Float[np.ndarray, " m"]]


@typed
def confidence_set(
    release: Release, level: float = 0.95, correct: bool = True, certify: bool = False, honest: bool = False
) -> ConfidenceSet:
    """{beta: AR(beta) <= c'(beta)} for one regressor; all pieces, and the shape.

    Coverage is asymptotic. `certify`: ends and shape by exact arithmetic on the floats of the release (`certified`).
    `honest` (q = 1, T1 and T2): coverage proved at every n for clipping that leaves the moments unbiased (`honest`).
    `line` is an answer: nothing is learned. Raises `DomainError` for p > 1 (`projection`), singular releases, honest
    sets with q > 1 or certified.
    """
    within("level", level, LEVELS)
    _require_one(release)
    if honest and certify:
        raise DomainError("certify", certify, "False for an honest set", "its bound has square roots; drop one of both")
    if certify:
        pieces = certified_pieces(release, level, correct)
    elif honest:
        along_b = honest_excess(release, level)
        looks = np.linspace(-math.pi / 2, math.pi / 2, 4 * _LOOKS, endpoint=False)
        looks = np.append(looks, _minimum(release))
        pieces = _pieces(lambda angles: along_b(_directions(release, angles)), looks, _tangent_scale(release))
    else:
        excess = _excess(release, level, correct)
        looks = np.append(_candidates(release, level, correct), _minimum(release))
        pieces = _pieces(excess, looks, _tangent_scale(release))
    coverage = Value(level, kind="lower" if honest else "asymptotic", source="dpbounds", convention="coverage")
    return ConfidenceSet(pieces=pieces, shape=shape_of(pieces), coverage=coverage, certified=certify)


@typed
def point_estimate(release: Release) -> float:
    """The coefficient with the least statistic (p = 1), inf where that is at an infinite one.

    For q = 1 the ratio of the two moments. Raises `DomainError` for p > 1.
    """
    _require_one(release)
    angle = _minimum(release)
    if abs(math.cos(angle)) < _APART:
        return math.inf
    return _tangent_scale(release) * math.tan(angle)


def _require_one(release: Release) -> None:
    if release.p != 1:
        raise DomainError("p", release.p, "1 regressor", "take `projection` for one of two")


def _scale(release: Release) -> float:
    """r: theta = r tan phi, so that both blocks of the covariance weigh the same."""
    variances = np.diag(release.covariance).reshape(2, release.q)
    return float(np.exp(np.mean(np.log(variances[0] / variances[1])) / 2))


def _tangent_scale(release: Release) -> float:
    return _scale(release) * release.outcome_weight / float(release.regressor_weights[0])


def _directions(release: Release, angles: np.ndarray) -> np.ndarray:
    return np.column_stack([np.cos(angles), -_scale(release) * np.sin(angles)])


def _excess(release: Release, level: float, correct: bool) -> Excess:
    """AR - c' at angles."""
    c, q = chi_square_quantile(release.q, level), release.q

    def excess(angles: np.ndarray) -> np.ndarray:
        statistic, tau = along(release, _directions(release, angles))
        return statistic - (corrected(c, q, tau) if correct else c)

    return excess


def _minimum(release: Release) -> float:
    """The angle of least AR: 128 looks, then golden sections."""
    if release.q == 1:
        y, x = release.moments[:, 0]
        return math.atan2(y, _scale(release) * x) if y or x else 0.0
    angles = np.linspace(-math.pi / 2, math.pi / 2, _LOOKS, endpoint=False)

    def value(at: np.ndarray) -> np.ndarray:
        return along(release, _directions(release, np.atleast_1d(at)))[0]

    best = angles[int(np.argmin(value(angles)))]
    low, high = best - math.pi / _LOOKS, best + math.pi / _LOOKS
    for _ in range(_ROUNDS):
        inner = np.array([high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)])
        left, right = value(inner)
        low, high = (low, inner[1]) if left <= right else (inner[0], high)
    return (low + high) / 2


def _candidates(release: Release, level: float, correct: bool) -> np.ndarray:
    """Angles of the roots of the test's polynomial in z = e^{2 i phi}, on the circle or not."""
    q = release.q
    degree = 2 * q if correct and release.variance_scale else q
    angles = math.pi * np.arange(2 * degree + 1) / (2 * degree + 1)
    directions = _directions(release, angles)
    statistic, tau = along(release, directions)
    c = chi_square_quantile(q, level)
    sigma = _whitened(release)
    b = np.column_stack([np.cos(angles), -np.sin(angles)])
    volume = np.linalg.det(np.einsum("mi,iajb,mj->mab", b, sigma, b))
    critical = c if degree == q else corrected(c, q, tau)
    values = (statistic - critical) * volume ** (degree // q)
    coefficients = np.fft.fftshift(np.fft.fft(values))
    size = np.abs(coefficients).max()
    if not size > 0:
        return np.array([0.0])
    kept = np.flatnonzero(np.abs(coefficients) > 1e-16 * size)
    roots = np.roots(coefficients[kept[0] : kept[-1] + 1][::-1])
    return np.angle(roots[roots != 0]) / 2


def _whitened(release: Release) -> np.ndarray:
    """Sigma with blocks that weigh the same and sum to the identity: determinants then neither over- nor underflow."""
    q = release.q
    weights = np.repeat([1.0, _scale(release)], q)
    sigma = (release.covariance * weights[:, None] * weights).reshape(2, q, 2, q)
    total = sigma[0, :, 0] + sigma[1, :, 1]
    scale = np.sqrt(np.diag(total))
    inverse = np.linalg.inv(np.linalg.cholesky(total / scale[:, None] / scale)) / scale
    return np.einsum("ca,iajb,db->icjd", inverse, sigma, inverse)


def _pieces(excess: Excess, candidates: np.ndarray, scale: float) -> tuple[Piece, ...]:
    """Where the excess is at most 0, read at candidates, half way between them and at infinity."""
    half = math.pi / 2
    wrapped = np.unique(np.append((candidates + half) % math.pi - half, -half))
    ends = np.append(wrapped, half)
    looks = np.unique(np.concatenate([ends, (ends[1:] + ends[:-1]) / 2]))
    values = excess(looks)
    values[-1] = values[0]  # one point, infinity
    inside = values <= 0

    def end(low: float, high: float) -> float:
        def one(angle: float) -> float:
            return float(excess(np.array([angle]))[0])

        if one(low) * one(high) >= 0:  # a candidate that is an end: alone and in an array it rounds to either side
            return low if abs(one(low)) < abs(one(high)) else high
        return bracketed_root(one, low, high)

    pieces: list[Piece] = []
    start = Value(-math.inf, kind="exact", source="dpbounds") if inside[0] else None
    for index in range(1, len(looks)):
        if inside[index] == inside[index - 1]:
            continue
        crossing = _value(scale, end(looks[index - 1], looks[index]))
        if inside[index]:
            start = crossing
        else:
            pieces.append((start if start is not None else crossing, crossing))
            start = None
    if start is not None:
        pieces.append((start, Value(math.inf, kind="exact", source="dpbounds")))
    return tuple(pieces)


def _value(scale: float, angle: float) -> Value:
    return Value(scale * math.tan(angle), kind="estimate", source="dpbounds")
