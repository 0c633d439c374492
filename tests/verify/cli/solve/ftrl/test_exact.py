"""`dpbounds solve ftrl` for mean estimation and linear regression: finite time, spectra, budgets, pictures."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from dpbounds.ftrl import correlations, linear_regression
from dpbounds.ftrl.linear_regression import Regression
from tests.verify.cli.solve.examples import SOLVE, call, refused
from verify.cli.solve.ftrl import plot, spectra

MEAN = ("solve", "ftrl", "--problem", "mean-estimation", "--eta", "0.1")
SPECTRUM = ("solve", "ftrl", "--eta", "0.1", "--mechanism", "sgd", "--json", "--spectrum")


def alike(one, other):
    """The same columns with the same texts and nearly the same numbers."""
    numbers = [name for name, value in one.items() if isinstance(value, float)]
    rest = set(one) - set(numbers)
    return {name: one[name] for name in rest} == {name: other[name] for name in set(other) - set(numbers)} and all(
        other[name] == pytest.approx(one[name], rel=1e-9) for name in numbers
    )


# --- defaults, and what is said ---


def test_the_default_mechanisms_are_independent_best_nu_and_optimal(capsys):
    rows = call(capsys, *SOLVE, "--json").rows
    assert [row["mechanism"] for row in rows] == ["sgd", "best-nu", "optimal"]
    assert [row["mechanism"] for row in call(capsys, *MEAN, "--json").rows] == ["sgd", "optimal"]
    assert rows[0]["over_optimum"] > 3 and rows[1]["over_optimum"] < 1.05 and rows[2]["over_optimum"] == 1


def test_nu_without_a_number_is_the_best(capsys):
    """At kappa = 1000 the choice eta * mu costs more than twice the best."""
    asked = ("solve", "ftrl", "--kappa", "1000", "--eta", "0.5", "--mechanism", "nu", "best-nu")
    nu, best = call(capsys, *asked, "--json").rows
    assert nu["nu"] == best["nu"] and nu["suboptimality"] == best["suboptimality"]
    (given,) = call(capsys, *asked[:-1], "--nu", 0.5 / 1000, "--json").rows
    assert given["over_optimum"] > 1.2 * nu["over_optimum"]
    for factor in (0.7, 1.4):
        (near,) = call(capsys, *asked[:-1], "--nu", nu["nu"] * factor, "--json").rows
        assert near["suboptimality"] > nu["suboptimality"]
    assert "nu: the best for each row" in call(capsys, *asked).out
    assert "nu: the best" not in call(capsys, *asked[:-1], "--nu", "0.1").out


@pytest.mark.parametrize("options", [(), ("--problem", "mean-estimation"), ("--program", "f", "--max-lag", "2")])
def test_privacy_is_said_to_hold_for_one_pass(capsys, options):
    kappa = () if "mean-estimation" in options else ("--kappa", "10")
    shown = call(capsys, "solve", "ftrl", *kappa, "--eta", "0.1", "--mechanism", "sgd", *options)
    words = " ".join(shown.out.split())
    assert "It holds for one pass over the data, each record in one step; k passes cost up to k^2 rho." in words
    assert "rho = 0.5 is epsilon = 4.377 at delta = 1e-05" in words


def test_kappa_means_two_eigenvalues_and_says_so(capsys):
    assert "the two eigenvalues 1 and 1/kappa" in " ".join(call(capsys, *SOLVE).out.split())
    assert "two eigenvalues" not in call(capsys, *SOLVE, "--d", "3").out
    assert "the two eigenvalues 1 and 1/kappa alone" in " ".join(call(capsys, "solve", "ftrl", "--help").out.split())


# --- finite time ---


def test_mean_estimation_at_T_by_brute_force(capsys):
    """theta_T - E z is linear in the start, the records and the draws: eta sum_t (1 - eta)^(T - 1 - t) (..)."""
    T, eta, rho, clip_norm, sigma, initial = 7, 0.3, 0.2, 1.5, 0.4, 2.0
    asked = ("solve", "ftrl", "--problem", "mean-estimation", "--eta", eta, "--T", T, "--rho", rho)
    asked += ("--clip-norm", clip_norm, "--sigma-sgd", sigma, "--initial", initial, "--nu", 0.2)
    rows = call(capsys, *asked, "--mechanism", "sgd", "nu", "anti-pgd", "--json").rows
    for row, correlation in zip(
        rows, (correlations.independent(), correlations.nu(0.2), correlations.anti_pgd()), strict=True
    ):
        decoder = correlation.matrix(T)
        gamma = np.linalg.norm(np.linalg.inv(decoder), axis=0).max()
        weights = eta * (1 - eta) ** np.arange(T - 1, -1, -1)
        noise = (clip_norm * gamma) ** 2 / (2 * rho) * np.sum((weights @ decoder) ** 2)
        error = 0.5 * (noise + sigma**2 * np.sum(weights**2) + (1 - eta) ** (2 * T) * initial**2)
        assert row["gamma_T"] == pytest.approx(gamma, rel=1e-12)
        assert row["suboptimality_T"] == pytest.approx(error, rel=1e-10)
    assert rows[2]["suboptimality"] == "inf"


def test_linear_regression_at_T_by_the_whole_second_moment(capsys):
    """E theta theta' with its off-diagonal entries, for Gaussian inputs: E x x' S x x' = 2 H S H + Tr(H S) H."""
    T, eta, rho, sigma, initial = 5, 0.2, 0.3, 0.7, 1.2
    asked = ("solve", "ftrl", "--eigenvalues", 1, 0.4, 0.1, "--eta", eta, "--T", 2, T, "--rho", rho)
    rows = call(capsys, *asked, "--sigma-sgd", sigma, "--initial", initial, "--mechanism", "sgd", "--json").rows
    H, start = np.diag([1.0, 0.4, 0.1]), np.full(3, initial / np.sqrt(3))
    S, found = np.outer(start, start), {}
    for t in range(1, T + 1):
        S = S - eta * (H @ S + S @ H) + eta**2 * (2 * H @ S @ H + np.trace(H @ S) * H)
        S = S + eta**2 * (np.eye(3) / (2 * rho) + sigma**2 * H)
        found[t] = 0.5 * np.trace(H @ S)
    assert [row["suboptimality_T"] for row in rows] == pytest.approx([found[2], found[T]], rel=1e-10)


