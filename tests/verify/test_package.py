"""What a user installs: all of the four packages, light to import, and a command that no file of theirs can shadow."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PACKAGES = ("dpbounds", "simulators", "verify", "reports")


# What `import dpbounds` and its theory load; the rest of the dependencies come when a function needs them.
LIGHT = {"numpy", "scipy", "jaxtyping"}
# Homes of one library, loaded by those who ask for its arithmetic.
HOMES = {"dpbounds.elliptic.balls", "dpbounds.elliptic.digits", "dpbounds.normal"}


def built(kind: str, source: Path, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (file,) = folder.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return file


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return built("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def test_the_source_distribution_makes_the_same_wheel_and_has_what_tests_need(wheel, tmp_path):
    file = built("sdist", ROOT, tmp_path)
    if not (ROOT / ".git").exists():
        pytest.skip("no clone: the list of files is git's")
    with tarfile.open(file) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert names_in(built("wheel", source, tmp_path / "again")) == names_in(wheel)
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    inside = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    assert set(listed) - inside == {".pre-commit-config.yaml"} and inside - set(listed) == {"PKG-INFO"}


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"\nversion: {project['version']}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {project['version']}" in changes


def test_theory_is_light_to_import():
    code = (
        "import importlib, pkgutil, sys, dpbounds\n"
        f"for found in pkgutil.walk_packages(dpbounds.__path__, 'dpbounds.'):\n"
        f"    if found.name not in {HOMES!r}: importlib.import_module(found.name)\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    declared = {canonicalize_name(Requirement(line).name) for line in requires("dpbounds") or ()}
    homes = packages_distributions()
    loaded = {canonicalize_name(name) for top in run.stdout.split() for name in homes.get(top, ())}
    assert {"numpy", "scipy"} <= loaded & declared <= LIGHT


def test_the_wheel_holds_the_tree(wheel):
    tree = {
        file.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for file in (ROOT / package).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    packed = {name for name in names_in(wheel) if ".dist-info/" not in name}
    meta = "\n".join(name for name in names_in(wheel) if ".dist-info/" in name)
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
