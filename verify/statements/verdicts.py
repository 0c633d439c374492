"""The verdict on a claim, always computed from its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from verify.checks.evidence import GROUNDS, Evidence, How, Outcome, tightest, weakest
from verify.statements.claims import Claim, Severity, Touches, Word
from verify.statements.wording import filled, literal


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The word on a claim, on what ground, and what is to be said of it (Typst markup).

    A corrected claim has two grounds: `how` is that of the correction, the weakest of its checks, `refutation` that of
    the counterexamples, the strongest of the checks that fail. `severity`, `touches`, `root` and `consequence` belong
    to what is refuted or corrected as reviewed; a fault found
    for the first time has none yet. `remark` belongs to what is confirmed.
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


def decide(claim: Claim, printed: Sequence[Evidence | None], corrected: Sequence[Evidence | None]) -> Verdict:
    """The verdict from the evidence of each check, None where a check does not run at this level."""
    shown, mended = ([item for item in found if item is not None] for found in (printed, corrected))
    found: list[Outcome] = [item.outcome for item in shown]
    after: list[Outcome] = [item.outcome for item in mended]
    word = word_of(found, after, correctable=claim.correction is not None, is_open=bool(claim.open))
    if word == "not run":
        return Verdict(word=word, finding=claim.not_run or f"needs level {claim.level}")
    if word == "confirmed":
        return Verdict(word=word, how=weakest(shown), slack=tightest(shown), remark=claim.remark)
    failures = [item for item in shown if item.outcome == "fails"]
    if word == "undecided":
        return Verdict(word=word, how=weakest(shown), slack=tightest(shown), finding=_open(claim, shown, mended))
    broken = [item for item in mended if item.outcome == "fails"]
    if broken:
        said = f"The correction fails: {literal(broken[0].summary)}"
        return Verdict(word=word, how=_strongest(broken), refutation=_strongest(failures), finding=said)
    grounds = {"how": weakest(mended), "slack": tightest(mended)} if mended else {"how": _strongest(failures)}
    return Verdict(word=word, refutation=_strongest(failures), **grounds, **_fault(claim, printed, failures))


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


def _fault(claim: Claim, printed: Sequence[Evidence | None], failures: Sequence[Evidence]) -> dict:
    """What the claim says of its fault, where that is what was found; else the evidence's own words."""
    fault = claim.fault
    exhibit = printed[fault.exhibit] if fault is not None and fault.exhibit < len(printed) else None
    if fault is None or exhibit is None or exhibit.outcome != "fails":
        return {"finding": literal(failures[0].summary)}
    return {
        "finding": filled(fault.finding, exhibit.counterexample or {}),
        "severity": fault.severity,
        "touches": fault.touches,
        "root": fault.root,
        "consequence": fault.consequence,
    }


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


def _strongest(evidence: Sequence[Evidence]) -> How:
    return GROUNDS[min(GROUNDS.index(item.how) for item in evidence)]
