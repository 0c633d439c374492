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

Everything is solved in the units of `coordinates`.

>>> from dpbounds.ftrl.correlations import independent
>>> from dpbounds.ftrl.methods.coordinates import units
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
from dpbounds.ftrl.methods.coordinates import Units
from dpbounds.ftrl.methods.loops import Loop, Measure, Point, symmetric

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


class Infeasible(AccuracyError):
    """The solver says that there is no such storage function."""


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

    size, basis = loop.size, scale.all
    draw, error = scale.steps @ loop.draw, scale.steps @ loop.error
    pairs, past_pairs = loop.pairs(), loop.past_pairs() if stable else []
    share = scale.multiplier / scale.value
    mixing, forms = _weighted(loop, pairs, basis, share)
    P = cp.Variable((size, size), symmetric=True)
    weights = cp.Variable(len(forms), nonneg=True)
    multipliers, past = mixing @ weights, None

    inequality = _growth(P, scale.steps @ loop.step @ basis, scale.steps @ basis[:size])
    inequality += basis.T @ loop.measure(measure) @ basis / scale.value
    inequality += _sum(weights, forms)
    constraints = []
    if extra is not None:
        inequality += (error @ P @ error) * (basis.T @ extra @ basis)
    if extra is not None or errors > 0:
        constraints.append(error @ P @ error >= 0)
    signs, judged = balance(loop, pairs, measure)
    constraints += [
        (signs @ mixing) @ weights == -judged / scale.multiplier,
        inequality << -margin * np.eye(loop.width),
    ]
    if stable:
        below = P
        if past_pairs:
            states = np.eye(loop.width, size) @ np.linalg.inv(scale.steps)
            past_mixing, past_forms = _weighted(loop, past_pairs, states, share)
            past_weights = cp.Variable(len(past_forms), nonneg=True)
            past = past_mixing @ past_weights
            below = P - _sum(past_weights, past_forms)
            held, ahead = at_lags(loop, past_pairs)[1:] @ past_mixing, carried(loop, pairs) @ mixing
            constraints.append(held @ past_weights == ahead @ weights)
        constraints.append(below >> margin * np.eye(size))
    cost = draws * (draw @ P @ draw) + errors * (error @ P @ error)
    what = "stability on the whole class" if stable else "a bound"
    _run(
        cp.Problem(cp.Minimize(cost), constraints),
        f"storage program: the solver finds no function of the state with memory {loop.memory} that shows {what}; the "
        "method may diverge on the class, or its steps be too small for floats: take a larger memory, or other steps",
        inaccurate,
    )
    found = np.asarray(P.value)
    return Storage(
        P=_symmetric(scale.steps.T @ _symmetric(found) @ scale.steps * scale.value),
        multipliers=np.maximum(np.asarray(multipliers.value), 0.0) * scale.multiplier,
        past=np.zeros(0) if past is None else np.maximum(np.asarray(past.value), 0.0) * scale.multiplier,
        value=float(np.asarray(cost.value)) * scale.value,
    )


def _weighted(
    loop: Loop, pairs: list[tuple[Point, Point]], basis: np.ndarray, share: float
) -> tuple[np.ndarray, list[np.ndarray]]:
    """What gets a weight: I_ij, and I_ij + I_ji, in which no phi is left; both as 1 in size. As columns over the
    multipliers of `pairs`, and as forms in the coordinates of the basis.

    At small steps the sum for two near points is a small form with a large weight, where each alone is a large one.
    """
    places = {(id(i), id(j)): k for k, (i, j) in enumerate(pairs)}
    columns, forms = [], []
    for k, (i, j) in enumerate(pairs):
        apart, slopes, slope = (row @ basis for row in (i.place - j.place, i.slope - j.slope, j.slope))
        curved = np.outer(slopes, slopes) * (share / (2.0 * float(loop.smoothness)))
        other = places[id(j), id(i)]
        parts = [((k,), -symmetric(slope, apart) * share - curved)]
        parts += [((k, other), symmetric(slopes, apart) * share - 2.0 * curved)] if k < other else []
        for chosen, form in parts:
            size = max(float(np.linalg.norm(form)), np.finfo(float).tiny)
            columns.append(np.zeros(len(pairs)))
            columns[-1][list(chosen)] = 1.0 / size
            forms.append(form / size)
    return np.array(columns).T, forms


def _sum(weights: Any, forms: list[np.ndarray]) -> Any:
    """The weighted sum as an expression, in one product."""
    import cvxpy as cp

    columns = np.array([form.ravel() for form in forms]).T
    return cp.reshape(columns @ weights, forms[0].shape, order="C")


def _growth(P: Any, step: np.ndarray, now: np.ndarray) -> Any:
    """V(s_{t+1}) - V(s_t) as an expression in P; both as rows in the coordinates of P, over those of the program."""
    mixed = now.T @ P @ step
    return mixed + mixed.T + step.T @ P @ step


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return (matrix + matrix.T) / 2.0


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
        except cp.SolverError:
            status = "an error"
            continue
        status = str(problem.status)
        if status == cp.OPTIMAL:
            return
        if status == cp.INFEASIBLE:
            raise Infeasible(otherwise)
    if inaccurate and status == cp.OPTIMAL_INACCURATE:
        return
    raise AccuracyError(
        f"storage program: the solver reached none of its accuracies, it ended with {status}; floats may have too few "
        "digits for such small steps or such a condition number, and whether there is a bound is open: take larger "
        "steps or another memory"
    )
