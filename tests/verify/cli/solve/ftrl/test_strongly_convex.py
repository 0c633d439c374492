"""`dpbounds solve ftrl` for strongly convex losses."""

from __future__ import annotations

import json
from typing import get_args

import pytest

import simulators.ftrl
from dpbounds import AccuracyError
from dpbounds.ftrl import correlations
from dpbounds.ftrl.mechanisms import Mechanism
from dpbounds.ftrl.strongly_convex import BestNu, answers, bound, bound_program
from dpbounds.ftrl.strongly_convex.bounds import NODES
from tests.verify.cli.solve.examples import SOLVE, call, refused, rows_of
from verify.cli.solve.ftrl import arguments, plot, strongly_convex
from verify.cli.solve.ftrl import rows as table

PROGRAM = ("--program", "f", "--certify")
QUICK = ("--max-lag", "2")
# Two mechanisms at two condition numbers.
TABLE = ("solve", "ftrl", "--kappa", "10", "100", "--eta", "0.1", "--mechanism", "sgd", "nu", "--nu", "0.01")
NU = ("--mechanism", "nu", "--nu", "0.01")


def test_the_rows_of_a_table():
    """Independent noise has closed forms: N = 1 / (2 rho), the worst quadratic eta N / (2 (2 - eta L)), co-coercivity
    eta N / 2 and contraction L N / (2 mu^2).
    """
    rows = rows_of(*TABLE, *PROGRAM)
    assert [(row["mechanism"], row["kappa"]) for row in rows] == [("sgd", 10), ("nu", 10), ("sgd", 100), ("nu", 100)]
    for row in rows:
        mu = 1.0 / row["kappa"]
        assert row["status"] == "certified" and row["failure"] is None and row["program"] == "f"
        assert row["lower"] < row["upper"] <= row["value"]
        assert row["ratio"] == pytest.approx(row["upper"] / row["lower"], rel=1e-12)
        assert row["gap"] == pytest.approx(row["upper"] - row["lower"], rel=1e-12)
        if row["mechanism"] == "sgd":
            assert row["lower"] == pytest.approx(0.1 / (2 * 1.9), rel=1e-8)
            assert row["co_coercivity"] == pytest.approx(0.05, rel=1e-8)
            assert row["contraction"] == pytest.approx(0.5 / mu**2, rel=1e-8)
            assert (row["tightest"], row["upper"], row["nu"]) == ("co_coercivity", row["co_coercivity"], None)
        else:
            assert row["tightest"] == "program" and row["upper"] == row["value"]
            assert row["co_coercivity"] is None and (row["nu"], row["best_nu"]) == (0.01, None)


def test_a_table_rounds_each_bound_to_its_own_side(capsys):
    asked = (*SOLVE, *NU, *PROGRAM, *QUICK)
    (row,) = call(capsys, *asked, "--json").rows
    shown = call(capsys, *asked).out.splitlines()
    printed = dict(zip(shown[0].split(), shown[1].split(), strict=True))
    columns = "mechanism kappa eta nu lower upper gap ratio tightest value status seconds"
    assert list(printed) == columns.split()
    for name in ("upper", "gap", "ratio", "value"):
        assert 0 <= float(printed[name]) - row[name] < 1e-4 * row[name]
    assert 0 <= row["lower"] - float(printed["lower"]) < 1e-4 * row["lower"]
    below = "\n".join(shown[2:])
    for words in ("L = 1, rho = 0.5, d = 1", "program = f", "eta: absolute", "certified: both proved"):
        assert words in below
    assert "estimate" not in below and "not a bound" not in below


def test_settings_that_differ_are_columns(capsys):
    asked = (*SOLVE, *NU, "--eta", "0.1", "0.2", "--rho", "0.5", "1", "--program", "f", "theta", *QUICK)
    shown = call(capsys, *asked).out.splitlines()
    assert shown[0].split()[:5] == ["mechanism", "kappa", "eta", "rho", "program"]
    assert [line.split()[2:5] for line in shown[1:9]] == [
        [eta, rho, program] for eta in ("0.1", "0.2") for rho in ("0.5", "1") for program in ("f", "theta")
    ]
    assert "L = 1, d = 1" in shown[10] and "program =" not in shown[10]


