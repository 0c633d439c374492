"""The answer to a plan: everything read off what was disclosed, as `dpbounds solve iv --confidence` prints it.

It is computed from the release and from public constants alone (but `without_noise`, for public data).

>>> import numpy as np
>>> from dpbounds.iv.confidence import MomentRelease, PrivacyBudget, ReleasePlan
>>> plan = ReleasePlan(outcome="y", regressors=("x",), instruments=("z",), bounds={"y": (-1, 1), "x": (-1, 1)},
...                    budget=PrivacyBudget(mu=1.0), clamping="natural")
>>> release = MomentRelease(first=np.array([30.0, 25.0]), second=40.0 * np.eye(2), first_scale=2.0, second_scale=3.0,
...                         n=400, outcome_weight=1.0, regressor_weights=np.ones(1), adjacency="replace-one")
>>> answer = confidence_answer(plan, Disclosure(release=release, budget=()))
>>> answer.point, answer.confidence_set.shape, round(answer.price.ratio, 3)
(1.2, 'interval', 1.049)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError
from dpbounds.iv.clamped import RhoLimits
from dpbounds.iv.confidence.anderson_rubin import FirstStage, anderson_rubin_curve, first_stage
from dpbounds.iv.confidence.bounded import bounded_set_budget, bounded_set_records
from dpbounds.iv.confidence.disclosure import Disclosure
from dpbounds.iv.confidence.pieces import ConfidenceSet
from dpbounds.iv.confidence.plan import ReleasePlan
from dpbounds.iv.confidence.price import Price, price_of_privacy
from dpbounds.iv.confidence.release import MomentRelease, Release
from dpbounds.iv.confidence.sensitivity import length_ratio
from dpbounds.iv.confidence.sets import confidence_set, point_estimate
from dpbounds.iv.confidence.signs import SignRelease, sign_equivalent_sample
from dpbounds.iv.confidence.stretched import split_level, stretched_curve, stretched_point, stretched_set
from dpbounds.privacy import gaussian_epsilon

Row = dict[str, Any]
# Beyond this mu a budget is no privacy: as epsilon it is not worth naming.
_LARGEST_MU = 1e3
# Points of a curve, and how far it goes beyond the set, in units of the set's width.
_POINTS, _MARGIN = 300, 0.75
# Statistics beyond this many critical values are far; where all are, those up to this many times the least are near.
_FAR, _LEAST = 4.0, 1.5


class Reading(NamedTuple):
    """What is read off one release, in the columns' units: the set, the point estimate, and the first stage (None for
    signs, which have none).
    """

    confidence_set: ConfidenceSet
    point: float
    first_stage: FirstStage | None


class Remedy(NamedTuple):
    """What would make half of all sets bounded: mu, or epsilon at the plan's delta, at this n; n at this budget. None
    where nothing is known, or nothing is enough.
    """

    mu: float | None
    epsilon: float | None
    n: int | None


class StatisticCurve(NamedTuple):
    """The test along coefficients, (m,) each: the statistic, and the value above which a coefficient is rejected."""

    coefficients: Float[np.ndarray, " m"]
    statistic: Float[np.ndarray, " m"]
    critical: Float[np.ndarray, " m"]

    def near(self) -> StatisticCurve:
        """As far as the statistic is not much above its critical value, or where it always is, near its minimum."""
        kept = self.statistic <= _FAR * self.critical
        if not kept.any():
            kept = self.statistic <= self.statistic.min() * _LEAST
        return StatisticCurve(*(part[kept] for part in self))


@dataclass(frozen=True, kw_only=True, eq=False)
class ConfidenceAnswer:
    """The plan, what was disclosed, and what is read off it: a private set, its price, and for public data the same
    `without_noise`, which is not private.
    """

    plan: ReleasePlan
    disclosure: Disclosure
    reading: Reading
    price: Price
    n_star: float
    without_noise: Reading | None = None

    @property
    def n(self) -> int:
        """Records, a public number."""
        return self.disclosure.release.n

    @property
    def confidence_set(self) -> ConfidenceSet:
        """Of the coefficient, in the columns' units."""
        return self.reading.confidence_set

    @property
    def point(self) -> float:
        """The coefficient with the least statistic; inf where that is at an infinite one."""
        return self.reading.point

    @property
    def needed_f(self) -> float | None:
        """The first-stage F at which bounded sets start; None for signs."""
        strength = self.reading.first_stage
        return None if strength is None else strength.critical / len(self.plan.instruments)

    @property
    def measured_ratio(self) -> float | None:
        """Length of the private set over that without noise; None unless both are bounded and the data public."""
        if self.without_noise is None:
            return None
        private, bare = self.confidence_set.length, self.without_noise.confidence_set.length
        return private / bare if 0 < bare < math.inf and private < math.inf else None

    def remedy(self) -> Remedy:
        """What would make a set bounded that is the whole line. Raises `DomainError` for signs."""
        release = _moments_of(self.disclosure.release)
        mu = bounded_set_budget(release, self.plan.budget.gdp, self.plan.level)
        stated = mu is not None and mu <= _LARGEST_MU
        epsilon = float(gaussian_epsilon(mu, self.plan.budget.delta)) if mu is not None and stated else None
        return Remedy(mu, epsilon, bounded_set_records(release, self.plan.level))

    def row(self, *, dropped: int = 0) -> Row:
        """The row that the command prints, in plain numbers; `dropped` records were left out before the release."""
        row = _question(self.plan, self.n) | _set_columns(self.confidence_set)
        if self.reading.first_stage is not None:
            row |= {"first_stage_F": self.reading.first_stage.f, "first_stage_F_needed": self.needed_f}
            row["certified"] = self.plan.certify  # up to the rounding of the one sum that shifts it
        price = {"length_ratio": self.price.ratio, "ratio_is_least": self.price.least, "n_star": self.n_star}
        row |= {"point": self.point} | price | self._clipped_columns() | {"dropped": dropped}
        if self.reading.first_stage is not None:
            cells = self.disclosure.cells
            row["cells"] = None if cells is None else {"all": cells.total, "dropped": cells.dropped}
        row["budget"] = [line._asdict() for line in self.disclosure.budget]
        row["release"] = self.disclosure.columns()
        return row if self.without_noise is None else {**row, "public": self._public_columns(self.without_noise)}

    def surroundings(self) -> Float[np.ndarray, " m"]:
        """Coefficients around the finite ends of the set and the point estimate, or what the public ranges allow."""
        ends = [float(end) for piece in self.confidence_set.pieces for end in piece if math.isfinite(end)]
        if math.isfinite(self.point):
            ends.append(self.point)
        low, high = min(ends, default=0.0), max(ends, default=0.0)
        Y, X = self.plan.halves
        width = high - low if high > low else 2 * Y / X
        return np.linspace(low - _MARGIN * width, high + _MARGIN * width, _POINTS)

    def curve(self, *, noisy: bool = True) -> StatisticCurve:
        """The test along `surroundings`, of the release or, for public data, of the one without noise; signs are tested
        on their own grid. Raises `DomainError` where there is no release without noise.
        """
        release = self.disclosure.release if noisy else self.disclosure.exact
        if release is None:
            raise DomainError("noisy", noisy, "True", "without noise nothing is known: the data are not public")
        if isinstance(release, SignRelease):
            critical = np.full(len(release.grid), release.critical(self.plan.level))
            return StatisticCurve(release.grid, np.abs(release.curve), critical)
        points, counts, level = self.surroundings(), self.disclosure.counts, self.plan.level
        if noisy and counts is not None:
            test = stretched_curve(_first_moments(release), counts.rho(level), self.disclosure.shift, points, level)
        else:
            shift = self.disclosure.shift if noisy else self.disclosure.exact_shift
            test = anderson_rubin_curve(release, points - shift, level=level, correct=noisy)
        return StatisticCurve(points, test.statistic, test.critical)

    @property
    def rho(self) -> RhoLimits | None:
        """The limits by which the set is stretched; None where nothing is clipped."""
        return None if self.disclosure.counts is None else self.disclosure.counts.rho(self.plan.level)

    @property
    def degrees_of_freedom(self) -> int:
        """Records less cells (the intercept is one) and instruments."""
        cells = self.disclosure.cells
        return self.n - (1 if cells is None else cells.total) - len(self.plan.instruments)

    def _clipped_columns(self) -> Row:
        rho = self.rho
        if rho is None:
            return {"clamping": self.plan.clamping}
        limits = {"rho_least": rho.least, "rho_most": rho.most, "heterogeneity": self.plan.heterogeneity}
        return {"clamping": self.plan.clamping, "clip": self.disclosure.clip, **limits}

    def _public_columns(self, bare: Reading) -> Row:
        row = _set_columns(bare.confidence_set) | {"point": bare.point}
        return row if bare.first_stage is None else row | {"first_stage_F": bare.first_stage.f}


