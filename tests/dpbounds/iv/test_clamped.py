"""Attenuation, limits of rho and the stretched union: values in print, ends of their ranges, refusals."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import expon, norm, poisson, uniform

from dpbounds import DomainError
from dpbounds.iv.clamped import attenuation, attenuation_limits, clipped_shares, limits, stretch
from dpbounds.iv.confidence import split_level, starting_line

LAWS = [
    (norm(), 1, 0.5, 0.0, (0.663020, 0.532807, 0.774538), (0.317311, 0.375345)),
    (norm(), 2, 1, 0.0, (0.917067, 0.818595, 0.975900), (0.045500, 0.160005)),
    (norm(), 1.5, -0.8, 0.0, (0.825978, 0.691229, 0.922469), (0.133614, 0.252688)),
    (norm(), 1, 0.5, 0.6, (0.649230, 0.519756, 0.761141), (0.399378, 0.319726)),
    (expon(-1), 1, 0.4, 0.0, (0.833597, 0.798103, 0.864665), (0.135335, 0.201897)),
    (expon(-1), 2, 1, 0.0, (0.914452, 0.864665, 0.950213), (0.049787, 0.135335)),
    (expon(-1), 1.5, -0.7, 0.0, (0.914209, 0.736646, 0.959238), (0.082085, 0.222031)),
]


@pytest.mark.parametrize(("law", "clip", "shift", "centre", "expected", "shares"), LAWS)
def test_attenuation(
    law: Any, clip: float, shift: float, centre: float, expected: tuple[float, ...], shares: tuple[float, ...]
) -> None:
    assert attenuation(law, clip, shift, centre) == pytest.approx(expected, abs=1e-6)
    above, below = clipped_shares(law, clip, shift, centre)
    assert np.add(above, below) == pytest.approx(shares, abs=1e-6)


def test_attenuation_at_its_ends() -> None:
    """Nothing clipped, everything clipped, hardly a shift, a path far beyond, a law of bounded support."""
    assert attenuation(uniform(-1, 2), 3.0, 1.0) == pytest.approx((1, 1, 1))
    assert attenuation(uniform(5, 1), 1.0, 2.0) == (0.0, 0.0, 0.0)
    assert attenuation(norm(), 1.0, 1e-12).value == pytest.approx(attenuation(norm(), 1.0, 0.0).value, rel=1e-9)
    assert attenuation(norm(), 1.0, 1e4).value == pytest.approx(1e-4, rel=1e-6)  # half of the clip is passed
    assert attenuation(uniform(-1, 2), 0.5, 1.0).value == pytest.approx(0.4375)  # half, less the eighth that leaves


@pytest.mark.parametrize(
    ("counts", "n", "scale", "given", "expected"),
    [
        ([[30, 80], [0, 0]], 1000, 7.72, {}, (0.857049, 1.0)),
        ([[30, 80], [5, 2]], 1000, 7.72, {}, (0.851036, 1.0)),
        ([[300, 800], [50, 20]], 10000, 21.1, {}, (0.896567, 0.978789)),
        ([[30, 80], [0, 0]], 1000, 7.72, {"heterogeneity": 2}, (0.714098, 1.0)),
        ([[1000, 1000], [0, 0]], 1000, 0.0, {}, (0.0, 0.072235)),
        ([[2000, 2000], [1000, 1000]], 1000, 0.0, {}, (0.0, 1.0)),
        ([[[0, 0], [0, 0]], [[1000, 1000], [0, 0]]], 1000, 0.0, {}, (12.971999, math.inf)),
    ],
)
def test_limits(counts: Any, n: float, scale: float, given: dict, expected: tuple[float, float]) -> None:
    found = limits(counts, n, scale, 0.005, **given)
    assert found == pytest.approx(expected, abs=1e-6)
    pair = limits(counts, [n, n], scale, 0.005, **given)
    assert pair == found
    wider = limits(counts, n, scale, 0.005, arm_scale=20.0, **given)
    assert wider.least <= found.least and wider.most >= found.most


@pytest.mark.parametrize(
    ("pieces", "given", "expected"),
    [
        ([(0.1, 0.3)], (0.9, 0.98, 0.5), [(0.602041, 0.833333)]),
        ([(-0.2, 0.1)], (0.85, 1, 0.5), [(0.264706, 0.617647)]),
        ([(-0.4, -0.1)], (0.8, 0.95, 0), [(-0.5, -0.105263)]),
        ([(-0.2, 0.3)], (0.7, 0.9, 1), [(0.714286, 1.428571)]),
        ([(0.1, 0.3)], (0, 0.5, 1), [(1.2, math.inf)]),
        ([(-0.3, -0.1)], (0, 0.5, 1), [(-math.inf, 0.8)]),
        ([(0.0, 0.3)], (0, 0.5, 1), [(-math.inf, math.inf)]),
        ([(0.2, 0.4)], (0.5, math.inf, 1), [(1.0, 1.8)]),
        ([(-math.inf, -0.1), (0.1, math.inf)], (0.5, 1, 0), [(-math.inf, -0.1), (0.1, math.inf)]),
        ([(-math.inf, 0.95), (1, math.inf)], (0.9, 1, 0), [(-math.inf, math.inf)]),
        ([], (0.5, 1, 0), []),
    ],
)
def test_stretch(pieces: list, given: tuple[float, float, float], expected: list) -> None:
    found = stretch(pieces, *given)
    assert np.shape(found) == np.shape(expected) and np.allclose(found, expected, atol=1e-6)
    assert stretch(found, 1.0, 1.0, 0.0) == found


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: attenuation(poisson(3), 1.0, 0.5), "law"),
        (lambda: attenuation("normal", 1.0, 0.5), "law"),
        (lambda: attenuation(norm(), 0.0, 0.5), "clip"),
        (lambda: attenuation(norm(), 1.0, math.nan), "shift"),
        (lambda: attenuation(norm(), 1.0, 0.5, math.inf), "centre"),
        (lambda: attenuation_limits([0.1, 1.2], [0.0, 0.0]), "above"),
        (lambda: attenuation_limits([0.1, 0.2], [0.0, 0.0], 0.9), "heterogeneity"),
        (lambda: limits([1, 2, 3, 4], 10, 1.0, 0.01), "counts"),
        (lambda: limits([[1, math.nan], [0, 0]], 10, 1.0, 0.01), "counts"),
        (lambda: limits([[1, 2], [0, 0]], [10, 10, 10], 1.0, 0.01), "per_arm"),
        (lambda: limits([[1, 2], [0, 0]], 0, 1.0, 0.01), "per_arm"),
        (lambda: limits([[1, 2], [0, 0]], 10, -1.0, 0.01), "count_scale"),
        (lambda: limits([[1, 2], [0, 0]], 10, 1.0, 0.0), "alpha"),
        (lambda: limits([[1, 2], [0, 0]], 10, 1.0, 0.01, heterogeneity=math.nan), "heterogeneity"),
        (lambda: stretch([(0, 1)], -0.1, 1, 0), "rho_min"),
        (lambda: stretch([(0, 1)], 0.9, 0.8, 0), "rho_max"),
        (lambda: stretch([(0, 1)], 0.0, 0.0, 0), "rho_max"),
        (lambda: stretch([(0, 1)], 0.9, 1, math.nan), "start"),
        (lambda: stretch([(1, 0)], 0.9, 1, 0), "pieces"),
        (lambda: stretch([(math.nan, 0)], 0.9, 1, 0), "pieces"),
        (lambda: stretch([3.0], 0.9, 1, 0), "pieces"),  # type: ignore[list-item]
        (lambda: starting_line([1.0, 2.0], 10, 1.0), "sums"),
        (lambda: starting_line([1.0] * 5, 10, math.nan), "scale"),
    ],
)
def test_refusals(call: Any, named: str) -> None:
    with pytest.raises(DomainError, match=named):
        call()


def test_levels_leave_the_level() -> None:
    for level in (0.5, 0.9, 0.95, 0.9999):
        test, missed = split_level(level)
        assert test - missed == pytest.approx(level) and missed < 1 - test
