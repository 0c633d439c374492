"""What the algorithms are held against: their steps with 40 digits, from the simulators' own random numbers."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np

from simulators.ols import (
    LeastSquares,
)
from verify.papers.ols.tools.draws import least_eigenvalue, matrix, vector

DIGITS = 40
STEP_TESTS = (
    "Two or three trials on 8 to 12 records, $d = 3$; every draw of the simulator is kept and the steps are done again "
    "with 40 digits."
)


def noise_variance(gram: Any, bound: Any, gamma: Any, tau: Any, scale: Any, z: Any) -> Any:
    """Algorithm 2: the square of what it returns."""
    released = max(least_eigenvalue(gram) - scale * bound**2 * (tau - z), mpmath.mpf(0))
    return max(gamma * bound**2 - released, mpmath.mpf(0))


def clip_limits(problem: LeastSquares, clip: float, clipping: str) -> list[Any]:
    """What each residual is clipped to."""
    rows = [[mpmath.mpf(value) for value in row] for row in problem.regressors.tolist()]
    norms = [mpmath.sqrt(sum(value**2 for value in row)) for row in rows]
    return [clip / (norm if clipping == "norm" else 1) for norm in norms]


def mixing_solution(problem: LeastSquares, S: np.ndarray, xi: np.ndarray, eta: Any) -> np.ndarray:
    """(X~'X~)⁻¹ X~'Y~ for given draws."""
    joint = matrix(np.column_stack([problem.regressors, problem.outcome]))
    sketched = matrix(S) * joint + eta * matrix(xi)
    d = problem.d
    return vector(mpmath.lu_solve((sketched.T * sketched)[:d, :d], (sketched.T * sketched)[:d, d]))
