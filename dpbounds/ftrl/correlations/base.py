"""What every noise correlation can say of itself.

The noise added in T steps is B w, w with independent rows of variance noise_multiplier^2 clip_norm^2; privacy is that
of the Gaussian mechanism C G + w on the gradients G, with B C = I (ftrl eq. (11)).

>>> from dpbounds.ftrl.correlations import anti_pgd
>>> (anti_pgd().matrix(3) @ anti_pgd().encoder(3)).tolist()
[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
>>> anti_pgd().sensitivity(4), anti_pgd().prefix_error(4)
(2.0, 4.0)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from dpbounds.arithmetic import FLOATS, Arithmetic
from dpbounds.circle.quadrature import even_integral
from dpbounds.errors import AccuracyError, DomainError, count, real_array, vector
from dpbounds.values import Value

# Steps of which a dense matrix (0.8 GB), or all weights, can be held; entries of an elementwise function at a time.
LARGEST_MATRIX, LARGEST_HORIZON, PART = 10_000, 10_000_000, 1_000


class Correlation(ABC):
    """A decoder B and an encoder C with B C = I, for every horizon T it admits."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What tables and plots call it."""

    @abstractmethod
    def matrix(self, T: int) -> Float[np.ndarray, "T draws"]:
        """The decoder B: row t holds the weights of the draws in the noise of step t."""

    @abstractmethod
    def encoder(self, T: int) -> Float[np.ndarray, "draws T"]:
        """The encoder C, whose columns are what one gradient adds to the released rows."""

    def sensitivity(self, T: int) -> float:
        """gamma_T = max_t ||C e_t||_2, in clip norms under zero-out adjacency: ftrl Thm 1.1."""
        return float(np.linalg.norm(self.encoder(T), axis=0).max())

    def prefix_error(self, T: int) -> float:
        """phi = ||A B||_F^2, ftrl eq. (3): summed squared error of the T gradient prefix sums, per unit noise variance
        and dimension.
        """
        return float(np.sum(np.cumsum(self.matrix(T), axis=0) ** 2))


