"""Spectra of runs that end, and of records taken once and twice; bands whose zeros are near the circle."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpbounds.ftrl.design import Objective, Participation, cyclic, spectral, truncated
from dpbounds.ftrl.design.mechanisms.spectral import gain_spectrum, resonances
from verify.checks import Fact, Holds, refused

OMEGA = np.linspace(0.0, 2.0 * np.pi, 25)
EIGENVALUES, COPIES = np.array([1.0, 0.4, 0.05]), np.array([1, 2, 1])


def endings(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Rates x + 1/T, of heavy ball x / (1 - mu) + 1/T for the slow mode; below 2 all the same."""
    del rng
    eigenvalues = np.repeat(EIGENVALUES, COPIES)
    for T, eta, most in ((40, 0.3, 2.0), (400, 0.3, 2.0), (10, 1.95, 1.999)):
        run = Objective(eigenvalues, T, eta, noiseless=True)
        for regularised in (True, False):
            x = np.sort(EIGENVALUES) * eta
            weights, rates = resonances(run, regularised=regularised)
            label = f"{T} steps, eta = {eta:g}, ending: {regularised}"
            yield Fact(f"weights, {label}", weights, 0.5 * eta * x * COPIES[[0, 1, 2]])
            yield Fact(f"rates, {label}", rates, np.minimum(x + 1 / T, most) if regularised else x, 1e-15)
            parts = [w / abs(1 - (1 - r) * np.exp(1j * OMEGA)) ** 2 for w, r in zip(weights, rates, strict=True)]
            yield Fact(f"gain, {label}", gain_spectrum(run, regularised=regularised)(OMEGA), sum(parts), 1e-9)
    for m in (1, 4):
        weights, _ = resonances(Objective(EIGENVALUES, 40, 0.3, batch_size=m))
        x = 0.3 * np.sort(EIGENVALUES)
        stated = 0.15 * x * (2 - x) / (2 - x - x / m)
        yield Fact(f"weights, batches of {m}", weights, stated)
    for mu in (0.2, 0.9):
        run, z = Objective(eigenvalues, 50, 0.3, noiseless=True, momentum=mu), np.exp(-1j * OMEGA)
        for regularised in (True, False):
            total = np.zeros(len(OMEGA))
            for one in eigenvalues:
                slow = 0.3 * one / (1 - mu) + (0.02 if regularised else 0.0)
                total += 0.5 * 0.3**2 * one / abs((1 - z) * (1 - mu * z) + (1 - mu) * slow * z) ** 2
            label = f"gain, momentum {mu:g}, ending: {regularised}"
            yield Fact(label, gain_spectrum(run, regularised=regularised)(OMEGA), total, 1e-11)
        made = spectral(run)
        yield Fact(f"|B|^2, momentum {mu:g}", made.power_spectrum(OMEGA), gain_spectrum(run)(OMEGA) ** -0.5, 1e-8)
    yield from _taken()


def _taken() -> Iterator[Fact | Holds]:
    """Once, the mechanism of long runs; twice and more, |B|^2 = f h^{-1/2}, f a mean; a mean learning rate."""
    run = Objective(EIGENVALUES, 60, 0.4)
    once = cyclic(run, Participation.single())
    yield Fact("taken once", once.inverse_coefficients(60), spectral(run).inverse_coefficients(60), 1e-12)
    for times, b in ((2, 7), (3, 2)):
        for regularised in (True, False):
            made = cyclic(run, Participation.cyclic(times, b), regularised=regularised)
            gain = gain_spectrum(run, regularised=regularised)
            mean = np.mean([np.sqrt(gain(OMEGA + 2 * np.pi * j / b)) for j in range(b)], axis=0)
            label = f"|B|^2, taken {times} times, {b} apart, ending: {regularised}"
            yield Fact(label, made.power_spectrum(OMEGA), mean / np.sqrt(gain(OMEGA)), 1e-8)
    rates = np.linspace(0.6, 0.2, 60)
    falling = Objective(EIGENVALUES, 60, schedule=rates)
    yield Fact("a schedule", gain_spectrum(falling)(OMEGA), gain_spectrum(run)(OMEGA), 1e-12)
    heavy = Objective(EIGENVALUES, 60, schedule=rates, noiseless=True, momentum=0.5)
    yield refused("a schedule with momentum", "schedule", lambda: spectral(heavy))
    cut = truncated(once, 3)
    yield Fact("cut", cut.inverse_coefficients(5), [*once.inverse_coefficients(3), 0.0, 0.0])
    yield Holds("its name", cut.name == "spectral, 3 bands")
    yield refused("no coefficients", "bands", lambda: truncated(once, 0))
