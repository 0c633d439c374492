"""Pictures drawn as SVG: theory as lines, bounds dashed, printed claims dotted, simulation as points with intervals.

Drawn by matplotlib without its global state, text as paths, the same bytes for the same picture.
"""

from __future__ import annotations

import io
import math
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from reports.pictures import Curve, curves
from reports.results import Picture
from reports.text import number, power_of_ten, typographic

# Okabe and Ito's colours, told apart by colour-blind readers; in grey by markers and dashes.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: tuple[Any, ...] = (
    "-",
    (0, (6, 1.5)),
    (0, (3, 1)),
    (0, (6, 1.5, 1, 1.5)),
    (0, (1.5, 1)),
    (0, (9, 2)),
    (0, (4, 3)),
)
BOUND, PRINTED = (0, (4, 2)), (0, (1, 1.4))
STYLE: dict[Any, Any] = {
    "svg.fonttype": "path",
    "svg.hashsalt": "dpbounds",
    "font.family": ["STIXGeneral", "DejaVu Sans"],
    "font.size": 7.5,
    "axes.linewidth": 0.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.5,
    "ytick.major.width": 0.5,
    "lines.linewidth": 1.0,
    "lines.markersize": 3.6,
    "legend.frameon": False,
    "path.simplify": False,
}
# Inches. The axes keep their size whatever the legend below them needs.
LEFT, RIGHT, BOTTOM, LINE, LEGEND_LINE = 0.42, 0.08, 0.4, 0.125, 0.116
ASPECT = 0.68
# Characters of the labels' font in an inch.
PER_INCH = 21
# Decades between the labels of a logarithmic axis.
STEPS = (1, 2, 3, 5, 10, 20, 25, 50, 100)
# Larger numbers, and smaller ones on a logarithmic axis, are left out: beyond them the margins overflow.
LARGEST = 1e280
# Curves beyond this many are drawn, but not named.
MOST_NAMES = 10


@dataclass(frozen=True)
class _Name:
    """A line of the legend."""

    handle: Any
    label: str


def svg(picture: Picture, width: float, lines_above: int = 1) -> str:
    """The picture as an SVG document, `width` inches wide and as high as its legend makes it.

    `lines_above` is the least room for the ordinate's label, so that axes side by side begin at the same height.
    """
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        target = io.StringIO()
        draw(picture, width, lines_above).savefig(target, format="svg", metadata={"Date": None, "Creator": None})
    return target.getvalue()


def label_lines(picture: Picture, width: float) -> int:
    """How many lines the ordinate's label takes."""
    return len(_wrapped(picture.y, width))


def draw(picture: Picture, width: float, lines_above: int = 1) -> Figure:
    """The figure with one set of axes; the ordinate's label above them, the legend below."""
    named: list[_Name] = []
    figure = Figure()
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    log = _scales(axes, picture)
    shown = curves(picture)
    names = list(dict.fromkeys(curve.name for curve in shown))
    for curve in shown:
        named.append(_plot(axes, curve, names.index(curve.name), log))
    for axis in ("x", "y"):
        _ticks(axes, axis, axis in log)
    _compose(figure, axes, picture, named, width, lines_above)
    return figure


def _scales(axes: Axes, picture: Picture) -> tuple[str, ...]:
    """Logarithms where asked for and where there is something positive to show."""
    log = []
    for axis in picture.log:
        values = [value for series in picture.series for value in getattr(series, axis)]
        if any(1 / LARGEST <= value <= LARGEST for value in values):
            axes.set(**{f"{axis}scale": "log"})
            log.append(axis)
    return tuple(log)


