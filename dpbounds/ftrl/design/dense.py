"""The best q for one participation with dense matrices, and the best mechanism from it.

>>> found = dense_dual(np.array([[2.0, 1.0], [1.0, 2.0]]), tolerance=1e-9)
>>> round(float(found.bound), 6), found.dual.round(6).tolist()
(3.732051, [0.5, 0.5])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from dpbounds.errors import AccuracyError
from dpbounds.ftrl.correlations import MatrixCorrelation
from dpbounds.ftrl.design.acceleration import Anderson
from dpbounds.ftrl.design.duality import ROUNDING, LowerBound, Optimum, cholesky
from dpbounds.ftrl.design.objective import CONVENTION, Objective
from dpbounds.ftrl.design.watching import Watch
from dpbounds.values import Value

# Most steps that are taken, and singular values that the primal raises to, as shares of the largest.
MOST_STEPS, ROOT_FLOOR = 150, 1e-15
# A search ends after PATIENCE steps none of which gained this share of the tolerance.
STALE, PATIENCE = 0.01, 10

# Singular values of A Q^{1/2} and eigenvectors of Q^{1/2} G Q^{1/2} from G and q.
Decomposition = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, kw_only=True, eq=False)
class DenseDual:
    """The best q that was found, the bound it gives, and a mechanism as near to it as `gap` says, if one was found.

    The gap is to that mechanism's value or, where floats cannot find one so near, to what no q exceeds: f is concave
    and positively homogeneous of degree 1/2, so f(q') <= (f(q) + max_t X_tt(q)) / 2.
    """

    bound: LowerBound
    encoder: Float[np.ndarray, "T T"] | None = field(repr=False)

    @property
    def dual(self) -> Float[np.ndarray, " T"]:
        """q, of sum 1."""
        return self.bound.dual

    @property
    def gap(self) -> float:
        """Relative."""
        return self.bound.gap


def singular_values(gram: Float[np.ndarray, "T T"], q: Float[np.ndarray, " T"]) -> tuple[np.ndarray, np.ndarray]:
    """Singular values of A Q^{1/2} for Q = diag q, and eigenvectors of Q^{1/2} G Q^{1/2}.

    Eigenvalues are lowered by what they may be off, and cut off at 0: the sum of their roots is to be a lower bound.
    """
    root = np.sqrt(q)
    eigenvalues, vectors = np.linalg.eigh(gram * np.outer(root, root))
    return np.sqrt(np.maximum(eigenvalues - ROUNDING * eigenvalues[-1], 0.0)), vectors


def graded_singular_values(gram: Float[np.ndarray, "T T"], q: Float[np.ndarray, " T"]) -> tuple[np.ndarray, np.ndarray]:
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


def dense_dual(
    gram: Float[np.ndarray, "T T"],
    tolerance: float,
    *,
    decompose: Decomposition = singular_values,
    start: Float[np.ndarray, " T"] | None = None,
    watch: Watch | None = None,
) -> DenseDual:
    """The best q for the Gram matrix G, until the relative gap is below `tolerance` or nothing more is gained.

    A lower bound at every step, so that stopping early leaves a valid one; `start` is where q starts, 1/T by default;
    `watch` says when to end before.
    """
    steps = Anderson.uniform(len(gram)) if start is None else Anderson.at(start)
    best, upper, gained, iteration = 0.0, np.inf, 0, 0
    encoder, dual = None, steps.weights
    for iteration in range(1, MOST_STEPS + 1):
        q = steps.weights
        roots, vectors = decompose(gram, q)
        norm = float(roots.sum())
        if norm**2 > best * (1.0 + STALE * tolerance):
            gained = iteration
        if norm**2 > best:
            best, dual = norm**2, q
        hat = np.einsum("st,t,st->s", vectors, roots, vectors)
        value = _primal_value(gram, roots, vectors)
        upper = min(upper, value, float(np.max(hat / q) + norm) ** 2 / 4.0)
        if value <= (1.0 + tolerance) * best:
            encoder = _primal_encoder(roots, vectors)
        if upper <= (1.0 + tolerance) * best and (encoder is not None or decompose is singular_values):
            break
        if iteration - gained > PATIENCE or (watch is not None and watch(iteration, MOST_STEPS)):
            break
        steps.step(hat, norm)
    value = Value(best, kind="lower", source="dpbounds, duality", convention=CONVENTION)
    bound = LowerBound(value=value, dual=dual, iterations=iteration, gap=upper / best - 1.0)
    return DenseDual(bound=bound, encoder=encoder)


def dense_optimum(objective: Objective, tolerance: float) -> Optimum:
    """The best mechanism for one participation, as a dense matrix; `AccuracyError` if the gap is not reached."""
    gram, T = objective.gram(), objective.steps
    found = dense_dual(gram, tolerance)
    if found.encoder is None:
        found = dense_dual(gram, tolerance, decompose=graded_singular_values, start=found.dual)
    if found.encoder is None:
        raise AccuracyError(f"optimum: after {found.bound.iterations} steps the relative gap is {found.gap:.1e}")
    mechanism = MatrixCorrelation(f"optimum (T={T})", T, _inverse(found.encoder), found.encoder)
    value = objective.value(mechanism)
    return Optimum(mechanism=mechanism, value=value, bound=found.bound, gap=float(value) / float(found.bound) - 1.0)


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