@typed
def confidence_answer(plan: ReleasePlan, disclosure: Disclosure) -> ConfidenceAnswer:
    """Everything that follows from what was disclosed under this plan, without spending more.

    Raises `DomainError` for a singular release and for a grid of design s that is too coarse for its set; the budget of
    the release is spent all the same.
    """
    release, exact = disclosure.release, disclosure.exact
    reading = _private_reading(plan, disclosure)
    if isinstance(release, SignRelease):
        equivalent = float(sign_equivalent_sample(release.deviation, release.probability))
        price = Price(float(length_ratio(release.n, equivalent)), False)
    else:
        price = price_of_privacy(release, reading.point - disclosure.shift)
        equivalent = price.equivalent_sample(release.n)
    return ConfidenceAnswer(
        plan=plan,
        disclosure=disclosure,
        reading=reading,
        price=price,
        n_star=equivalent,
        without_noise=None if exact is None else _bare_reading(plan, exact, disclosure.exact_shift),
    )


def _private_reading(plan: ReleasePlan, disclosure: Disclosure) -> Reading:
    release, counts = disclosure.release, disclosure.counts
    if isinstance(release, SignRelease):
        try:
            return Reading(release.confidence_set(plan.level), release.point, None)
        except DomainError as error:
            if error.parameter != "grid":
                raise
            remedy = f"{error.remedy}. The budget of this release is spent"
            raise DomainError(error.parameter, error.value, error.allowed, remedy) from None
    if counts is not None:
        strength = first_stage(release, level=split_level(plan.level).test)
        moments, shift = _first_moments(release), disclosure.shift
        found = stretched_set(moments, counts, shift, plan.level)
        return Reading(found, stretched_point(moments, counts.rho(plan.level), shift), strength)
    strength = first_stage(release, level=plan.level)
    found = confidence_set(release, plan.level, certify=plan.certify, honest=plan.honest)
    return Reading(_moved(found, disclosure.shift), point_estimate(release) + disclosure.shift, strength)


