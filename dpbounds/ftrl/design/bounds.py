"""The least that any noise can cost, and the noise that costs it: which of the ways is taken for which problem.

| participation | steps | way |
|---|---|---|
| one | up to 512, or 2048 with momentum and for fine tolerances | dense matrices (`dense`) |
| one | beyond | Kalman smoothing in O(T) (`smoother`) |
| several | any | mixtures of cyclic patterns (`repeated`) |
| any, `certify` | up to 256 | ball arithmetic (`certified`) |

>>> import numpy as np
>>> run = Objective(np.array([1.0, 0.5]), 16, eta=0.5)
>>> bound, best = lower_bound(run), optimum(run)
>>> bool(bound.value <= best.value <= 1.0001 * bound.value)
True
"""

from __future__ import annotations

import math

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError, within
from dpbounds.ftrl.design.certified import certified_bound
from dpbounds.ftrl.design.dense import dense_dual, dense_optimum
from dpbounds.ftrl.design.duality import LARGEST_DENSE, LowerBound, Optimum, refuse_degenerate
from dpbounds.ftrl.design.objective import Objective
from dpbounds.ftrl.design.participation import SINGLE, Participation
from dpbounds.ftrl.design.repeated import repeated_bound, repeated_optimum
from dpbounds.ftrl.design.smoother import streamed_bound
from dpbounds.ftrl.design.watching import Progress, Watch, no_progress

# Steps beyond which, and tolerances down to which, O(T) is faster than dense matrices.
FASTER_DENSE, LEAST_STREAMED = 512, 1e-7
# Relative gaps that can be sought.
TOLERANCES = "[1e-14, 1]"


@typed
def lower_bound(
    objective: Objective,
    participation: Participation = SINGLE,
    *,
    tolerance: float = 1e-6,
    certify: bool = False,
    seconds: float = math.inf,
    progress: Progress = no_progress,
) -> LowerBound:
    """A lower bound on `objective.value(C, participation)` over all mechanisms C.

    One participation: dense up to 512 steps, until the relative gap to a mechanism's value is below `tolerance`; O(T)
    beyond, until a step gains less than `tolerance`, but dense up to 2048 with momentum, for a tolerance below 1e-7 and
    for spectra that few rates cannot stand for. More participations: see `repeated`. Stopping early leaves a valid
    bound. `certify` adds an enclosure whose lower end is proved in ball arithmetic, up to 256 steps.

    `seconds`: the search ends with the first step after which they are over (the proof of `certify` is not counted).
    `progress` is called with (done, all, what) after every step. Raises `DomainError` for patterns that T steps do not
    hold, `AccuracyError` where no way reaches the accuracy.
    """
    within("tolerance", tolerance, TOLERANCES)
    watch = Watch(seconds=seconds, progress=progress)
    T = participation.checked(objective.steps)
    if certify:
        return certified_bound(objective, participation, tolerance=tolerance, watch=watch)
    if participation.times > 1:
        return repeated_bound(objective, participation, tolerance=tolerance, watch=watch)
    if T <= FASTER_DENSE or (T <= LARGEST_DENSE and (objective.momentum > 0 or tolerance < LEAST_STREAMED)):
        return dense_dual(objective.gram(), tolerance, watch=watch).bound
    try:
        return streamed_bound(objective, tolerance=tolerance, watch=watch)
    except AccuracyError:
        if T > LARGEST_DENSE:
            raise
    return dense_dual(objective.gram(), tolerance, watch=watch).bound


@typed
def optimum(objective: Objective, participation: Participation = SINGLE, *, tolerance: float = 1e-5) -> Optimum:
    """The best mechanism for one participation, or cyclic ones, as a dense matrix, and a lower bound near its value.

    Raises `DomainError` beyond 2048 steps (512 if cyclic), with other participations, and where the least value is not
    attained: noiseless gradients with weights on few iterates, whose G has not full rank. `AccuracyError` if the
    relative gap `tolerance` is not reached.
    """
    within("tolerance", tolerance, TOLERANCES)
    T = participation.checked(objective.steps)
    if participation.times > 1:
        return repeated_optimum(objective, participation, tolerance=tolerance)
    if T > LARGEST_DENSE:
        raise DomainError("steps", T, f"at most {LARGEST_DENSE} for the optimum", "lower_bound has no such limit")
    refuse_degenerate(objective)
    return dense_optimum(objective, tolerance)
