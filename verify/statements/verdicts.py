"""The verdict on a claim, always computed from its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from verify.checks.evidence import Evidence, How, Outcome, strongest, tightest, weakest
from verify.statements.claims import Claim, Severity, Touches, Word
from verify.statements.clauses import Clause, judged, parts, whole
from verify.statements.wording import filled, literal


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The word on a claim, on what ground, and what is to be said of it (Typst markup).

    A corrected claim has two grounds: `how` is that of the correction, the weakest of its proofs, `refutation` that of
    the counterexamples, the strongest of the checks that fail. `severity`, `touches`, `root` and `consequence` belong
    to what is refuted or corrected as reviewed; a fault found for the first time has none yet. `remark` belongs to what
    is confirmed, `correction` and its `ground` to what is corrected; `derivation` to what rests on one. `clauses` are
    those of the statement, and of the correction where it holds.
    """

    word: Word
    how: How | None = None
    refutation: How | None = None
    slack: float | None = None
    finding: str = ""
    severity: Severity | None = None
    touches: Touches | None = None
    root: str = ""
    consequence: str = ""
    remark: str = ""
    correction: str = ""
    ground: str = ""
    clauses: tuple[Clause, ...] = ()
    derivation: str = ""

    @property
    def open_clauses(self) -> tuple[Clause, ...]:
        """The clauses of what is confirmed, or of the correction that holds, that no check decides."""
        form = {"confirmed": "printed", "corrected": "corrected"}.get(self.word, "")
        return tuple(item for item in self.clauses if item.form == form and item.word == "open")


def decide(claim: Claim, printed: Sequence[Evidence | None], corrected: Sequence[Evidence | None]) -> Verdict:
    """The verdict from the evidence of each check, None where a check does not run at this level."""
    verdict = _decide(claim, printed, corrected)
    clauses = judged("printed", parts(claim.statement), claim.checks, printed)
    if verdict.word == "corrected" and claim.correction is not None:
        numbers = _numbers(claim, [item for item in (*printed, *corrected) if item is not None])
        said = [filled(text, numbers) for text in parts(claim.correction.statement)]
        clauses += judged("corrected", said, claim.correction.checks, corrected)
    return replace(verdict, clauses=clauses, derivation=_derivation(claim, verdict.word))


def _derivation(claim: Claim, word: Word) -> str:
    """What joins the proofs to what is confirmed, or to the correction, with the lemmas that it takes."""
    form = {"confirmed": "printed", "corrected": "corrected"}.get(word, "")
    found = {str(name): item for name, item in claim.derivations().items()}.get(form)
    if found is None:
        return ""
    return f"{found.text} ({', '.join(found.lemmas)})" if found.lemmas else found.text


def _decide(claim: Claim, printed: Sequence[Evidence | None], corrected: Sequence[Evidence | None]) -> Verdict:
    shown, mended = ([item for item in found if item is not None] for found in (printed, corrected))
    found: list[Outcome] = [item.outcome for item in shown]
    after: list[Outcome] = [item.outcome for item in mended]
    word = word_of(found, after, correctable=claim.correction is not None, is_open=bool(claim.open))
    if word == "not run":
        return Verdict(word=word, finding=claim.not_run or f"needs level {claim.level}")
    if word == "confirmed":
        return Verdict(word=word, how=weakest(shown), slack=tightest(shown), remark=_told(claim, claim.remark, shown))
    failures = [item for item in shown if item.outcome == "fails"]
    if word == "undecided":
        return Verdict(word=word, how=weakest(shown), slack=tightest(shown), finding=_open(claim, shown, mended))
    broken = [item for item in mended if item.outcome == "fails"]
    if broken:
        said = f"The correction fails: {literal(broken[0].summary)}"
        return Verdict(word=word, how=strongest(broken), refutation=strongest(failures), finding=said)
    if claim.correction is None:
        return Verdict(word=word, how=strongest(failures), refutation=strongest(failures), **_fault(claim, printed))
    return Verdict(
        word=word,
        how=weakest(mended),
        slack=tightest(mended),
        refutation=strongest(failures),
        correction=_told(claim, whole(claim.correction.statement), [*shown, *mended]),
        ground=_told(claim, claim.correction.ground, [*shown, *mended]),
        **_fault(claim, printed),
    )


def word_of(printed: Sequence[Outcome], corrected: Sequence[Outcome], *, correctable: bool, is_open: bool) -> Word:
    """The word from the outcomes of the checks that ran, on the statement as printed and on its correction.

    Refuted if a printed check fails and no correction is offered, or one that fails itself; corrected if all of a
    correction holds; undecided if something needed is unclear, or if the checks only map where it holds (`is_open`).
    """
    if not printed:
        return "not run"
    if "fails" in printed:
        if not correctable or "fails" in corrected:
            return "refuted"
        return "corrected" if corrected and all(outcome == "holds" for outcome in corrected) else "undecided"
    return "undecided" if is_open or "unclear" in printed else "confirmed"


def _fault(claim: Claim, printed: Sequence[Evidence | None]) -> dict:
    """What the claim says of its fault, where that is what was found; else the evidence's own words."""
    fault, shown = claim.fault, [item for item in printed if item is not None]
    exhibit = printed[fault.exhibit] if fault is not None and fault.exhibit < len(printed) else None
    if fault is None or exhibit is None or exhibit.outcome != "fails":
        return {"finding": literal(next(item.summary for item in shown if item.outcome == "fails"))}
    numbers = {**_numbers(claim, shown), **(exhibit.counterexample or {})}
    return {
        "finding": filled(fault.finding, numbers),
        "severity": fault.severity,
        "touches": fault.touches,
        "root": fault.root,
        "consequence": filled(fault.consequence, numbers),
    }


def _told(claim: Claim, text: str, evidence: Sequence[Evidence]) -> str:
    """A text of the claim with the numbers of its evidence."""
    return filled(text, _numbers(claim, evidence))


def _numbers(claim: Claim, evidence: Sequence[Evidence]) -> Mapping[str, Any]:
    """What the claim gives and its evidence tells; a name that two checks use for different numbers is none."""
    told: dict[str, Any] = {}
    several = set()
    for item in evidence:
        for name, value in item.numbers().items():
            if told.setdefault(name, value) != value:
                several.add(name)
    return {**{name: value for name, value in told.items() if name not in several}, **claim.given}


def _open(claim: Claim, printed: Sequence[Evidence], corrected: Sequence[Evidence]) -> str:
    """What would decide it; that it is false as printed is said where it is known."""
    false = [item for item in printed if item.outcome == "fails"]
    unclear = [item for item in (corrected if false else printed) if item.outcome == "unclear"]
    needs = "; ".join(literal(item.needed or item.summary) for item in unclear)
    needs = needs or "a level at which the correction is checked"
    if false:
        said = literal(false[0].summary.rstrip("."))
        return f"False as printed ({said}); whether it holds as corrected needs: {needs}"
    return " ".join(part for part in (claim.open, needs if unclear else "") if part) or needs
