"""Short linear recursions x_{t+1} = A x_t + b w_t that reproduce a sequence of weights: beta_t = c A^{t-1} b, t >= 1.

Both are balanced truncations: the Hankel operator of (beta_1, beta_2, ...) has singular values that fall fast, and the
recursion lives on its leading singular vectors. The error is measured afterwards, never assumed.

>>> recursion = exponentials(0.1, 1000)
>>> recursion.weights(2).round(9).tolist()  # sqrt(1 - 0.9 z) = 1 - 0.45 z - 0.10125 z^2 - ...
[-0.45, -0.10125]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from jaxtyping import Float
from scipy import fft, special

from dpbounds.errors import AccuracyError, count, vector, within
from dpbounds.ftrl.correlations import NuCorrelation

# Largest summed error of the weights, relative to their root sum of squares (the noise's standard deviation). Half of
# the 1e-10 that the stream states.
ACCURACY = 5e-11
# Singular values dropped below these fractions: the first that reaches ACCURACY is taken.
CUTS = (1e-11, 3e-12, 1e-12, 3e-13, 1e-13, 1e-14)
# Lags up to this one are compared one by one, later ones on a logarithmic grid.
EVERY_LAG = 2**12
# Sequences that need more states, or are longer than this, are convolved by FFT: up to 96 states, measured, the
# recursion costs no more than the draws and the FFT at least twice as much.
FEWEST_STATES, MOST_STATES = 48, 96
LONGEST, LONGEST_OF_MOST = 2**19, 2**15
# Random vectors beyond the states asked for: without them the last singular vectors are not accurate.
BEYOND = 16


@dataclass(frozen=True, eq=False)
class Recursion:
    """A, b, c with beta_t = c A^{t-1} b for t >= 1; `error` is the summed error over the lags asked for."""

    transition: Float[np.ndarray, "states states"]
    inlet: Float[np.ndarray, " states"]
    outlet: Float[np.ndarray, " states"]
    error: float

    def weights(self, lags: int) -> Float[np.ndarray, " lags"]:
        """beta_1, ..., beta_lags as the recursion gives them, 256 lags per product."""
        stride = min(256, lags)
        observe, state = self.observability(stride), self.inlet
        jump = np.linalg.matrix_power(self.transition, stride)
        blocks = []
        for _ in range(-(-lags // stride)):
            blocks.append(observe @ state)
            state = jump @ state
        return np.concatenate(blocks)[:lags]

    def observability(self, rows: int) -> Float[np.ndarray, "rows states"]:
        """Rows c, c A, ..., c A^(rows - 1)."""
        result = [self.outlet]
        for _ in range(rows - 1):
            result.append(result[-1] @ self.transition)
        return np.array(result)

    def controllability(self, columns: int) -> Float[np.ndarray, "states columns"]:
        """Columns A^(columns - 1) b, ..., A b, b."""
        result = [self.inlet]
        for _ in range(columns - 1):
            result.append(self.transition @ result[-1])
        return np.array(result[::-1]).T


@lru_cache(maxsize=32)
def exponentials(nu: float, steps: int) -> Recursion:
    """The weights of sqrt(1 - (1 - nu) z) at lags 1 to steps - 1 as a sum of real exponentials with negative weights.

    Euler's Beta integral: beta_t = -(1 - nu)^t / pi int_0^inf e^{-s (t - 1/2)} (1 - e^{-s})^{1/2} ds for t >= 1. The
    trapezoidal rule in log s gives about 170 exponentials with a summed error near 1e-12; the balanced truncation of
    their finite-horizon Gramian leaves 11 (nu = 0.1) to 43 (nu = 0, 1e7 steps). The summed error, measured at every lag
    below 4096 and on a logarithmic grid beyond, is at most 5e-11: else `AccuracyError`. `DomainError` unless nu is in
    [0, 1] and steps at least 1.
    """
    within("nu", nu, "[0, 1]")
    if count("steps", steps) == 1 or nu == 1:
        return Recursion(np.zeros((0, 0)), np.zeros(0), np.zeros(0), 0.0)
    weights, rates = _quadrature(nu, steps)
    values, vectors = _gramian_modes(weights, rates, steps)
    for cut in CUTS:
        inlet, decay = _truncated(weights, rates, vectors[:, values > cut])
        error = _summed_error(nu, steps, inlet**2, decay)
        if error <= ACCURACY:
            return Recursion(np.diag(np.exp(-decay)), inlet, -inlet, error)
    raise AccuracyError(f"exponentials for nu={nu:g}, steps={steps}: summed error {error:.1e}, allowed {ACCURACY:.0e}")


def short_recursion(beta: Float[np.ndarray, " lags"], *, ends: bool = True) -> Recursion | None:
    """A recursion for given weights, or None where no short one reaches the accuracy: convolve then.

    Balanced realisation: Q spans the leading eigenvectors of the Hankel matrix (found by products with fixed random
    vectors, each an FFT), and A is the shift S of its rows in that basis. The summed error, measured at every lag, is
    at most 5e-11 of the root sum of squares of beta. For 49 to 524288 weights.

    - `ends`: there are no further weights. The Hankel matrix has as many rows as weights, and A = Q^T S Q, whose powers
      stay bounded. At most 48 states, up to 32768 weights at most 96; it takes up to 150 numbers of memory per weight.
    - otherwise they go on, and the recursion is good for the lags given alone. A sequence cut short ends in a jump,
      which no short recursion makes: only the rows and columns whose weights are all given are taken, half as many,
      and A is the least-squares shift. At most 96 states and 60 numbers of memory per weight.
    """
    beta = vector("beta", beta)
    scale = float(np.linalg.norm(beta))
    if not FEWEST_STATES < len(beta) <= LONGEST:
        return None
    tail = np.asarray(beta[1:], dtype=float) / scale
    most = FEWEST_STATES if ends and len(beta) > LONGEST_OF_MOST else MOST_STATES
    rows = len(tail) if ends else (len(tail) + 1) // 2
    values, full, last = _hankel_modes(tail, min(most + BEYOND, rows), rows)
    for cut in CUTS:
        kept = np.abs(values) > cut
        if np.count_nonzero(kept) > most:
            return None
        shift = full.transition[np.ix_(kept, kept)]
        if not ends:
            shift = _least_squares(shift, last[kept])
        candidate = Recursion(shift, full.inlet[kept], full.outlet[kept] * scale, 0.0)
        error = float(np.abs(candidate.weights(len(tail)) - beta[1:]).sum()) / scale
        if error <= ACCURACY:
            return replace(candidate, error=error)
    return None


def fast_length(least: int) -> int:
    """The smallest power of two, or three or five times one, that is at least `least`: for FFTs."""
    return min(odd << (-(-least // odd) - 1).bit_length() for odd in (1, 3, 5))


def _quadrature(nu: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """w, r with -beta_t = sum_i w_i exp(-r_i (t - 1)) by the trapezoidal rule in log s."""
    # Below the lower end lies int s^{1/2} ds per lag; above the upper one e^{-s/2}.
    spacing, low, high = 0.2, (1e-13 / steps) ** (2.0 / 3.0), 80.0
    s = np.exp(np.arange(np.log(low), np.log(high), spacing))
    weights = spacing * s * np.exp(-s / 2.0) * np.sqrt(-np.expm1(-s)) * (1.0 - nu) / np.pi
    return weights, s - np.log1p(-nu)


def _gramian_modes(weights: np.ndarray, rates: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs of the Gramian of x_i <- e^{-r_i} x_i + sqrt(w_i) w_t over `steps` steps: Hankel singular values."""
    pairs = np.add.outer(rates, rates)
    gramian = np.sqrt(np.outer(weights, weights)) * np.expm1(-steps * pairs) / np.expm1(-pairs)
    return np.linalg.eigh(gramian)


