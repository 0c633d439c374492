"""Private prefix sums as they would run, with their operations counted: the oracle for the mechanisms of Table 3.

Shares nothing with `dpbounds`: trees node by node, the circulant root by a transform written out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np

Decoder = Literal["plain", "honaker"]


def dyadic_intervals(T: int) -> list[tuple[int, int]]:
    """The nodes of the binary tree that are complete by time T, [start, stop)."""
    return [(k, k + 2**l) for l in range(T.bit_length()) for k in range(0, T - 2**l + 1, 2**l)]


def tree_stream(T: int, decoder: Decoder, draw: Callable[[int, int], Any]) -> Iterator[tuple[Any, int]]:
    """Tree aggregation as it runs: the noise of every step and how many vectors were combined for it.

    The stack holds the complete nodes of the binary expansion of t as (length, estimate, variance); `draw(start, stop)`
    is asked for the noise of a node when it is complete.
    """
    stack: list[tuple[int, Any, float]] = []
    previous: Any = 0.0
    for stop in range(1, T + 1):
        length, estimate, variance, operations = 1, draw(stop - 1, stop), 1.0, 0
        while stack and stack[-1][0] == length:
            _, left, _ = stack.pop()
            length *= 2
            own = draw(stop - length, stop)
            if decoder == "plain":
                estimate = own
            else:
                weight = 2 * variance / (1 + 2 * variance)
                estimate = weight * own + (1 - weight) * (left + estimate)
                variance, operations = weight, operations + 2
        stack.append((length, estimate, variance))
        prefix = sum((estimate for _, estimate, _ in stack), 0.0)
        yield prefix - previous, operations + len(stack)
        previous = prefix


def two_passes(leaves: int, own: Callable[[int, int], float]) -> tuple[np.ndarray, int]:
    """C^+ y of a full tree in O(T): estimates from below, then corrections from above; the number of operations."""
    below = {(k, k + 1): own(k, k + 1) for k in range(leaves)}
    length, variance, operations = 1, 1.0, 0
    while length < leaves:
        length *= 2
        variance = 2 * variance / (1 + 2 * variance)
        for start in range(0, leaves, length):
            halves = (start, start + length // 2), (start + length // 2, start + length)
            total = below[halves[0]] + below[halves[1]]
            below[start, start + length] = variance * own(start, start + length) + (1 - variance) * total
            operations += 3
    final = {(0, leaves): below[0, leaves]}
    while length > 1:
        for start in range(0, leaves, length):
            halves = (start, start + length // 2), (start + length // 2, start + length)
            gap = (final[start, start + length] - below[halves[0]] - below[halves[1]]) / 2
            final.update({half: below[half] + gap for half in halves})
            operations += 4
        length //= 2
    return np.array([final[k, k + 1] for k in range(leaves)]), operations


def counted_fft(values: np.ndarray, sign: int) -> tuple[np.ndarray, int]:
    """Radix-2 transform sum_j x_j e^{sign 2 pi i j k / n} and its number of complex multiplications."""
    n = len(values)
    if n == 1:
        return values.astype(complex), 0
    (even, first), (odd, second) = (counted_fft(values[start::2], sign) for start in (0, 1))
    turned = np.exp(sign * 2j * np.pi * np.arange(n // 2) / n) * odd
    return np.concatenate([even + turned, even - turned]), first + second + n // 2


def circulant_root(T: int) -> np.ndarray:
    """Eigenvalues Sigma^{1/2} of the 2T-circulant with first column (1_T; 0_T), each in closed form."""
    k = np.arange(2 * T)
    phase = np.exp(-1j * np.pi * k / T)
    ones = np.where(k == 0, T, np.where(k % 2 == 0, 0, 2 / np.where(k % 2 == 0, 1, 1 - phase)))
    return np.sqrt(ones.astype(complex))


def fft_noise(draws: np.ndarray) -> tuple[np.ndarray, int]:
    """First T of the circulant root times 2T draws, with the number of multiplications for all T steps."""
    spectrum, first = counted_fft(draws, -1)
    noise, second = counted_fft(circulant_root(len(draws) // 2) * spectrum, 1)
    return np.real(noise)[: len(draws) // 2] / len(draws), first + second + 2 * len(draws)
