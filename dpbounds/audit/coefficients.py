"""Noise coefficients against their promise, proved: no sampling, and rounding counted.

One record moves the rows of C g by s(C) clip norms (`dpbounds.ftrl.design.participation`), the noise has sigma: a
Gaussian event of mu = factor * s / sigma. A sum of n products of floats is off by at most n u/(1 - n u) of the sum of
their sizes, so that s lies between two floats; delta at mu is then compared with the promise in ball arithmetic.

>>> import numpy as np
>>> from dpbounds.audit.promises import promise_of
>>> found = coefficients_of(np.array([1.0, 0.5]), 8, noise_multiplier=2.0)
>>> judged(found, promise_of({"rho": 0.2}), "zero-out").proved
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbounds.arguments import typed
from dpbounds.arithmetic import balls
from dpbounds.audit.promises import Promise
from dpbounds.errors import DomainError, count, positive, real_array
from dpbounds.ftrl.design.participation import ROUNDED, SINGLE, Participation, encoder_sensitivity
from dpbounds.privacy import Adjacency, curves, sensitivity_factor

# Steps for which the encoder is formed.
LARGEST = 2048
_UNIT = 2.0**-53
# A design is proved, or refuted, to this relative share of the level that it promises.
TOLERANCE = 1e-9


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class Coefficients:
    """An encoder C (T, T), lower triangular, of noise sigma = `noise_multiplier` clip norms; how records take part."""

    encoder: np.ndarray
    noise_multiplier: float
    participation: Participation = SINGLE

    def __post_init__(self) -> None:
        encoder = real_array("encoder", self.encoder)
        if encoder.ndim != 2 or encoder.shape[0] != encoder.shape[1] or not np.isfinite(encoder).all():
            raise DomainError("encoder", f"an array of shape {encoder.shape}", "a square matrix of finite numbers")
        if not 1 <= len(encoder) <= LARGEST or not np.diag(encoder).all() or np.triu(encoder, 1).any():
            allowed = f"lower triangular with no 0 on the diagonal, at most {LARGEST} steps"
            raise DomainError("encoder", f"a {len(encoder)} x {len(encoder)} matrix", allowed)
        object.__setattr__(self, "encoder", encoder)
        object.__setattr__(self, "noise_multiplier", positive("noise_multiplier", self.noise_multiplier))
        self.participation.checked(len(encoder))


@typed
@dataclass(frozen=True, kw_only=True)
class CoefficientVerdict:
    """`mu` lies between `low` and `high`; what these spend, in the units of the promise; the rule that gave it."""

    low: float
    high: float
    spent: tuple[float, float]
    proved: bool
    refuted: bool
    rule: str


@typed
def coefficients_of(
    coefficients: Any, steps: int, *, noise_multiplier: float, participation: Participation = SINGLE
) -> Coefficients:
    """From the first column of a Toeplitz C (zeros follow), or C itself. Raises `DomainError` for other shapes."""
    given, T = real_array("coefficients", coefficients), count("steps", steps, most=LARGEST)
    if given.ndim == 1 and 1 <= len(given) <= T:
        encoder = np.zeros((T, T))
        for lag, coefficient in enumerate(given):
            encoder[np.arange(lag, T), np.arange(T - lag)] = coefficient
        given = encoder
    if given.shape != (T, T):
        raise DomainError(
            "coefficients", f"an array of shape {given.shape}", f"at most {T} numbers, or a {T} x {T} matrix"
        )
    return Coefficients(encoder=given, noise_multiplier=noise_multiplier, participation=participation)


@typed
def judged(found: Coefficients, promise: Promise, adjacency: Adjacency) -> CoefficientVerdict:
    """Whether the promise is proved or refuted, to a relative 1e-9 of its level; neither where s(C) is only bounded.

    Raises `DomainError` for add-remove, under which the other records of a run move, and for a pure promise, which no
    Gaussian noise keeps.
    """
    if adjacency == "add-remove":
        raise DomainError("adjacency", adjacency, "zero-out or replace-one", "a record less moves all that follow")
    if promise.pure:
        raise DomainError("claim", promise.text, "one with delta > 0, rho or mu", "no Gaussian noise is purely private")
    value = encoder_sensitivity(found.encoder, found.participation)
    wide = _rounding(found.encoder, found.participation.times, float(value))
    ratio = sensitivity_factor(adjacency) / found.noise_multiplier
    low, high = ratio * math.sqrt(max(float(value) ** 2 - wide, 0.0)), ratio * math.sqrt(float(value) ** 2 + wide)
    low, high = low * (1 - 8 * _UNIT), high * (1 + 8 * _UNIT)
    exact = value.kind == "exact"
    return CoefficientVerdict(
        low=low if exact else 0.0,
        high=high,
        spent=(promise.of_gaussian(low) if exact else 0.0, promise.of_gaussian(high)),
        proved=_keeps(high, promise, True),
        refuted=exact and _keeps(low, promise, False),
        rule=f"{value.source} ({value.kind})",
    )


def _rounding(encoder: np.ndarray, times: int, value: float) -> float:
    """What floats can have done to s^2: products and sums, entries that count as 0, entries off by few units.

    |X_ij| <= |c_i||c_j|, so all k^2 products of a pattern have absolute sums below k^2 times the largest column's; an
    encoder off by E in each entry has s off by k sqrt(T) E at most.
    """
    T, k = len(encoder), times
    operations = (2 * T + k * k + 20) * _UNIT
    column = float(np.max(np.sum(encoder**2, axis=0)))
    entries = 4 * ROUNDED * float(np.abs(encoder).max())
    moved = k * math.sqrt(T) * entries
    return 1.01 * (operations / (1 - operations) * k * k * column + moved * (2 * value + moved))


def _keeps(mu: float, promise: Promise, kept: bool) -> bool:
    """Whether this mu keeps the promise, or (`kept` false) breaks it, for certain and to `TOLERANCE`."""
    level = promise.level * (1 + TOLERANCE)
    with balls() as m:
        ball = m.number(mu)
        if promise.epsilon is None:
            spent, allowed = (ball * ball / 2 if promise.rho is not None else ball), level
        else:
            spent, allowed = curves.delta_at(m, ball, m.number(level)), promise.delta
        return bool(spent <= allowed) if kept else bool(spent > allowed)
