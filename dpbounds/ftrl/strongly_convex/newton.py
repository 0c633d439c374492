"""The default solver: psi eliminated, primal-dual interior-point Newton steps on the multipliers.

The objective sum_k q_k (|c_k|^2 - a b) / D_k is smooth and convex where D > 0, and rises to infinity at the edge: it
keeps D positive by itself, except at nodes where the spectrum is 0 or nearly so. Only D > 0 at those nodes, lambda_t >=
0 and sum lambda_t <= lambda_0, all linear, need dual variables. What is returned is a candidate: `certificate` turns it
into a bound.

>>> program = Program(name="f", mu=0.2, L=1.0, eta=0.5)
>>> grid = Grid.graded(program, 1)
>>> found = solve(program, grid, np.ones_like(grid.omega), 1)
>>> len(found.multipliers), 0 <= found.gap < 1e-3
(3, True)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from dpbounds.errors import AccuracyError
from dpbounds.ftrl.strongly_convex.programs import Grid, Program, Quadratics

STEPS = 100
# Nodes with less than this share of the largest weight have dual variables of their own where the solution is not found
# otherwise; there are many of them, and to have them always would cost up to 50 times as much.
FAINT = 1e-3
# Duality gap and stationarity residual, relative to the value; and the residual with which a solution is accepted whose
# gap is closed: where D is a small difference of large terms, rounding leaves no less.
TOLERANCE, ROUNDING = 1e-9, 1e-6
# For (L - mu) / L below this F is a quadratic for all purposes, and other lags have nothing to add.
QUADRATIC = 1e-6
# Multipliers below this share of the largest are dropped if that costs less than DROPPED of the value.
NEGLIGIBLE, DROPPED = 1e-6, 1e-9
# Times that the best single multiplier is looked for on a finer scale, and points on it.
ZOOMS, ZOOMED = 5, 33
# Parts into which the gaps between nodes are cut to see whether D is positive there.
BETWEEN = 4
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

    Raises `AccuracyError` if no multiplier makes D positive, if the gap does not reach `TOLERANCE`, or if rounding
    leaves the derivatives less than six digits.
    """
    start = best_single(program, grid, spectrum, max_lag)
    objective = Objective.on(program, grid, spectrum, max_lag)
    if max_lag == 0 or program.L - program.mu <= QUADRATIC * program.L:
        return Candidate(multipliers=start, value=objective.value(start), gap=0.0, steps=0)
    return minimise(objective, start)


def minimise(objective: Objective, start: np.ndarray) -> Candidate:
    """The least value of an objective, from its best single multiplier or near it; errors as `solve`."""
    inside = _inside(objective, start)
    try:
        return _interior_point(objective, inside, 0.0)
    except AccuracyError:
        return _interior_point(objective, inside, FAINT)


def pruned(program: Program, grid: Grid, spectrum: Float[np.ndarray, " nodes"], candidate: Candidate) -> Candidate:
    """Without the multipliers and lags that do not matter: the work of what follows grows with the largest lag."""
    max_lag = (len(candidate.multipliers) - 1) // 2
    lagged = candidate.multipliers[1:].reshape(2, max_lag)
    kept = np.where(lagged > NEGLIGIBLE * lagged.max(initial=0.0), lagged, 0.0)
    used = np.flatnonzero(kept.any(axis=0))
    shorter = int(used[-1]) + 1 if len(used) else 0
    multipliers = np.concatenate([candidate.multipliers[:1], kept[0, :shorter], kept[1, :shorter]])
    psi = grid.quadratics(program, shorter).psi(multipliers)
    value = grid.mean(spectrum * psi)
    if not value <= candidate.value * (1.0 + DROPPED):
        return candidate
    return replace(candidate, multipliers=multipliers, value=value)


