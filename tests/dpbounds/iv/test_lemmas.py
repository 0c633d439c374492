"""Right-hand sides of iv Appendices C, D and F.2: fixed points, simulation, counting."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpbounds import DomainError
from dpbounds.iv import Constants, Design, TwoStageBudget, friendly_core, lemmas, spectrum

DESIGN = Design(n=5000, p=2, q=3, theta_norm=6.0, theta_least=3.0, sigma_z=1.1, sigma_2=1.5, tau=2.0)
SMALL = Constants(concentration=0.5, product=0.05)


@pytest.mark.parametrize("n", [200, 5000, 10**6])
def test_least_clip_norms_are_fixed_points(n):
    design = replace(DESIGN, n=n)
    gamma1, gamma2 = lemmas.least_clip_norms(design, TwoStageBudget(rho1=0.5, rho2=2.0), steps=20)
    Q = math.sqrt(3) + math.sqrt(2 + math.log(20 * n))
    s1 = math.sqrt(20 / 0.5) * (math.sqrt(2) + Q) / n
    s2 = math.sqrt(20 / 2.0) * (math.sqrt(2) + math.sqrt(2 + math.log(20))) / n
    for gamma, B, s in ((gamma1, 1.21 * 1.5 * Q**2, s1), (gamma2, 1.21 * Q**2, s2)):
        assert math.isinf(gamma) == (B * s >= 1)
        assert math.isinf(gamma) or gamma == pytest.approx(B * (1 + gamma * s), rel=1e-10)
    assert math.isinf(gamma1) == (n == 200)


def test_sample_size_without_clipping_grows_with_the_horizon():
    sizes = [lemmas.no_clipping_sample_size(DESIGN, TwoStageBudget(rho1=0.5, rho2=2.0), steps=T) for T in (1, 100)]
    assert sizes[0] == pytest.approx(DESIGN.Q**3 / math.sqrt(0.5)) and sizes[1] == pytest.approx(10 * sizes[0])


@pytest.mark.parametrize(("n", "q", "tau"), [(50, 3, 1.0), (200, 10, 2.0)])
def test_singular_values_of_gaussian_instruments(n, q, tau):
    """Misses of the Gaussian bound are at most 2 e^{-tau}; C_0 = sqrt(2) makes Lemma D.2's at least as wide."""
    design = replace(DESIGN, n=n, p=1, q=q, tau=tau, sigma_z=1.0)
    low, high = lemmas.gaussian_singular_values(design)
    wide = lemmas.singular_values(design, spectrum(design, Constants(concentration=math.sqrt(2))))
    assert wide[0] <= low + 1e-9 and wide[1] >= high - 1e-9
    values = np.linalg.svd(np.random.default_rng(0).normal(size=(2000, n, q)), compute_uv=False)
    misses = int(((values[:, 0] > high) | (values[:, -1] < low)).sum())
    assert stats.binomtest(misses, 2000, 2 * math.exp(-tau), alternative="greater").pvalue > 1e-9
    assert values[:, 0].max() > 0.85 * high


def test_noise_bounds_by_simulation():
    """N = V^{1/2} times a Gaussian matrix with A = I; the paper's bound is the looser one."""
    design = replace(DESIGN, p=4, q=9, tau=1.5)
    eta, lambda1 = 0.6, 0.7
    scale = {"eta": eta, "lambda1": lambda1, "kappa_theta": 0.4}
    paper, sharp = lemmas.noise_bound(design, **scale), lemmas.gaussian_noise_bound(design, **scale)
    sd = eta * lambda1 / math.sqrt(1 - 0.16)
    assert paper == pytest.approx(sd * (6 + math.sqrt(8 * (math.log(4) + 1.5))), rel=1e-13)
    norms = np.linalg.norm(sd * np.random.default_rng(1).normal(size=(4000, 9, 4)), ord=2, axis=(1, 2))
    misses = int((norms > sharp).sum())
    assert stats.binomtest(misses, 4000, math.exp(-1.5), alternative="greater").pvalue > 1e-9
    assert sharp < paper and norms.max() > 0.8 * sharp
    whole = lemmas.first_stage_bound(design, **scale, theta_hat_norm=5.0, burn_in=3)
    assert whole == pytest.approx(0.4**3 * 5 + paper, rel=1e-13)


