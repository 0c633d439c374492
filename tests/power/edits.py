"""Single plausible mistakes in a source file: a sign, a factor, a power, a comparison, a dropped term."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OPERATORS: dict[type, tuple[type, ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.Lt: (ast.GtE,),
    ast.LtE: (ast.Gt,),
    ast.Gt: (ast.LtE,),
    ast.GtE: (ast.Lt,),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
}
NAMES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "sum": "mean",
    "log": "log1p",
    "log1p": "log",
    "sin": "cos",
    "cos": "sin",
    "ceil": "floor",
    "floor": "ceil",
    "expm1": "exp",
    "cumsum": "cumprod",
}
# Constants outside are tolerances and limits, where a few per cent change nothing.
SMALL, LARGE = 1e-4, 1e4
# Calls that only check their arguments, or only describe them.
CHECKS = ("DomainError", "AccuracyError", "within", "positive", "count", "choice", "vector", "finite_array", "Value")


@dataclass(frozen=True)
class Edit:
    """One mistake: a stretch of a file and what stands there instead."""

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str
    context: str

    @property
    def name(self) -> str:
        """What tells it from others, line numbers aside."""
        return f"{self.file}: {self.context}"

    def applied(self, source: bytes) -> bytes:
        """The file with the mistake."""
        return source[: self.start] + self.new.encode() + source[self.end :]


def edits_of(root: Path, file: str) -> list[Edit]:
    """All mistakes that can be made inside the functions of a file."""
    source = (root / file).read_bytes()
    offsets = [0]
    for line in source.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    found = []
    for node, changed in _changes(ast.parse(source)):
        start = offsets[node.lineno - 1] + node.col_offset
        end = offsets[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        text = source[start:end].decode()
        line = source.splitlines()[node.lineno - 1].decode().strip()
        if changed != text:
            context = f"{' '.join(text.split())} -> {' '.join(changed.split())} in {line}"
            found.append(Edit(file, node.lineno, start, end, text, changed, context))
    return found


def chosen(edits: list[Edit], count: int, seed: int) -> list[Edit]:
    """Some of them at random, at most one in a line."""
    by_line: dict[tuple[str, int], list[Edit]] = {}
    for edit in edits:
        by_line.setdefault((edit.file, edit.line), []).append(edit)
    rng = random.Random(seed)
    lines = rng.sample(sorted(by_line), min(count, len(by_line)))
    return [rng.choice(by_line[line]) for line in lines]


def _changes(tree: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """(expression, its new text), inside functions and outside checks, annotations, messages and docstrings."""
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for statement in function.body:
                yield from _in_statement(statement)


def _in_statement(statement: ast.stmt) -> Iterator[tuple[ast.expr, str]]:
    if _is_refusal(statement) or isinstance(statement, (ast.Raise, ast.FunctionDef, ast.AsyncFunctionDef, ast.Assert)):
        return
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            yield from _in_statement(child)
        elif isinstance(child, ast.expr) and child is not getattr(statement, "annotation", None):
            yield from _in_expression(child)
        elif isinstance(child, (ast.match_case, ast.ExceptHandler, ast.withitem)):
            for part in ast.iter_child_nodes(child):
                if isinstance(part, ast.stmt):
                    yield from _in_statement(part)


def _is_refusal(statement: ast.stmt) -> bool:
    """Whether it only raises if something is wrong, once or in a loop."""
    if isinstance(statement, ast.For):
        return all(_is_refusal(line) for line in statement.body)
    return isinstance(statement, ast.If) and all(isinstance(line, ast.Raise) for line in statement.body)


def _in_expression(node: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Call) and _called(node) in CHECKS):
        return
    yield from ((node, text) for text in _versions(node))
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from _in_expression(child)
        elif isinstance(child, (ast.comprehension, ast.keyword)):
            for part in ast.iter_child_nodes(child):
                if isinstance(part, ast.expr):
                    yield from _in_expression(part)


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _versions(node: ast.expr) -> Iterator[str]:
    """The mistakes that can be made at this very node."""
    if isinstance(node, ast.BinOp):
        for operator in OPERATORS.get(type(node.op), ()):
            yield f"({ast.unparse(ast.BinOp(node.left, operator(), node.right))})"
        if isinstance(node.op, (ast.Add, ast.Sub)):
            yield f"({ast.unparse(node.left)})"
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for operator in OPERATORS.get(type(node.ops[0]), ()):
            yield f"({ast.unparse(ast.Compare(node.left, [operator()], node.comparators))})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value != 0:
        if SMALL < abs(node.value) < LARGE:
            yield repr(node.value * 1.05) if isinstance(node.value, float) else repr(node.value + 1)
    elif isinstance(node, ast.Call) and _called(node) in NAMES:
        function = ast.unparse(node.func)
        renamed = function[: len(function) - len(_called(node))] + NAMES[_called(node)]
        arguments = ", ".join(map(ast.unparse, [*node.args, *node.keywords]))
        yield f"{renamed}({arguments})"
    elif isinstance(node, ast.Call) and _called(node) == "sqrt" and len(node.args) == 1:
        yield f"({ast.unparse(node.args[0])})"
