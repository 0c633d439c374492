"""Contests between methods: what they hold, what they reject, and that their intervals seldom err."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from dpbounds import DomainError
from simulators.ols import LeastSquares, family
from tests.verify.judging import evidence_of
from verify.checks import statistics
from verify.papers.ols.tools import table_2
from verify.papers.ols.tools.contest import ADASSP, DPGD, IHM, LINMIX, Arena, Contest, summary_of
from verify.papers.ols.tools.experiments import Setup
from verify.statements.claims import DATA_DIR


@cache
def residual() -> LeastSquares:
    return family("residual", n=1024)


def contest(**options) -> Contest:
    return Contest(arenas=lambda: [Arena(name="residual", load=residual)], epsilons=(0.25, 1.0), **options)


def test_the_better_method_wins_and_the_worse_one_fails():
    won = evidence_of(contest())
    assert won.outcome == "holds"
    assert won.rows[0]["losses"] == 0
    lost = evidence_of(contest(champion=LINMIX, opponents=(IHM,)))
    assert lost.outcome == "fails"
    assert lost.counterexample is not None
    assert lost.counterexample["ratio"] > 1
    assert 1 <= lost.counterexample["losses"] <= lost.counterexample["cells"] == 2


def test_a_method_ties_with_itself():
    twin = replace(IHM, name="twin", options={"round_up": True})
    found = evidence_of(contest(champion=IHM, opponents=(twin,)))
    assert found.outcome == "holds"
    assert found.rows[0]["ties"] == 2
    assert evidence_of(contest(champion=IHM, opponents=(twin,), better=0.5)).outcome == "unclear"


def test_most_losses_and_counted_cells_are_honoured():
    worse = contest(champion=LINMIX, opponents=(IHM, ADASSP), most_losses=1.0)
    assert evidence_of(worse).outcome == "holds"
    none = contest(champion=LINMIX, opponents=(IHM,), counts=lambda name, epsilon: epsilon > 5)
    assert evidence_of(none).outcome == "unclear"


def test_panels_show_every_method_with_its_lines():
    picture = evidence_of(contest(opponents=(LINMIX, ADASSP, DPGD), panel=True)).picture
    assert picture is not None
    assert [series.curve for series in picture.series] == [
        "IHM",
        "LinMix",
        "AdaSSP",
        "DP-GD",
        "least squares",
        "$theta = 0$",
    ]
    assert picture.series[-1].y[0] == pytest.approx(residual().y_squared / residual().n)


def test_intervals_of_medians_and_means_cover():
    """At 1e-3 in place of the house's level, 2000 samples of 100: binomial, false alarm below 1e-8."""
    generator = np.random.default_rng(0)
    samples = generator.gamma(30.0, size=(2000, 100))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics.quantile_interval, "__kwdefaults__", {"alpha": 1e-2})
        found = [summary_of(sample) for sample in samples]
    median = 29.6674
    misses = sum(not one["median_low"] <= median <= one["median_high"] for one in found)
    assert misses <= 60
    assert all(one["mean_low"] <= one["mean"] <= one["mean_high"] for one in found)


def test_heavy_tails_leave_the_mean_open():
    heavy = summary_of(np.random.default_rng(1).standard_cauchy(500) ** 2)
    assert heavy["mean_high"] == math.inf
    assert summary_of(np.array([1.0, np.inf, 2.0]))["mean"] == math.inf


def test_set_ups_follow_the_paper():
    setup = Setup(n=1000, d=5)
    assert setup.delta == 1e-6
    assert setup.failure == pytest.approx(1e-7)
    assert setup.k == math.floor(6 * math.log(12e7))
    assert setup.mixing_k == math.floor(2.5 * math.log(2e7))
    assert Setup(n=1000, d=50).k == 300
    assert setup.settings("LinMix", 1.0).noise_factor == 1.0
    assert Setup(n=1000, d=5, letter=True).settings("LinMix", 1.0).noise_factor == pytest.approx(math.sqrt(2))
    tight = Setup(n=1000, d=5, accounting="tight")
    for method in ("IHM", "DP-GD"):
        assert tight.settings(method, 1.0).sigma < setup.settings(method, 1.0).sigma


def test_table_2_has_its_33_rows_and_says_what_is_lacking(monkeypatch, tmp_path):
    assert len(table_2.ROWS) == 33
    monkeypatch.delenv(DATA_DIR, raising=False)
    assert table_2.at_hand() == []
    assert "--data-dir" in table_2.lacking()
    assert table_2.digest() == ""
    monkeypatch.setenv(DATA_DIR, str(tmp_path))
    assert "pol.csv.gz" in table_2.lacking("pol")
    (tmp_path / "uci").mkdir()
    rows = "\n".join(",".join(str((i * j) % 7 - 3.1) for j in range(1, 6)) for i in range(167))
    (tmp_path / "uci" / "servo.csv").write_text("a,b,c,d,y\n" + rows)
    assert table_2.at_hand() == ["servo"]
    assert table_2.lacking("servo") == ""
    assert len(table_2.digest()) == 32
    table_2.uci.cache_clear()
    assert table_2.uci("servo").n == 150
    with pytest.raises(DomainError):
        table_2.uci("pol")
    table_2.uci.cache_clear()
