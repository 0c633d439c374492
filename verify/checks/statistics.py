"""Three-way tests with stated error rates: agrees, differs, or cannot tell.

Every test compares an observation with a prediction and a `resolution`, the smallest relative discrepancy it must see.
`holds`: the interval at level 1 - alpha lies within resolution of the prediction and contains it; `fails`: the interval
excludes the prediction; `unclear` otherwise. A true prediction fails with probability at most alpha; `trials_needed`
sizes a run so that a discrepancy of `resolution` passes with probability at most beta.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from dpbounds.audit import intervals
from verify.checks.evidence import Outcome

# One run of everything raises a false alarm with probability at most SUITE_ALPHA; each comparison has COMPARISON_ALPHA
# of it, spent in equal parts on at most LOOKS looks at ever more trials: each look tests at ALPHA.
SUITE_ALPHA = 1e-6
COMPARISON_ALPHA = 1e-10
LOOKS = 4
ALPHA = COMPARISON_ALPHA / LOOKS
BETA = 1e-3
# Student's interval is trusted while the replicates' skewness distorts its tail probability by at most this factor: the
# true rate of false alarms of a mean test is then at most TAIL_FACTOR * ALPHA.
TAIL_FACTOR = 10.0


@dataclass(frozen=True)
class Comparison:
    """An observation with its interval against a prediction."""

    outcome: Outcome
    observed: float
    low: float
    high: float
    predicted: float

    @property
    def resolved(self) -> float:
        """The relative discrepancy that the interval can see: its larger arm relative to the prediction."""
        return max(self.high - self.observed, self.observed - self.low) / abs(self.predicted)


@dataclass(frozen=True)
class Moments:
    """Count, mean and central second and third sums of replicates; merging in a fixed order is reproducible."""

    count: int
    mean: float
    second: float
    third: float

    @classmethod
    def of(cls, samples: np.ndarray) -> Moments:
        """Of a one-dimensional array of replicates."""
        values = np.asarray(samples, dtype=float)
        mean = math.fsum(values) / len(values)
        deviation = values - mean
        return cls(len(values), mean, math.fsum(deviation**2), math.fsum(deviation**3))

    def merge(self, other: Moments) -> Moments:
        """Of both sets of replicates together."""
        count = self.count + other.count
        delta = other.mean - self.mean
        weight = self.count * other.count / count
        second = self.second + other.second + delta**2 * weight
        third = self.third + other.third + delta**3 * weight * (self.count - other.count) / count
        third += 3.0 * delta * (self.count * other.second - other.count * self.second) / count
        return Moments(count, self.mean + delta * other.count / count, second, third)

    @classmethod
    def merge_all(cls, parts: Iterable[Moments]) -> Moments:
        """In the order given."""
        first, *rest = parts
        for part in rest:
            first = first.merge(part)
        return first

    @property
    def standard_error(self) -> float:
        """Of the mean."""
        return math.sqrt(self.second / (self.count - 1) / self.count)

    @property
    def skewness(self) -> float:
        """Of the replicates."""
        return self.third / self.count / (self.second / self.count) ** 1.5 if self.second > 0 else 0.0


def mean_test(moments: Moments, predicted: float, *, resolution: float, alpha: float = ALPHA) -> Comparison:
    """Student's interval for a mean; `unclear` while the normal approximation cannot be trusted at this alpha.

    The leading Edgeworth term multiplies the tail probability by exp(skewness z^3 / (6 sqrt n)): 50 replicates of a
    chi-squared variable at alpha = 1e-4 alarm 50 times too often. It may be at most TAIL_FACTOR.
    """
    quantile = float(special.stdtrit(moments.count - 1, 1.0 - alpha / 2.0)) if moments.count > 1 else math.inf
    arm = quantile * moments.standard_error
    low, high = moments.mean - arm, moments.mean + arm
    z = normal_quantile(alpha)
    distortion = abs(moments.skewness) * z**3 / (6.0 * math.sqrt(moments.count))
    trusted = distortion <= math.log(TAIL_FACTOR)
    outcome = three_way(low, high, predicted, resolution) if trusted else "unclear"
    return Comparison(outcome, moments.mean, low, high, predicted)


def variance_test(
    mean_square: float, count: int, predicted: float, *, resolution: float, alpha: float = ALPHA
) -> Comparison:
    """Exact: the sum of squares of independent centred Gaussian samples over their variance is chi-squared."""
    squares = mean_square * count
    low = squares / float(special.chdtri(count, alpha / 2.0))
    high = squares / float(2.0 * special.gammaincinv(count / 2.0, alpha / 2.0))
    return Comparison(three_way(low, high, predicted, resolution), mean_square, low, high, predicted)


def proportion_interval(successes: int, trials: int, *, alpha: float = ALPHA) -> tuple[float, float]:
    """Clopper-Pearson interval for a probability."""
    return intervals.proportion_interval(successes, trials, alpha=alpha)


def quantile_interval(samples: np.ndarray, level: float, *, alpha: float = ALPHA) -> tuple[float, float]:
    """Order-statistic interval for a quantile; exact for every continuous law, infinite where the sample is too
    small.
    """
    ordered = np.sort(np.asarray(samples, dtype=float))
    n = len(ordered)
    below = _binomial_quantile(n, level, alpha / 2.0)
    above = n - _binomial_quantile(n, 1.0 - level, alpha / 2.0)
    low = float(ordered[below - 1]) if below >= 1 else -math.inf
    high = float(ordered[above]) if above < n else math.inf
    return low, high


def three_way(low: float, high: float, predicted: float, resolution: float) -> Outcome:
    """The rule at the head of this file, for an interval of the observed quantity."""
    if predicted < low or predicted > high or not math.isfinite(predicted):
        return "fails"
    reach = resolution * abs(predicted)
    return "holds" if predicted - reach <= low and high <= predicted + reach else "unclear"


def trials_needed(relative_std: float, resolution: float, *, alpha: float = ALPHA, beta: float = BETA) -> int:
    """Replicates so that the interval's arm is the resolution less the room that beta needs (normal approximation)."""
    z = normal_quantile(alpha) + float(special.ndtri(1.0 - beta / 2.0))
    return math.ceil((z * relative_std / resolution) ** 2)


