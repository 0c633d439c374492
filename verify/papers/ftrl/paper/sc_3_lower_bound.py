"""Appendix C.3: lower bounds on the stationary error of linear regression, Theorem C.18.

The F of this appendix is that of (22), without the factor 1/2: the proof bounds Tr[H S]. For the F of (8) see `EQ_22`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dpbounds.ftrl import correlations, linear_regression
from dpbounds.ftrl.linear_regression import Regression
from verify.checks import Agreement, Fact, Inequality, Search, Times
from verify.checks.domains import Real
from verify.papers.ftrl.paper.s2_2_linear_regression import proved_lower
from verify.papers.ftrl.paper.sc_1_operators import HALVES, KERNEL
from verify.papers.ftrl.tools import input_laws, second_moments
from verify.papers.ftrl.tools.input_laws import PLANAR, planar
from verify.papers.ftrl.tools.regression import WEIGHTS, Sides, distance_squared, h, minimum_phase, spectrum
from verify.papers.ftrl.tools.second_moments import Systems
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

RHO = 0.7
C_17 = "Assumption C.17, $eta < 1\\/R^2$, $beta in ell^1$."
WITHOUT_HALF = "For $F$ of (22), without the factor $1/2$ of (8)"

# --- Theorem C.18, its two bounds for a given beta ---


def _first_bound(
    second: np.ndarray,
    atoms: np.ndarray,
    weights: np.ndarray,
    reflection: np.ndarray,
    share: np.ndarray,
    residual: np.ndarray,
    half: float = 1.0,
) -> Sides:
    """The middle of Theorem C.18, as `dpbounds` ships it, against Tr[H S]; eta = share / R^2, G^2 + sigma_s^2 = 1."""
    laws, beta = planar(second, atoms, weights), minimum_phase(reflection)
    eta, gamma_squared = share / laws.r_squared(), 1.0 / np.prod(1.0 - reflection**2, axis=1)
    system = Systems(laws, eta, beta, (1.0 - residual) * gamma_squared / (2 * RHO), residual)
    bounds = [
        linear_regression.paper_lower_bound(
            correlations.from_coefficients(beta[n]),
            Regression(
                eigenvalues=laws.eigenvalues[n],
                eta=float(eta[n]),
                rho=RHO,
                clip_norm=float(np.sqrt(1.0 - residual[n])),
                sigma_sgd=float(np.sqrt(residual[n])),
            ),
        )
        for n in range(len(second))
    ]
    return np.array(bounds, dtype=float), half * system.doubled_suboptimality()


def _second_bound(beta: np.ndarray, x: np.ndarray) -> Sides:
    """x/2 <beta, T_j beta> by the double sum, against x^2/(2 pi) int |B|^2 / E_x^2 by quadrature."""
    lags = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    time = np.einsum("nt,ns,nts->n", beta, beta, (1 - x)[:, None, None] ** lags)
    return x * time / 2, x**2 * np.sum(spectrum(beta) / distance_squared(x) * WEIGHTS, axis=1) / (2 * np.pi)


def _shipped_bounds(rng: np.random.Generator) -> Iterator[Fact]:
    """Both lines that `dpbounds` ships: attained by Tr[H S] as eta -> 0, with both terms of one size; and the first one
    against quadrature where eta is large.
    """
    beta, eigenvalues = np.array([1.0, -0.6, 0.2]), np.array([1.0, 0.4])
    correlation, law = correlations.from_coefficients(beta), input_laws.skewed(eigenvalues)
    sigma_w_squared = 1.3**2 * float(correlation.limiting_sensitivity()) ** 2 / (2 * RHO)
    options: Any = {"clip_norm": 1.3, "sigma_sgd": 0.5}
    forms: tuple[Any, ...] = ("time", "frequency")
    for form in forms:
        for eta in (1e-6, 1e-7):
            S = second_moments.stationary(law, eta, beta, sigma_w_squared, 0.25)
            slow = Regression(eigenvalues=eigenvalues, eta=eta, rho=RHO, **options)
            bound = linear_regression.paper_lower_bound(correlation, slow, form=form)
            yield Fact(f"{form}, eta = {eta}", float(bound), 2 * second_moments.suboptimality(law, S), 20 * eta)
    problem = Regression(eigenvalues=eigenvalues, eta=0.9, rho=RHO, **options)
    bound = linear_regression.paper_lower_bound(correlation, problem)
    integral = float((spectrum(beta) * h(eigenvalues, 0.9)) @ WEIGHTS)
    stated = 0.9 * 0.25 * eigenvalues.sum() / 2 + 0.81 * sigma_w_squared / (2 * np.pi) * integral
    yield Fact("frequency, eta = 0.9", float(bound), stated, 1e-10)
    bound = linear_regression.paper_lower_bound(correlation, problem, form="time")
    lags = np.abs(np.subtract.outer(range(3), range(3)))
    powers = sum(beta @ (1 - 0.9 * value) ** lags @ beta for value in eigenvalues)
    yield Fact("time, eta = 0.9", float(bound), 0.9 * (0.25 * eigenvalues.sum() + sigma_w_squared * powers) / 2, 1e-10)


THM_C_18_A = Claim(
    id="ftrl/thm-c.18-a",
    where="App. C.3, Theorem C.18",
    page=29,
    kind="inequality",
    statement=(
        "$F_oo (beta) >= s + (eta^2 sigma_w^2)/(2 pi) integral abs(B)^2 h dif omega >= s + (eta sigma_w^2)/2 chevron.l "
        'beta, T beta chevron.r$ with $s = eta sigma_s^2 op("Tr")[H] \\/ 2$, $sigma_w^2 = G^2 gamma_oo^2 \\/ (2 rho)$.'
    ),
    hypotheses=C_17,
    remark=WITHOUT_HALF + ": for that one both bounds are to be halved. Attained in the limit $eta -> 0$.",
    checks=(
        KERNEL,
        HALVES,
        Search(
            sides=_first_bound,
            box={
                **PLANAR,
                "reflection": (Real(-0.95, 0.95), 2),
                "share": Real(1e-3, 0.999),
                "residual": Real(1e-6, 1.0 - 1e-6),
            },
            vectorised=True,
            evaluations={"quick": 1_000, "full": 20_000},
            impostors={"F with the 1/2 of (8)": {"sides": {"half": 0.5}}, "F 2 % smaller": {"sides": Times(1, 0.98)}},
            role="control",
        ),
        Search(
            sides=_second_bound,
            box={"beta": (Real(-1.0, 1.0), 4), "x": Real(1e-6, 0.999, "log")},
            vectorised=True,
            evaluations={"quick": 1_000, "full": 20_000},
            impostors={"1 % more": {"sides": Times(1.01, 1)}},
            role="control",
        ),
        Agreement(facts=_shipped_bounds, impostors={"1 % more": {"facts": Times(1.01)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "In the eigenbasis of $H$ with $x_j = eta lambda_j < 1$ the stationary $s_j = EE chevron.l u_j, theta' "
            "chevron.r^2$ is at least $(1 - x_j)^2 s_j + eta^2 (sigma_s^2 lambda_j + sigma_w^2 chevron.l beta, T_j "
            "beta chevron.r)$, because $EE Q S Q succ.eq (EE Q) S (EE Q)$ for $Q = I - eta x x^top$: $s_j >= eta^2 "
            "(sigma_s^2 lambda_j + sigma_w^2 chevron.l beta, T_j beta chevron.r) \\/ (x_j (2 - x_j))$. Here "
            "$chevron.l beta, T_j beta chevron.r = x_j (2 - x_j)/(2 pi) integral abs(B)^2 \\/ abs(1 - x_j - e^(i "
            "omega))^2 dif omega$, since $q^abs(k)$, $q = 1 - x_j$, has the transform of the first check, and $1\\/(2 "
            "- x_j) >= 1\\/2$ (second check). So $F_oo = sum_j lambda_j s_j$ is at least $s$ plus $eta^2 "
            "sigma_w^2\\/(2 pi) integral abs(B)^2 h dif omega = eta sigma_w^2 sum_j chevron.l beta, T_j beta "
            "chevron.r \\/ (2 - x_j)$, and this at least half of $eta sigma_w^2 chevron.l beta, T beta chevron.r$."
        ),
        lemmas=("independence", "Jensen", "Parseval", "geometric series"),
    ),
)

# --- Theorem C.18, for every beta ---


def _every_correlation(kurtosis, spectrum, share, residual, factor: float = 1.0) -> tuple[float, float]:
    """The universal bound against twice the exact infimum over |B|^2, inputs with independent entries."""
    eigenvalues = np.concatenate([[1.0], spectrum])
    eta = share / (eigenvalues.sum() + kurtosis - 1.0)
    parts = {"clip_norm": np.sqrt(1.0 - residual), "sigma_sgd": np.sqrt(residual)}
    problem = Regression(eigenvalues=eigenvalues, eta=eta, rho=RHO, kurtosis=kurtosis, **parts)
    infimum = linear_regression.optimal_suboptimality(problem)
    bound = linear_regression.paper_lower_bound_any_correlation(problem)
    return float(bound), factor * 2.0 * float(infimum)


def _mean_inverse(m, x):
    return m.integral_inverse(x) / (2 * m.pi)


def _universal_by_hand(rng: np.random.Generator) -> Iterator[Fact]:
    """lambda = (1, 1/2), eta = 1/10, G = 3, rho = 2, sigma_s = 2: (2 0.1 4 + 0.01 9/4) 1.5 / 4."""
    bound = linear_regression.paper_lower_bound_any_correlation(
        Regression(eigenvalues=np.array([1.0, 0.5]), eta=0.1, rho=2.0, clip_norm=3.0, sigma_sgd=2.0)
    )
    yield Fact("right side at round numbers", float(bound), (0.8 + 0.0225) * 1.5 / 4)


THM_C_18_B = Claim(
    id="ftrl/thm-c.18-b",
    where="App. C.3, Theorem C.18",
    page=29,
    kind="inequality",
    statement='$inf_beta F_oo (beta) >= 1/4 (2 eta sigma_s^2 + (eta^2 G^2)/(2 rho)) op("Tr")[H]$.',
    hypotheses=C_17,
    remark=(
        WITHOUT_HALF
        + ": for that one the $sigma_s$ part is to be halved, and the other holds as printed, because $1/(2 "
        "pi) integral abs(1 - x_j - e^(i omega))^(-1) dif omega$ is at least 1 where the proof uses $1/2$."
    ),
    checks=(
        proved_lower(),
        Inequality(
            smaller=lambda m, x: m.number(1),
            larger=_mean_inverse,
            box={"x": Real(1e-300, 0.999, "log")},
            impostors={"1.01": {"smaller": Times("1.01")}},
            role="control",
        ),
        Search(
            sides=_every_correlation,
            box={
                "kurtosis": Real(1.0, 10.0),
                "spectrum": (Real(1e-3, 1.0, "log"), 2),
                "share": Real(1e-3, 0.999),
                "residual": Real(0.0, 0.999),
            },
            evaluations={"quick": 1_000, "full": 20_000},
            impostors={"F with the 1/2 of (8)": {"sides": {"factor": 0.5}}},
            role="control",
        ),
        Agreement(facts=_universal_by_hand, impostors={"1 % more": {"facts": Times(1.01)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "In the eigenbasis of $H$ with $x_j = eta lambda_j < 1$ the stationary $s_j = EE chevron.l u_j, theta' "
            "chevron.r^2$ is at least $(1 - x_j)^2 s_j + eta^2 (sigma_s^2 lambda_j + (G^2 gamma_oo^2)/(2 rho) "
            "chevron.l beta, T_j beta chevron.r)$, because $EE Q S Q succ.eq (EE Q) S (EE Q)$ for $Q = I - eta x "
            "x^top$: $s_j >= eta^2 (sigma_s^2 lambda_j + (G^2 gamma_oo^2)/(2 rho) chevron.l beta, T_j beta chevron.r) "
            "\\/ (x_j (2 - x_j))$. By Lemma C.4 and $gamma_oo^2 >= 1/(2 pi) integral abs(B)^(-2) dif omega$ the "
            "product $gamma_oo^2 chevron.l beta, T_j beta chevron.r$ is at least $x_j (2 - x_j)$ over the mean of "
            "$abs(1 - x_j - e^(i omega))^2$, which is at least $x_j$ (first check). So $F_oo = sum_j lambda_j s_j >= "
            '(eta sigma_s^2\\/2 + eta^2 G^2\\/(4 rho)) op("Tr") H$, which is more than stated.'
        ),
        lemmas=("independence", "Jensen", "Cauchy-Schwarz", "Parseval"),
    ),
)
