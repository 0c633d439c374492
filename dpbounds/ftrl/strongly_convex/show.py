"""Bounds as a notebook shows them: in a line, as a table, as a picture.

>>> from dpbounds.ftrl.correlations import nu
>>> noise_name(Noise(correlation=nu(0.5), rho=0.5))
'nu-DP-FTRL (nu=0.5)'
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any, Protocol

import numpy as np
from jaxtyping import Float

from dpbounds.ftrl.strongly_convex.noise import Noise, NoiseSpectrum
from dpbounds.ftrl.strongly_convex.programs import Program
from dpbounds.showing import html_table, rounded
from dpbounds.values import Value

# Frequencies of a picture, from this share of eta mu to pi.
POINTS, SLOWEST = 400, 0.1


class Bounded(Protocol):
    """What is shown of a bound: the fields of these names of `ConvexBound`."""

    @property
    def program(self) -> Program:
        """The program."""
        ...

    @property
    def noise(self) -> NoiseSpectrum:
        """The noise."""
        ...

    @property
    def value(self) -> Value:
        """Of the program."""
        ...

    @property
    def lower(self) -> Value:
        """Of the worst quadratic."""
        ...

    @property
    def best(self) -> Value:
        """The least upper end."""
        ...

    @property
    def ratio(self) -> float:
        """best / lower."""
        ...

    def psi(self, omega: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """The multiplier's gain by frequency."""
        ...


def line(found: Bounded) -> str:
    """Both ends, rounded outwards, and what they are of."""
    program = found.program
    if program.name == "paper":
        return f"ConvexBound({rounded(found.value):g}, ftrl eq. (10) as printed, not a bound; {_of(found)})"
    lower, upper, ratio = rounded(found.lower, "lower"), rounded(found.best, "upper"), rounded(found.ratio, "upper", 3)
    return f"ConvexBound({lower:g} <= sup F_inf <= {upper:g}, {status(found)}, ratio {ratio:g}; {_of(found)})"


def table(bounds: Mapping[str, Bounded]) -> str:
    """An HTML table with a row for each bound, under its name."""
    return html_table([{"noise": name, **_row(found)} for name, found in bounds.items()])


def html(found: Bounded) -> str:
    """The row of one bound, and the constants below."""
    return f"{table({noise_name(found.noise): found})}<p>{escape(_of(found, whole=True))}</p>"


def plot(found: Bounded, axes: Any = None) -> Any:
    """The noise spectrum S and psi over frequency: the value of the program is its prefactor times eta^2 mean(S psi).

    Draws on `axes` of matplotlib, by default on new ones, and returns them.
    """
    if axes is None:
        from matplotlib import pyplot

        _, axes = pyplot.subplots()
    omega = np.geomspace(SLOWEST * min(found.program.eta * found.program.mu, 1.0), np.pi, POINTS)
    density = found.noise.density(np.sin(omega / 2.0) ** 2)
    axes.loglog(omega, density, label=f"S, {noise_name(found.noise)}")
    axes.loglog(omega, found.psi(omega), "--", label=f"psi, program {found.program.name}")
    axes.set_xlabel("frequency")
    axes.set_title(line(found).removeprefix("ConvexBound(").partition(";")[0], fontsize="medium")
    axes.legend()
    return axes


def status(found: Bounded) -> str:
    """Whether both ends are proved."""
    return "certified" if found.best.certified and found.lower.certified else "estimate"


def noise_name(noise: NoiseSpectrum) -> str:
    """What pictures call it."""
    return noise.correlation.name if isinstance(noise, Noise) else "a given density"


def _row(found: Bounded) -> dict[str, object]:
    if found.program.name == "paper":
        shown = {"lower": float(found.lower), "upper": float("nan"), "ratio": float("nan"), "status": "not a bound"}
    else:
        shown = {
            "lower": rounded(found.lower, "lower"),
            "upper": rounded(found.best, "upper"),
            "ratio": rounded(found.ratio, "upper"),
            "status": status(found),
        }
    return {**shown, "program": found.program.name}


def _of(found: Bounded, *, whole: bool = False) -> str:
    """Noise and constants; those that are as they are by default only in the `whole`."""
    program, noise = found.program, found.noise
    words = [noise_name(noise), f"program {program.name}"]
    words += [f"{name} = {getattr(program, name):g}" for name in ("mu", "L", "eta")]
    if isinstance(noise, Noise):
        rest = {"rho": None, "d": 1, "clip_norm": 1.0, "sigma_sgd": 0.0}
        given = {name: getattr(noise, name) for name in rest}
        words += [f"{name} = {value:g}" for name, value in given.items() if whole or value != rest[name]]
    return ", ".join(words)
