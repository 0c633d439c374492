"""Two-stage gradient descent, clipped and noisy or not: iv Algorithms 1 (DP-2S-GD), 2 (2S-GD), 3 (DP-2S-GD-beta).

A record's gradients have rank one, z_i (z_i'Theta - x_i') and Theta'z_i (z_i'Theta beta - y_i): their norms are
products of norms of vectors, and the clipped sums are Z' diag(w)(Z Theta - X) and (Z Theta)' diag(w')(Z Theta beta - Y)
with weights min(1, gamma / norm). Nothing larger than the data is formed. A stage that does not clip runs on moments.

>>> from simulators.engine import Experiment
>>> from simulators.iv.models import synthetic_model
>>> settings = Settings(steps=200, eta=1.0, alpha=0.02)
>>> model = synthetic_model(n=1000, p=1, q=1, r=0, parameter_seed=0)
>>> run = Experiment(algorithm=two_stage_descent, problem=model, settings=settings, block_trials=3)
>>> run.run_block(0, seed=0)["error_hat"].round(6).tolist()
[0.0, 0.0, 0.0]
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError
from simulators.engine import Arrays, Streams, trial_count
from simulators.iv.problems import Problem
from simulators.iv.recording import Iterate, Recorder, Stage
from simulators.iv.samples import MomentSample, RecordSample, Sample, average, block_sizes, record_norms
from simulators.iv.settings import Settings

Noise = Iterable[tuple[np.ndarray | float, np.ndarray | float]]


@typed
def two_stage_descent(problem: Problem, settings: Settings, streams: Streams, trials: int) -> Arrays:
    """Runs from Theta_0 = 0, beta_0 = 0; both updates of an iteration use the old iterates.

    Arrays with leading axis trials: `theta` Theta_T (trials, q, p); `beta` beta_T and `beta_hat`, the 2SLS estimate,
    (trials, p); `error_hat` ||beta_T - beta_hat||, and where the problem knows the true beta `error_true`
    ||beta_T - beta|| and `two_stage_error` ||beta_hat - beta||, (trials,). Over t = 1..T, (trials, T):
    `error_hat_path`, `error_true_path`, and the shares of records whose gradient at iterate t - 1 was clipped,
    `clipped_theta` and `clipped_beta`; with `record_norms` also the largest norms before clipping,
    `largest_theta_gradient` and `largest_beta_gradient`; with `record_paths` `theta_path` (trials, T, q, p),
    `beta_path` (trials, T, p) and `theta_hat` (trials, q, p).

    A run that leaves floating-point range has error inf.
    """
    return _descents(problem, [settings], streams, trials)[0]


@typed
def compare_descents(problem: Problem, settings: Mapping[str, Settings], streams: Streams, trials: int) -> Arrays:
    """Several runs on common data, each with noise of its own: the arrays of `two_stage_descent` as `NAME/array`."""
    runs = zip(settings, _descents(problem, list(settings.values()), streams, trials), strict=True)
    return {f"{name}/{key}": values for name, arrays in runs for key, values in arrays.items()}


@typed
def iterates(sample: Sample, settings: Settings, noise: Noise, trials: int) -> Iterator[Iterate]:
    """The iterates of `trials` runs with prescribed noise: one pair (Xi, nu) per step, Xi (trials, q, p) and nu
    (trials, p) as they are added to the averaged gradients.

    Raises `DomainError` for settings that need records on a sample that holds moments alone.
    """
    trials, moments = trial_count(trials), sample.moments
    theta, beta = np.zeros((trials, *moments.G.shape[1:])), np.zeros((trials, moments.G.shape[2]))
    for pair in noise:
        try:
            Xi, nu = pair
        except (TypeError, ValueError):
            raise DomainError("noise", pair, "pairs (Xi, nu), one per step") from None
        if settings.visits_records:
            first, second = _on_records(sample.records, settings, theta, beta)
        else:
            first, second = _first_on_moments(moments, theta), _second_on_moments(moments, theta, beta)
        theta = theta - settings.eta * (first.gradient - Xi)
        beta = beta - settings.alpha * (second.gradient - nu)
        yield Iterate(theta=theta, beta=beta, first=first, second=second)


def gaussian_noise(
    settings: Settings, n: int, shape: tuple[int, int, int], generator: np.random.Generator
) -> Iterator[tuple[np.ndarray | float, np.ndarray | float]]:
    """Xi and nu of every step, `shape` being (trials, q, p); what has scale 0 is not drawn."""
    trials, _, p = shape
    lambda1, lambda2 = settings.noise_scales(n)
    for _ in range(settings.steps):
        Xi = lambda1 * generator.standard_normal(shape) if lambda1 > 0 else 0.0
        yield Xi, lambda2 * generator.standard_normal((trials, p)) if lambda2 > 0 else 0.0


def _descents(problem: Problem, settings: Sequence[Settings], streams: Streams, trials: int) -> list[Arrays]:
    """The arrays of every run, block by block."""
    visits = any(one.visits_records for one in settings)
    parts: list[list[Arrays]] = [[] for _ in settings]
    trials = trial_count(trials)
    q, p = problem.dimensions
    for size in block_sizes(problem.n * (q + 3 * p + 4) if visits else q * (q + 5 * p), trials):
        sample = problem.draw(streams.data, size, records=visits)
        for one, part in zip(settings, parts, strict=True):
            noise = gaussian_noise(one, problem.n, (size, q, p), streams.noise)
            part.append(_run(sample, one, noise, size, problem.beta))
    return [{name: np.concatenate([arrays[name] for arrays in part]) for name in part[0]} for part in parts]


def _run(sample: Sample, settings: Settings, noise: Noise, trials: int, beta: np.ndarray | None) -> Arrays:
    """The arrays of one block of trials; runs may diverge."""
    recorder = Recorder(sample.moments, settings, trials, beta)
    with np.errstate(over="ignore", invalid="ignore"):
        for step, iterate in enumerate(iterates(sample, settings, noise, trials)):
            recorder.add(step, iterate)
    return recorder.arrays()


def _first_on_moments(moments: MomentSample, theta: np.ndarray) -> Stage:
    return Stage(gradient=moments.A @ theta - moments.G)


def _second_on_moments(moments: MomentSample, theta: np.ndarray, beta: np.ndarray) -> Stage:
    residual = moments.A @ (theta @ beta[..., None]) - moments.b[..., None]
    return Stage(gradient=(np.swapaxes(theta, 1, 2) @ residual)[..., 0])


def _on_records(records: RecordSample, settings: Settings, theta: np.ndarray, beta: np.ndarray) -> tuple[Stage, Stage]:
    """Both stages at one iterate; what neither clips nor records norms is left to the moments."""
    fitted = np.swapaxes(theta, 1, 2) @ records.instruments
    first_visits, second_visits = (
        settings.record_norms or math.isfinite(gamma) for gamma in (settings.gamma1, settings.gamma2)
    )
    return (
        _first_on_records(records, settings, fitted) if first_visits else _first_on_moments(records.moments, theta),
        _second_on_records(records, settings, fitted, beta)
        if second_visits
        else _second_on_moments(records.moments, theta, beta),
    )


def _first_on_records(records: RecordSample, settings: Settings, fitted: np.ndarray) -> Stage:
    """Clipped gradients of Theta; `fitted` holds Theta'z_i, (trials, p, n)."""
    residual = fitted - records.regressors
    norms = records.lengths * record_norms(residual)
    residual *= _weights(norms, settings.gamma1)[:, None, :]
    return _stage(average(records.instruments, residual), norms, settings.gamma1, settings)


def _second_on_records(records: RecordSample, settings: Settings, fitted: np.ndarray, beta: np.ndarray) -> Stage:
    """Clipped gradients of beta."""
    residual = (beta[:, None, :] @ fitted)[:, 0] - records.outcome
    norms = record_norms(fitted) * np.abs(residual)
    residual *= _weights(norms, settings.gamma2)
    return _stage(average(fitted, residual[:, None, :])[..., 0], norms, settings.gamma2, settings)


def _weights(norms: np.ndarray, gamma: float) -> np.ndarray:
    """min(1, gamma / norm): exactly 1 up to gamma."""
    return np.ones_like(norms) if math.isinf(gamma) else gamma / np.maximum(norms, gamma)


def _stage(gradient: np.ndarray, norms: np.ndarray, gamma: float, settings: Settings) -> Stage:
    clipped = np.add.reduce((norms > gamma).view(np.uint8), axis=1, dtype=np.uint32) / norms.shape[1]
    return Stage(gradient=gradient, clipped=clipped, largest=norms.max(axis=1) if settings.record_norms else 0.0)
