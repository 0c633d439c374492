"""What dpbounds ships is what verify judges: every public formula, law and algorithm is called by some claim.

By names: what the claims mention, what is mentioned in the bodies of that, and so on. Whether a claim would notice a
mistake there is for `tests.power.mutants` to say.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What no claim has a use for, with the reason.
EXCEPTIONS: dict[str, str] = {
    "dpbounds/ftrl/strongly_convex/bounds.py: ConvexBound.plot": "shows, and computes nothing",
    "dpbounds/ftrl/strongly_convex/show.py: html": "shows, and computes nothing",
    "dpbounds/ftrl/strongly_convex/show.py: plot": "shows, and computes nothing",
}


def modules(*folders: str) -> Iterator[tuple[str, ast.Module]]:
    for folder in folders:
        for file in sorted((ROOT / folder).rglob("*.py")):
            if "cli" not in file.parts:
                yield file.relative_to(ROOT).as_posix(), ast.parse(file.read_text(encoding="utf-8"))


def mentioned(tree: ast.AST) -> set[str]:
    """Names and attributes, wherever they stand but in imports."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def definitions() -> dict[str, list[tuple[str, ast.AST]]]:
    """Functions, classes and methods of theory and simulators by name: where they stand, and their code."""
    found: dict[str, list[tuple[str, ast.AST]]] = {}
    for file, tree in modules("dpbounds", "simulators"):
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.setdefault(node.name, []).append((f"{file}: {node.name}", _outside(node)))
            if isinstance(node, ast.ClassDef):
                for method in (item for item in node.body if isinstance(item, ast.FunctionDef)):
                    found.setdefault(method.name, []).append((f"{file}: {node.name}.{method.name}", method))
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found.setdefault(node.targets[0].id, []).append((f"{file}: {node.targets[0].id}", node.value))
    return found


def _outside(node: ast.AST) -> ast.AST:
    """A class without its methods, which stand for themselves, but for those that Python calls."""
    if not isinstance(node, ast.ClassDef):
        return node
    kept = [item for item in node.body if not isinstance(item, ast.FunctionDef) or item.name.startswith("__")]
    return ast.Module(body=[*kept, *(ast.Expr(base) for base in node.bases)], type_ignores=[])


def reached() -> set[str]:
    """All names that claims mention, directly or through what they mention."""
    known = definitions()
    names = set().union(*(mentioned(tree) for file, tree in modules("verify") if "/papers/" in file))
    waiting = list(names)
    while waiting:
        for _, code in known.get(waiting.pop(), ()):
            new = mentioned(code) - names
            names |= new
            waiting += new
    return names


def test_every_public_formula_law_and_algorithm_is_called_by_a_claim():
    names = reached()
    missing = {
        place
        for name, places in definitions().items()
        for place, code in places
        if not name.startswith("_") and name not in names and isinstance(code, (ast.FunctionDef, ast.Module))
    }
    assert missing == set(EXCEPTIONS), sorted(missing ^ set(EXCEPTIONS))
