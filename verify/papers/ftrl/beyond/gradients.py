"""Beyond the paper: what searches are told of slopes are derivatives: a wrong one would only make them find less."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
from scipy import optimize

from dpbounds.ftrl.correlations import from_coefficients, nu
from dpbounds.ftrl.design import Objective, Participation
from dpbounds.ftrl.design.fitting import fit_bands, fit_minimax_blt, fit_monotone_blt, fit_scaled_blt
from dpbounds.ftrl.design.repeated import repeated_bound
from dpbounds.ftrl.strongly_convex import Noise, newton
from dpbounds.ftrl.strongly_convex.causal import CausalObjective
from dpbounds.ftrl.strongly_convex.programs import PANEL, Grid, Program
from verify.checks import Agreement, Fact, Holds, Times
from verify.papers.ftrl.beyond import multipliers
from verify.papers.ftrl.beyond.exact import OURS
from verify.statements.claims import Claim

_OFF = {"1 % off": {"facts": Times(1.01)}}
STEP, STEPS = 1e-5, 24
Target = Callable[[np.ndarray], tuple[float, np.ndarray]]


def _numeric(value: Callable[[np.ndarray], Any], point: np.ndarray, step: float = STEP) -> np.ndarray:
    """Central differences, a row for each coordinate, in steps relative to its size."""
    moves = np.diag(step * np.maximum(np.abs(point), 0.1))
    return np.array([(value(point + move) - value(point - move)) / (2 * move.sum()) for move in moves])


# --- searches of designs ---


def _searched(call: Callable[[], Any]) -> list[tuple[Target, np.ndarray]]:
    """What SciPy's search is given, and where it begins; the search itself is cut short."""
    found: list[tuple[Target, np.ndarray]] = []
    real = optimize.minimize

    def recorded(target: Target, start: np.ndarray, **options: Any) -> Any:
        found.append((target, np.array(start)))
        return real(target, start, **{**options, "options": {"maxiter": 2}})

    with mock.patch.object(optimize, "minimize", recorded):
        call()
    return found


