"""A few of the changed files and ill-conditioned filters at each run; the modules' own commands run many."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.fuzz import certificates, filters

COUNT = int(os.environ.get("DPBOUNDS_FUZZ", "1"))


@pytest.mark.parametrize(("module", "count"), [("certificates", 12), ("filters", 12)])
def test_nothing_false_is_accepted(module, count):
    """In a process of its own: run-time checks of shapes slow the proofs down."""
    command = [sys.executable, "-m", f"tests.fuzz.{module}", "--count", str(count * COUNT)]
    shown = subprocess.run(command, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stdout[-2000:] + shown.stderr[-2000:]


def test_the_judges_see_what_is_false():
    row = certificates.saved_rows()[1]
    assert certificates.false_in(row, None) == ""
    low, high = row["lower"], row["upper"]
    assert "upper" in certificates.false_in({**row, "upper": high * (1 - 1e-7)}, None)
    assert "lower" in certificates.false_in(row, (low * (1 + 1e-7), high))
    assert "eta" in certificates.false_in({**row, "eta": 0.6}, None)
    assert filters.wrong([1.0, -0.5])[0] == "certified"
    inside = [1.0, -4.975555109194228, 9.902444517018797, -9.854001982983592, 4.90289085308228, -0.9757782779232572]
    assert filters.wrong(inside) == ("refused", "") and filters.nearest(inside) < 1
