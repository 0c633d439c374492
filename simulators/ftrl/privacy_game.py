"""The game of adaptive continual release, played against Algorithm 1: ftrl App. A.2.

>>> PrivacyGame(stream=1, length=2.0).gradients(np.array([[0.0], [-3.0]])).tolist()
[[2.0], [-2.0]]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpbounds.errors import DomainError, count, positive
from simulators.engine import Arrays, Streams, trial_count
from simulators.ftrl.settings import Settings, clip


@dataclass(frozen=True, kw_only=True)
class PrivacyGame:
    """Two neighbouring gradient streams written by an adversary, and which of them the mechanism gets.

    Both hold the same gradients of length `length` but for `position`: there stream 1 has the zero vector (`zero-out`)
    or the opposite gradient (`replace-one`). An `adaptive` adversary looks at the newest iterate and points along it, a
    `constant` one always points along the first axis. Raises `DomainError` for values outside their ranges.
    """

    stream: Literal[0, 1]
    position: int = 0
    dimension: int = 1
    length: float = 1.0
    adversary: Literal["adaptive", "constant"] = "adaptive"
    adjacency: Literal["zero-out", "replace-one"] = "zero-out"

    def __post_init__(self) -> None:
        count("position", self.position, least=0)
        count("dimension", self.dimension)
        positive("length", self.length)
        for name, allowed in (
            ("stream", (0, 1)),
            ("adversary", ("adaptive", "constant")),
            ("adjacency", ("zero-out", "replace-one")),
        ):
            if getattr(self, name) not in allowed:
                raise DomainError(name, getattr(self, name), f"{allowed[0]} or {allowed[1]}")

    def gradients(self, theta: np.ndarray) -> np.ndarray:
        """The gradients (trials, d) that stream 0 gets next, after `theta` has been seen."""
        first = np.zeros_like(theta)
        first[:, 0] = self.length
        if self.adversary == "constant":
            return first
        norms = np.linalg.norm(theta, axis=1, keepdims=True)
        return np.where(norms > 0, self.length * theta / np.where(norms > 0, norms, 1.0), first)


def privacy_game(problem: PrivacyGame, settings: Settings, streams: Streams, trials: int) -> Arrays:
    """Games with Algorithm 1 from theta_0 = 0, r = 0, the adversary's vectors as its gradients.

    Arrays with leading axis trials: `theta` the released iterates theta_1, ..., theta_T, (trials, T, d); `statistic`
    the matched filter: what the iterates show beside stream 0, projected on the difference of the streams in the
    metric of the noise, in standard deviations. It is N(0, 1) under stream 0 and has its largest mean under stream 1.

    Raises `DomainError` for a position beyond the last step and for settings without noise.
    """
    _check(problem, settings)
    theta = np.zeros((trial_count(trials), problem.dimension))
    released, seen = [], []
    difference = np.zeros_like(theta)
    for noise in settings.noise(theta.shape, streams.noise):
        for w in noise:
            gradient, other = _offered(problem, settings, theta)
            here = len(seen) == problem.position
            difference = other - gradient if here else difference
            update = (other if here and problem.stream == 1 else gradient) + w
            theta = theta - settings.eta * update
            released.append(theta)
            seen.append(update - gradient)
    direction = difference / np.linalg.norm(difference, axis=1, keepdims=True)
    statistic = np.einsum("s,std,td->t", _matched_filter(settings, problem.position), np.array(seen), direction)
    return {"theta": np.stack(released, axis=1), "statistic": statistic}


def _check(problem: PrivacyGame, settings: Settings) -> None:
    if problem.position >= settings.steps:
        raise DomainError("position", problem.position, f"a step in [0, {settings.steps})")
    if settings.noise_multiplier == 0:
        raise DomainError("rho", settings.rho, "a finite number", "without noise there is no game")


def _offered(problem: PrivacyGame, settings: Settings, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The next gradient of stream 0 and what stream 1 has if this is the position, both clipped."""
    gradient = problem.gradients(theta)
    if settings.clipping:
        gradient, _ = clip(gradient, settings.clip_norm)
    return gradient, -gradient if problem.adjacency == "replace-one" else np.zeros_like(gradient)


def _matched_filter(settings: Settings, position: int) -> np.ndarray:
    """K^{-1} e over its own standard deviation, K the covariance of the noise over the steps, e the unit vector of the
    position.
    """
    decoder = settings.correlation.matrix(settings.steps)
    unit = (np.arange(settings.steps) == position).astype(float)
    solved = np.linalg.solve(decoder @ decoder.T, unit)
    return solved / np.sqrt(solved[position]) / (settings.noise_multiplier * settings.clip_norm)
