"""Quadratic forms of matrices of any size: identities that hold for every number of records and dimensions."""

from __future__ import annotations

from typing import Any, NamedTuple

import sympy


class Data(NamedTuple):
    """X (n, d), Y (n, 1), and four vectors of length d, with n and d symbols."""

    X: Any
    Y: Any
    theta: Any
    other: Any
    step: Any
    rest: Any


def data() -> Data:
    """Symbols for all of it."""
    n, d = sympy.symbols("n d", integer=True, positive=True)
    vectors = [sympy.MatrixSymbol(name, d, 1) for name in ("theta", "f", "h", "g")]
    return Data(sympy.MatrixSymbol("X", n, d), sympy.MatrixSymbol("Y", n, 1), *vectors)


def square(vector: Any) -> Any:
    """||v||², a 1 x 1 expression."""
    return vector.T * vector


def scalar(expression: Any) -> sympy.Expr:
    """A 1 x 1 expression as a sum of its products, each of which is the same as its transpose: 0 if it is 0 for all."""
    expanded: Any = expression.expand().doit()
    total = sympy.Integer(0)
    terms: Any = expanded.args if isinstance(expanded, sympy.MatAdd) else (expanded,)
    for term in terms:
        coefficient, product = term.as_coeff_mmul()
        if not product.is_ZeroMatrix:
            name = min(str(product), str(sympy.transpose(product).doit()))
            total += coefficient * sympy.Symbol(name)
    return sympy.expand(total)
