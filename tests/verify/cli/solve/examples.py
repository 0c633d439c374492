"""Calls of `dpbounds solve`: within the process, or apart from it without the run-time checks of shapes, which slow
ball arithmetic down.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from verify.cli import main

SOLVE = ("solve", "ftrl", "--kappa", "10", "--eta", "0.1")


@dataclass(frozen=True)
class Shown:
    """What a call left: exit status, standard output and standard error."""

    status: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        return json.loads(self.out)


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> Shown:
    try:
        status = main([str(argument) for argument in arguments])
    except SystemExit as end:  # argparse's own errors
        status = int(end.code or 0)
    out, err = capsys.readouterr()
    return Shown(status, out, err)


def apart(*arguments: object) -> list[dict[str, Any]]:
    """The rows of a call in a process of its own."""
    command = [sys.executable, "-c", "import sys; from verify.cli import main; sys.exit(main())"]
    command += [str(argument) for argument in (*arguments, "--json")]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def refused(shown: Shown, *words: str) -> bool:
    """Status 2 and one line that holds the words, nothing else."""
    return shown.status == 2 and shown.out == "" and shown.err.count("\n") == 1 and all(w in shown.err for w in words)
