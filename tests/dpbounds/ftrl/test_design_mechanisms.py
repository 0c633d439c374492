"""Designed mechanisms against dense matrices, 50 digits and brute force over patterns; what they refuse."""

from __future__ import annotations

import time
from itertools import combinations

import mpmath
import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.arithmetic import balls, complex_balls
from dpbounds.ftrl import correlations, design, linear_regression
from dpbounds.ftrl.design import Objective, Participation, best
from dpbounds.ftrl.design.fitting import fit_scales, fitting_buffers

BLT = design.Blt((0.99, 0.8, 0.3), (0.02, 0.15, 0.2))
SIGNED = design.Blt((0.9, 0.5), (0.4, -0.3))
BANDS = design.Bands((1.5, 0.6, 0.3, -0.2))
RESONANT = correlations.from_resonances(np.array([1.0, 2.0, 0.1]), np.array([0.7, 1e-3, 0.05]))
FILTERS = [BLT, SIGNED, BANDS, RESONANT]
LONG = 12_000


def named(correlation) -> str:
    return correlation.name


# --- the closed form of the optimum ---


def test_roots_lie_between_the_rates_and_are_zeros():
    rng = np.random.default_rng(4)
    for _ in range(40):
        rates = np.sort(np.exp(rng.uniform(-28, 0.6, 5)))
        weights = np.exp(rng.uniform(-12, 12, 5))
        roots = correlations.interlacing_roots(weights, rates)
        assert np.all(rates[:-1] < roots) and np.all(roots < rates[1:])
        with mpmath.workdps(60):
            for root in roots:
                low, high = (
                    _sum(weights, rates, mpmath.mpf(root) * (1 + sign * mpmath.mpf("1e-13"))) for sign in (-1, 1)
                )
                assert low < 0 < high or abs(root / rates - 1).min() < 1e-13


def _sum(weights, rates, xi):
    pairs = [(mpmath.mpf(float(w)), mpmath.mpf(float(x))) for w, x in zip(weights, rates, strict=True)]
    return sum(w / ((x - xi) * (x + xi - x * xi)) for w, x in pairs)


def test_a_root_found_exactly_is_kept():
    """Once the sum is 0 in floats, the search must stop there and not at the middle of its bracket."""
    found = []
    rng = np.random.default_rng(1)
    for _ in range(60):
        rates = np.array([6e-12, 5e-11, 7.5e-11, 0.68 * (1 + 0.01 * rng.uniform()), 1.42515])
        weights = np.array([5e-6, 4e-2, 5e-7, 1.7e-4 * (1 + rng.uniform()), 1.0])
        root = correlations.interlacing_roots(weights, rates)[-1]
        found.append(float(abs(_sum(weights, rates, mpmath.mpf(root)) * (rates[3] - root))) / weights[3])
    assert max(found) < 1e-9


def test_optimal_correlation_is_quick_and_sound_at_any_rate():
    spectrum = linear_regression.power_law(128, 1.0)
    for eta in (0.05, 1e-10, 1e-28):
        start = time.process_time()
        made = linear_regression.optimal_correlation(spectrum, eta)
        assert time.process_time() - start < 2.0
        product = made.power_spectrum(np.geomspace(1e-34, 3, 50)) / linear_regression.optimal_spectrum(spectrum, eta)(
            np.geomspace(1e-34, 3, 50)
        )
        assert product == pytest.approx(1.0, rel=1e-11)


def test_resonances_refuse():
    for weights, rates in (([1.0], [2.0]), ([0.0], [0.5]), ([1.0, 1.0], [0.5]), ([1.0], [0.0]), ([np.nan], [0.5])):
        with pytest.raises(DomainError):
            correlations.from_resonances(np.array(weights), np.array(rates))
    with pytest.raises(DomainError, match="interlaced"):
        correlations.DampedHalfPowers((0.1, 0.2), (0.5,))
    with pytest.raises(DomainError):
        correlations.DampedHalfPowers((2.5,))


def test_equal_and_nearly_equal_rates_are_one():
    one = correlations.from_resonances(np.array([3.0]), np.array([0.2]))
    two = correlations.from_resonances(np.array([1.0, 2.0]), np.array([0.2, 0.2]))
    near = correlations.from_resonances(np.array([1.0, 2.0]), np.array([0.2, np.nextafter(0.2, 1)]))
    for other in (two, near):
        assert other.coefficients(30) == pytest.approx(one.coefficients(30), rel=1e-12)


