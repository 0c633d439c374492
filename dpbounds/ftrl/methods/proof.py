"""The certificate of a storage function: exact fractions from beginning to end.

Floats are fractions. Multipliers are put on a grid of fractions on which their balance is exact; the inequality is then
a symmetric matrix of fractions, whose definiteness `fractions` decides.

>>> from dpbounds.ftrl.correlations import independent
>>> from dpbounds.ftrl.methods.fractions import in_fractions
>>> from dpbounds.ftrl.methods.linear import gradient_descent
>>> from dpbounds.ftrl.methods.noises import noise_system
>>> loop = Loop.of(gradient_descent(eta=1.0), noise_system(independent(), exact), 0.1, 1.0, 0, exact)
>>> P = in_fractions(np.array([[0.53125]]))
>>> proves(loop, P, np.array([1.0, 0.0]), "f")
>>> objective(loop, P, exact(1.0), exact(0.0))
17/32
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpbounds.circle.polynomials import exact
from dpbounds.errors import AccuracyError
from dpbounds.ftrl.methods.fractions import positive_definite
from dpbounds.ftrl.methods.loops import Loop, Measure, Point
from dpbounds.ftrl.methods.program import at_lags, balance, carried


class Unproved(AccuracyError):
    """A candidate that is no proof, though another may be."""


# Bits of the largest multiplier that are kept.
BITS = 46


def balanced(loop: Loop, multipliers: np.ndarray, measure: Measure, *, telescopes: bool = False) -> np.ndarray:
    """Multipliers near these, floats on a common grid, at which the phi's of each kind cancel exactly.

    What is missing is added to the pairs of the present point and theta*, so that nothing becomes negative. Pairs of
    one kind cancel by themselves, and are by far the largest at small steps: they are on the grid only if what is left
    of them `telescopes`, for `balanced_past`.
    """
    pairs = loop.pairs()
    signs, judged = balance(loop, pairs, measure)
    pairs_of = [[_place(pairs, kind, 0, up=up) for up in (True, False)] for kind in loop.kinds]
    counted = np.full(len(pairs), telescopes) | np.any(signs, axis=0)
    return np.where(counted, _rounded(np.where(counted, multipliers, 0.0), signs, -judged, pairs_of), multipliers)


def balanced_past(loop: Loop, multipliers: np.ndarray, past: np.ndarray) -> np.ndarray:
    """The same between past points, for multipliers that are balanced: their phi's are exactly gamma."""
    if loop.memory == 0:
        return past
    pairs, wanted = loop.past_pairs(), carried(loop, loop.pairs()) @ multipliers
    pairs_of = [[_place(pairs, "y", lag, up=up) for up in (True, False)] for lag in range(1, loop.memory + 1)]
    return _rounded(past, at_lags(loop, pairs)[1:], wanted, pairs_of)


def _rounded(
    multipliers: np.ndarray, signs: np.ndarray, wanted: np.ndarray, pairs_of: Sequence[Sequence[int]]
) -> np.ndarray:
    """Multiples of a power of two with `signs` times them `wanted`, a multiple of it too; the two pairs of each row
    take what is missing.
    """
    largest = max(float(np.max(multipliers)), float(np.max(np.abs(wanted))), np.finfo(float).tiny)
    grid = 2.0 ** (np.ceil(np.log2(largest)) - BITS)
    found = np.round(np.maximum(multipliers, 0.0) / grid)  # whole numbers of at most 2^BITS
    for (up, down), amount in zip(pairs_of, wanted / grid - signs @ found, strict=True):
        found[up if amount > 0 else down] += abs(amount)
    return found * grid


def _place(pairs: list[tuple[Point, Point]], kind: str, lag: int, *, up: bool) -> int:
    """The pair (point, theta*), or (theta*, point)."""
    ends = ((kind, lag), ("", 0)) if up else (("", 0), (kind, lag))
    return next(k for k, (i, j) in enumerate(pairs) if ((i.kind, i.lag), (j.kind, j.lag)) == ends)


def proves(
    loop: Loop,
    P: np.ndarray,
    multipliers: np.ndarray,
    measure: Measure,
    *,
    extra: np.ndarray | None = None,
    errors: bool = False,
) -> None:
    """Raise `Unproved` unless `P`, in fractions, and the multipliers satisfy the inequalities of `program.solve` for
    the exact `loop`, strictly.
    """
    pairs, weights = loop.pairs(), _weights(multipliers, len(loop.pairs()))
    signs, judged = balance(loop, pairs, measure)
    if any(_dot(row, weights) != -int(j) for row, j in zip(signs, judged, strict=True)):
        raise Unproved("storage: the values of the loss do not cancel exactly")
    inequality = loop.growth(P) + loop.measure(measure) + loop.interpolations(pairs, weights)
    energy = loop.error @ P @ loop.error
    if extra is not None:
        inequality = inequality + energy * extra
    if (errors or extra is not None) and energy < 0:
        raise Unproved("storage: errors of the gradient would lower it")
    if not positive_definite(-inequality):
        raise Unproved("storage: the inequality is not shown to hold for all states and gradients")


def proves_coercive(loop: Loop, P: np.ndarray, multipliers: np.ndarray, past: np.ndarray) -> None:
    """Raise `Unproved` unless W >= c |s|^2, c > 0, follows from the multipliers between past points."""
    pairs, between = loop.pairs(), loop.past_pairs() if loop.memory else []
    weights, held = _weights(multipliers, len(pairs)), _weights(past, len(between))
    if between:
        for row, gamma in zip(at_lags(loop, between)[1:], carried(loop, pairs), strict=True):
            if _dot(row, held) != _dot(gamma, weights):
                raise Unproved("storage: past values of the loss are not those of its multipliers")
    forms = loop.interpolations(between, held)
    if not positive_definite(P - forms[: loop.size, : loop.size]):
        raise Unproved("storage: it is not shown to be positive, so that it shows no stability")


def _weights(values: np.ndarray, length: int) -> np.ndarray:
    found = np.array([exact(float(x)) for x in values], dtype=object)
    if len(found) != length or any(weight < 0 for weight in found):
        raise Unproved(f"storage: it takes {length} multipliers of at least 0")
    return found


def _dot(row: np.ndarray, weights: np.ndarray) -> Any:
    """Whole numbers times fractions."""
    return sum((int(s) * w for s, w in zip(row, weights, strict=True)), exact(0.0))


def objective(loop: Loop, P: np.ndarray, draws: Any, errors: Any) -> Any:
    """draws draw' P draw + errors error' P error."""
    return draws * (loop.draw @ P @ loop.draw) + errors * (loop.error @ P @ loop.error)
