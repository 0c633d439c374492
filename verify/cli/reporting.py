"""`dpbounds report`."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from dpbounds import DomainError
from reports.reader import read
from reports.render import report
from reports.results import ReportError
from verify.cli import printable
from verify.running.entries import RESULTS
from verify.running.registry import resolve, spread
from verify.statements.naming import joined


def run(arguments: Namespace) -> int:
    """Write the PDF and say where it is."""
    file = Path(arguments.results) if arguments.results else Path(arguments.store, RESULTS)
    try:
        names = _ids(file, [*arguments.names, *arguments.topic])
        shown = report(file, Path(arguments.out), names, summary=arguments.summary)
    except ReportError as error:
        print(f"dpbounds: {printable(str(error))}", file=sys.stderr)
        return 2
    print(f"Report: {arguments.out} (claims: {len(shown.entries)})")
    return 0


def _ids(file: Path, names: Sequence[str]) -> list[str]:
    """Topics and claims as the results file names them, for names as `dpbounds verify` takes them.

    A name that the file does not know means those of its claims that have results. Raises `ReportError` if none has.
    """
    if not names:
        return []
    entries = read(file).entries
    known = {name for entry in entries for name in (entry.claim, entry.topic)}
    chosen: list[str] = []
    for name in joined(names):
        if name in known:
            chosen.append(name)
            continue
        try:
            found = resolve([name])
        except DomainError as error:
            if error.remedy.startswith("did you mean"):
                raise ReportError(f"{name!r} has no results in {file}; {error.remedy}") from None
            chosen.append(name)  # the report says what the file has
            continue
        for line in spread(found):
            print(f"dpbounds: {line}", file=sys.stderr)
        ids = [claim.id for claims in found.values() for claim in claims]
        chosen += [claim for claim in ids if claim in known]
        if not known.intersection(ids):
            raise ReportError(f"{name!r} has no results in {file}; run `dpbounds verify {shlex.quote(name)}` first")
    return list(dict.fromkeys(chosen))
