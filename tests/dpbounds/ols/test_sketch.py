"""Privacy of the Gaussian sketch: against 60 digits, direct chi² tails, quadrature, explicit rows and dp-accounting."""

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon
from scipy.integrate import quad
from scipy.stats import chi2, norm

from dpbounds import DomainError
from dpbounds.arithmetic import FLOATS, digits
from dpbounds.ols import sketch
from dpbounds.privacy.covariance import excess, one_way_log_delta, rows_log_delta
from dpbounds.privacy.gaussian import gaussian_log_delta

# k, gamma, delta
SETTINGS = (
    (333, 134.6, 1e-6),
    (1, 2.6, 1e-8),
    (1000, 3.0, 0.1),
    (10**6, 1e6, 1e-10),
    (1, 50.0, 1e-300),
    (7, 1e4, 1e-3),
)


class TestRenyi:
    @pytest.mark.parametrize(
        ("order", "k", "gamma"),
        [(1 + 1e-9, 5, 1e8), (1.0001, 3, 10.0), (2.0, 1, 2.5), (5.5, 100, 1e6), (9.999, 100, 10.0), (1e9, 3, 1e20)],
    )
    def test_against_the_printed_formula_in_many_digits(self, order, k, gamma):
        with digits(150) as m:
            printed = sketch.printed_renyi(m, m.number(order), k, m.number(gamma))
        assert float(sketch.renyi(order, k, gamma)) == pytest.approx(float(printed), rel=1e-13)

    @pytest.mark.parametrize(("order", "k", "gamma"), [(1.5, 1, 3.0), (2.9, 4, 3.5), (8.0, 30, 20.0)])
    def test_against_quadrature_of_the_densities(self, order, k, gamma):
        leverage = 1 / gamma

        def integrand(x):
            return math.exp(order * norm.logpdf(x) + (1 - order) * norm.logpdf(x, scale=math.sqrt(1 - leverage)))

        moment = quad(integrand, -60, 60, epsabs=0, epsrel=1e-12, limit=300, points=[0.0])[0]
        assert float(sketch.renyi(order, k, gamma)) == pytest.approx(k * math.log(moment) / (order - 1), rel=1e-10)

    def test_small_arguments_of_the_excess(self):
        for w in (1e-30, -1e-9, 0.1, -0.39, 0.41, -0.9, 30.0):
            with mpmath.workdps(80):
                exact = mpmath.mpf(w) - mpmath.log1p(mpmath.mpf(w))
            assert float(excess(w)) == pytest.approx(float(exact), rel=1e-15)


class TestPaperEpsilon:
    @pytest.mark.parametrize(("k", "gamma", "delta"), SETTINGS)
    def test_no_order_does_better_than_the_root(self, k, gamma, delta):
        orders = 1 + (gamma - 1) / (1 + np.exp(-np.linspace(-60, 30, 4001)))
        orders = orders[(orders > 1) & (orders < gamma)]
        added = sketch.conversion(FLOATS, orders, math.log(3 / delta))
        scanned = np.min(sketch.renyi(orders, k, gamma) + added) + math.sqrt(2 * k * math.log(3.75 / delta)) / gamma
        found = float(sketch.epsilon(gamma, k, delta))
        assert max(scanned, 0) * (1 - 1e-3) <= found <= max(scanned, 0) * (1 + 1e-9)

    def test_against_dp_accounting_on_a_grid_of_orders(self):
        orders = np.linspace(1.05, 60, 4000)
        divergences = sketch.renyi(orders, 333, 134.6)
        theirs, _ = compute_epsilon(orders.tolist(), divergences.tolist(), 1e-6)
        assert float(sketch.renyi_epsilon(134.6, 333, 1e-6)) == pytest.approx(theirs, rel=1e-6)
        assert float(sketch.renyi_epsilon(134.6, 333, 1e-6)) <= theirs

    @pytest.mark.parametrize(
        ("epsilon", "delta", "k"), [(1, 1e-6, 333), (0.1, 1e-10, 100), (1e-3, 1e-6, 10), (100, 1e-6, 10**6)]
    )
    def test_gamma_inverts_to_twelve_digits(self, epsilon, delta, k):
        gamma = float(sketch.gamma(epsilon, delta, k))
        assert float(sketch.epsilon(gamma, k, delta)) <= epsilon * (1 + 1e-13)
        assert float(sketch.epsilon(gamma * (1 - 1e-12), k, delta)) > epsilon

    def test_gamma_is_five_halves_where_that_will_do(self):
        assert float(sketch.gamma(10, 0.01, 1)) == 2.5

    def test_an_epsilon_out_of_reach_is_refused_with_what_would_do(self):
        reachable = f"at least {float(sketch.epsilon(1e50, 5, 1e-300)):.3g}"
        with pytest.raises(DomainError, match=reachable):
            sketch.gamma(1e-60, 1e-300, 5)

    def test_steps_are_rows(self):
        assert float(sketch.gamma(0.5, 1e-7, 111, 3)) == float(sketch.gamma(0.5, 1e-7, 333))
        assert sketch.renyi_epsilon(50.0, 20, 1e-5, 4) == sketch.renyi_epsilon(50.0, 80, 1e-5)

    def test_printed_gamma_is_the_root_of_the_printed_epsilon(self):
        gamma = sketch.printed_gamma(FLOATS, 0.7, 40, math.log(4e6))
        assert sketch.printed_epsilon(FLOATS, gamma, 40, math.log(4e6)) == pytest.approx(0.7, rel=1e-12)


