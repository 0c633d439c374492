"""Exact intervals for what an audit measures, and how much it has to measure.

One-sided error probabilities everywhere: `alpha` for each end. Differences d of two independent runs need no centre:
d ~ N(0, 2 sigma^2), and |d|/b of Laplace noise is half Gamma(1), half Gamma(2), whose sums are mixtures of Gammas.

>>> coordinates_needed(0.05), coordinates_needed(0.01)
(12743, 318552)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, cast

import numpy as np
from scipy import special
from scipy.optimize import brentq

from dpbounds.arguments import formula
from dpbounds.errors import DomainError, choice, count, nonnegative, within

# False alarms of one audit, and how often it may miss what it says it would see.
ALPHA, BETA = 1e-6, 1e-3
# Relative variance of one |difference| over that of an estimate of its scale: Gaussian 1/2, Laplace 1.75/1.5^2.
_SPREADS = {"gaussian": 0.5, "laplace": 7 / 9}
# Of noncentral t: from where on it is summed, and for that values of a normal Z and their chances.
_FAR_T, _Z = 100.0, np.linspace(-12.0, 12.0, 2401)
_Z_CHANCES = np.exp(-(_Z**2) / 2) / np.exp(-(_Z**2) / 2).sum()
Measured = Literal["gaussian", "laplace"]
Interval = tuple[float, float]


@formula
def gaussian_scale_interval(squares: float, number: int, alpha: float) -> Interval:
    """Of sigma, from the sum of squares of `number` independent differences d ~ N(0, 2 sigma^2): exact, by chi-squared.

    Each end fails with probability `alpha`. Raises `DomainError` for a negative sum or no differences.
    """
    half, degrees = nonnegative("squares", squares) / 2, count("number", number)
    tail = within("alpha", alpha, "(0, 1)")
    return (
        math.sqrt(half / float(special.chdtri(degrees, tail))),
        math.sqrt(half / float(2 * special.gammaincinv(degrees / 2, tail))),
    )


@formula
def laplace_scale_interval(total: float, number: int, alpha: float) -> Interval:
    """Of b, from the sum of |d| of `number` independent differences of Laplace noise: exact, by mixtures of Gammas.

    Each end fails with probability `alpha`. Raises `DomainError` for a negative sum or no differences.
    """
    total, terms, tail = nonnegative("total", total), count("number", number), within("alpha", alpha, "(0, 1)")
    # A Gamma's tail beyond its mean m + 12 sqrt(m) + 80 is below e^-60, whatever the mixture.
    top = 2 * terms + 12 * math.sqrt(2 * terms) + 80
    upper, low = (_root(lambda t, b=b: laplace_sum_tail(t, terms, below=b) / tail - 1, 0.0, top) for b in (False, True))
    return total / upper, total / low


@formula
def laplace_sum_tail(t: float, number: int, *, below: bool = False) -> float:
    """P(S > t), or P(S <= t) with `below`, S the sum of `number` independent |d|/b of Laplace differences.

    |d|/b has density e^{-x} (1 + x)/2: half Gamma(1), half Gamma(2); S is Gamma(n + k), k ~ Binomial(n, 1/2).
    """
    n = count("number", number)
    # Beyond 12 standard deviations the binomial has less than e^-72: nothing beside the tails that are used.
    reach = math.ceil(6 * math.sqrt(n)) + 40
    k = np.arange(max(0, n // 2 - reach), min(n, n // 2 + reach) + 1)
    weights = np.exp(special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1) - n * math.log(2))
    tail = special.gammainc if below else special.gammaincc
    return float(weights @ tail(n + k, nonnegative("t", t)))


@formula
def proportion_interval(successes: int, trials: int, *, alpha: float) -> Interval:
    """Clopper-Pearson interval for a probability; both ends together fail with probability `alpha` at most."""
    low = float(special.betaincinv(successes, trials - successes + 1, alpha / 2.0)) if successes else 0.0
    high = (
        float(special.betaincinv(successes + 1, trials - successes, 1.0 - alpha / 2.0)) if successes < trials else 1.0
    )
    return low, high


@formula
def correlation_tail(correlation: float, number: int) -> float:
    """P(|r| > `correlation`) for r = <x, y>/(|x||y|) of independent centred Gaussian vectors of this length: exact.

    r^2 is Beta(1/2, (n-1)/2) whatever y is, since x has no direction.
    """
    r, n = min(abs(float(correlation)), 1.0), count("number", number, least=2)
    return float(special.betainc((n - 1) / 2, 0.5, (1 - r) * (1 + r)))


@formula
def distance_tail(distance: float, number: int) -> float:
    """Upper bound on P(sup |F_n - F| > `distance`) of `number` independent draws from F (Massart 1990)."""
    return min(1.0, 2 * math.exp(-2 * count("number", number) * nonnegative("distance", distance) ** 2))


@formula
def shift_interval(
    first: tuple[float, float, int], second: tuple[float, float, int], alpha: float
) -> tuple[float, float]:
    """Of |m1 - m2|/sigma, from (mean, sum of squared deviations, number) of two Gaussian samples of one sigma: exact.

    Student's statistic is noncentral t with the ratio as its centre; each end fails with probability `alpha`.
    """
    (mean, left, n), (other, right, k) = first, second
    degrees, weight = n + k - 2, math.sqrt(n * k / (n + k))
    if degrees < 1 or left + right <= 0:
        raise DomainError("samples", (n, k), "more than two numbers that are not all equal")
    t = abs(mean - other) * weight / math.sqrt((left + right) / degrees)

    def end(level: float) -> float:
        """The centre at which t or less has this chance; 0 if it has less at 0."""
        excess = lambda centre: _student_cdf(t, degrees, centre) - level  # noqa: E731
        if excess(0.0) <= 0:
            return 0.0
        top = t + 1.0
        while excess(top) > 0:
            top *= 2.0
        return _root(excess, 0.0, top)

    return end(1 - alpha) / weight, end(alpha) / weight


@formula
def coordinates_needed(error: float, family: Measured = "gaussian", *, alpha: float = ALPHA, beta: float = BETA) -> int:
    """Noise coordinates that show a relative error of a scale: false alarms `alpha` on two sides, misses `beta`.

    By the normal approximation, ceil((z_{alpha/2} + z_beta)^2 v / error^2), v the relative variance of one coordinate.
    """
    choice("family", family, tuple(_SPREADS))
    z = -float(special.ndtri(within("alpha", alpha, "(0, 1)") / 2)) - float(
        special.ndtri(within("beta", beta, "(0, 1)"))
    )
    return math.ceil((z / within("error", error, "(0, 1)")) ** 2 * _SPREADS[family])


def _student_cdf(t: float, degrees: int, centre: float) -> float:
    """P((Z + centre) / S <= t), S^2 a mean of squares, centre at least 0.

    Where t is large SciPy's has few digits, or none: chances given Z are summed by the trapezoidal rule.
    """
    if t < _FAR_T:
        chance = float(special.nctdtr(degrees, centre, t))
        return 0.0 if math.isnan(chance) else chance  # that of a centre far above t
    above = special.gammaincc(degrees / 2, degrees / 2 * (np.maximum(centre + _Z, 0.0) / t) ** 2)
    return float(above @ _Z_CHANCES)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    return cast(float, brentq(function, low, high, xtol=1e-300, rtol=np.float64(1e-13)))
