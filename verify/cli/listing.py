"""`dpbounds list`."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from verify import results
from verify.claims import Claim, select
from verify.cli.console import plain, print_json, print_table


def run(arguments: Namespace) -> int:
    """Print the claims, in full if a single one is named."""
    claims = select(arguments.names)
    last = {entry["claim"]: entry for entry in results.read_entries(Path(arguments.store))}
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
        print_json([{**row, "statement": claim.statement} for row, claim in zip(rows, claims, strict=True)])
        return 0
    print_table(rows, ["claim", "where", "kind", "level", "verdict"])
    if len(claims) == 1:
        _print_in_full(claims[0], last.get(claims[0].id))
    return 0


def _print_in_full(claim: Claim, entry: dict | None) -> None:
    print(f"\nStates: {plain(claim.statement)}")
    if claim.hypotheses:
        print(f"Needs:  {plain(claim.hypotheses)}")
    if claim.not_run:
        print(f"Not run: {plain(claim.not_run)}")
    if entry is None:
        return
    if entry["finding"]:
        print(f"Finding: {plain(entry['finding'])}")
    for item in entry["evidence"]:
        print(f"- {item['form']}: {item['outcome']} ({item['how']}). {plain(item['summary'])}")
