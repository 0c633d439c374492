"""Least squares on one Gaussian sketch of (X, Y): sketch-and-solve, and linear mixing (ols Algorithms 3, 4, 5).

>>> LinearMixing(k=100, gamma=40.0, tau=6.0).test_scale
4.0
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, moderate, moderate_or_zero, nonnegative, real
from dpbounds.ols import DynamicMixing
from simulators.engine import Arrays, Streams, trial_count
from simulators.ols.hessian_mixing import mixing_noise
from simulators.ols.records import LeastSquares
from simulators.ols.sketches import Sketch, bartlett, enough, explicit_gram, sketch_choice

# Doubles in one block of trials' matrices.
_MOST_NUMBERS = 1 << 22


@dataclass(frozen=True, kw_only=True)
class SketchAndSolve:
    """theta = (X~'X~)⁻¹ X~'Y~ for [X~, Y~] = S [X, Y] + eta xi, S of k rows and eta² = `eta_squared` (ols (7), (8))."""

    k: int
    eta_squared: float = 0.0
    sketch: Sketch = "wishart"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", count("k", self.k))
        object.__setattr__(self, "eta_squared", nonnegative("eta_squared", self.eta_squared))
        sketch_choice(self.sketch)


@typed
@dataclass(frozen=True, kw_only=True)
class LinearMixing:
    """Algorithm 4 for sketch size `k`, mixing level `gamma` in units of C_X² + C_Y², and `tau`.

    - `noise_factor`: multiplies the sketch noise. 1 gives the level that privacy needs; Algorithm 3 to the letter
      multiplies by C_X once more, here by sqrt(C_X² + C_Y²).

    Raises `DomainError` for values outside their ranges.
    """

    k: int
    gamma: float
    tau: float
    noise_factor: float = 1.0
    sketch: Sketch = "wishart"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", count("k", self.k))
        object.__setattr__(self, "gamma", moderate_or_zero("gamma", self.gamma))
        object.__setattr__(self, "tau", real("tau", self.tau))
        object.__setattr__(self, "noise_factor", moderate("noise_factor", self.noise_factor))
        sketch_choice(self.sketch)

    @property
    def test_scale(self) -> float:
        """Of the noise on the smallest eigenvalue, in units of C_X² + C_Y²."""
        return self.gamma / float(np.sqrt(self.k))


@typed
def sketch_and_solve(problem: LeastSquares, settings: SketchAndSolve, streams: Streams, trials: int) -> Arrays:
    """`theta` (trials, d) and `risk` (trials,). Raises `DomainError` for k < d, and for eta = 0 on singular data."""
    eta_squared = np.full(trial_count(trials), settings.eta_squared)
    theta = _solutions(problem, eta_squared, settings.k, settings.sketch, streams.noise)
    return {"theta": theta, "risk": problem.risk(theta)}


@typed
def linear_mixing(problem: LeastSquares, settings: LinearMixing, streams: Streams, trials: int) -> Arrays:
    """Algorithm 4: `theta` (trials, d); `risk` and `eta_squared`, the variance of the sketch noise, (trials,)."""
    generator, bound = streams.noise, float(np.sqrt(_bound_squared(problem)))
    z = generator.standard_normal(trial_count(trials))
    eta_squared = mixing_noise(problem.lambda_min_joint, bound, settings.gamma, settings.tau, settings.test_scale, z)
    eta_squared = eta_squared * settings.noise_factor**2
    theta = _solutions(problem, eta_squared, settings.k, settings.sketch, generator)
    return {"theta": theta, "risk": problem.risk(theta), "eta_squared": eta_squared}


@typed
def dynamic_mixing(problem: LeastSquares, settings: DynamicMixing, streams: Streams, trials: int) -> Arrays:
    """Algorithm 5: `theta` (trials, d); `risk`, `eta_squared` (the variance of the sketch noise) and `k` (the sketch
    size used), (trials,).
    """
    generator, bound_squared = streams.noise, _bound_squared(problem)
    z = generator.standard_normal(trial_count(trials))
    released = problem.lambda_min_joint - settings.test_noise(bound_squared) * (settings.tau - z)
    drawn = [settings.sketch(float(value), bound_squared=bound_squared) for value in released]
    sizes, eta_squared = np.array([rows for rows, _ in drawn]), np.array([noise for _, noise in drawn])
    theta = np.empty((len(z), problem.d))
    for k in np.unique(sizes):
        own = sizes == k
        theta[own] = _solutions(problem, eta_squared[own], int(k), "wishart", generator)
    return {"theta": theta, "risk": problem.risk(theta), "eta_squared": eta_squared, "k": sizes}


def _bound_squared(problem: LeastSquares) -> float:
    """C_X² + C_Y², of a row (x, y)."""
    return problem.row_bound**2 + problem.outcome_bound**2


def _solutions(
    problem: LeastSquares, eta_squared: np.ndarray, k: int, sketch: Sketch, generator: np.random.Generator
) -> np.ndarray:
    """(X~'X~)⁻¹ X~'Y~ (trials, d), block by block."""
    d = problem.d
    enough(k, d)
    joint = np.block(
        [[problem.gram, problem.cross[:, None]], [problem.cross[None, :], np.array([[problem.y_squared]])]]
    )
    size = max(1, _MOST_NUMBERS // (d + 1) ** 2)
    theta = np.empty((len(eta_squared), d))
    for start in range(0, len(eta_squared), size):
        own = slice(start, start + size)
        theta[own] = _block(problem, joint, eta_squared[own], k, sketch, generator)
    return theta


def _block(
    problem: LeastSquares,
    joint: np.ndarray,
    eta_squared: np.ndarray,
    k: int,
    sketch: Sketch,
    generator: np.random.Generator,
) -> np.ndarray:
    d = problem.d
    if sketch == "explicit":
        rows = np.column_stack([problem.regressors, problem.outcome])
        grams = explicit_gram(generator, rows, np.sqrt(eta_squared), k)
        return np.linalg.solve(grams[:, :d, :d], grams[:, :d, d:])[..., 0]
    # (X~, Y~)'(X~, Y~) = L L' with L = N T: its last row l gives X~'Y~ = L₁ l, so that theta = L₁⁻ᵀ l.
    if problem.lambda_min + eta_squared.min() <= problem.rounding:
        raise DomainError("eta", 0.0, "above 0 where X'X is singular", "take gamma above 0")
    root = _root(joint + eta_squared[:, None, None] * np.eye(d + 1))
    L = root @ _triangle(generator, len(eta_squared), d, k)
    return np.linalg.solve(np.swapaxes(L[:, :d, :d], 1, 2), L[:, d, :d, None])[..., 0]


def _triangle(generator: np.random.Generator, trials: int, d: int, k: int) -> np.ndarray:
    """Bartlett's triangle of size d + 1; for k = d its last entry, which no estimate sees, is 0."""
    if k > d:
        return bartlett(generator, trials, d + 1, k)
    T = np.zeros((trials, d + 1, d + 1))
    T[:, :d, :d] = bartlett(generator, trials, d, k)
    T[:, d, :d] = generator.standard_normal((trials, d))
    return T


def _root(matrices: np.ndarray) -> np.ndarray:
    """Lower Cholesky factors."""
    try:
        return np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        allowed = "larger where (X, Y) is nearly singular"
        raise DomainError(
            "eta", "this sketch noise", allowed, "take gamma above 0, or drop dependent columns"
        ) from None
