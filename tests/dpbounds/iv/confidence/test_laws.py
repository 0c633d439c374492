"""Sensitivities, normal approximation, sign curves and the relatives of the test, against independent computations."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr

from dpbounds import DomainError
from dpbounds.iv.confidence import (
    MomentRelease,
    bennett_radius,
    block_scales,
    block_sensitivity,
    box_weights,
    cell_form,
    cell_variance,
    conditional_qlr,
    equivalent_sample,
    kolmogorov_bound,
    moment_sensitivity,
    noise_scales,
    sign_critical,
    sign_p_value,
    sign_set,
    step_noise,
    uniform_kolmogorov_bound,
)
from dpbounds.iv.confidence.conditional import least_statistic
from dpbounds.privacy import gaussian_delta, gaussian_epsilon


def test_numbers_of_the_sensitivities_by_hand():
    printed = {(1.0, 0.5): 4.0, (1.0, 1.0): 4.5, (1.0, 3.0): 8 + 1 / 6, (1.0, 0.1): 4.0, (1.0, 10.0): 22.05}
    for (b, a), squared in printed.items():
        assert moment_sensitivity(b, a, "replace-one") == pytest.approx(squared, rel=1e-12)
        assert moment_sensitivity(b, a, "zero-out") == pytest.approx(a + b, rel=1e-12)
    blocks = {
        (0.8, 1, 0.1): 4.225,
        (0.7, 1, 0.05): 2 * (1.75) + 2 * (1 / 2.8 - 0.05),
        (1, 1, 1): 6.0,
        (0.3, 1, 0.3): 4.0,
    }
    for precisions, squared in blocks.items():
        assert block_sensitivity(*precisions, "replace-one") == pytest.approx(squared, rel=1e-12)
        a, b, e = precisions
        assert block_sensitivity(e, b, a, "replace-one") == pytest.approx(squared, rel=1e-12)


def test_the_cost_in_epsilon_and_delta():
    """Two opposite records under replace-one, by the exact trade-off: ε = 1 at mu = .236704, δ = 1e-6."""
    mu = 0.236704
    scales = noise_scales(mu, adjacency="replace-one")
    assert gaussian_delta(2 / scales.first, 1.0) == pytest.approx(1e-6, rel=1e-3)
    assert gaussian_epsilon(2 / scales.first, 1e-6) == pytest.approx(1.0, rel=1e-4)


@pytest.mark.parametrize("adjacency", ["zero-out", "replace-one"])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
def test_scales_spend_the_budget(adjacency, share):
    first, second = noise_scales(0.7, adjacency=adjacency, share=share)
    assert moment_sensitivity(first**-2, second**-2, adjacency) == pytest.approx(0.49, rel=1e-12)
    scales = block_scales(0.7, adjacency=adjacency, share=share / 2)
    assert block_sensitivity(*(scale**-2 for scale in scales), adjacency) == pytest.approx(0.49, rel=1e-12)


def test_kolmogorov_bound_at_thirty_digits():
    with mpmath.workdps(30):
        for N, mu in ((0.3, 0.3), (1000.0, 0.3), (25.0, 0.8)):
            r = min(1, N)

            def integrand(t, N=N, r=r, mu=mu):
                decay = max(t**2 * (1 - t**2 / 3) / 2, 2 * t**2 / mpmath.pi**2 if t <= mpmath.pi / 2 else 0, 0)
                return (N * t**2 / 6 + N * r * t**3 / 8) * mpmath.exp(-(t**2) / (2 * mu**2) - (N - r) * decay)

            width = 1 / math.sqrt(mu**-2 + 0.4 * (N - r))
            joints = [mpmath.sqrt(3 - 12 / mpmath.pi**2), mpmath.pi / 2, mpmath.sqrt(3)]
            cuts = sorted([0, *joints, *(width * k for k in range(1, 12)), 40 * mu + 2])
            expected = mpmath.quad(integrand, cuts) / mpmath.pi
            classical = 0.56 * N / (N + mu**-2) ** 1.5
            assert kolmogorov_bound(N, mu) == pytest.approx(float(min(expected, classical)), rel=1e-8)


def test_kolmogorov_bounds_at_the_ends_of_their_range():
    assert kolmogorov_bound(0.0, 0.3) == 0.0
    for mu, N in itertools.product((1e-6, 0.05, 0.5, 3.0, 1e6), (1e-9, 0.1, 1.0, 30.0, 1e8)):
        bound = kolmogorov_bound(N, mu)
        assert 0 < bound <= min(1.0, 0.2156 * mu)
    assert uniform_kolmogorov_bound(1e6) == 1.0
    assert uniform_kolmogorov_bound(1e-6) < 1e-6


def test_no_law_on_three_points_breaks_the_bound():
    """Terms of different laws on {-1, 0, 1} and asymmetric points, n <= 6, convolved one by one."""
    rng = np.random.default_rng(5)
    t = np.linspace(-3.5, 3.5, 141)
    tightest = np.inf
    for _ in range(150):
        mu = 10 ** rng.uniform(-1.3, 0.5)
        sums, weights, variance = np.zeros(1), np.ones(1), 0.0
        for _ in range(rng.integers(1, 7)):
            low, high = -(rng.uniform(0, 1) ** 3), 1.0
            rest = rng.uniform(0, 1) ** 2
            law = np.array([high, -low, 0.0])
            law = np.array([high * (1 - rest), -low * (1 - rest), rest * (high - low)]) / (high - low)
            points = np.array([low, high, 0.0])
            variance += float(law @ points**2)
            sums, weights = np.add.outer(sums, points).ravel(), np.multiply.outer(weights, law).ravel()
        deviation = math.sqrt(variance + mu**-2)
        exact = ndtr((t[:, None] * deviation - sums) * mu) @ weights
        gap = np.abs(exact - ndtr(t)).max()
        bound = kolmogorov_bound(variance, mu)
        tightest = min(tightest, bound / gap)
        assert gap <= bound + 1e-14
    assert tightest < 3


def test_bennett_beats_nothing_impossible():
    """The radius is beyond the exact quantile of Gaussian noise alone, and grows with variance and confidence."""
    assert bennett_radius(0.0, 1.0, 2.0, 0.05) == pytest.approx(2 * math.sqrt(2 * math.log(40)), rel=1e-12)
    assert bennett_radius(1e-300, 1.0, 2.0, 0.05) == pytest.approx(2 * math.sqrt(2 * math.log(40)), rel=1e-6)
    grown = [bennett_radius(V, 1.0, 2.0, alpha) for V, alpha in ((1, 0.1), (2, 0.1), (2, 0.01), (2e8, 0.01))]
    assert grown == sorted(grown)
    with pytest.raises(DomainError, match="deviation"):
        bennett_radius(0.0, 1.0, 0.0, 0.05)


def test_least_statistic_by_eigenvalues():
    """For Sigma = I the least AR is the least eigenvalue of the moments' Gram matrix."""
    moments = np.random.default_rng(2).standard_normal((30, 2, 5)) * np.array([1.0, 40.0])[:, None]
    expected = [np.linalg.eigvalsh(pair @ pair.T)[0] for pair in moments]
    np.testing.assert_allclose(least_statistic(np.eye(10), moments), expected, rtol=1e-6)


