"""Noise correlations against brute force, exact rationals and mpmath."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbounds import AccuracyError, DomainError
from dpbounds.arithmetic import balls, complex_balls
from dpbounds.ftrl import correlations as c
from dpbounds.ftrl.correlations.step_down import step_down

TOEPLITZ = [
    c.independent(),
    c.nu(0.3),
    c.nu(1.0),
    c.optimal_counting(),
    c.anti_pgd(),
    c.damped_anti_pgd(0.2),
    c.from_coefficients([1.0, -0.5, 0.3, 0.2]),
    c.HalfPowers((0.5, 0.6 + 0.3j), (-0.2, 0.9)),
    c.from_power_spectrum(lambda omega: 1.25 - np.cos(omega)),
]
MATRICES = [
    lambda T: c.tree_aggregation(T),
    lambda T: c.tree_aggregation(T, decoder="honaker"),
    c.full_honaker,
    c.fft_mechanism,
    c.optimal_prefix_sum,
    lambda T: c.banded(T, min(T, 3)),
    lambda T: c.restarted(c.nu(0.1), T, 2 if T % 2 == 0 else 1),
    lambda T: c.from_matrix(np.eye(T) + 0.3 * np.ones((T, T))),
]
RATES = np.array([1e-6, 0.01, 0.3, 1.0])


def named(correlation) -> str:
    return correlation.name


@pytest.mark.parametrize("correlation", TOEPLITZ, ids=named)
def test_decoder_inverts_encoder(correlation):
    for T in (1, 2, 17):
        assert correlation.matrix(T) @ correlation.encoder(T) == pytest.approx(np.eye(T), abs=1e-9)
        assert correlation.sensitivity(T) == pytest.approx(
            np.linalg.norm(correlation.encoder(T), axis=0).max(), rel=1e-12
        )
        assert correlation.prefix_error(T) == pytest.approx(np.sum((np.tri(T) @ correlation.matrix(T)) ** 2), rel=1e-9)


@pytest.mark.parametrize("make", MATRICES)
@pytest.mark.parametrize("T", [1, 2, 5, 8])
def test_matrix_decoder_inverts_encoder(make, T):
    correlation = make(T)
    assert correlation.matrix(T) @ correlation.encoder(T) == pytest.approx(np.eye(T), abs=1e-9)
    assert correlation.sensitivity(T) == pytest.approx(np.sqrt(np.max(np.sum(correlation.encoder(T) ** 2, axis=0))))
    with pytest.raises(DomainError, match=f"T = {T + 1} .*horizon {T}"):
        correlation.matrix(T + 1)


@pytest.mark.parametrize("correlation", TOEPLITZ, ids=named)
def test_spectrum_is_that_of_the_weights(correlation):
    omega = np.array([0.3, 1.0, 2.0, np.pi])
    terms = 200_000
    transform = np.exp(1j * np.outer(omega, np.arange(terms))) @ correlation.coefficients(terms)
    assert correlation.power_spectrum(omega) == pytest.approx(np.abs(transform) ** 2, abs=2e-5, rel=1e-3)
    assert correlation.power_spectrum(-omega) == pytest.approx(correlation.power_spectrum(omega))


@pytest.mark.parametrize("correlation", TOEPLITZ[:8], ids=named)
def test_density_in_every_arithmetic(correlation):
    omega = np.array([1e-6, 0.3, 2.0])
    with balls(200) as m:
        values = [correlation.spectral_density(m, m.number(float(s))) for s in np.sin(omega / 2) ** 2]
        assert [float(value) for value in values] == pytest.approx(
            correlation.power_spectrum(omega), rel=1e-9, abs=1e-15
        )
    with complex_balls(100) as m:
        assert correlation.spectral_density(m, m.number(0.25)).real.overlaps(correlation.spectral_density(m, 0.25).real)


@pytest.mark.parametrize("correlation", TOEPLITZ, ids=named)
def test_filtered_power_is_the_double_sum(correlation):
    T = 3000
    beta = correlation.coefficients(T)
    autocorrelation = np.correlate(beta, beta, mode="full")[T - 1 :]
    for x in (0.05, 0.3, 1.0):
        powers = (1.0 - x) ** np.arange(T)
        brute = 2.0 * autocorrelation @ powers - autocorrelation[0]
        assert correlation.filtered_power(np.array([x]))[0] == pytest.approx(
            brute, rel=2e-3 if "counting" in correlation.name else 1e-9
        )


@pytest.mark.parametrize(("nu", "exact"), [(0.3, True), (1.0, True), (1e-3, True), (0.0, False)])
def test_limiting_sensitivity_of_nu(nu, exact):
    correlation = c.NuCorrelation(nu)
    limit = correlation.limiting_sensitivity()
    if exact:
        assert limit == pytest.approx(correlation.sensitivity(40_000), rel=1e-12)
        assert limit**2 == pytest.approx(float(2 / mpmath.pi * mpmath.ellipk((1 - nu) ** 2)), rel=1e-13)
    else:
        assert limit == np.inf and correlation.sensitivity(10**6) < 3


@pytest.mark.parametrize("nu", [1e-12, 1e-8, 1e-5, 0.01, 0.7, 1.0])
def test_nu_is_accurate_to_a_million_steps(nu):
    lags = [0, 1, 2, 1000, 31_622, 999_999]
    beta, inverse = c.nu(nu).coefficients(10**6), c.nu(nu).inverse_coefficients(10**6)
    with mpmath.workdps(50):
        damping = 1 - mpmath.mpf(nu)
        for t in lags:
            for series, power in ((beta, mpmath.mpf(1) / 2), (inverse, -mpmath.mpf(1) / 2)):
                exact = (-1) ** t * mpmath.binomial(power, t) * damping**t
                assert series[t] == pytest.approx(float(exact), rel=2e-13, abs=1e-300)


def test_nu_series_are_exact_at_small_size():
    nu = Fraction(1, 4)
    beta = [Fraction(1)]
    for t in range(1, 12):
        beta.append(beta[-1] * (1 - nu) * (t - Fraction(3, 2)) / t)
    square = [sum(beta[k] * beta[t - k] for k in range(t + 1)) for t in range(12)]
    assert square == [1, -(1 - nu)] + [0] * 10
    assert c.nu(0.25).coefficients(12) == pytest.approx([float(b) for b in beta], rel=1e-15)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.lists(st.floats(-0.8, 0.8), min_size=1, max_size=5))
def test_reflection_coefficients_decide_stability_and_the_limit(reflection):
    """Any |k_i| < 1 gives a minimum-phase sequence (step-up), whose limit agrees with the growing sum."""
    row = np.array([1.0])
    for k in reflection:
        row = np.append(row, 0.0) + k * np.append(row, 0.0)[::-1]
    correlation = c.from_coefficients(row)
    assert correlation.reflection_coefficients()[::-1] == pytest.approx(reflection, abs=1e-6)
    assert correlation.limiting_sensitivity() == pytest.approx(correlation.sensitivity(10_000), rel=1e-6)


@pytest.mark.parametrize(
    "beta",
    [
        [1, -1],
        [1, 1],
        [1, -2, 1],
        [1, 0, 1],
        [1, 1, 1],
        [1, -1.5, 1],
        np.convolve([1, -1], [1, -0.25]),
        np.convolve(np.convolve([1, -1.5, 1], [1, 0.5, 1]), [1, 0.5]),
        [1, 0, 0, 0, 1],
        np.convolve([1, -3, 3, -1], [1, 0.125]),
    ],
)
def test_zeros_on_the_circle_have_no_limit(beta):
    assert c.from_coefficients(beta).limiting_sensitivity() == np.inf
    assert step_down(tuple(map(float, beta))).place == "circle"


def test_a_zero_just_inside_that_floats_take_for_outside():
    """At |z| = 0.99999976; step-down in floats finds all reflection coefficients below 1."""
    beta = [1, -4.975555109194228, 9.902444517018797, -9.854001982983592, 4.90289085308228, -0.9757782779232572]
    with pytest.raises(DomainError, match="minimum-phase"):
        c.from_coefficients(beta)
    assert c.from_coefficients(beta, allow_unstable_inverse=True).limiting_sensitivity() == np.inf


def ill_conditioned(rng: np.random.Generator) -> np.ndarray:
    """Weights with up to 7 zeros, most of them near the circle, on either side, many close together."""
    zeros = []
    while len(zeros) < rng.integers(1, 8):
        modulus = 1 + rng.choice([-1, 1, 1]) * 10 ** rng.uniform(-12, -3)
        angle = rng.choice([0.0, np.pi, rng.uniform(0, 0.1), rng.uniform(0, np.pi)])
        zero = modulus * np.exp(1j * angle)
        zeros += [zero.real] if angle in (0.0, np.pi) else [zero, zero.conjugate()]
    return np.real(np.poly(1 / np.array(zeros)))


SIGNS = np.array([1.0, -1.0] * 5)


def test_where_zeros_lie_against_isolated_roots():
    """2000 filters; the oracle isolates all roots of the same rational polynomial in discs."""
    rng = np.random.default_rng(20)
    places = {"inside": 0, "outside": 0, "circle": 0}
    for _ in range(2000):
        beta = ill_conditioned(rng)
        found = step_down(tuple(beta.tolist()))
        with flint.ctx.workprec(300):
            roots = flint.fmpq_poly([flint.fmpq(*float(b).as_integer_ratio()) for b in beta]).complex_roots()
            moduli = [abs(flint.acb(root)) for root, _ in roots]
        rational = (
            sum(map(Fraction, beta.tolist())) == 0 or sum(map(Fraction, (beta * SIGNS[: len(beta)]).tolist())) == 0
        )
        inside, outside = any(modulus < 1 for modulus in moduli), all(modulus > 1 for modulus in moduli)
        assert inside or outside or rational  # a zero at 1 or -1
        assert found.place == ("inside" if inside else "outside" if outside else "circle")
        places[found.place] += 1
    assert places["inside"] > 400 and places["outside"] > 400


def test_a_limit_without_rounding():
    """sum_t c_t^2 of 1 / ((1 - a z)(1 - b z)) is (1 + a b) / ((1 - a^2)(1 - b^2)(1 - a b)), in rational numbers."""
    a, b = Fraction(1048575, 1048576), Fraction(262143, 262144)
    beta = [1.0, -float(a + b), float(a * b)]
    assert [Fraction(x) for x in beta] == [1, -(a + b), a * b]
    squared = (1 + a * b) / ((1 - a**2) * (1 - b**2) * (1 - a * b))
    assert float(c.from_coefficients(beta).limiting_sensitivity()) == pytest.approx(float(squared) ** 0.5, rel=3e-16)


def test_what_cannot_be_decided_is_an_error():
    with pytest.raises(AccuracyError, match="unit circle"):
        step_down((1.0, *[0.0] * 69, 1.0))


@pytest.mark.parametrize("beta", [[1.0, -2.0], [1.0, 0.0, 1.5], [1.0, -2.5, 1.0], [0.5, 1.0]])
def test_unstable_inverse_is_refused_by_name(beta):
    with pytest.raises(DomainError, match=r"beta = .*minimum-phase.*from_power_spectrum"):
        c.from_coefficients(beta)
    allowed = c.from_coefficients(beta, allow_unstable_inverse=True)
    assert allowed.limiting_sensitivity() == np.inf and allowed.sensitivity(60) > 1e5


def test_spectral_factor_of_known_spectra():
    for nu in (0.5, 0.01):
        known = c.nu(nu)
        factor = c.from_power_spectrum(known.power_spectrum)
        assert factor.coefficients(50) == pytest.approx(known.coefficients(50), abs=1e-9)
        assert factor.inverse_coefficients(50) == pytest.approx(known.inverse_coefficients(50), abs=1e-9)
        assert factor.limiting_sensitivity() == pytest.approx(known.limiting_sensitivity(), rel=1e-10)
        assert factor.filtered_power(RATES) == pytest.approx(known.filtered_power(RATES), rel=1e-9)
    assert c.from_power_spectrum(lambda omega: 4 * np.ones_like(omega)).coefficients(3) == pytest.approx(
        [2, 0, 0], abs=1e-12
    )


def test_spectral_factor_is_the_stable_one():
    """|1 - 2 z|^2 = |2 - z|^2: the zero outside the disc is taken."""
    assert c.from_power_spectrum(lambda omega: 5 - 4 * np.cos(omega)).coefficients(3) == pytest.approx(
        [2, -1, 0], abs=1e-9
    )


@pytest.mark.parametrize(
    ("spectrum", "message"),
    [
        (lambda omega: np.cos(omega), r"spectrum\(.*\) = -"),
        (lambda omega: np.full_like(omega, np.nan), r"spectrum\(0\) = nan"),
        (lambda omega: 4 * np.sin(omega / 2) ** 2, r"spectrum\(0\) = 0.0"),
        (lambda omega: np.ones(3), "one value per frequency"),
    ],
)
def test_bad_spectra(spectrum, message):
    with pytest.raises(DomainError, match=message):
        c.from_power_spectrum(spectrum)


def test_a_spectrum_too_sharp_for_the_grid_says_so(monkeypatch):
    monkeypatch.setattr("dpbounds.ftrl.correlations.spectral.LARGEST_GRID", 2**14)
    with pytest.raises(AccuracyError, match="largest grid"):
        c.from_power_spectrum(c.nu(1e-5).power_spectrum)


@pytest.mark.parametrize("T", [2, 3, 4])
def test_optimal_prefix_sum_is_optimal(T):
    """The relative duality gap proves it; the golden ratio squared at T = 2; no other encoder of unit sensitivity is
    better.
    """
    best = c.optimal_prefix_sum(T)
    assert best.duality_gap <= 1e-9
    if T == 2:
        assert best.prefix_error(2) == pytest.approx(((1 + np.sqrt(5)) / 2) ** 2, rel=1e-8)
    rng = np.random.default_rng(0)
    for _ in range(300):
        other = rng.standard_normal((T, T))
        other /= np.linalg.norm(other, axis=0).max()
        assert np.sum((np.tri(T) @ np.linalg.inv(other)) ** 2) >= best.prefix_error(T) * (1 - 1e-8)
    assert c.banded(T, T).prefix_error(T) == pytest.approx(best.prefix_error(T), rel=1e-6)


def test_bands_are_bands_and_more_are_better():
    errors = []
    for bands in (1, 2, 4, 8):
        correlation = c.banded(16, bands)
        rows, columns = np.nonzero(correlation.encoder(16))
        assert np.all((rows - columns >= 0) & (rows - columns < bands))
        errors.append(correlation.prefix_error(16))
    assert errors == sorted(errors, reverse=True)


def test_full_honaker_is_least_squares():
    """No unbiased decoder of the tree's draws has a smaller prefix-sum error."""
    T = 6
    plain, honaker, full = c.tree_aggregation(T), c.tree_aggregation(T, decoder="honaker"), c.full_honaker(T)
    assert full.prefix_error(T) < honaker.prefix_error(T) < plain.prefix_error(T)
    encoding = full.encoder(T)
    null = np.eye(len(encoding)) - encoding @ np.linalg.pinv(encoding)
    rng = np.random.default_rng(1)
    for _ in range(50):
        other = full.matrix(T) + 0.1 * rng.standard_normal((T, len(encoding))) @ null
        assert other @ encoding == pytest.approx(np.eye(T), abs=1e-9)
        assert np.sum((np.tri(T) @ other) ** 2) >= full.prefix_error(T)


