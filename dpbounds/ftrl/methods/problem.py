"""One method, noise, class and measure: its loops, the candidates that the solver gives for them, and their proofs.

>>> from dpbounds.ftrl.correlations import independent
>>> from dpbounds.ftrl.methods.linear import gradient_descent
>>> problem = Problem(gradient_descent(eta=1.0), Noise(correlation=independent(), rho=0.5), 0.1, 1.0, "f", None)
>>> problem.stabilised(2, certify=True).memory, float(problem.error_at(1.0)) <= 0.5
(0, True)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dpbounds.circle.polynomials import exact
from dpbounds.errors import AccuracyError, nonnegative, positive, real
from dpbounds.ftrl.methods.coordinates import Units, units, whitened
from dpbounds.ftrl.methods.fractions import in_fractions
from dpbounds.ftrl.methods.linear import LinearMethod
from dpbounds.ftrl.methods.loops import Loop, Measure, symmetric
from dpbounds.ftrl.methods.noises import NoiseSystem, noise_system, zeros_of
from dpbounds.ftrl.methods.program import Storage, solve
from dpbounds.ftrl.methods.proof import balanced, balanced_past, objective, proves, proves_coercive
from dpbounds.ftrl.methods.quadratics import MOST_EXACT, quadratic_error, worst_curvature
from dpbounds.ftrl.methods.refining import Search, known
from dpbounds.ftrl.strongly_convex.noise import Noise
from dpbounds.values import Kind, Value

Statement = Literal["limit", "time average"]

CONVENTIONS = {"f": "F - F*", "distance": "E |x - theta*|^2", "gradient": "E |grad F|^2"}


@dataclass(frozen=True, kw_only=True)
class GradientNoise:
    """Errors of the gradient at y with E[|n_t|^2 | past] <= variance + co <g, y - theta*> + distance |y - theta*|^2 +
    gradient |g|^2, g = grad F(y), and mean 0 given the past.

    For least squares with E[|x|^2 x x'] <= R^2 H: co = R^2, gradient = -1. Raises `DomainError` unless variance >= 0
    and the others are finite.
    """

    variance: float = 0.0
    co: float = 0.0
    distance: float = 0.0
    gradient: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", nonnegative("variance", self.variance))
        for name in ("co", "distance", "gradient"):
            object.__setattr__(self, name, real(name, getattr(self, name)))

    def scaled(self, L: float, energy: float) -> GradientNoise:
        """The same in units in which L and d clip_norm^2 / (2 rho) = `energy` are 1."""
        high, unit = positive("L", L), positive("energy", energy)
        return GradientNoise(
            variance=self.variance / unit,
            co=self.co / high,
            distance=self.distance / high**2,
            gradient=self.gradient,
        )

    def form(self, loop: Loop) -> np.ndarray | None:
        """What of it depends on the state, as a quadratic form over (s, inputs)."""
        if not (self.co or self.distance or self.gradient):
            return None
        parts = (
            (self.co, symmetric(loop.slope, loop.y)),
            (self.distance, np.outer(loop.y, loop.y)),
            (self.gradient, np.outer(loop.slope, loop.slope)),
        )
        return sum((loop.number(weight) * form for weight, form in parts), zeros_of((loop.width,) * 2, loop.number))


@dataclass(frozen=True, kw_only=True, eq=False)
class Stability:
    """A positive storage function without a loss: second moments stay bounded on the whole class.

    With `memory` 0 it uses nothing but the monotone gradient, which differences of two runs have as well: runs with the
    same draws then approach each other, and E J_t has a limit.
    """

    memory: int
    P: np.ndarray
    multipliers: np.ndarray
    past: np.ndarray


@dataclass(frozen=True, eq=False)
class Proved:
    """A storage function with multipliers, and the value that they prove or are thought to have."""

    P: np.ndarray
    multipliers: np.ndarray
    value: Value


@dataclass(frozen=True, eq=False)
class Problem:
    """What is bounded: makes the loops, and proves."""

    method: LinearMethod
    noise: Noise
    mu: float
    L: float
    measure: Measure
    extra: GradientNoise | None

    @property
    def own_slope(self) -> bool:
        """Whether the output needs a gradient of its own."""
        return self.measure != "distance" and not self.method.sees_output

    @property
    def form_free(self) -> bool:
        """Whether errors of the gradient do not depend on the state."""
        return self.extra is None or not (self.extra.co or self.extra.distance or self.extra.gradient)

    def loop(self, system: NoiseSystem, memory: int, number: Any) -> Loop:
        """The loop of the bound."""
        return Loop.of(self.method, system, self.mu, self.L, memory, number, own_slope=self.own_slope)

    def at_y(self, system: NoiseSystem, memory: int, number: Any) -> Loop:
        """The loop for stability, which looks at no output."""
        return Loop.of(self.method.output("y"), system, self.mu, self.L, memory, number)

    def energies(self, number: Any, end: int = 1) -> tuple[Any, Any]:
        """E |e|^2 summed over directions, in fractions from above (`end` 1) or below (0), and the errors' variance."""
        limit = self.noise.correlation.limiting_sensitivity()
        ends = (float(limit),) * 2 if number is float else limit.enclosure
        if ends is None:
            raise AccuracyError(f"sensitivity of {self.noise.correlation.name}: it is not known with a proof")
        top = number(ends[end])
        rho, clip, sigma = (number(x) for x in (self.noise.rho, self.noise.clip_norm, self.noise.sigma_sgd))
        errors = sigma * sigma + number(self.extra.variance if self.extra else 0.0)
        return self.noise.d * clip * clip * top * top / (2 * rho), errors

    def form(self, loop: Loop) -> np.ndarray | None:
        """How errors of the gradient grow with the state."""
        return None if self.extra is None else self.extra.form(loop)

    def statement(self, stability: Stability) -> Statement:
        """What is bounded: see `Stability`."""
        return "limit" if stability.memory == 0 and self.form_free else "time average"

    def bounded(self, memory: int, *, certify: bool) -> Proved:
        """The program, and its proof with the first margin that leaves one."""
        system, draws, errors = noise_system(self.noise.correlation, float), *self.energies(float)
        loop = self.loop(system, memory, float)
        scale = units(self.loop(system, 0, float), loop, self.L, self.measure, draws, errors)

        form = self.form(loop)

        def solved(scale: Units, margin: float, tolerance: float) -> Storage:
            options: Any = {"extra": form, "margin": margin, "tolerance": tolerance}
            return solve(loop, scale, self.measure, draws, errors, **options)

        def accepted(found: Storage) -> Proved:
            if not certify:
                return Proved(found.P, found.multipliers, self.value(known(found).value, "estimate"))
            multipliers = balanced(loop, found.multipliers, self.measure)
            return Proved(found.P, multipliers, self.proved(memory, found.P, multipliers))

        search = Search(loop, solved, accepted, draws, errors, form)
        return search.first(scale, lambda ridge: whitened(loop, scale, self.L, draws, errors, ridge))

    def stabilised(self, memory: int, *, certify: bool) -> Stability:
        """Stability, with no past gradients if that is enough, else with one, else with as many as the bound."""
        system, (draws, errors) = noise_system(self.noise.correlation, float), self.energies(float)
        errors += draws  # stability does not depend on the noise: units of white noise, as it may nearly cancel

        def with_memory(held: int) -> Stability:
            loop = self.at_y(system, held, float)
            scale = units(self.at_y(system, 0, float), loop, self.L, "distance", draws, errors)

            form = self.form(loop)

            def solved(scale: Units, margin: float, tolerance: float) -> Storage:
                options: Any = {"extra": form, "stable": True, "margin": margin, "tolerance": tolerance}
                return solve(loop, scale, "distance", draws, errors, **options)

            def accepted(found: Storage) -> Stability:
                if not certify:
                    known(found)
                multipliers = balanced(loop, found.multipliers, "distance", telescopes=True)
                past = balanced_past(loop, multipliers, found.past)
                stability = Stability(memory=held, P=found.P, multipliers=multipliers, past=past)
                if certify:
                    self.prove_stable(stability)
                return stability

            search = Search(loop, solved, accepted, draws, errors, form)
            return search.first(scale, lambda ridge: whitened(loop, scale, self.L, draws, errors, ridge))

        tried = sorted({0, min(1, memory), memory})
        for held in tried[:-1]:
            try:
                return with_memory(held)
            except AccuracyError:
                continue
        return with_memory(tried[-1])

    def worst(self, *, certify: bool) -> tuple[float, Value]:
        """The worst quadratic found and its error; errors of the gradient that depend on the state are left out, as a
        class allows there to be none."""
        system, draws, errors = noise_system(self.noise.correlation, float), *self.energies(float)
        bare, known = self.loop(system, 0, float), errors if self.extra is None else 0.0
        curvature, error = worst_curvature(bare, self.L, self.measure, draws, known)
        return curvature, self.error_at(curvature) if certify else self.value(error, "estimate")

    def error_at(self, curvature: float) -> Value:
        """The exact error on the quadratic, the draws' variance from below; an estimate where the state is long."""
        size = len(self.method.B) + noise_system(self.noise.correlation, float).memory
        number = exact if size * (size + 1) // 2 <= MOST_EXACT else float
        loop = self.loop(noise_system(self.noise.correlation, number), 0, number)
        draws, errors = self.energies(number, end=0)
        pair = quadratic_error(loop, number(curvature), self.measure)
        error = draws * pair[0] + (errors * pair[1] if self.extra is None else 0)
        return self.value(error, "estimate" if number is float else "lower")

    def value(self, number: Any, kind: Kind) -> Value:
        """A float as an estimate, a fraction as a bound, rounded to its side."""
        source, convention = "dpbounds, storage program", CONVENTIONS[self.measure]
        if kind == "estimate":
            return Value(float(number), kind=kind, source=source, convention=convention)
        end = nearest_outwards(number, kind)
        return Value(end, kind=kind, source=source, convention=convention, enclosure=(end, end))

    def proved(self, memory: int, P: np.ndarray, multipliers: np.ndarray) -> Value:
        """The bound that P and the multipliers prove."""
        loop = self.loop(noise_system(self.noise.correlation, exact), memory, exact)
        exact_P, (draws, errors) = in_fractions(P), self.energies(exact)
        proves(loop, exact_P, multipliers, self.measure, extra=self.form(loop), errors=errors > 0)
        return self.value(objective(loop, exact_P, draws, errors), "upper")

    def prove_stable(self, found: Stability) -> None:
        """Raise `AccuracyError` unless it is a proof."""
        loop = self.at_y(noise_system(self.noise.correlation, exact), found.memory, exact)
        P = in_fractions(found.P)
        proves(loop, P, found.multipliers, "distance", extra=self.form(loop))
        proves_coercive(loop, P, found.multipliers, found.past)


def nearest_outwards(number: Any, kind: Kind) -> float:
    """A float at or above the fraction, or at or below it for a lower bound."""
    middle = int(number.p) / int(number.q)  # rounded to nearest, whatever their digits
    up = kind == "upper"
    while (exact(middle) < number) if up else (exact(middle) > number):
        middle = float(np.nextafter(middle, np.inf if up else -np.inf))
    return middle
