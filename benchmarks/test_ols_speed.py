"""Iterative Hessian mixing, T = 3, n = 10 000, d = 20, 500 trials, on one core.

    pytest benchmarks/test_ols_speed.py -n 0

prints milliseconds a trial beyond what is computed once for a data set (3 or less is the aim), and the ratio to an
implementation that draws the k x n sketch and multiplies (20 or more is the aim), the two timed in turn; residuals are
clipped in both. Nothing is asserted about time.
"""

from __future__ import annotations

import time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from simulators.engine import Experiment
from simulators.ols import HessianMixing, LeastSquares, hessian_mixing

N, D, TRIALS, DIRECT, ROUNDS = 10_000, 20, 500, 2, 3
NOISE = {"steps": 3, "k": 210, "gamma": 200.0, "tau": 6.0, "sigma": 20.0, "clip": 1.0}


def data() -> LeastSquares:
    generator = np.random.default_rng(0)
    X = generator.uniform(-1, 1, (N, D))
    X /= np.linalg.norm(X, axis=1).max()
    Y = np.clip(X @ (0.2 * generator.standard_normal(D)) + 0.3 * generator.standard_normal(N), -1, 1)
    return LeastSquares(regressors=X, outcome=Y)


def direct(problem: LeastSquares, settings: HessianMixing, generator: np.random.Generator, trials: int) -> np.ndarray:
    """As Algorithm 1 is printed."""
    X, Y, k, found = problem.regressors, problem.outcome, settings.k, []
    for _ in range(trials):
        z = generator.standard_normal()
        released = max(problem.lambda_min - settings.gamma / np.sqrt(k) * (settings.tau - z), 0.0)
        eta = np.sqrt(max(settings.gamma - released, 0.0))
        theta = np.zeros(D)
        for _ in range(settings.steps):
            sketch = generator.standard_normal((k, N)) @ X + eta * generator.standard_normal((k, D))
            residual = np.clip(Y - X @ theta, -settings.clip, settings.clip)
            gradient = X.T @ residual + settings.sigma * generator.standard_normal(D)
            theta = theta + k * np.linalg.solve(sketch.T @ sketch, gradient)
        found.append(theta)
    return np.array(found)


@pytest.fixture
def one_core():
    with threadpool_limits(1):
        yield


def test_hessian_mixing_against_drawing_the_sketch(benchmark, capsys, one_core):
    problem, settings = data(), HessianMixing(**NOISE)
    assert problem.least_loss > 0  # computed once
    experiment = Experiment(algorithm=hessian_mixing, problem=problem, settings=settings, block_trials=TRIALS)
    generator, seconds = np.random.default_rng(1), [np.inf, np.inf]
    for _ in range(ROUNDS):
        for which, action in enumerate(
            (lambda: experiment.run_block(0, seed=0), lambda: direct(problem, settings, generator, DIRECT))
        ):
            start = time.perf_counter()
            action()
            seconds[which] = min(seconds[which], (time.perf_counter() - start) / (TRIALS, DIRECT)[which])
    clipped = benchmark.pedantic(lambda: experiment.run_block(0, seed=0), rounds=1)["clipped"]
    with capsys.disabled():
        print(
            f"\n{1e3 * seconds[0]:.2f} ms a trial, {seconds[1] / seconds[0]:.0f} times as fast as drawing the sketch;"
            f" share of records clipped by step {np.round(clipped.mean(axis=0), 5).tolist()}"
        )
