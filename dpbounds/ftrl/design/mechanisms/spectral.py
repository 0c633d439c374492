"""Toeplitz mechanisms from the spectrum of the mean loss.

In a long run at one learning rate G is Toeplitz up to its ends, with the spectrum

    h(omega) = sum_j w_j / (x_j^2 + 4 (1 - x_j) sin^2(omega / 2)),   x_j = eta lambda_j,

and the best Toeplitz C has |C|^2 = h^{1/2} (Cauchy-Schwarz). Rates x_j + 1/T in the place of x_j say that the run ends.

>>> objective = Objective(np.array([1.0]), 1000, eta=0.5)
>>> c = spectral(objective, regularised=False).inverse_coefficients(3)
>>> (c / c[0]).round(9).tolist()  # (1 - z / 2)^{-1/2}
[1.0, 0.25, 0.09375]
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count
from dpbounds.ftrl.correlations import ToeplitzCorrelation, from_power_spectrum, from_resonances
from dpbounds.ftrl.design.mechanisms.bands import Bands
from dpbounds.ftrl.design.objective import Objective
from dpbounds.ftrl.design.participation import Participation

# What the factorisation of a spectrum without closed form must reach.
TOLERANCE = 1e-9
# Largest x + 1/T: the rates of a resonance stay below 2.
FASTEST = 1.999


@typed
def resonances(objective: Objective, *, regularised: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Weights w_j and rates of h at the mean learning rate, without momentum.

    For batches of m: w_j = eta^2 lambda_j / 2 (2 - x_j) / (2 - (1 + 1/m) x_j), up to a common factor; m = infinity for
    noiseless gradients.
    """
    eta, share = _rate(objective), objective.noise_share
    spectrum, copies = np.unique(objective.eigenvalues, return_counts=True)
    x = eta * spectrum
    weights = 0.5 * eta**2 * copies * spectrum * (2.0 - x) / (2.0 - (1.0 + share) * x)
    return weights, np.minimum(x + regularised / objective.steps, FASTEST)


@typed
def gain_spectrum(objective: Objective, *, regularised: bool = True) -> Callable[[np.ndarray], np.ndarray]:
    """h as a function of the frequency; with momentum mu its terms are eta^2 lambda / 2 over
    |(1 - z)(1 - mu z) + x z|^2, z = e^{-i omega}.
    """
    if objective.momentum == 0:
        weights, rates = resonances(objective, regularised=regularised)

        def gain(omega: np.ndarray) -> np.ndarray:
            s = np.sin(np.asarray(omega, dtype=float) / 2.0) ** 2
            total = np.zeros_like(s)
            for weight, rate in zip(weights, rates, strict=True):
                total += weight / (rate**2 + 4.0 * (1.0 - rate) * s)
            return total

        return gain
    return _heavy_ball(objective, regularised)


def _heavy_ball(objective: Objective, regularised: bool) -> Callable[[np.ndarray], np.ndarray]:
    eta, mu = _rate(objective), objective.momentum
    spectrum, copies = np.unique(objective.eigenvalues, return_counts=True)
    weights = 0.5 * eta**2 * copies * spectrum
    # The slow mode has the rate x / (1 - mu).
    rates = eta * spectrum + regularised * (1.0 - mu) / objective.steps

    def gain(omega: np.ndarray) -> np.ndarray:
        omega = np.asarray(omega, dtype=float)
        z = np.exp(-1j * omega)
        away = 2.0 * np.sin(omega / 2.0) ** 2 + 1j * np.sin(omega)  # 1 - z
        total = np.zeros(omega.shape)
        for weight, rate in zip(weights, rates, strict=True):
            total += weight / np.abs(away * (1.0 - mu * z) + rate * z) ** 2
        return total

    return gain


@typed
def spectral(objective: Objective, *, regularised: bool = True) -> ToeplitzCorrelation:
    """The Toeplitz mechanism with |C|^2 = h^{1/2}: the zeros of h interlace its poles, so C is known in closed form.

    With momentum the outer factor comes from the cepstrum. With a schedule, h is that of the mean learning rate.
    """
    if objective.momentum == 0:
        return from_resonances(*resonances(objective, regularised=regularised), name="spectral")
    gain = gain_spectrum(objective, regularised=regularised)
    return from_power_spectrum(lambda omega: gain(omega) ** -0.5, name="spectral", tolerance=TOLERANCE)


@typed
def cyclic(objective: Objective, participation: Participation, *, regularised: bool = True) -> ToeplitzCorrelation:
    """The Toeplitz mechanism for a record that takes part every b steps: |C|^2 = h^{1/2} / f, f the mean of h^{1/2}
    over the b frequencies omega + 2 pi j / b. Its coefficients have both signs.
    """
    b = participation.separation
    if participation.times == 1:
        return spectral(objective, regularised=regularised)
    gain = gain_spectrum(objective, regularised=regularised)
    shifts = 2.0 * np.pi * np.arange(b) / b

    def decoder_spectrum(omega: np.ndarray) -> np.ndarray:
        omega = np.atleast_1d(omega)
        aliases = np.zeros_like(omega)
        for shift in shifts:
            aliases += np.sqrt(gain(omega + shift))
        return aliases / b / np.sqrt(gain(omega))

    return from_power_spectrum(decoder_spectrum, name=f"cyclic (every {b} steps)", tolerance=TOLERANCE)


@typed
def truncated(correlation: ToeplitzCorrelation, bands: int) -> Bands:
    """The first `bands` coefficients of C; `DomainError` where these alone are not minimum phase."""
    bands = count("bands", bands)
    return Bands(tuple(correlation.inverse_coefficients(bands).tolist()), f"{correlation.name}, {bands} bands")


def _rate(objective: Objective) -> Float[np.ndarray, ""] | float:
    rates = objective.learning_rates
    mean = float(rates.mean())
    if objective.momentum > 0 and not np.allclose(rates, mean):
        raise DomainError("schedule", "a schedule that varies", "one learning rate with momentum", "give eta")
    return mean
