"""Is correlated noise worth it: learning rate, schedule, batch size and noise chosen together for the least total loss.

Independent noise, the same with Poisson amplification, noise made for prefix sums and noise designed for the loss are
each given the learning rate, schedule and batch size that are best for it, at equal privacy. Comparing them at one
setting, batch size 1 above all, flatters correlated noise many times over.

>>> found = plan(np.ones(2), 64, initial=1.0, rho=1.0, batch_sizes=(4,), buffers=1, amplification=False)
>>> found.pays, found.best.label, found.best.setting.schedule
(True, 'designed', 'linear')
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import LARGEST, DomainError, choice, count
from dpbounds.ftrl.design.budget import DELTA, Budget
from dpbounds.ftrl.design.noise_kinds import UNCORRELATED, NoiseKind
from dpbounds.ftrl.design.planner import Planner, PlanRow, Progress, amplified_multipliers, no_progress
from dpbounds.ftrl.design.tuning import Training

# Gains below this do not pay: data and clipping cost more than that.
WORTH = 1.02


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """The rows, each tuned for itself, and the budget they share."""

    training: Training
    rows: tuple[PlanRow, ...]
    budget: Budget

    def __post_init__(self) -> None:
        strange = [row for row in self.rows if not isinstance(row, PlanRow)]
        if strange or not self.rows:
            raise DomainError("rows", strange[0] if strange else "none", "rows of a plan", "`plan` makes them")

    @typed
    def row(self, kind: NoiseKind) -> PlanRow:
        """The row of this kind of noise; `DomainError` for one that was not planned."""
        kinds = [row.kind for row in self.rows]
        return self.rows[kinds.index(choice("kind", kind, kinds))]

    @property
    def best(self) -> PlanRow:
        """The row of least total loss."""
        return min(self.rows, key=lambda row: row.loss.total)

    @property
    def gain(self) -> float:
        """Least total loss of independent noise, amplified or not, over the least of correlated noise."""
        return _least(self.rows, correlated=False).loss.total / _least(self.rows, correlated=True).loss.total

    @property
    def pays(self) -> bool:
        """Whether correlated noise lowers the total loss by more than 2 %."""
        return self.gain > WORTH

    @property
    def sentences(self) -> tuple[str, ...]:
        """What to do, why, and what the numbers assume, in words."""
        alone, noise = _least(self.rows, correlated=False), _least(self.rows, correlated=True)
        chosen = noise if self.pays else alone
        pays = "pays" if self.pays else "does not pay here"
        said = f"Correlated noise {pays}: each tuned for itself, {noise.label} noise has {1 / self.gain:.3g} times "
        said += f"the total loss of {alone.label} noise. Take {_setting(chosen)}."
        prefix, designed = self.row("prefix-sum"), self.row("designed")
        over = prefix.loss.total / designed.loss.total
        about = (
            f"Designing noise for this loss in place of prefix sums lowers the total by {100 * (1 - 1 / over):.2g} %"
        )
        above = (designed.ratio or math.nan) - 1
        about += f"; the design is at most {100 * above:.2g} % above the best noise there is."
        fresh = "Gradients of later epochs are taken as fresh ones, which favours all rows alike."
        return (said, about) if self.training.epochs == 1 else (said, about, fresh)


@typed
def plan(
    eigenvalues: Float[np.ndarray, " d"],
    n: int,
    *,
    initial: float | Float[np.ndarray, " d"],
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float = DELTA,
    epochs: int = 1,
    clip_norm: float = 1.0,
    sigma_sgd: float = 0.0,
    schedules: Sequence[str] = ("constant", "linear"),
    batch_sizes: Sequence[int] = (),
    largest_eta: float = LARGEST,
    weights: str = "final",
    buffers: int = 4,
    amplification: bool = True,
    progress: Progress = no_progress,
) -> Plan:
    """Noise, learning rate, schedule and batch size for one run over n records, beside what else could be done.

    - `rho` zCDP, zero-out adjacency, or (`epsilon`, `delta`), exact; delta also for the amplified row.
    - `initial`: squared start distances along the eigenvectors, one number or (d,); `sigma_sgd`: residuals.
    - `epochs` K passes in one fixed order; predictions take the gradients of later passes as fresh ones.
    - `batch_sizes`: by default the powers of 4 that give 16 to 16,384 steps. Learning rates up to `largest_eta`, and
      98 % of what is stable.
    - `amplification`: needs the package dp-accounting; its loss is predicted for batches of fixed size.
    - `progress` is called with (done, all, what).

    Raises `DomainError` for arguments outside their ranges, and where dp-accounting is missing.
    """
    budget = Budget.of(rho=rho, epsilon=epsilon, delta=delta)
    training = Training(
        eigenvalues=eigenvalues,
        n=n,
        rho=budget.rho,
        initial=initial,
        sigma_sgd=sigma_sgd,
        clip_norm=clip_norm,
        epochs=epochs,
        weights=weights,
        batch_sizes=tuple(batch_sizes),
        schedules=tuple(schedules),
        largest_eta=largest_eta,
    )
    planner = Planner(
        training=training,
        buffers=count("buffers", buffers),
        progress=progress,
        amplified=amplified_multipliers(training, budget, progress) if amplification else {},
    )
    return Plan(training=training, rows=tuple(planner.rows()), budget=budget)


def _least(rows: Sequence[PlanRow], *, correlated: bool) -> PlanRow:
    """The row of least total loss among those with correlated noise, or without; of equal ones the design."""
    chosen = [row for row in rows if (row.kind not in UNCORRELATED) == correlated]
    return min(chosen, key=lambda row: (row.loss.total, row.kind != "designed"))


def _setting(row: PlanRow) -> str:
    setting = row.setting
    return (
        f"{row.label} noise with batch size {setting.batch_size}, {row.steps} steps, {setting.schedule} learning rate, "
        f"eta = {setting.eta:.3g}"
    )
