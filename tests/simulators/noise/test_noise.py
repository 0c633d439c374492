"""Streams of correlated noise against the matrix product they stand for."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbounds import DomainError
from dpbounds.ftrl.correlations import (
    NuCorrelation,
    ToeplitzCorrelation,
    anti_pgd,
    banded,
    damped_anti_pgd,
    fft_mechanism,
    from_coefficients,
    from_matrix,
    from_power_spectrum,
    full_honaker,
    independent,
    nu,
    optimal_counting,
    optimal_prefix_sum,
    restarted,
    tree_aggregation,
)
from dpbounds.ftrl.linear_regression import optimal_correlation
from simulators.noise import correlate, correlated_noise, tree_noise


def rough(lags: int) -> ToeplitzCorrelation:
    """Weights that no short recursion makes."""
    return from_coefficients(np.r_[1.0, np.random.default_rng(7).uniform(-0.5, 0.5, lags - 1) / lags])


def smooth_spectrum(omega: np.ndarray) -> np.ndarray:
    return np.hypot(0.02, 2.0 * np.sin(omega / 2.0)) * (1.1 - np.cos(omega)) ** 0.3


TOEPLITZ = {
    "independent": independent,
    "counting": optimal_counting,
    "nu=1e-8": lambda: nu(1e-8),
    "nu=1e-4": lambda: nu(1e-4),
    "nu=0.1": lambda: nu(0.1),
    "nu=1-1e-15": lambda: nu(1 - 1e-15),
    "nu=1": lambda: nu(1.0),
    "anti-PGD": anti_pgd,
    "damped": lambda: damped_anti_pgd(0.3),
    "3 weights": lambda: from_coefficients([2.0, -1.0, 0.25]),
    "128 rough weights": lambda: rough(128),
    "129 rough weights": lambda: rough(129),
    "900 rough weights": lambda: rough(900),
    "spectrum": lambda: from_power_spectrum(smooth_spectrum),
    "128 eigenvalues": lambda: optimal_correlation(1.0 / np.arange(1, 129) ** 3, 0.05),
    "tiny spectrum": lambda: from_power_spectrum(lambda omega: 1e-12 * smooth_spectrum(omega)),
}
MATRICES = {
    "tree": lambda: tree_aggregation(24),
    "Honaker": lambda: tree_aggregation(24, decoder="honaker"),
    "full Honaker": lambda: full_honaker(24),
    "FFT": lambda: fft_mechanism(24),
    "prefix sum": lambda: optimal_prefix_sum(24),
    "banded": lambda: banded(24, 3),
    "restarted": lambda: restarted(nu(0.1), 24, 3),
    "given": lambda: from_matrix(np.tri(24) + np.eye(24)),
}
STEPS, SHAPE, SEED = 1500, (3, 2), 11
ROOT = Path(__file__).parents[3]


def stream(correlation, steps=STEPS, shape=SHAPE, block=None) -> np.ndarray:
    blocks = list(correlated_noise(correlation, steps, shape, np.random.default_rng(SEED), block=block))
    if block is not None:
        assert all(len(part) == block for part in blocks[:-1])
    return np.concatenate(blocks)


def brute_force(correlation, steps, shape) -> np.ndarray:
    matrix = correlation.matrix(steps)
    return np.tensordot(matrix, np.random.default_rng(SEED).standard_normal((matrix.shape[1], *shape)), axes=1)


@pytest.mark.parametrize("name", TOEPLITZ)
def test_streams_equal_the_matrix_product_and_the_fft_for_every_block_length(name: str) -> None:
    correlation = TOEPLITZ[name]()
    expected = brute_force(correlation, STEPS, SHAPE)
    within = 1e-10 * float(np.linalg.norm(correlation.coefficients(STEPS)))
    draws = np.random.default_rng(SEED).standard_normal((STEPS, *SHAPE))
    np.testing.assert_allclose(correlate(correlation, draws), expected, rtol=0, atol=1e-3 * within)
    for block in (None, 1, 7, 64, 1024):
        np.testing.assert_allclose(stream(correlation, block=block), expected, rtol=0, atol=within)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("block", [None, 1, 5, 24, 1000])
def test_matrix_correlations_are_multiplied_row_by_row(name: str, block: int | None) -> None:
    correlation = MATRICES[name]()
    expected = brute_force(correlation, 24, SHAPE)
    np.testing.assert_allclose(stream(correlation, 24, block=block), expected, rtol=0, atol=1e-12)
    draws = np.random.default_rng(SEED).standard_normal((correlation.matrix(24).shape[1], *SHAPE))
    np.testing.assert_allclose(correlate(correlation, draws), expected, rtol=0, atol=1e-12)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    nu_=st.floats(0.0, 1.0),
    steps=st.integers(1, 400),
    block=st.integers(1, 500),
    shape=st.lists(st.integers(1, 3), max_size=2).map(tuple),
)
def test_any_nu_steps_block_and_shape(nu_: float, steps: int, block: int, shape: tuple[int, ...]) -> None:
    noise = stream(NuCorrelation(nu_), steps, shape, block)
    assert noise.shape == (steps, *shape)
    np.testing.assert_allclose(noise, brute_force(NuCorrelation(nu_), steps, shape), rtol=0, atol=1e-10)


def test_long_runs_agree_with_one_fft() -> None:
    steps = 200_000
    draws = np.random.default_rng(SEED).standard_normal((steps, 2))
    for correlation in (optimal_counting(), nu(1e-4), rough(300)):
        np.testing.assert_allclose(stream(correlation, steps, 2), correlate(correlation, draws), rtol=0, atol=2e-10)


@pytest.mark.parametrize("name", ["counting", "3 weights", "900 rough weights", "spectrum"])
def test_equal_arguments_give_equal_bits(name: str) -> None:
    assert np.array_equal(stream(TOEPLITZ[name]()), stream(TOEPLITZ[name]()))


def test_blocks_belong_to_the_caller() -> None:
    expected, spoiled = stream(optimal_counting(), 300, block=50), []
    for part in correlated_noise(optimal_counting(), 300, SHAPE, np.random.default_rng(SEED), block=50):
        spoiled.append(part.copy())
        part.fill(np.nan)
    assert np.array_equal(np.concatenate(spoiled), expected)


def variance_of_prefix_sum(noise: np.ndarray) -> float:
    return float(np.var(noise.sum(axis=0)))


def test_prefix_sum_variance_tells_nu_from_one_five_percent_off() -> None:
    steps, copies = 200, 50_000
    predicted = float(np.sum(np.cumsum(nu(0.1).coefficients(steps)) ** 2))
    deviation = predicted * np.sqrt(2.0 / copies)
    assert abs(variance_of_prefix_sum(stream(nu(0.1), steps, copies)) - predicted) < 4.0 * deviation
    assert abs(variance_of_prefix_sum(stream(nu(0.105), steps, copies)) - predicted) > 5.0 * deviation


def test_a_wrong_nu_is_far_outside_the_stated_accuracy() -> None:
    assert np.abs(stream(nu(0.105)) - brute_force(nu(0.1), STEPS, SHAPE)).max() > 1e7 * 1e-10


def peak_memory(steps: int, blocks) -> int:
    for _ in blocks(10_000):  # what is planned once and kept
        pass
    for _ in blocks(steps):
        pass
    tracemalloc.start()
    for _ in blocks(steps):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("name", ["nu=0.1", "counting", "3 weights", "900 rough weights", "spectrum", "tree"])
def test_memory_does_not_grow_with_the_number_of_steps(name: str) -> None:
    def blocks(steps: int):
        if name == "tree":
            return tree_noise(steps, 4, np.random.default_rng(0))
        return correlated_noise(TOEPLITZ[name](), steps, 4, np.random.default_rng(0))

    for _ in blocks(100):  # what is loaded at the first use is not counted
        pass
    # The states of optimal counting grow with log(steps); all draws would take 12.8 MB.
    assert peak_memory(400_000, blocks) < 1.5 * peak_memory(20_000, blocks) + 20_000


WHOLE_PROCESS = """
import resource, sys
import numpy as np
import flint, scipy.linalg, scipy.optimize, scipy.signal
from dpbounds.ftrl import linear_regression, strongly_convex
from simulators.noise import correlated_noise

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

