"""The rows of `dpbounds solve ftrl` as a picture: bounds over kappa, or over eta where only that varies; exact errors
over the first of T, kappa, eta and the budget that varies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from reports.results import Picture, Series
from verify.cli.files import write
from verify.cli.solve.ftrl.methods_show import MEASURES
from verify.cli.solve.ftrl.rows import Row
from verify.cli.solve.pictures import drawn

# Of what was simulated.
ENDS = ("low", "high")


def save(file: str, rows: Sequence[Row]) -> None:
    """Draw the rows and write the whole file, or leave the old one as it was."""
    write("plot", file, drawn(picture(rows), Path(file).suffix.lower()))


def picture(rows: Sequence[Row]) -> Picture:
    """A curve per mechanism and program, between its bounds, and points for the worst losses found."""
    varying = [name for name in ("kappa", "eta", "rho", "program") if len({row[name] for row in rows}) > 1]
    x = "eta" if "eta" in varying and "kappa" not in varying else "kappa"
    series: list[Series] = []
    for label, members in _groups(rows, [name for name in varying if name != x]).items():
        ordered = sorted(members, key=lambda row: row[x])
        if ordered[0]["program"] == "paper":
            series.append(_series(f"{label}, not a bound", "printed", x, "value", ordered))
        else:
            series.append(_series(label, "upper", x, "upper", ordered))
            series.append(_series(label, "lower", x, "lower", ordered))
            series.append(_series(label, "simulated", x, "adversarial", ordered))
            worst = f"{label}, worst quadratic" if series[-1].x else label
            series.append(_series(worst, "simulated", x, "simulated", ordered, ENDS))
    proved = all(row["status"] != "estimate" for row in rows)
    ordinate = f"F - F*, bounds {'certified' if proved else 'are estimates'}"
    simulated = [
        words
        for words, column in (("the worst loss found", "adversarial"), ("the worst quadratic", "simulated"))
        if any(row.get(column) is not None for row in rows)
    ]
    if simulated:
        ordinate += f"; simulated: {' and '.join(simulated)}"
    return Picture(x=x, y=ordinate, log=("x", "y"), series=tuple(one for one in series if one.x))


def save_methods(file: str, rows: Sequence[Row], setting: str) -> None:
    """The same for bounds of first-order methods, which `setting` (eta or rate) tunes."""
    write("plot", file, drawn(methods_picture(rows, setting), Path(file).suffix.lower()))


def methods_picture(rows: Sequence[Row], setting: str) -> Picture:
    """Both ends of each method and mechanism over the first of kappa, T, the setting and the budget that varies; and,
    for each method, what it is not below with any noise.
    """
    candidates = [axis for axis in ("kappa", "T", setting, "rho") if axis in rows[0]]
    varying = [axis for axis in candidates if len({row[axis] for row in rows}) > 1]
    x = (varying or candidates)[0]
    others = [axis for axis in varying if axis != x]
    named = [{**row, "mechanism": f"{row['method']}, {row['mechanism']}"} for row in rows]
    series: list[Series] = []
    for label, members in _groups(named, others).items():
        ordered = sorted(members, key=lambda row: row[x])
        series += [_series(label, end, x, end, ordered) for end in ("upper", "lower")]
    floors = [{**row, "mechanism": f"{row['method']}, any noise"} for row in rows if row["every_noise"] is not None]
    for label, members in _groups(floors, others).items():
        once = {row[x]: row for row in members}
        series.append(_series(label, "lower", x, "every_noise", [once[place] for place in sorted(once)]))
    proved = all(row["status"] != "estimate" for row in rows)
    ordinate = f"{MEASURES[rows[0]['measure']]}, upper ends {'certified' if proved else 'are estimates'}"
    return Picture(x=x, y=ordinate, log=("x", "y"), series=tuple(one for one in series if one.x))


def save_exact(file: str, rows: Sequence[Row]) -> None:
    """The same for mean estimation and linear regression."""
    write("plot", file, drawn(exact_picture(rows), Path(file).suffix.lower()))


def exact_picture(rows: Sequence[Row]) -> Picture:
    """A curve per mechanism, with simulated values and their intervals; what is infinite is left out."""
    name = "suboptimality_T" if "T" in rows[0] else "suboptimality"
    candidates = [axis for axis in ("T", "kappa", "eta", "rho", "d") if axis in rows[0]]
    varying = [axis for axis in candidates if len({row[axis] for row in rows}) > 1]
    x = (varying or candidates)[0]
    series: list[Series] = []
    for label, members in _groups(rows, [axis for axis in varying if axis != x and axis != "d"]).items():
        ordered = sorted(members, key=lambda row: row[x])
        series.append(_series(label, "exact", x, name, ordered))
        series.append(_series(label, "simulated", x, "simulated", ordered, ENDS))
    ordinate = "E F - F* after T steps, exact" if name == "suboptimality_T" else "limit of E F - F*, exact"
    if any(one.role == "simulated" and one.x for one in series):
        ordinate += ", and simulated"
    return Picture(x=x, y=ordinate, log=("x", "y"), series=tuple(one for one in series if one.x))


def _groups(rows: Sequence[Row], others: Sequence[str]) -> dict[str, list[Row]]:
    """The rows of each line, by its label."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        apart = [f"{name} {row[name]}" if name == "program" else f"{name} = {row[name]:g}" for name in others]
        groups.setdefault(", ".join([row["mechanism"], *apart]), []).append(row)
    return groups


def _series(curve: str, role: str, x: str, y: str, members: Sequence[Row], ends: tuple[str, ...] = ()) -> Series:
    """The points with a finite number; `ends` are the columns of their intervals."""
    shown = [row for row in members if row.get(y) is not None and math.isfinite(row[y])]
    low, high = (tuple(float(row[end]) for row in shown) for end in ends) if ends else ((), ())
    return Series(
        curve=curve,
        role=role,
        x=tuple(float(row[x]) for row in shown),
        y=tuple(float(row[y]) for row in shown),
        low=low,
        high=high,
    )
