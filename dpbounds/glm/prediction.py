"""One estimator on one problem: its noise, what that really guarantees, its predicted error by term, records needed.

Printed: glm Algorithm 1 (3 for a regression) and Remark 11 with their radius and noise. Tight: records clipped to
bounds that hardly any exceeds (`dpbounds.glm.clipping`), and the least noise for which the joint message is (epsilon,
delta)-private for every record, split between x x^T and x y for the least predicted error. Errors are relative,
||w_hat - w*||^2 / ||w*||^2, to leading order (`dpbounds.glm.asymptotics`).

>>> from dpbounds.glm.problem import build_problem
>>> problem = build_problem("logistic", n=50_000, epsilon=10.0, delta=1e-6, p=4)
>>> f"{float(predict(problem, 'public-covariance').relative):.4f}"
'0.0897'
>>> records_needed(problem, "public-covariance", 0.01) > 100_000
True
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, get_args

from scipy.optimize import minimize_scalar

from dpbounds.arguments import typed
from dpbounds.errors import choice, within
from dpbounds.glm import asymptotics, privacy
from dpbounds.glm.asymptotics import ErrorTerms, Estimator
from dpbounds.glm.privacy import Calibration, NoiseScales
from dpbounds.glm.problem import MOST_RECORDS, Problem
from dpbounds.values import Value

ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)
# Those that the paper prints with a noise of their own.
PRINTED: tuple[Estimator, ...] = ("paper", "pooled")
# The leading order is reliable while what it leaves out, and the error it predicts, are small: the mean is then within
# 25 % of it (`glm/beyond-reliable`).
LARGEST_EXCESS, LARGEST_ERROR = 0.1, 0.25
# Ratios of the noise of x x^T to that of x y, in units of the bounds, that are tried.
RATIOS = (1e-3, 1e3)
# Records needed are found to this factor.
RECORDS_FACTOR = 1.001


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """One estimator under one calibration.

    - `scales`, `radius`, `label_bound`: of one user's noise, and the bounds it is made for;
    - `delta_within`: the least delta of the message at this epsilon for records within these bounds, labels as large as
      the model's; `private`: whether it is (epsilon, delta)-private for every record;
    - `terms`: of the error, absolute; `relative_terms`: over ||w*||^2; `relative`: their sum; `reliable`: whether the
      leading order is.
    """

    estimator: Estimator
    calibration: Calibration
    scales: NoiseScales
    radius: float
    label_bound: float
    delta_within: float
    private: bool
    terms: ErrorTerms
    relative_terms: ErrorTerms
    relative: Value
    reliable: bool

    @property
    def rank(self) -> tuple[bool, float]:
        """Smaller is better: those first whose prediction is reliable, then by error."""
        return not self.reliable, float(self.relative)

    @property
    def typical(self) -> float:
        """The leading order, of which no median is computed."""
        return float(self.relative)


@typed
def predict(problem: Problem, estimator: Estimator, calibration: Calibration = "tight") -> Prediction:
    """The noise of an estimator and its error.

    `printed`: radius and noise of glm Algorithm 1 or 3; their message "outside" makes it private for no delta < 1.
    """
    choice("estimator", estimator, ESTIMATORS)
    if choice("calibration", calibration, get_args(Calibration)) == "printed":
        radius, label = problem.printed_bounds
        scales = privacy.noise_scales(problem.epsilon, problem.delta, radius=radius, label_bound=label)
    else:
        radius, label = problem.bounds
        scales = privacy.noise_scales(
            problem.epsilon,
            problem.delta,
            radius=radius,
            label_bound=label,
            calibration="tight",
            p=problem.p,
            release_gram=estimator != "public-covariance",
            ratio=best_ratio(problem, estimator),
        )
    return _predicted(problem, estimator, calibration, scales, radius, label)


@typed
def best_ratio(problem: Problem, estimator: Estimator) -> float:
    """a_1 / a_2, noise of x x^T over that of x y in units of the bounds, of the least predicted error at equal mu."""
    if choice("estimator", estimator, ESTIMATORS) == "public-covariance":
        return 1.0
    radius, label = problem.bounds
    unit = _terms(problem, estimator, NoiseScales(gram=radius**2, cross=radius * label))

    return least_ratio(unit.gram_noise, unit.cross_noise, problem.p)


def least_ratio(gram_noise: float, cross_noise: float, p: int) -> float:
    """The ratio at which gram_noise a_1² + cross_noise a_2² is least at equal mu."""

    def noise(log_ratio: float) -> float:
        ratio = math.exp(log_ratio)
        mu = privacy.release_mu(ratio, 1.0, radius=1.0, p=p)
        return 2.0 * math.log(float(mu)) + math.log(gram_noise * ratio**2 + cross_noise)

    ends = tuple(math.log(ratio) for ratio in RATIOS)
    least: Any = minimize_scalar(noise, bounds=ends, method="bounded", options={"xatol": 1e-6})
    return math.exp(float(least.x))


@typed
def records_needed(problem: Problem, estimator: Estimator, error: float, *, fixed_m: bool = False) -> int | None:
    """The least n (to 0.1 %), with m in proportion or as it is, at which the tight prediction's relative error is
    `error`.

    None if 10^15 records are not enough. Raises `DomainError` for `error` outside (0, 1].
    """
    error = within("error", error, "(0, 1]")
    share = problem.m / problem.n

    def reached(n: int) -> bool:
        m = problem.m if fixed_m or not problem.m else max(round(share * n), problem.p)
        return float(predict(dataclasses.replace(problem, n=n, m=m), estimator).relative) <= error

    low, high = problem.p + 1, MOST_RECORDS if fixed_m else int(MOST_RECORDS / max(share, 1.0))
    if not reached(high):
        return None
    while high > low * RECORDS_FACTOR and high - low > 1:
        middle = max(low + 1, math.isqrt(low * high))
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _terms(problem: Problem, estimator: Estimator, scales: NoiseScales) -> ErrorTerms:
    return asymptotics.error(
        problem.link,
        problem.w,
        problem.covariance,
        n=problem.n,
        m=problem.m,
        gram_scale=scales.gram if math.isfinite(scales.gram) else 0.0,
        cross_scale=scales.cross,
        noise_variance=problem.noise**2,
        estimator=estimator,
    )


def _predicted(
    problem: Problem, estimator: Estimator, calibration: Calibration, scales: NoiseScales, radius: float, label: float
) -> Prediction:
    terms, unit = _terms(problem, estimator, scales), float(problem.w @ problem.w)
    relative = terms.total / unit
    # Poisson labels go beyond the 1 that the printed noise is made for.
    largest = max(label, problem.bounds[1]) if problem.link.labels == "count" else label
    within_bounds = privacy.exact_delta(
        problem.epsilon, scales.gram, scales.cross, radius=radius, label_bound=largest, p=problem.p
    )
    return Prediction(
        estimator=estimator,
        calibration=calibration,
        scales=scales,
        radius=radius,
        label_bound=label,
        delta_within=float(within_bounds),
        private=calibration == "tight",
        terms=terms,
        relative_terms=terms.over(unit),
        relative=Value(relative, kind="asymptotic", source="dpbounds", convention="leading order"),
        reliable=terms.excess <= LARGEST_EXCESS and relative <= LARGEST_ERROR,
    )
