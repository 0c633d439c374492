"""The work of `plan`: each kind of noise at the batch size, schedule and learning rate that are best for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dpbounds.arguments import typed
from dpbounds.ftrl.correlations import Correlation, independent, optimal_counting
from dpbounds.ftrl.design.amplification import poisson_noise_multiplier
from dpbounds.ftrl.design.best import best
from dpbounds.ftrl.design.duality import LowerBound, lower_bound
from dpbounds.ftrl.design.fitting import fit_coefficients
from dpbounds.ftrl.design.mechanisms import Bands, unit_columns
from dpbounds.ftrl.design.objective import Loss, Objective
from dpbounds.ftrl.design.participation import Participation, sensitivity
from dpbounds.ftrl.design.smoother import streamed_bound
from dpbounds.ftrl.design.tuning import Base, Search, Setting, Training

# Settings for which noise is designed, and how often in turn with the learning rate.
MOST_DESIGNS, ROUNDS = 4, 3
# A design lowers total loss by less than this factor: settings further above with prefix sums are not tried.
MARGIN = 1.25
# Where a turn gains less, the turns end.
SETTLED = 1e-3
# What lower bounds of a plan reach, relative to the best lower bound there is.
TOLERANCE = 1e-3
# The same where they only guide the search.
COARSE = 1e-2
# Steps beyond which nothing is computed with dense matrices, and buffers of noise for prefix sums there.
LONG, PREFIX_BUFFERS = 512, 6
# Progress of a plan, in parts.
PARTS = 7

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class Tuned:
    """A kind of noise at its best setting. `bound`: least total loss of any noise there, None with amplification."""

    mechanism: str
    correlation: Correlation
    setting: Setting
    steps: int
    noise_multiplier: float
    loss: Loss
    bound: float | None


@dataclass(eq=False, kw_only=True)
class Planner:
    """The search for one plan; what is common to the kinds of noise is computed once."""

    training: Training
    buffers: int
    progress: Progress
    amplified: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.search = Search(training=self.training)
        self.known: dict[int, tuple[Correlation, float]] = {}

    def calibrate(self, epsilon: float, delta: float) -> None:
        """Noise multipliers with Poisson sampling, of every batch size."""
        for size in self.training.batch_sizes:
            self.progress(0, PARTS, f"accounting, batch size {size}")
            rate = size / self.training.n
            self.amplified[size] = poisson_noise_multiplier(epsilon, delta, rate, self.training.steps(size))

    def rows(self) -> list[Tuned]:
        """One for each kind of noise."""
        self.progress(1, PARTS, "independent noise")
        rows = [self._row("independent", independent(), self.search.least(self._independent)[0][1])]
        if self.amplified:
            setting = self.search.least(self._amplified)[0][1]
            rows.append(self._row("independent, amplified", independent(), setting, self.amplified[setting.batch_size]))
        self.progress(2, PARTS, "noise for prefix sums")
        candidates = self.search.least(self._prefix_sum, MARGIN)
        setting = candidates[0][1]
        prefix = self._row("prefix sum", self._prefix(setting)[0], setting)
        designed = self._designed(candidates)
        if designed.loss.total > prefix.loss.total:  # noise for prefix sums is a design too
            designed = Tuned(**{**vars(prefix), "mechanism": "designed"})
        return [*rows, prefix, designed]

    # --- privacy noise, in units of loss ---

    def _independent(self, setting: Setting, base: Base, objective: Objective | None) -> float:
        return self.training.epochs * base.trace * self.training.variance(setting.batch_size)

    def _amplified(self, setting: Setting, base: Base, objective: Objective | None) -> float:
        return base.trace * self.training.variance(setting.batch_size, self.amplified[setting.batch_size])

    def _prefix_sum(self, setting: Setting, base: Base, objective: Objective | None) -> float:
        return self._correlated(*self._prefix(setting), setting, objective)

    def _correlated(
        self, correlation: Correlation, largest: float, setting: Setting, objective: Objective | None
    ) -> float:
        objective = objective or self.training.objective(setting)
        return largest**2 * objective.noise_power(correlation) * self.training.variance(setting.batch_size)

    def _prefix(self, setting: Setting) -> tuple[Correlation, float]:
        """Noise for prefix sums over so many steps, and its sensitivity."""
        steps = self.training.steps(setting.batch_size)
        if steps not in self.known:
            correlation = prefix_sum(steps, self._participation(setting))
            self.known[steps] = correlation, self._sensitivity(correlation, setting)
        return self.known[steps]

    # --- design ---

    def _designed(self, candidates: Sequence[tuple[float, Setting]]) -> Tuned:
        """The best design at the batch sizes and schedules that are best for prefix sums."""
        found: list[tuple[float, Setting, Correlation]] = []
        for done, (_, setting) in enumerate(candidates[:MOST_DESIGNS]):
            steps = self.training.steps(setting.batch_size)
            self.progress(3 + done, PARTS, f"design, {steps} steps, {setting.schedule}")
            if steps > LONG or self.training.epochs > 1:
                found.append(self._settled(setting))
                continue
            least, setting = self.search.around(setting, self._least_noise, math.inf)
            if not found or least < min(found, key=_total)[0]:
                correlation, total = self._design(setting)
                found.append((total, setting, correlation))
        _, setting, correlation = min(found, key=_total)
        return self._row("designed", correlation, setting)

    def _least_noise(self, setting: Setting, base: Base, objective: Objective | None) -> float:
        """The lower bound, which the best noise comes near: it says which learning rate is best without a design."""
        objective = objective or self.training.objective(setting)
        bound = quick_bound(objective, self._participation(setting), COARSE)
        return float(bound) * self.training.variance(setting.batch_size)

    def _settled(self, setting: Setting) -> tuple[float, Setting, Correlation]:
        """Noise and learning rate in turn, until the total loss no longer falls."""
        found = (math.inf, setting, independent())
        for _ in range(ROUNDS):
            correlation, total = self._design(setting)
            if total >= found[0] * (1.0 - SETTLED):
                break
            largest = self._sensitivity(correlation, setting)

            def cost(at: Setting, base: Base, objective: Objective | None, noise=correlation, size=largest) -> float:
                return self._correlated(noise, size, at, objective)

            total, setting = self.search.around(setting, cost, total)
            found = (total, setting, correlation)
        return found

    def _design(self, setting: Setting) -> tuple[Correlation, float]:
        """The best noise found for a setting, and its total loss."""
        objective = self.training.objective(setting)
        found = best(objective, self._participation(setting), buffers=self.buffers)
        noise = float(found.value) * self.training.variance(setting.batch_size)
        return found.mechanism, objective.bias + objective.sgd_noise + noise

    # --- rows ---

    def _row(
        self, mechanism: str, correlation: Correlation, setting: Setting, noise_multiplier: float | None = None
    ) -> Tuned:
        """With loss and bound; a noise multiplier is given where it is amplified."""
        objective, part = self.training.objective(setting), self._participation(setting)
        variance = self.training.variance(setting.batch_size)
        if mechanism.startswith("independent"):
            power = float(objective.diagonal().sum())
        else:
            power = objective.noise_power(correlation)
        bound = None
        if noise_multiplier is None:
            noise_multiplier = self._sensitivity(correlation, setting) / math.sqrt(2.0 * self.training.rho)
            bound = objective.bias + objective.sgd_noise + variance * float(quick_bound(objective, part, TOLERANCE))
        noise = power * self.training.variance(setting.batch_size, noise_multiplier)
        return Tuned(
            mechanism=mechanism,
            correlation=correlation,
            setting=setting,
            steps=objective.steps,
            noise_multiplier=noise_multiplier,
            loss=Loss(objective.bias, objective.sgd_noise, noise),
            bound=bound,
        )

    def _participation(self, setting: Setting) -> Participation:
        return self.training.participation(setting.batch_size)

    def _sensitivity(self, correlation: Correlation, setting: Setting) -> float:
        steps = self.training.steps(setting.batch_size)
        return float(sensitivity(correlation, steps, self._participation(setting)))


def _total(found: tuple[float, Setting, Correlation]) -> float:
    return found[0]


def quick_bound(objective: Objective, participation: Participation, tolerance: float) -> LowerBound:
    """`lower_bound`, in long runs of one participation by the smoother, which is as tight and takes O(T)."""
    if participation.times == 1 and objective.steps > LONG and objective.momentum == 0:
        return streamed_bound(objective, tolerance=tolerance)
    return lower_bound(objective, participation, tolerance=tolerance)


@typed
def prefix_sum(steps: int, participation: Participation) -> Correlation:
    """Noise of least error in all prefix sums, C = (1 - z)^{-1/2}: for one participation with unit columns, for more
    with as many bands as the separation. In long runs by a BLT.
    """
    steps, exact = participation.checked(steps), optimal_counting()
    if participation.times > 1 and steps <= LONG:
        return Bands(tuple(exact.inverse_coefficients(participation.separation).tolist()), "prefix sum")
    if steps <= LONG:
        return unit_columns(exact, steps, label="prefix sum")
    fitted = fit_coefficients(exact.inverse_coefficients(steps), PREFIX_BUFFERS)
    return unit_columns(fitted, steps, label="prefix sum") if participation.times == 1 else fitted
