"""Pictures drawn as SVG: what is exact as lines, bounds dashed with a band between them, what is printed dotted,
simulation as points with intervals. Colour and marker tell the curve, dashes the role.

Drawn by matplotlib without its global state, the same bytes for the same picture. Only the numbers at the ticks are
text of the drawing, and stay text that can be searched; titles, labels and legends are set by the template.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from reports.pictures import coincident
from reports.results import Picture, Series
from reports.text import number, power_of_ten, short

# Okabe and Ito's colours, told apart by colour-blind readers; more curves than these are shades from dark to light.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
SHADES, LIGHTEST = "viridis", 0.9
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: Mapping[str, Any] = {
    "exact": "-",
    "approximate": (0, (7, 1.5, 1, 1.5)),
    "upper": (0, (4.5, 1.8)),
    "lower": (0, (2, 1.2)),
    "printed": (0, (1, 1.4)),
}
WIDTHS = {"printed": 1.4}
ROLE_NAMES: Mapping[str, str] = {
    "exact": "exact",
    "approximate": "leading order",
    "upper": "upper bound",
    "lower": "lower bound",
    "printed": "as printed",
    "simulated": "simulated, with interval",
}
GREY = "#595959"
# The family of the page; matplotlib measures with the one that it brings along.
FONT, MEASURED = "'Libertinus Serif'", "'STIXGeneral', 'DejaVu Sans'"
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
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
    "path.simplify": False,
}
# Inches around the axes.
LEFT, RIGHT, TOP, BOTTOM = 0.4, 0.08, 0.05, 0.2
ASPECT = 0.68
SWATCH = (0.3, 0.09)
# Decades between the labels of a logarithmic axis.
STEPS = (1, 2, 3, 5, 10, 20, 25, 50, 100)
# Larger numbers, and smaller ones on a logarithmic axis, are left out: beyond them the margins overflow.
LARGEST = 1e280
# From here on a whole number at a tick is a power of ten, and so are all on its axis: in figures they would meet.
LONG = 1e6
# Simulated points with their intervals overlap beyond so many in one panel.
MOST_POINTS = 30


@dataclass(frozen=True)
class Style:
    """How a curve is told from others."""

    colour: str
    marker: str


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """The axes as SVG; `coincident` series hide one another, and one in `thinned` simulated points is shown."""

    svg: str
    coincident: list[list[Series]]
    thinned: int


def palettes(pictures: Sequence[Picture]) -> list[dict[str, Style]]:
    """The styles of the curves of each panel in a row: a curve that several panels show looks the same in all."""
    names = [list(dict.fromkeys(item.curve for item in picture.series)) for picture in pictures]
    shared = shared_curves(pictures)
    own = [[name for name in panel if name not in shared] for panel in names]
    total = len(shared) + max(map(len, own), default=0)
    found = []
    for panel in own:
        order = [*shared, *panel]
        found.append({name: _style(index, total) for index, name in enumerate(order)})
    return found


def shared_curves(pictures: Sequence[Picture]) -> list[str]:
    """The curves that more than one of the pictures shows."""
    names = [{item.curve: None for item in picture.series} for picture in pictures]
    every = dict.fromkeys(name for panel in names for name in panel)
    return [name for name in every if sum(name in panel for panel in names) > 1]


def _style(index: int, total: int) -> Style:
    marker = MARKERS[index % len(MARKERS)]
    if total <= len(COLOURS):
        return Style(COLOURS[index], marker)
    return Style(to_hex(matplotlib.colormaps[SHADES](LIGHTEST * index / (total - 1))), marker)


def drawing(picture: Picture, width: float, styles: Mapping[str, Style]) -> Drawing:
    """The picture `width` inches wide, with what its caption must say of it."""
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        # Points at one place only: the axis is widened around it, as it should be.
        warnings.filterwarnings("ignore", message="Attempting to set identical low and high")
        figure = draw(picture, width, styles)
        (axes,) = figure.axes
        log = tuple(axis for axis in ("x", "y") if getattr(axes, f"get_{axis}scale")() == "log")
        hidden = coincident(picture.series, log, (*axes.get_xlim(), *axes.get_ylim()))
        return Drawing(svg=_source(figure), coincident=hidden, thinned=_every(picture))


@cache
def swatch(style: Style | None, roles: tuple[str, ...], alone: bool = False) -> str:
    """A sample for a legend: a curve in its colour with its roles, or a role in grey; `alone` is a point."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=SWATCH)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(0, 1), ylim=(0, 1))
        axes.axis("off")
        colour = style.colour if style else GREY
        lines = [role for role in roles if role in DASHES]
        if lines and not alone:
            dashes = DASHES[lines[0]] if len(lines) == 1 else "-"
            axes.plot([0, 1], [0.5, 0.5], color=colour, linestyle=dashes, linewidth=WIDTHS.get(lines[0], 1.0))
        marker = style.marker if style else "o"
        if alone:
            axes.plot([0.5], [0.5], color=colour, marker=marker)
        elif "simulated" in roles:
            axes.plot([0.5], [0.5], color=colour, marker=marker, markerfacecolor="white", clip_on=False)
        return _source(figure)


