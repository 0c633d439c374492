"""Beyond the paper: the units in which programs for linear methods are solved, by second moments of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.linalg import solve_discrete_lyapunov

from dpbounds import AccuracyError
from dpbounds.ftrl.correlations import from_coefficients
from dpbounds.ftrl.methods import LinearMethod, heavy_ball, triple_momentum
from dpbounds.ftrl.methods.bounds import _bounded
from dpbounds.ftrl.methods.conic import Infeasible
from dpbounds.ftrl.methods.coordinates import Units, units, whitened
from dpbounds.ftrl.methods.loops import Loop, Measure
from dpbounds.ftrl.methods.noises import noise_system
from dpbounds.ftrl.methods.program import Storage, at_lags, carried, solve
from dpbounds.ftrl.methods.proof import Unproved
from dpbounds.ftrl.methods.refining import Search
from verify.checks import Fact, Holds

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


def _ridged(moments: np.ndarray, scale: np.ndarray, ridge: float = RIDGE) -> np.ndarray:
    """With a ridge added to the correlations in these coordinates."""
    back = np.linalg.inv(scale)
    return moments + ridge * scale @ np.diag(np.diag(back @ moments @ back.T)) @ scale.T


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


# --- how better units are searched for ---


def _storage(loop: Loop, **other: Any) -> Storage:
    """Nothing but what a search looks at."""
    empty, moments = np.zeros(0), np.diag(np.arange(1.0, loop.width + 1)) + 0.3
    given = {"P": empty, "multipliers": np.array([0.4, 2.6]), "past": empty, "value": -1.7, "error": 1.0}
    return Storage(**{**given, "moments": moments, **other})


def _worst_case(loop: Loop) -> Iterator[Fact]:
    """Units by the second moments that a solution has; errors that grow with the state by how much it is."""
    own = np.random.default_rng(43)
    form = np.diag(np.arange(loop.width) - 1.0)
    scale = Units(own.uniform(-1, 1, (loop.width,) * 2), own.uniform(-1, 1, (loop.size,) * 2), 0.9, 0.8)
    for extra, sign in ((None, 0), (form, 1), (-form, 0)):
        found = _storage(loop)
        seen = scale.all @ found.moments @ scale.all.T
        errors = ERRORS + sign * float(np.trace(form @ seen))
        made = Search(loop, None, None, DRAWS, ERRORS, extra)._of_worst_case(scale, found)  # pyright: ignore[reportArgumentType]
        moves = loop.step @ seen @ loop.step.T
        moves = moves + DRAWS * np.outer(loop.draw, loop.draw) + errors * np.outer(loop.error, loop.error)
        back = np.linalg.inv(made.steps)
        yield Fact(f"worst case, {sign}: coordinates", made.all @ made.all.T, _ridged(seen, scale.all, 0.01), 1e-9)
        yield Fact(f"worst case, {sign}: steps", back @ back.T, _ridged(moves, np.linalg.inv(scale.steps), 0.01), 1e-9)
        yield Fact(f"worst case, {sign}: multiplier and value", [made.multiplier, made.value], [2.6, 1.7])
    search = Search(loop, None, None, DRAWS, ERRORS)  # pyright: ignore[reportArgumentType]
    kept = search._of_worst_case(scale, _storage(loop, multipliers=np.zeros(0), value=0.0))
    yield Fact("worst case of nothing: multiplier and value", [kept.multiplier, kept.value], [0.9, 0.8])


def searches(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Units are refined while the error falls; margins grow until there is a proof; other units are the last resort."""
    loop = Loop.of(CASES[0][0], noise_system(from_coefficients((1.0, -0.6)), float), MU, L, 1, float)
    scale = Units(np.eye(loop.width), np.eye(loop.size), 1.0, 1.0)
    yield from _worst_case(loop)
    yield from _memories()
    yield from _weights()
    for label, errors, solutions, best in (
        ("accurate at once", (1e-8, 1e-9), 1, 1e-8),
        ("falling", (1e-3, 1e-4, 1e-9, 1e-12), 3, 1e-9),
        ("five at most", (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7), 5, 1e-6),
        ("rising", (1e-3, 1e-4, 2e-4, 1e-9), 3, 1e-4),
        ("a refusal", (1e-3, 1e-4, np.nan), 3, 1e-4),
    ):
        asked: list[tuple[float, float]] = []

        def solved(
            units: Units, margin: float, accuracy: float, errors: Any = errors, asked: list[Any] = asked
        ) -> Storage:
            asked.append((margin, accuracy))
            if np.isnan(errors[len(asked) - 1]):
                raise AccuracyError("none")
            return _storage(loop, error=errors[len(asked) - 1])

        _, found = Search(loop, solved, _accepts(0.0), DRAWS, ERRORS).refined(scale)
        yield Holds(f"errors that are {label}", (len(asked), found.error) == (solutions, best) and {*asked} == {FIRST})
    for limit in (*(margin for margin, _ in (FIRST, *PROVING, *LAST)), 1.0):
        yield Holds(f"proved from margin {limit:g}", _margins_tried(loop, scale, limit))


