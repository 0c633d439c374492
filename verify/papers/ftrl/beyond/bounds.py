"""Bounds with constants for every law of the inputs: what the recursion of second moments gives for Theorem 2.2.

F has the factor 1/2 of (8), R^2 is the least number with E ||x||^2 x x^T <= R^2 H, x_j = eta lambda_j, c_j = sum_{t,s}
beta_t beta_s (1 - x_j)^|t-s|, N = G^2 gamma_inf^2 / (2 rho).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dpbounds.ftrl import correlations, linear_regression
from dpbounds.ftrl.linear_regression import Regression, power_law
from dpbounds.ftrl.linear_regression.bounds import NU_CONSTANT
from verify.checks import Agreement, Fact, Holds, Inequality, Level, Search, Times
from verify.checks.domains import Real, Whole
from verify.papers.ftrl.beyond.exact import BUDGET, CLIP_NORM, OURS
from verify.papers.ftrl.tools.input_laws import PLANAR, planar, signs
from verify.papers.ftrl.tools.regression import Sides, minimum_phase
from verify.papers.ftrl.tools.second_moments import Systems, stationary, suboptimality
from verify.statements.claims import Claim

Batch = tuple[np.ndarray, np.ndarray]

# Weights of nu-Noisy-FTRL that are kept in brute force: at nu >= 0.01 the rest sums to less than 1e-4.
TERMS = 500
# Of searches beside a certificate.
SUPPLEMENT: dict[Level, int] = {"quick": 1500, "full": 20_000}
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
                Regression(
                    eigenvalues=laws.eigenvalues[row],
                    eta=eta[row],
                    rho=0.5,
                    clip_norm=np.sqrt(1.0 - residual[row]),
                    sigma_sgd=np.sqrt(residual[row]),
                ),
                R_squared=R_squared[row],
            )
            for row in range(len(eta))
        ]
    ).T
    return np.maximum(factor * low / exact, exact / high), np.ones_like(exact)


def _attained(rng: np.random.Generator) -> Iterator[Fact]:
    """Entries +-1 make ||x||^2 constant: the upper end is exact. The ends differ by the factor 1 - eta R^2 / 2."""
    for spectrum in ([1.0], [1.0, 0.2], [0.9, 0.5, 0.05]):
        law = signs(spectrum)
        R_squared = float(law.r_squared()[0])
        for share in (0.1, 0.7):
            eta, weights = min(2 * share / R_squared, 1.0), (1.0, -0.6, 0.1)
            correlation = correlations.from_coefficients(weights)
            noise = CLIP_NORM**2 * float(correlation.limiting_sensitivity()) ** 2 / (2 * BUDGET)
            brute = suboptimality(law, stationary(law, eta, weights, noise, 0.4))
            options = {"clip_norm": CLIP_NORM, "sigma_sgd": np.sqrt(0.4)}
            problem = Regression(eigenvalues=np.array(spectrum), eta=eta, rho=BUDGET, **options)
            lower, upper = linear_regression.trace_bounds(correlation, problem, R_squared=R_squared)
            label = f"signs, lambda = {spectrum}, eta = {eta:.3g}"
            yield Fact(label, [brute, brute], [float(upper), float(lower) / (1 - eta * R_squared / 2)], 1e-10)
            slower = Regression(eigenvalues=np.array(spectrum), eta=eta / 5, rho=BUDGET, **options)
            default = linear_regression.trace_bounds(correlation, slower)
            gaussian = 2 * max(spectrum) + sum(spectrum)
            stated = 1 - eta / 5 * gaussian / 2
            yield Fact(f"{label}: ratio of the ends, Gaussian", float(default[0]) / float(default[1]), stated, 1e-12)


TRACE_BOUNDS = Claim(
    id="ftrl/beyond-trace-bounds",
    where=f"{OURS}: bounds by the trace for every law of inputs",
    kind="inequality",
    statement=(
        (
            '$eta/4 (sigma_s^2 op("Tr") H + N sum_j c_j) <= F_oo <= 2/(2 - eta R^2) eta/4 (sigma_s^2 op("Tr") H + N '
            "sum_j c_j)$;"
        ),
        "the upper end is exact for inputs with constant $norm(x)$.",
    ),
    hypotheses="Any inputs, any correlation, $eta R^2 < 2$, $eta lambda_1 <= 1$. No kurtosis constant.",
    checks=(
        Search(
            decides="a",
            sides=_any_law,
            box={
                **PLANAR,
                "reflection": (Real(-0.95, 0.95), 3),
                "share": Real(1e-3, 0.99),
                "residual": Real(0.0, 0.999),
            },
            vectorised=True,
            evaluations={"quick": 2_000, "full": 20_000},
            impostors={"5 % above the lower end": {"sides": {"factor": 1.05}}},
        ),
        Agreement(decides="b", facts=_attained, impostors={"5 % off": {"facts": Times(1.05)}}),
    ),
)


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
        correlations.nu(nu),
        Regression(eigenvalues=spectrum, eta=eta, rho=0.5, clip_norm=privacy, sigma_sgd=sigma, kurtosis=kurtosis),
    )
    bound = linear_regression.nu_upper_bound(
        nu,
        Regression(eigenvalues=spectrum, eta=eta, rho=0.5, clip_norm=privacy, sigma_sgd=sigma),
        R_squared=R_squared,
    )
    return float(value), float(bound)


def _theorem_any_law(
    second: np.ndarray,
    atoms: np.ndarray,
    weights: np.ndarray,
    share: np.ndarray,
    damping: np.ndarray,
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
        linear_regression.nu_upper_bound(
            nu[row],
            Regression(eigenvalues=laws.eigenvalues[row], eta=eta[row], rho=0.5),
            R_squared=R_squared[row],
        )
        for row in range(len(eta))
    ]
    return exact, np.array(bounds, dtype=float)


def _stated(rng: np.random.Generator) -> Iterator[Fact]:
    """`nu_upper_bound` is the number that the claim states."""
    spectrum, eta, nu = np.array([1.0, 0.4, 0.2]), 0.2, 0.03
    total, logarithm = spectrum.sum(), np.log(8 / nu)
    for R_squared in (None, 4.5):
        found = linear_regression.nu_upper_bound(
            nu,
            Regression(eigenvalues=spectrum, eta=eta, rho=BUDGET, clip_norm=CLIP_NORM, sigma_sgd=0.7),
            R_squared=R_squared,
        )
        parts = eta * 0.7**2 / 4 + eta**2 * CLIP_NORM**2 / BUDGET * (logarithm / np.log(8)) ** 2 / 2
        stated = 2 / (2 - eta * (R_squared or total + 2.0)) * parts * total
        yield Fact(f"R^2 = {R_squared or 'that of Gaussian inputs'}", float(found), stated, 1e-12)


def _printed(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Each rate at a point where no two of its numbers are the same."""
    spectrum, eta, residual = np.array([0.9, 0.35, 0.2]), 0.3, 0.7
    problem = Regression(eigenvalues=spectrum, eta=eta, rho=BUDGET, clip_norm=CLIP_NORM, sigma_sgd=residual)
    unit, trace, sigma = CLIP_NORM**2 / BUDGET, spectrum.sum(), eta * residual**2 * spectrum.sum()
    slow = np.log(eta * 0.2) ** 2
    rows: tuple[tuple[Any, float | None, float], ...] = (
        ("independent", None, eta * 3 * unit),
        ("nu", None, eta**2 * unit * slow * trace),
        ("nu", 0.04, eta**2 * unit * np.log(0.04) ** 2 * trace),
        ("lower", None, eta**2 * unit * trace),
        ("damped anti-PGD", None, eta**1.5 * unit * np.sqrt(3 * trace)),
    )
    for mechanism, nu, stated in rows:
        found = linear_regression.rate(mechanism, problem, nu=nu)
        label = f"{mechanism}, nu = {nu or 'eta mu'}"
        yield Fact(label, float(found), stated + sigma)
        source = "ftrl Table 2" if mechanism == "damped anti-PGD" else "ftrl Thm 2.2"
        yield Holds(
            f"{mechanism}, nu = {nu or 'eta mu'}: source", found.source == source and found.kind == "asymptotic"
        )
    numbers = [linear_regression.effective_dimension(spectrum), linear_regression.condition_number(spectrum)]
    yield Fact("effective dimension and condition number", numbers, [1.45 / 0.9, 4.5])
    yield Fact("eigenvalues of one quotient", linear_regression.geometric(4, 8.0), [1, 0.5, 0.25, 0.125])
    yield Fact("eigenvalues by a power", power_law(3, 1.5), [1, 2**-1.5, 3**-1.5])


