"""The bounds of `dpbounds solve ftrl` as a picture: over kappa, or over eta where only that varies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reports.results import Picture, Series
from verify.cli.solve.files import write
from verify.cli.solve.ftrl.rows import Row
from verify.cli.solve.pictures import drawn


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
    proved = all(row["status"] != "estimate" for row in rows)
    ordinate = f"F - F*, bounds {'certified' if proved else 'are estimates'}"
    if any(one.role == "simulated" and one.x for one in series):
        ordinate += "; simulated: the worst loss found"
    return Picture(x=x, y=ordinate, log=("x", "y"), series=tuple(one for one in series if one.x))


def _groups(rows: Sequence[Row], others: Sequence[str]) -> dict[str, list[Row]]:
    """The rows of each line, by its label."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        apart = [f"{name} {row[name]}" if name == "program" else f"{name} = {row[name]:g}" for name in others]
        groups.setdefault(", ".join([row["mechanism"], *apart]), []).append(row)
    return groups


def _series(curve: str, role: str, x: str, y: str, members: Sequence[Row]) -> Series:
    shown = [row for row in members if row[y] is not None]
    return Series(
        curve=curve,
        role=role,
        x=tuple(float(row[x]) for row in shown),
        y=tuple(float(row[y]) for row in shown),
    )
