"""What differences of independent runs say of the noise: its scale, its shape, its dependence, directions without any.

Rows are independent differences (k, p) in declared units, so that each entry is the difference of two standard noises
if the law is as declared. Every p-value is exact or an upper bound under that law.

>>> rng = np.random.default_rng(0)
>>> rows = rng.standard_normal((4, 5000)) - rng.standard_normal((4, 5000))
>>> low, high = scale_interval(rows, "gaussian", 1e-6)
>>> low < 1 < high, dependence(rows, "gaussian").p_value > 1e-3
(True, True)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dpbounds.arguments import typed
from dpbounds.audit.differences import gaussian_difference_cdf, laplace_difference_cdf, normal_scores
from dpbounds.audit.intervals import (
    Interval,
    Measured,
    correlation_tail,
    distance_tail,
    gaussian_scale_interval,
    laplace_scale_interval,
)

# Outputs whose correlations are all computed, and whose singular directions are; numbers looked at for the shape.
MOST_STREAMS, MOST_DIRECTIONS, MOST_SHAPE = 512, 64, 200_000
# Equal but for rounding: of double and of single precision.
ROUNDING, ROUNDING_NARROW = 1e-9, 1e-5


@dataclass(frozen=True)
class Finding:
    """The smallest p-value of a test, corrected for how many it is the smallest of, and what it was found at."""

    p_value: float
    words: str


@dataclass(frozen=True, eq=False)
class Direction:
    """Coordinates and weights of a combination of outputs in which the noise cancels, and how far it does."""

    places: np.ndarray
    weights: np.ndarray
    noise: float

    def of(self, rows: np.ndarray) -> np.ndarray:
        """The combination of each row."""
        return rows[..., self.places] @ self.weights


@typed
def scale_interval(rows: np.ndarray, family: Measured, alpha: float) -> Interval:
    """Of the scale, 1 if as declared; each end fails with probability `alpha` if the entries are independent."""
    if family == "gaussian":
        return gaussian_scale_interval(float(np.sum(rows**2)), rows.size, alpha)
    return laplace_scale_interval(float(np.sum(np.abs(rows))), rows.size, alpha)


@typed
def shape(rows: np.ndarray, family: Measured, scale: Interval) -> Finding:
    """Kolmogorov-Smirnov distance from the family, the smallest over the scales in the interval: an upper bound of the
    p-value, by Massart's inequality.
    """
    values = np.sort(rows.ravel()[:MOST_SHAPE])
    n = len(values)
    cdf = gaussian_difference_cdf if family == "gaussian" else laplace_difference_cdf
    steps = np.arange(n + 1) / n
    # Between two scales of the grid the cdf changes by less than their relative distance, which is allowed for.
    grid = np.geomspace(*scale, 33)
    allowed = math.log(scale[1] / scale[0]) / 32 / 2
    distances = [max(np.max(steps[1:] - at), np.max(at - steps[:-1])) for at in (cdf(values / one) for one in grid)]
    distance = max(float(min(distances)) - allowed, 0.0)
    return Finding(distance_tail(distance, n), f"distance {distance:.3g} from the {family} law in {n} numbers")


@typed
def homogeneity(rows: np.ndarray, family: Measured, groups: tuple[int, ...], alpha: float) -> Finding:
    """Whether groups of outputs, of these sizes in order, have one scale: intervals of two that do not meet.

    A p-value of 0 or 1: the intervals have the level `alpha` together.
    """
    if len(groups) < 2:
        return Finding(1.0, "one group of outputs")
    edges = np.cumsum((0, *groups))
    parts = [rows[:, start:stop] for start, stop in pairwise(edges)]
    found = [scale_interval(part, family, alpha / (2 * len(parts))) for part in parts]
    lowest, highest = max(found), min(found, key=lambda one: one[1])
    if lowest[0] <= highest[1]:
        return Finding(1.0, f"{len(parts)} groups of outputs of one scale")
    first, second = found.index(lowest), found.index(highest)
    ratio = lowest[0] / highest[1]
    return Finding(0.0, f"group {first} of outputs has more than {ratio:.4g} times the noise of group {second}")


@typed
def dependence(rows: np.ndarray, family: Measured, *, steps: int = 1, leaves: tuple[int, ...] = ()) -> Finding:
    """The least p-value of three looks for correlation, in normal scores, corrected for their number.

    Pooled, at each lag along the outputs (or along the first of `steps` axes of outputs); between outputs across rows,
    where these are few; between leaves of equal size, entry by entry.
    """
    scores = rows / math.sqrt(2) if family == "gaussian" else normal_scores(rows, laplace_difference_cdf(rows))
    looks = [*_lags(scores, steps), *_streams(scores), *_leaves(scores, leaves)]
    looks = [one for one in looks if one.words]
    if not looks:
        return Finding(1.0, "too few numbers to look for dependence")
    best = min(looks, key=lambda one: one.p_value)
    number = 1 + (_streams_apply(scores)) + (len(leaves) > 1)
    return Finding(min(1.0, number * best.p_value), best.words)


def _streams_apply(scores: np.ndarray) -> bool:
    return 1 < scores.shape[1] <= MOST_STREAMS and len(scores) > 2


def _lags(scores: np.ndarray, steps: int) -> Iterator[Finding]:
    """Along one line a row, or along the first axis of (steps, d)."""
    k, p = scores.shape
    lines = scores if steps < 2 else scores.reshape(k, steps, p // steps).transpose(0, 2, 1).reshape(-1, steps)
    length = lines.shape[1]
    if length < 2:
        return
    size = 1 << (2 * length - 1).bit_length()
    power = np.abs(np.fft.rfft(lines, size, axis=1)) ** 2
    sums = np.fft.irfft(power.sum(axis=0), size)[1:length]
    standard = np.abs(sums) / np.sqrt(len(lines) * np.arange(length - 1, 0, -1))
    for lag in 1 + np.argsort(-standard)[:6]:
        yield _lag(lines, int(lag), 2 * (length - 1))


def _lag(lines: np.ndarray, lag: int, tests: int) -> Finding:
    """Products x_i x_{i+lag} in two halves, by the parity of floor(i/lag): in each no entry stands twice, and the
    correlation is that of independent vectors.
    """
    start = np.arange(lines.shape[1] - lag)
    best = Finding(1.0, "")
    for parity in (0, 1):
        at = start[(start // lag) % 2 == parity]
        if len(at) * len(lines) < 3:
            continue
        r, n = _correlation(lines[:, at].ravel(), lines[:, at + lag].ravel())
        p_value = min(1.0, tests * correlation_tail(r, n))
        if p_value < best.p_value or not best.words:
            best = Finding(p_value, f"correlation {r:.4g} at lag {lag} in {n} products")
    return best


def _streams(scores: np.ndarray) -> Iterator[Finding]:
    if not _streams_apply(scores):
        return
    p = scores.shape[1]
    norms = np.linalg.norm(scores, axis=0)
    table = np.triu((scores.T @ scores) / np.maximum(np.outer(norms, norms), 1e-300), 1)
    first, second = divmod(int(np.abs(table).argmax()), p)
    r = float(table[first, second])
    p_value = min(1.0, p * (p - 1) / 2 * correlation_tail(r, len(scores)))
    yield Finding(p_value, f"correlation {r:.4g} of outputs {first} and {second} in {len(scores)} differences")


def _leaves(scores: np.ndarray, leaves: tuple[int, ...]) -> Iterator[Finding]:
    edges = np.cumsum((0, *leaves))
    pairs = [(i, j) for i in range(len(leaves)) for j in range(i) if leaves[i] == leaves[j]][:2000]
    for i, j in pairs:
        r, n = _correlation(scores[:, edges[i] : edges[i + 1]].ravel(), scores[:, edges[j] : edges[j + 1]].ravel())
        if n > 2:
            yield Finding(min(1.0, len(pairs) * correlation_tail(r, n)), f"correlation {r:.4g} of leaves {j} and {i}")


def _correlation(x: np.ndarray, y: np.ndarray) -> tuple[float, int]:
    norm = float(np.linalg.norm(x) * np.linalg.norm(y))
    return (float(x @ y) / norm if norm else 0.0), len(x)


@typed
def singular_directions(rows: np.ndarray, rounding: float) -> list[Direction]:
    """Combinations in which the noise cancels to `rounding`: single outputs without noise, outputs equal up to a
    factor, and for at most 64 outputs any others. For independent continuous noise there are none, with certainty.
    """
    k, p = rows.shape
    sizes = np.linalg.norm(rows, axis=0)
    largest = float(sizes.max(initial=0.0))
    silent = np.flatnonzero(sizes <= rounding * largest) if largest else np.arange(p)
    found = [Direction(np.array([place]), np.array([1.0]), float(sizes[place])) for place in silent[:1000]]
    loud = np.setdiff1d(np.arange(p), silent)
    if k >= 4 and len(loud) > 1:
        found += _equal(rows, loud, sizes, rounding)
    if not found and 2 <= p <= MOST_DIRECTIONS and k >= p + 4:
        _, values, turned = np.linalg.svd(rows / sizes, full_matrices=False)
        for value, direction in zip(values, turned, strict=True):
            if value <= rounding * values[0]:
                found.append(Direction(np.arange(p), direction / sizes, float(value)))
    return found


def _equal(rows: np.ndarray, loud: np.ndarray, sizes: np.ndarray, rounding: float) -> list[Direction]:
    """Columns that are one another's multiples: normed, turned to one sign and sorted, these stand side by side."""
    units = rows[:, loud] / sizes[loud]
    signs = np.where(units[np.abs(units).argmax(axis=0), np.arange(len(loud))] < 0, -1.0, 1.0)
    order = np.argsort((units * signs)[0])
    columns = (units * signs)[:, order]
    close = np.flatnonzero(np.abs(np.diff(columns, axis=1)).max(axis=0) < 10 * rounding)
    found = []
    for at in close[:4000]:
        places = loud[order[[at, at + 1]]]
        weights = signs[order[[at, at + 1]]] / sizes[places] * np.array([1.0, -1.0])
        found.append(Direction(places, weights, float(np.abs(rows[:, places] @ weights).max())))
    return found


def stands_apart(moved: float, size: float, rounding: float) -> bool:
    """Whether an output of this size that has no noise moves by more than rounding."""
    return moved > 100 * rounding * size
