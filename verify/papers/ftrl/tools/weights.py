"""The weights of nu-DP-FTRL and their sums."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy


def telescoping(shift: int = 0) -> Iterator[tuple[Any, ...]]:
    """b_k = |binom(1/2, k)| and c_n = |binom(-1/2, n)| through their ratios: b_1 + ... + b_n = 1 - c_n < 1."""
    n = sympy.symbols("n", positive=True)
    c_ratio, b_ratio = (n + sympy.Rational(1, 2)) / (n + 1), (n + sympy.Rational(1, 2)) / (n + 2)
    claimed = 1 / (2 * (n + 1 + shift))
    yield "b_1 / c_0 = 1/2", claimed.subs(n, 0), sympy.Rational(1, 2)
    yield "b_(n+1) / c_n = 1 / (2 (n + 1)) by induction", claimed * b_ratio / c_ratio, claimed.subs(n, n + 1)
    yield "c_n - c_(n+1) = b_(n+1)", 1 - c_ratio, claimed


def inverse_step(shift: int = 0) -> Iterator[tuple[str, sympy.Expr]]:
    """The last row of B C at T + 1, any T: with the row beta_T, ..., beta_0 of B and the columns c_0, ..., c_(T - s) of
    C, its entry s is beta_0 c_(T - s) and the sum of beta_(T - k) c_(k - s) over s <= k < T, which the recursion of c
    makes 0 (s < T) once the sum is that over j = k - s.
    """
    places: Any = sympy.symbols("T s k", integer=True, nonnegative=True)
    T, s, k = places
    beta: Any = sympy.IndexedBase("beta")
    c: Any = sympy.IndexedBase("c")
    row: Any = sympy.Sum(beta[T - k] * c[k - s], (k, s, T - 1))
    known: Any = sympy.Sum(beta[T - s - k + shift] * c[k], (k, 0, T - s - 1))
    yield "entry s of the last row", sympy.simplify(row.change_index(k, k - s) + beta[0] * (-known / beta[0]))
