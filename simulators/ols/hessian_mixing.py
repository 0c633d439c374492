"""Iterative Hessian mixing (ols Algorithm 1), and with no noise the iterative Hessian sketch (display IHS).

>>> mixing_noise(10.0, 1.0, 30.0, 4.0, 2.0, np.array([0.0, 4.0])).tolist()
[28.0, 20.0]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpbounds.arguments import formula, typed
from dpbounds.errors import DomainError, count, moderate, moderate_or_zero, nonnegative, real
from simulators.engine import Arrays, Streams, trial_count
from simulators.ols.clipping import ClippedSums, Clipping
from simulators.ols.records import LeastSquares
from simulators.ols.sketches import (
    Sketch,
    bartlett,
    enough,
    explicit_gram,
    inverse_action,
    sketch_choice,
    wishart_solve,
)


@typed
@dataclass(frozen=True, kw_only=True)
class HessianMixing:
    """Algorithm 1 for `steps` T, sketch size `k`, mixing level `gamma`, `tau`, noise `sigma` and clip level C = `clip`.

    gamma, eigenvalue_scale and sigma are in units of C_X = 1: with rows of length up to C_X they are multiplied by
    C_X², C_X² and C_X.

    - `keep_ridge`: subtract eta² theta from the gradient (Algorithm 1); the experiments omit it.
    - `step`: multiplies each update, 1 in the paper.
    - `clipping`: residuals one by one (`entrywise`), or each record's gradient by its norm (`norm`).
    - `eigenvalue_scale`: standard deviation of the noise on the smallest eigenvalue; gamma / sqrt(k) unless given.
    - `sketch`: how the sketched Hessian is drawn (`simulators.ols.sketches`); all three have one law.

    Raises `DomainError` for values outside their ranges.
    """

    steps: int
    k: int
    gamma: float
    tau: float
    sigma: float
    clip: float
    keep_ridge: bool = False
    step: float = 1.0
    clipping: Clipping = "entrywise"
    eigenvalue_scale: float | None = None
    sketch: Sketch = "action"

    def __post_init__(self) -> None:
        for name in ("steps", "k"):
            object.__setattr__(self, name, count(name, getattr(self, name)))
        for name in ("gamma", "sigma"):
            object.__setattr__(self, name, moderate_or_zero(name, getattr(self, name)))
        object.__setattr__(self, "tau", real("tau", self.tau))
        object.__setattr__(self, "step", moderate("step", self.step))
        if not (isinstance(self.clip, float) and self.clip == math.inf):
            object.__setattr__(self, "clip", moderate("clip", self.clip, "inf does not clip"))
        if self.eigenvalue_scale is not None:
            object.__setattr__(self, "eigenvalue_scale", nonnegative("eigenvalue_scale", self.eigenvalue_scale))
        sketch_choice(self.sketch)

    @classmethod
    def without_noise(cls, *, steps: int, k: int, step: float = 1.0, sketch: Sketch = "action") -> HessianMixing:
        """The iterative Hessian sketch: eta = sigma = 0, nothing clipped."""
        return cls(steps=steps, k=k, gamma=0.0, tau=0.0, sigma=0.0, clip=math.inf, step=step, sketch=sketch)

    @property
    def test_scale(self) -> float:
        """Of the noise on the smallest eigenvalue."""
        return self.gamma / math.sqrt(self.k) if self.eigenvalue_scale is None else self.eigenvalue_scale


@formula
def mixing_noise(
    lambda_min: float, row_bound: float, gamma: float, tau: float, scale: float, z: np.ndarray
) -> np.ndarray:
    """CalibrateMixingNoise (Algorithm 2) for draws z of the noise on the eigenvalue: the variance of the sketch noise,
    max(gamma C_X² - max(lambda_min - scale C_X² (tau - z), 0), 0), C_X = `row_bound`.
    """
    released = np.maximum(lambda_min - scale * row_bound**2 * (tau - z), 0.0)
    return np.maximum(gamma * row_bound**2 - released, 0.0)


@typed
def hessian_mixing(problem: LeastSquares, settings: HessianMixing, streams: Streams, trials: int) -> Arrays:
    """Algorithm 1 from theta_0 = 0, arrays with leading axis trials: `theta` (trials, d); `risk` ||X(theta - theta*)||²
    and `eta_squared` (trials,); `clipped` (trials, T), the share of records clipped at each step.

    Raises `DomainError` for k < d, and for eta = 0 on singular data.
    """
    generator, d, bound = streams.noise, problem.d, problem.row_bound
    enough(settings.k, d)
    z = generator.standard_normal(trials := trial_count(trials))
    eta_squared = mixing_noise(problem.lambda_min, bound, settings.gamma, settings.tau, settings.test_scale, z)
    spectrum = _spectrum(problem, eta_squared)
    solve = _solver(problem, settings, spectrum, eta_squared, generator)
    sums = ClippedSums(problem=problem, clip=settings.clip, clipping=settings.clipping)
    theta, shares = np.zeros((trials, d)), []
    for step in range(settings.steps):
        gradient, share = sums.at(theta) if step else sums.start(trials)
        if settings.keep_ridge:
            gradient = gradient - eta_squared[:, None] * theta
        if settings.sigma:
            gradient = gradient + settings.sigma * bound * generator.standard_normal((trials, d))
        theta = theta + settings.step * solve(gradient)
        shares.append(share)
    theta = theta @ problem.eigenvectors.T
    return {
        "theta": theta,
        "risk": problem.risk(theta),
        "eta_squared": eta_squared,
        "clipped": np.stack(shares, axis=1),
    }


@formula
def hessian_step(
    theta: np.ndarray, sketched_gram: np.ndarray, gradient: np.ndarray, k: int, step: float = 1.0
) -> np.ndarray:
    """theta + step (X~'X~ / k)⁻¹ G, line 8 of Algorithm 1, for given draws."""
    return theta + step * k * np.linalg.solve(sketched_gram, gradient[..., None])[..., 0]


def _spectrum(problem: LeastSquares, eta_squared: np.ndarray) -> np.ndarray:
    """Eigenvalues of M = A + eta² I, (trials, d)."""
    spectrum = problem.eigenvalues + eta_squared[:, None]
    if spectrum[:, 0].min() <= problem.rounding:
        raise DomainError("eta", 0.0, "above 0 where X'X is singular", "take gamma above 0")
    return spectrum


def _solver(
    problem: LeastSquares,
    settings: HessianMixing,
    spectrum: np.ndarray,
    eta_squared: np.ndarray,
    generator: np.random.Generator,
) -> Callable[[np.ndarray], np.ndarray]:
    """g -> (X~'X~ / k)⁻¹ g with a fresh sketch, in coordinates of the eigenvectors of A."""
    k, root = settings.k, np.sqrt(spectrum)
    if settings.sketch == "action":
        return lambda g: inverse_action(generator, g / root, k) / root
    if settings.sketch == "wishart":
        return lambda g: k * wishart_solve(bartlett(generator, len(g), problem.d, k), g / root) / root
    rows = problem.regressors @ problem.eigenvectors
    eta = np.sqrt(eta_squared)
    return lambda g: hessian_step(np.zeros_like(g), explicit_gram(generator, rows, eta, k), g, k)
