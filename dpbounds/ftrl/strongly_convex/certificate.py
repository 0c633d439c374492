"""From multipliers to a bound: D > 0 on the whole circle and an enclosure of the integral, by ball arithmetic.

D and |c|^2 - a b are cosine polynomials with rational coefficients, so polynomials in s = sin^2(omega / 2) on [0, 1].
With s = 1 / (1 + e^{-2y}) the integral is taken over y in cells; on each, Gauss-Legendre with the error bound of
Bernstein's ellipse, (64 / 15) r M rho^{-2n} / (1 - rho^{-2}), M a bound of the integrand on a disc around the cell. The
same disc bound proves D > 0 on the cell, and a cell where it fails is halved. The two ends, y beyond the cells, are
bounded by length times supremum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from dpbounds import arithmetic
from dpbounds.arithmetic import Arithmetic
from dpbounds.errors import AccuracyError
from dpbounds.ftrl.strongly_convex.programs import Program

Density = Callable[[Arithmetic, Any], Any]

# Half-width of the first cells, Gauss points in a cell, and rho of its ellipse: the disc has radius 2.6 half-widths.
HALF_WIDTH, POINTS, RHO = 0.1, 14, 5.0
# Relative width of the enclosure that is aimed at, and the narrowest cell.
TOLERANCE, NARROWEST = 1e-9, 1e-5
# The cells end at y = END: beyond, the frequencies next to pi have length 2 e^{-END}.
END = 22.0
PRECISION = 128
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


def program_fraction(program: Program, multipliers: Sequence[float]) -> Fraction:
    """psi / eta^2 at the multipliers (margin, forward, backward), taken as exact numbers."""
    from flint import fmpq

    max_lag = (len(multipliers) - 1) // 2
    mu, L, eta, a, b = (_exact(x) for x in (program.mu, program.L, program.eta, program.a, program.b))
    exact = [_exact(x) for x in multipliers]
    laurent = {0: sum(exact, fmpq(0)) + a}
    for t in range(1, max_lag + 1):
        laurent[t], laurent[-t] = program.sign * exact[t], program.sign * exact[max_lag + t]
    square = _correlation(laurent, laurent)
    square[0] -= a * b
    # conj(u) v = |z|^2 - eta L conj(z) - eta mu z + eta^2 mu L with z = 1 - w, |z|^2 = 2 - w - 1/w
    product = {
        0: 2 - eta * (L + mu) + eta**2 * mu * L,
        1: eta * mu - 1,
        -1: eta * L - 1,
    }
    denominator = {lag: 2 * value for lag, value in _convolution(laurent, product).items()}
    for weight, x in ((a, eta * mu), (b, eta * L)):  # |z - x|^2 = 2 - 2x + x^2 - (1 - x)(w + 1/w)
        for lag, value in ((0, 2 - 2 * x + x**2), (1, x - 1), (-1, x - 1)):
            denominator[lag] = denominator.get(lag, fmpq(0)) - weight * value
    return Fraction(numerator=_in_sine(square), denominator=_in_sine(denominator))


def quadratic_fraction(eta: float, curvature: float) -> Fraction:
    """1 / |1 - eta h - e^{i omega}|^2."""
    from flint import fmpq_poly

    x = _exact(eta) * _exact(curvature)
    return Fraction(numerator=fmpq_poly([1]), denominator=fmpq_poly([x**2, 4 * (1 - x)]))


def one() -> Fraction:
    """1 / 1."""
    from flint import fmpq_poly

    return Fraction(numerator=fmpq_poly([1]), denominator=fmpq_poly([1]))


def _value_on(polynomial: Any, s: Any) -> Any:
    import flint

    middle = s.mid()
    radius = abs(s - middle).upper()
    if radius < flint.arb(2) ** (THIN - flint.ctx.prec):
        return polynomial(s)
    if isinstance(s, flint.acb):
        series = flint.acb_poly(polynomial)(flint.acb_poly([middle, 1]))
    else:
        series = polynomial(flint.arb_poly([middle, 1]))
    first, *rest = series.coeffs() or [0]
    spread = flint.arb(0, _tail(rest, radius).upper())
    return first + (flint.acb(spread, spread) if isinstance(s, flint.acb) else spread)


def integrate(fractions: Sequence[Fraction], density: Density, smallest: float) -> list[Any]:
    """Enclosures (arb) of (1 / 2 pi) int density * fraction over the circle; proves each denominator positive on all of
    it.

    `density(m, s)` is at least 0, analytic for s off (-inf, 0) and (1, inf), and accepts balls, real and complex;
    `smallest` is the frequency below which nothing changes any more. Raises `AccuracyError` if a denominator has a
    zero, or if the density is not finite somewhere.
    """
    degree = max(polynomial.degree() for f in fractions for polynomial in (f.numerator, f.denominator))
    reach = END + math.log(1.0 / min(smallest, 0.5))
    with arithmetic.balls(PRECISION + 3 * degree) as m:
        integrand = _Integrand(fractions, density, m)
        ends = integrand.end(-reach, left=True), integrand.end(END, left=False)
        totals = [first + second for first, second in zip(*ends, strict=True)]
        allowed = [size * TOLERANCE / (reach + END) for size in integrand.rough(-reach)]
        cells = math.ceil((reach + END) / (2.0 * HALF_WIDTH))
        edges = np.linspace(-reach, END, cells + 1).tolist()
        pending = list(pairwise(edges))[::-1]
        while pending:
            low, high = pending.pop()
            parts = integrand.cell(low, high, [error * (high - low) for error in allowed])
            if parts is not None:
                totals = [total + part for total, part in zip(totals, parts, strict=True)]
            elif high - low < NARROWEST:
                frequency = 2.0 * math.atan(math.exp(low))
                raise AccuracyError(
                    f"certificate: a denominator is not positive, or the spectrum is not finite, near frequency "
                    f"{frequency:.6g}; "
                    "the multipliers do not give a bound there"
                )
            else:
                middle = (low + high) / 2.0
                pending += [(middle, high), (low, middle)]
        return [total / m.pi for total in totals]


class _Integrand:
    """density(s) N(s) / D(s) / cosh y as a function of y, for every fraction, on balls and discs."""

    def __init__(self, fractions: Sequence[Fraction], density: Density, m: Arithmetic) -> None:
        self.m, self.density = m, density
        self.polynomials = [fraction.in_balls() for fraction in fractions]

    def at(self, s: Any, root: Any) -> list[Any]:
        """At a real ball s, `root` = 2 sqrt(s (1 - s)) = 1 / cosh y."""
        common = self.density(self.m, s) * root
        return [common * numerator(s) / denominator(s) for numerator, denominator in self.polynomials]

    def rough(self, first: float) -> list[float]:
        """The integrals to a few digits, for the size of the tolerated errors."""
        totals = [0.0 for _ in self.polynomials]
        for y in np.arange(first, END, 0.5):
            values = self.at(*self._point(float(y)))
            totals = [total + 0.5 * abs(float(value)) for total, value in zip(totals, values, strict=True)]
        return totals

    def end(self, y: float, *, left: bool) -> list[Any]:
        """Enclosures of what lies beyond y: frequencies of length at most 2 e^{-|y|} next to 0 or to pi."""
        s, _ = self._point(y)
        corner = self.m.number(0 if left else 1)
        sizes = self._sizes(corner, s if left else 1 - s)
        if sizes is None:
            raise AccuracyError(f"certificate: a denominator is not positive near frequency {'0' if left else 'pi'}")
        length = self.density(self.m, corner.union(s)) * 2 * self.m.exp(self.m.number(-abs(y)))
        return [(size * length).union(self.m.number(0)) for size in sizes]

    def cell(self, low: float, high: float, allowed: Sequence[float]) -> list[Any] | None:
        """Enclosures over [low, high], or None where a disc meets a zero of a D, or is too wide for `allowed`."""
        import flint

        middle, half = (low + high) / 2.0, (high - low) / 2.0
        suprema = self._suprema(middle, half * (RHO + 1 / RHO) / 2.0)
        if suprema is None:
            return None
        # f = sum_k a_k T_k with |a_k| <= 2 M rho^{-k}; the rule is exact below degree 2 n, and misses T_k by at most 2
        # + 2 / (k^2 - 1).
        errors = [self.m.number(64) / 15 * half * M * RHO ** (-2 * POINTS) / (1 - RHO**-2) for M in suprema]
        if not all(error < most for error, most in zip(errors, allowed, strict=True)):
            return None
        totals = [flint.arb(0, error.upper()) for error in errors]
        for node, weight in _gauss_points():
            s, root = self._point(middle + half * node)
            totals = [t + half * weight * v for t, v in zip(totals, self.at(s, root), strict=True)]
        return totals if all(total.is_finite() for total in totals) else None

    def _point(self, y: Any) -> tuple[Any, Any]:
        """s and 1 / cosh y."""
        e = self.m.exp(-self.m.number(y))
        s = 1 / (1 + e * e)
        return s, 2 * e * s

    def _suprema(self, middle: float, radius: float) -> list[Any] | None:
        """Bounds of the |integrands| on the disc |y - middle| <= radius; None if a D or the density is not bounded on
        it.
        """
        import flint

        m = self.m
        s, root = self._point(middle)
        # |s(y + h) - s| <= s (1 - s) E / (1 - s E) with E = e^{2 radius} - 1, and the same from the other end.
        growth = m.expm1(m.number(2 * radius))
        reach = (s * (1 - s) * growth / m.maximum(1 - s * growth, 1 - (1 - s) * growth)).upper()
        sizes = self._sizes(s, reach)
        # |cosh(y + h)| >= cosh y (|cosh h| - |sinh h|) >= cosh y (2 - e^{|h|})
        shrink = 2 - m.exp(m.number(radius))
        if sizes is None or not shrink > 0:
            return None
        with arithmetic.complex_balls(flint.ctx.prec) as complex_m:
            spread = flint.arb(0, reach)
            density = abs(self.density(complex_m, flint.acb(s + spread, spread)))
        if not density.is_finite():
            return None
        return [(size * density * root / shrink).upper() for size in sizes]

    def _sizes(self, centre: Any, reach: Any) -> list[Any] | None:
        """Bounds of |N / D| on the disc |s - centre| <= reach, by Taylor series there; None if a D may vanish on it."""
        import flint

        shift = flint.arb_poly([centre, 1])
        sizes = []
        for numerator, denominator in self.polynomials:
            below, above = denominator(shift).coeffs(), numerator(shift).coeffs()
            least = below[0] - _tail(below[1:], reach)
            if not least > 0:
                return None
            sizes.append((self.m.absolute(above[0]) + _tail(above[1:], reach)) / least)
        return sizes


def _tail(coefficients: Sequence[Any], reach: Any) -> Any:
    """sum_k |a_k| reach^k over k >= 1."""
    import flint

    return reach * flint.arb_poly([abs(value) for value in coefficients])(reach) if coefficients else flint.arb(0)


@lru_cache(maxsize=2)
def _gauss_points() -> list[tuple[Any, Any]]:
    """Nodes and weights of the Gauss-Legendre rule as balls, to far more digits than any use here."""
    import flint

    with flint.ctx.workprec(1024):
        pairs = [flint.arb.legendre_p_root(POINTS, k, weight=True) for k in range(POINTS)]
    return [(node, weight) for node, weight in pairs]


def _exact(value: float) -> Any:
    from flint import fmpq

    return fmpq(*float(value).as_integer_ratio())


def _convolution(first: dict[int, Any], second: dict[int, Any]) -> dict[int, Any]:
    """Product of two Laurent polynomials."""
    result: dict[int, Any] = {}
    for (i, x), (j, y) in ((p, q) for p in first.items() for q in second.items()):
        result[i + j] = result.get(i + j, 0) + x * y
    return result


def _correlation(first: dict[int, Any], second: dict[int, Any]) -> dict[int, Any]:
    """Product of one with the conjugate of the other on the circle."""
    return _convolution(first, {-lag: value for lag, value in second.items()})


def _in_sine(laurent: dict[int, Any]) -> Any:
    """Real part on the circle, sum_k r_k cos(k omega), as a polynomial in s: cos(k omega) = T_k(1 - 2 s)."""
    from flint import fmpq, fmpq_poly

    degree = max(map(abs, laurent))
    total = fmpq_poly([0])
    for k, chebyshev in zip(range(degree + 1), _chebyshev(), strict=False):
        coefficient = laurent.get(k, fmpq(0)) + (laurent.get(-k, fmpq(0)) if k else fmpq(0))
        total += coefficient * chebyshev
    return total


def _chebyshev() -> Iterator[Any]:
    from flint import fmpq_poly

    before, now = fmpq_poly([1]), fmpq_poly([1, -2])
    while True:
        yield before
        before, now = now, 2 * fmpq_poly([1, -2]) * now - before
