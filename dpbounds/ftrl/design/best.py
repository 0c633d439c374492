"""The mechanism to take for an objective, what it costs, and how far that is from the least possible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError
from dpbounds.ftrl.correlations import Correlation
from dpbounds.ftrl.design.duality import LowerBound, lower_bound
from dpbounds.ftrl.design.fitting import (
    LARGEST_RUN,
    fit_bands,
    fit_monotone_blt,
    fit_scaled_blt,
    fitting_buffers,
    most_buffers,
)
from dpbounds.ftrl.design.mechanisms import cyclic, spectral, unit_columns
from dpbounds.ftrl.design.objective import LARGEST_DENSE, Objective
from dpbounds.ftrl.design.participation import SINGLE, Participation, sensitivity
from dpbounds.values import Value

# By default; more gain less than a thousandth.
BUFFERS = 6


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """A mechanism for an objective, its value V = s(C)^2 tr(G (C^T C)^{-1}) and its sensitivity s(C) with its kind.

    `bound` is a lower bound on every mechanism's value and `ratio` value / bound; both are computed when asked for.
    """

    mechanism: Correlation
    objective: Objective = field(repr=False)
    participation: Participation
    value: Value
    sensitivity: Value

    @cached_property
    def bound(self) -> LowerBound:
        """What no mechanism can be below."""
        return lower_bound(self.objective, self.participation)

    @property
    def ratio(self) -> float:
        """value / bound, at least 1: 1 is proved to be the best possible."""
        return float(self.value) / float(self.bound)


@typed
def best(
    objective: Objective,
    participation: Participation = SINGLE,
    *,
    buffers: int | None = None,
    unknown_spectrum: bool = False,
) -> Design:
    """The best mechanism known for `objective` that can be streamed, by its exact value.

    - One participation: a scaled BLT with `buffers` buffers (by default 6, or what a short run can hold); with momentum
      the spectral mechanism with unit columns.
    - Min-separation b: b Toeplitz bands with unit columns (b - 1 buffers), or a BLT; up to 4096 steps, beyond a BLT.
    - Cyclic: the same and the Toeplitz mechanism for aliased frequencies.
    - `unknown_spectrum`: the minimax mechanism over a default family of spectra with the largest eigenvalue of this
      one (`robust`); its value is that for the given spectrum. One participation only.

    Raises `DomainError` for patterns that T steps do not hold and for more buffers than can fit (it says how many can).
    """
    T = participation.checked(objective.steps)
    buffers = min(BUFFERS, most_buffers(T)) if buffers is None else fitting_buffers(buffers, T)
    if unknown_spectrum:
        from dpbounds.ftrl.design.robust import robust

        if participation.times > 1:
            raise DomainError("unknown_spectrum", True, "False with several participations", "give a spectrum")
        return _designed(objective, participation, robust(objective, buffers=buffers).mechanism)
    candidates = (
        _single(objective, buffers) if participation.times == 1 else _repeated(objective, participation, buffers)
    )
    designs = [_designed(objective, participation, mechanism) for mechanism in candidates]
    return min(designs, key=lambda design: float(design.value))


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


def _designed(objective: Objective, participation: Participation, mechanism: Correlation) -> Design:
    largest = sensitivity(mechanism, objective.steps, participation)
    power = objective.noise_power(mechanism)
    if not np.isfinite(power):
        raise AccuracyError(f"{mechanism.name}: its cost is not finite")
    value = objective.value(mechanism, participation)
    return Design(
        mechanism=mechanism, objective=objective, participation=participation, value=value, sensitivity=largest
    )
