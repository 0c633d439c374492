"""From multipliers to a bound: what has to be integrated, as exact fractions.

D and |c|^2 - a b are cosine polynomials with rational coefficients, so polynomials in s = sin^2(omega / 2) on [0, 1].
`dpbounds.enclosures` integrates them and proves D > 0 on the whole circle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpbounds.ftrl.strongly_convex.programs import Program
from dpbounds.polynomials import Fraction, exact, in_sine


def program_fraction(program: Program, multipliers: Sequence[float]) -> Fraction:
    """psi / eta^2 at the multipliers (margin, forward, backward), taken as exact numbers."""
    from flint import fmpq

    max_lag = (len(multipliers) - 1) // 2
    mu, L, eta, a, b = (exact(x) for x in (program.mu, program.L, program.eta, program.a, program.b))
    weights = [exact(x) for x in multipliers]
    laurent = {0: sum(weights, fmpq(0)) + a}
    for t in range(1, max_lag + 1):
        laurent[t], laurent[-t] = program.sign * weights[t], program.sign * weights[max_lag + t]
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
    return Fraction(numerator=in_sine(square), denominator=in_sine(denominator))


def quadratic_fraction(eta: float, curvature: float) -> Fraction:
    """1 / |1 - eta h - e^{i omega}|^2."""
    from flint import fmpq_poly

    x = exact(eta) * exact(curvature)
    return Fraction(numerator=fmpq_poly([1]), denominator=fmpq_poly([x**2, 4 * (1 - x)]))


def _convolution(first: dict[int, Any], second: dict[int, Any]) -> dict[int, Any]:
    """Product of two Laurent polynomials."""
    result: dict[int, Any] = {}
    for (i, x), (j, y) in ((p, q) for p in first.items() for q in second.items()):
        result[i + j] = result.get(i + j, 0) + x * y
    return result


def _correlation(first: dict[int, Any], second: dict[int, Any]) -> dict[int, Any]:
    """Product of one with the conjugate of the other on the circle."""
    return _convolution(first, {-lag: value for lag, value in second.items()})
