"""Results in a notebook: rounded to the side on which they hold, short, escaped."""

from __future__ import annotations

import math
from fractions import Fraction
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbounds import Value
from dpbounds.ftrl import correlations as c
from dpbounds.ftrl import strongly_convex as sc
from dpbounds.showing import html_table, rounded

CONSTANTS = {"mu": 0.1, "L": 1.0, "eta": 0.1}
PROBLEM = sc.StronglyConvex(**CONSTANTS, rho=0.5)


@given(st.floats(min_value=1e-200, max_value=1e200), st.integers(2, 9))
def test_rounding_keeps_the_side_and_the_digits(number, digits):
    low, near, high = (rounded(number, side, digits) for side in ("lower", "nearest", "upper"))
    tolerance = Fraction(10) ** (1 - digits)
    assert Fraction(number) * (1 - tolerance) <= Fraction(low) * (1 + Fraction(1, 10**15))
    assert low <= near <= high and Fraction(high) <= Fraction(number) * (1 + tolerance) * (1 + Fraction(1, 10**15))
    # A decimal is shown by the double nearest to it: the shown text, not the double, is the bound.
    shown = [Fraction(f"{end:.{digits}g}") for end in (low, high)]
    assert shown[0] <= Fraction(number) <= shown[1]


def test_what_is_not_finite_stays():
    assert rounded(math.inf, "upper") == math.inf and math.isnan(rounded(math.nan)) and rounded(0.0) == 0.0


def test_a_value_is_shown_with_what_it_is():
    upper = Value(0.0165132091, kind="upper", source="a <b>", convention="F & F*", enclosure=(0.0165, 0.0166))
    html = upper._repr_html_()
    assert html.startswith("<b>0.0165133</b> upper · certified") and "a &lt;b&gt;" in html and "F &amp; F*" in html
    assert "[0.0165, 0.0166]" in html
    assert Value(0.0165132099, kind="lower", source="x")._repr_html_().startswith("<b>0.0165132</b> lower · x")
    assert Value(2 / 3, kind="exact", source="x")._repr_html_() == "<b>0.666667</b> exact · x"


def test_a_bound_is_a_line_and_a_table():
    """Both ends outwards."""
    found = sc.bound(c.nu(0.05), PROBLEM, max_lag=3, program="f")
    line = repr(found)
    low, _, high = line.removeprefix("ConvexBound(").partition(", ")[0].partition(" <= sup F_inf <= ")
    assert float(low) <= found.lower and found.best <= float(high) < found.best * 1.001
    assert "certified" in line and "rho = 0.5" in line and len(line) < 200
    html = ElementTree.fromstring(f"<div>{found._repr_html_()}</div>")
    cells = [cell.text for cell in html.iter("td")]
    assert cells[0] == "nu-DP-FTRL (nu=0.05)" and cells[1:3] == [low, high] and cells[4:] == ["certified", "f"]
    assert "estimate" in repr(sc.bound(c.nu(0.05), PROBLEM, max_lag=3, certify=False, program="f"))


def test_names_are_escaped_and_floats_of_numpy_are_numbers():
    name = "<script>alert(1)</script>"
    noise = c.from_power_spectrum(lambda omega: 1 + 0.5 * np.cos(omega), name=name)
    constants = {name: np.float32(constant) for name, constant in {**CONSTANTS, "rho": 0.5}.items()}
    single = sc.StronglyConvex(**constants)
    found = sc.bound(noise, single, max_lag=1, certify=False, program="f")
    assert name in repr(found) and name not in found._repr_html_() and "&lt;script&gt;" in found._repr_html_()


def test_the_printed_program_is_shown_as_no_bound():
    found = sc.bound(c.nu(0.05), PROBLEM, max_lag=1, program="paper")
    assert "not a bound" in repr(found) and "<=" not in repr(found) and "not a bound" in found._repr_html_()


def test_a_given_density_has_no_budget():
    found = sc.bound_density(lambda m, s: m.number(1) + s, **CONSTANTS, max_lag=1)
    assert "a given density" in repr(found) and "rho" not in repr(found) and "certified" in found._repr_html_()


def test_searches_are_tables_of_what_they_compared():
    found = sc.optimize_correlation(PROBLEM, max_lag=2, certify=False, program="f")
    html = ElementTree.fromstring(found._repr_html_())
    rows = [[cell.text for cell in row.iter("td")] for row in html.iter("tr")][1:]
    assert [row[0].split(" =")[0] for row in rows] == ["independent", "best nu", "optimised"]
    for row, one in zip(rows, (found.independent, found.best_nu.bound, found.bound), strict=True):
        assert float(row[2]) == rounded(one.best, "upper")
    assert len(repr(found)) < 300 and f"{found.best_nu.nu:.5g}" in repr(found.best_nu)
    assert found.best_nu._repr_html_().count("<tr>") == 3


def test_a_picture_of_spectrum_and_psi(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    from matplotlib import pyplot
    from matplotlib.figure import Figure

    found = sc.bound(c.nu(0.05), PROBLEM, max_lag=3, program="f")
    axes = Figure().subplots()
    assert found.plot(axes) is axes
    density, psi = axes.get_lines()
    omega = density.get_xdata()
    assert psi.get_ydata() == pytest.approx(found.psi(omega)) and omega[-1] == pytest.approx(np.pi)
    own = found.plot()
    assert own.get_title().startswith(repr(found).removeprefix("ConvexBound(").partition(" ")[0])
    pyplot.close(own.figure)


def test_a_table_without_rows():
    assert html_table([]) == "" and "<th>a&lt;</th>" in html_table([{"a<": 1}])
