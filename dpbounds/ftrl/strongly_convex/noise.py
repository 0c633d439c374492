"""The noise that enters a step: its spectrum in any arithmetic, and as data that can be stored and read again."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from dpbounds.arithmetic import FLOATS, Arithmetic
from dpbounds.errors import DomainError, count, nonnegative, positive
from dpbounds.ftrl.correlations import (
    DampedAntiPGD,
    FiniteImpulse,
    HalfPowers,
    NuCorrelation,
    ToeplitzCorrelation,
    damped_anti_pgd,
    from_coefficients,
    nu,
)

Density = Callable[[Arithmetic, Any], Any]

# Largest and smallest powers of ten of the factors of a spectrum.
MAGNITUDE = 50


class NoiseSpectrum(ABC):
    """S(omega), summed over directions: a weighted sum of spectra that are functions of s = sin^2(omega / 2).

    The weights may need gamma_inf^2, the mean of `inverse` over the circle: one pass over it then gives enclosures of
    all.
    """

    @property
    def white(self) -> bool:
        """Whether S is known to be constant."""
        return False

    @property
    def degree(self) -> int:
        """Largest degree of the polynomials in s that the spectra contain."""
        return 1

    @abstractmethod
    def spectra(self, m: Arithmetic, s: Any) -> list[Any]:
        """The spectra in arithmetic m."""

    @abstractmethod
    def weights(self, squared_sensitivity: Any, *, as_printed: bool = False) -> list[Any]:
        """Theirs, from gamma_inf^2 as a float or a ball; `as_printed` in ftrl eq. (10)."""

    def inverse(self, spectra: list[Any]) -> list[Any]:
        """[1 / |B|^2] if the weights need its mean, else []."""
        return []

    @abstractmethod
    def density(self, s: Float[np.ndarray, " n"], *, as_printed: bool = False) -> Float[np.ndarray, " n"]:
        """S in floats."""


@dataclass(frozen=True)
class GivenSpectrum(NoiseSpectrum):
    """S = `function(m, s)`."""

    function: Density

    def spectra(self, m: Arithmetic, s: Any) -> list[Any]:
        """The function's value."""
        return [self.function(m, s)]

    def weights(self, squared_sensitivity: Any, *, as_printed: bool = False) -> list[Any]:
        """1, whatever is printed."""
        return [1]

    def density(self, s: Float[np.ndarray, " n"], *, as_printed: bool = False) -> Float[np.ndarray, " n"]:
        """The function in floats."""
        return np.asarray(self.function(FLOATS, s), dtype=float) * np.ones_like(s)


