"""The coverage study, small: two settings, a run that goes on where it was, what is printed of it."""

import json

from tests.power import coverage


def test_the_study_covers_and_goes_on(tmp_path):
    chosen, out = [9, 60], tmp_path / "rows.jsonl"
    first = coverage.rows_of(chosen[:1], 30, out)
    rows = coverage.rows_of(chosen, 30, out)
    assert rows[:1] == first and [json.loads(line) for line in out.read_text().splitlines()] == rows
    found = coverage.summary(rows)
    assert found["settings"] == 2 and found["short of .94 by 3 standard errors"] == 0 and found["least coverage"] > 0.8


def test_settings_are_those_of_the_derivation_and_more():
    every = coverage.settings()
    assert len(coverage.tried()) == 38 and len(every) >= 98 and len(set(every)) == len(every)
    more = coverage.varied()
    assert {min(one.probability for one in more), max(one.probability for one in more)} == {0.02, 0.5}
    assert {min(one.n for one in more), max(one.n for one in more)} == {500, 20_000}
    assert {min(one.epsilon for one in more), max(one.epsilon for one in more)} == {0.5, 10.0}
    assert all(one.H > 1 for one in every if one.effects != "constant")
