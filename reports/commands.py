"""The commands that decide claims again, as a shell reads them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace

from reports.results import LEVELS, Entry, Results
from reports.text import one_line

_LEVEL = re.compile(rf"needs level ({'|'.join(LEVELS)})")


def commands(results: Results, topic: str) -> list[str]:
    """The topic, or the claims chosen, at the most frequent level and seed, then the claims that were run otherwise."""
    runs: dict[tuple[str, int], list[Entry]] = {}
    for entry in results.of(topic):
        runs.setdefault((entry.level, entry.seed), []).append(entry)
    first, *others = sorted(runs.values(), key=len, reverse=True)
    whole = not results.names or topic in results.names
    names = [topic] if whole else [entry.claim for entry in first]
    return [command(first[0], names), *(command(run[0], [entry.claim for entry in run]) for run in others)]


def command(entry: Entry, names: Sequence[str]) -> str:
    """What decides these claims again as this one was decided."""
    options = ["--level", entry.level, "--seed", str(entry.seed)]
    return shlex.join(["dpbounds", "verify", *map(one_line, names), *options])


def again(entry: Entry) -> str:
    """What decides the claim again; of one that was not run, what decides it where its needs are met, or nothing where
    it has no check.
    """
    if entry.clauses and all(clause.word == "open" for clause in entry.clauses):
        return ""
    needed = _LEVEL.fullmatch(entry.finding) if entry.verdict == "not run" else None
    data = " --data-dir DIR" if entry.verdict == "not run" and "--data-dir DIR" in entry.finding else ""
    return command(replace(entry, level=needed[1]) if needed else entry, [one_line(entry.claim)]) + data
