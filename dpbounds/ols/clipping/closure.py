"""Sums of clipped residuals at an iterate whose law is normal, and the law of the next iterate.

Theta ~ N(m, S) makes the residual of row i normal, with mean u = y_i - x_i'm and variance s² = x_i'S x_i. Its clipped
mean and the chance that it is not clipped are closed; Cov(theta, sum) = -S J with J = sum p_i x_i x_i' is exact
(Stein). Only the covariance of the sum itself is linearised, J S J, and the next law taken to be normal: exact after
one step from a fixed start, and where nothing is clipped. Derived here.

>>> from dpbounds.arithmetic import FLOATS
>>> round(float(clipped_mean(FLOATS, 0.3, 0.2, 0.4)), 10), round(float(unclipped_share(FLOATS, 0.3, 0.2, 0.4)), 10)
(0.2604523847, 0.6912298322)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dpbounds.arguments import formula, typed
from dpbounds.arithmetic import FLOATS, Arithmetic
from dpbounds.ols.clipping.rows import Rows

# A residual without spread is given this one, in units of the outcomes' bound.
LEAST_SPREAD = 1e-12


@formula
def clipped_mean(m: Arithmetic, u: Any, s: Any, k: Any) -> Any:
    """E clip(u + s z, k), z standard normal, s > 0: u [P(a) - P(b)] - s [f(a) - f(b)] + k [1 - P(a) - P(b)] with
    a = (k - u)/s, b = (-k - u)/s, P and f the normal distribution and its density.
    """
    return _clipped(m, u, s, k)[0]


@formula
def unclipped_share(m: Arithmetic, u: Any, s: Any, k: Any) -> Any:
    """P(|u + s z| < k), the derivative of the clipped mean in u."""
    return m.ndtr((k - u) / s) - m.ndtr((-k - u) / s)


def _clipped(m: Arithmetic, u: Any, s: Any, k: Any) -> tuple[Any, Any]:
    """Clipped mean and unclipped share together: P, which is what takes time, only once at each end."""
    a, b = (k - u) / s, (-k - u) / s
    below, under = m.ndtr(a), m.ndtr(b)
    share = below - under
    return u * share - s * (_density(m, a) - _density(m, b)) + k * (1 - below - under), share


def _density(m: Arithmetic, x: Any) -> Any:
    return m.exp(-x * x / 2) / m.sqrt(2 * m.pi)


class Sums(NamedTuple):
    """Of the clipped rows: `mean` of sum x_i clip(r_i) (..., d), `slope` J (..., d, d), `clipped` the share of rows
    that are clipped (...); `chance` (..., d, d): what a standard normal vector, the chance of other records, adds to
    the sum, None where these records are meant.
    """

    mean: np.ndarray
    slope: np.ndarray
    clipped: np.ndarray
    chance: np.ndarray | None = None

    def pushed(self, gain: np.ndarray | float) -> np.ndarray | None:
        """`gain` (..., q, d), or a number, times `chance`."""
        if self.chance is None:
            return None
        return gain * self.chance if np.ndim(gain) == 0 else gain @ self.chance


class Normal:
    """The law of an iterate with leading axes of draws, of what moves with it, and of the sum of averaged iterates.

    `mean` (..., q) and `covariance` (..., q, q) over noise of the state, whose first d entries are theta; `moved` (...,
    q, d): what it is moved by the chance of other records, one standard normal vector in all steps.
    """

    def __init__(self, draws: tuple[int, ...], d: int, size: int | None = None) -> None:
        size = d if size is None else size
        self.d, self.count = d, 0
        self.mean, self.covariance = np.zeros((*draws, size)), np.zeros((*draws, size, size))
        self._total, self._cross = np.zeros((*draws, d)), np.zeros((*draws, size, d))
        self._spread = np.zeros((*draws, d, d))
        self.moved: np.ndarray | None = None
        self._moved = np.zeros((*draws, d, d))

    @property
    def theta(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of the last iterate, over noise and other records."""
        covariance = self.covariance[..., : self.d, : self.d]
        if self.moved is not None:
            covariance = covariance + _square(self.moved[..., : self.d, :])
        return self.mean[..., : self.d], covariance

    @property
    def averaged(self) -> tuple[np.ndarray, np.ndarray]:
        """Of the mean of the iterates that were added up; of the last where none was."""
        if not self.count:
            return self.theta
        return self._total / self.count, (self._spread + _square(self._moved)) / self.count**2

    def move(self, mean: np.ndarray, slope: np.ndarray, noise: np.ndarray, push: np.ndarray | None = None) -> None:
        """To a new mean, deviations multiplied by `slope` (..., q, q), with noise of covariance `noise`; `push` (...,
        q, d): by which the chance of other records moves the state.
        """
        if push is not None:
            self.moved = push if self.moved is None else slope @ self.moved + push
        self.mean = mean
        moved = slope @ self.covariance @ np.swapaxes(slope, -1, -2) + noise
        self.covariance = (moved + np.swapaxes(moved, -1, -2)) / 2
        if self.count:
            self._cross = slope @ self._cross

    def add(self) -> None:
        """This iterate to the average."""
        mean, covariance = self.mean[..., : self.d], self.covariance[..., : self.d, : self.d]
        if self.moved is not None:
            self._moved = self._moved + self.moved[..., : self.d, :]
        before = self._cross[..., : self.d, :]
        self._total = self._total + mean
        self._spread = self._spread + before + np.swapaxes(before, -1, -2) + covariance
        self._cross = self._cross + self.covariance[..., : self.d]
        self.count += 1


def _square(root: np.ndarray) -> np.ndarray:
    return root @ np.swapaxes(root, -1, -2)


class Residuals(NamedTuple):
    """Of all rows at the law of an iterate: means and standard deviations (..., n)."""

    mean: np.ndarray
    deviation: np.ndarray


@typed
def gradient_sums(rows: Rows, residuals: Residuals, clip: float | np.ndarray) -> Sums:
    """Each row's gradient clipped to length `clip` (...)."""
    found = sums(rows, residuals, np.asarray(clip)[..., None] / rows.lengths)
    if rows.missing is None:
        return found
    return found._replace(mean=found.mean + rows.missing.at(clip), chance=rows.missing.chance(clip))


@typed
def sums(rows: Rows, residuals: Residuals, limits: np.ndarray) -> Sums:
    """Residual i clipped to `limits` (..., n)."""
    psi, share = _clipped(FLOATS, *residuals, limits)
    weighted = rows.X.T * (rows.weight * share)[..., None, :]
    return Sums(mean=rows.weight * psi @ rows.X, slope=weighted @ rows.X, clipped=1 - share.mean(axis=-1))


@typed
def residuals_at(rows: Rows, law: Normal) -> Residuals:
    """The residuals at the law of the iterate."""
    mean, covariance = law.theta
    squares = np.einsum("...nd,nd->...n", rows.X @ covariance, rows.X)
    return Residuals(rows.y - mean @ rows.X.T, np.sqrt(np.maximum(squares, LEAST_SPREAD**2)))
