"""`dpbounds solve ols`: rows, tables, data sets, and what it refuses in one line."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import numpy as np
import pytest

from dpbounds.ols import Gram, compare
from tests.verify.cli.solve.examples import call, refused

SMALL = ("solve", "ols", "--n", 2000, "--d", 3, "--epsilon", 1)


def table(path: Path, rows: int = 120, missing: bool = False) -> Path:
    """A CSV file with columns a, b and y."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, 2)) * (3.0, 1.0)
    values = np.column_stack([X, X @ (1.0, -2.0) + rng.standard_normal(rows)]).tolist()
    if missing:
        values[5][1] = ""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([["a", "b", "y"], *values])
    content = text.getvalue().encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def test_rows_are_those_of_compare_for_the_design_assumed(capsys):
    rows = call(capsys, *SMALL, "--json").rows
    A = np.diag(np.full(3, 2000 * 0.25 / 3))
    theta = np.full(3, 0.5 / 3**0.5)
    gram = Gram(A=A, b=A @ theta, y_squared=float(theta @ A @ theta) + 100.0, n=2000)
    found = compare(gram, 1.0, 2000.0**-2, references=True)
    assert [(row["method"], row["accounting"]) for row in rows] == [(row.label, row.accounting) for row in found.rows]
    assert [row["risk"] for row in rows] == pytest.approx([float(row.risk) for row in found.rows], rel=1e-9)
    assert [row["method"] for row in rows if row["recommended"]] == [found.recommended.label]


def test_tables_say_what_is_assumed_what_is_private_and_what_to_take(capsys):
    shown = call(capsys, *SMALL, "--lambda-min", 2)
    assert shown.status == 0 and shown.err == ""
    for words in ("Assumed: a geometric spectrum", "At equal true privacy", "paper's accounting", "Recommended"):
        assert words in shown.out
    assert "lambda_min(X'X) = 2," in shown.out


def test_a_data_set_is_scaled_by_its_own_bounds_and_says_so(capsys, tmp_path):
    plain = call(capsys, "solve", "ols", "--csv", table(tmp_path / "a.csv"), "--target", "y", "--epsilon", 1)
    zipped = call(capsys, "solve", "ols", "--csv", table(tmp_path / "a.csv.gz"), "--target", "y", "--epsilon", 1)
    assert plain.status == 0 and plain.out.replace("a.csv ", "") == zipped.out.replace("a.csv.gz ", "")
    said = " ".join(plain.out.split())
    assert "is not private" in said and "||x|| and |y| are the data's own largest" in said


def test_risks_are_in_the_units_of_the_data(capsys, tmp_path):
    file = table(tmp_path / "a.csv")
    rows = call(capsys, "solve", "ols", "--csv", file, "--target", "y", "--epsilon", 1, "--json").rows
    values = np.loadtxt(file, delimiter=",", skiprows=1)
    fit = values[:, :2] @ np.linalg.lstsq(values[:, :2], values[:, 2], rcond=None)[0]
    (zero,) = [row for row in rows if row["method"] == "theta = 0" and row["accounting"] == "tight"]
    assert zero["risk"] == pytest.approx(float(fit @ fit), rel=1e-9)


def test_simulated_medians_agree_with_exact_risks_and_repeat(capsys):
    asked = (*SMALL, "--simulate", 300, "--seed", 4, "--json")
    rows = call(capsys, *asked).rows
    assert rows == call(capsys, *asked).rows
    for row in rows:
        if row["method"] not in (
            "theta = 0",
            "LinMix",
            "PRN",
        ):  # the mean is far above the median; no mean; an estimate
            assert 0.6 * row["risk"] < row["median_simulated"] < 1.4 * row["risk"], row["method"]
    assert sum("median_simulated" in row for row in rows) == len(rows) - 2


def test_clip_shortens_records_beyond_the_bounds(capsys, tmp_path):
    asked = ("solve", "ols", "--csv", table(tmp_path / "a.csv"), "--target", "y", "--epsilon", 1, "--row-bound", 2)
    assert refused(call(capsys, *asked), "row_bound = 2.0", "what the data reach", "beyond = clip")
    shown = call(capsys, *asked, "--beyond", "clip")
    assert shown.status == 0 and "Records beyond row_bound were shortened" in " ".join(shown.out.split())


def test_missing_values_are_refused_or_left_out(capsys, tmp_path):
    asked = ("solve", "ols", "--csv", table(tmp_path / "a.csv", missing=True), "--target", "y", "--epsilon", 1)
    assert refused(call(capsys, *asked), "1 records have some: --drop-missing")
    assert "1 records with a missing value were left out" in " ".join(
        call(capsys, *asked, "--drop-missing").out.split()
    )