def _designs(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Near where each search begins, on runs with a schedule, gradient noise and weights of their own."""
    schedule, spectrum = np.linspace(0.5, 0.2, STEPS), np.array([1.0, 0.3])
    run = Objective(spectrum, STEPS, schedule=schedule, weights="tail", batch_size=3)
    plain = Objective(spectrum, STEPS, eta=0.4, noiseless=True)
    repeated = Participation.min_separation(3, 7)
    searches: dict[str, tuple[int, Callable[[], Any]]] = {
        "scaled BLT": (1, lambda: fit_scaled_blt(run, 2)),
        "BLT": (1, lambda: fit_scaled_blt(plain, 3, rows=False)),
        "minimax BLT": (1, lambda: fit_minimax_blt([run, plain], np.array([5.0, 1.0]), 2)),
        "monotone BLT": (1, lambda: fit_monotone_blt(run, repeated, 2)),
        "bands": (1, lambda: fit_bands(run, 5)),
        "cyclic bound": (2, lambda: repeated_bound(run, Participation.cyclic(3, 8))),
    }
    for label, (number, call) in searches.items():
        found = _searched(call)
        yield Holds(f"{label}: searches", len(found) == number)
        for at, (target, start) in enumerate(found):
            for seed in range(2):
                point = start + 0.05 * np.random.default_rng(seed).standard_normal(len(start))
                slope = target(point)[1]
                numeric = _numeric(lambda x, target=target: target(x)[0], point)
                yield Fact(f"{label}, search {at}, point {seed}", slope, numeric, 1e-5)


# --- multipliers ---


def _multipliers(rng: np.random.Generator) -> Iterator[Fact]:
    """Values, gradients and Hessians of both objectives where D > 0; D itself in units of eta^2 L."""
    program = Program(name="f", mu=0.2, L=2.0, eta=0.45)
    causal = Program(name="causal", mu=0.2, L=2.0, eta=0.45)
    grid = Grid.graded(program, 3)
    noise = Noise(correlation=nu(0.4), rho=0.5, d=2, sigma_sgd=0.3)
    other = Noise(correlation=from_coefficients((1.0, -0.6, 0.2)), rho=0.5)
    spectrum = noise.density(grid.s)
    start = newton.best_single(program, grid, spectrum, 3)
    objectives = {
        "f": newton.Objective.on(program, grid, spectrum, 3),
        "causal": CausalObjective(causal, grid, noise, 3),
        "causal, three weights": CausalObjective(causal, grid, other, 3),
    }
    for label, objective in objectives.items():
        for seed in range(2):
            point = start.copy()
            point[1:] = start[0] * 0.05 * np.random.default_rng(seed).random(6)
            value, gradient, hessian = objective.derivatives(point)
            yield Fact(f"{label}, {seed}: value", value, objective.value(point))
            yield Fact(f"{label}, {seed}: gradient", gradient, _numeric(objective.value, point), 1e-5)
            slopes = _numeric(lambda x, objective=objective: objective.derivatives(x)[1], point)
            yield Fact(f"{label}, {seed}: Hessian", hessian, slopes, 1e-4)
            yield Fact(f"{label}, {seed}: Hessian, symmetric", hessian, hessian.T, 1e-9)
    faint = np.where(np.arange(len(spectrum)) % 3 == 0, 1e-6 * spectrum, spectrum)
    objective = newton.Objective.on(program, grid, faint, 3)
    slopes, constant = objective.forced(1e-4)
    *_, D = grid.quadratics(program, 3).parts(point)
    unit = program.eta**2 * program.L
    yield Fact("D where the spectrum is faint", unit * (slopes @ point + constant), D[::3], 1e-9)


def _nodes(rng: np.random.Generator) -> Iterator[Fact]:
    """Weights of equal steps and of graded ones; how low a parabola falls between nodes that are not equally far."""
    for n, ends in ((7, (1, 2)), (8, (1, 1))):  # how often 0 and the last stand on the circle
        grid, last = Grid.uniform(n), n // 2
        counts = [ends[0], *[2] * (last - 1), ends[1]]
        yield Fact(f"{n} steps", grid.omega, 2 * np.pi / n * np.arange(last + 1))
        yield Fact(f"weights of {n} steps", grid.weights, 2 * np.pi / n * np.array(counts))
    for eta, mu, L, lags in ((0.45, 0.2, 2.0, 3), (0.9, 1e-4, 2.2, 12)):
        grid_of = Program(name="f", mu=mu, L=L, eta=eta)
        grid = Grid.graded(grid_of, lags, 200)
        label = f"eta L = {eta * L:g}, {lags} lags"
        yield Fact(f"{label}: whole", float(grid.weights.sum()), 2 * np.pi)
        x = eta * mu
        slow = grid.mean(1 / ((1 - x - np.cos(grid.omega)) ** 2 + np.sin(grid.omega) ** 2))
        yield Fact(f"{label}: the slowest quadratic", slow, 1 / (x * (2 - x)), 1e-9)
        stiff = grid.mean(1 / ((1 - eta * L - np.cos(grid.omega)) ** 2 + np.sin(grid.omega) ** 2))
        yield Fact(f"{label}: the stiffest", stiff, 1 / (eta * L * (2 - eta * L)), 1e-9)
        yield Fact(f"{label}: the last lag", grid.mean(np.cos(lags * grid.omega) ** 2), 0.5, 1e-9)
        panels, cut = grid.omega.reshape(-1, PANEL), Grid.graded(grid_of, lags, 200, pieces=3).omega
        thirds = cut.reshape(-1, 3, PANEL).mean(axis=2)
        yield Fact(f"{label}: panels cut in three", thirds.mean(axis=1), panels.mean(axis=1), 1e-12)
        yield Fact(f"{label}: thirds of one width", np.diff(thirds, 2, axis=1), np.zeros((len(panels), 1)), 1e-12)
    omega, widest = np.array([0.1, 0.3, 0.35, 0.7, 0.8]), np.array([0.0, 0.2, 0.35, 0.35, 0.0])
    for bend in (1.7, -1.7):
        D = 0.4 + bend * (omega - 0.5) ** 2
        yield Fact(f"between nodes, {bend:g}", newton._least_nearby(omega, D), D - max(bend, 0) * widest**2 / 2)


GRADIENTS = Claim(
    id="ftrl/beyond-gradients",
    where=f"{OURS}: slopes that searches are told",
    kind="identity",
    statement=(
        "The gradients that searches for buffers, bands and cyclic bounds are given are those of what they minimise;",
        "the gradients and Hessians of the programs by their multipliers are too;",
        "the nodes of these programs have the weights of the circle and resolve its quadratics;",
        (
            "the search for multipliers starts at the best single one, ends where no other search finds a lower value, "
            "drops what does not matter and is lifted where $D$ is not positive between nodes."
        ),
    ),
    setting="Central differences, at two points near where each search begins.",
    checks=(
        Agreement(decides="a", facts=_designs, impostors=_OFF),
        Agreement(decides="b", facts=_multipliers, impostors=_OFF),
        Agreement(decides="c", facts=_nodes, impostors=_OFF),
        Agreement(decides="d", facts=multipliers.singles, impostors=_OFF),
        Agreement(decides="d", facts=multipliers.least_values, impostors=_OFF),
        Agreement(decides="d", facts=multipliers.dropped, impostors=_OFF),
        Agreement(decides="d", facts=multipliers.lifts, impostors=_OFF),
        Agreement(decides="d", facts=multipliers.steps, impostors=_OFF),
    ),
)
