"""The lower bound of `duality` in time and memory O(T), for runs too long for dense matrices.

A rational square root, sqrt(x) >= sum_i w_i x / (x + s_i^2) for all x >= 0, gives

    diag (Q^{1/2} G Q^{1/2})^{1/2} >= sum_i w_i diag G (G + s_i^2 Q^{-1})^{-1}.

Each term is the hat diagonal of a Gaussian process with covariance G seen under noise of variance s_i^2 / q_t: G is
that of Markov chains run backward in time (`gram`), so a Kalman filter from the last step to the first and a
Bryson-Frazier smoother back give it. Proved are these inequalities, in real arithmetic. The numbers are floats, and
many eigenvalues are replaced by few, with an error that is measured on test entries and returned (`compression`); ten
times that is taken off.

>>> run = Objective(np.array([1.0, 0.1]), 32, eta=0.5)
>>> abs(float(streamed_bound(run)) / float(streamed_bound(run, tolerance=1e-9)) - 1) < 1e-5
True
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count as numbers_from

import numpy as np
from jaxtyping import Float
from scipy import special

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError, vector, within
from dpbounds.ftrl.design.acceleration import Anderson
from dpbounds.ftrl.design.duality import LowerBound
from dpbounds.ftrl.design.objective import CONVENTION, Objective
from dpbounds.ftrl.design.watching import Watch
from dpbounds.values import Value

# Eigenvalues that are used as they are; numbers of rates among which others are chosen, tried until the error is that
# which is sought; the error allowed.
MOST_STATES, RATES, SOUGHT_ERROR, LARGEST_ERROR = 16, (32, 64, 160), 1e-8, 1e-5
# Entries below this share of (G_ss G_tt)^{1/2} need not be right to digits of their own.
SMALL = 1e-3
# Times and lags at which the compressed covariance is fitted, and three times as many at which it is tested.
TIMES, LAGS = 24, 40
# Ratio of the ends of the interval on which the rational root is near, and most shifts. Final losses with falling rates
# have eigenvalues over 15 orders: 1e-12 in place of 1e-15 costs 3e-4 of their bound.
NARROWEST, MOST_SHIFTS = 1e-15, 40
# Steps from one q to the next: half a minute at 16384 steps.
FEWEST_STEPS, MOST_STEPS, STEPS_TIMES_T = 10, 60, 250_000
# The bound is lowered by this many times the error of an entry, which is more than that moves it wherever tried.
SAFETY = 10.0
# Accuracy of the steps of the search, in the root and in the covariance; its end is computed to the tolerance.
COARSE, COARSE_ERROR = 1e-4, 1e-6


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
    objective: Objective,
    *,
    tolerance: float = 1e-6,
    q: Float[np.ndarray, " T"] | None = None,
    watch: Watch | None = None,
) -> LowerBound:
    """The lower bound for one participation in O(T), from q = 1/T on until a step gains less than `tolerance`.

    With `q` given (any sum) no step is taken: the squared nuclear norm at Q = diag q. Raises `DomainError` with
    momentum, `AccuracyError` where few rates cannot stand for the eigenvalues.
    """
    tolerance = within("tolerance", tolerance, "[1e-12, 1]")
    states = compressed(objective)
    if q is not None:
        weights = vector("q", q, above=0.0, length=objective.steps, per="step")
        return _bound(float(root_diagonal(objective, states, weights, tolerance).sum()) ** 2, weights, 1, states)
    dual, iterations = _search(objective, tolerance, watch)
    return _bound(float(root_diagonal(objective, states, dual, tolerance).sum()) ** 2, dual, iterations, states)


def _search(objective: Objective, tolerance: float, watch: Watch | None) -> tuple[np.ndarray, int]:
    """The best q found, and the number of steps; with fewer states and shifts than the bound is computed with."""
    states = compressed(objective, COARSE_ERROR)
    search = Anderson.uniform(objective.steps)
    best, dual, iterations, gained = 0.0, search.weights, 0, 0
    most = min(MOST_STEPS, max(FEWEST_STEPS, STEPS_TIMES_T // objective.steps))
    for _ in range(most):
        iterations += 1
        weights = search.weights
        hat = root_diagonal(objective, states, weights, max(tolerance, COARSE))
        before, norm = best, float(hat.sum())
        if norm**2 > best:
            best, dual = norm**2, weights
        if norm**2 > before * (1.0 + tolerance):
            gained = iterations
        # A step that lost is taken back and says nothing, but two in a row lose by rounding.
        if before <= norm**2 <= before * (1.0 + tolerance) or iterations - gained > 2:
            break
        if watch is not None and watch(iterations, most):
            break
        search.step(hat, norm)
    return dual, iterations


def _bound(square: float, dual: np.ndarray, iterations: int, states: States) -> LowerBound:
    square *= 1.0 - SAFETY * states.error
    value = Value(square, kind="lower", source="dpbounds, duality by Kalman smoothing", convention=CONVENTION)
    return LowerBound(value=value, dual=dual, iterations=iterations, compression=states.error)


def root_diagonal(
    objective: Objective, states: States, q: Float[np.ndarray, " T"], tolerance: float = 1e-6
) -> Float[np.ndarray, " T"]:
    """Below diag (Q^{1/2} G Q^{1/2})^{1/2}, Q = diag q, by at most about `tolerance` / 4."""
    root = np.sqrt(q)
    # No eigenvalue is above the largest row sum of moduli: of entries, where 1 - eta lambda is never negative.
    sums = objective.apply(root) if np.all(states.keep >= 0.0) else _row_sums_of_moduli(states, root)
    upper = float(np.max(root * sums))
    innovation = states.variance.copy()
    innovation[:-1] -= states.keep[1:] ** 2 * states.variance[1:]
    lower = 0.2 * float(np.min(q * states.rates**2 * innovation.sum(axis=1)))
    shifts, weights = rational_root(max(lower, NARROWEST * upper), upper, slack=tolerance / 4.0)
    return weights @ hat_diagonals(states, shifts[:, None] / q)


def _row_sums_of_moduli(states: States, x: Float[np.ndarray, " T"]) -> Float[np.ndarray, " T"]:
    """A bound of sum_t |G_st| x_t for x >= 0: moduli of all chains, eta_s eta_t z_j(t) prod_r |1 - eta_r lambda_j|."""
    T, weighted = len(x), states.rates * x
    keep, sums = np.abs(states.keep), np.zeros(len(x))
    before, after = np.zeros(keep.shape[1]), np.zeros(keep.shape[1])
    for s in range(T):
        before = keep[s] * before + weighted[s]
        sums[s] = states.variance[s] @ before
    for s in range(T - 2, -1, -1):
        after = keep[s + 1] * (after + states.variance[s + 1] * weighted[s + 1])
        sums[s] += after.sum()
    return states.rates * sums


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
        weights = np.sqrt(lower) * dn / cn**2  # up to a factor of about 1, which the largest ratio divides out
        # The other half by x -> lower upper / x: near the quarter period floats lose cn.
        mirrored = slice(number // 2 - 1, None, -1)
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
    noise = np.ascontiguousarray(noise.T)
    gains, spreads, hats = _filtered(states, noise)
    T, shifts, n = gains.shape
    rates, keep = states.rates, states.keep
    # Bryson-Frazier smoother: what the earlier steps, filtered later, add to what is known of step t.
    adjoint, change, decay = np.zeros((shifts, n, n)), np.empty((shifts, n, n)), np.empty((n, n))
    for t in range(T):
        if t > 0:
            np.multiply(keep[t][:, None], keep[t], out=decay)
            adjoint *= decay
        seen = np.matmul(adjoint, gains[t][:, :, None])[:, :, 0]
        gained = np.einsum("ij,ij->i", gains[t], seen)
        hats[t] -= noise[t] * gained
        # adjoint += r^2 (g' seen + 1 / spread) 11' - r (seen 1' + 1 seen').
        half = 0.5 * rates[t] ** 2 * (gained + 1.0 / spreads[t])
        seen = half[:, None] - rates[t] * seen
        np.add(seen[:, :, None], seen[:, None, :], out=change)
        adjoint += change
    return hats.T


def _filtered(states: States, noise: Float[np.ndarray, "T N"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Kalman filter from the last step to the first: gains (T, N, n), variances of y + noise and the share of y in
    them, both (T, N).
    """
    (T, shifts), n, keep = noise.shape, states.keep.shape[1], states.keep
    gains, spreads, hats = np.empty((T, shifts, n)), np.empty((T, shifts)), np.empty((T, shifts))
    fresh = states.variance.copy()
    fresh[:-1] -= keep[1:] ** 2 * states.variance[1:]
    covariance, change, decay = np.zeros((shifts, n, n)), np.empty((shifts, n, n)), np.empty((n, n))
    rows, diagonal = covariance.reshape(-1, n), covariance.reshape(shifts, -1)[:, :: n + 1]
    for t in range(T - 1, -1, -1):
        if t < T - 1:
            np.multiply(keep[t + 1][:, None], keep[t + 1], out=decay)
            covariance *= decay
        diagonal += fresh[t]
        pushed = (rows @ np.full(n, states.rates[t])).reshape(shifts, n)
        signal = states.rates[t] * pushed.sum(axis=1)
        spreads[t] = signal + noise[t]
        np.divide(pushed, spreads[t][:, None], out=gains[t])
        np.divide(signal, spreads[t], out=hats[t])
        np.multiply(gains[t][:, :, None], pushed[:, None, :], out=change)
        covariance -= change
    return gains, spreads, hats


