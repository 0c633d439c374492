"""How small the value of any mechanism can be: duality over expected participation patterns.

For every Q = E R_pi over patterns pi, with R correlation matrices on their steps, and G = A^T A,

    s(C)^2 tr(G (C^T C)^{-1}) >= ||A Q^{1/2}||_*^2 = (tr (Q^{1/2} G Q^{1/2})^{1/2})^2,

because ||A Q^{1/2}||_* <= ||A C^{-1}||_F ||C Q^{1/2}||_F and tr(Q C^T C) <= s(C)^2. The norm f is concave in Q, with
gradient X(Q) / 2, X(Q) = Q^{-1/2} (Q^{1/2} G Q^{1/2})^{1/2} Q^{-1/2}; at the best Q, X(Q) is the C^T C of the best
mechanism up to scale. One participation: Q = diag q, sum q = 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError, within
from dpbounds.ftrl.correlations import MatrixCorrelation
from dpbounds.ftrl.design.objective import CONVENTION, Objective
from dpbounds.ftrl.design.participation import SINGLE, Participation
from dpbounds.values import Value

# Steps up to which the bound can be computed with dense matrices; steps beyond which, and tolerances down to which,
# O(T) is faster.
LARGEST_DENSE, FASTER_DENSE, LEAST_STREAMED = 2048, 512, 1e-7
# q <- q X_tt^STEP, accelerated over MEMORY steps by at most a factor e^FARTHEST; most steps that are taken.
STEP, MEMORY, FARTHEST, MOST_STEPS = 1.75, 6, 2.0, 150
# Errors of eigenvalues, and singular values that the primal raises to, as shares of the largest.
ROUNDING, ROOT_FLOOR = 4.0 * np.finfo(float).eps, 1e-15
# A search ends after PATIENCE steps none of which gained this share of the tolerance.
STALE, PATIENCE = 0.01, 10
# Weights below e^{-36} of the largest are as good as 0.
FAINTEST_LOG = -36.0


@dataclass(frozen=True, kw_only=True, eq=False)
class LowerBound:
    """A number that no mechanism's value is below, and what shows it.

    `value`: kind `lower`; a float computed in double precision unless it has an enclosure. `dual`: the diagonal of Q.
    `gap`: relative distance to the value of a mechanism that was found on the way, nan where none was. `compression`:
    relative error of the Gram matrix that was used in place of G; 0 where it is G.
    """

    value: Value
    dual: Float[np.ndarray, " T"] = field(repr=False)
    iterations: int
    gap: float = float("nan")
    compression: float = 0.0

    def __float__(self) -> float:
        return float(self.value)


@dataclass(frozen=True, kw_only=True, eq=False)
class Optimum:
    """The best mechanism: its value, a lower bound, and the relative gap between them."""

    mechanism: MatrixCorrelation
    value: Value
    bound: LowerBound
    gap: float


@typed
def lower_bound(
    objective: Objective, participation: Participation = SINGLE, *, tolerance: float = 1e-6, certify: bool = False
) -> LowerBound:
    """A lower bound on `objective.value(C, participation)` over all mechanisms C.

    One participation: dense up to 512 steps, until the relative gap to a mechanism's value is below `tolerance`; O(T)
    beyond, until a step gains less than `tolerance`, but dense up to 2048 with momentum, for a tolerance below 1e-7 and
    for spectra that few rates cannot stand for. More participations: see `repeated.py`. Stopping early leaves a valid
    bound. `certify` adds an enclosure whose lower end is proved in ball arithmetic, up to 256 steps.
    """
    within("tolerance", tolerance, "[1e-14, 1]")
    T = participation.checked(objective.steps)
    if certify:
        from dpbounds.ftrl.design.certified import certified_bound

        return certified_bound(objective, participation, tolerance=tolerance)
    if participation.times > 1:
        from dpbounds.ftrl.design.repeated import repeated_bound

        return repeated_bound(objective, participation, tolerance=tolerance)
    if T > FASTER_DENSE:
        from dpbounds.ftrl.design.smoother import streamed_bound

        dense = T <= LARGEST_DENSE and (objective.momentum > 0 or tolerance < LEAST_STREAMED)
        try:
            if not dense:
                return streamed_bound(objective, tolerance=tolerance)
        except AccuracyError:
            if T > LARGEST_DENSE:
                raise
    return Search(objective.gram(), tolerance, spectral).bound


@typed
def optimum(objective: Objective, participation: Participation = SINGLE, *, tolerance: float = 1e-5) -> Optimum:
    """The best mechanism for one participation as a dense matrix, its value and a lower bound within `tolerance` of it.

    Raises `DomainError` beyond 2048 steps, and where the least value is not attained: noiseless gradients with weights
    on few iterates, whose G has not full rank. `AccuracyError` if the gap is not reached.
    """
    within("tolerance", tolerance, "[1e-14, 1]")
    T = participation.checked(objective.steps)
    if participation.times > 1:
        from dpbounds.ftrl.design.repeated import repeated_optimum

        return repeated_optimum(objective, participation, tolerance=tolerance)
    if T > LARGEST_DENSE:
        raise DomainError("steps", T, f"at most {LARGEST_DENSE} for the optimum", "lower_bound has no such limit")
    refuse_degenerate(objective)
    gram = objective.gram()
    search = Search(gram, tolerance, spectral)
    if search.encoder is None:
        search = Search(gram, tolerance, graded, start=search.dual)
    if search.encoder is None:
        raise AccuracyError(f"optimum: after {search.iterations} steps the relative gap is {search.gap:.1e}")
    mechanism = MatrixCorrelation(f"optimum (T={T})", T, _inverse(search.encoder), search.encoder)
    value = objective.value(mechanism, participation)
    return Optimum(mechanism=mechanism, value=value, bound=search.bound, gap=float(value) / float(search.bound) - 1.0)


def refuse_degenerate(objective: Objective) -> None:
    """Without gradient noise G has rank at most (eigenvalues) x (weighted iterates), twice that with momentum."""
    weighted = np.count_nonzero(objective.omega) * objective.chains.drive.shape[2]
    if objective.noise_share == 0 and weighted * len(objective.eigenvalues) < objective.steps:
        raise DomainError(
            "weights",
            objective.weights,
            "on more iterates without gradient noise: the least value is approached by noise without bound in between",
            "give batch_size, or weights such as 0.99 final and 0.01 mean; lower_bound holds all the same",
        )


class Search:
    """The search for the best q: a lower bound at every step, and a mechanism as near to it as `gap` says, if one was
    found.

    The gap is to that mechanism's value or, where floats cannot find one so near, to what no q exceeds: f is concave
    and positively homogeneous of degree 1/2, so f(q') <= (f(q) + max_t X_tt(q)) / 2.
    """

    def __init__(
        self, gram: np.ndarray, tolerance: float, decompose: Decomposition, start: np.ndarray | None = None
    ) -> None:
        T = len(gram)
        steps = Anderson(np.zeros(T) if start is None else np.log(np.maximum(start, np.exp(FAINTEST_LOG))))
        best, upper, gained = 0.0, np.inf, 0
        self.encoder: np.ndarray | None = None
        self.dual = steps.weights
        for self.iterations in range(1, MOST_STEPS + 1):
            q = steps.weights
            roots, vectors = decompose(gram, q)
            norm = float(roots.sum())
            if norm**2 > best * (1.0 + STALE * tolerance):
                gained = self.iterations
            if norm**2 > best:
                best, self.dual = norm**2, q
            hat = np.einsum("st,t,st->s", vectors, roots, vectors)
            value = _primal_value(gram, roots, vectors)
            upper = min(upper, value, float(np.max(hat / q) + norm) ** 2 / 4.0)
            if value <= (1.0 + tolerance) * best:
                self.encoder = _primal_encoder(roots, vectors)
            if upper <= (1.0 + tolerance) * best and (self.encoder is not None or decompose is spectral):
                break
            if self.iterations - gained > PATIENCE:
                break
            steps.step(hat, norm)
        self.gap = upper / best - 1.0
        value = Value(best, kind="lower", source="dpbounds, duality", convention=CONVENTION)
        self.bound = LowerBound(value=value, dual=self.dual, iterations=self.iterations, gap=self.gap)


def spectral(gram: Float[np.ndarray, "T T"], q: Float[np.ndarray, " T"]) -> tuple[np.ndarray, np.ndarray]:
    """Singular values of A Q^{1/2} for Q = diag q, and eigenvectors of Q^{1/2} G Q^{1/2}.

    Eigenvalues are lowered by what they may be off, and cut off at 0: the sum of their roots is to be a lower bound.
    """
    root = np.sqrt(q)
    eigenvalues, vectors = np.linalg.eigh(gram * np.outer(root, root))
    return np.sqrt(np.maximum(eigenvalues - ROUNDING * eigenvalues[-1], 0.0)), vectors


def graded(gram: Float[np.ndarray, "T T"], q: Float[np.ndarray, " T"]) -> tuple[np.ndarray, np.ndarray]:
    """The same to the digits of each singular value by itself, for q that spans many orders, ten times slower: Jacobi's
    method on the Cholesky factor, whose error does not grow with the grading.
    """
    from scipy.linalg import get_lapack_funcs

    root = np.sqrt(q)
    factor = cholesky(gram * np.outer(root, root))
    gejsv: Any = get_lapack_funcs("gejsv", (factor,))
    singular, vectors, _, work, _, failed = gejsv(factor, joba=2, jobu=0, jobv=3)
    if failed:
        raise AccuracyError("optimum: the Jacobi method did not converge")
    return singular * (work[0] / work[1]), vectors


Decomposition = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def cholesky(matrix: Float[np.ndarray, "T T"]) -> np.ndarray:
    """The Cholesky factor; `AccuracyError` where rounding hides that the matrix has full rank."""
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise AccuracyError(
            "optimum: the Gram matrix is singular to rounding, and the least value is not attained within floats; "
            "lower_bound holds all the same"
        ) from None


def _primal_value(gram: np.ndarray, roots: np.ndarray, vectors: np.ndarray) -> float:
    """tr(G X^{-1}) for X = X(Q) scaled to a unit diagonal, which is a mechanism's value.

    X is N = (Q^{1/2} G Q^{1/2})^{1/2} over the roots of its diagonal: Q cancels.
    """
    roots = np.maximum(roots, ROOT_FLOOR * roots.max())
    scale = np.sqrt(np.einsum("st,t,st->s", vectors, roots, vectors))
    return float(np.sum(gram * ((vectors / roots) @ vectors.T) * np.outer(scale, scale)))


def _primal_encoder(roots: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """C lower triangular, so that noise streams, with C^T C = X: from K^T K = N by a QL decomposition."""
    from scipy.linalg import qr

    half = np.sqrt(np.maximum(roots, ROOT_FLOOR * roots.max()))[:, None] * vectors.T
    half /= np.linalg.norm(half, axis=0)
    encoder = np.asarray(qr(half[:, ::-1], mode="r")[0])[::-1, ::-1]
    return encoder * np.sign(np.diag(encoder))[:, None]


def _inverse(lower: np.ndarray) -> np.ndarray:
    """The inverse of a lower triangular matrix."""
    from scipy.linalg import solve_triangular

    return solve_triangular(lower, np.eye(len(lower)), lower=True)


class Anderson:
    """The iteration q <- q X_tt^STEP on log q, extrapolated from the last steps; a step that loses is taken back.

    In the least squares of the extrapolation steps count by their share of the norm: else the many that hardly matter
    decide, and a final loss takes three times as long.
    """

    def __init__(self, logs: np.ndarray) -> None:
        self.logs, self.best = logs, -np.inf
        self.places: list[np.ndarray] = []
        self.moves: list[np.ndarray] = []
        self.plain = logs

    @property
    def weights(self) -> np.ndarray:
        """q, of sum 1."""
        q = np.exp(self.logs - self.logs.max())
        return q / q.sum()

    def step(self, hat: np.ndarray, norm: float) -> None:
        """Move on from q with hat = diag (Q^{1/2} G Q^{1/2})^{1/2} = q X_tt, of sum `norm`."""
        if norm < self.best and self.moves:
            self.logs = self.plain
            self.places, self.moves = [], []
            return
        self.best = max(norm, self.best)
        move = np.log(np.maximum(hat / norm, np.exp(FAINTEST_LOG))) - np.log(self.weights)
        # Without extrapolation, one step that cannot lose.
        self.plain = np.maximum(self.logs + move, self.logs.max() + FAINTEST_LOG)
        self.places = [*self.places[-MEMORY:], self.logs]
        self.moves = [*self.moves[-MEMORY:], STEP * move]
        moves, places = np.array(self.moves), np.array(self.places)
        logs = self.logs + STEP * move
        if len(moves) > 1:
            differences, share = np.diff(moves, axis=0), np.sqrt(hat / norm)
            mixed = np.linalg.lstsq((differences * share).T, moves[-1] * share, rcond=1e-10)[0]
            logs = logs - np.clip((np.diff(places, axis=0) + differences).T @ mixed, -FARTHEST, FARTHEST)
        self.logs = np.clip(logs - logs.max(), FAINTEST_LOG, 0.0)
