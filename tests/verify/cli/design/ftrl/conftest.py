"""The command in a folder of its own."""

from __future__ import annotations

import pytest

from verify.cli import main


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """The command in a folder of its own: status, output, errors."""
    monkeypatch.chdir(tmp_path)

    def command(words: str) -> tuple[int, str, str]:
        try:
            status = main(words.split())
        except SystemExit as ended:
            status = int(ended.code or 0)
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return command
