"""What clipping alone leaves: the fixed point that gradient descent without noise would reach.

>>> X = np.tile([[0.5], [-0.5]], (100, 1))
>>> y = 0.6 * X[:, 0] + np.where(np.arange(200) % 4 == 0, 0.3, -0.1)
>>> round(float(clip_floor(X, y, clip=0.2).risk), 12), round(float(clip_floor(X, y, clip=0.06).risk), 4)
(0.0, 0.0)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, moderate
from dpbounds.ols.clipping.rows import rows_of
from dpbounds.values import Value

# Of the sum of clipped gradients, relative to the largest that n rows can have.
TOLERANCE = 1e-12
MOST_ROUNDS = 500
# Of the loss, relative to it: by so much a step may seem to raise it where it does not.
ROUNDING = 1e-14


class Floor(NamedTuple):
    """`risk`: ||X (theta_c - theta*)||², a sum over records; `relative`: over that of theta = 0; `theta` (d,): theta_c;
    `unclipped`: the share of rows within their limit at theta*; `explained`: risk unclipped² over the sum of squares
    clipped off there, about .1 where residuals are no simpler than most.
    """

    risk: Value
    relative: float
    theta: np.ndarray
    unclipped: float
    explained: float


@typed
def clip_floor(X: ArrayLike, y: ArrayLike, *, clip: float) -> Floor:
    """The theta_c at which sum x_i clip(r_i, clip / ||x_i||) = 0: the least of a Huber loss, by Newton steps that are
    halved until the loss falls. Raises `AccuracyError` where the sum does not reach 1e-12 of its largest.
    """
    rows = rows_of(X, y)
    limits = moderate("clip", clip) / rows.lengths
    theta = rows.theta_star
    for _ in range(MOST_ROUNDS):
        r = rows.y - rows.X @ theta
        gradient = rows.X.T @ np.clip(r, -limits, limits)
        if np.abs(gradient).max() <= TOLERANCE * clip * rows.n:
            break
        inside = np.abs(r) < limits
        # A little of the whole curvature, where too few rows are within their limits to give one.
        curvature = rows.X[inside].T @ rows.X[inside] + 1e-9 * rows.gram.A
        theta = _lowered(rows.X, rows.y, limits, theta, np.linalg.lstsq(curvature, gradient, rcond=None)[0])
    else:
        raise AccuracyError(f"no fixed point of clipping at {clip:g} was found in {MOST_ROUNDS} rounds")
    r = rows.y - rows.X @ rows.theta_star
    beyond, off = r - np.clip(r, -limits, limits), theta - rows.theta_star
    risk, squares = float(off @ rows.gram.A @ off), float(beyond @ beyond)
    unclipped = float(np.mean(np.abs(r) < limits))
    return Floor(
        risk=Value(risk, kind="exact", source="dpbounds", convention="sum over records, without noise"),
        relative=risk / rows.gap,
        theta=theta,
        unclipped=unclipped,
        explained=risk * unclipped**2 / squares if squares > 0 else 0.0,
    )


def _lowered(X: np.ndarray, y: np.ndarray, limits: np.ndarray, theta: np.ndarray, step: np.ndarray) -> np.ndarray:
    """theta + step, the step halved until the loss is no larger than rounding makes it."""
    most = (1 + ROUNDING) * _loss(y - X @ theta, limits)
    for halvings in range(60):
        moved = theta + step / 2**halvings
        if _loss(y - X @ moved, limits) <= most:
            return moved
    return theta


def _loss(r: np.ndarray, limits: np.ndarray) -> float:
    size = np.abs(r)
    return float(np.sum(np.where(size <= limits, r**2 / 2, limits * (size - limits / 2))))
