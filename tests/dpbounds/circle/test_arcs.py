"""The cells of the circle and the powers on them against Arb at 300 bits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest

from dpbounds.circle.arcs import Cells, Powers, corner, first_cells, powers
from dpbounds.circle.discs import UNIT

BITS = 300


def test_powers_of_all_frequencies_within_their_errors():
    """s_t and v_t at frequencies from 1e-12 to pi - 1e-12, of s and sin(omega) as they are rounded in cells."""
    cells, rng = first_cells(92, 78, 100), np.random.default_rng(0)
    nodes = cells.nodes
    chosen = np.concatenate([rng.integers(0, len(nodes.radius), 30), [0, len(nodes.radius) - 1]])
    found = powers(nodes.s.centre[chosen], nodes.sine.centre[chosen], 100)
    with flint.ctx.workprec(BITS):
        ys = [cells.middle[k // 20] + cells.half[k // 20] * node for k, node in _nodes(chosen)]
        for row, y in enumerate(ys):
            omega = 2 * flint.arb(y).exp().atan()
            assert abs(flint.arb(nodes.s.centre[chosen[row]]) - (omega / 2).sin() ** 2) <= nodes.s.radius[chosen[row]]
            first, sine = float(found.versines[row, 0]), float(found.sines[row, 0])
            for t in (1, 2, 7, 31, 100):
                v = abs(flint.arb(found.versines[row, t - 1]) - 2 * (t * omega / 2).sin() ** 2)
                s = abs(flint.arb(found.sines[row, t - 1]) - (t * omega).sin())
                assert v <= min(found.error[t - 1], found.versine_error[t - 1] * first * 1.001)
                assert s <= min(found.error[t - 1], found.sine_error[t - 1] * sine * 1.001)


def _nodes(chosen: np.ndarray) -> list[tuple[int, Any]]:
    return [(int(k), flint.arb.legendre_p_root(20, int(k) % 20)) for k in chosen]


def test_discs_of_cells_hold_their_ellipses():
    cells, rng = Cells(np.array([-3.0, 0.1875, 0.0, 2.0]), np.array([0, 0, 2, 1]), 1), np.random.default_rng(0)
    points = cells.discs
    with flint.ctx.workprec(BITS):
        for index in range(4):
            for angle in rng.uniform(0, 2 * np.pi, 20):
                rho, half = flint.arb(2.6), flint.arb(cells.half[index])
                z = flint.acb(rho * np.cos(angle), rho * np.sin(angle))
                y = flint.acb(cells.middle[index]) + half * (z + 1 / z) / 2
                p = y.exp()
                s, omega = p * p / (1 + p * p), 2 * p.atan()
                middle = 2 * flint.arb(cells.middle[index]).exp().atan()
                assert abs(s - points.disc.centre[index]) <= points.disc.radius[index]
                assert abs(omega - middle) <= points.radius[index]
                assert abs(1 / y.cosh()) <= points.sine.upper()[index] / cells.shrink[index]


def test_corners_are_as_small_as_what_lies_beyond_the_cells():
    for low in (True, False):
        points = corner(20, 3, low=low)
        assert points.radius[0] == pytest.approx(2 * np.exp(-7.5), rel=1e-12)
        assert points.disc.centre[0] == (0.0 if low else 1.0) and points.disc.radius[0] >= np.sin(np.exp(-7.5)) ** 2


@pytest.mark.parametrize("first", [1e-9, 0.3, 1e3])
def test_error_bounds_are_rounded_up(first):
    """What is summed in floats is at least the same sum in fractions."""
    rng = np.random.default_rng(1)
    for n in (1, 7, 60):
        sizes, one, two = rng.random(n), rng.random(n) * 1e-15, rng.random(n) * 1e-15
        bounds = Powers(versines=one, sines=one, error=one, sine_error=two, versine_error=two)
        t, rounding = range(1, n + 1), [(n + 8) * Fraction(UNIT) * Fraction(size) for size in sizes]
        own, others = ([Fraction(a) * Fraction(b) for a, b in zip(sizes, err, strict=True)] for err in (one, two))
        for found, shares, powers_of_t in (
            (bounds.error_of_sines(sizes, np.array([first])), 1, list(t)),
            (bounds.error_of_versines(sizes, np.array([first])), 2, [k * k for k in t]),
        ):
            absolute = sum(own) + shares * sum(rounding)
            relative = sum(others) + sum(r * k for r, k in zip(rounding, powers_of_t, strict=True))
            assert Fraction(float(found[0])) >= min(absolute, relative * Fraction(first))
