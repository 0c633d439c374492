"""`dpbounds solve iv --confidence`: what it refuses, in one line."""

from __future__ import annotations

import numpy as np
import pytest

from tests.verify.cli.solve.examples import call, refused
from tests.verify.cli.solve.iv.confidence import NAMES, STRETCH, data, solve, written


def test_an_instrument_that_is_the_regressor_is_refused(capsys, tmp_path):
    values = data(60)
    values[:, 0] = values[:, 2]
    shown = solve(capsys, written(tmp_path, values), "--instruments", "A", "--seed", 1)
    assert refused(shown, "column A = column C again", "not private"), shown


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--bounds", "D=0:52"), ("bounds = none for C", "never read from them")),
        (("--bounds", "D=52:0", "C=0:1"), ("bounds D = 52:0", "LOW below HIGH")),
        (("--bounds", "D=0:52", "C=1:1"), ("bounds C = 1:1", "LOW below HIGH")),
        (("--bounds", "D=0:52", "C=0:1", "C=0:2"), ("given once",)),
        (("--bounds", "D=0:inf", "C=0:1"), ("bounds D = inf", "finite")),
        (("--bounds", "D=0:nan", "C=0:1"), ("bounds D = nan",)),
        (("--bounds", "D:0:52", "C=0:1"), ("bounds = D:0:52", "COLUMN=LOW:HIGH")),
        (("--bounds", "D=0:52", "C=0:1", "E=0:1"), ("bounds = E", "one of D, C, A, B")),
        (("--instruments", "A", "--regressors", "C", "W"), ("regressors = 2 columns", "that of one coefficient")),
        (("--instruments", "A", "A"), ("instruments = A", "named once")),
        (("--controls", "A"), ("controls = A", "one role", "controls alone")),
        (("--epsilon", 0), ("epsilon = 0.0", "[1e-6, 1e3]")),
        (("--epsilon", -1), ("epsilon = -1.0",)),
        (("--epsilon", "nan"), ("epsilon = nan",)),
        (("--delta", 0), ("delta = 0.0",)),
        (("--delta", 1), ("delta = 1.0",)),
        (("--mu", 1), ("budget = epsilon, mu",)),
        (("--rho1", 1), ("rho1 = 1.0", "left out with --confidence")),
        (("--adjacency", "add-remove"), ("adjacency = add-remove", "zero-out")),
        (("--level", 1), ("level = 1.0",)),
        (("--design", "s"), ("instruments = 2 columns", "one randomised instrument")),
        (("--design", "s", "--instruments", "A", "--grid=1:0"), ("grid = 1:0", "LOW below HIGH")),
        (("--design", "s", "--instruments", "A", "--grid=0:1:5"), ("grid points = 5",)),
        (("--design", "h"), ("design = h", "instrument_means")),
        (("--instrument-means", "A=0.5"), ("one for each of A, B",)),
        (("--instrument-means", "A=0.5", "B=7"), ("instrument_means B = 7", "[0.0, 1.0]")),
        (("--honest",), ("honest", "one instrument")),
        (("--n", 10), ("n = 10", "left out with --csv")),
        (("--simulate", 20), ("simulate = 20", "left out with --confidence")),
        (("--noise", "opendp", "--seed", 1), ("noise = opendp",)),
        (("--grid=0:1",), ("grid = 0:1", "design is s")),
        (("--clamping", "stretch"), ("instruments = ", "one with clamping stretch")),
        ((*STRETCH, "--controls", "W"), ("controls = ", "none with clamping stretch", "clamping natural")),
        ((*STRETCH, "--heterogeneity", 0.9), ("heterogeneity = 0.9",)),
        ((*STRETCH, "--heterogeneity", "nan"), ("heterogeneity = nan",)),
        (("--instruments", "A", "--clamping", "stretch"), ("heterogeneity = 1.0", "for some records alone")),
        ((*STRETCH, "--bounds", "D=0:20", "C=0:1", "A=0:2"), ("column A = other values", "ends of its range")),
        (("--regressor-clamped",), ("regressor_clamped = True", "clamping is stretch")),
        (("--bounds", "D=0:20", "C=0:1"), ("column D = ", "outside 0:20", "clamping stretch", "design s")),
        ((*STRETCH, "--bounds", "D=0:20", "C=2:3"), ("column C = ", "outside 2:3", "regressor_clamped")),
    ],
)
def test_bad_input_is_one_line(capsys, file, options, words):
    assert refused(shown := solve(capsys, file, *options), *words), shown


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ((3, 2, ""), ("line 5, column C", "--drop-missing", "not private")),
        ((3, 2, "yes"), ("line 5, column C = yes", "not private")),
        ((slice(None), 0, 1), ("column A = one value in all records", "not private")),
    ],
)
def test_a_refusal_that_depends_on_the_records_says_so(capsys, tmp_path, change, words):
    values = data(60).astype(object)
    rows, column, text = change
    values[rows, column] = text
    assert refused(shown := solve(capsys, written(tmp_path, values), "--seed", 1), *words), shown


def test_controls_whose_cells_are_all_too_small(capsys, tmp_path):
    values = data(300)
    values[:, 4] = np.arange(300) % 100
    shown = solve(capsys, written(tmp_path, values), "--controls", "W", "--seed", 1)
    assert refused(shown, "controls = 100 cells", "more epsilon, or fewer cells"), shown


def test_a_grid_that_is_too_coarse(capsys, file):
    options = (
        "--instruments",
        "A",
        "--design",
        "s",
        "--grid=-2000:1000:20",
        "--instrument-means",
        "A=0.5",
        "--seed",
        1,
    )
    assert refused(shown := solve(capsys, file, *options), "grid = ", "budget of this release is spent"), shown


def test_options_of_the_set_are_for_the_set(capsys):
    shown = call(capsys, "solve", "iv", "--n", 2000, "--p", 2, "--q", 3, "--rho", 1, "--bounds", "D=0:1")
    assert refused(shown, "bounds = ['D=0:1']", "left out without --confidence")


def test_files_of_another_habit_are_named(capsys, tmp_path):
    rows = data(60)
    for mark, words in ((";", "it has semicolons"), ("\t", "it has tabs")):
        lines = [mark.join(NAMES), *(mark.join(map(str, row)) for row in rows)]
        (tmp_path / "other.csv").write_text("\n".join(lines))
        assert refused(shown := solve(capsys, tmp_path / "other.csv"), words, "columns apart by commas"), shown
    commas = rows.astype(object)
    commas[4, 3] = '"12,5"'
    assert refused(shown := solve(capsys, written(tmp_path, commas)), "line 6, column D = 12,5", "decimal comma"), shown
