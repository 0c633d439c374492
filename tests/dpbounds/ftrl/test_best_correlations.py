"""Searches for the best correlations of strongly convex losses: better than others, on the whole range."""

import mpmath
import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.arithmetic import balls
from dpbounds.ftrl import correlations as c
from dpbounds.ftrl import strongly_convex as sc
from dpbounds.ftrl.strongly_convex import Noise
from dpbounds.ftrl.strongly_convex.certificate import program_fraction


@pytest.mark.parametrize(("mu", "eta", "sigma"), [(0.01, 0.1, 0.0), (0.1, 0.5, 1.0), (0.3, 1.2, 0.0)])
@pytest.mark.usefixtures("signatures_unchecked")
def test_the_alternation_ends_at_a_better_causal_correlation(mu, eta, sigma):
    problem = sc.StronglyConvex(mu=mu, L=1.0, eta=eta, rho=0.5, sigma_sgd=sigma)
    found = sc.optimize_correlation(problem, max_lag=8, program="f")
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in zip(found.history, found.history[1:], strict=False))
    assert float(found.bound.value) == pytest.approx(found.history[-1], rel=1e-6) and found.bound.value.certified
    best, white = found.best_nu.bound, sc.bound(c.independent(), problem, max_lag=8, program="f")
    assert float(found.bound.value) <= float(best.value) <= float(white.value) and 0 < found.best_nu.nu <= 1
    assert found.history[0] == pytest.approx(white.grid_value, rel=1e-9)
    assert float(found.independent.best) == pytest.approx(float(white.best), rel=1e-8)
    assert found.tightest.best == min(found.bound.best, best.best) and found.tightest.best <= found.independent.best


@pytest.mark.usefixtures("signatures_unchecked")
@pytest.mark.parametrize("certify", [True, False])
def test_no_search_ends_above_independent_noise(certify):
    """At eta L = 1.9 co-coercivity, eta N / (2 (2 - eta L)), is below the program for all that is searched."""
    found = sc.optimize_correlation(
        sc.StronglyConvex(mu=0.1, L=1.0, eta=1.9, rho=0.5), max_lag=4, certify=certify, program="f"
    )
    assert found.best_nu.nu == 1.0 and found.best_nu.bound is found.independent is found.tightest
    assert float(found.tightest.best) == pytest.approx(9.5, rel=1e-8) and found.tightest.best < found.bound.best
    bounds = (found.bound, found.independent)
    assert {b.value.certified for b in bounds} == {certify} and {b.best.certified for b in bounds} == {certify}


@pytest.mark.usefixtures("signatures_unchecked")
@pytest.mark.parametrize(("mu", "eta"), [(1.0, 1e-8), (0.1, 1e-7), (1e-6, 1e-2), (1.0, 1.0)])
def test_correlations_are_optimised_on_the_whole_range(mu, eta):
    """Roots of psi as near to frequency 0 as -(eta mu)^2 / 4 are off [0, 1]."""
    for program in ("f", "theta"):
        found = sc.optimize_correlation(sc.StronglyConvex(mu=mu, L=1.0, eta=eta, rho=0.5), program=program, max_lag=3)
        assert found.bound.value.certified and found.bound.value <= found.best_nu.bound.value * (1 + 1e-6)
        assert float(found.bound.value) == pytest.approx(found.history[-1], rel=1e-4)


@pytest.mark.usefixtures("signatures_unchecked")
def test_searches_use_the_nodes_asked_for_and_a_program_that_bounds():
    problem, options = sc.StronglyConvex(mu=0.1, L=1.0, eta=0.3, rho=0.5), {"max_lag": 2, "certify": False}
    for search in (sc.best_nu, sc.optimize_correlation):
        few, many = (search(problem, nodes=nodes, **options).bound for nodes in (100, 800))
        assert few.nodes < 400 and many.nodes >= 800 and few.grid_value == pytest.approx(many.grid_value, rel=1e-6)
        with pytest.raises(DomainError, match=r"program = paper .*f or theta; .*bounds nothing"):
            search(problem, program="paper")


