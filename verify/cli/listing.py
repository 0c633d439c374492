"""`dpbounds list`."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from verify.cli import STORE
from verify.cli.console import print_json, print_table
from verify.running.entries import read_entries
from verify.running.index import Outline
from verify.running.registry import outlines, resolve, spread
from verify.statements.plain import plain

# Claims that are shown in full beneath the table.
IN_FULL = 10


def run(arguments: Namespace) -> int:
    """Print the claims, in full if few are named."""
    say_spread(arguments.names)
    claims = outlines(arguments.names)
    store = Path(arguments.store)
    last = {entry["claim"]: entry for entry in read_entries(store)}
    if not last and arguments.store != STORE:
        print(f"dpbounds: no results in {store}, so that no verdict is known but the reviewed one", file=sys.stderr)
    rows = [_row(claim, last.get(claim.id)) for claim in claims]
    if arguments.json:
        print_json([{**row, "statement": plain(claim.statement)} for row, claim in zip(rows, claims, strict=True)])
        return 0
    print_table([{**row, "verdict": _verdict(row)} for row in rows], ["claim", "where", "kind", "level", "verdict"])
    if arguments.names and len(claims) <= IN_FULL:
        for claim in claims:
            _print_in_full(claim, last.get(claim.id), alone=len(claims) == 1)
    return 0


def say_spread(names: Sequence[str]) -> None:
    """Say on standard error where a name means claims of several papers."""
    for line in spread(resolve(names)):
        print(f"dpbounds: {line}", file=sys.stderr)


def print_facts(facts: Sequence[str]) -> None:
    """Every fact of an evidence in a line."""
    for fact in facts:
        print(f"  · {fact}")


def _row(claim: Outline, entry: Mapping[str, Any] | None) -> dict[str, Any]:
    """The claim with its verdict, of the last run or else the reviewed one; `source` says which."""
    return {
        "claim": claim.id,
        "topic": claim.topic,
        "kind": claim.kind,
        "level": claim.level,
        "verdict": entry["verdict"] if entry else claim.reviewed,
        "source": "run" if entry else "reviewed",
        "where": claim.where,
    }


def _verdict(row: Mapping[str, Any]) -> str:
    """As the table shows it; that nothing was run needs no review."""
    reviewed = row["source"] == "reviewed" and row["verdict"] != "not run"
    return f"{row['verdict']} (reviewed)" if reviewed else row["verdict"]


def _print_in_full(claim: Outline, entry: Mapping[str, Any] | None, *, alone: bool) -> None:
    print("" if alone else f"\n{claim.id}, {claim.where}")
    print(f"States: {plain(claim.statement)}")
    if claim.hypotheses:
        print(f"Given:  {plain(claim.hypotheses)}")
    if claim.setting:
        print(f"Tested: {plain(claim.setting)}")
    remark = entry["remark"] if entry and entry["remark"] else plain(claim.remark)
    if remark:
        print(f"Remark: {remark}")
    if claim.not_run:
        print(f"Not run: {plain(claim.not_run)}")
    if entry is None:
        return
    if entry["finding"]:
        print(f"Finding: {entry['finding']}")
    for clause in entry["clauses"]:
        if clause["word"] == "open":
            print(f"Open: no check decides ({clause['letter']}) as {clause['form']}: {clause['text']}")
    for item in entry["evidence"]:
        several = sum(clause["form"] == item["form"] for clause in entry["clauses"]) > 1
        form = f"{item['form']}, {', '.join(item['clauses'])}" if several else item["form"]
        print(f"- {form}: {item['outcome']} ({item['how']}). {item['summary']}")
        print_facts(item.get("facts", ()))
