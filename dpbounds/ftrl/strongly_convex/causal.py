"""The causal program: gradient descent whose draws are independent of the past, not only of a known spectrum.

The program `f` bounds E F for every loss that may know the whole noise, its future too. Here W = B E with draws e_t
that are independent of everything before: theta_t is a function of earlier draws, so E <theta_t, e_{t-1}> = -eta b_0 E
|e|^2, as the gradient at t - 1 did not know e_{t-1}. A multiplier m of that equation, a real number of any sign, is
added to the form in (theta, W) before theta is eliminated:

    F_inf <= N [mean(|B|^2 psi) + (2 m chi + m^2 mean(1 / D)) / (L - mu)^2],   chi = mean(Re(X B w) / D) + b_0,

w = e^{i omega}, B = sum_k b_k w^{-k}, psi and D those of `f` at its multipliers, X = Lambda conj(u) + conj(Lambda v) +
(a - b) conj(v). Any multipliers with D > 0 and any m give a bound. The best m is -chi / mean(1 / D), so that the bound
is never above that of `f`. Errors of the gradient, white, have an m of their own.

That equations for E <theta_t, e_{t+k}> = 0, k >= 0, add little here is seen in numbers, not proved; they could only
lower the bound. The value is jointly convex in the multipliers and m: Newton's method of `newton`, m eliminated.

>>> from dpbounds.ftrl.correlations import independent
>>> problem = StronglyConvex(mu=0.1, L=1.0, eta=0.1, rho=0.5)
>>> program, noise = problem.program("causal"), problem.noise(independent())
>>> candidate, shifts = solve(program, noise, Grid.graded(program, 1), 1)
>>> round(candidate.value, 7), round(float(least_error(FLOATS, problem)), 7)
(0.0386088, 0.0105392)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpbounds.arguments import typed
from dpbounds.arithmetic import FLOATS, Arithmetic
from dpbounds.circle.balls import integrate
from dpbounds.circle.polynomials import Fraction, in_sine, over_sine
from dpbounds.errors import AccuracyError
from dpbounds.ftrl.strongly_convex import newton
from dpbounds.ftrl.strongly_convex.certificate import inner_laurent, program_fraction
from dpbounds.ftrl.strongly_convex.newton import Candidate
from dpbounds.ftrl.strongly_convex.noise import Noise
from dpbounds.ftrl.strongly_convex.programs import Grid, Program
from dpbounds.ftrl.strongly_convex.settings import StronglyConvex
from dpbounds.ftrl.strongly_convex.waves import newest, wave

# Multipliers below these shares of the largest, or of L, are dropped together if that costs less than DROPPED of the
# value.
SHARES, DROPPED = (1.0, 1e-2, 1e-4, 1e-6), 1e-9


@typed
def least_error(m: Arithmetic, problem: StronglyConvex) -> Any:
    """No noise of this privacy has a smaller worst case: d G^2 eta^2 L / (4 rho) ((2 / pi) K(|1 - eta L|))^2.

    F = L |theta|^2 / 2 has the error N_0 gamma^2 mean(|B|^2 Psi), gamma^2 >= mean |B|^{-2}, and by Cauchy and Schwarz
    mean |B|^{-2} mean(|B|^2 Psi) >= (mean Psi^{1/2})^2. In the arithmetic m; eta < 2 / L.
    """
    eta, L, rho, clip = (m.number(x) for x in (problem.eta, problem.L, problem.rho, problem.clip_norm))
    mean = 2 * m.elliptic_k(m.absolute(1 - eta * L)) / m.pi  # of the modulus
    return problem.d * clip**2 / (2 * rho) * eta**2 * L / 2 * mean**2


@dataclass(frozen=True, eq=False)
class _Draws:
    """White draws behind a part of the noise: `weights` of psi / eta^2 at the nodes, w^{-1} / B there as real and
    imaginary part, and b_0 times their variance over (L - mu)^2.
    """

    weights: np.ndarray
    turn: tuple[np.ndarray, np.ndarray]
    known: float


class CausalObjective(newton.Objective):
    """The objective of `newton` with the best m of each kind of draws, as a function of the other multipliers."""

    def __init__(self, program: Program, grid: Grid, noise: Noise, max_lag: int) -> None:
        spectrum = noise.density(grid.s)
        super().__init__(grid.quadratics(program, max_lag), newton.node_weights(program, grid, spectrum))
        powers, levels = noise.spectra(FLOATS, grid.s), noise.weights(noise.stated_sensitivity**2)
        waves = [wave(FLOATS, noise.correlation, grid.s), (1.0, 0.0)]
        known = [newest(noise.correlation), 1.0]
        cosine, sine = 1.0 - 2.0 * grid.s, np.sin(grid.omega)
        self.unit = (program.eta * (program.L - program.mu)) ** 2
        self.draws: list[_Draws] = []
        for level, power, (X, Z), first in zip(levels, powers, waves, known, strict=False):
            # conj(w B) / |B|^2
            real, imaginary = (X * cosine - sine * Z * sine) / power, -(X * sine + sine * Z * cosine) / power
            shares = newton.node_weights(program, grid, level * power * np.ones_like(grid.s))
            self.draws.append(_Draws(shares, (real, imaginary), level * first * program.eta**2 / self.unit))

    def shifts(self, multipliers: np.ndarray) -> tuple[float, ...]:
        """The best m of each, -chi / mean(1 / D)."""
        return tuple(-chi / inverse for chi, inverse in self._linear(multipliers))

    def _linear(self, multipliers: np.ndarray) -> list[tuple[float, float]]:
        """chi and mean(1 / D), each times variance / (L - mu)^2."""
        real, imaginary, _, D = self.parts(multipliers)
        X, Y = self.inner(real, imaginary)
        found = []
        for draws in self.draws:
            share, (a, b) = draws.weights / D / self.unit, draws.turn
            found.append((float(share @ (X * a + Y * b)) + draws.known, float(share @ (a * a + b * b))))
        return found

    def value(self, multipliers: np.ndarray) -> float:
        """inf outside the domain."""
        found = super().value(multipliers)
        if not np.isfinite(found):
            return found
        return found - sum(chi**2 / inverse for chi, inverse in self._linear(multipliers))

    def derivatives(self, multipliers: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """At fixed m, and of the Hessian the Schur complement of m: |X + m / (w B)|^2 in place of |X|^2."""
        _, gradient, _ = super().derivatives(multipliers, curved=False)
        real, imaginary, _, D = self.parts(multipliers)
        X, Y = self.inner(real, imaginary)
        by_real, by_imaginary = self.slopes()
        curved, crossed = [np.zeros_like(D)] * 3, []
        for draws, (chi, inverse) in zip(self.draws, self._linear(multipliers), strict=True):
            m, share, (a, b) = -chi / inverse, draws.weights / D / self.unit, draws.turn
            # of X + m / (w B), over D
            moved = (X + m * a) / D, (Y + m * b) / D
            first, second = ((dX - moved[0] * dD, dY - moved[1] * dD) for dX, dY, dD in (by_real, by_imaginary))
            pairs = (first, first), (first, second), (second, second)
            curved = [
                old + 2.0 * share * (x[0] * y[0] + x[1] * y[1]) for old, (x, y) in zip(curved, pairs, strict=True)
            ]
            even, odd = (2.0 * share * (a * x[0] + b * x[1]) for x in (first, second))
            crossed.append((self.spread(even, odd), 2.0 * inverse))
            slope = [
                share * (2.0 * m * (a * dX + b * dY) - m * (2.0 * (a * X + b * Y) + m * (a * a + b * b)) * dD / D)
                for dX, dY, dD in (by_real, by_imaginary)
            ]
            gradient = gradient + self.spread(*slope)
        hessian = self.hessian(*curved)
        for cross, size in crossed:
            hessian -= np.outer(cross, cross) / size
        return self.value(multipliers), gradient, hessian


def solve(program: Program, noise: Noise, grid: Grid, max_lag: int) -> tuple[Candidate, tuple[float, ...]]:
    """The best multipliers with m for each kind of draws, on the grid's nodes; errors as `newton.solve`.

    Where rounding stops Newton's method, next to 2 / L, fewer lags are taken, and in the end the multipliers of `f`.
    """
    spectrum = noise.density(grid.s)
    if (
        program.L - program.mu <= newton.QUADRATIC * program.L
    ):  # theta is a linear function of draws: all m give the same
        return newton.solve(program, grid, spectrum, max_lag), tuple(0.0 for _ in noise.weights(1.0))
    found = _pruned(program, grid, noise, _minimised(program, grid, noise, max_lag))
    lifted = newton.lifted(program, grid, spectrum, found)
    objective = CausalObjective(program, grid, noise, (len(lifted.multipliers) - 1) // 2)
    return replace(lifted, value=objective.value(lifted.multipliers)), objective.shifts(lifted.multipliers)


def _minimised(program: Program, grid: Grid, noise: Noise, max_lag: int) -> Candidate:
    spectrum = noise.density(grid.s)
    for lags in sorted({max_lag, min(max_lag, 1), 0}, reverse=True):
        start = newton.best_single(program, grid, spectrum, lags)
        try:
            return newton.minimise(CausalObjective(program, grid, noise, lags), start)
        except AccuracyError:
            continue
    found = newton.solve(program, grid, spectrum, max_lag)
    return replace(found, value=CausalObjective(program, grid, noise, max_lag).value(found.multipliers))


def _pruned(program: Program, grid: Grid, noise: Noise, candidate: Candidate) -> Candidate:
    """Without the multipliers that do not matter, all of them where that is so."""
    max_lag, given = (len(candidate.multipliers) - 1) // 2, candidate.multipliers
    for share in SHARES:
        kept = np.where(given > share * max(program.L, float(given.max())), given, 0.0)
        lagged = kept[1:].reshape(2, max_lag)
        used = np.flatnonzero(lagged.any(axis=0))
        for shorter, margin in ((0, 0.0), (int(used[-1]) + 1 if len(used) else 0, given[0])):
            multipliers = np.concatenate([[margin], lagged[0, :shorter], lagged[1, :shorter]])
            value = CausalObjective(program, grid, noise, shorter).value(multipliers)
            if value <= candidate.value * (1.0 + DROPPED):
                return replace(candidate, multipliers=multipliers, value=value)
    return candidate


def added(program: Program, noise: Noise, multipliers: np.ndarray, shifts: Sequence[float]) -> Any:
    """An enclosure (arb) of what independence of the past adds to the value of `f` at the same multipliers.

    Raises `AccuracyError` where D is not shown to be positive.
    """
    from flint import arb

    laurent = inner_laurent(program, multipliers.tolist())
    D = program_fraction(program, multipliers.tolist()).denominator
    real, turned, inverse = (Fraction(numerator=x, denominator=D) for x in (in_sine(laurent), over_sine(laurent), D**0))

    def values(m: Arithmetic, s: Any) -> list[Any]:
        X, Z = wave(m, noise.correlation, s)
        one, x, y = inverse.at(s), real.at(s), turned.at(s)
        cross = x * X - 4 * s * (1 - s) * y * Z
        parts = zip([m.number(shift) for shift in shifts], (cross, x), strict=False)
        return [
            *((2 * shift * part + shift * shift * one) for shift, part in parts),
            one,
            *noise.inverse(noise.spectra(m, s)),
        ]

    *means, inverse_mean, squared = integrate(values, max(noise.degree, 2 + len(multipliers) // 2))
    if not inverse_mean > 0:  # 1 / D has one sign where D has no zero
        raise AccuracyError("certificate: the denominator of the causal program is negative")
    total, gap = arb(0), arb(program.L) - arb(program.mu)
    firsts = (newest(noise.correlation), 1.0)
    for weight, shift, first, mean in zip(noise.weights(squared), shifts, firsts, means, strict=False):
        total += weight * (mean + 2 * arb(shift) * arb(first)) / gap**2
    return total
