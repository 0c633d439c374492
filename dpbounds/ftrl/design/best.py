"""The mechanism to take for an objective, what it costs, and how far that is from the least possible.

>>> import numpy as np
>>> found = best(Objective(np.array([1.0, 0.5]), 32, eta=0.3), buffers=2)
>>> found.ratio < 1.01, [row.label for row in found.rows]
(True, ['independent', 'prefix sum', 'designed'])
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError, choice, moderate, moderate_or_zero
from dpbounds.ftrl.correlations import Correlation, independent
from dpbounds.ftrl.design.bounds import lower_bound
from dpbounds.ftrl.design.budget import DELTA, Budget
from dpbounds.ftrl.design.comparison import DesignRow, ratio_over, tuned_independent
from dpbounds.ftrl.design.duality import LowerBound
from dpbounds.ftrl.design.fitting import (
    LARGEST_RUN,
    LARGEST_SCALED,
    fit_bands,
    fit_monotone_blt,
    fit_scaled_blt,
    fit_scales,
    fitting_buffers,
    most_buffers,
)
from dpbounds.ftrl.design.mechanisms import cyclic, spectral, unit_columns
from dpbounds.ftrl.design.noise_kinds import OF_A_RUN, NoiseKind
from dpbounds.ftrl.design.objective import LARGEST_DENSE, Loss, Objective
from dpbounds.ftrl.design.participation import SINGLE, Participation, sensitivity
from dpbounds.ftrl.design.prefix_sums import prefix_sum
from dpbounds.ftrl.design.robust import robust
from dpbounds.ftrl.design.watching import Progress, Watch, no_progress
from dpbounds.ftrl.linear_regression import condition_number
from dpbounds.ftrl.methods.linear import heavy_ball
from dpbounds.ftrl.methods.momentum import momentum_gain
from dpbounds.ftrl.methods.sampling import SampledGradients
from dpbounds.values import Value

# By default; more gain less than a thousandth.
BUFFERS = 6
# Relative gap to which the lower bound is computed.
TOLERANCE = 1e-4
# zCDP of the run where no budget is given.
DEFAULT_RHO = 0.5


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """A mechanism for an objective, its value V = s(C)^2 tr(G (C^T C)^{-1}) and its sensitivity s(C) with its kind.

    `bound` is a lower bound on every mechanism's value, with `certify` proved in ball arithmetic, and `ratio` value /
    bound. `rows` are the kinds of noise beside one another at the privacy `budget`, gradients clipped to `clip_norm`.
    All these are computed when they are asked for.
    """

    mechanism: Correlation
    objective: Objective = field(repr=False)
    participation: Participation
    value: Value
    sensitivity: Value
    budget: Budget
    clip_norm: float = 1.0
    unknown_spectrum: bool = False
    residuals: float | None = None
    certify: bool = False
    bound_seconds: float = math.inf
    progress: Progress = field(default=no_progress, repr=False)
    _known: dict[str, DesignRow] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def bound(self) -> LowerBound:
        """What no mechanism can be below: the search ends after `bound_seconds`, and tells `progress` how far it is."""
        limits = {"seconds": self.bound_seconds, "progress": self.progress}
        if self.certify:
            return lower_bound(self.objective, self.participation, certify=True, **limits)
        return lower_bound(self.objective, self.participation, tolerance=TOLERANCE, **limits)

    @property
    def ratio(self) -> float:
        """value / bound, at least 1: 1 is proved to be the best possible."""
        return ratio_over(float(self.value), float(self.bound))

    @property
    def variance(self) -> float:
        """Privacy noise in units of loss, per unit of value."""
        return self.objective.noise_variance(self.budget.rho, self.clip_norm)

    @property
    def rows(self) -> tuple[DesignRow, ...]:
        """Independent noise, noise for prefix sums, and this design."""
        return tuple(self.row(kind) for kind in OF_A_RUN)

    @typed
    def row(self, kind: NoiseKind) -> DesignRow:
        """What this kind of noise costs, computed once.

        Raises `DomainError` for kinds that a given run does not have, and where noise costs nothing; `AccuracyError`
        where a cost is below the lower bound.
        """
        if kind not in self._known:
            self._known[kind] = self._computed(kind)
        return self._known[kind]

    def _computed(self, kind: NoiseKind) -> DesignRow:
        correlation, value, largest = self._mechanism(choice("kind", kind, OF_A_RUN))
        loss, least = self._loss(value), float(self.bound)
        row = DesignRow(
            kind=kind,
            correlation=correlation,
            loss=loss,
            bound=self._loss(least).total,
            value=value,
            least_value=least,
            sensitivity=largest,
            noise_multiplier=float(largest) / math.sqrt(2.0 * self.budget.rho),
            gain=self._independent.total / loss.total,
            gain_tuned=None if self.tuned_independent is None else self.tuned_independent / loss.total,
        )
        ratio_over(value, least)  # a bound above what was reached is never handed on
        return row

    @cached_property
    def tuned_independent(self) -> float | None:
        """Least total loss of independent noise with learning rate, schedule and batch size of its own, if any."""
        return tuned_independent(self.objective, self.participation, self.budget, clip_norm=self.clip_norm)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What must be known to read the rows, in words."""
        said = []
        if any(row.sensitivity.kind == "upper" for row in self.rows):
            said.append("The sensitivity of some row is an upper bound; its privacy holds, its loss may be less.")
        if self.unknown_spectrum:
            said.append("designed: the least worst ratio over a family of spectra, not the best for this one.")
        if self.rate_of_momentum is not None:
            said += self._of_momentum(self.rate_of_momentum)
        return tuple(said)

    def _of_momentum(self, rate: float) -> list[str]:
        """What momentum is proved to gain on a class of losses, and with which gradients."""
        objective, noise, sampled = self.objective, None, self.sampled
        if sampled is not None:
            energy = len(objective.eigenvalues) * self.variance
            noise = sampled.noise.scaled(float(objective.eigenvalues.max()), energy)
        gain = momentum_gain(rate, condition_number(objective.eigenvalues), gradient_noise=noise)
        said = gain.sentence if gain else "That momentum pays on a class of losses is not proved at its rate."
        return [said] if sampled is None else [said, sampled.sentence]

    @property
    def sampled(self) -> SampledGradients | None:
        """Gradients with errors of sampling, for what is said of momentum; None where `residuals` are not given."""
        if self.residuals is None:
            return None
        objective = self.objective
        return SampledGradients(eigenvalues=objective.eigenvalues, batch_size=objective.examples, sigma=self.residuals)

    @property
    def rate_of_momentum(self) -> float | None:
        """1 - the spectral radius of heavy ball with one learning rate, in one pass; None for anything else."""
        objective, eigenvalues = self.objective, self.objective.eigenvalues
        rates, low, high = objective.learning_rates, float(eigenvalues.min()), float(eigenvalues.max())
        if not (objective.momentum > 0 and np.ptp(rates) == 0 and low < high and self.participation == SINGLE):
            return None
        return heavy_ball(eta=float(rates[0]), momentum=objective.momentum).rate(low, high)

    @cached_property
    def _independent(self) -> Loss:
        return self._loss(self._mechanism("independent")[1])

    def _mechanism(self, kind: str) -> tuple[Correlation, float, Value]:
        """The mechanism of a row, its value and its sensitivity."""
        if kind == "designed":
            return self.mechanism, float(self.value), self.sensitivity
        steps = self.objective.steps
        correlation = independent() if kind == "independent" else prefix_sum(steps, self.participation)
        largest = sensitivity(correlation, steps, self.participation)
        return correlation, float(largest) ** 2 * self.objective.noise_power(correlation), largest

    def _loss(self, value: float) -> Loss:
        return Loss(self.objective.bias, self.objective.sgd_noise, self.variance * value)


