"""Losses: gradients against differences, curvature ranges against samples and linear programs, minimisers against
digits.
"""

from __future__ import annotations

from itertools import product
from typing import Any, cast

import mpmath
import numpy as np
import pytest
from scipy import integrate, optimize

from dpbounds import DomainError
from simulators.ftrl import (
    Huber,
    Logistic,
    LogSumExp,
    PiecewiseQuadratic,
    Quadratic,
    kinked_quadratic,
    piecewise_quadratic,
)

PLANE = PiecewiseQuadratic(
    curvature=1.0,
    directions=((1.0, 0.0), (-0.6, 0.8), (0.3, -1.2), (-1.0, -1.0)),
    offsets=(0.0, 0.5, 0.2, 1.0),
    weights=(-0.5, 2.0, 0.7, -0.1),
)
LOSSES = {
    "quadratic": Quadratic(eigenvalues=(0.1, 1.0, 0.4)),
    "kinked": kinked_quadratic(0.1, 1.0),
    "kinked, d = 3": kinked_quadratic(0.1, 1.0, 3),
    "piecewise": piecewise_quadratic((-1.0, -0.5, 0.0, 0.3, 2.0), (0.5, 0.2, 1.0, 3.0, 0.1, 0.7)),
    "piecewise, d = 2": PLANE,
    "Huber": Huber(mu=0.1, L=2.0, scale=0.7),
    "Huber, d = 3": Huber(mu=0.1, L=2.0, scale=0.7, dimension=3),
    "logistic": Logistic(mu=0.05, L=1.5, scale=0.4, samples=7),
    "logistic, d = 3": Logistic(mu=0.05, L=1.5, dimension=3, samples=20, seed=1),
    "logistic, mu = L": Logistic(mu=0.7, L=0.7, dimension=2),
    "log-sum-exp": LogSumExp(mu=0.02, L=1.0, scale=3.0, seed=2),
    "log-sum-exp, d = 2": LogSumExp(mu=0.02, L=1.0, dimension=2, seed=3),
}
EVERY = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())


def points(loss, count: int, seed: int = 0) -> np.ndarray:
    """At all distances from the minimiser, from far below the loss's own lengths to far above."""
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((count, loss.dimension))
    return loss.minimiser + directions * np.geomspace(1e-2, 1e2, count)[:, None]


# --- values, gradients, curvature ---


@EVERY
def test_the_gradient_is_that_of_the_function(loss):
    """Central differences of F, along random directions, at random points."""
    theta = points(loss, 200)
    direction = np.random.default_rng(1).standard_normal(theta.shape)
    for step in (1e-3, 1e-4):
        forward, backward = loss.suboptimality(theta + step * direction), loss.suboptimality(theta - step * direction)
        slope = np.einsum("nd,nd->n", loss.gradient(theta), direction)
        size = 1.0 + np.linalg.norm(theta, axis=1) ** 2
        curvature = loss.L * np.sum(direction**2, axis=1)
        assert np.all(np.abs((forward - backward) / (2.0 * step) - slope) <= step * curvature + 1e-12 * size / step)


@EVERY
def test_the_function_is_the_integral_of_the_gradient(loss):
    """F(theta) - F* = int_0^1 <grad F(theta* + s (theta - theta*)), theta - theta*> ds, by adaptive quadrature."""
    for theta in points(loss, 4, seed=2):
        leap = theta - loss.minimiser

        def slope(s: float, leap=leap) -> float:
            return float(loss.gradient((loss.minimiser + s * leap)[None])[0] @ leap)

        expected = integrate.quad(slope, 0.0, 1.0, epsabs=0.0, epsrel=1e-11, limit=500)[0]
        assert loss.suboptimality(theta[None])[0] == pytest.approx(expected, rel=1e-9, abs=1e-13)


@EVERY
def test_leading_axes_are_kept(loss):
    theta = points(loss, 24)
    folded = theta.reshape(2, 3, 4, loss.dimension)
    assert loss.suboptimality(folded) == pytest.approx(loss.suboptimality(theta).reshape(2, 3, 4))
    assert loss.gradient(folded) == pytest.approx(loss.gradient(theta).reshape(folded.shape))


def extremes(loss) -> tuple[float, float]:
    """Smallest <p, x> / |x|^2 and largest |p|^2 / <p, x> over pairs, x and p their differences of theta and
    gradient.
    """
    theta = points(loss, 4000, seed=3)
    other = theta + np.random.default_rng(4).standard_normal(theta.shape) * np.geomspace(1e-3, 10, 4000)[::-1, None]
    x, p = theta - other, loss.gradient(theta) - loss.gradient(other)
    product_ = np.sum(p * x, axis=1)
    return float(np.min(product_ / np.sum(x**2, axis=1))), float(np.max(np.sum(p**2, axis=1) / product_))


