"""The evolution of losses with piecewise-linear gradients towards the largest error: what adversarial searches share.

>>> decode = Decoder(mu=0.5, L=1.0, d=1, deviations=(1.0, 1.0), worst=1.0)
>>> def stiffest(losses, trials, generator):
...     return np.array([loss.mu for loss in losses])
>>> budget = {"population": 16, "generations": 1, "search_trials": 1, "trials": 1}
>>> worst_loss(stiffest, decode, **budget, generator=np.random.default_rng(0)).mu
1.0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpbounds.errors import DomainError, count
from simulators.ftrl.piecewise import PiecewiseQuadratic, curvature_range

RIDGES = 4
# A curvature, and an offset, a weight and an angle per ridge.
GENES = 1 + 3 * RIDGES
# Spread of the first mutations, in units of a gene's range, and its factor from one generation to the next.
SPREAD, COOLING = 0.3, 0.75
# Losses that meet again on more noise before the winner is measured.
FINALISTS = 4
# Losses of the first generation that are not random.
KNOWN = 16
# Steps of all runs of a search together.
MOST_STEPS = 4e9

# Mean errors of losses in so many runs each, all losses on the same noise.
Means = Callable[[Sequence[PiecewiseQuadratic], int, np.random.Generator], np.ndarray]


def check_budget(steps: int, *, population: int, generations: int, search_trials: int, trials: int, seed: int) -> None:
    """`DomainError` for numbers outside their ranges, and for a search of more than `MOST_STEPS`."""
    least = {"population": KNOWN, "generations": 1, "search_trials": 1, "trials": 2, "seed": 0}
    given = {"population": population, "generations": generations, "search_trials": search_trials, "trials": trials}
    for name, number in {**given, "seed": seed}.items():
        count(name, number, least=least[name])
    work = steps * (population * generations * search_trials + trials)
    if work > MOST_STEPS:
        remedy = "take a larger step, or fewer trials, generations or losses in the population"
        raise DomainError("steps * runs", work, f"at most {MOST_STEPS:g}, some minutes", remedy)


def worst_loss(
    means: Means,
    decode: Decoder,
    *,
    population: int,
    generations: int,
    search_trials: int,
    trials: int,
    generator: np.random.Generator,
) -> PiecewiseQuadratic:
    """The better quarter of a generation stays, the others are replaced by its crossed and mutated copies; the four
    best meet again on `trials` runs.
    """
    offspring = _first_generation(population, decode, generator)
    elite = _evolved(means, decode, offspring, generations, search_trials, generator)
    finalists = [decode(genes) for genes in elite[:FINALISTS]]
    return finalists[int(np.argmax(means(finalists, trials, generator)))]


class Herd:
    """Many losses at once, on theta of shape (d, losses, trials)."""

    def __init__(self, losses: Sequence[PiecewiseQuadratic]) -> None:
        self.curvature = np.array([loss.curvature for loss in losses])[:, None]
        self.directions = np.array([loss.directions for loss in losses]).transpose(1, 2, 0)[..., None]
        self.offsets = np.array([loss.offsets for loss in losses]).T[..., None]
        self.weights = np.array([loss.weights for loss in losses]).T[..., None]

    def excesses(self, theta: np.ndarray) -> list[np.ndarray]:
        """max(<a_j, theta> - b_j, 0) for each ridge j: what gradient and value share."""
        along = ((a * theta).sum(axis=0) if len(theta) > 1 else a[0] * theta[0] for a in self.directions)
        return [np.maximum(x - b, 0.0) for x, b in zip(along, self.offsets, strict=True)]

    def gradient(self, theta: np.ndarray, excesses: list[np.ndarray]) -> np.ndarray:
        """Gradients."""
        result = self.curvature * theta
        for a, c, excess in zip(self.directions, self.weights, excesses, strict=True):
            result += c * a * excess
        return result

    def suboptimality(self, theta: np.ndarray, excesses: list[np.ndarray]) -> np.ndarray:
        """F - F*."""
        result = self.curvature * (theta**2).sum(axis=0)
        for c, excess in zip(self.weights, excesses, strict=True):
            result += c * excess**2
        return 0.5 * result


@dataclass(frozen=True)
class Decoder:
    """Genes in [0, 1] of a loss: curvature, then the offsets, the weights and the angles of the ridges.

    Offsets are of the order of theta's standard deviation on quadratics, which lies in `deviations`; `worst` is the
    gene of the worst quadratic's curvature.
    """

    mu: float
    L: float
    d: int
    deviations: tuple[float, float]
    worst: float

    @classmethod
    def of(cls, curvatures: np.ndarray, errors: np.ndarray, d: int) -> Decoder:
        """From the errors of quadratics whose curvatures run geometrically from mu to L."""
        deviations = np.sqrt(2.0 * errors / (curvatures * d))
        worst = int(np.argmax(errors)) / (len(errors) - 1)
        return cls(
            float(curvatures[0]), float(curvatures[-1]), d, (float(deviations.min()), float(deviations.max())), worst
        )

    def __call__(self, genes: np.ndarray) -> PiecewiseQuadratic:
        """The loss, moved into the class by an affine map of its curvature if it is outside."""
        offset, weight, angle = genes[1:].reshape(3, RIDGES)
        curvature = self.mu ** (1.0 - genes[0]) * self.L ** genes[0]
        shortest, longest = 0.1 * self.deviations[0], 3.0 * self.deviations[1]
        offsets = np.where(offset > 0, shortest * (longest / shortest) ** offset, 0.0)
        directions, weights = _directions(angle, self.d), (self.L - self.mu) * (2.0 * weight - 1.0)
        low, high = curvature_range(curvature, directions, offsets, weights)
        factor = (self.L - self.mu) / max(high - low, self.L - self.mu) if high > low else 1.0
        shift = np.clip(0.0, self.mu - factor * low, self.L - factor * high)
        return PiecewiseQuadratic(
            curvature=float(factor * curvature + shift),
            directions=tuple(tuple(row) for row in directions.tolist()),
            offsets=tuple(offsets.tolist()),
            weights=tuple((factor * weights).tolist()),
        )


def _directions(angle: np.ndarray, dimension: int) -> np.ndarray:
    """Both directions of the line in turn, or unit vectors in the plane."""
    if dimension == 1:
        return np.where(np.arange(RIDGES) % 2 == 0, 1.0, -1.0)[:, None]
    return np.stack([np.cos(2.0 * np.pi * angle), np.sin(2.0 * np.pi * angle)], axis=1)


def _evolved(
    means: Means,
    decode: Decoder,
    offspring: np.ndarray,
    generations: int,
    trials: int,
    generator: np.random.Generator,
) -> np.ndarray:
    """The genes of the best losses, best first; every generation meets the noise that the others met."""
    population, seed = len(offspring), int(generator.integers(2**63))
    elite, found = np.zeros((0, GENES)), np.zeros(0)
    for generation in range(generations):
        errors = means([decode(genes) for genes in offspring], trials, np.random.default_rng(seed))
        candidates, scores = np.concatenate([elite, offspring]), np.concatenate([found, errors])
        best = np.argsort(-scores, kind="stable")[: population // 4]
        elite, found = candidates[best], scores[best]
        offspring = _children(elite, population - len(elite), SPREAD * COOLING**generation, generator)
    return elite


def _first_generation(population: int, decode: Decoder, generator: np.random.Generator) -> np.ndarray:
    """Quadratics (3, the worst among them), the kinked quadratic, Huber losses (8), their opposites (4), and random
    losses.
    """
    genes = generator.random((population, GENES))
    curvature = genes[:, 0]
    offset, weight, angle = genes[:, 1:].reshape(population, 3, RIDGES).transpose(1, 0, 2)  # no copies
    angle[:KNOWN], weight[:KNOWN] = (0.0, 0.5, 0.25, 0.75), 0.5
    curvature[:4] = decode.worst, 0.0, 1.0, 1.0
    offset[3, 0], weight[3, 0] = 0.0, 0.0
    for known, inner, outer in ((slice(4, 12), 1.0, 0.0), (slice(12, KNOWN), 0.0, 1.0)):
        curvature[known] = inner
        offset[known] = np.linspace(0.1, 0.8, known.stop - known.start)[:, None]
        weight[known, : 2 * decode.d] = outer
    return genes


def _children(elite: np.ndarray, number: int, spread: float, generator: np.random.Generator) -> np.ndarray:
    """Each gene from one of two parents, a third of them mutated."""
    parents = elite[generator.integers(0, len(elite), (2, number))]
    crossed = np.where(generator.random(parents[0].shape) < 0.5, parents[0], parents[1])
    mutations = spread * generator.standard_normal(crossed.shape)
    return np.clip(np.where(generator.random(crossed.shape) < 1 / 3, crossed + mutations, crossed), 0.0, 1.0)
