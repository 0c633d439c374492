"""Predicted errors over epsilon as a picture."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from dpbounds.glm.answers import Answer, Question, printed_row, tight_row
from reports.results import Picture, Series
from verify.cli.solve.files import write
from verify.cli.solve.pictures import drawn

POINTS, LEAST, MOST = 9, 1e-6, 1e6


def save(file: str, question: Question, found: Answer) -> None:
    """Draw the curves and write the whole file, or leave the old one as it was."""
    write("plot", file, drawn(picture(question, found), Path(file).suffix.lower()))


def picture(question: Question, found: Answer) -> Picture:
    """Every row, from a tenth of epsilon to ten times as much."""
    epsilons = np.clip(question.epsilon * np.geomspace(0.1, 10.0, POINTS), LEAST, MOST)
    makers = {"printed": printed_row, "tight": tight_row}
    series = []
    for row in found.rows:
        asked = [dataclasses.replace(question, epsilon=float(epsilon)) for epsilon in epsilons]
        errors = [float(makers[row.calibration](one, row.estimator).relative) for one in asked]
        name = row.estimator if row.calibration == "tight" else f"{row.estimator}, as printed"
        series.append(Series(curve=name, role="approximate", x=tuple(map(float, epsilons)), y=tuple(errors)))
    return Picture(x="epsilon", y="predicted relative error", log=("x", "y"), series=tuple(series))
