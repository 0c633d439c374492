"""Pairs of data sets as JSON data, and whether two of them are neighbours.

>>> pair = Pair(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 2.0], [0.0, 0.0]]), "record 1 set to 0", 1)
>>> back = pair_of(recorded(pair))
>>> apart(back, "zero-out"), apart(back, "add-remove")
('', 'they have 2 and 2 records')
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError
from dpbounds.privacy import Adjacency
from simulators.audit.domains import Data, Pair

_PAIR = "two data sets as dpbounds audit --save writes them"
# Kinds of NumPy's types that are numbers or truth values.
_KINDS = "biuf"


@typed
def recorded(pair: Pair) -> dict[str, Any]:
    """The pair as JSON data: each side an array or a mapping of arrays; types and shapes beside the numbers."""
    sides = {"first": _written(pair.first), "second": _written(pair.second)}
    return {**sides, "label": pair.label, "given": pair.place is None}


@typed
def pair_of(content: Mapping[str, Any]) -> Pair:
    """The pair that `recorded` has written. Raises `DomainError` for what is none."""
    try:
        return Pair(_read(content["first"]), _read(content["second"]), str(content["label"]))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise DomainError("pair", "this one", _PAIR, " ".join(str(error).split())) from None


@typed
def apart(pair: Pair, adjacency: Adjacency) -> str:
    """Why the two are no neighbours, in words; empty if they are."""
    first, second = _arrays(pair.first), _arrays(pair.second)
    if len(first) != len(second) or not all(map(np.ndim, (*first, *second))):
        return "they are no records of one kind"
    if adjacency == "add-remove":
        longer, shorter = (first, second) if len(first[0]) > len(second[0]) else (second, first)
        if any(len(one) != len(other) + 1 for one, other in zip(longer, shorter, strict=True)):
            return f"they have {len(first[0])} and {len(second[0])} records"
        place = int(next(iter(np.flatnonzero(_unlike(longer, shorter))), len(shorter[0])))
        less = [np.delete(one, place, axis=0) for one in longer]
        return "more than a record was removed" if _unlike(less, shorter).any() else ""
    if any(one.shape != other.shape for one, other in zip(first, second, strict=True)):
        return "they have different shapes"
    places = np.flatnonzero(_unlike(first, second))
    if len(places) > 1:
        return f"{len(places)} records differ"
    zero = [not any(np.any(array[place]) for array in side) for place in places for side in (first, second)]
    return "" if adjacency == "replace-one" or not len(places) or any(zero) else "neither record is 0"


def _written(data: Data) -> Any:
    if isinstance(data, Mapping):
        return {"columns": {name: _written(array) for name, array in data.items()}}
    array = np.asarray(data)
    return {"type": array.dtype.name, "shape": list(array.shape), "numbers": array.ravel().tolist()}


def _read(content: Mapping[str, Any]) -> Data:
    if "columns" in content:
        return {str(name): _read(column) for name, column in content["columns"].items()}
    array = np.asarray(content["numbers"])
    if np.dtype(content["type"]).kind not in _KINDS or (array.size and array.dtype.kind not in _KINDS):
        raise ValueError("not numbers")
    return array.astype(content["type"]).reshape(content["shape"])


def _arrays(data: Data) -> list[np.ndarray]:
    return [np.asarray(array) for array in data.values()] if isinstance(data, Mapping) else [np.asarray(data)]


def _unlike(first: list[np.ndarray], second: list[np.ndarray]) -> np.ndarray:
    """Which of the records that both have differ; NaN is like NaN."""
    least = min(len(first[0]), len(second[0]))
    unlike = np.zeros(least, dtype=bool)
    for one, other in zip(first, second, strict=True):
        same = (one[:least] == other[:least]) | ((one[:least] != one[:least]) & (other[:least] != other[:least]))
        unlike |= ~same.all(axis=tuple(range(1, same.ndim)))
    return unlike
