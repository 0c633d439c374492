from __future__ import annotations

import math
import pickle
from itertools import product

import mpmath as mp
import numpy as np
import pytest
from dp_accounting import get_epsilon_gaussian, get_sigma_gaussian
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbounds import DomainError
from dpbounds.privacy import compose_gdp, gaussian_delta, gaussian_epsilon, gaussian_log_delta, gaussian_mu

EPSILONS = [1e-3, 1e-2, 0.1, 1.0, 3.0, 10.0, 100.0, 1e3]
DELTAS = [1e-300, 1e-100, 1e-30, 1e-10, 1e-6, 1e-3, 0.02, 0.1, 0.5]


@pytest.fixture(autouse=True)
def fifty_digits():
    """The two terms of delta agree to at most 10 digits here, so 60 leave 50."""
    with mp.workdps(60):
        yield


def exact_delta(mu, epsilon):
    mu, epsilon = mp.mpf(mu), mp.mpf(epsilon)
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def exact_epsilon(mu, delta, start):
    """Two Newton steps in 60 digits from a start that is right to 1e-9."""
    mu, epsilon = mp.mpf(mu), mp.mpf(start)
    for _ in range(2):
        slope = mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)
        value = exact_delta(mu, epsilon)
        epsilon += mp.log(value / mp.mpf(delta)) * value / slope
    return epsilon


def exact_mu(epsilon, delta, start):
    mu = mp.mpf(start)
    for _ in range(2):
        value = exact_delta(mu, epsilon)
        mu += mp.log(mp.mpf(delta) / value) * value / mp.npdf(mp.mpf(epsilon) / mu - mu / 2)
    return mu


def relative_error(computed, exact) -> float:
    return float(abs(mp.mpf(float(computed)) / exact - 1))


class TestDelta:
    @pytest.mark.parametrize("mu", np.geomspace(1e-6, 1e3, 19))
    def test_against_fifty_digits(self, mu):
        checked = 0
        for epsilon in [0.0, 1e-9, 1e-6, *EPSILONS, mu / 2, mu * mu / 2, 5 * mu, 36 * mu]:
            if epsilon > 1e3:
                continue
            exact = exact_delta(mu, epsilon)
            if exact >= mp.mpf("1e-300"):
                checked += 1
                assert relative_error(gaussian_delta(mu, epsilon), exact) <= 1e-12
            else:
                assert relative_error(gaussian_log_delta(mu, epsilon), mp.log(exact)) <= 1e-15
        assert checked >= 5

    @settings(derandomize=True, deadline=None, max_examples=200)
    @given(st.floats(-6, 3), st.floats(-3, 38))
    def test_anywhere_in_the_stated_range(self, log_mu, x):
        mu = 10.0**log_mu
        epsilon = min(max(mu * (x + mu / 2), 0.0), 1e3)
        exact = exact_delta(mu, epsilon)
        if exact >= mp.mpf("1e-300"):
            assert relative_error(gaussian_delta(mu, epsilon), exact) <= 1e-12

    @pytest.mark.parametrize("wrong", [1.01, 1 + 1e-9])
    def test_the_oracle_catches_a_wrong_mu(self, wrong):
        for mu, epsilon in product([1e-3, 0.1, 1.0, 3.0], [0.0, 1e-3, 1.0]):
            exact = exact_delta(mu, epsilon)
            if exact >= mp.mpf("1e-300"):
                assert relative_error(gaussian_delta(mu * wrong, epsilon), exact) > 1e-12

    def test_arrays_broadcast(self):
        mus, epsilons = np.array([[0.05], [1.0], [30.0]]), np.array([0.0, 0.3, 2.0, 400.0])
        logs = gaussian_log_delta(mus, epsilons)
        assert logs.shape == (3, 4)
        for i, j in np.ndindex(3, 4):
            exact = mp.log(exact_delta(mus[i, 0], epsilons[j]))
            assert abs(mp.mpf(logs[i, j]) - exact) <= 1e-12 * max(1, abs(exact) / 1000)

    def test_total_variation_at_epsilon_zero(self):
        for mu in [1e-6, 0.1, 1.0, 5.0]:
            assert gaussian_delta(mu, 0) == pytest.approx(math.erf(mu / math.sqrt(8)), rel=1e-14)

    def test_large_mu_gives_no_privacy_and_tiny_mu_never_pure_privacy(self):
        assert gaussian_delta(1e3, 1.0) == 1.0
        assert gaussian_delta(1e-6, 1.0) == math.ulp(0.0)
        assert gaussian_log_delta(1e-6, 1.0) == pytest.approx(-(1e6**2) / 2, rel=1e-6)

    def test_the_value_says_what_it_is(self):
        value = pickle.loads(pickle.dumps(gaussian_delta(1.0, 1.0)))
        assert value.kind == "exact" and "Thm 8" in value.source


