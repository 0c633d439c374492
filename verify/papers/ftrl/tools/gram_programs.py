"""The worst error after T steps as one program over Gram matrices: all points of the run, and all inequalities between
them. Random vectors are a Hilbert space, draws are orthogonal to what came before.

Written from the recursion and the usual interpolation inequalities, for small T.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np

from dpbounds.ftrl.methods import LinearMethod


def worst_error(
    noise_matrix: np.ndarray,
    method: LinearMethod | Sequence[LinearMethod],
    mu: float,
    L: float,
    initial: float,
    *,
    mean: bool = False,
    foreseen: int = 0,
) -> float:
    """The largest E F(x_T) - F*, or its mean over x_1, ..., x_T, at variance 1; of a schedule if there is a method for
    each step, x_{t+1} being where the next one has it.

    For impostors: the gradient at t may know the draws up to t + `foreseen` - 1.
    """
    import cvxpy as cp

    T = len(noise_matrix)
    judged = range(1, T + 1) if mean else [T]
    methods = [method] * T if isinstance(method, LinearMethod) else list(method)
    # theta_0, draws, gradients at y_0, ..., y_{T-1}, and at the x that are judged
    size = 1 + 2 * T + len(judged)
    unit = np.eye(size)
    rest = np.linalg.lstsq(
        np.vstack([methods[0].A - np.eye(len(methods[0].A)), methods[0].C]),
        np.append(np.zeros(len(methods[0].A)), 1.0),
        rcond=None,
    )[0]
    state, points = np.outer(rest, unit[0]), [(np.zeros(size), np.zeros(size))]
    for t in range(T):
        one, following = methods[t], methods[min(t + 1, T - 1)]
        points.append((one.C @ state, unit[1 + T + t]))
        state = one.A @ state + np.outer(one.B, unit[1 + T + t] + noise_matrix[t] @ unit[1 : 1 + T])
        if t + 1 in judged:
            points.append((following.row @ state, unit[1 + 2 * T + list(judged).index(t + 1)]))
    outputs = [k for k, (_, slope) in enumerate(points) if slope[1 + 2 * T :].any()]
    G, f = cp.Variable((size, size), PSD=True), cp.Variable(len(points))

    def inner(x: np.ndarray, y: np.ndarray) -> Any:
        return cp.sum(cp.multiply(G, (np.outer(x, y) + np.outer(y, x)) / 2))

    limits = [f[0] == 0, G[0, 0] <= initial**2, G[1 : 1 + T, 1 : 1 + T] == np.eye(T), G[0, 1 : 1 + T] == 0]
    limits += [G[1 + T + t, 1 + s] == 0 for t in range(T) for s in range(t + foreseen, T)]
    limits += [G[1 + 2 * T + k, 1 + s] == 0 for k, t in enumerate(judged) for s in range(t + foreseen, T)]
    for i, j in permutations(range(len(points)), 2):
        (x, g), (y, h) = points[i], points[j]
        gap = inner(g - h, g - h) / L + mu * inner(x - y, x - y) - 2 * mu / L * inner(h - g, y - x)
        limits.append(f[i] >= f[j] + inner(h, x - y) + gap / (2 * (1 - mu / L)))
    problem = cp.Problem(cp.Maximize(cp.sum(f[outputs]) / len(outputs)), limits)
    problem.solve(solver=cp.CLARABEL)
    return float(np.asarray(problem.value))