@given(st.floats(1e-3, 100), st.floats(0.01, 50), st.floats(0, 0.9))
@settings(derandomize=True, deadline=None)
def test_tolerance_solves_equation_13(lower, norm, delta):
    bounds = spectrum(DESIGN)._replace(delta=delta, lower=lower)
    eps = lemmas.first_stage_tolerance(bounds, norm)
    assert 2 * (2 * norm + eps) * (1 + delta) ** 2 * eps == pytest.approx(lower, rel=1e-10)
    with mpmath.workdps(40):
        exact = mpmath.sqrt(mpmath.mpf(norm) ** 2 + mpmath.mpf(lower) / (2 * (1 + mpmath.mpf(delta)) ** 2)) - norm
    assert eps == pytest.approx(float(exact), rel=1e-12)


def test_weyl_at_the_tolerance():
    """||e_Theta|| = eps-bar moves the spectrum of H by at most gamma-lower / 2, attained to 1 % by a bad direction."""
    theta_hat, A = np.diag([3.0, 1.0]), 1.44 * np.eye(2)
    lower = float(np.linalg.eigvalsh(theta_hat @ A @ theta_hat)[0])
    bounds = spectrum(DESIGN)._replace(delta=0.2, lower=lower)
    eps = lemmas.first_stage_tolerance(bounds, 3.0)
    generator, moves = np.random.default_rng(0), []
    for _ in range(300):
        e = generator.normal(size=(2, 2))
        e *= eps / np.linalg.norm(e, 2)
        moves.append(np.linalg.norm((theta_hat + e).T @ A @ (theta_hat + e) - theta_hat @ A @ theta_hat, 2))
    assert max(moves) <= lower / 2 * (1 + 1e-12)
    worst = theta_hat + np.diag([eps, 0.0])
    assert np.linalg.norm(worst.T @ A @ worst - theta_hat @ A @ theta_hat, 2) == pytest.approx(lower / 2, rel=1e-10)


@pytest.mark.parametrize("eta", [0.3, 0.8, 1.2, 1.9])
def test_burn_in_and_its_limit(eta):
    design = replace(DESIGN, n=10**14)
    bounds = spectrum(design, SMALL)
    kappa = max(abs(1 - eta * (1 - bounds.delta) ** 2), abs(1 - eta * (1 + bounds.delta) ** 2))
    steps = lemmas.burn_in(bounds, 6.0, kappa)
    eps = lemmas.first_stage_tolerance(bounds, 6.0)
    assert kappa**steps * 6 <= eps / 2 < kappa ** (steps - 1) * 6
    limit = lemmas.burn_in_limit(eta, 6.0, 3.0)
    assert steps == math.ceil(limit)
    with mpmath.workdps(30):
        inside = (mpmath.sqrt(1 + mpmath.mpf(9) / 72) - 1) / 2
        expected = mpmath.log(inside) / mpmath.log(abs(1 - mpmath.mpf(eta)))
        printed = mpmath.log(mpmath.sqrt(mpmath.mpf(9) / 72) / 2) / mpmath.log(abs(1 - mpmath.mpf(eta)))
    assert limit == pytest.approx(float(expected), rel=1e-12)
    assert abs(limit - float(printed)) > 0.3 * abs(limit)
    with pytest.raises(DomainError):
        lemmas.burn_in_limit(1.0, 6.0, 3.0)


def test_noise_dimension_is_at_most_root_p_times_a_cube():
    """iv eq. (24): log p <= p - 1 <= q, so R <= (1 + 1) sqrt(p) Q³; the ratio over a grid stays in [1, 2]."""
    ratios = []
    for p in (1, 5, 50, 200):
        for q in (p, 2 * p, 200):
            for tau in (0.1, 1.0, 50.0):
                design = replace(DESIGN, p=p, q=max(p, q), tau=tau)
                ratios.append(lemmas.noise_dimension(design) / (math.sqrt(p) * design.Q**3))
    assert min(ratios) >= 0.99 and max(ratios) <= 1.45


def test_product_bound_inverts_its_tail():
    level = lemmas.product_bound(DESIGN, SMALL)
    assert level == pytest.approx(0.05 * 1.1 * 1.5 * math.sqrt(5000 * 6) * (2 + math.log(12)), rel=1e-13)
    assert lemmas.product_tail(level, DESIGN, SMALL) == pytest.approx(math.exp(-2), rel=1e-12)


def test_rates_by_hand():
    assert lemmas.estimator_rate(DESIGN) == pytest.approx(math.sqrt(3 / 5000) * (2 + math.log(3)))
    assert lemmas.residual_rate(DESIGN) == pytest.approx(math.sqrt(5000 * 6) * (2 + math.log(6)))


