"""`dpbounds list`: verdicts of the last run, else the reviewed ones, and the facts behind them."""

from __future__ import annotations

import json

import pytest

from verify.cli import main


@pytest.fixture
def said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> str:
        assert main(words) == 0
        return capsys.readouterr().out

    return run


def test_the_verdict_says_where_it_is_from(said):
    (row,) = json.loads(said("list", "glm/thm-19-b", "--json"))
    assert (row["verdict"], row["source"]) == ("confirmed", "reviewed")
    assert "confirmed (reviewed)" in said("list", "glm/thm-19-b")
    said("verify", "glm/thm-19-b", "--jobs", "1")
    (row,) = json.loads(said("list", "glm/thm-19-b", "--json"))
    assert (row["verdict"], row["source"]) == ("confirmed", "run")
    assert "(reviewed)" not in said("list", "glm/thm-19-b")


def test_facts_are_told_one_by_one(said):
    shown = said("verify", "glm/thm-19-b", "--jobs", "1")
    lines = [line for line in shown.splitlines() if line.startswith("  · ")]
    assert "glm/thm-19-b, printed: 9 " in shown and len(lines) == 9
    assert all(line in said("list", "glm/thm-19-b") for line in lines)
    assert "  · " not in said("list", "glm")
