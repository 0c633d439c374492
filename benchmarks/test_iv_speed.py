"""Two-stage gradient descent with clipping, 100 trials of T = 20 steps, n = 2000, p = q = 5, on one core.

    pytest benchmarks/test_iv_speed.py -n 0

prints seconds (1 or less is the aim) and the ratio to a plain NumPy loop over the records (20 or more is the aim), the
two timed in turn; the loop runs one trial of one step, its time is scaled up. Nothing is asserted about time.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from simulators.engine import Experiment
from simulators.iv import Settings, iterates, synthetic_model, two_stage_descent
from simulators.iv.problems import FixedData

TRIALS, STEPS, N, P = 100, 20, 2000, 5
ROUNDS = 5
MODEL = synthetic_model(n=N, p=P, q=P, r=P, parameter_seed=0)
CLIPPED = Settings(steps=STEPS, eta=0.9, alpha=0.02, gamma1=120.0, gamma2=400.0, rho1=5.0, rho2=5.0)
UNCLIPPED = Settings(steps=STEPS, eta=0.9, alpha=0.02, lambda1=0.1, lambda2=0.1)


def record_by_record(
    problem: FixedData, settings: Settings, theta: np.ndarray, beta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """One noiseless step of Algorithm 1 as it is printed, with the gradients of every record."""
    first, second = np.zeros_like(theta), np.zeros_like(beta)
    for z, x, y in zip(problem.instruments, problem.regressors, problem.outcome, strict=True):
        gradient = np.outer(z, z @ theta - x)
        first += gradient * min(1.0, settings.gamma1 / max(np.linalg.norm(gradient), 1e-300))
        gradient = theta.T @ z * (z @ theta @ beta - y)
        second += gradient * min(1.0, settings.gamma2 / max(np.linalg.norm(gradient), 1e-300))
    return theta - settings.eta * first / problem.n, beta - settings.alpha * second / problem.n


def best(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


@pytest.fixture
def one_core():
    with threadpool_limits(1):
        yield


def test_clipped_runs_against_a_loop_over_records(benchmark, capsys, one_core):
    experiment = Experiment(algorithm=two_stage_descent, problem=MODEL, settings=CLIPPED, block_trials=TRIALS)
    data = MODEL.fixed(data_seed=0)
    theta, beta = np.full((P, P), 0.1), np.full(P, 0.1)
    seconds = [np.inf, np.inf]
    for _ in range(ROUNDS):
        seconds[0] = min(seconds[0], best(lambda: experiment.run_block(0, seed=0)))
        seconds[1] = min(seconds[1], best(lambda: record_by_record(data, CLIPPED, theta, beta)))
    ratio = TRIALS * STEPS * seconds[1] / seconds[0]
    benchmark.extra_info.update(seconds=seconds[0], ratio=ratio)
    run = benchmark.pedantic(lambda: experiment.run_block(1, seed=0), rounds=1)
    assert run["clipped_beta"].any(), "the benchmark is about clipping"
    with capsys.disabled():
        print(f"\nclipped, fresh data: {seconds[0]:.3f} s; loop over records / this: {ratio:.0f}", end="")


def test_the_loop_is_the_same_algorithm():
    """What the ratio compares gives the same iterates."""
    data = MODEL.fixed(data_seed=0)
    theta, beta = np.zeros((P, P)), np.zeros(P)
    for step in iterates(data.sample, CLIPPED, [(0.0, 0.0)] * 4, 1):
        theta, beta = record_by_record(data, CLIPPED, theta, beta)
        assert step.theta[0] == pytest.approx(theta, rel=1e-11)
        assert step.beta[0] == pytest.approx(beta, rel=1e-11)


@pytest.mark.parametrize("n", [2000, 10**9])
def test_unclipped_runs_on_moments(benchmark, capsys, one_core, n):
    model = synthetic_model(n=n, p=P, q=P, r=P, parameter_seed=0)
    experiment = Experiment(algorithm=two_stage_descent, problem=model, settings=UNCLIPPED, block_trials=TRIALS)
    seconds = min(best(lambda: experiment.run_block(0, seed=0)) for _ in range(ROUNDS))
    benchmark.extra_info["seconds"] = seconds
    benchmark.pedantic(lambda: experiment.run_block(1, seed=0), rounds=1)
    with capsys.disabled():
        print(f"\nunclipped, fresh moments, n = {n}: {seconds:.4f} s", end="")
