"""Table 1 and Theorem 2.2: linear regression with Gaussian inputs.

Exact values are those of `dpbounds.ftrl.linear_regression.suboptimality` (checked in `beyond`), F with the factor 1/2
of (8). Theorem 2.2 leaves its constants open; here c = 1/3, so that eta Tr H <= 1/3 and eta R^2 <= 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy

from dpbounds.ftrl import correlations, linear_regression
from dpbounds.ftrl.linear_regression import power_law
from verify.checks import Inequality, Rate, Search, Symbolic
from verify.claims import Claim
from verify.domains import Real, Whole

Pairs = Iterator[tuple[str, sympy.Expr]]
Sides = tuple[float, float]


# --- independent noise: Theta(eta d + eta sigma^2 Tr H), for every spectrum ---


def _superadditive() -> Pairs:
    """g(x) = x / (1 - x): g(x) + g(y) <= g(x + y) <= g(s), so sum_j g(x_j) <= s / (1 - s), s = eta Tr H < 1."""
    a, b = sympy.symbols("a b", positive=True)
    x, y = a / (1 + a + b), b / (1 + a + b)
    yield "g(x + y) - g(x) - g(y)", (x + y) / (1 - x - y) - x / (1 - x) - y / (1 - y)


def _two_sided_sgd(upper: int = 2) -> Pairs:
    """F_inf = (eta/4) (N sum 1/(1 - x_j) + sigma^2 sum lambda_j/(1 - x_j)) / (1 - 1/2 sum g(x_j)), s = 2/3 1/(1 + t).

    With sum g <= s/(1 - s) each sum is at most 1/(1 - s) times its value at x = 0.
    """
    t = sympy.symbols("t", positive=True)
    s = sympy.Rational(2, 3) / (1 + t)
    inflation = (1 / (1 - s)) / (1 - s / (1 - s) / 2)
    yield "F_inf (eta/4)^(-1) (d N + sigma^2 Tr H)^(-1) - 1", inflation - 1
    yield "2/(2 - 3 s) - the same", upper / (2 - 3 * s) - inflation


def _sgd_ratio(d: float, alpha: float, share: float, residual: float, edge: float = 2.0) -> Sides:
    """Exact F_inf over (eta/4) (d N + sigma^2 Tr H), scaled so that the claim 1 <= ratio <= 2/(2 - 3 s) reads <= 1."""
    spectrum = power_law(int(d), alpha)
    eta = share / spectrum.sum()
    value = linear_regression.suboptimality(
        correlations.independent(), spectrum, eta, 0.5, clip_norm=np.sqrt(1 - residual), sigma_sgd=np.sqrt(residual)
    )
    ratio = value / (0.25 * eta * ((1 - residual) * d + residual * spectrum.sum()))
    return max(1.0 / ratio, ratio * (2.0 - 3.0 * share) / edge), 1.0


# --- nu-Noisy-FTRL: O((eta^2 log^2(1/nu) + eta sigma^2) Tr H) ---


def _sensitivity_times_power(m, x, share):
    """gamma_inf^2 c(x) / x at nu = share x."""
    nu = x * share
    return m.integral_inverse(nu) / (2 * m.pi) * (2 - x) / (2 * m.pi) * m.integral_ratio(nu, x)


def _log_squared(m, x, share):
    """log^2(1 / nu)."""
    return m.log(1 / (x * share)) ** 2


def product_of_logarithms() -> Inequality:
    """gamma_inf^2 c(x) <= 2 x log^2(1/nu) for nu <= x <= 1/3. With F_inf <= 2/(2 - eta R^2) (eta/4) N sum_j c_j, the
    trace of the recursion, it gives F_inf <= 1/2 eta^2 G^2/rho log^2(1/nu) Tr H for eta R^2 <= 1.
    """
    return Inequality(
        smaller=_sensitivity_times_power,
        larger=lambda m, x, share: 2 * _log_squared(m, x, share),
        box={"x": Real(1e-12, 1 / 3, "log"), "share": Real(1e-12, 1.0, "log")},
        impostors={"constant 1.8": {"larger": lambda m, x, share: m.number("1.8") * _log_squared(m, x, share)}},
    )


def _nu_constant(d: float, alpha: float, share: float, damping: float, constant: float = 0.5) -> Sides:
    """Exact F_inf without residuals, G^2 = rho = 1, against constant eta^2 log^2(1/nu) Tr H, nu = damping eta mu."""
    spectrum = power_law(int(d), alpha)
    eta = share / spectrum.sum()
    nu = damping * eta * spectrum.min()
    value = linear_regression.suboptimality(correlations.nu(nu), spectrum, eta, 1.0)
    return float(value), constant * eta**2 * np.log(1 / nu) ** 2 * spectrum.sum()


def nu_ratios(decades: float, power: float = 2.0) -> Iterator[tuple[str, float]]:
    """Exact F_inf over eta^2 log^2(1/nu) Tr H: eta -> 0, nu -> 0 at fixed eta, mu -> 0, d -> infinity."""
    far = 10.0**-decades
    for label, spectrum, eta, damping in (
        ("eta -> 0", power_law(100, 1.0), 0.05 * far, 1.0),
        ("nu -> 0", power_law(100, 1.0), 0.05, far),
        ("mu -> 0", np.array([1.0, far]), 0.1, 1.0),
        ("mu -> 0, many", np.concatenate([[1.0], np.full(1000, 1e-3 * far)]), 0.1, 1.0),
        ("d -> infinity", power_law(round(10 ** (decades / 2)), 0.5), 0.3 / 10 ** (decades / 4 + 0.5), 1.0),
    ):
        nu = damping * eta * spectrum.min()
        value = linear_regression.suboptimality(correlations.nu(nu), spectrum, eta, 1.0)
        yield label, float(value / (eta**2 * np.log(1 / nu) ** power * spectrum.sum()))


def _residual_part() -> Pairs:
    """The residual part is that of independent noise, at most 2/(2 - 3 s) eta sigma^2 Tr H / 4; s <= 1/3."""
    t = sympy.symbols("t", positive=True)
    s = sympy.Rational(1, 3) / (1 + t)
    yield "1/2 - 2/(2 - 3 s) / 4", sympy.Rational(1, 2) - 2 / (2 - 3 * s) / 4


# --- every correlation: Omega((eta^2 + eta sigma^2) Tr H) ---


def _elementary(constant: int = 1) -> Pairs:
    """gamma_inf^2 c(x) >= x (2 - x) (mean 1/E_x)^2 >= x (2 - x) / mean E_x^2 >= x by Cauchy-Schwarz and Jensen;
    x = 1/(1 + t).
    """
    t, omega = sympy.symbols("t omega", positive=True)
    x = 1 / (1 + t)
    distance_squared = x**2 + 4 * (1 - x) * sympy.sin(omega / 2) ** 2
    mean = sympy.integrate(sympy.expand(distance_squared), (omega, -sympy.pi, sympy.pi)) / (2 * sympy.pi)
    yield "x (2 - x) / mean E_x^2 - x", sympy.simplify(x * (2 - x) / mean - constant * x)


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


def _every_correlation(
    reflection: np.ndarray, spectrum: np.ndarray, share: float, residual: float, constant: float = 1.0
) -> Sides:
    """(eta sigma^2 / 4 + eta^2 G^2 / (8 rho)) Tr H against exact F_inf, eta R^2 = 2 share; G^2 + sigma^2 = 1."""
    eta = 2.0 * share / linear_regression.gaussian_r_squared(spectrum)
    value = linear_regression.suboptimality(
        correlations.from_coefficients(minimum_phase(reflection)),
        spectrum,
        eta,
        0.5,
        clip_norm=np.sqrt(1 - residual),
        sigma_sgd=np.sqrt(residual),
    )
    return constant * 0.25 * (eta * residual + eta**2 * (1 - residual)) * spectrum.sum(), float(value)


CORRELATIONS = {
    "reflection": (Real(-0.999, 0.999), 4),
    "spectrum": (Real(1e-4, 1.0, "log"), 4),
    "share": Real(1e-4, 0.999, "log"),
}


def _optimal_weights() -> Iterator[dict[str, Any]]:
    """One direction and the first weights of nu-Noisy-FTRL at nu = eta mu, where the bound is nearest."""
    for x in (0.25, 0.3, 0.35):
        reflection = correlations.from_coefficients(correlations.nu(x).coefficients(5)).reflection_coefficients()[::-1]
        yield {"reflection": reflection, "spectrum": np.array([1.0, 1e-9, 1e-9, 1e-9]), "share": 1.5 * x}


def _independent_residuals() -> Iterator[dict[str, Any]]:
    """Small steps and residuals alone."""
    yield {"reflection": np.zeros(4), "spectrum": np.ones(4), "share": 1e-4, "residual": 1.0 - 1e-9}


def _privacy_bound() -> Search:
    """The term in rho alone."""
    return Search(
        sides=lambda **point: _every_correlation(**point, residual=0.0),
        box=CORRELATIONS,
        extremal=_optimal_weights,
        impostors={"6 times": {"sides": lambda **point: _every_correlation(**point, residual=0.0, constant=6.0)}},
    )


def _both_terms() -> Search:
    return Search(
        sides=_every_correlation,
        box={**CORRELATIONS, "residual": Real(0.0, 0.999)},
        extremal=_independent_residuals,
        impostors={"5 % larger": {"sides": lambda **point: _every_correlation(**point, constant=1.05)}},
    )


# --- the ratio column of Table 1 ---


def _sgd_column(power: int = 1) -> Pairs:
    """eta d over the lower bound eta^2 d_eff, less the printed ratio."""
    eta, d, effective = sympy.symbols("eta d d_eff", positive=True)
    yield "ratio column, Noisy-SGD", eta * d / (eta**2 * effective) - d / (eta**power * effective)


def _nu_column(power: int = 2) -> Pairs:
    eta, mu, effective = sympy.symbols("eta mu d_eff", positive=True)
    logarithm = sympy.log(1 / (eta * mu))
    error = eta**2 * effective * logarithm**2
    yield "ratio column, nu-Noisy-FTRL", error / (eta**2 * effective) - logarithm**power


CLAIMS = (
    Claim(
        id="ftrl/tab-1-lower",
        where="Table 1, row 1",
        kind="mc-rate",
        statement="$F_oo = Omega(eta^2 rho^(-1) d_(e f f))$ for every correlation with $norm(beta)_1 < oo$.",
        hypotheses='Gaussian inputs, $G = lambda_1 = 1$, so that $d_(e f f) = op("Tr") H$; holds with constant 1\\/8.',
        checks=(
            Symbolic(nonnegative=_elementary, impostors={"twice x": {"nonnegative": lambda: _elementary(2)}}),
            _privacy_bound(),
        ),
    ),
    Claim(
        id="ftrl/tab-1-sgd",
        where="Table 1, row 2",
        kind="mc-rate",
        statement=(
            "Noisy-SGD: $F_oo = Theta(eta rho^(-1) d)$, which is $d \\/ (eta d_(e f f))$ times the lower bound."
        ),
        hypotheses=(
            'Gaussian inputs, $G = lambda_1 = 1$, $s = eta op("Tr") H <= c < 2\\/3$; constants 1\\/8 and $1\\/(8 - 12 '
            "s)$."
        ),
        checks=(
            Symbolic(
                residuals=_sgd_column,
                nonnegative=lambda: (*_superadditive(), *_two_sided_sgd()),
                impostors={
                    "upper constant 1/(2 - 3 s)": {"nonnegative": lambda: _two_sided_sgd(1)},
                    "ratio without eta": {"residuals": lambda: _sgd_column(0)},
                },
            ),
            Search(
                sides=lambda d, alpha, share: _sgd_ratio(d, alpha, share, 0.0),
                box={"d": Whole(1, 1000, "log"), "alpha": Real(0.0, 3.0), "share": Real(1e-6, 0.3, "log")},
                impostors={
                    "5 % off": {"sides": lambda d, alpha, share: _sgd_ratio(d, alpha, share, 0.0, 1.9)},
                },
            ),
        ),
    ),
    Claim(
        id="ftrl/tab-1-nu",
        where="Table 1, row 3",
        kind="mc-rate",
        statement=(
            "$nu$-Noisy-FTRL: $F_oo = O(eta^2 rho^(-1) d_(e f f) log^2 1/(eta mu))$, which is $log^2 1/(eta mu)$ times "
            "the lower bound."
        ),
        hypotheses='Gaussian inputs, $G = lambda_1 = 1$, $nu = eta mu$, $eta op("Tr") H <= 1\\/3$; constant 1\\/2.',
        checks=(
            Symbolic(residuals=_nu_column, impostors={"single logarithm": {"residuals": lambda: _nu_column(1)}}),
            product_of_logarithms(),
            Rate(
                ratios=nu_ratios,
                relation="upper",
                impostors={"single logarithm": {"ratios": lambda decades: nu_ratios(decades, 1.0)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/thm-2.2-sgd",
        where="Theorem 2.2",
        kind="mc-rate",
        statement=(
            'Noisy-SGD: $F_oo = Theta(eta d G^2 rho^(-1) + eta sigma_s^2 op("Tr") H)$ for $eta <= c\\/op("Tr") H$.'
        ),
        hypotheses=(
            'Gaussian inputs. Any $c < 2\\/3$ will do: $F_oo$ is between 1 and $2\\/(2 - 3 eta op("Tr") H)$ times '
            '$eta/4 (d G^2\\/(2 rho) + sigma_s^2 op("Tr") H)$; at $d = 1$ the upper end is exact and diverges at 2\\/3.'
        ),
        checks=(
            Symbolic(
                nonnegative=lambda: (*_superadditive(), *_two_sided_sgd()),
                impostors={"upper constant 1/(2 - 3 s)": {"nonnegative": lambda: _two_sided_sgd(1)}},
            ),
            Search(
                sides=_sgd_ratio,
                box={
                    "d": Whole(1, 1000, "log"),
                    "alpha": Real(0.0, 3.0),
                    "share": Real(1e-9, 0.6666, "log"),
                    "residual": Real(0.0, 0.9999),
                },
                impostors={"5 % off": {"sides": lambda **point: _sgd_ratio(**point, edge=1.9)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/thm-2.2-nu",
        where="Theorem 2.2",
        kind="mc-rate",
        statement=(
            '$nu$-Noisy-FTRL: $F_oo <= C_1 (eta^2 G^2 rho^(-1) log^2 1/nu + eta sigma_s^2) op("Tr") H$ for $nu <= eta '
            'mu$, $eta <= c\\/op("Tr") H$.'
        ),
        hypotheses=(
            "Gaussian inputs; holds with $c = 1\\/3$, $C_1 = 1\\/2$, because $gamma_oo^2 c_j <= 2 x_j log^2 1/nu$ for "
            "$nu <= x_j = eta lambda_j <= 1\\/3$ and $2\\/(2 - eta R^2) <= 2$. For $nu -> 0$ at fixed $eta$ one "
            "logarithm would do; $log 1/nu$ stays away from 0 because $nu <= c < 1$."
        ),
        checks=(
            product_of_logarithms(),
            Symbolic(nonnegative=_residual_part),
            Search(
                sides=_nu_constant,
                box={
                    "d": Whole(1, 1000, "log"),
                    "alpha": Real(0.0, 3.0),
                    "share": Real(1e-9, 1 / 3, "log"),
                    "damping": Real(1e-12, 1.0, "log"),
                },
                impostors={"a fifth": {"sides": lambda **point: _nu_constant(**point, constant=0.1)}},
            ),
            Rate(
                ratios=nu_ratios,
                relation="upper",
                impostors={"single logarithm": {"ratios": lambda decades: nu_ratios(decades, 1.0)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/thm-2.2-lower",
        where="Theorem 2.2",
        kind="mc-rate",
        statement=(
            '$F_oo (beta) >= C_2 (eta^2 G^2 rho^(-1) + eta sigma_s^2) op("Tr") H$ for every correlation with '
            "$norm(beta)_1 < oo$."
        ),
        hypotheses=(
            "Gaussian inputs; holds with 1\\/8 in front of $eta^2 G^2 rho^(-1)$ and 1\\/4 in front of $eta sigma_s^2$."
        ),
        checks=(
            Symbolic(nonnegative=_elementary, impostors={"twice x": {"nonnegative": lambda: _elementary(2)}}),
            _both_terms(),
        ),
    ),
)
