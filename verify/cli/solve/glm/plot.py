"""Predicted errors over epsilon as a picture."""

from __future__ import annotations

from pathlib import Path

from dpbounds.glm.recommendation import Recommendation, error_curves
from reports.results import Picture, Series
from verify.cli.files import write
from verify.cli.solve.pictures import drawn


def save(file: str, recommendation: Recommendation) -> None:
    """Draw the curves and write the whole file, or leave the old one as it was."""
    write("plot", file, drawn(picture(recommendation), Path(file).suffix.lower()))


def picture(recommendation: Recommendation) -> Picture:
    """Every row, from a tenth of epsilon to ten times as much."""
    series = tuple(
        Series(
            curve=curve.estimator if curve.calibration == "tight" else f"{curve.estimator}, as printed",
            role="approximate",
            x=curve.epsilons,
            y=curve.errors,
        )
        for curve in error_curves(recommendation)
    )
    return Picture(x="epsilon", y="predicted relative error", log=("x", "y"), series=series)
