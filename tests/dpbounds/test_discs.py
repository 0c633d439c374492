"""Discs in float64 and the cells of the circle against Arb at 300 bits."""

from __future__ import annotations

from typing import Any

import flint
import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.circle import arcs
from dpbounds.circle import floats as arc_integrals
from dpbounds.circle.arcs import Cells, corner, first_cells, powers
from dpbounds.circle.discs import Discs, discs
from dpbounds.circle.floats import means

BITS = 300


def random_discs(rng: np.random.Generator, n: int) -> Discs:
    """From points to discs of the size of their distance from 0."""
    centre = rng.normal(size=n) * 10.0 ** rng.integers(-6, 6, n)
    return Discs(centre, np.abs(centre) * 10.0 ** rng.uniform(-18, 0.2, n) * rng.integers(0, 2, n))


def points_of(given: Discs, rng: np.random.Generator) -> list[Any]:
    """A point of each disc, often on its edge."""
    shares = rng.choice([0.0, 1.0, 0.7], len(given.centre)) * (1 - 1e-14)
    angles = rng.choice([0.0, np.pi, 1.0], len(given.centre))
    return [
        flint.acb(c) + flint.acb(r) * flint.acb(np.cos(angle), np.sin(angle)) * share
        for c, r, share, angle in zip(given.centre.tolist(), given.radius.tolist(), shares, angles, strict=True)
    ]


def holds(found: Discs, truth: list[Any]) -> np.ndarray:
    """Whether each disc of finite radius holds the number; True where nothing is claimed."""
    rows = zip(np.ravel(found.centre).tolist(), np.ravel(found.radius).tolist(), truth, strict=True)
    return np.array([not np.isfinite(r) or bool(abs(x - flint.acb(c)) <= flint.arb(r)) for c, r, x in rows])


OPERATIONS = {
    "sum": (lambda x, y: x + y, 2),
    "difference": (lambda x, y: 3.0 - x - y, 2),
    "product": (lambda x, y: x * y, 2),
    "quotient": (lambda x, y: x / y, 2),
    "inverse": (lambda x, y: 1 / x, 1),
    "square": (lambda x, y: x**2, 1),
    "root": (lambda x, y: x.sqrt(), 1),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_discs_hold_all_results(name):
    operation, _ = OPERATIONS[name]
    rng = np.random.default_rng(1)
    with flint.ctx.workprec(BITS):
        for _ in range(40):
            x, y = random_discs(rng, 50), random_discs(rng, 50)
            if name == "root":
                x = Discs(np.abs(x.centre), x.radius)
            with np.errstate(all="ignore"):
                found = operation(x, y)
            truth = [operation(a, b) for a, b in zip(points_of(x, rng), points_of(y, rng), strict=True)]
            assert holds(found, truth).all()
            exact = [operation(flint.acb(a), flint.acb(b)) for a, b in zip(x.centre.tolist(), y.centre, strict=True)]
            # rounding is in the radius: without it some discs of points would miss
            assert not holds(Discs(found.centre, 0.0 * found.centre), exact).all()


def test_what_a_disc_does_not_know_is_not_finite():
    around_zero = Discs(np.array([0.0, 1.0, -1.0]), np.array([0.0, 1.0, 2.0]))
    assert np.isinf(around_zero.inverse().radius).all() and np.isinf(around_zero.sqrt().radius).all()
    assert around_zero.lower().tolist() == [0.0, 0.0, 0.0]
    for call in (lambda: discs().exp(Discs(1.0)), lambda: discs().number("0.1"), lambda: Discs(1.0) ** 3):
        with pytest.raises(DomainError):
            call()


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


@pytest.mark.parametrize("x", [0.3, 1e-3, 1e-6, 1.7, 1.999])
def test_means_of_poisson_kernels(x):
    """1 / |1 - x - e^{i omega}|^2 has the mean 1 / (x (2 - x))."""

    def kernel(points: Any) -> list[Discs]:
        near = Discs(x) ** 2 + 4.0 * (1.0 - Discs(x)) * points.disc
        far = (2.0 - Discs(x)) ** 2 + 4.0 * (Discs(x) - 1.0) * points.far
        return [(near if x <= 1 else far).inverse(), Discs(np.ones_like(points.radius))]

    found = means(kernel, 1, 1)
    assert found is not None
    with flint.ctx.workprec(BITS):
        truth = 1 / (flint.arb(x) * (2 - flint.arb(x)))
        assert found[0].contains(truth) and found[1].contains(1)
        assert float(found[0].rad()) < 1e-11 * float(truth)


def test_the_error_of_the_gauss_rule_is_in_the_enclosure(monkeypatch):
    """With three nodes to a cell it is visible, and the largest part."""
    caches = (arcs._gauss, arcs._scale, arcs.first_cells)
    monkeypatch.setattr(arcs, "NODES", 3)
    monkeypatch.setattr(arc_integrals, "NODES", 3)
    for name in ("AIM", "TOLERANCE"):
        monkeypatch.setattr(arc_integrals, name, 0.2)
    for cache in caches:
        cache.cache_clear()
    try:
        for x in (0.3, 0.05, 0.01, 1e-4):
            found = means(lambda points, x=x: [(Discs(x) ** 2 + 4.0 * (1.0 - Discs(x)) * points.disc).inverse()], 1, 1)
            assert found is not None
            truth = 1.0 / (x * (2.0 - x))
            assert found[0].contains(flint.arb(truth)) and abs(float(found[0].mid()) / truth - 1.0) > 1e-11
    finally:
        for cache in caches:
            cache.cache_clear()


def test_a_pole_on_the_circle_is_not_integrated():
    for place in (0.0, 0.3, 1.0):
        assert means(lambda points, s=place: [((points.disc - s) ** 2).inverse()], 1, 1) is None


def test_corners_are_as_small_as_what_lies_beyond_the_cells():
    for low in (True, False):
        points = corner(20, 3, low=low)
        assert points.radius[0] == pytest.approx(2 * np.exp(-7.5), rel=1e-12)
        assert points.disc.centre[0] == (0.0 if low else 1.0) and points.disc.radius[0] >= np.sin(np.exp(-7.5)) ** 2
