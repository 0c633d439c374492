"""The settings of Algorithm 1, the same for every problem.

>>> from dpbounds.ftrl.correlations import independent
>>> float(Settings(correlation=independent(), eta=0.1, rho=0.125, steps=100).noise_multiplier)
2.0
>>> clip(np.array([[3.0, 4.0], [0.3, 0.4]]), 1.0)[1].tolist()
[True, False]
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, in_floats, positive
from dpbounds.ftrl.correlations import Correlation, ToeplitzCorrelation
from simulators.noise import correlated_noise


@typed
@dataclass(frozen=True, kw_only=True)
class Settings:
    """How DP-FTRL is run.

    - `rho`: zCDP budget under zero-out adjacency; inf adds no noise.
    - `sensitivity`: scale the noise by gamma at the horizon `steps`, by the limit gamma_inf, or by a given number.
    - `clipping`: True is DP-FTRL, False Noisy-FTRL; `clip_norm` scales the noise in both.
    - `average_from`: time averages run over the iterates theta_t with average_from < t <= steps (default: the last
      half).

    Raises `DomainError` for values outside their ranges.
    """

    correlation: Correlation
    eta: float
    rho: float
    steps: int
    clip_norm: float = 1.0
    clipping: bool = True
    sensitivity: float | Literal["horizon", "limiting"] = "horizon"
    average_from: int | None = None

    def __post_init__(self) -> None:
        positive("eta", self.eta)
        positive("clip_norm", self.clip_norm)
        count("steps", self.steps)
        if not (isinstance(self.rho, float) and self.rho == math.inf):
            positive("rho", self.rho, "inf adds no noise")
        if not isinstance(self.sensitivity, str):
            positive("sensitivity", self.sensitivity)
            in_floats(self, "sensitivity")
        in_floats(self, "eta", "rho", "clip_norm")
        if self.average_from is not None and not count("average_from", self.average_from, least=0) < self.steps:
            raise DomainError("average_from", self.average_from, f"a step in [0, {self.steps})")
        if not np.isfinite(self.noise_multiplier):
            raise DomainError("sensitivity", self.sensitivity, "a finite sensitivity", 'use sensitivity="horizon"')

    @property
    def burn_in(self) -> int:
        """Iterates up to this one are left out of time averages."""
        return self.steps // 2 if self.average_from is None else self.average_from

    @property
    def noise_multiplier(self) -> float:
        """sigma_dp = gamma / sqrt(2 rho): ftrl Theorem 1.1."""
        if np.isinf(self.rho):
            return 0.0
        if self.sensitivity == "horizon":
            gamma = self.correlation.sensitivity(self.steps)
        elif self.sensitivity == "limiting":
            if not isinstance(self.correlation, ToeplitzCorrelation):
                raise DomainError(
                    "sensitivity", self.sensitivity, '"horizon" or a number for a matrix with a fixed horizon'
                )
            gamma = float(self.correlation.limiting_sensitivity())
        else:
            gamma = positive("sensitivity", self.sensitivity)
        return gamma / np.sqrt(2.0 * self.rho)

    @typed
    def noise(self, shape: tuple[int, ...], generator: np.random.Generator) -> Iterator[np.ndarray]:
        """Blocks (n, *shape) of the noise w~_t that Algorithm 1 adds to the gradients, `steps` steps in all."""
        scale = self.noise_multiplier * self.clip_norm
        for block in correlated_noise(self.correlation, self.steps, shape, generator):
            block *= scale  # nobody else has it
            yield block


def clip(gradients: np.ndarray, clip_norm: float) -> tuple[np.ndarray, np.ndarray]:
    """Projection of rows (trials, d) on the ball of radius `clip_norm`, and which rows were outside."""
    norms = np.sqrt(np.einsum("td,td->t", gradients, gradients))
    outside = norms > clip_norm
    factors = np.where(outside, clip_norm / np.where(outside, norms, 1.0), 1.0)
    return gradients * factors[:, None], outside