@EVERY
def test_mu_and_L_are_the_range_of_the_curvature(loss):
    """No pair of points violates mu or L, and some come within 10 % of each: 1.1 mu and 0.9 L are refuted."""
    smallest, largest = extremes(loss)
    assert loss.mu * (1.0 - 1e-6) <= smallest < 1.1 * loss.mu
    assert 0.9 * loss.L < largest <= loss.L * (1.0 + 1e-6)


@EVERY
def test_the_minimiser_is_one(loss):
    best = loss.minimiser[None]
    assert np.linalg.norm(loss.gradient(best)) <= 1e-12 * loss.L * (1.0 + np.linalg.norm(best))
    assert loss.suboptimality(best)[0] == pytest.approx(0.0, abs=1e-15)
    assert np.all(loss.suboptimality(points(loss, 500)) > 0)


@pytest.mark.parametrize("kind", [Logistic, LogSumExp])
def test_smooth_losses_against_their_formulas_in_50_digits(kind):
    """Minimiser to 1e-12 and F - F* from the definitions, on the design that the loss states."""
    loss = kind(mu=0.05, L=2.0, dimension=2, scale=1.7, seed=5)

    def unit(*x):
        margins = [sum(mpmath.mpf(a) * y for a, y in zip(row, x, strict=True)) for row in loss.design.tolist()]
        ridge = mpmath.mpf(loss.mu) / mpmath.mpf(loss.L)
        if kind is Logistic:
            data = sum(mpmath.log1p(mpmath.exp(-m)) for m in margins) / len(margins)
        else:
            data = mpmath.log(sum(mpmath.exp(m) for m in margins))
        return (1 - ridge) * data + ridge / 2 * sum(y**2 for y in x)

    with mpmath.workdps(50):
        slopes = [lambda x, y, k=k: mpmath.diff(unit, (x, y), k) for k in ((1, 0), (0, 1))]
        root = mpmath.findroot(slopes, (0.1, 0.1))
        theta = [mpmath.mpf(0.3), mpmath.mpf(-2)]
        scale = mpmath.mpf(loss.scale)
        value = loss.L * scale**2 * (unit(*(t / scale for t in theta)) - unit(*root))
    assert loss.minimiser / loss.scale == pytest.approx([float(r) for r in root], rel=0, abs=1e-12)
    assert loss.suboptimality(np.array([[0.3, -2.0]]))[0] == pytest.approx(float(value), rel=1e-12)


# --- piecewise-linear gradients ---


def test_piecewise_quadratic_has_the_slopes_that_were_asked_for():
    breakpoints, slopes = (-1.0, -0.5, 0.3, 2.0), (0.5, 0.2, 1.0, 3.0, 0.1)
    loss = piecewise_quadratic(breakpoints, slopes)
    middles = np.array([-2.0, -0.7, 0.1, 1.0, 3.0])[:, None]
    found = (loss.gradient(middles + 0.05) - loss.gradient(middles - 0.05)) / 0.1
    assert found[:, 0] == pytest.approx(np.array(slopes))
    assert (loss.mu, loss.L) == pytest.approx((0.1, 3.0))
    kinked = kinked_quadratic(0.1, 1.0)
    assert kinked.gradient(np.array([[2.0], [-2.0]])) == pytest.approx(np.array([[0.2], [-2.0]]))
    same = piecewise_quadratic((0.0,), (1.0, 0.1))
    assert same.suboptimality(middles) == pytest.approx(kinked.suboptimality(middles))
    huber = piecewise_quadratic((-0.7, 0.7), (0.1, 2.0, 0.1))
    assert huber.suboptimality(middles) == pytest.approx(Huber(mu=0.1, L=2.0, scale=0.7).suboptimality(middles))


def cells(loss: PiecewiseQuadratic) -> tuple[float, float]:
    """Extreme eigenvalues over all sets of active ridges that a linear program finds to be open cells."""
    a, b, c = np.array(loss.directions), np.array(loss.offsets), np.array(loss.weights)
    a, b, c = a / np.linalg.norm(a, axis=1)[:, None], b / np.linalg.norm(a, axis=1), c * np.sum(a**2, axis=1)
    found = []
    for active in product((False, True), repeat=len(a)):
        sides = np.where(active, -1.0, 1.0)[:, None]
        rows = np.hstack([sides * a, np.ones((len(a), 1))])
        box = [(-1e3, 1e3)] * loss.dimension + [(None, 1.0)]
        program = optimize.linprog(
            np.eye(loss.dimension + 1)[-1] * -1.0, A_ub=rows, b_ub=sides[:, 0] * b, bounds=box, method="highs"
        )
        if program.x[-1] > 1e-7:
            hessian = loss.curvature * np.eye(loss.dimension) + (a.T * (c * active)) @ a
            found += np.linalg.eigvalsh(hessian).tolist()
    return min(found), max(found)


