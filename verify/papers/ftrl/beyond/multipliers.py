"""Beyond the paper: the search for multipliers, part by part: where it starts, what it drops, how it is lifted where
D is negative between nodes, and the steps of the interior point method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from dpbounds import AccuracyError
from dpbounds.ftrl.strongly_convex import newton
from dpbounds.ftrl.strongly_convex.programs import Grid, Program, ProgramName
from verify.checks import Fact, Holds, Within

Found = Iterator[Fact | Holds | Within]


def _parts(program: Program, omega: np.ndarray, multipliers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """|c|^2 - a b and D at frequencies, as complex numbers."""
    w, lags, a = np.exp(1j * omega), len(multipliers) // 2, program.L / 2
    b = program.mu / 2 if program.name == "f" else a
    c = a + multipliers[0] + 0 * w
    for t in range(1, lags + 1):
        c = c + multipliers[t] * (1 - w**t) + multipliers[lags + t] * (1 - w**-t)
    u, v = 1 - w - program.eta * program.mu, 1 - w - program.eta * program.L
    return abs(c) ** 2 - a * b, 2 * (c * u.conj() * v).real - a * abs(u) ** 2 - b * abs(v) ** 2


def _value(program: Program, grid: Grid, spectrum: np.ndarray, multipliers: np.ndarray) -> float:
    """The mean of S psi over the circle, inf where D is not positive."""
    numerator, D = _parts(program, grid.omega, multipliers)
    if D.min() <= 0:
        return math.inf
    return float(program.eta**2 * (grid.weights * spectrum * numerator / D).sum() / (2 * math.pi))


def _spectrum(grid: Grid) -> np.ndarray:
    return 0.3 + abs(1 - 0.7 * np.exp(1j * grid.omega))


SETTINGS: tuple[tuple[ProgramName, float, float, float], ...] = (
    ("f", 0.2, 1.7, 0.45),
    ("f", 0.03, 2.0, 0.9),
    ("theta", 0.5, 1.3, 1.2),
    ("theta", 0.011, 0.9, 0.3),
)


def singles(rng: np.random.Generator) -> Found:
    """The best single multiplier by another search, and where there are lags; at the ends of what is looked at."""
    for name, mu, L, eta in SETTINGS:
        program, label = Program(name=name, mu=mu, L=L, eta=eta), f"{name}, mu = {mu:g}"
        grid = Grid.graded(program, 2)
        spectrum = _spectrum(grid)

        def value(log: float, program: Program = program, grid: Grid = grid, spectrum: np.ndarray = spectrum) -> float:
            return _value(program, grid, spectrum, np.array([program.L * math.exp(log)]))

        near = min(np.arange(-30, 30, 0.25).tolist(), key=value)
        best: Any = minimize_scalar(value, bounds=(near - 0.25, near + 0.25), method="bounded", options={"xatol": 1e-9})
        found = newton.solve(program, grid, spectrum, 0)
        yield Fact(f"{label}: best single multiplier", found.multipliers[0], L * math.exp(best.x), 3e-6)
        yield Fact(f"{label}: its value", [found.value, found.gap, found.steps], [best.fun, 0, 0], 1e-10)
        start = newton.best_single(program, grid, spectrum, 2)
        sixteenths = 16 * math.log(start[0] / L)
        yield Fact(f"{label}: with lags, to a sixteenth", sixteenths, round(sixteenths), 1e-9)
        yield Within(f"{label}: how far from the best", abs(sixteenths - 16 * best.x), most=1.0)
        yield Fact(f"{label}: the others are 0", start[1:], np.zeros(4), 0)
    # psi is in proportion to 2 a + lambda_0 for mu = L; and to lambda_0^2 over 2 lambda_0 P - 1 next to pi where
    # eta L is 2 - P for P = 2^-52, eta mu is 1 and other frequencies count little: least at 1 / P, beyond e^35
    lowest, highest = (
        Program(name="f", mu=2.0, L=2.0, eta=0.4),
        Program(name="theta", mu=1.0, L=2.0, eta=1 - 2.0**-53),
    )
    for program, least, most in ((lowest, -35.0, -34.3), (highest, 35.0 - 1e-12, 35.0 + 1e-12)):
        grid = Grid.graded(program, 1)
        found = newton.best_single(program, grid, np.ones_like(grid.omega), 1)[0]
        yield Within(
            f"{program.name}, mu = {program.mu:g}: at the end of what is tried", math.log(found / 2.0), least, most
        )
    for off, none in ((0.9e-6, True), (1.1e-6, False)):
        program = Program(name="f", mu=2.0 * (1 - off), L=2.0, eta=0.4)
        grid = Grid.graded(program, 1)
        found = newton.solve(program, grid, _spectrum(grid), 1)
        yield Holds(f"1 - mu / L = {off:g}: {'no' if none else 'some'} steps", (found.steps == 0) == none)


def least_values(rng: np.random.Generator) -> Found:
    """Values by another search; no multiplier better by 1 % of its size; steps that it takes."""
    for name, mu, L, eta in SETTINGS:
        program, label = Program(name=name, mu=mu, L=L, eta=eta), f"{name}, mu = {mu:g}"
        grid = Grid.graded(program, 2)
        spectrum = _spectrum(grid)
        start = newton.best_single(program, grid, spectrum, 2)
        found = newton.solve(program, grid, spectrum, 2)

        def value(x: np.ndarray, program: Program = program, grid: Grid = grid, spectrum: Any = spectrum) -> float:
            return min(_value(program, grid, spectrum, x), 1e9)

        yield Fact(f"{label}: value", found.value, value(found.multipliers), 1e-11)
        scale = start[0]
        other: Any = minimize(
            lambda x, value=value, scale=scale: value(scale * np.exp(x)),
            np.log(np.maximum(found.multipliers / scale, 1e-4)) + 0.3,
            method="Nelder-Mead",
            options={"maxfev": 700, "xatol": 1e-4, "fatol": 1e-9 * found.value},
        )
        yield Within(f"{label}: value over that of another search", found.value / other.fun, 0.99, 1 + 1e-8)
        yield Within(f"{label}: gap", found.gap, 0.0, 1e-9)
        yield Within(f"{label}: steps", found.steps, 4, STEPS[name, mu])

    yield from _silent()
    yield from _ended()


def _silent() -> Found:
    """Where the spectrum is 0 at some nodes D has to be positive there as well."""
    program = Program(name="f", mu=0.5, L=1.7, eta=1.1)
    grid = Grid.graded(program, 1)
    spectrum = np.where(grid.omega < 1.5, _spectrum(grid), 0.0)
    found = newton.solve(program, grid, spectrum, 1)
    D = _parts(program, grid.omega, found.multipliers)[1]
    yield Within("least D where the spectrum is 0, in units of eta^2 L", float(D.min()) / (1.21 * 1.7), 0.0, 1e-8)
    other: Any = minimize(
        lambda x: min(_value(program, grid, spectrum, np.exp(x)), 1e9),
        np.log(np.maximum(found.multipliers, 1e-5)) + 0.3,
        method="Nelder-Mead",
        options={"maxfev": 900, "xatol": 1e-6, "fatol": 1e-10 * found.value},
    )
    yield Within("with a silent band: value over that of another search", found.value / other.fun, 0.97, 1 + 1e-8)
    objective, low = newton.Objective.on(program, grid, spectrum, 1), np.array([1e-3, 0.0, 0.0])
    D = _parts(program, grid.omega, low)[1]
    yield Holds("no value where D is negative somewhere", D.min() < 0 < D.max() and objective.value(low) == math.inf)


def _ended() -> Found:
    """Where it ends: both gap and residual are small, or so many steps are over and rounding explains the residual."""
    program = Program(name="f", mu=0.03, L=2.0, eta=0.9)
    grid = Grid.graded(program, 2)
    spectrum = _spectrum(grid)

    def found(**limits: Any) -> tuple[newton.Candidate | None, int]:
        counted = mock.patch.object(
            newton.Objective, "derivatives", autospec=True, side_effect=newton.Objective.derivatives
        )
        with mock.patch.multiple(newton, **limits), counted as calls:
            try:
                return newton.solve(program, grid, spectrum, 2), calls.call_count
            except AccuracyError:
                return None, calls.call_count

    whole, calls = found(STEPS=100)
    assert whole is not None
    yield Fact("steps that it says", whole.steps, calls, 0)
    yield Holds("no more steps than it needs", found(STEPS=calls)[0] is not None)
    yield Holds("a step less", found(STEPS=calls - 1) == (None, 2 * (calls - 1)))  # tried twice
    # after eight steps the gap is below 8e-5 of the value and the residual is not
    yield Fact("one more for the residual", found(TOLERANCE=8e-5)[1], 9, 0)
    given, calls = found(STEPS=8, TOLERANCE=8e-5, ROUNDING=2e-4)
    assert given is not None
    yield Within("what is left then", given.gap, 8.5e-5, 1.5e-4)
    value = _value(program, grid, spectrum, given.multipliers)
    yield Fact("the multipliers of then", [value / whole.value, calls, given.steps], [1, 8, 8], 1e-4)
    yield Holds("more than rounding explains", found(STEPS=8, TOLERANCE=8e-5, ROUNDING=9e-5)[0] is None)


# What Newton's method takes here.
STEPS: dict[tuple[str, float], int] = {("f", 0.2): 11, ("f", 0.03): 13, ("theta", 0.5): 12, ("theta", 0.011): 11}


def dropped(rng: np.random.Generator) -> Found:
    """Multipliers below a millionth of the largest go, and lags that none uses, where that costs less than 1e-9."""
    program = Program(name="f", mu=0.2, L=1.7, eta=0.45)
    grid = Grid.graded(program, 4)
    spectrum = _spectrum(grid)
    margin, largest = 3.1, 0.4
    small, less = 1.05e-6 * largest, 0.95e-6 * largest
    for label, forward, backward, kept in (
        ("the last goes", (largest, less, small, less), (0.02, 0.0, less, 0.0), ((largest, 0, small), (0.02, 0, 0))),
        (
            "the last stays",
            (0.1, 0.0, less, less),
            (largest, 0.0, 0.03, small),
            ((0.1,) + 3 * (0,), (0.4, 0, 0.03, small)),
        ),
        ("all go", (0.0,) * 4, (0.0,) * 4, ((), ())),
    ):
        stated = np.array([margin, *kept[0], *kept[1]])
        value, given = _value(program, grid, spectrum, stated), np.array([margin, *forward, *backward])
        for off, drops in ((0.9e-9, True), (1.1e-9, False)):
            candidate = newton.Candidate(multipliers=given, value=value / (1 + off), gap=1e-10, steps=7)
            found = newton.pruned(program, grid, spectrum, candidate)
            wanted = stated if drops else given
            same = len(found.multipliers) == len(wanted) and np.array_equal(found.multipliers, wanted)
            yield Holds(f"{label}, at a cost of {off:g}: {'done' if drops else 'not done'}", bool(same))
            yield Fact(f"{label}, {off:g}: value", found.value, value if drops else candidate.value, 1e-13)


def lifts(rng: np.random.Generator) -> Found:
    """Between nodes D may be negative: a quarter of each gap is looked at, with what a parabola may fall below."""
    # D > 0 at these nodes, but not between the first two; and negative at the last node
    between = Program(name="f", mu=0.2, L=1.7, eta=0.45), (0.3, 0.1, 0.3, 4.0, 0.2, 0.1, 0.0)
    at_last = Program(name="f", mu=0.5, L=1.7, eta=1.1), (0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for mixed in (0.0, 0.4, 0.7, 0.8, 0.9, 0.95, 1.0):
        yield from _lifted(f"{mixed:g} of the single one", *between, mixed)
    for mixed in (0.0, 0.3, 0.9):
        yield from _lifted(f"{mixed:g} of the single one, low at the last node", *at_last, mixed)


def _lifted(label: str, program: Program, bad: tuple[float, ...], mixed: float) -> Found:
    grid = Grid.uniform(9)
    spectrum = _spectrum(grid)
    single = newton.best_single(program, grid, spectrum, 3)
    given = mixed * single + (1 - mixed) * single[0] * np.array(bad)
    candidate = newton.Candidate(multipliers=given, value=0.7, gap=0.02, steps=3)
    fine = np.concatenate([np.linspace(a, b, 5)[:-1] for a, b in zip(grid.omega, grid.omega[1:], strict=False)])
    fine = np.append(fine, grid.omega[-1])
    at, single_at = (_parts(program, fine, x)[1] for x in (given, single))
    least = at.copy()
    for k in range(1, len(fine) - 1):
        left, right = fine[k] - fine[k - 1], fine[k + 1] - fine[k]
        bend = 2 * ((at[k + 1] - at[k]) / right - (at[k] - at[k - 1]) / left) / (left + right)
        least[k] -= max(bend, 0.0) * max(left, right) ** 2 / 4
    part = max([-d / (s / 2 - d) for d, s in zip(least, single_at, strict=True) if d <= 0], default=0.0)
    stated = (1 - part) * given + part * single
    found = newton.lifted(program, grid, spectrum, candidate)
    yield Fact(f"{label}: lifted by {part:.3g}", found.multipliers, stated, 1e-11)
    value = _value(program, grid, spectrum, stated) if part else 0.7
    yield Fact(f"{label}: value", found.value, value, 1e-11)
    yield Fact(f"{label}: gap", found.gap, 0.02 + value / 0.7 - 1, 1e-11)
    yield Holds(f"{label}: {'lifted' if part else 'as it was'}", bool(part) == (found is not candidate))


def steps(rng: np.random.Generator) -> Found:
    """The parts of a step, on few numbers: the matrix, its solution, lengths, the share of the gap aimed at."""
    own = np.random.default_rng(7)
    R, H, share = own.uniform(-1, 1, (2, 3)), np.diag([3.0, 2.0, 5.0]) + 0.3, np.array([0.7, 1.1, 0.2, 0.9, 1.6])
    rows = np.vstack([np.eye(3), R])
    yield Fact("matrix of a step", newton._barrier_added(H, share, rows), H + rows.T @ np.diag(share) @ rows)
    yield Fact("without nodes", newton._barrier_added(H, share[:3], np.eye(3)), H + np.diag(share[:3]))
    units = np.array([1e9, 3.0, 1e-8])
    right = np.array([0.7, -1.3, 0.4])
    yield Fact("its solution", newton._factor(H)(right), np.linalg.solve(H, right))
    scaled = newton._factor(units[:, None] * H * units)(units * right) * units
    yield Fact("in other units", scaled, np.linalg.solve(H, right))
    flat = np.outer(units, units) * np.array([[1, 1, 0], [1, 1 - 4e-16, 0], [0, 0, 2.0]])
    moved = np.array([1.0, 1.0, 3.0])
    solved = newton._factor(flat)(units * moved) * units
    yield Fact("where rounding has left it flat", [solved[0] + solved[1], solved[2]], [1.0, 1.5], 1e-3)
    yield Fact("halves for each, in units of the diagonal", solved[:2], [0.5, 0.5], 0.2)
    for least, fine in ((-1e-11, True), (-3e-10, False)):
        try:
            newton._factor(np.array([[1.0, 1.0 - least], [1.0 - least, 1.0]]))
            told = True
        except AccuracyError:
            told = False
        yield Holds(f"least eigenvalue {least:g}: {'solved' if fine else 'refused'}", told == fine)
    for values, moves, length in (
        ((2.0, 1.0, 4.0), (-4.0, 3.0, -1.0), 0.99 / 2),
        ((2.0, 1.0), (-1.0, 5.0), 1.0),
        ((0.5, 3.0), (0.1, 0.2), 1.0),
        ((4.0, 0.5), (-4.0, 0.5), 0.99),
    ):
        yield Fact(
            f"longest step of {values} by {moves}", newton._largest_step(np.array(values), np.array(moves)), length
        )
    yield from _aims()
    yield from _lines()
    program = Program(name="f", mu=0.2, L=1.7, eta=0.45)
    for gap, known in ((1e-10, True), (1e-8, False)):
        told = str(newton._unsolved(program, gap, 1e-3))
        yield Holds(f"gap {gap:g}: {'why' if known else 'not why'} it is not solved", ("difference" in told) == known)


def _aims() -> Found:
    """The cube of what is left of the gap by the step that aims at none, from 0.05 to 0.3."""
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, -0.4]])
    gradient, matrix = np.array([1.0, -0.6]), np.array([[2.0, 0.3], [0.3, 1.5]])
    for slack, dual in (
        ((0.9, 0.5, 0.7), (0.4, 0.7, 0.2)),
        ((0.3, 0.5, 0.45), (0.4, 0.7, 0.2)),
        ((0.2, 0.9, 0.1), (1.4, 0.1, 2.2)),
    ):
        s, z = np.array(slack), np.array(dual)
        move = -rows @ np.linalg.solve(matrix, gradient)
        turn = [-b - b * m / a for a, b, m in zip(slack, dual, move, strict=True)]
        far = [
            min([1.0] + [-0.99 * x / m for x, m in zip(xs, ms, strict=True) if m < 0])
            for xs, ms in ((slack, move), (dual, turn))
        ]
        after = sum((a + far[0] * m) * (b + far[1] * n) for a, b, m, n in zip(slack, dual, move, turn, strict=True))
        stated = min(max((after / sum(a * b for a, b in zip(slack, dual, strict=True))) ** 3, 0.05), 0.3)
        told = newton._centring(lambda right: np.linalg.solve(matrix, right), rows, s, z, gradient)
        yield Fact(f"share of the gap that is aimed at, slack {slack}", told, stated)


def _lines() -> Found:
    """Halved until the barrier function falls by enough; by how much, on a line; and never where it rises."""

    def search(
        value: Callable[[np.ndarray], float], move: float, slack: tuple[float, float], slope: float, at: float = 1.0
    ) -> float:
        line = np.array([at]), np.array([move])
        slacks = np.array([slack[0], 0.8]), np.array([slack[1], 0.3])
        objective: Any = SimpleNamespace(value=value)
        return newton._line_search(objective, 2.0, line, slacks, value(2.0 * line[0]), slope, 0.3)

    def quartic(x: np.ndarray) -> float:
        return float((x[0] - 1.7) ** 4)

    for move, slack, slope in ((-9.0, (0.9, 0.6), -0.1), (-1.5, (0.9, -0.95), -0.12), (-60.0, (0.4, 0.9), -1.0)):
        length = min(1.0, 0.99 * slack[0] / -slack[1]) if slack[1] < 0 else 1.0
        while True:
            after = quartic(np.array([2 * (1 + length * move)]))
            after -= 0.3 * (math.log(slack[0] + length * slack[1]) + math.log(0.8 + 0.3 * length))
            before = quartic(np.array([2.0])) - 0.3 * (math.log(slack[0]) + math.log(0.8))
            if after <= before + 1e-4 * length * slope or length < 1e-9:
                break
            length /= 2
        yield Fact(f"length of a step by {move:g}, slack {slack}", search(quartic, move, slack, slope), length)
    # with 0.8 + 0.3 t beside it the logarithms change, which a line undoes: it falls by `share` of what is promised
    for share, least, most in ((1.2e-4, 1.0, 1.0), (0.8e-4, 0.0, 1e-9)):

        def line(x: np.ndarray, share: float = share) -> float:
            t = float(x[0]) / 2 - 1  # how far along
            return 0.3 * (math.log1p(0.3 * t / 0.8)) - 2.0 * share * t

        yield Within(f"a fall by {share:g} of the slope: length", search(line, 1.0, (0.9, 0.0), -2.0), least, most)
    for rise, stated in ((0.5e-13, 1.0), (2e-13, 0.5)):  # of the value: up to rounding

        def nearly(x: np.ndarray, rise: float = rise) -> float:
            return 4e3 * (1 + rise * (x[0] > 3.5)) + 0.3 * math.log1p(0.3 * (float(x[0]) / 2 - 1) / 0.8)

        yield Fact(f"a rise by {rise:g}", search(nearly, 1.0, (0.9, 0.0), 0.0), stated, 0)
