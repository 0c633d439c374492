"""Appendix C.3: lower bounds on the stationary error of linear regression, Theorem C.18.

The F of this appendix is that of (22), without the factor 1/2: the proof bounds Tr[H S]. For the F of (8) see `EQ_22`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy

from dpbounds.arithmetic import FLOATS
from dpbounds.ftrl import correlations, linear_regression
from dpbounds.ftrl.linear_regression import Regression
from verify.checks import Agreement, Fact, Inequality, Search, Symbolic, Times
from verify.checks.domains import Real
from verify.papers.ftrl.paper.s2_1_mean_estimation_weights import SCHWARZ
from verify.papers.ftrl.paper.s2_2_linear_regression import proved_lower
from verify.papers.ftrl.paper.sc_1_operators import HALVES, KERNEL
from verify.papers.ftrl.tools import input_laws, second_moments
from verify.papers.ftrl.tools.input_laws import PLANAR, planar
from verify.papers.ftrl.tools.regression import OMEGA, WEIGHTS, Sides, distance_squared, h, minimum_phase, spectrum
from verify.papers.ftrl.tools.second_moments import Systems
from verify.statements.claims import Claim, Correction, Fault
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

# --- Theorem C.18, where the infimum is attained ---


def _error_at(weights: np.ndarray, eigenvalues: np.ndarray, eta: float) -> float:
    """Tr[H S] for Gaussian inputs, G^2 = 2 rho, by brute force at the causal factor of |B|^2 = (sum_j weights_j
    lambda_j / E_j^2)^{-1/2}, cut after 1500 terms.
    """

    def inverse_root(omega: np.ndarray) -> np.ndarray:
        sine_squared, x = np.sin(omega / 2)[:, None] ** 2, eta * eigenvalues
        return (weights * eigenvalues / (x**2 + 4 * (1 - x) * sine_squared)).sum(axis=1) ** -0.5

    factor = correlations.from_power_spectrum(inverse_root, name="test", tolerance=1e-10)
    gamma_squared = float(np.sum(factor.inverse_coefficients(20_000) ** 2))
    law = input_laws.gaussian(eigenvalues)
    S = second_moments.stationary(law, eta, list(factor.coefficients(1_500)), gamma_squared, 0.0)
    return float(eigenvalues @ np.diag(S))


def _excess(m, ratio, eta):
    """F at 1/sqrt(h) over F at 1/sqrt(g), less 1, for Gaussian inputs, lambda = (1, ratio), sigma_s = 0.

    F is a multiple of the means of |B|^-2 and of |B|^2 g, g the h in which lambda_j weighs (2 - x_j)/(1 - x_j). With r
    = g/h and I_k the mean of sqrt(h) (sqrt(r) - c)^k that is (I_0 I_2 - I_1^2) / (I_1 + c I_0)^2 for every c.
    """
    x, y = eta, eta * ratio
    first, second = (2 - x) / (1 - x), (2 - y) / (1 - y)
    c = m.sqrt((first + second) / 2)

    def moment(k):
        def integrand(s):
            far = y * y + 4 * (1 - y) * s
            h = 1 / (x * x + 4 * (1 - x) * s) + ratio / far
            # What the second term of h is over the first: s stands once, for the sake of enclosures.
            over = ratio * ((1 - x) / (1 - y) + (x * x - y * y * (1 - x) / (1 - y)) / far)
            root = m.sqrt(second + (first - second) / (1 + over))
            return m.sqrt(h) * m.power(root - c, k)

        return m.integral(integrand)

    zeroth, mean, square = (moment(k) for k in range(3))
    return (zeroth * square - mean * mean) / m.power(mean + c * zeroth, 2)


# The step size at which brute force compares the two spectra.
ETA = 0.32


def _attained(rng: np.random.Generator, smaller: float = 1.0) -> Iterator[Fact]:
    """F at 1/sqrt(h) over F where lambda_j weighs (2 - x_j) / (1 - x_j), less 1, lambda = (1, smaller), by brute force;
    and by its integrals.
    """
    eigenvalues = np.array([1.0, smaller])
    x = ETA * eigenvalues
    at_h, elsewhere = (_error_at(weights, eigenvalues, ETA) for weights in (np.ones(2), (2 - x) / (1 - x)))
    yield Fact(f"F at 1/sqrt(h) over F at another |B|^2, lambda = (1, {smaller:g})", at_h / elsewhere, 1.0, 1e-8)
    rare = np.array([1.0, 0.05])
    found = _error_at(np.ones(2), rare, ETA) / _error_at((2 - ETA * rare) / (1 - ETA * rare), rare, ETA)
    yield Fact("at lambda = (1, 1/20)", found, 1 + float(_excess(FLOATS, 0.05, ETA)), 1e-7)


def _gaussian_stationary(pairings: int = 2) -> Iterator[tuple[Any, ...]]:
    """s = (1 - 2 x) s + eta^2 (2 lambda^2 s + lambda F + N), the diagonal of the stationary recursion for normal
    inputs, x = eta lambda, has s = eta^2 (lambda F + N) / (2 x (1 - x)).
    """
    eta, value, F, N = sympy.symbols("eta lambda F N", positive=True)
    x = eta * value
    s = eta**2 * (value * F + N) / (2 * x * (1 - x))
    yield "$s_j$", s, (1 - 2 * x) * s + eta**2 * (pairings * value**2 * s + value * F + N)


def _weights_rise(sign: int = 1) -> Iterator[tuple[str, Any]]:
    """(2 - x) / (1 - x) at x = 1/(1 + t) less that at 1/(1 + t + u)."""
    t, u = sympy.symbols("t u", positive=True)
    here, lower = ((2 - x) / (1 - x) for x in (1 / (1 + t), 1 / (1 + t + u)))
    yield "weights", sign * (here - lower)


STATIONARY = Symbolic(
    residuals=_gaussian_stationary,
    nonnegative=_weights_rise,
    impostors={
        "one pairing": {"residuals": {"pairings": 1}},
        "falling weights": {"nonnegative": {"sign": -1}},
    },
)


def _bound_at_optimum(ratio: np.ndarray, eta: np.ndarray, logs: np.ndarray) -> Sides:
    """(int sqrt h)^2 against (int |B|^{-2})(int |B|^2 h), |B|^2 = h^{-1/2} times the exponential of a cosine series."""
    gain = h(np.stack([np.ones_like(ratio), ratio], axis=1), eta)
    series = np.exp(logs @ np.cos(np.outer(1 + np.arange(logs.shape[1]), OMEGA)))
    power = gain**-0.5 * series
    return (np.sqrt(gain) @ WEIGHTS) ** 2, (1 / power @ WEIGHTS) * ((power * gain) @ WEIGHTS)


def _equality(rng: np.random.Generator, power: float = -0.5) -> Iterator[Fact]:
    for eta in (0.01, 0.3):
        gain = h(np.array([1.0, 0.3, 0.01]), eta)
        product = (WEIGHTS @ gain**-power) * (WEIGHTS @ gain ** (1 + power))
        yield Fact(f"(int |B|^-2)(int |B|^2 h) at |B|^2 = h^(-1/2), eta = {eta}", product, (WEIGHTS @ gain**0.5) ** 2)


THM_C_18_C = Claim(
    id="ftrl/thm-c.18-c",
    where="App. C.3, Theorem C.18",
    page=29,
    kind="inequality",
    statement="The infimum of $F_oo$ over $beta$ is attained where $abs(B^star)^2 = 1 \\/ sqrt(h)$.",
    hypotheses=C_17,
    checks=(
        Inequality(
            smaller=_excess,
            larger=lambda m, ratio, eta: m.number(0),
            box={"ratio": Real(0.01, 0.1), "eta": Real(0.3, 0.4)},
            certify=False,
            evaluations=4,
        ),
    ),
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            "Theorem C.18 says that $F_oo$ is least at $abs(B)^2 = 1 \\/ sqrt(h)$, which only its lower bound (47) is: "
            "for Gaussian inputs, $lambda = (1, {ratio})$, $eta = {eta}$, $sigma_s = 0$ it is by the share "
            "${smaller:2}$ more than where $lambda_j$ weighs $(2 - x_j)\\/(1 - x_j)$ in $h$, $x_j = eta lambda_j$."
        ),
        consequence=(
            "The bound itself stands, and $1 \\/ sqrt(h)$ is optimal up to the constants of (20), in the limit $eta "
            "-> 0$ exactly."
        ),
    ),
    correction=Correction(
        statement=(
            r"The lower bound (47) is least where $abs(B^star)^2$ is proportional to $1 \/ sqrt(h)$.",
            (
                r"For Gaussian inputs $F_oo$ itself is least where $lambda_j$ weighs $(2 - x_j)\/(1 - x_j)$ in $h$, "
                "$x_j = eta lambda_j$: the same only if all eigenvalues are equal."
            ),
        ),
        ground=(
            "Cauchy-Schwarz, $integral abs(B)^(-2) dif omega integral abs(B)^2 h dif omega >= (integral sqrt(h) dif "
            "omega)^2$ with equality there, and the same for the exact error, a quotient of integrals of this kind."
        ),
        checks=(
            SCHWARZ.deciding("ab"),
            STATIONARY.deciding("b"),
            Search(
                decides="a",
                role="control",
                sides=_bound_at_optimum,
                box={"ratio": Real(1e-4, 1.0, "log"), "eta": Real(1e-4, 0.999), "logs": (Real(-2.0, 2.0), 5)},
                vectorised=True,
                evaluations=3_000,
                impostors={"minimum 1 % too large": {"sides": Times(1.01, 1)}},
            ),
            Agreement(
                decides="a",
                role="control",
                facts=_equality,
                impostors={"exponent -1/3": {"facts": {"power": -1 / 3}}},
            ),
            Agreement(
                decides="b",
                role="control",
                facts=_attained,
                impostors={"unequal eigenvalues": {"facts": {"smaller": 0.2}}},
            ),
        ),
        derivation=Derivation(
            text=(
                "(a) Cauchy and Schwarz, the difference at two frequencies being a square (first check): equality "
                "where $abs(B)^2$ is a multiple of $1\\/sqrt(h)$. (b) For normal inputs $EE x x^top S x x^top = 2 H S "
                'H + op("Tr")[H S] H$, so with $F = op("Tr")[H S]$ the stationary $s_j = EE chevron.l u_j, theta\' '
                "chevron.r^2$ is $eta^2 (lambda_j F + N_j)\\/(2 x_j (1 - x_j))$, where $N_j = sigma_s^2 lambda_j + "
                "G^2\\/(2 rho) gamma_oo^2 chevron.l beta, T_j beta chevron.r$ (second check), and $F (2 - sum_j "
                "x_j\\/(1 - x_j)) = eta sum_j N_j\\/(1 - x_j)$. The part that depends on $beta$ is a multiple of "
                "$gamma_oo^2$ times the mean over the circle of $abs(B)^2 g$, $g = sum_j (2 - x_j)\\/(1 - x_j) "
                "lambda_j\\/abs(1 - x_j - e^(i omega))^2$, and $gamma_oo^2$ is that of $abs(B)^(-2)$: as in (a). The "
                "$abs(1 - x_j - e^(i omega))^(-2)$ for different $x_j$ are independent, having different poles, and "
                "the weights rise in $x_j$: $g$ is a multiple of $h$ only if all $x_j$ are equal."
            ),
            lemmas=("Cauchy-Schwarz", "Isserlis", "independence", "Parseval"),
        ),
    ),
)


def _termwise(quarter: str = "1/4") -> Iterator[tuple[str, sympy.Expr]]:
    """Every term of h: 1/E_x^2 >= 1/(2 - x)^2 >= 1/4; x = 1/(1 + t), sin^2(omega/2) = p/(p + q)."""
    t, p, q = sympy.symbols("t p q", positive=True)
    x, sine_squared = 1 / (1 + t), p / (p + q)
    distance_squared = x**2 + 4 * (1 - x) * sine_squared
    yield "1/E_x^2 >= 1/(2 - x)^2", 1 / distance_squared - 1 / (2 - x) ** 2
    yield "1/(2 - x)^2 >= 1/4", 1 / (2 - x) ** 2 - sympy.Rational(quarter)


THM_C_18_H = Claim(
    id="ftrl/thm-c.18-h",
    where="App. C.3, last line of the proof of Theorem C.18",
    page=31,
    kind="inequality",
    statement='$h(omega) >= 1/4 op("Tr")[H]$.',
    hypotheses="$eta lambda_j < 1$ for all $j$.",
    checks=(Symbolic(nonnegative=_termwise, impostors={"0.26": {"nonnegative": {"quarter": "0.26"}}}),),
)