def _few_terms(m, x, share):
    """4 log(8 / nu) / log 8."""
    return 4 * _logarithm(m, x * share) / m.log(m.number(8))


# Serves in place of 1 / (2 log^2 8) for eta lambda_1 <= 1.
SMALLER = "0.029"


def _constant_times(m, x, share, constant=SMALLER):
    """8 `constant` log^2(8 / nu)."""
    return 8 * m.number(constant) * _logarithm(m, x * share) ** 2


def _of_nu(m, nu, constant="0.481"):
    """`constant` log(8 / nu)."""
    return m.number(constant) * _logarithm(m, nu)


THM_2_2_CONSTANTS = Claim(
    id="ftrl/beyond-thm-2.2-constants",
    where=f"{OURS}: bound of nu-Noisy-FTRL with constants",
    kind="inequality",
    statement=(
        "$nu$-Noisy-FTRL: $F_oo <= 2/(2 - eta R^2) (eta/4 sigma_s^2 + 1/(2 log^2 8) (eta^2 G^2)/rho log^2 8/nu) "
        'op("Tr") H$.',
        "The rates of Theorem 2.2 and of Table 2 with constants 1 are as they are printed.",
    ),
    hypotheses="Any inputs, $nu <= eta mu$, $eta R^2 < 2$.",
    remark=(
        "From $gamma_oo^2 <= l$ and $c_j <= 4 x_j l$, $l = log(8\\/nu)\\/log 8$, where $c_j <= max abs(B)^2 <= 2$ "
        "serves for $x_j > 1$. For $eta lambda_1 <= 1$ the constant ${smaller}$ will do for $1\\/(2 log^2 8) = "
        "{stated}$; at $nu = eta lambda_1 = 1$ it must be at least $1\\/(8 log^2 8) = {least}$."
    ),
    given={"smaller": SMALLER, "stated": NU_CONSTANT, "least": NU_CONSTANT / 4},
    checks=(
        Inequality(
            decides="a",
            smaller=_sensitivity_squared,
            larger=_of_nu,
            box={"nu": Real(1e-300, 1.0, "log")},
            impostors={"0.48": {"larger": {"constant": "0.48"}}},
        ),
        Inequality(
            decides="a",
            smaller=_power,
            larger=_few_terms,
            box=NU_BOX,
            impostors={"an eighth": {"larger": Times("0.125")}},
        ),
        Inequality(
            decides="a",
            smaller=_product,
            larger=_constant_times,
            box=NU_BOX,
            impostors={"0.0289": {"larger": {"constant": "0.0289"}}},
        ),
        Search(
            decides="a",
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
            impostors={"halved": {"sides": Times(1, 0.5)}},
        ),
        Agreement(decides="a", facts=_stated, impostors={"1e-6 off": {"facts": Times(1.000001)}}),
        Agreement(decides="b", facts=_printed, impostors={"1e-6 off": {"facts": Times(1.000001)}}),
        Search(
            decides="a",
            sides=_theorem_any_law,
            box={**PLANAR, "second": Real(0.3, 1.0), "share": Real(0.3, 0.99), "damping": Real(0.5, 1.0)},
            vectorised=True,
            evaluations=SUPPLEMENT["quick"],
            level="full",
            impostors={"a fifth": {"sides": Times(1, 0.2)}},
        ),
    ),
)