imported = peak()
if sys.argv[1] == "regression":
    best = linear_regression.optimal_correlation(1.0 / np.arange(1.0, 129.0) ** 3, 0.05)
else:
    problem = strongly_convex.StronglyConvex(mu=1.0 / float(sys.argv[1]), L=1.0, eta=0.1, rho=0.5)
    best = strongly_convex.optimize_correlation(problem, certify=False).correlation
for _ in correlated_noise(best, 100_000, 128, np.random.default_rng(0)):
    pass
print(peak() - imported)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are counted in KiB on Linux alone")
@pytest.mark.parametrize("best", ["100", "regression"])
def test_a_process_that_streams_the_optimal_correlation_takes_100_mb_beyond_its_imports(best: str) -> None:
    """100000 steps of 128 numbers, whose draws alone are 98 MiB. Measured: 12, where the weights die out within the
    run, and 66, where they go on beyond it (63 at a condition number of 1e6).
    """
    command = [sys.executable, "-c", WHOLE_PROCESS, best]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    shown = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert float(shown.stdout) <= 100.0


@pytest.mark.parametrize("block", [1, 2, 16, 1024])
@pytest.mark.parametrize("steps", [1, 37, 300])
def test_tree_prefix_sums_are_the_nodes_of_the_binary_expansion(steps: int, block: int) -> None:
    draws = np.random.default_rng(SEED).standard_normal((steps, 2))
    noise = np.concatenate(list(tree_noise(steps, 2, np.random.default_rng(SEED), block=block)))
    ends = [[t >> level << level for level in range(t.bit_length()) if t >> level & 1] for t in range(1, steps + 1)]
    expected = np.array([draws[np.array(nodes) - 1].sum(axis=0) for nodes in ends])
    np.testing.assert_allclose(np.cumsum(noise, axis=0), expected, rtol=0, atol=1e-12)


