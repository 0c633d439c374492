"""The project's modules, read again with balls for numbers."""

from __future__ import annotations
import __future__

import ast
import builtins
import importlib
import importlib.util
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import flint

from verify.certain import functions
from verify.certain.arrays import NUMPY
from verify.certain.enclosures import ENCLOSURES
from verify.certain.linear import SCIPY_LINALG
from verify.certain.numbers import Ball

# Read again; everything that decides or shows (checks, statements) stays as it is.
READ_AGAIN = ("dpbounds", "simulators", "verify.papers")
_MEANINGS: Mapping[str, Any] = {
    "functools": functions.FUNCTOOLS,
    "math": functions.MATH,
    "operator": functions.OPERATOR,
    "numpy": NUMPY,
    "numpy.linalg": NUMPY.linalg,
    "flint": functions.Library("flint", fmpq=flint.fmpq, fmpz=flint.fmpz),
    "scipy": functions.SCIPY,
    "scipy.linalg": SCIPY_LINALG,
    "scipy.special": functions.SPECIAL,
    "scipy.stats": functions.STATS,
    "scipy.optimize": functions.OPTIMIZE,
}
# Compute no number that is not whole.
_KEPT = """
    __future__ abc collections contextlib copy dataclasses enum hashlib importlib inspect itertools json numbers os
    pathlib re string sys textwrap time types typing typing_extensions warnings weakref fractions jaxtyping sympy
    verify
"""


class _Rewriter(ast.NodeTransformer):
    """Numbers with a point become balls of what is written; / and ** are those of `functions`."""

    def visit_Constant(self, node: ast.Constant) -> Any:
        return _called("ball__", ast.Constant(repr(node.value))) if isinstance(node.value, float) else node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> Any:
        node.value = self.visit(node.value)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        name = {ast.Div: "quotient__", ast.Pow: "power__"}.get(type(node.op))
        return _called(name, node.left, node.right) if name else node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        name = {ast.Div: "divided__", ast.Pow: "raised__"}.get(type(node.op))
        if name is None:
            return node
        read = ast.parse(ast.unparse(node.target), mode="eval").body
        return ast.Assign(targets=[node.target], value=_called(name, read, node.value))


def _called(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


class World:
    """The modules read so far, by name."""

    def __init__(self) -> None:
        self.modules: dict[str, ModuleType] = {"dpbounds.arguments": _untyped(), "dpbounds.values": _values()}

    def module(self, name: str) -> ModuleType:
        """A module of the project in this arithmetic, its packages first."""
        if name in self.modules:
            return self.modules[name]
        package, _, last = name.rpartition(".")
        if package:
            self.module(package)
        importlib.import_module(name)  # whom dataclasses ask for what annotations mean
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise ImportError(name)
        made = self.modules[name] = ModuleType(name)
        made.__file__, made.__package__ = spec.origin, name if spec.submodule_search_locations else package
        if spec.submodule_search_locations:
            made.__path__ = list(spec.submodule_search_locations)
        made.__dict__["__builtins__"] = {**vars(builtins), **functions.BUILTINS, "__import__": self._import}
        made.__dict__.update(ball__=_number, quotient__=functions.quotient, power__=functions.power)
        made.__dict__.update(divided__=functions.divided, raised__=functions.raised)
        outside, Ball.shown = Ball.shown, True
        for code, names in _statements(spec.origin):
            try:
                exec(code, made.__dict__)
            except Exception as error:  # what balls cannot say is missing, and only what needs it fails
                made.__dict__.update({known: functions.Missing(f"{name}.{known} ({error})") for known in names})
        Ball.shown = outside
        made.__dict__.update(ENCLOSURES.get(name, {}))
        if package:
            setattr(self.modules[package], last, made)
        return made

    def _import(self, name: str, context: Any = None, _local: Any = None, wanted: Any = None, level: int = 0) -> Any:
        if level:
            name = importlib.util.resolve_name("." * level + name, (context or {}).get("__package__", ""))
        if name.startswith(READ_AGAIN):
            found = self.module(name)
            for part in wanted or ():
                if not hasattr(found, part) and importlib.util.find_spec(f"{name}.{part}"):
                    self.module(f"{name}.{part}")
            return found if wanted else self.modules[name.partition(".")[0]]
        if name in _MEANINGS:
            return _MEANINGS[name] if wanted or "." not in name else _MEANINGS[name.partition(".")[0]]
        if name.partition(".")[0] in _KEPT.split():
            return builtins.__import__(name, context, None, wanted or (), 0)
        return functions.Missing(name if wanted else name.partition(".")[0])


def _number(text: str) -> Any:
    return functions.Float(text) if "inf" in text or "nan" in text else Ball(text)


def _untyped() -> ModuleType:
    """Arguments are not held against their annotations: a ball is no float."""
    made = ModuleType("dpbounds.arguments")
    made.__dict__.update(typed=lambda function: function, formula=lambda function: function)
    return made


class _Value(Ball):
    """`dpbounds.Value`: a number with its meaning."""

    __slots__ = ("convention", "enclosure", "kind", "source")

    def __init__(self, number: Any, *, kind: str, source: str, convention: str = "", enclosure: Any = None) -> None:
        super().__init__(number)
        self.kind, self.source, self.convention, self.enclosure = kind, source, convention, enclosure


def _values() -> ModuleType:
    made = ModuleType("dpbounds.values")
    made.__dict__.update(Value=_Value, Kind=str, weakest=lambda kind, *_: kind)
    return made


@cache
def _statements(path: str) -> list[tuple[Any, list[str]]]:
    """A module's statements in their order, each with the names that it binds."""
    tree = ast.fix_missing_locations(_Rewriter().visit(ast.parse(Path(path).read_text())))
    future = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    rest = [node for node in tree.body if node not in future]
    flags = __future__.annotations.compiler_flag
    return [
        (compile(ast.Module([node], []), path, "exec", flags=flags, dont_inherit=True), _bound(node)) for node in rest
    ]


def _bound(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    return [name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)]


@cache
def world() -> World:
    """The one of this process."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 5000))
    return World()
