"""A confidence set for one coefficient: a union of intervals, and the name of its shape.

>>> pieces = ((-math.inf, 1.0), (2.0, math.inf))
>>> shape_of(pieces)
'complement'
>>> found = ConfidenceSet(pieces=pieces, shape="complement", coverage=Value(0.95, kind="asymptotic", source="dpbounds"))
>>> 1.5 in found, 2.0 in found, found.bounded
(False, True, False)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpbounds.values import Value

Shape = Literal["interval", "complement", "line", "empty", "pieces"]
Piece = tuple[float, float]


@dataclass(frozen=True, kw_only=True, eq=False)
class ConfidenceSet:
    """`pieces, shape = set` unpacks it.

    `pieces` are closed intervals in order, with -inf and inf where they are unbounded; ends are `Value`s, certified
    ones with an enclosure. `shape` is `interval` (one, bounded), `complement` (of a bounded interval), `line`, `empty`
    or `pieces` (everything else). `coverage`: the level and what it is worth (`asymptotic`, `lower`, `exact`).
    """

    pieces: tuple[Piece, ...]
    shape: Shape
    coverage: Value
    certified: bool = False

    def __iter__(self) -> Iterator:
        return iter((self.pieces, self.shape))

    def __contains__(self, coefficient: float) -> bool:
        return any(low <= coefficient <= high for low, high in self.pieces)

    @property
    def length(self) -> float:
        """Total length, inf if it is unbounded."""
        return float(sum(high - low for low, high in self.pieces)) if self.pieces else 0.0

    @property
    def bounded(self) -> bool:
        """Whether it has neither -inf nor inf as an end."""
        return not self.pieces or (math.isfinite(self.pieces[0][0]) and math.isfinite(self.pieces[-1][1]))

    def shifted(self, centre: float) -> ConfidenceSet:
        """The set of beta where this is that of beta - centre (outcomes released as y - centre x); not certified."""
        moved = tuple((low + centre, high + centre) for low, high in self.pieces)
        return ConfidenceSet(pieces=moved, shape=self.shape, coverage=self.coverage)


def shape_of(pieces: Sequence[Piece]) -> Shape:
    """The name of a union of disjoint intervals in order."""
    if not pieces:
        return "empty"
    left, right = np.isneginf(pieces[0][0]), np.isposinf(pieces[-1][1])
    if len(pieces) == 1 and left and right:
        return "line"
    if len(pieces) == 1 and not left and not right:
        return "interval"
    return "complement" if len(pieces) == 2 and left and right else "pieces"
