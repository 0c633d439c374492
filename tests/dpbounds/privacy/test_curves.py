"""The privacy curve in floats, digits and balls: one formula, and inverses that invert it."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from flint import arb

from dpbounds import DomainError
from dpbounds.arithmetic import FLOATS, balls, digits
from dpbounds.privacy import curves, gaussian_delta, gaussian_epsilon, gaussian_mu

PAIRS = [(0.01, 0.01), (0.5, 3.0), (1.0, 1.0), (5.0, 0.2), (30.0, 400.0)]


@pytest.mark.parametrize(("mu", "epsilon"), PAIRS)
def test_arithmetics_agree(mu, epsilon):
    with mpmath.workdps(200):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        delta = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        text = mpmath.nstr(delta, 60)
    with digits(50) as m:
        value = curves.delta_at(m, m.number(mu), m.number(epsilon))
        assert abs(value / arb(text) - 1) < 1e-44
        assert abs(m.exp(curves.log_delta_at(m, m.number(mu), m.number(epsilon))) / value - 1) < 1e-40
        assert abs(curves.epsilon_at(m, m.number(mu), value) / m.number(epsilon) - 1) < 1e-40
        assert abs(curves.mu_at(m, m.number(epsilon), value) / m.number(mu) - 1) < 1e-40
    assert float(curves.delta_at(FLOATS, mu, epsilon)) == pytest.approx(float(delta), rel=1e-12)


def test_floats_are_those_of_the_checked_functions():
    mus, epsilons = np.array([[0.5], [2.0]]), np.array([0.1, 1.0, 4.0])
    deltas = curves.delta_at(FLOATS, mus, epsilons)
    assert deltas.shape == (2, 3) and deltas[1, 2] == pytest.approx(float(gaussian_delta(2.0, 4.0)), rel=1e-15)
    assert curves.epsilon_at(FLOATS, 2.0, deltas[1]) == pytest.approx(epsilons, rel=1e-12)
    assert float(curves.epsilon_at(FLOATS, 2.0, 1e-3)) == float(gaussian_epsilon(2.0, 1e-3))
    assert float(curves.mu_at(FLOATS, 2.0, 1e-3)) == float(gaussian_mu(2.0, 1e-3))


def test_balls_hold_all_points_of_a_box():
    with balls(128) as m:
        mu, epsilon = m.number("1").union(m.number("1.1")), m.number("2").union(m.number("2.2"))
        enclosure = curves.delta_at(m, mu, epsilon)
        for share in (0.0, 0.3, 1.0):
            assert enclosure.contains(curves.delta_at(m, m.number(1 + 0.1 * share), m.number(2 + 0.2 * share)).mid())
        spent = curves.epsilon_at(m, mu, m.number("0.01"))
        for value in ("1", "1.05"):
            assert spent.contains(curves.epsilon_at(m, m.number(value), m.number("0.01")).mid())


def test_no_epsilon_is_spent_where_delta_is_large_enough():
    with balls(128) as m:
        assert curves.epsilon_at(m, m.number("0.1"), m.number("0.5")) == 0
    assert float(curves.epsilon_at(FLOATS, 0.1, 0.5)) == 0.0


def test_deltas_that_are_no_floats_are_refused():
    with balls(128) as m, pytest.raises(DomainError):
        curves.mu_at(m, m.number(1), m.number("1e-400"))
