"""The closure by direction: Gaussian inputs, of which only the spectrum is known.

Along eigenvector j a step contracts by 1 - eta lambda_j a_j, a_j the mean slope of clipped gradients there
(`GaussianInputs`) at residuals of variance v = sigma^2 + 2 F. On real data, whose residuals and lengths depend on each
other, its losses are no forecast.

>>> from dpbounds.ftrl.correlations import independent
>>> settings = {"schedule": np.full(4, 0.5), "clip_norm": 1e6, "noise_multiplier": 0.0, "batch_size": 10**9}
>>> found = by_direction(np.ones(1), correlation=independent(), order="fresh", initial=4.0, **settings)
>>> found.biases.round(6).tolist()
[0.5, 0.125, 0.03125, 0.007812]
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, all_moderate, count, moderate_or_zero
from dpbounds.ftrl.correlations import Correlation
from dpbounds.ftrl.design.clipped.expectations import GaussianInputs
from dpbounds.ftrl.design.clipped.results import ClippedForecast, Run, finished, run_of
from dpbounds.ftrl.design.from_data import LARGEST_STATE, JointMoments
from dpbounds.ftrl.design.objective import squared_start


@typed
def by_direction(
    eigenvalues: Float[np.ndarray, " d"],
    *,
    correlation: Correlation,
    schedule: Float[np.ndarray, " T"],
    clip_norm: float,
    noise_multiplier: float,
    batch_size: int,
    order: str = "fixed",
    initial: float | Float[np.ndarray, " start"] | None = None,
    sigma_sgd: float = 0.0,
    n: int | None = None,
    momentum: float = 0.0,
) -> ClippedForecast:
    """E F(theta_t) for Gaussian inputs with these `eigenvalues` and residuals N(0, `sigma_sgd`^2): population loss.

    - `initial`: squared start distances along the eigenvectors, one number or (d,), as in `Objective`.
    - `n` records, needed by the orders `fixed` and `poisson`. Several passes over them end above theta* by the part
      (sigma^2 / 2n) sum_j (1 - Phi_j)^2 b_j / a_j^2, Phi_j what is left of the start, which is counted in `sampling`;
      one pass in fixed order is as good as fresh examples.

    The other arguments and the result are those of `forecast`. Raises the same errors, and `DomainError` for an n that
    is missing.
    """
    spectrum, sigma = all_moderate("eigenvalues", eigenvalues), moderate_or_zero("sigma_sgd", sigma_sgd)
    start = squared_start(initial, len(spectrum))
    run = run_of(correlation, schedule, clip_norm, noise_multiplier, batch_size, order, momentum)
    fresh = run.order == "fresh"
    records = None if fresh else count("n", n, run.batch_size, "the number of records, for this order")
    if run.space.size * max(run.space.size, run.parts * len(spectrum)) > LARGEST_STATE:
        raise DomainError("schedule", f"{run.steps} steps", "fewer for noise without buffers", "take a BLT")
    if records is not None and run.order == "fixed" and run.steps <= records // run.batch_size:
        records = None
    with np.errstate(over="ignore", invalid="ignore"):
        return finished(_paths(spectrum, run, start, sigma, records))


def _paths(spectrum: np.ndarray, run: Run, start: np.ndarray, sigma: float, n: int | None) -> np.ndarray:
    inputs, d = GaussianInputs(spectrum, run.clip_norm), len(spectrum)
    noise = JointMoments(run.space, (d, run.parts, 1), run.deviation)
    left, velocity, sampled = np.ones(d), np.zeros(d), np.zeros_like(noise.covariance)
    floor = np.zeros(d)
    share = 1.0 if n is None else 1.0 - run.batch_size / n
    paths = np.empty((4, run.steps))
    for t, eta in enumerate(run.schedule):
        second = left**2 * start + (noise.covariance + sampled)[:, 0, 0] + floor
        variance = sigma**2 + float(spectrum @ second)
        if not np.isfinite(variance):
            paths[:, t:] = np.inf
            break
        slopes, squares, clipped = inputs.at(variance)
        slope = spectrum * slopes
        white = spectrum * variance * squares
        if run.order == "poisson":
            white = white + slope**2 * second
        transition, push = run.step(t, slope[:, None, None])
        velocity = run.momentum * velocity + slope * left
        left = left - eta * velocity
        noise.advance(t, transition, push)
        white = push * (white * share / run.batch_size)[:, None, None] @ push.swapaxes(-1, -2)
        sampled = transition @ sampled @ transition.swapaxes(-1, -2) + white
        if n is not None:
            floor = sigma**2 / n * (1.0 - left) ** 2 * squares / slopes**2 / spectrum
        parts = (left**2 * start, noise.covariance[:, 0, 0], sampled[:, 0, 0] + floor)
        paths[:, t] = *(0.5 * float(spectrum @ part) for part in parts), clipped
    return paths
