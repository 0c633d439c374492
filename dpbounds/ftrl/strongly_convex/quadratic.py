"""What frames a program's bound: the worst quadratic from below, two simple arguments from above."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpbounds.arithmetic import FLOATS
from dpbounds.ftrl.strongly_convex.noise import Density
from dpbounds.ftrl.strongly_convex.programs import Grid, Program
from dpbounds.values import Value

CONVENTION = "F - F*"
CURVATURES = 65


def worst_curvature(program: Program, density: Density) -> float:
    """The h in [mu, L] of largest stationary error for F = h |theta|^2 / 2: a search, whatever it finds is a lower
    bound.
    """
    grid = Grid.graded(program, 0)
    spectrum = density(FLOATS, np.sin(grid.omega / 2.0) ** 2)

    def error(log_h: np.ndarray) -> np.ndarray:
        x = program.eta * np.exp(log_h)[:, None]
        gain = x**2 + 4.0 * (1.0 - x) * np.sin(grid.omega / 2.0) ** 2
        return x[:, 0] * ((spectrum / gain) @ grid.weights)

    low, high = math.log(program.mu), math.log(program.L)
    for _ in range(3):
        points = np.linspace(low, high, CURVATURES)
        best = int(np.argmax(error(points)))
        low, high = points[max(best - 1, 0)], points[min(best + 1, CURVATURES - 1)]
    return min(max(math.exp(points[best]), program.mu), program.L)


def worst_quadratic(program: Program, curvature: float, integral: Any) -> Value:
    """Certified (h / 2) (eta^2 / 2 pi) int S / |1 - eta h - e^{i omega}|^2: the error of one member of the class, kind
    `lower`.

    `integral` is the enclosure for `quadratic_fraction`; for eta h > 1 the pole 1 - eta h is negative and the formula
    the same.
    """
    ball = 0.5 * curvature * program.eta**2 * integral
    enclosure = (below(ball), above(ball))
    return Value(
        enclosure[0], kind="lower", source="dpbounds, worst quadratic", convention=CONVENTION, enclosure=enclosure
    )


def simple_bounds(program: Program, total: Any, *, white: bool) -> tuple[Value, ...]:
    """Certified bounds that need no program, from an enclosure of the total noise N = (1 / 2 pi) int S.

    Contraction, any correlation: the step without noise contracts by c = max(1 - eta mu, eta L - 1), so by Minkowski's
    inequality E |theta|^2 <= eta^2 N / (1 - c)^2 and F - F* <= L/2 of it. Co-coercivity, white noise: stationarity of E
    |theta|^2 with F - F* <= <g, theta> - |g|^2 / (2 L) gives (eta / 2) N max(1, 1 / (2 - eta L)).
    """
    mu, L, eta = program.mu, program.L, program.eta
    rest = min(eta * mu, 2.0 - eta * L)
    found = [("contraction", total * L * eta**2 / 2 / rest**2)]
    if white:
        found.append(("co-coercivity", total * eta / 2 * max(1.0, 1.0 / (2.0 - eta * L))))
    return tuple(
        Value(
            above(ball),
            kind="upper",
            source=f"dpbounds, {name}",
            convention=CONVENTION,
            enclosure=(below(ball), above(ball)),
        )
        for name, ball in found
    )


def below(ball: Any) -> float:
    """A float at or below a ball."""
    return math.nextafter(float(ball.lower()), -math.inf)


def above(ball: Any) -> float:
    """A float at or above a ball."""
    return math.nextafter(float(ball.upper()), math.inf)
