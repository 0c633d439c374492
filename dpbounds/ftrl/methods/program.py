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

from dataclasses import dataclass

import numpy as np

from dpbounds.ftrl.methods.conic import TOLERANCE, Conic
from dpbounds.ftrl.methods.coordinates import Units
from dpbounds.ftrl.methods.loops import Loop, Measure, Point, symmetric
from dpbounds.ftrl.methods.triangles import coefficients, growths, lifted, square, triangle, upper

# By how much the inequalities are strict at first, in the units of the program: what inaccuracy may not use up.
MARGIN = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Storage:
    """What the solver found: `P`, the multipliers in the order of `Loop.pairs`, those between past points in the order
    of `Loop.past_pairs` (for stability), its objective and the `error` of that, relative.

    `moments` are the prices of the inequality: second moments, in the coordinates of the units, of the worst law of (s,
    inputs) that the multipliers cannot tell from a trajectory.
    """

    P: np.ndarray
    multipliers: np.ndarray
    past: np.ndarray
    value: float
    error: float
    moments: np.ndarray


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
    tolerance: float = TOLERANCE,
) -> Storage:
    """The program for the measure. `extra` is the quadratic form over (s, inputs) by which the variance of the errors
    of the gradient grows with the state; `stable` asks for W >= c |s|^2 too. All inequalities are strict by `margin`.
    The solver stops at `tolerance`, if it gets there: how well the program is solved is for the caller to judge, by
    `error` or by a proof.

    Raises `Infeasible` where the solver says that no storage function with this memory exists, `AccuracyError` where it
    ends with none.
    """
    size, basis, share = loop.size, scale.all, scale.multiplier / scale.value
    draw, error = scale.steps @ loop.draw, scale.steps @ loop.error
    pairs, past_pairs = loop.pairs(), loop.past_pairs() if stable and loop.memory else []
    mixing, forms = _weighted(loop, pairs, basis, share)
    past_mixing, past_forms = _weighted(loop, past_pairs, np.eye(loop.width, size) @ np.linalg.inv(scale.steps), share)
    growth, paid = growths(scale.steps @ loop.step @ basis, scale.steps @ basis[:size]), coefficients(error)
    if extra is not None:
        growth = growth + np.outer(upper(basis.T @ extra @ basis), paid)
    signs, judged = balance(loop, pairs, measure)

    # the unknowns are the entries of P, weights, and weights between past points
    widths = triangle(size), mixing.shape[1], past_mixing.shape[1]
    equations = [_row(widths, weights=signs @ mixing)]
    if past_pairs:
        held, ahead = at_lags(loop, past_pairs)[1:] @ past_mixing, carried(loop, pairs) @ mixing
        equations.append(_row(widths, weights=-ahead, past=held))
    bounds = [_row(widths, weights=-np.eye(widths[1])), _row(widths, past=-np.eye(widths[2]))]
    if extra is not None or errors > 0:
        bounds.append(_row(widths, P=-paid[None, :]))
    matrices = [_row(widths, P=growth, weights=_columns(forms, loop.width))]
    constants = [-upper(basis.T @ loop.measure(measure) @ basis / scale.value + margin * np.eye(loop.width))]
    if stable:
        every = np.diag(upper(np.ones((size, size))))
        matrices.append(_row(widths, P=-every, past=_columns(past_forms, size)))
        constants.append(-margin * upper(np.eye(size)))
    rows = [sum(map(len, kind)) for kind in (equations, bounds)]
    linear = np.zeros(sum(rows))
    linear[: len(judged)] = -judged / scale.multiplier
    cost = draws * coefficients(draw) + errors * paid
    program = Conic(
        A=np.vstack([*equations, *bounds, *matrices]),
        b=np.concatenate([linear, *constants]),
        cost=np.concatenate([cost, np.zeros(sum(widths[1:]))]),
        equations=rows[0],
        bounds=rows[1],
        triangles=(loop.width, size)[: len(matrices)],
    )
    what = "stability on the whole class" if stable else "a bound"
    solution = program.least(
        f"storage program: the solver finds no function of the state with memory {loop.memory} that shows {what}; "
        "the method may diverge on the class, or its steps be too small for floats: take a larger memory, or other "
        "steps",
        tolerance,
    )
    found, weights, past = np.split(solution.x, np.cumsum(widths[:-1]))
    prices = solution.dual[sum(rows) :][: triangle(loop.width)]
    return Storage(
        P=_symmetric(scale.steps.T @ square(found, size) @ scale.steps * scale.value),
        multipliers=mixing @ np.maximum(weights, 0.0) * scale.multiplier,
        past=past_mixing @ np.maximum(past, 0.0) * scale.multiplier,
        value=float(cost @ found) * scale.value,
        error=solution.error,
        moments=lifted(prices, loop.width),
    )


def _row(
    widths: tuple[int, ...],
    P: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    past: np.ndarray | None = None,
) -> np.ndarray:
    """Rows over all unknowns, 0 where nothing is given."""
    parts = (P, weights, past)
    height = next(len(part) for part in parts if part is not None)
    return np.hstack(
        [np.zeros((height, width)) if part is None else part for width, part in zip(widths, parts, strict=True)]
    )


def _columns(forms: list[np.ndarray], size: int) -> np.ndarray:
    return np.array([upper(form) for form in forms]).reshape(len(forms), triangle(size)).T


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
    return np.array(columns).reshape(len(columns), len(pairs)).T, forms


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