# --- filters ---


@pytest.mark.parametrize("filtered", FILTERS, ids=named)
def test_filters_against_long_sums(filtered):
    T = 19
    assert filtered.matrix(T) @ filtered.encoder(T) == pytest.approx(np.eye(T), abs=1e-12)
    c, beta = filtered.inverse_coefficients(LONG), filtered.coefficients(LONG)
    assert filtered.limiting_sensitivity() == pytest.approx(np.linalg.norm(c), rel=1e-9)
    assert filtered.sensitivity(T) == pytest.approx(np.linalg.norm(c[:T]), rel=1e-12)
    omega = np.array([0.0, 1e-4, 0.3, np.pi])
    transform = np.abs(np.exp(-1j * np.outer(omega, np.arange(LONG))) @ beta) ** 2
    assert filtered.power_spectrum(omega) == pytest.approx(transform, rel=1e-6)
    x = np.array([0.05, 0.5, 1.0])
    for rate, power in zip(x, filtered.filtered_power(x), strict=True):
        driven = np.convolve(beta[:3000], (1 - rate) ** np.arange(3000))
        assert power == pytest.approx(rate * (2 - rate) * np.sum(driven**2), rel=1e-6)


@pytest.mark.parametrize("filtered", FILTERS, ids=named)
def test_balls_hold_the_density(filtered):
    for s in (1e-9, 0.25, 1.0):
        number = float(filtered.power_spectrum(np.array([2 * np.arcsin(np.sqrt(s))]))[0])
        with balls(200) as m:
            ball = filtered.spectral_density(m, m.number(s))
            assert float(ball) == pytest.approx(number, rel=1e-9)
        with complex_balls(200) as m:
            assert float(filtered.spectral_density(m, m.number(s)).real) == pytest.approx(number, rel=1e-9)


def test_blt_of_an_inverse():
    assert BLT.inverse().inverse_coefficients(50) == pytest.approx(BLT.coefficients(50), abs=1e-14)
    assert BLT.inverse().inverse().buf_decay == pytest.approx(sorted(BLT.buf_decay), rel=1e-9)
    with pytest.raises(DomainError, match="real decays"):
        design.Blt((0.3,), (0.9,)).inverse()
    assert design.Blt((), ()).inverse_coefficients(3).tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("decays", "scales", "message"),
    [
        ((0.5,), (), "one per buffer"),
        ((1.0,), (0.1,), r"\[0, 1\)"),
        ((-0.1,), (0.1,), r"\[0, 1\)"),
        ((0.5,), (1.6,), "minimum phase"),
        ((0.5,), (-0.5,), "minimum phase"),
        ((0.5,), (np.nan,), "finite"),
        ((0.1,) * 65, (0.001,) * 65, "at most 64"),
    ],
)
def test_blt_refuses(decays, scales, message):
    with pytest.raises(DomainError, match=message):
        design.Blt(decays, scales)


def test_bands_refuse_what_is_not_minimum_phase():
    for c in ((1.0, 2.0), (1.0, -1.0), (1.0, 0.0, 1.0), (0.0, 1.0), (1.0, 0.5, 1.5)):
        with pytest.raises(DomainError):
            design.Bands(c)
    many = np.r_[1.0, np.full(99, 0.9 / 99)]
    assert design.Bands(tuple(many)).bands == 100
    with pytest.raises(DomainError, match="minimum phase"):  # (1 - z / 2)^{1/2} in reverse
        design.Bands(tuple(np.cumprod([1.0, *(0.5 * (k - 1.5) / k for k in range(1, 90))])[::-1]))
    for zeros in ([1.0, -1.02], [1.0, 0.0, 1.05], [1.0, -1.0]):
        with pytest.raises(DomainError, match="minimum phase"):
            design.Bands(tuple(np.convolve(many, zeros)))
    assert design.truncated(BLT, 5).inverse_coefficients(7).tolist() == [*BLT.inverse_coefficients(5), 0.0, 0.0]


# --- scaling ---


