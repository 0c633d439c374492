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
from dpbounds.errors import DomainError, within
from dpbounds.ftrl.correlations import ToeplitzCorrelation
from dpbounds.ftrl.strongly_convex import StronglyConvex
from dpbounds.values import Value
from simulators.engine import Experiment
from simulators.ftrl.evolution import Decoder, Herd, check_budget, worst_loss
from simulators.ftrl.piecewise import PiecewiseQuadratic, kinked_quadratic
from simulators.ftrl.settings import Settings
from simulators.ftrl.strongly_convex import StronglyConvexLoss, stationary_settings, strongly_convex

# Curvatures, geometrically from mu to L, among which the worst quadratic is sought.
CURVATURES = 129
CONVENTION = "F - F*"


@dataclass(frozen=True, kw_only=True)
class AdversarialLower:
    """The worst loss found and the time average of its F - F* (or what else was asked) in runs that the search has not
    seen.

    `value` estimates the stationary mean of `loss`, hence its supremum over the class from below; `standard_error` is
    over `trials` runs.
    """

    loss: PiecewiseQuadratic
    value: Value
    standard_error: float
    trials: int

    def interval(self, alpha: float = 1e-9) -> tuple[float, float]:
        """Student's interval at level 1 - alpha for the mean of `loss`, but for what is left of the start (with
        `stationary_settings` at most 0.5 % too large); `DomainError` unless alpha is in (0, 1).
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
    settings = stationary_settings(
        kinked_quadratic(mu, L), correlation, problem.eta, problem.rho, clip_norm=problem.clip_norm
    )
    budget = {"population": population, "generations": generations, "search_trials": search_trials, "trials": trials}
    check_budget(settings.steps, **budget, seed=seed)
    arena = _Arena(settings, problem.sigma_sgd, d)
    generator = np.random.default_rng(seed)
    curvatures = np.geomspace(mu, L, CURVATURES)
    decode = Decoder.of(curvatures, arena.quadratic_errors(correlation, curvatures), d)
    winner = worst_loss(arena.means, decode, **budget, generator=generator)
    return arena.measured(winner, trials, seed)


@dataclass(frozen=True)
class _Arena:
    """Where losses meet the noise."""

    settings: Settings
    sigma_sgd: float
    d: int

    def means(self, losses: Sequence[PiecewiseQuadratic], trials: int, generator: np.random.Generator) -> np.ndarray:
        """Time averages of F - F*, all losses on the same noise."""
        herd, settings = Herd(losses), self.settings
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
