"""Quotients that grow at every scale, for statements whose constants are left open: exact value, or a lower bound of
it, over the printed rate, in any arithmetic. What is in common to both, such as epsilon and n, is left out.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from verify.checks import Unbounded

# log y <= y - 1 makes of a logarithm log(a s) at most s (1 + (log a - 1) / s).


def _delta(m: Any) -> Any:
    return m.number("1e-6")


def _failure(m: Any) -> Any:
    return m.number("1/20")


def noise(m: Any) -> Any:
    """epsilon sigma_1 / r^2 = epsilon sigma_2 / (r B) of the printed noise: sqrt(32 log(2.5 / delta))."""
    return m.sqrt(32 * m.log(m.number("2.5") / _delta(m)))


def surplus(m: Any) -> Any:
    """log(2.5 / delta) / log(1 / delta): of the printed variances and of rates."""
    return m.log(m.number("2.5") / _delta(m)) / m.log(1 / _delta(m))


def over_failure(m: Any, p: Any) -> Any:
    """log(p / xi)."""
    return m.log(p / _failure(m))


def logarithms(m: Any, p: int) -> Any:
    """l = sqrt(log(1 / delta) log(p^2 / xi))."""
    return m.sqrt(m.log(1 / _delta(m)) * over_failure(m, p * p))


# --- the private least squares step, as w_ols = 1 / s falls: (17), (53), (59) and the second part of (57) ---

P = 4


def _step_over(m: Any, small: Any, radius_squared: Any, label: Any) -> Any:
    """The root of E ||Sigma^{-1} (E_2 - E_1 w_ols)||^2, which is sqrt(p) sqrt(sigma_2^2 + sigma_1^2 ||w_ols||^2) over
    lambda sqrt n, over C sqrt(p) r^2 ||w_ols|| eta, times ||w_ols|| = `small`; Sigma = lambda I, lambda <= 1.
    """
    return noise(m) * m.sqrt(label**2 / radius_squared + small**2) / logarithms(m, P)


def _step(radius_squared: Any, label: int) -> Unbounded:
    def quotient(m: Any, s: Any) -> Any:
        return s * _step_over(m, 1 / s, radius_squared(m), label)

    def reduced(m: Any, x: Any) -> Any:
        """The quotient itself."""
        return _step_over(m, x, radius_squared(m), label)

    return Unbounded(quotient=quotient, reduced=reduced, shown={"ordinary": 1, "small": 10**6})


def _one(m: Any) -> Any:
    return m.number(1)


def _gaussian(m: Any) -> Any:
    """r^2 = 10 p ||Sigma|| log(n / xi) at Sigma = I, n = 10^6."""
    return 10 * P * over_failure(m, 10**6)


STEP_17 = _step(_one, 1)
STEP_53 = _step(_gaussian, 1)
STEP_59 = _step(_one, 2)


# --- the noise matrix against n lambda / 2: the conditions on n ---


def condition_33(m: Any, s: Any) -> Any:
    """16 p sigma_1^2 / lambda^2, the n at which 2 sqrt(p n) sigma_1 = n lambda / 2, over p r^4 ||Sigma||^2
    log(1 / delta) / (epsilon lambda)^2, at Sigma = I / (4 s), r = 1, p = 4.
    """
    return 512 * surplus(m) * (4 * s) ** 2


def _reduced_33(m: Any, x: Any) -> Any:
    """The quotient itself."""
    return 8192 * surplus(m)


CONDITION_33 = Unbounded(
    quotient=condition_33, reduced=_reduced_33, power=Fraction(2), shown={"ordinary": 1, "small": 100}
)


def asked(*, squared: bool = False, dropped: bool = False) -> Unbounded:
    """The same over (6), `squared` over (8), `dropped` over (14), at x_j = +-1 / p, p = 4 s, w* = 1: 512 p^3 over the
    logarithm, 512 p^5 for (14), which has not the factor 1 / min{lambda, 1} = p^2.
    """
    power, square = 5 if dropped else 3, 2 if squared else 1

    def quotient(m: Any, s: Any) -> Any:
        return 512 * surplus(m) * (4 * s) ** power / over_failure(m, (4 * s) ** square)

    def reduced(m: Any, x: Any) -> Any:
        """A lower bound: log((4 s)^k / xi) <= s (k + (log(4^k / xi) - k) x)."""
        logarithm = square + (over_failure(m, 4**square) - square) * x
        return 512 * surplus(m) * 4**power / logarithm

    return Unbounded(quotient=quotient, reduced=reduced, power=Fraction(power - 1), shown={"small": 1, "large": 16})


# --- Theorem 14 in the paper's own design ---


def _across(m: Any, s: Any) -> Any:
    """At x_j = +-1 / p, p = 4 s, w* = 1 / sqrt(p): of the deviation of a coordinate what the noise of x y orthogonal
    to w* gives, c sigma_2 sqrt((1 - 1 / p) / n) / lambda with c >= 4, over the privacy term, p l' / (epsilon sqrt n).
    """
    p = 4 * s
    return 4 * m.sqrt(32 * surplus(m) * (1 - 1 / p)) * p / m.sqrt(over_failure(m, p / _failure(m)))


def _reduced_across(m: Any, x: Any) -> Any:
    """A lower bound: log(p / xi^2) <= s (1 + (log(4 / xi^2) - 1) x)."""
    logarithm = 1 + (over_failure(m, 4 / _failure(m)) - 1) * x
    return 16 * m.sqrt(32 * surplus(m) * (1 - x / 4) / logarithm)


ACROSS = Unbounded(quotient=_across, reduced=_reduced_across, power=Fraction(1, 2), shown={"narrow": 1, "broad": 16})


def _size(m: Any, s: Any) -> Any:
    """epsilon^2 alpha^2 n / p^2 at p = 2 s, w* = 1: the coordinate's deviation is at least the noise's part orthogonal
    to w*, c sqrt((1 - 1 / p) (sigma_2^2 + sigma_1^2 (p - 1) a^2) / n) / lambda with lambda = 1 / p^2, c >= 4, and w_ols
    = a in every coordinate, a >= mu'(1), since |<x, w*>| <= 1.
    """
    p = 2 * s
    return 16 * noise(m) ** 2 * (1 - 1 / p) * (1 + _slope(m) ** 2 * (p - 1)) * p**2


def _slope(m: Any) -> Any:
    """mu'(1) of the logistic link."""
    return m.exp(m.number(-1)) / (1 + m.exp(m.number(-1))) ** 2


