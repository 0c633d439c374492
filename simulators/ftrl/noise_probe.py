"""The correlated noise itself, seen as an observer would: its periodogram and its covariance with the draws it is made
of.

>>> from dpbounds.ftrl.correlations import independent
>>> from simulators.engine import Experiment
>>> settings = Settings(correlation=independent(), eta=0.1, rho=1.0, steps=4)
>>> seen = Experiment(algorithm=noise_probe, problem=NoiseProbe(), settings=settings, block_trials=3).run(1, seed=0)
>>> sorted(seen), seen["covariance 0"].shape
(['covariance 0', 'periodogram 0'], (3,))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import count, listed, vector
from simulators.engine import Arrays, Streams, trial_count
from simulators.ftrl.settings import Settings
from simulators.noise import correlate


@dataclass(frozen=True, kw_only=True)
class NoiseProbe:
    """Which frequencies (in [0, pi]) and which lags to look at."""

    frequencies: tuple[float, ...] = (0.0,)
    lags: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        vector("frequencies", self.frequencies)
        for lag in listed("lags", self.lags):
            count("lags", lag, least=0)


@typed
def noise_probe(problem: NoiseProbe, settings: Settings, streams: Streams, trials: int) -> Arrays:
    """Unit-variance noise of T = settings.steps steps.

    Arrays with leading axis trials: `periodogram k` |sum_t w~_t e^{i omega_k t}|^2 / T; `covariance k` the average over
    t of w~_t w_{t - lag_k}, whose mean is beta at that lag for a Toeplitz correlation.
    """
    draws = streams.noise.standard_normal((settings.steps, trial_count(trials)))
    noise = correlate(settings.correlation, draws)
    steps = np.arange(settings.steps)
    result = {}
    for k, omega in enumerate(problem.frequencies):
        transform = np.exp(1j * omega * steps) @ noise
        result[f"periodogram {k}"] = np.abs(transform) ** 2 / settings.steps
    for k, lag in enumerate(problem.lags):
        products = noise[lag:] * draws[: settings.steps - lag]
        result[f"covariance {k}"] = products.mean(axis=0)
    return result
