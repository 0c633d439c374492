"""`dpbounds list`."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from verify.cli import STORE
from verify.cli.console import print_json, print_table
from verify.running import results
from verify.statements.claims import Claim
from verify.statements.plain import plain
from verify.statements.topics import resolve, select, spread

# Claims that are shown in full beneath the table.
IN_FULL = 10


def run(arguments: Namespace) -> int:
    """Print the claims, in full if few are named."""
    claims = chosen(arguments.names)
    store = Path(arguments.store)
    last = {entry["claim"]: entry for entry in results.read_entries(store)}
    if not last and arguments.store != STORE:
        print(f"dpbounds: no results in {store}, so that no verdict is known", file=sys.stderr)
    rows = [
        {
            "claim": claim.id,
            "topic": claim.topic,
            "kind": claim.kind,
            "level": claim.level,
            "verdict": last.get(claim.id, {}).get("verdict", "not run"),
            "where": claim.where,
        }
        for claim in claims
    ]
    if arguments.json:
        print_json([{**row, "statement": plain(claim.statement)} for row, claim in zip(rows, claims, strict=True)])
        return 0
    print_table(rows, ["claim", "where", "kind", "level", "verdict"])
    if arguments.names and len(claims) <= IN_FULL:
        for claim in claims:
            _print_in_full(claim, last.get(claim.id), alone=len(claims) == 1)
    return 0


def chosen(names: Sequence[str]) -> list[Claim]:
    """The claims named; where a name means claims of several papers, that is said on standard error."""
    for line in spread(resolve(names)):
        print(f"dpbounds: {line}", file=sys.stderr)
    return select(names)


def _print_in_full(claim: Claim, entry: dict | None, *, alone: bool) -> None:
    print("" if alone else f"\n{claim.id}, {claim.where}")
    print(f"States: {plain(claim.statement)}")
    if claim.hypotheses:
        print(f"Given:  {plain(claim.hypotheses)}")
    if claim.setting:
        print(f"Tested: {plain(claim.setting)}")
    if claim.remark:
        print(f"Remark: {plain(claim.remark)}")
    if claim.not_run:
        print(f"Not run: {plain(claim.not_run)}")
    if entry is None:
        return
    if entry["finding"]:
        print(f"Finding: {entry['finding']}")
    for item in entry["evidence"]:
        print(f"- {item['form']}: {item['outcome']} ({item['how']}). {item['summary']}")
