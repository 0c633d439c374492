"""Correlations for a fixed number of steps T: a decoder B of shape (T, draws) and an encoder C with B C = I.

ftrl Table 3 writes them for prefix sums, A = B~ C with B~ = A B and A the lower-triangular matrix of ones.

>>> tree = tree_aggregation(8)
>>> round(tree.sensitivity(8) ** 2), round(tree.prefix_error(8))  # each record is in 4 nodes; 13 ones in 1 to 8
(4, 13)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError, choice, count, positive, real_array
from dpbounds.ftrl.correlations.base import Correlation

# Steps of each kind: dense matrices that fit into 4 GB and take less than half a minute.
LARGEST = {"tree": 4_000, "least squares": 1_000, "fft": 2_000, "optimal": 1_000, "banded": 1_024, "restarted": 10_000}
# Rows of a band multiplied at a time.
BAND_ROWS = 64


@dataclass(frozen=True, eq=False)
class MatrixCorrelation(Correlation):
    """Given decoder and encoder for exactly `steps` steps; `duality_gap` bounds how far from optimal, where that is
    known.
    """

    label: str
    steps: int
    decoder: np.ndarray = field(repr=False)
    encoding: np.ndarray = field(repr=False)
    duality_gap: float = np.nan

    @property
    def name(self) -> str:
        """What tables and plots call it."""
        return self.label

    def matrix(self, T: int) -> Float[np.ndarray, "T draws"]:
        """B; raises `DomainError` for another horizon than its own."""
        return self.decoder[: self._own(T)]

    def encoder(self, T: int) -> Float[np.ndarray, "draws T"]:
        """C; raises `DomainError` for another horizon than its own."""
        return self.encoding[:, : self._own(T)]

    def _own(self, T: int) -> int:
        if count("T", T) != self.steps:
            raise DomainError("T", T, f"the horizon {self.steps} this matrix was made for", "make one for this T")
        return self.steps


@typed
def from_matrix(matrix: np.ndarray, *, name: str = "given matrix") -> MatrixCorrelation:
    """Any invertible square B, C = B^{-1}; raises `DomainError` if it is not square and invertible."""
    decoder = real_array("matrix", matrix)
    square = decoder.ndim == 2 and decoder.shape[0] == decoder.shape[1] and decoder.size > 0
    if not (square and np.all(np.isfinite(decoder))):
        raise DomainError("matrix", f"shape {decoder.shape}", "a finite square matrix")
    if np.linalg.matrix_rank(decoder) < len(decoder):
        raise DomainError(
            "matrix", "a singular matrix", "an invertible matrix", "its sensitivity is that of the inverse"
        )
    return MatrixCorrelation(name, len(decoder), decoder, np.linalg.inv(decoder))


def tree_aggregation(T: int, *, decoder: Literal["plain", "honaker"] = "plain") -> MatrixCorrelation:
    """Binary-tree prefix sums, anytime and O(log T) per step: one draw per dyadic interval completed by time T.

    `plain`: the prefix [0, t) is the sum of the nodes of t's binary expansion. `honaker`: a node is replaced by the
    inverse-variance average of itself and the estimates of its two children ("from below").
    """
    T = _horizon("tree", T)
    choice("decoder", decoder, ("plain", "honaker"))
    intervals = _dyadic_intervals(T)
    position = {interval: row for row, interval in enumerate(intervals)}
    estimates: dict[tuple[int, int], np.ndarray] = {}
    for start, stop in intervals:  # children come before parents
        own = np.zeros(len(intervals))
        own[position[start, stop]] = 1.0
        middle = (start + stop) // 2
        if decoder == "honaker" and stop - start > 1:
            below = estimates[start, middle] + estimates[middle, stop]
            weight = 1.0 / (1.0 + 1.0 / (below @ below))
            own = weight * own + (1.0 - weight) * below
        estimates[start, stop] = own
    prefix = np.array([sum(estimates[piece] for piece in _binary_expansion(t)) for t in range(1, T + 1)])
    return MatrixCorrelation(f"tree aggregation ({decoder})", T, _differences(prefix), _incidence(intervals, T))


def full_honaker(T: int) -> MatrixCorrelation:
    """The tree's draws with the least-squares decoder B = C^+ = (C^T C)^{-1} C^T: not lower triangular, not anytime."""
    T = _horizon("least squares", T)
    encoding = _incidence(_dyadic_intervals(T), T)
    return MatrixCorrelation("full Honaker", T, np.linalg.pinv(encoding), encoding)


