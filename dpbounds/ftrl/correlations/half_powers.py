"""Correlations whose squared generating function is rational: outer factors in closed form.

>>> HalfPowers((0.5,), (0.25,)).coefficients(3).round(6).tolist()  # (1 - z / 2)^{1/2} (1 - z / 4)^{-1/2}
[1.0, -0.125, -0.039062]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Complex, Float

from dpbounds.arguments import typed
from dpbounds.arithmetic import FLOATS, Arithmetic
from dpbounds.circle.arcs import Points
from dpbounds.circle.balls import integrate
from dpbounds.circle.discs import SLACK, UNIT, Discs
from dpbounds.circle.floats import means
from dpbounds.circle.polynomials import Fraction, exact
from dpbounds.circle.quadrature import even_integral
from dpbounds.errors import LARGEST, DomainError, count, listed
from dpbounds.ftrl.correlations.base import ToeplitzCorrelation, by_parts, decay_rates, filtered_by_quadrature, limit_of
from dpbounds.ftrl.correlations.power_series import power_series
from dpbounds.values import Value

# Steps whose weights one Fourier transform gives, in 2 GB.
LONGEST = 2_000_000
# Of |B|^2 on discs: factors in a product of mantissas; beyond `FAR` and below 1 / FAR its rounding is not bounded.
MOST_FACTORS, FAR = 1000, 1e290


@typed
@dataclass(frozen=True)
class HalfPowers(ToeplitzCorrelation):
    """B(z) = prod_i (1 - zeros_i z)^{1/2} / prod_i (1 - poles_i z)^{1/2}, all inside the unit disc.

    A number with positive imaginary part stands for itself and its conjugate. `nu` is the case of one zero, 1 - nu.
    """

    zeros: tuple[complex, ...]
    poles: tuple[complex, ...] = ()
    label: str = "half powers"

    def __post_init__(self) -> None:
        for name in ("zeros", "poles"):
            numbers = listed(name, getattr(self, name))
            for number in numbers:
                if not (
                    isinstance(number, int | float | complex | np.number)
                    and _inside_the_disc(complex(number))
                    and complex(number).imag >= 0
                ):
                    raise DomainError(name, number, "inside the unit disc, with an imaginary part of at least 0")
            object.__setattr__(self, name, tuple(complex(number) for number in numbers))

    @property
    def degree(self) -> int:
        """Number of zeros or of poles, whichever is larger."""
        return self._fraction.degree

    @cached_property
    def _fraction(self) -> Fraction:
        return Fraction(numerator=_polynomial(self.zeros), denominator=_polynomial(self.poles))

    @property
    def name(self) -> str:
        """What tables and plots call it."""
        return self.label

    def coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """The power series of B, absolute accuracy 1e-11 of the largest."""
        return _series(self.zeros, self.poles, count("T", T, most=LONGEST))

    def inverse_coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """The power series of 1 / B, as accurate."""
        return _series(self.poles, self.zeros, count("T", T, most=LONGEST))

    @typed
    def spectral_density(self, m: Arithmetic, s: Any) -> Any:
        """The root of a ratio of two polynomials in s, both positive on [0, 1]."""
        if m is FLOATS:
            return np.sqrt(_squared(self.zeros, s) / _squared(self.poles, s))
        return m.sqrt(self._fraction.at(m.number(s)))

    def power_on(self, points: Points) -> tuple[Discs, Discs]:
        """|B|^2 and its inverse on discs around frequencies, from the roots, which are exact.

        With each factor g within rho of its middle, relatively, log |B|^2 moves by at most w = sum rho / (1 - rho) / 2,
        and |e^z - 1| <= e^|z| - 1 for both; e^w <= prod (1 - rho)^{-1/2}. Products are taken of mantissas, as those of
        the factors leave the floats; a |B|^2 that does is not known.
        """
        zeros, zeros_move = _on_discs(self.zeros, points)
        poles, poles_move = _on_discs(self.poles, points)
        rho = np.concatenate([zeros_move, poles_move])
        rho = np.where(rho < 1.0, rho, np.nan)  # one that may vanish proves nothing
        kept, units = (1.0 - rho) / SLACK, (len(rho) + 8) * UNIT
        w = ((rho / kept).sum(axis=0) / 2.0 + units) * (1.0 + units)  # products of the middles are rounded too
        far = np.sqrt(np.prod(1.0 / kept, axis=0)) * (1.0 + 4.0 * len(rho) * UNIT) * SLACK - 1.0
        reach = np.where(w < 0.01, w * (1.0 + w) * SLACK, far + w * 1e-9)
        power = _root_of_quotient(zeros, poles)
        power = np.where((power > 1.0 / FAR) & (power < FAR), power, np.nan)
        inverse = 1.0 / power
        return Discs(power, reach * power * SLACK), Discs(inverse, (reach + 4.0 * UNIT) * inverse * SLACK)

    def limiting_sensitivity(self) -> Value:
        """gamma_inf^2 = (1 / 2 pi) int |B|^{-2}, ftrl eq. (5): holds because B is outer.

        By quadrature, and enclosed in balls.
        """
        return self._limit

    @cached_property
    def _limit(self) -> Value:
        found = means(lambda points: [self.power_on(points)[1]], 0, self.degree)
        (squared,) = found or integrate(lambda m, s: [1 / self.spectral_density(m, s)], self.degree)
        quadrature = even_integral(lambda omega: 1.0 / self.power_spectrum(omega)) / (2.0 * np.pi)
        return limit_of(squared.sqrt(), "ftrl eq. (5)", float(np.sqrt(quadrature)))

    def filtered_power(self, decay: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
        """c(x) = x (2 - x) / (2 pi) int |B|^2 / |1 - x - e^{i omega}|^2: ftrl Lemma C.4."""
        return by_parts(lambda x: filtered_by_quadrature(self, x), decay_rates(decay))


def _inside_the_disc(number: complex) -> bool:
    """|number| < 1 without rounding."""
    if not abs(number) < 2:
        return False
    real, imaginary = exact(number.real), exact(number.imag)
    return real * real + imaginary * imaginary < 1


@typed
def half_powers_from_roots(
    zeros: Complex[np.ndarray, " n"], poles: Complex[np.ndarray, " k"], *, name: str = "half powers"
) -> HalfPowers:
    """The outer B with |B|^2 proportional to sqrt(prod_i (s - zeros_i) / prod_i (s - poles_i)), s = sin^2(omega / 2).

    Both closed under conjugation and off [0, 1]: s - root is |1 - q e^{i omega}|^2 up to a constant for the q inside
    the disc with q + 1 / q = 2 - 4 root. Raises `DomainError` for a root on [0, 1].
    """
    return HalfPowers(_inside("zeros", zeros), _inside("poles", poles), name)


def _inside(name: str, roots: np.ndarray) -> tuple[complex, ...]:
    roots = np.atleast_1d(roots)
    if roots.dtype.kind not in "iufc" or not (np.abs(roots) <= LARGEST).all():
        raise DomainError(name, roots, f"complex numbers of a size of at most {LARGEST:g}")
    upper = roots[np.imag(roots) <= 0].astype(complex)  # q has the other sign
    # both roots change sign at once below 0, so that off [0, 1] this is the solution outside the disc everywhere
    outside = 1.0 - 2.0 * upper - 2.0 * np.sqrt(upper) * np.sqrt(upper - 1.0)
    inside = 1.0 / outside
    between = (np.real(upper) >= 0.0) & (np.real(upper) <= 1.0)
    refused = (np.abs(inside) >= 1.0) | ((np.imag(upper) == 0) & between)
    if refused.any():
        raise DomainError(name, complex(upper[refused][0]), "off the interval [0, 1]")
    return tuple(complex(q.real, abs(q.imag)) for q in inside)


def _squared(numbers: tuple[complex, ...], s: Any) -> Any:
    """prod |1 - q e^{i omega}|^2; with its conjugate q gives |4 q s + (1 - q)^2|^2."""
    product = np.ones_like(s, dtype=float)
    for q in numbers:
        factor = np.abs(4.0 * q * s + (1.0 - q) ** 2)
        product = product * (factor**2 if q.imag else factor)
    return product


def _on_discs(numbers: tuple[complex, ...], points: Points) -> tuple[np.ndarray, np.ndarray]:
    """|1 - q e^{i omega}|^2 at the middles, squared for a q with a conjugate (rows: numbers), and a bound rho of the
    relative distance to all of the disc, rounding included.

    f = 4 q s + (1 - q)^2 has the real part 4 a s + (1 - a)^2 - b^2 and the imaginary part 2 b (2 s - (1 - a)), each
    with an error of at most 12 units of the sum of the sizes of its terms and 4 |q| times that of s. |f| moves by at
    most 4 |q| times the radius in s, and the factor is |f|, or |f|^2 for a pair. As a float, 1 - a is at least 2^-53,
    so that no bound is below the normal range.
    """
    q = np.array(numbers, dtype=complex)[:, None]
    a, b = np.real(q), np.imag(q)
    s, spread = points.s.centre, points.disc.radius
    rest = 1.0 - a
    real = 4.0 * a * s + (rest - b) * (rest + b)
    imaginary = 2.0 * b * (2.0 * s - rest)
    # (1 - a)^2 and b^2 bound the terms of the product, since (1 - a - b)(1 - a + b) is their difference
    sizes = 4.0 * np.abs(q) * s + 2.0 * (rest * rest + b * b) + 2.0 * np.abs(b * rest)
    modulus = np.sqrt(real * real + imaginary * imaginary)
    moved = (12.0 * UNIT * sizes + 4.0 * np.abs(q) * spread + 8.0 * UNIT * modulus) * SLACK
    share = moved / modulus
    pair = b != 0.0
    values = np.where(pair, real * real + imaginary * imaginary, np.abs(real))
    return values, np.where(pair, share * (2.0 + share), share) * SLACK + 8.0 * UNIT


def _root_of_quotient(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """sqrt(prod above / prod below) over the rows, positive floats: to a unit for each of them and four more where that
    is a normal float. Not a number for more than `MOST_FACTORS`: their mantissas, at least 1/2, might go below 2^-1022.
    """
    if max(len(above), len(below)) > MOST_FACTORS:
        return np.full(above.shape[1:], np.nan)
    (top, up), (bottom, down) = np.frexp(above), np.frexp(below)
    exponent = up.sum(axis=0) - down.sum(axis=0)
    odd = exponent % 2
    quotient = np.prod(top, axis=0) / np.prod(bottom, axis=0)
    return np.ldexp(np.sqrt(np.ldexp(quotient, odd)), exponent // 2)


def _polynomial(numbers: tuple[complex, ...]) -> Any:
    """The same as a polynomial in s, exactly."""
    from flint import fmpq_poly

    product = fmpq_poly([1])
    for number in numbers:
        a, b = exact(number.real), exact(number.imag)
        real, imaginary = fmpq_poly([(1 - a) ** 2 - b**2, 4 * a]), b * fmpq_poly([2 * a - 2, 4])
        product *= real**2 + imaginary**2 if number.imag else real
    return product


def _series(zeros: tuple[complex, ...], poles: tuple[complex, ...], T: int) -> np.ndarray:
    def values(exponent: np.ndarray) -> np.ndarray:
        z = np.exp(exponent)
        return _half_power(zeros, z) / _half_power(poles, z)

    largest = max((abs(root) for root in (*zeros, *poles)), default=0.0)
    return power_series(values, T, slowest=1.0 - largest)


def _half_power(numbers: tuple[complex, ...], z: np.ndarray) -> np.ndarray:
    """prod (1 - q z)^{1/2}: every factor lies in the right half-plane, so principal roots multiply to the analytic
    one.
    """
    product = np.ones_like(z)
    for number in numbers:
        product *= np.sqrt(1.0 - number * z)
        if number.imag > 0:
            product *= np.sqrt(1.0 - number.conjugate() * z)
    return product
