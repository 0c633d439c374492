"""Bounds with constants for every law of the inputs: what the recursion of second moments gives for Theorem 2.2.

F has the factor 1/2 of (8), R^2 is the least number with E ||x||^2 x x^T <= R^2 H, x_j = eta lambda_j, c_j = sum_{t,s}
beta_t beta_s (1 - x_j)^|t-s|, N = G^2 gamma_inf^2 / (2 rho).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpbounds.ftrl import correlations, linear_regression
from dpbounds.ftrl.linear_regression import power_law
from verify.checks import Agreement, Fact, Inequality, Level, Search
from verify.claims import Claim
from verify.domains import Real, Whole
from verify.ftrl.claims import moments
from verify.ftrl.claims.beyond import OURS
from verify.ftrl.claims.law_batches import Systems, planar
from verify.ftrl.claims.regression_rates import Sides, minimum_phase

Batch = tuple[np.ndarray, np.ndarray]

# Weights of nu-Noisy-FTRL that are kept in brute force: at nu >= 0.01 the rest sums to less than 1e-4.
TERMS = 500
PLANAR = {"second": Real(1e-3, 1.0, "log"), "atoms": (Real(-1.0, 1.0), 6), "weights": (Real(0.05, 1.0), 5)}
# Of searches beside a certificate.
SUPPLEMENT: dict[Level, int] = {"quick": 3000, "full": 20_000}
NU_BOX = {"x": Real(1e-12, 1.0, "log"), "share": Real(1e-12, 1.0, "log")}


# --- any inputs: the trace of the recursion ---


def _any_law(
    second: np.ndarray,
    atoms: np.ndarray,
    weights: np.ndarray,
    reflection: np.ndarray,
    share: np.ndarray,
    residual: np.ndarray,
    factor: float = 1.0,
) -> Batch:
    """F_inf by brute force inside `trace_bounds`, laws of five atoms and their mirror images, eta R^2 = 2 share."""
    laws = planar(second, atoms, weights)
    R_squared, beta = laws.r_squared(), minimum_phase(reflection)
    eta = np.minimum(2.0 * share / R_squared, 1.0)
    noise = (1.0 - residual) / np.prod(1.0 - reflection**2, axis=1)
    exact = 0.5 * Systems(laws, eta, beta, noise, residual).doubled_suboptimality()
    low, high = np.array(
        [
            linear_regression.trace_bounds(
                correlations.from_coefficients(beta[row]),
                laws.eigenvalues[row],
                eta[row],
                0.5,
                clip_norm=np.sqrt(1.0 - residual[row]),
                sigma_sgd=np.sqrt(residual[row]),
                R_squared=R_squared[row],
            )
            for row in range(len(eta))
        ]
    ).T
    return np.maximum(factor * low / exact, exact / high), np.ones_like(exact)


def _attained(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """Entries +-1 make ||x||^2 constant: the upper end is exact."""
    for spectrum in ([1.0], [1.0, 0.2], [0.9, 0.5, 0.05]):
        law = moments.signs(np.array(spectrum))
        for share in (0.1, 0.7):
            eta, weights = min(2 * share / law.r_squared(), 1.0), (1.0, -0.6, 0.1)
            correlation = correlations.from_coefficients(weights)
            noise = float(correlation.limiting_sensitivity()) ** 2
            brute = moments.suboptimality(law, moments.stationary(law, eta, weights, noise, 0.4))
            _, upper = linear_regression.trace_bounds(
                correlation, np.array(spectrum), eta, 0.5, sigma_sgd=np.sqrt(0.4), R_squared=law.r_squared()
            )
            yield Fact(f"signs, lambda = {spectrum}, eta = {eta:.3g}", brute, factor * float(upper), 1e-10)


# --- nu-Noisy-FTRL with constants ---


def _sensitivity_squared(m, nu):
    return m.integral_inverse(nu) / (2 * m.pi)


def _power(m, x, share):
    """c(x) / x at nu = share x."""
    return (2 - x) / (2 * m.pi) * m.integral_ratio(x * share, x)


def _product(m, x, share):
    return _sensitivity_squared(m, x * share) * _power(m, x, share)


def _logarithm(m, number):
    """log(8 / number)."""
    return m.log(8 / number)


def _theorem(d: float, alpha: float, share: float, damping: float, kurtosis: float, residual: float) -> Sides:
    """Exact F_inf for independent entries against `nu_upper_bound`; eta R^2 = 2 share."""
    spectrum = power_law(int(d), alpha)
    R_squared = spectrum.sum() + (kurtosis - 1.0) * spectrum.max()
    eta = min(2.0 * share / R_squared, 1.0)
    nu = damping * eta * spectrum.min()
    privacy, sigma = np.sqrt(1.0 - residual), np.sqrt(residual)
    value = linear_regression.suboptimality(
        correlations.nu(nu), spectrum, eta, 0.5, clip_norm=privacy, sigma_sgd=sigma, kurtosis=kurtosis
    )
    bound = linear_regression.nu_upper_bound(
        nu, spectrum, eta, 0.5, clip_norm=privacy, sigma_sgd=sigma, R_squared=R_squared
    )
    return float(value), float(bound)


def _theorem_any_law(
    second: np.ndarray,
    atoms: np.ndarray,
    weights: np.ndarray,
    share: np.ndarray,
    damping: np.ndarray,
    constant: float = 1.0,
) -> Batch:
    """The same with five-atom laws by brute force, weights cut at TERMS; privacy part."""
    laws = planar(second, atoms, weights)
    R_squared = laws.r_squared()
    eta = np.minimum(2.0 * share / R_squared, 1.0)
    nu = damping * eta * laws.eigenvalues.min(axis=1)
    beta = correlations.nu(1e-300).coefficients(TERMS) * (1.0 - nu[:, None]) ** np.arange(TERMS)
    noise = np.array([float(correlations.nu(value).limiting_sensitivity()) ** 2 for value in nu])
    exact = 0.5 * Systems(laws, eta, beta, noise, np.zeros_like(eta)).doubled_suboptimality()
    bounds = [
        linear_regression.nu_upper_bound(nu[row], laws.eigenvalues[row], eta[row], 0.5, R_squared=R_squared[row])
        for row in range(len(eta))
    ]
    return exact, constant * np.array(bounds, dtype=float)


def _two_sided_rate(d: float, alpha: float, share: float, damping: float, lower: float = 0.018) -> Sides:
    """Gaussian inputs, G = rho = 1: F_inf over eta^2 log(8/nu) sum_j lambda_j log(8/x_j) in [0.018, 0.04 * 2/(2 - eta
    R^2)].
    """
    spectrum = power_law(int(d), alpha)
    eta = 2.0 * share / linear_regression.gaussian_r_squared(spectrum)
    nu = damping * eta * spectrum.min()
    value = float(linear_regression.suboptimality(correlations.nu(nu), spectrum, eta, 1.0))
    rate = eta**2 * np.log(8 / nu) * float(spectrum @ np.log(8 / (eta * spectrum)))
    return max(lower * rate / value, value * (1.0 - share) / (0.04 * rate)), 1.0


# --- every correlation ---


def _least_product(m, x):
    """(2 - x) (mean over the circle of 1 / E_x)^2, a lower bound on gamma_inf^2 c(x) / x for every correlation."""
    return (2 - x) * _sensitivity_squared(m, x) ** 2


def _every_correlation(
    reflection: np.ndarray, spectrum: np.ndarray, share: float, kurtosis: float, residual: float, factor: float = 1.0
) -> Sides:
    """`lower_bound` against exact F_inf, independent entries, eta R^2 = 2 share."""
    R_squared = spectrum.sum() + (kurtosis - 1.0) * spectrum.max()
    eta = min(2.0 * share / R_squared, 1.0 / spectrum.max())
    parts = {"clip_norm": np.sqrt(1.0 - residual), "sigma_sgd": np.sqrt(residual)}
    correlation = correlations.from_coefficients(minimum_phase(reflection))
    value = linear_regression.suboptimality(correlation, spectrum, eta, 0.5, kurtosis=kurtosis, **parts)
    return factor * float(linear_regression.lower_bound(spectrum, eta, 0.5, **parts)), float(value)


def _truncated_optimum() -> Iterator[dict]:
    """The first weights of nu-Noisy-FTRL at nu = eta mu: nearest to equality in one direction."""
    for x in (0.05, 0.3, 0.6):
        reflection = correlations.from_coefficients(correlations.nu(x).coefficients(5)).reflection_coefficients()[::-1]
        spectrum = np.array([1.0, 1e-9, 1e-9])
        yield {"reflection": reflection, "spectrum": spectrum, "share": x / 2, "kurtosis": 1.0, "residual": 0.0}


CLAIMS = (
    Claim(
        id="ftrl/beyond-trace-bounds",
        where=OURS,
        kind="inequality",
        statement=(
            '$eta/4 (sigma_s^2 op("Tr") H + N sum_j c_j) <= F_oo <= 2/(2 - eta R^2) eta/4 (sigma_s^2 op("Tr") H + N '
            "sum_j c_j)$; the upper end is exact for inputs with constant $norm(x)$."
        ),
        hypotheses="Any inputs, any correlation, $eta R^2 < 2$, $eta lambda_1 <= 1$. No kurtosis constant.",
        checks=(
            Search(
                sides=_any_law,
                box={
                    **PLANAR,
                    "reflection": (Real(-0.95, 0.95), 3),
                    "share": Real(1e-3, 0.99),
                    "residual": Real(0.0, 0.999),
                },
                vectorised=True,
                impostors={"5 % above the lower end": {"sides": lambda **point: _any_law(**point, factor=1.05)}},
            ),
            Agreement(facts=_attained, impostors={"5 % off": {"facts": lambda rng: _attained(rng, 1.05)}}),
        ),
    ),
    Claim(
        id="ftrl/beyond-thm-2.2-constants",
        where=OURS,
        kind="inequality",
        statement=(
            "$nu$-Noisy-FTRL: $F_oo <= 2/(2 - eta R^2) (eta/4 sigma_s^2 + 1/(2 log^2 8) (eta^2 G^2)/rho log^2 8/nu) "
            'op("Tr") H$.'
        ),
        hypotheses=(
            "Any inputs, $nu <= eta mu$, $eta R^2 < 2$. From $gamma_oo^2 <= l$ and $c_j <= 4 x_j l$, $l = "
            "log(8\\/nu)\\/log 8$, where $c_j <= max abs(B)^2 <= 2$ serves for $x_j > 1$. For $eta lambda_1 <= 1$ the "
            "constant 0.029 will do for $1\\/(2 log^2 8) = 0.1156$; at $nu = eta lambda_1 = 1$ it must be at least "
            "$1\\/(8 log^2 8) = 0.02891$."
        ),
        checks=(
            Inequality(
                smaller=_sensitivity_squared,
                larger=lambda m, nu: m.number("0.481") * _logarithm(m, nu),
                box={"nu": Real(1e-300, 1.0, "log")},
                impostors={"0.48": {"larger": lambda m, nu: m.number("0.48") * _logarithm(m, nu)}},
            ),
            Inequality(
                smaller=_power,
                larger=lambda m, x, share: 4 * _logarithm(m, x * share) / m.log(m.number(8)),
                box=NU_BOX,
                impostors={
                    "1 in place of 4": {"larger": lambda m, x, share: _logarithm(m, x * share) / m.log(m.number(8))}
                },
            ),
            Inequality(
                smaller=_product,
                larger=lambda m, x, share: 8 * m.number("0.029") * _logarithm(m, x * share) ** 2,
                box=NU_BOX,
                impostors={
                    "0.0289": {"larger": lambda m, x, share: 8 * m.number("0.0289") * _logarithm(m, x * share) ** 2}
                },
            ),
            Search(
                sides=_theorem,
                box={
                    "d": Whole(1, 100, "log"),
                    "alpha": Real(0.0, 3.0),
                    "share": Real(1e-6, 0.999, "log"),
                    "damping": Real(1e-9, 1.0, "log"),
                    "kurtosis": Real(1.0, 9.0),
                    "residual": Real(0.0, 0.999),
                },
                evaluations=SUPPLEMENT,
                impostors={"halved": {"sides": lambda **point: (_theorem(**point)[0], 0.5 * _theorem(**point)[1])}},
            ),
            Search(
                sides=_theorem_any_law,
                box={**PLANAR, "second": Real(0.3, 1.0), "share": Real(0.3, 0.99), "damping": Real(0.5, 1.0)},
                vectorised=True,
                evaluations=SUPPLEMENT["quick"],
                level="full",
                impostors={"a fifth": {"sides": lambda **point: _theorem_any_law(**point, constant=0.2)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/beyond-nu-rate",
        where=OURS,
        kind="inequality",
        statement=(
            "$nu$-Noisy-FTRL: $F_oo = Theta(eta^2 G^2 rho^(-1) log(8\\/nu) sum_j lambda_j log(8\\/(eta lambda_j)))$, "
            "constants 0.018 below and $0.04 dot 2\\/(2 - eta R^2)$ above."
        ),
        hypotheses=(
            "$nu <= eta mu$, $eta lambda_1 <= 1$, no residuals, any inputs. One logarithm only is that of $nu$: $log^2 "
            "1\\/nu$ in Theorem 2.2 is not needed for $nu << eta mu$, nor for eigenvalues far above $mu$."
        ),
        checks=(
            Inequality(
                smaller=lambda m, nu: m.number("0.31") * _logarithm(m, nu),
                larger=_sensitivity_squared,
                box={"nu": Real(1e-300, 1.0, "log")},
                impostors={"0.33": {"smaller": lambda m, nu: m.number("0.33") * _logarithm(m, nu)}},
            ),
            Inequality(
                smaller=_power,
                larger=lambda m, x, share: m.number("0.66") * _logarithm(m, x),
                box=NU_BOX,
                impostors={"0.63": {"larger": lambda m, x, share: m.number("0.63") * _logarithm(m, x)}},
            ),
            Inequality(
                smaller=lambda m, x, share: m.number("0.47") * _logarithm(m, x),
                larger=_power,
                box=NU_BOX,
                impostors={"0.5": {"smaller": lambda m, x, share: m.number("0.5") * _logarithm(m, x)}},
            ),
            Search(
                sides=_two_sided_rate,
                box={
                    "d": Whole(1, 100, "log"),
                    "alpha": Real(0.0, 3.0),
                    "share": Real(1e-6, 0.99, "log"),
                    "damping": Real(1e-9, 1.0, "log"),
                },
                evaluations=SUPPLEMENT,
                impostors={"0.027 below": {"sides": lambda **point: _two_sided_rate(**point, lower=0.027)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/beyond-lower-any-correlation",
        where=OURS,
        kind="inequality",
        statement=(
            '$F_oo >= eta/4 (sigma_s^2 op("Tr") H + G^2/(2 rho) sum_j x_j (2 - x_j) (1/(2 pi) integral (dif '
            'omega)\\/E_(x_j) )^2) >= eta/4 sigma_s^2 op("Tr") H + (eta^2 G^2)/(40 rho) sum_j lambda_j log^2 8/(eta '
            "lambda_j)$."
        ),
        hypotheses="Any inputs, every correlation, $eta lambda_1 <= 1$, $E_x = abs(1 - x - e^(i omega))$.",
        checks=(
            Search(
                sides=_every_correlation,
                box={
                    "reflection": (Real(-0.99, 0.99), 4),
                    "spectrum": (Real(1e-6, 1.0, "log"), 3),
                    "share": Real(1e-4, 0.99, "log"),
                    "kurtosis": Real(1.0, 6.0),
                    "residual": Real(0.0, 0.999),
                },
                extremal=_truncated_optimum,
                impostors={"20 % larger": {"sides": lambda **point: _every_correlation(**point, factor=1.2)}},
            ),
            Inequality(
                smaller=lambda m, x: _logarithm(m, x) ** 2 / 5,
                larger=_least_product,
                box={"x": Real(1e-300, 1.0, "log")},
                impostors={"0.21": {"smaller": lambda m, x: m.number("0.21") * _logarithm(m, x) ** 2}},
            ),
        ),
    ),
)