def lifted(program: Program, grid: Grid, spectrum: Float[np.ndarray, " nodes"], candidate: Candidate) -> Candidate:
    """Moved towards the best single multiplier, no farther than it takes for D to be positive between the nodes too.

    Where the spectrum is faint the best D is 0 at some nodes. D is linear in the multipliers, and in s = sin^2(omega /
    2) where there is one alone.
    """
    max_lag = (len(candidate.multipliers) - 1) // 2
    *_, D = grid.quadratics(program, max_lag).parts(candidate.multipliers)
    if _least_nearby(grid.omega, D).min() > 0:  # in most cases, and cheaper than to look in the gaps
        return candidate
    gaps = len(grid.omega) - 1
    between = np.interp(np.arange(BETWEEN * gaps + 1) / BETWEEN, np.arange(gaps + 1), grid.omega)
    quadratics = Quadratics.on(program, between, max_lag)
    *_, D = quadratics.parts(candidate.multipliers)
    D = _least_nearby(between, D)
    low = D <= 0
    if not low.any():
        return candidate
    single = best_single(program, grid, spectrum, max_lag)
    *_, single_D = quadratics.parts(single)
    share = float(np.max(-D[low] / (single_D[low] / 2.0 - D[low])))
    multipliers = (1.0 - share) * candidate.multipliers + share * single
    psi = grid.quadratics(program, max_lag).psi(multipliers)
    value = grid.mean(spectrum * psi)
    return replace(candidate, multipliers=multipliers, value=value, gap=candidate.gap + value / candidate.value - 1.0)


def _least_nearby(omega: np.ndarray, D: np.ndarray) -> np.ndarray:
    """What D can fall to in the gaps beside a node: D'' h^2 / 8 below the chord to second order, and as much again."""
    gaps = np.diff(omega)
    curvature = 2.0 * np.diff(np.diff(D) / gaps) / (gaps[1:] + gaps[:-1])
    least = D.copy()
    least[1:-1] -= np.maximum(curvature, 0.0) * np.maximum(gaps[1:], gaps[:-1]) ** 2 / 4.0
    return least


def best_single(program: Program, grid: Grid, spectrum: np.ndarray, max_lag: int) -> np.ndarray:
    """Best single multiplier lambda_0, the others 0: the value is convex in it; searched on a logarithmic scale in
    units of L.
    """
    q, a, b = grid.quadratics(program, 0), program.a, program.b
    weights = node_weights(program, grid, spectrum)

    def values(log_scales: np.ndarray) -> np.ndarray:
        scales = program.L * np.exp(log_scales)
        D = np.multiply.outer(2.0 * scales, q.product_real)
        D += q.constant
        feasible = D.min(axis=1) > 0
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            found = (scales * (scales + 2.0 * a) + a * (a - b)) * (np.divide(1.0, D, out=D) @ weights)
        return np.where(feasible, np.minimum(found, 1e300), 1e300)

    scales, zooms = np.linspace(-35.0, 35.0, 71), 1 if max_lag else ZOOMS  # with others it is where they start
    for zoom in range(zooms + 1):
        found = values(scales)
        best = int(np.argmin(found))
        if found[best] == 1e300:
            raise AccuracyError(
                f"program {program.name}: no multiplier is feasible in doubles at eta L = {program.eta * program.L!r}"
            )
        if zoom < zooms:
            scales = np.linspace(scales[max(best - 1, 0)], scales[min(best + 1, len(scales) - 1)], ZOOMED)
    return np.concatenate([[program.L * np.exp(scales[best])], np.zeros(2 * max_lag)])


def _inside(objective: Objective, start: np.ndarray) -> np.ndarray:
    """The same with small positive multipliers at all lags, small enough to stay feasible."""
    point, share = start.copy(), 5.0
    while True:
        point[1:] = share * start[0] / len(start)
        if np.isfinite(objective.value(point)):
            return point
        share /= 10.0


