"""AdaSSP (ols (13), Algorithm 6): leading-order risk and law, the data and the ridge fixed.

theta-hat = (A + ridge I + gram N)^-1 (b + moment zeta). The true mean of the risk is +inf for every A !=
0 and gram > 0 (the determinant has a positive density at 0): what is given here is the second-order expansion
in the noise, which means conditional on a regular matrix follow while gram ||N|| is below about 0.4 of the
least eigenvalue of A + ridge I (`LARGEST_NOISE`). Source: beyond the paper (ols, item 6).

>>> problem = Gram(A=40 * np.eye(2), b=10 * np.ones(2), y_squared=9.0, n=200)
>>> round(float(adassp(problem, ridge=2.0, gram=0.5, moment=0.3)), 6)
0.016576
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np
from scipy.optimize import brentq

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, moderate_or_zero, within
from dpbounds.gaussian_norm import norm_cdf
from dpbounds.ols.gram import Gram
from dpbounds.ols.risk.mixing import noise_levels
from dpbounds.ols.risk.released import NoiseLaw, averaged
from dpbounds.ols.spectrum import Spectrum
from dpbounds.values import Value

SOURCE = "ols Alg. 6, second order in the noise"
# Operator norm of the noise over the least eigenvalue of A + ridge I up to which the leading order is relied on: what
# is left out of the series of the inverse is a share 0.4² / (1 - 0.4), a quarter, at most.
LARGEST_NOISE = 0.4
# Ridges of less probability do not move a quantile.
_UNSEEN = 1e-12


@typed
def adassp(
    problem: Gram,
    *,
    ridge: float | NoiseLaw,
    gram: float,
    moment: float,
    iso: bool = False,
) -> Value:
    """Leading-order E risk; the sum ||X (theta - theta*)||². Not a bound: see the head of this module.

    B = A + ridge I, theta_r = B^-1 b, e = theta_r - theta*, G = B^-1 A B^-1: ||e||²_A + moment² tr G + gram² [theta_r'
    W(G) theta_r + 2 e' A B^-1 W(B^-1) theta_r], where E[N Q N] = W(Q) is tr(Q) I + Q - diag(Q) for N with N(0, 1) on
    and above the diagonal, and half of tr(Q) I + Q with `iso`: N(0, 1/2) off the diagonal. `ridge`: a number, or the
    law of the released ridge, over which the mean is taken. inf for a singular B.
    """
    release = _Release(problem.spectrum, ridge, gram, moment, iso)
    return averaged(lambda _: release.means(), ridge, kind="estimate", source=SOURCE, name="ridge")


@typed
def within_leading_order(problem: Gram, *, ridge: NoiseLaw, gram: float, iso: bool = False) -> bool:
    """Whether AdaSSP's noise is small enough against A and the mean ridge for `adassp` to be relied on.

    The operator norm of the noise is about 2 sqrt(d) times its scale `gram`, sqrt(2 d) times for `iso` noise.
    """
    size = moderate_or_zero("gram", gram) * math.sqrt(problem.d) * (math.sqrt(2) if iso else 2.0)
    return size <= LARGEST_NOISE * (float(problem.spectrum.eigenvalues[0]) + float(ridge.values @ ridge.weights))


@typed
def adassp_quantile(
    problem: Gram,
    *,
    ridge: float | NoiseLaw,
    gram: float,
    moment: float,
    probability: float = 0.5,
    iso: bool = False,
) -> Value:
    """Quantile of the risk were theta-hat Gaussian with its leading-order mean and covariance; mixed over a law of the
    ridge.

    Mean theta_r + gram² B^-1 W(B^-1) theta_r, covariance B^-1 (moment² I + gram² W(theta_r
    theta_r')) B^-1. Arguments as in `adassp`. Raises `DomainError` for a singular B.
    """
    if isinstance(ridge, NoiseLaw):
        ridge = ridge.checked("ridge")
        seen = ridge.weights > _UNSEEN
        ridge = NoiseLaw(ridge.values[seen], ridge.weights[seen] / ridge.weights[seen].sum())
    else:
        ridge = NoiseLaw(np.array([moderate_or_zero("ridge", ridge)]), np.ones(1))
    weights, release = ridge.weights, _Release(problem.spectrum, ridge, gram, moment, iso)
    if not release.regular.all():
        raise DomainError("ridge", 0.0, "above 0 for a singular A", "add noise")
    deviations, covariances = release.law()
    probability = within("probability", probability, "(0, 1)")

    def excess(radius: float) -> float:
        return float(weights @ norm_cdf(deviations, covariances, radius)) - probability

    high = float(np.sqrt((deviations**2).sum(axis=1) + np.trace(covariances, axis1=1, axis2=2)).max())
    if high == 0:
        return Value(0.0, kind="estimate", source=SOURCE)
    while excess(high) < 0:
        high *= 2
    low = high
    while low > 0 and excess(low) >= 0:
        low = low / 2 if low > 1e-12 * high else 0.0
    radius = cast(float, brentq(excess, low, high, xtol=1e-9 * low)) if low > 0 else 0.0
    return Value(radius**2, kind="estimate", source=SOURCE)


class _Release:
    """Leading-order moments of theta-hat for an array of ridges, shape (n,)."""

    def __init__(self, problem: Spectrum, ridge, gram: float, moment: float, iso: bool) -> None:
        ridges = np.atleast_1d(noise_levels(ridge.values if isinstance(ridge, NoiseLaw) else ridge))
        self.problem, self.shape = problem, ridges.shape
        self.iso = iso
        self.s1 = moderate_or_zero("gram", gram)
        self.s2 = moderate_or_zero("moment", moment)
        values = problem.ridge(ridges.ravel())
        self.regular = (values > 0).all(axis=1)
        self.inverse = 1 / np.where(values > 0, values, 1.0)  # of B, in the eigenbasis
        self.theta = problem.loads * self.inverse
        self.bias = self.theta - problem.theta

    def means(self) -> np.ndarray:
        """Second order in the noise scales; inf for a singular B."""
        eigenvalues = self.problem.eigenvalues
        G = eigenvalues * self.inverse**2
        moved = self.bias * eigenvalues * self.inverse  # B^-1 A e
        spread = self._form(G, self.theta, self.theta) + 2 * self._form(self.inverse, moved, self.theta)
        values = (eigenvalues * self.bias**2).sum(axis=1) + self.s2**2 * G.sum(axis=1) + self.s1**2 * spread
        return np.where(self.regular, values, np.inf).reshape(self.shape)

    def law(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean (n, d) and covariance (n, d, d) of A^(1/2) (theta-hat - theta*), in the eigenbasis."""
        d, basis, root = len(self.problem.loads), self.problem.basis, np.sqrt(self.problem.eigenvalues)
        theta = self.theta @ basis.T
        matrices = (theta**2).sum(axis=1)[:, None, None] * np.eye(d) + theta[:, :, None] * theta[:, None, :]
        if self.iso:
            matrices /= 2
        else:
            matrices[:, range(d), range(d)] -= theta**2
        matrices = self.s2**2 * np.eye(d) + self.s1**2 * (basis.T @ matrices @ basis)
        outer = root * self.inverse
        shift = self.s1**2 * self.inverse * self._applied(self.inverse, self.theta)
        return root * (self.bias + shift), outer[:, :, None] * matrices * outer[:, None, :]

    def _form(self, Q: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """left' W(Q) right for diagonal Q; all in the eigenbasis."""
        return (left * self._applied(Q, right)).sum(axis=1)

    def _applied(self, Q: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """W(Q) vector; diag(Q) is that of the coordinates in which the noise is drawn."""
        basis = self.problem.basis
        sums = Q.sum(axis=1, keepdims=True) * vector + Q * vector
        if self.iso:
            return sums / 2
        return sums - ((Q @ (basis**2).T) * (vector @ basis.T)) @ basis
