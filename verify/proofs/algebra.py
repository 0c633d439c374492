"""What computer algebra proved, as a proof file: expressions that are equal, and expressions that are nonnegative.

The checker does not simplify. That two expressions are equal it tries as an identity of rational functions; that one is
nonnegative for positive variables it sees from a quotient of sums of positive terms, which is found here and written
out, for all real variables from the sum of squares that the check gives. Expressions that differ have a point.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import chain
from typing import Any

from verify.checks import Symbolic
from verify.proofs.tracing import Step, Trace, Untraceable, accepted


def of_symbolic(check: Symbolic) -> dict[str, Any]:
    """`sign`, `squares`, `generic` where nothing is said of signs, or the `exact` value of what is not 0; `Untraceable`
    says why none.
    """
    import sympy

    sides = [pair for _, left, *right in check.residuals() for pair in _entries(left, *right)]
    signs = [expression for _, expression in check.nonnegative()]
    squares = [pair for _, *pair in check.squares()]
    if not any(signs) and not squares and all(left == right for left, right in sides):
        raise Untraceable("its sides are the same as soon as they are formed: a file would say x = x")
    expressions = [_sympified(expression) for expression in (*chain(*sides), *signs, *chain(*squares))]
    used = {symbol for expression in expressions for symbol in expression.free_symbols}
    symbols = sorted(used, key=str)
    trace = Trace(_names([str(symbol) for symbol in symbols]))
    variables = {symbol: trace.variable(name) for symbol, name in zip(symbols, trace.variables, strict=True)}

    def step(expression: Any) -> Step:
        return _step(trace, _sympified(expression), variables)

    equal = [[step(left).place, step(right).place] for left, right in sides]
    above = [[step(expression).place, step(_quotient(expression)).place] for expression in signs if expression != 0]
    sums = [[step(left).place, step(right).place] for left, right in squares]
    pairs_of = {"equal": equal, "nonnegative": above, "squares": sums}
    given = {name: pairs for name, pairs in pairs_of.items() if pairs}
    kind = "sign" if above else "squares" if sums else "generic"
    proof = {"kind": kind, "variables": trace.variables, "steps": trace.steps, **given}
    if accepted(proof):
        return proof
    point = {"point": [[name, str(sympy.prime(k + 1))] for k, name in enumerate(trace.variables)], "steps": trace.steps}
    for pair in equal:
        refutation = {"kind": "exact", **point, "relations": [["!=", *pair]]}
        if accepted(refutation):
            return refutation
    raise Untraceable("the checker sees no identity of rational functions, nor the signs")


def _names(printed: list[str]) -> list[str]:
    """As the symbols are printed, where that is a name and of one symbol alone."""
    plain = all(map(str.isidentifier, printed)) and len(set(printed)) == len(printed)
    return printed if plain else [f"v{number}" for number, _ in enumerate(printed)]


def _sympified(expression: Any) -> Any:
    import sympy

    return sympy.sympify(expression)


def _entries(left: Any, right: Any = 0) -> Iterable[tuple[Any, Any]]:
    """Both sides, of matrices entry by entry."""
    import sympy

    if not isinstance(left, sympy.MatrixBase):
        return [(left, right)]
    below = right.flat() if isinstance(right, sympy.MatrixBase) else [0] * len(left)
    return list(zip(left.flat(), below, strict=True))


def _quotient(expression: Any) -> Any:
    """Numerator over denominator, both expanded."""
    import sympy

    above, below = sympy.fraction(sympy.cancel(sympy.together(_sympified(expression))))
    return sympy.expand(above) / sympy.expand(below)


def _step(trace: Trace, expression: Any, variables: dict[Any, Step]) -> Step:
    """The expression in steps: sums, products and whole powers of variables and fractions."""
    import sympy

    if expression in variables:
        return variables[expression]
    if expression == sympy.pi:
        return trace.number(trace.arithmetic.pi)
    if isinstance(expression, (sympy.log, sympy.exp)):
        return trace.record(type(expression).__name__, _step(trace, expression.args[0], variables))
    if expression.is_Rational:
        return trace.number(Fraction(int(expression.p), int(expression.q)))
    if expression.is_Pow and expression.exp.is_Integer:
        return trace.power(_step(trace, expression.base, variables), int(expression.exp))
    if not isinstance(expression, (sympy.Add, sympy.Mul)):
        raise Untraceable(f"{expression} is no rational function")
    total, *parts = (_step(trace, part, variables) for part in expression.args)
    for part in parts:
        total = total + part if expression.is_Add else total * part
    return total
