"""Noise with finite memory as a linear system: w_t = c z_t + d e_t, z_{t+1} = A z_t + b e_t.

Finitely many weights are a shift register; half powers in which every zero and every pole stands twice are rational,
and so a chain of first-order sections (1 - a / zeta) / (1 - p / zeta). Entries are computed in the numbers that are
asked for, floats or exact fractions, from the floats that a correlation stores.

>>> from dpbounds.ftrl.correlations import damped_anti_pgd
>>> system = noise_system(damped_anti_pgd(0.25), float)
>>> system.c.tolist(), system.d
([-0.75], 1.0)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from dpbounds.errors import DomainError
from dpbounds.ftrl.correlations import DampedAntiPGD, FiniteImpulse, HalfPowers, NuCorrelation, ToeplitzCorrelation

Number = Callable[[float], Any]

# Draws or sections that a noise may remember: the program's size grows with it.
MOST_MEMORY = 24


@dataclass(frozen=True, eq=False)
class NoiseSystem:
    """The matrices, as arrays of floats or of fractions; `b0` is the weight of the newest draw."""

    A: np.ndarray
    b: np.ndarray
    c: np.ndarray
    d: Any

    @property
    def memory(self) -> int:
        """Length of z."""
        return len(self.b)


def is_rational(correlation: ToeplitzCorrelation) -> bool:
    """Whether `noise_system` knows the correlation."""
    if isinstance(correlation, NuCorrelation):
        return correlation.nu == 1
    if isinstance(correlation, HalfPowers):
        return all(_pairs(roots) is not None for roots in (correlation.zeros, correlation.poles))
    return isinstance(correlation, FiniteImpulse | DampedAntiPGD)


def noise_system(correlation: ToeplitzCorrelation, number: Number) -> NoiseSystem:
    """The system of a rational correlation, its entries made by `number`; `DomainError` for any other."""
    if isinstance(correlation, HalfPowers) and is_rational(correlation):
        zeros, poles = (_pairs(roots) or [] for roots in (correlation.zeros, correlation.poles))
        _short(max(len(zeros), len(poles)))
        return _sections([number(a) for a in zeros], [number(p) for p in poles], number)
    if isinstance(correlation, FiniteImpulse):
        if not correlation.limiting_sensitivity() < np.inf:
            remedy = "its limiting sensitivity is infinite; damp it"
            raise DomainError("correlation", correlation.name, "one whose inverse is stable", remedy)
        weights = [number(weight) for weight in correlation.beta]
    elif isinstance(correlation, DampedAntiPGD):
        weights = [number(1.0), number(correlation.nu) - number(1.0)]
    elif isinstance(correlation, NuCorrelation) and correlation.nu == 1:
        weights = [number(1.0)]
    else:
        raise DomainError(
            "correlation",
            correlation.name,
            "one with finitely many weights, or half powers whose zeros and poles are real and stand twice",
            "the small program needs noise of finite memory",
        )
    while len(weights) > 1 and weights[-1] == 0:
        weights.pop()
    _short(len(weights) - 1)
    K = len(weights) - 1
    A, b = zeros_of((K, K), number), zeros_of(K, number)
    for k in range(1, K):
        A[k, k - 1] = number(1.0)
    if K:
        b[0] = number(1.0)
    return NoiseSystem(A, b, array_of(weights[1:], number), weights[0])


def _sections(zeros: list[Any], poles: list[Any], number: Number) -> NoiseSystem:
    """w = prod_k (1 - a_k / zeta) / (1 - p_k / zeta) e: each section z' = p z + u, out = u + (p - a) z."""
    pairs = list(zip_longest(zeros, poles, fillvalue=number(0.0)))
    K = len(pairs)
    A, b, c = zeros_of((K, K), number), zeros_of(K, number), zeros_of(K, number)
    for k, (a, p) in enumerate(pairs):
        A[k, :k], A[k, k], b[k] = c[:k], p, number(1.0)  # the input of a section is the output of those before
        c[k] = p - a
    return NoiseSystem(A, b, c, number(1.0))


def _pairs(roots: tuple[complex, ...]) -> list[float] | None:
    """Real roots that stand an even number of times, half as often; None if there are others."""
    counted = Counter(roots)
    if any(root.imag != 0 or times % 2 for root, times in counted.items()):
        return None
    return [root.real for root, times in counted.items() for _ in range(times // 2)]


def _short(memory: int) -> None:
    if memory > MOST_MEMORY:
        raise DomainError("correlation", f"a memory of {memory} draws", f"at most {MOST_MEMORY}")


def zeros_of(shape: Any, number: Number) -> np.ndarray:
    """Zeros of the kind that `number` makes."""
    return np.zeros(shape) if number is float else np.full(shape, number(0.0), dtype=object)


def array_of(values: Any, number: Number) -> np.ndarray:
    """An array of numbers that are of the kind already."""
    return np.array(values, dtype=float if number is float else object)
