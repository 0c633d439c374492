"""Which series a panel shows, and that the axes hold them."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from reports import standalone
from reports.figures import COLOURS, draw, drawing, is_power, log_ticks, palettes, shared_curves, swatch
from reports.panels import pictures_of, rows
from reports.pictures import coincident, panels
from reports.results import Picture, Series
from tests.reports.examples import claim, corrected, evidence, failed, picture, results, series, simulated, slope

WIDTH = 2.1


def shown(*items: Series, x: str = "dimension", y: str = "error", log: tuple[str, ...] = ("x", "y")) -> Picture:
    return Picture(x=x, y=y, log=log, series=items)


def line(curve: str = "SGD", role: str = "exact", **changes: Any) -> Series:
    return Series(**{"curve": curve, "role": role, "x": (1.0, 10.0, 100.0), "y": (2.0, 20.0, 200.0), **changes})


def points(curve: str = "SGD", **changes: Any) -> Series:
    return line(curve, "simulated", **{"low": (1.0, 10.0, 100.0), "high": (4.0, 40.0, 400.0), **changes})


def drawn(*items: Series, **changes: Any) -> Figure:
    found = shown(*items, **changes)
    return draw(found, WIDTH, palettes([found])[0])


# --- merging ---


def merged(folder: Path, *found: dict[str, Any]) -> list[Picture]:
    failing = {"evidence": [failed(), *found], "verdict": "corrected"}
    own = {"evidence": list(found)} if all(item["form"] == "printed" for item in found) else failing
    return panels(results(folder, [corrected(**own) if own is failing else claim(**own)]).entries[0])


def test_pictures_of_the_same_axes_share_a_panel(tmp_path: Path) -> None:
    curve = evidence(picture=picture(series("curve")))
    runs = evidence(form="corrected", picture=picture(series("coarse"), simulated("runs"), slopes=[slope()]))
    (panel,) = merged(tmp_path, runs, curve)
    assert [item.curve for item in panel.series] == ["curve", "coarse", "runs"]
    assert [item.curve for item in panel.slopes] == ["SGD"]


def test_a_curve_that_the_correction_changes_is_shown_twice(tmp_path: Path) -> None:
    as_corrected = evidence(form="corrected", picture=picture(series("SGD", y=[1.0, 1.0, 1.0]), series("more")))
    as_printed = evidence(picture=picture(series("SGD")))
    (panel,) = merged(tmp_path, as_corrected, as_printed, as_printed)
    names = [(item.curve, item.typeset, item.y[0]) for item in panel.series]
    assert names == [("SGD", "SGD", 2.0), ("SGD, corrected", "SGD, corrected", 1.0), ("more", "more", 2.0)]


def test_other_axes_are_another_panel(tmp_path: Path) -> None:
    others = [picture(), picture(y="ratio"), picture(x="time"), picture(log=["y"]), picture(log=["y", "x"])]
    assert len(merged(tmp_path, *(evidence(picture=item) for item in others))) == 4


def test_a_picture_without_points_is_no_panel(tmp_path: Path) -> None:
    assert merged(tmp_path, evidence(picture=picture(series(x=[], y=[]))), evidence()) == []


@pytest.mark.parametrize(("off", "kept"), [(1.0, 1), (1.03, 2), (0.97, 2)])
def test_coarse_values_are_left_out_where_a_fine_curve_passes(tmp_path: Path, off: float, kept: int) -> None:
    x = [float(value) for value in np.geomspace(1.0, 100.0, 60)]
    fine = series(x=x, y=[2.0 * value for value in x])
    (panel,) = merged(tmp_path, evidence(picture=picture(series(y=[2.0, 20.0 * off, 200.0]), fine)))
    assert len(panel.series) == kept


def test_values_beyond_the_fine_curve_and_of_other_roles_are_kept(tmp_path: Path) -> None:
    fine = series(x=[1.0, 2.0, 4.0, 8.0], y=[2.0, 4.0, 8.0, 16.0])
    (panel,) = merged(tmp_path, evidence(picture=picture(series(), fine, series("SGD", "printed"))))
    assert len(panel.series) == 3


def test_series_of_one_curve_stand_together(tmp_path: Path) -> None:
    given_ = (series("B", "upper"), simulated("A"), series("A"), series("A", "printed"), simulated("B"))
    (panel,) = merged(tmp_path, evidence(picture=picture(*given_)))
    assert [(item.curve, item.role) for item in panel.series] == [
        ("B", "upper"),
        ("B", "simulated"),
        ("A", "exact"),
        ("A", "printed"),
        ("A", "simulated"),
    ]


# --- curves that hide one another ---

BOX = (1.0, 100.0, 1.0, 1000.0)


def test_lines_on_one_another_are_found_together() -> None:
    near = line("B", "upper", y=(2.02, 20.2, 202.0))
    part = line("C", x=(1.0, 10.0), y=(2.0, 20.0))
    off = line("D", y=(2.0, 26.0, 200.0))
    groups = coincident([line(), off, near, part, points()], ("x", "y"), BOX)
    assert [[item.curve for item in group] for group in groups] == [["SGD", "B", "C"]]


def test_points_hide_points_and_no_lines() -> None:
    assert coincident([line(), points()], ("x", "y"), BOX) == []
    assert len(coincident([points(), points("B")], ("x", "y"), BOX)) == 1
    assert coincident([points(), points("B", x=(1.0, 10.0, 90.0))], ("x", "y"), BOX) == []
    assert coincident([points(), line(y=(math.inf, 1.0, 1.0))], (), BOX) == []


def test_the_caption_says_what_is_hidden(tmp_path: Path) -> None:
    pictured = picture(series(), series("$nu$-FTRL", "upper"), simulated())
    found = results(tmp_path, [claim(evidence=[evidence(picture=pictured)])]).entries
    ((panel,),) = [row["panels"] for row in rows(pictures_of([("", found[0])]), 2, {})]
    (note,) = panel["notes"]
    assert note[0] == "They hide one another: "
    assert {"markup": "$nu$-FTRL"} in note[3]
    assert [entry["name"] for entry in panel["legend"]] == [
        "SGD",
        {"markup": "$nu$-FTRL"},
        "exact",
        "upper bound",
        "simulated, with interval",
    ]


# --- drawing ---


def test_a_few_points_are_told_as_numbers(tmp_path: Path) -> None:
    one = picture(
        simulated(x=[5.0], y=[0.25], low=[0.125], high=[0.5]),
        simulated("$nu$-FTRL", x=[5.0], y=[2.0], low=[1.0], high=[3.0]),
    )
    found = results(tmp_path, [claim(evidence=[evidence(picture=one)])]).entries
    ((panel,),) = [row["panels"] for row in rows(pictures_of([("", found[0])]), 2, {})]
    assert panel["svg"] == "" and panel["legend"] == [] and panel["roles"] == "simulated"
    assert panel["table"] == [["SGD", "5", "0.25", "[0.125, 0.5]"], [{"markup": "$nu$-FTRL"}, "5", "2", "[1, 3]"]]


def test_a_curve_keeps_its_colour_through_all_rows(tmp_path: Path) -> None:
    """As long as there are colours for all curves."""
    first, second = picture(series("A"), series("B")), picture(series("B"), series("C"), x="another")
    found = results(tmp_path, [claim(evidence=[evidence(picture=first), evidence(picture=second)])]).entries
    drawn = rows(pictures_of([("", found[0])]), 1, {})
    samples = [{entry["name"]: entry["svg"] for entry in row["panels"][0]["legend"]} for row in drawn]
    assert samples[0]["B"] == samples[1]["B"] != samples[1]["C"]


def test_every_series_is_in_the_axes() -> None:
    bounds = (line(role="upper", y=(3.0, 30.0, 300.0)), line(role="lower"))
    (axes,) = drawn(line(), points(), *bounds, line(role="printed"), line(role="approximate")).axes
    assert len(axes.containers) == 1
    styles = [item.get_linestyle() for item in axes.lines if len(np.atleast_1d(item.get_xdata())) == 3]
    assert styles.count("None") == 3  # the points and the two caps of their intervals
    assert len(styles) == 8
    dashes = {str(vars(item)["_dash_pattern"]) for item in axes.lines if item.get_linestyle() != "None"}
    assert len(dashes) == 5
    band, intervals = axes.collections
    assert band.get_alpha() == pytest.approx(0.13)
    assert len(intervals.get_paths()) == 3
    np.testing.assert_allclose(np.array(intervals.get_paths()[0].vertices), [[1.0, 1.0], [1.0, 4.0]])


def test_bounds_at_other_points_have_no_band() -> None:
    (axes,) = drawn(line(role="upper"), line(role="lower", x=(1.0, 2.0), y=(1.0, 2.0))).axes
    assert not axes.collections


def test_theory_and_simulation_of_a_curve_share_a_colour() -> None:
    (axes,) = drawn(line("A"), points("A"), line("B")).axes
    first, runs, *_, last = axes.lines
    assert first.get_color() == runs.get_color() != last.get_color()
    assert runs.get_marker() == "o"


def test_a_curve_looks_the_same_in_all_panels_of_a_row() -> None:
    left, right = shown(line("A"), line("B")), shown(line("C"), line("B"))
    first, second = palettes([left, right])
    assert shared_curves([left, right]) == ["B"]
    assert first["B"] == second["B"]
    assert first["A"] == second["C"] != first["B"]  # each stands in the legend of its own panel
    many = palettes([shown(*(line(f"curve {k}") for k in range(20)))])[0]
    assert len({style.colour for style in many.values()}) == 20
    assert len(COLOURS) < 20


def test_points_that_the_axes_cannot_show_are_left_out() -> None:
    (axes,) = drawn(line(y=(-1.0, 0.0, 5.0)), line("b", y=(math.nan, math.inf, 1e300))).axes
    visible = [np.isfinite(np.asarray(item.get_ydata(), dtype=float)).sum() for item in axes.lines]
    assert visible == [1, 0]
    assert axes.lines[0].get_marker() == "o"  # a line of one point would not be seen


def test_many_simulated_points_are_thinned_and_the_caption_says_so() -> None:
    x = tuple(float(value) for value in range(1, 101))
    found = shown(points(x=x, y=x, low=x, high=x))
    (axes,) = drawn(*found.series).axes
    assert len(np.asarray(axes.lines[0].get_xdata())) == 25
    assert drawing(found, WIDTH, palettes([found])[0]).thinned == 4


def test_a_logarithmic_axis_without_positive_numbers_is_linear() -> None:
    (axes,) = drawn(line(y=(-1.0, 0.0, -5.0))).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")


def test_text_stays_text_in_the_font_of_the_page() -> None:
    found = shown(line())
    source = drawing(found, WIDTH, palettes([found])[0]).svg
    assert ">100</text>" in source
    assert "Libertinus Serif" in source
    assert "STIX" not in source
    assert "<text" not in swatch(palettes([found])[0]["SGD"], ("exact", "simulated"))


# --- ticks ---


@given(st.floats(-300, 300), st.floats(0.03, 560))
@settings(derandomize=True, deadline=None)
def test_logarithmic_ticks_are_few_and_inside(start: float, decades: float) -> None:
    low, high = 10.0**start, 10.0 ** min(start + decades, 307.0)
    if high / low < 1.07:
        return
    marks = log_ticks(low, high)
    assert 1 <= len(marks) <= 10
    assert all(low <= mark <= high for mark in marks)


def test_ticks_are_powers_of_ten_or_round_numbers() -> None:
    assert all(is_power(mark) for mark in log_ticks(1e-9, 1e9))
    assert log_ticks(0.9, 110.0) == [1.0, 10.0, 100.0]
    assert log_ticks(8.0, 60.0) == [10.0, 20.0, 50.0]
    assert log_ticks(0.28, 0.5) == pytest.approx([0.3, 0.4, 0.5])


numbers = st.floats(allow_nan=True, allow_infinity=True)


@given(st.text(max_size=40), st.lists(st.tuples(numbers, numbers, numbers), max_size=4), st.sampled_from(["", "xy"]))
@settings(derandomize=True, deadline=None, max_examples=15)
def test_any_picture_can_be_drawn(text: str, cells: list[tuple[float, float, float]], log: str) -> None:
    x, y, high = zip(*cells, strict=True) if cells else ((), (), ())
    runs = points(text, x=x, y=y, low=y, high=high)
    found = shown(runs, line(f"_{text}", x=x, y=y), x=text, y=text, log=tuple(log))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        source = drawing(found, WIDTH, palettes([found])[0]).svg
        alone = standalone.drawn(found, WIDTH, "svg")
    assert source.startswith("<?xml")
    assert alone.startswith(b"<?xml")


def test_drawing_is_deterministic_and_leaves_matplotlib_alone() -> None:
    before = dict(matplotlib.rcParams)
    item = shown(line(), points(), line("$x$ & <b>", "upper"))
    assert drawing(item, WIDTH, palettes([item])[0]) == drawing(item, WIDTH, palettes([item])[0])
    for form in ("svg", "pdf", "png"):
        assert standalone.drawn(item, WIDTH, form) == standalone.drawn(item, WIDTH, form)
    assert dict(matplotlib.rcParams) == before


# --- a picture by itself ---


def test_its_legend_names_curves_and_roles_below_the_axes() -> None:
    heights = []
    for count in (1, 9, 30):
        found = shown(*(line(f"curve {k}, of a spectrum that decays") for k in range(count)), points("runs"))
        figure = standalone.compose(found, WIDTH)
        figure.draw_without_rendering()
        names = [text.get_text() for text in figure.legends[0].get_texts()]
        assert max(map(len, names)) <= WIDTH * standalone.PER_INCH
        assert names[-1] == ("runs, simulated" if count < 30 else "and 15 more")
        heights.append(figure.axes[0].get_window_extent().height)
    assert heights[0] == pytest.approx(heights[1]) == pytest.approx(heights[2])
