"""How near to the best possible noise design comes, and how long lower bounds and optima take.

    pytest benchmarks/test_design_speed.py -n 0

prints seconds on one core and relative gaps. Nothing is asserted.
"""

from __future__ import annotations

import time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from dpbounds.ftrl.design import Objective, Participation, lower_bound, optimum

SPECTRA = {
    "1/k": 1 / np.arange(1, 129),
    "1/k^2": 1 / np.arange(1, 129) ** 2,
    "flat": np.ones(128),
    "two levels": np.where(np.arange(128) < 8, 1.0, 0.01),
}


@pytest.mark.parametrize("T", [256, 1024])
@pytest.mark.parametrize("name", SPECTRA)
def test_optimum(name, T, capsys):
    with threadpool_limits(1):
        for weights in ("mean", "final"):
            batch = None if weights == "mean" else 256
            objective = Objective(SPECTRA[name], T, eta=0.05, weights=weights, batch_size=batch)
            start = time.perf_counter()
            best = optimum(objective)
            seconds = time.perf_counter() - start
            with capsys.disabled():
                print(f"\noptimum, {name}, {weights}, T = {T}: gap {best.gap:.1e}, {seconds:.2f} s", end="")


@pytest.mark.parametrize("name", SPECTRA)
def test_lower_bound_of_a_long_run(name, capsys):
    with threadpool_limits(1):
        start = time.perf_counter()
        bound = lower_bound(Objective(SPECTRA[name], 16384, eta=0.05))
        seconds = time.perf_counter() - start
    with capsys.disabled():
        told = f"{bound.iterations} steps, compression {bound.compression:.1e}"
        print(f"\nlower bound, {name}, T = 16384: {float(bound):.8g}, {told}, {seconds:.1f} s", end="")


@pytest.mark.parametrize("times", [2, 4, 16])
def test_cyclic_optimum(times, capsys):
    with threadpool_limits(1):
        objective = Objective(SPECTRA["1/k"], 256, eta=0.05)
        start = time.perf_counter()
        best = optimum(objective, Participation.cyclic(times, 256 // times), tolerance=1e-3)
        seconds = time.perf_counter() - start
    with capsys.disabled():
        print(f"\ncyclic optimum, k = {times}, T = 256: gap {best.gap:.1e}, {seconds:.2f} s", end="")
