"""`dpbounds solve iv --csv`: estimates against least squares, noise against simulation, and what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.verify.cli.solve.examples import call, refused

N = 300
NAMES = ("z1", "z2", "x", "w", "y")
COLUMNS = ("--instruments", "z1", "z2", "w", "--regressors", "x", "w", "--outcome", "y")


def data() -> np.ndarray:
    """An endogenous regressor x, a control w, two instruments; in units of their own."""
    rng = np.random.default_rng(0)
    Z, w, u = rng.standard_normal((N, 2)), rng.standard_normal(N), rng.standard_normal(N)
    x = Z @ [1.0, 0.7] + 0.5 * w + u + rng.standard_normal(N)
    y = 2.0 * x - 3.0 * w + 2 * u + rng.standard_normal(N)
    return np.column_stack([10 * Z[:, 0] + 5, Z[:, 1], 100 * x + 7, w, y])


def written(folder: Path, values: Any, name: str = "data.csv") -> Path:
    lines = [",".join(NAMES), *(",".join(map(str, row)) for row in values)]
    text = "\r\n".join(lines).encode()
    (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return folder / name


def test_estimates_are_2sls_in_the_units_of_the_file(capsys, tmp_path):
    values = data()
    shown = call(capsys, "solve", "iv", "--csv", written(tmp_path, values), *COLUMNS, "--rho", 2, "--T", 6, "--json")
    row = next(row for row in shown.rows if row["T"] == 6)
    Z, X = np.column_stack([np.ones(N), values[:, [0, 1, 3]]]), np.column_stack([np.ones(N), values[:, [2, 3]]])
    fitted = Z @ np.linalg.lstsq(Z, X, rcond=None)[0]
    beta = np.linalg.lstsq(fitted, values[:, 4], rcond=None)[0]
    u = values[:, 4] - X @ beta
    se = np.sqrt(np.diag(np.linalg.inv(fitted.T @ fitted)) * (u @ u) / (N - 3))
    for own, estimate, error in zip(row["coefficients"], beta[1:], se[1:], strict=True):
        assert own["estimate"] == pytest.approx(estimate, rel=1e-8) and own["se"] == pytest.approx(error, rel=1e-8)
        assert own["noise_sd"] > 0 and own["noise_over_se"] > 0
    assert (row["n"], row["p"], row["q"], row["dropped"]) == (N, 2, 3, 0)
    assert row["rho_worst_case"] == pytest.approx(2.0, rel=1e-9) and row["coefficients"][1]["first_stage_F"] == "inf"
    assert row["coefficients"][0]["first_stage_F"] == pytest.approx(row["cragg_donald"], rel=1e-8)


def test_the_noise_is_that_of_simulated_runs(capsys, tmp_path):
    """Medians of 60 runs: intervals of level 0.95, widened by 15 %."""
    file = written(tmp_path, data(), "data.csv.gz")
    asked = ("--csv", file, *COLUMNS, "--epsilon", 8, "--T", 8, "--simulate", 60, "--seed", 5)
    rows = [row for row in call(capsys, "solve", "iv", *asked, "--json").rows if row["reliable"] and row["T"] <= 8]
    assert rows
    for row in rows:
        assert 0.85 * row["median_low"] <= row["median"] <= 1.15 * row["median_high"]
        assert row["epsilon_worst_case"] == pytest.approx(8, rel=1e-6) and row["trials"] == 60 and row["seed"] == 5
    text = call(capsys, "solve", "iv", *asked, "--simulate", 20, "--gamma1", 20, "--gamma2", 20).out
    for words in (
        "NOTHING PRINTED HERE IS PRIVATE",
        "2SLS, and what the noise",
        "Simulated ||beta_T",
        "choose them from public ones",
        "What it covers",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("--instruments", "z1"), ("instruments = 1 columns", "at least as many as regressors")),
        (("--instruments", "z1", "z1", "w"), ("instruments = z1", "named once")),
        (("--instruments", "z1", "z9", "w"), ("column = z9", "z1, z2, x, w, y")),
        (("--outcome", "x"), ("outcome = x", "neither instrument nor regressor")),
        (("--n", 5), ("n = 5", "left out with --csv")),
        (("--rho1", 1), ("budget", "--rho1 and --rho2, or --rho")),
    ],
)
def test_columns_that_do_not_fit(capsys, tmp_path, asked, words):
    shown = call(capsys, "solve", "iv", "--csv", written(tmp_path, data()), *COLUMNS, "--rho", 1, *asked)
    assert refused(shown, *words), shown


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({(3, 2): ""}, ("line 5, column x", "missing in 1 of 300 records", "--drop-missing")),
        ({(3, 2): "yes"}, ("line 5, column x = yes", "code text as numbers")),
        ({(3, 2): "inf"}, ("line 5, column x = inf", "finite number")),
    ],
)
def test_cells_that_are_no_numbers(capsys, tmp_path, change, words):
    values = data().astype(object)
    for place, text in change.items():
        values[place] = text
    shown = call(capsys, "solve", "iv", "--csv", written(tmp_path, values), *COLUMNS, "--rho", 1)
    assert refused(shown, *words), shown


def test_matrices_without_full_rank(capsys, tmp_path):
    constant, twice = data(), data()
    constant[:, 0], twice[:, 1] = 4.0, 2 * twice[:, 0]
    for values, words in ((constant, ("column z1", "one value")), (twice, ("Z'Z/n", "linear combinations of others"))):
        shown = call(capsys, "solve", "iv", "--csv", written(tmp_path, values), *COLUMNS, "--rho", 1)
        assert refused(shown, *words), shown


def test_files_that_are_none(capsys, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "broken.csv.gz").write_bytes(b"\x1f\x8b\x08no")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    for name in ("empty.csv", "broken.csv.gz", "binary.csv", "absent.csv"):
        shown = call(capsys, "solve", "iv", "--csv", tmp_path / name, *COLUMNS, "--rho", 1)
        assert shown.status == 2 and shown.err.count("\n") == 1, shown


def test_weak_instruments_and_records_left_out_are_said(capsys, tmp_path):
    values = data().astype(object)
    rng = np.random.default_rng(1)
    values[:, 0], values[:, 1], values[7, 4] = rng.standard_normal(N), rng.standard_normal(N), "NA"
    asked = ("--csv", written(tmp_path, values), *COLUMNS, "--rho", 1, "--drop-missing", "--T", 3)
    text = call(capsys, "solve", "iv", *asked).out
    assert "WEAK INSTRUMENTS for x" in text and "1 records with a missing value are left out" in text