class TestExactLaw:
    def test_anchors(self):
        assert math.exp(one_way_log_delta(0.4, 1, 0.3, record_first=True)) == pytest.approx(0.0264512948, rel=1e-8)
        assert math.exp(one_way_log_delta(0.1, 1, 0.3, record_first=False)) == pytest.approx(0.0277347939, rel=1e-8)

    @pytest.mark.parametrize("record_first", [True, False])
    @pytest.mark.parametrize(
        ("k", "leverage", "epsilon"),
        [(1, 0.3, 0.01), (1, 0.9, 3.0), (3, 0.01, 0.001), (111, 0.02, 0.5), (333, 1 / 124, 1.5), (10**6, 1e-4, 0.3)],
    )
    def test_against_differences_of_chi_square_tails(self, k, leverage, epsilon, record_first):
        offset, scale = k / 2 * math.log1p(-leverage), 2 * (1 - leverage) / leverage
        if record_first:
            cut = scale * (epsilon - offset)
            direct = chi2.sf(cut, k) - math.exp(epsilon) * chi2.sf(cut / (1 - leverage), k)
        else:
            cut = max(scale * (-epsilon - offset), 0.0)
            direct = chi2.cdf(cut / (1 - leverage), k) - math.exp(epsilon) * chi2.cdf(cut, k)
        assert math.exp(one_way_log_delta(epsilon, k, leverage, record_first=record_first)) == pytest.approx(
            direct, rel=2e-11, abs=1e-300
        )

    def test_far_below_the_smallest_float(self):
        """P(q > c) at K = 2 is e^{-c/2}, so delta = e^{-c/2}(1 - (1-r)) + ... in closed form."""
        epsilon, leverage = 90.0, 0.1
        cut = 2 * (1 - leverage) / leverage * (epsilon - math.log1p(-leverage))
        with mpmath.workdps(50):
            tail = mpmath.exp(-mpmath.mpf(cut) / 2)
            exact = mpmath.log(tail - mpmath.exp(epsilon) * mpmath.exp(-mpmath.mpf(cut) / (2 * (1 - leverage))))
        assert sketch.exact_log_delta(epsilon, 2, leverage) == pytest.approx(float(exact), rel=1e-12)
        assert sketch.exact_delta(epsilon, 2, leverage) == math.ulp(0.0)

    def test_where_the_kink_is_far_in_the_tail(self):
        """log delta = -c/2 + O(log c) for c = 2 epsilon / leverage."""
        assert sketch.exact_log_delta(1.1, 12, 2.9e-20) == pytest.approx(-1.1 / 2.9e-20, rel=1e-12)
        assert sketch.exact_log_delta(900.0, 10**8, 1e-30) == pytest.approx(-9e32, rel=1e-12)

    def test_explicit_rows(self):
        """Monte Carlo of likelihood ratios of k x d sketches; 6 standard errors: false alarms 2e-9."""
        rng, k, trials, epsilon = np.random.default_rng(1), 3, 40_000, 0.2
        data = np.array([[0.6, 0.8], [0.3, -0.2], [1.0, 0.1]])
        larger = data.T @ data + 0.4 * np.eye(2)
        smaller = larger - np.outer(data[0], data[0])
        leverage = data[0] @ np.linalg.solve(larger, data[0])
        for first, second, record_first in ((larger, smaller, True), (smaller, larger, False)):
            rows = rng.standard_normal((trials, k, 2)) @ np.linalg.cholesky(first).T
            ratio = 0.5 * np.einsum("tki,ij,tkj->t", rows, np.linalg.inv(second) - np.linalg.inv(first), rows)
            ratio += k / 2 * (np.linalg.slogdet(second)[1] - np.linalg.slogdet(first)[1])
            gain = np.maximum(-np.expm1(epsilon - ratio), 0)
            exact = math.exp(one_way_log_delta(epsilon, k, leverage, record_first=record_first))
            assert abs(gain.mean() - exact) < 6 * gain.std() / math.sqrt(trials)
            assert gain.std() / math.sqrt(trials) < 0.02 * exact

    @pytest.mark.parametrize("record_first", [True, False])
    @pytest.mark.parametrize(
        ("k", "leverage", "mu", "epsilon"), [(5, 0.1, 0.3, 0.7), (1, 0.6, 0.05, 0.2), (60, 0.02, 1.5, 3.0)]
    )
    def test_beside_a_gaussian(self, k, leverage, mu, epsilon, record_first):
        offset, rate = k / 2 * math.log1p(-leverage), leverage / 2

        def integrand(q):
            loss = offset + rate * q / (1 - leverage) if record_first else -offset - rate * q
            left = epsilon - loss
            gain = norm.cdf(mu / 2 - left / mu) - math.exp(left) * norm.cdf(-mu / 2 - left / mu)
            return chi2.pdf(q, k) * gain

        ends = [0, k / 2, k, 2 * k, 5 * k + 10, 10 * k + 300]
        total = sum(quad(integrand, a, b, epsabs=1e-15, epsrel=1e-11, limit=400)[0] for a, b in pairwise(ends))
        found = math.exp(one_way_log_delta(epsilon, k, leverage, mu=mu, record_first=record_first))
        assert found == pytest.approx(total, rel=1e-7)

    def test_nothing_from_the_rows_leaves_the_gaussian(self):
        assert rows_log_delta(1.0, 5, 1e-12, mu=0.4) == pytest.approx(float(gaussian_log_delta(0.4, 1.0)), rel=1e-9)

    def test_less_leverage_and_fewer_rows_cost_less(self):
        values = [float(sketch.exact_delta(0.5, k, r)) for k, r in ((20, 0.02), (40, 0.02), (40, 0.04), (400, 0.04))]
        assert values == sorted(values) and len(set(values)) == 4

    @pytest.mark.parametrize(("delta", "k", "leverage"), [(1e-6, 333, 1 / 124), (0.01, 1, 0.5), (1e-250, 10, 0.01)])
    def test_epsilon_and_gamma_invert(self, delta, k, leverage):
        epsilon = float(sketch.exact_epsilon(delta, k, leverage))
        assert sketch.exact_log_delta(epsilon, k, leverage) == pytest.approx(math.log(delta), rel=1e-11)
        assert float(sketch.exact_gamma(epsilon, delta, k)) == pytest.approx(1 / leverage, rel=1e-10)

    def test_the_rdp_bound_is_no_smaller(self):
        for k, gamma, delta in SETTINGS:
            assert (
                float(sketch.exact_epsilon(delta, k, 1 / gamma)) <= float(sketch.renyi_epsilon(gamma, k, delta)) + 1e-12
            )


