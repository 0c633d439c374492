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

from reports import figures, ftrl
from reports.figures import draw, is_power, label_lines, log_ticks, svg
from reports.pictures import curves, panels
from reports.results import Picture, Series
from tests.reports.examples import claim, evidence, picture, results, series, simulated, slope

WIDTH = 2.1


def drawn(*items: Series, x: str = "dimension", y: str = "error", log: tuple[str, ...] = ("x", "y")) -> Picture:
    return Picture(x=x, y=y, log=log, series=items)


def line(label: str = "exact", role: str = "theory", **changes: Any) -> Series:
    return Series(**{"label": label, "role": role, "x": (1.0, 10.0, 100.0), "y": (2.0, 20.0, 200.0), **changes})


def points(label: str = "simulated", **changes: Any) -> Series:
    return line(label, "simulation", **{"low": (1.0, 10.0, 100.0), "high": (4.0, 40.0, 400.0), **changes})


# --- merging ---


def merged(folder: Path, *found: dict[str, Any]) -> list[Picture]:
    return panels(results(folder, [claim(evidence=list(found))]).entries[0])


def test_pictures_of_the_same_axes_share_a_panel(tmp_path: Path) -> None:
    curve = evidence(picture=picture(series("curve")))
    runs = evidence(form="corrected", picture=picture(series("coarse"), simulated("runs"), slopes=[slope()]))
    (panel,) = merged(tmp_path, runs, curve)
    assert [item.label for item in panel.series] == ["curve", "coarse", "runs"]
    assert [item.group for item in panel.slopes] == ["SGD"]


def test_a_curve_that_the_correction_changes_is_shown_twice(tmp_path: Path) -> None:
    as_corrected = evidence(form="corrected", picture=picture(series("exact", y=[1.0, 1.0, 1.0]), series("more")))
    as_printed = evidence(picture=picture(series("exact")))
    (panel,) = merged(tmp_path, as_corrected, as_printed, as_printed)
    shown = [(item.label, item.y[0]) for item in panel.series]
    assert shown == [("exact", 2.0), ("exact (corrected)", 1.0), ("more", 2.0)]


def test_other_axes_are_another_panel(tmp_path: Path) -> None:
    others = [picture(), picture(y="ratio"), picture(x="time"), picture(log=["y"]), picture(log=["y", "x"])]
    assert len(merged(tmp_path, *(evidence(picture=item) for item in others))) == 4


def test_a_picture_without_points_is_no_panel(tmp_path: Path) -> None:
    assert merged(tmp_path, evidence(picture=picture(series(x=[], y=[]))), evidence()) == []


def test_coarse_exact_values_are_left_out_where_a_fine_curve_passes() -> None:
    x = tuple(np.geomspace(1.0, 100.0, 60))
    fine = line("curve", x=x, y=tuple(2.0 * value for value in x))
    shown = curves(drawn(fine, line("SGD exact"), points("SGD simulated")))
    assert [(curve.series.label, curve.name) for curve in shown] == [("curve", "curve"), ("SGD simulated", "curve")]


@pytest.mark.parametrize("off", [1.03, 0.97])
def test_coarse_values_off_the_curve_are_kept(off: float) -> None:
    x = tuple(np.geomspace(1.0, 100.0, 60))
    fine = line("curve", x=x, y=tuple(2.0 * value for value in x))
    coarse = line("SGD exact", y=(2.0, 20.0 * off, 200.0))
    assert [curve.series.label for curve in curves(drawn(fine, coarse))] == ["curve", "SGD exact"]


def test_values_beyond_the_fine_curve_are_kept() -> None:
    fine = line("curve", x=(1.0, 2.0, 4.0, 8.0), y=(2.0, 4.0, 8.0, 16.0))
    assert len(curves(drawn(fine, line("SGD exact")))) == 2


def test_series_of_one_curve_stand_together() -> None:
    picture_ = drawn(
        line("FTRL bound", "bound"), points("SGD simulated"), line("SGD exact"), line("SGD rate", "printed"),
        points("FTRL simulated"), line("other", "printed"),
    )  # fmt: skip
    shown = [(curve.name, curve.series.role) for curve in curves(picture_)]
    assert shown == [
        ("FTRL", "simulation"),
        ("FTRL", "bound"),
        ("SGD", "theory"),
        ("SGD", "simulation"),
        ("SGD", "printed"),
        ("other", "printed"),
    ]


# --- drawing ---


