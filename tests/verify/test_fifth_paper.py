"""The paper of `examples/balle_wang`: a package of its own, which nothing here knows: verified, reported, tested."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAME = "balle_wang"


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    """The package as an installer leaves it, in another place than this repository."""
    folder = tmp_path_factory.mktemp("paper") / NAME
    shutil.copytree(ROOT / "examples" / NAME, folder, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    about = folder / f"{NAME}-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 0.1\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(f"[dpbounds.claims]\n{NAME} = {NAME}:TOPIC\n", encoding="utf-8")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT))),
        "XDG_CACHE_HOME": str(folder.parent / "cache"),
    }

    def run(*words: str) -> str:
        command = [sys.executable, *words]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_it_is_decided_and_reported(paper):
    rows = json.loads(paper("-m", "dpbounds", "verify", NAME, "--jobs", "1", "--store", "store", "--json"))
    assert len(rows) >= 12 and {row["verdict"] for row in rows} == {"confirmed"}
    paper("-m", "dpbounds", "report", NAME, "--store", "store", "--out", "paper.pdf")


def test_every_claim_has_impostors_and_all_are_caught(paper):
    found = json.loads(paper("-m", "dpbounds", "verify", NAME, "--jobs", "1", "--impostors", "--json"))
    claims = json.loads(paper("-m", "dpbounds", "list", NAME, "--json"))
    assert {item["claim"] for item in found} == {item["claim"] for item in claims}


def test_its_own_tests_pass(paper):
    """Those beside verdicts and impostors, which ran above."""
    passed = paper("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", "not reviewed", "tests")
    assert "9 passed" in passed
