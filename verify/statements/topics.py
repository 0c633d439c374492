"""Papers: what each gives the shared parts.

A paper is a package with an object `TOPIC`. Its claims are the module-level `Claim` objects, alone or in tuples, of the
modules in its packages `paper` and `beyond`, or `claims`, loaded when they are needed and not before.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, get_args

from dpbounds import DomainError
from verify.statements.markup import Text, check_markup
from verify.statements.numerals import check_typed

if TYPE_CHECKING:  # loaded with the claims: solve does without them
    from verify.statements.claims import Claim

# Where a paper keeps its claims, in this order; a small one has them all in `claims`.
SHELVES = ("claims", "paper", "beyond")
# How people name a topic on the command line, where case does not matter.
TOPIC_NAME = re.compile(r"[a-z][a-z0-9_-]*")


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

    def texts(self) -> list[str]:
        """Its titles, which are Typst markup."""
        return [self.title, *(panel.title for panel in self.panels)]


@dataclass(frozen=True, kw_only=True)
class Highlight:
    """A sentence (Typst markup) that holds while every claim named in `claims` has the verdict it was reviewed with.

    Its numbers are those that these claims state, correct or give (`verify.statements.numerals`).
    """

    sentence: str
    claims: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Topic:
    """A paper.

    - `package` holds the claims; `sources` are all packages whose code decides their results.
    - `title`, `authors`, `venue`, `version` (which text of it was read) and `link` cite it.
    - `stands`: the main results that hold, with their sharp constants; `sharper`: what is better here than in the
      paper; `main_picture`: the claim whose picture shows the main result; `figures`: the paper's own; `notation`: what
      each symbol means (a formula without dollar signs, and markup).
    - `summary`: one line for --help; `solve`: a module with `add_arguments(parser)` and `run(arguments)`, or "" if
      there is nothing to solve; `check`: a module with `knows(file)` and `run(arguments)`, for saved bounds; `design`,
      `fit`: modules like `solve`'s, or "" if there is nothing to design, or no private release to fit.
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
    notation: tuple[tuple[str, str], ...] = ()
    solve: str = ""
    check: str = ""
    design: str = ""
    fit: str = ""
    summary: str = ""

    def __post_init__(self) -> None:
        if not TOPIC_NAME.fullmatch(self.name):
            raise DomainError("name of a topic", self.name, "small letters, digits, _ and -, a letter first")
        for _, place, text in self.texts():
            check_markup(f"{place} of topic {self.name}", text)

    @cached_property
    def claims(self) -> Mapping[str, Claim]:
        """All claims by id: modules by name (sections before the rest), claims in the order in which they stand.

        Loads all of them. Raises `DomainError` for an id that is used twice or is of another topic, where the topic or
        a fault names a claim that there is not, and for a root that does not fall by itself or is less serious than
        what follows from it.
        """
        claims: dict[str, Claim] = {}
        for module in self.modules():
            for claim in claims_of(importlib.import_module(module)):
                if claims.setdefault(claim.id, claim) is not claim:
                    raise DomainError("claim id", claim.id, "an id used once")
                if claim.topic != self.name:
                    raise DomainError("claim id", claim.id, f"an id that begins with {self.name}/")
        for place, name in self._references(claims):
            if name not in claims:
                raise DomainError(place, name, f"the id of a claim of {self.name}", "correct it there")
        for claim in claims.values():
            _check_root(claim, claims)
        for item in (*self.stands, *self.sharper):
            known = [text for name in item.claims for text in claims[name].constants]
            check_typed(f"highlight of topic {self.name}", item.sentence, *known)
        return claims

    @cached_property
    def homes(self) -> Mapping[str, str]:
        """The module that holds each claim, by id."""
        homes: dict[str, str] = {}
        for module in self.modules():
            for claim in claims_of(importlib.import_module(module)):
                homes.setdefault(claim.id, module)
        return homes

    def texts(self) -> list[Text]:
        """Every text of its own that is Typst markup, with the topic and the field."""
        texts = [("stands", item.sentence) for item in self.stands]
        texts += [("sharper", item.sentence) for item in self.sharper]
        texts += [(f"figure {figure.name}", text) for figure in self.figures for text in figure.texts()]
        texts += [("notation", f"${symbol}$ {meaning}") for symbol, meaning in self.notation]
        return [(self.name, place, text) for place, text in texts]

    def _references(self, claims: Mapping[str, Claim]) -> Iterator[tuple[str, str]]:
        """The claims that the topic and its faults name, with the place."""
        for name, items in (("stands", self.stands), ("sharper", self.sharper)):
            yield from ((f"{name} of topic {self.name}", claim) for item in items for claim in item.claims)
        for figure in self.figures:
            yield from ((f"panel of {figure.name} of topic {self.name}", panel.claim) for panel in figure.panels)
        if self.main_picture:
            yield f"main_picture of topic {self.name}", self.main_picture
        for claim in claims.values():
            if claim.fault is not None and claim.fault.root:
                yield f"root of {claim.id}", claim.fault.root

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


def _check_root(claim: Claim, claims: Mapping[str, Claim]) -> None:
    """Raise `DomainError` unless what the claim follows from falls by itself, and is as serious."""
    from verify.statements.claims import Severity

    if claim.fault is None or not claim.fault.root:
        return
    root, order = claims[claim.fault.root].fault, get_args(Severity)
    if root is None or root.root:
        allowed = "a claim with a fault that has no root of its own"
        raise DomainError(f"root of {claim.id}", claim.fault.root, allowed, "name the root of both")
    if order.index(claim.fault.severity) < order.index(root.severity):
        allowed = f"at most that of its root {claim.fault.root}, {root.severity}"
        raise DomainError(f"severity of {claim.id}", claim.fault.severity, allowed, "what follows is no more serious")


def claims_of(module: ModuleType) -> Iterator[Claim]:
    """The claims of a module, alone or in tuples, in their order."""
    from verify.statements.claims import Claim

    for value in list(vars(module).values()):
        if isinstance(value, Claim):
            yield value
        elif isinstance(value, tuple):
            yield from (item for item in value if isinstance(item, Claim))


def _place(name: str) -> tuple[bool, list[tuple[int, str]]]:
    """Sections `s1_...`, `s2_1_...`, then appendices `sa_...`, then everything else."""
    parts = re.findall(r"\d+|[a-z]+", name)
    section = bool(re.match(r"s(\d|[a-z]_|[a-z]\d)", name))
    return not section, [(int(part), "") if part.isdigit() else (10**6, part) for part in parts]
