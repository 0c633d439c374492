"""The cost tr(G B B^T) of a scaled BLT and its gradient, in O(T d buffers): what the fits minimise.

The BLT is given by its decays phi_1 > phi^_1 > phi_2 > phi^_2 > ... in (0, 1), those of C and of B = C^{-1} in turn:

    C(z) = prod (1 - phi^_i z) / (1 - phi_i z) = 1 + sum omega_i z / (1 - phi_i z),
    B(z) = prod (1 - phi_i z) / (1 - phi^_i z) = 1 - sum kappa_i z / (1 - phi^_i z),

with all omega, kappa > 0: every such C is minimum phase, and every BLT with omega > 0 whose inverse decays are positive
is of this form. Moments as in `mechanisms.moments`, with the buffers in the coordinates where A is diagonal.

>>> decays = Decays.at(np.array([-1.0, 1.0]))  # one buffer: 1 - (phi - phi^) z / (1 - phi^ z) is the inverse
>>> np.allclose(decays.omega, decays.outer - decays.inner), np.allclose(decays.kappa, decays.omega)
(True, True)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from dpbounds.errors import DomainError
from dpbounds.ftrl.design.objective import Objective

# Eigenvalues within this factor are one direction while a design is sought; its value is computed with all of them.
NEAR = 1.25
MOST_DIRECTIONS, LONG, FEW_DIRECTIONS = 24, 1024, 10


@dataclass(frozen=True, eq=False)
class Directions:
    """G_st = eta_s eta_t sum_j future_tj prod_{s < r <= t} kept_rj for s <= t, and its exact diagonal."""

    kept: Float[np.ndarray, "T d"]
    gain: Float[np.ndarray, "T d"]
    drive: Float[np.ndarray, " T"]
    diagonal: Float[np.ndarray, " T"]

    @classmethod
    def of(cls, objective: Objective) -> Directions:
        """Neighbouring eigenvalues merged; `DomainError` with momentum, which has no such form."""
        if objective.momentum > 0:
            raise DomainError("momentum", objective.momentum, "0 for a BLT fit", "take the spectral mechanism")
        chains, spectrum = objective.chains, objective.eigenvalues
        order = np.argsort(spectrum)
        logs = np.log(spectrum[order])
        most = MOST_DIRECTIONS if objective.steps <= LONG else FEW_DIRECTIONS
        width = max(np.log(NEAR), (logs[-1] - logs[0]) / most * (1 + 1e-9))
        groups = np.floor((logs - logs[0]) / width).astype(int)
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        future = chains.future[:, order, 0, 0]
        merged = np.add.reduceat(future, starts, axis=1)
        # The mean rate, weighted by what each eigenvalue adds over the run.
        weight = future.sum(axis=0)
        mean = np.add.reduceat(weight * spectrum[order], starts) / np.add.reduceat(weight, starts)
        rates = objective.learning_rates
        gain = merged * rates[:, None]
        return cls(1.0 - np.outer(rates, mean), gain, rates, chains.diagonal())


@dataclass(frozen=True, eq=False)
class Decays:
    """phi and phi^ from log-odds, phi = 1 / (1 + e^z), with phi_1 the slowest; residues omega and kappa."""

    outer: Float[np.ndarray, " m"]
    inner: Float[np.ndarray, " m"]

    @classmethod
    def at(cls, logs: Float[np.ndarray, " logs"]) -> Decays:
        """From z ascending, outer and inner in turn."""
        return cls(expit(-logs[::2]), expit(-logs[1::2]))

    @property
    def omega(self) -> Float[np.ndarray, " m"]:
        """prod_l (phi_i - phi^_l) / prod_{l != i} (phi_i - phi_l)."""
        return _residues(self.outer, self.inner)

    @property
    def kappa(self) -> Float[np.ndarray, " m"]:
        """- prod_l (phi^_i - phi_l) / prod_{l != i} (phi^_i - phi^_l)."""
        return -_residues(self.inner, self.outer)

    def pulled_back(self, outer_bar, inner_bar, omega_bar, kappa_bar) -> tuple[np.ndarray, np.ndarray]:
        """Gradients with respect to phi and phi^ once those of omega and kappa are carried over."""
        by_self, by_other = _residue_slopes(self.outer, self.inner, self.omega * omega_bar)
        outer, inner = outer_bar + by_self, inner_bar + by_other
        by_self, by_other = _residue_slopes(self.inner, self.outer, self.kappa * kappa_bar)
        return outer + by_other, inner + by_self


def cost(
    directions: Directions, decays: Decays, log_rows: Float[np.ndarray, " T"], *, unit_columns: bool = True
) -> tuple[float, tuple[np.ndarray, np.ndarray], np.ndarray]:
    """tr(G B B^T) for C = diag(r) L(c) diag(1 / n) with r = exp(log_rows), and its gradients: with respect to the two
    kinds of decays, and to log_rows. Without `unit_columns` n is 1.
    """
    omega, kappa, eta, gain = decays.omega, decays.kappa, directions.drive, directions.gain
    rows, draws = np.exp(2.0 * log_rows), np.exp(-2.0 * log_rows)
    tails = _Tails.of(decays.outer, rows[::-1])
    squares = rows + tails.form(omega, omega)[::-1] if unit_columns else np.ones_like(rows)
    n = np.sqrt(squares)
    moments = _Tails.of(decays.inner, draws)
    seen = moments.times(kappa)  # P kappa, (T, m)
    variance = draws + seen @ kappa
    correlated = draws[:, None] - decays.inner * seen
    pushed = (eta * n)[:, None] * correlated
    K = _scan(directions.kept, decays.inner, pushed)
    met = np.einsum("tj,tjm->tm", gain, K)
    value = float(n**2 * directions.diagonal @ variance - 2.0 * n @ (met @ kappa))

    # Backward.
    n_bar = 2.0 * n * directions.diagonal * variance - 2.0 * met @ kappa
    kappa_bar = -2.0 * n @ met
    carried = _scan_back(directions.kept, decays.inner, gain, -2.0 * n[:, None] * kappa)
    pushed_bar = carried.sum(axis=1)
    inner_bar = np.einsum("tjm,tjm->m", K, carried)
    n_bar += eta * np.einsum("tm,tm->t", pushed_bar, correlated)
    scaled = (eta * n)[:, None] * pushed_bar
    inner_bar -= np.einsum("tm,tm->m", scaled, seen)
    variance_bar = n**2 * directions.diagonal
    draws_bar = scaled.sum(axis=1) + variance_bar
    kappa_bar += variance_bar @ seen
    seen_bar = -scaled * decays.inner + variance_bar[:, None] * kappa
    by_decay, by_vector, by_input = moments.times_back(kappa, seen_bar)
    inner_bar += by_decay
    kappa_bar += by_vector
    draws_bar += by_input
    squares_bar = unit_columns * n_bar / (2.0 * n)
    outer_bar, omega_bar, by_input = tails.form_back(omega, squares_bar[::-1])
    rows_bar = squares_bar + by_input[::-1]
    slopes = decays.pulled_back(outer_bar, inner_bar, omega_bar, kappa_bar)
    return value, slopes, 2.0 * (rows * rows_bar - draws * draws_bar)


@dataclass(frozen=True, eq=False)
class _Tails:
    """S_ab(t) = sum_{s < t} (f_a f_b)^{t-1-s} x_s for all pairs of factors f, as `sums` of shape (m, m, T)."""

    factors: np.ndarray
    sums: np.ndarray

    @classmethod
    def of(cls, factors: np.ndarray, series: np.ndarray) -> _Tails:
        """The tails of a series x."""
        m = len(factors)
        sums = np.empty((m, m, len(series)))
        for a in range(m):
            for b in range(a, m):
                sums[a, b] = sums[b, a] = _tail(factors[a] * factors[b], series)
        return cls(factors, sums)

    def times(self, vector: np.ndarray) -> np.ndarray:
        """S v, (T, m)."""
        return np.einsum("abt,b->ta", self.sums, vector)

    def form(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """left^T S right, (T,)."""
        return np.einsum("abt,a,b->t", self.sums, left, right)

    def times_back(self, vector: np.ndarray, bar: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gradients of sum_t bar_t . (S v)_t by factors, v and series."""
        by_vector = np.einsum("ta,abt->b", bar, self.sums)
        rows = np.ascontiguousarray(bar.T)
        by_factor, by_series = self._back(lambda a, b: rows[a] * vector[b])
        return by_factor, by_vector, by_series

    def form_back(self, vector: np.ndarray, bar: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gradients of sum_t bar_t v^T S v by factors, v and series."""
        by_vector = 2.0 * np.einsum("t,abt,b->a", bar, self.sums, vector)
        by_factor, by_series = self._back(lambda a, b: vector[a] * vector[b] * bar)
        return by_factor, by_vector, by_series

    def _back(self, bar: Callable[[int, int], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """From the gradient by S_ab, (T,), as a function of a and b."""
        f, m = self.factors, len(self.factors)
        by_factor, by_series = np.zeros(m), np.zeros(self.sums.shape[2])
        for a in range(m):
            for b in range(a, m):
                here = bar(a, b) if a == b else bar(a, b) + bar(b, a)
                slope = float(here @ _tail(f[a] * f[b], self.sums[a, b]))
                by_factor[a] += slope * f[b]
                by_factor[b] += slope * f[a]
                by_series += _tail(f[a] * f[b], here[::-1])[::-1]
        return by_factor, by_series


def _tail(factor: float, series: np.ndarray) -> np.ndarray:
    """y_t = sum_{s < t} factor^{t-1-s} x_s."""
    from scipy.signal import lfilter

    return np.asarray(lfilter([0.0, 1.0], [1.0, -factor], series))


def _scan(kept: np.ndarray, factors: np.ndarray, pushed: np.ndarray) -> np.ndarray:
    """K(0) = 0, K(t+1) = kept_{t+1} (factors K(t) + pushed_t), (T, d, m)."""
    incoming = np.concatenate([np.zeros((1, len(factors))), pushed[:-1]])
    return _blocks(kept, factors, kept[:, :, None] * incoming[:, None, :])


def _scan_back(kept: np.ndarray, factors: np.ndarray, gain: np.ndarray, bar: np.ndarray) -> np.ndarray:
    """kept_{t+1} L(t+1) with L(t) = gain_t bar_t + kept_{t+1} factors L(t+1), L(T) = 0; (T, d, m)."""
    # Backward in time with D(t) = kept_t L(t): D(t) = kept_t (gain_t bar_t + factors D(t+1)).
    sources = (kept * gain)[:, :, None] * bar[:, None, :]
    found = _blocks(kept[::-1], factors, sources[::-1])[::-1]
    return np.concatenate([found[1:], np.zeros((1, *found.shape[1:]))])


def _blocks(kept: np.ndarray, factors: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """y_t = kept_t factors y_{t-1} + sources_t, y_{-1} = 0: blocks of about sqrt(T) steps side by side."""
    T, d = kept.shape
    length = int(np.ceil(np.sqrt(T)))
    count = -(-T // length)
    padding = count * length - T
    decay = np.concatenate([kept, np.ones((padding, d))]).reshape(count, length, d, 1)
    y = np.concatenate([sources, np.zeros((padding, d, len(factors)))]).reshape(count, length, d, len(factors))
    across = decay * factors
    for step in range(1, length):
        y[:, step] += across[:, step] * y[:, step - 1]
    reach = np.cumprod(across, axis=1)
    for block in range(1, count):
        y[block] += reach[block] * y[block - 1, -1]
    return y.reshape(count * length, d, len(factors))[:T]


def _residues(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    """prod_l (own_i - other_l) / prod_{l != i} (own_i - own_l)."""
    above = own[:, None] - other
    below = own[:, None] - own + np.eye(len(own))
    # Factor by factor: the products alone may leave the range of floats.
    return np.diag(above) * np.prod((above - np.diag(np.diag(above) - 1.0)) / below, axis=1)


def _residue_slopes(own: np.ndarray, other: np.ndarray, bar: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradients by `own` and `other` of the residues, whose logarithms have the gradient `bar`."""
    across = 1.0 / (own[:, None] - other)
    among = 1.0 / (own[:, None] - own + np.eye(len(own)))  # the diagonal cancels
    by_own = bar * (across.sum(axis=1) - among.sum(axis=1)) + bar @ among
    return by_own, -(bar @ across)
