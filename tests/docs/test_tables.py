"""Tables of evidence: every number of a row is there, named, and what can be computed again has all its digits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("furo", reason="the extra `docs` is not installed")
pytest.importorskip("myst_nb", reason="the extra `docs` is not installed")

from docs.building import build
from docs.tables import Table, comparisons, example
from tests.reports.examples import claim, evidence, failed, write


def test_columns_are_those_that_have_something() -> None:
    rows = [
        {"fact": "theta_T", "difference": 1.25e-16, "tolerance": 1e-11, "x": "nan"},
        {"fact": "most of it", "observed": 2.0, "least": "-inf", "most": 3.0, "holds": True, "sigma": 0.123456789},
    ]
    assert comparisons(rows) == Table(
        ("comparison", "observed", "at most", "difference", "allowed", "σ", "true"),
        (
            ("θ_T", "", "", "1.25\u202f×\u202f10⁻¹⁶", "10⁻¹¹", "", ""),
            ("most of it", "2", "3", "", "", "0.12346", "yes"),
        ),
    )


def test_what_few_lines_have_is_one_column() -> None:
    rows = [{"fact": str(k), "n": k, "difference": 0.0} for k in range(3)]
    assert comparisons([{**rows[0], "sigma": 2.0, "k": 7}, *rows[1:]]) == Table(
        ("comparison", "difference", "n", "with"),
        (("0", "0", "0", "σ = 2, k = 7"), ("1", "0", "1", ""), ("2", "0", "2", "")),
    )


def test_intervals_lists_and_objects_are_cells() -> None:
    row = {
        "case": "a",
        "group": "a",
        "low": 0.5,
        "high": "inf",
        "observed": 1.0,
        "hits": [3, 4, 5],
        "others": {"nu": 2},
        "said": "x",
    }
    assert comparisons([row, {"case": "b", "low": 0.5}]) == Table(
        ("case", "observed", "interval", "others", "hits"),
        (("a", "1", "[0.5,\xa0∞]", "ν = 2", "3, 4, 5"), ("b", "", "", "", "")),
    )
    assert comparisons([{"group": "$rho_1 = 2$, *a*", "case": "5 $ and *b*"}]).lines == (("5 $ and *b*", "ρ₁ = 2, a"),)
    assert comparisons([]) == Table((), ())


def test_a_counterexample_has_all_digits() -> None:
    found = {"eta": 0.1 + 0.2, "n": 13500, "w": [1.0, 2.0], "how": "by hand", "at": {"nu": 0.5}, "so": True}
    assert example(found).lines == (
        ("η", "0.30000000000000004"),
        ("n", "13500"),
        ("w", "[1.0, 2.0]"),
        ("how", "by hand"),
        ("at", "ν = 0.5"),
        ("so", "true"),
    )


def test_a_page_has_tables_and_no_fact_twice(tmp_path: Path) -> None:
    rows = [{"fact": "one", "difference": 0.0, "tolerance": 1e-9}]
    checks = [evidence(rows=rows, facts=["one: no difference."]), evidence(rows=rows, facts=["two", "three"])]
    claims = [claim(evidence=checks), claim("ftrl/false", verdict="refuted", finding="No.", evidence=[failed()])]
    build(write(tmp_path, claims), tmp_path / "out", whole=False)
    pages = [(tmp_path / "out/verdicts/ftrl" / name).read_text("utf-8") for name in ("thm-1.html", "false.html")]
    assert pages[0].count("<summary>1 comparison</summary>") == 2 and "no difference" not in pages[0]
    assert "<li>three</li>" in pages[0] and "<th>allowed</th>" in pages[0]
    assert re.search(r"<summary>Counterexample</summary>\s*<div class=\"wide\"><table", pages[1])
    assert "<td>smaller</td><td>4</td>" in pages[1]