def test_every_series_is_in_the_axes() -> None:
    figure = draw(drawn(line(), points(), line("upper", "bound"), line("slope 1", "printed")), WIDTH)
    (axes,) = figure.axes
    assert len(axes.containers) == 1
    styles = [item.get_linestyle() for item in axes.lines if len(np.atleast_1d(item.get_xdata())) == 3]
    assert styles.count("None") == 3  # the points and the two caps of their intervals
    assert len(styles) == 6
    (intervals,) = axes.collections
    assert len(intervals.get_paths()) == 3
    np.testing.assert_allclose(np.array(intervals.get_paths()[0].vertices), [[1.0, 1.0], [1.0, 4.0]])
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["exact", "simulated", "upper", "slope 1"]


def test_theory_and_simulation_of_a_curve_share_a_colour() -> None:
    (axes,) = draw(drawn(line("A exact"), points("A simulated"), line("B exact")), WIDTH).axes
    first, runs, *_, last = axes.lines
    assert first.get_color() == runs.get_color() != last.get_color()
    assert runs.get_marker() == "o"


def test_two_rounds_of_colours_have_other_dashes() -> None:
    (axes,) = draw(drawn(*(line(f"curve {k}") for k in range(14))), WIDTH).axes
    assert len({(item.get_color(), str(vars(item)["_dash_pattern"])) for item in axes.lines}) == 14


def test_points_that_the_axes_cannot_show_are_left_out() -> None:
    (axes,) = draw(drawn(line(y=(-1.0, 0.0, 5.0)), line("b", y=(math.nan, math.inf, 1e300))), WIDTH).axes
    shown = [np.isfinite(np.asarray(item.get_ydata(), dtype=float)).sum() for item in axes.lines]
    assert shown == [1, 0]
    assert axes.lines[0].get_marker() == "o"  # a line of one point would not be seen


def test_a_logarithmic_axis_without_positive_numbers_is_linear() -> None:
    (axes,) = draw(drawn(line(y=(-1.0, 0.0, -5.0))), WIDTH).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")


def test_long_legends_are_wrapped_and_counted() -> None:
    figure = draw(
        drawn(*(line(f"d = {k}, with a spectrum that decays like the power {k} of k") for k in range(14))), 2.1
    )
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names[-1] == "and 4 more"
    assert len(names) == 21
    assert max(map(len, names)) <= 2.1 * figures.PER_INCH


def test_the_legend_is_below_the_axes_and_the_axes_keep_their_size() -> None:
    heights = []
    for count in (1, 9):
        with matplotlib.rc_context(figures.STYLE):
            figure = draw(drawn(*(line(f"curve {k}") for k in range(count))), WIDTH)
            figure.draw_without_rendering()
        legend = figure.legends[0].get_window_extent()
        label = figure.axes[0].xaxis.label.get_window_extent()
        assert legend.y0 >= -1.0
        assert legend.y1 <= label.y0 + 1.0
        heights.append(figure.axes[0].get_window_extent().height)
    assert heights[0] == pytest.approx(heights[1])


def test_axes_side_by_side_begin_at_the_same_height() -> None:
    short, long = drawn(line()), drawn(line(), y="a label of the ordinate that needs two lines in a narrow panel")
    assert (label_lines(short, WIDTH), label_lines(long, WIDTH)) == (1, 2)
    tops = []
    for item in (short, long):
        figure = draw(item, WIDTH, lines_above=2)
        tops.append(figure.get_figheight() * (1 - figure.axes[0].get_position().y1))
    assert tops[0] == pytest.approx(tops[1])


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
def test_any_picture_can_be_drawn(text: str, rows: list[tuple[float, float, float]], log: str) -> None:
    x, y, high = zip(*rows, strict=True) if rows else ((), (), ())
    runs = points(text, x=x, y=y, low=y, high=high)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        source = svg(drawn(runs, line(f"_{text}", x=x, y=y), x=text, y=text, log=tuple(log)), WIDTH)
    assert source.startswith("<?xml")


def test_drawing_is_deterministic_and_leaves_matplotlib_alone() -> None:
    before = dict(matplotlib.rcParams)
    item = drawn(line(), points(), line("$x$ & <b>", "bound"))
    assert svg(item, WIDTH) == svg(item, WIDTH)
    assert dict(matplotlib.rcParams) == before
    assert "<text" not in svg(item, WIDTH)  # text is drawn as paths


# --- the room of the paper ---


def test_panels_name_claims_that_exist() -> None:
    from verify.claims import registry

    assert {panel.claim for figure in ftrl.PAPER.figures for panel in figure.panels} <= set(registry())
