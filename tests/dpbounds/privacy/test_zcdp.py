from __future__ import annotations

import math
from itertools import product

import mpmath as mp
import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant
from dp_accounting.rdp.rdp_privacy_accountant import compute_delta, compute_epsilon
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbounds import DomainError
from dpbounds.privacy import (
    compose_gdp,
    compose_rdp,
    compose_zcdp,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_of_zcdp,
    rdp_delta,
    rdp_epsilon,
    rdp_of_zcdp,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_of_gaussian,
    zcdp_rho,
)

RHOS = [1e-10, 1e-6, 1e-3, 0.1, 1.0, 10.0, 1e4]
DELTAS = [1e-300, 1e-60, 1e-12, 1e-6, 1e-2, 0.5]
EPSILONS = [1e-3, 0.1, 1.0, 10.0, 1e3]
ORDERS = np.concatenate([1 + np.geomspace(0.02, 1, 40), np.arange(3.0, 200.0), np.geomspace(200, 1e5, 60)])


@pytest.fixture(autouse=True)
def fifty_digits():
    with mp.workdps(50):
        yield


def least(function):
    """Minimum over log(order - 1) of a function with one valley, by thirds: independent of every derivative."""
    low, high = mp.mpf(-60), mp.mpf(120)
    for _ in range(150):
        third = (high - low) / 3
        if function(mp.exp(low + third)) < function(mp.exp(high - third)):
            high -= third
        else:
            low += third
    return function(mp.exp(low))


def exact_epsilon(rho, delta):
    """The Rényi conversion as printed (ftrl App. A.2), clipped at 0."""
    rho, delta = mp.mpf(rho), mp.mpf(delta)

    def at(excess):
        order = 1 + excess
        return rho * order + mp.log(1 / (order * delta)) / excess + mp.log(excess / order)

    return max(least(at), mp.mpf(0))


def exact_log_delta(rho, epsilon):
    rho, epsilon = mp.mpf(rho), mp.mpf(epsilon)

    def at(excess):
        order = 1 + excess
        return excess * (rho * order - epsilon) - mp.log(excess) + order * mp.log(excess / order)

    return least(at)


def relative_error(computed, exact) -> float:
    return float(abs(mp.mpf(float(computed)) / exact - 1))


class TestRenyi:
    @pytest.mark.parametrize("rho", RHOS)
    def test_epsilon_against_fifty_digits(self, rho):
        for delta in DELTAS:
            exact = exact_epsilon(rho, delta)
            assert abs(mp.mpf(float(zcdp_epsilon(rho, delta))) - exact) <= 1e-14 * exact + 1e-16

    @pytest.mark.parametrize("rho", RHOS)
    def test_delta_against_fifty_digits(self, rho):
        for epsilon in EPSILONS:
            exact = exact_log_delta(rho, epsilon)
            if exact >= -690:
                assert relative_error(zcdp_delta(rho, epsilon), mp.exp(exact)) <= 1e-12
            else:
                assert 0 < zcdp_delta(rho, epsilon) < 1e-299

    @pytest.mark.parametrize("epsilon", EPSILONS)
    def test_rho_against_fifty_digits(self, epsilon):
        for delta in DELTAS:
            rho = zcdp_rho(epsilon, delta)
            assert relative_error(epsilon, exact_epsilon(rho, delta)) <= 1e-12
            assert exact_epsilon(1.01 * rho, delta) > epsilon * (1 + 1e-3)

    def test_the_oracle_catches_the_conversion_without_its_last_term(self):
        older = least(lambda excess: 0.1 * (1 + excess) + mp.log(10**6) / excess)
        assert relative_error(zcdp_epsilon(0.1, 1e-6), older) > 0.01

    def test_no_privacy_at_all(self):
        assert zcdp_delta(5e7, 0.0) == 1.0


class TestBunSteinke:
    def test_the_three_forms_against_fifty_digits(self):
        for rho, delta in product(RHOS, DELTAS):
            epsilon = zcdp_epsilon(rho, delta, "bun-steinke")
            exact = mp.mpf(rho) + 2 * mp.sqrt(mp.mpf(rho) * mp.log(1 / mp.mpf(delta)))
            assert relative_error(epsilon, exact) <= 1e-15
            back = mp.sqrt(mp.mpf(float(epsilon)) - mp.log(mp.mpf(delta))) - mp.sqrt(-mp.log(mp.mpf(delta)))
            assert relative_error(zcdp_rho(epsilon, delta, "bun-steinke"), back**2) <= 1e-14
            assert relative_error(zcdp_rho(epsilon, delta, "bun-steinke"), mp.mpf(rho)) <= 1e-13

    def test_delta(self):
        assert zcdp_delta(0.5, 2.5, "bun-steinke") == pytest.approx(math.exp(-2), rel=1e-15)
        assert zcdp_delta(0.5, 0.4, "bun-steinke") == 1.0


