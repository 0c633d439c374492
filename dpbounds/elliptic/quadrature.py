"""The trapezoid rule behind both `integral` functions, for any numbers that can be added and compared.

>>> rule = {"step": 0.25, "left": 40, "right": 40, "tolerance": 1e-12}
>>> round(float(integral_over_circle(lambda s: 1 / (1 + 3 * s), math.exp, **rule)) / math.pi, 12)
1.0
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from dpbounds.errors import AccuracyError

HALVINGS = 4
# Of half the circle, for an enclosure.
CELLS = 2048
# Digits beyond those asked for: the errors of a rule and of twice its step have constants of their own.
SPARE = 4


def integral_over_circle(
    f: Callable[[Any], Any],
    exp: Callable[[Any], Any],
    *,
    step: Any,
    left: int,
    right: int,
    tolerance: Any,
) -> Any:
    """∫_{−π}^{π} f(sin²(ω/2)) dω by tan(ω/2) = e^y, dω = dy / cosh y, and the trapezoid rule on −left ≤ y ≤ right.

    The integrand is analytic for |Im y| < π/2 whenever f is analytic off the rays s ≤ 0 and s ≥ 1, as every function
    of E_a is: the rule then errs by about e^{−π²/step}, so halving the step doubles the digits. The step is halved
    until two results agree to `tolerance` times ∫|f|. They do not where a term at either end is not negligible: the
    two rules give it different weights.

    Raise `AccuracyError` if four halvings bring no agreement.
    """
    count = round((left + right) / step)
    total, magnitude = _sums(f, exp, -left, step, count + 1)
    result = total * step
    for _ in range(HALVINGS):
        more, more_magnitude = _sums(f, exp, -left + step / 2, step, count)
        total, magnitude, step, count = total + more, magnitude + more_magnitude, step / 2, 2 * count
        previous, result = result, total * step
        if np.all(abs(result - previous) <= tolerance * magnitude * step):
            return result
    reasons = "the integrand diverges, is not analytic, or has features too narrow for the nodes"
    raise AccuracyError(f"integral: the quadrature did not converge to {float(tolerance):.1e}; {reasons}")


def _sums(f: Callable, exp: Callable, start: Any, step: Any, count: int) -> tuple[Any, Any]:
    """Sum of the terms at start, start + step, ..., and of their absolute values."""
    total = magnitude = 0
    for k in range(count):
        term = _term(f, exp(-start - k * step))
        total = total + term
        magnitude = magnitude + abs(term)
    return total, magnitude


def _term(f: Callable, e: Any) -> Any:
    """2 f(s) / cosh y at e = e^{−y}, s = sin²(ω/2) = 1 / (1 + e^{−2y}); the 2 is for the negative frequencies."""
    s = 1 / (1 + e * e)
    return 4 * e * s * f(s)


def enclosed_integral(f: Callable[[Any], Any]) -> Any:
    """A ball that holds the integral, for balls f: a sum over `CELLS` angles, sin² being between its ends on each.

    Every error is in the radius, which is of the order of the cells' width.
    """
    import flint

    angle = flint.arb.pi() / CELLS
    squares = [(k * angle / 2).sin() ** 2 for k in range(CELLS + 1)]
    return 2 * angle * sum((f(low.union(high)) for low, high in pairwise(squares)), start=flint.arb(0))


def integral_of_balls(f: Callable[[Any], Any], digits: int) -> Any:
    """The same rule at one step, for Arb balls at the current precision: its error is about 10^-digits of ∫|f|.

    The radius of the result counts rounding, not the rule's error; that is the square of the difference from twice the
    step, which is checked. `f` should have no feature narrower than sin(ω/2) = 1e-30. Raise `AccuracyError` otherwise.
    """
    import flint

    total = coarse = magnitude = flint.arb(0)
    for index, (s, weight) in enumerate(_ball_rule(digits + SPARE, flint.ctx.prec)):
        term = weight * f(s)
        total += term
        magnitude += abs(term)
        if index % 2 == 0:
            coarse += 2 * term
    if not abs(total - coarse) <= magnitude * flint.arb(10) ** (2 - digits // 2):
        raise AccuracyError(f"integral: halving the step changes it by {(total - coarse).str(3)} in {total.str(3)}")
    return total


@lru_cache(maxsize=4)
def _ball_rule(digits: int, precision: int) -> list[tuple[Any, Any]]:
    """Points s and weights, from tan(ω/2) = 1e-30 times the accuracy to the reciprocal of the accuracy."""
    import flint

    nepers = digits * math.log(10)
    step = flint.arb(math.pi**2 / nepers)
    left, right = math.ceil((nepers + 70) / float(step)), math.ceil(nepers / float(step))
    rule = []
    for k in range(-left, right + 1):
        e = (-k * step).exp()
        s = 1 / (1 + e * e)
        rule.append((s, 4 * e * s * step))
    return rule
