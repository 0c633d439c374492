"""Any linear first-order method with correlated noise on a strongly convex loss: momentum, Nesterov, averages.

>>> from dpbounds.ftrl.correlations import independent
>>> from dpbounds.ftrl.methods import heavy_ball
>>> from simulators.engine import Experiment
>>> from simulators.ftrl.piecewise import kinked_quadratic
>>> problem = MethodOnLoss(loss=kinked_quadratic(mu=0.5, L=1.0), method=heavy_ball(eta=0.2, momentum=0.3))
>>> settings = method_settings(problem, independent(), rho=0.5)
>>> runs = Experiment(algorithm=first_order, problem=problem, settings=settings, block_trials=3)
>>> runs.run(1, seed=0)["mean_f"].shape
(3,)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, nonnegative, positive
from dpbounds.ftrl.correlations import Correlation
from dpbounds.ftrl.methods import LinearMethod, check_converges
from simulators.engine import Arrays, Streams, trial_count
from simulators.ftrl.losses import Loss
from simulators.ftrl.settings import Settings


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class MethodOnLoss:
    """A method on a loss, its gradient with a fresh error of this Euclidean norm in a uniform direction."""

    loss: Loss
    method: LinearMethod
    sigma_sgd: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma_sgd", nonnegative("sigma_sgd", self.sigma_sgd))


@typed
def method_settings(
    problem: MethodOnLoss,
    correlation: Correlation,
    rho: float,
    *,
    clip_norm: float = 1.0,
    forgotten: float = 8.0,
    averaged: float = 12.0,
) -> Settings:
    """Without clipping, with the limiting sensitivity: `forgotten` times of the slowest quadratic are left out of time
    averages, which run over `averaged` more.

    Of the method's steps `Settings.eta` holds |C B|, for the record. `DomainError` for a method that diverges on a
    quadratic between mu and L.
    """
    check_converges(problem.method, problem.loss.mu, problem.loss.L)
    rate = problem.method.rate(problem.loss.mu, problem.loss.L)
    burn_in = int(np.ceil(positive("forgotten", forgotten) / rate))
    return Settings(
        correlation=correlation,
        eta=abs(problem.method.gain),
        rho=rho,
        steps=burn_in + int(np.ceil(positive("averaged", averaged) / rate)),
        clip_norm=clip_norm,
        clipping=False,
        sensitivity="limiting",
        average_from=burn_in,
    )


@typed
def first_order(problem: MethodOnLoss, settings: Settings, streams: Streams, trials: int) -> Arrays:
    """Runs of xi' = A xi + B (grad F(y) + error + w), y = theta* + C xi, from xi = 0, judged at x = theta* + row xi.

    Arrays with leading axis trials: time averages after the burn-in of F(x) - F*, `mean_f`, |x - theta*|^2,
    `mean_distance`, |grad F(x)|^2, `mean_gradient`; and `x`, the last x - theta*, (trials, d).

    Raises `DomainError` for settings with clipping, which is no part of the method.
    """
    if settings.clipping:
        raise DomainError("clipping", True, "False", "the linear method has no clipping")
    trials, loss, method = trial_count(trials), problem.loss, problem.method
    state = np.zeros((len(method.B), trials, loss.dimension))
    sums = {name: np.zeros(trials) for name in ("mean_f", "mean_distance", "mean_gradient")}
    step = 0
    for noise in settings.noise((trials, loss.dimension), streams.noise):
        outputs, errors = np.empty_like(noise), _errors(problem.sigma_sgd, noise.shape, streams.data)
        for t, (w, error) in enumerate(zip(noise, errors, strict=True)):
            outputs[t] = np.tensordot(method.row, state, 1)
            gradient = loss.gradient(loss.minimiser + np.tensordot(method.C, state, 1))
            state = np.tensordot(method.A, state, 1) + method.B[:, None, None] * (gradient + error + w)
        kept = outputs[max(settings.burn_in - step, 0) :]
        sums["mean_f"] += loss.suboptimality(loss.minimiser + kept).sum(axis=0)
        sums["mean_distance"] += (kept**2).sum(axis=(0, 2))
        sums["mean_gradient"] += sum(
            ((loss.gradient(loss.minimiser + x) ** 2).sum(axis=1) for x in kept), np.zeros(trials)
        )
        step += len(noise)
    averaged = settings.steps - settings.burn_in
    return {**{name: total / averaged for name, total in sums.items()}, "x": np.tensordot(method.row, state, 1)}


def _errors(size: float, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """Errors of this norm, uniform on the sphere."""
    if size == 0:
        return np.zeros(shape)
    draws = generator.standard_normal(shape)
    return draws * (size / np.linalg.norm(draws, axis=-1, keepdims=True))