@dataclass(frozen=True)
class Slope:
    """A fitted power: log y = intercept + slope log x."""

    slope: float
    low: float
    high: float


def fit_slope(
    x: Sequence[float],
    y: Sequence[float],
    relative_errors: Sequence[float],
    *,
    alpha: float = ALPHA,
    weighted: bool = True,
) -> Slope:
    """Least squares of log y on log x with known relative standard errors of y (delta method).

    Weighted by precision, the best for a power law; `weighted=False` counts all points alike: the slope of a curve over
    a range then does not depend on where the simulation happens to be precise.
    """
    log_x, log_y = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float))
    errors = np.maximum(np.asarray(relative_errors, dtype=float), 1e-15)
    weights = errors**-2 if weighted else np.ones_like(errors)
    centred = log_x - np.average(log_x, weights=weights)
    shares = weights * centred / float(weights @ centred**2)
    slope = float(shares @ log_y)
    arm = normal_quantile(alpha) * math.sqrt(float(shares**2 @ errors**2))
    return Slope(slope, slope - arm, slope + arm)


def slope_outcome(observed: Slope, predicted: float, *, tolerance: float) -> Outcome:
    """Equivalence: holds if the whole interval is within `tolerance` of the prediction, fails if all of it is
    outside.
    """
    if observed.high < predicted - tolerance or observed.low > predicted + tolerance:
        return "fails"
    inside = predicted - tolerance <= observed.low and observed.high <= predicted + tolerance
    return "holds" if inside else "unclear"


def normal_quantile(alpha: float) -> float:
    """Two-sided: P(|Z| > z) = alpha."""
    return float(-special.ndtri(alpha / 2.0))


def _binomial_quantile(n: int, p: float, probability: float) -> int:
    """Largest k with P(Binomial(n, p) < k) <= probability."""
    low, high = 0, n
    while low < high:
        middle = (low + high + 1) // 2
        if special.bdtr(middle - 1, n, p) <= probability:
            low = middle
        else:
            high = middle - 1
    return low
