"""The bound for gradient descent when draws are independent of the past, not only of known spectrum.

The program `f` bounds E F for every loss that may know the whole noise, its future too. Here W = B E with draws e_t
that are independent of everything before: y_t = theta_t is a function of earlier draws, so E <theta_t, e_{t-1}> = -eta
b_0 E |e|^2, as the gradient at t - 1 did not know e_{t-1}. A multiplier m of that equation (Lagrange, of any sign) is
added to the form in (theta, W) before theta is eliminated:

    F_inf <= N [mean(|B|^2 psi) + (2 m chi + m^2 mean(1 / D)) / (L - mu)^2],   chi = mean(Re(beta B w) / D) + b_0,

w = e^{i omega}, B = sum_k b_k w^{-k}, psi and D those of `f` (`programs`) with the multiplier at lag 0 alone, margin >=
0, and beta w = ((2 - eta mu - eta L) w - 2) margin + ((1 - eta L) w - 1) (L - mu) / 2. Any margin and m with D > 0 give
a bound. The best m is -chi / mean(1 / D). Errors of the gradient, white, have a multiplier of their own.

That other multipliers (of more lags, of E <theta_t, e_{t+k}> = 0) add little here is seen in numbers, not proved; they
could only lower the bound.

>>> from dpbounds.ftrl.correlations import independent
>>> found = bound_causal(independent(), StronglyConvex(mu=0.1, L=1.0, eta=0.1, rho=0.5))
>>> round(float(found.value), 7), found.value.certified, round(float(found.lower), 7)
(0.0386088, True, 0.0263158)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbounds import arithmetic
from dpbounds.arguments import typed
from dpbounds.arithmetic import FLOATS, Arithmetic
from dpbounds.circle.balls import integrate
from dpbounds.circle.quadrature import even_integral
from dpbounds.errors import AccuracyError, DomainError
from dpbounds.ftrl.correlations import DampedAntiPGD, FiniteImpulse, NuCorrelation, ToeplitzCorrelation, nu
from dpbounds.ftrl.strongly_convex.certificate import check_sensitivity
from dpbounds.ftrl.strongly_convex.noise import Noise
from dpbounds.ftrl.strongly_convex.programs import Grid, Program
from dpbounds.ftrl.strongly_convex.quadratic import value_of, worst_curvature, worst_quadratic
from dpbounds.ftrl.strongly_convex.settings import StronglyConvex
from dpbounds.values import Value

# How closely the margin is searched, on a logarithmic scale in units of L; and nu, as in `optimise`.
MARGINS, CLOSE = (-8.0, 2.0), 1e-4
SLOWER, POINTS = 2.0, 16
SOURCE = "dpbounds, causal program"


@dataclass(frozen=True, kw_only=True)
class CausalBound:
    """lower <= sup F_inf over the class <= value, for draws that are independent of the past.

    - `value`: proved in balls from `margin` and the multipliers `shifts` (of the draws, and of errors of the gradient)
      alone, or an estimate; `lower`: the error on F = `curvature` |theta|^2 / 2;
    - `least`: what no noise of the same privacy is below: `least_error`.
    """

    program: Program
    noise: Noise
    margin: float
    shifts: tuple[float, float]
    value: Value
    lower: Value
    curvature: float
    least: Value

    @property
    def is_certified(self) -> bool:
        """Whether both ends are proved."""
        return self.value.kind == "upper" and self.value.certified and self.lower.certified

    @property
    def ratio(self) -> float:
        """value / lower: what is not known about the worst case."""
        return float(self.value) / float(self.lower)

    def __repr__(self) -> str:
        sign = "<=" if self.is_certified else "~"
        return (
            f"CausalBound({self.noise.correlation.name}: {float(self.lower):.6g} <= sup F_inf {sign} "
            f"{float(self.value):.6g})"
        )


@typed
def least_error(m: Arithmetic, problem: StronglyConvex) -> Any:
    """No noise of this privacy has a smaller worst case: d G^2 eta^2 L / (4 rho) ((2 / pi) K(|1 - eta L|))^2.

    F = L |theta|^2 / 2 has the error N_0 gamma^2 mean(|B|^2 Psi), gamma^2 >= mean |B|^{-2}, and by Cauchy and Schwarz
    mean |B|^{-2} mean(|B|^2 Psi) >= (mean Psi^{1/2})^2. In the arithmetic m; eta < 2 / L.
    """
    eta, L, rho, clip = (m.number(x) for x in (problem.eta, problem.L, problem.rho, problem.clip_norm))
    mean = 2 * m.elliptic_k(m.absolute(1 - eta * L)) / m.pi  # of the modulus
    return problem.d * clip**2 / (2 * rho) * eta**2 * L / 2 * mean**2


@typed
def bound_causal(correlation: ToeplitzCorrelation, problem: StronglyConvex, *, certify: bool = True) -> CausalBound:
    """F_inf of DP-FTRL without clipping for draws that are independent of the past, for every F of the class.

    For independent, nu, damped anti-PGD and finitely weighted noise. With `certify` both ends are proved in balls.
    Raises `DomainError` for other noise and mu = L, `AccuracyError` where D > 0 is not reached or not proved.
    """
    noise, program = problem.noise(correlation), problem.program("f")
    _waves(FLOATS, correlation, np.array([0.5]))
    if not program.mu < program.L:
        raise DomainError("mu", program.mu, f"below L = {program.L:g}", "one quadratic has its exact error")
    margin, shifts, estimate = _candidate(program, noise)
    grid = Grid.graded(program, 0)
    curvature = worst_curvature(program, noise, grid)
    if certify:
        value, lower, least = _proved(program, noise, problem, margin, shifts, curvature)
    else:
        squared = _floats(program, noise, margin, curvature).quadratic
        value, lower = value_of(estimate, "upper", SOURCE), worst_quadratic(FLOATS, program, curvature, squared)
        least = value_of(float(least_error(FLOATS, problem)), "lower", SOURCE)
    return CausalBound(
        program=program,
        noise=noise,
        margin=margin,
        shifts=shifts,
        value=value,
        lower=lower,
        curvature=curvature,
        least=least,
    )


@typed
def best_nu_causal(problem: StronglyConvex, *, certify: bool = True) -> CausalBound:
    """The bound of the nu in (0, 1] for which it is least, by a search in log nu; errors as `bound_causal`."""
    from scipy.optimize import minimize_scalar

    program = problem.program("f")

    def value(log_nu: float) -> float:
        return _candidate(program, problem.noise(nu(min(float(np.exp(log_nu)), 1.0))))[2]

    points = np.linspace(min(np.log(problem.eta * problem.mu), 0.0) - SLOWER, 0.0, POINTS)
    best = int(np.argmin([value(point) for point in points]))
    ends = points[max(best - 2, 0)], points[min(best + 2, POINTS - 1)]
    found: Any = minimize_scalar(value, bounds=ends, method="bounded", options={"xatol": CLOSE})
    damping = min(float(np.exp(found.x)), 1.0) if found.fun < value(0.0) else 1.0
    return bound_causal(nu(damping), problem, certify=certify)


@dataclass(frozen=True, eq=False)
class _Means:
    """Means over the circle: |B|^2 psi / eta^2, Re(beta B w) / D, 1 / D, S / |1 - eta h - w|^2, 1 / |B|^2; and those of
    the first two for B = 1.
    """

    psi: Any
    cross: Any
    inverse: Any
    quadratic: Any
    squared_sensitivity: Any
    white_psi: Any
    white_cross: Any

    def total(self, m: Arithmetic, program: Program, noise: Noise, shifts: tuple[Any, Any]) -> Any:
        """The bound with these multipliers."""
        eta, gap = m.number(program.eta), m.number(program.L) - m.number(program.mu)
        newest = m.number(float(noise.correlation.coefficients(1)[0]))
        parts = ((self.psi, self.cross + newest), (self.white_psi, self.white_cross + 1))
        total = m.number(0)
        for weight, shift, (psi, chi) in zip(noise.weights(self.squared_sensitivity), shifts, parts, strict=False):
            shift = m.number(shift)
            total = total + weight * (eta**2 * psi + (2 * shift * chi + shift**2 * self.inverse) / gap**2)
        return total

    def best_shifts(self, noise: Noise) -> tuple[float, float]:
        """-chi / mean(1 / D)."""
        newest = float(noise.correlation.coefficients(1)[0])
        return float(-(self.cross + newest) / self.inverse), float(-(self.white_cross + 1.0) / self.inverse)


def _integrands(program: Program, noise: Noise, margin: float, curvature: float) -> Callable[[Arithmetic, Any], list]:
    """Those of `_Means` in its order, at s = sin^2(omega / 2)."""

    def values(m: Arithmetic, s: Any) -> list:
        mu, L, eta, weight, h = (m.number(x) for x in (program.mu, program.L, program.eta, margin, curvature))
        x, y, gap = eta * mu, eta * L, L - mu
        cosine, sine_squared = 1 - 2 * s, 4 * s * (1 - s)
        product = 4 * s * (1 - (x + y) / 2) + x * y  # Re conj(u) v
        D = 2 * weight * product + 2 * s * gap * (1 - y) + eta**2 * L * gap * mu / 2
        size = weight * (weight + L) + L * gap / 4  # |c|^2 - a b
        still, turning = -2 * weight - gap / 2, weight * (2 - x - y) + gap / 2 * (1 - y)  # beta w = still + turning w
        real, imaginary = _waves(m, noise.correlation, s)
        power = noise.correlation.spectral_density(m, s)
        cross = (still * real + turning * (real * cosine - sine_squared * imaginary)) / D
        distance = (eta * h) ** 2 + 4 * (1 - eta * h) * s
        spectral = [power * size / D, cross, 1 / D, power / distance, 1 / power]
        return [*spectral, size / D, (still + turning * cosine) / D, 1 / distance]

    return values


def _waves(m: Arithmetic, correlation: ToeplitzCorrelation, s: Any) -> tuple[Any, Any]:
    """X and Z with B = X + i sin(omega) Z, as functions of s; `DomainError` for noise without a formula here.

    For nu, with q = 1 - nu: B^2 = 1 - q / w has the real part 1 - q cos(omega) > 0 and Re B > 0, so that X^2 = (|B|^2 +
    1 - q cos(omega)) / 2 and Z = q / (2 X). X is half of B(w) + B(1 / w), whose real part is positive for q < |w| < 1 /
    q: the principal root is right for complex s too.
    """
    cosine = 1 - 2 * s
    if isinstance(correlation, NuCorrelation):
        q = 1 - m.number(correlation.nu)
        X = m.sqrt((correlation.spectral_density(m, s) + 1 - q * cosine) / 2)
        return X, q / (2 * X)
    if isinstance(correlation, DampedAntiPGD):
        q = 1 - m.number(correlation.nu)
        return 1 - q * cosine, q + 0 * s
    if isinstance(correlation, FiniteImpulse):
        # cos(k omega) and sin(k omega) / sin(omega), each 2 cos(omega) times the one before less that before it
        X, Z = 0 * s, 0 * s
        cosines, sines = (1 + 0 * s, cosine), (0 * s, 1 + 0 * s)
        for beta in correlation.beta:
            X, Z = X + m.number(beta) * cosines[0], Z - m.number(beta) * sines[0]
            cosines = cosines[1], 2 * cosine * cosines[1] - cosines[0]
            sines = sines[1], 2 * cosine * sines[1] - sines[0]
        return X, Z
    allowed = "independent, nu, damped anti-PGD or finitely many weights"
    raise DomainError("correlation", correlation.name, allowed, "program f takes any spectrum")


def _floats(program: Program, noise: Noise, margin: float, curvature: float) -> _Means:
    """The means in floats; S has its weights."""
    integrands = _integrands(program, noise, margin, curvature)
    found = even_integral(lambda omega: np.array(_broadcast(integrands(FLOATS, np.sin(omega / 2.0) ** 2), omega)))
    return _gathered(found / (2.0 * np.pi), noise)


def _broadcast(values: list, omega: np.ndarray) -> list:
    return [value * np.ones_like(omega) for value in values]


def _gathered(found: Any, noise: Noise) -> _Means:
    """From the integrands' means; the quadratic's with the weights of the noise."""
    weights = noise.weights(found[4])
    quadratic = sum(weight * mean for weight, mean in zip(weights, (found[3], found[7]), strict=False))
    return _Means(found[0], found[1], found[2], quadratic, found[4], found[5], found[6])


def _candidate(program: Program, noise: Noise) -> tuple[float, tuple[float, float], float]:
    """The best margin and shifts, in floats, and their value."""
    from scipy.optimize import minimize_scalar

    least = _least_margin(program)

    def at(margin: float) -> tuple[tuple[float, float], float]:
        means = _floats(program, noise, margin, program.L)
        shifts = means.best_shifts(noise)
        return shifts, float(means.total(FLOATS, program, noise, shifts))

    found: Any = minimize_scalar(
        lambda log: at(least + program.L * 10.0**log)[1], bounds=MARGINS, method="bounded", options={"xatol": CLOSE}
    )
    candidates = [least + program.L * 10.0 ** float(found.x)] + ([0.0] if least == 0 else [])
    margin = min(candidates, key=lambda margin: at(margin)[1])
    return margin, *at(margin)


def _least_margin(program: Program) -> float:
    """Above this margin D > 0 on the circle; 0 where D > 0 without one. D is linear in s, and positive at s = 0."""
    x, y, gap = program.eta * program.mu, program.eta * program.L, program.L - program.mu
    without = program.eta**2 * program.L * gap * program.mu / 2 + 2 * gap * (1 - y)
    return max(0.0, -without / (2 * (2 - x) * (2 - y)))


def _proved(
    program: Program,
    noise: Noise,
    problem: StronglyConvex,
    margin: float,
    shifts: tuple[float, float],
    curvature: float,
) -> tuple[Value, Value, Value]:
    """The bound, the worst quadratic and the least error over all noises, from one pass over the circle in balls."""
    means = integrate(_integrands(program, noise, margin, curvature), max(noise.degree, 2))
    with arithmetic.balls() as m:
        check_sensitivity(noise.stated_sensitivity, means[4])
        found = _gathered(means, noise)
        if not found.inverse > 0:  # 1 / D has one sign where D has no zero
            raise AccuracyError("certificate: the denominator of the causal program is negative")
        value = value_of(found.total(m, program, noise, shifts), "upper", SOURCE)
        least = value_of(least_error(m, problem), "lower", SOURCE)
        return value, worst_quadratic(m, program, curvature, found.quadratic), least
