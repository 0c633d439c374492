"""Files and numbers that users hand over by mistake, or not: one line, status 2, nothing written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.verify.cli.commands import SCRIPT
from verify.cli import main
from verify.running import results

LONG = "a" * 300
DIGITS = "1" * 400


def store_with(content: object, folder: Path) -> str:
    """A results file with this content and the checksum that belongs to it."""
    body = {"versions": {}, "topics": [], "claims": content}
    whole = {"format": results.FORMAT, "checksum": results.checksum(body), **body}
    (folder / results.RESULTS).write_text(json.dumps(whole))
    return str(folder)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("verify ftrl/eq-14 --shard 0/999999999", "--shard: '0/999999999'"),
        (f"verify ftrl/eq-14 --shard 0/{DIGITS}", "0 <= I < N <= 1000"),
        ("verify ftrl/eq-14 --seed ²", "--seed: '²'"),
        (f"verify ftrl/eq-14 --seed {DIGITS}", "--seed"),
        (f"verify ftrl/eq-14 --store {LONG}", "store = aaa"),
        (f"verify ftrl/eq-14 --export junit {LONG}", "export = aaa"),
        (f"verify ftrl/eq-14 --data-dir {LONG}", "aaa"),
        (f"list --store {LONG}", "store = aaa"),
        ("report --results /dev/zero --out a.pdf", "/dev/zero: larger than"),
        ("report --results /dev/null --out a.pdf", "/dev/null: not a whole JSON file"),
        (f"report --results {LONG} --out a.pdf", "cannot be read (File name too long)"),
        ("report --results deep.json --out a.pdf", "deep.json: not a whole JSON file"),
        (f"report --out {LONG}.pdf", "must be a file that can be written"),
        (f"solve --check {LONG}", "check = aaa"),
        ("solve --check /dev/zero", "check = /dev/zero"),
        ("solve iv --n 9 --p 2 --q 2 --rho1 1 --rho2 1 --theta /dev/zero", "theta = /dev/zero"),
        (
            "solve ftrl --eta 0.1 --kappa 10 --mechanism coefficients --coefficients /dev/zero",
            "coefficients = /dev/zero",
        ),
        ("solve ftrl --problem mean-estimation --eta 1e-300", "eta = "),
        (f"solve ftrl --eta 0.1 --decay 1 --dimension {DIGITS}", "dimension = 111"),
    ],
)
def test_one_line_and_status_2(tmp_path, monkeypatch, capsys, words, named):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep.json").write_text("[" * 100_000)
    try:
        status = main(words.split())
    except SystemExit as end:
        status = end.code
    printed = capsys.readouterr()
    assert status == 2 and printed.out == "" and printed.err.startswith("dpbounds"), printed
    assert printed.err.count("\n") == 1 and named in printed.err, printed.err
    assert [file.name for file in tmp_path.iterdir()] == ["deep.json"]


@pytest.mark.parametrize("content", [None, 1, "text", [None], [{}], [{"verdict": "confirmed"}], {"a": 1}])
def test_results_with_a_true_checksum_that_are_none(tmp_path, capsys, content):
    assert main(["list", "ftrl/eq-14", "--store", store_with(content, tmp_path)]) == 2
    assert "a results file as dpbounds wrote it" in capsys.readouterr().err
    assert main(["report", "--store", str(tmp_path), "--out", str(tmp_path / "a.pdf")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_control_characters_are_written_out(capsys):
    assert main(["list", "\x1b[31mred\nline"]) == 2
    assert capsys.readouterr().err.startswith(r"dpbounds: claim = \x1b[31mred\nline is not allowed")


def test_standard_output_on_a_full_disk():
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-c", SCRIPT, "list", "glm/lem-5", "--json"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.stderr.startswith("dpbounds: No space left on device") and "Traceback" not in done.stderr
