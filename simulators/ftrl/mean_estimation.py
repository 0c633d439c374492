"""Private mean estimation on the line: ftrl eq. (6).

>>> from dpbounds.ftrl.correlations import independent
>>> from simulators.engine import Experiment
>>> settings = Settings(correlation=independent(), eta=0.5, rho=float("inf"), steps=2)
>>> problem = MeanEstimation(initial=1.0)
>>> runs = Experiment(algorithm=mean_estimation, problem=problem, settings=settings, block_trials=2)
>>> runs.run(1, seed=0)["deviation"].tolist()
[0.25, 0.25]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, in_floats, nonnegative, real
from simulators.engine import Arrays, Streams, trial_count
from simulators.ftrl.settings import Settings, clip


@dataclass(frozen=True, kw_only=True)
class MeanEstimation:
    """z = mean +- sigma_sgd with probability 1/2 each: |z - E z| = sigma_sgd almost surely, its largest variance.

    f(theta; z) = z^2 / 2 - z theta and r(theta) = theta^2 / 2. Raises `DomainError` unless |z| <= 1.
    """

    mean: float = 0.0
    sigma_sgd: float = 0.0
    initial: float = 0.0

    def __post_init__(self) -> None:
        real("initial", self.initial)
        if abs(real("mean", self.mean)) + nonnegative("sigma_sgd", self.sigma_sgd) > 1:
            raise DomainError(
                "|mean| + sigma_sgd", abs(self.mean) + self.sigma_sgd, "at most 1", "the theorem needs |z| <= 1"
            )
        in_floats(self, "mean", "sigma_sgd", "initial")


@typed
def mean_estimation(problem: MeanEstimation, settings: Settings, streams: Streams, trials: int) -> Arrays:
    """Runs of Algorithm 1 from theta_0 = `initial`.

    Arrays with leading axis trials: `deviation` theta_T - E z; `mean_square` its square averaged over the later
    iterates; `clipped` how many gradients were clipped.
    """
    trials = trial_count(trials)
    theta = np.full((trials, 1), problem.initial)
    total, clipped = np.zeros(trials), np.zeros(trials, dtype=int)
    step = 0
    for noise in settings.noise((trials, 1), streams.noise):
        signs = 2.0 * streams.data.integers(0, 2, size=(len(noise), trials, 1)) - 1.0
        for w, z in zip(noise, problem.mean + problem.sigma_sgd * signs, strict=True):
            gradient = -z
            if settings.clipping:
                gradient, outside = clip(gradient, settings.clip_norm)
                clipped += outside
            theta = theta - settings.eta * (gradient + theta + w)
            step += 1
            if step > settings.burn_in:
                total += (theta[:, 0] - problem.mean) ** 2
    return {
        "deviation": theta[:, 0] - problem.mean,
        "mean_square": total / (settings.steps - settings.burn_in),
        "clipped": clipped,
    }
