"""A small Gaussian model with a full covariance, and the generators of a run, for step tests."""

from __future__ import annotations

import numpy as np

from dpbounds.glm import LINKS
from simulators.engine import Experiment, Streams
from simulators.glm import GaussianModel, estimate

W = np.array([0.6, -0.4, 0.3])
SIGMA = np.array([[1.2, 0.3, 0.0], [0.3, 0.8, -0.2], [0.0, -0.2, 0.6]])


def model(link: str = "logistic", *, n: int = 400, m: int = 300, noise: float = 0.1) -> GaussianModel:
    """Records in three dimensions."""
    return GaussianModel(link=LINKS[link], w=W, n=n, m=m, noise=noise, covariance=SIGMA)


def streams(seed: int) -> Streams:
    """The generators of a run with this seed."""
    return Experiment(algorithm=estimate, problem=None, settings=None, block_trials=1).streams(0, seed=seed)
