"""The oracle of Table 3 against brute force: explicit matrices, numpy's transform."""

from __future__ import annotations

import numpy as np
import pytest

from verify.papers.ftrl.tools.prefix_sums import (
    circulant_root,
    counted_fft,
    fft_noise,
    tree_stream,
    two_passes,
)


def intervals(T: int) -> list[tuple[int, int]]:
    return [(k, k + 2**l) for l in range(T.bit_length()) for k in range(0, T - 2**l + 1, 2**l)]


def encoder(T: int) -> np.ndarray:
    return np.array([[float(a <= t < b) for t in range(T)] for a, b in intervals(T)])


def streamed(T: int, decoder) -> tuple[np.ndarray, list[int]]:
    rows = np.eye(len(intervals(T)))
    steps = list(tree_stream(T, decoder, lambda a, b: rows[intervals(T).index((a, b))]))
    return np.array([noise for noise, _ in steps]), [operations for _, operations in steps]


@pytest.mark.parametrize("T", [1, 2, 3, 8, 11])
@pytest.mark.parametrize("decoder", ["plain", "honaker"])
def test_trees_decode_every_gradient_in_few_operations(T, decoder):
    B, operations = streamed(T, decoder)
    np.testing.assert_allclose(B @ encoder(T), np.eye(T), atol=1e-12)
    assert max(operations) <= 1 + 2 * np.log2(T)


def test_a_tree_of_two_by_hand():
    B, _ = streamed(2, "plain")
    np.testing.assert_array_equal(B, [[1, 0, 0], [-1, 0, 1]])
    B, _ = streamed(2, "honaker")
    np.testing.assert_allclose(B, [[1, 0, 0], [-2 / 3, 1 / 3, 2 / 3]], atol=1e-15)


@pytest.mark.parametrize("T", [1, 2, 4, 16])
def test_two_passes_solve_least_squares(T):
    y = np.random.default_rng(T).normal(size=2 * T - 1)
    estimate, operations = two_passes(T, lambda a, b: y[intervals(T).index((a, b))])
    expected = np.linalg.lstsq(encoder(T), y, rcond=None)[0]
    np.testing.assert_allclose(estimate, expected, rtol=1e-10, atol=1e-12)
    assert operations == 7 * (T - 1)


@pytest.mark.parametrize("n", [1, 2, 8, 64])
def test_transform_is_numpys_with_n_log_n_over_2_products(n):
    values = np.random.default_rng(n).normal(size=n) + 1j
    for sign, expected in ((-1, np.fft.fft(values)), (1, np.fft.ifft(values) * n)):
        found, multiplications = counted_fft(values, sign)
        np.testing.assert_allclose(found, expected, atol=1e-10)
        assert multiplications == n // 2 * int(np.log2(n))


@pytest.mark.parametrize("T", [1, 2, 8])
def test_circulant_root_squares_to_prefix_sums(T):
    eigenvalues = circulant_root(T) ** 2
    np.testing.assert_allclose(np.fft.ifft(eigenvalues), np.repeat([1.0, 0.0], T), atol=1e-12)
    root = np.fft.ifft(circulant_root(T))
    circulant = np.array([[root[(t - s) % (2 * T)] for s in range(2 * T)] for t in range(T)])
    noise = np.array([fft_noise(unit)[0] for unit in np.eye(2 * T)]).T
    np.testing.assert_allclose(noise, circulant.real, atol=1e-12)
