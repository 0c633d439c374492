"""The recursions behind the streams: how many states, and how near the weights they come."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import mpmath
import numpy as np
import pytest
from scipy import special
from scipy.signal import fftconvolve

from dpbounds import AccuracyError, DomainError
from dpbounds.ftrl.correlations import (
    DampedHalfPowers,
    HalfPowers,
    NuCorrelation,
    ToeplitzCorrelation,
    from_power_spectrum,
    nu,
    optimal_counting,
)
from dpbounds.ftrl.linear_regression import optimal_correlation
from simulators.noise import correlated_noise, exponentials, recursions, short_recursion, stream


@pytest.mark.parametrize(
    ("nu_", "steps", "most"),
    [
        (0.0, 129, 16),
        (0.0, 1000, 22),
        (0.0, 1_000_000, 38),
        (1e-8, 1_000_000, 38),
        (1e-4, 1_000_000, 30),
        (0.1, 100_000, 11),
        (1.0, 1000, 0),
    ],
)
def test_the_stated_error_is_the_error_at_all_lags(nu_: float, steps: int, most: int) -> None:
    recursion = exponentials(nu_, steps)
    error = np.abs(recursion.weights(steps - 1) - NuCorrelation(nu_).coefficients(steps)[1:])
    assert len(recursion.inlet) <= most
    assert error.max() <= 1e-11
    assert error.sum() <= 1e-10
    assert error.sum() <= 1.1 * recursion.error + 1e-13


@pytest.mark.parametrize("nu_", [0.0, 1e-8, 1e-4])
def test_exponentials_against_fifty_digits(nu_: float) -> None:
    weights = exponentials(nu_, 1_000_000).weights(999_999)
    with mpmath.workdps(50):
        for lag in (1, 2, 10, 1000, 54_321, 999_999):
            exact = (-1) ** lag * mpmath.binomial(mpmath.mpf(1) / 2, lag) * (1 - mpmath.mpf(nu_)) ** lag
            assert abs(weights[lag - 1] - exact) < 1e-12


def test_exponentials_hold_for_ten_million_steps() -> None:
    recursion = exponentials(0.0, 10_000_000)
    assert len(recursion.inlet) <= 43
    assert recursion.error <= 5e-11
    assert np.diag(recursion.transition).max() < 1.0
    assert np.diag(recursion.transition).min() > 0.0


def test_an_accuracy_that_is_not_reached_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recursions, "CUTS", (1e-4,))
    with pytest.raises(AccuracyError, match=r"exponentials for nu=0\.0123, steps=777: summed error"):
        exponentials(0.0123, 777)


@pytest.mark.parametrize(("nu_", "steps", "name"), [(-0.1, 10, "nu"), (1.5, 10, "nu"), (0.1, 0, "steps")])
def test_bad_arguments(nu_: float, steps: int, name: str) -> None:
    with pytest.raises(DomainError, match=f"{name} = "):
        exponentials(nu_, steps)


def weights_of(correlation: ToeplitzCorrelation, steps: int) -> np.ndarray:
    beta = correlation.coefficients(steps)
    return beta[: np.count_nonzero(np.cumsum(np.abs(beta[::-1]))[::-1] > 1e-12)]


def of_many_roots() -> HalfPowers:
    """22 branch points around a circle, as the optimal correlation of the strongly convex class has them."""
    circle = np.exp(1j * np.pi * (np.arange(11) + 0.5) / 11)
    return HalfPowers(tuple(0.86 * circle), (*(0.88 * circle), 0.93))


def resonance(omega: np.ndarray) -> np.ndarray:
    return 1.0 / ((1.001 - np.cos(omega - 1.0)) * (1.001 - np.cos(omega + 1.0)))


@pytest.mark.parametrize(
    ("beta", "states"),
    [
        (weights_of(from_power_spectrum(lambda omega: np.hypot(1e-2, 2.0 * np.sin(omega / 2.0))), 8192), 30),
        (weights_of(from_power_spectrum(resonance), 4096), 2),
        (weights_of(optimal_correlation(np.array([1.0, 0.1, 0.01]), 0.05), 60_000), 48),
        (weights_of(of_many_roots(), 4_000), 72),
        (1e-8 * np.concatenate([[5.0], 0.8 ** np.arange(200)]), 1),
    ],
    ids=["nu-like", "resonance", "optimal", "many roots", "geometric"],
)
def test_given_weights_are_reduced_where_that_is_short(beta: np.ndarray, states: int) -> None:
    recursion = short_recursion(beta)
    assert recursion is not None
    error = np.abs(recursion.weights(len(beta) - 1) - beta[1:]).sum() / np.linalg.norm(beta)
    assert error <= 1e-10
    assert error == pytest.approx(recursion.error, rel=1e-3, abs=1e-14)
    assert len(recursion.inlet) <= states
    assert np.linalg.norm(recursion.transition, 2) <= 1.0 + 1e-12


@pytest.mark.parametrize(
    "beta",
    [
        np.random.default_rng(0).standard_normal(500),
        optimal_counting().coefficients(2000),
        nu(0.5).coefficients(recursions.FEWEST_STATES),
    ],
    ids=["rough", "cut short", "few"],
)
def test_no_recursion_is_better_than_an_inaccurate_one(beta: np.ndarray) -> None:
    assert short_recursion(beta) is None


def summed_error(recursion: recursions.Recursion, beta: np.ndarray) -> float:
    """Relative to the root sum of squares, as a fraction of what the stream states."""
    return float(np.abs(recursion.weights(len(beta) - 1) - beta[1:]).sum() / np.linalg.norm(beta)) / 1e-10


@pytest.mark.parametrize(
    ("correlation", "steps", "states"),
    [
        (optimal_counting(), 2000, 25),
        (nu(1e-6), 20_000, 36),
        (optimal_correlation(1.0 / np.arange(1, 129) ** 3, 0.05), 20_000, 48),
        (HalfPowers((*of_many_roots().zeros, 1 - 1e-7), (*of_many_roots().poles, 0.5)), 8_000, 96),
    ],
    ids=["counting", "nu", "128 eigenvalues", "many roots"],
)
def test_weights_that_go_on_are_reduced_for_the_steps_of_the_run(correlation, steps, states):
    beta = correlation.coefficients(steps)
    recursion = short_recursion(beta, ends=False)
    assert recursion is not None and len(recursion.inlet) <= states
    assert summed_error(recursion, beta) <= 1.0
    assert summed_error(replace(recursion, transition=recursion.transition * (1 - 1e-6)), beta) > 10.0


def equal_poles(q: float, half: int, steps: int) -> np.ndarray:
    """(1 - q z)^{-half}: binomial(t + half - 1, half - 1) q^t."""
    return special.binom(np.arange(steps) + half - 1, half - 1) * q ** np.arange(steps)


def binomial(q: float, steps: int) -> np.ndarray:
    """(1 - q z)^{1/2}."""
    lags = np.arange(steps)
    return (-1.0) ** lags * special.binom(0.5, lags) * q**lags


def by_logarithm(zeros: list[complex], poles: list[complex], steps: int) -> np.ndarray:
    """t beta_t = sum_k p_k beta_{t-k}, p_k = (sum poles^k - sum zeros^k) / 2: B' = B (log B)'."""
    lags = np.arange(1, steps)[:, None]
    p = 0.5 * np.real((np.array(poles) ** lags).sum(axis=1) - (np.array(zeros) ** lags).sum(axis=1))
    beta = np.ones(steps)
    for t in range(1, steps):
        beta[t] = p[:t] @ beta[t - 1 :: -1] / t
    return beta


@pytest.mark.parametrize(
    ("correlation", "weights"),
    [
        (HalfPowers((), (0.98,) * 20), partial(equal_poles, 0.98, 10)),
        (HalfPowers((0.9,), (0.5 + 0.3j, -0.95)), partial(by_logarithm, [0.9], [0.5 + 0.3j, 0.5 - 0.3j, -0.95])),
        (HalfPowers(()), partial(by_logarithm, [0.0], [0.0])),
        (DampedHalfPowers((0.02,)), partial(binomial, 0.98)),
        (DampedHalfPowers((0.5, 1.99), (1.2,)), partial(by_logarithm, [0.5, -0.99], [-0.2])),
        (DampedHalfPowers((0.3,), (0.004,)), partial(by_logarithm, [0.7], [0.996])),
    ],
    ids=["equal poles", "pair", "independent", "nu", "rates beyond 1", "slow pole"],
)
@pytest.mark.parametrize("steps", [100, 4000])
def test_weights_are_cut_only_where_they_have_died_out(correlation, weights, steps: int) -> None:
    """Each step is off by at most 1e-10 of the standard deviation times the largest draw."""
    beta = weights(steps)
    draws = np.random.default_rng(3).standard_normal(steps)
    noise = np.concatenate(list(correlated_noise(correlation, steps, 1, np.random.default_rng(3))))[:, 0]
    allowed = 1e-10 * np.linalg.norm(beta) * np.abs(draws).max()
    np.testing.assert_allclose(noise, fftconvolve(draws, beta)[:steps], rtol=0, atol=allowed)


def test_the_cut_leaves_few_weights_and_a_short_recursion() -> None:
    """Not one weight per step: the recursion of a million steps is that of ten thousand."""
    short, long = (stream._filter(DampedHalfPowers((0.02,)), steps) for steps in (10_000, 1_000_000))
    assert len(short[0]) == len(long[0]) < 1500
    assert short[1] is not None
    assert long[1] is not None
    assert np.array_equal(short[1].transition, long[1].transition)
