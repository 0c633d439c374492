"""Clipped and noisy gradient descent on the mean squared error over two (DP-GD, ols Algorithm 7).

>>> from simulators.engine import Experiment
>>> data = LeastSquares(regressors=np.ones((4, 1)), outcome=np.full(4, 0.5))
>>> settings = GradientDescent(steps=3, rate=0.5, sigma=0.0, clip=1.0)
>>> runs = Experiment(algorithm=gradient_descent, problem=data, settings=settings, block_trials=2).run_block(0, seed=0)
>>> runs["theta"][0].round(6).tolist()
[0.4375]
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import count, moderate, moderate_or_zero
from simulators.engine import Arrays, Streams, trial_count
from simulators.ols.clipping import ClippedSums, Clipping
from simulators.ols.records import LeastSquares


@dataclass(frozen=True, kw_only=True)
class GradientDescent:
    """`steps` T of size `rate` on (1/n) sum clip(-x_i (y_i - x_i'theta)), gradients of records clipped to length
    C = `clip` (or residuals to C, `entrywise`), noise of standard deviation `sigma` on every entry of the mean.
    """

    steps: int
    rate: float
    sigma: float
    clip: float
    clipping: Clipping = "norm"

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", count("steps", self.steps))
        object.__setattr__(self, "rate", moderate("rate", self.rate))
        object.__setattr__(self, "sigma", moderate_or_zero("sigma", self.sigma))
        if not (isinstance(self.clip, float) and self.clip == math.inf):
            object.__setattr__(self, "clip", moderate("clip", self.clip, "inf does not clip"))


@typed
def gradient_descent(problem: LeastSquares, settings: GradientDescent, streams: Streams, trials: int) -> Arrays:
    """Algorithm 7 from theta_0 = 0: `theta` (trials, d); `risk` (trials,); `clipped` (trials, T), the share of records
    clipped at each step.
    """
    generator, shape = streams.noise, (trial_count(trials), problem.d)
    sums = ClippedSums(problem=problem, clip=settings.clip, clipping=settings.clipping)
    theta, shares = np.zeros(shape), []
    for step in range(settings.steps):
        ascent, share = sums.at(theta) if step else sums.start(trials)
        noise = settings.sigma * generator.standard_normal(shape)
        theta = theta + settings.rate * (noise + ascent / problem.n)
        shares.append(share)
    theta = theta @ problem.eigenvectors.T
    return {"theta": theta, "risk": problem.risk(theta), "clipped": np.stack(shares, axis=1)}