@dataclass(frozen=True, kw_only=True)
class Noise(NoiseSpectrum):
    """Privacy and gradient noise of DP-FTRL: S = (d clip_norm^2 gamma_inf^2 / (2 rho)) |B|^2 + sigma_sgd^2.

    The gradient noise of ftrl eq. (88) is uncorrelated with the draws and with itself at other times and bounded by
    sigma_sgd in norm, so nothing is doubled; the integrand of ftrl eq. (10), d (G^2 gamma_inf^2 |B|^2 / rho +
    sigma_sgd^2), is twice and d times too large. Raises `DomainError` for values outside their ranges, for a
    correlation whose sensitivity has no limit, and for magnitudes whose products overflow or underflow.
    """

    correlation: ToeplitzCorrelation
    rho: float
    d: int = 1
    clip_norm: float = 1.0
    sigma_sgd: float = 0.0

    def __post_init__(self) -> None:
        positive("rho", self.rho)
        count("d", self.d)
        positive("clip_norm", self.clip_norm)
        _moderate("sigma_sgd^2", 2.0 * math.log(max(nonnegative("sigma_sgd", self.sigma_sgd), 1.0)))
        _moderate("d clip_norm^2 / rho", math.log(self.d) + 2.0 * math.log(self.clip_norm) - math.log(self.rho))
        limit = self.correlation.limiting_sensitivity()
        if not np.isfinite(limit):
            raise DomainError("correlation", self.correlation.name, "one with a finite limiting sensitivity", "damp it")
        _moderate("squared limiting sensitivity of the correlation", 2.0 * math.log(limit))

    @property
    def white(self) -> bool:
        """Whether |B|^2 is constant: nu = 1 is independent noise."""
        if isinstance(self.correlation, FiniteImpulse):
            return not any(self.correlation.beta[1:])
        return isinstance(self.correlation, (NuCorrelation, DampedAntiPGD)) and self.correlation.nu == 1

    @property
    def degree(self) -> int:
        """The correlation's."""
        return self.correlation.degree

    def spectra(self, m: Arithmetic, s: Any) -> list[Any]:
        """|B|^2, and 1 for the gradient noise."""
        power = self.correlation.spectral_density(m, s)
        return [power, m.number(1)] if self.sigma_sgd else [power]

    def weights(self, squared_sensitivity: Any, *, as_printed: bool = False) -> list[Any]:
        """d clip_norm^2 gamma_inf^2 / (2 rho), and sigma_sgd^2 if there is gradient noise."""
        privacy = squared_sensitivity * self.d * self.clip_norm * self.clip_norm / self.rho
        weights = [privacy if as_printed else privacy / 2]
        if self.sigma_sgd:
            residual = (squared_sensitivity * 0 + 1) * self.sigma_sgd * self.sigma_sgd  # a ball where the first is one
            weights.append(residual * self.d if as_printed else residual)
        return weights

    def inverse(self, spectra: list[Any]) -> list[Any]:
        """1 / |B|^2."""
        return [1 / spectra[0]]

    def density(self, s: Float[np.ndarray, " n"], *, as_printed: bool = False) -> Float[np.ndarray, " n"]:
        """S in floats."""
        weights = self.weights(float(self.correlation.limiting_sensitivity()) ** 2, as_printed=as_printed)
        total = np.zeros_like(s)
        for weight, spectrum in zip(weights, self.spectra(FLOATS, s), strict=True):
            total += weight * spectrum
        return total

    def data(self) -> dict[str, Any]:
        """As JSON data; `DomainError` for a correlation given by a function."""
        rest = {"rho": self.rho, "d": self.d, "clip_norm": self.clip_norm, "sigma_sgd": self.sigma_sgd}
        return {"correlation": correlation_data(self.correlation), **rest}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Noise:
        """The inverse of `data`."""
        rest = {name: data[name] for name in ("rho", "d", "clip_norm", "sigma_sgd")}
        return cls(correlation=correlation_from(data["correlation"]), **rest)


def _moderate(name: str, logarithm: float) -> None:
    """Refuse what could overflow or underflow when multiplied by the others."""
    if not abs(logarithm) <= MAGNITUDE * math.log(10.0):
        power = math.floor(logarithm / math.log(10.0))
        raise DomainError(name, f"1e{power:+d}", f"from 1e-{MAGNITUDE} to 1e+{MAGNITUDE}", "choose other units")


def correlation_data(correlation: ToeplitzCorrelation) -> dict[str, Any]:
    """A correlation as JSON data."""
    if isinstance(correlation, NuCorrelation):
        return {"kind": "nu", "nu": correlation.nu}
    if isinstance(correlation, DampedAntiPGD):
        return {"kind": "damped_anti_pgd", "nu": correlation.nu}
    if isinstance(correlation, FiniteImpulse):
        return {"kind": "coefficients", "beta": list(correlation.beta)}
    if isinstance(correlation, HalfPowers):
        roots = {name: [[q.real, q.imag] for q in getattr(correlation, name)] for name in ("zeros", "poles")}
        return {"kind": "half_powers", "label": correlation.label, **roots}
    raise DomainError(
        "correlation", correlation.name, "one with a closed form", "a spectrum given as a function cannot be stored"
    )


def correlation_from(data: Mapping[str, Any]) -> ToeplitzCorrelation:
    """The inverse of `correlation_data`."""
    makers: dict[str, Callable[[], ToeplitzCorrelation]] = {
        "nu": lambda: nu(data["nu"]),
        "damped_anti_pgd": lambda: damped_anti_pgd(data["nu"]),
        "coefficients": lambda: from_coefficients(data["beta"]),
        "half_powers": lambda: HalfPowers(_complex(data["zeros"]), _complex(data["poles"]), str(data["label"])),
    }
    if data.get("kind") not in makers:
        raise DomainError("correlation", data.get("kind"), f"one of {', '.join(makers)}")
    return makers[data["kind"]]()


def _complex(pairs: Sequence[Sequence[float]]) -> tuple[complex, ...]:
    return tuple(complex(real, imaginary) for real, imaginary in pairs)
