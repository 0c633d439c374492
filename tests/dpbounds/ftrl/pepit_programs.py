"""The worst error after T steps, written for PEPit: draws are points that are orthogonal to what came before them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PEPit import PEP, Point
from PEPit.functions import SmoothStronglyConvexFunction

from dpbounds.ftrl.methods import LinearMethod


def pepit_error(
    noise_matrix: np.ndarray,
    methods: Sequence[LinearMethod],
    mu: float,
    L: float,
    initial: float,
    *,
    mean: bool = False,
    foreseen: bool = False,
) -> float:
    """The largest E F(x_T) - F*, or its mean over x_1, ..., x_T, at variance 1, from rest at theta_0.

    Random vectors with second moments are a Hilbert space with the product E <., .>, on which E F is as convex and
    smooth as F; PEPit's points live in any. With `foreseen` gradients may know the draw that follows them.
    """
    T, first = len(noise_matrix), methods[0]
    problem = PEP()
    loss = problem.declare_function(SmoothStronglyConvexFunction, mu=mu, L=L)
    minimiser = loss.stationary_point()
    start = problem.set_initial_point() - minimiser
    problem.set_initial_condition(start**2 <= initial**2)
    draws = [Point() for _ in range(T)]
    for s, draw in enumerate(draws):
        problem.add_constraint(draw**2 == 1)
        for other in (start, *draws[:s]):
            problem.add_constraint(draw * other == 0)

    def along(row: np.ndarray, points: Sequence[Point]) -> Point:
        return sum((float(weight) * point for weight, point in zip(row, points, strict=True)), 0 * start)

    rest = np.linalg.lstsq(
        np.vstack([first.A - np.eye(len(first.A)), first.C]), np.append(np.zeros(len(first.A)), 1.0), rcond=None
    )[0]
    state, errors = [float(weight) * start for weight in rest], []
    for t, method in enumerate(methods):
        gradient = loss.gradient(minimiser + along(method.C, state))
        for draw in draws[t + foreseen :]:
            problem.add_constraint(draw * gradient == 0)
        push = gradient + along(noise_matrix[t], draws)
        state = [along(row, state) + float(gain) * push for row, gain in zip(method.A, method.B, strict=True)]
        judged = minimiser + along(method.row, state)
        if mean or t + 1 == T:
            slope, value = loss.oracle(judged)
            for draw in draws[t + 1 + foreseen :]:
                problem.add_constraint(draw * slope == 0)
            errors.append(value - loss(minimiser))
    problem.set_performance_metric(sum(errors[1:], errors[0]) * (1 / len(errors)))
    return float(problem.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0))
