"""`dpbounds fit ols`: the model that is written, what is said of it, and what is refused before anything is spent."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from dpbounds.audit.accounted import event_of
from dpbounds.private import LinearRegression
from simulators import opendp
from tests.verify.cli.solve.examples import Shown, call, refused

RANGES = "a=0:10, b=-1:1, y=-5:15"
BUDGET = ("--epsilon", 2, "--delta", 1e-6)


def written(path: Path, text: str = "", *, seed: int = 0) -> Path:
    rng = np.random.default_rng(seed)
    X = rng.uniform((0, -1), (10, 1), (500, 2))
    y = 3 + X @ (1.0, -0.5) + rng.uniform(-1, 1, 500)
    lines = ["a,b,y", *(",".join(map(repr, row)) for row in np.column_stack([X, y]).tolist())]
    path.write_text(text or "\n".join(lines) + "\n")
    return path


def fit(capsys, folder: Path, *changed: object, ranges: str = RANGES, csv: Path | None = None) -> Shown:
    csv = csv or written(folder / "records.csv")
    given = ("--csv", csv, "--target", "y", "--ranges", ranges, *BUDGET, "--out", folder / "model.json", *changed)
    return call(capsys, "fit", "ols", *given)


def test_the_model_is_that_of_the_estimator(capsys, tmp_path):
    shown = fit(capsys, tmp_path, "--intercept", "--seed", 3, "--json", "--event", tmp_path / "event.json")
    saved = json.loads((tmp_path / "model.json").read_text())
    assert shown.status == 0 and json.loads(shown.out) == saved
    table = np.loadtxt(tmp_path / "records.csv", delimiter=",", skiprows=1)
    model = LinearRegression(epsilon=2.0, delta=1e-6, ranges=[(0, 10), (-1, 1)], outcome_range=(-5, 15), seed=3).fit(
        table[:, :2], table[:, 2]
    )
    assert saved["coefficients"] == model.coef_.tolist() and saved["intercept"] == model.intercept_
    assert saved["columns"] == ["a", "b"] and saved["target"] == "y" and not saved["private"]
    event = event_of(json.loads((tmp_path / "event.json").read_text()))
    assert event.noise_multiplier == pytest.approx(1 / model.mu_)


@pytest.mark.skipif(not opendp.installed(), reason="needs the extra opendp")
def test_a_private_fit_says_what_it_costs_and_is_not_written_over(capsys, tmp_path):
    shown = fit(capsys, tmp_path, "--intercept", "--stand-in", written(tmp_path / "public.csv", seed=1))
    said = " ".join(shown.out.split())
    assert shown.status == 0 and shown.err == ""
    for words in ("(2, 1e-06)-DP together", "n = 500", "budget is spent", "Noise: OpenDP's", "records that stand in"):
        assert words in said
    before = (tmp_path / "model.json").read_bytes()
    assert refused(fit(capsys, tmp_path), "a new file", "second budget")
    assert (tmp_path / "model.json").read_bytes() == before


def test_floats_and_seeds_are_said(capsys, tmp_path):
    assert "known holes" in fit(capsys, tmp_path, "--noise", "numpy").out
    (tmp_path / "model.json").unlink()
    assert "NOT PRIVATE" in fit(capsys, tmp_path, "--seed", 0).out


def test_what_the_noise_alone_does_is_shown_at_the_level_asked_for(capsys, tmp_path):
    shown = fit(capsys, tmp_path, "--seed", 0, "--intercept", "--level", 0.5, "--epsilon", 9)
    saved = json.loads((tmp_path / "model.json").read_text())
    (low, high), *_, last = saved["noise_intervals"]
    assert (
        saved["noise_level"] == 0.5 and low < saved["coefficients"][0] < high and last[0] < saved["intercept"] < last[1]
    )
    assert f"{low:.4g} to {high:.4g}" in shown.out and "level 0.5 over the noise alone" in " ".join(shown.out.split())


def test_raw_units_far_inside_their_ranges_are_named_with_the_remedy(capsys, tmp_path):
    shown = fit(capsys, tmp_path, "--seed", 0, ranges="a=0:10, b=-1e6:1e6, y=-5:15")
    said = " ".join(shown.out.split())
    assert shown.status == 0 and "hides some directions" in said and "Narrower ranges" in said
    assert "no interval of level 0.95" in said
    assert json.loads((tmp_path / "model.json").read_text())["resolved"] is False


def test_nothing_in_the_model_depends_on_how_many_records_are_beyond(capsys, tmp_path):
    """All outcomes at one end or beyond it give the same model."""
    texts = [f"a,b,y\n{'5,0.5,' + value}\n" + f"5,0.5,{value}\n" * 99 for value in ("15", "99")]
    models = []
    for number, text in enumerate(texts):
        folder = tmp_path / str(number)
        folder.mkdir()
        fit(capsys, folder, "--seed", 0, csv=written(folder / "r.csv", text))
        models.append((folder / "model.json").read_text())
    assert models[0] == models[1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a;b;y\n1;2;3\n", ("semicolons", "commas")),
        ("a\tb\ty\n1\t2\t3\n", ("tabs",)),
        ('a,b,y\n"1,5",2,3\n', ("line 2", "decimals are written with a point")),
        ("a,b,y\n1,,3\n1,2,3\n", ("missing", "not be private")),
        ("a,b,y\n1,2\n", ("line 2", "cells")),
        ("a,b,y\n1,x,3\n", ("column b",)),
        ("a,b,z\n1,2,3\n", ("target",)),
        ("a,b,y\n", ("records",)),
        ("a,b,y\n1,2,3\n", ("n_samples",)),
        ("y\n1\n", ("regressors",)),
        ("a,c,y\n1,2,3\n", ("ranges",)),
    ],
)
def test_files_that_are_refused_in_one_line(capsys, tmp_path, text, words):
    assert refused(fit(capsys, tmp_path, csv=written(tmp_path / "bad.csv", text)), *words)
    assert not (tmp_path / "model.json").exists()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (("--epsilon", "nan"), ("epsilon",)),
        (("--delta", 0), ("delta",)),
        (("--ranges", "a=0:10, y=-5:15"), ("b",)),
        (("--ranges", "a=10:0, b=0:1, y=0:1"), ("low < high",)),
        (("--csv", "/dev/zero"), ("regular file",)),
        (("--csv", "absent.csv"), ("absent.csv",)),
        (("--level", 1), ("level",)),
        (("--level", "nan"), ("level",)),
        (("--out", "/dev/full"), ("out",)),
        (("--out", "no/such/folder.json"), ("out",)),
        (("--seed", -1), ("seed",)),
        (("--seed", 1, "--noise", "opendp"), ("seed",)),
        (("--beyond", "refuse", "--ranges", "a=0:5, b=-1:1, y=-5:15"), ("records beyond",)),
        (("--stand-in", "/dev/full"), ("regular file",)),
    ],
)
def test_options_that_are_refused_in_one_line(capsys, tmp_path, changed, words):
    assert refused(fit(capsys, tmp_path, *changed), *words)
    assert not (tmp_path / "model.json").exists()


def test_a_stand_in_has_the_same_columns_in_any_order(capsys, tmp_path):
    other = written(tmp_path / "other.csv", "b,a,z,y\n" + "0.1,3,1,2\n" * 9)
    assert refused(fit(capsys, tmp_path, "--stand-in", other), "stand_in", "columns a, b")
    table = np.loadtxt(written(tmp_path / "public.csv"), delimiter=",", skiprows=1)
    turned = tmp_path / "turned.csv"
    np.savetxt(turned, table[:, [1, 0, 2]], delimiter=",", header="b,a,y", comments="", fmt="%.17g")
    found = []
    for file in (tmp_path / "public.csv", turned):
        shown = fit(capsys, tmp_path, "--stand-in", file, "--seed", 0, "--json")
        found.append(json.loads(shown.out)["expected_excess_stand_in"])
        (tmp_path / "model.json").unlink()
    assert found[0] == pytest.approx(found[1])


def test_a_disk_that_is_full_does_not_cost_the_release(capsys, tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("verify.cli.files.write_whole", full)
    shown = fit(capsys, tmp_path, "--seed", 0, "--json")
    assert shown.status == 2 and len(json.loads(shown.out)["coefficients"]) == 2 and "No space" in shown.err


def test_a_bomb_is_refused(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("simulators.tables.MOST_CHARACTERS", 1000)
    bomb = tmp_path / "bomb.csv.gz"
    bomb.write_bytes(gzip.compress(b"a,b,y\n" + b"1,2,3\n" * 5000))
    assert refused(fit(capsys, tmp_path, csv=bomb), "characters")
