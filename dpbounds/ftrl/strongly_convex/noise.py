"""The noise that enters a step: its spectrum in any arithmetic, and as data that can be stored and read again.

>>> noise = Noise(correlation=nu(0.5), rho=0.5)
>>> correlation_data(noise.correlation), correlation_from({"kind": "nu", "nu": 0.5}) == noise.correlation
({'kind': 'nu', 'nu': 0.5}, True)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.arithmetic import FLOATS, Arithmetic, balls
from dpbounds.errors import AccuracyError, DomainError, choice, count, listed, nonnegative, positive, real
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

# Most weights or roots of a stored correlation.
MOST_STORED = 201
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

    @property
    def stated_sensitivity(self) -> float | None:
        """gamma_inf as the correlation states it, to be held against the proof; None where there is none."""
        return None

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

    def check_balls(self) -> None:
        """Raise `AccuracyError` where the function of a ball misses values at its points: it then encloses nothing."""
        import flint

        with balls() as m:
            for centre, radius in ((0.5, 0.25), (0.1, 0.05), (0.9, 0.05), (1e-3, 5e-4), (1e-6, 5e-7)):
                whole = self.function(m, flint.arb(centre, radius))
                parts = [self.function(m, flint.arb(centre + share * radius)) for share in (-1.0, -0.3, 0.0, 0.4, 1.0)]
                if not all(m.number(whole).overlaps(m.number(part)) for part in parts):
                    raise AccuracyError(
                        f"density: on the ball {centre:g} +- {radius:g} it is not what it is at its points; it must be "
                        "computed in the arithmetic that it is given, without turning balls into floats"
                    )

    def weights(self, squared_sensitivity: Any, *, as_printed: bool = False) -> list[Any]:
        """1, whatever is printed."""
        return [1]

    def density(self, s: Float[np.ndarray, " n"], *, as_printed: bool = False) -> Float[np.ndarray, " n"]:
        """The function in floats."""
        return np.asarray(self.function(FLOATS, s), dtype=float) * np.ones_like(s)


@typed
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
        object.__setattr__(self, "rho", positive("rho", self.rho))
        object.__setattr__(self, "d", count("d", self.d))
        object.__setattr__(self, "clip_norm", positive("clip_norm", self.clip_norm))
        object.__setattr__(self, "sigma_sgd", nonnegative("sigma_sgd", self.sigma_sgd))
        _moderate("sigma_sgd^2", 2.0 * math.log(max(self.sigma_sgd, 1.0)))
        _moderate("d clip_norm^2 / rho", math.log(self.d) + 2.0 * math.log(self.clip_norm) - math.log(self.rho))
        limit = self.stated_sensitivity
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

    @typed
    def spectra(self, m: Arithmetic, s: Any) -> list[Any]:
        """|B|^2, and 1 for the gradient noise."""
        power = self.correlation.spectral_density(m, s)
        return [power, m.number(1)] if self.sigma_sgd else [power]

    @typed
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

    @cached_property
    def stated_sensitivity(self) -> float:  # type: ignore[override]
        """The correlation's."""
        return float(self.correlation.limiting_sensitivity())

    @typed
    def density(self, s: Float[np.ndarray, " n"], *, as_printed: bool = False) -> Float[np.ndarray, " n"]:
        """S in floats."""
        weights = self.weights(self.stated_sensitivity**2, as_printed=as_printed)
        total = np.zeros_like(s)
        for weight, spectrum in zip(weights, self.spectra(FLOATS, s), strict=True):
            total += weight * spectrum
        return total

    def data(self) -> dict[str, Any]:
        """As JSON data; `DomainError` for a correlation given by a function."""
        rest = {"rho": self.rho, "d": self.d, "clip_norm": self.clip_norm, "sigma_sgd": self.sigma_sgd}
        return {"correlation": correlation_data(self.correlation), **rest}

    @classmethod
    @typed
    def from_data(cls, data: Mapping[str, Any]) -> Noise:
        """The inverse of `data`."""
        parts = fields("noise", data, ("correlation", "rho", "d", "clip_norm", "sigma_sgd"))
        return cls(**{**parts, "correlation": correlation_from(parts["correlation"])})


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


def correlation_from(data: Any) -> ToeplitzCorrelation:
    """The inverse of `correlation_data`; `DomainError` for anything else."""
    makers: dict[str, tuple[tuple[str, ...], Callable[..., ToeplitzCorrelation]]] = {
        "nu": (("nu",), nu),
        "damped_anti_pgd": (("nu",), damped_anti_pgd),
        "coefficients": (("beta",), lambda beta: from_coefficients(_numbers("beta", beta))),
        "half_powers": (("label", "zeros", "poles"), _half_powers),
    }
    kind = data.get("kind") if isinstance(data, Mapping) else None
    names, make = makers[choice("correlation", kind, makers)]
    parts = fields("correlation", data, ("kind", *names))
    return make(**{name: parts[name] for name in names})


def fields(parameter: str, data: Any, names: Sequence[str]) -> Mapping[str, Any]:
    """Stored `data` if it has these names and no others."""
    if not isinstance(data, Mapping) or set(data) != set(names):
        raise DomainError(parameter, data, f"the data of a bound that dpbounds stored: {', '.join(names)}")
    return data


def _half_powers(label: Any, zeros: Any, poles: Any) -> HalfPowers:
    if not isinstance(label, str):
        raise DomainError("label", label, "a text")
    return HalfPowers(_roots("zeros", zeros), _roots("poles", poles), label)


def _roots(parameter: str, pairs: Any) -> tuple[complex, ...]:
    """Pairs (real part, imaginary part)."""
    numbers = [_numbers(parameter, pair) for pair in _some(parameter, pairs)]
    if any(len(pair) != 2 for pair in numbers):
        raise DomainError(parameter, pairs, "a list of pairs of numbers")
    return tuple(complex(*pair) for pair in numbers)


def _numbers(parameter: str, values: Any) -> list[float]:
    return [real(parameter, value) for value in _some(parameter, values)]


def _some(parameter: str, values: Any) -> list[Any]:
    given = listed(parameter, values)
    if len(given) > MOST_STORED:
        raise DomainError(parameter, f"{len(given)} numbers", f"at most {MOST_STORED}")
    return given
