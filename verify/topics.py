"""Papers: what each gives the shared parts, and the registry of all of them.

A paper is a package with an object `TOPIC`. Its claims are the module-level `Claim` objects, alone or in tuples, of the
modules in its package `claims`, loaded when they are needed and not before.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import entry_points
from types import ModuleType

from dpbounds import DomainError
from verify.claims import Claim

ENTRY_POINT_GROUP = "dpbounds.claims"
# A new paper of this package is one line here and a room of the same name in each layer.
ROOMS = {"ftrl": "verify.ftrl", "iv": "verify.iv"}


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One panel of a figure: the claim whose pictures it shows, and its title."""

    claim: str
    title: str


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of the paper, its panels from left to right."""

    name: str
    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, kw_only=True)
class Highlight:
    """A sentence (Typst markup) that holds while every claim named in `claims` has the verdict it was reviewed with."""

    sentence: str
    claims: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Topic:
    """A paper.

    - `package` holds the claims; `sources` are all packages whose code decides their results.
    - `title`, `authors`, `venue`, `version` (which text of it was read) and `link` cite it.
    - `stands`: the main results that hold, with their sharp constants; `sharper`: what is better here than in the
      paper; `main_picture`: the claim whose picture shows the main result; `figures`: the paper's own.
    - `summary`: one line for --help; `solve`: a module with `add_arguments(parser)` and `run(arguments)`, or "" if
      there is nothing to solve; `check`: a module with `knows(file)` and `run(arguments)`, for saved bounds.
    """

    name: str
    package: str
    sources: tuple[str, ...]
    title: str
    authors: str = ""
    venue: str = ""
    version: str = ""
    link: str = ""
    stands: tuple[Highlight, ...] = ()
    sharper: tuple[Highlight, ...] = ()
    main_picture: str = ""
    figures: tuple[Figure, ...] = ()
    solve: str = ""
    check: str = ""
    summary: str = ""

    @cached_property
    def claims(self) -> Mapping[str, Claim]:
        """All claims by id: modules by name (sections before the rest), claims in the order in which they stand."""
        package = importlib.import_module(f"{self.package}.claims")
        names = sorted((found.name for found in pkgutil.iter_modules(package.__path__)), key=_place)
        claims: dict[str, Claim] = {}
        for name in names:
            for claim in claims_of(importlib.import_module(f"{package.__name__}.{name}")):
                if claims.setdefault(claim.id, claim) is not claim:
                    raise DomainError("claim id", claim.id, "an id used once")
                if claim.topic != self.name:
                    raise DomainError("claim id", claim.id, f"an id that begins with {self.name}/")
        return claims


def claims_of(module: ModuleType) -> Iterator[Claim]:
    """The claims of a module, alone or in tuples, in their order."""
    for value in list(vars(module).values()):
        if isinstance(value, Claim):
            yield value
        elif isinstance(value, tuple):
            yield from (item for item in value if isinstance(item, Claim))


@cache
def topics() -> dict[str, Topic]:
    """All topics by name: those of this package in order, then those that others add through entry points."""
    found = [importlib.import_module(module).TOPIC for module in ROOMS.values()]
    found += [point.load() for point in entry_points(group=ENTRY_POINT_GROUP)]
    named: dict[str, Topic] = {}
    for topic in found:
        if not isinstance(topic, Topic):
            raise DomainError(f"entry point of {ENTRY_POINT_GROUP}", topic, "a verify.topics.Topic")
        if named.setdefault(topic.name, topic) is not topic:
            raise DomainError("topic", topic.name, "a name used once", "rename one of the two packages' topics")
    return named


def claim_named(claim: str) -> Claim:
    """The claim with this id; loads its topic and no other."""
    topic = topics().get(claim.partition("/")[0])
    if topic is None or claim not in topic.claims:
        raise DomainError("claim", claim, "the id of a claim", "see `dpbounds list`")
    return topic.claims[claim]


def select(names: list[str]) -> list[Claim]:
    """The claims named, each name a topic or a claim id; all for an empty list. Loads only the topics named. Raises
    `DomainError` for an unknown name.
    """
    wanted = [_named(name) for name in names] or [list(topic.claims.values()) for topic in topics().values()]
    chosen = {claim.id for claims in wanted for claim in claims}
    used = [topic for name, topic in topics().items() if any(claim.startswith(f"{name}/") for claim in chosen)]
    return [claim for topic in used for claim in topic.claims.values() if claim.id in chosen]


def _named(name: str) -> list[Claim]:
    if name in topics():
        return list(topics()[name].claims.values())
    topic = topics().get(name.partition("/")[0])
    if topic is not None and name in topic.claims:
        return [topic.claims[name]]
    known = list(topic.claims) if topic is not None else [claim for item in topics().values() for claim in item.claims]
    raise DomainError(
        "claim", name, f"a topic ({', '.join(topics())}) or a claim id", _nearest(name, [*topics(), *known])
    )


def _nearest(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=3)
    return f"did you mean {' or '.join(near)}?" if near else "see `dpbounds list`"


def _place(name: str) -> tuple[bool, list[tuple[int, str]]]:
    """Sections `s1_...`, `s2_1_...`, then appendices `sa_...`, then everything else."""
    parts = re.findall(r"\d+|[a-z]+", name)
    section = bool(re.match(r"s(\d|[a-z]_|[a-z]\d)", name))
    return not section, [(int(part), "") if part.isdigit() else (10**6, part) for part in parts]
