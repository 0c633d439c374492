"""Coordinates in which a loop moves by about 1, so that the condition of its program hardly depends on the step size.

At small steps what is next to each other in time, and output and y, are nearly the same: the coordinates are
differences, q_k - q_{k-1}, p_k - p_{k-1}, and of the output what it has beyond y. Each has its root mean square on the
quadratics of curvature mu, (mu L)^{1/2} and L as its unit, the largest of them. `whitened` turns them besides so that
they are nearly uncorrelated: for the smallest steps, at which states are nearly functions of each other.

>>> from dpbounds.ftrl.correlations import independent
>>> from dpbounds.ftrl.methods.linear import heavy_ball
>>> from dpbounds.ftrl.methods.noises import noise_system
>>> loop = Loop.of(heavy_ball(eta=0.1, momentum=0.5), noise_system(independent(), float), 0.1, 1.0, 1, float)
>>> differences(loop)[0].astype(int).tolist()[3]  # p_1 - p_0, over (theta, step, q_1, p_1, p_0)
[0, 0, 0, 1, -1]
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpbounds.ftrl.methods.loops import Loop, Measure
from dpbounds.ftrl.methods.quadratics import closed_loop, second_moment

# What is added to correlations of 1 before they are whitened, one after the other.
RIDGES = (1e-3, 1e-9)
# The least square of a coordinate.
_TINY, _SMALL = np.finfo(float).tiny, 1e-100


@dataclass(frozen=True, eq=False)
class Units:
    """(s, inputs) = `all` v for coordinates v of about 1, `steps` s for those in which s moves by about 1; units of the
    multipliers, and of the value.
    """

    all: np.ndarray
    steps: np.ndarray
    multiplier: float
    value: float


def differences(loop: Loop) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers: the differences over (s, inputs), and over s alone, without those to the inputs."""
    memory, kinds, size = loop.memory, len(loop.kinds), loop.size
    whole = np.eye(loop.width)
    for kind in range(kinds):
        places, slopes = _columns(loop, kind)
        if kind:  # the output less y, at every lag
            for own, of_y in zip((*places, *slopes), (*_columns(loop, 0)[0], *_columns(loop, 0)[1]), strict=True):
                whole[own, of_y] = -1.0
            continue
        for lag in range(memory):
            whole[slopes[lag + 1], slopes[lag]] = -1.0
            if lag:
                whole[places[lag], places[lag - 1]] = -1.0
    return whole, whole[:size, :size].copy()


def units(bare: Loop, loop: Loop, L: float, measure: Measure, draws: float, errors: float) -> Units:
    """Of differences; `bare` is the loop without memory.

    A past step has the root mean square of a step, and a gradient, less mu times its place, h - mu times that of its
    place.
    """
    size, memory, mu = bare.size, loop.memory, float(loop.mu)
    squares, moves, values, energies = [], [], [], []
    places = [bare.y[:size], (bare.x - bare.y)[:size]][: len(bare.kinds)]
    for h in _curvatures(loop, L):
        delta = closed_loop(bare, h)
        moment = draws * second_moment(delta, bare.draw) + errors * second_moment(delta, bare.error)

        def square(row: np.ndarray, moment: np.ndarray = moment) -> float:
            return float(row @ moment @ row)

        def step(row: np.ndarray, delta: np.ndarray = delta) -> float:
            return square(row @ delta) + draws * float(row @ bare.draw) ** 2 + errors * float(row @ bare.error) ** 2

        found, moving = [square(row) for row in np.eye(size)], [step(row) for row in np.eye(size)]
        for kind, row in enumerate(places):
            of_places, of_slopes = [step(row)] * memory, (h - mu) ** 2 * (square(row) if kind else step(row))
            found += [*of_places, *[of_slopes] * memory]
            moving += [*of_places, *[(h - mu) ** 2 * step(row)] * memory]
        squares.append([*found, *((h - mu) ** 2 * square(row) for row in places)])
        moves.append(moving)
        output = square(bare.x[:size])
        values.append(output * (h / 2 if measure == "f" else h * h if measure == "gradient" else 1.0))
        energies.append(h / 2 * square(bare.y[:size]))
    whole, inner = differences(loop)
    sizes, speeds = (np.sqrt(np.maximum(np.max(found, axis=0), _TINY)) for found in (squares, moves))
    return Units(np.linalg.inv(whole) * sizes, inner / speeds[:, None], max(values) / max(energies), max(values))


def whitened(loop: Loop, scale: Units, L: float, draws: float, errors: float, ridge: float) -> Units:
    """The coordinates of `scale` turned, by second moments on the same quadratics, so that they are uncorrelated."""
    size, mu = loop.size, float(loop.mu)
    inner = differences(loop)[1]
    back, rows = np.linalg.inv(inner), np.linalg.inv(scale.all)
    all_moments, step_moments = np.zeros((loop.width,) * 2), np.zeros((size, size))
    for h in _curvatures(loop, L):
        delta = inner @ closed_loop(loop, h) @ back
        drives = [(draws, inner @ loop.draw), (errors, inner @ loop.error)]
        moment = sum((energy * second_moment(delta, drive) for energy, drive in drives if energy), 0.0 * delta)
        inputs = [(h - mu) * place[:size] for place in (loop.y, loop.x)[: len(loop.kinds)]]
        seen = rows @ np.vstack([np.eye(size), *inputs]) @ back
        all_moments += seen @ moment @ seen.T
        moved = scale.steps @ back
        driven = sum((energy * np.outer(drive, drive) for energy, drive in drives), 0.0 * delta)
        step_moments += moved @ (delta @ moment @ delta.T + driven) @ moved.T
    return turned(scale, all_moments, step_moments, ridge)


def turned(scale: Units, moments: np.ndarray, moves: np.ndarray, ridge: float) -> Units:
    """The coordinates of `scale` in which these second moments, and those of the steps, are nearly 1."""
    return replace(scale, all=scale.all @ _root(moments, ridge)[0], steps=_root(moves, ridge)[1] @ scale.steps)


def _columns(loop: Loop, kind: int) -> tuple[list[int], list[int]]:
    """Where in (s, inputs) the places q_1, q_2, ... and the slopes p_0, p_1, ... of a kind of points stand."""
    memory = loop.memory
    start = loop.size - 2 * memory * (len(loop.kinds) - kind)
    slopes = [loop.size + kind, *range(start + memory, start + 2 * memory)]
    return list(range(start, start + memory)), slopes


def _curvatures(loop: Loop, L: float) -> tuple[float, float, float]:
    mu = float(loop.mu)
    return mu, float(np.sqrt(mu * L)), L


def _root(moments: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """A root of the moments, their correlations ridged, and its inverse."""
    sizes = np.sqrt(np.maximum(np.diag(moments), _SMALL))
    values, vectors = np.linalg.eigh(moments / np.outer(sizes, sizes) + ridge * np.eye(len(sizes)))
    spread = np.sqrt(np.maximum(values, ridge))
    return sizes[:, None] * vectors * spread, vectors.T / spread[:, None] / sizes
