"""The paper on instrumental variables in the report."""

from __future__ import annotations

import math

from reports import iv
from reports.document import PAPERS, _slope
from reports.pictures import curves
from reports.results import Picture, Series, Slope
from verify.claims import registry


def test_every_panel_names_a_claim_and_every_figure_has_a_panel():
    panels = [panel.claim for figure in iv.PAPER.figures for panel in figure.panels]
    figures = [claim for claim in registry() if claim.startswith("iv/fig-")]
    assert sorted(panels) == sorted(figures)
    assert len(set(panels)) == len(panels)


def test_the_topic_has_its_paper():
    assert PAPERS["iv"] is iv.PAPER


def test_a_slope_without_an_exact_value_shows_a_dash():
    slope = Slope(group="curve", printed=0.5, exact=math.nan, simulated=0.51, low=0.4, high=0.6)
    assert _slope(slope)[1:4] == ["0.500", "–", "0.510"]


def test_a_fine_curve_replaces_a_coarse_one_of_the_same_name():
    def theory(*x: float) -> Series:
        return Series(label="error leading order", role="theory", x=x, y=tuple(value**2 for value in x))

    coarse, fine = theory(1.0, 4.0), theory(1.0, 2.0, 4.0, 8.0)
    picture = Picture(x="T", y="error", log=("x", "y"), series=(coarse, fine))
    assert [curve.series for curve in curves(picture)] == [fine]
    assert curves(picture)[0].name == "error"