def test_a_narrow_terminal_gets_fewer_columns(monkeypatch, capsys):
    rows = call(capsys, *SOLVE, *NU, "--program", "f", "paper", *QUICK, "--json").rows
    monkeypatch.setattr(table.sys.stdout, "isatty", lambda: True)
    for columns, hidden in (("80", ["gap", "tightest"]), ("120", [])):
        monkeypatch.setenv("COLUMNS", columns)
        both, one = (set(table._columns(some)) for some in (rows, rows[:1]))
        assert {"gap", "tightest", "value"} - both == set(hidden)
        assert "program" in both - one and ("value" in one) == (columns == "120")


def test_without_certify_there_are_only_estimates(capsys):
    asked = (*SOLVE, *NU, "--program", "f", *QUICK)
    (row,) = call(capsys, *asked, "--json").rows
    (proved,) = call(capsys, *asked, "--certify", "--json").rows
    assert row["status"] == "estimate" and set(row) == set(proved)
    assert row["upper"] == pytest.approx(proved["upper"], rel=1e-6)
    assert row["lower"] == pytest.approx(proved["lower"], rel=1e-6)
    shown = call(capsys, *asked).out
    assert "nothing is proved" in shown and "certified" not in shown


def test_a_known_row_in_closed_form_at_kappa_1(capsys):
    """L = mu = 1: F = |theta|^2 / 2, whose error another part of the theory has in closed form."""
    solve = ("solve", "ftrl", "--eta", "0.1", "--mechanism", "sgd", "nu", "--nu", "0.03", "--json")
    exact = call(capsys, *solve, "--problem", "mean-estimation").rows
    framed = call(capsys, *solve, "--kappa", "1", *PROGRAM).rows
    for one, other in zip(exact, framed, strict=True):
        assert other["lower"] == pytest.approx(one["suboptimality"], rel=1e-8)
        assert other["upper"] == pytest.approx(one["suboptimality"], rel=1e-6)


def test_units(capsys):
    """F scales as 1 / L at fixed eta L, and with d clip_norm^2 / rho."""
    nu = (*NU, *PROGRAM, *QUICK, "--json")
    (row,) = call(capsys, *SOLVE, *nu).rows
    (steep,) = call(capsys, *SOLVE, *nu, "--L", 2, "--eta", 0.05).rows
    (loud,) = call(capsys, *SOLVE, *nu, "--dim", 3, "--clip-norm", 2, "--rho", 1).rows
    for name in ("lower", "upper"):
        assert steep[name] == pytest.approx(row[name] / 2, rel=1e-7)
        assert loud[name] == pytest.approx(row[name] * 6, rel=1e-7)


def test_searched_mechanisms_improve_on_a_given_nu(capsys):
    nu, best, optimal = rows_of(*SOLVE, "--mechanism", "nu", "best-nu", "optimal", "--certify", *QUICK)
    given, fixed = (
        call(capsys, *SOLVE, "--mechanism", "nu", "--nu", damping, "--program", "causal", *QUICK, "--json").rows[0]
        for damping in (nu["best_nu"], 0.01)
    )
    assert optimal["upper"] <= nu["upper"] * (1 + 1e-6) < fixed["upper"] and optimal["best_nu"] is None
    assert nu["upper"] == best["upper"] == pytest.approx(given["upper"], rel=1e-6)
    assert nu["nu"] is None and given["best_nu"] is None and given["nu"] == nu["best_nu"]


def test_a_search_never_ends_above_independent_noise(capsys):
    """At eta L = 1.9 program f is loose for every nu, co-coercivity is not: nu = 1 and no other noise."""
    asked = ("--mechanism", "sgd", "nu", "optimal", "--eta", "1.9", "--program", "f", "--certify")
    sgd, nu, optimal = rows_of(*SOLVE, *asked)
    assert sgd["upper"] == sgd["co_coercivity"] == pytest.approx(9.5, rel=1e-8)
    for row in (nu, optimal):
        assert row["upper"] == pytest.approx(sgd["upper"], rel=1e-8) and row["tightest"] == "co_coercivity"
        assert (row["best_nu"], row["nu"], row["status"]) == (1.0, None, "certified")
        assert row["lower"] == pytest.approx(sgd["lower"], rel=1e-8)


