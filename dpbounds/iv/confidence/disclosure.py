"""What leaves of a data set: the release, what it cost line by line, and how it reads in the columns' own units.

>>> import numpy as np
>>> from dpbounds.iv.confidence.signs import SignRelease
>>> curve = SignRelease(curve=np.array([9.0, 1.0, -8.0]), grid=np.array([0.0, 1.0, 2.0]), n=30, deviation=2.0,
...                     probability=0.5)
>>> Disclosure(release=curve, budget=()).columns()
{'grid': [0.0, 2.0, 3], 'curve': [9.0, 1.0, -8.0]}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from dpbounds.iv.confidence.budget import BudgetLine
from dpbounds.iv.confidence.release import Release
from dpbounds.iv.confidence.signs import SignRelease
from dpbounds.iv.confidence.stretched import ClippedCounts


class CellCount(NamedTuple):
    """Cells of controls, and those that were too small and are left out."""

    total: int
    dropped: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Disclosure:
    """All that leaves: the release, the budget line by line, and where residuals are clipped at `clip` their counts.

    `shift` is what the coefficients of the release are less than those of the columns. `exact` is the release of the
    same records without noise or clipping, which is not private: None unless the data are public; its coefficients are
    less than those of the columns by `exact_shift`.
    """

    release: Release | SignRelease
    budget: Sequence[BudgetLine]
    shift: float = 0.0
    counts: ClippedCounts | None = None
    clip: float | None = None
    cells: CellCount | None = None
    exact: Release | SignRelease | None = None
    exact_shift: float = 0.0

    def columns(self) -> dict[str, Any]:
        """The release as plain numbers: whoever has them tests other coefficients, without spending more."""
        if isinstance(self.release, SignRelease):
            grid = self.release.grid
            return {"grid": [float(grid[0]), float(grid[-1]), len(grid)], "curve": self.release.curve.tolist()}
        parts = {part.name: getattr(self.release, part.name) for part in fields(self.release)}
        plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in parts.items()}
        plain |= {"kind": type(self.release).__name__, "shift": self.shift}
        if self.counts is None:
            return plain
        return plain | {"clip": self.clip, "counts": {**self.counts._asdict(), "table": self.counts.table.tolist()}}