# --- two logarithms ---


def _of_x(m, x, share, constant):
    """`constant` log(8 / x)."""
    return m.number(constant) * _logarithm(m, x)


def _two_sided_rate(d: float, alpha: float, share: float, damping: float, lower: float = 0.018) -> Sides:
    """Gaussian inputs, G = rho = 1: F_inf over eta^2 log(8/nu) sum_j lambda_j log(8/x_j) in [0.018, 0.04 * 2/(2 - eta
    R^2)].
    """
    spectrum = power_law(int(d), alpha)
    eta = 2.0 * share / linear_regression.gaussian_r_squared(spectrum)
    nu = damping * eta * spectrum.min()
    value = float(
        linear_regression.suboptimality(correlations.nu(nu), Regression(eigenvalues=spectrum, eta=eta, rho=1.0))
    )
    rate = eta**2 * np.log(8 / nu) * float(spectrum @ np.log(8 / (eta * spectrum)))
    return max(lower * rate / value, value * (1.0 - share) / (0.04 * rate)), 1.0


NU_RATE = Claim(
    id="ftrl/beyond-nu-rate",
    where=f"{OURS}: rate of nu-Noisy-FTRL with constants",
    kind="inequality",
    statement=(
        "$nu$-Noisy-FTRL: $F_oo = Theta(eta^2 G^2 rho^(-1) log(8\\/nu) sum_j lambda_j log(8\\/(eta lambda_j)))$, "
        "constants 0.018 below and $0.04 dot 2\\/(2 - eta R^2)$ above."
    ),
    hypotheses="$nu <= eta mu$, $eta lambda_1 <= 1$, no residuals, any inputs.",
    remark=(
        "One logarithm only is that of $nu$: $log^2 1\\/nu$ in Theorem 2.2 is not needed for $nu << eta mu$, nor for "
        "eigenvalues far above $mu$."
    ),
    checks=(
        Inequality(
            smaller=partial(_of_nu, constant="0.31"),
            larger=_sensitivity_squared,
            box={"nu": Real(1e-300, 1.0, "log")},
            impostors={"0.33": {"smaller": {"constant": "0.33"}}},
        ),
        Inequality(
            smaller=_power,
            larger=partial(_of_x, constant="0.66"),
            box=NU_BOX,
            impostors={"0.63": {"larger": {"constant": "0.63"}}},
        ),
        Inequality(
            smaller=partial(_of_x, constant="0.47"),
            larger=_power,
            box=NU_BOX,
            impostors={"0.5": {"smaller": {"constant": "0.5"}}},
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
            impostors={"0.027 below": {"sides": {"lower": 0.027}}},
        ),
    ),
)