def arrangements() -> list[PiecewiseQuadratic]:
    """Random lines, some through the origin, some parallel, opposite or equal; weights that keep F convex."""
    rng = np.random.default_rng(6)
    found = []
    for number in range(15):
        a = rng.standard_normal((4, 2))
        b = rng.exponential(size=4) * (rng.random(4) < 0.6)
        if number % 3 == 0:
            a[1], b[1] = -a[0], b[0] * rng.integers(2)
        if number % 5 == 0:
            a[3], b[3] = 2.0 * a[2], 2.0 * b[2]
        c = rng.uniform(-0.2, 1.0, 4) / np.sum(a**2, axis=1)
        found.append(
            PiecewiseQuadratic(
                curvature=1.0,
                directions=tuple(map(tuple, a.tolist())),
                offsets=tuple(b.tolist()),
                weights=tuple(c.tolist()),
            )
        )
    return found


def test_curvature_range_in_the_plane_by_linear_programs():
    """All 16 sets of active ridges, each kept if the half-planes have an open intersection."""
    for loss in [PLANE, *arrangements()]:
        assert (loss.mu, loss.L) == pytest.approx(cells(loss), rel=1e-9)


def test_curvature_range_on_axes_by_linear_programs():
    kinked = kinked_quadratic(0.1, 1.0, 4)
    opposite = PiecewiseQuadratic(
        curvature=0.5, directions=((1.0,), (-1.0,), (2.0,)), offsets=(0.0, 0.0, 1.0), weights=(0.3, 0.2, -0.15)
    )
    assert (kinked.mu, kinked.L) == pytest.approx(cells(kinked))
    assert (opposite.mu, opposite.L) == pytest.approx(cells(opposite))
    assert (opposite.mu, opposite.L) == pytest.approx((0.2, 0.8))


# --- refusals ---


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Quadratic(eigenvalues=(1.0, 0.0)), r"eigenvalues\[1\]"),
        (lambda: Huber(mu=2.0, L=1.0), r"^mu = 2.0 .*at most L = 1"),
        (lambda: Huber(mu=0.0, L=1.0), "^mu = "),
        (lambda: Huber(mu=0.1, L=1.0, scale=0.0), "^scale = "),
        (lambda: Logistic(mu=0.1, L=1.0, samples=0), "^samples = "),
        (lambda: LogSumExp(mu=0.1, L=1.0, dimension=0), "^dimension = "),
        (lambda: LogSumExp(mu=0.1, L=1.0, seed=-1), "^seed = "),
        (lambda: kinked_quadratic(1.0, 0.5), "^mu = "),
        (lambda: kinked_quadratic(0.5, 1.0, -1), "^dimension = "),
        (lambda: kinked_quadratic(0.5, 1.0, cast(Any, 1.5)), "^dimension = "),
        (lambda: piecewise_quadratic((1.0,), cast(Any, True)), "^slopes = "),
        (lambda: piecewise_quadratic((1.0, 0.0), (1.0, 1.0, 1.0)), "^breakpoints = .*increasing"),
        (lambda: piecewise_quadratic((0.0,), (1.0,)), "^slopes = .*2 numbers"),
        (lambda: piecewise_quadratic((0.0,), (1.0, -1.0)), r"^slopes\[1\]"),
    ],
)
def test_losses_outside_their_ranges_are_refused(make, message):
    with pytest.raises(DomainError, match=message):
        make()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"offsets": (-1.0, 0.0)}, "^offsets = .*minimiser"),
        ({"offsets": (1.0,)}, "^offsets = .*2 numbers"),
        ({"weights": (1.0,)}, "^weights = .*2 numbers"),
        ({"weights": (-1.0, 0.0)}, "^weights = .*smallest curvature"),
        ({"directions": ((1.0, 0.0), (1.0,))}, "^directions = .*one length"),
        ({"directions": ((1.0, 0.0), (0.0, 0.0))}, "^directions = .*nonzero"),
        ({"directions": ((1.0, 1.0, 0.0), (0.0, 1.0, 0.0))}, "^directions = .*more than two dimensions"),
        ({"curvature": np.nan}, "^curvature = "),
    ],
)
def test_ridges_that_do_not_fit_together_are_refused(changed, message):
    fields = {"curvature": 1.0, "directions": ((1.0, 0.0), (1.0, 1.0)), "offsets": (0.0, 1.0), "weights": (0.5, 0.5)}
    with pytest.raises(DomainError, match=message):
        PiecewiseQuadratic(**{**fields, **changed})
