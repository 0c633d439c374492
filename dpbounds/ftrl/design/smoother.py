"""The lower bound of `duality` in time and memory O(T), for runs too long for dense matrices.

A rational square root, sqrt(x) >= sum_i w_i x / (x + s_i^2) for all x >= 0, gives

    diag (Q^{1/2} G Q^{1/2})^{1/2} >= sum_i w_i diag G (G + s_i^2 Q^{-1})^{-1}.

Each term is the hat diagonal of a Gaussian process with covariance G seen under noise of variance s_i^2 / q_t: G is
that of Markov chains run backward in time (`gram`), so a Kalman filter from the last step to the first and a
Bryson-Frazier smoother back give it. Proved are these inequalities, in real arithmetic. The numbers are floats, and
many eigenvalues are replaced by few, with an error that is measured on test entries and returned (`compression`); ten
times that is taken off.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count as numbers_from

import numpy as np
from jaxtyping import Float
from scipy import special

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError, vector, within
from dpbounds.ftrl.design.duality import Anderson, LowerBound
from dpbounds.ftrl.design.objective import CONVENTION, Objective
from dpbounds.values import Value

# Eigenvalues that are used as they are; rates among which others are chosen, and the error allowed to that.
MOST_STATES, RATES, LARGEST_ERROR = 16, 160, 1e-5
# Times and lags at which the compressed covariance is fitted, and three times as many at which it is tested.
TIMES, LAGS = 24, 40
# Ratio of the ends of the interval on which the rational root is near, and most shifts.
NARROWEST, MOST_SHIFTS = 1e-12, 40
# Steps from one q to the next: half a minute at 16384 steps.
FEWEST_STEPS, STEPS_TIMES_T = 10, 100_000
# The bound is lowered by this many times the error of an entry, which is more than that moves it wherever tried.
SAFETY = 10.0
# Accuracy of the steps of the search; its end is computed to the tolerance.
COARSE = 2e-5


@dataclass(frozen=True, eq=False, kw_only=True)
class States:
    """Chains that stand for all eigendirections: xi_{t-1} = keep_t xi_t + noise, y_t = eta_t sum xi_t.

    `variance` (T, n) of xi_t, `keep` (T, n), `error`: largest relative error of an entry of their covariance against G.
    """

    keep: Float[np.ndarray, "T n"]
    variance: Float[np.ndarray, "T n"]
    rates: Float[np.ndarray, " T"]
    error: float


@typed
def streamed_bound(
    objective: Objective, *, tolerance: float = 1e-6, q: Float[np.ndarray, " T"] | None = None
) -> LowerBound:
    """The lower bound for one participation in O(T), from q = 1/T on until a step gains less than `tolerance`.

    With `q` given (any sum) no step is taken: the squared nuclear norm at Q = diag q. Raises `DomainError` with
    momentum, `AccuracyError` where few rates cannot stand for the eigenvalues.
    """
    tolerance = within("tolerance", tolerance, "[1e-12, 1]")
    states = compressed(objective)
    if q is not None:
        weights = vector("q", q, above=0.0)
        if len(weights) != objective.steps:
            raise DomainError("q", f"{len(weights)} numbers", f"of length steps = {objective.steps}")
        return _bound(float(root_diagonal(objective, states, weights, tolerance).sum()) ** 2, weights, 1, states)
    search = Anderson(np.zeros(objective.steps))
    best, dual, iterations = 0.0, search.weights, 0
    for _ in range(max(FEWEST_STEPS, STEPS_TIMES_T // objective.steps)):
        iterations += 1
        weights = search.weights
        hat = root_diagonal(objective, states, weights, max(tolerance, COARSE))
        before, norm = best, float(hat.sum())
        if norm**2 > best:
            best, dual = norm**2, weights
        # A step that lost is taken back, and says nothing.
        if before <= norm**2 <= before * (1.0 + tolerance):
            break
        search.step(hat, norm)
    return _bound(float(root_diagonal(objective, states, dual, tolerance).sum()) ** 2, dual, iterations, states)


def _bound(square: float, dual: np.ndarray, iterations: int, states: States) -> LowerBound:
    square *= 1.0 - SAFETY * states.error
    value = Value(square, kind="lower", source="dpbounds, duality by Kalman smoothing", convention=CONVENTION)
    return LowerBound(value=value, dual=dual, iterations=iterations, compression=states.error)


def root_diagonal(
    objective: Objective, states: States, q: Float[np.ndarray, " T"], tolerance: float = 1e-6
) -> Float[np.ndarray, " T"]:
    """Below diag (Q^{1/2} G Q^{1/2})^{1/2}, Q = diag q, by at most about `tolerance` / 4."""
    root = np.sqrt(q)
    # An upper bound on the largest eigenvalue of a non-negative matrix; elsewhere the bound is merely weaker.
    upper = float(np.max(root * objective.apply(root)))
    innovation = states.variance.copy()
    innovation[:-1] -= states.keep[1:] ** 2 * states.variance[1:]
    lower = 0.2 * float(np.min(q * states.rates**2 * innovation.sum(axis=1)))
    shifts, weights = rational_root(max(lower, NARROWEST * upper), upper, slack=tolerance / 4.0)
    return weights @ hat_diagonals(states, shifts[:, None] / q)


def rational_root(lower: float, upper: float, *, slack: float) -> tuple[np.ndarray, np.ndarray]:
    """Shifts s_i^2 and weights w_i with sum_i w_i x / (x + s_i^2) <= sqrt(x) for all x > 0, and at least (1 - slack)
    sqrt(x) on [lower, upper]: Zolotarev's nodes, divided by the largest ratio.
    """
    complement = lower / upper
    quarter = float(special.ellipkm1(complement))
    # Beyond these ends the ratio falls.
    x = np.geomspace(lower / 1e3, upper * 1e3, 20_001)
    inside = (x >= lower) & (x <= upper)
    for number in numbers_from(4):
        sn, cn, dn, _ = special.ellipj((np.arange((number + 1) // 2) + 0.5) * quarter / number, 1.0 - complement)
        shifts = lower * (sn / cn) ** 2
        weights = 2.0 * quarter * np.sqrt(lower) / (np.pi * number) * dn / cn**2
        # The other half by x -> lower upper / x: near the quarter period floats lose cn.
        mirrored = slice(number // 2 - 1, None, -1) if number > 1 else slice(0, 0)
        weights = np.append(weights, (weights * np.sqrt(lower * upper) / shifts)[mirrored])
        shifts = np.append(shifts, (lower * upper / shifts)[mirrored])
        ratio = np.sum(weights * np.sqrt(x)[:, None] / (x[:, None] + shifts), axis=1)
        # Measured: parabolas miss the top of a peak by at most 2e-12.
        weights = weights / (_peak(ratio) * (1.0 + 1e-10))
        if np.min(ratio[inside]) / ratio.max() >= 1.0 - slack or number == MOST_SHIFTS:
            return shifts, weights
    raise AssertionError


def _peak(ratio: np.ndarray) -> float:
    """The largest value of a smooth function from a fine grid, by parabolas through three points."""
    left, middle, right = ratio[:-2], ratio[1:-1], ratio[2:]
    bend = np.maximum(2.0 * middle - left - right, 1e-300)
    tops = np.where((middle >= left) & (middle >= right), middle + (right - left) ** 2 / (8.0 * bend), 0.0)
    return float(max(tops.max(), ratio.max()))


def hat_diagonals(states: States, noise: Float[np.ndarray, "N T"]) -> Float[np.ndarray, "N T"]:
    """diag G (G + diag noise_i)^{-1} for each row of noise variances, all above 0, in O(N T n^2)."""
    shifts, T = noise.shape
    n = states.keep.shape[1]
    gains, spreads = np.empty((T, shifts, n)), np.empty((T, shifts))
    hats = np.empty((T, shifts))
    covariance = np.broadcast_to(np.diag(states.variance[-1]), (shifts, n, n)).copy()
    # Kalman filter from the last step to the first, on covariances alone.
    for t in range(T - 1, -1, -1):
        if t < T - 1:
            keep = states.keep[t + 1]
            covariance *= keep[:, None] * keep
            covariance[:, np.arange(n), np.arange(n)] += states.variance[t] - keep**2 * states.variance[t + 1]
        pushed = states.rates[t] * covariance.sum(axis=2)
        signal = states.rates[t] * pushed.sum(axis=1)
        spreads[t] = signal + noise[:, t]
        gains[t] = pushed / spreads[t][:, None]
        hats[t] = signal / spreads[t]
        covariance -= gains[t][:, :, None] * pushed[:, None, :]
    # Bryson-Frazier smoother: what the earlier steps, filtered later, add to what is known of step t.
    adjoint = np.zeros((shifts, n, n))
    for t in range(T):
        if t > 0:
            keep = states.keep[t]
            adjoint *= keep[:, None] * keep
        seen = (adjoint @ gains[t][:, :, None])[:, :, 0]
        gained = np.einsum("ij,ij->i", gains[t], seen)
        hats[t] -= noise[:, t] * gained
        seen *= states.rates[t]
        adjoint -= seen[:, :, None]
        adjoint -= seen[:, None, :]
        adjoint += (states.rates[t] ** 2 * (gained + 1.0 / spreads[t]))[:, None, None]
    return hats.T


@typed
def compressed(objective: Objective) -> States:
    """Few chains for all eigendirections: exact for up to 16 different eigenvalues, else non-negative least squares on
    160 rates, fitted at log-spaced times and lags and tested at three times as many.

    Raises `DomainError` with momentum, `AccuracyError` for an error above 1e-5.
    """
    if objective.momentum > 0:
        raise DomainError("momentum", objective.momentum, "0 beyond 2048 steps", "take a shorter run")
    different, copies = np.unique(objective.eigenvalues, return_counts=True)
    rates = objective.learning_rates
    if len(different) <= MOST_STATES:
        variance = _unit_variances(objective, different) * (copies * different)
        return States(keep=1.0 - np.outer(rates, different), variance=variance, rates=rates, error=0.0)
    candidates = np.geomspace(different[0], different[-1], RATES)
    whole, unit = objective.chains.future[..., 0, 0], _unit_variances(objective, candidates)
    fit, test = _places(objective.steps, TIMES, LAGS), _places(objective.steps, 3 * TIMES, 3 * LAGS)
    wanted = _entries(objective, objective.eigenvalues, whole, *fit).sum(axis=1)
    scale = _scale(objective, whole, *fit)
    from scipy.optimize import nnls

    weights, _ = nnls(_entries(objective, candidates, unit, *fit) / scale[:, None], wanted / scale, maxiter=10 * RATES)
    chosen = weights > 0
    candidates, variance = candidates[chosen], unit[:, chosen] * weights[chosen]
    wanted = _entries(objective, objective.eigenvalues, whole, *test).sum(axis=1)
    found = _entries(objective, candidates, variance, *test).sum(axis=1)
    error = float(np.max(np.abs(found - wanted) / _scale(objective, whole, *test)))
    if not error <= LARGEST_ERROR:
        raise AccuracyError(
            f"compression: {chosen.sum()} rates stand for {len(different)} eigenvalues with a relative error of "
            f"{error:.1e}, allowed is {LARGEST_ERROR:g}; merge near eigenvalues, 16 different ones are exact"
        )
    return States(keep=1.0 - np.outer(rates, candidates), variance=variance, rates=rates, error=error)


def _unit_variances(objective: Objective, eigenvalues: np.ndarray) -> np.ndarray:
    """zeta_t with z_j(t) = lambda_j zeta_t(lambda_j), (T, n): what the other directions feed in is known from z."""
    rates, share = objective.learning_rates, objective.noise_share
    fed = 0.5 * objective.omega
    fed[:-1] += share * rates[1:] ** 2 * (objective.chains.future[1:, :, 0, 0] @ objective.eigenvalues)
    x = np.outer(rates, eigenvalues)
    kept = (1.0 - x) ** 2 + share * x**2
    variance, after = np.empty_like(x), np.zeros(len(eigenvalues))
    for t in range(objective.steps - 1, -1, -1):
        variance[t] = fed[t] + after
        after = kept[t] * variance[t]
    return variance


def _places(T: int, times: int, lags: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs s <= t: t close together at the end of the run and at its start, lags from 0 to t."""
    near = np.unique(np.r_[0, np.round(np.geomspace(1, T - 1, times))].astype(int)) if T > 1 else np.array([0])
    pairs = {
        (int(t - lag), int(t))
        for t in np.unique(np.r_[near, T - 1 - near])
        for lag in np.unique(np.r_[0, np.round(np.geomspace(1, max(t, 1), lags))].astype(int))
        if lag <= t
    }
    s, t = np.array(sorted(pairs)).T
    return s, t


