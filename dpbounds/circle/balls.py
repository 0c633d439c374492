"""Enclosures of integrals over the circle, and with them proofs that integrands are finite, by ball arithmetic.

Integrands are functions of s = sin^2(omega / 2) in [0, 1]. With s = 1 / (1 + e^{-2y}) the integral is taken over y in
cells; on each, Gauss-Legendre with the error bound of Bernstein's ellipse, (64 / 15) r M rho^{-2n} / (1 - rho^{-2}), M
a bound of the integrand on a disc around the cell. The same disc bound proves that denominators have no zero on the
cell, and a cell where it fails is halved. The two ends, y beyond the cells, are bounded by length times supremum.

>>> with arithmetic.balls() as m:
...     (mean,) = integrate(lambda m, s: [1 / (1 + 3 * s)])
>>> bool(abs(mean - 0.5) < 1e-8)
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from dpbounds import arithmetic
from dpbounds.arithmetic import Arithmetic
from dpbounds.errors import AccuracyError

Integrands = Callable[[Arithmetic, Any], Sequence[Any]]

# Half-width of the first cells, Gauss points in a cell, and rho of its ellipse: the disc has radius (rho + 1 / rho) / 2
# half-widths. Measured: twice as fast as (0.1, 14, 5).
HALF_WIDTH, POINTS, RHO = 0.2, 13, 3.0
# Relative width of the enclosure that is aimed at, and the narrowest cell.
TOLERANCE, NARROWEST = 1e-9, 1e-5
# The cells reach from -NEAREST to NEAREST at least, beyond which the frequencies next to 0 and pi have length 2
# e^{-NEAREST}, and this far at most: 1 - s is then still known to 20 bits.
NEAREST, FARTHEST_LEFT, FARTHEST_RIGHT = 22.0, 90.0, 38.0
PRECISION = 128
# What one proof may cost: its evaluations of the integrands, each counted as the degree of their polynomials plus this.
# A million take one to three seconds.
OVERHEAD, MOST_WORK = 10, 12_000_000


class _Work:
    """What proofs may still cost together."""

    def __init__(self, most: int) -> None:
        self.most = self.left = most

    def spend(self, units: int) -> None:
        """Raise `AccuracyError` where nothing is left."""
        self.left -= units
        if self.left < 0:
            raise AccuracyError(
                f"certificate: it takes more than {self.most} units of work (evaluations times degree), which is all "
                "that is allowed; take fewer multipliers, weights or bounds at a time"
            )


_ALLOWED: ContextVar[_Work | None] = ContextVar("work", default=None)


@contextmanager
def allowance(units: int) -> Iterator[None]:
    """All integrals in the `with` block together may cost so many evaluations times (degree + `OVERHEAD`).

    Beyond, they raise `AccuracyError`. Without it each may cost `MOST_WORK`.
    """
    token = _ALLOWED.set(_Work(units))
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def work() -> _Work:
    """What the proof that begins may cost: of the `allowance` in force, or of its own."""
    return _ALLOWED.get() or _Work(MOST_WORK)


def integrate(integrands: Integrands, degree: int = 0) -> list[Any]:
    """Enclosures (arb) of (1 / 2 pi) int f over the circle, for each f of a list: a proof that all are finite on it.

    `integrands(m, s)` gives their values at s = sin^2(omega / 2) as a list; each is at least 0, analytic for s off
    (-inf, 0) and (1, inf), and accepts balls, real and complex. `degree` is the largest of polynomials in s. Raises
    `AccuracyError` where some f is not shown to be finite, or where that takes too long (`allowance`).
    """
    precision, left_over = PRECISION + 3 * degree, work()
    with arithmetic.balls(precision) as m, arithmetic.complex_balls(precision) as complex_m:
        circle = _Circle(_counted(integrands, left_over, OVERHEAD + degree), m, complex_m)
        left, right = circle.reach(left=True), circle.reach(left=False)
        ends = circle.end(-left, left=True), circle.end(right, left=False)
        totals = [first + second for first, second in zip(*ends, strict=True)]
        allowed = [size * TOLERANCE / (left + right) for size in circle.rough(max(left, right))]
        cells = math.ceil((left + right) / (2.0 * HALF_WIDTH))
        pending = list(pairwise(np.linspace(-left, right, cells + 1).tolist()))[::-1]
        while pending:
            low, high = pending.pop()
            parts = circle.cell(low, high, [error * (high - low) for error in allowed])
            if parts is not None:
                totals = [total + part for total, part in zip(totals, parts, strict=True)]
                continue
            if high - low < NARROWEST:
                raise AccuracyError(
                    f"certificate: a denominator is not positive, or the spectrum is not finite, near frequency "
                    f"{2.0 * math.atan(math.exp(low)):.6g}; nothing is bounded there"
                )
            middle = (low + high) / 2.0
            pending += [(middle, high), (low, middle)]
        return [total / m.pi for total in totals]


def gauss_error(half: Any, supremum: Any, nodes: int, rho: float) -> Any:
    """Bound of the error of Gauss-Legendre with so many nodes on an interval of this half-width, for a function of at
    most `supremum` on Bernstein's ellipse of `rho`: floats, arrays or balls.

    f = sum_k a_k T_k with |a_k| <= 2 M rho^{-k}; the rule is exact below degree 2 n, and misses T_k by at most 2 +
    2 / (k^2 - 1).
    """
    share = 64.0 / 15.0 * rho ** (-2 * nodes) / (1.0 - rho**-2)
    return half * supremum * (share * (1.0 + 1e-12))  # more than the rounding of the share


def _counted(integrands: Integrands, work: _Work, units: int) -> Integrands:
    """The same, each evaluation paid for."""

    def paid(m: Arithmetic, s: Any) -> Sequence[Any]:
        work.spend(units)
        return integrands(m, s)

    return paid


@dataclass(frozen=True)
class _Circle:
    """The integrands as functions of y, divided by cosh y, on balls and discs."""

    integrands: Integrands
    m: Arithmetic
    complex_m: Arithmetic

    def at(self, y: Any) -> list[Any]:
        """At a real ball."""
        s, root = self._point(y)
        return [root * value for value in self.integrands(self.m, s)]

    def rough(self, reach: float) -> list[float]:
        """The integrals over [-reach, reach] to a few digits, for the size of the tolerated errors."""
        values = [self.at(float(y)) for y in np.arange(-reach, reach, 0.5)]
        return [0.5 * sum(abs(float(value)) for value in column) for column in zip(*values, strict=True)]

    def reach(self, *, left: bool) -> float:
        """The |y| beyond which the frequencies next to 0 or to pi no longer matter."""
        farthest = FARTHEST_LEFT if left else FARTHEST_RIGHT
        for reach in np.arange(NEAREST, farthest, 4.0).tolist():
            sizes = self._beyond(-reach, 0) if left else self._beyond(reach, 1)
            if all(size < TOLERANCE * rough for size, rough in zip(sizes, self.rough(reach), strict=True)):
                return reach
        return farthest

    def end(self, y: float, *, left: bool) -> list[Any]:
        """Enclosures of what lies beyond y, next to 0 or to pi."""
        sizes = self._beyond(y, 0 if left else 1)
        if not all(size.is_finite() for size in sizes):
            raise AccuracyError(
                f"certificate: a denominator is not positive, or the spectrum or its inverse is not finite, next to "
                f"frequency {'0' if left else 'pi'}"
            )
        return [size.union(self.m.number(0)) for size in sizes]

    def _beyond(self, y: float, corner: int) -> list[Any]:
        """Bounds: frequencies of length at most 2 e^{-|y|} times the integrands on all of them."""
        s, _ = self._point(y)
        length = 2 * self.m.exp(self.m.number(-abs(y)))
        return [length * size for size in self.integrands(self.m, self.m.number(corner).union(s))]

    def cell(self, low: float, high: float, allowed: Sequence[float]) -> list[Any] | None:
        """Enclosures over [low, high], or None where an integrand may be infinite on the disc, or too large for
        `allowed`.
        """
        import flint

        middle, half = (low + high) / 2.0, (high - low) / 2.0
        suprema = self._suprema(middle, half * (RHO + 1 / RHO) / 2.0)
        if suprema is None:
            return None
        errors = [gauss_error(half, M, POINTS, RHO) for M in suprema]
        if not all(error < most for error, most in zip(errors, allowed, strict=True)):
            # `allowed` is a share of the rough integral, which misses narrow peaks.
            own = [TOLERANCE * (high - low) * value for value in self.at(middle)]
            if not all(error < most or error < mine for error, most, mine in zip(errors, allowed, own, strict=True)):
                return None
        totals = [flint.arb(0, error.upper()) for error in errors]
        for node, weight in _gauss_points():
            totals = [t + half * weight * v for t, v in zip(totals, self.at(middle + half * node), strict=True)]
        return totals if all(total.is_finite() for total in totals) else None

    def _point(self, y: Any) -> tuple[Any, Any]:
        """s and 2 sqrt(s (1 - s)) = 1 / cosh y."""
        e = self.m.exp(-self.m.number(y))
        s = 1 / (1 + e * e)
        return s, 2 * e * s

    def _suprema(self, middle: float, radius: float) -> list[Any] | None:
        """Bounds of the integrands on the disc |y - middle| <= radius; None if one may be infinite on it."""
        import flint

        m = self.m
        s, root = self._point(middle)
        # |s(y + h) - s| <= s (1 - s) E / (1 - s E) with E = e^{2 radius} - 1, and the same from the other end.
        growth = m.expm1(m.number(2 * radius))
        reach = s * (1 - s) * growth / m.maximum(1 - s * growth, 1 - (1 - s) * growth)
        # |cosh(y + h)| >= cosh y (|cosh h| - |sinh h|) >= cosh y (2 - e^{|h|})
        shrink = 2 - m.exp(m.number(radius))
        if not (reach > 0 and shrink > 0):
            return None
        spread = flint.arb(0, reach.upper())
        values = self.integrands(self.complex_m, flint.acb(s + spread, spread))
        sizes = [(abs(value) * root / shrink).upper() for value in values]
        return sizes if all(size.is_finite() for size in sizes) else None


@lru_cache(maxsize=2)
def _gauss_points() -> list[tuple[Any, Any]]:
    """Nodes and weights of the Gauss-Legendre rule as balls, to far more digits than any use here."""
    import flint

    with flint.ctx.workprec(1024):
        pairs = [flint.arb.legendre_p_root(POINTS, k, weight=True) for k in range(POINTS)]
    return [(node, weight) for node, weight in pairs]