class TestDynamicSize:
    def test_largest(self):
        gamma = float(sketch.gamma(1.0, 1e-6, 100))
        size = sketch.dynamic_size(5 * gamma, epsilon=1.0, delta=1e-6, k=100)
        fits = [float(sketch.guarantee(gamma / math.sqrt(n), 5 * gamma, n, 1e-6)) <= 1.0 for n in (size, size + 1)]
        assert fits == [True, False]
        assert sketch.dynamic_size(5 * gamma, epsilon=1.0, delta=1e-6, k=100, actual_test=True) > 10 * size

    def test_a_small_eigenvalue_is_refused(self):
        with pytest.raises(DomainError, match="at least gamma"):
            sketch.dynamic_size(5.0, epsilon=1.0, delta=1e-6, k=100)


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: sketch.renyi(3.0, 5, 3.0), "order"),
        (lambda: sketch.renyi(1.0, 5, 3.0), "order"),
        (lambda: sketch.gamma(0.0, 1e-6, 5), "epsilon"),
        (lambda: sketch.gamma(1e-60, 1e-300, 5), "epsilon"),
        (lambda: sketch.gamma(1.0, 1.0, 5), "delta"),
        (lambda: sketch.gamma(1.0, 0.5, 0), "k"),
        (lambda: sketch.epsilon(1.0, 5, 0.1), "gamma"),
        (lambda: sketch.exact_delta(1.0, 5, 1.0), "leverage"),
        (lambda: sketch.exact_delta(1.0, 10**9, 0.1) and sketch.epsilon(3.0, 10**9, 0.1, 2), "k * steps"),
    ],
)
def test_bad_input(call, parameter):
    with pytest.raises(DomainError) as caught:
        call()
    assert caught.value.parameter == parameter
