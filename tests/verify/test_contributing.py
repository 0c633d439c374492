"""The worked example of CONTRIBUTING.md is a package that can be installed, verified and reported as it stands."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.verify.cli.commands import SCRIPT

TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def dpbounds(tmp_path_factory):
    """The command, with the package installed beside."""
    folder = tmp_path_factory.mktemp("warner")
    for name, content in re.findall(r"```(?:toml|python)\n# (\S+)\n(.*?)```", TEXT, re.DOTALL):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*command, "--target", str(folder / "site"), str(folder)], check=True, capture_output=True)

    def run(*words: str) -> subprocess.CompletedProcess:
        environment = os.environ | {"PYTHONPATH": str(folder / "site")}
        command = [sys.executable, "-c", SCRIPT, *words]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    return run


def test_the_example_is_verified_and_reported(dpbounds):
    run = dpbounds("verify", "warner", "--jobs", "1", "--json")
    assert run.returncode == 0, run.stderr
    rows = {row["claim"]: row for row in json.loads(run.stdout)}
    true = dict.fromkeys(("warner/epsilon", "warner/mean", "warner/variance"), "confirmed")
    words = {**true, "warner/linear": "corrected"}
    assert {claim: row["verdict"] for claim, row in rows.items()} == words
    assert rows["warner/linear"]["severity"] == "hypothesis" and "at p = " in rows["warner/linear"]["finding"]
    assert dpbounds("report", "warner", "--out", "warner.pdf").returncode == 0


def test_its_impostors_are_caught(dpbounds):
    run = dpbounds("verify", "warner", "--impostors", "--jobs", "1", "--json")
    assert run.returncode == 0, run.stderr
    assert len(json.loads(run.stdout)) == 5


def test_it_is_listed_beside_ours(dpbounds):
    """With one of ours, whose claims are loaded fast."""
    listed = dpbounds("list", "glm", "warner", "--json")
    assert {row["topic"] for row in json.loads(listed.stdout)} == {"glm", "warner"}
