"""Runs of the release of clipped residuals: which sets cover, trial by trial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbounds.iv.confidence import anderson_rubin, split_level, stretched_curve
from simulators.engine import Arrays, Experiment, Streams
from simulators.iv.confidence import ClippedDesign, OneInstrument, clipped_releases
from simulators.iv.samples import RecordSample
from verify.papers.iv.tools.coverage import Cell, Changed

LEVEL = 0.95


@dataclass(frozen=True, kw_only=True)
class HeldFirst(Changed):
    """The data of a model with outcomes clamped to a range before anything else is done: what is not to be done."""

    low: float
    high: float

    def draw(self, generator: np.random.Generator, trials: int, *, records: bool) -> RecordSample:
        """Fresh records."""
        sample = self.model.draw(generator, trials)
        outcome = np.clip(sample.outcome, self.low, self.high)
        return RecordSample(instruments=sample.instruments, regressors=sample.regressors, outcome=outcome)


def stretched_cover(problem: Any, settings: ClippedDesign, streams: Streams, trials: int) -> Arrays:
    """Which of `trials` releases have sets that hold the coefficient: `stretched`, and the set of t, `not stretched`
    but only moved to b0.
    """
    beta = float(problem.beta[0])
    found = {"stretched": np.zeros(trials, dtype=bool), "not stretched": np.zeros(trials, dtype=bool)}
    for number, release in enumerate(clipped_releases(problem, settings, streams, trials)):
        plain = anderson_rubin(release.release, [beta - release.slope], split_level(LEVEL).test)
        found["not stretched"][number] = plain.statistic <= plain.critical
        curve = stretched_curve(release.release, release.counts.rho(LEVEL), release.slope, [beta], LEVEL)
        found["stretched"][number] = curve.statistic[0] <= curve.critical[0]
    return found


def clamped_design(
    problem: OneInstrument, mu: float, share: float, sides: int, *, reach: float = 5.0, **others: Any
) -> ClippedDesign:
    """A range that leaves out this share of the outcomes; that of the regressor holds `reach` deviations."""
    low, high = problem.outcome_range(share, sides)
    furthest = problem.first_stage * (1.0 if problem.effects == "constant" else 2.0)
    return ClippedDesign(
        mu=mu,
        outcome_bound=(high - low) / 2,
        outcome_centre=(high + low) / 2,
        regressor_bound=furthest / 2 + reach,
        regressor_centre=furthest / 2,
        **others,
    )


def clamped_cell(
    problem: OneInstrument,
    mu: float,
    share: float,
    sides: int,
    *,
    judged: str = "stretched",
    first: bool = False,
    block: int = 50,
    **others: Any,
) -> Cell:
    """A setting; `judged` and `first` (outcomes clamped before the line is taken off) are for impostors."""
    design = clamped_design(problem, mu, share, sides, **others)
    low, high = problem.outcome_range(share, sides)
    data = HeldFirst(model=problem, low=low, high=high) if first else problem
    label = (
        f"n = {problem.n}, {problem.effects} first stage {problem.first_stage:g}, {problem.errors} errors, P(z = 1) = "
        f"{problem.probability:g}, {share:.0%} beyond on {sides}, mu = {mu:g}"
    )

    def covers(arrays: Arrays) -> dict[str, np.ndarray]:
        return {judged: arrays[judged]}

    return Cell(
        label=label,
        experiment=Experiment(algorithm=stretched_cover, problem=data, settings=design, block_trials=block),
        covers=covers,
    )
