"""`dpbounds design ftrl --plan`: its rows and words, and that plans on records keep their word."""

from __future__ import annotations

import numpy as np
import pytest

from simulators.ftrl.design_files import read_design
from tests.verify.cli.design.ftrl.examples import ON_RECORDS, PLAN, records_in, rows_of


def test_plan(run, tmp_path):
    rows = rows_of(run, f"{PLAN} --no-amplification --save plan.json --plot plan.png --export opacus --out plan.py")
    assert [row["mechanism"] for row in rows] == ["independent", "prefix sum", "designed"]
    assert all(row["batch_size"] == 4 and row["steps"] == 16 for row in rows)
    assert read_design(tmp_path / "plan.npz").noise_multiplier == pytest.approx(rows[2]["noise_multiplier"])
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")


def test_passes_within_a_limit_of_work(run):
    """With the work of four passes no more are taken; the choice is said."""
    rows = rows_of(run, f"{PLAN} --no-amplification --epochs 1 4 16 --work 256")
    assert rows[0]["epochs"] == 4 and rows[0]["steps"] == 64 and rows[0]["population"] > 0
    status, out, _ = run(f"{PLAN} --no-amplification --epochs 1 4")
    assert status == 0 and "Passes over the records: 4" in out and "for all 4 passes" in out


def test_plan_in_words(run):
    status, out, _ = run(f"{PLAN} --simulate 50")
    assert status == 0 and "Correlated noise" in out and "independent, amplified" in out and "simulated:" in out
    assert "Take " in out


def test_a_plan_on_records_keeps_its_word(run, tmp_path):
    """Simulated on the records themselves, every gradient clipped: 6 standard errors and 5 %."""
    X, y = records_in(tmp_path)
    rows = rows_of(run, f"{ON_RECORDS} --outcome y --simulate 400")
    theta = np.linalg.lstsq(X, y, rcond=None)[0]
    assert rows[0]["bias"] < 0.5 * np.mean((X @ theta) ** 2)
    for row in rows:
        error = (row["high"] - row["low"]) / (2 * 1.96)
        assert abs(row["simulated"] - row["clipped_total"]) < 6 * error + 0.05 * row["clipped_total"]
        assert 0 < row["share_clipped"] < 1 and row["excursion"] > 0
        assert row["verdict"] in ("take", "probably", "level")
    tuned = rows_of(run, f"{ON_RECORDS} --outcome y --clip-norms 0.8 1.6 --simulate 400")
    for row, fixed in zip(tuned, rows, strict=True):
        error = (row["high"] - row["low"]) / (2 * 1.96)
        assert abs(row["simulated"] - row["clipped_total"]) < 6 * error + 0.05 * row["clipped_total"]
        assert row["clip_norm"] in (0.4, 0.8, 1.6) and row["clipped_total"] <= fixed["clipped_total"] * (1 + 1e-12)
    status, out, _ = run(f"{ON_RECORDS} --outcome y")
    assert status == 0 and "clipped_total" in out and "public or proxy" in out


def test_a_plan_with_momentum_keeps_its_word(run, tmp_path):
    """As without; what is exported are the learning rates of the run."""
    records_in(tmp_path)
    asked = f"{ON_RECORDS} --outcome y --momentum 0.8"
    rows = rows_of(run, f"{asked} --simulate 400 --export npz --out noise.npz")
    for row in rows:
        error = (row["high"] - row["low"]) / (2 * 1.96)
        assert abs(row["simulated"] - row["clipped_total"]) < 6 * error + 0.05 * row["clipped_total"]
        assert row["momentum"] == 0.8 and row["bound"] is None
    with np.load(tmp_path / "noise.npz", allow_pickle=False) as made:
        assert made["learning_rates"][0] == pytest.approx(rows[-1]["eta"])
    status, out, _ = run(asked)
    assert status == 0 and "momentum 0.8" in out and "bound" not in out
