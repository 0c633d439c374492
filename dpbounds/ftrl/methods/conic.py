"""A small conic program, minimise c x where b - A x is in a product of cones, by Clarabel in unknowns that suit it.

The unknowns are R x for A = Q R with orthonormal columns of Q. Clarabel scales the rows and the columns of A, but at
small steps columns are nearly dependent, and then it does not find a first point.

>>> A, b = np.array([[-1.0, -1.0], [0.0, -1.0]]), np.array([-2.0, 0.0])  # x + y >= 2, y >= 0
>>> Conic(A, b, np.array([1.0, 1.5]), equations=0, bounds=2, triangles=()).least("x and y").x.round(6).tolist()
[2.0, 0.0]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, solve_triangular

from dpbounds.errors import AccuracyError

# Accuracy asked of the solver at first, and iterations; what it ends with is judged by `Solution.error`.
TOLERANCE, ITERATIONS = 1e-11, 100
# Unknowns up to which a dense Q costs little; for more, A is tried first as it is.
MOST_DENSE = 150
_POINTS = ("Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations")


class Infeasible(AccuracyError):
    """The solver says that there is no such point."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A point `x`, prices `dual` of the rows, and the `error` of the objective, relative to it.

    What is left of equations costs its price, and what is left of those of the prices costs its unknown: to first order
    the objective is off by no more than these sums and the gap. A solver's own accuracies say less: they are relative
    to sizes of x and of the prices, which may be millions.
    """

    x: np.ndarray
    dual: np.ndarray
    error: float


@dataclass(frozen=True, eq=False)
class Conic:
    """The program: rows of A are `equations`, then `bounds` at least 0, then upper triangles of positive semidefinite
    matrices of the sizes `triangles`; `cost` is c.
    """

    A: np.ndarray
    b: np.ndarray
    cost: np.ndarray
    equations: int
    bounds: int
    triangles: tuple[int, ...]

    def least(self, otherwise: str, tolerance: float = TOLERANCE) -> Solution:
        """What the solver ends with, however inaccurate, `tolerance` being asked of it.

        Raises `Infeasible` with the reason `otherwise` where the solver says that there is none, `AccuracyError` where
        it ends with no point.
        """
        first, second = self._orthonormal, self._as_it_is
        if len(self.cost) > MOST_DENSE:
            first, second = second, first
        try:
            return first(otherwise, tolerance)
        except Infeasible:
            raise
        except AccuracyError:
            return second(otherwise, tolerance)

    def _as_it_is(self, otherwise: str, tolerance: float) -> Solution:
        return self._solved(self.A, self.cost, otherwise, tolerance, equilibrate=True)

    def _orthonormal(self, otherwise: str, tolerance: float) -> Solution:
        sizes = np.linalg.norm(self.A, axis=0)
        Q, R = np.linalg.qr(self.A / sizes)
        try:
            cost = solve_triangular(R, self.cost / sizes, trans=1)
        except LinAlgError:
            raise unsolved("dependent unknowns") from None
        found = self._solved(Q, cost, otherwise, tolerance, equilibrate=False)
        return replace(found, x=solve_triangular(R, found.x) / sizes)

    def _solved(
        self, A: np.ndarray, cost: np.ndarray, otherwise: str, tolerance: float, *, equilibrate: bool
    ) -> Solution:
        import clarabel as solvers
        from scipy.sparse import csc_matrix

        clarabel: Any = solvers  # a compiled module without types
        cones = [clarabel.ZeroConeT(self.equations)] if self.equations else []
        cones += [clarabel.NonnegativeConeT(self.bounds)] if self.bounds else []
        cones += [clarabel.PSDTriangleConeT(size) for size in self.triangles]
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads, settings.equilibrate_enable = False, 1, equilibrate
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        settings.max_iter = ITERATIONS
        columns, nothing, unit = csc_matrix(A), csc_matrix((len(cost), len(cost))), np.abs(cost).max()
        answer = clarabel.DefaultSolver(nothing, cost / unit, columns, self.b, cones, settings).solve()
        status = str(answer.status)
        if status == "PrimalInfeasible":
            raise Infeasible(otherwise)
        x, slack, dual = np.array(answer.x), np.array(answer.s), np.array(answer.z) * unit
        if status not in _POINTS or not np.isfinite([x.sum(), slack.sum(), dual.sum()]).all():
            raise unsolved(status)
        objective = float(cost @ x)
        off = np.abs(dual) @ np.abs(A @ x + slack - self.b) + np.abs(x) @ np.abs(A.T @ dual + cost)
        off += abs(objective + float(self.b @ dual))
        return Solution(x, dual, float(off) / max(abs(objective), np.finfo(float).tiny))


def unsolved(status: str) -> AccuracyError:
    """The refusal of a program of which no solution is known well enough."""
    return AccuracyError(
        f"storage program: the solver does not reach the accuracy it needs, it ended with {status}; floats may have "
        "too few digits for such small steps or such a condition number, and whether there is a bound is open: take "
        "larger steps or another memory"
    )
