"""Beyond the paper: searches for noise: the alternation step by step, the best nu by a scan, and half powers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
from scipy import optimize

from dpbounds.ftrl import correlations
from dpbounds.ftrl.strongly_convex import (
    Noise,
    Optimised,
    Program,
    StronglyConvex,
    alternation,
    best_nu,
    bound,
    optimise,
    optimize_correlation,
)
from dpbounds.ftrl.strongly_convex.programs import Grid, ProgramName
from verify.checks import Fact, Holds, Within


def alternations(rng: np.random.Generator) -> Iterator[Fact]:
    """Both half steps with privacy and gradient noise, one multiplier: by another search, until a round gains less than
    1e-7; `paper` is 2 eta^2 times the program, with twice the privacy noise and d times the gradient noise.
    """
    names: tuple[ProgramName, ...] = ("f", "theta", "paper")
    for name in names:
        mu, L, eta, d, clip, rho, sigma = 0.2, 1.7, 0.45, 3, 40.0, 0.4, 25.0
        program = Program(name=name, mu=mu, L=L, eta=eta)
        noise = Noise(correlation=correlations.independent(), rho=rho, d=d, clip_norm=clip, sigma_sgd=sigma)
        N, floor = d * clip**2 / (2 * rho), sigma**2
        if name == "paper":
            N, floor = 2 * eta**2 * 2 * N, 2 * eta**2 * d * floor
        grid = Grid.graded(program, 0, 64)
        w, a, b = np.exp(1j * grid.omega), L / 2, mu / 2 if name == "f" else L / 2
        u, v = 1 - w - eta * mu, 1 - w - eta * L
        shape, stated = abs(1 - 0.3 * w), []

        def psi_of(log: float, u: Any = u, v: Any = v, a: float = a, b: float = b) -> np.ndarray:
            c = a + 1.7 * math.exp(log)
            return 0.45**2 * (c * c - a * b) / (2 * c * (u.conj() * v).real - a * abs(u) ** 2 - b * abs(v) ** 2)

        for _ in range(60):
            spectrum = N * grid.mean(1 / shape) * shape + floor

            def value(log: float, spectrum: Any = spectrum, grid: Grid = grid, psi_of: Any = psi_of) -> float:
                psi = psi_of(log)
                return grid.mean(spectrum * psi) if psi.min() > 0 else math.inf

            near = min(np.arange(-6, 8, 0.125).tolist(), key=value)
            best: Any = optimize.minimize_scalar(
                value, bounds=(near - 0.125, near + 0.125), method="bounded", options={"xatol": 1e-9}
            )
            psi = psi_of(best.x)
            shape = psi**-0.5
            stated += [best.fun, N * grid.mean(1 / shape) * grid.mean(shape * psi) + floor * grid.mean(psi)]
            if stated[-2] - stated[-1] < 1e-7 * stated[-1]:
                break
        start: Callable[[np.ndarray], np.ndarray] = lambda omega: abs(1 - 0.3 * np.exp(1j * omega))  # noqa: E731
        found, history = alternation(program, noise, 0, nodes=64, start=start)
        yield Fact(f"{name}: half steps", len(history), len(stated), 0)
        yield Fact(f"{name}: values", history, stated, 1e-6)
        yield Fact(f"{name}: the last multiplier", found, [1.7 * math.exp(best.x)], 1e-4)


# Slow and fast, the best nu far above eta mu, next to it, and 1.
PROBLEMS = {
    "stiff": StronglyConvex(mu=0.02, L=1.0, eta=0.1, rho=0.5),
    "moderate": StronglyConvex(mu=0.2, L=1.0, eta=0.3, rho=0.5, sigma_sgd=0.2),
    "in between": StronglyConvex(mu=0.1, L=1.0, eta=0.5, rho=0.5),
    "large steps": StronglyConvex(mu=1.5, L=1.9, eta=1.0, rho=0.5),
    "all alike": StronglyConvex(mu=0.9, L=1.0, eta=0.1, rho=0.5),
    "tiny steps": StronglyConvex(mu=0.9, L=1.0, eta=1e-9, rho=0.5),
    "nearly one step": StronglyConvex(mu=0.97, L=1.0, eta=0.95, rho=0.5),
    "noisy": StronglyConvex(mu=0.5, L=1.0, eta=0.2, rho=0.5, sigma_sgd=5.0),
}


def dampings(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """No nu of a scan is better, nor those beside it; and what is said of it."""
    for label, problem in PROBLEMS.items():
        options: dict[str, Any] = {"program": "f", "max_lag": 0, "certify": False, "nodes": 16}
        found = best_nu(problem, **options)
        low, best = min(math.log(problem.eta * problem.mu), 0.0) - 2.0, float(found.bound.best)
        beside = [math.log(found.nu) + side for side in (-0.05, 0.05)]
        for name, logs in (("scan", np.linspace(low, 0.0, 16).tolist()), ("beside", [x for x in beside if x < 0])):
            values = [float(bound(correlations.nu(math.exp(x)), problem, **options).best) for x in logs]
            most = 1 + 1e-7 if name == "scan" else 1 - 1e-7
            yield Within(f"{label}, {name}: bound over the least of others", best / min([*values, math.inf]), 0.0, most)
        white = bound(correlations.independent(), problem, **options)
        yield Fact(f"{label}: independent noise", float(found.independent.best), float(white.best), 1e-9)
        again = bound(correlations.nu(found.nu), problem, **options)
        yield Fact(f"{label}: its bound", float(found.bound.best), float(again.best))


def half_powers(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """The search starts from the best nu, keeps its roots off the circle, and ends lower."""
    problem = PROBLEMS["moderate"]
    options: dict[str, Any] = {"max_lag": 0, "certify": False, "nodes": 16}
    lags: dict[str, Any] = {**options, "max_lag": 1}
    best = best_nu(problem, **options)
    with mock.patch.object(optimise, "EVALUATIONS", 40):
        found = optimize_correlation(problem, **options)
    start, end = (bound(x, problem, **lags).grid_value for x in (correlations.nu(best.nu), found.correlation))
    yield Fact("values at the start and at the end", found.history, [start, end], 1e-9)
    yield Within("end over start", end / start, 0.9, 1 - 1e-5)
    roots = len(found.correlation.zeros), len(found.correlation.poles)
    yield Holds("two zeros and a pole", roots == (2, 1) and found.correlation.name == "optimized")
    yield Fact("its bound", float(found.bound.best), float(bound(found.correlation, problem, **options).best))
    other = optimize_correlation(problem, program="f", **options)
    yield Within(
        "of program f: bound over the end of the alternation",
        float(other.bound.value) / other.history[-1],
        1 - 1e-6,
        1 + 1e-6,
    )
    given: list[tuple[Any, Any, dict[str, Any]]] = []

    def recorded(value: Any, start: Any, options: dict[str, Any], **_: Any) -> Any:
        given.append((value, start, options))
        return SimpleNamespace(x=np.log([0.4, 0.8, 1.2]), fun=value(np.log([0.4, 0.8, 1.2])))

    with mock.patch.object(optimize, "minimize", recorded), mock.patch.object(optimise, "NEAREST", 0.01):
        told = optimize_correlation(problem, **options)
        ((value, begins, limits),) = given
        ends = [
            [math.isfinite(value(np.log(x))) for x in (at, at[::-1])]
            for at in ((0.011, 0.5, 1.989), (0.009, 0.5, 0.5), (0.5, 0.5, 1.991))
        ]
    yield Holds("how near to the circle roots may come", ends == [[True, True], [False, False], [False, False]])
    zeros, (pole,) = told.correlation.zeros, told.correlation.poles
    yield Fact("roots from logarithms", [*np.real(zeros), pole.real], [0.6, 0.2, -0.2])
    yield Fact("where it starts", np.exp(begins), [best.nu, 0.5, 0.5], 1e-9)
    limit = [limits["fatol"] / value(begins), limits["maxfev"]]
    yield Fact("how long it goes on", limit, [1e-6, 300])
    first, second = ({"best": SimpleNamespace(best=x)} for x in (2.0, 3.0))
    for one, two in ((first, second), (second, first)):
        nothing: Any = None
        made = Optimised(correlation=nothing, bound=one["best"], history=(), best_nu=SimpleNamespace(bound=two["best"]))  # type: ignore[arg-type]
        yield Fact("the tightest of both", float(made.tightest.best), 2.0, 0)
