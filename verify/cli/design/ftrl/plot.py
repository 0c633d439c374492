"""The picture of `dpbounds design ftrl`: total loss over eta, each mechanism held fixed, with the lower bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dpbounds.ftrl.design import LossCurve
from reports.results import Picture, Series
from verify.cli.solve.pictures import drawn

Y = "total loss, exact, and a lower bound"


def picture(curves: Sequence[LossCurve], file: str) -> bytes:
    """The picture in the format that the file's name says."""
    return drawn(picture_of(curves), Path(file).suffix.lower())


def picture_of(curves: Sequence[LossCurve]) -> Picture:
    """Lines for exact losses; of a lower bound each point by itself, since no line between two of them is a bound."""
    series = tuple(one for curve in curves for one in _series(curve))
    return Picture(x="eta", y=Y, log=("x", "y"), series=series)


def _series(curve: LossCurve) -> Iterator[Series]:
    points = list(zip(curve.eta.tolist(), curve.total.tolist(), strict=True))
    for part in [points] if curve.role == "exact" else [[point] for point in points]:
        x, y = zip(*part, strict=True)
        yield Series(curve=curve.label, role=curve.role, x=x, y=y)
