"""`dpbounds solve ftrl --method`: rows, stored bounds, and what is refused."""

from __future__ import annotations

import json

import pytest

import simulators.ftrl
from verify import storage_checker
from verify.cli import main

ASKED = ["solve", "ftrl", "--kappa", "10", "--eta", "0.1", "--method"]


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
        assert row["every_noise"] <= row["lower"] <= row["upper"] and row["ratio"] == row["upper"] / row["lower"]


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
    asked = ["solve", "ftrl", "--kappa", "10", "--eta", "1", "--method", "nesterov", "--adversarial"]
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
        (["gd", "--mechanism", "nu", "--nu", "0.1"], "correlation = nu-DP-FTRL"),
        (["gd", "--eta", "3"], "method = gradient descent, of spectral radius 2"),
        (["heavy-ball", "--momentum", "1"], "momentum = 1.0"),
        (["gd", "--average", "1"], "decay = 1.0"),
        (["gd", "--memory", "13"], "memory = 13"),
        (["gd", "--program", "f"], "program = "),
        (["gd", "--dimension", "3", "--adversarial"], "d = 3"),
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
    ):
        assert main(["solve", "ftrl", "--kappa", "10", "--eta", "0.1", *words]) == 2
        assert "left out without --method" in " ".join(capsys.readouterr().err.split())
