"""`dpbounds report`."""

from __future__ import annotations

import json
import shlex
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from dpbounds import DomainError
from reports.comparing import compare
from reports.reader import read
from reports.render import check_target, report
from reports.results import Entry, ReportError
from verify.cli import printable
from verify.cli.console import progress
from verify.proof_checker import Folder, Refused
from verify.running.entries import RESULTS
from verify.running.registry import resolve, spread
from verify.statements.naming import joined


def run(arguments: Namespace) -> int:
    """Write the PDF and say where it is, or print what changed between two runs."""
    if arguments.compare:
        return _compare(arguments)
    if not arguments.out:
        print(
            "dpbounds report: --out FILE.pdf is needed, or --compare OLD NEW (see dpbounds report --help)",
            file=sys.stderr,
        )
        return 2
    file = Path(arguments.results) if arguments.results else Path(arguments.store, RESULTS)
    try:
        names = _ids(file, [*arguments.names, *arguments.topic])
        check_target(Path(arguments.out))
        proofs = accepted(Path(arguments.proofs)) if arguments.proofs else {}
        shown = report(
            file, Path(arguments.out), names, summary=arguments.summary, proofs=lambda entry: files_of(entry, proofs)
        )
    except ReportError as error:
        print(f"dpbounds: {printable(str(error))}", file=sys.stderr)
        return 2
    print(f"Report: {arguments.out} (claims: {len(shown.entries)})")
    return 0


def _compare(arguments: Namespace) -> int:
    """Exit status: 0 every verdict is as it was, 1 some are not, 2 bad input."""
    for option in ("out", "results", "proofs", "summary"):
        if getattr(arguments, option):
            raise DomainError(f"--{option}", getattr(arguments, option), "left out beside --compare", "it prints text")
    old, new = map(Path, arguments.compare)
    try:
        found = compare(read(old), read(new), _ids(new, [*arguments.names, *arguments.topic]))
    except ReportError as error:
        print(f"dpbounds: {printable(str(error))}", file=sys.stderr)
        return 2
    for line in found.lines():
        print(printable(line))
    return int(found.verdicts > 0)


Proofs = dict[tuple[str, str], dict[str, list[str]]]


def accepted(folder: Path) -> Proofs:
    """The proof files by claim and code, and by form: what joins them where there is that. All must be accepted."""
    try:
        proofs = Folder(folder)
    except Refused as refusal:
        raise ReportError(f"proofs: {refusal}") from None
    found: Proofs = {}
    joined_by: dict[tuple[str, str, str], str] = {}
    with progress("proofs") as show:
        for number, (name, path) in enumerate(proofs.paths.items()):
            show(number, len(proofs.paths), name)
            verdict, said = proofs.verdict(name)
            if verdict != "accepted":
                raise ReportError(f"{path} is refused: {said}")
            data = json.loads(path.read_bytes())
            claim, form, code = data["claim"], data["form"], data["code"]
            if data["check"] is None:
                joined_by[claim, code, form] = name
            found.setdefault((claim, code), {}).setdefault(form, []).append(name)
        show(len(proofs.paths), len(proofs.paths), "")
    for (claim, code, form), name in joined_by.items():
        found[claim, code][form] = [name]
    return found


def files_of(entry: Entry, proofs: Proofs) -> list[str]:
    """The files of a claim, computed by the same code."""
    return [name for names in proofs.get((entry.claim, entry.code), {}).values() for name in names]


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
