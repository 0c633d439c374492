"""Where the parameters of a statement range: intervals with a scale, whole numbers, choices.

Every domain maps the unit interval onto itself monotonically, so that sampling, corners, optimisers and boxes work in
the same coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

MOST_CORNERS = 3**7
SIMPLE = (0.5, 0.25, 0.1, 0.75, 0.9, 0.01, 0.2, 0.05, 0.99, 1.0, 2.0, 3.0, 4.0, 10.0, 100.0, 0.001)


@dataclass(frozen=True)
class Real:
    """[low, high] on a linear, logarithmic or logit scale (logit: intervals inside (0, 1), both ends stretched)."""

    low: float
    high: float
    scale: Literal["linear", "log", "logit"] = "linear"

    def at(self, unit: np.ndarray) -> np.ndarray:
        """The points at unit coordinates; 0 and 1 give the ends exactly."""
        low, high = self._forward(self.low), self._forward(self.high)
        inner = low + (high - low) * np.asarray(unit, dtype=float)
        if self.scale == "log":
            inner = np.exp(inner)
        elif self.scale == "logit":  # from the nearer end, so that points near 1 keep their distance from it
            inner = np.where(inner < 0, 1.0 / (1.0 + np.exp(-inner)), 1.0 - 1.0 / (1.0 + np.exp(inner)))
        return np.where(unit == 0, self.low, np.where(unit == 1, self.high, np.clip(inner, self.low, self.high)))

    def simple(self) -> list[float]:
        """Round numbers inside, for counterexamples that anyone can recompute."""
        return [number for number in SIMPLE if self.low <= number <= self.high]

    def __contains__(self, number: float) -> bool:
        return self.low <= number <= self.high

    def _forward(self, value: float) -> float:
        if self.scale == "log":
            return float(np.log(value))
        if self.scale == "logit":
            return float(np.log(value) - np.log1p(-value))
        return value


@dataclass(frozen=True)
class Whole:
    """Whole numbers from low to high, uniform or logarithmic."""

    low: int
    high: int
    scale: Literal["linear", "log"] = "linear"

    def at(self, unit: np.ndarray) -> np.ndarray:
        """The whole numbers at unit coordinates."""
        if self.scale == "log":
            inner = self.low * (self.high / self.low) ** np.asarray(unit, dtype=float)
        else:
            inner = self.low + (self.high - self.low) * np.asarray(unit, dtype=float)
        return np.clip(np.rint(inner), self.low, self.high)

    def simple(self) -> list[float]:
        """The smallest few."""
        return [float(number) for number in range(self.low, min(self.low + 4, self.high + 1))]

    def __contains__(self, number: float) -> bool:
        return self.low <= number <= self.high and float(number).is_integer()


Domain = Real | Whole
Box = Mapping[str, Domain]


def points(box: Box, unit: np.ndarray) -> dict[str, np.ndarray]:
    """Named parameter arrays at unit coordinates of shape (n, len(box))."""
    return {name: domain.at(unit[:, column]) for column, (name, domain) in enumerate(box.items())}


def corners(box: Box, most: int = MOST_CORNERS) -> np.ndarray:
    """Unit coordinates of the corners, edge midpoints and so on: three values a side where that is at most `most`
    points, else the two ends, of the first 11 sides.
    """
    levels = 3 if 3 ** len(box) <= most else 2
    sides = [np.linspace(0.0, 1.0, levels)] * min(len(box), 11)
    grid = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(sides))
    return np.pad(grid, ((0, 0), (0, len(box) - len(sides))), constant_values=0.5)


def simple_points(box: Box, most: int = 400) -> list[dict[str, float]]:
    """Combinations of round numbers, the simplest first."""
    names = list(box)
    combinations: list[dict[str, float]] = [{}]
    for name in names:
        combinations = [{**head, name: value} for head in combinations for value in box[name].simple()]
        combinations = sorted(combinations, key=lambda point: sum(_length(value) for value in point.values()))[:most]
    return combinations if names else []


def _length(number: float) -> int:
    return len(f"{number:g}")
