"""A small conic program, minimise c x where b - A x is in a product of cones, by Clarabel in unknowns that suit it.

The unknowns are R x for A = Q R with orthonormal columns of Q. Clarabel scales the rows and the columns of A, but at
small steps columns are nearly dependent, and then it does not find a first point.

>>> A, b = np.array([[-1.0, -1.0], [0.0, -1.0]]), np.array([-2.0, 0.0])  # x + y >= 2, y >= 0
>>> Conic(A, b, np.array([1.0, 1.5]), equations=0, bounds=2, triangles=()).least("x and y").round(6).tolist()
[2.0, 0.0]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, solve_triangular

from dpbounds.errors import AccuracyError

# Accuracies asked of the solver, of which the first that it reaches is taken.
TOLERANCES = (1e-11, 1e-9, 1e-8)
# Unknowns up to which a dense Q costs little; for more, A is tried first as it is.
MOST_DENSE = 150


class Infeasible(AccuracyError):
    """The solver says that there is no such point."""


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

    def least(self, otherwise: str, *, inaccurate: bool = False) -> np.ndarray:
        """Its solution. `inaccurate` takes what the solver ends with where it reaches none of its accuracies.

        Raises `Infeasible` with the reason `otherwise` where the solver says that there is none, `AccuracyError` where
        it finds none.
        """
        first, second = self._orthonormal, self._as_it_is
        if len(self.cost) > MOST_DENSE:
            first, second = second, first
        try:
            return first(otherwise, inaccurate=False)
        except Infeasible:
            raise
        except AccuracyError:
            return second(otherwise, inaccurate=inaccurate)

    def _as_it_is(self, otherwise: str, *, inaccurate: bool) -> np.ndarray:
        return self._solved(self.A, self.cost, otherwise, inaccurate=inaccurate, equilibrate=True)

    def _orthonormal(self, otherwise: str, *, inaccurate: bool) -> np.ndarray:
        sizes = np.linalg.norm(self.A, axis=0)
        Q, R = np.linalg.qr(self.A / sizes)
        try:
            cost = solve_triangular(R, self.cost / sizes, trans=1)
        except LinAlgError:
            raise _unsolved("dependent unknowns") from None
        return solve_triangular(R, self._solved(Q, cost, otherwise, inaccurate=inaccurate, equilibrate=False)) / sizes

    def _solved(
        self, A: np.ndarray, cost: np.ndarray, otherwise: str, *, inaccurate: bool, equilibrate: bool
    ) -> np.ndarray:
        import clarabel as solvers
        from scipy.sparse import csc_matrix

        clarabel: Any = solvers  # a compiled module without types
        cones = [clarabel.ZeroConeT(self.equations)] if self.equations else []
        cones += [clarabel.NonnegativeConeT(self.bounds)] if self.bounds else []
        cones += [clarabel.PSDTriangleConeT(size) for size in self.triangles]
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads, settings.equilibrate_enable = False, 1, equilibrate
        columns, nothing = csc_matrix(A), csc_matrix((len(cost), len(cost)))
        status = "no answer"
        for tolerance in TOLERANCES:
            settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
            solver = clarabel.DefaultSolver(nothing, cost / np.abs(cost).max(), columns, self.b, cones, settings)
            answer = solver.solve()
            status = str(answer.status)
            if status == "PrimalInfeasible":
                raise Infeasible(otherwise)
            if status == "Solved":
                return np.array(answer.x)
        if inaccurate and status == "AlmostSolved":
            return np.array(answer.x)
        raise _unsolved(status)


def _unsolved(status: str) -> AccuracyError:
    return AccuracyError(
        f"storage program: the solver reached none of its accuracies, it ended with {status}; floats may have too few "
        "digits for such small steps or such a condition number, and whether there is a bound is open: take larger "
        "steps or another memory"
    )
