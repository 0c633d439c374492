"""Release S: the noisy sign curve of a randomised 0/1 instrument, what its noise costs, and the set read off it.

The noise adds s² to the variance n pi (1 - pi) of the curve at the true coefficient: n* = s² / (pi (1 - pi)) is known
before any record is read.

>>> deviation = sign_deviation(1.0, grid_size=512, probability=0.5, adjacency="zero-out")
>>> round(float(sign_equivalent_sample(deviation, 0.5)), 2)
24.34
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import count, moderate, vector, within
from dpbounds.iv.confidence.pieces import ConfidenceSet
from dpbounds.iv.confidence.sensitivity import Adjacency, known_adjacency
from dpbounds.iv.confidence.steps import sign_critical, sign_set, step_noise
from dpbounds.privacy import sensitivity_factor
from dpbounds.values import Value

# Without noise the law of the curve has steps, on which no quantile is exact: it is smoothed by this share of sqrt(n).
SMOOTHING = 1e-3


def sign_sensitivity(probability: float, adjacency: Adjacency) -> float:
    """How far one record moves the curve at a point: kappa max(pi, 1 - pi), kappa = 2 under replace-one, else 1."""
    pi = within("probability", probability, "(0, 1)")
    known_adjacency(adjacency)
    return sensitivity_factor(adjacency) * max(pi, 1 - pi)


def sign_deviation(mu: float, *, grid_size: int, probability: float, adjacency: Adjacency) -> float:
    """Standard deviation s of the mu-GDP noise of the curve, the same at every point of a grid of this size.

    Raises `DomainError` unless mu > 0, 0 < pi < 1, and for a grid of no point or more than a million.
    """
    height = sign_sensitivity(probability, adjacency) / moderate("mu", mu, "a budget is above 0")
    return height * float(step_noise(grid_size).factor)


def sign_equivalent_sample(deviation: float, probability: float) -> Value:
    """n* = s² / (pi (1 - pi)): with noise of deviation s a curve of n records varies sqrt(1 + n* / n) times as much."""
    pi = within("probability", probability, "(0, 1)")
    records = moderate("deviation", deviation) ** 2 / (pi * (1 - pi))
    return Value(records, kind="exact", source="dpbounds", convention="records, variance of the curve")


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class SignRelease:
    """Design S: the curve D on `grid`, both (G,), with noise of deviation `deviation` at every point (0: none), of n
    records whose instrument is 1 with the known `probability`.

    Raises `DomainError` for arrays that do not fit, a negative deviation, a probability outside (0, 1).
    """

    curve: Float[np.ndarray, " G"]
    grid: Float[np.ndarray, " G"]
    n: int
    deviation: float
    probability: float

    def __post_init__(self) -> None:
        grid = vector("grid", self.grid)
        curve = vector("curve", self.curve, length=len(grid), per="point of the grid")
        object.__setattr__(self, "curve", curve)
        object.__setattr__(self, "grid", grid)
        object.__setattr__(self, "n", count("n", self.n))
        within("deviation", self.deviation, "[0, 1e50]")
        within("probability", self.probability, "(0, 1)")

    @property
    def noisy(self) -> bool:
        """Whether this is a release: without noise it is not private."""
        return self.deviation > 0

    @property
    def known_deviation(self) -> float:
        """What the law of the test is smoothed by: the noise, or without it a thousandth of a record's part."""
        return self.deviation if self.noisy else SMOOTHING * float(np.sqrt(self.n))

    @cached_property
    def point(self) -> float:
        """The coefficient of the grid at which the curve is nearest to 0."""
        return float(self.grid[int(np.argmin(np.abs(self.curve)))])

    def critical(self, level: float = 0.95) -> float:
        """The size of the curve above which a coefficient is rejected."""
        return sign_critical(self.n, self.known_deviation, self.probability, level)

    def confidence_set(self, level: float = 0.95) -> ConfidenceSet:
        """The set (`sign_set`). Raises `DomainError` where the grid of a release is too coarse for it."""
        return sign_set(
            self.curve,
            self.grid,
            n=self.n,
            deviation=self.known_deviation,
            probability=self.probability,
            level=level,
            refuse_coarse=self.noisy,
        )
