"""The correlation with a given power spectrum: spectral factorisation to the outer factor.

>>> correlation = from_power_spectrum(lambda omega: 1.25 - np.cos(omega))  # |1 - e^{i omega} / 2|^2
>>> correlation.coefficients(2).round(9).tolist()
[1.0, -0.5]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.arithmetic import FLOATS, Arithmetic
from dpbounds.circle.quadrature import circle_nodes, even_integral
from dpbounds.errors import AccuracyError, DomainError, positive, real_array
from dpbounds.ftrl.correlations.base import (
    ToeplitzCorrelation,
    by_parts,
    decay_rates,
    filtered_by_quadrature,
    frequencies,
    horizon,
)
from dpbounds.values import Value

SMALLEST_GRID = 2**10
LARGEST_GRID = 2**23

Spectrum = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class PowerSpectrum(ToeplitzCorrelation):
    """The causal, minimum-phase B with |B(omega)|^2 = spectrum(omega): beta and its inverse series to `tolerance`."""

    label: str
    spectrum: Spectrum = field(repr=False)
    beta: np.ndarray = field(repr=False)
    inverse: np.ndarray = field(repr=False)

    @property
    def name(self) -> str:
        """What tables and plots call it."""
        return self.label

    def coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """The series of exp(P(z) / 2), P the causal half of the cepstrum."""
        return _padded(self.beta, T)

    def inverse_coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """The series of exp(-P(z) / 2)."""
        return _padded(self.inverse, T)

    def power_spectrum(self, omega: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """The spectrum as given."""
        return np.asarray(self.spectrum(np.abs(frequencies(omega))), dtype=float)

    @typed
    def spectral_density(self, m: Arithmetic, s: Any) -> Any:
        """The spectrum as given, in floats only; `DomainError` for balls, which know nothing of a user's function."""
        if m is not FLOATS:
            raise DomainError("arithmetic", m.name, "floats", "a spectrum given as a function has no enclosure")
        return self.power_spectrum(2.0 * np.arcsin(np.sqrt(s)))

    def limiting_sensitivity(self) -> Value:
        """gamma_inf^2 = (1 / 2 pi) int |B|^{-2}, ftrl eq. (5): holds because the factor is outer.

        An estimate: nothing is known of a user's function between the frequencies of the quadrature.
        """
        total = even_integral(lambda omega: 1.0 / self.power_spectrum(omega))
        return Value(float(np.sqrt(total / (2.0 * np.pi))), kind="estimate", source="ftrl eq. (5)")

    def filtered_power(self, decay: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
        """c(x) = x (2 - x) / (2 pi) int |B|^2 / |1 - x - e^{i omega}|^2: ftrl Lemma C.4."""
        return by_parts(lambda x: filtered_by_quadrature(self, x), decay_rates(decay))


@typed
def from_power_spectrum(spectrum: Spectrum, *, name: str = "given spectrum", tolerance: float = 1e-10) -> PowerSpectrum:
    """The outer factor of an even, positive spectrum on [0, pi] (Kolmogorov's cepstral factorisation).

    log|B|^2 = sum_k p_k cos(k omega) on a uniform grid, B(z) = exp(p_0 / 2 + sum_{k>0} p_k z^k); the grid is doubled
    until beta and its inverse change by at most `tolerance` of their largest entry. `name` labels tables.

    Raises `DomainError` for a spectrum that is not finite and positive, `AccuracyError` if the largest grid does not
    resolve it: features narrower than about 1e-6 need a closed form such as `nu`.
    """
    positive("tolerance", tolerance)
    if not callable(spectrum):
        raise DomainError("spectrum", spectrum, "a function of frequencies in [0, pi]")
    _check_positive(spectrum)
    before = _factor(spectrum, SMALLEST_GRID)
    grid = 2 * SMALLEST_GRID
    while grid <= LARGEST_GRID:
        now = _factor(spectrum, grid)
        change = max(_change(new, old) for new, old in zip(now, before, strict=True))
        if change <= tolerance:
            return PowerSpectrum(name, spectrum, *now)
        before, grid = now, 2 * grid
    raise AccuracyError(
        f"spectral factorisation: on the largest grid of {LARGEST_GRID} frequencies the coefficients still change by "
        f"{change:.1e}, asked was {tolerance:.1e}; the spectrum is too sharp near some frequency"
    )


def _factor(spectrum: Spectrum, grid: int) -> tuple[np.ndarray, np.ndarray]:
    """beta and its inverse series, of length grid / 2, from the real cepstrum on `grid` frequencies."""
    # Midpoints of the grid would avoid a zero at frequency 0 and hide that it is not resolved.
    omega = np.arange(grid // 2 + 1) * (2.0 * np.pi / grid)
    cepstrum = np.fft.irfft(np.log(spectrum(omega)), grid)
    causal = np.concatenate([[cepstrum[0] / 2.0], cepstrum[1 : grid // 2], np.zeros(grid // 2)])
    half = np.fft.rfft(causal)
    return np.fft.irfft(np.exp(half), grid)[: grid // 2], np.fft.irfft(np.exp(-half), grid)[: grid // 2]


def _change(new: np.ndarray, old: np.ndarray) -> float:
    """Largest difference, the shorter series continued by zeros, relative to the largest entry."""
    padded = np.zeros_like(new)
    padded[: len(old)] = old
    return float(np.abs(new - padded).max() / np.abs(new).max())


def _check_positive(spectrum: Spectrum) -> None:
    omega = np.concatenate([[0.0], circle_nodes()[0], [np.pi]])
    values = real_array("spectrum(omega)", spectrum(omega))
    if values.shape != omega.shape:
        raise DomainError(
            "spectrum", f"values of shape {values.shape}", f"one value per frequency, shape {omega.shape}"
        )
    bad = ~(np.isfinite(values) & (values > 0))
    if bad.any():
        at = float(omega[bad][0])
        raise DomainError(f"spectrum({at:.6g})", float(values[bad][0]), "a finite positive number at every frequency")


def _padded(series: np.ndarray, T: int) -> np.ndarray:
    result = np.zeros(horizon(T))
    result[: len(series)] = series[: len(result)]
    return result