class Objective:
    """Value, gradient and Hessian; the Hessian is assembled from three weighted products of the two designs."""

    def __init__(self, quadratics: Quadratics, weights: np.ndarray) -> None:
        self.quadratics, self.weights = quadratics, weights
        self._last: tuple[np.ndarray, tuple[np.ndarray, ...]] | None = None

    @classmethod
    def on(cls, program: Program, grid: Grid, spectrum: np.ndarray, max_lag: int) -> Objective:
        """The mean of S psi over the circle."""
        return cls(grid.quadratics(program, max_lag), node_weights(program, grid, spectrum))

    def parts(self, multipliers: np.ndarray) -> tuple[np.ndarray, ...]:
        """Those of the quadratics: a step is taken where the line search ended."""
        if self._last is None or not np.array_equal(self._last[0], multipliers):
            self._last = multipliers, self.quadratics.parts(multipliers)
        return self._last[1]

    def value(self, multipliers: np.ndarray) -> float:
        """inf outside the domain."""
        _, _, numerator, denominator = self.parts(multipliers)
        return float(self.weights @ (numerator / denominator)) if denominator.min() > 0 else np.inf

    def forced(self, share: float) -> tuple[np.ndarray, np.ndarray]:
        """D at the nodes with at most this share of the largest weight, in units of eta^2 L: its gradient, a row for
        each node, and its constant.
        """
        q, unit = self.quadratics, self.quadratics.program.eta**2 * self.quadratics.program.L
        free = self.weights <= share * self.weights.max()
        even = 2.0 * q.product_real[free, None] * q.cosines[free] / unit
        odd = 2.0 * q.product_imag[free, None] * q.sines[free] / unit
        return np.hstack([even, even[:, 1:]]) - np.hstack([0.0 * even[:, :1], odd, -odd]), q.constant[free] / unit

    def derivatives(self, multipliers: np.ndarray, *, curved: bool = True) -> tuple[float, np.ndarray, np.ndarray]:
        """Of N / D, N = |c|^2 - a b: grad N = 2 (Re c, Im c) and grad D = 2 (Re conj(u) v, -Im conj(u) v) in the
        designs; without the Hessian where it is not asked for.
        """
        q = self.quadratics
        real, imaginary, numerator, denominator = self.parts(multipliers)
        share, ratio = self.weights / denominator, numerator / denominator
        even = 2.0 * share * (real + q.program.a - ratio * q.product_real)
        gradient = self.spread(even, 2.0 * share * (imaginary + ratio * q.product_imag))
        hessian = self.hessian(*self._curvature(real, imaginary, denominator)) if curved else np.zeros((0, 0))
        return float(self.weights @ ratio), gradient, hessian

    def spread(self, even: np.ndarray, odd: np.ndarray) -> np.ndarray:
        """A gradient from the derivatives by Re Lambda and Im Lambda at the nodes."""
        q = self.quadratics
        even, odd = q.cosines.T @ even, q.sines.T @ odd
        gradient = np.concatenate([even, even[1:]])
        gradient[1 : q.max_lag + 1] += odd
        gradient[q.max_lag + 1 :] -= odd
        return gradient

    def hessian(self, rr: np.ndarray, ri: np.ndarray, ii: np.ndarray) -> np.ndarray:
        """The same from second derivatives."""
        q = self.quadratics
        root_rr, root_ii = np.sqrt(rr)[:, None] * q.cosines, np.sqrt(ii)[:, None] * q.sines
        # numpy computes one half of the product of a matrix with its own transpose
        return _spread(root_rr.T @ root_rr, q.cosines.T @ (ri[:, None] * q.sines), root_ii.T @ root_ii)

    def inner(self, real: np.ndarray, imaginary: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """X = Lambda conj(u) + conj(Lambda v) + (a - b) conj(v), from Lambda."""
        q = self.quadratics
        mu, L, eta, gap = q.program.mu, q.program.L, q.program.eta, q.program.a - q.program.b
        x_real = real * (2.0 * q.half - eta * (L + mu)) + gap * (q.half - eta * L)
        return x_real, q.sine * (2.0 * real + gap) + eta * (L - mu) * imaginary

    def slopes(self) -> tuple[tuple[Any, Any, np.ndarray], tuple[Any, Any, np.ndarray]]:
        """Derivatives of Re X, Im X and D by Re Lambda, and by Im Lambda."""
        q = self.quadratics
        mu, L, eta = q.program.mu, q.program.L, q.program.eta
        by_real = 2.0 * q.half - eta * (L + mu), 2.0 * q.sine, 2.0 * q.product_real
        return by_real, (0.0, eta * (L - mu), -2.0 * q.product_imag)

    def _curvature(
        self, real: np.ndarray, imaginary: np.ndarray, denominator: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights of the Hessian from (eta (L - mu))^2 N / D = |X|^2 / D - (a - b) - 2 Re Lambda.

        X and D are linear in the multipliers, so 2 / D times the squares of grad X - (X / D) grad D: positive
        semidefinite term by term, also where N / D is the small difference of large numbers.
        """
        program, (X, Y) = self.quadratics.program, self.inner(real, imaginary)
        first, second = ((dX - X / denominator * dD, dY - Y / denominator * dD) for dX, dY, dD in self.slopes())
        share = 2.0 * self.weights / denominator / (program.eta * (program.L - program.mu)) ** 2
        return (
            share * (first[0] ** 2 + first[1] ** 2),
            share * (first[0] * second[0] + first[1] * second[1]),
            share * (second[0] ** 2 + second[1] ** 2),
        )


def node_weights(program: Program, grid: Grid, spectrum: np.ndarray) -> np.ndarray:
    """Of psi / eta^2 at the nodes in the mean over the circle."""
    return program.eta**2 / (2.0 * np.pi) * grid.weights * spectrum


def _spread(even: np.ndarray, mixed: np.ndarray, odd: np.ndarray) -> np.ndarray:
    """The Hessian in (margin, forward, backward) from that in (margin, sums) and differences."""
    split = len(odd)
    inner, skew = even[1:, 1:], mixed[1:]
    same, crossed = inner + odd, skew + skew.T
    forward, backward = same + crossed, same - crossed
    across = inner - odd
    across += skew.T
    across -= skew
    hessian = np.empty((2 * split + 1, 2 * split + 1))
    hessian[0, 0] = even[0, 0]
    hessian[0, 1:] = hessian[1:, 0] = np.concatenate([even[0, 1:] + mixed[0], even[0, 1:] - mixed[0]])
    hessian[1 : split + 1, 1 : split + 1], hessian[split + 1 :, split + 1 :] = forward, backward
    hessian[1 : split + 1, split + 1 :], hessian[split + 1 :, 1 : split + 1] = across, across.T
    return hessian


def _interior_point(objective: Objective, start: np.ndarray, faint: float) -> Candidate:
    """The slacks stay positive: the unknowns, in units of the scalar solution, and D at the nodes of at most a `faint`
    share of the weight. `dual` belongs to their signs.
    """
    scale, gap, residual, value = start[0], np.inf, np.inf, 1.0
    forced, offset = objective.forced(faint)
    point, rows = start / scale, np.vstack([np.eye(len(start)), scale * forced])
    slack = np.concatenate([point, scale * forced @ point + offset])
    dual = objective.value(start) / len(slack) / slack
    for step in range(1, STEPS + 1):
        value, gradient, hessian = objective.derivatives(scale * point)
        gradient, hessian = scale * gradient, scale**2 * hessian
        gap, residual = float(slack @ dual), float(np.abs(gradient - dual @ rows).max())
        if max(gap, residual) <= TOLERANCE * value:
            return Candidate(multipliers=scale * point, value=value, gap=gap / value, steps=step)
        newton = _factor(_barrier_added(hessian, dual / slack, rows))
        target = _centring(newton, rows, slack, dual, gradient) * gap / len(slack)
        slope = gradient - (target / slack) @ rows
        move = -newton(slope)
        slack_move = rows @ move
        dual_move = target / slack - dual - dual / slack * slack_move
        length = _line_search(objective, scale, (point, move), (slack, slack_move), value, float(slope @ move), target)
        point, slack = point + length * move, slack + length * slack_move
        dual = dual + _largest_step(dual, dual_move) * dual_move
    found = Candidate(multipliers=scale * point, value=value, gap=max(gap, residual) / value, steps=STEPS)
    if not (gap <= TOLERANCE * value and residual <= ROUNDING * value):
        raise _unsolved(objective.quadratics.program, gap / value, residual / value)
    return found


def _barrier_added(hessian: np.ndarray, share: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """hessian + rows^T diag(share) rows; the first rows are the identity."""
    size = len(hessian)
    others, added = rows[size:], hessian.copy()
    added.flat[:: size + 1] += share[:size]
    return added + others.T @ (share[size:, None] * others) if len(others) else added


def _unsolved(program: Program, gap: float, residual: float) -> AccuracyError:
    """What was reached, and why no more if it is known."""
    reason = "; D is too small a difference of large terms for floating point" if gap <= TOLERANCE else ""
    return AccuracyError(
        f"program {program.name}: relative gap {gap:.1e}, residual {residual:.1e} after {STEPS} Newton steps; asked "
        f"was {TOLERANCE:.0e}, and {ROUNDING:.0e} of the residual at least{reason}"
    )


def _centring(
    newton: Callable[[np.ndarray], np.ndarray],
    rows: np.ndarray,
    slack: np.ndarray,
    dual: np.ndarray,
    gradient: np.ndarray,
) -> float:
    """Share of the gap to aim at, from how far the step that aims at none can go (Mehrotra's rule)."""
    move = rows @ -newton(gradient)
    dual_move = -dual - dual / slack * move
    ahead = slack + _largest_step(slack, move) * move
    after = float(ahead @ (dual + _largest_step(dual, dual_move) * dual_move))
    return min(max((after / float(slack @ dual)) ** 3, LEAST_CENTRING), CENTRING)


def _factor(matrix: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Solver by Cholesky after scaling the diagonal to 1, with the least ridge that rounding asks for."""
    from scipy.linalg.lapack import dpotrf, dpotrs  # pyright: ignore[reportAttributeAccessIssue]

    scale = 1.0 / np.sqrt(np.diag(matrix))
    scaled = matrix * scale[:, None]
    scaled *= scale
    for ridge in (0.0, 1e-14, 1e-12, 1e-10):
        factor, failed = dpotrf((scaled + ridge * np.eye(len(scaled))).T, lower=True, overwrite_a=True)
        if not failed:
            return lambda right: scale * dpotrs(factor, scale * right, lower=True)[0]
    raise AccuracyError("Newton matrix: not positive definite beyond what rounding explains")


def _largest_step(values: np.ndarray, moves: np.ndarray) -> float:
    """Most of the way to where the first value reaches 0, at most 1."""
    fastest = float((moves / values).min())
    return min(1.0, -TO_THE_BOUNDARY / fastest) if fastest < 0 else 1.0


def _line_search(
    objective: Objective,
    scale: float,
    line: tuple[np.ndarray, np.ndarray],
    slack_line: tuple[np.ndarray, np.ndarray],
    value: float,
    slope: float,
    target: float,
) -> float:
    """Backtrack until the barrier function falls as its slope promises, up to rounding. Lines: start and direction."""
    (point, move), (slack, slack_move) = line, slack_line
    length, before = _largest_step(slack, slack_move), value - target * np.log(slack).sum()
    while length > 1e-14:
        after = objective.value(scale * (point + length * move)) - target * np.log(slack + length * slack_move).sum()
        if after <= before + 1e-4 * length * slope + 1e-13 * abs(value):
            return length
        length /= 2.0
    return 0.0
