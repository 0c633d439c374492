"""Counts of grounds, on results that have one of each."""

from __future__ import annotations

from tests.reports.examples import claim, corrected, evidence, failed, results
from tests.reports.grounds import README, main, rows_of, stated


def test_rows_count_what_stands_as_a_whole_and_what_falls_for_certain(tmp_path):
    whole = claim("ftrl/a", how="proved", evidence=[evidence(how="proved")])
    numeric = claim("ftrl/b", how="numeric", evidence=[evidence(how="numeric")])
    wrong = claim(
        "ftrl/c", verdict="refuted", how="certified at points", evidence=[failed(how="certified at points"), failed()]
    )
    found = results(tmp_path, [whole, numeric, wrong, corrected()])
    assert list(rows_of(found)) == ["| ftrl | 4 | 2 | 2 | 1 |"]


def test_the_readme_has_a_row_per_topic_and_others_are_told(tmp_path, capsys):
    rows = stated(README.read_text(encoding="utf-8"))
    assert [row.split()[1] for row in rows] == ["ftrl", "iv", "glm", "ols"]
    found = results(tmp_path, [claim("ftrl/a")])
    assert main([str(found.path)]) == 1
    assert "| ftrl | 1 |" in capsys.readouterr().out
