"""Papers: what each gives the shared parts, and the registry of all of them.

A paper is a package with an object `TOPIC`. Its claims are the module-level `Claim` objects, alone or in tuples, of the
modules in its packages `paper` and `beyond`, or `claims`, loaded when they are needed and not before.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import entry_points
from types import ModuleType
from typing import TYPE_CHECKING

from dpbounds import DomainError
from verify.statements.naming import joined, matching, nearest

if TYPE_CHECKING:  # loaded with the claims: solve does without them
    from verify.statements.claims import Claim

ENTRY_POINT_GROUP = "dpbounds.claims"
# A new paper of this package is one line here and a room of the same name in each layer.
# Where a paper keeps its claims, in this order; a small one has them all in `claims`.
SHELVES = ("claims", "paper", "beyond")
ROOMS = {"ftrl": "verify.papers.ftrl", "iv": "verify.papers.iv", "ols": "verify.papers.ols", "glm": "verify.papers.glm"}


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
      there is nothing to solve; `check`: a module with `knows(file)` and `run(arguments)`, for saved bounds; `design`:
      a module like `solve`'s, or "" if there is nothing to design.
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
    design: str = ""
    summary: str = ""

    @cached_property
    def claims(self) -> Mapping[str, Claim]:
        """All claims by id: modules by name (sections before the rest), claims in the order in which they stand."""
        claims: dict[str, Claim] = {}
        for name in self.modules():
            for claim in claims_of(importlib.import_module(name)):
                if claims.setdefault(claim.id, claim) is not claim:
                    raise DomainError("claim id", claim.id, "an id used once")
                if claim.topic != self.name:
                    raise DomainError("claim id", claim.id, f"an id that begins with {self.name}/")
        return claims

    def modules(self) -> Iterator[str]:
        """The modules that hold its claims, by name, in the order of the paper."""
        package = importlib.import_module(self.package)
        shelves = [name for name in SHELVES if importlib.util.find_spec(f"{package.__name__}.{name}")]
        if not shelves:
            raise DomainError(f"package of topic {self.name}", self.package, f"one with a package {SHELVES[0]}")
        for shelf in shelves:
            folder = importlib.import_module(f"{package.__name__}.{shelf}")
            found = sorted((module.name for module in pkgutil.iter_modules(folder.__path__)), key=_place)
            yield from (f"{folder.__name__}.{name}" for name in found)


def claims_of(module: ModuleType) -> Iterator[Claim]:
    """The claims of a module, alone or in tuples, in their order."""
    from verify.statements.claims import Claim

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
            raise DomainError(f"entry point of {ENTRY_POINT_GROUP}", topic, "a verify.statements.topics.Topic")
        if named.setdefault(topic.name, topic) is not topic:
            raise DomainError("topic", topic.name, "a name used once", "rename one of the two packages' topics")
    return named


def claim_named(claim: str) -> Claim:
    """The claim with this id; loads its topic and no other."""
    topic = topics().get(claim.partition("/")[0])
    if topic is None or claim not in topic.claims:
        raise DomainError("claim", claim, "the id of a claim", "see `dpbounds list`")
    return topic.claims[claim]


def select(names: Sequence[str]) -> list[Claim]:
    """The claims named, as `resolve` finds them, in the order of the papers; all for no name."""
    found = resolve(names) if names else {"": [claim for topic in topics().values() for claim in topic.claims.values()]}
    chosen = {claim.id for claims in found.values() for claim in claims}
    used = [topic for name, topic in topics().items() if any(claim.startswith(f"{name}/") for claim in chosen)]
    return [claim for topic in used for claim in topic.claims.values() if claim.id in chosen]


def resolve(names: Sequence[str]) -> dict[str, list[Claim]]:
    """What each name means: a topic, a claim id, its beginning, a pattern, or a place such as "Theorem 2.1", with or
    without `TOPIC/` before it (`verify.statements.naming`). Loads only the topics named. Raises `DomainError` for a
    name that means nothing, with the nearest ones.
    """
    return {name: _named(name) for name in joined(names)}


def spread(found: Mapping[str, list[Claim]]) -> list[str]:
    """A sentence for each name that means claims of several papers."""
    said = []
    for name, claims in found.items():
        count = Counter(claim.topic for claim in claims)
        if len(count) > 1:
            papers = ", ".join(f"{number} of {topic}" for topic, number in count.items())
            said.append(f"{name!r} means {papers}; {next(iter(count))}/{name} would be those of one paper")
    return said


def _named(name: str) -> list[Claim]:
    whole = name.strip().lower().removesuffix("/")
    if whole in topics():
        return list(topics()[whole].claims.values())
    topic, slash, own = name.partition("/")
    if slash and topic.strip().lower() in topics():
        searched, wanted = [topics()[topic.strip().lower()]], own
    else:
        searched, wanted = list(topics().values()), name
    claims = [claim for paper in searched for claim in paper.claims.values()]
    found = matching(wanted, claims)
    if not found:
        allowed = f"a topic ({', '.join(topics())}), a claim id, its beginning, a pattern, or a place like Theorem 2.1"
        raise DomainError("claim", name, allowed, nearest(wanted, claims, topics()))
    return found


def _place(name: str) -> tuple[bool, list[tuple[int, str]]]:
    """Sections `s1_...`, `s2_1_...`, then appendices `sa_...`, then everything else."""
    parts = re.findall(r"\d+|[a-z]+", name)
    section = bool(re.match(r"s(\d|[a-z]_|[a-z]\d)", name))
    return not section, [(int(part), "") if part.isdigit() else (10**6, part) for part in parts]
