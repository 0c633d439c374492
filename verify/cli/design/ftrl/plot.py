"""The picture of `dpbounds design ftrl`: total loss over eta, each mechanism held fixed, with lower bounds of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dpbounds.ftrl.design import LossCurve
from reports.results import Picture, Series
from verify.cli.solve.pictures import drawn

# Of exact losses, and of the points below which no noise is, where there are some.
EXACT, WITH_BOUND = "total loss while nothing is clipped", "total loss while nothing is clipped, and a lower bound"


def picture(curves: Sequence[LossCurve], file: str) -> bytes:
    """The picture in the format that the file's name says."""
    return drawn(picture_of(curves), Path(file).suffix.lower())


def picture_of(curves: Sequence[LossCurve]) -> Picture:
    """Lines for exact losses; of a lower bound each point by itself, since no line between two of them is a bound."""
    series = tuple(one for curve in curves for one in _series(curve))
    bounded = any(curve.role == "lower" for curve in curves)
    return Picture(x="eta", y=WITH_BOUND if bounded else EXACT, log=("x", "y"), series=series)


def _series(curve: LossCurve) -> Iterator[Series]:
    points = list(zip(curve.eta.tolist(), curve.total.tolist(), strict=True))
    for part in [points] if curve.role == "exact" else [[point] for point in points]:
        x, y = zip(*part, strict=True)
        yield Series(curve=curve.label, role=curve.role, x=x, y=y)
