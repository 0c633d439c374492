"""What dpbounds ships is what verify judges: every public formula, law and algorithm is reached by some claim.

Names are resolved as Python does: through the imports of the module in which they stand, to the definition meant. What
an attribute of an object is, nobody can say before it runs: a method counts if its class is reached and some reached
code mentions its name. Whether a claim would notice a mistake there is for `tests.power.mutants` to say.

The command line is held to the same: it calls what claims call, and computes nothing itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("dpbounds", "simulators", "verify")
SHIPPED = ("dpbounds.", "simulators.")
# What no claim has a use for, with the reason.
EXCEPTIONS: dict[str, str] = {}

# (module, name): what an expression means; name "" is the module itself.
Meaning = tuple[str, str]


@dataclass
class Module:
    """A module: its definitions, and what its imports mean, wherever in the file they stand."""

    name: str
    tree: ast.Module
    definitions: dict[str, ast.AST] = field(default_factory=dict)
    imported: dict[str, Meaning] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in self.tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                self.definitions[node.name] = node
            for target in _targets(node):
                self.definitions[target] = node
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    whole = alias.name if alias.asname else alias.name.partition(".")[0]
                    self.imported[alias.asname or whole] = (whole, "")
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    self.imported[alias.asname or alias.name] = (node.module, alias.name)


def _targets(node: ast.AST) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    yield from (name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))


@cache
def modules() -> dict[str, Module]:
    found = {}
    for layer in LAYERS:
        for file in sorted((ROOT / layer).rglob("*.py")):
            name = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            found[name] = Module(name, ast.parse(file.read_text(encoding="utf-8")))
    return found


def meaning(module: str, name: str) -> Meaning | None:
    """Where the name that this module binds is defined, through as many imports as it takes; a package may bind the
    name of one of its own modules to something else.
    """
    seen = set()
    while module in modules() and name:
        found = modules()[module]
        if name in found.definitions:
            return module, name
        further = found.imported.get(name)
        if further is None or further in seen or further == (module, name):
            module, name = f"{module}.{name}", ""
        else:
            seen.add(further)
            module, name = further
    return (module, "") if module in modules() else None


def mentioned(module: str, code: ast.AST) -> tuple[set[Meaning], set[str]]:
    """The definitions that the code names, modules that it hands on as values, and attributes of whatever."""
    found, attributes, nodes = set(), set(), list(ast.walk(code))
    bases = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        if isinstance(node, ast.Name):
            meant = meaning(module, node.id)
            found.add(meant if meant and (meant[1] or id(node) not in bases) else None)
        elif isinstance(node, ast.Attribute):
            attributes.add(node.attr)
            of = _module_of(module, node.value)
            found.add(meaning(of, node.attr) if of else None)
    return {item for item in found if item is not None}, attributes


def _module_of(module: str, expression: ast.expr) -> str:
    """The module that an expression such as `dpbounds.ftrl` names, "" if none."""
    if isinstance(expression, ast.Name):
        found = meaning(module, expression.id)
    elif isinstance(expression, ast.Attribute) and (outer := _module_of(module, expression.value)):
        found = meaning(outer, expression.attr)
    else:
        found = None
    return found[0] if found and not found[1] else ""


def _members(module: str, name: str) -> dict[str, ast.AST | None]:
    """What can be taken of an object by attribute: methods of a class, definitions of a module."""
    if not name:
        return {**modules()[module].definitions, **dict.fromkeys(modules()[module].imported)}
    code = modules()[module].definitions.get(name)
    return (
        {item.name: item for item in code.body if isinstance(item, ast.FunctionDef)}
        if isinstance(code, ast.ClassDef)
        else {}
    )


def _itself(code: ast.AST | None) -> list[ast.AST]:
    """A definition; of a class what Python runs by itself, its methods stand for themselves."""
    if not isinstance(code, ast.ClassDef):
        return [] if code is None else [code]
    own = [item for item in code.body if not isinstance(item, ast.FunctionDef) or item.name.startswith("__")]
    return [*own, *code.bases, *code.decorator_list]


@cache
def reached() -> set[Meaning]:
    """All that the claims mention, directly or through what they mention."""
    found: set[Meaning] = set()
    attributes: set[str] = set()
    members: dict[str, list[Meaning]] = {}
    waiting: list[tuple[str, ast.AST]] = [
        (name, module.tree) for name, module in modules().items() if name.startswith("verify.papers.")
    ]

    def take(home: str, name: str) -> None:
        """A definition, or the member of one."""
        if (home, name) in found:
            return
        found.add((home, name))
        owner, _, member = name.rpartition(".")
        code = _members(home, owner)[member] if owner else modules()[home].definitions.get(name)
        waiting.extend((home, part) for part in _itself(code))
        for own in {} if owner else _members(home, name):
            place = (home, f"{name}.{own}") if name else meaning(home, own)
            if place is None:
                continue
            members.setdefault(own, []).append(place)
            if own in attributes:
                take(*place)

    while waiting:
        module, code = waiting.pop()
        names, taken = mentioned(module, code)
        for meant in names:
            take(*meant)
        for attribute in taken - attributes:
            attributes.add(attribute)
            for place in members.get(attribute, []):
                take(*place)
    return found


def missing() -> set[str]:
    """Public functions, classes and methods of theory and simulators that no claim reaches."""
    found = reached()
    absent = set()
    for module in modules().values():
        for name, code in module.definitions.items() if f"{module.name}.".startswith(SHIPPED) else ():
            if isinstance(code, (ast.FunctionDef, ast.ClassDef)):
                own = [name, *(f"{name}.{member}" for member in _members(module.name, name))]
                public = [place for place in own if not any(part.startswith("_") for part in place.split("."))]
                absent |= {f"{module.name}.{place}" for place in public if (module.name, place) not in found}
    return absent


def test_every_public_formula_law_and_algorithm_is_called_by_a_claim():
    absent = missing()
    assert absent == set(EXCEPTIONS), sorted(absent ^ set(EXCEPTIONS))
