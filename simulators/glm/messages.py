"""Direction messages: what one user sends, and runs of the estimate from all of them.

A run draws every record and every message, or the mean message in law: the mean of n independent vectors of bounded
size is normal but for 1 / sqrt n, and its mean and covariance are known (`dpbounds.glm.messages.message_law`). Public
records are drawn one by one; of a `GaussianInLaw` with many of them and R = 0, their mean of h M at w* is drawn in law.

>>> from dpbounds.glm.links import logistic
>>> from simulators.engine import Experiment
>>> from simulators.glm.models import GaussianModel
>>> model = GaussianModel(link=logistic, w=np.array([0.6, 0.8]), covariance=np.eye(2), n=10**6, m=10**4)
>>> settings = MessageSettings(noise="cap", epsilon=2.0)
>>> runs = Experiment(algorithm=estimate_from_messages, problem=model, settings=settings, block_trials=5)
>>> run = runs.run_block(0, seed=0)
>>> run["w"].shape, bool(run["relative_l2"].max() < 0.01)
((5, 2), True)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np
from scipy import special

from dpbounds.arguments import formula, typed
from dpbounds.errors import DomainError, choice, in_floats, nonnegative, within
from dpbounds.glm.messages import (
    Cap,
    MessageLaw,
    Noise,
    Solution,
    gaussian_scale,
    message_law,
    message_matrix,
    scored,
    solve,
    solve_known,
    sphere,
)
from dpbounds.glm.messages.errors import POWERS, Rule
from dpbounds.glm.messages.noises import EPSILONS
from simulators.engine import Arrays, Streams, trial_count
from simulators.glm.cells import GaussianInLaw
from simulators.glm.models import GaussianModel, Model, second_moments


@typed
@dataclass(frozen=True, kw_only=True)
class MessageSettings:
    """How messages are made.

    - `noise`: `gaussian` at (epsilon, delta), `hemisphere` or `cap` at epsilon alone;
    - `rule`: A from the covariance of x (`dpbounds.glm.messages.message_matrix`);
    - `radius`, `label_bound`: as in `dpbounds.glm.messages.error`;
    - `by_record`: draw every private record and its message, in place of the mean message in law.
    """

    noise: Noise = "gaussian"
    epsilon: float
    delta: float | None = None
    rule: Rule = "coefficients"
    radius: float = 0.0
    label_bound: float | None = None
    by_record: bool = False

    def __post_init__(self) -> None:
        choice("noise", self.noise, get_args(Noise))
        choice("rule", self.rule, POWERS)
        within("epsilon", self.epsilon, EPSILONS)
        nonnegative("radius", self.radius)
        if (self.delta is None) is (self.noise == "gaussian"):
            wanted = "given with Gaussian noise, and left out with noise on the sphere"
            raise DomainError("delta", self.delta, wanted)
        if self.delta is not None:
            within("delta", self.delta, "(0, 1)")
        in_floats(self, "epsilon", "radius")


@formula
def directions(x: np.ndarray, matrix: np.ndarray, radius: float = 0.0) -> np.ndarray:
    """A x / max(R, ||A x||) for records (n, p); where A x = 0 = R, the first unit vector."""
    h = x @ matrix.T
    lengths = np.maximum(np.linalg.norm(h, axis=1), radius)
    h[lengths == 0.0, 0] = 1.0
    return h / np.where(lengths > 0.0, lengths, 1.0)[:, None]


@formula
def with_gaussian_noise(messages: np.ndarray, sigma: float, generator: np.random.Generator) -> np.ndarray:
    """Messages (n, p) with independent N(0, sigma^2 I)."""
    return messages + nonnegative("sigma", sigma) * generator.standard_normal(messages.shape)


@formula
def on_sphere(messages: np.ndarray, shape: Cap, generator: np.random.Generator) -> np.ndarray:
    """Messages t (n, p), ||t|| <= 1, as points of the sphere of radius `shape.scale` whose mean is t.

    t becomes +-t / ||t|| with probabilities (1 +- ||t||) / 2, then the coordinate along it is drawn by its inverse
    distribution function and the rest uniformly.
    """
    n, p = messages.shape
    if p != shape.p:
        raise DomainError("messages", f"{p} coordinates", f"{shape.p}, those of the cap")
    lengths = np.linalg.norm(messages, axis=1)
    if not np.all(lengths <= 1.0 + 1e-9):
        raise DomainError("messages", f"of length {lengths.max():g}", "of length at most 1")
    start = np.where(lengths[:, None] > 0, messages, np.eye(p)[0]) / np.where(lengths > 0, lengths, 1.0)[:, None]
    start = start * np.where(generator.random(n) < 0.5 * (1.0 + lengths), 1.0, -1.0)[:, None]
    inside = generator.random(n) < shape.probability
    if p == 1:
        return shape.scale * np.where(inside, 1.0, -1.0)[:, None] * start
    if shape.gamma == 0.0:
        points = generator.standard_normal((n, p))
        points /= np.linalg.norm(points, axis=1)[:, None]
        return shape.scale * points * np.where((np.sum(points * start, axis=1) >= 0) == inside, 1.0, -1.0)[:, None]
    share = 0.5 * float(special.betainc((p - 1) / 2.0, 0.5, 1.0 - shape.gamma**2))
    above = np.where(inside, share * generator.random(n), share + (1.0 - share) * generator.random(n))
    squares = special.betaincinv((p - 1) / 2.0, 0.5, 2.0 * np.minimum(above, 1.0 - above))
    along = np.where(above < 0.5, 1.0, -1.0) * np.sqrt(1.0 - squares)
    across = generator.standard_normal((n, p))
    across -= np.sum(across * start, axis=1)[:, None] * start
    across *= (np.sqrt(squares) / np.linalg.norm(across, axis=1))[:, None]
    return shape.scale * (along[:, None] * start + across)


@typed
def estimate_from_messages(problem: Model, settings: MessageSettings, streams: Streams, trials: int) -> Arrays:
    """Runs of the estimate on fresh records.

    Arrays over trials: `w` (trials, p), nan where no root exists; `has_root`; `relative_l2` = ||w - w*||^2 / ||w*||^2,
    inf without a root; `message` (trials, p), the mean message. In law for Gaussian records. Raises `DomainError` for
    other records unless `by_record`, and for no public records.
    """
    if problem.m == 0:
        raise DomainError("m", problem.m, f"at least p = {problem.p}", "messages are solved with public records")
    labels = scored(problem.link, settings.label_bound)
    if problem.link.labels == "real" and not math.isclose(problem.noise, labels.label_bound - 1.0, abs_tol=1e-12):
        raise DomainError("label_bound", labels.label_bound, f"1 + noise = {1.0 + problem.noise:g}")
    matrix = message_matrix(second_moments(problem), settings.rule)
    mean_messages = _by_record if settings.by_record else _in_law
    found, messages = [], []
    if isinstance(problem, GaussianInLaw) and problem.public_in_law and settings.radius == 0.0:
        solution = _with_public_in_law(problem, settings, matrix, streams.data)
    else:
        solution = _with_public(problem, settings, matrix, streams.data)
    for mean in mean_messages(problem, settings, matrix, streams, trial_count(trials)):
        messages.append(mean)
        found.append(solution(mean))
    w, exists = np.array([one.w for one in found]), np.array([one.exists for one in found])
    squares = np.sum((w - problem.w) ** 2, axis=1) / float(problem.w @ problem.w)
    return {
        "w": w,
        "has_root": exists,
        "relative_l2": np.where(exists, squares, np.inf),
        "message": np.array(messages),
    }


def _by_record(
    problem: Model, settings: MessageSettings, matrix: np.ndarray, streams: Streams, trials: int
) -> Iterator[np.ndarray]:
    labels = scored(problem.link, settings.label_bound)
    for _ in range(trials):
        total = np.zeros(problem.p)
        for x, y in problem.records(problem.n, streams.data):
            sent = directions(x, matrix, settings.radius) * labels.score(y)[:, None]
            total += noised(sent, settings, streams.noise).sum(axis=0)
        yield total / problem.n


@typed
def noised(messages: np.ndarray, settings: MessageSettings, generator: np.random.Generator) -> np.ndarray:
    """Messages (n, p) as they are sent."""
    if settings.noise == "gaussian" and settings.delta is not None:
        return with_gaussian_noise(messages, gaussian_scale(settings.epsilon, settings.delta), generator)
    return on_sphere(messages, sphere(settings.noise, messages.shape[1], settings.epsilon), generator)


def _in_law(
    problem: Model, settings: MessageSettings, matrix: np.ndarray, streams: Streams, trials: int
) -> Iterator[np.ndarray]:
    if not isinstance(problem, GaussianModel):
        raise DomainError(
            "by_record", settings.by_record, "True unless x is Gaussian", "moments are known for that law"
        )
    law = message_law(
        problem.link,
        problem.w,
        problem.covariance,
        radius=settings.radius,
        label_bound=settings.label_bound,
        matrix=matrix,
    )
    root = np.linalg.cholesky(mean_covariance(law, settings) / problem.n)
    for _ in range(trials):
        yield law.first + root @ streams.noise.standard_normal(problem.p)


def _with_public(
    problem: Model, settings: MessageSettings, matrix: np.ndarray, generator: np.random.Generator
) -> Callable[[np.ndarray], Solution]:
    """The solution for a mean message, with public records of its own."""

    def solution(mean: np.ndarray) -> Solution:
        public = problem.rows(problem.m, generator)
        return solve(
            mean, public, problem.link, matrix=matrix, radius=settings.radius, label_bound=settings.label_bound
        )

    return solution


def _with_public_in_law(
    problem: GaussianInLaw, settings: MessageSettings, matrix: np.ndarray, generator: np.random.Generator
) -> Callable[[np.ndarray], Solution]:
    """The same: what the public records add to E h M at w* is taken from the mean message."""
    bound = settings.label_bound
    law = message_law(problem.link, problem.w, problem.covariance, label_bound=bound, matrix=matrix)
    root = np.linalg.cholesky(law.public / problem.m)

    def solution(mean: np.ndarray) -> Solution:
        moved = mean - root @ generator.standard_normal(problem.p)
        return solve_known(moved, problem.covariance, problem.link, matrix=matrix, label_bound=bound)

    return solution


@typed
def mean_covariance(law: MessageLaw, settings: MessageSettings) -> np.ndarray:
    """Cov of one message with its noise, (p, p)."""
    p = len(law.first)
    if settings.noise == "gaussian" and settings.delta is not None:
        squares = law.second + gaussian_scale(settings.epsilon, settings.delta) ** 2 * np.eye(p)
    else:
        shape = sphere(settings.noise, p, settings.epsilon)
        squares = shape.across * (np.eye(p) - law.directions) + shape.along * law.directions
    return squares - np.outer(law.first, law.first)
