"""Beyond the paper: the units in which programs for linear methods are solved, by second moments of their own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import solve_discrete_lyapunov

from dpbounds.ftrl.correlations import from_coefficients
from dpbounds.ftrl.methods import LinearMethod, heavy_ball, triple_momentum
from dpbounds.ftrl.methods.coordinates import units, whitened
from dpbounds.ftrl.methods.loops import Loop, Measure
from dpbounds.ftrl.methods.noises import noise_system
from verify.checks import Fact

MU, L, DRAWS, ERRORS, RIDGE = 0.15, 1.3, 0.7, 0.4, 0.3
CASES: tuple[tuple[LinearMethod, int, bool, Measure], ...] = (
    (heavy_ball(eta=0.4, momentum=0.3), 2, False, "f"),
    (triple_momentum(eta=0.3, b=0.35, g=0.2, d=0.6), 1, True, "gradient"),
    (triple_momentum(eta=0.3, b=0.35, g=0.2, d=0.6), 1, False, "distance"),
)


def _moments(loop: Loop, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Second moments of (s, inputs), and of the next s less s, where grad F = h y: inputs are h - mu times places."""
    size, places = loop.size, (loop.y, loop.x)[: len(loop.kinds)]
    whole = np.vstack([np.eye(size), *((h - MU) * place[:size] for place in places)])
    moved, drives = (
        loop.step @ whole,
        DRAWS * np.outer(loop.draw, loop.draw) + ERRORS * np.outer(loop.error, loop.error),
    )
    moments = solve_discrete_lyapunov(np.eye(size) + moved, drives)
    return whole @ moments @ whole.T, moved @ moments @ moved.T + drives


def _matrices(loop: Loop) -> np.ndarray:
    """Differences of (s, inputs) by hand: of places and slopes next to each other in time, and of output and y."""
    T, kinds, start = loop.memory, len(loop.kinds), loop.size - 2 * loop.memory * len(loop.kinds)
    whole = np.eye(loop.width)
    slopes = [loop.size, *range(start + T, start + 2 * T)]  # of y: p_0, p_1, ...
    for k in range(T):
        whole[slopes[k + 1], slopes[k]] = -1
        if k:
            whole[start + k, start + k - 1] = -1
    for k in range(2 * T if kinds == 2 else 0):
        whole[start + 2 * T + k, start + k] = -1
    if kinds == 2:
        whole[loop.size + 1, loop.size] = -1
    return whole


def _speeds(loop: Loop, h: float, moves: np.ndarray) -> np.ndarray:
    """Squares: of the state's own entries how they move, of kept places a step of theirs, of slopes h - mu times it."""
    own = loop.size - 2 * loop.memory * len(loop.kinds)
    rows = [loop.y[: loop.size], (loop.x - loop.y)[: loop.size]][: len(loop.kinds)]
    found = np.diag(moves)[:own].tolist()
    for step in [float(row @ moves @ row) for row in rows]:
        found += [step] * loop.memory + [(h - MU) ** 2 * step] * loop.memory
    return np.array(found)


def _ridged(moments: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """With `RIDGE` added to the correlations in these coordinates."""
    back = np.linalg.inv(scale)
    return moments + RIDGE * scale @ np.diag(np.diag(back @ moments @ back.T)) @ scale.T


def coordinates(rng: np.random.Generator) -> Iterator[Fact]:
    """Units are the largest root mean squares on three quadratics; turned, moments added over these are 1."""
    for method, memory, own, measure in CASES:
        system = noise_system(from_coefficients((1.0, -0.6)), float)
        bare, loop = (Loop.of(method, system, MU, L, T, float, own_slope=own) for T in (0, memory))
        found, whole = units(bare, loop, L, measure, DRAWS, ERRORS), _matrices(loop)
        inner, curvatures = whole[: loop.size, : loop.size], (MU, (MU * L) ** 0.5, L)
        moments = [_moments(loop, h) for h in curvatures]
        sizes = np.sqrt(np.max([np.diag(whole @ one @ whole.T) for one, _ in moments], axis=0))
        squares = [_speeds(loop, h, moves) for h, (_, moves) in zip(curvatures, moments, strict=True)]
        label = f"{method.name}, {measure}, memory {memory}"
        yield Fact(f"{label}: coordinates", whole @ found.all, np.diag(sizes), 1e-9)
        yield Fact(f"{label}: of steps", found.steps * np.sqrt(np.max(squares, axis=0))[:, None], inner, 1e-9)
        judged = [{"f": h / 2, "distance": 1.0, "gradient": h * h}[measure] for h in curvatures]
        values = [w * (loop.x @ one @ loop.x) for w, (one, _) in zip(judged, moments, strict=True)]
        energies = [h / 2 * (loop.y @ one @ loop.y) for h, (one, _) in zip(curvatures, moments, strict=True)]
        stated = [max(values), max(values) / max(energies)]
        yield Fact(f"{label}: of value and multipliers", [found.value, found.multiplier], stated, 1e-9)
        turned, total = whitened(loop, found, L, DRAWS, ERRORS, RIDGE), sum(one for one, _ in moments)
        yield Fact(f"{label}: turned", turned.all @ turned.all.T, _ridged(np.asarray(total), found.all), 1e-9)
        back, moved = np.linalg.inv(turned.steps), sum(moves for _, moves in moments)
        yield Fact(
            f"{label}: steps turned", back @ back.T, _ridged(np.asarray(moved), np.linalg.inv(found.steps)), 1e-9
        )
