"""Which axes a claim's evidence fills: pictures of several checks in one panel where they share the axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reports.results import Entry, Picture, Series

# What checks append to the name of a curve to say which of its series this is.
SUFFIXES = (" exact", " leading order", " simulated")
ORDER = ("theory", "simulation", "bound", "printed")
# A coarse polygon and a fine curve are the same if they differ by less than this share of the ordinate.
SAME = 0.01


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A series and the name of the curve it belongs to: theory and simulation of one curve share a colour."""

    series: Series
    name: str


def panels(entry: Entry) -> list[Picture]:
    """The pictures of a claim, one per set of axes (labels and logarithms).

    Evidence on the statement as printed comes first. Of two series with one label and role the second is left out if
    it is the same, and says that it is the corrected one if it is not.
    """
    in_order = sorted((item for item in entry.evidence if item.picture), key=lambda item: item.form != "printed")
    merged: dict[tuple[str, str, tuple[str, ...]], Picture] = {}
    for item in in_order:
        if item.picture:
            axes = (item.picture.x, item.picture.y, item.picture.log)
            merged[axes] = _joined(merged[axes], item.picture, item.form) if axes in merged else item.picture
    return [picture for picture in merged.values() if any(series.x for series in picture.series)]


def curves(picture: Picture) -> list[Curve]:
    """The series curve by curve; exact values that a finer curve already shows are left out."""
    named = _named(picture)
    theory = [curve for curve in named if curve.series.role == "theory"]
    finer = [
        (curve, fine)
        for curve in theory
        for fine in theory
        if len(fine.series.x) > len(curve.series.x) and _lies_on(curve.series, fine.series, picture.log)
    ]
    renamed = {curve.name: fine.name for curve, fine in finer}
    kept = [curve for curve in named if not any(curve is coarse for coarse, _ in finer)]
    shown = [replace(curve, name=renamed.get(curve.name, curve.name)) for curve in kept]
    names = list(dict.fromkeys(curve.name for curve in shown))
    return sorted(shown, key=lambda curve: (names.index(curve.name), ORDER.index(curve.series.role)))


def _joined(first: Picture, second: Picture, form: str) -> Picture:
    known = {(series.label, series.role): series for series in first.series}
    groups = {slope.group for slope in first.slopes}
    added = []
    for item in second.series:
        before = known.get((item.label, item.role))
        if before is None:
            added.append(item)
        elif form == "corrected" and (before.x, before.y) != (item.x, item.y):
            added.append(replace(item, label=f"{item.label} (corrected)"))
    return replace(
        first,
        series=(*first.series, *added),
        slopes=(*first.slopes, *(item for item in second.slopes if item.group not in groups)),
    )


def _named(picture: Picture) -> list[Curve]:
    """Every series with its curve; bounds and printed rates belong to the curve that their label begins with."""
    names = {_base(series.label) for series in picture.series if series.role in ("theory", "simulation")}
    owners = sorted(names, key=len, reverse=True)
    return [
        Curve(
            series=series,
            name=next((name for name in owners if f"{series.label} ".startswith(f"{name} ")), series.label),
        )
        for series in picture.series
    ]


def _base(label: str) -> str:
    for suffix in SUFFIXES:
        label = label.removesuffix(suffix)
    return label


def _lies_on(coarse: Series, fine: Series, log: Sequence[str]) -> bool:
    """Whether every point of `coarse` lies on the polygon through `fine`, logarithms taken as on the axes."""
    if len(fine.x) < 2 or not coarse.x or not all(map(math.isfinite, (*fine.x, *fine.y, *coarse.x, *coarse.y))):
        return False
    if min(coarse.x) < min(fine.x) or max(coarse.x) > max(fine.x):
        return False
    x, wanted = (_scaled(numbers, "x" in log) for numbers in (fine.x, coarse.x))
    y, seen = (_scaled(numbers, "y" in log) for numbers in (fine.y, coarse.y))
    if not all(np.isfinite(values).all() for values in (x, wanted, y, seen)):
        return False
    order = np.argsort(x)
    gaps = np.abs(np.interp(wanted, x[order], y[order]) - seen)
    scale = 1.0 if "y" in log else np.abs(y).max()
    return bool(np.all(gaps <= SAME * scale))


def _scaled(values: Iterable[float], logarithmic: bool) -> np.ndarray:
    array = np.array(list(values), dtype=float)
    if not logarithmic:
        return array
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(array)