def test_the_long_run_is_reached(capsys):
    for row in call(capsys, *SOLVE, "--T", "3000", "--mechanism", "sgd", "best-nu", "optimal", "--json").rows:
        assert row["suboptimality_T"] == pytest.approx(row["suboptimality"], rel=1e-6)


def test_without_T_no_column_of_it(capsys):
    assert not {"T", "gamma_T", "suboptimality_T"} & set(call(capsys, *SOLVE, "--json").rows[0])


def test_optimal_noise_that_cannot_be_factorised_costs_only_its_own_cell(capsys):
    asked = ("solve", "ftrl", "--kappa", "1e9", "--eta", "0.1", "--mechanism", "sgd", "optimal", "--T", "10")
    shown = call(capsys, *asked, "--simulate", "10", "--json")
    assert shown.status == 3 and "dpbounds: optimal, kappa = 1e+09" in shown.err and "best-nu" in shown.err
    sgd, optimal = shown.rows
    assert optimal["suboptimality_T"] is None and optimal["suboptimality"] > 0 and sgd["suboptimality_T"] > 0
    assert optimal["simulated"] is None and sgd["simulated"] > 0


# --- budgets ---


@pytest.mark.parametrize("problem", [(), ("--program", "f", "--max-lag", "1")])
def test_epsilon_and_delta_are_exactly_those_of_the_noise(capsys, problem):
    """delta(epsilon) of the Gaussian mechanism, mu = sqrt(2 rho): Balle and Wang's formula."""
    asked = (*SOLVE, "--mechanism", "sgd", "--epsilon", "0.5", "3", "--delta", "1e-6", *problem, "--json")
    for row, epsilon in zip(call(capsys, *asked).rows, (0.5, 3), strict=True):
        mu = math.sqrt(2 * row["rho"])
        delta = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
        assert row["epsilon"] == pytest.approx(epsilon, rel=1e-9) and row["delta"] == 1e-6
        assert delta == pytest.approx(1e-6, rel=1e-7)


def test_rho_and_epsilon_give_the_same_row(capsys):
    (one,) = call(capsys, *SOLVE, "--mechanism", "sgd", "--rho", "0.3", "--json").rows
    (other,) = call(capsys, *SOLVE, "--mechanism", "sgd", "--epsilon", repr(one["epsilon"]), "--json").rows
    assert alike(one, other)