class ToeplitzCorrelation(Correlation):
    """A sequence beta: the noise added at step t is sum_k beta_k w_{t-k}.

    B(z) = sum_t beta_t z^t has no zeros inside the unit disc (minimum phase) unless a subclass says otherwise.
    """

    @abstractmethod
    def coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """beta_0, ..., beta_{T-1}."""

    @abstractmethod
    def inverse_coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """First column of C = B^{-1}: the first T coefficients of 1 / B(z)."""

    @abstractmethod
    def spectral_density(self, m: Arithmetic, s: Any) -> Any:
        """|B(omega)|^2 as a function of s = sin^2(omega / 2), in any arithmetic: floats, balls, complex balls."""

    @abstractmethod
    def limiting_sensitivity(self) -> Value:
        """gamma_inf = lim_T gamma_T = ||B^{-1} e_0||_2, ftrl eq. (5), (26), inf if the sum diverges: kind `exact`, or
        `estimate` where floats alone know it, and what is made of it is then an estimate too.
        """

    @abstractmethod
    def filtered_power(self, decay: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
        """c(x) = sum_{t,s} beta_t beta_s (1 - x)^|t-s| for x = eta lambda_j in (0, 1]: <beta, T_j beta> of ftrl eq.
        (32).

        x (2 - x) times the stationary second moment of an autoregression with pole 1 - x driven by the correlated
        noise.
        """

    @property
    def degree(self) -> int:
        """Largest degree of the polynomials in s inside `spectral_density`: balls need 3 bits more for each."""
        return 1

    def power_spectrum(self, omega: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """|B(omega)|^2 at frequencies in [-pi, pi]."""
        return np.asarray(self.spectral_density(FLOATS, np.sin(frequencies(omega) / 2.0) ** 2))

    def matrix(self, T: int) -> Float[np.ndarray, "T T"]:
        """The T x T lower-triangular Toeplitz matrix with first column beta."""
        return _toeplitz(self.coefficients(dense("T", T)))

    def encoder(self, T: int) -> Float[np.ndarray, "T T"]:
        """The T x T lower-triangular Toeplitz matrix with the inverse coefficients as first column."""
        return _toeplitz(self.inverse_coefficients(dense("T", T)))

    def sensitivity(self, T: int) -> float:
        """gamma_T in O(T): the columns of C are shifts of the first, which therefore has the largest norm."""
        column = self.inverse_coefficients(T)
        # Squares may overflow where the norm does not.
        scale = float(np.abs(column).max())
        return scale * float(np.linalg.norm(column / scale)) if np.isfinite(scale) else np.inf

    def prefix_error(self, T: int) -> float:
        """phi = ||A B||_F^2 in O(T): the first column of A B is cumsum(beta), its t-th entry stands in T - t
        columns.
        """
        prefix = np.cumsum(self.coefficients(T))
        return float(np.arange(len(prefix), 0, -1) @ prefix**2)


def dense(parameter: str, T: int) -> int:
    """T as a whole number of steps, of which a dense matrix can be held."""
    return count(
        parameter, T, most=LARGEST_MATRIX, remedy="longer runs need a Toeplitz correlation and its weights alone"
    )


def horizon(T: int) -> int:
    """T as a whole number of steps, of which all weights can be held."""
    return count("T", T, most=LARGEST_HORIZON)


def filtered_by_quadrature(correlation: ToeplitzCorrelation, x: np.ndarray) -> np.ndarray:
    """c(x) = x (2 - x) / (2 pi) int |B|^2 / |1 - x - e^{i omega}|^2: ftrl Lemma C.4."""
    column = x[:, None]

    def integrand(omega: np.ndarray) -> np.ndarray:
        power = correlation.power_spectrum(omega)
        return power / (column**2 + 4.0 * (1.0 - column) * np.sin(omega / 2.0) ** 2)

    return x * (2.0 - x) / (2.0 * np.pi) * even_integral(integrand)


def by_parts(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """`function(x)` for an elementwise function that holds a thousand numbers for each of x."""
    return np.concatenate([function(part) for part in np.array_split(x, -(-len(x) // PART))])


def limit_of(ball: Any, source: str, number: float | None = None) -> Value:
    """gamma_inf from a ball (flint arb) that holds it, or from None where the sum diverges: exact, with its enclosure.

    `number` is the float where it is known better than as the middle of the ball; `AccuracyError` if it lies outside.
    """
    if ball is None:
        return Value(math.inf, kind="exact", source=source, enclosure=(math.inf, math.inf))
    low, high = math.nextafter(float(ball.lower()), -math.inf), math.nextafter(float(ball.upper()), math.inf)
    number = float(ball) if number is None else number
    if not low <= number <= high:
        raise AccuracyError(f"limiting sensitivity: floats give {number!r}, balls an interval from {low!r} to {high!r}")
    return Value(number, kind="exact", source=source, enclosure=(low, high))


def decay_rates(decay: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
    """`decay` as an array if all of it lies in (0, 1], else `DomainError`."""
    x = vector("decay", decay)
    outside = ~((x > 0) & (x <= 1))
    if outside.any():
        raise DomainError("decay", float(x[outside].flat[0]), "in the interval (0, 1]", "decay is eta * lambda_j")
    return x


def frequencies(omega: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """`omega` as a float array if all of it is finite, else `DomainError`."""
    array = real_array("omega", omega)
    if not np.isfinite(array).all():
        raise DomainError("omega", float(array[~np.isfinite(array)][0]), "a finite frequency")
    return array


def _toeplitz(column: np.ndarray) -> np.ndarray:
    lags = np.subtract.outer(np.arange(len(column)), np.arange(len(column)))
    return np.where(lags >= 0, column[np.abs(lags)], 0.0)
