"""What frames a program's bound: the worst quadratic from below, two simple arguments from above.

>>> from dpbounds.ftrl.correlations import independent
>>> from dpbounds.ftrl.strongly_convex.noise import Noise
>>> program = Program(name="f", mu=0.2, L=1.0, eta=0.5)
>>> noise = Noise(correlation=independent(), rho=0.5)
>>> round(worst_curvature(program, noise, Grid.graded(program, 0)), 6)  # the stiffest, where noise is white
1.0
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from dpbounds.arithmetic import Arithmetic
from dpbounds.ftrl.strongly_convex.noise import NoiseSpectrum
from dpbounds.ftrl.strongly_convex.programs import Grid, Program, squared_distance
from dpbounds.values import Kind, Value

CONVENTION = "F - F*"
# Bounds that need no program.
Simple = Literal["contraction", "co_coercivity"]
# Curvatures that are tried first, around the best of them, and how often.
CURVATURES, CLOSER, ZOOMS = 49, 9, 5


def worst_curvature(program: Program, noise: NoiseSpectrum, grid: Grid) -> float:
    """The h in [mu, L] of largest stationary error for F = h |theta|^2 / 2: a search, whatever it finds is a lower
    bound.
    """
    weights = grid.weights * noise.density(grid.s)
    low, high = math.log(program.mu), math.log(program.L)
    for zoom in range(ZOOMS + 1):
        points = np.linspace(low, high, CLOSER if zoom else CURVATURES)
        curvatures = np.exp(points)
        distances = squared_distance(grid.omega, program.eta * curvatures[:, None])
        best = int(np.argmax(curvatures * (np.divide(1.0, distances, out=distances) @ weights)))
        low, high = points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)]
    return min(max(float(curvatures[best]), program.mu), program.L)


def worst_quadratic(m: Arithmetic, program: Program, curvature: float, integral: Any) -> Value:
    """(h / 2) (eta^2 / 2 pi) int S / |1 - eta h - e^{i omega}|^2: the error of one member of the class, kind `lower`.

    `integral` is the one for `quadratic_fraction`, a ball or a float; for eta h > 1 the pole 1 - eta h is negative and
    the formula the same.
    """
    error = m.number(curvature) * m.number(program.eta) ** 2 * integral / 2
    return value_of(error, "lower", "dpbounds, worst quadratic")


def simple_bounds(m: Arithmetic, program: Program, total: Any, *, white: bool) -> dict[Simple, Value]:
    """Bounds that need no program, by name, from the total noise N = (1 / 2 pi) int S, a ball or a float.

    Contraction, any correlation: the step without noise contracts by c = max(1 - eta mu, eta L - 1), so by Minkowski's
    inequality E |theta|^2 <= eta^2 N / (1 - c)^2 and F - F* <= L/2 of it. Co-coercivity, white noise: stationarity of E
    |theta|^2 with F - F* <= <g, theta> - |g|^2 / (2 L) gives (eta / 2) N max(1, 1 / (2 - eta L)).
    """
    mu, L, eta = (m.number(x) for x in (program.mu, program.L, program.eta))
    rest = m.minimum(eta * mu, 2 - eta * L)
    contraction = value_of(total * L * eta**2 / 2 / rest**2, "upper", "dpbounds, contraction")
    found: dict[Simple, Value] = {"contraction": contraction}
    if white:
        worst = m.maximum(m.number(1), 1 / (2 - eta * L))
        found["co_coercivity"] = value_of(total * eta / 2 * worst, "upper", "dpbounds, co-coercivity")
    return found


def value_of(number: Any, kind: Kind, source: str) -> Value:
    """A ball's outer end as a certified bound of this kind with the ball as enclosure; a float as an estimate."""
    if isinstance(number, float):
        return Value(number, kind="estimate", source=source, convention=CONVENTION)
    low, high = math.nextafter(float(number.lower()), -math.inf), math.nextafter(float(number.upper()), math.inf)
    end = low if kind == "lower" else high
    return Value(end, kind=kind, source=source, convention=CONVENTION, enclosure=(low, high))
