"""The weights of nu-DP-FTRL and their sums."""

from __future__ import annotations

from collections.abc import Iterator

import sympy


def telescoping(shift: int = 0) -> Iterator[tuple[str, sympy.Expr]]:
    """b_k = |binom(1/2, k)| and c_n = |binom(-1/2, n)| through their ratios: b_1 + ... + b_n = 1 - c_n < 1."""
    n = sympy.symbols("n", positive=True)
    c_ratio, b_ratio = (n + sympy.Rational(1, 2)) / (n + 1), (n + sympy.Rational(1, 2)) / (n + 2)
    claimed = 1 / (2 * (n + 1 + shift))
    yield "b_1 / c_0 = 1/2", claimed.subs(n, 0), sympy.Rational(1, 2)
    yield "b_(n+1) / c_n = 1 / (2 (n + 1)) by induction", claimed * b_ratio / c_ratio, claimed.subs(n, n + 1)
    yield "c_n - c_(n+1) = b_(n+1)", 1 - c_ratio, claimed