def test_a_budget_that_is_worth_nothing_says_which_would_be(capsys):
    shown = call(capsys, "solve", "ols", "--n", 300, "--d", 20, "--epsilon", 0.05)
    said = " ".join(shown.out.split())
    assert "None of these is useful here" in said and "would be reached at epsilon =" in said


def test_picture_and_rows_are_written(capsys, tmp_path):
    call(capsys, *SMALL, "--plot", tmp_path / "risk.svg", "--save", tmp_path / "rows.json")
    assert (tmp_path / "risk.svg").read_bytes().startswith(b"<?xml")
    assert json.loads((tmp_path / "rows.json").read_text())[0]["method"] == "IHM"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("--epsilon", 0), ("epsilon = 0.0", "above 0")),
        (("--epsilon", "nan"), ("epsilon = nan",)),
        (("--epsilon", 1e-9), ("epsilon = 1e-09", "[1e-6, 1e6]")),
        (("--delta", 1), ("delta = 1.0", "1e-290, 1)")),
        (("--delta", 0), ("delta = 0.0",)),
        (("--n", 2), ("n = 2", "at least 3", "d = 3: with fewer records")),
        (("--d", 0), ("d = 0",)),
        (("--d", 301), ("d = 301", "at most 300", "fewer columns")),
        (("--k", 6), ("k = 6", "at least 7", "d + 4 rows")),
        (("--linear-k", 4), ("linear_k = 4", "at least 5", "d + 2 rows")),
        (("--k", 10**9), ("k = 1000000000", "at most 333333333")),
        (("--T", 0), ("T = 0",)),
        (("--failure", 1), ("failure = 1.0",)),
        (("--clip", 0), ("clip = 0.0",)),
        (("--rate", -1), ("rate = -1.0",)),
        (("--residual", 1), ("||Y||²/n", "at most 1")),
        (("--lambda-min", 900), ("lambda_min = 900.0", "n/(4d)")),
        (("--lambda-min", 0), ("lambda_min = 0.0", "above 0")),
        (("--target", "y"), ("target = y", "left out without --csv")),
        (("--spectrum", "/nowhere/values"), ("spectrum = /nowhere/values",)),
        (("--simulate", 3), ("--simulate", "'3'")),
        (("--simulate", 100, "--n", 10**9), ("n = 1000000000", "to be simulated")),
        (("--plot", "risk.txt"), ("--plot", "'risk.txt'")),
        (("--csv", "/nowhere/a.csv"), ("left out with --csv",)),
    ],
)
def test_refused_in_one_line(capsys, asked, words):
    assert refused(call(capsys, *SMALL, *asked), *words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,y\n1,2\n2,high\n", ("line 3, column y", "high")),
        ("a,y\n", ("records",)),
        ("a,b\n1,2\n", ("target = y", "columns a, b")),
        ("a,b,c,y\n1,2,3,4\n1,2,2,1\n", ("n = 2", "at least 3", "d = 3")),
        ("a,y\n0,1\n0,2\n", ("row_bound = 0.0", "above 0")),
        ("y\n1\n2\n", ("an outcome and regressors",)),
    ],
)
def test_bad_files_are_refused_in_one_line(capsys, tmp_path, content, words):
    file = tmp_path / "bad.csv"
    file.write_text(content)
    assert refused(call(capsys, "solve", "ols", "--csv", file, "--target", "y", "--epsilon", 1), *words)


def test_a_spectrum_of_the_wrong_size_or_sum_is_refused(capsys, tmp_path):
    file = tmp_path / "values.txt"
    for content, words in (("1, 2", "it holds 2"), ("1 2 x", "'x'"), ("1\n2\n3000", "at most n = 2000")):
        file.write_text(content)
        assert refused(call(capsys, *SMALL, "--spectrum", file), words)
    file.write_text("1\n20\n300\n")
    assert "lambda_min(X'X) = 1," in call(capsys, *SMALL, "--spectrum", file).out


def test_records_that_stand_in_may_choose_settings(capsys, tmp_path):
    given = ("solve", "ols", "--csv", table(tmp_path / "a.csv", 600), "--target", "y", "--epsilon", 0.5)
    own, stand_in = call(capsys, *given), call(capsys, *given, "--stand-in")
    assert "Recommended at equal true privacy: DP-GD, tuned" not in own.out
    said = " ".join(stand_in.out.split())
    assert "private for others" in said and "on 600 other records" in said
    fewer = " ".join(call(capsys, *given, "--stand-in", "--n", 80).out.split())
    assert fewer.startswith("n = 80,") and "on 80 other records" in fewer
    assert refused(call(capsys, *given, "--n", 80), "n = 80", "left out with --csv", "--stand-in")
    assert refused(
        call(capsys, *given, "--stand-in", "--n", 80, "--simulate", 20), "simulate = 20", "left out with --n"
    )