def test_qlr_depends_on_the_generator_alone():
    made = MomentRelease(
        first=np.array([5.0, 1.0, 7.0, 3.0]),
        second=4 * np.eye(4),
        first_scale=1.0,
        second_scale=1.0,
        outcome_weight=1.0,
        regressor_weights=np.ones(1),
        n=50,
        adjacency="replace-one",
    )
    one, other = (conditional_qlr(made, 0.4, rng=np.random.default_rng(3), draws=100) for _ in range(2))
    assert one == other
    with pytest.raises(DomainError, match="draws"):
        conditional_qlr(made, 0.4, rng=np.random.default_rng(3), draws=5)


def test_cells_by_hand():
    found = cell_variance([10.0, 20.0], [0.5, 0.0], [1.0, 0.0], [0.0, 2.0], scale=2.0, coefficients=[3.0])
    expected = 16 * (1.25 * (1 + 9 + 9) / 100 + 1 * (1 + 9 + 4) / 400)
    assert found == pytest.approx(expected, rel=1e-12)
    with pytest.raises(DomainError, match="as many"):
        cell_form([10.0], [0.5, 0.1], [1.0], [0.0], scale=2.0)
    with pytest.raises(DomainError, match="counts"):
        cell_form([0.0], [0.5], [1.0], [0.0], scale=2.0)


