"""The error on one quadratic F = (h / 2) |theta|^2, exactly: a lower bound for every class that holds it.

The stationary second moment S of the loop solves S = M S M' + N b b'; with M = I + Delta it is solved as Delta S + S
Delta' + Delta S Delta' = -b b', where nothing cancels at small steps, in floats or in exact fractions.

>>> from dpbounds.ftrl.correlations import independent
>>> from dpbounds.ftrl.methods.linear import gradient_descent
>>> from dpbounds.ftrl.methods.noises import noise_system
>>> loop = Loop.of(gradient_descent(eta=0.1), noise_system(independent(), float), 0.1, 1.0, 0, float)
>>> round(float(quadratic_error(loop, 1.0, "f")[0]), 12)
0.026315789474
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from dpbounds.errors import AccuracyError
from dpbounds.ftrl.methods.loops import Loop, Measure
from dpbounds.ftrl.methods.noises import zeros_of

# Curvatures that are tried first, around the best of them, and how often.
CURVATURES, CLOSER, ZOOMS = 33, 9, 5
# Unknown second moments up to which the equation is solved in fractions.
MOST_EXACT = 60


def closed_loop(loop: Loop, h: Any) -> np.ndarray:
    """Delta on F = (h / 2) |theta|^2, where p = (h - mu) y: of the whole state."""
    size, inside = loop.size, h - loop.mu
    delta = loop.step[:, :size].copy()
    for column, point in enumerate((loop.y, loop.x)[: len(loop.kinds)]):
        delta = delta + np.outer(loop.step[:, size + column], inside * point[:size])
    return delta


def second_moment(delta: np.ndarray, drive: np.ndarray, number: Callable[[float], Any] = float) -> np.ndarray:
    """S with Delta S + S Delta' + Delta S Delta' = -drive drive'; `AccuracyError` where the equation is singular."""
    size = len(drive)
    try:
        if number is float:
            one = np.eye(size)
            system = np.kron(one, delta) + np.kron(delta, one) + np.kron(delta, delta)
            found = np.linalg.solve(system, -np.outer(drive, drive).ravel()).reshape(size, size)
            return (found + found.T) / 2.0
        return _in_fractions(delta, drive, number)
    except (np.linalg.LinAlgError, ZeroDivisionError):
        raise AccuracyError("second moment: the loop has none on this quadratic") from None


def _in_fractions(delta: np.ndarray, drive: np.ndarray, number: Callable[[float], Any]) -> np.ndarray:
    """The same for its upper triangle, in as few unknowns as there are."""
    size = len(drive)
    rows, columns = np.triu_indices(size)
    places = {pair: k for k, pair in enumerate(zip(rows.tolist(), columns.tolist(), strict=True))}
    system = zeros_of((len(rows), len(rows)), number)
    for k, (i, j) in enumerate(places):
        for a in range(size):
            for weight, b in ((delta[i, a], j), (delta[j, a], i)):
                system[k, places[min(a, b), max(a, b)]] += weight
            if delta[i, a] != 0:
                for b in range(size):
                    system[k, places[min(a, b), max(a, b)]] += delta[i, a] * delta[j, b]
    found = _solved(system, -drive[rows] * drive[columns])
    moment = zeros_of((size, size), number)
    moment[rows, columns] = moment[columns, rows] = found
    return moment


def _solved(system: np.ndarray, right: np.ndarray) -> np.ndarray:
    from flint import fmpq_mat

    size = len(right)
    found = fmpq_mat(size, size, system.ravel().tolist()).solve(fmpq_mat(size, 1, right.tolist()))
    return np.array([found[k, 0] for k in range(size)], dtype=object)


def quadratic_error(loop: Loop, h: Any, measure: Measure) -> tuple[Any, Any]:
    """The stationary measure on F = (h / 2) |theta|^2 per unit variance of the draws, and of errors of the gradient.

    `loop` without memory; the second moment has to exist, which is what stability of the loop means.
    """
    weight = h / 2 if measure == "f" else h * h if measure == "gradient" else loop.number(1.0)
    # the sum of squared responses of the output is the same from both ends: one equation for both drives
    seen = second_moment(closed_loop(loop, h).T, loop.x[: loop.size], loop.number)
    draw, error = (weight * (drive @ seen @ drive) for drive in (loop.draw, loop.error))
    return draw, error


def worst_curvature(loop: Loop, L: float, measure: Measure, draws: float, errors: float) -> tuple[float, float]:
    """The h in [mu, L] of the largest error found, and that error: `draws` times the first of `quadratic_error` and
    `errors` times the second. A search: whatever it finds is a lower bound.
    """

    @cache
    def value(h: float) -> float:
        return float(np.dot(quadratic_error(loop, h, measure), (draws, errors)))

    mu = float(loop.mu)
    low, high = np.log(mu), np.log(L)
    best = mu
    for zoom in range(ZOOMS + 1):
        points = np.linspace(low, high, CLOSER if zoom else CURVATURES)
        curvatures = [min(max(float(h), mu), L) for h in np.exp(points)]
        index = int(np.argmax([value(h) for h in curvatures]))
        best = max(best, curvatures[index], key=value)
        low, high = points[max(index - 1, 0)], points[min(index + 1, len(points) - 1)]
    return best, value(best)
