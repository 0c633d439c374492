"""Beyond the paper: the evolution of losses towards a large error, written out loss by loss and gene by gene."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from simulators.ftrl.evolution import (
    COOLING,
    FINALISTS,
    GENES,
    KNOWN,
    RIDGES,
    SPREAD,
    Decoder,
    Herd,
    check_budget,
    worst_loss,
)
from simulators.ftrl.piecewise import PiecewiseQuadratic, curvature_range
from verify.checks import Fact, Holds, refused, taken

POPULATION, GENERATIONS, TRIALS, FINAL = 38, 3, 5, 11


def of_searches(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Every loss that a search looks at, and on what noise; many losses at once; budgets at their limits."""
    # With these seeds children of the kinked quadratic, of Huber losses, their opposites, the steepest one mutate.
    for decode, kind, seed in (
        (Decoder(0.3, 1.7, 1, (0.4, 1.1), 0.35), (-1.0, 1.0), 1),
        (Decoder(0.3, 1.7, 1, (0.4, 1.1), 0.35), (-1.0, 1.0), 12),
        (Decoder(0.2, 1.4, 2, (0.3, 0.9), 0.6), (1.0, 0.2), 1),
    ):
        seen, stated = _Scores(*kind), _Scores(*kind)
        budget = {"population": POPULATION, "generations": GENERATIONS, "search_trials": TRIALS, "trials": FINAL}
        found = worst_loss(seen, decode, **budget, generator=np.random.default_rng(seed))
        winner = _evolution(stated, decode, np.random.default_rng(seed))
        label = f"in {decode.d} dimensions, seed {seed}"
        yield Fact(f"losses looked at {label}", np.array(seen.losses), np.array(stated.losses), 1e-9)
        yield Fact(f"trials and noise of each look {label}", np.array(seen.looks), np.array(stated.looks), 0.0)
        yield Fact(f"the winner {label}", _numbers(found), _numbers(winner), 1e-9)
        yield from _herd(decode)
    # 1000 steps of 20 * 10 * 15000 + 1000000 runs are the most.
    least = {"population": KNOWN, "generations": 1, "search_trials": 1, "trials": 2, "seed": 0}
    most = {"population": 20, "generations": 10, "search_trials": 15_000, "trials": 1_000_000, "seed": 0}
    yield taken("the least budget", lambda: check_budget(1, **least))
    yield taken("the largest budget", lambda: check_budget(1000, **most))
    yield refused("a step more", "steps * runs", lambda: check_budget(1001, **most))
    yield refused("a trial more", "steps * runs", lambda: check_budget(1000, **{**most, "trials": 1_000_001}))
    for name, number in least.items():
        yield refused(f"less {name}", name, lambda name=name, n=number: check_budget(1, **{**least, name: n - 1}))


class _Scores:
    """Stands for the mean errors of losses: sums of values at points of some size that the noise gives, mostly positive
    ones, or the opposites of these; keeps what it is asked.
    """

    def __init__(self, sign: float, size: float) -> None:
        self.sign, self.size = sign, size
        self.losses: list[list[float]] = []
        self.looks: list[tuple[int, float]] = []

    def __call__(self, losses: Sequence[PiecewiseQuadratic], trials: int, generator: np.random.Generator) -> np.ndarray:
        self.looks.append((trials, float(generator.random())))
        self.losses += [_numbers(loss) for loss in losses]
        points = self.size * np.abs(generator.standard_normal((trials, losses[0].dimension)))
        values = [loss.suboptimality(points).sum() + 0.01 * loss.suboptimality(-points).sum() for loss in losses]
        numbers = np.array([_numbers(loss) for loss in losses])  # no two that differ have the same error
        return self.sign * np.array(values) + 0.001 * numbers @ np.sqrt(1.0 + np.arange(numbers.shape[1]))


def _numbers(loss: PiecewiseQuadratic) -> list[float]:
    return [loss.curvature, *np.ravel(loss.directions).tolist(), *loss.offsets, *loss.weights]


