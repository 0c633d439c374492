"""The error after T steps, for any linear method, schedule and noise matrix, over a whole class: a chain of T storage
functions.

Draws e_s of mean 0, independent of the past, E |e_s|^2 = N: w_t = sum_{s <= t} B_ts e_s, B banded. The state s_t is
that of `loops` with a register of draws; V_t = s_t' P_t s_t + sum_k gamma_{t,k} phi(y_{t-k}), with as many past points
as the window has. For every t, with weights omega_t of what is judged,

    V_{t+1} - V_t + omega_t (F(x_t) - F*) + sum lambda_ij I_ij <= 0   without the draw,

and omega_T (F(x_T) - F*) + sum lambda_ij I_ij <= V_T at the end. Summed, as draws are independent of the state and the
gradients, sum_t omega_t E (F(x_t) - F*) <= V_0 + N sum_t draw_t' P_{t+1} draw_t, V_0 = tau |theta_0 - theta*|^2. Random
vectors with second moments are a Hilbert space on which E F is as convex and smooth as F, so that a program over the
Gram matrix of all points bounds it too: with a window of T both have had the same value wherever it was tried (not
proved), with less of it this one is not smaller.

>>> import numpy as np
>>> from dpbounds.ftrl.methods.linear import gradient_descent
>>> found = bound_horizon(np.eye(2), gradient_descent(eta=0.1), 2, mu=0.1, L=1.0, initial=1.0)
>>> round(float(found.value), 6), found.is_certified, round(float(found.lower), 6)
(0.363719, True, 0.3371)
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.circle.polynomials import exact
from dpbounds.errors import AccuracyError, DomainError, choice, count, nonnegative, positive, real_array
from dpbounds.ftrl.methods.chain import MARGINS, Chain, Link, proved, solved
from dpbounds.ftrl.methods.linear import LinearMethod
from dpbounds.ftrl.methods.loops import Loop, Point
from dpbounds.ftrl.methods.noises import NoiseSystem, Number, array_of, zeros_of
from dpbounds.ftrl.methods.problem import nearest_outwards
from dpbounds.values import Value

Objective = Literal["last", "mean"]

# Steps of a chain, draws that a step may remember, and past points.
MOST_STEPS, MOST_DRAWS, MOST_WINDOW = 5000, 24, 15
# Curvatures of the lower bound, equally far apart in the logarithm.
CURVATURES = 41
CONVENTION, SOURCE = "F - F*", "dpbounds, chain of storage functions"


@dataclass(frozen=True, kw_only=True, eq=False)
class HorizonBound:
    """lower <= sup of the mean error over the class <= value, after T steps from |theta_0 - theta*| <= `initial`.

    - `value`: of E F(x_T) - F* or of its mean over x_1, ..., x_T, for draws of this `variance`; kind `upper` if
      certified, in exact fractions;
    - `lower`: an estimate of the error on F = `curvature` |theta|^2 / 2.
    """

    T: int
    objective: Objective
    window: int
    value: Value
    lower: Value
    curvature: float
    variance: float
    seconds: float

    @property
    def is_certified(self) -> bool:
        """Whether the value is proved in exact fractions."""
        return self.value.kind == "upper"

    @property
    def ratio(self) -> float:
        """value / lower."""
        return float(self.value) / float(self.lower)


@typed
def bound_horizon(
    noise_matrix: Float[np.ndarray, "T T"],
    method: LinearMethod | Sequence[LinearMethod],
    T: int,
    *,
    mu: float,
    L: float,
    initial: float,
    variance: float = 1.0,
    objective: Objective = "last",
    window: int = 1,
    certify: bool = True,
) -> HorizonBound:
    """The worst E F(x_T) - F*, or mean over x_1, ..., x_T, over all mu-strongly convex, L-smooth losses.

    - `noise_matrix`: B, lower triangular, w = B e, with at most 25 diagonals; `variance`: E |e_s|^2 summed over
      directions; for privacy rho at sensitivity gamma of B: d clip_norm^2 gamma^2 / (2 rho);
    - `method`: one, or one for each step (a schedule), starting at rest at theta_0, |theta_0 - theta*| <= `initial`;
    - `window`: past gradients that the proof uses, up to 15. The work is proportional to T.

    Raises `DomainError` for arguments outside their ranges, such that noise that sees the future; `AccuracyError` where
    solver or proof fail.
    """
    started = time.perf_counter()
    steps = count("T", T, most=MOST_STEPS)
    methods, rest = _methods(method, steps)
    low, high = positive("mu", mu), positive("L", L)
    if not low < high:
        raise DomainError("mu", low, f"below L = {high:g}", "one quadratic has its exact error: no bound is needed")
    noise = _banded(noise_matrix, steps)
    distance, N = nonnegative("initial", initial), nonnegative("variance", variance)
    if not distance + N > 0:
        raise DomainError("variance", N, "above 0 where initial is 0", "without both nothing ever moves")
    choice("objective", objective, get_args(Objective))
    kept = count("window", window, least=0, most=MOST_WINDOW)
    weights = np.full(steps + 1, 1.0 / steps if objective == "mean" else 0.0)
    weights[0], weights[-1] = 0.0, 1.0 / steps if objective == "mean" else 1.0
    scales = _Scales.of(methods, rest, low, high, distance, N)
    chain = _chain(methods, rest, noise, low, high, weights, kept, scales, float)
    if certify:
        whole = _chain(methods, rest, noise, low, high, weights, kept, scales, exact)
        end = nearest_outwards(_certified(chain, whole, distance, N), "upper")
        value = Value(end, kind="upper", source=SOURCE, convention=CONVENTION, enclosure=(end, end))
    else:
        found = solved(chain, distance**2, N)
        value = Value(found.value, kind="estimate", source=SOURCE, convention=CONVENTION)
    curvature, error = _worst(methods, rest, noise, low, high, weights, distance**2, N)
    lower = Value(error, kind="estimate", source="dpbounds, worst quadratic", convention=CONVENTION)
    return HorizonBound(
        T=steps,
        objective=objective,
        window=kept,
        value=value,
        lower=lower,
        curvature=curvature,
        variance=N,
        seconds=time.perf_counter() - started,
    )


def _certified(chain: Chain, whole: Chain, distance: float, variance: float) -> Any:
    """The value, a fraction, with the smallest margin that leaves a proof."""
    energies = exact(distance) ** 2, exact(variance)
    for margin in MARGINS[:-1]:
        found = solved(chain, distance**2, variance, margin)
        try:
            return proved(whole, found, *energies)
        except AccuracyError:
            continue
    return proved(whole, solved(chain, distance**2, variance, MARGINS[-1]), *energies)


@dataclass(frozen=True, eq=False)
class _Scales:
    """Units: of places and of the steps between them, of draws and of gradients; and which entries of xi are places."""

    place: float
    step: float
    draw: float
    slope: float
    value: float
    places: np.ndarray

    @classmethod
    def of(
        cls, methods: Sequence[LinearMethod], rest: np.ndarray, mu: float, L: float, initial: float, variance: float
    ) -> _Scales:
        """From the distance at the start, or how far the draws move without gradients."""
        gain, draw = max(float(np.abs(method.B).max()) for method in methods), float(np.sqrt(variance))
        place = max(initial, gain * draw * float(np.sqrt(len(methods))))
        slope = (L - mu) * place
        step = gain * (slope + draw)
        return cls(place, step, draw or slope, slope, L * place**2, rest != 0)

    def of_state(self, kept: int, memory: int) -> np.ndarray:
        """Of the entries of s: xi and the register, differences of places, gradients."""
        method = np.where(self.places, self.place, self.step)
        draws = np.full(kept - len(method), self.draw)
        return np.concatenate([method, draws, np.full(memory, self.step), np.full(memory, self.slope)])


def _methods(given: LinearMethod | Sequence[LinearMethod], steps: int) -> tuple[list[LinearMethod], np.ndarray]:
    """One for each step, and the state at rest at 1."""
    methods = [given] * steps if isinstance(given, LinearMethod) else list(given)
    if len(methods) != steps:
        raise DomainError("method", f"{len(methods)} methods", f"one, or one for each of the {steps} steps")
    n = len(methods[0].A)
    rest = _at_rest(methods[0])
    for one in {id(method): method for method in methods}.values():
        if len(one.A) != n or not np.array_equal(_at_rest(one), rest):
            raise DomainError("method", one.name, "methods with one state in common", "their states must mean the same")
    return methods, rest


def _at_rest(method: LinearMethod) -> np.ndarray:
    """The state with A xi = xi and C xi = row xi = 1, in whole numbers where the least squares are next to them."""
    system = np.vstack([method.A - np.eye(len(method.A)), method.C, method.row])
    wanted = np.concatenate([np.zeros(len(method.A)), [1.0, 1.0]])
    found = np.linalg.lstsq(system, wanted, rcond=None)[0]
    near = np.round(found)
    return np.where(np.abs(found - near) < 1e-6, near, found)


def _banded(matrix: np.ndarray, steps: int) -> np.ndarray:
    """Diagonals: row t holds B_tt, B_{t,t-1}, ..., as many as the widest row has."""
    found = real_array("noise_matrix", matrix)
    if found.shape != (steps, steps) or not np.isfinite(found).all():
        raise DomainError("noise_matrix", f"an array of shape {found.shape}", f"{steps} x {steps} finite numbers")
    if np.triu(found, 1).any():
        raise DomainError("noise_matrix", "entries above the diagonal", "a lower triangular matrix", "noise is causal")
    band = max((int(t - np.flatnonzero(row)[0]) for t, row in enumerate(found) if row.any()), default=0)
    if band > MOST_DRAWS:
        remedy = "each step must remember few draws: cut small weights off, or take fewer steps"
        raise DomainError("noise_matrix", f"{band + 1} diagonals", f"at most {MOST_DRAWS + 1}", remedy)
    rows = [[found[t, t - k] if k <= t else 0.0 for k in range(band + 1)] for t in range(steps)]
    return np.array(rows)


def _chain(
    methods: Sequence[LinearMethod],
    rest: np.ndarray,
    noise: np.ndarray,
    mu: float,
    L: float,
    weights: np.ndarray,
    window: int,
    scales: _Scales,
    number: Number,
) -> Chain:
    """The links, those that are alike made once."""
    links, T = [], len(methods)
    known: dict[tuple[Any, ...], Link] = {}
    for t, method in enumerate(methods):
        following = methods[min(t + 1, T - 1)]
        key = (t == 0, id(method), id(following), noise[t].tobytes(), min(t, window), float(weights[t]))
        if key not in known:
            register = _register(noise[t], number)
            loop = Loop.of(method, register, mu, L, min(t + 1, window), number, following=following)
            known[key] = _link(
                loop, method, rest if t == 0 else None, min(t, window), float(weights[t]), scales, number
            )
        links.append(known[key])
    last = Loop.of(methods[-1], _register(noise[0], number), mu, L, min(T, window), number)  # nothing is drawn there
    return Chain(tuple(links), _end(last, float(weights[-1]), scales, number), scales.value)


def _register(row: np.ndarray, number: Number) -> NoiseSystem:
    """w = row . (e_t, e_{t-1}, ...), z = (e_{t-1}, ...)."""
    K = len(row) - 1
    A, b = zeros_of((K, K), number), zeros_of(K, number)
    for k in range(1, K):
        A[k, k - 1] = number(1.0)
    if K:
        b[0] = number(1.0)
    values = [number(float(x)) for x in row]
    return NoiseSystem(A, b, array_of(values[1:], number), values[0])


def _link(
    loop: Loop,
    method: LinearMethod,
    rest: np.ndarray | None,
    past: int,
    weight: float,
    scales: _Scales,
    number: Number,
) -> Link:
    """One step: of the state with `past` past points, or at first of theta_0 alone, to that with one more."""
    own = weight > 0 and not method.sees_output
    width, size, T = loop.width, loop.size, loop.memory
    kept = size - 2 * T
    units = scales.of_state(kept, T)
    if rest is not None:
        columns, sizes = zeros_of((width, 1), number), np.array([scales.place])
        columns[: len(rest), 0] = [number(float(x)) for x in rest]
    else:
        places = [*range(kept), *range(kept, kept + past), *range(kept + T, kept + T + past)]
        columns, sizes = zeros_of((width, len(places)), number), units[places]
        for column, place in enumerate(places):
            columns[place, column] = number(1.0)
    basis = zeros_of((width, columns.shape[1] + 1 + own), number)
    basis[:, : columns.shape[1]] = columns
    basis[size, columns.shape[1]] = number(1.0)  # the gradient at y
    points = [point for point in loop.points if point.lag <= past]
    rows = [Point(point.place @ basis, point.slope @ basis, point.kind, point.lag) for point in points]
    output = loop.x @ basis
    if own:
        slope = zeros_of(basis.shape[1], number)
        slope[-1] = number(1.0)
        rows.append(Point(output, slope, "x", 0))
    following = loop.step.copy()
    for k in range(size):
        following[k, k] += number(1.0)
    judged = np.outer(output, output) * (loop.mu / 2 * number(weight))
    return Link(
        following=following @ basis,
        draw=loop.draw,
        incoming=columns.shape[1],
        points=tuple(rows),
        judged=judged,
        weight=weight,
        smoothness=loop.smoothness,
        before=np.concatenate([sizes, np.full(1 + own, scales.slope)]),
        after=units,
    )


def _end(loop: Loop, weight: float, scales: _Scales, number: Number) -> Link:
    """What V_T has to pay for: F at x_T, with a gradient of its own, by the past points."""
    gradient = zeros_of(loop.width, number)
    gradient[loop.size] = number(1.0)
    past = [point for point in loop.points if point.kind == "" or point.lag]
    rows = [*past, Point(loop.x, gradient, "x", 0)]
    judged = np.outer(loop.x, loop.x) * (loop.mu / 2 * number(weight))
    nothing = zeros_of((0, loop.width), number)
    return Link(
        following=nothing,
        draw=zeros_of(0, number),
        incoming=loop.size,
        points=tuple(rows),
        judged=judged,
        weight=weight,
        smoothness=loop.smoothness,
        before=np.append(scales.of_state(loop.size - 2 * loop.memory, loop.memory), scales.slope),
        after=np.zeros(0),
    )


def _worst(
    methods: Sequence[LinearMethod],
    rest: np.ndarray,
    noise: np.ndarray,
    mu: float,
    L: float,
    weights: np.ndarray,
    squared: float,
    variance: float,
) -> tuple[float, float]:
    """The curvature of largest error among some, and the error: responses to theta_0 and to each draw, step by step."""

    def error(h: float) -> float:
        band, total = noise.shape[1] - 1, 0.0
        # columns: of theta_0, and of every draw so far
        state = np.zeros((len(rest), len(methods) + 1))
        state[:, 0] = rest
        for t, method in enumerate(methods):
            pushed = h * (method.C @ state)
            pushed[t + 1 - min(t, band) : t + 2] += noise[t, : min(t, band) + 1][::-1]
            state = method.A @ state + np.outer(method.B, pushed)
            if weights[t + 1]:
                output = methods[min(t + 1, len(methods) - 1)].row @ state
                total += weights[t + 1] * h / 2 * (squared * output[0] ** 2 + variance * float(output[1:] @ output[1:]))
        return total

    curvatures = np.geomspace(mu, L, CURVATURES)
    errors = [error(float(h)) for h in curvatures]
    best = int(np.argmax(errors))
    return float(curvatures[best]), errors[best]
