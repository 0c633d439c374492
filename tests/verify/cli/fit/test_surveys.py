"""`dpbounds fit glm`: messages of users as a file, the model of the server, and what is refused on either side."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dpbounds.private import LocalGLM
from tests.verify.cli.solve.examples import Shown, call, refused

SURVEY = ("fit", "glm", "--link", "logistic", "--epsilon", 4)


def records(folder: Path, n: int = 4000) -> tuple[Path, Path]:
    """Private and public ones."""
    rng = np.random.default_rng(0)
    x, public = rng.standard_normal((n, 2)), rng.standard_normal((2000, 2))
    y = rng.random(n) < 1 / (1 + np.exp(-(0.3 + x @ [1.0, -0.5])))
    files = folder / "private.csv", folder / "public.csv"
    np.savetxt(files[0], np.column_stack([x, y]), delimiter=",", header="a,b,y", comments="", fmt="%.17g")
    np.savetxt(files[1], public, delimiter=",", header="a,b", comments="", fmt="%.17g")
    return files


def send(capsys, folder: Path, *changed: object) -> Shown:
    private, _ = records(folder)
    given = ("--intercept", "--csv", private, "--target", "y", "--send", folder / "sent.csv")
    return call(capsys, *SURVEY, *given, *changed)


def fit(capsys, folder: Path, *changed: object) -> Shown:
    given = ("--intercept", "--messages", folder / "sent.csv", "--public", folder / "public.csv")
    return call(capsys, *SURVEY, *given, "--out", folder / "model.json", *changed)


def test_both_sides_are_the_survey_of_the_library(capsys, tmp_path):
    assert "NOT PRIVATE" in send(capsys, tmp_path, "--seed", 5).out
    private, public = (np.loadtxt(file, delimiter=",", skiprows=1) for file in records(tmp_path))
    survey = LocalGLM(link="logistic", epsilon=4.0, intercept=True, seed=5)
    sent = survey.message(private[:, :2], private[:, 2])
    lines = (tmp_path / "sent.csv").read_text().splitlines()
    assert lines[0] == "intercept,a,b" and np.array_equal(np.loadtxt(lines[1:], delimiter=","), sent)
    shown = fit(capsys, tmp_path, "--json")
    saved = json.loads((tmp_path / "model.json").read_text())
    assert shown.status == 0 and json.loads(shown.out) == saved
    assert saved["coefficients"] == survey.fit(sent, public).coef_.tolist() and saved["columns"] == ["a", "b"]
    assert saved["messages"] == 4000 and saved["intercept"] == survey.intercept_
    (tmp_path / "model.json").unlink()
    assert "From 4000 messages and 2000 public records" in fit(capsys, tmp_path).out


def test_sent_messages_are_private_and_not_written_over(capsys, tmp_path):
    assert "(4)-DP each" in send(capsys, tmp_path).out
    before = (tmp_path / "sent.csv").read_bytes()
    assert refused(send(capsys, tmp_path), "send", "a new file")
    assert (tmp_path / "sent.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (("--epsilon", 2), ("messages", "length")),
        (("--noise", "hemisphere"), ("messages", "length")),
        (("--seed", 1), ("seed",)),
        (("--target", "y"), ("target", "other side")),
        (("--public", "/dev/full"), ("regular file",)),
        (("--messages", "absent.csv"), ("absent.csv",)),
        (("--out", "no/such/model.json"), ("out",)),
    ],
)
def test_what_the_server_refuses(capsys, tmp_path, changed, words):
    send(capsys, tmp_path, "--seed", 0)
    assert refused(fit(capsys, tmp_path, *changed), *words)


def test_another_design_is_refused(capsys, tmp_path):
    send(capsys, tmp_path, "--seed", 0)
    (tmp_path / "public.csv").write_text("b,a\n1,2\n3,4\n")
    assert refused(fit(capsys, tmp_path), "messages", "intercept, b, a")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (("--csv", "/dev/zero"), ("regular file",)),
        (("--target", "z"), ("target",)),
        (("--link", "cubic"), ("link",)),
        (("--link", "nothing"), ("link",)),
        (("--noise", "gaussian"), ("delta",)),
        (("--epsilon", -1), ("epsilon",)),
        (("--send", "/dev/full"), ("send",)),
        (("--out", "model.json"), ("out",)),
    ],
)
def test_what_the_users_side_refuses(capsys, tmp_path, changed, words):
    assert refused(send(capsys, tmp_path, *changed), *words)
    assert not (tmp_path / "sent.csv").exists()


def test_neither_side_is_refused(capsys):
    assert refused(call(capsys, *SURVEY), "messages = None", "belong together")


@pytest.mark.parametrize("file", ["/dev/full", "/dev/zero", "/"])
def test_solve_reads_regular_files(capsys, file):
    given = ("solve", "glm", "--link", "logistic", "--n", 1000, "--epsilon", 1)
    assert refused(call(capsys, *given, "--public", file), "public", "regular file")
    assert refused(call(capsys, *given, "--covariance", file), "covariance")


def test_solve_says_where_nothing_is_useful_without_messages_too(capsys):
    shown = call(capsys, "solve", "glm", "--link", "cubic", "--n", 1000, "--epsilon", 0.1, "--p", 3)
    assert shown.status == 0 and "None of these is useful here" in shown.out
