"""All estimators on one problem: noise, what it really guarantees, predicted error by term, which to take, what more
records would buy.

x ~ N(0, Sigma). Printed: glm Algorithm 1 (3 for a regression) and Remark 11 with their radius and noise. Tight: records
clipped to bounds that hardly any exceeds (`dpbounds.glm.clipping`), and the least noise for which the joint message is
(epsilon, delta)-private for every record, split between x x^T and x y for the least predicted error. Errors are
relative, ||w_hat - w*||^2 / ||w*||^2, to leading order (`dpbounds.glm.asymptotics`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from scipy.optimize import minimize_scalar

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, count, moderate, nonnegative, vector, within
from dpbounds.glm import asymptotics, clipping, privacy, scale
from dpbounds.glm.asymptotics import ErrorTerms, Estimator
from dpbounds.glm.links import Link
from dpbounds.glm.privacy import Calibration, NoiseScales
from dpbounds.values import Value

ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)
# The leading order is reliable while its own small parameter, and the error it predicts, are.
LARGEST_CONVERGENCE, LARGEST_ERROR = 0.25, 0.25
MOST_RECORDS = 10**15
# Ratios of the noise of x x^T to that of x y, in units of the bounds, that are tried.
RATIOS = (1e-3, 1e3)
Advice = Estimator | Literal["w = 0"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """What is asked: the model, the records, the budget of one user's message (local, any two records).

    `w`: w* (p,); `covariance`: Sigma (p, p); `noise`: C, the size of a regression's noise, +-C; `failure`: zeta, the
    chance that some record is beyond its bounds; `radius`, `label_bound`: public bounds in place of those that follow
    from `failure`, for the tight rows. Raises `DomainError` for n <= p, 0 < m < p, and what is outside its range.
    """

    link: Link
    w: np.ndarray
    covariance: np.ndarray
    n: int
    m: int
    epsilon: float
    delta: float
    failure: float = 0.1
    noise: float = 0.0
    radius: float | None = None
    label_bound: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "link", scale.known(self.link))
        object.__setattr__(self, "w", vector("w", self.w))
        object.__setattr__(self, "covariance", scale.positive_definite("covariance", self.covariance, self.p))
        remedy = f"more records than coordinates, p = {self.p}"
        object.__setattr__(self, "n", count("n", self.n, self.p + 1, remedy, most=MOST_RECORDS))
        object.__setattr__(self, "m", count("m", self.m, 0, most=MOST_RECORDS))
        if 0 < self.m < self.p:
            remedy = "fewer public records have a singular covariance"
            raise DomainError("m", self.m, f"0 or at least p = {self.p}", remedy)
        for name, interval in (("epsilon", "[1e-6, 1e6]"), ("delta", "[1e-290, 1)"), ("failure", "[1e-300, 1)")):
            object.__setattr__(self, name, within(name, getattr(self, name), interval))
        object.__setattr__(self, "noise", nonnegative("noise", self.noise))
        if self.noise and self.link.labels != "real":
            raise DomainError("noise", self.noise, f"0 for the {self.link.name} link", "its labels have a law already")
        for name in ("radius", "label_bound"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, moderate(name, getattr(self, name)))
        if not self.q > 0:
            raise DomainError("w", self.w, "a vector other than 0")

    @property
    def p(self) -> int:
        """Coordinates."""
        return len(self.w)

    @property
    def q(self) -> float:
        """w*^T Sigma w*, the variance of <x, w*>."""
        return float(self.w @ self.covariance @ self.w)

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """R and B of the tight rows."""
        radius = clipping.radius(self.covariance, self.n, self.failure) if self.radius is None else self.radius
        label = self.label_bound
        if label is None:
            label = clipping.label_bound(self.link, self.q, self.n, self.failure, noise=self.noise)
        return float(radius), float(label)

    @cached_property
    def printed_bounds(self) -> tuple[float, float]:
        """R and B of the printed rows."""
        norm = float(np.linalg.eigvalsh(self.covariance)[-1])
        radius = privacy.radius(norm, self.p, self.n, self.failure)
        return radius, float(clipping.printed_label_bound(self.link, radius, noise=self.noise))

    @property
    def size(self) -> float:
        """s = |Sigma^{1/2} w_ols|, which must be below `scale.supremum` for a root to exist."""
        return abs(scale.stein(self.link, math.sqrt(self.q)))


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One estimator under one calibration.

    - `scales`, `radius`, `label_bound`: of one user's noise, and the bounds it is made for;
    - `delta_within`: the least delta of the message at this epsilon for records within these bounds, labels as large as
      the model's; `private`: whether it is (epsilon, delta)-private for every record;
    - `terms`: of the error, absolute; `relative`: their sum over ||w*||^2; `reliable`: whether the leading order is.
    """

    estimator: Estimator
    calibration: Calibration
    scales: NoiseScales
    radius: float
    label_bound: float
    delta_within: float
    private: bool
    terms: ErrorTerms
    relative: Value
    reliable: bool


