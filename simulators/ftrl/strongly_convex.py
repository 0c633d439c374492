"""DP-FTRL on a strongly convex loss with full gradients: ftrl Section 3 and App. E.

The time average of F - F* on a loss of `losses` or `piecewise`, without clipping and with the limiting sensitivity as
in the theory.

>>> from dpbounds.ftrl.correlations import independent
>>> from simulators.engine import Experiment
>>> from simulators.ftrl.piecewise import kinked_quadratic
>>> loss = kinked_quadratic(mu=0.5, L=1.0)
>>> runs = Experiment(
...     algorithm=strongly_convex,
...     problem=StronglyConvexLoss(loss=loss),
...     settings=stationary_settings(loss, independent(), eta=0.5, rho=0.5),
...     block_trials=3,
... )
>>> runs.run(1, seed=0)["mean_loss"].shape
(3,)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, in_floats, moderate, nonnegative, positive, vector
from dpbounds.ftrl.correlations import Correlation
from simulators.engine import Arrays, Streams, trial_count
from simulators.ftrl.losses import Loss
from simulators.ftrl.settings import Settings, clip


@typed
@dataclass(frozen=True, kw_only=True)
class StronglyConvexLoss:
    """A loss whose gradient is seen with an error: uniform on the sphere of radius `sigma_sgd`, fresh at every step.

    The error has the largest variance that |error| <= sigma_sgd allows; on the line it is +-sigma_sgd. `initial` holds
    the coordinates of theta_0 - theta* (default 0). Raises `DomainError` for values outside their ranges.
    """

    loss: Loss
    sigma_sgd: float = 0.0
    initial: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        nonnegative("sigma_sgd", self.sigma_sgd)
        in_floats(self, "sigma_sgd")
        if self.initial is not None and len(vector("initial", self.initial)) != self.loss.dimension:
            raise DomainError("initial", self.initial, f"{self.loss.dimension} numbers, one per coordinate")

    @typed
    def gradient_errors(self, generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Errors of shape (*shape, d)."""
        if self.sigma_sgd == 0:
            return np.zeros((*shape, self.loss.dimension))
        draws = generator.standard_normal((*shape, self.loss.dimension))
        return draws * (self.sigma_sgd / np.linalg.norm(draws, axis=-1, keepdims=True))


@typed
def stationary_settings(
    loss: Loss,
    correlation: Correlation,
    eta: float,
    rho: float,
    *,
    clip_norm: float = 1.0,
    forgotten: float = 6.0,
    averaged: float = 8.0,
) -> Settings:
    """Noisy-FTRL with the limiting sensitivity, long enough that time averages estimate F_inf = lim E F(theta_t) - F*.

    A step without noise brings two iterates closer by the factor 1 - c, c = min(eta mu, 2 - eta L), or more. The first
    (forgotten + log(L / mu) / 2) / c steps are left out of the average, which runs over `averaged` / c steps. From
    theta_0 = theta*, with noise that is stationary from the first step, E F(theta_t) - F* <= F_inf (1 +
    exp(-forgotten))^2 by then: in root mean square theta_t is within exp(-forgotten) (mu / L)^{1/2} |theta - theta*| of
    a stationary theta, F(theta + x) - F* <= ((F(theta) - F*)^{1/2} + (L / 2)^{1/2} |x|)^2, and |theta - theta*|^2 <=
    2 (F(theta) - F*) / mu. Raises `DomainError` unless eta < 2 / L.
    """
    if not moderate("eta", eta) * loss.L < 2:
        raise DomainError("eta", eta, f"below 2 / L = {2 / loss.L:g}", "gradient descent diverges above")
    rate = min(eta * loss.mu, 2.0 - eta * loss.L)
    burn_in = int(np.ceil((positive("forgotten", forgotten) + 0.5 * np.log(loss.L / loss.mu)) / rate))
    return Settings(
        correlation=correlation,
        eta=eta,
        rho=rho,
        steps=burn_in + int(np.ceil(positive("averaged", averaged) / rate)),
        clip_norm=clip_norm,
        clipping=False,
        sensitivity="limiting",
        average_from=burn_in,
    )


@typed
def strongly_convex(problem: StronglyConvexLoss, settings: Settings, streams: Streams, trials: int) -> Arrays:
    """Runs of theta_{t+1} = theta_t - eta (g_t + w~_t), g_t the gradient of F with its error, clipped if asked.

    Arrays with leading axis trials: `theta` theta_T - theta*, (trials, d); `loss` F(theta_T) - F*; `mean_loss` the same
    averaged over the later iterates; `clipped` how many gradients were clipped.
    """
    trials, loss, minimiser = trial_count(trials), problem.loss, problem.loss.minimiser
    theta = np.tile(minimiser if problem.initial is None else minimiser + problem.initial, (trials, 1))
    total, clipped = np.zeros(trials), np.zeros(trials, dtype=int)
    step = 0
    for noise in settings.noise(theta.shape, streams.noise):
        path, errors = np.empty_like(noise), problem.gradient_errors(streams.data, noise.shape[:2])
        for t, (w, error) in enumerate(zip(noise, errors, strict=True)):
            gradient = loss.gradient(theta) + error
            if settings.clipping:
                gradient, outside = clip(gradient, settings.clip_norm)
                clipped += outside
            theta = theta - settings.eta * (gradient + w)
            path[t] = theta
        total += loss.suboptimality(path[max(settings.burn_in - step, 0) :]).sum(axis=0)
        step += len(noise)
    return {
        "theta": theta - minimiser,
        "loss": loss.suboptimality(theta),
        "mean_loss": total / (settings.steps - settings.burn_in),
        "clipped": clipped,
    }
