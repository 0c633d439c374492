"""The bounds of `dpbounds solve ftrl` as a picture: over kappa, or over eta where only that varies."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import matplotlib

from reports import figures
from reports.results import Picture, Series
from verify.cli.solve.files import write
from verify.cli.solve.strongly_convex_rows import Row

# Inches, and dots per inch of a PNG.
WIDTH, RESOLUTION = 4.2, 300
# Without the date and the program's version the same bounds give the same bytes.
METADATA = {".pdf": {"CreationDate": None, "Creator": None, "Producer": None}, ".png": {"Software": None}}


def save(file: str, rows: Sequence[Row]) -> None:
    """Draw the rows and write the whole file, or leave the old one as it was."""
    write("plot", file, drawn(picture(rows), Path(file).suffix.lower()))


def drawn(shown: Picture, suffix: str) -> bytes:
    """The picture in the format that the file name asks for."""
    if suffix == ".svg":
        return figures.svg(shown, WIDTH).encode()
    target = io.BytesIO()
    with matplotlib.rc_context(figures.STYLE):
        figure = figures.draw(shown, WIDTH)
        figure.savefig(target, format=suffix[1:], dpi=RESOLUTION, metadata=METADATA[suffix])
    return target.getvalue()


def picture(rows: Sequence[Row]) -> Picture:
    """A line per mechanism and program, in its colour the lower end dotted, and points for the worst losses found."""
    varying = [name for name in ("kappa", "eta", "rho", "program") if len({row[name] for row in rows}) > 1]
    x = "eta" if "eta" in varying and "kappa" not in varying else "kappa"
    series: list[Series] = []
    for label, members in _groups(rows, [name for name in varying if name != x]).items():
        ordered = sorted(members, key=lambda row: row[x])
        if ordered[0]["program"] == "paper":
            series.append(_series(f"{label}, as printed, not a bound", "theory", x, "value", ordered))
        else:
            series.append(_series(label, "theory", x, "upper", ordered))
            series.append(_series(f"{label} lower", "printed", x, "lower", ordered))  # a role that is drawn dotted
            series.append(_series(f"{label} simulated", "simulation", x, "adversarial", ordered))
    proved = all(row["status"] != "estimate" for row in rows)
    ordinate = f"F - F*, from above and (dotted) from below: {'certified' if proved else 'estimates'}"
    if any(one.role == "simulation" and one.x for one in series):
        ordinate += "; points: the worst loss found"
    return Picture(x=x, y=ordinate, log=("x", "y"), series=tuple(one for one in series if one.x))


def _groups(rows: Sequence[Row], others: Sequence[str]) -> dict[str, list[Row]]:
    """The rows of each line, by its label."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        apart = [f"{name} {row[name]}" if name == "program" else f"{name} = {row[name]:g}" for name in others]
        groups.setdefault(", ".join([row["mechanism"], *apart]), []).append(row)
    return groups


def _series(label: str, role: str, x: str, y: str, members: Sequence[Row]) -> Series:
    shown = [row for row in members if row[y] is not None]
    return Series(
        label=label,
        role=role,
        x=tuple(float(row[x]) for row in shown),
        y=tuple(float(row[y]) for row in shown),
    )
