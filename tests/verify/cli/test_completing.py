"""What the Tab key offers, asked for as the shells do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.verify.cli.commands import SCRIPT


def offered(line: str, folder: Path) -> set[str]:
    """The completions of the line's last word."""
    answer = folder / "answer"
    shell = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\v", "_ARGCOMPLETE_STDOUT_FILENAME": str(answer)}
    position = {"COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": "9"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, **shell, **position},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return {word.strip() for word in answer.read_text().split("\v")}


@pytest.mark.parametrize(
    ("line", "among", "never"),
    [
        ("dpbounds ", {"list", "verify", "solve", "report"}, {"ftrl"}),
        ("dpbounds verify --level ", {"quick", "full", "paper"}, {"ftrl"}),
        ("dpbounds report i", {"iv", "iv/"}, {"ftrl"}),
        ("dpbounds verify iv/lem-f", {"iv/lem-f.1"}, {"iv/lem-d.1"}),
        ("dpbounds solve ftrl --mech", {"--mechanism"}, {"--eta"}),
    ],
)
def test_what_is_offered(tmp_path, line, among, never):
    words = offered(line, tmp_path)
    assert among <= words and not never & words


def test_without_a_shell_nothing_is_loaded():
    code = (
        "from verify.cli import main, parser; parser().format_help(); import sys; print('argcomplete' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
