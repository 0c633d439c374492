"""How small the value of any mechanism can be: duality over expected participation patterns.

For every Q = E R_pi over patterns pi, with R correlation matrices on their steps, and G = A^T A,

    s(C)^2 tr(G (C^T C)^{-1}) >= ||A Q^{1/2}||_*^2 = (tr (Q^{1/2} G Q^{1/2})^{1/2})^2,

because ||A Q^{1/2}||_* <= ||A C^{-1}||_F ||C Q^{1/2}||_F and tr(Q C^T C) <= s(C)^2. The norm f is concave in Q, with
gradient X(Q) / 2, X(Q) = Q^{-1/2} (Q^{1/2} G Q^{1/2})^{1/2} Q^{-1/2}; at the best Q, X(Q) is the C^T C of the best
mechanism up to scale. One participation: Q = diag q, sum q = 1. What is common to all ways of finding Q stands here.

>>> spacing(Participation.min_separation(2, 2), 5)  # 2 of 5 steps: one in 5/2, not one in 2
Fraction(5, 2)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError
from dpbounds.ftrl.correlations import MatrixCorrelation
from dpbounds.ftrl.design.objective import Objective
from dpbounds.ftrl.design.participation import Participation
from dpbounds.values import Value

# Steps up to which the bound is computed with dense matrices at all.
LARGEST_DENSE = 2048
# Errors of eigenvalues, as a share of the largest.
ROUNDING = 4.0 * np.finfo(float).eps


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
def spacing(participation: Participation, steps: int) -> Fraction:
    """The least c for which Q = I / c is a mixture of patterns with independent gradients.

    Cyclic: the b patterns o, o + b, ... with equal weights use every step with probability 1 / b, so c = b.
    Separation b, k times at most: c = max(b, T / k). The steps floor(U + i c), i = 0, 1, ..., with U uniform on [0, c)
    that are below T are T / c <= k rounded up, so at most k; two neighbours are at least floor(c) >= b apart; and step
    t is among them iff some U + i c lies in [t, t + 1), which has probability 1 / c. No smaller c will do: the
    probabilities of all T steps sum to the mean number of uses, at most k, and those of b neighbouring steps to at
    most 1. Raises `DomainError` for patterns that T steps do not hold.
    """
    T, b = participation.checked(steps), Fraction(participation.separation)
    if participation.times == 1:
        return Fraction(T)
    return b if participation.kind == "cyclic" else max(b, Fraction(T, participation.times))


@typed
def refuse_degenerate(objective: Objective) -> None:
    """Raise `DomainError` where G has not full rank: then the least value is not attained.

    Without gradient noise its rank is at most (eigenvalues) x (weighted iterates), twice that with momentum.
    """
    weighted = np.count_nonzero(objective.omega) * objective.chains.drive.shape[2]
    if objective.noise_share == 0 and weighted * len(objective.eigenvalues) < objective.steps:
        raise DomainError(
            "weights",
            objective.weights,
            "on more iterates without gradient noise: the least value is approached by noise without bound in between",
            "give batch_size, or weights such as 0.99 final and 0.01 mean; lower_bound holds all the same",
        )


def cholesky(matrix: Float[np.ndarray, "T T"]) -> Float[np.ndarray, "T T"]:
    """The Cholesky factor; `AccuracyError` where rounding hides that the matrix has full rank."""
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise AccuracyError(
            "optimum: the Gram matrix is singular to rounding, and the least value is not attained within floats; "
            "lower_bound holds all the same"
        ) from None
