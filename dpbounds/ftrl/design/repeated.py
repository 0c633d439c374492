"""Lower bounds for k participations, and the best mechanism for cyclic ones.

Steps are written o + i b with offset o < b and epoch i < k. The patterns o, o + b, ... are allowed both if
participation is cyclic and if it has separation b, so Q may be any mixture of them: on offset o the k x k block q_o
R_o, R_o a correlation matrix. One R for all offsets, then one for each, by L-BFGS on their factors; each point on the
way is a valid bound.

>>> run = Objective(np.array([1.0]), 8, eta=0.5)
>>> twice, once = repeated_bound(run, Participation.cyclic(2, 4)), repeated_bound(run, Participation.cyclic(1, 8))
>>> float(twice) > float(once)
True
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError
from dpbounds.ftrl.correlations import MatrixCorrelation
from dpbounds.ftrl.design.dense import singular_values
from dpbounds.ftrl.design.duality import (
    LARGEST_DENSE,
    ROUNDING,
    LowerBound,
    Optimum,
    cholesky,
    refuse_degenerate,
    spacing,
)
from dpbounds.ftrl.design.objective import CONVENTION, Objective
from dpbounds.ftrl.design.participation import Participation
from dpbounds.ftrl.design.smoother import streamed_bound
from dpbounds.ftrl.design.watching import TimeIsUp, Watch
from dpbounds.values import Value

# Steps up to which every offset gets an R of its own, and evaluations of the norm.
LARGEST_SEPARATE, COMMON_EVALUATIONS, SEPARATE_EVALUATIONS = 512, 40, 80
# Eigenvalues below this share of the largest do not push R; their roots count all the same.
PUSHING = 1e-13
# Relative gain at which the search for the optimum itself ends, times 100.
FINEST = 1e-10


@dataclass(eq=False)
class Blocks:
    """The nuclear norm ||A F||_*, F F^T = Q, as a function of factors W_o (rows of length 1, R_o = W_o W_o^T) and
    weights q_o of sum 1. Raises `TimeIsUp` where the `watch` says so.
    """

    gram: np.ndarray
    times: int
    separation: int
    evaluations: int = 0
    best: float = 0.0
    best_factor: np.ndarray = field(default_factory=lambda: np.zeros(0))
    watch: Watch | None = None

    def factor(self, rows: np.ndarray, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """F of shape (T, k b) from (b, k, k) and (b,), with the normalised rows and the weights."""
        k, b = self.times, self.separation
        unit = rows / np.linalg.norm(rows, axis=2, keepdims=True)
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        whole = np.zeros((k, b, k, b))
        whole[:, np.arange(b), :, np.arange(b)] = np.sqrt(weights)[:, None, None] * unit
        return whole.reshape(k * b, k * b)[: len(self.gram)], unit, weights

    def norm(self, rows: np.ndarray, logs: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """||A F||_* and its derivatives by the rows and by the logarithms of the weights."""
        k, b, T = self.times, self.separation, len(self.gram)
        factor, unit, weights = self.factor(rows, logs)
        pushed = self.gram @ factor
        eigenvalues, vectors = np.linalg.eigh(factor.T @ pushed)
        roots = np.sqrt(np.maximum(eigenvalues - ROUNDING * eigenvalues[-1], 0.0))
        norm = float(roots.sum())
        self.evaluations += 1
        if norm > self.best:
            self.best, self.best_factor = norm, factor
        if self.watch is not None and self.watch(self.evaluations, COMMON_EVALUATIONS + SEPARATE_EVALUATIONS):
            raise TimeIsUp
        inverse = np.where(eigenvalues > PUSHING * eigenvalues[-1], 1.0 / np.maximum(roots, 1e-300), 0.0)
        slope = np.zeros((k * b, k * b))
        slope[:T] = pushed @ ((vectors * inverse) @ vectors.T)
        pulled = slope.reshape(k, b, k, b)[:, np.arange(b), :, np.arange(b)] * np.sqrt(weights)[:, None, None]
        by_weight = 0.5 * np.sum(pulled * unit, axis=(1, 2))
        lengths = np.linalg.norm(rows, axis=2, keepdims=True)
        by_rows = (pulled - np.sum(pulled * unit, axis=2, keepdims=True) * unit) / lengths
        return norm, by_rows, by_weight - weights * by_weight.sum()


@typed
def repeated_bound(
    objective: Objective, participation: Participation, *, tolerance: float = 1e-6, watch: Watch | None = None
) -> LowerBound:
    """The lower bound for more than one participation.

    Dense with one R for all offsets up to 2048 steps, with an R for each up to 512; beyond, R = I in O(T). With
    separation b alone, steps ceil(T / k) >= b apart fill the run; and Q = I / `spacing`, which is better where b hardly
    divides the run.
    """
    T = participation.checked(objective.steps)
    k = participation.times
    b = participation.separation if participation.kind == "cyclic" else max(participation.separation, -(-T // k))
    if T > LARGEST_DENSE:
        return streamed_bound(objective, q=np.full(T, 1.0 / float(spacing(participation, T))), tolerance=tolerance)
    gram = objective.gram()
    found = _bound(_searched(gram, k, b, tolerance, watch))
    # Where b does not divide the run, more steps can be used at once than by cyclic patterns.
    even = np.full(T, 1.0 / float(spacing(participation, T)))
    square = float(singular_values(gram, even)[0].sum()) ** 2
    if square <= float(found):
        return found
    value = Value(square, kind="lower", source="dpbounds, duality at independent gradients", convention=CONVENTION)
    return LowerBound(value=value, dual=even, iterations=found.iterations + 1)


def _bound(blocks: Blocks) -> LowerBound:
    value = Value(blocks.best**2, kind="lower", source="dpbounds, duality over cyclic patterns", convention=CONVENTION)
    return LowerBound(value=value, dual=np.sum(blocks.best_factor**2, axis=1), iterations=blocks.evaluations)


def _searched(gram: np.ndarray, k: int, b: int, tolerance: float, watch: Watch | None = None) -> Blocks:
    blocks = Blocks(gram, k, b, watch=watch)
    with suppress(TimeIsUp):
        _search(blocks, tolerance)
    return blocks


def _search(blocks: Blocks, tolerance: float) -> None:
    """Evaluations of the norm; the blocks keep the best."""
    from scipy.optimize import minimize

    gram, k, b = blocks.gram, blocks.times, blocks.separation
    logs = np.zeros(b)

    def common(flat: np.ndarray) -> tuple[float, np.ndarray]:
        norm, by_rows, _ = blocks.norm(np.broadcast_to(flat.reshape(k, k), (b, k, k)), logs)
        return -norm, -by_rows.sum(axis=0).ravel()

    def separate(flat: np.ndarray) -> tuple[float, np.ndarray]:
        norm, by_rows, by_logs = blocks.norm(flat[b:].reshape(b, k, k), flat[:b])
        return -norm, -np.concatenate([by_logs, by_rows.ravel()])

    options = {"ftol": 0.01 * tolerance, "gtol": 0.0}
    # From R = I every direction is open; a full factor reaches every R.
    found = minimize(
        common, np.eye(k).ravel(), jac=True, method="L-BFGS-B", options={**options, "maxfun": COMMON_EVALUATIONS}
    )
    if len(gram) <= LARGEST_SEPARATE:
        start = np.concatenate([logs, np.tile(found.x, b)])
        minimize(separate, start, jac=True, method="L-BFGS-B", options={**options, "maxfun": SEPARATE_EVALUATIONS})


@typed
def repeated_optimum(objective: Objective, participation: Participation, *, tolerance: float = 1e-5) -> Optimum:
    """The best mechanism for cyclic participation, from X(Q) = Q^{-1/2} (Q^{1/2} G Q^{1/2})^{1/2} Q^{-1/2}.

    Raises `DomainError` beyond 512 steps and unless cyclic, `AccuracyError` where its value is further from the bound
    than `tolerance`: 0.002 is usual.
    """
    T = participation.checked(objective.steps)
    if participation.kind != "cyclic":
        raise DomainError("participation", participation.kind, "single or cyclic", "lower_bound has no such limit")
    if T > LARGEST_SEPARATE:
        raise DomainError("steps", T, f"at most {LARGEST_SEPARATE} for the cyclic optimum")
    refuse_degenerate(objective)
    gram = objective.gram()
    blocks = _searched(gram, participation.times, participation.separation, FINEST)
    bound = _bound(blocks)
    encoder = _encoder(gram, blocks.best_factor)
    decoder = np.linalg.inv(encoder)
    mechanism = MatrixCorrelation(f"cyclic optimum (T={T})", T, decoder, encoder)
    reached = objective.value(mechanism, participation)
    gap = float(reached) / float(bound) - 1.0
    if not gap <= tolerance:
        raise AccuracyError(f"cyclic optimum: the relative gap is {gap:.1e} after {blocks.evaluations} evaluations")
    return Optimum(mechanism=mechanism, value=reached, bound=bound, gap=gap)


def _encoder(gram: np.ndarray, factor: Float[np.ndarray, "T n"]) -> np.ndarray:
    """C, lower triangular, with C^T C = X(Q): X = L (L^T Q L)^{-1/2} L^T for G = L L^T."""
    lower = cholesky(gram)
    eigenvalues, vectors = np.linalg.eigh(lower.T @ factor @ factor.T @ lower)
    half = (lower @ vectors) / np.maximum(eigenvalues, PUSHING * eigenvalues[-1]) ** 0.25
    # half half^T = X; QL decomposition of half^T = O C.
    encoder = np.asarray(np.linalg.qr(half.T[:, ::-1], mode="r"))[::-1, ::-1]
    return encoder * np.sign(np.diag(encoder))[:, None]
