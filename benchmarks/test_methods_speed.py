"""Bounds for first-order methods: the program, its proof, the chain over T steps and the table at one rate.

    pytest benchmarks/test_methods_speed.py -n 0

prints CPU seconds beside those of a reference in the same run, the estimate for gradient descent with independent
noise, so that ratios hold where seconds do not. Aims: 0.2 s a bound, 5 ms a proof, 5 s for T = 240, 60 s for a table of
five methods. Nothing is asserted about time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from benchmarks.interleaved import medians
from dpbounds.ftrl.correlations import from_coefficients, independent
from dpbounds.ftrl.methods import best_method, bound_horizon, bound_method, gradient_descent, named_method
from dpbounds.ftrl.methods.linear import MethodName
from dpbounds.ftrl.methods.problem import Problem
from dpbounds.ftrl.strongly_convex import Noise

MU, L, ETA, ROUNDS = 0.1, 1.0, 0.1, 5
WHITE = Noise(correlation=independent(), rho=0.5)
NOISES = {"independent": WHITE, "1 - 0.9 z": Noise(correlation=from_coefficients([1.0, -0.9]), rho=0.5)}
NAMES: tuple[MethodName, ...] = ("gd", "heavy-ball", "nesterov", "triple")
REFERENCE = partial(bound_method, WHITE, gradient_descent(eta=ETA), mu=MU, L=L, certify=False)


def once(work: Callable[[], Any]) -> float:
    """CPU seconds of one run."""
    with threadpool_limits(1):
        started = time.process_time()
        work()
        return time.process_time() - started


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", NAMES)
def test_a_bound_and_its_proof(name, noise, capsys):
    method = named_method(name, eta=ETA, mu=MU)
    found = bound_method(NOISES[noise], method, mu=MU, L=L)
    problem = Problem(method, NOISES[noise], MU, L, "f", None)
    solving = partial(bound_method, NOISES[noise], method, mu=MU, L=L)
    proving = partial(problem.proved, found.memory, found.storage, found.multipliers)
    bound, proof, reference = medians(solving, proving, REFERENCE, rounds=ROUNDS)
    with capsys.disabled():
        print(
            f"\n{name}, {noise}: certified {1e3 * bound:.0f} ms ({bound / reference:.1f} references), proof of the "
            f"value {1e3 * proof:.2f} ms ({proof / reference:.3f})"
        )


@pytest.mark.parametrize("T", [60, 240, 2000])
def test_a_chain(T, capsys):
    chain = once(partial(bound_horizon, np.eye(T), gradient_descent(eta=ETA), T, mu=MU, L=L, initial=1.0))
    (reference,) = medians(REFERENCE, rounds=ROUNDS)
    with capsys.disabled():
        print(
            f"\nT = {T}: certified {chain:.2f} s ({chain / reference:.0f} references), {1e3 * chain / T:.1f} ms a step"
        )


def test_the_table_at_one_rate(capsys):
    table = once(partial(best_method, 0.01, 1.0 / MU, rho=0.5))
    (reference,) = medians(REFERENCE, rounds=ROUNDS)
    with capsys.disabled():
        print(f"\nfour methods with two kinds of noise: {table:.1f} s ({table / reference:.0f} references)")
