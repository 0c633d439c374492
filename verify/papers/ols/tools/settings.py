"""Small data sets and settings, nothing clipped, in which exact risks are held against runs."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from dpbounds.ols.risk import NoiseLaw, released
from simulators.engine import Experiment
from simulators.ols import (
    AdaSSP,
    GradientDescent,
    HessianMixing,
    LeastSquares,
    LinearMixing,
    SketchAndSolve,
    adassp,
    family,
    gradient_descent,
    hessian_mixing,
    linear_mixing,
    sketch_and_solve,
)

BLOCK = 2_000


@cache
def records(name: str) -> LeastSquares:
    """`plain`: d = 3, columns of size 1, 1/2 and 1/10; `singular`: with a fourth like the first; or a family."""
    if name not in ("plain", "singular"):
        return family(name, n=1024)  # pyright: ignore[reportArgumentType]
    rng = np.random.default_rng(11)
    X = rng.uniform(-1, 1, (60, 3)) * np.array([1.0, 0.5, 0.1]) / math.sqrt(3)
    if name == "singular":
        X = np.column_stack([X, X[:, 0]])
    return LeastSquares(
        regressors=X, outcome=np.clip(X @ [1.0, -0.5, 2.0, 0.3][: X.shape[1]] + rng.uniform(-0.5, 0.5, 60), -1, 1)
    )


def mixing_runs(name: str, settings: HessianMixing) -> Experiment:
    """Algorithm 1 in blocks."""
    return Experiment(algorithm=hessian_mixing, problem=records(name), settings=settings, block_trials=BLOCK)


def mixing_law(problem: LeastSquares, settings: HessianMixing) -> NoiseLaw:
    """Of the released eta²."""
    return released(problem.lambda_min, level=settings.gamma, scale=settings.test_scale, tau=settings.tau)


def sketch_runs(name: str, settings: SketchAndSolve | LinearMixing) -> Experiment:
    """Sketch-and-solve at a fixed noise level, or Algorithm 4."""
    algorithm = linear_mixing if isinstance(settings, LinearMixing) else sketch_and_solve
    return Experiment(algorithm=algorithm, problem=records(name), settings=settings, block_trials=BLOCK)


def linear_law(problem: LeastSquares, settings: LinearMixing) -> NoiseLaw:
    """Of the released eta²."""
    units = problem.row_bound**2 + problem.outcome_bound**2
    level, scale = settings.gamma * units, settings.test_scale * units
    return released(problem.lambda_min_joint, level=level, scale=scale, tau=settings.tau)


def adassp_runs(name: str, settings: AdaSSP) -> Experiment:
    """Algorithm 6 in blocks."""
    return Experiment(algorithm=adassp, problem=records(name), settings=settings, block_trials=BLOCK)


def ridge_law(problem: LeastSquares, settings: AdaSSP) -> NoiseLaw:
    """Of the released ridge."""
    scale, shift = settings.eigenvalue_scale, settings.shift
    return released(problem.lambda_min, level=settings.ridge, scale=scale, tau=shift)


def descent_runs(name: str, settings: GradientDescent) -> Experiment:
    """Algorithm 7 in blocks."""
    return Experiment(algorithm=gradient_descent, problem=records(name), settings=settings, block_trials=BLOCK)
