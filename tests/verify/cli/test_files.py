"""Files that commands write: whole or not at all, never in the place of a device, and pictures."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from dpbounds import DomainError
from tests.verify.cli.solve.examples import SOLVE, call, refused
from verify.cli import files
from verify.cli.solve.ftrl import plot

QUICK = ("--mechanism", "sgd", "--program", "f", "--max-lag", "2")

# --- whole or not at all ---


@pytest.mark.parametrize("problem", [QUICK, ("--mechanism", "sgd")], ids=["bounds", "closed forms"])
def test_an_existing_file_is_replaced_as_a_whole(capsys, tmp_path, problem):
    file = tmp_path / "rows.json"
    file.write_text("old")
    bad = call(capsys, *SOLVE, *problem, "--save", file, "--eta", "5")
    assert refused(bad, "eta = 5") and file.read_text() == "old"
    good = call(capsys, *SOLVE, *problem, "--save", file, "--json")
    content = json.loads(file.read_text())
    rows = content["rows"] if isinstance(content, dict) else content
    assert good.status == 0 and [row["mechanism"] for row in rows] == ["sgd"] and list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_what_stops_the_writing_leaves_the_old_file(monkeypatch, tmp_path, error):
    def half(path, content):
        with path.open("wb") as target:
            target.write(content[:3])
        raise error

    file = tmp_path / "rows.json"
    file.write_text("old")
    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises((DomainError, KeyboardInterrupt)) as caught:
        files.write("save", str(file), b"new content")
    assert isinstance(caught.value, KeyboardInterrupt) or "No space left on device" in str(caught.value)
    assert file.read_text() == "old" and list(tmp_path.iterdir()) == [file]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    files.write("save", str(tmp_path / "link"), b"content")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_bytes() == b"content"


@pytest.mark.parametrize("when", ["while it loads", "while it computes"])
def test_an_interrupted_table_is_one_line_and_leaves_nothing(tmp_path, when):
    """Also where the tests run in the background, with interrupts ignored."""
    kappas = [str(10 + k) for k in range(300)]
    asked = ["solve", "ftrl", "--eta", "0.1", "--certify", "--save", "a.json", "--plot", "a.svg", "--kappa", *kappas]
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); from verify.cli import main; "
    code += "import verify.cli.solve.ftrl.strongly_convex; " if when == "while it computes" else ""
    code += "print('started', flush=True); sys.exit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *asked], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "started\n"
    time.sleep(0.5 if when == "while it computes" else 0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "dpbounds: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_in_the_end_does_not_cost_the_table(capsys):
    shown = call(capsys, *SOLVE, *QUICK, "--certify", "--save", "/proc/bounds.json")
    assert shown.status == 2 and re.search(r"^sgd .* 0\.050001 ", shown.out, re.MULTILINE)
    assert "save = /proc/bounds.json" in shown.err and shown.err.count("\n") == 1


@pytest.mark.parametrize("name", ["folder", "nowhere/a.svg", "pipe"])
def test_what_is_no_place_for_a_file(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    os.mkfifo("pipe")
    with pytest.raises(DomainError, match=f"plot = {name} is not allowed"):
        files.check_target("plot", name)


QUICKEST = ("--jobs", "1", "--store", "results")
WRITING = {
    "export": ("verify", "ftrl/fig-4", *QUICKEST, "--export", "junit", "pipe"),
    "save": (*SOLVE, *QUICK, "--save", "pipe"),
    "plot": (*SOLVE, *QUICK, "--plot", "pipe.svg"),
    "out": ("report", "--store", "results", "--out", "pipe.pdf"),
}


@pytest.mark.parametrize("option", WRITING)
def test_no_command_replaces_what_is_no_regular_file(tmp_path, monkeypatch, capsys, option):
    monkeypatch.chdir(tmp_path)
    place = Path(WRITING[option][-1])
    os.mkfifo(place)
    shown = call(capsys, *WRITING[option])
    assert shown.status == 2 and f"{option} = {place} is not allowed" in shown.err and shown.err.count("\n") == 1
    assert place.is_fifo()


def test_a_folder_without_the_right_to_write(tmp_path, monkeypatch):
    monkeypatch.setattr(files.os, "access", lambda place, _: place != tmp_path)
    with pytest.raises(DomainError, match=r"save = .*can be written"):
        files.check_target("save", str(tmp_path / "a.json"))


# --- pictures ---


def test_pictures(capsys, tmp_path):
    asked = (
        "solve",
        "ftrl",
        "--kappa",
        "10",
        "100",
        "--eta",
        "0.1",
        *QUICK,
        "--mechanism",
        "sgd",
        "nu",
        "--nu",
        "0.01",
    )
    rows = call(capsys, *asked, "--json", "--plot", tmp_path / "a.svg").rows
    for name in ("b.svg", "a.pdf", "b.pdf", "a.png", "C.PNG"):
        plot.save(str(tmp_path / name), rows)
    content = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert ElementTree.fromstring(content["a.svg"]).tag.endswith("svg")
    assert content["a.pdf"].startswith(b"%PDF-") and content["a.png"].startswith(b"\x89PNG")
    assert content["a.svg"] == content["b.svg"] and content["a.pdf"] == content["b.pdf"]
    assert content["a.png"] == content["C.PNG"] and len(content) == 6


def test_what_a_picture_shows():
    """Over eta, where only that varies of the two: lines in order of eta, rows without a number left out."""
    rows = [
        {"mechanism": name, "program": program, "kappa": 10.0, "eta": eta, "rho": 0.5, "status": "certified"}
        | {"lower": eta, "upper": 2 * eta, "value": 3 * eta, "adversarial": None}
        for eta in (0.2, 0.1)
        for name in ("sgd", "nu")
        for program in ("f", "paper")
    ]
    rows[1]["value"] = None
    picture = plot.picture(rows)
    assert picture.x == "eta" and picture.log == ("x", "y") and "certified" in picture.y
    assert {(series.curve, series.role): (series.x, series.y) for series in picture.series} == {
        ("sgd, program f", "upper"): ((0.1, 0.2), (0.2, 0.4)),
        ("sgd, program f", "lower"): ((0.1, 0.2), (0.1, 0.2)),
        ("sgd, program paper, not a bound", "printed"): ((0.1,), (3 * 0.1,)),
        ("nu, program f", "upper"): ((0.1, 0.2), (0.2, 0.4)),
        ("nu, program f", "lower"): ((0.1, 0.2), (0.1, 0.2)),
        ("nu, program paper, not a bound", "printed"): ((0.1, 0.2), (3 * 0.1, 3 * 0.2)),
    }
    alone = plot.picture([{**rows[0], "status": "estimate"}])
    assert alone.x == "kappa" and "estimates" in alone.y and [one.role for one in alone.series] == ["upper", "lower"]
    both = plot.picture([rows[0], {**rows[0], "kappa": 20.0}, {**rows[0], "eta": 0.1}])
    assert both.x == "kappa" and both.series[0].curve == "sgd, eta = 0.2"
