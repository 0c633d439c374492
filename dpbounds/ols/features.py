"""What the guarantees read off a data set: its least eigenvalues, what is left of the outcomes, the size of the fit.

>>> gram = Gram(A=np.diag([20.0, 500.0]), b=np.array([10.0, 100.0]), y_squared=100.0, n=2000)
>>> data = features(gram)
>>> data.lambda_min, data.residual, data.mean_residual
(20.0, 75.0, 0.0375)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, moderate_or_zero
from dpbounds.ols.gram import ROUNDING, Gram


@dataclass(frozen=True, kw_only=True)
class Features:
    """Of n records with d regressors: `lambda_min` is lambda^X, the least eigenvalue of X'X, `joint_lambda_min` is
    lambda^XY, that of (X, Y)'(X, Y), `residual` L(theta*), `signal` ||X theta*||², `theta_squared` ||theta*||².

    What a guarantee does not read may be left out. Raises `DomainError` for a lambda^XY that Proposition 3 excludes.
    """

    n: int = 1
    d: int = 1
    lambda_min: float = 0.0
    joint_lambda_min: float = 0.0
    residual: float = 0.0
    signal: float = 0.0
    theta_squared: float = 0.0

    def __post_init__(self) -> None:
        for name in ("n", "d"):
            object.__setattr__(self, name, count(name, getattr(self, name)))
        for name in ("lambda_min", "joint_lambda_min", "residual", "signal", "theta_squared"):
            object.__setattr__(self, name, moderate_or_zero(name, getattr(self, name)))
        most = self.residual / (1 + self.theta_squared)
        if self.joint_lambda_min > (1 + ROUNDING) * most:
            allowed = f"at most residual / (1 + theta_squared) = {most:.6g}"
            raise DomainError("joint_lambda_min", self.joint_lambda_min, allowed, "Proposition 3")

    @property
    def mean_residual(self) -> float:
        """L(theta*)/n."""
        return self.residual / self.n


@typed
def features(gram: Gram) -> Features:
    """Of a data set."""
    problem, corner = gram.spectrum, np.array([[gram.y_squared]])
    joint = np.block([[gram.A, gram.b[:, None]], [gram.b[None, :], corner]])
    theta_squared, residual = float(problem.theta @ problem.theta), max(gram.y_squared - gram.signal, 0.0)
    least = max(float(np.linalg.eigvalsh(joint)[0]), 0.0)
    return Features(
        n=gram.n,
        d=gram.d,
        lambda_min=float(problem.eigenvalues[0]),
        joint_lambda_min=min(least, residual / (1 + theta_squared)),  # Proposition 3; beyond it is rounding
        residual=residual,
        signal=gram.signal,
        theta_squared=theta_squared,
    )
