"""`dpbounds solve glm`: rows, tables, public records, and what it refuses in one line."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from dpbounds.glm import recommend
from tests.verify.cli.solve.examples import call, refused
from verify.cli.solve.glm import arguments

SMALL = ("solve", "glm", "--link", "logistic", "--p", 3, "--n", 20_000, "--epsilon", 10, "--delta", 1e-5)


def public(path, rows=200, text=None):
    """A CSV file of three columns."""
    values = np.random.default_rng(0).standard_normal((rows, 3)) * (1.0, 0.5, 2.0)
    lines = [",".join(f"{value:.6f}" for value in row) for row in values.tolist()]
    if text is not None:
        lines[4] = text
    path.write_text("\n".join(["a,b,c", *lines]) + "\n")
    return path, values


def test_choices_are_those_of_the_theory():
    from typing import get_args

    from dpbounds.glm import LINKS
    from dpbounds.glm.asymptotics import Estimator

    assert set(arguments.LINKS) == set(LINKS)
    assert get_args(Estimator) == arguments.ESTIMATORS


def test_rows_are_those_of_the_answer(capsys):
    rows = call(capsys, *SMALL, "--m", 5000, "--json").rows
    found = recommend("logistic", p=3, n=20_000, m=5000, epsilon=10.0, delta=1e-5)
    assert [(row["estimator"], row["calibration"]) for row in rows] == [
        *((r.estimator, r.calibration) for r in found.rows),
        *((r.estimator, "best radius") for r in found.references),
        *((r.name, "message") for r in found.messages),
        ("zero", "nothing"),
    ]
    errors = [*(float(row.relative) for row in (*found.rows, *found.references, *found.messages)), 1.0]
    assert [row["error"] for row in rows] == pytest.approx(errors, rel=1e-9)
    assert [row["estimator"] for row in rows if row["recommended"]] == [found.recommended] == ["cap-message"]
    parts = ("sampling", "gram_noise", "cross_noise", "public_covariance", "public_scale")
    for row in rows:
        bend = 1 + row["excess"] if row["calibration"] == "message" else 1
        total = (
            1.0 if row["estimator"] == "zero" else bend * sum(row[name] for name in parts) + row.get("clipping", 0.0)
        )
        assert total == pytest.approx(row["error"], rel=1e-9)
    assert all(row["delta_within_bounds"] <= 1e-5 * (1 + 1e-9) for row in rows)
    assert [row["private_for_all"] for row in rows] == [False, False, *[True] * 12]


def test_tables_say_what_is_assumed_what_is_private_and_what_to_take(capsys):
    shown = call(capsys, *SMALL, "--target", 0.1)
    said = " ".join(shown.out.split())
    assert shown.status == 0 and shown.err == ""
    for words in (
        "Assumed: x Gaussian, of covariance 1 I",
        "As printed",
        "At equal true privacy",
        "References at equal true privacy: labels centred",
        "for all records the true delta is 1",
        "Recommended at equal true privacy: cap-message",
        "Among the estimators by least squares: public-covariance",
        "For a relative error of 0.1 by public-covariance: n =",
        "With n = 200000 and m = 20000",
    ):
        assert words in said, words


def test_simulated_medians_repeat_and_agree_with_the_prediction(capsys):
    asked = (*SMALL, "--epsilon", 100, "--seed", 3, "--json", "--simulate")
    assert call(capsys, *asked, 10).rows == call(capsys, *asked, 10).rows
    for row in call(capsys, *asked, 40).rows:
        if row["reliable"] and row["estimator"] != "zero":
            assert 0.3 * row["error"] < row["median_simulated"] < 1.6 * row["error"], row["estimator"]
            assert row["no_root"] == 0.0


def test_without_public_records_the_scale_comes_from_the_private_ones(capsys):
    rows = call(capsys, *SMALL, "--m", 0, "--json").rows
    assert [row["estimator"] for row in rows] == ["no-public-data", "no-public-data", "zero"]
    assert refused(call(capsys, *SMALL, "--m", 0, "--estimator", "pooled"), "m = 0", "needs none")
    assert refused(call(capsys, *SMALL, "--m", 2), "m = 2", "0 or at least p = 3")


def test_public_records_give_the_covariance(capsys, tmp_path):
    file, values = public(tmp_path / "x.csv")
    asked = ("solve", "glm", "--link", "logistic", "--public", file, "--n", 20_000, "--epsilon", 10, "--json")
    rows = call(capsys, *asked).rows
    matrix = tmp_path / "sigma.txt"
    np.savetxt(matrix, values.T @ values / 200, fmt="%.17g")
    same = call(capsys, *asked[:4], "--covariance", matrix, "--m", 200, *asked[6:]).rows
    assert [row["error"] for row in rows] == pytest.approx([row["error"] for row in same], rel=1e-5)
    assert refused(call(capsys, *asked, "--m", 100), "m = 100", "200 or left out")
    assert refused(call(capsys, *asked, "--radius", 1.0), "radius = 1.0", "what the public records reach", "beyond")
    assert call(capsys, *asked, "--radius", 3.0, "--beyond", "clip").rows[5]["radius"] == 3.0


def test_bounds_of_the_users_own_are_clipped_to_in_simulation(capsys):
    """Clipping to half the typical length shrinks x x^T: the median error is far above what the noise explains."""
    own = ("--radius", 0.5, "--epsilon", 500, "--estimator", "no-public-data", "--simulate", 10, "--json")
    row, _ = call(capsys, *SMALL, *own).rows
    assert row["radius"] == 0.5 and row["median_simulated"] > 5 * row["error"]
    said = " ".join(call(capsys, *SMALL, "--radius", 2.0).out.split())
    assert "leaves out what clipping to radius" in said


def test_picture_and_rows_are_written(capsys, tmp_path):
    call(capsys, *SMALL, "--plot", tmp_path / "error.svg", "--save", tmp_path / "rows.json")
    assert (tmp_path / "error.svg").read_bytes().startswith(b"<?xml")
    assert json.loads((tmp_path / "rows.json").read_text())[0]["estimator"] == "paper"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("--epsilon", 0), ("epsilon = 0.0", "above 0")),
        (("--epsilon", "nan"), ("epsilon = nan",)),
        (("--epsilon", 1e-9), ("epsilon = 1e-09", "[1e-6, 1e6]")),
        (("--delta", 1), ("delta = 1.0",)),
        (("--delta", 0), ("delta = 0.0",)),
        (("--n", 3), ("n = 3", "at least 4", "more records than coordinates")),
        (("--p", 0), ("p = 0",)),
        (("--p", 501), ("p = 501", "at most 500")),
        (("--failure", 1), ("failure = 1.0",)),
        (("--variance", 0), ("variance = 0.0",)),
        (("--w-norm", 0), ("w_norm = 0.0",)),
        (("--w-norm", 1e9), ("q = ", "at most")),
        (("--ols-size", 0.4), ("ols_size = 0.4", "0.398942", "no root")),
        (("--ols-size", 0.1, "--w-norm", 1), ("ols_size = 0.1", "left out with w_norm")),
        (("--noise", 1), ("noise = 1.0", "logistic")),
        (("--label-bound", 0.5), ("label_bound = 0.5", "at least 1")),
        (("--radius", 0), ("radius = 0.0",)),
        (("--target", 2), ("target = 2.0",)),
        (("--link", "probit"), ("--link", "probit")),
        (("--covariance", "/nowhere"), ("covariance = /nowhere",)),
        (("--simulate", 3), ("--simulate", "'3'")),
        (("--simulate", 100, "--n", 10**9), ("n = 1000000000", "for a simulation")),
        (("--plot", "error.txt"), ("--plot", "'error.txt'")),
    ],
)
def test_refused_in_one_line(capsys, asked, words):
    assert refused(call(capsys, *SMALL, *asked), *words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("1 2\n2 4\n", ("covariance", "eigenvalues", "regular")),
        ("1 2\n3 4\n", ("not symmetric",)),
        ("1 2 3\n4 5 6\n", ("covariance", "shape")),
        ("1 2\n3\n", ("covariance",)),
        ("1 x\n", ("covariance", "'x'")),
        ("nan 0\n0 1\n", ("covariance", "finite")),
        ("", ("covariance",)),
    ],
)
def test_bad_covariances_are_refused(capsys, tmp_path, content, words):
    file = tmp_path / "sigma.txt"
    file.write_text(content)
    asked = ("solve", "glm", "--link", "cubic", "--n", 1000, "--epsilon", 1, "--covariance", file)
    assert refused(call(capsys, *asked), *words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,2,high", ("line 6, column c", "high")),
        ("1,,2", ("line 6, column b", "missing in 1 of")),
        ("1,2", ("line 6", "2 cells")),
        ("1,2,inf", ("line 6, column c",)),
        ('1,2,"3,5"', ("line 6, column c", "decimals are written with a point")),
    ],
)
def test_bad_public_records_are_refused(capsys, tmp_path, text, words):
    file, _ = public(tmp_path / "x.csv", text=text)
    asked = ("solve", "glm", "--link", "logistic", "--n", 1000, "--epsilon", 1, "--public", file)
    assert refused(call(capsys, *asked), *words)


def test_few_or_dependent_public_records_are_refused(capsys, tmp_path):
    file = tmp_path / "x.csv"
    asked = ("solve", "glm", "--link", "logistic", "--n", 1000, "--epsilon", 1, "--public", file)
    cases = {
        "a,b\n1,2\n": "m = 1",
        "a,b\n1,2\n2,4\n3,6\n": "regular",
        "a,b\n": "header alone",
        "a;b\n1,5;2\n": "semicolons",
    }
    for content, words in cases.items():
        file.write_text(content)
        assert refused(call(capsys, *asked), words)


def test_packed_public_records_are_read_and_bounded(capsys, tmp_path):
    file, _ = public(tmp_path / "x.csv")
    packed, bomb = tmp_path / "x.csv.gz", tmp_path / "bomb.csv.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    asked = ("solve", "glm", "--link", "logistic", "--n", 20_000, "--epsilon", 10, "--json", "--public")
    assert call(capsys, *asked, packed).rows == call(capsys, *asked, file).rows
    bomb.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * (1 << 26)))
    assert refused(call(capsys, *asked, bomb), "characters, unpacked")
