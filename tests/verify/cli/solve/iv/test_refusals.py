"""`dpbounds solve iv`: what it refuses, in one line each."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from tests.verify.cli.solve.examples import Shown, call, refused
from verify.cli import files

SMALL = ("solve", "iv", "--n", 2000, "--p", 2, "--q", 3, "--rho1", 1, "--rho2", 1)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("--p", 4), ("q = 3", "from 4 to", "p = 4: 2SLS needs as many instruments")),
        (("--n", 2), ("n = 2", "from 3 to", "q = 3")),
        (("--n", "2e3"), ("--n", "'2e3'")),
        (("--p", 0), ("p = 0", "whole number from 1")),
        (("--rho1", 0), ("rho1 = 0.0", "[1e-12, 1e12]", "inf stands for no noise")),
        (("--rho2", -1), ("rho2 = -1.0", "inf stands for no noise")),
        (("--rho2", "nan"), ("rho2 = nan", "finite")),
        (("--rho1", "1e400"), ("--rho1", "'1e400' is beyond the range of floats", "asked for by inf")),
        (("--rho", 1), ("budget = --rho1, --rho2, --rho", "--rho1 and --rho2, or --rho")),
        (("--epsilon", 1), ("budget = --rho1, --rho2, --epsilon",)),
        (("--regressors", "x"), ("regressors = ['x']", "left out without --csv")),
        (("--simulate", 3), ("--simulate", "'3' is not a whole number from 10")),
        (("--simulate", "1e3"), ("--simulate", "'1e3'")),
        (("--simulate", 100, "--seed", -1), ("--seed",)),
        (("--simulate", 100, "--n", 10**8), ("n = 100000000", "to be simulated")),
        (("--simulate", 10**6, "--n", 10**6), ("trials = 1000000", "fewer")),
        (("--T", 3, 0), ("T = 0", "whole number from 1")),
        (("--T", 10**12), ("T = 1000000000000", "to 1000000000")),
        (("--eta", 2), ("eta = 2.0", "2 / (1 + delta)² = 2", "iv eq. (3)")),
        (("--eta", 0), ("eta = 0.0", "above 0")),
        (("--alpha", 1.34), ("alpha = 1.34", "4 / (2 gamma-upper + gamma-lower) = 1.33333")),
        (("--alpha", "nan"), ("alpha = nan",)),
        (("--gamma1", 0), ("gamma1 = 0.0", "[1e-12, 1e12]")),
        (("--gamma2", "inf"), ("gamma2 = inf",)),
        (("--tau", 0), ("tau = 0.0",)),
        (("--sigma-z", -1), ("sigma_z = -1.0",)),
        (("--sigma-1", "nan"), ("sigma_1 = nan",)),
        (("--delta", 1), ("delta = 1.0", "[1e-300, 1)")),
        (("--adjacency", "none"), ("--adjacency", "'none'")),
        (("--constant", "c_0=1"), ("constant = c_0=1", "NAME=VALUE", "clipping")),
        (("--constant", "clipping"), ("constant clipping = ", "real number")),
        (("--constant", "clipping=0"), ("clipping = 0.0", "above 0")),
        (("--constant", "product=-1"), ("constant product = -1", "[0, 1e12]")),
        (("--singular-values", 1, 2, 3), ("singular_values = 3 numbers", "one number or p = 2")),
        (("--singular-values", 1, 0), ("singular_values = 0.0", "[1e-12, 1e12]")),
        (("--beta", 1), ("beta = 1 numbers", "p = 2 numbers")),
        (("--beta", 1, "inf"), ("beta[1] = inf", "finite")),
        (("--save", "/nowhere/rows.json"), ("save = /nowhere/rows.json", "folder that exists")),
        (("--plot", "curve.txt"), ("--plot", "'curve.txt' does not end in .svg")),
    ],
)
def test_bad_input_is_one_line(capsys, asked, words):
    shown = call(capsys, *SMALL, *asked)
    assert refused(shown, *words), shown


def test_step_sizes_are_refused_at_the_limit_that_the_constants_give(capsys):
    """delta = c (sqrt 3 + sqrt 5) / sqrt n: the limit of eta is 2 / (1 + delta)²."""
    limit = 2 / (1 + (math.sqrt(3) + math.sqrt(5)) / math.sqrt(2000)) ** 2
    shown = call(capsys, *SMALL, "--eta", limit * 1.001, "--constant", "concentration=1")
    assert refused(shown, f"= {limit:.6g}")
    assert call(capsys, *SMALL, "--eta", limit * 0.999, "--constant", "concentration=1").status == 0


def test_check_is_not_for_a_topic(capsys):
    assert refused(call(capsys, "solve", "--check", "rows.json", *SMALL[1:]), "check = rows.json", "without a topic")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("text.csv", "1,0\n0,x\n0,0\n", ("no finite number",)),
        ("missing.csv", "1,0\n0,\n0,0\n", ("array of real numbers",)),
        ("nan.csv", "1,0\n0,nan\n0,0\n", ("'nan' is no finite number",)),
        ("ragged.csv", "1,0\n0\n0,0\n", ("array of real numbers",)),
        ("empty.csv", "", ("non-empty",)),
        ("short.json", "[[1, 0], [0, 1]]", ("3 rows of 2 numbers", "it holds 2 rows of 2")),
        ("object.json", '{"theta": 1}', ("no list of lists",)),
        ("words.json", '["12", "34", "56"]', ("no list of lists",)),
        ("bool.json", "[[true, 0], [0, 1], [0, 0]]", ("not a number",)),
        ("infinite.json", "[[1e400, 0], [0, 1], [0, 0]]", ("theta[0, 0] = inf",)),
        ("large.json", f"[[1{'0' * 400}, 0], [0, 1], [0, 0]]", ("too large",)),
        ("broken.json", "[[1, 0], [0,", ("Expecting value",)),
        ("deep.json", "[" * 100_000, ("recursion",)),
        ("weak.json", "[[1, 2], [2, 4], [3, 6]]", ("of rank p = 2", "instrument of its own")),
        ("zero.json", "[[0, 0], [0, 0], [0, 0]]", ("largest entry",)),
    ],
)
def test_a_theta_file_that_is_not_one(capsys, tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    shown = call(capsys, *SMALL, "--theta", tmp_path / name)
    assert refused(shown, "theta", *words), shown


def test_a_theta_file_that_cannot_be_read(capsys, tmp_path):
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    for file in (tmp_path / "binary.csv", tmp_path / "absent.csv", tmp_path):
        assert refused(call(capsys, *SMALL, "--theta", file), f"theta = {file}", "3 rows of 2 numbers")
    shown = call(capsys, *SMALL, "--theta", tmp_path / "absent.csv", "--singular-values", 1)
    assert refused(shown, "singular_values = [1.0]", "left out with --theta")


def test_a_full_disk_does_not_cost_the_table(capsys, monkeypatch, tmp_path):
    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "write_whole", full)
    shown: Shown = call(capsys, *SMALL, "--save", tmp_path / "rows.json")
    assert "Best T: " in shown.out and refused(replace(shown, out=""), "save = ", "No space left")