def test_step_noise_at_the_ends():
    assert step_noise(1).factor == 1.0
    assert step_noise(2).factor == pytest.approx(math.sqrt(2), rel=1e-15)
    factor, spectrum = step_noise(1_000_000)
    assert spectrum.mean() == pytest.approx(factor**2, rel=1e-12)
    assert (spectrum > 0).all()
    np.testing.assert_array_equal(spectrum, spectrum[::-1])
    for bad in (0, -1, 2.5, 10**7):
        with pytest.raises(DomainError):
            step_noise(bad)


@pytest.mark.parametrize("pi", [0.1, 0.5, 0.7])
def test_p_values_are_uniform_under_the_null(pi):
    """P(p-value <= alpha) over the exact law of the curve: alpha at pi = 1/2, at most alpha otherwise."""
    n, s = 12, 0.8
    z = np.array(list(itertools.product((0, 1), repeat=n)))
    masses = np.prod(np.where(z == 1, pi, 1 - pi), axis=1)
    for plus in (0, 5, 12):
        D = (z - pi) @ np.where(np.arange(n) < plus, 1, -1)
        for alpha in (0.05, 0.3):
            critical = sign_critical(n, s, pi, 1 - alpha)
            size = masses @ (ndtr((D - critical) / s) + ndtr((-D - critical) / s))
            if pi == 0.5:
                assert size == pytest.approx(alpha, rel=1e-9)
            assert size <= alpha * (1 + 1e-9)


def test_sign_sets_refuse_coarse_grids():
    grid = np.linspace(-2, 2, 41)
    steep, flat = 400 * (grid - 0.33), 20 * (grid - 0.33)
    settings = {"n": 100, "deviation": 4.0}
    with pytest.raises(DomainError, match="fine enough"):
        sign_set(steep, grid, **settings)
    assert sign_set(steep, grid, **settings, refuse_coarse=False).shape in ("interval", "empty")
    found, shape = sign_set(flat, grid, **settings)
    assert shape == "interval"
    assert found[0][0] < 0.33 < found[0][1]
    for bad in ((flat, grid[::-1]), (flat * math.nan, grid)):
        with pytest.raises(DomainError):
            sign_set(*bad, **settings)
    for keywords in (
        {"n": 0, "deviation": 1.0},
        {"n": 9, "deviation": 0.0},
        {"n": 9, "deviation": 1.0, "probability": 1.0},
    ):
        with pytest.raises(DomainError):
            sign_set(flat, grid, **keywords)


def test_p_values_refuse_what_is_not_known():
    assert sign_p_value(0.0, 5, 1.0) == 1.0
    with pytest.raises(DomainError, match="deviation"):
        sign_p_value(3.0, 1000, 0.0, 0.3)
    assert sign_p_value(3.0, 1001, 0.0) > 0


@pytest.mark.parametrize("mu", [0.0, -1.0, math.inf, math.nan, 1e-60])
def test_budgets_that_are_none(mu):
    for call in (
        lambda: noise_scales(mu, adjacency="zero-out"),
        lambda: block_scales(mu, adjacency="replace-one"),
        lambda: kolmogorov_bound(10.0, mu),
        lambda: uniform_kolmogorov_bound(mu),
    ):
        with pytest.raises(DomainError, match="mu"):
            call()


def test_planning_refuses():
    good = {"instrument_bound": 1.0, "outcome_bound": 1.0, "regressor_bounds": [1.0], "coefficients": [1.0]}
    good |= {"deviation": 1.0, "adjacency": "zero-out"}
    assert equivalent_sample(1.0, **good) == pytest.approx(4 / 0.85, rel=1e-12)
    for changes in (
        {"share": 0.0},
        {"share": 1.0},
        {"adjacency": "add-remove"},
        {"coefficients": [1.0, 2.0]},
        {"deviation": 0.0},
        {"regressor_bounds": [0.0]},
        {"regressor_bounds": []},
    ):
        with pytest.raises(DomainError):
            equivalent_sample(1.0, **(good | changes))
    with pytest.raises(DomainError, match="ratio"):
        box_weights(1.0, [1.0], [0.5, 0.5])
