"""What several claims on the stationary error of linear regression share: weights, the function h, the error of
nu-Noisy-FTRL.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dpbounds.circle.quadrature import circle_nodes
from dpbounds.ftrl import correlations, linear_regression
from dpbounds.ftrl.linear_regression import Regression, power_law
from verify.checks import Inequality, Rate
from verify.checks.domains import Real

Pairs = Iterator[tuple[Any, ...]]
Sides = tuple[Any, Any]

OMEGA, WEIGHTS = circle_nodes()


def minimum_phase(reflection: np.ndarray) -> np.ndarray:
    """Weights with these reflection coefficients along the last axis, all inside (-1, 1): every minimum-phase sequence
    of that length with beta_0 = 1; then gamma_inf^2 = prod 1 / (1 - k^2).
    """
    beta = np.ones((*reflection.shape[:-1], 1))
    for k in np.moveaxis(reflection, -1, 0):
        zero = np.zeros_like(beta[..., :1])
        turned = np.concatenate([zero, beta[..., ::-1]], axis=-1)
        beta = np.concatenate([beta, zero], axis=-1) + k[..., None] * turned
    return beta


def distance_squared(x: Any) -> np.ndarray:
    """|1 - x - e^{i omega}|^2 at the quadrature's nodes, x along the first axes."""
    x = np.asarray(x)[..., None]
    return x**2 + 4 * (1 - x) * np.sin(OMEGA / 2) ** 2


def h(eigenvalues: np.ndarray, eta: np.ndarray | float) -> np.ndarray:
    """h of ftrl eq. (21) at the nodes, eigenvalues (..., d), eta (...)."""
    x = np.asarray(eta)[..., None] * eigenvalues
    return np.sum(np.asarray(eigenvalues)[..., None] / distance_squared(x), axis=-2)


def spectrum(beta: np.ndarray) -> np.ndarray:
    """|B|^2 at the nodes, weights along the last axis."""
    return np.abs(beta @ np.exp(1j * np.outer(np.arange(beta.shape[-1]), OMEGA))) ** 2


# --- nu-Noisy-FTRL ---


def _sensitivity_times_power(m, x, share):
    """gamma_inf^2 c(x) / x at nu = share x."""
    nu = x * share
    return m.integral_inverse(nu) / (2 * m.pi) * (2 - x) / (2 * m.pi) * m.integral_ratio(nu, x)


def _log_squared(m, x, share, factor: Any = 2):
    """2 log^2(1 / nu)."""
    return m.number(factor) * m.log(1 / (x * share)) ** 2


def product_of_logarithms() -> Inequality:
    """gamma_inf^2 c(x) <= 2 x log^2(1/nu) for nu <= x <= 1/3. With F_inf <= 2/(2 - eta R^2) (eta/4) N sum_j c_j, the
    trace of the recursion, it gives F_inf <= 1/2 eta^2 G^2/rho log^2(1/nu) Tr H for eta R^2 <= 1.
    """
    return Inequality(
        smaller=_sensitivity_times_power,
        larger=_log_squared,
        box={"x": Real(1e-12, 1 / 3, "log"), "share": Real(1e-12, 1.0, "log")},
        impostors={"constant 1.8": {"larger": {"factor": "1.8"}}},
    )


def _ratios(decades: float, power: float = 2.0) -> Iterator[tuple[str, float]]:
    """Exact F_inf over eta^2 log^2(1/nu) Tr H: eta -> 0, nu -> 0 at fixed eta, mu -> 0, d -> infinity."""
    far = 10.0**-decades
    for label, eigenvalues, eta, damping in (
        ("eta -> 0", power_law(100, 1.0), 0.05 * far, 1.0),
        ("nu -> 0", power_law(100, 1.0), 0.05, far),
        ("mu -> 0", np.array([1.0, far]), 0.1, 1.0),
        ("mu -> 0, many", np.concatenate([[1.0], np.full(1000, 1e-3 * far)]), 0.1, 1.0),
        ("d -> infinity", power_law(round(10 ** (decades / 2)), 0.5), 0.3 / 10 ** (decades / 4 + 0.5), 1.0),
    ):
        nu = damping * eta * eigenvalues.min()
        value = linear_regression.suboptimality(
            correlations.nu(nu), Regression(eigenvalues=eigenvalues, eta=eta, rho=1.0)
        )
        rate = linear_regression.rate("nu", Regression(eigenvalues=eigenvalues, eta=eta, rho=1.0), nu=nu)
        yield label, float(value / rate) * np.log(1 / nu) ** (2.0 - power)


def two_logarithms() -> Rate:
    """F_inf = O(eta^2 G^2/rho log^2(1/nu) Tr H) in every direction."""
    return Rate(ratios=_ratios, relation="upper", impostors={"single logarithm": {"ratios": {"power": 1.0}}})