def fft_mechanism(T: int) -> MatrixCorrelation:
    """Square root of the 2T-circulant that holds A: A = first T columns of F* S^{1/2} S^{1/2} F, cut to T rows.

    The complex draws are written as twice as many real ones (real parts, then imaginary parts).
    """
    T = _horizon("fft", T)
    column = np.concatenate([np.ones(T), np.zeros(T)])
    root = np.sqrt(np.fft.fft(column).astype(complex))
    fourier = np.fft.fft(np.eye(2 * T)) / np.sqrt(2 * T)
    encoding = (root[:, None] * fourier)[:, :T]
    prefix = (fourier.conj().T * root)[:T]
    real_encoding = np.concatenate([encoding.real, encoding.imag])
    real_prefix = np.concatenate([prefix.real, -prefix.imag], axis=1)
    return MatrixCorrelation("FFT", T, _differences(real_prefix), real_encoding)


def optimal_prefix_sum(T: int, *, tolerance: float = 1e-9, iterations: int = 10_000) -> MatrixCorrelation:
    """The matrix of least prefix-sum error at unit sensitivity: min ||A C^{-1}||_F^2 with diag(C^T C) <= 1 ("ME", one
    participation).

    Fixed point v = diag(sqrt(D_v^{1/2} A^T A D_v^{1/2})) of the dual; the optimum is sum(v). `duality_gap` is relative
    and proves how near the primal point is; `AccuracyError` if it is not below `tolerance` after `iterations`.
    """
    T, tolerance, iterations = _horizon("optimal", T), positive("tolerance", tolerance), count("iterations", iterations)
    workload = _ones(T).T @ _ones(T)
    v = np.ones(T)
    for _ in range(iterations):
        root = _square_root(np.sqrt(v)[:, None] * workload * np.sqrt(v))
        gram = root / np.sqrt(np.outer(v, v))
        gram /= np.sqrt(np.outer(np.diag(gram), np.diag(gram)))  # feasible: unit diagonal
        primal = float(np.trace(np.linalg.solve(gram, workload)))
        dual = 2.0 * float(np.trace(root)) - float(v.sum())
        gap = (primal - dual) / primal
        if gap <= tolerance:
            encoding = _lower_factor(gram)
            return MatrixCorrelation("optimal prefix sum", T, np.linalg.inv(encoding), encoding, gap)
        v = np.diag(root).copy()
    raise AccuracyError(f"optimal prefix-sum matrix: relative duality gap {gap:.1e} after {iterations} iterations")


