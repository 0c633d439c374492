"""The skeleton of a paper: installed, verified, reported and tested as it is written, and never half of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from dpbounds import DomainError
from tests.verify.cli.commands import SCRIPT, SECONDS
from tests.verify.cli.strangers import ROOT
from verify.cli import main
from verify.cli.new_paper import check_name, skeleton, write

NAME = "my_survey"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Python in an environment of its own, over that of the tests, where the paper is installed with `-e`."""
    folder = tmp_path_factory.mktemp("paper")
    assert main(["new-paper", NAME, "--dir", str(folder)]) == 0
    venv.create(folder / "environment")
    python = folder / "environment" / ("Scripts" if os.name == "nt" else "bin") / "python"
    show = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = subprocess.run(show, capture_output=True, text=True, check=True)
    below = f"{ROOT}\nimport site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    Path(site.stdout.strip(), "below.pth").write_text(below)
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*command, "--no-build-isolation", "-e", str(folder / NAME)], check=True, capture_output=True)
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}

    def run(*words: str) -> subprocess.CompletedProcess:
        where = {"cwd": folder / NAME, "env": environment, "timeout": SECONDS}
        return subprocess.run([python, *words], **where, capture_output=True, text=True, check=False)

    return run


def test_it_is_verified_and_reported(installed):
    run = installed("-c", SCRIPT, "verify", NAME, "--jobs", "1", "--json")
    assert run.returncode == 0, run.stderr
    rows = {row["claim"]: row for row in json.loads(run.stdout)}
    true = dict.fromkeys((f"{NAME}/{own}" for own in ("epsilon", "figure-1", "mean", "variance")), "confirmed")
    assert {claim: row["verdict"] for claim, row in rows.items()} == {**true, f"{NAME}/linear": "corrected"}
    linear = rows[f"{NAME}/linear"]
    assert linear["severity"] == "hypothesis" and "at p = " in linear["finding"]
    run = installed("-c", SCRIPT, "report", NAME, "--out", "paper.pdf")
    assert run.returncode == 0, run.stderr


def test_its_own_tests_pass_which_run_the_impostors(installed):
    run = installed("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "3 passed" in run.stdout


@pytest.mark.parametrize(
    "name",
    ["", "My_paper", "my paper", "my-paper", "1st", "../out", "a/b", "class", "iv", "json", "numpy", "verify", "tests"],
)
def test_a_name_that_cannot_be_one(name, tmp_path, capsys):
    assert main(["new-paper", name, "--dir", str(tmp_path)]) == 2
    assert "dpbounds: name = " in capsys.readouterr().err and not any(tmp_path.iterdir())


def test_what_is_there_is_left_as_it_is(tmp_path, capsys):
    for make in (lambda path: path.mkdir(), lambda path: path.write_text("mine"), lambda path: path.symlink_to("gone")):
        folder = tmp_path / make.__code__.co_names[0]
        folder.mkdir()
        make(folder / NAME)
        assert main(["new-paper", NAME, "--dir", str(folder)]) == 2
        assert "where there is nothing yet" in capsys.readouterr().err
        assert [item.name for item in folder.iterdir()] == [NAME]
    assert main(["new-paper", NAME, "--dir", str(tmp_path / "gone")]) == 2
    assert "a folder that can be written" in capsys.readouterr().err


def test_nothing_is_left_of_a_half_written_one(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(DomainError, match="No space left"):
        write(tmp_path / NAME, NAME)
    assert not any(tmp_path.iterdir())


def test_every_name_is_filled_in():
    check_name("zeta")
    written = dict(skeleton("zeta"))
    assert "zeta/claims/s2_privacy.py" in written and "tests/test_zeta.py" in written
    assert not any("NAME" in text or "NAME" in path or path.endswith(".txt") for path, text in written.items())