def test_lags_and_nodes_can_be_chosen(capsys):
    value, fewer, finer = (
        call(capsys, *SOLVE, *NU, "--program", "f", "--json", "--max-lag", *options).rows[0]["value"]
        for options in (("5",), ("2",), ("5", "--nodes", "1000"))
    )
    assert value < fewer * (1 - 1e-4) and finer == pytest.approx(value, rel=1e-6)


def test_only_the_printed_program_is_solved_again_after_a_search(capsys, monkeypatch):
    """The search has all other options."""
    searched, solved = [], []

    def search(problem, program, **options):
        searched.append((program, options.get("nodes"), options["certify"]))
        found = bound(correlations.nu(0.03), problem, program=program, **options)
        return BestNu(nu=0.03, bound=found, independent=found)

    def solve(noise, program, **options):
        solved.append(program.name)
        return bound_program(noise, program, **options)

    monkeypatch.setattr(answers, "best_nu", search)
    monkeypatch.setattr(answers, "bound_program", solve)
    best = ("--mechanism", "nu", "--program", "f", "--max-lag", "1", "--json")
    rows = [call(capsys, *SOLVE, *best, *more).rows[0] for more in ((), ("--nodes", "2000"), ("--program", "paper"))]
    assert searched == [("f", NODES, False), ("f", 2000, False), ("theta", NODES, False)]
    assert solved == ["paper"] and {row["best_nu"] for row in rows} == {0.03}
    (given,) = call(capsys, *SOLVE, *best, "--nu", "0.03", "--program", "paper").rows
    assert given["value"] == rows[-1]["value"]


def test_the_printed_program_is_no_bound(capsys):
    asked = ("--program", "f", "theta", "paper", "--eta", "0.01", "--certify")
    f, theta, paper = rows_of(*SOLVE, *NU, *asked)
    assert f["upper"] < theta["upper"]
    assert (paper["upper"], paper["tightest"], paper["status"]) == (None, None, "not a bound")
    assert paper["value"] < paper["lower"]
    shown = call(capsys, *SOLVE, "--mechanism", "sgd", "--program", "paper").out
    assert "eq. (10) as printed, which bounds nothing" in shown and " upper " not in shown.splitlines()[0]


def test_weights_from_a_file(capsys, tmp_path):
    file = tmp_path / "beta.json"
    file.write_text("[1.0]")
    mechanisms = ("--mechanism", "sgd", "coefficients", "--coefficients", file, "--json")
    sgd, given = call(capsys, *SOLVE, *mechanisms, "--program", "f").rows
    assert given["upper"] == pytest.approx(sgd["upper"], rel=1e-12)
    sgd, given = call(capsys, *SOLVE, *mechanisms).rows
    assert given["suboptimality"] == sgd["suboptimality"]


# --- which problem is meant ---


def test_kappa_alone_means_linear_regression_and_says_so(capsys):
    plain = call(capsys, *SOLVE)
    assert "problem: linear-regression" in plain.out and "--program causal" in plain.out
    asked = call(capsys, *SOLVE, "--problem", "linear-regression", "--json")
    assert "suboptimality" in asked.rows[0] and "d_eff" in asked.rows[0]


@pytest.mark.parametrize("options", [("--program", "causal"), ("--certify",), ("--problem", "strongly-convex")])
def test_what_chooses_strongly_convex(capsys, options):
    (row,) = call(capsys, *SOLVE, "--mechanism", "sgd", *QUICK, *options, "--json").rows
    assert row["program"] == "causal" and row["status"] == ("certified" if "--certify" in options else "estimate")


def test_the_adversarial_loss_lies_between_the_bounds(capsys, monkeypatch, tmp_path):
    """For independent noise and kappa = 10 worse than quadratics by more than a quarter, and below co-coercivity.

    Programs with the same noise share the search; its numbers are saved and not compared by --check.
    """
    calls = []
    honest = simulators.ftrl.adversarial_lower

    def counted(*arguments, **settings):
        calls.append(arguments)
        return honest(*arguments, **settings, population=16, generations=3, search_trials=16)

    monkeypatch.setattr(simulators.ftrl, "adversarial_lower", counted)
    file = tmp_path / "bounds.json"
    asked = (*SOLVE, "--mechanism", "sgd", "--program", "f", "theta", "--certify", "--adversarial", *QUICK)
    one, other = call(capsys, *asked, "--json", "--save", file).rows
    assert len(calls) == 1 and one["adversarial"] == other["adversarial"]
    arm = 6 * one["standard_error"]
    assert 1.25 * one["lower"] < one["adversarial"] - arm and one["adversarial"] + arm < one["upper"]
    assert call(capsys, "solve", "--check", file).status == 0
    assert "adversarial: the largest mean" in call(capsys, *asked).out
    assert plot.picture([one]).series[2].y == (one["adversarial"],)


