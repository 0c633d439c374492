"""What was found wrong: by severity, then by root, those that only follow from another under it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reports.results import GROUNDS, SEVERITIES, Entry, Evidence
from reports.text import lookup_order, one_line

FALSE = ("refuted", "corrected")
OPEN_CLAUSE = "open, no check decides it"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A fault and the claims that fall only because of it."""

    number: int
    entry: Entry
    followers: tuple[Entry, ...]

    @property
    def severity(self) -> str:
        """As reviewed; empty for a fault that nobody has looked at yet."""
        return self.entry.severity or ""


def findings(entries: Sequence[Entry]) -> list[Finding]:
    """All faults, numbered: those not reviewed yet, then by severity, in the order of the file within each."""
    false = {entry.claim: entry for entry in entries if entry.verdict in FALSE}
    roots = {claim: _root(entry, false) for claim, entry in false.items()}
    order = ("", *SEVERITIES)
    heads = sorted(
        (entry for claim, entry in false.items() if roots[claim] == claim),
        key=lambda entry: order.index(entry.severity or ""),
    )
    return [
        Finding(
            number=number,
            entry=head,
            followers=tuple(
                entry for claim, entry in false.items() if roots[claim] == head.claim and claim != head.claim
            ),
        )
        for number, head in enumerate(heads, 1)
    ]


def numbers(found: Sequence[Finding]) -> dict[str, int]:
    """The finding that each false claim belongs to."""
    return {entry.claim: item.number for item in found for entry in (item.entry, *item.followers)}


def index(entries: Sequence[Entry], of: Mapping[str, int]) -> list[tuple[str, int]]:
    """Every claim, in the order in which one looks a name up, with the number of its finding or 0."""
    return [(one_line(name), of.get(name, 0)) for name in sorted({entry.claim for entry in entries}, key=lookup_order)]


def _root(entry: Entry, false: Mapping[str, Entry]) -> str:
    """The claim at the end of the chain of roots; of a chain that runs in a circle, the claim itself."""
    seen, claim = {entry.claim}, entry.claim
    while false[claim].root in false:
        claim = false[claim].root
        if claim in seen:
            return entry.claim
        seen.add(claim)
    return claim


def grounds_of(entry: Entry) -> str:
    """On what the verdict stands. A corrected claim has two grounds: that of its refutation, the strongest of the
    checks that fail, and that of its correction.
    """
    if entry.verdict != "corrected" or entry.how is None:
        return entry.how or ""
    failing = (item.how for item in entry.evidence if item.form == "printed" and item.outcome == "fails")
    return f"false: {min(failing, key=GROUNDS.index)}; correction: {entry.how}"


def by_clause(entry: Entry) -> str:
    """The ground of each clause where they differ, and which are open."""
    form = "corrected" if entry.verdict == "corrected" else "printed"
    grounds: dict[str, list[str]] = {}
    for clause in entry.clauses:
        if clause.form == form:
            grounds.setdefault(clause.how or clause.word, []).append(f"({clause.letter})")
    if len(grounds) < 2 and "open" not in grounds:
        return ""
    return (
        "; ".join(f"{', '.join(letters)}: {OPEN_CLAUSE if how == 'open' else how}" for how, letters in grounds.items())
        + "."
    )


def on_clauses(evidence: Evidence, entry: Entry) -> str:
    """The ground of a check, and which clauses of several it decides."""
    several = sum(clause.form == evidence.form for clause in entry.clauses) > 1
    return f"{evidence.how} ({', '.join(evidence.clauses)})" if several else evidence.how