def test_a_rho_without_an_epsilon_has_a_row_all_the_same(capsys):
    (row,) = call(capsys, *SOLVE, "--mechanism", "sgd", "--rho", "1e9", "--json").rows
    assert row["epsilon"] is None and row["suboptimality"] > 0
    assert "beyond its range" in call(capsys, *SOLVE, "--mechanism", "sgd", "--rho", "1e9").out


# --- spectra ---


def saved(folder, name, content):
    file = folder / name
    np.save(file, content) if name.endswith(".npy") else file.write_bytes(content)
    return file


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("column.csv", b"1\n0.4\n0.1\n"),
        ("row.csv", b"1,0.4,0.1"),
        ("heading.csv", b"\xef\xbb\xbfeigenvalue\r\n1\r\n\r\n0.4\r\n0.1\r\n"),
        ("plain.txt", b" 0.1 \n1e0\n0.4"),
        ("a.npy", np.array([1.0, 0.4, 0.1])),
        ("column.npy", np.array([[1.0], [0.4], [0.1]])),
        ("big-endian.npy", np.array([1.0, 0.4, 0.1], dtype=">f8")),
    ],
)
def test_a_spectrum_from_a_file(capsys, tmp_path, name, content):
    (row,) = call(capsys, *SPECTRUM, saved(tmp_path, name, content)).rows
    (same,) = call(capsys, *SPECTRUM[:-1], "--eigenvalues", "1", "0.4", "0.1").rows
    assert alike(row, same)
    assert (row["d"], row["kappa"]) == (3, pytest.approx(10))


def test_float32_is_a_spectrum(capsys, tmp_path):
    (row,) = call(capsys, *SPECTRUM, saved(tmp_path, "a.npy", np.array([1, 0.5], dtype=np.float32))).rows
    assert row["kappa"] == 2


def lying_header(shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(16)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["no single column"]),
        (b"one\ntwo\n", ["'two' is no finite number"]),
        (b"1,2\n3,4\n", ["no single column"]),
        (b"1\n0\n", ["spectrum[1] = 0"]),
        (b"1\n-2\n", ["spectrum[1] = -2"]),
        (b"1\nnan\n", ["'nan' is no finite number"]),
        (b"1\n1e400\n", ["'1e400' is no finite number"]),
        (b"\xff\xfe1", ["utf-8"]),
        (b"\x93NUMPY", ["magic"]),
        (lying_header("(1000000000000,)"), ["does not agree"]),
        (lying_header("(-2,)"), ["does not agree"]),
        (lying_header("(2, 2)"), ["shape (2, 2)"]),
        (lying_header("open('x')"), ["spectrum"]),
        (b"1\n" * 100_001, ["100001 numbers", "100000"]),
        (b"1" * 4_000_001, ["4000000 bytes"]),
    ],
)
def test_files_that_are_no_spectrum(capsys, tmp_path, content, words):
    assert refused(call(capsys, *SPECTRUM, saved(tmp_path, "file", content)), *words)


def test_objects_in_a_file_are_not_loaded(capsys, tmp_path):
    file = tmp_path / "objects.npy"
    np.save(file, np.array([[1], "x", None], dtype=object), allow_pickle=True)
    assert refused(call(capsys, *SPECTRUM, file), "type object")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device")
@pytest.mark.parametrize("file", ["/dev/zero", "nowhere.csv", "/", "a" * 300])
def test_what_is_no_file_of_numbers(capsys, tmp_path, monkeypatch, file):
    monkeypatch.chdir(tmp_path)
    assert refused(call(capsys, *SPECTRUM, file), "spectrum = ")


def test_a_power_law(capsys):
    asked = ("solve", "ftrl", "--eta", "0.05", "--decay", "1.5", "--d", "20", "--mechanism", "sgd", "--json")
    (row,) = call(capsys, *asked).rows
    spectrum = np.arange(1, 21) ** -1.5
    exact = linear_regression.suboptimality(
        correlations.independent(), Regression(eigenvalues=spectrum, eta=0.05, rho=0.5)
    )
    assert row["suboptimality"] == float(exact) and row["d_eff"] == pytest.approx(spectrum.sum())


# --- pictures ---


