"""What a claim is, and the registry of all of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Literal, get_args

from dpbounds import DomainError
from verify.checks.base import LEVELS, Check, Level
from verify.evidence import Word

Kind = Literal["identity", "inequality", "number", "mc-equality", "mc-rate", "privacy", "algorithm"]
Form = Literal["printed", "corrected"]

# A new paper is one line here and a room of the same name in each layer.
TOPICS = {"ftrl": "verify.ftrl", "iv": "verify.iv"}
ENTRY_POINT_GROUP = "dpbounds.claims"
# The environment variable that names the folder of the user's own data sets, as --data-dir does.
DATA_DIR = "DPBOUNDS_DATA_DIR"


@dataclass(frozen=True, kw_only=True)
class Correction:
    """What is true instead, and the checks that show it."""

    statement: str
    checks: tuple[Check, ...]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One numbered statement of a paper.

    `statement` and `hypotheses` are Typst markup (mathematics between dollar signs). `reviewed` is the verdict a person
    last agreed with: a run that finds another exits with status 1. `not_run` gives the reason where there is no check.
    `user_data` loads what its checks read of the user's own data, raises `DomainError` for data that will not do, and
    returns a digest: results on other data are other results.
    """

    id: str
    where: str
    kind: Kind
    statement: str
    hypotheses: str = ""
    checks: tuple[Check, ...] = ()
    correction: Correction | None = None
    reviewed: Word = "confirmed"
    not_run: str = ""
    user_data: Callable[[], str] = str

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise DomainError(f"kind of {self.id}", self.kind, f"one of {', '.join(get_args(Kind))}")
        if bool(self.checks) == bool(self.not_run):
            raise DomainError(f"checks of {self.id}", self.checks, "either checks or the reason why there are none")

    @property
    def topic(self) -> str:
        """The paper it belongs to."""
        return self.id.partition("/")[0]

    @property
    def level(self) -> Level:
        """The lowest level at which some check of it runs."""
        return LEVELS[min((LEVELS.index(check.level) for check in self.checks), default=-1)]

    def forms(self) -> Iterator[tuple[Form, tuple[Check, ...]]]:
        """The checks on the statement as printed, then those on its correction."""
        yield "printed", self.checks
        if self.correction is not None:
            yield "corrected", self.correction.checks


@cache
def registry() -> dict[str, Claim]:
    """All claims by id: the topics of this package in order, then those that others add through entry points."""
    modules = [importlib.import_module(module) for module in TOPICS.values()]
    modules += [point.load() for point in entry_points(group=ENTRY_POINT_GROUP)]
    claims: dict[str, Claim] = {}
    for claim in (claim for module in modules for claim in module.CLAIMS):
        if claim.id in claims:
            raise DomainError("claim id", claim.id, "an id used once")
        claims[claim.id] = claim
    return claims


def select(names: list[str]) -> list[Claim]:
    """The claims named, each name a topic or a claim id; all for an empty list. Raises `DomainError` for an unknown
    name.
    """
    claims = registry()
    topics = {claim.topic for claim in claims.values()}
    for name in names:
        if name not in claims and name not in topics:
            near = _nearest(name, [*topics, *claims])
            raise DomainError("claim", name, f"a topic ({', '.join(sorted(topics))}) or a claim id", near)
    return [claim for claim in claims.values() if not names or claim.id in names or claim.topic in names]


def _nearest(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=3)
    return f"did you mean {' or '.join(near)}?" if near else "see `dpbounds list`"
