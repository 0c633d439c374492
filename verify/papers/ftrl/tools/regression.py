"""What several claims on the stationary error of linear regression share: weights, the function h, the error of
nu-Noisy-FTRL.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy

from dpbounds.circle.quadrature import circle_nodes
from dpbounds.ftrl import correlations, linear_regression
from dpbounds.ftrl.linear_regression import Regression, power_law
from verify.checks import Inequality, Rate, Symbolic
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


def _nearer(power: int = 1) -> Pairs:
    """(1 - nu)/(1 - x) E_x^2 - E_nu^2, the same in all frequencies, for nu = x/(1 + t), x = 1/(1 + r)."""
    t, r, s = sympy.symbols("t r s", positive=True)
    x = 1 / (1 + r)
    nu = x / (1 + t)
    first, second = ((y**2 + 4 * (1 - y) * s) for y in (nu, x))
    yield "$E_nu^2$ against $E_x^2$", (1 - nu) / (1 - x) * second - first * power


def _small_nu(m, ell, start: str = "9/5"):
    """(4 / pi) arsinh(q^(-1/2)) at most, nu = e^-ell <= 1/5."""
    return 4 / m.pi * (m.log(1 + m.sqrt(m.number("8/5"))) + (ell - m.log(m.number(start))) / 4)


def product_of_logarithms() -> tuple[Symbolic | Inequality, ...]:
    """The proofs of gamma_inf^2 c(x) <= 2 x log^2(1/nu) for nu <= x <= 1/3; `LOGARITHMS` joins them."""
    return (
        Symbolic(nonnegative=_nearer, impostors={"twice E_nu^2": {"nonnegative": {"power": 2}}}),
        Inequality(
            smaller=_small_nu,
            larger=lambda m, ell: m.sqrt(m.sqrt(m.number("24/25"))) * ell,
            box={"ell": Real(1.6, 2.0)},
            impostors={"without 9/5": {"smaller": {"start": "1/5"}}},
        ),
        Inequality(
            smaller=_sensitivity_times_power,
            larger=_log_squared,
            box={"x": Real(0.2, 1 / 3), "share": Real(0.6, 1.0)},
            impostors={"constant 1.8": {"larger": {"factor": "1.8"}}},
        ),
    )


LOGARITHMS = (
    "Let $c_j = chevron.l beta, T_j beta chevron.r$, $x = eta lambda_j$, $nu <= x <= 1\\/3$, $E_y = abs(1 - y - e^(i "
    "omega))$ and $M(y)$ the mean of $1\\/E_y$ over the circle. Then $gamma_oo^2 = M(nu)$, which is $2\\/pi K(1 - nu)$ "
    "(Lemma F.15 and Landen), $c_j$ is $x (2 - x)$ times the mean of $E_nu\\/E_x^2$, and $E_nu <= sqrt((1 - nu)\\/(1 - "
    "x)) E_x$ (check), so $gamma_oo^2 c_j <= x M(nu) M(x) (2 - x)\\/sqrt(1 - x)$, where $M$ falls and $(2 - x)^2\\/(1 "
    "- x) <= 25\\/6$. For $nu <= 1\\/5$, $q = sqrt(nu (2 - nu))$, $M(nu) = 2\\/pi integral_0^oo dif t\\/sqrt((1 + t^2) "
    "(1 + q^2 t^2)) <= 4\\/pi integral_0^(1\\/sqrt(q)) dif t\\/sqrt(1 + t^2) = 4\\/pi log((1 + sqrt(1 + "
    "q))\\/sqrt(q))$, as $t -> 1\\/(q t)$ maps the halves; with $q <= 3\\/5$, $q^2 >= 9\\/5 nu$ it is at most "
    "$(24\\/25)^(1\\/4) log(1\\/nu)$: both sides are linear in $log(1\\/nu)$, the left rises more slowly, and they are "
    "certified about $log 5$. So $gamma_oo^2 c_j <= 2 x log^2(1\\/nu)$, and for $1\\/5 <= nu <= x$ it is certified. "
    'The trace of the stationary recursion (`ftrl/thm-c.14`) is $(2 - eta R^2) op("Tr")[H S] <= eta sigma_s^2 op("Tr") '
    'H + eta G^2 gamma_oo^2 sum_j c_j\\/(2 rho)$, with $eta R^2 <= 3 eta op("Tr") H <= 1$, so $F_oo = op("Tr")[H '
    'S]\\/2 <= 1\\/2 (eta sigma_s^2 + eta^2 G^2 rho^(-1) log^2(1\\/nu)) op("Tr") H$. '
)
LOGARITHMS_BY = ("independence", "Parseval", "substitution", "monotony", "linearity", "Loewner monotony")


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
    return Rate(
        ratios=_ratios,
        relation="upper",
        impostors={"single logarithm": {"ratios": {"power": 1.0}}},
        role="control",
    )
