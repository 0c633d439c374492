"""Linear regression with random inputs: ftrl eq. (8), in the eigenbasis of the input covariance.

>>> from dpbounds.ftrl.correlations import independent
>>> from simulators.engine import Experiment
>>> runs = Experiment(
...     algorithm=linear_regression,
...     problem=LinearRegression(eigenvalues=(1.0, 0.5)),
...     settings=Settings(correlation=independent(), eta=0.1, rho=0.5, steps=4),
...     block_trials=3,
... )
>>> {name: array.shape for name, array in runs.run(1, seed=0).items() if name in ("theta", "loss")}
{'theta': (3, 2), 'loss': (3,)}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, in_floats, nonnegative, vector
from simulators.engine import Arrays, Streams, trial_count
from simulators.ftrl.settings import Settings

Inputs = Literal["gaussian", "sign", "skewed"]


@dataclass(frozen=True, kw_only=True)
class LinearRegression:
    """y = <theta*, x> + xi with x = Lambda^{1/2} z, z of i.i.d. entries of mean 0 and variance 1, xi ~ N(0,
    sigma_sgd^2).

    Entries of z: standard normal; +-1 (`sign`); 2 with probability 1/5 and -1/2 otherwise (`skewed`, fourth moment
    3.25). `initial` holds the coordinates of theta_0 - theta* (default 0). Raises `DomainError` for values outside
    their ranges.
    """

    eigenvalues: tuple[float, ...]
    sigma_sgd: float = 0.0
    inputs: Inputs = "gaussian"
    initial: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        eigenvalues = vector("eigenvalues", self.eigenvalues, above=0.0)
        if not isinstance(self.eigenvalues, tuple):
            object.__setattr__(self, "eigenvalues", tuple(eigenvalues.tolist()))
        nonnegative("sigma_sgd", self.sigma_sgd)
        in_floats(self, "sigma_sgd")
        if self.initial is not None and len(vector("initial", self.initial)) != len(self.eigenvalues):
            raise DomainError("initial", self.initial, f"{len(self.eigenvalues)} numbers, one per eigenvalue")
        choice("inputs", self.inputs, ("gaussian", "sign", "skewed"))

    @property
    def kurtosis(self) -> float:
        """E z^4 of the entries."""
        return {"gaussian": 3.0, "sign": 1.0, "skewed": 3.25}[self.inputs]

    @typed
    def draw(self, generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Inputs x of shape (*shape, d)."""
        full = (*shape, len(self.eigenvalues))
        if self.inputs == "gaussian":
            z = generator.standard_normal(full)
        elif self.inputs == "sign":
            z = 2.0 * generator.integers(0, 2, size=full) - 1.0
        else:
            z = np.where(generator.random(full) < 0.2, 2.0, -0.5)
        z *= np.sqrt(self.eigenvalues)
        return z


@typed
def linear_regression(problem: LinearRegression, settings: Settings, streams: Streams, trials: int) -> Arrays:
    """Runs of Algorithm 1 with one fresh input per step.

    Arrays with leading axis trials: `theta` theta_T - theta*, (trials, d); `loss` F(theta_T) - F* = 1/2 ||theta_T -
    theta*||_H^2; `mean_loss` the same averaged over the later iterates; `largest_gradient` the largest norm before
    clipping; `clipped` how many gradients were clipped.
    """
    trials, eigenvalues = trial_count(trials), np.asarray(problem.eigenvalues)
    theta = np.tile(np.zeros(len(eigenvalues)) if problem.initial is None else problem.initial, (trials, 1))
    total, largest, clipped = np.zeros(trials), np.zeros(trials), np.zeros(trials, dtype=int)
    clip_norm = settings.clip_norm if settings.clipping else np.inf
    step, change = 0, np.empty_like(theta)
    for noise in settings.noise(theta.shape, streams.noise):
        inputs = problem.draw(streams.data, noise.shape[:2])
        residuals = problem.sigma_sgd * streams.data.standard_normal(noise.shape[:2])
        norms = np.sqrt(np.einsum("std,std->st", inputs, inputs))
        with np.errstate(divide="ignore"):
            most = clip_norm / norms  # the gradient, error times input, is clipped where its error is
        noise *= settings.eta  # nobody else has it
        errors = np.empty_like(norms)
        for w, x, xi, bound, error in zip(noise, inputs, residuals, most, errors, strict=True):
            np.einsum("td,td->t", x, theta, out=error)
            error -= xi
            kept = np.maximum(np.minimum(error, bound), -bound)
            kept *= settings.eta
            theta -= np.multiply(x, kept[:, None], out=change)
            theta -= w
            step += 1
            if step > settings.burn_in:
                total += np.multiply(theta, theta, out=change) @ eigenvalues
        sizes = np.abs(errors) * norms
        largest = np.maximum(largest, sizes.max(axis=0))
        clipped += np.count_nonzero(np.abs(errors) > most, axis=0)
    return {
        "theta": theta,
        "loss": 0.5 * theta**2 @ eigenvalues,
        "mean_loss": 0.5 * total / (settings.steps - settings.burn_in),
        "largest_gradient": largest,
        "clipped": clipped,
    }
