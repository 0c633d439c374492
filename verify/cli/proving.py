"""`dpbounds verify --proofs`: proof files in place of verdicts."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from dpbounds import DomainError
from verify.cli import files
from verify.cli.console import print_json, print_table, progress
from verify.proofs.writing import Outcome, write
from verify.statements.claims import Claim


def check(arguments: Namespace) -> None:
    """`DomainError` for a folder that cannot be written, and for options that only verdicts have."""
    if arguments.proofs is None:
        return
    for name in ("shard", "impostors", "export", "scheduler"):
        if getattr(arguments, name):
            raise DomainError(
                "proofs", arguments.proofs, f"left out with --{name}", "files are written, nothing decided"
            )
    files.check_folder("proofs", arguments.proofs)


def run(claims: Sequence[Claim], arguments: Namespace) -> int:
    """Write the files and say which checks have none, and why. What is there already is kept: an interrupted run goes
    on where it was.
    """
    folder = Path(arguments.proofs)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise DomainError("proofs", folder, "a folder that can be written", error.strerror or str(error)) from None
    with progress("proofs") as show:
        outcomes = write(claims, folder, show)
    if arguments.json:
        print_json([asdict(outcome) for outcome in outcomes])
        return 0
    without = [asdict(outcome) for outcome in outcomes if not outcome.file]
    if without:
        print_table(without, ["claim", "form", "check", "reason"])
        print()
    print(_summary(outcomes, folder))
    return 0


def _summary(outcomes: Sequence[Outcome], folder: Path) -> str:
    proved = [outcome for outcome in outcomes if outcome.file]
    kinds = ", ".join(f"{number} {kind}" for kind, number in Counter(outcome.kind for outcome in proved).most_common())
    claims = len({outcome.claim for outcome in proved})
    said = f"{claims} of {len({item.claim for item in outcomes})} claims with such checks have files in {folder}"
    said += f": {len(proved)} in all ({kinds or 'none'})"
    certified = [outcome for outcome in outcomes if outcome.certified]
    missing = sum(not outcome.file for outcome in certified)
    said += f". Of {len(certified)} certified checks {missing} have none, for the reasons above."
    return f"{said}\nCheck them with Python alone: python verify/proof_checker.py {folder}"