def test_without_the_search_there_is_no_column(capsys):
    asked = (*SOLVE, *NU, "--program", "f", *QUICK)
    assert call(capsys, *asked, "--json").rows[0]["adversarial"] is None
    assert "adversarial" not in call(capsys, *asked).out


# --- rows that fail ---


def test_a_search_that_fails_costs_no_bound(capsys, monkeypatch):
    def failing(*_, **__):
        raise AccuracyError("no recurrence")

    monkeypatch.setattr(simulators.ftrl, "adversarial_lower", failing)
    shown = call(capsys, *SOLVE, *NU, "--program", "f", "theta", "--adversarial", *QUICK, "--json")
    assert shown.status == 3 and shown.err.count("\n") == 2
    assert all(f"program {name}: adversarial search: no recurrence" in shown.err for name in ("f", "theta"))
    assert shown.rows[0]["adversarial"] is None and shown.rows[0]["upper"] > 0


def test_a_case_that_fails_is_named_and_costs_no_other_row(capsys, monkeypatch, tmp_path):
    honest = answers.bound_program

    def failing(noise, program, **options):
        if program.mu == 0.1 and hasattr(noise.correlation, "nu"):
            raise AccuracyError("certificate: a denominator is not positive")
        return honest(noise, program, **options)

    monkeypatch.setattr(answers, "bound_program", failing)
    asked, kept, drawn = (*TABLE, "--program", "f", *QUICK), tmp_path / "rest.json", tmp_path / "rest.svg"
    shown = call(capsys, *asked, "--json", "--save", kept, "--plot", drawn)
    assert shown.status == 3 and drawn.exists()
    assert shown.err == (
        "dpbounds: nu, kappa = 10, eta = 0.1, rho = 0.5, program f: certificate: a denominator is not positive\n"
    )
    assert [row["upper"] is None for row in shown.rows] == [False, True, False, False]
    assert set(shown.rows[1]) == set(shown.rows[0]) and shown.rows[1]["nu"] == 0.01
    assert "denominator" in shown.rows[1]["failure"] and len(json.loads(kept.read_text())["rows"]) == 4
    assert "failed" in call(capsys, *asked).out.splitlines()[2]


def test_nothing_found_is_nothing_written(capsys, monkeypatch, tmp_path):
    def failing(*_, **__):
        raise AccuracyError("no multiplier is feasible")

    monkeypatch.setattr(answers, "bound_program", failing)
    files = ("--save", tmp_path / "a.json", "--plot", tmp_path / "a.svg")
    shown = call(capsys, *SOLVE, "--mechanism", "sgd", *PROGRAM, *files)
    assert shown.status == 3 and "no multiplier" in shown.err and list(tmp_path.iterdir()) == []