def test_the_optimised_correlation_in_the_time_domain():
    """Its coefficients alone, convolved and summed, give its spectrum, its sensitivity and a quadratic's error."""
    found = sc.optimize_correlation(sc.StronglyConvex(mu=0.1, L=1.0, eta=0.5, rho=0.5), max_lag=8, program="f")
    T, h, eta = 4000, found.bound.curvature, 0.5
    beta, inverse = found.correlation.coefficients(T), found.correlation.inverse_coefficients(T)
    assert np.convolve(beta, inverse)[:50] == pytest.approx(np.eye(50)[0], abs=1e-10)
    gamma_squared = float(inverse @ inverse)
    assert gamma_squared == pytest.approx(float(found.correlation.limiting_sensitivity()) ** 2, rel=1e-9)
    impulse = np.convolve(beta, (1 - eta * h) ** np.arange(T))[:T] * eta
    assert h / 2 * gamma_squared * float(impulse @ impulse) == pytest.approx(float(found.bound.lower), rel=1e-7)
    fraction = program_fraction(found.bound.program, list(found.bound.multipliers))
    with balls(200):
        from flint import arb

        roots = [(fraction.at(arb(s)) ** -1).sqrt() for s in (0.001, 0.1, 0.5, 0.9)]
    ratio = found.correlation.power_spectrum(2 * np.arcsin(np.sqrt([0.001, 0.1, 0.5, 0.9]))) / np.array(roots, float)
    assert ratio == pytest.approx(ratio[0], rel=1e-4)


def test_the_best_nu_is_no_worse_than_its_neighbours():
    best = sc.best_nu(sc.StronglyConvex(mu=0.05, L=1.0, eta=0.3, rho=0.5), max_lag=4, program="f")
    assert best.bound.value.certified and best.bound.noise == Noise(correlation=c.nu(best.nu), rho=0.5)
    for factor in (0.5, 0.9, 1.1, 2.0):
        other = sc.bound(
            c.nu(min(best.nu * factor, 1.0)),
            sc.StronglyConvex(mu=0.05, L=1.0, eta=0.3, rho=0.5),
            max_lag=4,
            certify=False,
            program="f",
        )
        assert best.bound.grid_value <= other.grid_value


def test_half_powers_contain_nu():
    ours, nu = c.HalfPowers((0.7,)), c.nu(0.3)
    assert ours.coefficients(50) == pytest.approx(nu.coefficients(50), abs=1e-11)
    assert ours.inverse_coefficients(50) == pytest.approx(nu.inverse_coefficients(50), abs=1e-11)
    assert float(ours.limiting_sensitivity()) == pytest.approx(float(nu.limiting_sensitivity()), rel=1e-12)


def test_half_powers_from_the_roots_of_their_spectrum():
    zeros, poles = np.array([-0.3, 1.5 + 0.2j, 1.5 - 0.2j]), np.array([2.0, -1e-4], dtype=complex)
    correlation = c.half_powers_from_roots(zeros, poles)
    s = np.array([0.0, 1e-5, 0.2, 0.7, 1.0])
    wanted = np.sqrt(np.abs(np.polyval(np.poly(zeros), s) / np.polyval(np.poly(poles), s)))
    ratio = correlation.power_spectrum(2 * np.arcsin(np.sqrt(s))) / wanted
    assert ratio == pytest.approx(ratio[0], rel=1e-12) and correlation.degree == 3
    with pytest.raises(DomainError, match=r"zeros = .*off the interval"):
        c.half_powers_from_roots(np.array([0.5 + 0j]), poles)
    with pytest.raises(DomainError, match=r"poles = .*inside the unit disc"):
        c.HalfPowers((0.5,), (1.0,))


def test_half_powers_are_the_taylor_series():
    zeros, poles = (0.9, 0.3 + 0.5j), (-0.4,)

    def generating(z):
        pair = (1 - zeros[1] * z) * (1 - mpmath.conj(zeros[1]) * z)
        return mpmath.sqrt((1 - zeros[0] * z) * pair / (1 - poles[0] * z))

    with mpmath.workdps(40):
        series = [float(mpmath.re(x)) for x in mpmath.taylor(generating, 0, 24)]
    assert c.HalfPowers(zeros, poles).coefficients(25) == pytest.approx(series, abs=1e-11)


@pytest.mark.parametrize("damping", [1e-9, 1e-5])
def test_late_weights_keep_their_digits(damping):
    """The 100000th is 1e-8; a grid of 5 T points raises rounding to 2e-14."""
    exact = c.nu(damping).coefficients(100_000)
    assert np.abs(c.HalfPowers((1 - damping,)).coefficients(100_000) - exact).max() < 1e-15
    assert np.abs(c.DampedHalfPowers((damping,)).coefficients(100_000) - exact).max() < 1e-15