@typed
def best(
    objective: Objective,
    participation: Participation = SINGLE,
    *,
    buffers: int | None = None,
    unknown_spectrum: bool = False,
    residuals: float | None = None,
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float = DELTA,
    clip_norm: float = 1.0,
    certify: bool = False,
    bound_seconds: float = math.inf,
    progress: Progress = no_progress,
) -> Design:
    """The best mechanism known for `objective` that can be streamed, by its exact value.

    - One participation: a scaled BLT with `buffers` buffers (by default 6, or what a short run can hold); with momentum
      the spectral mechanism with unit columns.
    - Min-separation b: b Toeplitz bands with unit columns (b - 1 buffers), or a BLT; up to 4096 steps, beyond a BLT.
      For b = 1 also independent noise scaled step by step.
    - Cyclic: the same and the Toeplitz mechanism for aliased frequencies.
    - Noise for prefix sums and independent noise, where nothing that was fitted is better.
    - `unknown_spectrum`: the minimax mechanism over a default family of spectra with the largest eigenvalue of this
      one (`robust`); its value is that for the given spectrum. One participation only.

    `residuals`, their standard deviation, are for `momentum` alone: rows know heavy ball with exact gradients, while
    what momentum is proved to gain on a class then counts gradients sampled in batches.

    The mechanism does not depend on the budget, `rho` zCDP (1/2 by default) or (`epsilon`, `delta`), nor on the
    `clip_norm`: they turn values into losses. `certify`: the lower bound is proved, up to 256 steps; its search takes
    `bound_seconds` at most and calls `progress` with (done, all, what). Raises
    `DomainError` for patterns that T steps do not hold and for more buffers than can fit (it says how many can).
    """
    T = participation.checked(objective.steps)
    buffers = min(BUFFERS, most_buffers(T)) if buffers is None else fitting_buffers(buffers, T)
    if rho is None and epsilon is None:
        rho = DEFAULT_RHO
    budget = Budget.of(rho=rho, epsilon=epsilon, delta=delta)
    valued = [
        (_finite_value(objective, participation, mechanism), mechanism)
        for mechanism in _candidates(objective, participation, buffers, unknown_spectrum)
    ]
    value, mechanism = min(valued, key=lambda pair: float(pair[0]))
    return Design(
        mechanism=mechanism,
        objective=objective,
        participation=participation,
        value=value,
        sensitivity=sensitivity(mechanism, T, participation),
        budget=budget,
        clip_norm=moderate("clip_norm", clip_norm),
        unknown_spectrum=unknown_spectrum,
        residuals=None if residuals is None else moderate_or_zero("residuals", residuals),
        certify=certify,
        bound_seconds=Watch(seconds=bound_seconds).seconds,
        progress=progress,
    )