# --- bad input ---


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--eta", "2"], ["eta = 2", "2 / L = 2"]),
        (["--eta", "0.1", "5"], ["eta = 5"]),
        (["--eta", "nan"], ["eta = nan"]),
        (["--eta", "0"], ["eta = 0"]),
        (["--L", "30"], ["eta = 0.1", "2 / L = 0.0666667"]),
        (["--L", "-1"], ["L = -1"]),
        (["--kappa", "0.5"], ["kappa = 0.5", "at least 1"]),
        (["--kappa", "0"], ["kappa = 0"]),
        (["--kappa", "nan"], ["kappa = nan"]),
        (["--kappa", "inf"], ["kappa = inf"]),
        (["--rho", "0"], ["rho = 0"]),
        (["--kappa", "1e300"], ["mu = 1e-300", "1e-12 L"]),
        (["--kappa", "1e7", "--eta", "1e-6"], ["eta = 1e-06", "1e-12 / mu"]),
        (["--rho", "1e-300"], ["clip_norm^2 / rho = 1e+", "1e+50"]),
        (["--clip-norm", "1e200"], ["clip_norm^2 / rho = 1e+400", "1e+50"]),
        (["--sigma-sgd", "1e200"], ["sigma_sgd^2 = 1e+400", "1e+50"]),
        (["--L", "1e-200"], ["L = 1e-200", "[1e-50, 1e50]"]),
        (["--dimension", "0"], ["d = 0"]),
        (["--dimension", "3", "--adversarial"], ["dimension = 3", "at most 2"]),
        (["--clip-norm", "0"], ["clip_norm = 0"]),
        (["--sigma-sgd", "-1"], ["sigma_sgd = -1"]),
        (["--nu", "2"], ["nu = 2"]),
        (["--kappa", "1", "--eta", "1.5", "--mechanism", "damped-anti-pgd"], ["nu = 1.5", "--nu"]),
        (["--mechanism", "sgd", "anti-pgd"], ["anti-PGD", "sensitivity"]),
        (["--mechanism", "optimal-counting"], ["optimal counting", "sensitivity"]),
        (["--mechanism", "x"], ["--mechanism", "'x'", "damped-anti-pgd"]),
        (["--program", "g"], ["--program", "'g'", "theta"]),
        (["--nodes", "3"], ["nodes = 3", "16"]),
        (["--nodes", "3", "--mechanism", "best-nu"], ["nodes = 3"]),
        (["--max-lag", "-1"], ["max_lag = -1"]),
        (["--max-lag", "100000"], ["max_lag = 100000", "1000"]),
        (["--decay", "1"], ["decay = 1", "strongly-convex"]),
        (["--eigenvalues", "1", "0.1"], ["eigenvalues", "linear-regression"]),
        (["--spectrum", "text"], ["spectrum = text", "linear-regression"]),
        (["--T", "10"], ["T = [10]", "mean-estimation or linear-regression"]),
        (["--initial", "1"], ["initial = 1", "mean-estimation or linear-regression"]),
        (["--simulate", "3"], ["--simulate", "'3'", "10"]),
        (["--epsilon", "-1"], ["epsilon = -1"]),
        (["--epsilon", "1", "--delta", "2"], ["delta = 2"]),
        (["--epsilon", "1", "--rho", "1"], ["epsilon", "--rho"]),
        (["--problem", "linear-regression"], ["program", "linear-regression"]),
        (["--problem", "mean-estimation"], ["program", "mean-estimation"]),
        (["--certify", "--save", "nowhere/a.json"], ["save = nowhere/a.json", "folder"]),
        (["--certify", "--save", "folder"], ["save = folder"]),
        (["--plot", "a.txt"], ["--plot", "'a.txt'", ".svg"]),
        (["--plot", "nowhere/a.svg"], ["plot = nowhere/a.svg", "folder"]),
        (["--mechanism", "coefficients"], ["coefficients", "a file"]),
        (["--coefficients", "beta.json"], ["coefficients = beta.json", "--mechanism coefficients"]),
        (["--mechanism", "coefficients", "--coefficients", "beta.json"], ["coefficients = beta.json", "No such file"]),
        (["--mechanism", "coefficients", "--coefficients", "unstable"], ["beta", "minimum-phase"]),
        (["--mechanism", "coefficients", "--coefficients", "text"], ["coefficients = text", "JSON"]),
        (["--mechanism", "coefficients", "--coefficients", "object"], ["coefficients = object", "JSON list"]),
    ],
)
def test_bad_input_is_one_line_and_computes_nothing(capsys, monkeypatch, tmp_path, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name, content in (("unstable", "[1, -3]"), ("text", "1 -3"), ("object", '{"beta": [1]}')):
        (tmp_path / name).write_text(content)
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(strongly_convex, "tightest", None)
    monkeypatch.setattr(simulators.ftrl, "adversarial_lower", None)
    shown = call(capsys, *SOLVE, "--mechanism", "nu", "--program", "f", *arguments)
    assert refused(shown, *words), shown
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("option", [("--L", "2"), ("--max-lag", "0"), ("--nodes", "500"), ("--adversarial",)])
def test_options_of_another_problem_are_refused(capsys, option):
    assert refused(call(capsys, *SOLVE, *option), "linear-regression", "--program")


def test_kappa_is_needed(capsys):
    assert refused(call(capsys, "solve", "ftrl", "--eta", "0.1", "--program", "f"), "kappa", "mu = L / kappa")


def test_mechanisms_on_the_command_line_are_those_of_theory():
    """They stand twice so that `--help` need not load the theory."""
    assert get_args(Mechanism) == arguments.MECHANISMS
