"""Ratios of polynomials in s = sin^2(omega / 2) with rational coefficients, evaluated on balls.

>>> in_sine({0: exact(1.0), 1: exact(0.5)})  # 1 + cos(omega) / 2
(-1)*x + 3/2
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

# Bits of the precision that a ball may lack and still be a point, at which a polynomial is evaluated as it stands.
THIN = 40


@dataclass(frozen=True, kw_only=True)
class Fraction:
    """numerator / denominator, both polynomials in s with rational coefficients (flint fmpq_poly), the second
    positive.
    """

    numerator: Any
    denominator: Any

    @cached_property
    def rounded(self) -> dict[int, tuple[Any, Any]]:
        """Both as polynomials over balls, by precision; filled by `in_balls`."""
        return {}

    @property
    def degree(self) -> int:
        """The larger of the two degrees."""
        return max(self.numerator.degree(), self.denominator.degree())

    def in_balls(self) -> tuple[Any, Any]:
        """Both at the current precision."""
        import flint

        precision = flint.ctx.prec
        if precision not in self.rounded:
            self.rounded[precision] = (flint.arb_poly(self.numerator), flint.arb_poly(self.denominator))
        return self.rounded[precision]

    def at(self, s: Any) -> Any:
        """The value at a real or complex ball, tight for wide balls too (Taylor series at the midpoint)."""
        numerator, denominator = (_value_on(polynomial, s) for polynomial in self.in_balls())
        return numerator / denominator


def exact(value: float) -> Any:
    """A float as the rational number (flint fmpq) that it is."""
    from flint import fmpq

    return fmpq(*float(value).as_integer_ratio())


def in_sine(laurent: Mapping[int, Any]) -> Any:
    """Real part on the circle of sum_k r_k e^{i k omega}, as a polynomial in s: cos(k omega) = T_k(1 - 2 s)."""
    from flint import fmpq, fmpq_poly

    total = fmpq_poly([0])
    for k, chebyshev in zip(range(max(map(abs, laurent)) + 1), _chebyshev(), strict=False):
        coefficient = laurent.get(k, fmpq(0)) + (laurent.get(-k, fmpq(0)) if k else fmpq(0))
        total += coefficient * chebyshev
    return total


def over_sine(laurent: Mapping[int, Any]) -> Any:
    """Imaginary part of the same over sin(omega): sin(k omega) / sin(omega) = U_{k-1}(1 - 2 s)."""
    from flint import fmpq, fmpq_poly

    total, before, now = fmpq_poly([0]), fmpq_poly([0]), fmpq_poly([1])
    for k in range(1, max(map(abs, laurent)) + 1):
        total += (laurent.get(k, fmpq(0)) - laurent.get(-k, fmpq(0))) * now
        before, now = now, 2 * fmpq_poly([1, -2]) * now - before
    return total


def _chebyshev() -> Iterator[Any]:
    from flint import fmpq_poly

    before, now = fmpq_poly([1]), fmpq_poly([1, -2])
    while True:
        yield before
        before, now = now, 2 * fmpq_poly([1, -2]) * now - before


def _value_on(polynomial: Any, s: Any) -> Any:
    import flint

    middle = s.mid()
    radius = abs(s - middle).upper()
    if radius < flint.arb(2) ** (THIN - flint.ctx.prec):
        return polynomial(s)
    if isinstance(s, flint.acb) and middle.imag == 0:
        middle = middle.real  # a disc around a real number: its series has real coefficients
    kind: Any = flint.acb_poly if isinstance(middle, flint.acb) else flint.arb_poly
    first, *rest = kind(polynomial)(kind([middle, 1])).coeffs() or [0]
    spread = flint.arb(0, _tail(rest, radius).upper())
    return first + (flint.acb(spread, spread) if isinstance(s, flint.acb) else spread)


def _tail(coefficients: Sequence[Any], reach: Any) -> Any:
    """sum_k |a_k| reach^k over k >= 1."""
    import flint

    return reach * flint.arb_poly([abs(value) for value in coefficients])(reach) if coefficients else flint.arb(0)