def _candidates(
    objective: Objective, participation: Participation, buffers: int, unknown_spectrum: bool
) -> Iterator[Correlation]:
    if not unknown_spectrum:
        single = participation.times == 1
        yield from _single(objective, buffers) if single else _repeated(objective, participation, buffers)
        yield prefix_sum(objective.steps, participation)
        yield independent()
        return
    if participation.times > 1:
        raise DomainError("unknown_spectrum", True, "False with several participations", "give a spectrum")
    yield robust(objective, buffers=buffers).mechanism


def _single(objective: Objective, buffers: int) -> Iterator[Correlation]:
    if objective.momentum == 0:
        yield fit_scaled_blt(objective, buffers)
        return
    for regularised in (False, True):
        yield unit_columns(spectral(objective, regularised=regularised), objective.steps)


def _repeated(objective: Objective, participation: Participation, buffers: int) -> Iterator[Correlation]:
    T, bands = objective.steps, min(participation.separation, objective.steps)
    if objective.momentum == 0:
        yield fit_monotone_blt(objective, participation, buffers)
    if T > LARGEST_DENSE:
        return
    yield fit_bands(objective, bands)
    if bands == 1 and T <= LARGEST_SCALED:
        yield fit_scales(objective, participation.times)
    if participation.kind == "cyclic":
        yield from _aliased(objective, participation)


def _aliased(objective: Objective, participation: Participation) -> Iterator[Correlation]:
    """The aliased mechanism where its spectrum can be factorised: nothing is lost without it but a candidate."""
    if objective.steps > LARGEST_RUN:
        return
    try:
        toeplitz = cyclic(objective, participation)
    except AccuracyError:
        return
    yield toeplitz
    yield unit_columns(toeplitz, objective.steps)


def _finite_value(objective: Objective, participation: Participation, mechanism: Correlation) -> Value:
    value = objective.value(mechanism, participation)
    if not math.isfinite(value):
        raise AccuracyError(f"{mechanism.name}: its cost is not finite")
    return value
