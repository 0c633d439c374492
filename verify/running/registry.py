"""The registry of all topics, ours and those of other packages, and claims by the names that people give them.

What claims say comes from the index; the module that decides one is loaded when the claim itself is taken. A package
of somebody else's that cannot be loaded is left out, and `broken_topics` says why.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal, TypeVar

from dpbounds import DomainError
from verify.running import index
from verify.running.index import Outline
from verify.running.sources import folders, source_files
from verify.statements.naming import joined, matching, nearest
from verify.statements.topics import Topic

if TYPE_CHECKING:  # loaded with the claims
    from verify.statements.claims import Claim

T = TypeVar("T")
Command = Literal["solve", "design", "fit", "check"]
ENTRY_POINT_GROUP = "dpbounds.claims"
# A new paper of this package is one line here and a room of the same name in each layer.
ROOMS = {"ftrl": "verify.papers.ftrl", "iv": "verify.papers.iv", "ols": "verify.papers.ols", "glm": "verify.papers.glm"}
_BROKEN: dict[str, str] = {}


@cache
def topics() -> dict[str, Topic]:
    """All topics by name: those of this package in order, then those that others add through entry points."""
    named = dict(_ours())
    for point in entry_points(group=ENTRY_POINT_GROUP):
        topic = _attempt(point.name, lambda point=point: _loaded(point, named))
        if topic is not None:
            named[topic.name] = topic
    return named


def broken_topics() -> Mapping[str, str]:
    """The topics of other packages that turned out not to load so far, each with the reason in one line."""
    return _BROKEN


@cache
def index_of(name: str) -> Mapping[str, Outline]:
    """The claims of the topic of this name by id, in the order of the paper; none of a topic that is left out."""
    topic = topics()[name]
    if name in _ours():
        return index.read_index(topic, sources(topic))
    return _attempt(name, lambda: index.read_index(topic, sources(topic))) or {}


@cache
def sources(topic: Topic) -> list[Path]:
    """The files on which its claims and results depend."""
    return source_files(topic, list(_ours().values()))


def check_loaded(names: Iterable[str]) -> None:
    """Raise `DomainError` if one of the names is that of a topic that is left out."""
    for name in names:
        if name in broken_topics():
            raise DomainError("topic", name, "a topic that can be loaded", broken_topics()[name])


def module_of(topic: Topic, command: Command) -> ModuleType:
    """The module of a topic's command. Raises `DomainError` if the topic is left out with it."""
    name = getattr(topic, command)
    if topic.name in _ours():
        return importlib.import_module(name)
    module = _attempt(topic.name, lambda: importlib.import_module(name))
    if module is None:
        raise DomainError("topic", topic.name, "a topic that can be loaded", broken_topics()[topic.name])
    return module


def claim_named(claim: str) -> Claim:
    """The claim with this id; loads the module that holds it. Raises `DomainError` if there is none."""
    topic = claim.partition("/")[0]
    found = index_of(topic).get(claim) if topic in topics() else None
    if found is None:
        raise DomainError("claim", claim, "the id of a claim", "see `dpbounds list`")
    return found.load()


def outlines(names: Sequence[str]) -> list[Outline]:
    """The index of the claims named, as `resolve` finds them, in the order of the papers; of all for no name."""
    if not names:
        return [claim for topic in topics() for claim in index_of(topic).values()]
    chosen = {claim.id: claim for claims in resolve(names).values() for claim in claims}
    used = [topic for topic in topics() if any(claim.topic == topic for claim in chosen.values())]
    return [claim for topic in used for claim in index_of(topic).values() if claim.id in chosen]


def select(names: Sequence[str]) -> list[Claim]:
    """The claims named, in the order of the papers; all for no name. Loads the modules that hold them."""
    return [claim.load() for claim in outlines(names)]


def resolve(names: Sequence[str]) -> dict[str, list[Outline]]:
    """What each name means: a topic, a claim id, its beginning, a pattern, or a place such as "Theorem 2.1", with or
    without `TOPIC/` before it (`verify.statements.naming`). Raises `DomainError` for a name that means nothing, with
    the nearest ones, and for one of a topic that is left out.
    """
    return {name: _meant(name) for name in joined(names)}


def spread(meant: Mapping[str, Sequence[Outline]]) -> list[str]:
    """A sentence for each name that means claims of several papers."""
    sentences = []
    for name, claims in meant.items():
        count = Counter(claim.topic for claim in claims)
        if len(count) > 1:
            papers = ", ".join(f"{number} of {topic}" for topic, number in count.items())
            sentences.append(f"{name!r} means {papers}; {next(iter(count))}/{name} would be those of one paper")
    return sentences


def _meant(name: str) -> list[Outline]:
    before, slash, own = name.partition("/")
    topic, own = before.strip().lower(), own.strip()
    known = list(index_of(topic).values()) if topic in topics() else []
    check_loaded([topic])
    if topic in topics() and not own:
        return known
    if slash and topic in topics():
        claims, wanted = known, own
    else:
        claims, wanted = outlines([]), name
    matched = matching(wanted, claims)
    if not matched:
        allowed = f"a topic ({', '.join(topics())}), a claim id, its beginning, a pattern, or a place like Theorem 2.1"
        raise DomainError("claim", name, allowed, nearest(wanted, claims, topics()))
    return matched


@cache
def _ours() -> Mapping[str, Topic]:
    return {name: importlib.import_module(module).TOPIC for name, module in ROOMS.items()}


def _loaded(point: EntryPoint, named: Mapping[str, Topic]) -> Topic:
    """The topic of an entry point. Raises `DomainError` unless it is one, with a name of its own and sources."""
    topic = point.load()
    if not isinstance(topic, Topic):
        raise DomainError(point.value, topic, "a verify.Topic")
    if named.get(topic.name, topic) is not topic:
        raise DomainError(f"name of {point.value}", topic.name, "used once", "rename one of the two topics")
    folders(topic)
    return topic


def _attempt(name: str, load: Callable[[], T]) -> T | None:
    """What is loaded, None where the code of others fails, in whatever way: it is then left out."""
    try:
        return load()
    except (Exception, SystemExit) as error:
        reason = str(error) if isinstance(error, DomainError) else f"{type(error).__name__}: {error}"
        _BROKEN[name] = " ".join(reason.split())
        return None