def _plot(axes: Axes, curve: Curve, index: int, log: Sequence[str]) -> _Name:
    """Draw one series; points that the axes cannot show are left out."""
    series, colour = curve.series, COLOURS[index % len(COLOURS)]
    x, y = _shown(series.x, "x" in log), _shown(series.y, "y" in log)
    marker = MARKERS[index % len(MARKERS)]
    if series.role == "simulation":
        errors = _errors(y, series.low, series.high, "y" in log) if series.low else None
        style: dict[str, Any] = {"marker": marker, "color": colour, "markerfacecolor": "white", "zorder": 3}
        handle = axes.errorbar(x, y, yerr=errors, linestyle="none", capsize=1.8, elinewidth=0.7, capthick=0.7, **style)
    else:
        own = DASHES[(index + index // len(COLOURS)) % len(DASHES)]  # the next round of colours has other dashes
        dashes = {"bound": BOUND, "printed": PRINTED}.get(series.role, own)
        (handle,) = axes.plot(x, y, linestyle=dashes, color=colour, linewidth=1.4 if series.role == "printed" else 1.0)
        if np.isfinite(x + y).sum() == 1:
            handle.set_marker(marker)
    return _Name(handle, typographic(series.label) or series.role)


def _shown(values: Sequence[float], logarithmic: bool) -> np.ndarray:
    array = np.array(values, dtype=float)
    visible = (np.abs(array) <= LARGEST) & ((array >= 1 / LARGEST) | (not logarithmic))
    return np.where(visible, array, np.nan)


def _errors(y: np.ndarray, low: Sequence[float], high: Sequence[float], logarithmic: bool) -> np.ndarray:
    """Distances to the ends of the intervals; an end below a logarithmic axis is drawn a decade down."""
    lower, upper = (np.clip(np.array(ends, dtype=float), -LARGEST, LARGEST) for ends in (low, high))
    if logarithmic:
        lower = np.where(lower >= 1 / LARGEST, lower, y / 10.0)
    distances = np.maximum(np.stack([y - lower, upper - y]), 0.0)
    return np.where(np.isfinite(distances), distances, 0.0)


def _ticks(axes: Axes, name: str, logarithmic: bool) -> None:
    """About five labels; on a logarithmic axis powers of ten, or 1-3 or 1-2-5 where it spans few of them."""
    axis: Axis = getattr(axes, f"{name}axis")
    low, high = (float(end) for end in axis.get_view_interval())
    if not logarithmic:
        axis.set_major_locator(MaxNLocator(5 if name == "x" else 4))
        axis.set_major_formatter(FuncFormatter(lambda value, _: _plain(value, high - low)))
        return
    if high / low < 1.3:  # a constant: keep the axis from magnifying rounding
        low, high = low / 1.3, high * 1.3
        axes.set(**{f"{name}lim": (low, high)})
    marks = log_ticks(low, high)
    axis.set_major_locator(FixedLocator(marks))
    exponents = all(is_power(mark) for mark in marks) and not 1e-3 < min(marks) <= max(marks) < 1e3
    axis.set_major_formatter(FuncFormatter(lambda value, _: power_of_ten(value) if exponents else number(value, 3)))
    axis.set_minor_locator(NullLocator())


def log_ticks(low: float, high: float) -> list[float]:
    """Positions of the labels of a logarithmic axis."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    step = next((step for step in STEPS if (last - first) / step <= 5), last - first)
    powers = [10.0**k for k in range(first, last + 1) if k % step == 0]
    for multiples in ((1,), (1, 3), (1, 2, 5)):
        candidates = powers if multiples == (1,) else [m * 10.0**k for k in range(first, last + 1) for m in multiples]
        inside = [mark for mark in candidates if low <= mark <= high]
        if len(inside) >= 3 or (inside and last - first > 4):
            return inside
    steps = MaxNLocator(4, steps=[1, 2, 5, 10])
    return [float(mark) for mark in steps.tick_values(low, high) if low <= mark <= high]


def _plain(value: float, span: float) -> str:
    """A tick of a linear axis: no more digits than neighbouring ticks need, no -0."""
    return number(0.0 if abs(value) < 1e-9 * span else value, 5)


def is_power(value: float) -> bool:
    """Whether a number is a power of ten, up to rounding."""
    return math.isclose(value, 10.0 ** round(math.log10(value)), rel_tol=1e-9)


def _wrapped(label: str, width: float) -> list[str]:
    return textwrap.wrap(typographic(label), int(width * PER_INCH)) or [""]


def _compose(
    figure: Figure, axes: Axes, picture: Picture, found: Sequence[_Name], width: float, lines_above: int
) -> None:
    """Place axes, labels and legend; sizes in inches so that panels side by side agree."""
    above, below = _wrapped(picture.y, width), _wrapped(picture.x, width)
    legend = _legend_lines(found, int(width * PER_INCH) - 9)
    top = LINE * (max(lines_above, len(above)) + 0.65)
    bottom = BOTTOM + LINE * (len(below) - 1) + LEGEND_LINE * len(legend)
    tall = ASPECT * (width - LEFT - RIGHT)
    height = top + tall + bottom
    figure.set_size_inches(width, height)
    axes.set_position((LEFT / width, bottom / height, 1 - (LEFT + RIGHT) / width, tall / height))
    axes.set_xlabel("\n".join(below), labelpad=2, parse_math=False)
    plain: Mapping[str, Any] = {"va": "top", "ha": "left", "parse_math": False}
    figure.text(0.01, 1 - (top - LINE * (len(above) + 0.5)) / height, "\n".join(above), **plain)
    if legend:
        _add_legend(figure, legend, 0.04 / width)


def _add_legend(figure: Figure, lines: Sequence[_Name], left: float) -> None:
    drawn = figure.legend(
        [line.handle for line in lines],
        [f" {line.label}" if line.label.startswith("_") else line.label for line in lines],  # such names are hidden
        loc="lower left",
        bbox_to_anchor=(left, 0.0),
        borderaxespad=0.0,
        borderpad=0.1,
        labelspacing=0.12,
        handlelength=2.2,
    )
    for text in drawn.get_texts():
        text.set_parse_math(False)


def _legend_lines(found: Sequence[_Name], characters: int) -> list[_Name]:
    """Names wrapped to the panel, a line each so that their height is known; those beyond the most are counted."""
    nothing = Line2D([], [], linestyle="none")
    lines = []
    for entry in found[:MOST_NAMES]:
        first, *others = textwrap.wrap(entry.label, characters, max_lines=3, placeholder=" …")
        lines += [_Name(entry.handle, first), *(_Name(nothing, other) for other in others)]
    rest = len(found) - MOST_NAMES
    return [*lines, _Name(nothing, f"and {rest} more")] if rest > 0 else lines
