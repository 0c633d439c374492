"""Rows of pictures with their titles, labels, legends and captions, as data for the template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

from reports.figures import COLOURS, ROLE_NAMES, Style, drawing, palettes, shared_curves, swatch
from reports.findings import grounds_of
from reports.pictures import panels
from reports.results import ROLES, Entry, Picture, Series, Slope
from reports.rich import Rich, rich, sentence_of
from reports.text import counted, fixed, number, one_line, typographic

Data = dict[str, Any]

# Inches between the margins of the template, and between its columns.
TEXT_WIDTH, GUTTER = 17 / 2.54, 10 / 72
MOST_COLUMNS = 3
# Curves beyond this many are drawn, but not named.
MOST_NAMES = 14
# A picture with so few places and points is a table.
FEW_PLACES, FEW_POINTS = 2, 6
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
# And in a sentence on those that hide one another.
MOST_COINCIDENT = 4
# What the numbers of a caption are called, and what they mean.
RATES = {
    "alpha": ("α", "the probability that its checks report a deviation where there is none"),
    "beta": ("β", "the probability that they miss one as large as the resolution"),
    "resolution": ("resolution", "the smallest relative deviation that they are made to see"),
}

# A picture with the claim it belongs to, the title of its panel, and which of the claim's pictures it is.
Item = tuple[Rich, Entry, int, Picture]


def pictures_of(titled: Sequence[tuple[Rich, Entry]]) -> list[Item]:
    """Every picture of the claims."""
    return [(title, entry, *found) for title, entry in titled for found in enumerate(panels(entry))]


def rows(items: Sequence[Item], columns: int, numbers: Mapping[str, int], width: float = TEXT_WIDTH) -> list[Data]:
    """The pictures in rows of so many columns; what several panels of a row show is in one legend below it. A curve
    looks the same in all rows, as long as there are colours for all curves.
    """
    wide = (width - (columns - 1) * GUTTER) / columns
    whole = palettes([picture for *_, picture in items])
    one = len({name for styles in whole for name in styles}) <= len(COLOURS)
    found = []
    for first in range(0, len(items), columns):
        some = items[first : first + columns]
        styles = whole[first : first + columns] if one else palettes([picture for *_, picture in some])
        found.append(_row(some, styles, columns, wide, numbers))
    return found


def rates_used(rows: Sequence[Data]) -> list[list[str]]:
    """The names of captions that need an explanation, each with it."""
    used = {name for row in rows for panel in row["panels"] for name in panel["rates"]}
    return [list(RATES[name]) for name in RATES if name in used]


def slope_cells(slope: Slope) -> list[Rich]:
    """Curve, printed, exact, simulated, interval."""
    values = (slope.printed, slope.exact, slope.simulated)
    interval = f"[{fixed(slope.low)}, {fixed(slope.high)}]"
    shown = [number(None) if isnan(value) else fixed(value) for value in values]
    return [rich(slope.curve, slope.typeset), *shown, interval]


def _row(
    items: Sequence[Item],
    styles: Sequence[Mapping[str, Style]],
    columns: int,
    width: float,
    numbers: Mapping[str, int],
) -> Data:
    pictures = [picture for *_, picture in items]
    drawn = [picture for picture in pictures if not few(picture)]
    shared = shared_curves(drawn)
    series = [item for picture in drawn for item in picture.series]
    roles = [role for role in ROLES if any(item.role == role for item in series)]
    samples = [{"svg": swatch(None, (role,)), "name": ROLE_NAMES[role]} for role in roles] if roles != ["exact"] else []
    shown = [_panel(item, width, style, shared, numbers) for item, style in zip(items, styles, strict=True)]
    legend = _names(series, shared, {name: style for own in styles for name, style in own.items()}) + samples
    if len(shown) == 1:  # one legend is enough
        shown[0]["legend"], legend = shown[0]["legend"] + legend, []
    return {"columns": columns, "width": width, "panels": shown, "legend": legend}


def _panel(
    item: Item, width: float, styles: Mapping[str, Style], shared: Sequence[str], numbers: Mapping[str, int]
) -> Data:
    title, entry, index, picture = item
    table = _table(picture) if few(picture) else []
    drawn = None if table else drawing(picture, width, styles)
    own = [name for name in dict.fromkeys(series.curve for series in picture.series) if name not in shared]
    setup, rates = _setup(entry, picture)
    settings = entry.typeset["setting"] or entry.typeset["hypotheses"]
    return {
        "title": [title or typographic(entry.where), f", {ORDINALS[index]} picture"]
        if index
        else title or typographic(entry.where),
        "claim": one_line(entry.claim),
        "finding": numbers.get(entry.claim, 0),
        "x": rich(picture.x, picture.typeset.get("x", "")),
        "y": rich(picture.y, picture.typeset.get("y", "")),
        "svg": drawn.svg if drawn else "",
        "table": table,
        "roles": _roles_named(_roles(picture)),
        "alt": f"{one_line(entry.claim)}: {typographic(picture.y)} against {typographic(picture.x)}",
        "legend": _names(picture.series, own, styles) if drawn else [],
        "setting": "" if index else {"markup": settings} if settings else "",
        "setup": setup,
        "rates": rates,
        "notes": _notes(drawn.coincident, drawn.thinned, picture) if drawn else [],
        "slopes": [_slope_line(slope) for slope in picture.slopes],
    }


def few(picture: Picture) -> bool:
    """Whether it has so few points that they are told as numbers: axes would show less."""
    places = {x for series in picture.series for x in series.x}
    return len(places) <= FEW_PLACES and sum(len(series.x) for series in picture.series) <= FEW_POINTS


def _table(picture: Picture) -> list[list[Rich]]:
    """A line per point: curve, with its role where there are several, abscissa, value, interval."""
    lines = []
    for series in picture.series:
        curve = rich(series.curve, series.typeset)
        curve = curve if len(_roles(picture)) == 1 else [curve, f", {_roles_named([series.role])}"]
        for place, (x, y) in enumerate(zip(series.x, series.y, strict=True)):
            ends = f"[{number(series.low[place], 3)}, {number(series.high[place], 3)}]" if series.low else ""
            lines.append([curve, number(x), number(y, 3), ends])
    return lines


def _roles(picture: Picture) -> list[str]:
    return [role for role in ROLES if any(series.role == role for series in picture.series)]


def _roles_named(roles: Sequence[str]) -> str:
    return " and ".join(ROLE_NAMES[role].partition(",")[0] for role in roles)


def _names(series: Sequence[Series], wanted: Sequence[str], styles: Mapping[str, Style]) -> list[Data]:
    """The legend of some curves; those beyond the most are counted."""
    found = []
    for name in wanted[:MOST_NAMES]:
        of_curve = [item for item in series if item.curve == name]
        roles = tuple(role for role in ROLES if any(item.role == role for item in of_curve))
        alone = "simulated" not in roles and all(len(item.x) == 1 for item in of_curve)
        found.append({"svg": swatch(styles[name], roles, alone), "name": rich(name, of_curve[0].typeset)})
    rest = len(wanted) - MOST_NAMES
    return [*found, {"svg": "", "name": f"and {rest} more"}] if rest > 0 else found


def _notes(hidden: Sequence[Sequence[Series]], thinned: int, picture: Picture) -> list[Rich]:
    """What the drawing cannot show: curves under others, points left out."""
    several = len({item.curve for item in picture.series}) > 1
    apart = [group for group in hidden if len({(item.curve, item.role) for item in group}) > 1]
    notes: list[Rich] = [_coincidence(group, several) for group in apart]
    if thinned > 1:
        notes.append(f"One simulated point in {thinned} is shown.")
    return notes


def _coincidence(group: Sequence[Series], several: bool) -> Rich:
    """Which curves lie on one another, each with the roles in which it does."""
    roles: dict[str, list[Series]] = {}
    for item in group:
        roles.setdefault(item.curve, []).append(item)
    named = [_named(items, several) for items in list(roles.values())[:MOST_COINCIDENT]]
    rest = len(roles) - len(named)
    return ["They hide one another: ", *sentence_of([*named, *([f"{rest} more"] if rest else [])]), "."]


def _named(items: Sequence[Series], several: bool) -> Rich:
    """The roles of a curve, after its name where there are others."""
    roles = sentence_of([ROLE_NAMES[item.role].partition(",")[0] for item in items])
    return [rich(items[0].curve, items[0].typeset), " (", *roles, ")"] if several else roles


def _setup(entry: Entry, picture: Picture) -> tuple[str, list[str]]:
    """How the picture's numbers were made: simulated runs, rates of error, and the verdict they led to; which rates."""
    drawn = [item for item in entry.evidence if item.picture and _same_axes(item.picture, picture)]
    simulated = [item for item in drawn if item.trials]
    parts = [counted(sum(item.trials for item in simulated), "run")] if simulated else []
    rates = []
    for name, (sign, _) in RATES.items():
        values = [value for value in (getattr(item, name) for item in simulated) if value]
        if values:
            rates.append(name)
            parts.append(f"{sign}\u00a0=\u00a0{number(max(values), 2)}")
    if entry.verdict in ("refuted", "corrected"):
        parts.append("as printed" if any(item.form == "printed" for item in drawn) else "as corrected")
    ground = f" ({grounds_of(entry)})" if entry.how else ""
    return "; ".join([*parts, f"{entry.verdict}{ground}"]), rates


def _same_axes(one: Picture, other: Picture) -> bool:
    return (one.x, one.y, one.log) == (other.x, other.y, other.log)


def _slope_line(slope: Slope) -> Rich:
    curve, printed, exact, simulated, interval = slope_cells(slope)
    return ["Slope of ", curve, f": printed {printed}, exact {exact}, simulated {simulated} in {interval}."]
