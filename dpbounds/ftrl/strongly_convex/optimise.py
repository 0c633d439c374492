"""The best correlation for the class: ftrl Section 3's alternation, made monotone and certified; and the best nu."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar

from dpbounds.errors import AccuracyError, count, nonnegative, positive
from dpbounds.ftrl.correlations import HalfPowers, half_powers_from_roots, nu
from dpbounds.ftrl.strongly_convex import newton
from dpbounds.ftrl.strongly_convex.bounds import MAX_LAG, NODES, ConvexBound, bound
from dpbounds.ftrl.strongly_convex.certificate import program_fraction
from dpbounds.ftrl.strongly_convex.programs import Grid, Program, Quadratics

# Relative improvement of a round below which the alternation stops, and the most rounds.
CONVERGED, ROUNDS = 1e-7, 60


@dataclass(frozen=True, kw_only=True)
class Optimised:
    """The correlation found, its certified bound, and the value of the program after each half step, which never
    rises.
    """

    correlation: HalfPowers
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
        scale = power * grid.mean(1.0 / shape)
        candidate = newton.solve(constants, grid, scale * shape + floor, max_lag)
        history.append(candidate.value)
        multipliers = np.concatenate([candidate.multipliers, np.zeros(len(multipliers) - len(candidate.multipliers))])
        psi = quadratics.psi(multipliers)
        shape = psi**-0.5
        history.append(power * grid.mean(np.sqrt(psi)) ** 2 + floor * grid.mean(psi))
        if history[-2] - history[-1] <= CONVERGED * history[-1]:
            break
    else:
        raise AccuracyError(f"alternation: still gains more than {CONVERGED:.0e} of the value after {ROUNDS} rounds")
    correlation = spectral_root(constants, multipliers)
    options: dict[str, Any] = {"d": d, "clip_norm": clip_norm, "sigma_sgd": sigma_sgd, "program": program}
    certified = bound(correlation, mu, L, eta, rho, **options, max_lag=max_lag, nodes=nodes)
    return Optimised(correlation=correlation, bound=certified, history=tuple(history))


def spectral_root(program: Program, multipliers: Float[np.ndarray, " n"]) -> HalfPowers:
    """The causal B with |B|^2 proportional to psi^{-1/2} at these multipliers: psi is a ratio of polynomials in
    sin^2(omega / 2), so B is a product of half powers.
    """
    fraction = program_fraction(program, np.asarray(multipliers).tolist())
    numerator, denominator = (_roots(polynomial) for polynomial in (fraction.numerator, fraction.denominator))
    return half_powers_from_roots(denominator, numerator, name="optimized")


def _roots(polynomial: Any) -> np.ndarray:
    return np.array([complex(root) for root, order in polynomial.complex_roots() for _ in range(order)], dtype=complex)


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