def _evolution(scores: _Scores, decode: Decoder, generator: np.random.Generator) -> PiecewiseQuadratic:
    """Generation by generation, with the draws in the order in which the search takes them."""
    herd, best = _first(decode, generator), []
    seed = int(generator.integers(2**63))
    for generation in range(GENERATIONS):
        errors = scores([_decoded(decode, genes) for genes in herd], TRIALS, np.random.default_rng(seed))
        best = sorted([*best, *zip(errors, herd, strict=True)], key=lambda one: -one[0])[: POPULATION // 4]
        number = POPULATION - len(best)
        parents = generator.integers(0, len(best), (2, number))
        coins, moves = generator.random((number, GENES)), generator.standard_normal((number, GENES))
        dice, herd = generator.random((number, GENES)), []
        for child in range(number):
            genes = []
            for gene in range(GENES):
                x = best[parents[0 if coins[child, gene] < 0.5 else 1, child]][1][gene]
                if 3 * dice[child, gene] < 1:
                    x = min(1.0, max(0.0, x + moves[child, gene] * SPREAD * math.prod([COOLING] * generation)))
                genes.append(x)
            herd.append(np.array(genes))
    finalists = [_decoded(decode, genes) for _, genes in best[:FINALISTS]]
    return finalists[int(np.argmax(scores(finalists, FINAL, generator)))]


def _first(decode: Decoder, generator: np.random.Generator) -> list[np.ndarray]:
    """The losses that are known to be bad, and random ones behind them."""
    herd = list(generator.random((POPULATION, GENES)))
    angles = [0.0, 0.5, 0.25, 0.75]
    steps, short = [0.1 * k for k in range(1, 9)], [0.1, 0.1 + 0.7 / 3, 0.1 + 1.4 / 3, 0.8]
    for number, genes in enumerate(herd[:KNOWN]):
        offsets, weights = genes[1 : 1 + RIDGES].tolist(), [0.5] * RIDGES
        if number < 4:
            curvature = [decode.worst, 0.0, 1.0, 1.0][number]
        elif number < 12:  # curvature L near 0, mu far from it
            curvature, offsets = 1.0, [steps[number - 4]] * RIDGES
            weights[: 2 * decode.d] = [0.0] * 2 * decode.d
        else:
            curvature, offsets = 0.0, [short[number - 12]] * RIDGES
            weights[: 2 * decode.d] = [1.0] * 2 * decode.d
        if number == 3:
            offsets[0] = weights[0] = 0.0
        genes[:] = [curvature, *offsets, *weights, *angles]
    return herd


def _decoded(decode: Decoder, genes: np.ndarray) -> PiecewiseQuadratic:
    """Curvature and ridges of genes, then the affine map of curvatures that takes their range into [mu, L]."""
    mu, L, (low, high) = decode.mu, decode.L, decode.deviations
    curvature = math.exp((1 - genes[0]) * math.log(mu) + genes[0] * math.log(L))
    offsets, weights, directions = [], [], []
    for ridge in range(RIDGES):
        offset, weight, angle = (genes[1 + ridge + k * RIDGES] for k in range(3))
        offsets.append(0.1 * low * math.exp(offset * math.log(30 * high / low)) if offset > 0 else 0.0)
        weights.append((L - mu) * (2 * weight - 1))
        turned = 2 * math.pi * angle
        directions.append((math.cos(turned), math.sin(turned)) if decode.d == 2 else ((-1.0) ** ridge,))
    least, largest = curvature_range(curvature, np.array(directions), np.array(offsets), np.array(weights))
    factor = min(1.0, (L - mu) / (largest - least)) if largest > least else 1.0
    shift = max(0.0, mu - factor * least) + min(0.0, L - factor * largest)
    weights = [factor * weight for weight in weights]
    given: dict[str, Any] = {"directions": tuple(directions), "offsets": tuple(offsets), "weights": tuple(weights)}
    return PiecewiseQuadratic(curvature=factor * curvature + shift, **given)


def _herd(decode: Decoder) -> Iterator[Fact]:
    """Gradients and values of many losses at many points, one loss, point and ridge at a time."""
    own = np.random.default_rng(15)
    losses = [_decoded(decode, own.random(GENES)) for _ in range(3)]
    theta = 2.0 * own.standard_normal((decode.d, 3, 7))
    herd = Herd(losses)
    excesses = herd.excesses(theta)
    gradients, values = np.empty_like(theta), np.empty(theta.shape[1:])
    for k, loss in enumerate(losses):
        for trial in range(7):
            x = theta[:, k, trial]
            gradient, value = loss.curvature * x, 0.5 * loss.curvature * sum(x**2)
            for a, b, c in zip(loss.directions, loss.offsets, loss.weights, strict=True):
                beyond = max(0.0, sum(x * a) - b)
                gradient, value = gradient + c * beyond * np.array(a), value + 0.5 * c * beyond**2
            gradients[:, k, trial], values[k, trial] = gradient, value
    yield Fact(f"gradients of many losses in {decode.d} dimensions", herd.gradient(theta, excesses), gradients)
    yield Fact("and their values", herd.suboptimality(theta, excesses), values)
