"""Causal, time-invariant correlations: the noise added at step t is sum_k beta_k w_{t-k}.

B(z) = sum_t beta_t z^t is the generating function, |B(omega)|^2 its power spectrum on |z| = 1, and 1/B(z) = sum_t c_t
z^t gives the encoder C = B^{-1}, whose first column's norm is the sensitivity.

>>> nu(0.5).coefficients(3).tolist()  # (1 - z / 2)^{1/2}
[1.0, -0.25, -0.03125]
>>> float(damped_anti_pgd(0.5).limiting_sensitivity() ** 2 * 3)  # 1 + 1/4 + 1/16 + ... = 4/3
4.0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float

from dpbounds import elliptic
from dpbounds.arguments import typed
from dpbounds.arithmetic import FLOATS, Arithmetic
from dpbounds.circle.polynomials import Fraction, exact, in_sine
from dpbounds.errors import AccuracyError, DomainError, vector, within
from dpbounds.ftrl.correlations.base import ToeplitzCorrelation, decay_rates, frequencies, horizon, limit_of
from dpbounds.ftrl.correlations.step_down import PRECISIONS, step_down
from dpbounds.values import Value

# Below, 1 / beta_0 is not a finite float or its digits are lost.
SMALLEST_WEIGHT = 1e-300
# Bits of balls around gamma_inf, bits of c(x) that are as good as a float, and the relative accuracy asked of floats.
PRECISION, BITS, ROUNDED = 128, 60, 1e-12
# Operations on balls that one call may cost: a second or two.
MOST_BALLS = 2_000_000


@dataclass(frozen=True)
class NuCorrelation(ToeplitzCorrelation):
    """B(z) = sqrt(1 - (1 - nu) z), ftrl eq. (7): optimal for mean estimation at nu = eta (Thm 2.1)."""

    nu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "nu", within("nu", self.nu, "[0, 1]", "the usual choice is eta * mu"))

    @property
    def name(self) -> str:
        """What tables and plots call it."""
        return "optimal counting" if self.nu == 0 else f"nu-DP-FTRL (nu={self.nu:g})"

    def coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """beta_t = (-1)^t binom(1/2, t) (1 - nu)^t, relative accuracy 1e-13 for T up to 1e6."""
        return _half_binomials(horizon(T), sign=-1) * _powers(self.nu, T)

    def inverse_coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """c_t = (-1)^t binom(-1/2, t) (1 - nu)^t, relative accuracy 1e-13 for T up to 1e6."""
        return _half_binomials(horizon(T), sign=1) * _powers(self.nu, T)

    @typed
    def spectral_density(self, m: Arithmetic, s: Any) -> Any:
        """|1 - (1 - nu) e^{i omega}| = sqrt(nu^2 + 4 (1 - nu) s), without cancellation."""
        damping = m.number(self.nu)
        return m.sqrt(damping**2 + 4 * (1 - damping) * s)

    def limiting_sensitivity(self) -> Value:
        """gamma_inf^2 = (2 / pi) K(1 - nu) (modulus): the generating function of squared central binomials."""
        source = "ftrl eq. (5), Lemma F.15"
        if self.nu == 0:
            return limit_of(None, source)
        import flint

        from dpbounds.elliptic import balls

        with flint.ctx.workprec(PRECISION):
            return limit_of((balls.integral_inverse(self.nu) / (2 * flint.arb.pi())).sqrt(), source)

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
        object.__setattr__(self, "nu", within("nu", self.nu, "[0, 1]"))

    @property
    def name(self) -> str:
        """What tables and plots call it."""
        return "anti-PGD" if self.nu == 0 else f"damped anti-PGD (nu={self.nu:g})"

    def coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """(1, -(1 - nu), 0, ...)."""
        t = np.arange(horizon(T))
        return np.where(t == 0, 1.0, np.where(t == 1, self.nu - 1.0, 0.0))

    def inverse_coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """c_t = (1 - nu)^t."""
        return _powers(self.nu, horizon(T))

    @typed
    def spectral_density(self, m: Arithmetic, s: Any) -> Any:
        """|1 - nu - e^{i omega}|^2 = nu^2 + 4 (1 - nu) s."""
        damping = m.number(self.nu)
        return damping**2 + 4 * (1 - damping) * s

    def limiting_sensitivity(self) -> Value:
        """gamma_inf^2 = 1 / (nu (2 - nu)), the geometric series."""
        source = "ftrl Prop C.24, Lemma F.12"
        if self.nu == 0:
            return limit_of(None, source)
        import flint

        with flint.ctx.workprec(PRECISION):
            damping = flint.arb(self.nu)
            return limit_of(1 / (damping * (2 - damping)).sqrt(), source)

    def filtered_power(self, decay: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
        """c(x) = nu^2 + 2 (1 - nu) x: two lags only."""
        return self.nu**2 + 2.0 * (1.0 - self.nu) * decay_rates(decay)


@typed
@dataclass(frozen=True)
class FiniteImpulse(ToeplitzCorrelation):
    """Finitely many weights. Zeros inside the unit disc are refused unless `allow_unstable_inverse`; where they lie is
    decided exactly, or `AccuracyError` says that it cannot be (`step_down`).
    """

    beta: tuple[float, ...]
    allow_unstable_inverse: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", tuple(vector("beta", self.beta).tolist()))
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
        padded = np.zeros(horizon(T))
        padded[: len(self.beta)] = self.beta[: len(padded)]
        return padded

    def inverse_coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """Power series of 1 / B(z), by its linear recurrence."""
        from scipy.signal import lfilter

        impulse = (np.arange(horizon(T)) == 0).astype(float)
        return np.asarray(lfilter([1.0], self.beta, impulse))

    def power_spectrum(self, omega: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """|sum_t beta_t e^{i omega t}|^2, which keeps its digits near a zero."""
        return np.abs(np.polynomial.polynomial.polyval(np.exp(1j * frequencies(omega)), self.beta)) ** 2

    @typed
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
        return limit_of(step_down(self.beta).inverse_norm, "ftrl eq. (26)")

    def filtered_power(self, decay: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
        """c(x) = x (2 - x) sum_t y_t^2 with y_t = (1 - x) y_{t-1} + beta_t, to a relative accuracy of 1e-12.

        Near zeros of B the y_t lose digits by cancellation: balls where a bound of the rounding says so.
        """
        x = decay_rates(decay)
        power, rounding = _filtered_power(self.beta, x)
        inaccurate = np.flatnonzero(~(rounding <= ROUNDED * power))
        if len(inaccurate) * len(self.beta) > MOST_BALLS:
            raise AccuracyError(
                f"filtered power of {self.name}: too many terms cancel for {len(inaccurate)} decay rates"
            )
        for index in inaccurate:
            power[index] = _filtered_power_in_balls(self.beta, float(x[index]))
        return power

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


@typed
def from_coefficients(beta: Sequence[float] | np.ndarray, *, allow_unstable_inverse: bool = False) -> FiniteImpulse:
    """Finitely many weights as given; raises `DomainError` if the sequence is not minimum phase.

    `allow_unstable_inverse=True` admits it all the same: gamma_T is then finite for every T and grows geometrically,
    and the limiting sensitivity is inf.
    """
    return FiniteImpulse(tuple(vector("beta", beta).tolist()), allow_unstable_inverse)


def _filtered_power(beta: Sequence[float], x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """c(x) in floats, and a bound of what rounding has done to it."""
    retained, share, unit = 1.0 - x, x * (2.0 - x), float(np.finfo(float).eps)
    y, error, power, rounding = (np.zeros_like(x) for _ in range(4))
    for weight in beta:
        carried = retained * y
        y = carried + weight
        error = retained * error + unit * (2.0 * np.abs(carried) + np.abs(y))
        power += y * y
        rounding += error * (2.0 * np.abs(y) + error)
    last = retained * retained
    rounding = share * rounding + last * error * (2.0 * np.abs(y) + error)
    power = share * power + last * y * y
    return power, rounding + len(beta) * unit * power


def _filtered_power_in_balls(beta: Sequence[float], x: float) -> float:
    """The same at one x, with bits added until the ball is as good as a float."""
    import flint

    for precision in PRECISIONS:
        with flint.ctx.workprec(precision):
            rate, y, total = flint.arb(x), flint.arb(0), flint.arb(0)
            for weight in beta:
                y = (1 - rate) * y + flint.arb(weight)
                total += y * y
            power = rate * (2 - rate) * total + ((1 - rate) * y) ** 2
            if power.rel_accuracy_bits() > BITS:
                return float(power)
    raise AccuracyError(f"filtered power: its digits are lost at decay = {x:g}, with {PRECISIONS[-1]} bits too")


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
