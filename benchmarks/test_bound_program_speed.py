"""The default solver of the bound programs against the cone program in cvxpy, on the same nodes in the same run.

    pytest benchmarks/test_bound_program_speed.py -n 0

prints ratios of best times (40 or more is the aim at 400 nodes and 50 lags), the share of modelling in the cone
program's, and what a certificate takes (0.3 s is the aim). Nothing is asserted about time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from threadpoolctl import threadpool_limits

from dpbounds.ftrl import correlations
from dpbounds.ftrl import strongly_convex as sc

LAGS, NODES, ROUNDS = 50, 400, 3
CASES = {
    "independent, kappa 100": (correlations.independent(), 0.01, 0.1),
    "nu=0.01, kappa 100": (correlations.nu(0.01), 0.01, 0.1),
    "damped anti-PGD, kappa 1000": (correlations.damped_anti_pgd(1e-3), 1e-3, 0.5),
}


def best_time(work: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """Least wall-clock time, and the last result."""
    times, result = [], None
    for _ in range(rounds):
        started = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - started)
    return min(times), result


@pytest.mark.parametrize("case", CASES)
def test_newton_against_cone(case, capsys):
    correlation, mu, eta = CASES[case]
    problem = sc.StronglyConvex(mu=mu, L=1.0, eta=eta, rho=0.5)
    options: dict[str, Any] = {"max_lag": LAGS, "nodes": NODES, "certify": False, "program": "f"}
    with threadpool_limits(1):
        newton, ours = best_time(lambda: sc.bound(correlation, problem, **options), 5 * ROUNDS)
        cone, theirs = best_time(lambda: sc.bound(correlation, problem, method="cone", **options), ROUNDS)
        certified, _ = best_time(lambda: sc.bound(correlation, problem, max_lag=LAGS, nodes=NODES, program="f"), ROUNDS)
    assert ours.grid_value == pytest.approx(theirs.grid_value, rel=1e-6)
    with capsys.disabled():
        print(
            f"\n{case}: {ours.nodes} nodes, {LAGS} lags: newton {1e3 * newton:.1f} ms, cone {1e3 * cone:.0f} ms, "
            f"ratio {cone / newton:.0f}; with certificate {1e3 * certified:.0f} ms"
        )
