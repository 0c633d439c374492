"""`dpbounds report`: what it prints, and that bad input costs one line and leaves no file."""

from __future__ import annotations

from pathlib import Path

import pymupdf
import pytest

from reports import render
from reports.reader import read
from tests.reports.examples import claim, one_of_each, write
from verify.cli import main


def test_a_report_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "report.PDF"
    assert main(["report", "--results", str(write(tmp_path, one_of_each())), "--out", str(out)]) == 0
    assert capsys.readouterr() == (f"Report: {out} (claims: 11)\n", "")
    assert len(pymupdf.open(out)) >= 3


def test_the_results_of_verify_can_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "store"
    assert main(["verify", "ftrl/fig-1-mid", "ftrl/fig-4", "--jobs", "1", "--store", str(store)]) == 0
    found = read(store / "results.json")
    assert {entry.claim: entry.verdict for entry in found.entries} == {
        "ftrl/fig-1-mid": "confirmed",
        "ftrl/fig-4": "not run",
    }
    out = tmp_path / "report.pdf"
    assert main(["report", "--results", str(store / "results.json"), "--topic", "ftrl", "--out", str(out)]) == 0
    assert "(claims: 2)" in capsys.readouterr().out
    assert out.read_bytes().startswith(b"%PDF")
    assert main(["report", "ftrl/fig-4", "--store", str(store), "--out", str(out)]) == 0
    assert "(claims: 1)" in capsys.readouterr().out


def test_proof_files_are_checked_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    claims, store, out = ["iv/eq-5", "glm/lem-33-trace"], str(tmp_path / "store"), tmp_path / "report.pdf"
    folder = tmp_path / "proofs"
    assert main(["verify", *claims, "--jobs", "1", "--store", store]) == 0
    assert main(["verify", *claims, "--proofs", str(folder)]) == 0
    command = ["report", "--store", store, "--out", str(out), "--proofs", str(folder)]
    assert main(command) == 0
    text = "".join(page.get_text() for page in pymupdf.open(out)).replace("\n", "")
    named = {path.name for path in folder.iterdir() if path.name in text}
    whole = {path.name for path in folder.iterdir() if b'"kind": "derivation"' in path.read_bytes()}
    assert whole and whole <= named and "Proof files" in text
    kept = out.read_bytes()
    false = next(iter(named))
    (folder / false).write_bytes((folder / false).read_bytes().replace(b'"claim": "', b'"claim": "x'))
    capsys.readouterr()
    assert main(command) == 2 and out.read_bytes() == kept
    assert f"{false} is refused: its name is not the hash of its content" in capsys.readouterr().err
    assert main([*command[:-1], str(tmp_path / "no")]) == 2
    assert "proofs: " in capsys.readouterr().err


def test_a_claim_and_a_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, one_of_each())
    common = ["report", "--store", str(tmp_path), "--out", str(tmp_path / "a.pdf")]
    assert main([*common, "ftrl/false", "other"]) == 0
    assert main([*common, "--summary", "ftrl"]) == 0
    assert (
        capsys.readouterr().out
        == f"Report: {tmp_path / 'a.pdf'} (claims: 2)\nReport: {tmp_path / 'a.pdf'} (claims: 10)\n"
    )


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("report.html", "must be a file name that ends in .pdf"),
        ("report", "must be a file name that ends in .pdf"),
        ("nowhere/report.pdf", "must exist"),
        ("folder.pdf", "must be a file that can be written"),
    ],
)
def test_a_bad_target(tmp_path: Path, capsys: pytest.CaptureFixture[str], out: str, message: str) -> None:
    write(tmp_path, [claim()])
    (tmp_path / "folder.pdf").mkdir()
    _refused(tmp_path, capsys, message, out=out)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "no such file; run `dpbounds verify` first"),
        ("not json", "not a whole JSON file"),
        ('{"format": "other/1"}', "reads dpbounds-results/5"),
    ],
)
def test_bad_results(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "results.json").write_text(text, encoding="utf-8")
    _refused(tmp_path, capsys, message)


def test_an_unknown_topic_lists_the_known_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, one_of_each())
    _refused(tmp_path, capsys, "it has ftrl, other", "--topic", "zzz")
    _refused(tmp_path, capsys, "did you mean ftrl/false or", "ftrl/falls")


def test_broken_markup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, [claim(statement="$x")])
    _refused(tmp_path, capsys, "the statement of ftrl/thm-1 is not Typst markup")


def test_a_folder_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, [claim()])
    monkeypatch.setattr(render.os, "access", lambda path, mode: False)
    _refused(tmp_path, capsys, "must be a file that can be written")


def _refused(
    folder: Path, capsys: pytest.CaptureFixture[str], message: str, *options: str, out: str = "report.pdf"
) -> None:
    before = sorted(folder.rglob("*"))
    arguments = ["report", "--results", str(folder / "results.json"), "--out", str(folder / out), *options]
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("dpbounds: ")
    assert printed.err.count("\n") == 1
    assert message in printed.err
    assert sorted(folder.rglob("*")) == before
