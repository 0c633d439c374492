"""Two runs beside one another: which verdicts, grounds, clauses and checks changed, and which numbers moved.

A number of a proof or of a numeric check moved where it is another. One that chance decides comes with an interval, and
moved where the intervals of the two runs have no point in common; without an interval it is not compared. Under two
seeds numeric checks look elsewhere, so that only what is proved and certified is compared of the rest.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from reports.findings import grounds_of
from reports.reader import as_number
from reports.results import Entry, Evidence, ReportError, Results
from reports.text import counted, one_line

# Relative to the larger number: what another machine's last digits may change.
SAME = 1e-9
# Of a claim's check, the numbers that are told one by one.
MOST_NUMBERS = 3
# What a row is about, and what it states rather than draws.
_LABELS = (
    "fact",
    "reading",
    "case",
    "group",
    "event",
    "setting",
    "pair",
    "set",
    "cell",
    "test",
    "against",
    "accounting",
)
_STATED = ("claimed", "predicted", "printed", "exact", "bound", "least", "most", "tolerance", "delta")
_DRAWN = ("observed", "simulated", "frequency", "ratio", "coverage", "found")


@dataclass(frozen=True)
class Number:
    """A number of some evidence, with the ends of its interval where chance decides it, and how far it may be off."""

    value: float
    low: float = math.nan
    high: float = math.nan
    tolerance: float = 0.0

    def moved(self, other: Number) -> bool:
        """Whether the other is another number; of two intervals, whether they have no point in common."""
        if not math.isnan(self.low) and not math.isnan(other.low):
            return self.high < other.low or other.high < self.low
        if math.isnan(self.value) or math.isinf(self.value) or math.isinf(other.value):
            return not (self.value == other.value or (math.isnan(self.value) and math.isnan(other.value)))
        allowed = max(SAME * max(abs(self.value), abs(other.value)), self.tolerance, other.tolerance)
        return not abs(self.value - other.value) <= allowed

    def __str__(self) -> str:
        interval = "" if math.isnan(self.low) else f" in [{self.low:.5g}, {self.high:.5g}]"
        return f"{self.value:.12g}{interval}" if not interval else f"{self.value:.5g}{interval}"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What changed, by claim, a line each; the claims that only one run has; how many claims both have, and how many
    verdicts are others.
    """

    changes: Mapping[str, Sequence[str]]
    gone: tuple[str, ...]
    new: tuple[str, ...]
    both: int
    verdicts: int
    notes: tuple[str, ...] = field(default=())

    def lines(self) -> Iterator[str]:
        """The whole of it as text."""
        for claim, said in self.changes.items():
            yield one_line(claim)
            yield from (f"  {one_line(line)}" for line in said)
        yield from (f"Only in the old run: {one_line(', '.join(self.gone))}." for _ in self.gone[:1])
        yield from (f"Only in the new run: {one_line(', '.join(self.new))}." for _ in self.new[:1])
        yield from self.notes
        same = self.both - len(self.changes)
        changed = f"{len(self.changes)} changed ({self.verdicts} in verdict), {same} not"
        yield f"{counted(self.both, 'claim')} in both: {changed}."


def compare(old: Results, new: Results, names: Sequence[str] = ()) -> Comparison:
    """What changed from one results file to another, of the claims and topics named or of all.

    Raises `ReportError` for a file that is compared with itself, for files without a common claim, and for a claim that
    was decided at two levels.
    """
    if old.path.resolve() == new.path.resolve():
        raise ReportError(f"{new.path}: compared with itself; name the results files of two runs")
    before, after = _chosen(old, names), _chosen(new, names)
    both = [claim for claim in after if claim in before]
    if not both:
        of = f" of {', '.join(names)}" if names else ""
        raise ReportError(f"{old.path} and {new.path} have no claim{of} in common, so that there is nothing to compare")
    for claim in both:
        first, second = before[claim].level, after[claim].level
        if first != second:
            said = f"{one_line(claim)} was decided at level {second}, in {old.path} at level {first}"
            raise ReportError(f"{new.path}: {said}; compare runs of one level")
    found = {claim: list(_changes(before[claim], after[claim])) for claim in both}
    seeds = sum(before[claim].seed != after[claim].seed for claim in both)
    note = f"{counted(seeds, 'claim')} with another seed: numbers of numeric checks were not compared."
    return Comparison(
        changes={claim: said for claim, said in found.items() if said},
        gone=tuple(claim for claim in before if claim not in after),
        new=tuple(claim for claim in after if claim not in before),
        both=len(both),
        verdicts=sum(before[claim].verdict != after[claim].verdict for claim in both),
        notes=(note,) * bool(seeds),
    )


def _chosen(results: Results, names: Sequence[str]) -> dict[str, Entry]:
    chosen = set(names)
    return {entry.claim: entry for entry in results.entries if not chosen or chosen & {entry.claim, entry.topic}}


