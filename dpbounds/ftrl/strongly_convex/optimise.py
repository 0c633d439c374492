"""The best correlation for the class: ftrl Section 3's alternation, made monotone and certified; and the best nu.

Program `causal` depends on B itself, not on |B|^2 alone, and is not convex in it: there the best half powers with two
zeros and a pole are searched for.

>>> found = best_nu(StronglyConvex(mu=0.2, L=1.0, eta=0.1, rho=0.5), max_lag=0, certify=False, nodes=64)
>>> 0.0 < found.nu < 1.0, bool(found.bound.best < found.independent.best)
(True, True)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.arithmetic import FLOATS
from dpbounds.errors import AccuracyError, DomainError, count, vector
from dpbounds.ftrl.correlations import HalfPowers, half_powers_from_roots, independent, nu
from dpbounds.ftrl.strongly_convex import newton, show
from dpbounds.ftrl.strongly_convex.bounds import MAX_LAG, NODES, ConvexBound, bound
from dpbounds.ftrl.strongly_convex.certificate import program_fraction
from dpbounds.ftrl.strongly_convex.noise import Noise
from dpbounds.ftrl.strongly_convex.programs import Grid, Program, ProgramName
from dpbounds.ftrl.strongly_convex.settings import StronglyConvex

# Relative improvement of a round below which the alternation stops, and the most rounds.
CONVERGED, ROUNDS = 1e-7, 60
# The first search: from e^-SLOWER eta mu to 1.
SLOWER, POINTS = 2.0, 16
# Of the half powers: lags, relative accuracy and most evaluations; and how near to 1 roots may come.
SEARCHED, CLOSE, EVALUATIONS, NEAREST = 1, 1e-6, 300, 1e-9


# Programs that bound something.
Provable = Literal["causal", "f", "theta"]


@dataclass(frozen=True, kw_only=True)
class BestNu:
    """The nu in (0, 1] whose tightest bound is the least of those found, its bound, and that of independent noise.

    `independent` is the bound at nu = 1, where co-coercivity holds beside the program: `bound.best` is never above
    `independent.best`, and both are the same where nu = 1 is the best.
    """

    nu: float
    bound: ConvexBound
    independent: ConvexBound

    def __repr__(self) -> str:
        return f"BestNu(nu = {self.nu:.5g}: {self.bound!r})"

    def _repr_html_(self) -> str:
        return show.table({"independent": self.independent, f"best nu = {self.nu:.5g}": self.bound})


@dataclass(frozen=True, kw_only=True)
class Optimised:
    """The correlation of least program value, its bound, and the value of the program after each half step, which never
    rises (with `causal` at the start and the end of the search); beside them the best nu and independent noise.
    """

    correlation: HalfPowers
    bound: ConvexBound
    history: tuple[float, ...]
    best_nu: BestNu

    def __repr__(self) -> str:
        return f"Optimised({self.bound!r})"

    def _repr_html_(self) -> str:
        best = self.best_nu
        bounds = {"independent": best.independent, f"best nu = {best.nu:.5g}": best.bound, "optimised": self.bound}
        return show.table(bounds)

    @property
    def independent(self) -> ConvexBound:
        """The bound of independent noise."""
        return self.best_nu.independent

    @property
    def tightest(self) -> ConvexBound:
        """The bound of least `best` among the three: simpler noise can have a better one where the program is loose."""
        return min((self.bound, self.best_nu.bound), key=lambda found: float(found.best))


@typed
def optimize_correlation(
    problem: StronglyConvex,
    *,
    program: Provable = "causal",
    max_lag: int = MAX_LAG,
    certify: bool = True,
    nodes: int = NODES,
) -> Optimised:
    """With `causal` the best half powers (1 - a z)^{1/2} (1 - b z)^{1/2} (1 - c z)^{-1/2}, searched from the best nu.

    Others alternate: psi minimises the program for |B|^2, then |B|^2 = psi^{-1/2} minimises int |B|^{-2} int |B|^2 psi.
    Each half step lowers N / (2 pi)^2 int |B|^{-2} int |B|^2 psi + sigma_sgd^2 / (2 pi) int psi, N = d clip_norm^2 / (2
    rho), so the values fall; starts from independent noise, stops when a round gains less than 1e-7. Local optima: the
    joint problem is not convex. Compared with `best_nu` and independent noise, all on the same nodes and lags.
    Arguments and errors as `bounds.bound`.
    """
    constants = _constants(program, problem)
    options: dict[str, Any] = {"program": program, "max_lag": max_lag, "certify": certify, "nodes": nodes}
    if program == "causal":
        best = best_nu(problem, **options)
        correlation, history = _half_powers(problem, best.nu, nodes)
    else:
        multipliers, history = alternation(constants, problem.noise(independent()), max_lag, nodes=nodes)
        correlation, best = spectral_root(constants, multipliers), best_nu(problem, **options)
    return Optimised(
        correlation=correlation, bound=bound(correlation, problem, **options), history=history, best_nu=best
    )


def _half_powers(problem: StronglyConvex, damping: float, nodes: int) -> tuple[HalfPowers, tuple[float, ...]]:
    """The half powers of least causal value found, and that of nu noise and theirs; roots as logarithms of 1 - root."""
    from scipy.optimize import minimize

    def correlation(logarithms: np.ndarray) -> HalfPowers:
        first, second, pole = (1.0 - float(x) for x in np.exp(logarithms))
        return HalfPowers((first, second), (pole,), "optimized")

    def value(logarithms: np.ndarray) -> float:
        if not np.all((np.log(NEAREST) < logarithms) & (logarithms < np.log(2.0 - NEAREST))):
            return np.inf
        return bound(correlation(logarithms), problem, max_lag=SEARCHED, certify=False, nodes=nodes).grid_value

    start = np.log([damping, 0.5, 0.5])  # the last two cancel
    simplex = np.vstack([start, start + np.diag([0.3, 0.5, 0.5])])
    limits = {"xatol": np.inf, "fatol": CLOSE * value(start), "maxfev": EVALUATIONS, "initial_simplex": simplex}
    found: Any = minimize(value, start, method="Nelder-Mead", options=limits)
    return correlation(found.x), (value(start), float(found.fun))


def _constants(program: ProgramName, problem: StronglyConvex) -> Program:
    """Those of a program that bounds something."""
    if isinstance(program, str) and program == "paper":
        raise DomainError(
            "program", program, "causal, f or theta", "the program as printed bounds nothing that could be best"
        )
    return problem.program(program)


@typed
def alternation(
    program: Program,
    noise: Noise,
    max_lag: int = MAX_LAG,
    *,
    nodes: int = NODES,
    start: Callable[[np.ndarray], np.ndarray] | None = None,
) -> tuple[Float[np.ndarray, " n"], tuple[float, ...]]:
    """ftrl Section 3's alternation on a graded grid: the multipliers at its end, and the value after each half step.

    For programs that depend on |B|^2 alone, so that `causal` is refused.

    `start(omega)` is |B|^2 up to a factor, by default that of independent noise; of `noise` only the magnitudes are
    used. Stops when a round gains less than 1e-7 of the value; raises `AccuracyError` if none of 60 does.
    """
    if program.name == "causal":
        raise DomainError("program", program.name, "f, theta or paper", "it depends on more than |B|^2")
    printed = program.name == "paper"
    grid = Grid.graded(program, count("max_lag", max_lag, least=0, most=200), count("nodes", nodes, least=16, most=1e5))
    power, *rest = (program.prefactor(FLOATS) * weight for weight in noise.weights(1.0, as_printed=printed))
    floor = sum(rest)
    quadratics = grid.quadratics(program, max_lag)
    shape, history = np.ones_like(grid.omega) if start is None else start(grid.omega), []
    for _ in range(ROUNDS):
        scale = power * grid.mean(1.0 / shape)
        candidate = newton.solve(program, grid, scale * shape + floor, max_lag)
        psi = quadratics.psi(candidate.multipliers)
        shape = psi**-0.5
        value = power * grid.mean(1.0 / shape) * grid.mean(shape * psi) + floor * grid.mean(psi)
        history += [candidate.value, value]
        if candidate.value - value <= CONVERGED * value:
            return candidate.multipliers, tuple(history)
    raise AccuracyError(f"alternation: still gains more than {CONVERGED:.0e} of the value after {ROUNDS} rounds")


@typed
def spectral_root(program: Program, multipliers: Float[np.ndarray, " n"]) -> HalfPowers:
    """The causal B with |B|^2 proportional to psi^{-1/2} at these multipliers: psi is a ratio of polynomials in
    sin^2(omega / 2), so B is a product of half powers.
    """
    fraction = program_fraction(program, vector("multipliers", multipliers).tolist())
    numerator, denominator = (_roots(polynomial) for polynomial in (fraction.numerator, fraction.denominator))
    return half_powers_from_roots(denominator, numerator, name="optimized")


def _roots(polynomial: Any) -> np.ndarray:
    return np.array([complex(root) for root, order in polynomial.complex_roots() for _ in range(order)], dtype=complex)


@typed
def best_nu(
    problem: StronglyConvex,
    *,
    program: Provable = "causal",
    max_lag: int = MAX_LAG,
    certify: bool = True,
    nodes: int = NODES,
) -> BestNu:
    """The nu in (0, 1] of least program value, by a search in log nu, or nu = 1 if its tightest bound is better.

    nu = 1 is independent noise, for which co-coercivity can be tighter than the program at every nu. Arguments and
    errors as `bounds.bound`.
    """
    _constants(program, problem)
    lags, nodes = count("max_lag", max_lag, least=0), count("nodes", nodes)
    return _searched(problem, program, lags, bool(certify), nodes)


@lru_cache(maxsize=32)
def _searched(problem: StronglyConvex, program: ProgramName, max_lag: int, certify: bool, nodes: int) -> BestNu:
    """Kept for the correlation that is optimised next, which is compared with it."""

    def value(log_nu: float, lags: int) -> float:
        return bound(
            nu(float(np.exp(log_nu))), problem, program=program, max_lag=lags, certify=False, nodes=nodes
        ).grid_value

    grid = np.linspace(min(np.log(problem.eta * problem.mu), 0.0) - SLOWER, 0.0, POINTS)
    best = int(np.argmin([value(point, 0) for point in grid]))
    ends = grid[max(best - 2, 0)], grid[min(best + 2, POINTS - 1)]
    from scipy.optimize import minimize_scalar

    found: Any = minimize_scalar(lambda x: value(x, max_lag), bounds=ends, method="bounded", options={"xatol": 1e-4})
    candidates = float(np.exp(found.x)), 1.0
    searched, white = (
        bound(nu(damping), problem, program=program, max_lag=max_lag, certify=certify, nodes=nodes)
        for damping in candidates
    )
    if searched.best < white.best:
        return BestNu(nu=candidates[0], bound=searched, independent=white)
    return BestNu(nu=1.0, bound=white, independent=white)