@pytest.mark.parametrize("filtered", FILTERS, ids=named)
@pytest.mark.parametrize("T", [1, 2, 31])
def test_columns_are_unit_vectors(filtered, T):
    rows = np.exp(np.sin(np.arange(T)))
    for made in (design.unit_columns(filtered, T), design.ScaledToeplitz(filtered, T, rows)):
        assert np.linalg.norm(made.encoder(T), axis=0) == pytest.approx(np.ones(T), rel=1e-12)
        assert made.matrix(T) @ made.encoder(T) == pytest.approx(np.eye(T), abs=1e-11)
        assert made.sensitivity(T) == 1.0
        assert float(design.sensitivity(made, T)) == 1.0


def test_column_norms_of_a_blt_in_linear_time():
    rows = np.exp(np.linspace(-3, 5, 400))
    fast, direct = design.ScaledBlt(BLT, 400, rows), design.ScaledToeplitz(BLT, 400, rows)
    assert fast.column_scale == pytest.approx(direct.column_scale, rel=1e-12)


def test_scaling_refuses():
    for rows in (np.ones(4), np.array([1.0, 0.0, 1.0]), np.array([1.0, np.inf, 1.0])):
        with pytest.raises(DomainError, match="row_scale"):
            design.ScaledToeplitz(BLT, 3, rows)
    with pytest.raises(DomainError, match="horizon"):
        design.unit_columns(BLT, 3).matrix(4)
    with pytest.raises(DomainError, match="a Blt"):
        design.ScaledBlt(BANDS, 3)


@pytest.mark.parametrize("weights", ["mean", "final"])
@pytest.mark.parametrize("options", [{"batch_size": 1}, {"noiseless": True}, {"noiseless": True, "momentum": 0.8}])
def test_cost_in_linear_time_is_the_dense_one(weights, options):
    schedule = 0.3 * (1 - np.arange(37) / 50)
    objective = design.Objective(np.array([1.0, 0.2, 0.01]), 37, schedule=schedule, weights=weights, **options)
    for made in (design.unit_columns(SIGNED, 37), design.ScaledBlt(BLT, 37, 1.0 / np.sqrt(np.arange(1, 38)))):
        dense = correlations.from_matrix(made.matrix(37))
        assert objective.noise_power(made) == pytest.approx(objective.noise_power(dense), rel=1e-11)


# --- fits ---


def test_mean_loss_is_within_half_a_percent():
    for spectrum, rate in ((1.0 / np.arange(1, 33), 0.05), (np.ones(5), 0.5), (np.array([1.0, 1e-4]), 0.2)):
        made = design.best(design.Objective(spectrum, 65, rate), buffers=3)
        assert 1 - 1e-9 <= made.ratio <= 1.005
        assert made.sensitivity.kind == "exact"


def test_long_runs_start_from_short_ones():
    """T = 2048 by way of 1024: no worse than what the stationary spectrum gives."""
    objective = design.Objective(1.0 / np.arange(1, 33), 2048, 0.1)
    made = design.fit_scaled_blt(objective, 5)
    stationary = design.unit_columns(
        design.fit_coefficients(design.spectral(objective).inverse_coefficients(2048), 5), 2048
    )
    assert objective.noise_power(made) < objective.noise_power(stationary)


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_short_runs(steps):
    objective = design.Objective(np.array([1.0, 0.3]), steps, 0.3, batch_size=2, weights="final")
    buffers = fitting_buffers(1, steps) if steps > 1 else 0
    made = design.best(objective, buffers=buffers)
    assert 1 - 1e-9 <= made.ratio < 1.2


@pytest.mark.parametrize(("steps", "most"), [(1, 0), (2, 1), (5, 2), (9, 4), (100, 16)])
def test_buffers_that_cannot_fit(steps, most):
    objective = design.Objective(np.array([1.0]), steps, 0.3)
    with pytest.raises(DomainError, match=f"at most {most} buffers can fit a run of {steps} steps"):
        design.best(objective, buffers=most + 1)


def test_heavy_ball():
    objective = design.Objective(1.0 / np.arange(1, 17), 96, 0.1, momentum=0.7)
    made = design.best(objective)
    assert 1 - 1e-9 <= made.ratio <= 1.03
    with pytest.raises(DomainError, match="momentum"):
        design.fit_scaled_blt(objective, 2)


def test_coefficients_of_prefix_sums_by_a_blt():
    c = correlations.optimal_counting().inverse_coefficients(512)
    assert design.fit_coefficients(c, 6).inverse_coefficients(512) == pytest.approx(c, abs=2e-3)
    with pytest.raises(DomainError, match="non-negative"):
        design.fit_coefficients(np.array([1.0, -0.1, 0.0]), 1)
    with pytest.raises(DomainError, match="non-negative"):
        design.fit_coefficients(np.array([0.0, 0.1, 0.0]), 1)


