"""Algorithm 1 as printed, on two data sets that differ in one record, with everything it releases."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpbounds.ols import HessianMixingScales
from simulators.engine import Experiment, Streams


@dataclass(frozen=True, kw_only=True)
class Neighbour:
    """X = (e_1, 0)' and Y = (`outcome`, 0), or with the record zeroed; d = 2, so that lambda_min = 0 on both sides.

    The record has leverage 1/(gamma + 1), and an outcome far above the clip makes its gradient as long as allowed.
    """

    has_record: bool
    outcome: float = 100.0


@dataclass(frozen=True, kw_only=True)
class Run:
    """Noise scales as claimed; the run draws with `noise` times each of them."""

    scales: HessianMixingScales
    noise: float = 1.0


def releases(problem: Neighbour, settings: Run, streams: Streams, trials: int) -> dict[str, np.ndarray]:
    """The log-likelihood ratio, with against without the record, of all sketches and gradients of a run.

    The form a'X~'X~a along the record a, and the gradients' coordinate along it, given the past.
    """
    scales, noise = settings.scales, streams.noise
    gamma, sigma, clip = settings.noise * scales.gamma, settings.noise * scales.sigma, scales.clip
    X = np.array([[1.0, 0.0], [0.0, 0.0]]) * problem.has_record
    y = np.array([problem.outcome, 0.0]) * problem.has_record
    released = np.maximum(-gamma / math.sqrt(scales.k) * (scales.tau - noise.standard_normal(trials)), 0.0)
    level = np.maximum(gamma - released, 0.0)
    theta, ratio = np.zeros((trials, 2)), np.zeros(trials)
    for _ in range(scales.steps):
        S, xi = noise.standard_normal((trials, scales.k, 2)), noise.standard_normal((trials, scales.k, 2))
        sketch = S @ X + np.sqrt(level)[:, None, None] * xi
        residual = np.clip(y - theta @ X.T, -clip, clip)
        gradient = residual @ X - level[:, None] * theta + sigma * noise.standard_normal((trials, 2))
        moved = np.clip(problem.outcome - theta[:, 0], -clip, clip)
        seen = gradient[:, 0] + level * theta[:, 0]
        form = np.sum(sketch[:, :, 0] ** 2, axis=1)
        ratio += scales.k / 2 * np.log(level / (level + 1)) + form / 2 * (1 / level - 1 / (level + 1))
        ratio += (moved * seen - moved**2 / 2) / sigma**2
        gram = np.einsum("tki,tkj->tij", sketch, sketch) / scales.k
        theta = theta + np.linalg.solve(gram, gradient[:, :, None])[:, :, 0]
    return {"ratio": ratio}


def audited(scales: HessianMixingScales, noise: float = 1.0) -> tuple[Experiment, Experiment]:
    """Runs without and with the record, with `noise` times the noise that `scales` claim."""
    without, with_record = (
        Experiment(
            algorithm=releases,
            problem=Neighbour(has_record=present),
            settings=Run(scales=scales, noise=noise),
            block_trials=25_000,
        )
        for present in (False, True)
    )
    return without, with_record
