"""Bounds after T steps against PEPit's program over all points, the same number in the same run.

    pytest benchmarks/test_horizon_peers.py -n 0 -s

prints, for each T, PEPit's value, ours with all past gradients and with one, and the CPU seconds of each, certificates
included; beyond `WHOLE` steps the chain with one alone. Nothing is asserted about time. Needs PEPit, else it is
skipped.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

pytest.importorskip("PEPit")

from dpbounds.ftrl.methods import bound_horizon, gradient_descent
from tests.dpbounds.ftrl.pepit_programs import pepit_error

DESCENT, WHOLE = gradient_descent(eta=0.1), 10


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    started = time.process_time()
    return float(work()), time.process_time() - started


@pytest.mark.parametrize("T", [2, 4, 6, 10, 60])
def test_value_and_time_against_pepit(T, capsys):
    noise = np.eye(T) - 0.9 * np.eye(T, k=-1)

    def ours(window: int) -> float:
        return bound_horizon(noise, DESCENT, T, mu=0.1, L=1.0, initial=1.0, window=window).value

    ours(1)  # imports do not count
    with threadpool_limits(1):
        found = {"window 1": timed(lambda: ours(1))}
        if T <= WHOLE:
            found["all past gradients"] = timed(lambda: ours(T))
            found["PEPit"] = timed(lambda: pepit_error(noise, [DESCENT] * T, 0.1, 1.0, 1.0))
            assert found["all past gradients"][0] == pytest.approx(found["PEPit"][0], rel=1e-5)
    with capsys.disabled():
        print(
            f"\nT = {T}: " + "; ".join(f"{name} {value:.8f}, {spent:.2f} s" for name, (value, spent) in found.items())
        )
