"""The lower bound of `duality` proved in ball arithmetic, for runs of up to 256 steps.

With M = Q^{1/2} G Q^{1/2} in balls and any symmetric matrix Y: Y^2 <= M + e I, which an enclosure of the norm of
Y^2 - M shows, gives tr Y <= tr (M + e I)^{1/2} <= tr M^{1/2} + T e^{1/2}, since roots are operator monotone and
sqrt(x + e) <= sqrt(x) + sqrt(e). Neither q nor Y need be trusted: any q above 0 and any Y give a bound, good ones a
good one. The run is the one with exactly these floats as eigenvalues, learning rates and weights.

>>> bound = certified_bound(Objective(np.array([1.0]), 8, eta=0.5))
>>> bound.value.certified, bound.value.enclosure[0] == float(bound)
(True, True)
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError, real_array, vector
from dpbounds.ftrl.design.dense import dense_dual, singular_values
from dpbounds.ftrl.design.duality import LowerBound, spacing
from dpbounds.ftrl.design.objective import CONVENTION, Objective
from dpbounds.ftrl.design.participation import SINGLE, Participation
from dpbounds.ftrl.design.watching import Watch
from dpbounds.values import Value

# Steps that are certified, bits of the balls, and steps between two products of matrices in the Gram matrix.
LARGEST_STEPS, PRECISION, BLOCK = 256, 128, 16
# Sums of two roots below this share of the largest root are no use in Newton's method.
SMALLEST_ROOT = 1e-7


@typed
def certified_bound(
    objective: Objective,
    participation: Participation = SINGLE,
    *,
    tolerance: float = 1e-6,
    q: Float[np.ndarray, " T"] | None = None,
    guess: Float[np.ndarray, "T T"] | None = None,
    watch: Watch | None = None,
) -> LowerBound:
    """A float that no mechanism's value is below, proved: `value.certified` is true.

    For one participation at the best q that floats find within `tolerance`, or until `watch` ends the search, or at
    `q`, whatever its sum; `guess` is the Y to use in place of a good one (its lower triangle counts). For more
    participations at independent gradients in as many steps as can be, Q = I / `spacing`, which is weaker than
    `lower_bound`. Raises `DomainError` beyond 256 steps and with momentum, `AccuracyError` where q is so uneven, or Y
    so wrong, that nothing is shown.
    """
    T = participation.checked(objective.steps)
    if T > LARGEST_STEPS:
        raise DomainError("steps", T, f"at most {LARGEST_STEPS} for a certified bound", "set certify=False")
    if objective.momentum > 0:
        raise DomainError("momentum", objective.momentum, "0 for a certified bound", "set certify=False")
    iterations = 0
    if participation.times > 1:
        if q is not None:
            raise DomainError("q", q, "left out with more than one participation")
        q, copies = np.ones(T), spacing(participation, T)
    else:
        copies = None
        if q is None:
            found = dense_dual(objective.gram(), tolerance, watch=watch).bound
            q, iterations = found.dual, found.iterations
    root = np.sqrt(vector("q", q, above=0.0, length=T, per="step"))
    if guess is not None:
        guess = real_array("guess", guess)
        if guess.shape != (T, T):
            raise DomainError("guess", f"an array of shape {guess.shape}", f"of shape ({T}, {T})")
    low = _proved(objective, root, copies, guess)
    value = Value(low, kind="lower", source="dpbounds, duality in balls", convention=CONVENTION, enclosure=(low, low))
    return LowerBound(value=value, dual=root**2 / float(copies or np.sum(root**2)), iterations=iterations)


def _proved(objective: Objective, root: np.ndarray, copies: Fraction | None, guessed: np.ndarray | None) -> float:
    """A float below ||A Q^{1/2}||_*^2 with Q = diag root^2 over its trace, or over `copies`."""
    import flint

    # Y of floats is near the root of M; one step of Newton's method, added in balls, doubles its digits.
    singular, vectors = singular_values(objective.gram(), root**2)
    T, sums = len(root), np.maximum(np.add.outer(singular, singular), SMALLEST_ROOT * singular.max())
    with flint.ctx.workprec(PRECISION):
        r = [flint.arb(x) for x in root.tolist()]
        gram = gram_in_balls(objective)
        square = flint.arb_mat([[r[s] * gram[s, t] * r[t] for t in range(T)] for s in range(T)])
        guess = _symmetric((vectors * singular) @ vectors.T if guessed is None else guessed)
        if guessed is None:
            left = np.array([[float(x) for x in row] for row in (square - guess * guess).tolist()])
            guess += _symmetric(vectors @ ((vectors.T @ left @ vectors) / sums) @ vectors.T)
        error = _largest_row_sum(guess * guess - square)
        total = sum((guess[t, t] for t in range(T)), flint.arb(0)) - T * error.sqrt()
        scale = sum((x * x for x in r), flint.arb(0))
        if copies is not None:
            scale = flint.arb(flint.fmpq(copies.numerator, copies.denominator))
        bound = total * total / scale
        if not (total > 0 and bound.is_finite()):
            raise AccuracyError("certificate: the enclosure of the nuclear norm reaches 0; q is too uneven")
        return math.nextafter(float(bound.lower()), 0.0)


def _symmetric(matrix: np.ndarray) -> Any:
    """A matrix of floats as an `arb_mat`, symmetric to the last bit."""
    import flint

    if not np.isfinite(matrix).all():
        raise AccuracyError("certificate: the square root is not finite")
    return flint.arb_mat((np.tril(matrix) + np.tril(matrix, -1).T).tolist())


def _largest_row_sum(matrix: Any) -> Any:
    """The largest sum of moduli in a row: no eigenvalue of a symmetric matrix is larger."""
    import flint

    largest = flint.arb(0)
    for row in matrix.tolist():
        largest = largest.max(sum((abs(entry) for entry in row), flint.arb(0)))
    return largest


def gram_in_balls(objective: Objective) -> Any:
    """G as an `arb_mat` that holds it, for noiseless or sampled gradient descent: the recursions of `gram` in balls."""
    import flint

    with flint.ctx.workprec(PRECISION):
        return _recursions(objective)


def _recursions(objective: Objective) -> Any:
    import flint

    T = objective.steps
    different, copies = np.unique(objective.eigenvalues, return_counts=True)
    eigenvalues = [flint.arb(x) for x in different.tolist()]
    weights = [int(n) * x for n, x in zip(copies.tolist(), eigenvalues, strict=True)]
    rates = [flint.arb(x) for x in objective.learning_rates.tolist()]
    omega = _weights(objective)
    share = flint.arb(0) if objective.noise_share == 0 else 1 / flint.arb(objective.batch_size)
    d = len(eigenvalues)
    kept = [[1 - rate * x for x in eigenvalues] for rate in rates]
    # costs[t][j]: z_j(t) / lambda_j.
    costs, after = [], [flint.arb(0)] * d
    for t in range(T - 1, -1, -1):
        now = [omega[t] / 2 + cost for cost in after]
        costs.append(now)
        fed = (
            share * rates[t] ** 2 * sum((w * x * c for w, x, c in zip(weights, eigenvalues, now, strict=True)), start=0)
        )
        after = [
            (k * k + share * (rates[t] * x) ** 2) * cost + fed
            for k, x, cost in zip(kept[t], eigenvalues, now, strict=True)
        ]
    costs.reverse()
    gram = flint.arb_mat(T, T)
    # reach[s][j] = eta_s prod_{r=s+1}^{t} (1 - x_rj), brought on to t = t0 - 1 a block at a time.
    reach: list[list[Any]] = []
    for t0 in range(0, T, BLOCK):
        stop = min(t0 + BLOCK, T)
        across = [flint.arb(1)] * d
        ahead = []
        for t in range(t0, stop):
            across = [a * k for a, k in zip(across, kept[t], strict=True)]
            gain = [rates[t] * w * c for w, c in zip(weights, costs[t], strict=True)]
            ahead.append([a * g for a, g in zip(across, gain, strict=True)])
            inside = [[x * k for x, k in zip(row, kept[t], strict=True)] for row in reach[t0:t]] + [[rates[t]] * d]
            reach[t0:] = inside
            column = flint.arb_mat(inside) * flint.arb_mat([[g] for g in gain])
            for s in range(t0, t + 1):
                gram[s, t] = gram[t, s] = column[s - t0, 0]
        if t0:
            block = flint.arb_mat(reach[:t0]) * flint.arb_mat(ahead).transpose()
            for s in range(t0):
                for t in range(t0, stop):
                    gram[s, t] = gram[t, s] = block[s, t - t0]
            reach[:t0] = [[x * a for x, a in zip(row, across, strict=True)] for row in reach[:t0]]
    return gram


def _weights(objective: Objective) -> list[Any]:
    """omega in balls: named weights are fractions, not floats."""
    import flint

    if isinstance(objective.weights, str):
        last = np.count_nonzero(objective.omega)
        return [flint.arb(1) / int(last) if weight else flint.arb(0) for weight in objective.omega]
    return [flint.arb(weight) for weight in objective.omega.tolist()]
