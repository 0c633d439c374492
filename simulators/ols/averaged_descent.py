"""DP gradient descent in units of 1/lambda_max, with momentum and averaging (`dpbounds.ols.clipping.gradient_descent`).

>>> from simulators.engine import Experiment
>>> data = LeastSquares(regressors=np.ones((4, 1)), outcome=np.full(4, 0.5))
>>> settings = AveragedDescent(mu=1e9, steps=3, rate=0.5, clip=1.0)
>>> runs = Experiment(algorithm=averaged_descent, problem=data, settings=settings, block_trials=2).run_block(0, seed=0)
>>> runs["theta"][0].round(6).tolist()
[0.4375]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import moderate
from dpbounds.ols.clipping import Descent
from simulators.engine import Arrays, Streams, trial_count
from simulators.ols.newton import Scaled
from simulators.ols.records import LeastSquares

# Doubles in the largest array of residuals, n x trials: what a processor's cache holds.
MOST_NUMBERS = 1 << 18


@dataclass(frozen=True, kw_only=True)
class AveragedDescent:
    """The whole budget `mu` for `steps` steps; other settings as in `dpbounds.ols.clipping.gradient_descent`."""

    mu: float
    steps: int
    rate: float
    clip: float
    average: float = 0.0
    momentum: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", moderate("mu", self.mu))
        for name in ("steps", "rate", "clip", "average", "momentum"):
            object.__setattr__(self, name, getattr(self.checked, name))

    @property
    def checked(self) -> Descent:
        """The settings without the budget."""
        return Descent(steps=self.steps, rate=self.rate, clip=self.clip, average=self.average, momentum=self.momentum)


@typed
def averaged_descent(problem: LeastSquares, settings: AveragedDescent, streams: Streams, trials: int) -> Arrays:
    """From theta_0 = 0 on the records, scaled to ||x|| <= 1, |y| <= 1 by the problem's public bounds: `theta` (trials,
    d) in the problem's units; `risk` ||X (theta - theta*)||², a sum over records; `clipped`, the share of clipped
    gradients in the last step.
    """
    data, settled = Scaled(problem), settings.checked
    trials, size = trial_count(trials), max(1, MOST_NUMBERS // problem.n)
    draws = streams.noise.standard_normal((trials, settled.steps, problem.d))
    parts = [_run(data, settled, settings.mu, draws[start : start + size]) for start in range(0, trials, size)]
    theta, clipped = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    theta = theta * (problem.outcome_bound / problem.row_bound)
    return {"theta": theta, "risk": problem.risk(theta), "clipped": clipped}


def _run(data: Scaled, settings: Descent, mu: float, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    eta, sigma = settings.rate / float(np.linalg.eigvalsh(data.clipped_gram(1.0))[-1]), settings.noise(mu)
    theta, velocity = np.zeros((len(draws), data.X.shape[1])), np.zeros((len(draws), data.X.shape[1]))
    total, share, last = np.zeros_like(theta), np.zeros(len(draws)), settings.steps - 1
    limits = (settings.clip / np.maximum(data.norms, 1e-300))[:, None]
    for t in range(settings.steps):
        residuals = data.y[:, None] - data.X @ theta.T
        if t == last:
            share = np.mean(np.abs(residuals) > limits, axis=0)
        np.minimum(np.maximum(residuals, -limits, out=residuals), limits, out=residuals)
        velocity = settings.momentum * velocity + residuals.T @ data.X + sigma * draws[:, t]
        theta = theta + eta * velocity
        if t >= settings.steps - settings.kept:
            total += theta
    return total / settings.kept, share
