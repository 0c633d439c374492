"""The correlation that a program asks for: |B|^2 = psi^{-1/2} at given multipliers, ftrl Section 3 ("Optimized")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from dpbounds.arithmetic import FLOATS, Arithmetic
from dpbounds.errors import vector
from dpbounds.ftrl.correlations import PowerSpectrum, ToeplitzCorrelation, from_power_spectrum
from dpbounds.ftrl.correlations.base import decay_rates
from dpbounds.ftrl.strongly_convex.certificate import Fraction, integrate, one, program_fraction
from dpbounds.ftrl.strongly_convex.programs import Program, Quadratics
from dpbounds.quadrature import even_integral
from dpbounds.values import Value


@dataclass(frozen=True)
class MultiplierCorrelation(ToeplitzCorrelation):
    """The outer B with |B|^2 = sqrt(D / (|c|^2 - a b)), which minimises int |B|^{-2} int |B|^2 psi for that psi."""

    program: Program
    multipliers: tuple[float, ...]

    def __post_init__(self) -> None:
        vector("multipliers", self.multipliers)

    @property
    def name(self) -> str:
        """What tables and plots call it."""
        return "optimized"

    def coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """Of the spectral factor; `AccuracyError` where eta mu is too small to factorise on a grid (about 1e-6)."""
        return self._factor.coefficients(T)

    def inverse_coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """Of its inverse."""
        return self._factor.inverse_coefficients(T)

    def power_spectrum(self, omega: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """psi^{-1/2}, up to the constant eta."""
        frequencies = np.asarray(omega, dtype=float)
        max_lag = (len(self.multipliers) - 1) // 2
        quadratics = Quadratics.on(self.program, np.abs(frequencies).ravel(), max_lag)
        psi = quadratics.psi(np.asarray(self.multipliers))
        return (self.program.eta / np.sqrt(psi)).reshape(frequencies.shape)

    def spectral_density(self, m: Arithmetic, s: Any) -> Any:
        """sqrt(D / (|c|^2 - a b)), with the exact polynomials in balls."""
        if m is FLOATS:
            return self.power_spectrum(2.0 * np.arcsin(np.sqrt(s)))
        return 1 / m.sqrt(self._fraction.at(s))

    def squared_sensitivity(self, m: Arithmetic) -> Any:
        """(1 / 2 pi) int |B|^{-2}: an enclosure in balls."""
        if m is FLOATS:
            return float(even_integral(lambda omega: 1.0 / self.power_spectrum(omega))) / (2.0 * np.pi)
        smallest = self.program.eta * self.program.mu
        return m.number(integrate([one()], lambda n, s: 1 / self.spectral_density(n, s), smallest)[0])

    def limiting_sensitivity(self) -> Value:
        """The root of `squared_sensitivity`."""
        return Value(float(np.sqrt(self.squared_sensitivity(FLOATS))), kind="exact", source="ftrl eq. (5)")

    def filtered_power(self, decay: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
        """x (2 - x) / (2 pi) int |B|^2 / |1 - x - e^{i omega}|^2."""
        x = decay_rates(decay)[:, None]

        def integrand(omega: np.ndarray) -> np.ndarray:
            return self.power_spectrum(omega) / (x**2 + 4.0 * (1.0 - x) * np.sin(omega / 2.0) ** 2)

        return x[:, 0] * (2.0 - x[:, 0]) / (2.0 * np.pi) * even_integral(integrand)

    def data(self) -> dict[str, Any]:
        """As JSON data."""
        program = self.program
        constants = {"program": program.name, "mu": program.mu, "L": program.L, "eta": program.eta}
        return {**constants, "multipliers": list(self.multipliers)}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> MultiplierCorrelation:
        """The inverse of `data`."""
        program = Program(name=data["program"], mu=data["mu"], L=data["L"], eta=data["eta"])
        return cls(program, tuple(data["multipliers"]))

    @cached_property
    def _fraction(self) -> Fraction:
        return program_fraction(self.program, self.multipliers)

    @cached_property
    def _factor(self) -> PowerSpectrum:
        return from_power_spectrum(self.power_spectrum, name=self.name)
