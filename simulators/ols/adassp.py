"""AdaSSP (ols Algorithm 6): X'X and X'Y with Gaussian noise, and a ridge that follows the smallest eigenvalue.

>>> settings = AdaSSP.equal(5.0, d=3, delta=1e-6, failure=1e-7)
>>> round(settings.shift, 2), round(settings.ridge, 1)
(5.59, 37.8)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpbounds.arguments import formula, typed
from dpbounds.errors import count, nonnegative, real
from dpbounds.ols.scales import adassp_ridge_level, adassp_shift
from simulators.engine import Arrays, Streams, trial_count
from simulators.ols.records import LeastSquares
from simulators.ols.sketches import room

# Doubles in one block of trials' matrices.
_MOST_NUMBERS = 1 << 22


@typed
@dataclass(frozen=True, kw_only=True)
class AdaSSP:
    """Noise of AdaSSP in units of C_X = C_Y = 1: standard deviations on the smallest eigenvalue, on the entries of X'X
    (on and above the diagonal) and of X'Y.

    - `shift`: lambda~_min = max(lambda_min + eigenvalue_scale (z - shift), 0);
    - `ridge`: the ridge is max(0, ridge - lambda~_min);
    - `isotropic`: entries off the diagonal of X'X get noise smaller by sqrt(2), which costs no privacy.

    `AdaSSP.equal(scale, ...)` has all from one scale, as Algorithm 6. Raises `DomainError` for negative scales.
    """

    eigenvalue_scale: float
    gram_scale: float
    cross_scale: float
    shift: float
    ridge: float
    isotropic: bool = False

    def __post_init__(self) -> None:
        for name in ("eigenvalue_scale", "gram_scale", "cross_scale", "ridge"):
            object.__setattr__(self, name, nonnegative(name, getattr(self, name)))
        object.__setattr__(self, "shift", real("shift", self.shift))

    @classmethod
    @typed
    def equal(cls, scale: float, *, d: int, delta: float, failure: float, isotropic: bool = False) -> AdaSSP:
        """Lines 3 and 4 of Algorithm 6 at noise `scale`: `adassp_shift`, and the ridge `adassp_ridge_level`, which is
        smaller by sqrt(2) for isotropic noise; `failure` is rho.
        """
        return cls(
            eigenvalue_scale=scale,
            gram_scale=scale,
            cross_scale=scale,
            shift=adassp_shift(delta),
            ridge=adassp_ridge_level(scale, d, failure, iso=isotropic),
            isotropic=isotropic,
        )


@typed
def adassp(problem: LeastSquares, settings: AdaSSP, streams: Streams, trials: int) -> Arrays:
    """Algorithm 6: `theta` (trials, d); `risk` and `ridge`, (trials,). The mean of the risk is infinite."""
    generator, d = streams.noise, problem.d
    C_X, C_Y = problem.row_bound, problem.outcome_bound
    z = generator.standard_normal(trials := trial_count(trials))
    ridge = released_ridge(problem.lambda_min, settings, C_X, z)
    size = max(1, _MOST_NUMBERS // d**2)
    theta = np.empty((trials, d))
    for start in range(0, trials, size):
        own = slice(start, min(start + size, trials))
        shape = (own.stop - start, d)
        gram = problem.gram + C_X**2 * settings.gram_scale * symmetric_noise(generator, *shape, settings.isotropic)
        gram[:, np.arange(d), np.arange(d)] += ridge[own, None]
        cross = problem.cross + C_X * C_Y * settings.cross_scale * generator.standard_normal(shape)
        theta[own] = np.linalg.solve(gram, cross[..., None])[..., 0]
    return {"theta": theta, "risk": problem.risk(theta), "ridge": ridge}


@formula
def released_ridge(lambda_min: float, settings: AdaSSP, row_bound: float, z: np.ndarray) -> np.ndarray:
    """Lines 3 and 4 of Algorithm 6 for draws z: the ridge max(0, ridge C_X² - lambda~_min)."""
    released = np.maximum(lambda_min + settings.eigenvalue_scale * row_bound**2 * (z - settings.shift), 0.0)
    return np.maximum(settings.ridge * row_bound**2 - released, 0.0)


@typed
def symmetric_noise(generator: np.random.Generator, trials: int, d: int, isotropic: bool = False) -> np.ndarray:
    """Symmetric matrices (trials, d, d) of independent normals on and above the diagonal: of variance 1, above the
    diagonal 1/2 if `isotropic`.
    """
    trials, d = trial_count(trials), count("d", d)
    room(trials, d, d)
    upper = np.triu(generator.standard_normal((trials, d, d)), 1)
    if isotropic:
        upper /= math.sqrt(2.0)
    noise = upper + np.swapaxes(upper, 1, 2)
    noise[:, np.arange(d), np.arange(d)] = generator.standard_normal((trials, d))
    return noise
