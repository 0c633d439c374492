"""How many passes over the records: what each number of them reaches, and the fewest that lose next to nothing.

More passes lower the bias, and with Poisson sampling the noise until its multiplier is 2 or 3; what n records leave
unknown stays. So the loss on fresh records falls and then is level, while every pass costs n gradients.

>>> import numpy as np
>>> training = Training(eigenvalues=np.ones(2), n=64, rho=1.0, initial=1.0, sigma_sgd=0.5, schedules=("linear",))
>>> found = passes(training, (1, 2, 4), lambda training: {}, work=200)
>>> [(row.epochs, row.gradients, row.best.kind) for row in found]
[(1, 64, 'prefix-sum'), (2, 128, 'prefix-sum')]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from dpbounds.errors import DomainError, count, listed, positive
from dpbounds.ftrl.design.planner import Planner, PlanRow
from dpbounds.ftrl.design.tuning import Training

# Fewer passes are taken where they lose less than this share of the loss on fresh records.
SHARE = 0.02


@dataclass(frozen=True, kw_only=True, eq=False)
class Passes:
    """So many `epochs`, each of n gradients, and the rows of a plan without a design, each tuned for itself."""

    epochs: int
    gradients: int
    rows: tuple[PlanRow, ...]

    @property
    def best(self) -> PlanRow:
        """The row of least loss on fresh records."""
        return min(self.rows, key=lambda row: row.population)


def passes(
    training: Training,
    epochs: Sequence[int],
    amplified: Callable[[Training], Mapping[int, float]],
    *,
    batch_sizes: Sequence[int] = (),
    work: float | None = None,
) -> tuple[Passes, ...]:
    """Each of `epochs` that takes at most `work` gradients, if there is a limit, in order; `training` with so many.

    `amplified`: noise multipliers with Poisson sampling for a training. `batch_sizes`: empty for those that fit. Raises
    `DomainError` where no number is left, and for trainings that cannot be.
    """
    numbers = sorted({count("epochs", number) for number in listed("epochs", epochs)})
    most = math.inf if work is None else positive("work", work)
    if not numbers or numbers[0] * training.n > most:
        allowed = f"at least {numbers[0] * training.n if numbers else training.n}, the gradients of the fewest passes"
        raise DomainError("work", work, allowed, "give fewer epochs, or more work")
    found = []
    for number in (number for number in numbers if number * training.n <= most):
        one = replace(training, epochs=number, batch_sizes=tuple(batch_sizes))
        rows = Planner(training=one, buffers=1, amplified=amplified(one)).undesigned()
        found.append(Passes(epochs=number, gradients=number * training.n, rows=tuple(rows)))
    return tuple(found)


def fewest(found: Sequence[Passes], share: float = SHARE) -> Passes:
    """The fewest passes whose loss on fresh records is within this share of the least."""
    least = min(row.best.population for row in found)
    return next(row for row in found if row.best.population <= (1.0 + share) * least)
