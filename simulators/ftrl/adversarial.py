"""A search for the loss that is worst for given noise: an estimate from below of sup F_inf over the class.

The loss is in the class, and its error is measured on noise that did not choose it.

>>> from dpbounds.ftrl.correlations import independent
>>> problem = StronglyConvex(mu=0.5, L=1.0, eta=1.0, rho=0.5)
>>> small = {"population": 16, "generations": 1, "search_trials": 2, "trials": 8}
>>> found = adversarial_lower(independent(), problem, **small)
>>> found.value.kind, found.standard_error > 0
('estimate', True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from dpbounds.arguments import typed
from dpbounds.circle.quadrature import even_integral
from dpbounds.errors import DomainError, count, within
from dpbounds.ftrl.correlations import ToeplitzCorrelation
from dpbounds.ftrl.strongly_convex import StronglyConvex
from dpbounds.values import Value
from simulators.engine import Experiment
from simulators.ftrl.piecewise import PiecewiseQuadratic, curvature_range, kinked_quadratic
from simulators.ftrl.settings import Settings
from simulators.ftrl.strongly_convex import StronglyConvexLoss, stationary_settings, strongly_convex

RIDGES = 4
# A curvature, and an offset, a weight and an angle per ridge.
GENES = 1 + 3 * RIDGES
# Spread of the first mutations, in units of a gene's range, and its factor from one generation to the next.
SPREAD, COOLING = 0.3, 0.75
# Losses that meet again on more noise before the winner is measured.
FINALISTS = 4
# Losses of the first generation that are not random.
KNOWN = 16
# Curvatures, geometrically from mu to L, among which the worst quadratic is sought.
CURVATURES = 129
CONVENTION = "F - F*"
# Steps of all runs of a search together.
MOST_STEPS = 4e9


@dataclass(frozen=True, kw_only=True)
class AdversarialLower:
    """The worst loss found and the time average of its F - F* in runs that the search has not seen.

    `value` estimates F_inf of `loss`, hence sup F_inf over the class from below; `standard_error` is over `trials`
    runs.
    """

    loss: PiecewiseQuadratic
    value: Value
    standard_error: float
    trials: int

    def interval(self, alpha: float = 1e-9) -> tuple[float, float]:
        """Student's interval at level 1 - alpha for F_inf of `loss`, but for what is left of the start
        (`stationary_settings`: at most 0.5 % too large); `DomainError` unless alpha is in (0, 1).
        """
        within("alpha", alpha, "(0, 1)")
        arm = float(special.stdtrit(self.trials - 1, 1.0 - alpha / 2.0)) * self.standard_error
        return float(self.value) - arm, float(self.value) + arm


@typed
def adversarial_lower(
    correlation: ToeplitzCorrelation,
    problem: StronglyConvex,
    *,
    seed: int = 0,
    population: int = 48,
    generations: int = 12,
    search_trials: int = 32,
    trials: int = 1000,
) -> AdversarialLower:
    """The largest F_inf found among losses on the line (d = 1) or in the plane (d = 2) with piecewise-linear gradients.

    F(theta) = h/2 |theta|^2 + 1/2 sum_{j <= 4} c_j max(<a_j, theta> - b_j, 0)^2, brought into the class by an affine
    map. Evolution: the better quarter of a generation stays, the others are replaced by its crossed and mutated copies;
    all losses meet the same noise. Among random losses the first generation holds the worst quadratic, the kinked
    quadratic, Huber losses and their opposites (mu inside, L outside). The four best meet again on more noise; the
    winner is measured on noise of its own, so that selection does not bias its mean. Those runs are `Experiment(
    algorithm=strongly_convex, problem=StronglyConvexLoss(loss=found.loss, sigma_sgd=sigma_sgd),
    settings=stationary_settings(kinked_quadratic(mu, L), ...), block_trials=trials).run_block(0, seed=seed)`: anyone
    can repeat them without the search. In more dimensions a loss on the line, summed over the coordinates, has d times
    the F_inf that it has on the line with sigma_sgd / sqrt(d).

    Noise as in `dpbounds.ftrl.strongly_convex.bound`: per coordinate with standard deviation clip_norm gamma_inf /
    sqrt(2 rho), and gradient errors of norm `sigma_sgd`. Equal arguments give equal results. The work is proportional
    to 1 / min(eta mu, 2 - eta L): a second or two at 0.01, half a minute at 0.001. Raises `DomainError` for arguments
    outside their ranges.
    """
    mu, L, d = problem.mu, problem.L, problem.d
    if d > 2:
        raise DomainError("d", d, "1 or 2", "sum a loss on the line over the coordinates")
    _check_budget(population=population, generations=generations, search_trials=search_trials, trials=trials, seed=seed)
    settings = stationary_settings(
        kinked_quadratic(mu, L), correlation, problem.eta, problem.rho, clip_norm=problem.clip_norm
    )
    work = settings.steps * (population * generations * search_trials + trials)
    if work > MOST_STEPS:
        remedy = "take a larger step, or fewer trials, generations or losses in the population"
        raise DomainError("steps * runs", work, f"at most {MOST_STEPS:g}, some minutes", remedy)
    arena = _Arena(settings, problem.sigma_sgd, d)
    generator = np.random.default_rng(seed)
    curvatures = np.geomspace(mu, L, CURVATURES)
    decode = _Decoder.of(curvatures, arena.quadratic_errors(correlation, curvatures), d)
    offspring = _first_generation(population, decode, generator)
    elite = _evolved(arena, decode, offspring, generations, search_trials, generator)
    finalists = [decode(genes) for genes in elite[:FINALISTS]]
    winner = finalists[int(np.argmax(arena.means(finalists, trials, generator)))]
    return arena.measured(winner, trials, seed)


def _check_budget(**numbers: int) -> None:
    least = {"population": KNOWN, "trials": 2, "seed": 0}
    for name, number in numbers.items():
        count(name, number, least=least.get(name, 1))


@dataclass(frozen=True)
class _Arena:
    """Where losses meet the noise."""

    settings: Settings
    sigma_sgd: float
    d: int

    def means(self, losses: Sequence[PiecewiseQuadratic], trials: int, generator: np.random.Generator) -> np.ndarray:
        """Time averages of F - F*, all losses on the same noise."""
        herd, settings = _Herd(losses), self.settings
        problem = StronglyConvexLoss(loss=losses[0], sigma_sgd=self.sigma_sgd)
        theta, total = np.zeros((self.d, len(losses), trials)), np.zeros((len(losses), trials))
        step = 0
        for noise in settings.noise((trials, self.d), generator):
            noise += problem.gradient_errors(generator, noise.shape[:2])
            for w in noise.transpose(0, 2, 1)[:, :, None]:
                excesses = herd.excesses(theta)
                if step >= settings.burn_in:
                    total += herd.suboptimality(theta, excesses)
                theta -= settings.eta * (herd.gradient(theta, excesses) + w)
                step += 1
        return total.mean(axis=1) / (settings.steps - settings.burn_in)

    def quadratic_errors(self, correlation: ToeplitzCorrelation, curvatures: np.ndarray) -> np.ndarray:
        """F_inf of h |theta|^2 / 2: (h / 2) (eta^2 / 2 pi) int S / |1 - eta h - e^{i omega}|^2."""
        eta, x = self.settings.eta, self.settings.eta * curvatures[:, None]
        privacy = self.d * (self.settings.noise_multiplier * self.settings.clip_norm) ** 2

        def integrand(omega: np.ndarray) -> np.ndarray:
            spectrum = privacy * correlation.power_spectrum(omega) + self.sigma_sgd**2
            return spectrum / (x**2 + 4.0 * (1.0 - x) * np.sin(omega / 2.0) ** 2)

        return curvatures * eta**2 / (4.0 * np.pi) * even_integral(integrand, relative_tolerance=1e-4)

    def measured(self, loss: PiecewiseQuadratic, trials: int, seed: int) -> AdversarialLower:
        """Independent runs on one loss."""
        problem = StronglyConvexLoss(loss=loss, sigma_sgd=self.sigma_sgd)
        experiment = Experiment(algorithm=strongly_convex, problem=problem, settings=self.settings, block_trials=trials)
        means = experiment.run_block(0, seed=seed)["mean_loss"]
        return AdversarialLower(
            loss=loss,
            value=Value(means.mean(), kind="estimate", source="dpbounds, adversarial search", convention=CONVENTION),
            standard_error=float(means.std(ddof=1) / np.sqrt(trials)),
            trials=trials,
        )


class _Herd:
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
class _Decoder:
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
    def of(cls, curvatures: np.ndarray, errors: np.ndarray, d: int) -> _Decoder:
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
    arena: _Arena,
    decode: _Decoder,
    offspring: np.ndarray,
    generations: int,
    trials: int,
    generator: np.random.Generator,
) -> np.ndarray:
    """The genes of the best losses, best first; every generation meets the noise that the others met."""
    population, seed = len(offspring), int(generator.integers(2**63))
    elite, found = np.zeros((0, GENES)), np.zeros(0)
    for generation in range(generations):
        means = arena.means([decode(genes) for genes in offspring], trials, np.random.default_rng(seed))
        candidates, scores = np.concatenate([elite, offspring]), np.concatenate([found, means])
        best = np.argsort(-scores, kind="stable")[: population // 4]
        elite, found = candidates[best], scores[best]
        offspring = _children(elite, population - len(elite), SPREAD * COOLING**generation, generator)
    return elite


def _first_generation(population: int, decode: _Decoder, generator: np.random.Generator) -> np.ndarray:
    """Quadratics (3, the worst among them), the kinked quadratic, Huber losses (8), their opposites (4), and random
    losses.
    """
    genes = generator.random((population, GENES))
    curvature, offset, weight, angle = genes[:, 0], genes[:, 1:5], genes[:, 5:9], genes[:, 9:]
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