def test_tree_sensitivity_counts_the_nodes_over_a_leaf():
    for T, nodes in ((1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (8, 4), (9, 4)):
        assert c.tree_aggregation(T).sensitivity(T) ** 2 == pytest.approx(nodes)


@pytest.mark.parametrize("bad", [0.0, -0.1, 1.0001, np.nan, np.inf])
def test_nu_outside_its_range(bad):
    for make in (c.nu, c.damped_anti_pgd):
        with pytest.raises(DomainError, match=r"^nu = "):
            make(bad)


def test_other_bad_arguments():
    for call, name in (
        (lambda: c.from_coefficients([]), "beta"),
        (lambda: c.from_coefficients([1.0, np.nan]), r"beta\[1\]"),
        (lambda: c.from_coefficients([0.0, 1.0]), r"beta\[0\]"),
        (lambda: c.nu(0.5).coefficients(0), "T"),
        (lambda: c.nu(0.5).filtered_power(np.array([1.5])), "decay"),
        (lambda: c.banded(4, 5), "bands"),
        (lambda: c.restarted(c.independent(), 6, 4), "restarts"),
        (lambda: c.from_matrix(np.ones((2, 2))), "matrix"),
    ):
        with pytest.raises(DomainError, match=rf"^{name} = "):
            call()


# --- what is exact is enclosed ---


@pytest.mark.parametrize(
    ("correlation", "squared"),
    [
        (c.independent(), lambda: mpmath.mpf(1)),
        (c.nu(1e-6), lambda: 2 / mpmath.pi * mpmath.ellipk((1 - mpmath.mpf(1e-6)) ** 2)),
        (c.damped_anti_pgd(1e-9), lambda: 1 / (mpmath.mpf(1e-9) * (2 - mpmath.mpf(1e-9)))),
        (c.from_coefficients([2.0, -1.0]), lambda: mpmath.mpf(1) / 3),
        (c.HalfPowers((0.5, 0.5)), lambda: mpmath.mpf(4) / 3),
        (c.anti_pgd(), lambda: mpmath.inf),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_limiting_sensitivities_are_enclosed(correlation, squared):
    limit = correlation.limiting_sensitivity()
    assert limit.kind == "exact" and limit.enclosure is not None
    with mpmath.workdps(40):
        exact = mpmath.sqrt(squared())
    low, high = limit.enclosure
    assert low <= exact <= high and (math.isinf(high) or high / low - 1 < 1e-9)
    assert math.isinf(limit) if mpmath.isinf(exact) else float(limit) == pytest.approx(float(exact), rel=1e-14)


def test_filtered_power_where_its_terms_cancel():
    """(1 - 0.9999 z)^6: in exact rationals."""
    correlation = c.from_coefficients(np.poly([0.9999] * 6), allow_unstable_inverse=True)
    beta = [Fraction(weight) for weight in correlation.beta]
    for x in (1e-9, 1e-4, 0.3, 1.0):
        pairs = ((t, s) for t in range(7) for s in range(7))
        exact = sum(beta[t] * beta[s] * (1 - Fraction(x)) ** abs(t - s) for t, s in pairs)
        assert correlation.filtered_power(np.array([x]))[0] == pytest.approx(float(exact), rel=1e-12)


def test_settings_are_copied_and_made_floats():
    beta, zeros = [1.0, -0.5], [0.5]
    correlation = c.from_coefficients(beta)
    beta[1] = -2.0
    assert correlation.beta == (1.0, -0.5) and hash(correlation)
    assert c.nu(np.float32(0.1)) == c.nu(float(np.float32(0.1))) and type(c.nu(np.float32(0.1)).nu) is float
    assert c.HalfPowers(tuple(zeros)).zeros == (0.5 + 0j,)


def test_what_would_not_fit_is_refused():
    for T in (10_001, 10**10):
        with pytest.raises(DomainError, match=r"T = .*at most 10000"):
            c.nu(0.1).matrix(T)
    with pytest.raises(DomainError, match=r"T = .*at most 1e[+]07"):
        c.nu(0.1).coefficients(10**9)
    with pytest.raises(AccuracyError, match=r"6001 weights: .*too long"):
        c.from_coefficients([1.0, *[0.0] * 5999, 0.5])