@typed
def compressed(objective: Objective, sought: float = SOUGHT_ERROR) -> States:
    """Few chains for all eigendirections: exact for up to 16 different eigenvalues, else non-negative least squares on
    32 to 160 rates, fitted at log-spaced times and lags and tested at three times as many; as few rates as have the
    error that is `sought`.

    Raises `DomainError` with momentum, `AccuracyError` for an error above 1e-5.
    """
    if objective.momentum > 0:
        raise DomainError("momentum", objective.momentum, "0 beyond 2048 steps", "take a shorter run")
    different, copies = np.unique(objective.eigenvalues, return_counts=True)
    if len(different) <= MOST_STATES:
        rates = objective.learning_rates
        variance = _unit_variances(objective, different) * (copies * different)
        return States(keep=1.0 - np.outer(rates, different), variance=variance, rates=rates, error=0.0)
    test = _Covariance.at(objective, *_places(objective.steps, 3 * TIMES, 3 * LAGS))
    fit = _Covariance.at(objective, *_places(objective.steps, TIMES, LAGS))
    found: list[States] = []
    for number in RATES:
        found.append(_fitted(objective, np.geomspace(different[0], different[-1], number), fit, test))
        if found[-1].error <= sought:
            break
    best = min(found, key=lambda states: states.error)
    if not best.error <= LARGEST_ERROR:
        raise AccuracyError(
            f"compression: {best.keep.shape[1]} rates stand for {len(different)} eigenvalues with a relative error of "
            f"{best.error:.1e}, allowed is {LARGEST_ERROR:g}; merge near eigenvalues, 16 different ones are exact"
        )
    return best


