"""Which axes a claim's evidence fills: pictures of several checks in one panel where they share the axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from reports.results import ROLES, Entry, Picture, Series

# A coarse polygon and a fine curve are the same if they differ by less than this share of the ordinate.
SAME = 0.01
LINES = tuple(role for role in ROLES if role != "simulated")


def panels(entry: Entry) -> list[Picture]:
    """The pictures of a claim, one per set of axes (labels and logarithms), their series curve by curve.

    Evidence on the statement as printed comes first. Of two series of one curve and role the second is left out if it
    is the same, and says that it is the corrected one if it is not.
    """
    in_order = sorted((item for item in entry.evidence if item.picture), key=lambda item: item.form != "printed")
    merged: dict[tuple[str, str, tuple[str, ...]], Picture] = {}
    for item in in_order:
        if item.picture:
            axes = (item.picture.x, item.picture.y, item.picture.log)
            merged[axes] = _joined(merged[axes], item.picture, item.form) if axes in merged else item.picture
    return [_ordered(picture) for picture in merged.values() if any(series.x for series in picture.series)]


def coincident(series: Sequence[Series], log: Sequence[str], box: Sequence[float]) -> list[list[Series]]:
    """Groups of series that hide one another on axes that show (x from, x to, y from, y to)."""
    groups: list[list[Series]] = []
    for item in series:
        near = [group for group in groups if any(_hide(item, other, log, box) for other in group)]
        for group in near:
            groups.remove(group)
        groups.append([*(other for group in near for other in group), item])
    return [group for group in groups if len(group) > 1]


def _joined(first: Picture, second: Picture, form: str) -> Picture:
    curves = {slope.curve for slope in first.slopes}
    added = []
    for item in second.series:
        before = [other for other in first.series if (other.curve, other.role) == (item.curve, item.role)]
        if any((other.x, other.y) == (item.x, item.y) for other in before):
            continue
        same = any(_lies_on(item, other, first.log) or _lies_on(other, item, first.log) for other in before)
        if form == "corrected" and before and not same:
            curve, typeset = (f"{name}, corrected" for name in (item.curve, item.typeset))
            item = replace(item, curve=curve, typeset=typeset)
        added.append(item)
    return replace(
        first,
        series=(*first.series, *added),
        slopes=(*first.slopes, *(item for item in second.slopes if item.curve not in curves)),
    )


def _ordered(picture: Picture) -> Picture:
    """Series curve by curve; values that a finer series of the same curve and role already shows are left out."""
    kept = [
        item
        for item in picture.series
        if not any(
            (fine.curve, fine.role) == (item.curve, item.role)
            and item.role in LINES
            and len(fine.x) > len(item.x)
            and _lies_on(item, fine, picture.log)
            for fine in picture.series
        )
    ]
    names = list(dict.fromkeys(item.curve for item in kept))
    ordered = sorted(kept, key=lambda item: (names.index(item.curve), ROLES.index(item.role)))
    return replace(picture, series=tuple(ordered))


def _lies_on(coarse: Series, fine: Series, log: Sequence[str]) -> bool:
    """Whether every point of `coarse` lies on the polygon through `fine`, logarithms taken as on the axes."""
    scale = 1.0 if "y" in log else max((abs(value) for value in fine.y if math.isfinite(value)), default=0.0)
    return _near(coarse, fine, log, SAME * scale)


def _hide(one: Series, other: Series, log: Sequence[str], box: Sequence[float]) -> bool:
    """Whether one hides the other: lines along the whole of one of them, simulated points one by one."""
    if (one.role in LINES) != (other.role in LINES):
        return False
    low, high = _scaled(box[2:], "y" in log)
    allowed = SAME * float(high - low)
    if one.role in LINES:
        return _near(one, other, log, allowed) or _near(other, one, log, allowed)
    return one.x == other.x and _near(one, other, log, allowed)


def _near(one: Series, other: Series, log: Sequence[str], allowed: float) -> bool:
    """Whether the points of `one` differ from the polygon through `other` by no more than `allowed` on the axes."""
    if len(other.x) < 2 or len(one.x) < 2 or not all(map(math.isfinite, (*one.x, *one.y, *other.x, *other.y))):
        return False
    if min(one.x) < min(other.x) or max(one.x) > max(other.x):
        return False
    x, wanted = (_scaled(values, "x" in log) for values in (other.x, one.x))
    y, seen = (_scaled(values, "y" in log) for values in (other.y, one.y))
    if not all(np.isfinite(values).all() for values in (x, wanted, y, seen)):
        return False
    order = np.argsort(x, kind="stable")
    return bool(np.all(np.abs(np.interp(wanted, x[order], y[order]) - seen) <= allowed))


def _scaled(values: Iterable[float], logarithmic: bool) -> np.ndarray:
    array = np.array(list(values), dtype=float)
    if not logarithmic:
        return array
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(array)