def _source(figure: Figure) -> str:
    target = io.StringIO()
    figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})
    return target.getvalue().replace(MEASURED, FONT)


def draw(picture: Picture, width: float, styles: Mapping[str, Style]) -> Figure:
    """The figure with one set of axes."""
    figure = Figure()
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    log = _scales(axes, picture)
    _bands(axes, picture, styles, log)
    every = _every(picture)
    for series in picture.series:
        _plot(axes, series, styles[series.curve], log, every)
    for axis in ("x", "y"):
        _ticks(axes, axis, axis in log)
    tall = ASPECT * (width - LEFT - RIGHT)
    height = TOP + tall + BOTTOM
    figure.set_size_inches(width, height)
    axes.set_position((LEFT / width, BOTTOM / height, 1 - (LEFT + RIGHT) / width, tall / height))
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


def _every(picture: Picture) -> int:
    """Of how many simulated points one is shown."""
    most = max((len(item.x) for item in picture.series if item.role == "simulated"), default=0)
    return max(1, math.ceil(most / MOST_POINTS))


def _bands(axes: Axes, picture: Picture, styles: Mapping[str, Style], log: Sequence[str]) -> None:
    """Between the lower and the upper bound of a curve, where both are given at the same points."""
    lower = {item.curve: item for item in picture.series if item.role == "lower"}
    for upper in picture.series:
        below = lower.get(upper.curve)
        if upper.role == "upper" and below is not None and below.x == upper.x:
            x, low, high = _shown(upper.x, "x" in log), _shown(below.y, "y" in log), _shown(upper.y, "y" in log)
            if np.isfinite(x + low + high).any():
                axes.fill_between(x, low, high, color=styles[upper.curve].colour, alpha=0.13, linewidth=0, zorder=1)


def _plot(axes: Axes, series: Series, style: Style, log: Sequence[str], every: int) -> None:
    """Draw one series; points that the axes cannot show are left out."""
    x, y = _shown(series.x, "x" in log), _shown(series.y, "y" in log)
    if series.role == "simulated":
        low, high = (ends[::every] for ends in (series.low, series.high))
        x, y = x[::every], y[::every]
        errors = _errors(y, low, high, "y" in log) if series.low else None
        look: dict[str, Any] = {"marker": style.marker, "color": style.colour, "markerfacecolor": "white", "zorder": 3}
        axes.errorbar(x, y, yerr=errors, linestyle="none", capsize=1.8, elinewidth=0.7, capthick=0.7, **look)
        return
    width = WIDTHS.get(series.role, 1.0)
    (line,) = axes.plot(x, y, linestyle=DASHES[series.role], color=style.colour, linewidth=width, zorder=2)
    if np.isfinite(x + y).sum() == 1:  # a line of one point would not be seen
        line.set_marker(style.marker)


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
    shown = power_of_ten if exponents else short if max(marks) >= LONG else partial(number, digits=3)
    axis.set_major_formatter(FuncFormatter(lambda value, _: shown(value)))
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
