"""What a check found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from dpbounds import DomainError
from verify.checks.pictures import Picture

Outcome = Literal["holds", "fails", "unclear"]
How = Literal["proved", "certified", "certified at points", "numeric", "statistical"]

# From the strongest ground to the weakest: a claim stands on the weakest of its checks that are no controls.
GROUNDS: tuple[How, ...] = ("proved", "certified", "certified at points", "numeric", "statistical")
Role = Literal["proof", "control"]
# From the best outcome to the worst: the worst of several decides.
ORDER: tuple[Outcome, ...] = ("holds", "unclear", "fails")


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The result of one check.

    - `summary`: one line with the numbers.
    - `slack`: for bounds, bound / truth where it is tightest.
    - `counterexample`: parameters and both sides, enough to compute it again; findings take their numbers from it.
    - `resolution`: the relative discrepancy the check would have seen.
    - `alpha`: the rate of false alarms over all its looks, 0 without chance; statistical checks must state it.
    - `beta`: the rate of missing a discrepancy of `resolution`.
    - `needed`: for `unclear`, what would decide it.
    - `facts`: what was found to be so or not so, each in a line; `rows`: the comparisons as numbers.
    - `picture`: the arrays of its figure.
    - `clauses`: the letters of the clauses that it decides; `role` of the check among those that do (`Check`).
    """

    outcome: Outcome
    how: How
    summary: str
    alpha: float | None = None
    slack: float | None = None
    counterexample: Mapping[str, Any] | None = None
    resolution: float | None = None
    beta: float | None = None
    trials: int = 0
    evaluations: int = 0
    needed: str = ""
    facts: Sequence[str] = ()
    rows: Sequence[Mapping[str, Any]] = field(default=())
    picture: Picture | None = None
    clauses: str = "a"
    role: Role = "proof"

    def __post_init__(self) -> None:
        if self.how == "statistical" and self.alpha is None:
            raise DomainError("alpha", None, "the rate of false alarms of a statistical check")

    def numbers(self) -> Mapping[str, Any]:
        """The numbers that a text may show, by name: of its rows those that have one value under their name, and of its
        counterexample all.
        """
        told: dict[str, Any] = {"slack": self.slack, "resolution": self.resolution}
        several = set()
        for row in self.rows:
            for name, value in row.items():
                if told.setdefault(name, value) != value:
                    several.add(name)
        single = {name: value for name, value in told.items() if name not in several and value is not None}
        return {**single, **(self.counterexample or {})}


def weakest(evidence: Sequence[Evidence]) -> How:
    """The weakest ground among several, controls left out where there are proofs."""
    proofs = [item for item in evidence if item.role == "proof"] or evidence
    return GROUNDS[max(GROUNDS.index(item.how) for item in proofs)]


def strongest(evidence: Sequence[Evidence]) -> How:
    """The strongest ground among several."""
    return GROUNDS[min(GROUNDS.index(item.how) for item in evidence)]


def tightest(evidence: Sequence[Evidence]) -> float | None:
    """The smallest slack among several."""
    return min((item.slack for item in evidence if item.slack is not None), default=None)


def counted(count: int, noun: str) -> str:
    """`1 trial`, `2 trials`."""
    return f"{count} {noun}{'s' * (count != 1)}"
