"""Is correlated noise worth it: learning rate, schedule, batch size and noise chosen together for the least total loss.

Independent noise, the same with Poisson amplification, noise made for prefix sums and noise designed for the loss are
each given the learning rate, schedule and batch size that are best for it, at equal privacy. Comparing them at one
setting, batch size 1 above all, flatters correlated noise many times over.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from dpbounds import privacy
from dpbounds.arguments import typed
from dpbounds.errors import LARGEST, DomainError, count, moderate, within
from dpbounds.ftrl.correlations import Correlation
from dpbounds.ftrl.design.objective import Loss
from dpbounds.ftrl.design.planner import Planner, Progress, Tuned
from dpbounds.ftrl.design.tuning import Training

DELTA = 1e-5
# Gains below this do not pay: data and clipping cost more than that.
WORTH = 1.02


@dataclass(frozen=True, kw_only=True, eq=False)
class PlanRow:
    """One kind of noise at the setting that is best for it.

    - `noise_multiplier`: standard deviation of one draw over clip norm, for the sum of a batch's clipped gradients.
    - `loss`: predicted weighted loss by part, while nothing is clipped.
    - `bound`: the least total loss that any noise, without amplification, has at this setting; None with amplification.
    - `gain`: total loss of independent noise, tuned for itself, over this one's.
    """

    mechanism: str
    correlation: Correlation
    batch_size: int
    steps: int
    schedule: str
    eta: float
    noise_multiplier: float
    loss: Loss
    bound: float | None
    gain: float

    @property
    def ratio(self) -> float | None:
        """Total loss over the bound: at most this far from the best noise for the setting."""
        return None if self.bound is None else self.loss.total / self.bound


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """The rows, each tuned for itself, and the budget they share."""

    training: Training
    rows: tuple[PlanRow, ...]
    rho: float
    epsilon: float
    delta: float

    def row(self, mechanism: str) -> PlanRow:
        """The row of this mechanism."""
        for row in self.rows:
            if row.mechanism == mechanism:
                return row
        raise DomainError("mechanism", mechanism, f"one of {', '.join(row.mechanism for row in self.rows)}")

    @property
    def best(self) -> PlanRow:
        """The row of least total loss."""
        return min(self.rows, key=lambda row: row.loss.total)

    @property
    def gain(self) -> float:
        """Least total loss of independent noise, amplified or not, over the least of correlated noise."""
        return _least(self.rows, independent=True).loss.total / _least(self.rows, independent=False).loss.total

    @property
    def pays(self) -> bool:
        """Whether correlated noise lowers the total loss by more than 2 %."""
        return self.gain > WORTH

    @property
    def sentences(self) -> tuple[str, ...]:
        """What to do, and why, in words."""
        alone, noise = _least(self.rows, independent=True), _least(self.rows, independent=False)
        chosen = noise if self.pays else alone
        pays = "pays" if self.pays else "does not pay here"
        said = f"Correlated noise {pays}: each tuned for itself, {noise.mechanism} noise has {1 / self.gain:.3g} times "
        said += f"the total loss of {alone.mechanism} noise. Take {_setting(chosen)}."
        prefix, designed = self.row("prefix sum"), self.row("designed")
        over = prefix.loss.total / designed.loss.total
        about = (
            f"Designing noise for this loss in place of prefix sums lowers the total by {100 * (1 - 1 / over):.2g} %"
        )
        above = designed.loss.total / (designed.bound or math.nan) - 1
        return said, f"{about}; the design is at most {100 * above:.2g} % above the best noise there is."


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
    progress: Progress | None = None,
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
    rho, epsilon = _budget(rho, epsilon, delta)
    training = Training(
        eigenvalues=eigenvalues,
        n=n,
        rho=rho,
        initial=initial,
        sigma_sgd=sigma_sgd,
        clip_norm=clip_norm,
        epochs=epochs,
        weights=weights,
        batch_sizes=tuple(batch_sizes),
        schedules=tuple(schedules),
        largest_eta=largest_eta,
    )
    planner = Planner(training=training, buffers=count("buffers", buffers), progress=progress or _silent)
    if amplification:
        planner.calibrate(epsilon, delta)
    rows = planner.rows()
    alone = rows[0].loss.total
    return Plan(
        training=training, rows=tuple(_shown(row, alone) for row in rows), rho=rho, epsilon=epsilon, delta=delta
    )


def _shown(row: Tuned, alone: float) -> PlanRow:
    setting = row.setting
    return PlanRow(
        mechanism=row.mechanism,
        correlation=row.correlation,
        batch_size=setting.batch_size,
        steps=row.steps,
        schedule=setting.schedule,
        eta=setting.eta,
        noise_multiplier=row.noise_multiplier,
        loss=row.loss,
        bound=row.bound,
        gain=alone / row.loss.total,
    )


def _least(rows: Sequence[PlanRow], *, independent: bool) -> PlanRow:
    chosen = [row for row in rows if row.mechanism.startswith("independent") == independent]
    return min(chosen, key=lambda row: (row.loss.total, row.mechanism != "designed"))


def _setting(row: PlanRow) -> str:
    return (
        f"{row.mechanism} noise with batch size {row.batch_size}, {row.steps} steps, {row.schedule} learning rate, "
        f"eta = {row.eta:.3g}"
    )


def _silent(done: int, total: int, what: str) -> None:
    """No progress is shown."""


def _budget(rho: float | None, epsilon: float | None, delta: float) -> tuple[float, float]:
    """The same budget in both ways: of the Gaussian mechanism that spends it."""
    within("delta", delta, "[1e-300, 1)")
    if (rho is None) == (epsilon is None):
        raise DomainError("rho", rho, "given, or else epsilon", "give one of rho and epsilon")
    if epsilon is not None:
        return float(privacy.zcdp_of_gaussian(privacy.gaussian_mu(epsilon, delta))), float(epsilon)
    rho = moderate("rho", rho)
    return rho, float(privacy.gaussian_epsilon(privacy.gaussian_of_zcdp(rho), delta))
