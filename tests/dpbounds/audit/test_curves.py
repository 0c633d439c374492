"""Privacy curves of known laws against quadrature, another accountant and brute force."""

from __future__ import annotations

import math

import dp_accounting
import mpmath
import numpy as np
import pytest
from dp_accounting import pld
from scipy.integrate import quad
from scipy.stats import norm

from dpbounds import DomainError
from dpbounds.audit import (
    laplace_delta,
    laplace_epsilon,
    pair_delta,
    poisson_delta,
    poisson_epsilon,
    shuffled_delta,
    shuffled_epsilon,
)
from dpbounds.audit.losses import rounded
from dpbounds.privacy import gaussian_delta, gaussian_epsilon

# A kink between two points costs about the square of their distance.
LINE = np.linspace(-40.0, 40.0, 800_001)


def hockey_stick(p, q, epsilon):
    """int (p - e^epsilon q)_+ on a line, by the trapezoid rule."""
    return float(np.maximum(p(LINE) - math.exp(epsilon) * q(LINE), 0.0).sum() * (LINE[1] - LINE[0]))


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.9])
def test_one_laplace_output(epsilon):
    def density(x):
        return np.exp(-np.abs(x)) / 2

    expected = hockey_stick(density, lambda x: density(x - 1.2), epsilon)
    assert laplace_delta(epsilon, [1.2])[0] == laplace_delta(epsilon, [1.2])[1] == pytest.approx(expected, abs=1e-8)
    assert laplace_epsilon(laplace_delta(epsilon, [1.2])[0], [1.2])[1] == pytest.approx(epsilon, abs=1e-9)


def test_two_laplace_outputs_by_quadrature_over_both():
    """Condition on the loss of the first: an atom at each end, a density between."""
    a, b, epsilon = 0.4, 0.7, 0.5

    def rest(loss):
        left = epsilon - loss
        if left >= b:
            return 0.0
        return 1 - math.exp(left) if left < -b else (1 - math.exp((left - b) / 2) if left >= 0 else _negative(left, b))

    def _negative(left, ratio):
        # delta(-e) = 1 - e^{-e} + e^{-e} delta(e).
        return 1 - math.exp(left) + math.exp(left) * (1 - math.exp((-left - ratio) / 2))

    inside = quad(lambda loss: math.exp((loss - a) / 2) / 4 * rest(loss), -a, a, points=[epsilon - b], epsabs=1e-14)[0]
    expected = rest(a) / 2 + math.exp(-a) / 2 * rest(-a) + inside
    low, high = laplace_delta(epsilon, [a, b])
    assert low <= expected <= high and high - low < 1e-3 * expected


@pytest.mark.parametrize(("ratios", "delta"), [([0.1] * 50, 1e-5), ([0.5] * 4, 1e-3)])
def test_many_laplace_outputs_beside_another_accountant(ratios, delta):
    accountant = pld.PLDAccountant()
    for ratio in ratios:
        accountant.compose(dp_accounting.LaplaceDpEvent(1 / ratio))
    low, high = laplace_epsilon(delta, ratios)
    assert low - 1e-3 <= accountant.get_epsilon(delta) <= high + 1e-3 and high - low < 2e-3
    assert laplace_epsilon(0.0, ratios) == (pytest.approx(sum(ratios)), pytest.approx(sum(ratios)))


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 2.0])
@pytest.mark.parametrize(("mu", "rate"), [(1.0, 0.1), (0.5, 0.5), (3.0, 0.02)])
def test_one_sampled_step_by_quadrature(epsilon, mu, rate):
    def mixture(x):
        return (1 - rate) * norm.pdf(x) + rate * norm.pdf(x - mu)

    for first in (True, False):
        p, q = (mixture, norm.pdf) if first else (norm.pdf, mixture)
        expected = hockey_stick(p, q, epsilon)
        assert poisson_delta(epsilon, mu, rate, record_first=first) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(
    ("noise", "rate", "steps", "delta"), [(1.0, 0.01, 100, 1e-5), (0.8, 0.004, 2000, 1e-6), (2.0, 0.2, 30, 1e-4)]
)
def test_many_sampled_steps_beside_another_accountant(noise, rate, steps, delta):
    accountant = pld.PLDAccountant()
    step = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))
    accountant.compose(dp_accounting.SelfComposedDpEvent(step, steps))
    theirs = accountant.get_epsilon(delta)
    low, high = poisson_epsilon(1 / noise, rate, steps, delta)
    assert low * (1 - 1e-4) <= theirs <= high * 1.02 and high / low < 1.03


def test_sampled_steps_at_the_ends():
    one = poisson_epsilon(1.0, 0.1, 1, 1e-5)
    assert one[0] <= one[1] <= one[0] * 1.001
    exact = max(poisson_delta(one[0], 1.0, 0.1, record_first=first) for first in (True, False))
    assert exact == pytest.approx(1e-5, rel=2e-3)
    assert poisson_epsilon(0.5, 1.0, 4, 1e-6)[0] == pytest.approx(float(gaussian_epsilon(1.0, 1e-6)), rel=1e-12)


