"""The command line parses, calls and shows: what it would compute itself no claim could reach, and Python could not
call.

Read off its source: no numerical library but arrays, no function of one, no random draw, no power, quotient or matrix
product. `ALLOWED` are the places that only lay out what is shown, each with its reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LIBRARIES = ("scipy", "mpmath", "sympy", "flint", "cvxpy", "fractions", "statistics", "random", "simulators.noise")
# Numbers that are looked at, not computed with.
HARMLESS = ("isfinite", "isnan", "inf", "nan", "ndarray", "asarray", "array")
OPERATORS = (ast.Pow, ast.Div, ast.MatMult)
# "file: function" to the reason why it may.
ALLOWED: dict[str, str] = {
    "verify/cli/solve/ftrl/spectra.py: _npy": "reads a header and a body of bounded size",
}


def breaches(file: Path) -> Iterator[str]:
    """Places of a file that compute, as "file: function: line: what"."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for place, node in _places(tree, "module"):
        what = _computes(node)
        if what:
            yield f"{file.relative_to(ROOT).as_posix()}: {place}: {node.lineno}: {what}"


def _places(tree: ast.AST, place: str) -> Iterator[tuple[str, ast.AST]]:
    for node in ast.iter_child_nodes(tree):
        inner = node.name if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and place == "module" else place
        yield inner, node
        yield from _places(node, inner)


def _computes(node: ast.AST) -> str:
    if isinstance(node, ast.Import):
        return next((alias.name for alias in node.names if _library(alias.name)), "")
    if isinstance(node, ast.ImportFrom):
        return node.module or "" if _library(node.module or "") else ""
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, OPERATORS) and not _is_path(node):
        return type(node.op).__name__
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("np", "math"):
        return "" if node.attr in HARMLESS else f"{node.value.id}.{node.attr}"
    if isinstance(node, ast.Attribute) and node.attr in ("default_rng", "Generator", "SeedSequence", "normal"):
        return node.attr
    return ""


def _library(name: str) -> bool:
    return any(name == library or name.startswith(f"{library}.") for library in LIBRARIES)


def _is_path(node: ast.BinOp | ast.AugAssign) -> bool:
    """Whether a quotient joins the parts of a path."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.right, (ast.Constant, ast.JoinedStr))
        and not (isinstance(node.right, ast.Constant) and isinstance(node.right.value, (int, float)))
    )


def test_the_command_line_computes_nothing():
    found = [place for file in sorted((ROOT / "verify" / "cli").rglob("*.py")) for place in breaches(file)]
    unexplained = [place for place in found if ": ".join(place.split(": ")[:2]) not in ALLOWED]
    assert not unexplained, "\n".join(unexplained)


def test_every_exception_is_used():
    found = {
        ": ".join(place.split(": ")[:2]) for file in (ROOT / "verify" / "cli").rglob("*.py") for place in breaches(file)
    }
    assert set(ALLOWED) <= found, sorted(set(ALLOWED) - found)
