"""The mechanism with its denoisers, and Algorithm 1."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from balle_wang import theory
from dpbounds.arithmetic import FLOATS


@dataclass(frozen=True, kw_only=True)
class Answers:
    """Answers of d coordinates, drawn with standard deviation `width`."""

    d: int
    width: float


def release(problem, settings, streams, trials):
    """Squared errors of noisy and denoised answers, and the privacy loss at distance 1; each of shape (trials,).

    `settings` is sigma.
    """
    sigma = settings
    answers = problem.width * streams.data.standard_normal((trials, problem.d))
    noise = sigma * streams.noise.standard_normal((trials, problem.d))
    noisy = answers + noise
    shrunk = 1 - (problem.d - 2) * sigma**2 / (noisy**2).sum(axis=1, keepdims=True)
    known = problem.width**2 / (problem.width**2 + sigma**2)
    loss = noise[:, 0] / sigma**2 + 1 / (2 * sigma**2)
    mean = 1 / (2 * sigma**2)
    return {
        "noisy": (noise**2).sum(axis=1),
        "bayes": ((known * noisy - answers) ** 2).sum(axis=1),
        "james_stein": ((shrunk * noisy - answers) ** 2).sum(axis=1),
        "loss": loss,
        "loss_square": (loss - mean) ** 2,
    }


def calibrate(epsilon, delta):
    """Algorithm 1: the least sigma for (epsilon, delta)-DP."""
    more = delta < theory.start(FLOATS, epsilon)
    curve, factor = (theory.more_noise, theory.wide) if more else (theory.less_noise, theory.narrow)
    last = 1.0
    while (curve(FLOATS, epsilon, last) > delta) == more:
        last *= 2
    root = brentq(lambda x: curve(FLOATS, epsilon, x) - delta, 0.0, last, xtol=1e-15)
    return float(factor(FLOATS, root) / np.sqrt(2 * epsilon))
