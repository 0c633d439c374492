"""Claims are listed from an index that follows the sources, and loaded one module at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.verify.cli.strangers import CLAIM, ROOT, WHOLE, dpbounds, install

SEEN = (
    "import sys; from verify.cli import main; status = main(sys.argv[1:]); "
    "print('\\n'.join(name for name in sys.modules if name.startswith(('verify.papers.', 'other.')))); sys.exit(status)"
)


@pytest.fixture
def listed(tmp_path):
    """Where, and with which statement, the claims of the package are listed; the cache is of this test alone."""
    install(tmp_path / "site", WHOLE)

    def run(**environment: str) -> dict[str, str]:
        where = {"site": tmp_path / "site", "cwd": tmp_path, "cache": tmp_path / "cache"}
        run = dpbounds("list", "other", "--json", **where, **environment)
        assert (run.returncode, run.stderr) == (0, "")
        return {row["claim"]: f"{row['where']}: {row['statement']}" for row in json.loads(run.stdout)}

    return run


def _cached(folder: Path) -> Path:
    (file,) = (folder / "cache" / "dpbounds").glob("other-*.json")
    return file


def _edit(folder: Path, old: str, new: str) -> None:
    file = folder / "site" / "other" / "claims" / "s1_one.py"
    later = file.stat().st_mtime + 1  # whole seconds and the length are all by which Python knows its bytecode
    file.write_text(file.read_text().replace(old, new))
    os.utime(file, (later, later))


def test_the_list_follows_an_edited_file(listed, tmp_path):
    assert listed() == {"other/one": "Theorem 1: 1 = 1."}
    _edit(tmp_path, "Theorem 1", "Theorem 2")  # of the same length
    assert listed() == {"other/one": "Theorem 2: 1 = 1."}
    added = tmp_path / "site" / "other" / "claims" / "s2_two.py"
    added.write_text(
        (tmp_path / "site" / "other" / "claims" / "s1_one.py").read_text().replace("other/one", "other/two")
    )
    assert list(listed()) == ["other/one", "other/two"]
    added.unlink()
    assert list(listed()) == ["other/one"]


def test_a_file_that_was_only_touched_is_not_loaded(listed, tmp_path):
    before = listed()
    claims = tmp_path / "site" / "other" / "claims" / "s1_one.py"
    os.utime(claims, (1, 1))
    stored = _cached(tmp_path).read_bytes()
    assert listed() == before
    again = json.loads(_cached(tmp_path).read_bytes())["body"]
    assert (
        again["times"] != json.loads(stored)["body"]["times"]
        and again["content"] == json.loads(stored)["body"]["content"]
    )


def test_a_broken_cache_file_is_ignored(listed, tmp_path):
    """And written anew, so that the next one is broken in its turn."""
    before = listed()
    file = _cached(tmp_path)
    whole = file.read_text()
    one_word_less = whole.replace("Theorem", "Lemma")
    for damage in ("", "{", "[]", '{"digest": "", "body": {}}', "null", "\x00" * 100, one_word_less):
        file.write_text(damage)
        assert listed() == before, damage
        assert file.read_text() == whole, damage


def test_nothing_can_be_written(listed, tmp_path):
    (tmp_path / "file").write_text("")
    assert listed(XDG_CACHE_HOME=str(tmp_path / "file")) == listed()
    assert not (tmp_path / "cache" / "dpbounds").is_file()


def test_one_claim_loads_the_module_that_holds_it(tmp_path):
    two = CLAIM.replace("other/one", "other/two")
    install(tmp_path / "site", {**WHOLE, "other/claims/s2_two.py": two})
    environment = os.environ | {
        "PYTHONPATH": f"{tmp_path / 'site'}{os.pathsep}{ROOT}",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }

    def loaded(*words: str) -> set[str]:
        command = [sys.executable, "-c", SEEN, *words]
        run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        shelves = ("paper", "beyond", "claims")
        return {line for line in run.stdout.splitlines() if line.split(".")[-2:-1] and line.split(".")[-2] in shelves}

    assert loaded("list", "other") == {"other.claims.s1_one", "other.claims.s2_two"}  # writes the index
    assert loaded("list", "other") == set()
    assert loaded("verify", "other/two", "--jobs", "1") == {"other.claims.s2_two"}


def test_one_claim_of_ours_loads_no_other_topic(tmp_path):
    command = [sys.executable, "-c", SEEN, "verify", "iv/lem-f.1", "--jobs", "1"]
    where = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": str(ROOT)}}
    subprocess.run(command, **where, capture_output=True, check=True)  # the index is written
    run = subprocess.run(command, **where, capture_output=True, text=True, check=True)
    modules = [line for line in run.stdout.splitlines() if line.startswith("verify.papers.")]
    assert {name.split(".")[2] for name in modules if name.count(".") > 2} == {"iv"}
    claims = [name for name in modules if name.split(".")[3:4] in (["paper"], ["beyond"]) and name.count(".") > 3]
    assert len(claims) <= 3, claims
