"""Advice of `solve ols` on one small setting: `python -m tests.power.regret ols` has more."""

from __future__ import annotations

from tests.power.regret_ols import drawn, judge

# Records few enough for a second or two.
SMALL = 1017


def test_the_recommended_row_is_near_the_best():
    row = judge(SMALL)
    assert row["regret"] <= 1.5 and row["errors"]["zero"] == 1.0
    assert row["predicted"].keys() < row["errors"].keys() and drawn(SMALL)["n"] == row["n"] < 600
