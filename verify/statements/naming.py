"""Claims by the names that people give them: an id, its beginning, a pattern, or the place in the paper.

A place is a kind and a label, "Theorem 2.1", however it is written: "Thm 2.1", "theorem 2.1", "Fig. 3(a)", "eq. (7)",
"(7)". A claim stands at all places that its `where`, its `equation` and its id mention.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from typing import Protocol, TypeVar

# Every way to write a kind, as the beginning of a word; "prop" may be either of two.
KINDS = {
    "theorem": ("theorem", "thm", "th"),
    "lemma": ("lemma", "lem"),
    "proposition": ("proposition", "prop"),
    "property": ("property", "prop"),
    "corollary": ("corollary", "coroll", "cor"),
    "definition": ("definition", "def"),
    "assumption": ("assumption", "assump", "ass", "asm"),
    "remark": ("remark", "rem"),
    "algorithm": ("algorithm", "algo", "alg"),
    "figure": ("figure", "fig"),
    "table": ("table", "tab"),
    "equation": ("equation", "eqn", "eq"),
    "section": ("section", "sect", "sec", "§"),
    "appendix": ("appendix", "app"),
    "footnote": ("footnote", "fn"),
    "example": ("example", "ex"),
}
_WORDS = sorted({word for words in KINDS.values() for word in words}, key=len, reverse=True)
_LABEL = r"(?:[a-z]\.)?\d+(?:\.\d+)*|[a-z](?:\.\d+)*(?![a-z])"
_PART = r"(?:\s*\(([a-z]+)\)|([a-z])(?![a-z]))?"
_PLACE = re.compile(
    rf"(?<![a-z])(?P<kind>{'|'.join(_WORDS)})(?:s|es|ices)?\.?[\s-]*\(?(?P<label>{_LABEL})\)?{_PART}"
    rf"(?:\s+and\s+(?P<second>{_LABEL})(?![a-z]))?"
)
_BARE = re.compile(r"\((\d+)\)(?:\s*(?:to|-|–)\s*\((\d+)\))?")
# Kinds whose parts are parts of them: Section 2 holds Section 2.3.
_NESTED = ("section", "appendix")

Place = tuple[str, str, str]


class Named(Protocol):
    """What a claim is found by."""

    @property
    def id(self) -> str:
        """With its topic."""
        ...

    @property
    def where(self) -> str:
        """Its place as the paper names it."""
        ...

    @property
    def equation(self) -> str:
        """Its equations, "" if it has no number."""
        ...


Found = TypeVar("Found", bound=Named)


def matching(name: str, claims: Iterable[Found]) -> list[Found]:
    """The claims that a name (without its topic) means: the one with this id, else those that a pattern fits, those at
    a place, those whose id begins so; the first of these that gives any.
    """
    claims, wanted = list(claims), name.strip().lower()
    for means in (_has_id, _fits_pattern, _stands_at, _begins):
        found = [claim for claim in claims if means(claim, wanted)]
        if found:
            return found
    return []


def joined(names: Sequence[str]) -> list[str]:
    """The words of a command line, with "Theorem 2.1" as one name where it was given as two."""
    together: list[str] = []
    for name in names:
        last = together[-1].rpartition("/")[2].lower().rstrip(".") if together else ""
        if last in _WORDS and re.fullmatch(rf"\(?(?:{_LABEL})\)?{_PART}", name.lower()):
            together[-1] += f" {name}"
        else:
            together.append(name)
    return together


def nearest(name: str, claims: Iterable[Named], topics: Iterable[str]) -> str:
    """What the name may have been meant to be, as a remedy."""
    claims = list(claims)
    known = {text.lower(): text for claim in claims for text in (claim.id.partition("/")[2], claim.where, claim.id)}
    known |= {topic.lower(): topic for topic in topics}
    near = [known[text] for text in get_close_matches(name.lower(), known, n=3)]
    return f"did you mean {' or '.join(near)}?" if near else "see `dpbounds list`"


def _has_id(claim: Named, wanted: str) -> bool:
    return wanted == _own(claim)


def _fits_pattern(claim: Named, wanted: str) -> bool:
    return any(sign in wanted for sign in "*?[") and fnmatchcase(_own(claim), wanted)


def _stands_at(claim: Named, wanted: str) -> bool:
    places, words = _parsed(wanted)
    if not places:
        return len(wanted) > 3 and wanted == claim.where.lower()
    mentioned = set(re.findall(r"\w+", claim.where.lower()))
    return set(words) <= mentioned and all(any(_within(place, known) for known in _places(claim)) for place in places)


def _begins(claim: Named, wanted: str) -> bool:
    return len(wanted) > 1 and _own(claim).startswith(wanted)


def _own(claim: Named) -> str:
    return claim.id.partition("/")[2].lower()


@cache
def _parsed(text: str) -> tuple[tuple[Place, ...], tuple[str, ...]]:
    """The places that a text in small letters mentions, and its other words."""
    places: list[Place] = []
    for found in _PLACE.finditer(text):
        part = found[3] or found[4] or ""
        places.append((found["kind"], found["label"], part))
        if found["second"]:
            places.append((found["kind"], found["second"], ""))
    rest = _PLACE.sub(" ", text)
    for found in _BARE.finditer(rest):
        first, last = int(found[1]), int(found[2] or found[1])
        places += [("eq", str(number), "") for number in range(first, min(last, first + 50) + 1)]
    return tuple(places), tuple(re.findall(r"\w+", _BARE.sub(" ", rest)))


def _places(claim: Named) -> list[Place]:
    """Where a claim stands; its id counts where the rest has no such label ("prop-c.1" may be a Property)."""
    places = [*_parsed(claim.where.lower())[0], *_parsed(claim.equation.lower())[0]]
    labels = {label for _, label, _ in places}
    return [*places, *(place for place in _parsed(_own(claim))[0] if place[1] not in labels or place[2])]


def _within(wanted: Place, known: Place) -> bool:
    """Whether the known place is the wanted one, or a part of it."""
    kinds = {kind for kind, words in KINDS.items() if wanted[0] in words}
    same = kinds & {kind for kind, words in KINDS.items() if known[0] in words}
    if not same:
        return False
    inside = same & set(_NESTED) and known[1].startswith(f"{wanted[1]}.")
    return bool(inside) or (wanted[1] == known[1] and wanted[2] in ("", known[2]))
