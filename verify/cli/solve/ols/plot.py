"""Predicted risks over epsilon as a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reports.results import Picture, Series
from verify.cli.solve.files import write
from verify.cli.solve.ols.problem import Question
from verify.cli.solve.pictures import drawn

POINTS = 5


def save(file: str, asked: Question) -> None:
    """Draw the curves and write the whole file, or leave the old one as it was."""
    write("plot", file, drawn(picture(asked), Path(file).suffix.lower()))


def picture(asked: Question) -> Picture:
    """All methods at equal true privacy, from a tenth of epsilon to ten times as much, over the risk of theta = 0."""
    epsilons = asked.epsilon * np.geomspace(0.1, 10.0, POINTS)
    points: dict[str, list[float]] = {}
    for epsilon in epsilons:
        found = asked.answer(float(epsilon))
        for row in found.under("tight"):
            points.setdefault(row.method, []).append(asked.units * float(row.risk))
    series = tuple(
        Series(
            curve=method,
            role="exact" if method not in ("AdaSSP", "AdaSSP, iso", "PRN") else "approximate",
            x=tuple(map(float, epsilons)),
            y=tuple(risks),
        )
        for method, risks in points.items()
    )
    return Picture(x="epsilon", y="predicted risk, equal true privacy", log=("x", "y"), series=series)
