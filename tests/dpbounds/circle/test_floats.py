"""Enclosures of means over the circle in float64, against closed forms."""

from __future__ import annotations

from typing import Any

import flint
import numpy as np
import pytest

from dpbounds.circle import arcs, floats
from dpbounds.circle.discs import Discs
from dpbounds.circle.floats import means

BITS = 300


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
    monkeypatch.setattr(floats, "NODES", 3)
    for name in ("AIM", "TOLERANCE"):
        monkeypatch.setattr(floats, name, 0.2)
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
