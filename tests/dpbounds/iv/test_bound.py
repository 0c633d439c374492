"""iv Theorem 3.1: eq. (10), step sizes, bound (7), conditions, regimes, optimal T, by hand, scans and minimisers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from dpbounds import DomainError
from dpbounds.iv import (
    Constants,
    Design,
    TwoStageBudget,
    clip_norm,
    conditions,
    error_bound,
    experiment_step_sizes,
    optimal_step_sizes,
    optimal_steps,
    regimes,
    scan_steps,
    spectrum,
    stationary_steps,
    stationary_steps_of_squares,
    theorem_rates,
    theorem_step_limits,
)

DESIGN = Design(n=40000, p=2, q=3, theta_norm=6.0, theta_least=3.0, sigma_z=1.1, sigma_2=1.5, tau=2.0)
SMALL = Constants(concentration=0.5, product=0.05)
BUDGET = TwoStageBudget(rho1=1.0, rho2=4.0)


def test_quantities_of_equation_10_by_hand():
    delta = 0.5 * 1.21 * (math.sqrt(3) + math.sqrt(2)) / 200
    psi = 0.05 * 1.1 * 1.5 * math.sqrt(6) * (2 + math.log(12)) / (200 * (1 - delta) ** 2)
    found = spectrum(DESIGN, SMALL)
    assert found.valid and found[:2] == pytest.approx((delta, psi), rel=1e-13)
    assert found.lower == pytest.approx((1 - delta) ** 2 * (3 - psi) ** 2, rel=1e-13)
    assert found.upper == pytest.approx((1 + delta) ** 2 * (6 + psi) ** 2, rel=1e-13)
    rates = theorem_rates(found, 0.7, 0.02)
    assert rates.theta == pytest.approx(max(abs(1 - 0.7 * (1 - delta) ** 2), abs(1 - 0.7 * (1 + delta) ** 2)))
    ends = (1 - 0.01 * found.lower, 1 - 0.01 * (2 * found.upper + found.lower))
    assert rates.beta == pytest.approx(max(map(abs, ends)), rel=1e-13) and rates.overall == max(rates[:2])


def test_the_printed_interval_is_void_where_psi_exceeds_the_singular_value():
    large = Constants(product=60.0)
    printed, proved = spectrum(DESIGN, large), spectrum(DESIGN, large, positive_part=True)
    assert not printed.valid and printed.psi > 3 and printed.lower > 0 == proved.lower
    assert spectrum(DESIGN, Constants(concentration=100.0)).valid is False
    exact = spectrum(DESIGN, Constants(concentration=0.0, product=0.0))
    assert exact[:4] == (0.0, 0.0, 9.0, 36.0)


def test_design_of_a_matrix():
    theta = np.array([[3.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    design = Design.of(theta, 100, sigma_2=2.0, tau=5.0)
    assert (design.p, design.q) == (2, 3) and (design.theta_norm, design.theta_least) == pytest.approx((3.0, 2.0))
    assert math.sqrt(3) + math.sqrt(5) == design.Q and design.Lambda == 5 + math.log(6)
    assert design.Q_union(7) == math.sqrt(3) + math.sqrt(5 + math.log(700))
    for bad in ({"q": 1}, {"n": 0}, {"theta_least": 7.0}, {"tau": 0.0}, {"sigma_2": -1.0}, {"theta_least": 0.0}):
        with pytest.raises(DomainError):
            replace(DESIGN, **bad)
    for bad in ({"clipping": 0.0}, {"product": -1.0}, {"epsilon": -0.1}):
        with pytest.raises(DomainError):
            Constants(**bad)


@given(st.floats(0, 0.99), st.floats(0.1, 0.9999), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_steps_inside_condition_3_contract_and_the_ends_do_not(delta, ratio, share1, share2):
    bounds = spectrum(DESIGN)._replace(delta=delta, upper=2.0, lower=2.0 * ratio)
    limits = theorem_step_limits(bounds)
    assert theorem_rates(bounds, share1 * limits.eta, share2 * limits.alpha).overall < 1
    at_the_end = theorem_rates(bounds, limits.eta, limits.alpha)
    assert at_the_end[:2] == pytest.approx((1.0, 1.0), rel=1e-12)
    chosen = experiment_step_sizes(bounds)
    assert chosen == pytest.approx((1 / (1 + delta) ** 2, 2 / (4 + 2 * ratio)))
    rates = theorem_rates(bounds, *chosen)
    assert rates.theta == pytest.approx(1 - ((1 - delta) / (1 + delta)) ** 2, abs=1e-12)
    assert rates.beta == pytest.approx(2 / (2 + ratio)) and rates.beta >= 2 / 3


@pytest.mark.parametrize("ratio", [0.05, 0.6, 1.0])
def test_equation_8_minimises_the_contraction_rates(ratio):
    bounds = spectrum(DESIGN)._replace(delta=0.2, upper=2.0, lower=2.0 * ratio)
    best = optimal_step_sizes(bounds)
    rates = theorem_rates(bounds, *best)
    high, low = 1.2**2, 0.8**2
    assert rates.beta == pytest.approx(1 / (1 + ratio)) and rates.theta == pytest.approx((high - low) / (high + low))
    for factor in np.linspace(0.5, 1.5, 101):
        other = theorem_rates(bounds, factor * best.eta, factor * best.alpha)
        assert other.theta >= rates.theta - 1e-12 and other.beta >= rates.beta - 1e-12


def test_error_bound_by_hand():
    constants = Constants(optimisation=2.0, privacy=3.0, statistical=0.5)
    found = error_bound(DESIGN, BUDGET, steps=16, kappa=0.8, constants=constants)
    Q, Lambda = math.sqrt(3) + math.sqrt(2), 2 + math.log(6)
    assert found.optimisation == pytest.approx(2 * 0.8**8)
    assert found.privacy == pytest.approx(3 * math.sqrt(2) * Q**3 / 40000 * 4)
    assert found.statistical == pytest.approx(0.5 * math.sqrt(6) * Lambda / 200)
    assert found.total == sum(found) and found.dominant == "optimisation" and found.privacy.kind == "asymptotic"
    union = error_bound(DESIGN, BUDGET, steps=16, kappa=0.8, constants=constants, logarithm=True)
    assert union.privacy / found.privacy == pytest.approx((DESIGN.Q_union(16) / Q) ** 3)
    free = error_bound(DESIGN, TwoStageBudget(), steps=16, kappa=0.8)
    assert free.privacy == 0 and free.statistical > 0
    only_beta = error_bound(DESIGN, TwoStageBudget(rho1=math.inf, rho2=4.0), steps=16, kappa=0.8)
    assert only_beta.privacy == pytest.approx(found.privacy / 3 / 2)
    for bad in ({"steps": 0}, {"kappa": 1.0}):
        with pytest.raises(DomainError):
            error_bound(DESIGN, BUDGET, **{"steps": 16, "kappa": 0.8, **bad})


@pytest.mark.parametrize(
    ("n", "steps", "q", "expected"), [(1000, 20, 5, 37.17), (8065, 20, 1, 26.2), (2191, 15, 4, 35.1)]
)
def test_clip_norms_of_the_figures(n, steps, q, expected):
    design = replace(DESIGN, n=n, p=1, q=q, tau=5.0)
    assert clip_norm(design, steps) == pytest.approx(expected, rel=2e-3)
    assert clip_norm(design, steps, Constants(clipping=3.0)) == pytest.approx(3 * clip_norm(design, steps))


def test_each_condition_can_fail_alone():
    base = {"eta": 0.5, "alpha": 0.01, "steps": 20}
    design = replace(DESIGN, n=10**7)
    bounds = spectrum(design, SMALL)
    names = [condition.name for condition in conditions(design, bounds, BUDGET, **base, constants=SMALL)]
    assert all(condition.met for condition in conditions(design, bounds, BUDGET, **base, constants=SMALL))
    Q6 = design.Q**6
    failures = {
        "(3) eta": {"eta": 2.0},
        "(3) alpha": {"alpha": 4 / (2 * bounds.upper + bounds.lower)},
        "(5)": {"steps": math.floor(design.n**2 / (2 * Q6)) + 1, "constants": replace(SMALL, sample_size=1e-9)},
    }
    for name, change in failures.items():
        found = conditions(design, bounds, BUDGET, **{**base, "constants": SMALL, **change})
        assert [condition.name for condition in found if not condition.met] == [name]
    small = replace(design, n=50)
    broken = {
        c.name for c in conditions(small, spectrum(small, Constants(concentration=9.0)), BUDGET, **base) if not c.met
    }
    assert {"Lemma D.2", "(6) dimension", "Lemma D.1"} <= broken
    assert set(names) == {*failures, "Lemma D.2", "Lemma D.6", "(6) dimension", "(6) privacy", "Lemma D.1"}


def test_limits_of_the_conditions_by_hand():
    bounds = spectrum(DESIGN, SMALL)
    constants = Constants(sample_size=2.0, horizon=3.0, epsilon=0.25)
    found = {c.name: c for c in conditions(DESIGN, bounds, BUDGET, eta=0.5, alpha=0.01, steps=20, constants=constants)}
    Q, Lambda = DESIGN.Q, DESIGN.Lambda
    assert found["(5)"].limit == pytest.approx(3 * 40000**1.75 / (2 * Q**6))
    assert found["(6) dimension"].limit == pytest.approx(2 * 6 * Lambda**2)
    assert found["(6) privacy"].limit == pytest.approx(2 * Q**3)
    assert found["Lemma D.1"].limit == pytest.approx(2 * Q**3 * math.sqrt(20))
    assert found["(6) privacy"].value == 40000 and found["(3) eta"].limit == theorem_step_limits(bounds).eta


@pytest.mark.parametrize("n", [10**3, 10**5, 10**9])
def test_regimes_are_where_terms_are_equal(n):
    design = replace(DESIGN, n=n)
    constants = Constants(optimisation=3.0, privacy=0.2, statistical=0.7)
    found = regimes(design, BUDGET, kappa=0.9, constants=constants)

    def terms(T: float) -> list[float]:
        unit = error_bound(design, BUDGET, steps=1, kappa=0.9, constants=constants)
        return [3.0 * 0.9 ** (T / 2), unit.privacy * math.sqrt(T), float(unit.statistical)]

    assert terms(found.statistical_from)[0] == pytest.approx(terms(0)[2], rel=1e-10)
    assert terms(found.privacy_from)[1] == pytest.approx(terms(0)[2], rel=1e-10)
    assert terms(found.crossing)[0] == pytest.approx(terms(found.crossing)[1], rel=1e-10)
    if found.has_plateau:
        middle = math.sqrt(found.statistical_from * found.privacy_from)
        bound = error_bound(design, BUDGET, steps=round(middle), kappa=0.9, constants=constants)
        assert bound.dominant == "statistical"
    late = math.ceil(2 * max(found.privacy_from, found.crossing))
    assert error_bound(design, BUDGET, steps=late, kappa=0.9, constants=constants).dominant == "privacy"


def test_regimes_as_printed():
    found = regimes(DESIGN, BUDGET, kappa=0.7)
    Q, Lambda = DESIGN.Q, DESIGN.Lambda
    assert found.statistical_from == pytest.approx(math.log(40000 / (6 * Lambda**2)) / math.log(1 / 0.7))
    assert found.privacy_from == pytest.approx(40000 * 3 * Lambda**2 / Q**6)
    assert found.valid_until == pytest.approx(40000**2 / (2 * Q**6)) and found.has_plateau


@given(st.integers(10, 10**7), st.floats(0.01, 10), st.floats(0.01, 10))
@settings(derandomize=True, deadline=None)
def test_the_third_range_is_not_empty_where_n_is_large_enough(n, rho1, rho2):
    design = replace(DESIGN, n=n)
    found = regimes(design, TwoStageBudget(rho1=rho1, rho2=rho2), kappa=0.5)
    share = n / (6 * design.Lambda**2 * min(rho1, rho2) / rho1)
    if abs(share - 1) > 1e-9:
        assert (found.privacy_from < found.valid_until) == (share > 1)


@pytest.mark.parametrize(("n", "expected"), [(10**4, 14.042), (10**6, 28.343), (10**8, 42.205)])
def test_optimal_steps_in_closed_form_and_by_minimisation(n, expected):
    design = replace(DESIGN, n=n, p=5, q=5, tau=5.0)
    found = optimal_steps(design, TwoStageBudget.equal(1.0), kappa=0.5)
    assert found.stationary == pytest.approx(expected, abs=1e-3)
    unit = float(error_bound(design, TwoStageBudget.equal(1.0), steps=1, kappa=0.5).privacy)
    best = minimize_scalar(
        lambda T: 0.5 ** (T / 2) + unit * math.sqrt(T), bounds=(5, 60), method="bounded", options={"xatol": 1e-9}
    )
    assert found.stationary == pytest.approx(best.x, abs=1e-4)
    scanned, curve = scan_steps(design, TwoStageBudget.equal(1.0), kappa=0.5, longest=100)
    assert (
        (scanned.steps, float(scanned.value))
        == (found.steps, float(found.value))
        == (
            int(np.argmin(curve)) + 1,
            curve.min(),
        )
    )


def test_optimal_steps_are_logarithmic_in_n():
    """iv Remark 3.7 has super-logarithmic: T / log n tends to 1 / log(1 / kappa) / ... bounded instead."""
    for kappa in (0.5, 0.9):
        ratios = []
        for k in (8, 16, 32, 64):
            found = optimal_steps(replace(DESIGN, n=10**k), BUDGET, kappa=kappa)
            ratios.append(found.steps / math.log(10.0**k))
        limit = 2 / math.log(1 / kappa)
        assert ratios == sorted(ratios) and ratios[-1] < limit and ratios[-1] == pytest.approx(limit, rel=0.1)


def test_noise_that_is_too_large_leaves_one_step():
    assert stationary_steps(1.0, 0.1, 5.0) is None
    found = optimal_steps(replace(DESIGN, n=3), BUDGET, kappa=0.9)
    assert (found.steps, found.stationary) == (1, None)
    assert stationary_steps_of_squares(1.0, 0.1, 5.0) is None
    with pytest.raises(DomainError, match="more steps"):
        optimal_steps(DESIGN, TwoStageBudget(), kappa=0.9)


@given(st.floats(0.1, 10), st.floats(0.01, 2), st.floats(1e-6, 3))
@settings(derandomize=True, deadline=None)
def test_stationary_points_by_their_derivatives(start, rate, growth):
    T = stationary_steps(start, rate, growth)
    if T is None:
        T = np.geomspace(1e-6, 1e4, 20001)
        assert (np.diff(start * np.exp(-rate * T) + growth * np.sqrt(T)) > -1e-12).all()
    else:
        assert start * rate * math.exp(-rate * T) == pytest.approx(growth / (2 * math.sqrt(T)), rel=1e-7)
        assert rate * T >= 0.5 - 1e-6  # W_0, the local maximum, is below 1/2
    squares = stationary_steps_of_squares(start, rate, growth)
    if squares is not None:
        assert 2 * rate * start**2 * math.exp(-2 * rate * squares) == pytest.approx(growth**2, rel=1e-9)