def _entries(
    objective: Objective, eigenvalues: np.ndarray, variance: np.ndarray, s: np.ndarray, t: np.ndarray
) -> np.ndarray:
    """The share of each chain in G_st, s <= t: (pairs, n)."""
    rates = objective.learning_rates
    kept = 1.0 - np.outer(rates, eigenvalues)
    logs = np.concatenate(
        [np.zeros((1, len(eigenvalues))), np.cumsum(np.log(np.maximum(np.abs(kept), 1e-300)), axis=0)]
    )
    signs = np.concatenate([np.zeros((1, len(eigenvalues)), int), np.cumsum(kept < 0, axis=0)])
    product = np.exp(logs[t + 1] - logs[s + 1]) * (1 - 2 * ((signs[t + 1] - signs[s + 1]) % 2))
    return (rates[s] * rates[t])[:, None] * variance[t] * product


def _scale(objective: Objective, variance: np.ndarray, s: np.ndarray, t: np.ndarray) -> np.ndarray:
    """What errors of G_st are relative to: |G_st|, but at least a thousandth of (G_ss G_tt)^{1/2}."""
    diagonal = objective.learning_rates**2 * variance.sum(axis=1)
    entries = np.abs(_entries(objective, objective.eigenvalues, variance, s, t).sum(axis=1))
    return np.maximum(entries, 1e-3 * np.sqrt(diagonal[s] * diagonal[t]))
