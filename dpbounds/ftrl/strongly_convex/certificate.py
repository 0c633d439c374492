"""From multipliers to a bound: enclosures of what has to be integrated, which prove D > 0 on the whole circle.

In float64 with proved rounding errors where that is enough (`floats`). Else as exact fractions: D and |c|^2 - a b are
cosine polynomials with rational coefficients, so polynomials in s = sin^2(omega / 2) on [0, 1], and
`dpbounds.circle.balls` integrates them in balls.

>>> fraction = quadratic_fraction(0.5, 1.0)
>>> fraction.numerator, fraction.denominator
(1, 2*x + 1/4)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpbounds import arithmetic
from dpbounds.arithmetic import Arithmetic
from dpbounds.circle.balls import integrate
from dpbounds.circle.polynomials import Fraction, exact, in_sine
from dpbounds.errors import AccuracyError
from dpbounds.ftrl.strongly_convex import floats
from dpbounds.ftrl.strongly_convex.noise import NoiseSpectrum
from dpbounds.ftrl.strongly_convex.programs import Program

# Relative difference between gamma_inf^2 as a correlation states it and the mean of 1 / |B|^2 that is proved.
AGREEMENT = 1e-6


def enclosed(program: Program, noise: NoiseSpectrum, multipliers: np.ndarray, curvature: float) -> tuple[Any, Any, Any]:
    """Enclosures (arb) of the means over the circle of S, of S / |1 - eta h - e^{i omega}|^2 at the curvature h, and of
    S psi / eta^2, the last with S as printed for `paper`.

    Raises `AccuracyError` where D is not shown to be positive, or the noise states another gamma_inf than it has.
    """
    found = floats.integrals(noise, program, curvature, multipliers)
    if found is None:
        found = _integrals(
            noise, [quadratic_fraction(program.eta, curvature), program_fraction(program, multipliers.tolist())]
        )
    parts, squared_sensitivity = found
    with arithmetic.balls():
        check_sensitivity(noise.stated_sensitivity, squared_sensitivity)
        total, quadratic = (_dot(noise.weights(squared_sensitivity), part) for part in parts[:2])
        integral = _dot(noise.weights(squared_sensitivity, as_printed=program.name == "paper"), parts[2])
        if not integral > 0:  # psi has one sign where D has no zero, and it must be D's
            raise AccuracyError(f"certificate: the denominator of program {program.name} is negative")
    return total, quadratic, integral


def _integrals(noise: NoiseSpectrum, fractions: Sequence[Fraction]) -> tuple[list[list[Any]], Any]:
    """Enclosures of the means over the circle of S_k f for the spectra S_k of the noise, f = 1 and then each fraction;
    and of gamma_inf^2, if the noise asks for it.
    """

    def values(m: Arithmetic, s: Any) -> list[Any]:
        factors = [1, *(fraction.at(s) for fraction in fractions)]
        spectra = noise.spectra(m, s)
        return [*(spectrum * factor for factor in factors for spectrum in spectra), *noise.inverse(spectra)]

    means = integrate(values, max(noise.degree, *(fraction.degree for fraction in fractions)))
    terms = len(means) // (len(fractions) + 1)
    return [means[k * terms : (k + 1) * terms] for k in range(len(fractions) + 1)], means[-1]


def check_sensitivity(stated: float | None, squared: Any) -> None:
    """The mean of 1 / |B|^2 is gamma_inf^2 for an outer B only: a correlation that states another is refused."""
    if stated is not None and not abs(float(squared) - stated**2) <= AGREEMENT * stated**2:
        raise AccuracyError(
            f"certificate: the mean of 1 / |B|^2 is {float(squared):.9g}, the squared limiting sensitivity that the "
            f"correlation states {stated**2:.9g}: one is wrong, or B has a zero inside the unit disc"
        )


def _dot(weights: Sequence[Any], terms: Sequence[Any]) -> Any:
    return sum(weight * term for weight, term in zip(weights, terms, strict=True))


def program_fraction(program: Program, multipliers: Sequence[float]) -> Fraction:
    """psi / eta^2 at the multipliers (margin, forward, backward), taken as exact numbers."""
    from flint import fmpq

    mu, L, eta, a, b = (exact(x) for x in (program.mu, program.L, program.eta, program.a, program.b))
    laurent = _lags(program, multipliers)
    laurent[0] += a
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


def inner_laurent(program: Program, multipliers: Sequence[float]) -> dict[int, Any]:
    """X w of `causal` as a Laurent polynomial in w: Lambda ((1 - eta mu) w - 1) + (conj(Lambda) + a - b) ((1 - eta L) w
    - 1).
    """
    forward = _lags(program, multipliers)
    backward = {-lag: value for lag, value in forward.items()}
    backward[0] += exact(program.a) - exact(program.b)
    mu, L, eta = (exact(x) for x in (program.mu, program.L, program.eta))
    first, second = (_convolution(part, {1: 1 - eta * h, 0: exact(-1.0)}) for part, h in ((forward, mu), (backward, L)))
    return {lag: first.get(lag, 0) + second.get(lag, 0) for lag in first.keys() | second.keys()}


def _lags(program: Program, multipliers: Sequence[float]) -> dict[int, Any]:
    """Lambda as a Laurent polynomial in w."""
    from flint import fmpq

    max_lag = (len(multipliers) - 1) // 2
    weights = [exact(x) for x in multipliers]
    laurent = {0: sum(weights, fmpq(0))}
    for t in range(1, max_lag + 1):
        laurent[t], laurent[-t] = program.sign * weights[t], program.sign * weights[max_lag + t]
    return laurent


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