def test_product_of_contractions():
    """Norms of I - alpha Theta'A Theta for ||Theta|| up to the bound, multiplied."""
    bounds = spectrum(DESIGN)._replace(delta=0.1)
    bound = lemmas.product_of_contractions_bound(
        bounds, alpha=0.05, theta_hat_norm=6.0, first_stage_error=2.0, burn_in=3
    )
    assert bound == pytest.approx((1 + 0.05 * 1.21 * 64) ** 3)
    generator = np.random.default_rng(0)
    for _ in range(50):
        total = 1.0
        for _ in range(3):
            theta = generator.normal(size=(3, 2))
            theta *= 8 / np.linalg.norm(theta, 2)
            total *= np.linalg.norm(np.eye(2) - 0.05 * 1.21 * theta.T @ theta, 2)
        assert total <= bound


@pytest.mark.parametrize(("p", "q"), [(5, 5), (1, 4), (5, 20), (5, 100)])
def test_moment_dimension_by_counting(p, q):
    distinct = {tuple(sorted((i, j))) for i in range(q) for j in range(q)}
    mixed = {(i, q + j) for i in range(q) for j in range(p)} | {(i, q + p) for i in range(q)}
    assert friendly_core.moment_dimension(p, q) == len(distinct | mixed)
    assert friendly_core.printed_moment_dimension(p, q) == p * q + p * p + p
    assert (friendly_core.moment_dimension(p, q) > friendly_core.printed_moment_dimension(p, q)) == (q >= 2 * p)


def test_friendly_core_rates():
    assert friendly_core.average_error(100, 50, 4.0) == pytest.approx(1.0)
    assert friendly_core.average_error(100, 50, 4.0, radius=20.0) == pytest.approx(2.0)
    assert friendly_core.printed_term(2, 3, 60, 0.25) == pytest.approx(0.2)


@given(st.integers(0, 10**6))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_lipschitz_constant_bounds_the_difference_of_solutions(seed):
    generator = np.random.default_rng(seed)
    G1, G2 = (np.eye(2) + 0.3 * (B := generator.normal(size=(2, 2))) @ B.T for _ in range(2))
    h1, h2, distance = generator.normal(size=2), generator.normal(size=2), float(generator.uniform(0.1, 2))
    lambda_0 = min(float(np.linalg.eigvalsh(G)[0]) for G in (G1, G2))
    C_G = np.linalg.norm(G2 - G1, 2) / distance
    C_h = max(np.linalg.norm(h1 - h2) / distance, np.linalg.norm(h2))
    moved = np.linalg.norm(np.linalg.solve(G1, h1) - np.linalg.solve(G2, h2))
    assert moved <= friendly_core.lipschitz_constant(float(C_h), float(C_G), lambda_0) * distance * (1 + 1e-12)


def test_chain_bounds_by_hand():
    """iv eqs. (15) to (17), (26) to (28): two steps in fractions, rates in whole numbers."""
    half = Fraction(1, 2)
    bound = lemmas.second_stage_bound(
        kappa_beta=half,
        alpha=2,
        delta=1,
        beta_hat_norm=3,
        residual=5,
        theta_norms=[1, 2],
        first_stage_errors=[1, half],
        noise=7,
        start=8,
    )
    assert bound == 2 + half * 2 * (12 + 5) + 2 * 2 * (6 + 5) + 28
    assert lemmas.second_stage_rate(1, 2, 3, 5) == 21
    assert lemmas.burn_in_rate(4, 3, 2, 1, 5) == 54
    assert lemmas.settled_rate(5) == 6
    assert lemmas.final_rate(1, 2, 4, 8, 16) == 31


def test_noise_sizes_by_hand():
    design = replace(DESIGN, p=4, q=9, tau=9.0)
    assert lemmas.first_noise_rate(design, 0.5) == pytest.approx(3 + math.sqrt(9 + math.log(4)))
    assert lemmas.second_noise_rate(design, 0.5) == pytest.approx(2.5)
    assert lemmas.noise_dimension(design) == pytest.approx(36 * (6 + 2 * math.sqrt(9 + math.log(4))))


@pytest.mark.parametrize("norm", [0.0, 1e-8, 3.0, 1e8])
def test_tolerance_is_the_largest_admissible_error(norm):
    eps = lemmas.tolerance(norm, 0.25)
    assert (2 * norm + eps) * eps == pytest.approx(0.25, rel=1e-12)