def _weights() -> Iterator[Fact]:
    """For stability the weights between past points carry those of the others, in any unit of the multipliers."""
    method, memory = heavy_ball(eta=0.4, momentum=0.3).output("y"), 2
    bare, loop = (
        Loop.of(method, noise_system(from_coefficients((1.0, -0.6)), float), MU, L, T, float) for T in (0, memory)
    )
    scale = units(bare, loop, L, "distance", DRAWS, ERRORS)
    for unit in (1.0, 3.0):
        own = replace(scale, multiplier=unit * scale.multiplier)
        found = solve(loop, own, "distance", DRAWS, ERRORS, stable=True)
        held = at_lags(loop, loop.past_pairs())[1:] @ found.past
        stated = carried(loop, loop.pairs()) @ found.multipliers
        yield Fact(f"weights of past points, unit {unit:g}", held, stated, 1e-6)


def _memories() -> Iterator[Holds]:
    """With more than one past gradient, where that fails with one, and what is infeasible is not tried again."""
    for memory, refusal, tried, ended in (
        (0, None, [0], 0),
        (1, None, [1], 1),
        (2, None, [2], 2),
        (2, AccuracyError("many"), [2, 1], 1),
        (3, AccuracyError("many"), [3, 1], 1),
        (3, Infeasible("none"), [3], None),
    ):
        asked: list[int] = []

        def bounded(held: int, certify: bool, refusal: Any = refusal, asked: list[int] = asked) -> str:
            asked.append(held)
            if held > 1 and refusal is not None:
                raise refusal
            return f"with {held}, {certify}"

        try:
            found = _bounded(SimpleNamespace(bounded=bounded), memory, certify=True)  # pyright: ignore[reportArgumentType]
        except Infeasible:
            found = None
        stated = None if ended is None else (ended, f"with {ended}, True")
        yield Holds(f"memory {memory}: {refusal or 'found'}", asked == tried and found == stated)


# Margins and accuracies: of the first solution, of those for a proof, and of the last.
FIRST, PROVING = (1e-9, 1e-11), ((1e-9, 1e-8), (1e-8, 1e-8), (1e-7, 1e-8), (3e-7, 1e-8), (6e-7, 1e-8), (1e-6, 1e-8))
LAST, RIDGES = ((1e-5, 1e-8), (1e-4, 1e-8), (1e-3, 1e-8)), (1e-3, 1e-9)


def _accepts(limit: float) -> Any:
    """Takes solutions with margins from a limit on, which stand as their value."""

    def accepted(found: Storage) -> float:
        if found.value < limit:
            raise Unproved("another margin may do")
        return found.value

    return accepted


def _margins_tried(loop: Loop, scale: Units, limit: float) -> bool:
    """Whether what is tried is what should be: all margins in these units, in two others, and the last in these."""
    asked, ridges = list[tuple[float, float]](), list[float]()

    def solved(units: Units, margin: float, accuracy: float) -> Storage:
        asked.append((margin, accuracy))
        return _storage(loop, value=margin, error=0.0)

    def otherwise(ridge: float) -> Units:
        ridges.append(ridge)
        return scale

    try:
        value = Search(loop, solved, _accepts(limit), DRAWS, ERRORS).first(scale, otherwise)
    except AccuracyError:
        value = None
    margins = [margin for margin, _ in (*PROVING, *LAST)]
    if limit <= PROVING[-1][0]:
        tried = [FIRST, *(pair for pair in PROVING if limit > FIRST[0] and pair[0] <= limit)]
        return asked == tried and not ridges and value == limit
    tried = [*(FIRST, *PROVING) * 3, FIRST, *(pair for pair in LAST if pair[0] <= limit)]
    return asked == tried and tuple(ridges) == RIDGES and value == (limit if limit in margins else None)
