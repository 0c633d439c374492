"""Designed noise against jax_privacy's own optimised strategies, on the same problem and in the same run.

    pytest benchmarks/test_design_peers.py -n 0 -s

prints, for each problem, value over proven lower bound, V = s^2 tr(G B B^T), and the seconds of the design, compiling
included. jax_privacy optimises prefix sums; its filters are also given unit columns, which costs nothing. Nothing is
asserted. Needs jax_privacy, else it is skipped.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax_privacy")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")

import jax  # noqa: E402
from jax_privacy.matrix_factorization import buffered_toeplitz, toeplitz  # noqa: E402

from dpbounds.ftrl.design import Bands, Blt, Objective, best, unit_columns  # noqa: E402

STEPS, BUFFERS, BANDS = 256, 4, 32
PROBLEMS = {
    "1/k, eta L = 0.5, mean loss": Objective(1.0 / np.arange(1, 129), STEPS, 0.5),
    "flat, eta L = 0.05, mean loss": Objective(np.ones(128), STEPS, 0.05),
    "1/k, eta 0.1 (1 - t/T), m = 32, final loss": Objective(
        1.0 / np.arange(1, 129),
        STEPS,
        schedule=0.1 * (1 - np.arange(STEPS) / STEPS),
        weights="final",
        batch_size=32,
    ),
}


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def their_blt() -> Blt:
    """At most `BUFFERS` buffers for the mean squared error of prefix sums."""
    found = buffered_toeplitz.optimize(n=STEPS, error="mean", max_buffers=BUFFERS)
    return Blt(tuple(np.asarray(found.buf_decay).tolist()), tuple(np.asarray(found.output_scale).tolist()))


def their_bands() -> Bands:
    """`BANDS` bands for the mean squared error of prefix sums."""
    return Bands(tuple(np.asarray(toeplitz.optimize_banded_toeplitz(n=STEPS, bands=BANDS)).tolist()))


def test_loss_and_time_against_jax_privacy():
    with jax.enable_x64(True):
        blt, blt_seconds = timed(their_blt)
        bands, bands_seconds = timed(their_bands)
    print(f"\nT = {STEPS}: value over lower bound (seconds of design)")
    for name, objective in PROBLEMS.items():
        design, seconds = timed(lambda objective=objective: best(objective, buffers=BUFFERS))
        bound = float(design.bound)
        rows = [(f"designed, {BUFFERS} buffers", design.mechanism, seconds)]
        for label, filtered, spent in (("their BLT", blt, blt_seconds), (f"their {BANDS} bands", bands, bands_seconds)):
            rows += [(label, filtered, spent), (f"{label}, unit columns", unit_columns(filtered, STEPS), spent)]
        print(name)
        for label, mechanism, spent in rows:
            print(f"  {label:28} {float(objective.value(mechanism)) / bound:8.4f} {spent:8.2f} s")
