"""What a check found, and the verdict that follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Outcome = Literal["holds", "fails", "unclear"]
How = Literal["proved", "certified", "numeric", "statistical"]
Word = Literal["confirmed", "refuted", "corrected", "undecided", "not run"]

# From the strongest ground to the weakest: a claim stands on the weakest of its checks.
GROUNDS: tuple[How, ...] = ("proved", "certified", "numeric", "statistical")


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The result of one check.

    - `summary`: one line with the numbers.
    - `slack`: for bounds, bound / truth where it is tightest.
    - `counterexample`: parameters and both sides, enough to recompute it by hand.
    - `resolution`: the relative discrepancy the check would have seen.
    - `alpha`, `beta`: rates of false alarm and of missing a discrepancy of `resolution` (statistical checks).
    - `needed`: for `unclear`, what would decide it.
    - `rows`: the comparisons one by one; `picture`: the arrays of its figure.
    """

    outcome: Outcome
    how: How
    summary: str
    slack: float | None = None
    counterexample: Mapping[str, Any] | None = None
    resolution: float | None = None
    alpha: float | None = None
    beta: float | None = None
    trials: int = 0
    evaluations: int = 0
    needed: str = ""
    rows: Sequence[Mapping[str, Any]] = field(default=())
    picture: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The word on a claim, always computed by `decide`."""

    word: Word
    how: How | None = None
    slack: float | None = None
    finding: str = ""


def decide(
    printed: Sequence[Evidence], corrected: Sequence[Evidence], correction: str = "", reason: str = ""
) -> Verdict:
    """The verdict from the evidence on the statement as printed and on its correction.

    Refuted if any printed check fails; corrected if besides that the correction was checked and all of it holds;
    confirmed if all printed checks hold; not run if there is no evidence (`reason` says why); else undecided.
    """
    if not printed:
        return Verdict(word="not run", finding=reason)
    failures = [evidence for evidence in printed if evidence.outcome == "fails"]
    if failures:
        strongest = min(failures, key=lambda evidence: GROUNDS.index(evidence.how))
        if corrected and all(evidence.outcome == "holds" for evidence in corrected):
            finding = f"{strongest.summary} Holds when corrected: {correction}"
            return Verdict(word="corrected", how=weakest(corrected), slack=tightest(corrected), finding=finding)
        return Verdict(word="refuted", how=strongest.how, finding=strongest.summary)
    unclear = [evidence for evidence in printed if evidence.outcome == "unclear"]
    if unclear:
        finding = "; ".join(evidence.needed or evidence.summary for evidence in unclear)
        return Verdict(word="undecided", how=weakest(printed), slack=tightest(printed), finding=finding)
    return Verdict(word="confirmed", how=weakest(printed), slack=tightest(printed))


def weakest(evidence: Sequence[Evidence]) -> How:
    """The weakest ground among several."""
    return GROUNDS[max(GROUNDS.index(item.how) for item in evidence)]


def tightest(evidence: Sequence[Evidence]) -> float | None:
    """The smallest slack among several."""
    return min((item.slack for item in evidence if item.slack is not None), default=None)