def test_shuffled_batches_are_between_their_bounds():
    """Two batches: the likelihood ratio is (e^{mu x - mu^2/2} + e^{mu y - mu^2/2})/2, by quadrature in the plane."""
    mu, epsilon = 1.5, 0.7
    grid = np.linspace(-9, 11, 2001)
    x, y = np.meshgrid(grid, grid, indexing="ij")
    base = norm.pdf(x) * norm.pdf(y)
    ratio = (np.exp(mu * x - mu * mu / 2) + np.exp(mu * y - mu * mu / 2)) / 2
    cell = (grid[1] - grid[0]) ** 2
    true = max(
        np.sum(base * np.maximum(ratio - math.exp(epsilon), 0)),
        np.sum(base * np.maximum(1 - math.exp(epsilon) * ratio, 0)),
    )
    low, high = shuffled_delta(epsilon, mu, 2)
    assert low <= true * cell * (1 + 1e-4) and true * cell <= high and low > 0.8 * true * cell
    assert high == pytest.approx(float(gaussian_delta(mu, epsilon)), rel=1e-12)
    assert shuffled_epsilon(mu, 1, 1e-5)[0] == pytest.approx(float(gaussian_epsilon(mu, 1e-5)), rel=1e-6)
    assert shuffled_epsilon(mu, 100, 1e-5)[0] < shuffled_epsilon(mu, 100, 1e-5)[1]


@pytest.mark.parametrize(("first", "second"), [(4.0, 1.0), (1.0, 4.0), (1.0, 1.0), (0.3, 1.1)])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 3.0])
def test_pairs_on_a_line_by_quadrature(first, second, epsilon):
    p, q = norm(0.8, math.sqrt(first)).pdf, norm(0.0, math.sqrt(second)).pdf
    found = pair_delta(epsilon, [0.8], first, second)
    assert found == pytest.approx(hockey_stick(p, q, epsilon), abs=1e-8)


def test_pairs_in_the_plane_by_quadrature():
    A, B, shift = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[1.0, -0.3], [-0.3, 1.5]]), np.array([0.4, 0.9])
    grid = np.linspace(-13, 13, 1301)
    points = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1)

    def density(mean, covariance):
        moved = points - mean
        form = np.einsum("...i,ij,...j->...", moved, np.linalg.inv(covariance), moved)
        return np.exp(-form / 2) / (2 * math.pi * math.sqrt(np.linalg.det(covariance)))

    for epsilon in (0.2, 1.5):
        gap = np.maximum(density(shift, A) - math.exp(epsilon) * density(np.zeros(2), B), 0)
        assert pair_delta(epsilon, shift, A, B) == pytest.approx(gap.sum() * 4e-4, rel=1e-3)


def test_pairs_far_in_the_tail_and_without_noise():
    assert pair_delta(30.0, [1.0, 0.0], np.diag([1.0, 1.3]), np.eye(2)) == pytest.approx(
        float(_tail(30.0, 1.0, 1.3)), rel=1e-6
    )
    assert pair_delta(1.0, [0.0, 1.0], np.diag([1.0, 0.0]), np.diag([1.0, 0.0])) == 1.0
    assert pair_delta(1.0, [1.0, 0.0], np.diag([1.0, 0.0]), np.diag([1.0, 0.0])) == pytest.approx(
        float(gaussian_delta(1.0, 1.0)), rel=1e-12
    )


def _tail(epsilon, m, a):
    """One coordinate moves by m, the other has variance a against 1: given the latter, a Gaussian curve is left."""
    with mpmath.workdps(30):

        def inner(w):
            left = epsilon - ((a - 1) * w * w / 2 - mpmath.log(a) / 2)
            x = left / m - mpmath.mpf(m) / 2
            value = mpmath.ncdf(-x) - mpmath.exp(left) * mpmath.ncdf(-x - m)
            return value * mpmath.npdf(w)

        return 2 * mpmath.quad(inner, [0, 3, 6, 9, 12, 16], maxdegree=5)


def test_rounding_is_on_its_side():
    def cdf(loss):
        return norm.cdf(loss - 0.5)

    exact = quad(lambda x: (1 - math.exp(0.3 - x)) * norm.pdf(x - 0.5), 0.3, 12)[0]
    for power in (1, 4):
        bounds = [rounded(cdf, (-8.0, 9.0), 0.01, up).power(power).delta(0.3) for up in (False, True)]
        assert bounds[0] < bounds[1]
        if power == 1:
            assert bounds[0] < exact < bounds[1]


@pytest.mark.parametrize(
    "call",
    [
        lambda: laplace_delta(-1.0, [1.0]),
        lambda: laplace_delta(0.1, [-1.0]),
        lambda: laplace_delta(math.nan, [1.0]),
        lambda: poisson_delta(0.1, 1.0, 1.5),
        lambda: poisson_epsilon(1.0, 0.1, 0, 1e-5),
        lambda: pair_delta(0.1, [1.0], -1.0, 1.0),
        lambda: pair_delta(0.1, [1.0, 2.0], np.eye(3), 1.0),
        lambda: shuffled_epsilon(math.inf, 3, 1e-5),
    ],
)
def test_what_has_no_curve(call):
    with pytest.raises(DomainError):
        call()
