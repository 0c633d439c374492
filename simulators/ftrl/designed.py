"""Designed noise as a stream, and mini-batch linear regression with it.

Memory does not grow with the number of steps: a BLT keeps one vector per buffer, b bands keep b - 1; any other Toeplitz
filter goes through the streams of `simulators.noise`.

>>> noise = designed_noise(Blt((0.5,), (0.25,)), 3, 2, np.random.default_rng(0))
>>> [step.shape for step in noise]
[(2,), (2,), (2,)]
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, positive
from dpbounds.ftrl.correlations import Correlation
from dpbounds.ftrl.design import Bands, Blt, Objective, Participation, Plan, ScaledToeplitz, sensitivity
from dpbounds.ftrl.design.noise_kinds import NoiseKind
from dpbounds.ftrl.design.participation import SINGLE
from simulators.engine import Arrays, Experiment, Streams, trial_count
from simulators.ftrl.linear_regression import LinearRegression
from simulators.ftrl.settings import clip
from simulators.noise import correlated_noise
from simulators.noise.stream import array_shape, check_generator


@typed
def designed_noise(
    mechanism: Correlation, steps: int, shape: int | tuple[int, ...], generator: np.random.Generator
) -> Iterator[Float[np.ndarray, "*shape"]]:
    """The noise B w of `steps` steps, one step at a time, each entry of `shape` an independent copy; w standard normal.

    The draws are `generator.standard_normal(shape)` in order of time. Raises `DomainError` at the call for another
    number of steps than the mechanism's own, and for a row-scaled filter that is no BLT and has no bands.
    """
    steps, shape = count("steps", steps), array_shape(shape)
    check_generator(generator)
    if not isinstance(mechanism, ScaledToeplitz):
        return _filtered(mechanism, np.ones(steps), steps, shape, generator)
    if steps != mechanism.steps:
        raise DomainError("steps", steps, f"the horizon {mechanism.steps} this mechanism was made for")
    inner = _filtered(mechanism.toeplitz, mechanism.before, steps, shape, generator)
    return (scale * noise for scale, noise in zip(mechanism.column_scale, inner, strict=True))


def _filtered(
    correlation: Correlation, before: np.ndarray, steps: int, shape: tuple[int, ...], generator: np.random.Generator
) -> Iterator[np.ndarray]:
    """B applied to the draws times `before`."""
    if isinstance(correlation, Blt):
        return _buffered(correlation, before, shape, generator)
    if isinstance(correlation, Bands):
        return _banded(correlation, before, shape, generator)
    if not np.all(before == 1.0):
        raise DomainError("row_scale", "given", "None for this filter", "fit a BLT to it: fit_coefficients")
    return (noise for block in correlated_noise(correlation, steps, shape, generator) for noise in block)


def _buffered(
    blt: Blt, before: np.ndarray, shape: tuple[int, ...], generator: np.random.Generator
) -> Iterator[np.ndarray]:
    """u_t = w_t - sum_i omega_i b_i, b_i <- phi_i b_i + u_t."""
    decay, scale = np.array(blt.buf_decay), np.array(blt.output_scale)
    buffers = np.zeros((blt.buffers, *shape))
    decay = decay.reshape(-1, *(1 for _ in shape))
    for factor in before:
        noise = factor * generator.standard_normal(shape) - np.tensordot(scale, buffers, axes=1)
        buffers = decay * buffers + noise
        yield noise


def _banded(
    bands: Bands, before: np.ndarray, shape: tuple[int, ...], generator: np.random.Generator
) -> Iterator[np.ndarray]:
    """u_t = (w_t - sum_{0 < k < b} c_k u_{t-k}) / c_0."""
    past: deque[np.ndarray] = deque(maxlen=max(bands.bands - 1, 1))
    for factor in before:
        noise = factor * generator.standard_normal(shape)
        for weight, earlier in zip(bands.c[1:], past, strict=False):
            noise -= weight * earlier
        noise /= bands.c[0]
        past.appendleft(noise)
        yield noise


# Random numbers of a block of trials, about a second, and most trials in one.
BLOCK_DRAWS, MOST_BLOCK_TRIALS = 3_000_000, 1024


@typed
@dataclass(frozen=True, kw_only=True)
class DesignedTraining:
    """How a private run with designed noise is made.

    `objective` gives steps, learning rates, batch size m, momentum, weights and whether gradients are noiseless; its
    spectrum, start and residuals are only predictions, the problem has its own. `rho`: zCDP budget, zero-out. With
    `clipping` every example's gradient is clipped to `clip_norm`, which scales the noise in both cases.
    """

    objective: Objective
    mechanism: Correlation
    rho: float
    clip_norm: float = 1.0
    clipping: bool = False
    participation: Participation = SINGLE

    def __post_init__(self) -> None:
        positive("rho", self.rho)
        positive("clip_norm", self.clip_norm)
        if self.clipping and self.objective.noise_share == 0:
            raise DomainError("clipping", True, "False with noiseless gradients", "give batch_size")

    @property
    def noise_deviation(self) -> float:
        """Of one coordinate of one draw in an averaged gradient: s(C) clip_norm / (m (2 rho)^{1/2})."""
        gamma = float(sensitivity(self.mechanism, self.objective.steps, self.participation))
        return gamma * self.clip_norm / (self.objective.examples * np.sqrt(2.0 * self.rho))


@typed
def problem_of(objective: Objective) -> LinearRegression:
    """The data for which an objective is exact: Gaussian inputs with its spectrum, residuals and start, which lies on
    the positive side along every eigenvector.
    """
    return LinearRegression(
        eigenvalues=tuple(objective.eigenvalues.tolist()),
        sigma_sgd=objective.sigma_sgd,
        initial=tuple(np.sqrt(np.asarray(objective.initial, dtype=float)).tolist()),
    )


def draws_of(objective: Objective) -> int:
    """Random numbers of one run, roughly."""
    return objective.steps * (2 * len(objective.eigenvalues) + 2 * objective.examples)


@typed
def experiment_of(settings: DesignedTraining) -> Experiment:
    """Runs with these settings on the data for which their loss is predicted."""
    trials = max(1, min(MOST_BLOCK_TRIALS, BLOCK_DRAWS // draws_of(settings.objective)))
    problem = problem_of(settings.objective)
    return Experiment(algorithm=designed_training, problem=problem, settings=settings, block_trials=trials)


@typed
def planned_training(plan: Plan, kind: NoiseKind) -> DesignedTraining:
    """The run of one row of a plan; amplified noise as much as its sampling allows, but with batches of fixed size."""
    row = plan.row(kind)
    amplified = kind == "amplified"
    return DesignedTraining(
        objective=plan.training.objective(row.setting),
        mechanism=row.correlation,
        rho=0.5 / row.noise_multiplier**2 if amplified else plan.budget.rho,
        clip_norm=row.clip_norm,
        participation=SINGLE if amplified else plan.training.participation(row.setting.batch_size),
    )


@typed
def designed_training(problem: LinearRegression, settings: DesignedTraining, streams: Streams, trials: int) -> Arrays:
    """Runs of theta <- theta - eta_t v, v <- momentum v + g + w~, g an average over m fresh examples.

    Arrays with leading axis trials: `weighted_loss` sum_t omega_t (F(theta_t) - F*), `loss` F(theta_T) - F*, `theta`
    theta_T - theta* (trials, d), `clipped` the share of gradients that were clipped. Without clipping the average is
    drawn from its law in m + d numbers (`_average`). Fresh examples also where records take part several times: the
    participation only sets the noise.
    """
    trials, eigenvalues, objective = trial_count(trials), np.asarray(problem.eigenvalues), settings.objective
    shape = (trials, len(eigenvalues))
    theta = np.tile(np.zeros(len(eigenvalues)) if problem.initial is None else problem.initial, (trials, 1))
    velocity, total, clipped = np.zeros(shape), np.zeros(trials), np.zeros(trials)
    deviation = settings.noise_deviation
    stream = designed_noise(settings.mechanism, objective.steps, shape, streams.noise)
    for eta, omega, noise in zip(objective.learning_rates, objective.omega, stream, strict=True):
        gradient, outside = _gradient(problem, settings, theta, streams.data)
        velocity = objective.momentum * velocity + gradient + deviation * noise
        theta = theta - eta * velocity
        clipped += outside
        if omega:
            total += omega * 0.5 * (theta**2 @ eigenvalues)
    return {
        "weighted_loss": total,
        "loss": 0.5 * theta**2 @ eigenvalues,
        "theta": theta,
        "clipped": clipped / objective.steps,
    }


def _gradient(
    problem: LinearRegression, settings: DesignedTraining, theta: np.ndarray, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The averaged gradient of every trial, and the share of clipped ones."""
    trials, d = theta.shape
    m, none = settings.objective.examples, np.zeros(trials)
    if settings.objective.noise_share == 0:
        return theta * np.asarray(problem.eigenvalues), none
    if not settings.clipping and problem.inputs == "gaussian":
        return _average(problem, m, theta, generator), none
    inputs = problem.draw(generator, (trials, m))
    errors = np.einsum("tmd,td->tm", inputs, theta) - problem.sigma_sgd * generator.standard_normal((trials, m))
    gradients = errors[:, :, None] * inputs
    if settings.clipping:
        flat, outside = clip(gradients.reshape(trials * m, d), settings.clip_norm)
        return flat.reshape(trials, m, d).mean(axis=1), outside.reshape(trials, m).mean(axis=1)
    return gradients.mean(axis=1), none


