"""The certificate in float64: the same enclosures as by balls, with proved rounding errors, some thirty times as fast.

psi / eta^2 = N / D with N = R (R + 2 a) + a (a - b) + I^2 and D = 2 (P R - Q I) + c, all entire functions of omega: R
and I are the real and imaginary part of Lambda on the circle, P = 4 s (1 - (x + y) / 2) + x y and Q = -eta (L - mu)
sin(omega) those of conj(u) v for x = eta mu, y = eta L, and c = 4 s slope + level (`programs`). At a frequency they are
computed by these formulas, which keep their digits near 0 and pi. In a disc around it of radius r, |f - f(omega)| <=
sum_k |f^(k)(omega)| r^k / k!: for D up to the k of `ORDERS` from its cosine coefficients, everything beyond, and R and
I, term by term.

Where this does not prove what balls would, for want of digits or of cells, it says so, and balls decide.

>>> from dpbounds.ftrl.correlations import nu
>>> from dpbounds.ftrl.strongly_convex.noise import Noise
>>> program = Program(name="f", mu=0.2, L=1.0, eta=0.5)
>>> means, gamma = integrals(Noise(correlation=nu(0.5), rho=0.5), program, 1.0, np.array([1.0]))
>>> len(means[0]), float(gamma.rad()) < 1e-9 * float(gamma.mid())
(1, True)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpbounds.circle.arcs import SECOND_ORDER, Points
from dpbounds.circle.discs import UNIT, Discs, discs
from dpbounds.circle.floats import means
from dpbounds.ftrl.correlations import DampedAntiPGD, FiniteImpulse, HalfPowers, NuCorrelation, ToeplitzCorrelation
from dpbounds.ftrl.strongly_convex.noise import Noise
from dpbounds.ftrl.strongly_convex.programs import Program

# Derivatives of D that are computed; largest radius of a disc times lag, and cosh of it.
ORDERS, REACH = 14, 1.5
GROWTH = 2.36
# In place of v_1 where only absolute errors are known.
FAR = 1e6
# Lags for which powers are computed and kept.
MOST_LAGS = 102
LAGS = (4, 8, 12, 16, 22, 32, 42, 52, 72, MOST_LAGS)


@dataclass(frozen=True, eq=False)
class _Harmonics:
    """f(omega) = sum_t a_t cos(t omega), t from 0, with errors of the a_t: how far it moves within discs."""

    coefficients: np.ndarray
    errors: np.ndarray

    def variation(self, points: Points) -> np.ndarray:
        """Bound of |f(z) - f(omega)| for |z - omega| <= r, inf where r times the largest t is above `REACH`."""
        last, r, powers = len(self.coefficients) - 1, points.radius, points.powers
        t, k = np.arange(last) + 1, np.arange(ORDERS) + 1
        # t^k / k! as products, each factor and the coefficient rounded: less than 3 ORDERS units
        scales = np.cumprod(t[:, None] / k, axis=1)
        a, sizes = self.coefficients[1:], np.abs(self.coefficients[1:]) + self.errors[1:]
        first = powers.sines[:, 0]
        # cos(t omega) = 1 - v_t: even derivatives are +- sum a_t t^k cos(t omega), odd ones +- sum a_t t^k sin(t omega)
        even, odd = scales[:, 1::2], scales[:, ::2]
        rounding = (last + 3 * ORDERS + 8) * UNIT * sizes + self.errors[1:]
        slips = (rounding + sizes * powers.error[:last])[:, None]
        near = (rounding * t + sizes * powers.sine_error[:last])[:, None]
        size_even = np.abs((1.0 - powers.versines[:, :last]) @ (a[:, None] * even)) + (slips * even).sum(axis=0)
        size_odd = np.abs(powers.sines[:, :last] @ (a[:, None] * odd))
        size_odd += np.minimum((slips * odd).sum(axis=0), first[:, None] * (near * odd).sum(axis=0))
        total, square, power = np.zeros_like(r), r * r, r.copy()
        for j in range(ORDERS // 2):
            total += power * (size_odd[:, j] + r * size_even[:, j])
            power *= square
        beyond = float(np.sum(sizes * np.cumprod(t[:, None] / (np.arange(ORDERS + 1) + 1), axis=1)[:, -1]))
        total += 2.0 * GROWTH * power * beyond
        total = np.where(r * last <= REACH, total * (1.0 + 64 * UNIT) * SECOND_ORDER, np.inf)
        return np.where(r == 0, 0.0, total)


def _term_by_term(points: Points, sizes: np.ndarray) -> np.ndarray:
    """Bound of how far sum_t a_t sin(t omega) or sum_t a_t cos(t omega) move within the discs, for |a_t| = `sizes`.

    |trig(t z) - trig(t omega)| <= sinh(t r) |trig'(t omega)| + (cosh(t r) - 1) |trig(t omega)| <= C t r (1 + t r / 2)
    for t r <= `REACH`, C = cosh(REACH).
    """
    t, r = np.arange(1, len(sizes) + 1), points.radius
    first, second = float(sizes @ t), float(sizes @ t**2)
    return np.where(r * len(sizes) <= REACH, GROWTH * r * (first + r * second / 2.0) * SECOND_ORDER, np.inf)


@dataclass(frozen=True, eq=False)
class Ratio:
    """N / D of a program at given multipliers, on points."""

    program: Program
    multipliers: np.ndarray

    @property
    def lags(self) -> int:
        """T."""
        return (len(self.multipliers) - 1) // 2

    @cached_property
    def sums(self) -> np.ndarray:
        """lambda_t + lambda_{-t}."""
        return self.multipliers[1 : self.lags + 1] + self.multipliers[self.lags + 1 :]

    @cached_property
    def differences(self) -> np.ndarray:
        """lambda_t - lambda_{-t}."""
        return self.multipliers[1 : self.lags + 1] - self.multipliers[self.lags + 1 :]

    @cached_property
    def constants(self) -> dict[str, Discs]:
        """x, y, 1 - (x + y) / 2, slope, level, ..., from the exact mu, L and eta."""
        mu, L, eta = (Discs(value) for value in (self.program.mu, self.program.L, self.program.eta))
        a = L * 0.5
        b = mu * 0.5 if self.program.of_f else a
        x, y, gap = eta * mu, eta * L, L - mu
        return {
            "a": a,
            "a - b": gap * 0.5 if self.program.of_f else Discs(0.0),
            "x y": x * y,
            "bend": 1.0 - (x + y) * 0.5,
            "(2-x)(2-y)": (2.0 - x) * (2.0 - y),
            "turn": eta * gap,
            "slope": (a - b) * (1.0 - y) if self.program.of_f else Discs(0.0),
            "level": eta**2 * L * gap * (mu if self.program.of_f else -gap) * 0.5,
        }

    @cached_property
    def harmonics(self) -> _Harmonics:
        """D as a cosine polynomial; each coefficient is a sum of a few products, with errors of 40 units of the sizes
        of all of them."""
        k, T, sign = self.constants, self.lags, self.program.sign
        bend, turn = 2.0 * float(k["bend"].centre), float(k["turn"].centre)
        level = bend + float(k["x y"].centre)  # P = level - bend cos(omega)
        real = np.concatenate([[self.multipliers[0] + self.sums.sum()], sign * self.sums, np.zeros(1)])
        sine = np.concatenate([[0.0], sign * self.differences, np.zeros(1)])

        def combined(real: np.ndarray, sine: np.ndarray, level: float, bend: float, s: float) -> np.ndarray:
            # 2 cos(w) sum_t r_t cos(t w) and 2 sin(w) sum_t d_t sin(t w) in cosines
            found = 2.0 * level * real
            found[1:] -= bend * real[:-1]
            found[1] -= bend * real[0]
            found[:-1] -= bend * real[1:]
            found[:-1] += turn * sine[1:]
            found[1:] -= s * turn * sine[:-1]
            return found

        coefficients = combined(real, sine, level, bend, 1.0)
        slope = 2.0 * float(k["slope"].centre)
        coefficients[0] += slope + float(k["level"].centre)
        coefficients[1] -= slope
        sizes = combined(np.abs(real), np.abs(sine), abs(level) + abs(bend), -abs(bend), -1.0)
        sizes[:2] += abs(slope)
        # the constants have errors of a few units of eta L <= 2, eta mu, mu L and L^2
        program = self.program
        whole = float(np.abs(real).sum() + np.abs(sine).sum()) * 8.0 + 8.0 * program.L
        errors = (40.0 + T) * UNIT * (sizes + whole)
        return _Harmonics(coefficients, errors)

    def at(self, points: Points) -> Discs:
        """N / D on the discs around the points."""
        k, T, powers = self.constants, self.lags, points.powers
        versines, sines, sign = powers.versines[:, :T], powers.sines[:, :T], self.program.sign
        sums, sizes = np.abs(self.sums), np.abs(self.differences)
        first = powers.versines[:, 0]
        if sign < 0:
            margin, error = versines @ self.sums, powers.error_of_versines(sums, first)
        else:  # 1 + cos(t omega)
            margin, error = (2.0 - versines) @ self.sums, powers.error_of_versines(sums, np.full_like(first, FAR))
        R = Discs(margin, error) + float(self.multipliers[0])
        I = Discs(sign * (sines @ self.differences), powers.error_of_sines(sizes, powers.sines[:, 0]))
        near_zero = float(k["bend"].centre) >= 0
        bend = 4.0 * k["bend"]
        P = points.s * bend + k["x y"] if near_zero else k["(2-x)(2-y)"] - points.complement * bend
        D = (2.0 * P) * R + points.sine * (2.0 * k["turn"]) * I + (points.s * (4.0 * k["slope"]) + k["level"])
        if points.radius.any():
            D = D.widened(self.harmonics.variation(points))
            R = R.widened(_term_by_term(points, sums))
            I = I.widened(_term_by_term(points, sizes))
        return (R * (R + 2.0 * k["a"]) + k["a"] * k["a - b"] + I * I) / D


def _power_of(correlation: ToeplitzCorrelation) -> Callable[[Points], tuple[Discs, Discs]] | None:
    """|B|^2 and its inverse on discs; None without a closed form here, and for classes derived from ours."""
    if type(correlation) is HalfPowers:
        return correlation.power_on
    if type(correlation) is FiniteImpulse and len(correlation.beta) == 1:
        weight = Discs(correlation.beta[0])

        def power(points: Points) -> Discs:
            return Discs(np.ones_like(points.radius)) * weight**2
    elif isinstance(correlation, NuCorrelation | DampedAntiPGD) and type(correlation) in (NuCorrelation, DampedAntiPGD):

        def power(points: Points) -> Discs:
            return correlation.spectral_density(discs(), points.disc)
    else:
        return None
    return lambda points: (found := power(points), found.inverse())


def integrals(
    noise: Any, program: Program, curvature: float, multipliers: np.ndarray
) -> tuple[list[list[Any]], Any] | None:
    """Enclosures (arb) of the means over the circle of S_k f for the spectra S_k of the noise, f = 1, 1 / |1 - eta h -
    e^{i omega}|^2 at the curvature h, and psi / eta^2; and of 1 / |B|^2: as tight as those by balls, or None.
    """
    lags = (len(multipliers) - 1) // 2 + 2
    power_of = _power_of(noise.correlation) if isinstance(noise, Noise) else None
    if power_of is None or lags > MOST_LAGS or noise.degree > MOST_LAGS:
        return None
    ratio, x = Ratio(program, np.asarray(multipliers, dtype=float)), Discs(program.eta) * Discs(curvature)
    if ratio.lags == 0:
        ratio = Ratio(program, np.array([ratio.multipliers[0], 0.0, 0.0]))

    def values(points: Points) -> list[Discs]:
        power, inverse = power_of(points)
        spectra = [power, Discs(np.ones_like(points.radius))] if noise.sigma_sgd else [power]
        quadratic = _distance(x, points).inverse()
        psi = ratio.at(points)
        return [*spectra, *(s * quadratic for s in spectra), *(s * psi for s in spectra), inverse]

    found = means(values, next(size for size in LAGS if size >= lags), max(noise.degree, 2 * lags))
    if found is None:
        return None
    terms = len(found) // 3
    return [found[k * terms : (k + 1) * terms] for k in range(3)], found[-1]


def _distance(x: Discs, points: Points) -> Discs:
    """|1 - x - e^{i omega}|^2, without cancellation at 0, nor at pi for x near 2."""
    if x.centre <= 1.0:
        return x**2 + 4.0 * (1.0 - x) * points.disc
    return (2.0 - x) ** 2 + 4.0 * (x - 1.0) * points.far
