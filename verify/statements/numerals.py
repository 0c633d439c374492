"""Numbers that are typed into a text although only evidence can tell them.

Typed may be: what the printed statement says itself, whole numbers up to ten, exponents and indices, references to
places of a paper, and names that hold digits. Everything else comes from a placeholder: a claim (`claims.Claim`) or a
highlight (`topics.Topic`) with another number is refused.
"""

from __future__ import annotations

import re

from dpbounds import DomainError

LARGEST = 10
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*")
_PLACES = (
    r"Theorem|Lemma|Proposition|Corollary|Figure|Table|Section|Remark|Algorithm|Appendix|App|line|step|eq|Eq|equation|"
    r"Assumption|Definition|page|row|item|Alg|Thm|Fact|Example|Condition|clause|inequality|case|panel|column|seed|part"
)
_PLACE = r"\(?[A-Z]?\.?\d[\d.]*(?:-\d+)?[a-z]?\)?"
_PASSED_OVER = re.compile(
    r"\{[^{}]*\}"  # placeholders
    r'|[\^_](?:\((?:[^()"]|\([^()]*\))*\)|-?[\d.]+)'  # exponents and indices
    r"|\b[a-z][a-z0-9_-]*/[a-z][\w.-]*"  # ids of claims
    rf"|\b(?:{_PLACES})(?:e?s|\.)?[~ ]\$?{_PLACE}(?:(?:,| and| to| or)+ {_PLACE})*"
    r"|\(\d+[a-z]?(?:[-,–] ?\d+[a-z]?)*\)"  # numbers of equations
)


def typed(text: str, *printed: str) -> list[str]:
    """The numbers of a text that may not be typed; `printed` is what the paper says."""
    known = {number for said in printed for number in _NUMBER.findall(said)}
    found = _NUMBER.findall(_PASSED_OVER.sub(" ", text))
    return [number for number in found if number not in known and not (number.isdigit() and int(number) <= LARGEST)]


def check_typed(name: str, text: str, *printed: str) -> None:
    """Raise `DomainError` for the first of them."""
    for number in typed(text, *printed):
        remedy = "write {name}, and have a fact of that name or the claim's `given` hold the number"
        raise DomainError(name, number, "a number that is computed, or stands in the printed statement", remedy)