# --- of a claim ---


def _changes(old: Entry, new: Entry) -> Iterator[str]:
    """A line for everything that is not as it was."""
    if old.verdict != new.verdict:
        yield f"verdict: {old.verdict}, now {new.verdict}"
    if grounds_of(old) != grounds_of(new):
        yield f"ground: {grounds_of(old) or 'none'}, now {grounds_of(new) or 'none'}"
    yield from (
        f"the {name} reads differently"
        for name in ("statement", "hypotheses", "correction")
        if getattr(old, name) != getattr(new, name)
    )
    yield from _clauses(old, new)
    yield from _checks(old, new)


def _clauses(old: Entry, new: Entry) -> Iterator[str]:
    said = [
        {(item.form, item.letter): ", ".join(filter(None, (item.word, item.how))) for item in entry.clauses}
        for entry in (old, new)
    ]
    for form, letter in dict.fromkeys([*said[0], *said[1]]):
        before, after = (clauses.get((form, letter), "not there") for clauses in said)
        if before != after:
            yield f"clause ({letter}) as {form}: {before}, now {after}"


def _checks(old: Entry, new: Entry) -> Iterator[str]:
    for form in dict.fromkeys(item.form for entry in (old, new) for item in entry.evidence):
        found = [[item for item in entry.evidence if item.form == form] for entry in (old, new)]
        if len(found[0]) != len(found[1]):
            yield f"checks as {form}: {len(found[0])}, now {len(found[1])}; they were not compared"
            continue
        for number, (before, after) in enumerate(zip(*found, strict=True), 1):
            name = f"check {number} as {form}"
            ways = [f"{item.outcome}, {item.how}" for item in (before, after)]
            if ways[0] != ways[1]:
                yield f"{name}: {ways[0]}, now {ways[1]}"
            elif old.seed == new.seed or before.how in ("proved", "certified", "statistical"):
                yield from (f"{name}, {line}" for line in _moved(before, after))


def _moved(old: Evidence, new: Evidence) -> Iterator[str]:
    before, after = numbers(old), numbers(new)
    if list(before) != list(after):
        added = len(after.keys() - before.keys()), len(before.keys() - after.keys())
        yield f"other comparisons: {added[0]} new, {added[1]} no longer there"
    moved = [name for name in before if name in after and before[name].moved(after[name])]
    for name in moved[:MOST_NUMBERS]:
        yield f"{name}: {before[name]}, now {after[name]}"
    if len(moved) > MOST_NUMBERS:
        yield f"{counted(len(moved) - MOST_NUMBERS, 'more number')} moved"


# --- numbers of an evidence ---


def numbers(evidence: Evidence) -> dict[str, Number]:
    """The numbers that can be compared, by what they are of; names that occur again are counted."""
    found: dict[str, Number] = {}
    seen: Counter[str] = Counter()
    for name, number in [*_of_rows(evidence), *_of_picture(evidence)]:
        seen[name] += 1
        found[name if seen[name] == 1 else f"{name} ({seen[name]})"] = number
    if evidence.how != "statistical" and evidence.slack is not None:
        found["slack"] = Number(evidence.slack)
    return found


def _of_rows(evidence: Evidence) -> Iterator[tuple[str, Number]]:
    """Of each row what it states, and what it found: with its interval where chance decides it."""
    for index, row in enumerate(evidence.rows, 1):
        parts = [str(row[key]) for key in _LABELS if isinstance(row.get(key), str) and row[key]]
        label = ", ".join(parts) or f"comparison {index}"
        ends = [as_number(row.get(key)) for key in ("low", "high")]
        for key, content in row.items():
            value = as_number(content) if not isinstance(content, bool) else float(content)
            if key in _LABELS or key in ("low", "high") or value is None:
                continue
            if evidence.how != "statistical" or key in _STATED:
                tolerance = as_number(row.get("tolerance")) if key == "difference" else 0.0
                yield f"{label}: {key}", Number(value, tolerance=tolerance or 0.0)
            elif key in _DRAWN and None not in ends:
                yield f"{label}: {key}", Number(value, *(end for end in ends if end is not None))


def _of_picture(evidence: Evidence) -> Iterator[tuple[str, Number]]:
    for series in evidence.picture.series if evidence.picture else ():
        for x, y, low, high in zip_longest(series.x, series.y, series.low, series.high, fillvalue=math.nan):
            if evidence.how != "statistical" or series.role != "simulated" or not math.isnan(low):
                yield f"{series.curve}, {series.role} at {x:g}", Number(y, low, high)
    for slope in evidence.picture.slopes if evidence.picture else ():
        yield f"slope of {slope.curve}, exact", Number(slope.exact)
        yield f"slope of {slope.curve}, simulated", Number(slope.simulated, slope.low, slope.high)
