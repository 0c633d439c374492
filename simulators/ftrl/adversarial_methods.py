"""A search for the loss that is worst for a first-order method and its noise, as `adversarial` has it for gradient
descent.

>>> from dpbounds.ftrl.correlations import independent
>>> from dpbounds.ftrl.methods import heavy_ball
>>> small = {"population": 16, "generations": 1, "search_trials": 2, "trials": 8}
>>> noise, method = Noise(correlation=independent(), rho=0.5), heavy_ball(eta=0.5, momentum=0.3)
>>> found = adversarial_method_lower(noise, method, mu=0.5, L=1.0, **small)
>>> found.value.kind, found.standard_error > 0
('estimate', True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError, choice
from dpbounds.ftrl.methods import LinearMethod
from dpbounds.ftrl.methods.loops import Measure
from dpbounds.ftrl.methods.noises import noise_system
from dpbounds.ftrl.methods.problem import CONVENTIONS, Problem
from dpbounds.ftrl.methods.quadratics import quadratic_error
from dpbounds.ftrl.strongly_convex import Noise
from dpbounds.values import Value
from simulators.engine import Experiment
from simulators.ftrl.adversarial import AdversarialLower
from simulators.ftrl.evolution import Decoder, Herd, check_budget, worst_loss
from simulators.ftrl.first_order import MethodOnLoss, first_order, method_settings
from simulators.ftrl.piecewise import PiecewiseQuadratic, kinked_quadratic
from simulators.ftrl.settings import Settings
from simulators.ftrl.strongly_convex import StronglyConvexLoss

# Curvatures, geometrically from mu to L, whose quadratics say how far y swings.
CURVATURES = 17
OUTPUTS: dict[Measure, str] = {"f": "mean_f", "distance": "mean_distance", "gradient": "mean_gradient"}


@typed
def adversarial_method_lower(
    noise: Noise,
    method: LinearMethod,
    *,
    mu: float,
    L: float,
    measure: Measure = "f",
    seed: int = 0,
    population: int = 48,
    generations: int = 12,
    search_trials: int = 32,
    trials: int = 1000,
) -> AdversarialLower:
    """The largest mean error of a method found among losses on the line (noise.d = 1) or in the plane (noise.d = 2).

    Method, noise, class and `measure` as for `bound_method`, whose value no loss exceeds; losses, their evolution and
    what of it is random as for `adversarial_lower`. Kinks are as far from the minimiser as the point where the gradient
    is taken swings on quadratics. The winner's runs are `Experiment(algorithm=first_order, problem=MethodOnLoss(
    loss=found.loss, method=method, sigma_sgd=noise.sigma_sgd), settings=method_settings(P, noise.correlation,
    noise.rho, clip_norm=noise.clip_norm), block_trials=trials).run_block(0, seed=seed)`, P the same with
    `kinked_quadratic(mu, L, noise.d)`: time averages after eight times of the slowest quadratic, over twelve.

    The work is proportional to 1 / `method.rate(mu, L)`: about four seconds at 0.01. Raises `DomainError` for arguments
    outside their ranges, for a method that diverges on a quadratic of the class and for noise without finite memory;
    `AccuracyError` where a loss makes the method leave all floats.
    """
    choice("measure", measure, get_args(Measure))
    if noise.d > 2:
        raise DomainError("d", noise.d, "1 or 2", "sum a loss on the line over the coordinates")
    kinked = MethodOnLoss(loss=kinked_quadratic(mu, L, noise.d), method=method, sigma_sgd=noise.sigma_sgd)
    settings = method_settings(kinked, noise.correlation, noise.rho, clip_norm=noise.clip_norm)
    budget = {"population": population, "generations": generations, "search_trials": search_trials, "trials": trials}
    check_budget(settings.steps, **budget, seed=seed)
    decode = _decoder(Problem(method, noise, float(mu), float(L), measure, None))
    arena = _Arena(method, noise, settings, measure)
    with np.errstate(over="ignore", invalid="ignore"):
        winner = worst_loss(arena.means, decode, **budget, generator=np.random.default_rng(seed))
        return arena.measured(winner, trials, seed)


def _decoder(problem: Problem) -> Decoder:
    """Offsets around the deviations of y on quadratics, and the worst of these."""
    mu, L = problem.mu, problem.L
    loop = problem.at_y(noise_system(problem.noise.correlation, float), 0, float)
    energies = problem.energies(float)
    squares = [np.dot(quadratic_error(loop, h, "distance"), energies) for h in np.geomspace(mu, L, CURVATURES)]
    deviations = np.sqrt(np.array(squares) / problem.noise.d)
    worst = float(np.log(problem.worst(certify=False)[0] / mu) / np.log(L / mu)) if mu < L else 0.0
    return Decoder(mu, L, problem.noise.d, (float(deviations.min()), float(deviations.max())), worst)


@dataclass(frozen=True, eq=False)
class _Arena:
    """Where losses meet the method and its noise."""

    method: LinearMethod
    noise: Noise
    settings: Settings
    measure: Measure

    def means(self, losses: Sequence[PiecewiseQuadratic], trials: int, generator: np.random.Generator) -> np.ndarray:
        """Time averages of the measure, all losses on the same noise."""
        herd, settings, method = Herd(losses), self.settings, self.method
        problem = StronglyConvexLoss(loss=losses[0], sigma_sgd=self.noise.sigma_sgd)
        shape = (self.noise.d, len(losses), trials)
        state, total = np.zeros((len(method.B), int(np.prod(shape)))), np.zeros(shape[1:])
        step, at_y = 0, method.sees_output
        for noise in settings.noise((trials, self.noise.d), generator):
            noise += problem.gradient_errors(generator, noise.shape[:2])
            for w in noise.transpose(0, 2, 1)[:, :, None]:
                y = (method.C @ state).reshape(shape)
                excesses = herd.excesses(y)
                gradient = herd.gradient(y, excesses)
                if step >= settings.burn_in:
                    total += self._errors(herd, y if at_y else (method.row @ state).reshape(shape))
                state = method.A @ state + method.B[:, None] * (gradient + w).ravel()
                step += 1
        means = total.mean(axis=1) / (settings.steps - settings.burn_in)
        return np.where(np.isnan(means), np.inf, means)  # beyond all floats, where infinities cancelled

    def _errors(self, herd: Herd, x: np.ndarray) -> np.ndarray:
        if self.measure == "distance":
            return (x**2).sum(axis=0)
        excesses = herd.excesses(x)
        return herd.suboptimality(x, excesses) if self.measure == "f" else (herd.gradient(x, excesses) ** 2).sum(axis=0)

    def measured(self, loss: PiecewiseQuadratic, trials: int, seed: int) -> AdversarialLower:
        """Independent runs on one loss; `AccuracyError` where they overflow."""
        problem = MethodOnLoss(loss=loss, method=self.method, sigma_sgd=self.noise.sigma_sgd)
        runs = Experiment(algorithm=first_order, problem=problem, settings=self.settings, block_trials=trials)
        means = runs.run_block(0, seed=seed)[OUTPUTS[self.measure]]
        if not np.all(np.isfinite(means)):
            raise AccuracyError(
                f"{self.method.name}: it diverges on a loss of the class: its error grows without bound"
            )
        return AdversarialLower(
            loss=loss,
            value=Value(
                means.mean(),
                kind="estimate",
                source="dpbounds, adversarial search",
                convention=CONVENTIONS[self.measure],
            ),
            standard_error=float(means.std(ddof=1) / np.sqrt(trials)),
            trials=trials,
        )
