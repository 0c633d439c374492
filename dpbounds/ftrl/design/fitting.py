"""Mechanisms fitted to an objective: scaled BLTs by their exact cost, bands by theirs, BLTs to given coefficients.

>>> run = Objective(np.array([1.0, 0.5]), 16, eta=0.5)
>>> [float(run.value(fit_scaled_blt(run, buffers))) < float(run.value(Blt((), ()))) for buffers in (1, 2)]
[True, True]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError, count, vector
from dpbounds.ftrl.correlations import MatrixCorrelation, from_matrix
from dpbounds.ftrl.design.banded_cost import banded_cost, stationary_cost
from dpbounds.ftrl.design.buffered_cost import Decays, Directions, cost
from dpbounds.ftrl.design.mechanisms import Bands, Blt, ScaledBlt, ScaledToeplitz, spectral, unit_columns
from dpbounds.ftrl.design.mechanisms.spectral import gain_spectrum
from dpbounds.ftrl.design.objective import Objective
from dpbounds.ftrl.design.participation import Participation

# More buffers than these bring nothing that floats can tell.
MOST_BUFFERS = 16
# Where the search stays: rate of the slowest decay (in units of 1/T; absolute), logarithms of the gaps between
# log-odds, coefficients of log r.
SLOWEST, FASTEST, GAPS, SHAPE = 0.02, 1.0, (np.log(0.02), np.log(12.0)), (-30.0, 30.0)
# Steps up to which bands are fitted to the run itself and not to its stationary part.
LARGEST_RUN = 1024
# How much slower the slowest decay of a run four times as long starts (in log-odds); steps of its search, and of the
# short one before it.
LONGER, LONG_ITERATIONS, SHORT_ITERATIONS = 0.7, 30, 60
# Stands for the logarithm of a value that floats cannot hold.
OUT_OF_RANGE = 1e3
# The norm that stands for the maximum over a family.
SHARPNESS = 80.0
# Lags at which given coefficients are compared, and the least scale of a buffer, in units of the largest coefficient.
SAMPLES, LEAST_SCALE = 200, 1e-6
# Steps whose scales are a dense matrix, and the least cost of a step that counts, in units of the largest.
LARGEST_SCALED, LEAST_COST = 1024, 1e-12


@typed
def fit_scaled_blt(objective: Objective, buffers: int = 6, *, rows: bool = True) -> ScaledBlt:
    """The scaled BLT of least cost for one participation, by L-BFGS on its exact cost, near eigenvalues merged.

    Decays of C and of its inverse alternate, so that every trial is minimum phase. log r is a combination of powers of
    log(1 - t/T), t/T and log eta_t; `rows=False` keeps r = 1. Raises `DomainError` for more buffers than can fit, and
    with momentum.
    """
    T = objective.steps
    buffers = fitting_buffers(buffers, T)
    if buffers == 0:
        return ScaledBlt(Blt((), ()), T)
    point = _fitted((objective,), np.ones(1), buffers, rows)
    return _scaled_blt(objective, buffers, rows, point, f"{'scaled ' if rows else ''}BLT, {buffers} buffers")


def fit_minimax_blt(
    family: Sequence[Objective], references: Float[np.ndarray, " n"], buffers: int = 6
) -> tuple[ScaledBlt, Float[np.ndarray, " n"]]:
    """The scaled BLT of least max_i V_i / references_i over objectives of equal length, and the weights at which the
    maximum is a mixture: the minimum of the `SHARPNESS`-norm of the ratios, by L-BFGS.
    """
    buffers = fitting_buffers(buffers, family[0].steps)
    if buffers == 0:
        return ScaledBlt(Blt((), ()), family[0].steps), np.full(len(family), 1.0 / len(family))
    point = _fitted(family, references, buffers, True)
    mechanism = _scaled_blt(family[0], buffers, True, point, f"minimax BLT, {buffers} buffers")
    ratios = np.array([one.noise_power(mechanism) for one in family]) / references
    weights = (ratios / ratios.max()) ** SHARPNESS
    return mechanism, weights / weights.sum()


def _scaled_blt(objective: Objective, buffers: int, rows: bool, point: np.ndarray, label: str) -> ScaledBlt:
    decays = Decays.at(_ascending(point[: 2 * buffers]))
    blt = Blt(tuple(decays.outer.tolist()), tuple(decays.omega.tolist()))
    scale = np.exp(_features(objective) @ point[2 * buffers :]) if rows else None
    return ScaledBlt(blt, objective.steps, scale, label=label)


def _fitted(
    family: Sequence[Objective], references: np.ndarray, buffers: int, rows: bool, iterations: int | None = None
) -> np.ndarray:
    """Log-odds of the slowest decay, logarithms of the gaps, coefficients of log r. Long runs start from short ones."""
    T, size = family[0].steps, 2 * buffers
    directions = [Directions.of(one) for one in family]
    features = _features(family[0]) if rows else np.zeros((T, 0))

    def target(point: np.ndarray) -> tuple[float, np.ndarray]:
        decays, logs, slopes = Decays.at(_ascending(point[:size])), [], []
        for one, reference in zip(directions, references, strict=True):
            value, by_decays, by_rows = cost(one, decays, features @ point[size:])
            logs.append(np.log(value / reference))
            slopes.append(np.concatenate([_by_gaps(point[:size], decays, by_decays), features.T @ by_rows]) / value)
        shares = np.exp(SHARPNESS * (np.array(logs) - max(logs)))
        largest = max(logs) + float(np.log(shares.sum())) / SHARPNESS
        return largest, shares @ np.array(slopes) / shares.sum()

    if T <= LARGEST_RUN:
        start = _start(directions[0], T, buffers, features.shape[1])
        return _minimised(target, T, buffers, start, iterations or 60 + 20 * buffers)
    shorter = _fitted([_shortened(one) for one in family], references, buffers, rows, SHORT_ITERATIONS)
    # What decays over the whole run decays over the longer one.
    shorter[1] = np.log(np.exp(shorter[1]) + LONGER)
    shorter[0] -= LONGER
    return _minimised(target, T, buffers, shorter, LONG_ITERATIONS)


def _shortened(objective: Objective) -> Objective:
    """The same run in a quarter of the steps: rates and weights at the same fractions of the run."""
    T = objective.steps
    short = max(LARGEST_RUN, T // 4)
    schedule = objective.learning_rates[(np.arange(short) * T) // short]
    weights = objective.weights
    if not isinstance(weights, str):
        weights = np.add.reduceat(weights, (np.arange(short) * T) // short)
    return replace(objective, steps=short, eta=None, schedule=schedule, weights=weights)


@typed
def fit_monotone_blt(objective: Objective, participation: Participation, buffers: int = 6) -> Blt:
    """The BLT of least value under several participations, by L-BFGS on value and sensitivity.

    Decays of C and of its inverse alternate, so c_1 = sum (phi_i - phi^_i) < phi_1 < c_0, and later c_t are smaller:
    the sensitivity is ||sum_{i<k} c shifted by i b||.
    """
    T = participation.checked(objective.steps)
    buffers = fitting_buffers(buffers, T)
    if buffers == 0:
        return Blt((), ())
    directions, lags = Directions.of(objective), np.arange(T - 1)

    def target(point: np.ndarray) -> tuple[float, np.ndarray]:
        decays = Decays.at(_ascending(point))
        power, (by_outer, by_inner), _ = cost(directions, decays, np.zeros(T), unit_columns=False)
        powers = decays.outer[:, None] ** lags
        c = np.concatenate([[1.0], decays.omega @ powers])
        shifted = _shifted(c, participation)
        square = float(shifted @ shifted)
        by_c = 2.0 * _shifted(shifted[::-1], participation)[::-1] / square
        by_decay = decays.omega * ((powers[:, :-1] * lags[1:]) @ by_c[2:])
        pulled = decays.pulled_back(by_decay, np.zeros(buffers), powers @ by_c[1:], np.zeros(buffers))
        slopes = by_outer / power + pulled[0], by_inner / power + pulled[1]
        return float(np.log(power * square)), _by_gaps(point, decays, slopes)

    iterations = 60 + 20 * buffers if T <= LARGEST_RUN else LONG_ITERATIONS
    decays = Decays.at(_ascending(_minimised(target, T, buffers, _start(directions, T, buffers, 0), iterations)))
    return Blt(tuple(decays.outer.tolist()), tuple(decays.omega.tolist()))


@typed
def fit_bands(objective: Objective, bands: int) -> ScaledToeplitz:
    """Toeplitz with `bands` coefficients and unit columns, by L-BFGS: on the run's own cost up to 1024 steps, beyond on
    the stationary cost of long runs. Starts at the spectral mechanism, cut.
    """
    from scipy.optimize import minimize

    T = objective.steps
    bands = count("bands", bands, most=T)
    start = spectral(objective).inverse_coefficients(bands)
    if bands == 1:
        return unit_columns(Bands((1.0,)), T)
    evaluate = banded_cost(objective) if T <= LARGEST_RUN else stationary_cost(gain_spectrum(objective), objective)

    def target(tail: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = evaluate(np.concatenate([[1.0], tail]))
        if not np.isfinite(value):
            return 1e300, np.zeros_like(tail)
        return float(np.log(value)), slope[1:] / value

    options = {"maxiter": 150, "maxcor": 20, "ftol": 1e-8, "gtol": 1e-7}
    found: Any = minimize(target, start[1:] / start[0], jac=True, method="L-BFGS-B", options=options)
    if found.fun >= 1e299:
        raise AccuracyError(f"{bands} bands for {T} steps: {found.message}")
    return unit_columns(Bands((1.0, *found.x.tolist()), f"{bands} bands"), T)


@typed
def fit_scales(objective: Objective, times: int) -> MatrixCorrelation:
    """Independent noise with the best standard deviation for every step, for records that take part `times` times, in
    whatever steps: C = diag(v)^{1/2}, v = max(G_tt^{1/2}, floor).

    s(C)^2 is the sum of the `times` largest v, and the value s^2 sum_t G_tt / v_t. Raising a v that is not among the
    largest costs nothing; among these Cauchy-Schwarz gives v = G_tt^{1/2}. With j of them above the floor it is best at
    (sum of the other G_tt / (times - j))^{1/2}, which falls with j as long as the next G_tt is above its square: the
    least of them is the floor. Raises `DomainError` beyond 1024 steps.
    """
    costs = np.maximum(objective.diagonal(), LEAST_COST * objective.diagonal().max())
    steps = count("steps", len(costs), most=LARGEST_SCALED)
    k = min(count("times", times), steps)
    others = np.cumsum(np.sort(costs))[::-1][:k]  # of all but the j largest
    floor = np.min(others / (k - np.arange(k)))
    return from_matrix(np.diag(np.maximum(costs, floor) ** -0.25), name="independent, scaled")


@typed
def fit_coefficients(c: Float[np.ndarray, " T"], buffers: int = 6) -> Blt:
    """The BLT whose coefficients are nearest to non-negative c_1, c_2, ... in least squares, divided by c_0.

    Decays evenly spaced on a log scale and non-negative scales, over a grid of the slowest and the fastest, then all
    refined together. Raises `DomainError` for coefficients that are not positive at 0 or negative elsewhere, for more
    buffers than can fit, and where the nearest coefficients are not minimum phase.
    """
    from scipy.optimize import least_squares, nnls

    c = vector("c", c)
    if c[0] <= 0 or (c < 0).any():
        raise DomainError("c", float(c.min()), "non-negative, c[0] above 0", "a BLT with real decays cannot follow it")
    buffers = fitting_buffers(buffers, len(c))
    if buffers == 0 or not c[1:].any():
        return Blt((), ())
    lags = np.unique(np.geomspace(1, len(c) - 1, SAMPLES).round().astype(int))
    # Each sampled lag stands for those up to half way to its neighbours.
    weights = np.sqrt(np.gradient(lags.astype(float)) if len(lags) > 1 else np.ones(1))
    target = c[lags] / c[0]

    def missed(logs: np.ndarray) -> np.ndarray:
        rates, scales = np.exp(logs[:buffers]), np.exp(logs[buffers:])
        return weights * (np.exp(-np.outer(lags - 1, rates)) @ scales - target)

    best: tuple[float, np.ndarray] = (np.inf, np.zeros(2 * buffers))
    for slow in np.geomspace(0.3 / len(c), 0.1, 8):
        for fast in (0.3, 1.0, 3.0):
            rates = np.geomspace(slow, fast, buffers) if buffers > 1 else np.array([np.sqrt(slow * fast)])
            scales, _ = nnls(weights[:, None] * np.exp(-np.outer(lags - 1, rates)), weights * target)
            logs = np.log(np.concatenate([rates, np.maximum(scales, LEAST_SCALE * target.max())]))
            best = min(best, (float(np.sum(missed(logs) ** 2)), logs), key=lambda pair: pair[0])
    found: Any = least_squares(missed, best[1], max_nfev=200)
    order = np.argsort(found.x[:buffers])
    rates, scales = np.exp(found.x[:buffers][order]), np.exp(found.x[buffers:][order])
    return Blt(tuple(np.exp(-rates).tolist()), tuple(scales.tolist()))


def most_buffers(steps: int) -> int:
    """How many T steps can tell apart: two parameters each for T - 1 coefficients."""
    return min(MOST_BUFFERS, (steps - 1) // 2) if steps > 2 else steps - 1


def fitting_buffers(buffers: int, steps: int) -> int:
    """`buffers` as a whole number that T steps can tell apart."""
    most = most_buffers(steps)
    return count("buffers", buffers, 0, f"at most {most} buffers can fit a run of {steps} steps", most=most)


def _shifted(c: np.ndarray, participation: Participation) -> np.ndarray:
    """sum_{i<k} c shifted by i b."""
    total, b = np.zeros_like(c), participation.separation
    for i in range(participation.times):
        total[i * b :] += c[: len(c) - i * b]
    return total


def _ascending(point: np.ndarray) -> np.ndarray:
    """Log-odds from the first of them and the logarithms of their gaps."""
    return np.cumsum(np.concatenate([point[:1], np.exp(point[1:])]))


def _by_gaps(point: np.ndarray, decays: Decays, slopes: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The gradient with respect to `point` from those with respect to the two kinds of decays."""
    by_log = np.empty(len(point))
    by_log[::2] = -decays.outer * (1.0 - decays.outer) * slopes[0]
    by_log[1::2] = -decays.inner * (1.0 - decays.inner) * slopes[1]
    later = np.cumsum(by_log[::-1])[::-1]
    return np.concatenate([later[:1], later[1:] * np.exp(point[1:])])


