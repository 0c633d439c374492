"""Calls of `dpbounds solve` within the process."""

from __future__ import annotations

import contextlib
import io
import json
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


def rows_of(*arguments: object) -> list[dict[str, Any]]:
    """The rows of a call that succeeds, where fixtures of a module ask."""
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(shown.getvalue())


def refused(shown: Shown, *words: str) -> bool:
    """Status 2 and one line that holds the words, nothing else."""
    return shown.status == 2 and shown.out == "" and shown.err.count("\n") == 1 and all(w in shown.err for w in words)