class TestAcrossMethods:
    @pytest.mark.parametrize("rho", RHOS)
    def test_each_refinement_only_helps(self, rho):
        for delta in DELTAS:
            exact, renyi, simple = (zcdp_epsilon(rho, delta, m) for m in ("gaussian", "renyi", "bun-steinke"))
            assert exact <= renyi * (1 + 1e-12) and renyi <= simple
        for epsilon in EPSILONS:
            exact, renyi, simple = (zcdp_delta(rho, epsilon, m) for m in ("gaussian", "renyi", "bun-steinke"))
            assert exact <= renyi * (1 + 1e-12) and renyi <= simple * (1 + 1e-12)
        for epsilon, delta in product(EPSILONS, DELTAS):
            exact, renyi, simple = (zcdp_rho(epsilon, delta, m) for m in ("gaussian", "renyi", "bun-steinke"))
            assert exact >= renyi * (1 - 1e-12) and renyi >= simple

    @pytest.mark.parametrize("method", ["renyi", "bun-steinke", "gaussian"])
    @settings(derandomize=True, deadline=None, max_examples=60)
    @given(log_epsilon=st.floats(-2, 3), log_delta=st.floats(-300, -0.31))
    def test_round_trips(self, method, log_epsilon, log_delta):
        epsilon, delta = 10.0**log_epsilon, 10.0**log_delta
        rho = zcdp_rho(epsilon, delta, method)
        assert zcdp_epsilon(rho, delta, method) == pytest.approx(epsilon, rel=3e-12)
        assert zcdp_delta(rho, epsilon, method) == pytest.approx(delta, rel=1e-11)

    def test_gaussian_method_is_the_exact_gaussian(self):
        assert zcdp_epsilon(0.125, 1e-6, "gaussian") == gaussian_epsilon(0.5, 1e-6)
        assert zcdp_delta(0.125, 1.0, "gaussian") == gaussian_delta(0.5, 1.0)
        assert zcdp_of_gaussian(0.5) == 0.125 and gaussian_of_zcdp(0.125) == 0.5

    def test_gaussian_method_fails_for_randomised_response_and_the_others_hold(self):
        """Randomised response of parameter a is a²/2-zCDP (Bun & Steinke 2016, Prop. 1.4), tv tanh(a/2) at ε = 0."""
        for parameter in [0.1, 0.5, 1.0]:
            truth, rho = math.tanh(parameter / 2), parameter**2 / 2
            assert zcdp_delta(rho, 0.0, "gaussian") < 0.9 * truth
            assert truth <= zcdp_delta(rho, 0.0, "renyi") <= zcdp_delta(rho, 0.0, "bun-steinke")

    def test_kinds_and_sources(self):
        assert zcdp_epsilon(0.1, 1e-6).kind == "upper" and "Thm 21" in zcdp_epsilon(0.1, 1e-6).source
        assert zcdp_rho(1.0, 1e-6, "bun-steinke").kind == "lower"
        exact = zcdp_delta(0.1, 1.0, "gaussian")
        assert exact.kind == "exact" and exact.convention == "Gaussian mechanisms only"