def _bare_reading(plan: ReleasePlan, exact: Release | SignRelease, shift: float) -> Reading:
    """Of the same records without noise: for public data alone."""
    if isinstance(exact, SignRelease):
        return Reading(exact.confidence_set(plan.level), exact.point, None)
    try:
        found = confidence_set(exact, plan.level, correct=False)
        strength, point = first_stage(exact, level=plan.level, correct=False), point_estimate(exact)
    except DomainError as error:
        raise DomainError(error.parameter, error.value, error.allowed, f"{error.remedy} (without noise)") from None
    return Reading(_moved(found, shift), point + shift, strength)


def _moved(found: ConfidenceSet, shift: float) -> ConfidenceSet:
    return found.shifted(shift) if shift else found


def _first_moments(release: Release) -> MomentRelease:
    assert isinstance(release, MomentRelease)
    return release


def _moments_of(release: Release | SignRelease) -> Release:
    if isinstance(release, SignRelease):
        raise DomainError("design", "s", "u or h", "signs have no first stage")
    return release


def _question(plan: ReleasePlan, n: int) -> Row:
    return {
        "design": plan.design,
        "n": n,
        "q": len(plan.instruments),
        "p": len(plan.regressors),
        "mu": plan.budget.gdp,
        "epsilon": plan.budget.epsilon_at_delta,
        "delta": plan.budget.delta,
        "adjacency": plan.adjacency,
        "level": plan.level,
        "private": plan.private,
        "seed": plan.seed,
        "noise": plan.noise,
    }


def _set_columns(found: ConfidenceSet) -> Row:
    """Ends as plain numbers."""
    return {
        "shape": found.shape,
        "pieces": [[float(low), float(high)] for low, high in found.pieces],
        "length": float(found.length),
        "coverage": found.coverage.kind,
        "certified": found.certified,
    }
