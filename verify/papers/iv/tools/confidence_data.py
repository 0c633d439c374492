"""Real data for private confidence sets: Card's, and the user's copy of the census extract, one 0/1 instrument each.

Ranges are natural or public knowledge: weeks worked 0 to 52, schooling 0 to 18, log hourly wage (cents) 4 to 8. Without
controls all records are one cell, which stands for the intercept.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from dpbounds.iv.confidence import ConfidenceSet, PrivacyBudget, ReleasePlan
from dpbounds.privacy import gaussian_mu
from simulators.iv import angrist_evans
from simulators.iv.confidence.disclosing import private_answer
from simulators.iv.confidence.staged import CellRecords, StagedDesign
from verify.statements.claims import DATA_DIR

DELTA = 1e-6
WEEKS, SCHOOLING, LOG_WAGE = (0.0, 52.0), (0.0, 18.0), (4.0, 8.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Extract:
    """Columns in the file's units, (n,) each, and their public ranges; `cells` are numbers below K."""

    z: np.ndarray
    x: np.ndarray
    y: np.ndarray
    cells: np.ndarray
    x_range: tuple[float, float]
    y_range: tuple[float, float]

    @property
    def n(self) -> int:
        """Records."""
        return len(self.z)

    @property
    def K(self) -> int:
        """Cells."""
        return int(self.cells.max()) + 1

    @property
    def unit(self) -> float:
        """A coefficient in the file's units over that in units of the ranges."""
        return (self.y_range[1] - self.y_range[0]) / (self.x_range[1] - self.x_range[0])

    @property
    def records(self) -> CellRecords:
        """In units of the ranges."""
        ranges = (0.0, 1.0), self.x_range, self.y_range
        z, x, y = (
            2 * (part - low) / (high - low) - 1
            for part, (low, high) in zip((self.z, self.x, self.y), ranges, strict=True)
        )
        return CellRecords(Z=z[:, None], x=x, y=y, cells=self.cells, K=self.K)

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """By name, in the file's units."""
        return {"z": self.z, "x": self.x, "y": self.y, "cell": self.cells}

    def centred(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """z, x, y less their means in cells: plain computation, for oracles."""
        counts = np.bincount(self.cells)
        parts = (self.z, self.x, self.y)
        z, x, y = (part - (np.bincount(self.cells, part) / counts)[self.cells] for part in parts)
        return z, x, y


@cache
def census() -> Extract:
    """Angrist and Evans: the first two children of one sex, more than two children, weeks worked; all records."""
    found = angrist_evans(os.environ[DATA_DIR], n=None)
    z, x, y = (part - part.min() for part in (found.instruments[:, 0], found.regressors[:, 0], found.outcome))
    return Extract(z=z, x=x, y=y, cells=np.zeros(len(z), dtype=int), x_range=(0.0, 1.0), y_range=WEEKS)


@cache
def schooling(*controls: str) -> Extract:
    """Card: near a four-year college, years of schooling, log wage; cells of the 0/1 columns named."""
    from linearmodels.datasets import card as shipped

    table = shipped.load()
    columns = {name: np.asarray(table[name], dtype=float) for name in ("nearc4", "educ", "lwage", *controls)}
    code = sum((2**place * columns[name] for place, name in enumerate(controls)), np.zeros(len(table)))
    _, cells = np.unique(code, return_inverse=True)
    z, x, y = (columns[name] for name in ("nearc4", "educ", "lwage"))
    return Extract(z=z, x=x, y=y, cells=cells.ravel(), x_range=SCHOOLING, y_range=LOG_WAGE)


def textbook_ends(data: Extract, critical: float = 3.841458820694124) -> tuple[float, float]:
    """Ends of {beta: (sum z e)² <= c sum (z e)²}, e = y - beta x, all centred within cells: a quadratic in beta."""
    z, x, y = data.centred()
    g, h = float(z @ y), float(z @ x)
    a, b, c = (float(np.sum(z * z * one * other)) for one, other in ((x, x), (x, y), (y, y)))
    roots = np.roots([h * h - critical * a, -2 * (g * h - critical * b), g * g - critical * c])
    return float(roots.min()), float(roots.max())


def predicted_ratio(data: Extract, design: StagedDesign, boxes: tuple[float, ...], s1: float, b0: float) -> float:
    """sqrt(1 + noise / own variance) of the moment at the 2SLS estimate, from the records themselves."""
    z, x, y = data.centred()
    beta = float(z @ y) / float(z @ x)
    instruments, outcome_weight, regressor_weight = boxes
    own = float(np.sum((z * (y - beta * x)) ** 2)) * (2 * 2 / (data.y_range[1] - data.y_range[0])) ** 2
    length = outcome_weight**2 + ((beta / data.unit - b0) * regressor_weight) ** 2
    return float(np.sqrt(1 + (s1 * instruments) ** 2 * length / own))


def private_sets(
    data: Extract, epsilon: float, releases: int, rng: np.random.Generator, share: float = 1.0
) -> list[ConfidenceSet]:
    """Sets in the file's units, zero-out; `share` multiplies mu, for impostors."""
    plan, seeds = plan_at(data, design_at(epsilon, share).mu), rng.integers(2**31, size=releases).tolist()
    return [private_answer(replace(plan, seed=seed), data.columns).confidence_set for seed in seeds]


def set_without_noise(data: Extract) -> ConfidenceSet:
    """What is shown beside a private set where the data are public, in the file's units."""
    answer = private_answer(replace(plan_at(data, 1.0), public=True), data.columns)
    assert answer.without_noise is not None
    return answer.without_noise.confidence_set


def plan_at(data: Extract, mu: float) -> ReleasePlan:
    """The plan for these columns at this budget, zero-out: means are estimated, ranges natural."""
    return ReleasePlan(
        outcome="y",
        regressors=("x",),
        instruments=("z",),
        controls=("cell",) if data.K > 1 else (),
        bounds={"y": data.y_range, "x": data.x_range},
        budget=PrivacyBudget(mu=mu),
        adjacency="zero-out",
        clamping="natural",
    )


def design_at(epsilon: float, share: float = 1.0) -> StagedDesign:
    """The budget (epsilon, 1e-6), zero-out."""
    return StagedDesign(mu=share * float(gaussian_mu(epsilon, DELTA)), instrument_bound=1.0, adjacency="zero-out")


def median_ends(sets: Sequence[ConfidenceSet]) -> tuple[float, float]:
    """Medians of the lower and the upper ends, infinite ones included."""
    ends = np.array([(found.pieces[0][0], found.pieces[-1][1]) for found in sets], dtype=float)
    return float(np.median(ends[:, 0])), float(np.median(ends[:, 1]))


def share_of(sets: Sequence[ConfidenceSet], shape: str) -> float:
    """Of the releases whose set has this shape."""
    return float(np.mean([found.shape == shape for found in sets]))
