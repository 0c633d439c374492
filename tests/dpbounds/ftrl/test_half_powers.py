"""|B|^2 of half powers on discs, where products of their factors leave the floats, against Arb at 400 bits."""

from __future__ import annotations

from typing import Any

import flint
import numpy as np
import pytest

from dpbounds.circle.arcs import Points, corner, first_cells
from dpbounds.ftrl.correlations import HalfPowers

BITS = 400


def near_the_circle(rng: np.random.Generator, n: int) -> tuple[complex, ...]:
    """Up to n numbers 1e-1 to 1e-13 inside the circle, often the same ones, often at 1 or -1."""
    size = 1.0 - 10.0 ** rng.uniform(-13, -1, n)
    angle = rng.choice([0.0, np.pi, 1e-3, 2.0], n) * rng.choice([1.0, 1.0, 0.3], n)
    numbers = np.where(rng.random(n) < 0.6, size * rng.choice([1.0, -1.0], n), size * np.exp(1j * angle))
    repeated = np.repeat(numbers, rng.integers(1, 20, n))[:n]
    return tuple(complex(q.real, abs(q.imag)) for q in repeated)


def truth(correlation: HalfPowers, p: float) -> Any:
    """|B|^2 at s = p^2 / (1 + p^2), p the exponential of the middle of a cell."""
    square = flint.arb(p) ** 2
    s, value = square / (1 + square), flint.arb(1)
    for numbers, sign in ((correlation.zeros, 1), (correlation.poles, -1)):
        for q in numbers:
            exact = flint.acb(q.real, q.imag)
            factor = abs(4 * exact * s + (1 - exact) ** 2)
            value *= (factor**2 if q.imag else factor) ** sign
    return value.sqrt()


def missed(correlation: HalfPowers, points: Points, exponentials: list[float]) -> tuple[int, int]:
    """How many discs of finite radius miss the value at the middle of their cell, and how many there are."""
    with np.errstate(all="ignore"):
        both = correlation.power_on(points)
    wrong = known = 0
    with flint.ctx.workprec(BITS):
        for number, p in enumerate(exponentials):
            power = truth(correlation, p)
            for disc, value in zip(both, (power, 1 / power), strict=True):
                centre, radius = float(disc.centre[number]), float(disc.radius[number])
                if np.isfinite(radius):
                    known += 1
                    wrong += not abs(value - flint.arb(centre)) <= flint.arb(radius)
    return wrong, known


def on_some_cells(correlation: HalfPowers) -> tuple[int, int]:
    """The same on cells from s = 1e-29 to nearly 1."""
    few = first_cells(90, 20, 1)
    chosen = few.middle[::2]
    points = type(few)(chosen, few.level[::2], 1)
    with flint.ctx.workprec(BITS):
        exponentials = [float(flint.arb(y).exp()) for y in chosen.tolist()]
    return missed(correlation, points.discs, exponentials)


EXTREME = {
    "one pole beside 53 at .999": HalfPowers((0.999,) * 50, (0.999,) * 53 + (0.9984126327476638,)),
    "poles whose product is below 1e-308": HalfPowers((0.999,) * 50, (0.999,) * 52 + (0.9984126327476638,)),
    "zeros whose product is 0": HalfPowers((1 - 1e-9,) * 60, (0.5,)),
    "both": HalfPowers((1 - 1e-9,) * 60, (1 - 2e-9,) * 60),
    "pairs": HalfPowers((0.9999 + 1e-5j,) * 30, (0.9999 + 2e-5j,) * 29),
    "more than are multiplied": HalfPowers((0.5,) * 1001, (0.4,)),
}


@pytest.mark.parametrize("name", EXTREME)
def test_products_that_leave_the_floats_are_enclosed_or_not_known(name):
    wrong, known = on_some_cells(EXTREME[name])
    assert wrong == 0
    assert (known > 0) == (name != "more than are multiplied")


def test_factors_near_the_circle_are_enclosed_or_not_known():
    rng, known = np.random.default_rng(0), 0
    for _ in range(60):
        zeros, poles = (near_the_circle(rng, int(rng.integers(0, 61))) for _ in range(2))
        correlation = HalfPowers(zeros, poles)
        wrong, found = on_some_cells(correlation)
        assert wrong == 0, correlation
        known += found
    assert known > 500


def test_nothing_is_known_where_a_factor_vanishes():
    with np.errstate(all="ignore"):
        power, _ = HalfPowers((1 - 1e-16,)).power_on(corner(40, 1, low=True))
    assert not np.isfinite(power.radius).any()