def _reduced_size(m: Any, x: Any) -> Any:
    """The quotient itself."""
    return 64 * noise(m) ** 2 * (1 - x / 2) * (x + _slope(m) ** 2 * (2 - x))


SIZE = Unbounded(quotient=_size, reduced=_reduced_size, power=Fraction(3), shown={"narrow": 1, "broad": 256})


# --- Theorem 8 and its conditions as w* = 1 / s falls; Sigma = I, p = 5, c >= 4 ---

FIVE, N, M = 5, 10**12, 10**10


def _radius_squared(m: Any, n: int) -> Any:
    """R^2 = 5 p ||Sigma|| log(n / xi)."""
    return 5 * FIVE * over_failure(m, n)


def _error_8(m: Any) -> Any:
    """What the noise of x y orthogonal to w* gives, c sigma_2 sqrt((p - 1) / n), over the rate of Theorem 8, times
    ||w*||^2, with c >= 4.
    """
    n, p = m.number(N), FIVE
    error = noise(m) * m.sqrt(_radius_squared(m, N) * (p - 1) / n)
    prime = m.sqrt(m.log(1 / _delta(m)) * over_failure(m, p / _failure(m)))
    private = m.sqrt(m.number(p) ** 3 / n) * over_failure(m, N) * prime
    return 64 * error / (private + m.sqrt(m.number(p) / M))  # epsilon = 1


def _asked_8(m: Any) -> Any:
    """16 p sigma_1^2 / lambda^2 over (3), times ||w*||^2, with c >= 4, n = 10^9 in logarithms, overline(c) = 1."""
    n, p = 10**9, FIVE
    needed = 512 * p * surplus(m) * _radius_squared(m, n) ** 2
    return 16 * needed / (p**3 * over_failure(m, n) ** 2 * over_failure(m, p * p))


def _vanishing(bound: Any) -> Unbounded:
    def quotient(m: Any, s: Any) -> Any:
        return bound(m) * s**2

    def reduced(m: Any, x: Any) -> Any:
        """The quotient itself."""
        return bound(m)

    return Unbounded(quotient=quotient, reduced=reduced, power=Fraction(2))


ERROR_8, ASKED_8 = _vanishing(_error_8), _vanishing(_asked_8)