def test_tree_noise_has_the_covariance_of_tree_aggregation() -> None:
    steps, copies = 37, 200_000
    noise = np.concatenate(list(tree_noise(steps, copies, np.random.default_rng(SEED))))
    decoder = tree_aggregation(steps).matrix(steps)
    covariance = decoder @ decoder.T
    scale = np.sqrt((np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2) / copies)
    assert np.abs((noise @ noise.T / copies - covariance) / scale).max() < 4.5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 0}, r"steps = 0 is not allowed: it must be a whole number of at least 1"),
        ({"shape": (3, 0)}, r"shape = 0 is not allowed: it must be a whole number of at least 1"),
        ({"block": 0}, r"block = 0 is not allowed: it must be in the interval \[1, 1024\]"),
        ({"block": 1025}, r"block = 1025 is not allowed: it must be in the interval \[1, 1024\]"),
        ({"correlation": tree_aggregation(8)}, r"T = 10 is not allowed: it must be the horizon 8"),
        ({"generator": np.random.RandomState(0)}, "generator"),
        ({"correlation": "nu"}, "correlation"),
    ],
)
def test_bad_arguments_are_named_before_the_first_block(changes: dict, message: str) -> None:
    arguments = {"correlation": nu(0.1), "steps": 10, "shape": 2, "generator": np.random.default_rng(0)} | changes
    # Under run-time type checks a wrong type is caught earlier, by a TypeError.
    with pytest.raises((DomainError, TypeError), match=message):
        correlated_noise(**arguments)


def test_bad_arguments_of_the_tree_and_of_given_draws() -> None:
    with pytest.raises(DomainError, match="block = 48 is not allowed: it must be a power of two up to 1024"):
        tree_noise(10, 2, np.random.default_rng(0), block=48)
    with pytest.raises(DomainError, match=r"len\(draws\) = 5 is not allowed: it must be 15"):
        correlate(tree_aggregation(8), np.zeros((5, 2)))
    with pytest.raises(DomainError, match="finite draws with one row per step"):
        correlate(nu(0.1), np.array([0.0, np.nan]))
