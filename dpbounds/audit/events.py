"""Sampling, last: an event learnt on one half of the runs and counted on the other.

>>> rng = np.random.default_rng(1)
>>> a, b = rng.random((4000, 1)) < 0.9, rng.random((4000, 1)) < 0.1
>>> found = sampled_epsilon(a.astype(float), b.astype(float), 0.0, 1e-6)
>>> 1.7 < found.epsilon < math.log(9)
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy import special

from dpbounds.arguments import formula, typed
from dpbounds.audit.intervals import proportion_interval
from dpbounds.errors import DomainError, choice, real_array

# Different outputs among which sets are chosen, sets, single outputs tried as statistics, and thresholds of each.
MOST_VALUES, MOST_SETS, MOST_AXES, MOST_THRESHOLDS = 4096, 64, 16, 400

Counts = tuple[int, int]
Kind = Literal["half-space", "values"]


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class Event:
    """A set of outputs: those with <weights, output> >= `threshold`, or a list of `values`."""

    kind: Kind
    weights: np.ndarray | None = None
    threshold: float = 0.0
    values: np.ndarray | None = None

    def holds(self, outputs: np.ndarray) -> np.ndarray:
        """Whether each row of (n, p) is in the set."""
        if self.kind == "half-space":
            return outputs @ np.asarray(self.weights) >= self.threshold
        members = {row.tobytes() for row in np.ascontiguousarray(self.values, dtype=float) + 0.0}
        rows = np.ascontiguousarray(outputs, dtype=float) + 0.0
        return np.array([row.tobytes() in members for row in rows], dtype=bool)

    def content(self) -> dict[str, object]:
        """As JSON data."""
        if self.kind == "half-space":
            return {"kind": self.kind, "weights": np.asarray(self.weights).tolist(), "threshold": self.threshold}
        return {"kind": self.kind, "values": np.asarray(self.values).tolist()}


def event_from(content: Mapping[str, Any]) -> Event:
    """The event whose `content` this is. Raises `DomainError` or `KeyError` for anything else."""
    arrays = {name: real_array(name, content[name]) for name in ("weights", "values") if name in content}
    kind = choice("event", content["kind"], get_args(Kind))
    if set(arrays) != {"weights" if kind == "half-space" else "values"}:
        raise DomainError("event", kind, "a half-space with weights or a list of values")
    return Event(kind=kind, threshold=float(content.get("threshold", 0.0)), **arrays)  # pyright: ignore


@dataclass(frozen=True, eq=False)
class Sampled:
    """An epsilon that is exceeded but with probability alpha; hits and trials under the law where it is likely, then
    the other; whether the first data set is the former.
    """

    epsilon: float
    hits: tuple[int, int]
    trials: tuple[int, int]
    event: Event
    first: bool


@formula
def event_epsilon(hits: tuple[int, int], trials: tuple[int, int], delta: float, alpha: float) -> float:
    """log((p - delta)/q) from Clopper-Pearson bounds, half of `alpha` each: P(A) <= e^epsilon Q(A) + delta for all A.

    0 where the bounds do not show more.
    """
    likely = proportion_interval(hits[0], trials[0], alpha=alpha)[0]
    other = proportion_interval(hits[1], trials[1], alpha=alpha)[1]
    return max(0.0, math.log((likely - delta) / other)) if likely > delta else 0.0


@typed
def sampled_epsilon(first: np.ndarray, second: np.ndarray, delta: float, alpha: float) -> Sampled:
    """A lower bound on epsilon from outputs (n, p) under two neighbours: the best event of the first halves, counted on
    the second halves; 0 where no event is shown to be likelier than delta. Raises `DomainError` for fewer than two
    outputs on a side.
    """
    for name, side in (("first", first), ("second", second)):
        if len(side) < 2:
            raise DomainError(name, f"{len(side)} outputs", "two outputs or more")
    halves = [outputs[: len(outputs) // 2] for outputs in (first, second)]
    best: tuple[float, Event | None, bool] = (-math.inf, None, True)
    for forward in (True, False):
        likely, other = halves if forward else halves[::-1]
        for events, hits in _candidates(likely, other):
            found = _many(hits, (len(likely), len(other)), delta, alpha)
            place = int(found.argmax())
            if found[place] > best[0]:
                best = float(found[place]), events(place), forward
    _, event, forward = best
    assert event is not None
    hits, trials = counted(event, first, second, forward)
    return Sampled(event_epsilon(hits, trials, delta, alpha), hits, trials, event, forward)


@typed
def counted(event: Event, first: np.ndarray, second: np.ndarray, forward: bool) -> tuple[Counts, Counts]:
    """Hits and trials of the event in the second halves: under the law where it is likely, `first` if `forward`, then
    the other.
    """
    likely, other = (side[len(side) // 2 :] for side in ((first, second) if forward else (second, first)))
    return (int(event.holds(likely).sum()), int(event.holds(other).sum())), (len(likely), len(other))


def _many(hits: np.ndarray, trials: tuple[int, int], delta: float, alpha: float) -> np.ndarray:
    """`event_epsilon` of each column of (2, events), without its cut at 0 where delta is not reached: -1 there."""
    (k, j), (n, m) = hits, trials
    likely = np.where(k > 0, special.betaincinv(np.maximum(k, 1), n - np.maximum(k, 1) + 1, alpha / 2), 0.0)
    most = np.minimum(j, m - 1)
    other = np.where(j < m, special.betaincinv(most + 1, m - most, 1 - alpha / 2), 1.0)
    return np.where(likely > delta, np.log(np.maximum(likely - delta, 1e-300) / other), -1.0).clip(-1.0)


def _candidates(likely: np.ndarray, other: np.ndarray) -> Iterator[tuple[Callable[[int], Event], np.ndarray]]:
    """Families of events with their hits (2, events): sets of recurring outputs by falling ratio, and half-spaces."""
    both = np.ascontiguousarray(np.concatenate([likely, other]), dtype=float) + 0.0
    values, number, counts = np.unique(both, axis=0, return_inverse=True, return_counts=True)
    if len(values) <= MOST_VALUES and counts.max() > 1:
        number = number.ravel()
        p = np.bincount(number[: len(likely)], minlength=len(values))
        q = np.bincount(number[len(likely) :], minlength=len(values))
        order = np.argsort(-(p + 0.5) / (q + 0.5), kind="stable")[:MOST_SETS]
        yield (
            lambda place: Event(kind="values", values=values[order[: place + 1]]),
            np.stack([np.cumsum(p[order]), np.cumsum(q[order])]),
        )
    for weights in _statistics(likely, other):
        scores = [np.sort(side @ weights) for side in (likely, other)]
        grid = np.unique(
            np.quantile(
                np.concatenate(scores), np.linspace(0, 1, min(MOST_THRESHOLDS, 1 + len(likely) // 2), endpoint=False)
            )
        )
        hits = np.stack([len(one) - np.searchsorted(one, grid, side="left") for one in scores])
        yield (
            lambda place, weights=weights, grid=grid: Event(
                kind="half-space", weights=weights, threshold=float(grid[place])
            ),
            hits,
        )


def _statistics(likely: np.ndarray, other: np.ndarray) -> Iterator[np.ndarray]:
    p = likely.shape[1]
    apart = likely.mean(axis=0) - other.mean(axis=0)
    spread = np.sqrt(likely.var(axis=0) + other.var(axis=0))
    if p > 1 and apart.any():
        yield apart / np.maximum(spread, 1e-12 * max(float(spread.max()), 1e-300)) ** 2
    for axis in np.argsort(-np.abs(apart) / np.maximum(spread, 1e-300))[:MOST_AXES]:
        for sign in (1.0, -1.0):
            yield sign * (np.arange(p) == axis)
