"""Neighbouring data sets and their laws: the printed algorithms by hand, and the theory's costs against them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpbounds.iv import TwoStageBudget, beta_only_attack, joint_cost, unnoised_cost, unnoised_noise_scale
from simulators.engine import Experiment
from simulators.iv import Settings
from verify.checks.audit import gaussian_zcdp
from verify.papers.iv.paper.sf_1_beta_only import _divergence, _largest_cost
from verify.papers.iv.tools.output_laws import (
    Adversary,
    Mechanism,
    beta_only_pairs,
    beta_shifts,
    exact_scale,
    fixed,
    joint_shifts,
    log_likelihood_ratio,
    opposite_records,
    printed_scale,
    random_records,
    turning_records,
)
from verify.papers.iv.tools.reference import Records, clip, descent, gradients, noiseless, rational_records


def test_two_steps_by_hand():
    """One record (z, x, y) = (2, 3, 5), eta = 1/2, alpha = 1/3: Theta = 0, 3, 0 and beta = 0, 0, 10."""
    data = Records(np.array([[Fraction(2)]]), np.array([[Fraction(3)]]), np.array([Fraction(5)]))
    path = descent(data, eta=Fraction(1, 2), alpha=Fraction(1, 3), noise=noiseless(2))
    assert [theta.item() for theta, _ in path] == [0, 3, 0]
    assert [beta.item() for _, beta in path] == [0, 0, 10]


def test_noise_is_added_with_the_step_sizes():
    data = Records(np.zeros((2, 1)), np.zeros((2, 1)), np.zeros(2))
    path = descent(data, eta=0.5, alpha=0.25, noise=[(np.ones((1, 1)), np.ones(1))] * 2)
    assert [theta.item() for theta, _ in path] == [0, 0.5, 1.0]
    assert [beta.item() for _, beta in path] == [0, 0.25, 0.5]


def test_clip():
    assert clip(np.array([3.0, 4.0]), 10.0) == pytest.approx([3.0, 4.0])
    assert clip(np.array([[3.0], [4.0]]), 1.0) == pytest.approx(np.array([[0.6], [0.8]]))
    assert clip(np.array([3, 4]), None).tolist() == [3, 4]


def test_rational_records_are_identified():
    data = rational_records(np.random.default_rng(0), 5, 3, 2)
    assert all(isinstance(value, Fraction) for part in data for value in part.ravel())
    Z, X, _ = data.floats()
    assert np.linalg.matrix_rank(Z) == 3
    assert np.linalg.matrix_rank(Z.T @ X) == 2


def test_neighbours_differ_in_one_record():
    for first, second in (
        opposite_records(4, 3, 2),
        turning_records(4, 0.5),
        random_records(np.random.default_rng(1), 4, 2, 1),
    ):
        different = [any(np.any(a[i] != b[i]) for a, b in zip(first, second, strict=True)) for i in range(4)]
        assert different == [True, False, False, False]


@pytest.mark.parametrize(("n", "T"), [(1, 1), (2, 5), (6, 9)])
def test_the_joint_cost_is_the_one_of_theory(n, T):
    mechanism = Mechanism(n=n, steps=T, gamma1=1.3, gamma2=0.4, lambda1=0.7, lambda2=0.2)
    shift, variances = joint_shifts(opposite_records(n, 2, 2), mechanism, np.random.default_rng(5))
    stated = joint_cost(TwoStageBudget(gamma1=1.3, gamma2=0.4, lambda1=0.7, lambda2=0.2), n, T)
    assert gaussian_zcdp(shift, np.diag(variances)) == pytest.approx(float(stated), rel=1e-12)


def test_no_random_pair_costs_more():
    rng = np.random.default_rng(6)
    mechanism = Mechanism(n=3, steps=4)
    stated = joint_cost(TwoStageBudget(gamma1=1.0, gamma2=1.0, lambda1=1.0, lambda2=1.0), 3, 4)
    for _ in range(20):
        shift, variances = joint_shifts(random_records(rng, 3, 2, 2), mechanism, rng)
        assert gaussian_zcdp(shift, np.diag(variances)) <= stated


@pytest.mark.parametrize(("n", "T"), [(1, 2), (3, 4), (10, 2)])
def test_the_cost_of_beta_alone_is_the_one_of_theory(n, T):
    mechanism = Mechanism(n=n, steps=T, gamma2=0.6, lambda2=0.5)
    shift = beta_shifts(turning_records(n, 1.0), mechanism, np.random.default_rng(7))
    stated = unnoised_cost(TwoStageBudget(gamma2=0.6, lambda2=0.5), n, T)
    assert float(shift @ shift) / (2 * 0.5**2) == pytest.approx(float(stated), rel=1e-12)
    assert exact_scale(n, T, 0.3) == pytest.approx(
        float(unnoised_noise_scale(TwoStageBudget(rho2=0.3, gamma2=1.0), n, T))
    )


def test_the_scale_of_lemma_f_1():
    n, T, rho = 7, 3, 0.4
    assert 2 * T / (n * printed_scale(n, T, rho)) ** 2 == pytest.approx(rho)
    worst, benign = beta_only_pairs((n, T), scale=printed_scale)
    assert gaussian_zcdp(worst.shift, worst.covariance) == pytest.approx(n**2 * (1 - 1 / T) * worst.claimed_rho)
    assert gaussian_zcdp(benign.shift, benign.covariance) < gaussian_zcdp(worst.shift, worst.covariance)


@pytest.mark.parametrize(("reach", "distance"), [(0.1, 0.5), (1.0, 3.0), (2.0, 30.0)])
def test_mixtures_against_the_attack_of_theory(reach, distance):
    n = 1000
    stated = beta_only_attack(TwoStageBudget(gamma1=1.0, gamma2=1.0, lambda1=1 / (n * reach), lambda2=1 / distance), n)
    law = (np.array([reach]), np.array([distance]), np.zeros(1))
    found = _divergence(*law)[0]
    assert found == pytest.approx(float(stated), rel=1e-7)
    assert _largest_cost(*law)[0] >= found * 0.99


def test_only_the_turned_gradients_move():
    first, second = turning_records(5, 1.0)
    for theta in (-0.3, 0.3):
        own, other = (gradients(data, np.full((1, 1), theta), np.zeros(1), 9.0, 1.0) for data in (first, second))
        assert own[1] == pytest.approx(other[1])
        assert own[0].item() - other[0].item() == pytest.approx(-2 / 5)


def test_the_log_likelihood_ratio_has_the_law_of_a_gaussian_mechanism():
    """N(+-rho, 2 rho) on the two data sets, rho the exact cost."""
    n, T = 3, 4
    settings = Settings(
        steps=T, eta=0.3, alpha=0.2, gamma1=1.0, gamma2=1.0, lambda1=0.8, lambda2=0.7, record_paths=True
    )
    rho = float(joint_cost(TwoStageBudget(gamma1=1.0, gamma2=1.0, lambda1=0.8, lambda2=0.7), n, T))
    for side, data in zip((1, -1), opposite_records(n), strict=True):
        problem = Adversary(data=fixed(data), drift1=1 / n, drift2=1 / n)
        run = Experiment(algorithm=log_likelihood_ratio, problem=problem, settings=settings, block_trials=20_000)
        ratio = run.run_block(0, seed=0)["ratio"]
        assert ratio.mean() == pytest.approx(side * rho, abs=6 * np.sqrt(2 * rho / 20_000))
        assert ratio.var() == pytest.approx(2 * rho, rel=0.06)
