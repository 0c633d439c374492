"""Sums X' clip(Y - X theta) of many trials at once, looking only at the records that may be clipped.

b - A theta is the sum without clipping. What clipping takes away comes from the records beyond their limit: record i
is within it for every theta with ||theta - theta*||_Q at most t_i = (c_i - |y_i - x_i'theta*|) / ||x_i||_{Q⁻¹}
(Cauchy-Schwarz), so that for most trials a few records or none need a look. Never an approximation.

>>> data = LeastSquares(regressors=np.ones((3, 1)), outcome=np.array([0.2, 0.4, 1.0]))
>>> sums, share = ClippedSums(problem=data, clip=0.5, clipping="entrywise").start(1)
>>> round(abs(float(sums[0, 0])), 3), round(float(share[0]), 3)
(1.1, 0.333)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import choice
from simulators.ols.records import LeastSquares

Clipping = Literal["entrywise", "norm"]
# Doubles in the largest array of residuals, (records looked at) x (trials in a block): 64 MiB.
MOST_NUMBERS = 1 << 23
# So much room is left that rounding cannot hide a clipped record.
_ROOM = 1e-9


@typed
@dataclass(frozen=True, kw_only=True)
class ClippedSums:
    """The sums for one data set with residuals clipped to C = `clip` (`entrywise`), or each record's gradient
    x_i (y_i - x_i'theta) to length C (`norm`: residuals to C / ||x_i||). In coordinates of the eigenvectors of A.
    """

    problem: LeastSquares
    clip: float
    clipping: Clipping

    def __post_init__(self) -> None:
        choice("clipping", self.clipping, get_args(Clipping))

    def start(self, trials: int) -> tuple[np.ndarray, np.ndarray]:
        """`at` theta = 0, looked at once for all trials."""
        sums, shares = self.at(np.zeros((1, self.problem.d)))
        return np.repeat(sums, trials, axis=0), np.repeat(shares, trials)

    def at(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The sums (trials, d) at estimates (trials, d), and the share of records clipped (trials,)."""
        problem, reference = self.problem, self._reference
        sums = self._cross - theta * problem.eigenvalues
        shares = np.zeros(len(theta))
        if np.isinf(self.clip):
            return sums, shares
        distance = np.sqrt(np.sum((theta - reference) ** 2 * self._metric, axis=1))
        distance = np.where(np.isfinite(distance), distance, np.inf)
        # The farthest first: every block then looks at the records that its first trial needs.
        trials = np.flatnonzero(distance * (1.0 + _ROOM) >= self._reach[0])
        trials = trials[np.argsort(-distance[trials], kind="stable")]
        while len(trials):
            records = int(np.searchsorted(self._reach, distance[trials[0]] * (1.0 + _ROOM), side="right"))
            size = max(1, MOST_NUMBERS // records)
            block, trials = trials[:size], trials[size:]
            excess, clipped = self._excess(theta[block], records)
            sums[block] -= excess
            shares[block] = clipped / problem.n
        return sums, shares

    def _excess(self, theta: np.ndarray, records: int) -> tuple[np.ndarray, np.ndarray]:
        """Sum of x_i (r_i - clip(r_i)) over the first `records` in order of reach, and how many are clipped."""
        X, Y, limits = (part[:records] for part in self._ordered)
        residuals = Y[:, None] - X @ theta.T
        beyond = residuals - np.clip(residuals, -limits[:, None], limits[:, None])
        return beyond.T @ X, np.count_nonzero(beyond, axis=0)

    @cached_property
    def _cross(self) -> np.ndarray:
        return self.problem.eigenvectors.T @ self.problem.cross

    @cached_property
    def _reference(self) -> np.ndarray:
        return self.problem.eigenvectors.T @ self.problem.theta_star

    @cached_property
    def _metric(self) -> np.ndarray:
        """Eigenvalues of Q = A + cI."""
        values = self.problem.eigenvalues
        return values + 1e-10 * values[-1] + 1e-300

    @cached_property
    def _ordered(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Records and their limits in order of reach, the nearest first."""
        rotated, order = self.problem.regressors @ self.problem.eigenvectors, self._order
        return rotated[order], self.problem.outcome[order], self._limits[order]

    @cached_property
    def _limits(self) -> np.ndarray:
        """c_i, what residual i is clipped to."""
        if self.clipping == "entrywise":
            return np.full(self.problem.n, self.clip)
        return self.clip / np.maximum(np.linalg.norm(self.problem.regressors, axis=1), 1e-300)

    @cached_property
    def _reaches(self) -> np.ndarray:
        """t_i, in the order of the records."""
        rotated = self.problem.regressors @ self.problem.eigenvectors
        room = self._limits - np.abs(self.problem.outcome - self.problem.regressors @ self.problem.theta_star)
        spread = np.sqrt(np.sum(rotated**2 / self._metric, axis=1))
        return np.where(room > 0, room / np.maximum(spread, 1e-300), 0.0)

    @cached_property
    def _order(self) -> np.ndarray:
        return np.argsort(self._reaches, kind="stable")

    @cached_property
    def _reach(self) -> np.ndarray:
        return self._reaches[self._order]
