"""The statistic over the coefficient with its critical value; without noise beside it, where the data are public."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from dpbounds.iv.confidence import anderson_rubin_curve
from dpbounds.iv.confidence.release import Release
from reports.results import Picture, Series
from verify.cli.solve.files import write
from verify.cli.solve.iv.confidence.asked import Asked
from verify.cli.solve.iv.confidence.releasing import Released
from verify.cli.solve.pictures import drawn

POINTS = 300
# Statistics beyond this many critical values are not drawn.
HIGHEST = 4.0
# How far the picture goes beyond the set, in units of its width.
MARGIN = 0.75


def save(file: str, asked: Asked, released: Released, row: dict[str, Any]) -> None:
    """Draw and write the whole file, or leave the old one as it was."""
    write("plot", file, drawn(picture(asked, released, row), Path(file).suffix.lower()))


def picture(asked: Asked, released: Released, row: dict[str, Any]) -> Picture:
    """Rejected is where the statistic is above the critical value."""
    coefficients = reach(asked, row)
    series = _curves("private", released.release, coefficients - released.shift, coefficients, asked.level, True)
    if released.exact is not None:
        exact = _curves(
            "without privacy", released.exact, coefficients - released.shift, coefficients, asked.level, False
        )
        series = (*series, exact[0])
    return Picture(x=f"coefficient of {asked.regressors[0]}", y="Anderson-Rubin statistic", log=(), series=series)


def _curves(
    name: str, release: Release, inner: np.ndarray, shown: np.ndarray, level: float, correct: bool
) -> tuple[Series, Series]:
    """The statistic as far as it is not much above its critical value, and that."""
    found = anderson_rubin_curve(release, inner, level=level, correct=correct)
    kept = found.statistic <= HIGHEST * found.critical
    if not kept.any():
        kept = found.statistic <= found.statistic.min() * 1.5
    statistic = _series(name, shown[kept], found.statistic[kept])
    return statistic, _series(f"critical value, level {level:g}", shown, found.critical)


def reach(asked: Asked, row: dict[str, Any]) -> np.ndarray:
    """Coefficients drawn: the finite ends of the set with a margin, or what the public ranges allow."""
    ends = [end for piece in row["pieces"] for end in piece if math.isfinite(end)]
    if math.isfinite(row["point"]):
        ends.append(row["point"])
    steep = 2 * asked.boxes[asked.outcome].half / asked.boxes[asked.regressors[0]].half
    width = max(ends) - min(ends) if len(ends) > 1 else 0.0
    width = width if width > 0 else steep
    return np.linspace(min(ends, default=0.0) - MARGIN * width, max(ends, default=0.0) + MARGIN * width, POINTS)


def _series(curve: str, x: np.ndarray, y: np.ndarray) -> Series:
    return Series(curve=curve, role="exact", x=tuple(map(float, x)), y=tuple(map(float, y)))