class TestInversions:
    @pytest.mark.parametrize("epsilon", EPSILONS)
    def test_mu_then_epsilon_against_fifty_digits(self, epsilon):
        for delta in DELTAS:
            mu = gaussian_mu(epsilon, delta)
            assert relative_error(mu, exact_mu(epsilon, delta, mu)) <= 1e-12
            back = gaussian_epsilon(mu, delta)
            assert abs(mp.mpf(float(back)) - exact_epsilon(mu, delta, back)) <= 1e-12 * epsilon + 1e-15

    @pytest.mark.parametrize("epsilon", EPSILONS)
    def test_the_promise_is_kept_up_to_rounding(self, epsilon):
        for delta in DELTAS:
            mu = gaussian_mu(epsilon, delta)
            allowed = mp.mpf(delta) * (1 + mp.mpf("1e-12"))
            assert exact_delta(mu, epsilon) <= allowed
            assert exact_delta(mu, gaussian_epsilon(mu, delta)) <= allowed

    @pytest.mark.parametrize("delta", [0.6, 0.99, 1 - 1e-9, 1 - 2.0**-53])
    def test_delta_above_a_half_is_solved_on_its_complement(self, delta):
        for epsilon in [0.0, 1e-3, 1.0, 1e3]:
            mu = gaussian_mu(epsilon, delta)
            assert relative_error(1 - mp.mpf(delta), 1 - exact_delta(mu, epsilon)) <= 1e-11
        epsilon = gaussian_epsilon(20.0, delta)
        assert relative_error(1 - mp.mpf(delta), 1 - exact_delta(20, epsilon)) <= 1e-11

    def test_epsilon_is_zero_once_delta_covers_the_total_variation(self):
        total_variation = float(gaussian_delta(0.5, 0))
        assert gaussian_epsilon(0.5, total_variation * (1 + 1e-9)) == 0
        assert 0 < gaussian_epsilon(0.5, total_variation * (1 - 1e-9)) < 1e-8

    def test_mu_at_epsilon_zero_is_closed_form(self):
        for delta in DELTAS:
            assert relative_error(gaussian_mu(0, delta), mp.sqrt(8) * mp.erfinv(mp.mpf(delta))) <= 1e-14

    @pytest.mark.parametrize("epsilon", [1e-40, 1e-12, 1e6, 1e9])
    def test_far_outside_the_usual_range(self, epsilon):
        for delta in [1e-300, 1e-6, 0.5, 0.99]:
            mu = gaussian_mu(epsilon, delta)
            assert relative_error(mu, exact_mu(epsilon, delta, mu)) <= 1e-12

    @settings(derandomize=True, deadline=None, max_examples=100)
    @given(st.floats(-3, 3), st.floats(-300, -0.31))
    def test_round_trip(self, log_epsilon, log_delta):
        epsilon, delta = 10.0**log_epsilon, 10.0**log_delta
        mu = gaussian_mu(epsilon, delta)
        assert gaussian_delta(mu, epsilon) == pytest.approx(delta, rel=1e-12)
        assert gaussian_epsilon(mu, delta) == pytest.approx(epsilon, rel=1e-12, abs=4e-15)


class TestSecondAccountant:
    @pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-3, 0.1])
    def test_epsilon_and_noise_agree_with_dp_accounting(self, delta):
        for sigma in [0.3, 1.0, 4.0]:
            ours = gaussian_epsilon(1 / sigma, delta)
            assert ours == pytest.approx(get_epsilon_gaussian(sigma, delta), rel=1e-8)
        for epsilon in [0.01, 1.0, 20.0]:
            assert get_sigma_gaussian(epsilon, delta) * gaussian_mu(epsilon, delta) == pytest.approx(1, rel=1e-8)


class TestComposition:
    def test_root_of_the_sum_of_squares_is_the_law_of_two_releases(self):
        """delta of a pair is the mean over the first loss l ~ N(μ²/2, μ²) of delta of the second at ε - l."""
        first, second, epsilon = mp.mpf("0.7"), mp.mpf("1.1"), mp.mpf("0.9")
        both = mp.quad(
            lambda z: mp.npdf(z) * exact_delta(second, epsilon - first * first / 2 - first * z),
            [-12, -6, -2, 0, 2, 6, 12],
        )
        assert relative_error(gaussian_delta(compose_gdp([0.7, 1.1]), 0.9), both) <= 1e-13

    def test_many_equal_ones_and_none(self):
        assert compose_gdp([0.25] * 16) == 1.0
        assert compose_gdp([]) == 0.0
        assert compose_gdp([1.0]).kind == "upper"


class TestBadInput:
    @pytest.mark.parametrize(
        ("function", "arguments", "parameter"),
        [
            (gaussian_delta, (0, 1), "mu"),
            (gaussian_delta, (math.nan, 1), "mu"),
            (gaussian_delta, (1e5, 1), "mu"),
            (gaussian_delta, (1, -1e-9), "epsilon"),
            (gaussian_delta, (1, math.inf), "epsilon"),
            (gaussian_log_delta, ([1.0, -1.0], 1), "mu"),
            (gaussian_log_delta, (1.0, [1.0, -1.0]), "epsilon"),
            (gaussian_log_delta, (1.0, [1.0, math.nan]), "epsilon[1]"),
            (gaussian_log_delta, ([], 1), "mu"),
            (gaussian_epsilon, (-1, 0.1), "mu"),
            (gaussian_epsilon, (1, 0), "delta"),
            (gaussian_epsilon, (1, 1), "delta"),
            (gaussian_epsilon, (1, 1e-301), "delta"),
            (gaussian_mu, (-1, 0.1), "epsilon"),
            (gaussian_mu, ("one", 0.1), "epsilon"),
            (gaussian_mu, (1, 1.5), "delta"),
            (compose_gdp, ([1.0, -1.0],), "mus[1]"),
        ],
    )
    def test_the_parameter_is_named(self, function, arguments, parameter):
        with pytest.raises(DomainError) as caught:
            function(*arguments)
        assert caught.value.parameter == parameter
        assert str(caught.value).startswith(f"{parameter} = ")
