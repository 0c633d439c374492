"""The noise that enters a step: its spectrum in any arithmetic, and as data that can be stored and read again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpbounds import arithmetic
from dpbounds.arithmetic import FLOATS, Arithmetic
from dpbounds.errors import DomainError, count, nonnegative, positive
from dpbounds.ftrl.correlations import (
    DampedAntiPGD,
    FiniteImpulse,
    NuCorrelation,
    ToeplitzCorrelation,
    damped_anti_pgd,
    from_coefficients,
    nu,
)
from dpbounds.ftrl.strongly_convex.multipliers import MultiplierCorrelation

Density = Callable[[Arithmetic, Any], Any]

PRECISION = 256


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Privacy and gradient noise of DP-FTRL: S = (d clip_norm^2 gamma_inf^2 / (2 rho)) |B|^2 + sigma_sgd^2.

    Summed over the d directions; the gradient noise of ftrl eq. (88) is uncorrelated with the draws and with itself at
    other times and bounded by sigma_sgd in norm, so nothing is doubled. Raises `DomainError` for values outside their
    ranges and for a correlation whose sensitivity has no limit.
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
        nonnegative("sigma_sgd", self.sigma_sgd)
        if not np.isfinite(self.correlation.limiting_sensitivity()):
            raise DomainError("correlation", self.correlation.name, "one with a finite limiting sensitivity", "damp it")

    @property
    def white(self) -> bool:
        """Whether |B|^2 is constant."""
        return isinstance(self.correlation, FiniteImpulse) and len(self.correlation.beta) == 1

    def density(self, m: Arithmetic, s: Any) -> Any:
        """S at s = sin^2(omega / 2)."""
        power = self._float_power if m is FLOATS else m.number(self._ball_power)
        return power * self.correlation.spectral_density(m, s) + m.number(self.sigma_sgd) ** 2

    def as_printed(self, m: Arithmetic, s: Any) -> Any:
        """The integrand of ftrl eq. (10): d (G^2 gamma_inf^2 |B|^2 / rho + sigma_sgd^2), twice and d times too
        large.
        """
        power = self._float_power if m is FLOATS else m.number(self._ball_power)
        residual = m.number(self.d) * m.number(self.sigma_sgd) ** 2
        return 2 * power * self.correlation.spectral_density(m, s) + residual

    def data(self) -> dict[str, Any]:
        """As JSON data; `DomainError` for a correlation given by a function."""
        rest = {"rho": self.rho, "d": self.d, "clip_norm": self.clip_norm, "sigma_sgd": self.sigma_sgd}
        return {"correlation": correlation_data(self.correlation), **rest}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Noise:
        """The inverse of `data`."""
        rest = {name: data[name] for name in ("rho", "d", "clip_norm", "sigma_sgd")}
        return cls(correlation=correlation_from(data["correlation"]), **rest)

    def _power(self, m: Arithmetic) -> Any:
        scale = m.number(self.d) * m.number(self.clip_norm) ** 2 / (2 * m.number(self.rho))
        return scale * self.correlation.squared_sensitivity(m)

    @cached_property
    def _float_power(self) -> float:
        return float(self._power(FLOATS))

    @cached_property
    def _ball_power(self) -> Any:
        with arithmetic.balls(PRECISION) as m:
            return self._power(m)


def correlation_data(correlation: ToeplitzCorrelation) -> dict[str, Any]:
    """A correlation as JSON data."""
    if isinstance(correlation, NuCorrelation):
        return {"kind": "nu", "nu": correlation.nu}
    if isinstance(correlation, DampedAntiPGD):
        return {"kind": "damped_anti_pgd", "nu": correlation.nu}
    if isinstance(correlation, FiniteImpulse):
        return {"kind": "coefficients", "beta": list(correlation.beta)}
    if isinstance(correlation, MultiplierCorrelation):
        return {"kind": "multipliers", **correlation.data()}
    raise DomainError(
        "correlation", correlation.name, "one with a closed form", "a spectrum given as a function cannot be stored"
    )


def correlation_from(data: Mapping[str, Any]) -> ToeplitzCorrelation:
    """The inverse of `correlation_data`."""
    makers: dict[str, Callable[[], ToeplitzCorrelation]] = {
        "nu": lambda: nu(data["nu"]),
        "damped_anti_pgd": lambda: damped_anti_pgd(data["nu"]),
        "coefficients": lambda: from_coefficients(data["beta"]),
        "multipliers": lambda: MultiplierCorrelation.from_data(data),
    }
    if data.get("kind") not in makers:
        raise DomainError("correlation", data.get("kind"), f"one of {', '.join(makers)}")
    return makers[data["kind"]]()