def _truncated(weights: np.ndarray, rates: np.ndarray, modes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """b and rates of the truncation to `modes`, in the coordinates where it is diagonal."""
    # 1 - A in place of A: the slowest rates are far below the rounding of 1.
    gaps, axes = np.linalg.eigh(modes.T @ (-np.expm1(-rates)[:, None] * modes))
    return axes.T @ (modes.T @ np.sqrt(weights)), -np.log1p(-gaps)


def _summed_error(nu: float, steps: int, weights: np.ndarray, rates: np.ndarray) -> float:
    """sum over lags 1 to steps - 1 of |error|: term by term up to EVERY_LAG, by the trapezoidal rule beyond."""
    near = np.arange(1, min(steps, EVERY_LAG))
    error = np.abs(NuCorrelation(nu).coefficients(len(near) + 1)[1:] + np.exp(-np.outer(near - 1, rates)) @ weights)
    if steps <= EVERY_LAG:
        return float(error.sum())
    far = np.unique(np.geomspace(EVERY_LAG, steps - 1, 2000).round())
    exact = -special.beta(far - 0.5, 1.5) / np.pi * np.exp(far * np.log1p(-nu))
    beyond = np.abs(exact + np.exp(-np.outer(far - 1, rates)) @ weights)
    return float(error.sum() + beyond[0] + np.trapezoid(beyond, far))


def _hankel_modes(tail: np.ndarray, states: int, rows: int) -> tuple[np.ndarray, Recursion, np.ndarray]:
    """Leading eigenvalues of the Hankel matrix (tail_{i+j})_{i,j < rows}, 0 beyond the tail, by a randomised range
    finder; its recursion there, and the last row of the eigenvectors.
    """
    from scipy import linalg

    length = fast_length(len(tail) + rows)
    transform = np.asarray(fft.rfft(tail, length))

    def times(vector: np.ndarray) -> np.ndarray:
        product = transform * np.conj(np.asarray(fft.rfft(vector, length)))
        return np.asarray(fft.irfft(product, length))[:rows]

    probes = np.random.default_rng(0)
    image = np.empty((states, rows))
    for row in image:
        row[:] = times(probes.standard_normal(rows))
    basis = np.asarray(linalg.qr(image.T, overwrite_a=True, mode="economic", check_finite=False)[0])
    compressed = np.array([basis.T @ times(column) for column in basis.T])
    values, axes = np.linalg.eigh(0.5 * (compressed + compressed.T))
    transition = axes.T @ (basis[:-1].T @ basis[1:]) @ axes
    return values, Recursion(transition, axes.T @ (basis.T @ tail[:rows]), basis[0] @ axes, np.inf), basis[-1] @ axes


def _least_squares(shift: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The A of least ||Q_- A - Q_+||, Q_- and Q_+ an orthonormal Q without its last and without its first row, from
    Q_-^T Q_+: Q_-^T Q_- = I - last last^T.
    """
    return shift + np.outer(last, last @ shift) / (1.0 - last @ last)
