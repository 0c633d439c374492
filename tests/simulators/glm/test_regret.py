"""Advice of `solve glm` on a few settings: `python -m tests.power.regret glm` has more."""

from __future__ import annotations

import json

from tests.power.regret import FIRST_JUDGED, by_kind, rows_of, summary
from tests.power.regret_glm import drawn, judge


def test_the_best_row_is_recommended_in_most_settings(tmp_path):
    """Medians of 40 runs are 15 % rough: three settings, of which one may be bad luck."""
    out = tmp_path / "rows.jsonl"
    rows = rows_of(judge, 3, out)
    assert summary(rows)["regret at most 1.5"] >= 0.6
    out.write_text("".join(json.dumps(row | {"regret": 7.0}) + "\n" for row in rows))
    assert [row["regret"] for row in rows_of(judge, 3, out)] == [7.0] * 3


def test_the_worst_kinds_come_first():
    rows = [
        {"number": 0, "regret": 1.0, "reliable": True, "ratio": 1.3},
        {"number": 1, "regret": 1.2, "reliable": True, "ratio": 1.05},
        {"number": 2, "regret": 2.0, "reliable": False, "ratio": 9.0},
    ]
    lines = by_kind(rows, lambda number: ["few"] if number == 0 else ["few", "many"] if number == 1 else ["many"])
    assert [line.split() for line in lines[1:3]] == [
        ["many", "2", "100.0%", "50.0%", "2"],
        ["few", "2", "50.0%", "0.0%", "1.2"],
    ]
    assert [line.split() for line in lines[4:]] == [
        ["few", "100.0%", "1", "of", "2"],
        ["many", "50.0%", "0", "of", "1"],
    ]


def test_settings_repeat():
    first, again = drawn(FIRST_JUDGED), drawn(FIRST_JUDGED)
    assert first["n"] == again["n"] and first["epsilon"] == again["epsilon"]