def _average(problem: LinearRegression, m: int, theta: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """(1/m) sum_i x_i (<x_i, theta> - xi_i) for Gaussian x_i = H^{1/2} z_i, from its law.

    With a = H^{1/2} theta the z_i are known along a through g_i = <z_i, a> / |a|, which fix the errors e_i = |a| g_i -
    xi_i; across a they are independent of these, so that sum_i e_i z_i is <g, e> along a and |e| times one standard
    normal vector across.
    """
    roots = np.sqrt(np.asarray(problem.eigenvalues))
    a = theta * roots
    length = np.sqrt(np.einsum("td,td->t", a, a))
    # At theta = theta* any direction serves.
    axis = np.divide(a, length[:, None], out=np.zeros_like(a), where=length[:, None] > 0)
    along = generator.standard_normal((len(theta), m))
    errors = length[:, None] * along - problem.sigma_sgd * generator.standard_normal((len(theta), m))
    across = generator.standard_normal(theta.shape)
    spread = np.sqrt(np.einsum("tm,tm->t", errors, errors))
    shift = np.einsum("tm,tm->t", along, errors) - spread * np.einsum("td,td->t", axis, across)
    return (spread[:, None] * across + np.where(length > 0, shift, 0.0)[:, None] * axis) * roots / m
