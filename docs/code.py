"""Which code decides a claim, from the sources installed where the site is built.

A claim stands in a file as a `Claim`, and names what its checks call. Names are followed as the file imports them,
through the rooms of the papers, down to what `dpbounds` and `simulators` ship; not into that. What an attribute of an
object is, nobody can say before it runs: a class stands for its methods.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from reports.results import Entry
from verify.running.registry import index_of, topics
from verify.running.versions import code_version
from verify.statements.claims import Claim
from verify.statements.derivations import LEMMAS

SHIPPED = ("dpbounds", "simulators")
_ROOMS = "verify.papers."
# A definition: its module and its name there.
Place = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Code:
    """Where a claim stands, what its checks name in that file (with lines), other files of papers that they reach, what
    is shipped and called, by module, and the lemmas of its derivations with what they say (markup).

    `reason` says why there is none of it, `decides` whether it has a check, `stale` whether the verdict is of other
    sources than these.
    """

    file: str = ""
    line: int = 0
    checks: tuple[tuple[str, int], ...] = ()
    others: tuple[str, ...] = ()
    uses: Mapping[str, Sequence[str]] = field(default_factory=dict)
    lemmas: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    decides: bool = True
    stale: bool = False


def code_of(entry: Entry) -> Code:
    """Of the claim that this result is about."""
    topic = topics().get(entry.topic)
    if topic is None:
        return Code(reason=f"The paper {entry.topic} is not installed where this site was built.")
    outline = index_of(entry.topic).get(entry.claim)
    if outline is None:
        return Code(reason="The sources from which this site was built have no claim of this name.")
    claim = outline.load()
    source, node = _definition(_source(outline.module), claim)
    places = list(_reached(source, node))
    uses: dict[str, list[str]] = {}
    for module, name in sorted(place for place in places if place[0].partition(".")[0] in SHIPPED):
        uses.setdefault(module, []).append(name)
    named = {name: source.definitions[name] for name in _names(node) if name in source.definitions}
    functions = [(name, found.lineno) for name, found in named.items() if isinstance(found, ast.FunctionDef)]
    homes = {_file(module) for module, _ in places if module.startswith(_ROOMS)} - {_file(source.name)}
    used = dict.fromkeys(name for derivation in claim.derivations().values() for name in derivation.lemmas)
    return Code(
        file=_file(source.name),
        line=node.lineno,
        checks=tuple(sorted(functions, key=lambda item: item[1])),
        others=tuple(sorted(homes)),
        uses=uses,
        lemmas={name: LEMMAS[name] for name in used},
        decides=bool(claim.checks),
        stale=entry.code != code_version(topic),
    )


# --- files ---


@dataclass(frozen=True, kw_only=True)
class _Source:
    """A module and its file: definitions, and what its imports bind, as (module, name)."""

    name: str
    module: ModuleType
    definitions: Mapping[str, ast.stmt]
    imported: Mapping[str, Place]


@cache
def _source(name: str) -> _Source:
    module = importlib.import_module(name)
    tree = ast.parse(Path(inspect.getfile(module)).read_text(encoding="utf-8"))
    definitions: dict[str, ast.stmt] = {}
    imported: dict[str, Place] = {}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            definitions[node.name] = node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            definitions |= {part: node for target in targets for part in _names(target)}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported |= {item.asname or item.name: (node.module, item.name) for item in node.names}
    return _Source(name=name, module=module, definitions=definitions, imported=imported)


def _file(module: str) -> str:
    """From the root of the repository, or of the package that holds the paper."""
    package = getattr(importlib.import_module(module), "__path__", None)
    return module.replace(".", "/") + ("/__init__.py" if package else ".py")


def _definition(source: _Source, claim: Claim) -> tuple[_Source, ast.expr | ast.stmt]:
    """The `Claim(...)` with this id, or else the statement that binds the claim, and the file in which it stands."""
    name = next(name for name, value in vars(source.module).items() if value is claim or _among(claim, value))
    while name not in source.definitions:  # imported from where it stands
        module, name = source.imported[name]
        source = _source(module)
    bound = source.definitions[name]
    for node in ast.walk(bound):
        if isinstance(node, ast.Call):
            given = {item.arg: item.value for item in node.keywords}
            if isinstance(own := given.get("id"), ast.Constant) and own.value == claim.id:
                return source, node
    return source, bound


def _among(claim: Claim, value: Any) -> bool:
    return isinstance(value, tuple) and any(item is claim for item in value)


# --- names ---


def _names(node: ast.AST) -> list[str]:
    return list(dict.fromkeys(item.id for item in ast.walk(node) if isinstance(item, ast.Name)))


def _reached(source: _Source, node: ast.AST) -> Iterator[Place]:
    """What the code names, and what that names, as long as it stands in the rooms of the papers."""
    seen: set[Place] = set()
    waiting = [*_mentioned(source, node)]
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        yield place
        if place[0] == source.name or place[0].startswith(_ROOMS):
            waiting += _inside(*place)


@cache
def _inside(module: str, name: str) -> tuple[Place, ...]:
    """What a definition mentions; nothing of what its module has from elsewhere."""
    source = _source(module)
    return tuple(_mentioned(source, source.definitions[name])) if name in source.definitions else ()


def _mentioned(source: _Source, node: ast.AST) -> Iterator[Place]:
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and item.id in source.definitions:
            yield source.name, item.id
        elif isinstance(item, ast.Name):
            yield from _meant(*source.imported.get(item.id, ("", "")))
        elif isinstance(item, ast.Attribute) and isinstance(item.value, ast.Name):
            module = _imported(*source.imported.get(item.value.id, ("", "")))
            if isinstance(module, ModuleType):
                yield from _meant(module.__name__, item.attr)


def _meant(module: str, name: str) -> Iterator[Place]:
    """Where it is defined: a public function or class that is shipped, or anything in the rooms of the papers."""
    value = _imported(module, name)
    home, own = getattr(value, "__module__", ""), getattr(value, "__qualname__", "")
    if own and home.partition(".")[0] in SHIPPED and not own.startswith("_"):
        yield home, own
    elif module.startswith(_ROOMS) and not isinstance(value, ModuleType):
        yield (home, own) if own and home.startswith(_ROOMS) else (module, name)


def _imported(module: str, name: str) -> Any:
    """What `from module import name` gives; only where it can be ours."""
    if module.partition(".")[0] not in (*SHIPPED, "verify"):
        return None
    found = importlib.import_module(module)
    return getattr(found, name, None)