class TestRdp:
    @pytest.mark.parametrize("rho", [1e-3, 0.05, 1.0, 5.0])
    def test_against_dp_accounting_on_the_same_orders(self, rho):
        curve = rdp_of_zcdp(rho, ORDERS)
        for delta in [1e-12, 1e-6, 1e-4]:
            theirs, _ = compute_epsilon(list(ORDERS), list(curve), delta)
            assert rdp_epsilon(ORDERS, curve, delta) == pytest.approx(theirs, rel=1e-12)
        for epsilon in [4 * rho, 10 * rho + 1]:
            theirs, _ = compute_delta(list(ORDERS), list(curve), epsilon)
            assert rdp_delta(ORDERS, curve, epsilon) == pytest.approx(theirs, rel=1e-11)

    def test_a_composed_run_against_the_rdp_accountant(self):
        accountant = RdpAccountant(list(ORDERS))
        accountant.compose(dp_event.GaussianDpEvent(8.0), 30)
        accountant.compose(dp_event.GaussianDpEvent(3.0), 2)
        each = [rdp_of_zcdp(zcdp_of_gaussian(1 / 8), ORDERS)] * 30 + [rdp_of_zcdp(zcdp_of_gaussian(1 / 3), ORDERS)] * 2
        assert rdp_epsilon(ORDERS, compose_rdp(each), 1e-6) == pytest.approx(accountant.get_epsilon(1e-6), rel=1e-12)

    @settings(derandomize=True, deadline=None, max_examples=60)
    @given(st.floats(-4, 2), st.floats(-200, -1), st.floats(-3, 4))
    def test_no_single_order_beats_the_optimum(self, log_rho, log_delta, log_excess):
        rho, delta, orders = 10.0**log_rho, 10.0**log_delta, [1 + 10.0**log_excess]
        curve, epsilon = rdp_of_zcdp(rho, orders), 3 * rho
        assert rdp_epsilon(orders, curve, delta) >= zcdp_epsilon(rho, delta) * (1 - 1e-13)
        assert rdp_delta(orders, curve, epsilon) >= zcdp_delta(rho, epsilon) * (1 - 1e-12)

    def test_dense_orders_reach_the_optimum(self):
        dense = 1 + np.geomspace(1e-3, 1e5, 20001)
        for rho, delta in product([1e-3, 0.1, 2.0], [1e-100, 1e-6, 1e-2]):
            epsilon = zcdp_epsilon(rho, delta)
            assert rdp_epsilon(dense, rdp_of_zcdp(rho, dense), delta) == pytest.approx(epsilon, rel=1e-6)

    def test_the_sum_is_order_by_order(self):
        assert compose_rdp([[0.1, 0.5], [1.0, 2.0], [0.0, 0.25]]).tolist() == [1.1, 2.75]


class TestComposition:
    def test_gaussians_compose_alike_in_every_currency(self):
        mus = [0.3, 0.05, 1.2, 0.7]
        total = compose_zcdp(zcdp_of_gaussian(mu) for mu in mus)
        assert total == pytest.approx(zcdp_of_gaussian(compose_gdp(mus)), rel=1e-15)
        together = compose_rdp([rdp_of_zcdp(zcdp_of_gaussian(mu), [2.0, 7.0]) for mu in mus])
        assert together == pytest.approx(rdp_of_zcdp(total, [2.0, 7.0]), rel=1e-15)

    def test_the_sum_is_correctly_rounded(self):
        assert compose_zcdp([0.1] * 10) == 1.0
        assert compose_zcdp([]) == 0.0


class TestBadInput:
    @pytest.mark.parametrize(
        ("function", "arguments", "parameter"),
        [
            (zcdp_epsilon, (0, 1e-6), "rho"),
            (zcdp_epsilon, (math.nan, 1e-6), "rho"),
            (zcdp_epsilon, (1, 0), "delta"),
            (zcdp_epsilon, (1, 1e-6, "moments"), "method"),
            (zcdp_delta, (-1, 1), "rho"),
            (zcdp_delta, (1, -1), "epsilon"),
            (zcdp_rho, (0, 1e-6), "epsilon"),
            (zcdp_rho, (1, 1), "delta"),
            (zcdp_rho, (1, 0.1, "RENYI"), "method"),
            (zcdp_of_gaussian, (0,), "mu"),
            (gaussian_of_zcdp, (-1,), "rho"),
            (rdp_of_zcdp, (1, [2.0, 1.0]), "orders"),
            (rdp_epsilon, ([0.5], [1.0], 1e-6), "orders"),
            (rdp_epsilon, ([2.0], [1.0, 2.0], 1e-6), "divergences"),
            (rdp_epsilon, ([2.0], [-1.0], 1e-6), "divergences"),
            (rdp_epsilon, ([2.0], [1.0], 0), "delta"),
            (rdp_delta, ([2.0], [math.inf], 1), "divergences[0]"),
            (rdp_delta, ([2.0], [1.0], -1), "epsilon"),
            (compose_zcdp, ([0.1, -0.1],), "rhos[1]"),
            (compose_rdp, ([[1.0], [1.0, 2.0]],), "curves"),
            (compose_rdp, ([],), "curves"),
            (compose_rdp, ([[1.0], [-1.0]],), "curves[1]"),
        ],
    )
    def test_the_parameter_is_named(self, function, arguments, parameter):
        with pytest.raises(DomainError) as caught:
            function(*arguments)
        assert caught.value.parameter == parameter
        assert str(caught.value).startswith(f"{parameter} = ")
