"""Exact tails of Gaussian lengths, which the high-probability bounds of App. C to E are held against."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sympy
from scipy import special

Sides = tuple[np.ndarray, np.ndarray]


def chernoff(halves: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """Chernoff's exponent (y - d - d log(y / d)) / 2 at y = d (1 + s)^2, s = sqrt(2 x / d), less x = d s^2 / 2.

    It is d (s - log(1 + s)), 0 at s = 0 and increasing.
    """
    d, s = sympy.symbols("d s", positive=True)
    y = d * (1 + sympy.Rational(halves, 2) * s) ** 2
    exponent = (y - d - d * sympy.log(y / d)) / 2 - d * s**2 / 2
    yield "derivative of the exponent in s, over d", sympy.diff(sympy.expand_log(exponent), s) / d
    yield "exponent at s = 0", exponent.subs(s, 0)


def singular_value_tail(n: np.ndarray, tau: np.ndarray, constant: float) -> Sides:
    """tau and -log(P / 2), P = P(| ||g|| - sqrt(n) | > C_0 (1 + sqrt(tau))) for g ~ N(0, I_n): Lemma D.2 for q = 1."""
    reach = constant * (1 + np.sqrt(tau))
    below = np.maximum(np.sqrt(n) - reach, 0.0)
    missed = special.chdtrc(n, (np.sqrt(n) + reach) ** 2) + special.chdtr(n, below**2)
    return tau, -np.log(np.maximum(missed / 2, 1e-300))


def outside(n: int, low: float, high: float) -> float:
    """P(||g|| < low or ||g|| > high) for g ~ N(0, I_n)."""
    return float(special.chdtrc(n, high**2) + special.chdtr(n, low**2))


def maximum_tail(count: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """P(max |g_k| > radius) over `count` independent standard normals."""
    return -np.expm1(count * np.log1p(-2 * special.ndtr(-radius)))