@dataclass(frozen=True, kw_only=True)
class More:
    """The recommended estimator's relative error with other numbers of records."""

    n: int
    m: int
    relative: float


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The scale, every row, and what to take; `advice` is `w = 0` where no private estimate is predicted to beat it."""

    constant: Value
    rows: tuple[Compared, ...]
    advice: Advice
    reason: str
    more: tuple[More, ...]

    def under(self, calibration: Calibration) -> tuple[Compared, ...]:
        """The rows of one calibration."""
        return tuple(row for row in self.rows if row.calibration == calibration)

    @property
    def best(self) -> Compared:
        """The tight row of least predicted error, those first whose prediction is reliable."""
        return min(self.under("tight"), key=_rank)


@typed
def answer(asked: Question, *, estimators: Sequence[Estimator] | None = None) -> Answer:
    """Every estimator, tight; the printed ones as printed; the recommendation and what more records would buy.

    `estimators`: those that are wanted, by default all for which there are records: without public ones, the scale is
    estimated from the private ones. Raises `DomainError` for one that needs public records where there are none.
    """
    wanted = _wanted(asked, estimators)
    tight = tuple(tight_row(asked, estimator) for estimator in wanted)
    printed = tuple(printed_row(asked, estimator) for estimator in wanted if estimator in ("paper", "pooled"))
    best = min(tight, key=_rank)
    advice: Advice = best.estimator if float(best.relative) < 1.0 else "w = 0"
    return Answer(
        constant=scale.constant(asked.link, asked.q),
        rows=(*printed, *tight),
        advice=advice,
        reason=_reason(asked, best, tight),
        more=tuple(_more(asked, best.estimator)),
    )


@typed
def tight_row(asked: Question, estimator: Estimator) -> Compared:
    """Clipped records, the least noise for every record, the best split between the two messages."""
    radius, label = asked.bounds
    ratio = best_ratio(asked, estimator)
    scales = privacy.noise_scales(
        asked.epsilon,
        asked.delta,
        radius=radius,
        label_bound=label,
        calibration="tight",
        p=asked.p,
        release_gram=estimator != "public-covariance",
        ratio=ratio,
    )
    return _row(asked, estimator, "tight", scales, radius, label)


@typed
def printed_row(asked: Question, estimator: Estimator) -> Compared:
    """Radius and noise of glm Algorithm 1 or 3; the message "outside" makes it private for no delta < 1."""
    radius, label = asked.printed_bounds
    scales = privacy.noise_scales(asked.epsilon, asked.delta, radius=radius, label_bound=label)
    return _row(asked, estimator, "printed", scales, radius, label)


@typed
def best_ratio(asked: Question, estimator: Estimator) -> float:
    """a_1 / a_2, noise of x x^T over that of x y in units of the bounds, of the least predicted error at equal mu."""
    if choice("estimator", estimator, ESTIMATORS) == "public-covariance":
        return 1.0
    radius, label = asked.bounds
    unit = _terms(asked, estimator, NoiseScales(gram=radius**2, cross=radius * label))

    def noise(log_ratio: float) -> float:
        ratio = math.exp(log_ratio)
        mu = privacy.release_mu(ratio, 1.0, radius=1.0, p=asked.p)
        return 2.0 * math.log(float(mu)) + math.log(unit.gram_noise * ratio**2 + unit.cross_noise)

    ends = tuple(math.log(ratio) for ratio in RATIOS)
    found: Any = minimize_scalar(noise, bounds=ends, method="bounded", options={"xatol": 1e-6})
    return math.exp(float(found.x))


@typed
def records_needed(asked: Question, estimator: Estimator, error: float, *, fixed_m: bool = False) -> int | None:
    """The least n (to 0.1 %), with m in proportion or as it is, at which the tight row's relative error is `error`.

    None if 10^15 records are not enough. Raises `DomainError` for `error` outside (0, 1].
    """
    error = within("error", error, "(0, 1]")
    share = asked.m / asked.n

    def reached(n: int) -> bool:
        m = asked.m if fixed_m or not asked.m else max(round(share * n), asked.p)
        return float(tight_row(dataclasses.replace(asked, n=n, m=m), estimator).relative) <= error

    low, high = asked.p + 1, MOST_RECORDS if fixed_m else int(MOST_RECORDS / max(share, 1.0))
    if not reached(high):
        return None
    while high > low * 1.001 and high - low > 1:
        middle = max(low + 1, math.isqrt(low * high))
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _wanted(asked: Question, estimators: Sequence[Estimator] | None) -> tuple[Estimator, ...]:
    known: Sequence[Estimator] = ESTIMATORS if asked.m else ("no-public-data",)
    chosen = known if estimators is None else estimators
    if len(chosen) == 0:
        raise DomainError("estimators", chosen, "some estimator")
    for name in chosen:
        choice("estimators", name, ESTIMATORS)
        if not asked.m and name != "no-public-data":
            remedy = f"{name} takes the scale from public records; estimator no-public-data needs none"
            raise DomainError("m", asked.m, f"at least p = {asked.p}", remedy)
    return tuple(chosen)


def _terms(asked: Question, estimator: Estimator, scales: NoiseScales) -> ErrorTerms:
    return asymptotics.error(
        asked.link,
        asked.w,
        asked.covariance,
        n=asked.n,
        m=asked.m,
        gram_scale=scales.gram if math.isfinite(scales.gram) else 0.0,
        cross_scale=scales.cross,
        noise_variance=asked.noise**2,
        estimator=estimator,
    )


def _row(
    asked: Question, estimator: Estimator, calibration: Calibration, scales: NoiseScales, radius: float, label: float
) -> Compared:
    terms = _terms(asked, estimator, scales)
    relative = terms.total / float(asked.w @ asked.w)
    # Poisson labels go beyond the 1 that the printed noise is made for.
    largest = max(label, asked.bounds[1]) if asked.link.labels == "count" else label
    within_bounds = privacy.exact_delta(
        asked.epsilon, scales.gram, scales.cross, radius=radius, label_bound=largest, p=asked.p
    )
    return Compared(
        estimator=estimator,
        calibration=calibration,
        scales=scales,
        radius=radius,
        label_bound=label,
        delta_within=float(within_bounds),
        private=calibration == "tight",
        terms=terms,
        relative=Value(relative, kind="asymptotic", source="dpbounds", convention="leading order"),
        reliable=terms.convergence <= LARGEST_CONVERGENCE and relative <= LARGEST_ERROR,
    )


def _rank(row: Compared) -> tuple[bool, float]:
    return not row.reliable, float(row.relative)


def _reason(asked: Question, best: Compared, rows: tuple[Compared, ...]) -> str:
    if not float(best.relative) < 1.0:
        return (
            "No private estimate is predicted to beat w = 0, whose relative error is 1: the nearest, "
            f"{best.estimator}, has {float(best.relative):.3g}."
        )
    said = {
        "paper": "The noise of x x^T is small, and the public records are few.",
        "pooled": "The public records make the covariance better and its noise smaller.",
        "public-covariance": "Nothing is spent on x x^T: the whole budget goes to x y.",
        "no-public-data": "The private records alone fix the scale, as x is Gaussian.",
    }[best.estimator]
    others = [row for row in rows if row is not best]
    if not others:
        return said
    second = min(others, key=_rank)
    return (
        f"{said} The next, {second.estimator}, has {float(second.relative) / float(best.relative):.3g} times the error."
    )


def _more(asked: Question, estimator: Estimator) -> Iterator[More]:
    """Ten times the private records, the public ones, both."""
    for private, public in ((10, 1), (1, 10), (10, 10)):
        n, m = min(asked.n * private, MOST_RECORDS), min(asked.m * public, MOST_RECORDS)
        if (n, m) != (asked.n, asked.m) and (public == 1 or asked.m):
            row = tight_row(dataclasses.replace(asked, n=n, m=m), estimator)
            yield More(n=n, m=m, relative=float(row.relative))
