"""The paper's rates, constants set to 1: ftrl Theorem 2.2, Tables 1, 2 and 4.

A rate is a claim about shape: compare it with exact values by boundedness of the ratio over a sweep, never by
difference.

>>> power_law(3, 1.0).round(3).tolist(), round(effective_dimension(power_law(3, 1.0)), 3)
([1.0, 0.5, 0.333], 1.833)
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import LARGEST_SPECTRUM, DomainError, choice, count, moderate, moderate_or_zero, vector, within
from dpbounds.ftrl.linear_regression.settings import Regression
from dpbounds.values import Value

Mechanism = Literal["independent", "nu", "lower", "damped anti-PGD"]


def effective_dimension(eigenvalues: Float[np.ndarray, " d"]) -> float:
    """d_eff = Tr(H) / lambda_1, the stable rank of H^{1/2}: ftrl Section C.6; between 1 and d."""
    spectrum = vector("eigenvalues", eigenvalues, above=0.0)
    return float((spectrum / spectrum.max()).sum())


def condition_number(eigenvalues: Float[np.ndarray, " d"]) -> float:
    """kappa = lambda_1 / lambda_d, largest over smallest."""
    spectrum = vector("eigenvalues", eigenvalues, above=0.0)
    return float(spectrum.max() / spectrum.min())


def geometric(d: int, kappa: float) -> Float[np.ndarray, " d"]:
    """d eigenvalues from 1 down to 1 / kappa, each the same factor below the one before. Raises `DomainError` for kappa
    below 1, and for one eigenvalue with kappa above 1.
    """
    d, kappa = count("d", d, most=LARGEST_SPECTRUM), moderate("kappa", kappa)
    if kappa < 1 or (d == 1 and kappa > 1):
        allowed = "a condition number of at least 1" if kappa < 1 else "1 for a single eigenvalue"
        raise DomainError("kappa", kappa, allowed)
    return np.geomspace(1.0, 1.0 / kappa, d)


def power_law(d: int, exponent: float) -> Float[np.ndarray, " d"]:
    """lambda_k = k^{-exponent}, k = 1, ..., d: the spectra of ftrl Table 4 and Fig. 2."""
    return np.arange(1, count("d", d, most=LARGEST_SPECTRUM) + 1, dtype=float) ** -moderate_or_zero(
        "exponent", exponent
    )


@typed
def rate(mechanism: Mechanism, problem: Regression, *, nu: float | None = None) -> Value:
    """Right side of ftrl Thm 2.2 (`independent`, `nu`, `lower`) or of Table 2 (`damped anti-PGD`), constants 1.

    With t = Tr H: eta d G^2/rho + eta sigma^2 t | (eta^2 G^2/rho log^2(1/nu) + eta sigma^2) t | (eta^2 G^2/rho + eta
    sigma^2) t | eta^{3/2} G^2/rho sqrt(d t) + eta sigma^2 t. Default nu: eta mu.
    """
    choice("mechanism", mechanism, get_args(Mechanism))
    d, eta, trace = len(problem.eigenvalues), problem.eta, problem.trace
    privacy = problem.clip_norm**2 / problem.rho
    damping = within("nu", problem.decay.min() if nu is None else nu, "(0, 1]") if mechanism == "nu" else 1.0
    per_budget = {
        "independent": eta * d,
        "nu": eta**2 * trace * np.log(1.0 / damping) ** 2,
        "lower": eta**2 * trace,
        "damped anti-PGD": eta**1.5 * np.sqrt(d * trace),
    }
    value = privacy * per_budget[mechanism] + eta * problem.residual_variance * trace
    source = "ftrl Table 2" if mechanism == "damped anti-PGD" else "ftrl Thm 2.2"
    return Value(value, kind="asymptotic", source=source)
