"""The work of `plan`: each kind of noise at the batch size, schedule and learning rate that are best for it.

>>> import numpy as np
>>> training = Training(eigenvalues=np.ones(2), n=64, rho=1.0, initial=1.0, batch_sizes=(4,), schedules=("constant",))
>>> [row.label for row in Planner(training=training, buffers=1).rows()]
['independent', 'prefix sum', 'designed']
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from dpbounds.errors import DomainError
from dpbounds.ftrl.correlations import Correlation, independent
from dpbounds.ftrl.design.amplification import Accounting, poisson_noise_multiplier, renyi_noise_multiplier
from dpbounds.ftrl.design.best import best
from dpbounds.ftrl.design.bounds import lower_bound
from dpbounds.ftrl.design.budget import Budget
from dpbounds.ftrl.design.clipped import ClippedForecast, ProxyRecords
from dpbounds.ftrl.design.comparison import ratio_over
from dpbounds.ftrl.design.judged import MOST_WORK, Judge, Judged, Place
from dpbounds.ftrl.design.noise_kinds import LABELS, NoiseKind
from dpbounds.ftrl.design.objective import Loss, Objective
from dpbounds.ftrl.design.participation import Participation, sensitivity
from dpbounds.ftrl.design.prefix_sums import LONG, prefix_sum
from dpbounds.ftrl.design.tuning import Base, LearningRateSearch, Setting, Training
from dpbounds.ftrl.design.watching import Progress, no_progress

# Settings for which noise is designed, and how often in turn with the learning rate.
MOST_DESIGNS, ROUNDS = 4, 3
# A design lowers total loss by less than this factor: settings further above with prefix sums are not tried.
MARGIN = 1.25
# With momentum those are tried whose total without it is within this factor, and whose forecast takes no more work than
# the best without it by this factor.
MOMENTUM_MARGIN, MOMENTUM_WORK = 4.0, 16.0
# Where a turn gains less, the turns end.
SETTLED = 1e-3
# What lower bounds of a plan reach, relative to the best lower bound there is, and where they only guide the search.
TOLERANCE, COARSE = 1e-3, 1e-2
# What is done before noise is designed: progress counts these, and one part for every design.
ACCOUNTING, INDEPENDENT, PREFIX_SUM = "accounting", "independent noise", "noise for prefix sums"
STAGES = (ACCOUNTING, INDEPENDENT, PREFIX_SUM)
PARTS = len(STAGES) + MOST_DESIGNS

# Total loss, setting and noise of a design.
Candidate = tuple[float, Setting, Correlation]


@dataclass(frozen=True, kw_only=True, eq=False)
class PlanRow:
    """One kind of noise at the setting that is best for it.

    - `clip_norm`: that of the training, or the one of those tried that is best with clipping counted.
    - `noise_multiplier`: standard deviation of one draw over clip norm, for the sum of a batch's clipped gradients.
    - `loss`: predicted weighted loss by part, while nothing is clipped.
    - `bound`: the least total loss that any noise, without amplification, has at this setting; None with amplification.
    - `population`: the loss on fresh records. One pass in fixed order sees fresh ones: it is the total then; several
      passes (`Training.repeated_noise`) and Poisson sampling (`Training.floor`) learn the n records as they are.
    - `gain`: expected loss of independent noise, tuned for itself, over this one's.
    - `clipped`: the forecast with clipping on proxy records, if there are some, at `setting`, which then is the best
      found for it; `mean_weight`: what a design then weighs the mean loss with, beside the loss asked for.
    - `momentum`, heavy ball: `loss` is then forecast on the records too, and there is no bound.
    """

    kind: NoiseKind
    correlation: Correlation
    setting: Setting
    steps: int
    clip_norm: float
    noise_multiplier: float
    loss: Loss
    bound: float | None
    population: float
    gain: float = 1.0
    clipped: ClippedForecast | None = None
    clipped_loss: float | None = None
    mean_weight: float = 0.0
    momentum: float = 0.0

    @property
    def expected(self) -> float:
        """Total loss: with clipping where that is forecast, else while nothing is clipped."""
        return self.loss.total if self.clipped_loss is None else self.clipped_loss

    @property
    def label(self) -> str:
        """What tables and plots call it."""
        return LABELS[self.kind]

    @property
    def ratio(self) -> float | None:
        """Total loss over the bound, at least 1: so far from the best noise for the setting, at most."""
        return None if self.bound is None else ratio_over(self.loss.total, self.bound)


@dataclass(frozen=True, eq=False, kw_only=True)
class Planner:
    """The search for one plan; what is common to the kinds of noise is computed once.

    `amplified`: noise multipliers with Poisson sampling by batch size; empty leaves that kind out. `records`: proxy
    records, on which the rows are then judged with clipping, also at `clip_norms`, and with `momentum`.
    """

    training: Training
    buffers: int
    progress: Progress = no_progress
    amplified: Mapping[int, float] = field(default_factory=dict)
    records: ProxyRecords | None = None
    clip_norms: Sequence[float] = ()
    momentum: float = 0.0
    prefix_sums: dict[int, tuple[Correlation, float]] = field(default_factory=dict)

    @cached_property
    def search(self) -> LearningRateSearch:
        """What all kinds of noise share at a setting is computed once."""
        return LearningRateSearch(training=self.training)

    def rows(self) -> list[PlanRow]:
        """One for each kind of noise; `AccuracyError` where a bound is above a total that was reached."""
        *rows, prefix = self.undesigned()
        designed = self._designed(self._candidates)
        if designed.loss.total > prefix.loss.total:  # noise for prefix sums is a design too
            designed = replace(prefix, kind="designed")
        rows += [prefix, designed]
        if self.records is not None:
            rows = self._judged(rows, self.records)
        return [replace(row, gain=rows[0].expected / row.expected) for row in rows]

    def undesigned(self) -> list[PlanRow]:
        """The same without the designed one."""
        self._tell(INDEPENDENT)
        rows = [self._row("independent", independent(), self.search.least(self._independent)[0][1])]
        if self.amplified:
            setting = self.search.least(self._amplified)[0][1]
            rows.append(self._row("amplified", independent(), setting))
        self._tell(PREFIX_SUM)
        setting = self._candidates[0][1]
        rows.append(self._row("prefix-sum", self._prefix(setting)[0], setting))
        return [replace(row, gain=rows[0].expected / row.expected) for row in rows]

    @cached_property
    def _candidates(self) -> list[tuple[float, Setting]]:
        """Settings at which noise for prefix sums is near its least total."""
        return self.search.least(self._prefix_sum, MARGIN)

    def _tell(self, stage: str) -> None:
        self.progress(STAGES.index(stage), PARTS, stage)

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
        if steps not in self.prefix_sums:
            correlation = prefix_sum(steps, self._participation(setting))
            self.prefix_sums[steps] = correlation, self._sensitivity(correlation, setting)
        return self.prefix_sums[steps]

    # --- design ---

    def _designed(self, candidates: Sequence[tuple[float, Setting]]) -> PlanRow:
        """The best design at the batch sizes and schedules that are best for prefix sums."""
        found: list[Candidate] = []
        for done, (_, setting) in enumerate(candidates[:MOST_DESIGNS], len(STAGES)):
            steps = self.training.steps(setting.batch_size)
            self.progress(done, PARTS, f"design, {steps} steps, {setting.schedule}")
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
        bound = lower_bound(objective, self._participation(setting), tolerance=COARSE)
        return float(bound) * self.training.variance(setting.batch_size)

    def _settled(self, setting: Setting) -> Candidate:
        """Noise and learning rate in turn, until the total loss no longer falls."""
        found: Candidate = (math.inf, setting, independent())
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
        design = best(objective, self._participation(setting), buffers=self.buffers)
        noise = float(design.value) * self.training.variance(setting.batch_size)
        return design.mechanism, objective.bias + objective.sgd_noise + noise

    # --- rows ---

    def _row(
        self, kind: NoiseKind, correlation: Correlation, setting: Setting, clip_norm: float | None = None
    ) -> PlanRow:
        """With loss and bound, which noise with amplification does not have."""
        training = self.training if clip_norm is None else replace(self.training, clip_norm=clip_norm)
        objective, variance = training.objective(setting), training.variance(setting.batch_size)
        rest = objective.bias + objective.sgd_noise
        multiplier, bound = self._multiplier(kind, correlation, setting), None
        if kind != "amplified":
            least = lower_bound(objective, self._participation(setting), tolerance=TOLERANCE)
            bound = rest + variance * float(least)
        noise = objective.noise_power(correlation) * training.variance(setting.batch_size, multiplier)
        if bound is not None:
            ratio_over(rest + noise, bound)  # a bound above what was reached is never handed on
        return PlanRow(
            kind=kind,
            correlation=correlation,
            setting=setting,
            steps=objective.steps,
            clip_norm=training.clip_norm,
            noise_multiplier=multiplier,
            loss=Loss(objective.bias, objective.sgd_noise, noise),
            bound=bound,
            population=objective.bias + noise + self._sampling(kind, setting, objective),
        )

    def _multiplier(self, kind: NoiseKind, correlation: Correlation, setting: Setting) -> float:
        """Standard deviation of one draw over the clip norm."""
        if kind == "amplified":
            return self.amplified[setting.batch_size]
        return self._sensitivity(correlation, setting) / math.sqrt(2.0 * self.training.rho)

    def _sampling(self, kind: NoiseKind, setting: Setting, objective: Objective) -> float:
        """Gradient noise in population risk."""
        if self._fresh(kind):
            return objective.sgd_noise
        if kind == "amplified":
            share = setting.batch_size / self.training.n
            return (1.0 - share) * objective.sgd_noise + self.training.floor(setting)
        return self.training.repeated_noise(setting)

    def _fresh(self, kind: NoiseKind) -> bool:
        """Whether every step sees records that none has seen."""
        return self.training.epochs == 1 and kind != "amplified"

    def _judged(self, rows: Sequence[PlanRow], records: ProxyRecords) -> list[PlanRow]:
        """The rows with clipping counted, each at what is then best for it; noise for prefix sums is a design too."""
        judge = Judge(
            training=self.training,
            records=records,
            buffers=self.buffers,
            clip_norms=self.clip_norms,
            momentum=self.momentum,
        )
        found = []
        for row in rows:
            self.progress(PARTS - 1, PARTS, f"clipping, {row.label} noise")
            places = [(row.correlation, row.setting, row.noise_multiplier)]
            if self.momentum:
                more = self._more_places(row.kind, found[-1] if found else row)
                most = min(MOST_WORK, MOMENTUM_WORK * judge.products(row.setting))
                places += [place for place in more if judge.products(place[1]) <= most]
            best_of = judge.judged(row.kind, places)
            kept = best_of.setting == row.setting and best_of.clip_norm == row.clip_norm
            omega = self.training.objective(best_of.setting).omega
            if self.momentum:
                row = self._with_momentum(row, best_of, judge.unclipped(row.kind, best_of), omega)
            elif not (kept and best_of.correlation is row.correlation):
                row = self._row(row.kind, best_of.correlation, best_of.setting, best_of.clip_norm)
            loss = best_of.forecast.weighted(omega)
            known = judge.of_fresh_records(best_of) if self._fresh(row.kind) else None
            found.append(
                replace(
                    row,
                    clipped=best_of.forecast,
                    clipped_loss=loss,
                    population=loss + self.training.floor(row.setting, self.momentum)
                    if known is None
                    else known.weighted(omega),
                    mean_weight=best_of.mean_weight,
                )
            )
        *others, prefix, designed = found
        if designed.expected > prefix.expected:
            designed = replace(prefix, kind="designed")
        return [*others, prefix, designed]

    def _more_places(self, kind: NoiseKind, last: PlanRow) -> list[Place]:
        """Momentum takes more steps: the settings that are best without it for other batch sizes and schedules, or a
        design for the setting at which noise for prefix sums, the `last` row, is best with it.
        """
        if kind == "designed":
            setting = replace(last.setting, eta=last.setting.eta / (1.0 - self.momentum))
            correlation = self._design(setting)[0]
            return [(correlation, setting, self._multiplier(kind, correlation, setting))]
        cost = {"independent": self._independent, "amplified": self._amplified, "prefix-sum": self._prefix_sum}[kind]
        places = []
        for _, setting in self.search.least(cost, MOMENTUM_MARGIN):
            correlation = self._prefix(setting)[0] if kind == "prefix-sum" else independent()
            places.append((correlation, setting, self._multiplier(kind, correlation, setting)))
        return places

    def _with_momentum(self, row: PlanRow, found: Judged, free: ClippedForecast, omega: np.ndarray) -> PlanRow:
        """The row as it was judged, with the loss of the forecast `free` of clipping."""
        return replace(
            row,
            correlation=found.correlation,
            setting=found.setting,
            steps=self.training.steps(found.setting.batch_size),
            clip_norm=found.clip_norm,
            noise_multiplier=found.noise_multiplier,
            loss=Loss(*(float(omega @ part) for part in (free.biases, free.samplings, free.privacies))),
            bound=None,
            momentum=self.momentum,
        )

    def _participation(self, setting: Setting) -> Participation:
        return self.training.participation(setting.batch_size)

    def _sensitivity(self, correlation: Correlation, setting: Setting) -> float:
        steps = self.training.steps(setting.batch_size)
        return float(sensitivity(correlation, steps, self._participation(setting)))


def amplified_multipliers(
    training: Training, budget: Budget, accounting: Accounting = "exact", progress: Progress = no_progress
) -> dict[int, float]:
    """Noise multipliers of independent noise with Poisson sampling, by batch size, that spend (epsilon, delta).

    Raises `DomainError` where `accounting` is exact and the package dp-accounting is not installed.
    """
    multiplier = poisson_noise_multiplier if accounting == "exact" else renyi_noise_multiplier
    if budget.epsilon is None:
        raise DomainError("rho", budget.rho, "a budget whose epsilon is within range", "leave amplification out")
    found = {}
    for size in training.batch_sizes:
        progress(STAGES.index(ACCOUNTING), PARTS, f"{ACCOUNTING}, batch size {size}")
        rate, steps = size / training.n, training.steps(size)
        found[size] = multiplier(budget.epsilon, budget.delta, rate, steps)
    return found


def _total(found: Candidate) -> float:
    return found[0]