def test_pictures_of_exact_errors(capsys, tmp_path):
    """Over the first of T, kappa, eta and rho that varies; what is infinite is left out."""
    for number, asked in enumerate([(*SOLVE, "--T", "5", "50"), MEAN, (*SOLVE, "--kappa", "5", "50")]):
        assert call(capsys, *asked, "--plot", tmp_path / f"{number}.svg", "--json").status == 0
        assert (tmp_path / f"{number}.svg").read_bytes().startswith(b"<?xml")
    rows = call(capsys, *SOLVE, "--mechanism", "sgd", "anti-pgd", "--rho", "2", "1", "--json", "--simulate", "10").rows
    rows = [{**row, "suboptimality": float(row["suboptimality"])} for row in rows]
    picture = plot.exact_picture(rows)
    assert picture.x == "rho" and "simulated" in picture.y
    exact, simulated = picture.series
    assert (exact.curve, exact.role, exact.x) == ("sgd", "exact", (1.0, 2.0)) and exact.y[0] > exact.y[1]
    assert all(low < y < high for low, y, high in zip(simulated.low, simulated.y, simulated.high, strict=True))
    rows = call(capsys, *SOLVE, "--mechanism", "sgd", "--T", "20", "10", "--eta", "0.1", "0.2", "--json").rows
    picture = plot.exact_picture(rows)
    assert picture.x == "T" and [one.curve for one in picture.series] == ["sgd, eta = 0.1", "sgd, eta = 0.2"]
    assert picture.series[0].x == (10.0, 20.0)


# --- bad input ---


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--kappa", "10", "--T", "0"], ["T = 0"]),
        (["--kappa", "10", "--T", "300001"], ["T = 300001", "300000"]),
        (["--decay", "1", "--d", "100000", "--T", "20000"], ["T = 20000", "10000"]),
        (["--kappa", "10", "--initial", "1"], ["initial = 1", "--T"]),
        (["--kappa", "10", "--T", "5", "--initial", "-1"], ["initial = -1"]),
        (["--kappa", "10", "--epsilon", "-1"], ["epsilon = -1"]),
        (["--kappa", "10", "--epsilon", "1", "--rho", "1"], ["epsilon", "--rho"]),
        (["--kappa", "10", "--delta", "0"], ["delta = 0"]),
        (["--kappa", "10", "--rho", "0"], ["rho = 0"]),
        (["--kappa", "10", "--simulate", "x"], ["--simulate", "'x'"]),
        (["--kappa", "10", "--simulate", "20", "--seed", "-1"], ["--seed", "'-1'"]),
        (["--kappa", "10", "--simulate", "1000000"], ["simulate = 1000000", "fewer trials"]),
        (["--kappa", "10", "--decay", "1"], ["--kappa and --decay", "exactly one"]),
        (["--decay", "1"], ["dimension", "--d says how many"]),
        (["--decay", "1", "--d", "10000000"], ["dimension = 10000000", "100000"]),
        (["--decay", "1", "--d", "0"], ["dimension = 0"]),
        (["--kappa", "10", "--d", "1" + "0" * 300], ["dimension = 1"]),
        (["--spectrum", "x", "--d", "3"], ["dimension = 3", "--spectrum"]),
        (["--kappa", "10", "--plot", "a.gif"], ["--plot", ".svg"]),
        (["--kappa", "10", "--plot", "\0.svg"], ["plot = \\0.svg"]),
        (["--problem", "mean-estimation", "--eta", "1e-300"], ["eta = 1e-300", "1e-50"]),
        (["--kappa", "10", "--save", "a" * 300], ["save = ", "can be written"]),
        (["--problem", "mean-estimation", "--kappa", "10"], ["kappa", "mean-estimation"]),
        (["--problem", "mean-estimation", "--spectrum", "x"], ["spectrum = x", "linear-regression"]),
        (["--problem", "mean-estimation", "--sigma-sgd", "2", "--simulate", "10"], ["sigma_sgd = 2", "clip_norm = 1"]),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(capsys, monkeypatch, tmp_path, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert refused(call(capsys, "solve", "ftrl", "--eta", "0.1", "--mechanism", "sgd", *arguments), *words)
    assert list(tmp_path.iterdir()) == []


def test_the_largest_spectrum_takes_seconds(capsys, monkeypatch):
    """All that grows with d is linear in it: a tenth of the size is enough to see."""
    monkeypatch.setattr(spectra, "MOST_EIGENVALUES", 10_000)
    rows = call(capsys, "solve", "ftrl", "--eta", "0.05", "--decay", "1", "--d", "10000", "--json").rows
    assert [row["d"] for row in rows] == [10_000] * 3 and all(row["suboptimality"] > 0 for row in rows)
