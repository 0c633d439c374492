"""A picture by itself, with its labels and legend: SVG, PDF or PNG, the same bytes for the same picture."""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reports.figures import DASHES, LEFT, RIGHT, ROLE_NAMES, STYLE, WIDTHS, Style, draw, palettes
from reports.results import Picture, Series
from reports.text import typographic

RESOLUTION = 300
# Without the date and the program's version the same rows give the same bytes.
METADATA: Mapping[str, dict[Any, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}
# Inches of a line, of the ticks below the axes, and characters in an inch.
LINE, TICKS, PER_INCH = 0.125, 0.22, 21
MOST_NAMES = 16


@dataclass(frozen=True)
class _Name:
    """A line of the legend."""

    handle: Line2D
    label: str


def drawn(picture: Picture, width: float, form: str) -> bytes:
    """The picture `width` inches wide and as high as its legend makes it; `form` is svg, pdf or png."""
    target = io.BytesIO()
    # Paths instead of text: the reader of a single picture may lack the font.
    with matplotlib.rc_context({**STYLE, "svg.fonttype": "path"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        warnings.filterwarnings("ignore", message="Attempting to set identical")  # of one point, widened by `draw`
        compose(picture, width).savefig(target, format=form, dpi=RESOLUTION, metadata=METADATA[form])
    return target.getvalue()


def compose(picture: Picture, width: float) -> Figure:
    """The axes with the ordinate's label above and the legend below."""
    (styles,) = palettes([picture])
    figure = draw(picture, width, styles)
    (axes,) = figure.axes
    above, below = (_wrapped(typographic(label), width) for label in (picture.y, picture.x))
    legend = _legend(picture, styles, int(width * PER_INCH) - 9)
    tall = axes.get_window_extent().height / figure.dpi
    top, bottom = LINE * (len(above) + 0.65), TICKS + LINE * (len(below) + len(legend) + 0.4)
    height = top + tall + bottom
    figure.set_size_inches(width, height)
    axes.set_position((LEFT / width, bottom / height, 1 - (LEFT + RIGHT) / width, tall / height))
    axes.set_xlabel("\n".join(below), labelpad=2, parse_math=False)
    figure.text(0.01, 1 - 0.02 / height, "\n".join(above), va="top", ha="left", parse_math=False)
    if legend:
        _add_legend(figure, legend, 0.04 / width)
    return figure


def _wrapped(label: str, width: float) -> list[str]:
    return textwrap.wrap(label, int(width * PER_INCH)) or [""]


def _legend(picture: Picture, styles: Mapping[str, Style], characters: int) -> list[_Name]:
    """A name per curve and role, wrapped, a line each so that their height is known; the rest is counted."""
    several = len({item.role for item in picture.series}) > 1
    nothing = Line2D([], [], linestyle="none")
    lines = []
    for item in picture.series[:MOST_NAMES]:
        name = f"{typographic(item.curve)}, {ROLE_NAMES[item.role].partition(',')[0]}" if several else item.curve
        first, *others = textwrap.wrap(typographic(name), characters, max_lines=3, placeholder=" …") or [""]
        lines += [_Name(_handle(item, styles[item.curve]), first), *(_Name(nothing, other) for other in others)]
    rest = len(picture.series) - MOST_NAMES
    return [*lines, _Name(nothing, f"and {rest} more")] if rest > 0 else lines


def _handle(item: Series, style: Style) -> Line2D:
    if item.role not in DASHES:
        return Line2D([], [], linestyle="none", marker=style.marker, color=style.colour, markerfacecolor="white")
    if len(item.x) == 1:
        return Line2D([], [], linestyle="none", marker=style.marker, color=style.colour)
    return Line2D([], [], linestyle=DASHES[item.role], color=style.colour, linewidth=WIDTHS.get(item.role, 1.0))


def _add_legend(figure: Figure, lines: Sequence[_Name], left: float) -> None:
    shown = figure.legend(
        [line.handle for line in lines],
        [f" {line.label}" if line.label.startswith("_") else line.label for line in lines],  # such names are hidden
        loc="lower left",
        bbox_to_anchor=(left, 0.0),
        borderaxespad=0.0,
        borderpad=0.1,
        labelspacing=0.12,
        handlelength=2.2,
        frameon=False,
    )
    for text in shown.get_texts():
        text.set_parse_math(False)
