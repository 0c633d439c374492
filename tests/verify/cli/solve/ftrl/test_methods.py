"""`dpbounds solve ftrl --method`: rows, stored bounds, and what is refused."""

from __future__ import annotations

import json

import pytest

import simulators.ftrl
from verify import storage_checker
from verify.cli import main
from verify.cli.solve.ftrl.plot import methods_picture

CLASS = ["solve", "ftrl", "--kappa", "10"]
ASKED = ["solve", "ftrl", "--kappa", "10", "--eta", "0.1", "--method"]
START = ["--initial", "1"]


def rows(capsys, *words):
    status = main([*ASKED, *words, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_a_row_per_method_and_noise(capsys):
    status, found = rows(capsys, "gd", "heavy-ball", "--mechanism", "sgd", "damped-anti-pgd", "--nu", "0.3")
    assert status == 0
    assert [(row["method"], row["mechanism"]) for row in found] == [
        ("gd", "sgd"),
        ("gd", "damped-anti-pgd"),
        ("heavy-ball", "sgd"),
        ("heavy-ball", "damped-anti-pgd"),
    ]
    assert found[0]["upper"] == pytest.approx(0.0386087965, rel=1e-7) and found[0]["status"] == "estimate"
    assert found[0]["lower"] == pytest.approx(0.0263157895, rel=1e-9)
    for row in found:
        assert (
            row["memory"] == 2
            and row["every_noise"] <= row["lower"] <= row["upper"]
            and row["ratio"] == row["upper"] / row["lower"]
        )


def test_certified_rows_are_saved_and_proved_again(capsys, tmp_path):
    file = tmp_path / "bounds.json"
    words = ["nesterov", "triple", "--certify", "--save", str(file), "--average", "0.9", "--measure", "distance"]
    status, found = rows(capsys, *words)
    assert status == 0 and all(row["status"] == "certified" for row in found)
    assert main(["solve", "--check", str(file), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert [row["upper"] for row in again] == [row["upper"] for row in found]
    assert storage_checker.main([str(file)]) == 0
    data = json.loads(file.read_text())
    data[1]["value"] *= 0.999
    file.write_text(json.dumps(data))
    capsys.readouterr()
    assert main(["solve", "--check", str(file)]) == 2
    assert "bound 2: value" in " ".join(capsys.readouterr().err.split())


def test_the_table_says_what_it_holds(capsys):
    assert main([*ASKED, "gd", "--certify", "--output", "y", "--memory", "0"]) == 0
    shown = capsys.readouterr().out
    assert "0.038609" in shown and "certified: both proved in fractions" in shown and "limit" in shown


def test_the_adversarial_loss_lies_between_the_bounds(capsys, monkeypatch):
    """Nesterov's method under white noise: worse than every quadratic, by 6 standard errors and more."""
    honest = simulators.ftrl.adversarial_method_lower

    def quickly(*arguments, **settings):
        return honest(*arguments, **settings, population=16, generations=2, search_trials=16)

    monkeypatch.setattr(simulators.ftrl, "adversarial_method_lower", quickly)
    asked = [*CLASS, "--eta", "1", "--method", "nesterov", "--adversarial"]
    assert main([*asked, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    arm = 6 * row["standard_error"]
    assert 1.2 * row["lower"] < row["adversarial"] - arm and row["adversarial"] + arm < row["upper"]
    assert main(asked) == 0
    assert "adversarial: the largest mean" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gd", "--mechanism", "nu"], "mechanism = nu"),
        (["gd", "--mechanism", "optimal"], "take arma, or for gradient descent leave --method out"),
        (["gd", "--mechanism", "nu", "--nu", "0.1"], "mechanism = nu"),
        (["gd", "--mechanism", "anti-pgd"], "correlation = anti-PGD"),
        (["gd", "--eta", "3"], "method = gradient descent, of spectral radius 2"),
        (["heavy-ball", "--momentum", "1"], "momentum = 1.0"),
        (["gd", "--average", "1"], "decay = 1.0"),
        (["gd", "--memory", "13"], "memory = 13"),
        (["gd", "--program", "f"], "program = "),
        (["gd", "--dimension", "3", "--adversarial"], "d = 3"),
        (["gd", "--horizon", "5", *START, "--adversarial"], "adversarial = True"),
        (["gd", "--T", "5"], "--horizon T --initial D"),
        (["gd", "--initial", "5"], "initial = 5.0"),
        (["gd", "--objective", "mean"], "left out without --horizon"),
        (["gd", "--rate", "0.1"], "eta = [0.1]"),
        (["heavy-ball", "--momentum", "nan"], "momentum = nan"),
        (["gd", "--eta", "nan"], "eta = nan"),
        (["gd", "--kappa", "nan"], "kappa = nan"),
        (["gd", "--save", "x.json"], "save = x.json"),
        (["gd", "--kappa", "0.5"], "kappa = 0.5"),
        (["gd", "--kappa", "1"], "mu = 1.0"),
    ],
)
def test_refusals(words, said, capsys):
    assert main([*ASKED, *words]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_options_of_methods_need_a_method(capsys):
    for words in (
        ["--momentum", "0.5"],
        ["--average", "0.9"],
        ["--measure", "f"],
        ["--memory", "2"],
        ["--output", "x"],
        ["--rate", "0.1"],
        ["--horizon", "5"],
        ["--objective", "last"],
        ["--mechanism", "arma"],
    ):
        assert main(["solve", "ftrl", "--kappa", "10", "--eta", "0.1", *words]) == 2
        assert "left out without --method" in " ".join(capsys.readouterr().err.split())


def test_methods_of_one_rate_beside_each_other(capsys, tmp_path):
    file = tmp_path / "bounds.json"
    words = ["--rate", "0.01", "--method", "gd", "heavy-ball", "--certify", "--save", str(file), "--json"]
    assert main([*CLASS, *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(row["method"], row["mechanism"]) for row in found[:2]] == [("heavy-ball", "arma"), ("gd", "arma")]
    assert all(row["status"] == "certified" and row["rate"] == 0.01 for row in found)
    assert found[0]["upper"] < found[1]["every_noise"] / 19  # heavy ball below gradient descent with any noise
    assert 0 < found[0]["zero"] < 1 and found[2]["zero"] is None and found[0]["eta"] == pytest.approx(0.001)
    assert storage_checker.main([str(file)]) == 0


def test_a_rate_is_the_step_that_it_says(capsys):
    assert main([*CLASS, "--rate", "0.1", "--method", "nesterov", "--mechanism", "sgd", "--json"]) == 0
    (of_rate,) = json.loads(capsys.readouterr().out)
    (of_step,) = rows(capsys, "nesterov", "--eta", str(of_rate["eta"]))[1]
    assert of_step["upper"] == pytest.approx(of_rate["upper"], rel=1e-6)


def test_what_a_rate_leaves_out_is_said(capsys):
    words = ["--rate", "0.21", "--method", "gd", "heavy-ball", "--mechanism", "sgd"]
    assert main([*CLASS, *words]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Left out: gd, sgd, kappa = 10, rate = 0.21" in shown and "spectral radius" in shown
    assert main([*CLASS, *words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(row["method"], row["status"]) for row in found] == [("heavy-ball", "estimate"), ("gd", "left out")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--method", "gd"], "--rate with --method"),
        (["--method", "gd", "--rate", "nan"], "rate = nan"),
        (["--method", "gd", "--rate", "1"], "rate = 1.0"),
        (["--method", "gd", "--rate", "0.9"], "rate = 0.9"),
        (["--method", "gd", "--rate", "0.1", "--mechanism", "nu"], "sgd or arma with --rate"),
        (["--method", "gd", "--rate", "0.1", "--momentum", "0.5"], "momentum = 0.5"),
        (["--method", "gd", "--rate", "0.1", "--average", "0.5"], "average = 0.5"),
        (["--method", "gd", "--rate", "0.1", "--horizon", "5"], "horizon = [5]"),
    ],
)
def test_refusals_of_a_rate(words, said, capsys):
    assert main([*CLASS, *words]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_the_error_after_so_many_steps(capsys, tmp_path):
    _, (row,) = rows(capsys, "gd", "--horizon", "2", *START, "--certify")
    assert row["upper"] == pytest.approx(0.36371902, rel=1e-6) and row["lower"] == pytest.approx(0.3371, rel=1e-6)
    assert (row["status"], row["objective"], row["variance"]) == ("certified", "last", 1.0)
    _, (mean,) = rows(capsys, "gd", "--horizon", "2", *START, "--objective", "mean")
    assert mean["upper"] > row["upper"]  # the error falls from step to step
    file, sequence = tmp_path / "rows.json", tmp_path / "weights.json"
    file.write_text("[[1, 0, 0], [-0.5, 1, 0], [0, -0.5, 1]]")
    sequence.write_text("[1, -0.5]")
    asked = ["--horizon", "3", *START, "--mechanism", "coefficients", "--coefficients"]
    (by_rows,), (by_weights,) = (rows(capsys, "gd", *asked, str(name))[1] for name in (file, sequence))
    assert by_rows["upper"] == pytest.approx(by_weights["upper"], rel=1e-9)


@pytest.mark.parametrize(
    ("words", "content", "said"),
    [
        (["--horizon", "5"], "", "initial = None"),
        (["--horizon", "0", *START], "", "horizon = 0"),
        (["--horizon", "99999", *START], "", "horizon = 99999"),
        (["--horizon", "5", "--initial", "nan"], "", "initial = nan"),
        (["--horizon", "5", "--initial", "-1"], "", "initial = -1.0"),
        (["--horizon", "5", *START, "--mechanism", "arma"], "", "searched for the long run"),
        (["--horizon", "5", *START, "--mechanism", "nu"], "", "nu with --nu"),
        (["--horizon", "50", *START, "--mechanism", "nu", "--nu", "0.1"], "", "at most 25"),
        (["--horizon", "5", *START, "--measure", "f"], "", "measure = f"),
        (["--horizon", "5", *START, "--sigma-sgd", "1"], "", "sigma_sgd = 1.0"),
        (["--horizon", "5", *START, "--certify", "--save", "x.json"], "", "save = x.json"),
        (["--horizon", "5", *START, "--memory", "16"], "", "window = 16"),
        (["--horizon", "2", *START], "[[1, 0.5], [0, 1]]", "noise is causal"),
        (["--horizon", "2", *START], "[[1, 0, 0], [0, 1]]", "2 rows of 2 numbers"),
        (["--horizon", "3", *START], "[[1, 0], [0, 1]]", "3 rows of 3 numbers"),
        (["--horizon", "2", *START], "[[1, 0], [0, 0]]", "invertible"),
        (["--horizon", "2", *START], "[[1, 0], [NaN, 1]]", "finite"),
        (["--horizon", "2", *START], "[1, -2]", "minimum-phase"),
        ([], "[[1, 0], [0, 1]]", "a JSON list of numbers"),
        ([], "[1, -2]", "minimum-phase"),
    ],
)
def test_refusals_of_a_horizon(words, content, said, capsys, tmp_path):
    if content:
        file = tmp_path / "noise.json"
        file.write_text(content)
        words = [*words, "--mechanism", "coefficients", "--coefficients", str(file)]
    assert main([*ASKED, "gd", *words]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_picture_of_both_ends(tmp_path, capsys):
    file = tmp_path / "methods.svg"
    words = ["gd", "heavy-ball", "--kappa", "10", "100", "--momentum", "0.5", "--plot", str(file)]
    status, found = rows(capsys, *words)
    assert status == 0 and file.read_bytes().startswith(b"<?xml")
    shown = methods_picture(found, "eta")
    assert shown.x == "kappa" and [(one.curve, one.role) for one in shown.series] == [
        ("gd, sgd", "upper"),
        ("gd, sgd", "lower"),
        ("heavy-ball, sgd", "upper"),
        ("heavy-ball, sgd", "lower"),
        ("gd, any noise", "lower"),
        ("heavy-ball, any noise", "lower"),
    ]
    assert shown.series[0].y == tuple(row["upper"] for row in found if row["method"] == "gd")
    assert methods_picture([{**row, "T": 5 + k} for k, row in enumerate(found[:1] * 2)], "eta").x == "T"
