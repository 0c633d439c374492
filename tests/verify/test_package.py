"""What a user installs: every file of the four packages, and a command that nothing in their folder can shadow."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("dpbounds", "simulators", "verify", "reports")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_tree(wheel):
    tree = {
        file.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for file in (ROOT / package).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
        meta = "\n".join(name for name in archive.namelist() if ".dist-info/" in name)
    assert packed == tree
    assert {"dpbounds/py.typed", "reports/template.typ", "reports/probe.typ"} <= packed
    assert "licenses/LICENSE" in meta and "entry_points.txt" in meta


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(folder)]
    subprocess.run([*command, str(wheel)], check=True, capture_output=True)
    return folder


def test_the_command_is_not_shadowed_by_the_users_files(installed, tmp_path):
    (tmp_path / "reports").mkdir()
    for name in ("verify.py", "dpbounds.py", "simulators.py", "reports/__init__.py"):
        (tmp_path / name).write_text("raise SystemExit('the wrong file')\n")
    environment = os.environ | {"PYTHONPATH": str(installed), "COLUMNS": "120"}
    for line, shown in (
        ("--help", "verify"),
        ("list ftrl/thm-2.1-opt", "ftrl/thm-2.1-opt"),
        ("verify ftrl/thm-2.1-opt --jobs 1", "1 corrected"),
        ("report --out report.pdf", "report.pdf"),
    ):
        command = [sys.executable, str(installed / "bin" / "dpbounds"), *line.split()]
        run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        assert shown in run.stdout + run.stderr