# --- several participations ---


def test_monotone_blt_against_all_patterns():
    objective, T, k, b = design.Objective(np.array([1.0, 0.1]), 11, 0.4), 11, 3, 3
    participation = design.Participation.min_separation(k, b)
    made = design.fit_monotone_blt(objective, participation, 2)
    c = made.inverse_coefficients(T)
    assert np.all(np.diff(c) <= 0) and np.all(c >= 0)
    C = made.encoder(T)
    patterns = [p for p in combinations(range(T), k) if min(np.diff(p)) >= b]
    largest = max(np.linalg.norm(C[:, list(p)].sum(axis=1)) for p in patterns)
    assert float(design.sensitivity(made, T, participation)) == pytest.approx(largest, rel=1e-12)


def test_several_participations():
    objective = design.Objective(1.0 / np.arange(1, 33), 96, 0.2)
    for participation, most in (
        (design.Participation.min_separation(4, 24), 1.09),
        (design.Participation.cyclic(4, 24), 1.09),
        (design.Participation.min_separation(48, 2), 1.6),
    ):
        made = design.best(objective, participation, buffers=3)
        assert 1 - 1e-6 <= made.ratio <= most
        assert float(made.value) == pytest.approx(
            float(made.sensitivity) ** 2 * objective.noise_power(made.mechanism), rel=1e-12
        )


def test_unknown_spectrum():
    objective = design.Objective(1.0 / np.arange(1, 9), 20, 0.2)
    other = design.Objective(np.ones(8), 20, 0.2)
    made = design.robust(objective, family=[objective, other], buffers=2)
    assert 1 <= made.worst / float(made.bound) <= 1.02
    assert made.worst < other.noise_power(design.best(objective, buffers=2).mechanism) / made.references[1]
    assert design.best(objective, buffers=1, unknown_spectrum=True).mechanism.name == "minimax BLT, 1 buffers"
    with pytest.raises(DomainError, match="unknown_spectrum"):
        design.best(objective, design.Participation.min_separation(2, 3), buffers=2, unknown_spectrum=True)
    with pytest.raises(DomainError, match="family"):
        design.robust(objective, family=[design.Objective(np.array([1.0]), 21, 0.2)], buffers=2)


@pytest.mark.parametrize("weights", ["final", "mean"])
def test_scales_of_independent_noise_for_records_in_every_step(weights):
    """(sum_t G_tt^{1/2})^2, by Cauchy-Schwarz the least of any diagonal C; for fewer uses no other scales are."""
    rng = np.random.default_rng(0)
    objective = Objective(np.array([1.0, 0.4]), 12, eta=0.4, weights=weights)
    costs = objective.diagonal()
    every = Participation.min_separation(12, 1)
    assert float(objective.value(fit_scales(objective, 12), every)) == pytest.approx(np.sqrt(costs).sum() ** 2)
    for times in (2, 5):
        some = Participation.min_separation(times, 1)
        found = float(objective.value(fit_scales(objective, times), some))
        for _ in range(200):
            v = costs**0.5 * np.exp(rng.normal(size=12) * rng.choice([0.05, 0.5]))
            assert np.sort(v)[-times:].sum() * np.sum(costs / v) >= found * (1 - 1e-12)
    with pytest.raises(DomainError, match="steps"):
        fit_scales(Objective(np.ones(1), 1025, eta=0.4), 2)


@pytest.mark.parametrize("weights", ["final", "mean"])
@pytest.mark.parametrize(("times", "separation", "steps"), [(2, 1, 2), (2, 1, 3), (3, 2, 6), (5, 1, 5), (1, 1, 9)])
def test_the_best_is_the_best_of_what_was_tried(weights, times, separation, steps):
    objective = Objective(1.0 / np.arange(1.0, 4.0), steps, eta=0.5, weights=weights)
    participation = Participation.single() if times == 1 else Participation.min_separation(times, separation)
    found = best(objective, participation)
    for row in found.rows:
        assert float(found.value) <= row.value * (1 + 1e-12)
    if separation == 1 and times > 1:
        assert float(found.value) <= float(objective.value(fit_scales(objective, times), participation)) * (1 + 1e-12)
    assert found.ratio >= 1
