"""Two-stage least squares as an econometrician reads it: standard errors, and how strong the instruments are.

Of a data set as it is: columns are not centred here. `intercept` says that they were centred, which costs a degree of
freedom. A regressor that is among the instruments is a control: it is its own instrument.

>>> z, u = np.repeat([-1.0, 1.0], 50), np.tile([-1.0, 1.0], 50)
>>> found = two_stage_inference(z[:, None], (z + u)[:, None], 2 * (z + u) + u, intercept=True)
>>> round(float(found.estimate[0]), 6), round(float(found.homoskedastic[0]), 2)
(2.0, 0.1)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError
from dpbounds.iv.moments import Moments, finite_array

# First-stage statistics below this are called weak: 2SLS is then biased by a tenth of what least squares is, or more
# (Staiger and Stock 1997).
WEAK = 10.0
# A fit that leaves less than this share of a column is exact up to rounding.
_EXACT = 1e-10


class StandardErrors(NamedTuple):
    """2SLS, and its standard errors if the errors of y all have one variance, and if not (HC1)."""

    estimate: Float[np.ndarray, " p"]
    homoskedastic: Float[np.ndarray, " p"]
    robust: Float[np.ndarray, " p"]


@typed
def two_stage_inference(
    Z: Float[np.ndarray, "n q"], X: Float[np.ndarray, "n p"], Y: Float[np.ndarray, " n"], *, intercept: bool
) -> StandardErrors:
    """beta_hat and the roots of the diagonals of s² H^{-1} / n and H^{-1} [1/n sum u_i² x_i x_i'] H^{-1} / n.

    u = Y - X beta_hat, x_i = theta_hat' z_i, H = mean of x_i x_i'; s² = sum u_i² / f and a factor n / f in the second,
    f = n - p, less 1 with an `intercept`. Raises `DomainError` for data without a 2SLS estimate and for f < 1.
    """
    moments = Moments.of(Z, X, Y)
    Z, X, Y = finite_array("Z", Z, 2), finite_array("X", X, 2), finite_array("Y", Y, 1)
    n, p = X.shape
    free = n - p - int(intercept)
    if free < 1:
        raise DomainError("n", n, f"at least {p + int(intercept) + 1}", "no degree of freedom is left")
    inverse = np.linalg.inv(moments.hessian)
    residual, fitted = Y - X @ moments.beta_hat, Z @ moments.theta_hat
    middle = (fitted * residual[:, None] ** 2).T @ fitted / n
    homoskedastic = inverse * float(residual @ residual) / free / n
    robust = inverse @ middle @ inverse / free
    return StandardErrors(moments.beta_hat, np.sqrt(np.diag(homoskedastic)), np.sqrt(np.diag(robust)))


class Strength(NamedTuple):
    """`partial_F` of the excluded instruments in each first stage (p,), inf for controls; `cragg_donald`: the least
    eigenvalue that says the same of all regressors together (with one regressor that is no control, its F).
    """

    partial_F: Float[np.ndarray, " p"]
    cragg_donald: float


@typed
def instrument_strength(Z: Float[np.ndarray, "n q"], X: Float[np.ndarray, "n p"], *, intercept: bool) -> Strength:
    """First-stage F and the statistic of Cragg and Donald (1993) over the number of excluded instruments.

    With controls W among both, M_W their projection away, V the residuals of X on Z, and f = n - q (less 1 with an
    `intercept`): F_j = (X_j' M_W X_j - V_j'V_j) / k / (V_j'V_j / f) and the least eigenvalue of (V'V / f)^{-1/2}
    X'(P_Z - P_W)X (V'V / f)^{-1/2} / k, k the instruments that are no controls. Below `WEAK` they are called weak.
    Raises `DomainError` where no degree of freedom is left.
    """
    Z, X = finite_array("Z", Z, 2), finite_array("X", X, 2)
    free = len(Z) - Z.shape[1] - int(intercept)
    if free < 1:
        raise DomainError("n", len(Z), f"at least {Z.shape[1] + int(intercept) + 1}", "no degree of freedom is left")
    left = X - _projected(Z, X)
    own = np.sum(left**2, axis=0) <= _EXACT * np.sum(X**2, axis=0)
    controls, excluded = X[:, own], Z.shape[1] - int(own.sum())
    strength = np.full(X.shape[1], math.inf)
    if own.all() or excluded == 0:
        return Strength(strength, math.inf)
    part = X[:, ~own] - (_projected(controls, X[:, ~own]) if own.any() else 0.0)
    left = left[:, ~own]
    unexplained = left.T @ left / free
    explained = (part.T @ part - left.T @ left) / excluded
    strength[~own] = np.diag(explained) / np.diag(unexplained)
    root = np.linalg.cholesky(unexplained)
    half = np.linalg.solve(root, np.linalg.solve(root, explained).T)
    return Strength(strength, float(np.linalg.eigvalsh((half + half.T) / 2)[0]))


def _projected(onto: np.ndarray, columns: np.ndarray) -> np.ndarray:
    basis, _ = np.linalg.qr(onto)
    return basis @ (basis.T @ columns)
