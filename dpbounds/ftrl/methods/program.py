"""The small semidefinite program: a storage function V = s' P s that pays for the error, and one for stability.

minimise N draw' P draw + sigma^2 error' P error over symmetric P and lambda_ij >= 0 so that

    V(s_{t+1}) - V(s_t) + J_t + sum lambda_ij I_ij <= 0   for all states and gradients

for the quadratic parts, where the phi's cancel: for each kind of point, sum of lambda over the i's - sum over the j's +
(1 where J is F there) = 0. Draws are independent of the state and the gradients, so that E V(s_{t+1}) = E (V after the
step without noise) + N draw' P draw: summed over t, the time average of E J_t is at most the objective if E |s_t|^2
stays bounded, as then what is left of V and of the phi's at both ends is divided by t. P need not be positive.

That E |s_t|^2 is bounded is shown by a second function W = s' P s + sum_k gamma_k phi(y_{t-k}) of the same kind, J =
|y|^2, with gamma chosen so that the phi's of sum lambda I telescope, and W >= c |s|^2 by inequalities nu_ij I_ij >= 0
between past points. The inequality is strict, that is W falls by some c |s|^2, which is at least c' W as phi <=
(L - mu) |y|^2 / 2: then E W_{t+1} <= (1 - c') E W_t + a constant.

Everything is solved in units in which the loop moves by about 1: the condition of the program then hardly depends on
the step size.

>>> from dpbounds.ftrl.correlations import independent
>>> from dpbounds.ftrl.methods.linear import gradient_descent
>>> from dpbounds.ftrl.methods.noises import noise_system
>>> loop = Loop.of(gradient_descent(eta=1.0), noise_system(independent(), float), 0.1, 1.0, 0, float)
>>> found = solve(loop, units(loop, loop, 1.0, "f", 1.0, 0.0), "f", 1.0, 0.0)
>>> round(found.value, 6)
0.5
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbounds.errors import AccuracyError
from dpbounds.ftrl.methods.loops import Loop, Measure, Point
from dpbounds.ftrl.methods.quadratics import closed_loop, second_moment

# Accuracies asked of the solver, of which the first that it reaches is taken; and by how much the inequalities are
# strict at first, in the units of the program: what its inaccuracy may not use up.
TOLERANCES, MARGIN = (1e-11, 1e-9, 1e-8), 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Storage:
    """What the solver found: `P`, the multipliers in the order of `Loop.pairs`, those between past points in the order
    of `Loop.past_pairs` (for stability), and its objective.
    """

    P: np.ndarray
    multipliers: np.ndarray
    past: np.ndarray
    value: float


@dataclass(frozen=True, eq=False)
class Units:
    """Units of state and inputs together, of the multipliers, and of the value; `moves` are the steps of the state."""

    all: np.ndarray
    moves: np.ndarray
    multiplier: float
    value: float


def units(bare: Loop, loop: Loop, L: float, measure: Measure, draws: float, errors: float) -> Units:
    """Root mean squares on the quadratics of curvature mu, (mu L)^{1/2} and L, the largest of them; `bare` is the loop
    without memory.

    A difference q_k is about k steps of y, or twice y where that is less.
    """
    mu, size = float(loop.mu), bare.size
    squares, steps, values, energies = [], [], [], []
    for h in (mu, float(np.sqrt(mu * L)), L):
        delta = closed_loop(bare, h)
        moment = draws * second_moment(delta, bare.draw) + errors * second_moment(delta, bare.error)
        places = [point[:size] for point in (bare.y, bare.x)[: len(bare.kinds)]]
        moved = [place @ delta for place in places]
        driven = draws * float(places[0] @ bare.draw) ** 2 + errors * float(places[0] @ bare.error) ** 2
        rows = np.vstack([np.eye(size), *places, *moved])
        found = np.einsum("ij,jk,ik->i", rows, moment, rows)
        found[size + len(places) :] += driven
        squares.append(np.concatenate([found, (h - mu) ** 2 * found[size : size + len(places)]]))
        steps.append(np.einsum("ij,jk,ik->i", delta, moment, delta) + draws * bare.draw**2 + errors * bare.error**2)
        output = float(bare.x[:size] @ moment @ bare.x[:size])
        values.append(output * (h / 2 if measure == "f" else h * h if measure == "gradient" else 1.0))
        energies.append(h / 2 * squares[-1][size])
    spread = np.sqrt(np.maximum(np.max(squares, axis=0), np.finfo(float).tiny))
    kinds, lags = len(bare.kinds), np.arange(1, loop.memory + 1)
    sizes, moves = [spread[:size]], [np.sqrt(np.maximum(np.max(steps, axis=0), np.finfo(float).tiny))]
    for place, step, slope in spread[size:].reshape(3, kinds).T:
        slopes = np.full(loop.memory, slope)
        sizes += [np.minimum(lags * step, 2.0 * place), slopes]
        moves += [np.full(loop.memory, step), slopes]
    sizes.append(spread[size + 2 * kinds :])
    return Units(np.concatenate(sizes), np.concatenate(moves), max(values) / max(energies), max(values))


def solve(
    loop: Loop,
    scale: Units,
    measure: Measure,
    draws: float,
    errors: float,
    *,
    extra: np.ndarray | None = None,
    stable: bool = False,
    margin: float = MARGIN,
    inaccurate: bool = False,
) -> Storage:
    """The program for the measure. `extra` is the quadratic form over (s, inputs) by which the variance of the errors
    of the gradient grows with the state; `stable` asks for W >= c |s|^2 too. All inequalities are strict by `margin`.
    `inaccurate` takes what the solver ends with where it reaches none of its accuracies: for what is then proved.

    Raises `AccuracyError` where no storage function with this memory exists, or the solver does not find one.
    """
    import cvxpy as cp

    size, unit = loop.size, scale.all
    S, squares = scale.moves, np.outer(unit, unit)
    draw, error = loop.draw / S, loop.error / S
    pairs, past_pairs = loop.pairs(), loop.past_pairs() if stable else []
    P = cp.Variable((size, size), symmetric=True)
    multipliers, past = cp.Variable(len(pairs), nonneg=True), cp.Variable(len(past_pairs), nonneg=True)

    def forms(chosen: list[tuple[Point, Point]]) -> list[np.ndarray]:
        return [loop.interpolation(i, j) * squares * (scale.multiplier / scale.value) for i, j in chosen]

    inequality = (
        _growth(P, loop.step * (unit / S[:, None]), unit[:size] / S) + loop.measure(measure) * squares / scale.value
    )
    inequality += sum(multipliers[k] * form for k, form in enumerate(forms(pairs)))
    constraints = []
    if extra is not None:
        inequality += (error @ P @ error) * (extra * squares)
    if extra is not None or errors > 0:
        constraints.append(error @ P @ error >= 0)
    signs, judged = balance(loop, pairs, measure)
    constraints += [signs @ multipliers == -judged / scale.multiplier, inequality << -margin * np.eye(loop.width)]
    if stable:
        again = unit[:size] / S
        scaled = [form[:size, :size] / np.outer(again, again) for form in forms(past_pairs)]
        below = P - sum((past[k] * form for k, form in enumerate(scaled)), 0.0)
        constraints.append(below >> margin * np.eye(size))
        if past_pairs:
            constraints.append(at_lags(loop, past_pairs)[1:] @ past == carried(loop, pairs) @ multipliers)
    cost = draws * (draw @ P @ draw) + errors * (error @ P @ error)
    what = "stability on the whole class" if stable else "a bound"
    _run(
        cp.Problem(cp.Minimize(cost), constraints),
        f"storage program: no function of the state with memory {loop.memory} shows {what}; take a larger memory",
        inaccurate,
    )
    found = np.asarray(P.value)
    return Storage(
        P=(found + found.T) / 2 * scale.value / np.outer(S, S),
        multipliers=np.maximum(np.asarray(multipliers.value), 0.0) * scale.multiplier,
        past=np.maximum(np.asarray(past.value), 0.0) * scale.multiplier if past_pairs else np.zeros(0),
        value=float(np.asarray(cost.value)) * scale.value,
    )


def _growth(P: Any, step: np.ndarray, sizes: np.ndarray) -> Any:
    """V(s_{t+1}) - V(s_t) as an expression in P, which is in the units of steps."""
    now = np.eye(len(sizes), step.shape[1]) * sizes[:, None]
    mixed = now.T @ P @ step
    return mixed + mixed.T + step.T @ P @ step


def balance(loop: Loop, pairs: list[tuple[Point, Point]], measure: Measure) -> tuple[np.ndarray, np.ndarray]:
    """For each kind of point, how often phi of it stands in each I_ij, with its sign; and in the measure."""
    signs = [[(i.kind == kind) - (j.kind == kind) for i, j in pairs] for kind in loop.kinds]
    judged = [int(measure == "f" and kind == loop.kinds[-1]) for kind in loop.kinds]
    return np.array(signs), np.array(judged)


def at_lags(loop: Loop, pairs: list[tuple[Point, Point]]) -> np.ndarray:
    """For each lag from 0 on, how often phi of y that long ago stands in each I_ij, with its sign."""
    signs = [
        [(i.kind == "y" and i.lag == lag) - (j.kind == "y" and j.lag == lag) for i, j in pairs]
        for lag in range(loop.memory + 1)
    ]
    return np.array(signs, dtype=int).reshape(loop.memory + 1, len(pairs))


def carried(loop: Loop, pairs: list[tuple[Point, Point]]) -> np.ndarray:
    """gamma_1, gamma_2, ... as rows over the multipliers: gamma_k = -(the weights of phi at lags below k).

    With c_k the weight of phi(y_{t-k}) in sum lambda I, sum_k c_k = 0 and c_k = gamma_k - gamma_{k+1}, gamma_0 = 0: the
    phi's in there are then those of W_t less those of W_{t+1}.
    """
    return -np.cumsum(at_lags(loop, pairs), axis=0)[: loop.memory]


def _run(problem: Any, otherwise: str, inaccurate: bool) -> None:
    """Solve to the first of `TOLERANCES` that is reached; `AccuracyError` with the reason where none is."""
    import cvxpy as cp

    status = "no answer"
    for tolerance in TOLERANCES:
        options = {"tol_gap_abs": tolerance, "tol_gap_rel": tolerance, "tol_feas": tolerance}
        try:
            with warnings.catch_warnings(action="ignore", category=UserWarning):  # of what the status says
                problem.solve(solver=cp.CLARABEL, **options)
        except cp.SolverError as error:
            status = str(error)
            continue
        status = str(problem.status)
        if status == cp.OPTIMAL:
            return
        if status == cp.INFEASIBLE:
            raise AccuracyError(otherwise)
    if inaccurate and status == cp.OPTIMAL_INACCURATE:
        return
    raise AccuracyError(f"storage program: the solver reached none of its accuracies, it ended with: {status}")
