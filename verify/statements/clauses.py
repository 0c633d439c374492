"""Clauses: what a statement says piece by piece, and what was found of each.

A statement is one sentence, or a tuple of them, its clauses, called a, b, c, ... in their order. A check names those
that it decides (`decides="ac"`); of a statement with several, every check has to. A clause that no check names is open,
and is printed as such.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dpbounds import DomainError
from verify.checks.base import Check
from verify.checks.evidence import Evidence, How, strongest, weakest

Statement = str | tuple[str, ...]
Form = Literal["printed", "corrected"]
# `open`: no check decides it; `not run`: none that does runs at this level.
ClauseWord = Literal["holds", "fails", "unclear", "not run", "open"]

LETTERS = string.ascii_lowercase
# Formulas, raw text, brackets and what is abbreviated: no clause ends there.
_WITHIN = re.compile(
    r"\$[^$]*\$|`[^`]*`|\([^()]*\)|"
    r"\b(?:eqs?|cf|e\.g|i\.e|vs|resp|Thm|Alg|App|Def|Prop|Cor|Sec|Fig|Lem|al|w\.r\.t|a\.s|i\.i\.d)\."
)
_END = re.compile(r"[.!?;](?=[)\"]?\s+\S)")


@dataclass(frozen=True, kw_only=True)
class Clause:
    """One clause of a statement and what its checks found: on the weakest of their grounds, or on the strongest of
    those that fail.
    """

    form: Form
    letter: str
    text: str
    word: ClauseWord
    how: How | None = None


def parts(statement: Statement) -> tuple[str, ...]:
    """Its clauses."""
    return (statement,) if isinstance(statement, str) else statement


def whole(statement: Statement) -> str:
    """Its clauses one after the other, behind their letters where there are several."""
    if isinstance(statement, str):
        return statement
    return " ".join(f"({letter}) {text}" for letter, text in zip(LETTERS, statement, strict=False))


def check_clauses(place: str, statement: Statement, checks: Sequence[Check]) -> None:
    """Raise `DomainError` for a clause of several sentences, and for a check that names none, or one there is not."""
    said = parts(statement)
    if not 1 <= len(said) <= len(LETTERS):
        raise DomainError(place, len(said), f"1 to {len(LETTERS)} clauses")
    for clause in said:
        if _END.search(_WITHIN.sub("F", clause)):
            raise DomainError(place, clause, "one sentence a clause, without semicolon", "give a tuple of clauses")
    letters = LETTERS[: len(said)]
    for number, check in enumerate(checks):
        if set(check.decides) - set(letters) or (len(said) > 1 and not check.decides):
            remedy = f"say which clauses check {number} decides"
            raise DomainError(f"decides of check {number} of {place}", check.decides, f"letters of {letters}", remedy)


def judged(
    form: Form, said: Sequence[str], checks: Sequence[Check], found: Sequence[Evidence | None]
) -> tuple[Clause, ...]:
    """What the evidence says of each clause; None stands for a check that does not run at this level."""
    clauses = []
    for letter, text in zip(LETTERS, said, strict=False):
        named = [item for check, item in zip(checks, found, strict=True) if letter in check.clauses]
        word, how = _found([item for item in named if item is not None]) if named else ("open", None)
        clauses.append(Clause(form=form, letter=letter, text=text, word=word, how=how))
    return tuple(clauses)


def _found(shown: Sequence[Evidence]) -> tuple[ClauseWord, How | None]:
    if not shown:
        return "not run", None
    failing = [item for item in shown if item.outcome == "fails"]
    if failing:
        return "fails", strongest(failing)
    return "unclear" if any(item.outcome == "unclear" for item in shown) else "holds", weakest(shown)
