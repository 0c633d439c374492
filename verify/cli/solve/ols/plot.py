"""Predicted risks over epsilon as a picture."""

from __future__ import annotations

from pathlib import Path

from dpbounds.ols import LABELS, Comparison
from reports.results import Picture, Series
from verify.cli.files import write
from verify.cli.solve.pictures import drawn


def save(file: str, found: Comparison) -> None:
    """Draw the curves and write the whole file, or leave the old one as it was."""
    write("plot", file, drawn(picture(found), Path(file).suffix.lower()))


def picture(found: Comparison) -> Picture:
    """All methods at equal true privacy, from a tenth of epsilon to ten times as much."""
    kinds = {row.method: row.risk.kind for row in found.under("tight")}
    series = tuple(
        Series(
            curve=LABELS[method],
            role="exact" if kinds[method] == "exact" else "approximate",
            x=tuple(epsilons),
            y=tuple(risks),
        )
        for method, (epsilons, risks) in found.curves().items()
    )
    return Picture(x="epsilon", y="predicted risk, equal true privacy", log=("x", "y"), series=series)