def _start(directions: Directions, T: int, buffers: int, shapes: int) -> np.ndarray:
    """Rates spread evenly over the logarithms, from half the slowest one of the run to nearly 1; r = 1."""
    gaps = 2 * buffers - 1
    slowest = float(np.mean(1.0 - directions.kept.max(axis=1)))
    low = float(np.log(0.5 * max(slowest, 0.0) + 0.5 / T))
    return np.concatenate([[low], np.full(gaps, np.log((np.log(3.0) - low) / gaps)), np.zeros(shapes)])


def _minimised(
    target: Callable[[np.ndarray], tuple[float, np.ndarray]], T: int, buffers: int, start: np.ndarray, iterations: int
) -> np.ndarray:
    """L-BFGS inside the bounds."""
    from scipy.optimize import minimize

    gaps = 2 * buffers - 1
    shapes = len(start) - 1 - gaps

    def guarded(point: np.ndarray) -> tuple[float, np.ndarray]:
        """Trial steps may leave the range of floats: there, a value above all others makes the search step back."""
        with np.errstate(all="ignore"):
            value, slope = target(point)
        finite = np.isfinite(value) and np.isfinite(slope).all()
        return (value, slope) if finite else (OUT_OF_RANGE, np.zeros_like(point))

    bounds = np.array([(np.log(SLOWEST / T), np.log(FASTEST))] + [GAPS] * gaps + [SHAPE] * shapes)
    options = {"maxiter": iterations, "maxcor": 20, "ftol": 1e-9, "gtol": 1e-7}
    found: Any = minimize(
        guarded, np.clip(start, *bounds.T), jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    if not found.fun < OUT_OF_RANGE:
        raise AccuracyError(f"BLT with {buffers} buffers for {T} steps: {found.message}")
    return found.x


def _features(objective: Objective) -> Float[np.ndarray, "T shapes"]:
    """What log r is a combination of."""
    T, rates = objective.steps, objective.learning_rates
    time = np.arange(T) / T
    left = np.log1p(-time)
    columns = [left, left**2 / 5.0, left**3 / 30.0, time]
    if rates.max() > rates.min() * (1 + 1e-9):
        columns.append(np.log(rates / rates[0]))
    return np.array(columns).T
