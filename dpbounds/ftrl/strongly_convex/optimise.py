"""The best correlation for the class: ftrl Section 3's alternation, made monotone and certified; and the best nu."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize_scalar

from dpbounds.errors import count, nonnegative, positive
from dpbounds.ftrl.correlations import nu
from dpbounds.ftrl.strongly_convex import newton
from dpbounds.ftrl.strongly_convex.bounds import MAX_LAG, NODES, ConvexBound, bound
from dpbounds.ftrl.strongly_convex.multipliers import MultiplierCorrelation
from dpbounds.ftrl.strongly_convex.programs import Grid, Program, Quadratics

# Relative improvement of a round below which the alternation stops, and the most rounds.
CONVERGED, ROUNDS = 1e-7, 60


@dataclass(frozen=True, kw_only=True)
class Optimised:
    """The correlation found, its certified bound, and the value of the program after each half step, which never
    rises.
    """

    correlation: MultiplierCorrelation
    bound: ConvexBound
    history: tuple[float, ...]


def optimize_correlation(
    mu: float,
    L: float,
    eta: float,
    rho: float,
    *,
    d: int = 1,
    clip_norm: float = 1.0,
    sigma_sgd: float = 0.0,
    program: Literal["f", "theta"] = "f",
    max_lag: int = MAX_LAG,
    nodes: int = NODES,
) -> Optimised:
    """Alternate: psi minimises the program for |B|^2, then |B|^2 = psi^{-1/2} minimises int |B|^{-2} int |B|^2 psi.

    Each half step lowers N / (2 pi)^2 int |B|^{-2} int |B|^2 psi + sigma_sgd^2 / (2 pi) int psi, N = d clip_norm^2 / (2
    rho), so the values fall; starts from independent noise, stops when a round gains less than 1e-7. A local optimum:
    the joint problem is not convex. Errors as `bounds.bound`.
    """
    constants = Program(name=program, mu=mu, L=L, eta=eta)
    grid = Grid.graded(constants, count("max_lag", max_lag, least=0), nodes)
    power = count("d", d) * positive("clip_norm", clip_norm) ** 2 / (2.0 * positive("rho", rho))
    floor = nonnegative("sigma_sgd", sigma_sgd) ** 2
    quadratics = Quadratics.on(constants, grid.omega, max_lag)
    shape, history = np.ones_like(grid.omega), []
    multipliers = np.zeros(2 * max_lag + 1)
    for _ in range(ROUNDS):
        scale = power * _mean(grid, 1.0 / shape)
        candidate = newton.solve(constants, grid, scale * shape + floor, max_lag)
        history.append(candidate.value)
        multipliers = np.concatenate([candidate.multipliers, np.zeros(len(multipliers) - len(candidate.multipliers))])
        psi = quadratics.psi(multipliers)
        shape = psi**-0.5
        history.append(power * _mean(grid, np.sqrt(psi)) ** 2 + floor * _mean(grid, psi))
        if history[-2] - history[-1] <= CONVERGED * history[-1]:
            break
    correlation = MultiplierCorrelation(constants, tuple(multipliers.tolist()))
    options: dict[str, Any] = {"d": d, "clip_norm": clip_norm, "sigma_sgd": sigma_sgd, "program": program}
    certified = bound(correlation, mu, L, eta, rho, **options, max_lag=max_lag, nodes=nodes)
    return Optimised(correlation=correlation, bound=certified, history=tuple(history))


def best_nu(
    mu: float,
    L: float,
    eta: float,
    rho: float,
    *,
    d: int = 1,
    clip_norm: float = 1.0,
    sigma_sgd: float = 0.0,
    program: Literal["f", "theta"] = "f",
    max_lag: int = MAX_LAG,
) -> tuple[float, ConvexBound]:
    """The nu in (0, 1] of least program value, by a search in log nu, and its certified bound."""
    options: dict[str, Any] = {"d": d, "clip_norm": clip_norm, "sigma_sgd": sigma_sgd, "program": program}

    def value(log_nu: float, lags: int) -> float:
        damping = min(float(np.exp(log_nu)), 1.0)
        return bound(nu(damping), mu, L, eta, rho, **options, max_lag=lags, certify=False).grid_value

    grid = np.linspace(np.log(eta * mu) - 2.0, 0.0, 16)
    best = int(np.argmin([value(point, 0) for point in grid]))
    ends = grid[max(best - 2, 0)], grid[min(best + 2, len(grid) - 1)]
    found: Any = minimize_scalar(lambda x: value(x, max_lag), bounds=ends, method="bounded", options={"xatol": 1e-4})
    damping = min(float(np.exp(found.x)), 1.0)
    return damping, bound(nu(damping), mu, L, eta, rho, **options, max_lag=max_lag)


def _mean(grid: Grid, values: np.ndarray) -> float:
    return float(grid.weights @ values) / (2.0 * np.pi)
