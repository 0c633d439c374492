"""What a results file may not say: a verdict, its ground or its slack that the evidence does not give, evidence that
contradicts itself, text that is a program.

The rules for verdicts are those of `dpbounds verify`, declared again, since this package imports none of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from reports.results import FORMS, GROUNDS, Clause, Entry, Evidence, ReportError, Results
from reports.text import one_line

# Typst code, wherever it stands (a sign behind one backslash is a character), and functions that formulas reach by way
# of the standard library: as `verify.statements.markup` has it.
_CODE = re.compile(r"(?<!\\)(?:\\\\)*#|std\.\w")
_STRICT = ("proved", "certified", "certified at points")


def check_entry(entry: Entry, path: Path) -> None:
    """Raise `ReportError` for a claim whose fields contradict each other, naming the one that does."""
    for what, found, given in _contradictions(entry):
        claim, said = one_line(entry.claim), f"{what} of"
        raise ReportError(f"{path}: the {said} {claim!r} is {found!r}, but {given}; run `dpbounds verify` again")


def check_texts(results: Results) -> None:
    """Raise `ReportError`, naming the text, for markup that would run a program."""
    for name, text in markup_texts(results):
        if _CODE.search(text):
            raise ReportError(f"{results.path}: the {name} is a program, not text: {one_line(text)!r}")


def markup_texts(results: Results) -> Iterator[tuple[str, str]]:
    """Every text that is set as markup, with its name: labels and titles where they hold formulas."""
    for entry in results.entries:
        yield from ((f"{name} of {one_line(entry.claim)}", text) for name, text in entry.typeset.items())
        yield from ((f"clause of {one_line(entry.claim)}", clause.typeset) for clause in entry.clauses)
        for picture in (item.picture for item in entry.evidence):
            if picture is not None:
                labels = [*picture.typeset.values(), *(item.typeset for item in (*picture.series, *picture.slopes))]
                yield from ((f"picture of {one_line(entry.claim)}", label) for label in labels if "$" in label)
    for paper in results.papers:
        yield from ((f"highlight of {one_line(paper.name)}", item.typeset) for item in (*paper.stands, *paper.sharper))
        for item in paper.notation:
            yield from ((f"notation of {one_line(paper.name)}", text) for text in item.typeset.values())
        for figure in paper.figures:
            of_figure = f"{one_line(figure.name)} of {one_line(paper.name)}"
            titles = (figure.typeset, *(panel.typeset for panel in figure.panels))
            yield from ((of_figure, text) for text in titles if "$" in text)


def _contradictions(entry: Entry) -> Iterator[tuple[str, object, str]]:
    """What is said, as it stands, and what contradicts it."""
    for clause in entry.clauses:
        found, given = _on_ground(clause.word, clause.how), _of_clause(clause, entry)
        if found not in given:
            yield f"clause {clause.letter} as {clause.form}", found, f"its evidence says {given[0]!r}"
    for number, item in enumerate(entry.evidence, 1):
        yield from ((f"evidence {number}: {what}", found, given) for what, found, given in _in_evidence(item))
    word = _word(entry)
    if entry.verdict != word:
        yield "verdict", entry.verdict, f"its evidence says {word!r}"
    deciding = _deciding(entry)
    how = _ground(deciding, strongest=word == "refuted")
    if entry.how != how:
        yield "ground", entry.how, f"its evidence says {how!r}"
    slacks = [item.slack for item in deciding if item.slack is not None and word != "refuted"]
    slack = min(slacks, default=None)
    if entry.slack != slack:
        yield "slack", entry.slack, f"its evidence says {slack!r}"
    if word in ("confirmed", "undecided", "not run") and entry.severity is not None:
        yield "severity", entry.severity, f"a claim that is {word} has none"


def _in_evidence(item: Evidence) -> Iterator[tuple[str, object, str]]:
    if item.outcome != "fails" and item.counterexample is not None:
        yield "outcome", item.outcome, "there is a counterexample"
    if item.how in _STRICT and (item.alpha or item.trials):
        yield "ground", item.how, "chance decides it"
    if item.how == "statistical" and item.alpha is None:
        yield "ground", item.how, "there is no rate of false alarms"


def _of_clause(clause: Clause, entry: Entry) -> Sequence[str]:
    """What the evidence that names the clause says of it; without any, whether there is a check is not known here."""
    named = [item for item in entry.evidence if item.form == clause.form and clause.letter in item.clauses]
    if not named:
        return "open", "not run"
    failing = [item for item in named if item.outcome == "fails"]
    if failing:
        return [_on_ground("fails", _ground(failing, strongest=True))]
    word = "unclear" if any(item.outcome == "unclear" for item in named) else "holds"
    return [_on_ground(word, _ground(named, strongest=False))]


def _on_ground(word: str, how: str | None) -> str:
    return f"{word}, {how}" if how else word


def _word(entry: Entry) -> str:
    """The verdict that follows from the evidence."""
    printed, corrected = ([item.outcome for item in of] for of in _by_form(entry))
    if not printed:
        return "not run"
    if "fails" in printed:
        if not entry.correction or "fails" in corrected:
            return "refuted"
        return "corrected" if corrected and set(corrected) == {"holds"} else "undecided"
    return "undecided" if entry.open or "unclear" in printed else "confirmed"


def _deciding(entry: Entry) -> Sequence[Evidence]:
    """The evidence on whose ground the verdict stands."""
    printed, corrected = _by_form(entry)
    word = _word(entry)
    if word == "corrected":
        return corrected
    if word == "refuted":
        broken = [item for item in corrected if item.outcome == "fails"]
        return broken or [item for item in printed if item.outcome == "fails"]
    return printed


def _ground(evidence: Sequence[Evidence], *, strongest: bool) -> str | None:
    """One counterexample refutes, and the strongest counts; all checks confirm, and the weakest does, controls left out
    where there are proofs.
    """
    proofs = [item for item in evidence if strongest or item.role == "proof"] or evidence
    grounds = [GROUNDS.index(item.how) for item in proofs]
    return GROUNDS[min(grounds) if strongest else max(grounds)] if grounds else None


def _by_form(entry: Entry) -> tuple[Sequence[Evidence], ...]:
    return tuple([item for item in entry.evidence if item.form == form] for form in FORMS)
