"""Where neighbours are looked for: boxes of records, or examples; and the pairs that one record apart makes of them.

>>> box = Box(shape=(3, 2), low=0.0, high=1.0)
>>> pairs = neighbours(box, "replace-one", np.random.default_rng(0))
>>> len(pairs) > 20, all(np.sum(np.any(one.first != one.second, axis=1)) == 1 for one in pairs)
(True, True)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, real_array
from dpbounds.privacy import Adjacency

# What stands for a side without a bound: close by, and far away.
NEAR, FAR = 1.0, 1e6
# Records tried at one place, one-coordinate extremes among them, and pairs of one audit.
MOST_RECORDS, MOST_AXES, MOST_PAIRS = 24, 6, 120
# Numbers of one data set.
LARGEST_DATA = 50_000_000
Data = Any


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class Box:
    """Data of `shape` (records first), every number from `low` to `high`, whole if `integer`.

    `low` and `high` are numbers or arrays that fit one record, and may be infinite: the mechanism then has to clip.
    Raises `DomainError` for shapes without records and bounds that leave nothing.
    """

    shape: tuple[int, ...]
    low: np.ndarray | float = -np.inf
    high: np.ndarray | float = np.inf
    integer: bool = False

    def __post_init__(self) -> None:
        shape = (self.shape,) if np.ndim(self.shape) == 0 else tuple(self.shape)
        shape = tuple(count("shape", size) for size in shape)
        if not shape or np.prod(shape, dtype=float) > LARGEST_DATA:
            raise DomainError("shape", self.shape, f"records first, at most {LARGEST_DATA} numbers")
        object.__setattr__(self, "shape", shape)
        for name in ("low", "high"):
            given = real_array(name, getattr(self, name))
            try:
                fitted = np.broadcast_to(given, shape[1:]).astype(float)
            except ValueError:
                raise DomainError(name, f"an array of shape {given.shape}", f"one that fits {shape[1:]}") from None
            object.__setattr__(self, name, fitted)
        if not np.all(self.low <= self.high):  # NaN too
            raise DomainError("low", "above high, or no number", "at most high everywhere")

    def ends(self, reach: float) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest record, `reach` standing for no bound."""
        low, high = np.asarray(self.low), np.asarray(self.high)
        return np.where(np.isfinite(low), low, np.minimum(-reach, high)), np.where(
            np.isfinite(high), high, np.maximum(reach, low)
        )

    def records(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Corners, centre, one coordinate at an end, signs that alternate or are drawn; far ones if unbounded."""
        found: list[np.ndarray] = []
        bounded = bool(np.isfinite(self.low).all() and np.isfinite(self.high).all())
        for reach in (FAR,) if bounded else (FAR, NEAR):
            low, high = self.ends(reach)
            centre = np.clip(np.zeros_like(low), low, high)
            found += [high, low, (low + high) / 2, centre]
            turns = np.arange(low.size).reshape(low.shape) % 2 == 0
            found += [np.where(turns, high, low), np.where(turns, low, high)]
            found += [np.where(rng.random(low.shape) < 0.5, low, high) for _ in range(3)]
            for axis in rng.permutation(low.size)[:MOST_AXES]:
                alone = centre.copy()
                alone.flat[axis] = high.flat[axis]
                found.append(alone)
        return [self.whole(record) for record in _distinct(found)][:MOST_RECORDS]

    def bases(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Whole data sets: drawn, all at the centre, all at one end, half and half."""
        low, high = self.ends(NEAR)
        drawn = low + (high - low) * rng.random(self.shape)
        centre = np.broadcast_to(np.clip(np.zeros_like(low), low, high), self.shape)
        halves = np.where((np.arange(self.shape[0]) % 2 == 0).reshape(-1, *[1] * (len(self.shape) - 1)), low, high)
        sets = [drawn, centre, np.broadcast_to(high, self.shape), np.broadcast_to(low, self.shape), halves]
        return [self.whole(data) for data in sets]

    def whole(self, values: np.ndarray) -> np.ndarray:
        """As numbers of the domain: rounded into it if these are integers."""
        if not self.integer:
            return np.array(values, dtype=float)
        return np.clip(np.rint(values), np.ceil(self.low), np.floor(self.high)).astype(np.int64)


Domain = Box | Mapping[str, Box] | Sequence[Any]


@dataclass(frozen=True, eq=False)
class Pair:
    """Neighbouring data sets, what makes them differ, and where the record stands (None if it is given)."""

    first: Data
    second: Data
    label: str
    place: int | None = None


@typed
def neighbours(domain: Any, adjacency: Adjacency, rng: np.random.Generator) -> list[Pair]:
    """Pairs to try, in an order drawn from `rng` but for the first few, which change most.

    `domain` is a `Box`, a mapping of names to boxes with the same number of records, a list of example data sets
    (arrays, or mappings of arrays), or a list of `Pair`s, which is taken as it is. Raises `DomainError` for others, and
    where there is but one record, which nothing replaces.
    """
    if isinstance(domain, (list, tuple)) and domain and all(isinstance(one, Pair) for one in domain):
        return list(domain)
    bases, records = _material(domain, rng)
    found = list(_pairs(bases, records, adjacency, rng))
    if not found:
        raise DomainError("domain", domain, "one with two records or more to put in one place", "widen its bounds")
    first, rest = found[:8], found[8:]
    order = rng.permutation(len(rest))[: MOST_PAIRS - len(first)]
    return first + [rest[number] for number in order]


def _pairs(bases: list[Data], records: list[Data], adjacency: str, rng: np.random.Generator) -> Iterator[Pair]:
    for number, base in enumerate(bases):
        n = _length(base)
        for place in (0,) if number else dict.fromkeys((0, n - 1, n // 2)):
            if adjacency == "replace-one":
                chosen = [(a, b) for i, a in enumerate(records) for b in records[i + 1 :]]
                kept = [*range(min(3, len(chosen))), *rng.permutation(len(chosen))[:12]]
                for index in dict.fromkeys(int(one) for one in kept):
                    a, b = chosen[index]
                    yield Pair(_with(base, place, a), _with(base, place, b), f"record {place} replaced", place)
            elif adjacency == "zero-out":
                for record in records:
                    zero = _map(record, np.zeros_like)
                    yield Pair(_with(base, place, record), _with(base, place, zero), f"record {place} set to 0", place)
            else:
                for record in records:
                    whole = _with(base, place, record)
                    less = _map(whole, lambda array, place=place: np.delete(array, place, axis=0))
                    yield Pair(whole, less, f"record {place} of {n} removed", place)


def outside(pair: Pair, domain: Any) -> Pair | None:
    """The pair with its record a thousand times as far out as the box allows; None where that means nothing."""
    if not isinstance(domain, Box) or pair.place is None or domain.integer or not np.isfinite(domain.high).all():
        return None
    far = 1e3 * np.maximum(np.abs(domain.low), np.abs(domain.high)) + 1.0
    return Pair(_with(pair.first, pair.place, far), pair.second, "record outside the domain", pair.place)


def moved(pair: Pair, domain: Any, rng: np.random.Generator) -> Iterator[Pair]:
    """The pair with one coordinate of its record at either end, in a drawn order: steps of a coordinate ascent."""
    if not isinstance(domain, Box) or pair.place is None:
        return
    low, high = domain.ends(FAR)
    for axis in rng.permutation(low.size):
        for end in (low, high):
            record = np.array(pair.first[pair.place])
            if record.flat[axis] != end.flat[axis]:
                record.flat[axis] = end.flat[axis]
                yield Pair(_with(pair.first, pair.place, domain.whole(record)), pair.second, pair.label, pair.place)


def _material(domain: Any, rng: np.random.Generator) -> tuple[list[Data], list[Data]]:
    """Bases and records."""
    if isinstance(domain, Box):
        return domain.bases(rng), domain.records(rng)
    if isinstance(domain, Mapping) and domain and all(isinstance(one, Box) for one in domain.values()):
        if len({box.shape[0] for box in domain.values()}) > 1:
            raise DomainError(
                "domain", {name: box.shape for name, box in domain.items()}, "as many records in each box"
            )
        bases = [
            dict(zip(domain, each, strict=True)) for each in zip(*(b.bases(rng) for b in domain.values()), strict=True)
        ]
        columns = {name: box.records(rng) for name, box in domain.items()}
        longest = max(len(column) for column in columns.values())
        drawn = [{name: column[rng.integers(len(column))] for name, column in columns.items()} for _ in range(longest)]
        ends = [{name: column[min(i, len(column) - 1)] for name, column in columns.items()} for i in range(2)]
        mixed = [
            {name: column[(i + k) % min(2, len(column))] for k, (name, column) in enumerate(columns.items())}
            for i in range(2)
        ]
        return bases, [*ends, *mixed, *drawn][:MOST_RECORDS]
    if isinstance(domain, Sequence) and not isinstance(domain, (str, bytes)) and len(domain):
        bases = [_example(one) for one in domain]
        rows = [_map(base, lambda array, i=i: array[i]) for base in bases for i in range(min(_length(base), 6))]
        return bases, rows[:MOST_RECORDS]
    raise DomainError("domain", domain, "a Box, a mapping of names to boxes, or a list of example data sets")


def _example(given: Any) -> Data:
    if isinstance(given, Mapping):
        arrays = {str(name): np.asarray(array) for name, array in given.items()}
        if (
            arrays
            and len({np.shape(array)[:1] for array in arrays.values()}) == 1
            and all(map(np.ndim, arrays.values()))
        ):
            return arrays
        raise DomainError("domain", list(arrays), "examples whose arrays have as many records each")
    array = np.asarray(given)
    if array.ndim == 0 or len(array) == 0 or array.dtype.kind not in "biuf":
        raise DomainError("domain", given, "examples that are arrays of records")
    return array


def _length(data: Data) -> int:
    return len(next(iter(data.values()))) if isinstance(data, Mapping) else len(data)


def _map(data: Data, function: Any) -> Data:
    return {name: function(array) for name, array in data.items()} if isinstance(data, Mapping) else function(data)


def _with(data: Data, place: int, record: Data) -> Data:
    if isinstance(data, Mapping):
        return {name: _with(array, place, record[name]) for name, array in data.items()}
    changed = np.array(data)
    changed[place] = record
    return changed


def _distinct(arrays: list[np.ndarray]) -> list[np.ndarray]:
    kept: dict[bytes, np.ndarray] = {}
    for array in arrays:
        kept.setdefault(np.ascontiguousarray(array, dtype=float).tobytes(), array)
    return list(kept.values())