@dataclass(frozen=True, eq=False, kw_only=True)
class _Covariance:
    """G_st at given s <= t, what errors of it are relative to, and the share of other chains in it."""

    objective: Objective
    places: tuple[np.ndarray, np.ndarray]
    entries: np.ndarray
    scale: np.ndarray

    @classmethod
    def at(cls, objective: Objective, s: np.ndarray, t: np.ndarray) -> _Covariance:
        """The entries at these places; an error of |G_st| counts at most as one of SMALL (G_ss G_tt)^{1/2}."""
        whole, diagonal = objective.chains.future[..., 0, 0], objective.diagonal()
        entries = _entries(objective, objective.eigenvalues, whole, s, t).sum(axis=1)
        scale = np.maximum(np.abs(entries), SMALL * np.sqrt(diagonal[s] * diagonal[t]))
        return cls(objective=objective, places=(s, t), entries=entries, scale=scale)

    def of(self, eigenvalues: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """The share of each chain, (pairs, n)."""
        return _entries(self.objective, eigenvalues, variance, *self.places)

    def error(self, eigenvalues: np.ndarray, variance: np.ndarray) -> float:
        """The largest relative error of a sum of chains."""
        summed = self.of(eigenvalues, variance).sum(axis=1)
        return float(np.max(np.abs(summed - self.entries) / self.scale))


def _fitted(objective: Objective, candidates: np.ndarray, fit: _Covariance, test: _Covariance) -> States:
    from scipy.optimize import nnls

    unit = _unit_variances(objective, candidates)
    shares = fit.of(candidates, unit) / fit.scale[:, None]
    weights, _ = nnls(shares, fit.entries / fit.scale, maxiter=10 * len(candidates))
    chosen = weights > 0
    candidates, variance = candidates[chosen], unit[:, chosen] * weights[chosen]
    rates = objective.learning_rates
    keep = 1.0 - np.outer(rates, candidates)
    return States(keep=keep, variance=variance, rates=rates, error=test.error(candidates, variance))


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