def banded(T: int, bands: int, *, tolerance: float = 1e-5) -> MatrixCorrelation:
    """Least prefix-sum error among lower-triangular encoders with `bands` diagonals and unit column norms.

    Quasi-Newton on the band entries from the truncated square root of A; an estimate of the optimum (no dual bound).
    `AccuracyError` if the relative gradient is not below `tolerance`.
    """
    from scipy.optimize import minimize

    T, bands, tolerance = _horizon("banded", T), count("bands", bands), positive("tolerance", tolerance)
    if bands > T:
        raise DomainError("bands", bands, f"at most T = {T}")
    rows, columns = _band_indices(T, bands)

    def encoder_of(entries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        raw = np.zeros((T, T))
        raw[rows, columns] = entries
        norms = np.linalg.norm(raw, axis=0)
        return raw / norms, norms

    def objective(entries: np.ndarray) -> tuple[float, np.ndarray]:
        encoding, norms = encoder_of(entries)
        value, gradient = _squared_error(encoding, bands)
        gradient = (gradient - encoding * np.sum(encoding * gradient, axis=0)) / norms
        return value, gradient[rows, columns]

    lags = rows - columns
    start = np.cumprod(np.concatenate([[1.0], 1.0 - 0.5 / np.arange(1, bands)]))[lags] if bands > 1 else np.ones(T)
    options = {"maxiter": 5000, "maxfun": 50_000, "ftol": 1e-12, "gtol": 1e-9, "maxcor": 30}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    if np.abs(found.jac).max() > tolerance * found.fun:
        raise AccuracyError(f"banded prefix-sum matrix (T={T}, bands={bands}): {found.message}")
    encoding, _ = encoder_of(found.x)
    return MatrixCorrelation(f"{bands} bands", T, np.linalg.inv(encoding), encoding)


@typed
def restarted(correlation: Correlation, T: int, restarts: int) -> MatrixCorrelation:
    """Suffix "x S" of ftrl Table 3: a fresh start every T / S steps, B block diagonal; T must be a multiple of S."""
    T, restarts = _horizon("restarted", T), count("restarts", restarts)
    if T % restarts:
        raise DomainError("restarts", restarts, f"a divisor of T = {T}")
    length, unit = T // restarts, np.eye(restarts)
    decoder = np.kron(unit, correlation.matrix(length))
    encoding = np.kron(unit, correlation.encoder(length))
    return MatrixCorrelation(f"{correlation.name} x {restarts}", T, decoder, encoding)


def _dyadic_intervals(T: int) -> list[tuple[int, int]]:
    """Intervals [k 2^l, (k+1) 2^l) inside [0, T), level by level."""
    levels = range(T.bit_length())
    return [(start, start + 2**l) for l in levels for start in range(0, T - 2**l + 1, 2**l)]


def _binary_expansion(t: int) -> list[tuple[int, int]]:
    """[0, t) as disjoint dyadic intervals, largest first."""
    pieces, start = [], 0
    for level in reversed(range(t.bit_length())):
        if t >> level & 1:
            pieces.append((start, start + 2**level))
            start += 2**level
    return pieces


def _incidence(intervals: list[tuple[int, int]], T: int) -> np.ndarray:
    steps = np.arange(T)
    return np.array([(start <= steps) & (steps < stop) for start, stop in intervals], dtype=float)


def _horizon(kind: str, T: int) -> int:
    """T as a whole number of steps for which such a matrix can be made."""
    return count("T", T, most=LARGEST[kind], remedy="longer runs need a Toeplitz correlation")


def _differences(prefix: np.ndarray) -> np.ndarray:
    """A^{-1} B~: noise of the steps from noise of the prefix sums."""
    return np.diff(prefix, axis=0, prepend=np.zeros((1, prefix.shape[1])))


def _ones(T: int) -> np.ndarray:
    return np.tri(T)


def _square_root(matrix: np.ndarray) -> np.ndarray:
    """Positive root of a symmetric positive definite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(values)) @ vectors.T


def _lower_factor(gram: np.ndarray) -> np.ndarray:
    """Lower-triangular C with C^T C = gram: Cholesky of the matrix read from its last corner."""
    return np.linalg.cholesky(gram[::-1, ::-1])[::-1, ::-1].T


def _squared_error(encoding: np.ndarray, bands: int) -> tuple[float, np.ndarray]:
    """||P||_F^2 with P = A B, B = C^{-1}, and the band of its gradient in C, -2 P^T P B^T; 0 elsewhere."""
    from scipy.linalg.lapack import dlauum, dtrtri  # pyright: ignore[reportAttributeAccessIssue]

    T = len(encoding)
    # The transposes are in the order of these routines: nothing is copied.
    decoder = dtrtri(encoding.T, lower=0)[0].T
    prefix = np.cumsum(decoder, axis=0)
    product = np.tril(dlauum(prefix.T, lower=0)[0].T)
    product += np.tril(product, -1).T
    gradient, indices = np.zeros((T, T)), np.arange(T)
    for start in range(0, T, BAND_ROWS):
        some = np.s_[start : start + BAND_ROWS], np.s_[max(0, start - bands + 1) : start + BAND_ROWS]
        lags = indices[some[0], None] - indices[some[1]]
        gradient[some] = np.where((lags >= 0) & (lags < bands), -2.0 * product[some[0]] @ decoder[some[1]].T, 0.0)
    return float(np.sum(prefix**2)), gradient


def _band_indices(T: int, bands: int) -> tuple[np.ndarray, np.ndarray]:
    rows, columns = np.tril_indices(T)
    near = rows - columns < bands
    return rows[near], columns[near]
