"""Causal, time-invariant correlations: the noise added at step t is sum_k beta_k w_{t-k}.

B(z) = sum_t beta_t z^t is the generating function, |B(omega)|^2 its power spectrum on |z| = 1, and 1/B(z) = sum_t c_t
z^t gives the encoder C = B^{-1}, whose first column's norm is the sensitivity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float

from dpbounds import elliptic
from dpbounds.arithmetic import FLOATS, Arithmetic
from dpbounds.errors import DomainError, count, vector, within
from dpbounds.ftrl.correlations.base import ToeplitzCorrelation, decay_rates, frequencies
from dpbounds.ftrl.correlations.step_down import step_down
from dpbounds.polynomials import Fraction, exact, in_sine
from dpbounds.values import Value

# Below, 1 / beta_0 is not a finite float or its digits are lost.
SMALLEST_WEIGHT = 1e-300


@dataclass(frozen=True)
class NuCorrelation(ToeplitzCorrelation):
    """B(z) = sqrt(1 - (1 - nu) z), ftrl eq. (7): optimal for mean estimation at nu = eta (Thm 2.1)."""

    nu: float

    def __post_init__(self) -> None:
        within("nu", self.nu, "[0, 1]", "the usual choice is eta * mu")

    @property
    def name(self) -> str:
        """What tables and plots call it."""
        return "optimal counting" if self.nu == 0 else f"nu-DP-FTRL (nu={self.nu:g})"

    def coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """beta_t = (-1)^t binom(1/2, t) (1 - nu)^t, relative accuracy 1e-13 for T up to 1e6."""
        return _half_binomials(count("T", T), sign=-1) * _powers(self.nu, T)

    def inverse_coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """c_t = (-1)^t binom(-1/2, t) (1 - nu)^t, relative accuracy 1e-13 for T up to 1e6."""
        return _half_binomials(count("T", T), sign=1) * _powers(self.nu, T)

    def spectral_density(self, m: Arithmetic, s: Any) -> Any:
        """|1 - (1 - nu) e^{i omega}| = sqrt(nu^2 + 4 (1 - nu) s), without cancellation."""
        damping = m.number(self.nu)
        return m.sqrt(damping**2 + 4 * (1 - damping) * s)

    def limiting_sensitivity(self) -> Value:
        """gamma_inf^2 = (2 / pi) K(1 - nu) (modulus): the generating function of squared central binomials."""
        limit = np.inf if self.nu == 0 else float(np.sqrt(elliptic.integral_inverse(self.nu) / (2.0 * np.pi)))
        return Value(limit, kind="exact", source="ftrl eq. (5), Lemma F.15")

    def filtered_power(self, decay: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
        """c(x) = x (2 - x) / (2 pi) * I(nu, x): ftrl Lemma C.4 with I of eq. (49); elementary at nu = 0."""
        x = decay_rates(decay)
        integral = _counting_ratio(x) if self.nu == 0 else elliptic.integral_ratio(self.nu, x)
        return x * (2.0 - x) / (2.0 * np.pi) * integral


@dataclass(frozen=True)
class DampedAntiPGD(ToeplitzCorrelation):
    """B(z) = 1 - (1 - nu) z, ftrl Prop C.24: each draw is mostly subtracted again one step later."""

    nu: float

    def __post_init__(self) -> None:
        within("nu", self.nu, "[0, 1]")

    @property
    def name(self) -> str:
        """What tables and plots call it."""
        return "anti-PGD" if self.nu == 0 else f"damped anti-PGD (nu={self.nu:g})"

    def coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """(1, -(1 - nu), 0, ...)."""
        t = np.arange(count("T", T))
        return np.where(t == 0, 1.0, np.where(t == 1, self.nu - 1.0, 0.0))

    def inverse_coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """c_t = (1 - nu)^t."""
        return _powers(self.nu, count("T", T))

    def spectral_density(self, m: Arithmetic, s: Any) -> Any:
        """|1 - nu - e^{i omega}|^2 = nu^2 + 4 (1 - nu) s."""
        damping = m.number(self.nu)
        return damping**2 + 4 * (1 - damping) * s

    def limiting_sensitivity(self) -> Value:
        """gamma_inf^2 = 1 / (nu (2 - nu)), the geometric series."""
        limit = np.inf if self.nu == 0 else 1.0 / np.sqrt(self.nu * (2.0 - self.nu))
        return Value(limit, kind="exact", source="ftrl Prop C.24, Lemma F.12")

    def filtered_power(self, decay: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
        """c(x) = nu^2 + 2 (1 - nu) x: two lags only."""
        return self.nu**2 + 2.0 * (1.0 - self.nu) * decay_rates(decay)


@dataclass(frozen=True)
class FiniteImpulse(ToeplitzCorrelation):
    """Finitely many weights. Zeros inside the unit disc are refused unless `allow_unstable_inverse`; where they lie is
    decided exactly, or `AccuracyError` says that it cannot be (`step_down`).
    """

    beta: tuple[float, ...]
    allow_unstable_inverse: bool = False

    def __post_init__(self) -> None:
        vector("beta", self.beta)
        if self.beta[0] == 0:
            raise DomainError("beta[0]", 0.0, "a nonzero number", "the first weight multiplies the newest draw")
        if not abs(self.beta[0]) >= SMALLEST_WEIGHT:
            allowed = f"of a size of at least {SMALLEST_WEIGHT:g}"
            raise DomainError("beta[0]", self.beta[0], allowed, "its inverse leaves the range of floats")
        if not self.allow_unstable_inverse and step_down(self.beta).place == "inside":
            raise DomainError(
                "beta",
                list(self.beta),
                "a minimum-phase sequence (no zero of sum_t beta_t z^t inside the unit disc)",
                "its inverse grows geometrically and so does the sensitivity; use from_power_spectrum for the sequence "
                "with the same spectrum and a stable inverse",
            )

    @property
    def name(self) -> str:
        """What tables and plots call it."""
        if len(self.beta) == 1:
            return "independent"
        return "beta=(" + ", ".join(f"{b:.4g}" for b in self.beta[:4]) + (", ...)" if len(self.beta) > 4 else ")")

    def coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """The weights, padded with zeros."""
        padded = np.zeros(count("T", T))
        padded[: len(self.beta)] = self.beta[: len(padded)]
        return padded

    def inverse_coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """Power series of 1 / B(z), by its linear recurrence."""
        from scipy.signal import lfilter

        impulse = (np.arange(count("T", T)) == 0).astype(float)
        return np.asarray(lfilter([1.0], self.beta, impulse))

    def power_spectrum(self, omega: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """|sum_t beta_t e^{i omega t}|^2, which keeps its digits near a zero."""
        return np.abs(np.polynomial.polynomial.polyval(np.exp(1j * frequencies(omega)), self.beta)) ** 2

    def spectral_density(self, m: Arithmetic, s: Any) -> Any:
        """A polynomial in s of degree len(beta) - 1, exact in balls."""
        if m is FLOATS:
            return self.power_spectrum(2.0 * np.arcsin(np.sqrt(s)))
        return self._polynomial.at(m.number(s))

    @property
    def degree(self) -> int:
        """len(beta) - 1."""
        return len(self.beta) - 1

    @cached_property
    def _polynomial(self) -> Fraction:
        from flint import fmpq, fmpq_poly

        beta = [exact(weight) for weight in self.beta]
        lags = {
            lag: sum((x * y for x, y in zip(beta[lag:], beta, strict=False)), fmpq(0)) * (2 if lag else 1)
            for lag in range(len(beta))
        }
        return Fraction(numerator=in_sine(lags), denominator=fmpq_poly([1]))

    def limiting_sensitivity(self) -> Value:
        """gamma_inf^2 = 1 / (beta_0^2 prod_i (1 - k_i^2)), k_i the reflection coefficients (Levinson-Durbin).

        In balls and rounded once; inf if a zero lies on the circle or inside, which is decided exactly (`step_down`).
        """
        norm = step_down(self.beta).inverse_norm
        limit = np.inf if norm is None else float(norm)
        return Value(limit, kind="exact", source="ftrl eq. (26)")

    def filtered_power(self, decay: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
        """c(x) = r_0 + 2 sum_k r_k (1 - x)^k with r the autocorrelation of beta."""
        x = decay_rates(decay)
        autocorrelation = np.correlate(self.beta, self.beta, mode="full")[len(self.beta) - 1 :]
        autocorrelation[1:] *= 2.0
        return np.polynomial.polynomial.polyval(1.0 - x, autocorrelation)

    def reflection_coefficients(self) -> Float[np.ndarray, " n"]:
        """Schur-Cohn step-down of beta, from the last; all below 1 in modulus iff no zero lies in the closed unit disc.

        Stops at the first coefficient that is not: what follows has no meaning.
        """
        return np.array(step_down(self.beta).reflection)


def independent() -> FiniteImpulse:
    """Independent noise, beta = (1, 0, ...): DP-SGD."""
    return FiniteImpulse((1.0,))


def nu(nu: float) -> NuCorrelation:
    """nu-DP-FTRL, ftrl eq. (7); raises `DomainError` unless 0 < nu <= 1 (nu = 1 is independent noise)."""
    return NuCorrelation(within("nu", nu, "(0, 1]", "for nu = 0 use optimal_counting()"))


def optimal_counting() -> NuCorrelation:
    """The square-root factorisation of prefix sums, nu = 0: its sensitivity grows as sqrt(log T), its limit is inf."""
    return NuCorrelation(0.0)


def anti_pgd() -> DampedAntiPGD:
    """beta = (1, -1): each draw is subtracted again one step later; C is the prefix-sum matrix, gamma_T = sqrt(T)."""
    return DampedAntiPGD(0.0)


def damped_anti_pgd(nu: float) -> DampedAntiPGD:
    """beta = (1, -(1 - nu)), ftrl Prop C.24; raises `DomainError` unless 0 < nu <= 1."""
    return DampedAntiPGD(within("nu", nu, "(0, 1]", "for nu = 0 use anti_pgd()"))


def from_coefficients(beta: Sequence[float] | np.ndarray, *, allow_unstable_inverse: bool = False) -> FiniteImpulse:
    """Finitely many weights as given; raises `DomainError` if the sequence is not minimum phase.

    `allow_unstable_inverse=True` admits it all the same: gamma_T is then finite for every T and grows geometrically,
    and the limiting sensitivity is inf.
    """
    return FiniteImpulse(tuple(vector("beta", beta).tolist()), allow_unstable_inverse)


def _powers(nu: float, T: int) -> np.ndarray:
    """(1 - nu)^t for t < T, through log1p: 1 - nu itself would be rounded, and the error grows with t."""
    if nu == 1:
        return (np.arange(T) == 0).astype(float)
    return np.exp(np.arange(T) * np.log1p(-nu))


@lru_cache(maxsize=4)
def _half_binomials(T: int, *, sign: int) -> np.ndarray:
    """|binom(1/2, t)| with its sign (sign=-1) or |binom(-1/2, t)| (sign=1), by the ratio of neighbours.

    Extended precision, so that 1e6 roundings stay below 1e-13.
    """
    t = np.arange(1, T, dtype=np.longdouble)
    ratios = (t - 0.5) / t if sign == 1 else (t - 1.5) / t
    series = np.concatenate([[1.0], np.cumprod(ratios)]).astype(float)
    series.flags.writeable = False
    return series


def _counting_ratio(x: np.ndarray) -> np.ndarray:
    """I(0, x) = int 2 |sin(omega/2)| / |1 - x - e^{i omega}|^2 = 8 artanh(s) / (s (2 - x)^2), s = 2 sqrt(1 - x) / (2 -
    x).
    """
    root = np.sqrt(1.0 - x)
    s = 2.0 * root / (2.0 - x)
    artanh = np.log(2.0 - x + 2.0 * root) - np.log(x)
    ratio = np.divide(artanh, s, out=np.ones_like(x), where=s > 1e-8)
    return 8.0 * ratio / (2.0 - x) ** 2
