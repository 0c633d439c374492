"""Sensitivity under several participations: every pattern at small sizes, and bad input."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.ftrl.correlations import from_coefficients, from_matrix, independent, nu, optimal_counting
from dpbounds.ftrl.design import Participation, sensitivity


def brute(encoder, k, b, cyclic):
    """max ||C g|| over all patterns of k steps or fewer, by alternating over unit gradients from two starts."""
    rng, squares, best = np.random.default_rng(0), encoder.T @ encoder, 0.0
    fits = np.equal if cyclic else np.greater_equal
    T = encoder.shape[1]
    every = [set(s) for size in range(1, k + 1) for s in combinations(range(T), size) if np.all(fits(np.diff(s), b))]
    for steps in (sorted(one) for one in every if not any(one < other for other in every)):
        block = squares[np.ix_(steps, steps)]
        for _ in range(2):
            g = rng.standard_normal((len(steps), len(steps)))
            g /= np.linalg.norm(g, axis=1)[:, None]
            before, reached = -1.0, 0.0
            while reached > before * (1 + 1e-11):
                for i in range(len(steps)):
                    pull = block[i] @ g - block[i, i] * g[i]
                    g[i] = pull / np.linalg.norm(pull) if np.linalg.norm(pull) > 1e-13 else g[i]
                before, reached = reached, float(np.sum(block * (g @ g.T)))
            best = max(best, reached)
    return np.sqrt(best)


@pytest.mark.parametrize("cyclic", [False, True])
@pytest.mark.parametrize(("T", "k", "b"), [(7, 2, 4), (7, 3, 3), (8, 4, 2), (6, 6, 1), (9, 3, 3), (5, 1, 3), (4, 2, 3)])
def test_toeplitz_rules(T, k, b, cyclic):
    if cyclic and k * b < T:
        k, b = 1, T
    participation = (Participation.cyclic if cyclic else Participation.min_separation)(k, b)
    for correlation in (nu(0.2), optimal_counting(), independent(), from_coefficients([1, -0.5, 0.2])):
        told = sensitivity(correlation, T, participation)
        reached = brute(correlation.encoder(T), k, b, cyclic)
        assert reached <= float(told) * (1 + 1e-9)
        if told.kind == "exact":
            assert reached == pytest.approx(float(told), rel=1e-7)


@pytest.mark.parametrize("seed", range(12))
def test_dense_rules(seed):
    rng = np.random.default_rng(seed)
    T, k, b = [(6, 2, 3), (7, 3, 2), (8, 2, 4), (6, 3, 2)][seed % 4]
    bands = T if seed < 8 else b
    encoder = np.tril(rng.standard_normal((T, T))) * (np.subtract.outer(np.arange(T), np.arange(T)) < bands)
    encoder[np.diag_indices(T)] = rng.uniform(0.5, 1.5, T)
    correlation = from_matrix(np.linalg.inv(encoder))
    for cyclic in (False, True):
        if cyclic and k * b < T:
            continue
        told = sensitivity(correlation, T, (Participation.cyclic if cyclic else Participation.min_separation)(k, b))
        reached = brute(encoder, k, b, cyclic)
        assert reached <= float(told) * (1 + 1e-9)
        assert float(told) <= 1.6 * reached
        if told.kind == "exact":
            assert reached == pytest.approx(float(told), rel=1e-7)


def test_two_sided_bands_are_not_rule_ii():
    """Bands above and below the diagonal: columns b apart overlap, and opposite gradients cannot be told by norms."""
    encoder = np.eye(6) + 0.9 * np.eye(6, k=1) * np.tri(6, 6, 1)
    correlation = from_matrix(np.linalg.inv(encoder))
    told = float(sensitivity(correlation, 6, Participation.min_separation(3, 1)))
    assert brute(encoder, 3, 1, False) <= told * (1 + 1e-9)


def test_signed_coefficients_would_be_understated():
    correlation = from_coefficients([1.0, 0.8])
    c = correlation.inverse_coefficients(8)
    shifted = np.linalg.norm(c + np.r_[0, c[:-1]] + np.r_[0, 0, c[:-2]])
    reached = brute(correlation.encoder(8), 3, 1, False)
    assert shifted < 0.6 * reached
    told = sensitivity(correlation, 8, Participation.min_separation(3, 1))
    assert told.kind == "upper"
    assert reached <= float(told)


def test_reference_value():
    told = sensitivity(optimal_counting(), 13, Participation.min_separation(4, 3))
    assert float(told) ** 2 == pytest.approx(14.1657956, abs=5e-8)


def test_long_runs():
    """Toeplitz rules at 16384 steps against the definition, column by column for one offset."""
    correlation = from_coefficients([1.0, -0.3, 0.4])
    told = float(sensitivity(correlation, 16384, Participation.cyclic(16, 1024))) ** 2
    c = correlation.inverse_coefficients(16384)
    columns = np.array([np.r_[np.zeros(i * 1024), c[: 16384 - i * 1024]] for i in range(16)])
    assert told == pytest.approx(np.abs(columns @ columns.T).sum(), rel=1e-10)


@pytest.mark.parametrize(
    ("make", "T"),
    [
        (lambda: Participation.min_separation(4, 5), 15),
        (lambda: Participation.cyclic(4, 5), 15),
        (lambda: Participation.cyclic(3, 5), 16),
        (lambda: Participation.min_separation(2, 1), 1),
    ],
)
def test_patterns_that_do_not_fit(make, T):
    with pytest.raises(DomainError, match="participation"):
        make().checked(T)


@pytest.mark.parametrize("settings", [(0, 1), (1, 0), (2.5, 1), (2, float("nan")), ("2", 1)])
def test_bad_numbers(settings):
    with pytest.raises(DomainError):
        Participation.min_separation(*settings)


def test_what_fits_exactly():
    for participation, T in ((Participation.min_separation(4, 5), 16), (Participation.cyclic(4, 5), 20)):
        assert participation.checked(T) == T
    with pytest.raises(DomainError):
        Participation(kind="single", times=2)
    with pytest.raises(DomainError):
        Participation(kind="poisson")  # pyright: ignore[reportArgumentType]
    with pytest.raises(DomainError):
        sensitivity(np.eye(3), 3)  # pyright: ignore[reportArgumentType]
