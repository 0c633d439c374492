"""The default solver: psi eliminated, primal-dual interior-point Newton steps on the multipliers.

The objective sum_k q_k (|c_k|^2 - a b) / D_k is smooth and convex where D > 0, and rises to infinity at the edge: it
keeps D positive by itself. Only the linear constraints lambda_t >= 0 and sum lambda_t <= lambda_0 need multipliers of
their own. What is returned is a candidate: `certificate` turns it into a bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize_scalar

from dpbounds.errors import AccuracyError
from dpbounds.ftrl.strongly_convex.programs import Grid, Program, Quadratics

STEPS = 100
# Duality gap and stationarity residual, relative to the value.
TOLERANCE = 1e-9
# For (L - mu) / L below this F is a quadratic for all purposes, and other lags have nothing to add.
QUADRATIC = 1e-6
# Multipliers below this share of the largest are dropped if that costs less than DROPPED of the value.
NEGLIGIBLE, DROPPED = 1e-6, 1e-9
# Bounds of the share of the gap that a step aims at, and how far it goes towards the boundary.
LEAST_CENTRING, CENTRING, TO_THE_BOUNDARY = 5e-2, 0.3, 0.99


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """Multipliers as `Quadratics` takes them, with the value on the grid and how well it was solved."""

    multipliers: np.ndarray
    value: float
    gap: float
    steps: int


def solve(program: Program, grid: Grid, spectrum: Float[np.ndarray, " nodes"], max_lag: int) -> Candidate:
    """Minimise (1 / 2 pi) int S psi over the multipliers, S given on the grid's nodes.

    Raises `AccuracyError` if no multiplier makes D positive, or if the gap does not reach `TOLERANCE`.
    """
    weights = program.eta**2 / (2.0 * np.pi) * grid.weights * spectrum
    single = _Objective(Quadratics.on(program, grid.omega, 0), weights)
    start = np.concatenate([_scalar(single), np.zeros(2 * max_lag)])
    objective = _Objective(Quadratics.on(program, grid.omega, max_lag), weights)
    if max_lag == 0 or program.L - program.mu <= QUADRATIC * program.L:
        return Candidate(multipliers=start, value=objective.value(start), gap=0.0, steps=0)
    return _interior_point(objective, _inside(objective, start))


def pruned(program: Program, grid: Grid, spectrum: Float[np.ndarray, " nodes"], candidate: Candidate) -> Candidate:
    """Without the multipliers and lags that do not matter: the work of what follows grows with the largest lag."""
    max_lag = (len(candidate.multipliers) - 1) // 2
    lagged = candidate.multipliers[1:].reshape(2, max_lag)
    kept = np.where(lagged > NEGLIGIBLE * lagged.max(initial=0.0), lagged, 0.0)
    used = np.flatnonzero(kept.any(axis=0))
    shorter = int(used[-1]) + 1 if len(used) else 0
    multipliers = np.concatenate([candidate.multipliers[:1], kept[0, :shorter], kept[1, :shorter]])
    psi = Quadratics.on(program, grid.omega, shorter).psi(multipliers)
    value = float(grid.weights @ (spectrum * psi)) / (2.0 * np.pi)
    if not value <= candidate.value * (1.0 + DROPPED):
        return candidate
    return replace(candidate, multipliers=multipliers, value=value)


def _scalar(objective: _Objective) -> np.ndarray:
    """Best single multiplier lambda_0: the value is convex in it; searched on a logarithmic scale in units of L."""
    program = objective.quadratics.program

    def value(log_scale: float) -> float:
        return min(objective.value(np.array([program.L * np.exp(log_scale)])), 1e300)

    scales = np.linspace(-35.0, 35.0, 71)
    values = [value(scale) for scale in scales]
    best = int(np.argmin(values))
    if values[best] == 1e300:
        raise AccuracyError(f"program {program.name}: no multiplier is feasible at eta L = {program.eta * program.L:g}")
    ends = scales[max(best - 1, 0)], scales[min(best + 1, len(scales) - 1)]
    found: Any = minimize_scalar(value, bounds=ends, method="bounded", options={"xatol": 1e-8})
    return np.array([program.L * np.exp(float(found.x))])


def _inside(objective: _Objective, start: np.ndarray) -> np.ndarray:
    """The same with small positive multipliers at all lags, small enough to stay feasible."""
    point, share = start.copy(), 5.0
    while True:
        point[1:] = share * start[0] / len(start)
        if np.isfinite(objective.value(point)):
            return point
        share /= 10.0


class _Objective:
    """Value, gradient and Hessian; the Hessian is assembled from three weighted products of the two designs."""

    def __init__(self, quadratics: Quadratics, weights: np.ndarray) -> None:
        self.quadratics, self.weights = quadratics, weights

    def value(self, multipliers: np.ndarray) -> float:
        """inf outside the domain."""
        _, _, numerator, denominator = self.quadratics.parts(multipliers)
        return float(self.weights @ (numerator / denominator)) if denominator.min() > 0 else np.inf

    def derivatives(self, multipliers: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Of N / D, N = |c|^2 - a b: grad N = 2 (Re c, Im c) and grad D = 2 (Re conj(u) v, -Im conj(u) v) in the
        designs.
        """
        q = self.quadratics
        real, imaginary, numerator, denominator = q.parts(multipliers)
        share, ratio = self.weights / denominator, numerator / denominator
        even = q.cosines.T @ (2.0 * share * (real + q.program.a - ratio * q.product_real))
        odd = q.sines.T @ (2.0 * share * (imaginary + ratio * q.product_imag))
        gradient = np.concatenate([even, even[1:]])
        gradient[1 : q.max_lag + 1] += odd
        gradient[q.max_lag + 1 :] -= odd
        rr, ri, ii = self._curvature(real, imaginary, denominator)
        hessian = _spread(
            q.cosines.T @ (rr[:, None] * q.cosines),
            q.cosines.T @ (ri[:, None] * q.sines),
            q.sines.T @ (ii[:, None] * q.sines),
        )
        return float(self.weights @ ratio), gradient, hessian

    def _curvature(
        self, real: np.ndarray, imaginary: np.ndarray, denominator: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights of the Hessian from (eta (L - mu))^2 N / D = |X|^2 / D - (a - b) - 2 Re Lambda, where
        X = Lambda conj(u) + conj(Lambda v) + (a - b) conj(v).

        X and D are linear in the multipliers, so 2 / D times the squares of grad X - (X / D) grad D: positive
        semidefinite term by term, also where N / D is the small difference of large numbers.
        """
        q = self.quadratics
        mu, L, eta = q.program.mu, q.program.L, q.program.eta
        half, sine, gap = 2.0 * np.sin(q.omega / 2.0) ** 2, np.sin(q.omega), q.program.a - q.program.b
        sum_part = 2.0 * half - eta * (L + mu)
        x_real = (real * sum_part + gap * (half - eta * L)) / denominator
        x_imaginary = (sine * (2.0 * real + gap) + eta * (L - mu) * imaginary) / denominator
        p, m = 2.0 * q.product_real, -2.0 * q.product_imag
        first = sum_part - x_real * p, -x_real * m
        second = 2.0 * sine - x_imaginary * p, eta * (L - mu) - x_imaginary * m
        share = 2.0 * self.weights / denominator / (eta * (L - mu)) ** 2
        return (
            share * (first[0] ** 2 + second[0] ** 2),
            share * (first[0] * first[1] + second[0] * second[1]),
            share * (first[1] ** 2 + second[1] ** 2),
        )


def _spread(even: np.ndarray, mixed: np.ndarray, odd: np.ndarray) -> np.ndarray:
    """The Hessian in (margin, forward, backward) from that in (margin, sums) and differences."""
    split = len(odd)
    forward = even[1:, 1:] + mixed[1:] + mixed[1:].T + odd
    backward = even[1:, 1:] - mixed[1:] - mixed[1:].T + odd
    across = even[1:, 1:] - mixed[1:] + mixed[1:].T - odd
    hessian = np.empty((2 * split + 1, 2 * split + 1))
    hessian[0, 0] = even[0, 0]
    hessian[0, 1:] = hessian[1:, 0] = np.concatenate([even[0, 1:] + mixed[0], even[0, 1:] - mixed[0]])
    hessian[1 : split + 1, 1 : split + 1], hessian[split + 1 :, split + 1 :] = forward, backward
    hessian[1 : split + 1, split + 1 :], hessian[split + 1 :, 1 : split + 1] = across, across.T
    return hessian


def _interior_point(objective: _Objective, start: np.ndarray) -> Candidate:
    """All unknowns are positive, in units of the scalar solution; `dual` belongs to their signs."""
    scale, gap, residual, value = start[0], np.inf, np.inf, 1.0
    point = start / scale
    dual = objective.value(start) / len(point) / point
    for step in range(1, STEPS + 1):
        value, gradient, hessian = objective.derivatives(scale * point)
        gradient, hessian = scale * gradient, scale**2 * hessian
        gap, residual = float(point @ dual), float(np.abs(gradient - dual).max())
        if max(gap, residual) <= TOLERANCE * value:
            return Candidate(multipliers=scale * point, value=value, gap=gap / value, steps=step)
        newton = _factor(hessian + np.diag(dual / point))
        target = _centring(newton, point, dual, gradient) * gap / len(point)
        slope = gradient - target / point
        move = -newton(slope)
        dual_move = target / point - dual - dual / point * move
        point = point + _line_search(objective, scale, point, move, value, slope, target) * move
        dual = dual + _largest_step(dual, dual_move) * dual_move
    raise AccuracyError(
        f"program {objective.quadratics.program.name}: relative gap {gap / value:.1e}, residual {residual / value:.1e} "
        f"after {STEPS} Newton steps; asked was {TOLERANCE:.0e}"
    )


def _centring(
    newton: Callable[[np.ndarray], np.ndarray], point: np.ndarray, dual: np.ndarray, gradient: np.ndarray
) -> float:
    """Share of the gap to aim at, from how far the step that aims at none can go (Mehrotra's rule)."""
    move = -newton(gradient)
    dual_move = -dual - dual / point * move
    ahead = point + _largest_step(point, move) * move
    after = float(ahead @ (dual + _largest_step(dual, dual_move) * dual_move))
    return min(max((after / float(point @ dual)) ** 3, LEAST_CENTRING), CENTRING)


def _factor(matrix: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Solver by Cholesky after scaling the diagonal to 1, with the least ridge that rounding asks for."""
    scale = 1.0 / np.sqrt(np.diag(matrix))
    scaled = matrix * scale[:, None] * scale
    for ridge in (0.0, 1e-14, 1e-12, 1e-10):
        try:
            factor = cho_factor(scaled + ridge * np.eye(len(scaled)))
        except np.linalg.LinAlgError:
            continue
        return lambda right: scale * cho_solve(factor, scale * right)
    raise AccuracyError("Newton matrix: not positive definite beyond what rounding explains")


def _largest_step(values: np.ndarray, moves: np.ndarray) -> float:
    """Most of the way to where the first value reaches 0, at most 1."""
    shrinking = moves < 0
    return min(1.0, TO_THE_BOUNDARY * float(np.min(-values[shrinking] / moves[shrinking], initial=np.inf)))


def _line_search(
    objective: _Objective,
    scale: float,
    point: np.ndarray,
    move: np.ndarray,
    value: float,
    slope: np.ndarray,
    target: float,
) -> float:
    """Backtrack until the barrier function falls as its slope promises, up to rounding."""
    length, expected = _largest_step(point, move), float(slope @ move)
    before = value - target * np.log(point).sum()
    while length > 1e-14:
        after = objective.value(scale * (point + length * move)) - target * np.log(point + length * move).sum()
        if after <= before + 1e-4 * length * expected + 1e-13 * abs(value):
            return length
        length /= 2.0
    return 0.0
